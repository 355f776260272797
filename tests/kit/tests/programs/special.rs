//! Special cases beside tapes.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::prelude::*;
use tapewright::programs::{Program, scenarios};

const INF: f64 = f64::INFINITY;

#[test]
fn an_output_that_is_the_same_in_all_scenarios_has_no_slopes_by_data() {
    let program = Program::new(|p, d| [(d[0] * d[1] * p[0]).eval(), (p[0] * 2.0).eval(), Real::from(3.0), p[0]]);
    let found = program.gradients(&[5.0], &[[1.0, 1.0], [2.0, 1.0]]).unwrap();
    assert_eq!(found.gradients[..4], [[5.0, 5.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
    assert_eq!([0, 1, 2, 3].map(|output| found.mean_gradient(output)[0]), [1.5, 2.0, 0.0, 1.0]);
}

#[test]
fn a_variable_that_is_twice_in_a_statement_counts_twice() {
    let program = Program::new(|p, d| [(p[0] * p[0] * d[0]).eval(), (d[0] * d[0] * p[0]).eval()]);
    let found = program.gradients(&[3.0], &[[2.0], [5.0]]).unwrap();
    assert_eq!(found.gradients, [[9.0], [12.0], [9.0], [30.0]]);
    assert_eq!([0, 1].map(|output| found.mean_gradient(output)[0]), [21.0, 14.5]);
    // The same in a function of slices, which is computed scenario by scenario.
    let program = Program::new(|p, d| [tapewright::dot(&[p[0], d[0], d[0]], &[p[0], d[0], p[0]])]);
    let found = program.gradients(&[3.0], &[[2.0], [5.0]]).unwrap();
    assert_eq!((found.gradients.concat(), found.mean_gradient(0)), (vec![7.0, 13.0], vec![9.5]));
}

#[test]
fn outputs_may_be_used_later_and_may_be_given_twice() {
    let program = Program::new(|p, d| {
        let y = (d[0] * p[0]).eval();
        let z = (y * y).eval();
        [z, y, z, (z * y).eval()]
    });
    let found = program.gradients(&[2.0], &[[3.0], [1.0]]).unwrap();
    assert_eq!(found.values[..4], [36.0, 6.0, 36.0, 216.0]);
    // z = 4d², y = 2d, and their product 8d³.
    assert_eq!(found.gradients.concat(), [24.0, 2.0, 24.0, 216.0, 8.0, 2.0, 8.0, 24.0]);
    assert_eq!([0, 1, 2, 3].map(|k| found.mean_gradient(k)[0]), [20.0, 2.0, 20.0, 168.0]);
}

#[test]
fn zero_times_anything_is_zero_scenario_by_scenario() {
    // An infinite adjoint meets a partial of 0, and the adjoint 0 an infinite one.
    let program = Program::new(|p, d| {
        let product = tapewright::dot(&[p[0], d[0]], &[d[1], d[1]]);
        let norm = tapewright::norm(&[p[0], d[1]]);
        [(product * d[2]).eval(), (norm * d[1]).eval()]
    });
    let found = program.gradients(&[3.0], &[[2.0, 0.0, INF], [2.0, 0.0, 1.0]]).unwrap();
    assert_eq!(found.mean_gradient(0), [0.0]);
    assert_eq!(found.mean_gradient(1), [0.0]);
    assert_eq!((found.gradients[0][0], found.gradients[0][1]), (0.0, INF));
}

#[test]
fn constants_that_differ_in_the_sign_of_zero_are_two() {
    let program = Program::new(|_, d| [(d[0] + 0.0).recip().eval(), (d[0] + -0.0).recip().eval()]);
    assert_eq!(program.values(&[], &[[-0.0]]).unwrap().values, [INF, -INF]);
}

#[test]
fn inputs_that_nobody_needs_have_the_slope_zero() {
    let program = Program::new(|p, d| [(p[1] * d[1]).eval()]);
    let found = program.gradients(&[f64::NAN, 2.0, INF], &[[f64::NAN, 3.0, INF]]).unwrap();
    assert_eq!((found.values[0], &found.gradients[0][..]), (6.0, &[0.0, 2.0, 0.0][..]));
    assert_eq!(found.mean_gradient(0), [0.0, 3.0, 0.0]);
}

#[test]
fn comparisons_of_parameters_alone_choose_a_recording_for_all_scenarios() {
    let program = Program::new(|p, d| [if p[0] < 0.0 { (p[0] * d[0]).eval() } else { (d[0] + p[0]).eval() }]);
    for p in [1.0, -1.0, 0.0, -0.0, f64::NAN, -3.0] {
        let found = program.gradients(&[p], &[[2.0], [4.0]]).unwrap();
        let (value, slope) = if p < 0.0 { (2.0 * p, 3.0) } else { (2.0 + p, 1.0) };
        assert!(found.values[0] == value || p.is_nan() && found.values[0].is_nan());
        assert_eq!((found.mean_gradient(0)[0], found.branches().recordings, found.branches().alone), (slope, 1, 0));
    }
    assert_eq!(format!("{program:?}"), "A program with 2 recordings");
}

#[test]
fn what_is_not_finite_in_scenarios_that_branch_otherwise_does_not_reach_sums() {
    // Where d is not positive the recording computes roots, logarithms and quotients of 0, with infinite slopes.
    fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
        if d[0] > 0.0 { (p[0] * d[0].sqrt() * (d[0] * p[0]).ln() / d[0]).eval() } else { p[0] }
    }
    for most in [1, 2, 16] {
        let program = Program::new(|p, d| [f(p, d)]).most_patterns(most);
        let data = [[1.0], [0.0], [-1.0], [f64::NAN], [4.0], [-INF]];
        let found = program.gradients(&[1.0], &data).unwrap();
        assert_eq!(found.branches().alone, if most == 1 { 4 } else { 0 });
        assert!((found.mean_gradient(0)[0] - (1.0 + 4.0 + f64::midpoint(4.0_f64.ln(), 1.0)) / 6.0).abs() < 1e-15);
        assert_eq!((found.values[1], found.gradients[3][0]), (1.0, 0.0));
    }
}

#[test]
fn a_scenario_that_is_nan_leaves_the_others_alone() {
    let program = Program::new(|p, d| [(p[0] * d[0].exp()).sin().eval()]);
    let with = program.gradients(&[0.5], &[[1.0], [f64::NAN], [0.25], [INF]]).unwrap();
    let without = program.gradients(&[0.5], &[[1.0], [0.25]]).unwrap();
    assert_eq!([with.values[0], with.values[2]], [without.values[0], without.values[1]]);
    assert_eq!([&with.gradients[0], &with.gradients[2]], [&without.gradients[0], &without.gradients[1]]);
    assert!(with.values[1].is_nan() && with.gradients[1][0].is_nan() && with.mean_gradient(0)[0].is_nan());
}

#[test]
fn branches_of_more_scenarios_than_a_chunk_come_back_in_their_places() {
    fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
        let x = (p[0] * d[0]).eval();
        let third = if x > 3.0 { (x * x).eval() } else { x };
        if d[0] < 1.0 { (third * 3.0).eval() } else { third }
    }
    let data = |k: usize| ((k * 7) % 11) as f64 * 0.5;
    for most in [1, 2, 3] {
        let program = Program::new(|p, d| [f(p, d)]).most_patterns(most);
        let found = program.gradients(&[1.0], scenarios(3000, 1, |k, d| d[0] = data(k))).unwrap();
        let mut sum = 0.0;
        for k in 0..3000 {
            let (value, slopes) = value_and_gradient::<PrimalValue>(|x| f(&x[..1], &x[1..]), &[1.0, data(k)]);
            assert_eq!((found.values[k], found.gradients[k][0]), (value, slopes[1]), "scenario {k}");
            sum += slopes[0];
        }
        assert_eq!(found.mean_gradient(0)[0], sum / 3000.0);
        assert_eq!((found.branches().recordings, found.branches().alone > 0), (most, most < 3));
    }
}

#[test]
fn a_program_goes_on_after_panics() {
    let panics = AtomicBool::new(true);
    let program = Program::new(|p, d| {
        assert!(!panics.load(Ordering::Relaxed), "as told");
        [if d[0] < 0.0 { (p[0] * d[0]).eval() } else { (p[0] + d[0]).eval() }]
    });
    let run = |data: &[[f64; 1]]| program.gradient(&[2.0], data).unwrap().values;
    assert!(catch_unwind(AssertUnwindSafe(|| run(&[[1.0]]))).is_err());
    panics.store(false, Ordering::Relaxed);
    assert_eq!(run(&[[1.0]]), [3.0]);
    panics.store(true, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| run(&[[1.0], [-1.0]]))).is_err());
    assert_eq!(run(&[[1.0], [4.0]]), [3.0, 6.0]);
    panics.store(false, Ordering::Relaxed);
    assert_eq!(run(&[[1.0], [-1.0]]), [3.0, -2.0]);
    // The source of scenarios panics.
    let source = |count| {
        scenarios(count, 1, move |k, d: &mut [f64]| {
            assert!(k < 70, "as told");
            d[0] = k as f64;
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(|| program.gradient(&[2.0], source(100)))).is_err());
    let found = program.gradient(&[2.0], source(70)).unwrap();
    assert_eq!((found.sum().0, found.mean_gradient(0)[0]), (69.0 * 35.0 + 140.0, 1.0));
}

