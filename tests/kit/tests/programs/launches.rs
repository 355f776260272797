//! Launches of kernels in programs: beside a tape for each scenario.

use crate::beside_tapes::BesideTapes;
use crate::{COUNT, assert_bits_of_tapes, assert_threads_may_share, data, datum};
use tapewright::checkpoint::{TimeLoop, closure_stage};
use tapewright::external::Rules;
use tapewright::kernels::{View, cumulative_sum, parallel_for, parallel_max, parallel_sum};
use tapewright::prelude::*;
use tapewright::programs::Program;
use tapewright::schedule::Revolve;
use tapewright::{Dual, external};

/// Squares of variables.
fn squares<S: Taping<Value = f64>>(x: &[Real<S>]) -> View<S, 1> {
    let x = View::of_variables([x.len()], x);
    let mut y = View::zeros(x.shape());
    parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>().square(),));
    y
}

/// The sum of sines of elements.
fn waves<S: Taping<Value = f64>>(x: &View<S, 1>) -> Real<S> {
    parallel_sum(x.all(), x, |x| x.at::<0>().sin())
}

/// A view in which each element takes a part of the sum of all.
fn diffused<S: Taping<Value = f64>>(kappa: &Real<S>, u: &View<S, 1>) -> View<S, 1> {
    let (sum, mut next) = (parallel_sum(u.all(), u, |u| u.at::<0>()), u.clone());
    parallel_for(u.all(), (&mut next, &sum, kappa), |(u, sum, kappa)| (u.at::<0>() + 0.1 * kappa * sum,));
    next
}

/// The functions of the tests are rows: their name, parameters and data, values, and the numbers of recordings and of
/// scenarios that are recorded alone.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($p:ident, $d:ident) $body:block in $recordings:literal, $alone:literal)*) => {
        $(
            $(#[$doc])*
            fn $name<S: Reverse<Value = f64>>($p: &[Real<S>], $d: &[Real<S>]) -> Vec<Real<S>> $body
        )*
        const ROWS: &[(&str, usize, usize)] = &[$((stringify!($name), $recordings, $alone)),*];
        fn all<S: Reverse<Value = f64>>(index: usize, p: &[Real<S>], d: &[Real<S>]) -> Vec<Real<S>> {
            [$($name::<S>),*][index](p, d)
        }
    };
}

