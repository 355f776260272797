//! Gradients of loops over states of any shape, under every schedule and strategy.

use crate::everywhere::{close, everywhere, float};
use crate::plans::{self, by_loop, inputs, plans, reference, weigh};
use tapewright::Number as _;
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::prelude::*;
use tapewright::variables::Variables;

fn gradients_are_those_of_the_full_tape<S: Reverse>() {
    for steps in [1, 2, 17] {
        let (value, gradient) = reference::<S>(steps);
        for plan in plans(steps) {
            let mut tape = Tape::<S>::new();
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(&inputs());
                let end = by_loop(TimeLoop::new(plan.clone()), steps, &x).expect("room for snapshots");
                (x, weigh(&end))
            });
            assert_eq!(y.value(), value, "{plan:?}");
            // Seeds that are powers of 2 change no rounding.
            for seed in [1.0, -4.0, 0.5] {
                let adjoints = tape.sweep(&[(&y, float(seed))]).expect("its own");
                for (x, slope) in x.iter().zip(&gradient) {
                    close(adjoints.of(x).expect("its own"), float::<S::Value>(seed) * *slope, 500);
                }
            }
        }
    }
}

/// Without parameters each adjoint is the product of the same partials in the same order.
fn without_parameters_not_a_bit_differs<S: Reverse>() {
    fn step<T: Taping>(u: &Real<T>) -> Real<T> {
        (u * 0.75).sin().eval()
    }
    let full = gradient::<S>(|x| (0..23).fold(x[0].clone(), |u, _| step(&u)), &[float(0.7)]);
    for plan in plans(23) {
        let found = gradient::<S>(
            |x| {
                TimeLoop::<S>::new(plan.clone())
                    .run_while(&(), &x[0], |t, _| t < 23, |_, (), u| step(u), |_, (), u| step(u))
                    .expect("room for snapshots")
            },
            &[float(0.7)],
        );
        assert_eq!(found, full, "{plan:?}");
    }
}

/// Steps recorded under another strategy than the tape's.
fn steps_of_another_strategy<S: Reverse>() {
    let (_, gradient) = reference::<S>(17);
    for plan in plans(17) {
        let found = tapewright::gradient::<S>(
            |x| {
                let state = x[1..].to_vec();
                let end = TimeLoop::<PrimalValue<S::Value>>::new(plan.clone()).run_while(
                    &x[0],
                    &state,
                    |t, _| t < 17,
                    |t, k, u| plans::step(t, k, u),
                    |t, k, u| plans::step(t, k, u),
                );
                weigh(&end.expect("room for snapshots"))
            },
            &inputs(),
        );
        found.iter().zip(&gradient).for_each(|(found, expected)| close(*found, *expected, 500));
    }
}

struct Fluid<S: Taping> {
    velocities: Vec<[Real<S>; 2]>,
    pressure: Real<S>,
    steps: usize,
}
tapewright::variables!(Fluid { velocities, pressure; steps });

struct Constants<S: Taping> {
    viscosity: Real<S>,
    forces: [Real<S>; 2],
}
tapewright::variables!(Constants { viscosity, forces });

fn flow<T: Taping>(t: usize, c: &Constants<T>, u: &Fluid<T>) -> Fluid<T> {
    assert_eq!(u.steps, 7, "what is no variable comes along");
    let pull = |k: usize, v: &Real<T>| (v - &c.viscosity * v * v + &c.forces[k] * u.pressure.cos()).eval();
    let velocities: Vec<[Real<T>; 2]> = u.velocities.iter().map(|[a, b]| [pull(0, a), pull(1, b)]).collect();
    let pressure = velocities.iter().fold(u.pressure.clone(), |p, [a, b]| (p + a * b * 0.1).eval());
    let pressure = if t.is_multiple_of(2) { pressure } else { pressure.sin().eval() };
    Fluid { velocities, pressure, steps: u.steps }
}

fn fluid<T: Taping>(x: &[Real<T>]) -> (Constants<T>, Fluid<T>) {
    let constants = Constants { viscosity: x[0].clone(), forces: [x[1].clone(), x[2].clone()] };
    let velocities = x[4..].chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
    (constants, Fluid { velocities, pressure: x[3].clone(), steps: 7 })
}

fn energy<T: Taping>(u: &Fluid<T>) -> Real<T> {
    u.velocities.iter().fold(u.pressure.clone(), |sum, [a, b]| (sum + a * a + b * b).eval())
}

