//! Gradients of loops over states of any shape, under every schedule.

use crate::plans::{self, Chain, inputs, plans, record, reference, weigh};
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::prelude::*;
use tapewright::variables::Variables;
use tapewright_kit_tests::{all_close, float, for_each_mechanism};

fn gradients_are_those_of_the_full_tape<S: Reverse>() {
    for steps in [1, 2, 17] {
        for plan in plans(steps) {
            record::<S>(TimeLoop::new(plan), steps).expect("room for snapshots").assert_right(steps);
        }
    }
}

for_each_mechanism!(gradients_are_those_of_the_full_tape);

/// Without parameters each adjoint is the product of the same partials in the same order.
#[test]
fn without_parameters_not_a_bit_differs() {
    let full = gradient::<Jacobian>(|x| (0..23).fold(x[0], |u, _| Chain::Sine.step(&u)), &[0.7]);
    for plan in plans(23) {
        let looped = |x: &[Real<Jacobian>]| Chain::Sine.by_loop(TimeLoop::new(plan.clone()), x[0], &|t, _| t < 23);
        assert_eq!(gradient::<Jacobian>(looped, &[0.7]), full, "{plan:?}");
    }
}

/// Steps recorded under another strategy than the tape's.
#[test]
fn steps_of_another_strategy() {
    type S = Hybrid<f32, Reuse>;
    let (_, expected) = reference::<S>(17);
    for plan in plans(17) {
        let looped = |x: &[Real<S>]| {
            let time_loop = TimeLoop::<PrimalValue<f32>>::new(plan.clone());
            let state = x[1..].to_vec();
            let go_on = |t: usize, _: &Vec<Real<Passive<f32>>>| t < 17;
            let end = time_loop.run_while(
                &x[0],
                &state,
                go_on,
                |t, k, u| plans::step(t, k, u),
                |t, k, u| plans::step(t, k, u),
            );
            weigh(&end.expect("room for snapshots"))
        };
        all_close(&gradient::<S>(looped, &inputs()), &expected, 500);
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

#[test]
fn structs_as_states_and_parameters() {
    type S = Hybrid<f64, Reuse>;
    let x = [0.1, 0.05, -0.07, 0.4, 0.3, -0.2, 0.6, 0.1];
    let on_one_tape = |x: &[Real<S>]| {
        let (constants, start) = fluid(x);
        energy(&(0..9).fold(start, |u, t| flow(t, &constants, &u)))
    };
    let (value, full) = value_and_gradient::<S>(on_one_tape, &x);
    for plan in plans(9) {
        let looped = |x: &[Real<S>]| {
            let (constants, start) = fluid(x);
            let end = TimeLoop::<S>::new(plan.clone()).run_while(&constants, &start, |t, _| t < 9, flow, flow);
            energy(&end.expect("room for snapshots"))
        };
        let (again, found) = value_and_gradient::<S>(looped, &x);
        assert_eq!(again, value);
        all_close(&found, &full, 500);
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

#[test]
fn tuples_arrays_boxes_and_options() {
    type S = Hybrid<f64, Reuse>;
    let x = [0.9, 0.8, -0.7, 1.2, 0.6, 1.1];
    let sum = |u: &Odd<S>| tapewright::sum(&u.list().into_iter().cloned().collect::<Vec<_>>());
    let full = gradient::<S>(|x| sum(&(0..9).fold(odd(x), |u, _| mix(&u))), &x);
    for plan in plans(9) {
        let looped = |x: &[Real<S>]| {
            let looped = TimeLoop::<S>::new(plan.clone());
            let end = looped.run_while(&(), &odd(x), |t, _| t < 9, |_, (), u| mix(u), |_, (), u| mix(u));
            sum(&end.expect("room for snapshots"))
        };
        all_close(&gradient::<S>(looped, &x), &full, 500);
    }
    let empty: (Option<Real<S>>, Vec<Real<S>>) = (None, vec![]);
    assert_eq!((empty.count(), Variables::<S>::count(&())), (0, 0));
}

fn spread<T: Taping>(y: &Real<T>) -> Vec<Real<T>> {
    (0..10).map(|k| (y * f64::from(k)).sin().eval()).collect()
}

/// Stages may have fewer outputs than inputs, or more, or none of either.
#[test]
fn stages_of_any_size() {
    type S = Hybrid<f64, Reuse>;
    let full = gradient::<S>(|x| weigh(&spread(&weigh(x))), &inputs());
    let staged = |x: &[Real<S>]| {
        let y = Stage::<S>::new().run(&x.to_vec(), |x| weigh(x), |x| weigh(x));
        let many = Stage::<S>::new().run(&y, spread, spread);
        // A stage without outputs has nothing to do, one without inputs computes constants.
        Stage::<S>::new().run(&y, |_| (), |_| -> () { panic!("nothing was seeded") });
        let constant = Stage::<S>::new().run(
            &(),
            |()| Real::constant(float(1.0)),
            |()| -> Real<S> { panic!("nothing to differentiate") },
        );
        assert!(S::locate(constant.id()).is_none());
        (weigh(&many) * constant).eval()
    };
    all_close(&gradient::<S>(staged, &inputs()), &full, 100);
}