#[test]
fn functions_may_use_programs_and_tapes_inside() {
    let inner = Program::new(|p, d| [(p[0] * d[0]).eval()]);
    let program = Program::new(|p, d| {
        let constant = inner.gradient(&[3.0], &[[1.0], [2.0]]).unwrap().mean_gradient(0)[0];
        let slope = value_and_gradient::<Jacobian>(|x| x[0].square().eval(), &[4.0]).1[0];
        [(p[0] * d[0] * constant + slope).eval()]
    });
    let found = program.gradients(&[2.0], &[[1.0], [5.0]]).unwrap();
    assert_eq!((&found.values[..], &found.mean_gradient(0)[..]), (&[11.0, 23.0][..], &[4.5][..]));
}

#[test]
fn threads_may_share_a_program_while_patterns_are_recorded() {
    let recordings = AtomicUsize::new(0);
    let program = Program::new(|p, d| {
        recordings.fetch_add(1, Ordering::Relaxed);
        let mut y = p[0];
        for k in 0..6 {
            if d[0] > f64::from(k) {
                y = (y * d[0] + f64::from(k)).eval();
            }
        }
        [y]
    });
    let run = |shift: usize| {
        program.gradients(&[2.0], scenarios(500, 1, |k, d| d[0] = ((k + shift) % 13) as f64 * 0.5)).unwrap()
    };
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|k| scope.spawn(move || run(13 * k))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let alone = run(0);
    for one in found {
        assert_eq!((&one.values, &one.gradients), (&alone.values, &alone.gradients));
        assert_eq!(one.mean_gradient(0), alone.mean_gradient(0));
    }
    assert!(recordings.load(Ordering::Relaxed) >= 7);
}

#[test]
fn functions_of_slices_take_passive_arguments() {
    fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> [Real<S>; 3] {
        let weights = [2.0, -3.0].map(Real::from);
        let all = [d[0], Real::from(0.5), p[0], d[1], Real::from(-1.0)];
        [tapewright::dot(&weights, d), tapewright::logsumexp(&all), tapewright::sum(&all[1..3])]
    }
    let program = Program::new(f);
    let data = [[1.0, 2.0], [-3.0, 0.25], [f64::INFINITY, 1.0]];
    for p in [0.5, -1.5] {
        let found = program.gradients(&[p], &data).unwrap();
        for (at, (found_value, slopes)) in found.values.iter().zip(&found.gradients).enumerate() {
            let x = [p, data[at / 3][0], data[at / 3][1]];
            let (value, gradient) = value_and_gradient::<PrimalValue>(|x| f(&x[..1], &x[1..])[at % 3], &x);
            assert!(*found_value == value || value.is_nan() && found_value.is_nan(), "{found_value} {value}");
            let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
            assert!(slopes.iter().zip(&gradient[1..]).all(same), "{slopes:?} {gradient:?}");
        }
        assert_eq!(found.mean_gradient(2), [1.0]);
    }
}