functions! {
    of_data(p, d) { vec![(waves(&squares(d)) * &p[0]).into()] } in 1, 0
    /// Computed once for all scenarios.
    of_parameters(p, d) {
        let points: Vec<Real<S>> = (0..60_usize).map(|k| (&p[0] * k as f64 * 0.01 + &p[1]).into()).collect();
        let curve = cumulative_sum(&squares(&points), 0).to_variables();
        let both = curve.iter().step_by(7).fold(Real::from(0.0), |sum: Real<S>, x| (sum + x * &d[0]).into());
        vec![both, (&curve[59] * &d[1]).into()]
    } in 1, 0
    of_both(p, d) { vec![waves(&squares(&[p[0].clone(), d[0].clone(), p[1].clone(), d[1].clone()]))] } in 1, 0
    variables_of_elements(p, d) {
        let y = squares(&[d[0].clone(), (&p[0] * &d[1]).eval()]).to_variables();
        vec![(&y[0] * &y[1]).into(), (&y[1] / &d[0]).into()]
    } in 1, 0
    /// Launches that share no views are calls of their own.
    two_of_them(p, d) {
        let first = waves(&squares(d));
        vec![(waves(&squares(&[(&first * &p[0]).eval(), d[0].clone()])) * &p[1]).into()]
    } in 1, 0
    /// In place, and with a scalar operand that is a variable.
    steps_of_heat(p, d) {
        let start: Vec<Real<S>> = (0..9_usize).map(|k| (&d[0] * k as f64 * 0.1 + &d[1]).into()).collect();
        let mut u = View::of_variables([9], &start);
        let kappa = (&p[0] * 0.1).eval();
        for _ in 0..5 {
            let old = u.clone();
            parallel_for(u.interior(1), (&mut u, &old, &kappa), |(u, old, kappa)| {
                (u.at::<0>() + kappa * (old.at::<-1>() - 2.0 * old.at::<0>() + old.at::<1>()),)
            });
        }
        vec![(waves(&u) * &p[1]).into()]
    } in 1, 0
    /// A result that goes straight into the next launch.
    results_of_launches_in_launches(p, d) {
        let mut u = squares(&[d[0].clone(), d[1].clone(), p[0].clone()]);
        let sum = waves(&u);
        parallel_for(u.all(), (&mut u, &sum), |(u, sum)| (u.at::<0>() * sum,));
        vec![(waves(&u) * &p[1]).into()]
    } in 1, 0
    /// A result that comes back through a statement.
    results_that_come_back(p, d) {
        let mut u = squares(&[d[0].clone(), d[1].clone(), p[0].clone()]);
        let sum = (waves(&u) * 0.5 + &d[0]).eval();
        parallel_for(u.all(), (&mut u, &sum), |(u, sum)| (u.at::<0>() * sum,));
        vec![(waves(&u) * &p[1]).into()]
    } in 0, 150
    /// Sums after each step, which no later step needs, and which decide.
    results_on_the_way(p, d) {
        let (mut u, mut sums) = (squares(&[d[0].clone(), d[1].clone(), p[0].clone()]), Real::from(0.0));
        for k in 0..3 {
            let sum = waves(&u);
            sums = if k != 1 || sum > 0.5 { (&sums + sum.exp()).eval() } else { (&sums - &sum * &p[1]).eval() };
            parallel_for(u.all(), (&mut u, &p[1]), |(u, k)| (u.at::<0>() * (0.5 + 0.1 * k),));
        }
        vec![(sums * &d[0]).into(), waves(&u)]
    } in 2, 0
    the_largest(p, d) {
        let u = squares(&[d[0].clone(), (&d[1] * &p[0]).eval(), p[1].clone()]);
        vec![(parallel_max(u.all(), &u, |u| u.at::<0>()) * &d[1]).into()]
    } in 1, 0
    /// Nobody uses what it writes.
    unused(p, d) {
        let _ = squares(d);
        vec![(&p[0] * &d[0] * &d[1]).into()]
    } in 1, 0
    partly_unused(p, d) {
        let y = squares(&[d[0].clone(), d[1].clone()]).to_variables();
        vec![(&y[1] * &p[0]).into()]
    } in 1, 0
    of_constants(p, d) {
        let y = waves(&squares(&[Real::from(2.0), Real::from(3.0)]));
        vec![(&y * &p[0] * &d[0] + &d[1] * &p[1]).into()]
    } in 1, 0
    in_a_stage(p, d) {
        let inside = |x: &Vec<Real<S>>| waves(&squares(x));
        vec![(closure_stage(inside, &d.to_vec()) * &p[0]).into()]
    } in 1, 0
    /// Stages after launches, and stages of views.
    stages_of_views(p, d) {
        let y = closure_stage(|y: &View<S, 1>| squares(&y.to_variables()), &squares(d));
        let z = closure_stage(|(y, p): &(View<S, 1>, Real<S>)| (waves(y) * p).eval(), &(y, p[0].clone()));
        vec![closure_stage(|z: &Real<S>| z.exp().eval(), &z)]
    } in 1, 0
    /// What a stage returns has the slot of its input, until one of both is written.
    writes_to_what_a_stage_returned(p, d) {
        let x = squares(d);
        let mut y = closure_stage(View::clone, &x);
        parallel_for(y.all(), (&mut y, &p[0]), |(y, k)| (y.at::<0>() * k,));
        let z = closure_stage(|y: &View<S, 1>| {
            let mut z = y.clone();
            parallel_for(z.all(), &mut z, |z| (z.at::<0>().sin(),));
            z
        }, &y);
        vec![(waves(&x) * 2.0 + waves(&y) + waves(&z)).into(), x.variable([0]), y.variable([1])]
    } in 1, 0
    writes_to_what_a_stage_was_given(p, d) {
        let mut x = squares(d);
        let y = closure_stage(View::clone, &x);
        parallel_for(x.all(), (&mut x, &p[0]), |(x, k)| (x.at::<0>() * k,));
        let step = |_: usize, (): &(), u: &View<S, 1>| u.clone();
        let plain = |_: usize, (): &(), u: &View<Passive, 1>| u.clone();
        let mut z = TimeLoop::<S>::new(Revolve::new(2, 1)).run(&(), &y, plain, step).unwrap();
        parallel_for(z.all(), (&mut z, &p[1]), |(z, k)| (z.at::<0>() + k,));
        vec![(waves(&x) * 2.0 + waves(&y) + waves(&z)).into(), x.variable([0]), y.variable([1])]
    } in 1, 0
    a_time_loop_over_a_view(p, d) {
        let step = |_: usize, kappa: &Real<S>, u: &View<S, 1>| diffused(kappa, u);
        let plain = |_: usize, kappa: &Real<Passive>, u: &View<Passive, 1>| diffused(kappa, u);
        let end = TimeLoop::<S>::new(Revolve::new(6, 2)).run(&p[0], &squares(d), plain, step).unwrap();
        vec![(waves(&end) * &p[1]).into()]
    } in 1, 0
    behind_a_branch(p, d) {
        if d[1] > 2.5 { vec![(waves(&squares(d)) * &p[0]).into()] } else { vec![(&p[0] * &d[0]).into()] }
    } in 2, 0
    in_front_of_a_branch(p, d) {
        let y = waves(&squares(d));
        if y > 0.0 { vec![(&y * &p[0]).into()] } else { vec![(&y * &p[1] * &d[0]).into()] }
    } in 2, 0
    /// Beside a function that has an entry of its own.
    beside_a_function(p, d) {
        let rules = Rules::new("twice", |outputs, inputs| {
            inputs[0] += 2.0 * outputs[0];
            Ok(())
        });
        let rules = rules.replay(|inputs, outputs| {
            outputs[0] = 2.0 * inputs[0];
            Ok(())
        });
        let twice = external(&[d[0].clone()], &[2.0 * d[0].peek()], rules).remove(0);
        vec![(waves(&squares(&[twice, d[1].clone()])) * &p[0] + &p[1]).into()]
    } in 1, 0
    /// Called again in the sweep.
    many_results(p, d) {
        let points: Vec<Real<S>> = (0..40_usize).map(|k| (&d[0] * k as f64 * 0.01 + &p[1]).into()).collect();
        let all = squares(&points).to_variables();
        vec![all.iter().fold(d[1].clone(), |sum, x| (sum + x.sin()).into())]
    } in 1, 0
}