fn structs_as_states_and_parameters<S: Reverse>() {
    let x: Vec<S::Value> = [0.1, 0.05, -0.07, 0.4, 0.3, -0.2, 0.6, 0.1].map(float).to_vec();
    let (value, full) = value_and_gradient::<S>(
        |x| {
            let (constants, start) = fluid(x);
            energy(&(0..9).fold(start, |u, t| flow(t, &constants, &u)))
        },
        &x,
    );
    for plan in plans(9) {
        let (again, found) = value_and_gradient::<S>(
            |x| {
                let (constants, start) = fluid(x);
                let end = TimeLoop::<S>::new(plan.clone()).run_while(&constants, &start, |t, _| t < 9, flow, flow);
                energy(&end.expect("room for snapshots"))
            },
            &x,
        );
        assert_eq!(again, value);
        found.iter().zip(&full).for_each(|(found, expected)| close(*found, *expected, 500));
    }
}

/// Arrays, tuples, boxed slices and options in one another.
type Odd<S> = ([Real<S>; 2], (Option<Real<S>>, Box<[Real<S>]>), Vec<Vec<Real<S>>>);

fn odd<T: Taping>(x: &[Real<T>]) -> Odd<T> {
    let boxed = vec![x[3].clone()].into_boxed_slice();
    ([x[0].clone(), x[1].clone()], (Some(x[2].clone()), boxed), vec![vec![], vec![x[4].clone(), x[5].clone()]])
}

fn mix<T: Taping>(u: &Odd<T>) -> Odd<T> {
    let list: Vec<&Real<T>> = u.list();
    let n = list.len();
    let next: Vec<Real<T>> = (0..n).map(|i| (list[i] * list[(i + 2) % n]).sin().eval()).collect();
    odd(&next)
}

fn tuples_arrays_boxes_and_options<S: Reverse>() {
    let x: Vec<S::Value> = [0.9, 0.8, -0.7, 1.2, 0.6, 1.1].map(float).to_vec();
    let sum = |u: &Odd<S>| tapewright::sum(&u.list().into_iter().cloned().collect::<Vec<_>>());
    let full = gradient::<S>(|x| sum(&(0..9).fold(odd(x), |u, _| mix(&u))), &x);
    for plan in plans(9) {
        let found = gradient::<S>(
            |x| {
                let looped = TimeLoop::<S>::new(plan.clone());
                let end = looped.run_while(&(), &odd(x), |t, _| t < 9, |_, (), u| mix(u), |_, (), u| mix(u));
                sum(&end.expect("room for snapshots"))
            },
            &x,
        );
        found.iter().zip(&full).for_each(|(found, expected)| close(*found, *expected, 500));
    }
    let empty: (Option<Real<S>>, Vec<Real<S>>) = (None, vec![]);
    assert_eq!((empty.count(), Variables::<S>::count(&())), (0, 0));
}

/// Stages may have fewer outputs than inputs, or more, or none of either.
fn stages_of_any_size<S: Reverse>() {
    let x: Vec<S::Value> = inputs();
    let full = gradient::<S>(
        |x| {
            let y = weigh(x);
            let many: Vec<Real<S>> = (0..10).map(|k| (&y * f64::from(k)).sin().eval()).collect();
            weigh(&many)
        },
        &x,
    );
    let found = gradient::<S>(
        |x| {
            let y = Stage::<S>::new().run(&x.to_vec(), |x| weigh(x), |x| weigh(x));
            let many = Stage::<S>::new().run(&y, spread, spread);
            // A stage without outputs has nothing to do, one without inputs computes constants.
            Stage::<S>::new().run(&y, |_| (), |_| -> () { panic!("nothing was seeded") });
            let constant = Stage::<S>::new().run(
                &(),
                |()| Real::constant(S::Value::ONE),
                |()| -> Real<S> { panic!("nothing to differentiate") },
            );
            assert!(S::locate(constant.id()).is_none());
            (weigh(&many) * constant).eval()
        },
        &x,
    );
    found.iter().zip(&full).for_each(|(found, expected)| close(*found, *expected, 100));
}

everywhere!(
    gradients_are_those_of_the_full_tape,
    without_parameters_not_a_bit_differs,
    steps_of_another_strategy,
    structs_as_states_and_parameters,
    tuples_arrays_boxes_and_options,
    stages_of_any_size,
);

fn spread<T: Taping>(y: &Real<T>) -> Vec<Real<T>> {
    (0..10).map(|k| (y * f64::from(k)).sin().eval()).collect()
}