#[test]
fn each_scenario_gives_what_a_tape_gives_that_records_it() {
    for (index, (name, recordings, alone)) in ROWS.iter().enumerate() {
        for width in [1, 8, 64] {
            let beside = BesideTapes { name, width, count: COUNT, datum, tolerance: 1e-13 };
            let (on_program, on_tape) = (|p: &[_], d: &[_]| all(index, p, d), |x: &[_]| all(index, &x[..2], &x[2..]));
            beside.check(on_program, on_tape, [[0.5, 1.25], [0.75, -1.0]], |program, p, found| {
                let branches = found.branches();
                assert_eq!((branches.recordings, branches.alone), (*recordings, *alone), "{name}: {branches}");
                assert_eq!(program.values(p, data(COUNT)).unwrap().values, found.values, "{name}");
            });
        }
    }
}

#[test]
fn a_program_of_width_one_has_the_bits_of_tapes() {
    for (index, (name, ..)) in ROWS.iter().enumerate() {
        assert_bits_of_tapes(name, |p, d| all(index, p, d), |x| all(index, &x[..2], &x[2..]));
    }
}

#[test]
fn threads_have_arrays_of_their_own() {
    assert_threads_may_share(|p, d| {
        [steps_of_heat(p, d), beside_a_function(p, d), in_a_stage(p, d), of_parameters(p, d)].concat()
    });
}

#[test]
fn second_derivatives_pass_through_launches() {
    let program = Program::<Dual<f64, 1>>::new(|p, d| {
        let x = View::of_variables([1], &[(p[0] * d[0]).eval()]);
        [parallel_sum(x.all(), &x, |x| x.at::<0>().square() * x.at::<0>())]
    });
    let found = program.hessian_times(&[2.0], &[[1.0]], &[[1.0], [3.0]]).unwrap();
    // Means of 3·p²·d³ and of 6·p·d³.
    assert_eq!((found.mean_gradient(0)[0].value, found.mean_gradient(0)[0].tangents), (168.0, [168.0]));
    assert_eq!(found.branches().alone, 0);
}

#[test]
fn zero_times_an_infinite_slope_is_zero() {
    let program = Program::new(|p, d| {
        let x = View::of_variables([2], &[d[0], d[1]]);
        let mut y = View::zeros([2]);
        parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>().sqrt(),));
        let y = y.to_variables();
        [(y[0] * p[0] + y[1]).eval()]
    });
    let found = program.gradients(&[0.0], &[[0.0, 4.0], [9.0, 1.0]]).unwrap();
    assert_eq!(found.gradients, [[0.0, 0.25], [0.0, 0.5]]);
    let found = program.gradients(&[f64::INFINITY], &[[1.0, 4.0]]).unwrap();
    assert_eq!(found.gradients, [[f64::INFINITY, 0.25]]);
}

#[test]
fn adjoints_that_cancel_at_an_infinite_slope_are_zero() {
    for width in [1, 8] {
        let program = Program::new(|_, d| {
            let mut y = View::of_variables([1], d);
            parallel_for(y.all(), &mut y, |y| (y.at::<0>().sqrt(),));
            let sums = [1.0, -1.0].map(|sign| parallel_sum(y.all(), &y, |y| sign * y.at::<0>()));
            [(sums[0] + sums[1]).eval()]
        });
        let found = program.in_blocks_of(width).gradients(&[], &[[0.0], [4.0]]).unwrap();
        assert_eq!(found.gradients, [[0.0], [0.0]], "blocks of {width}");
    }
}

#[test]
fn a_view_of_a_captured_array_is_a_constant_in_each_scenario() {
    let weights = View::new([3], &[1.0, 2.0, 4.0]);
    let program = Program::new(move |p, d| {
        let x = View::of_variables([3], &[d[0], d[1], p[0]]);
        [parallel_sum(x.all(), (&x, &weights), |(x, w)| x.at::<0>() * w.at::<0>())]
    });
    let found = program.gradients(&[10.0], &[[1.0, 2.0], [3.0, 5.0]]).unwrap();
    assert_eq!(found.values, [45.0, 53.0]);
    assert_eq!(found.gradients, [[1.0, 2.0]; 2]);
    assert_eq!((found.mean_gradient(0), found.branches().alone), (vec![4.0], 0));
}
