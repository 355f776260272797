//! Scenarios that branch.

use tapewright::prelude::*;
use tapewright::programs::{Program, scenarios};

/// A knock-out: paths that reach the barrier pay nothing; others by one of three rules.
fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
    let mut x = p[0];
    for z in d {
        x = (x * (p[1] * *z).exp()).into();
        if x > 1.5 {
            return Real::from(0.0);
        }
    }
    if x < 0.7 {
        (x * x).into()
    } else if x <= 1.0 {
        (x + p[1]).into()
    } else {
        x.sin().into()
    }
}

fn data(k: usize) -> [f64; 3] {
    core::array::from_fn(|i| ((k * 3 + i) as f64 * 1.7).sin())
}

/// The number of ways that scenarios take: the steps until they are out, or one of three rules.
fn patterns(count: usize) -> usize {
    let way = |k: usize| {
        let mut x = 1.0_f64;
        for (step, z) in data(k).into_iter().enumerate() {
            x *= (0.4 * z).exp();
            if x > 1.5 {
                return step;
            }
        }
        3 + usize::from(x >= 0.7) + usize::from(x > 1.0)
    };
    (0..count).map(way).collect::<std::collections::HashSet<_>>().len()
}

fn check(program: &Program<'_>, count: usize) -> tapewright::programs::Evaluations<f64> {
    let p = [1.0, 0.4];
    let found = program.gradients(&p, scenarios(count, 3, |k, d| d.copy_from_slice(&data(k)))).unwrap();
    let mut sum = [0.0; 2];
    for k in 0..count {
        let x: Vec<f64> = p.into_iter().chain(data(k)).collect();
        let (value, gradient) = value_and_gradient::<Jacobian>(|x| f(&x[..2], &x[2..]), &x);
        assert!((found.values[k] - value).abs() < 1e-14, "scenario {k}: {} and {value}", found.values[k]);
        assert!(found.gradients[k].iter().zip(&gradient[2..]).all(|(a, b)| (a - b).abs() < 1e-13), "scenario {k}");
        sum.iter_mut().zip(&gradient).for_each(|(sum, slope)| *sum += slope);
    }
    let mean = found.mean_gradient(0);
    assert!(mean.iter().zip(sum).all(|(a, b)| (a - b / count as f64).abs() < 1e-13), "{mean:?} {sum:?}");
    found
}

#[test]
fn each_pattern_of_branches_has_a_recording() {
    let program = Program::new(|p, d| [f(p, d)]);
    let found = check(&program, 700);
    assert_eq!(found.branches().recordings, patterns(700), "{}", found.branches());
    assert_eq!(found.branches().alone, 0);
    let (line, most) = &found.branches().splits[0];
    assert!(line.contains("branches.rs:") && *most > 100, "{line}: {most}");
    // They are kept.
    assert!(check(&program, 700) == found);
}

#[test]
fn beyond_the_number_of_patterns_scenarios_are_recorded_alone() {
    let program = Program::new(|p, d| [f(p, d)]).most_patterns(2);
    let found = check(&program, 300);
    assert_eq!(found.branches().recordings, 2);
    assert!(found.branches().alone > 10);
}

#[test]
fn parameters_may_branch() {
    let program = Program::new(|p, d| [if p[0] > 0.0 { (p[0] * d[0]).eval() } else { (d[0] - p[0]).eval() }]);
    for p in [2.0, -3.0, 5.0] {
        let found = program.gradient(&[p], &[[7.0], [8.0]]).unwrap();
        let expected = if p > 0.0 { (7.0 * p, 7.5) } else { (7.0 - p, -1.0) };
        assert_eq!((found.values[0], found.mean_gradient(0)[0]), expected);
        assert_eq!(found.branches().recordings, 1);
    }
}

#[test]
fn steps_of_scenarios_are_branches() {
    let program = Program::new(|p, d| [(d[0].floor() * d[0] * p[0]).eval()]);
    let sets: Vec<[f64; 1]> = (0..40_u8).map(|k| [f64::from(k) * 0.1]).collect();
    let found = program.gradients(&[2.0], &sets).unwrap();
    for ([x], (value, gradient)) in sets.iter().zip(found.values.iter().zip(&found.gradients)) {
        assert_eq!((*value, gradient[0]), (x.floor() * x * 2.0, x.floor() * 2.0));
    }
    assert_eq!(found.branches().recordings, 4);
}

#[test]
fn scenarios_in_which_a_comparison_is_undecided_go_another_way() {
    let program = Program::new(|_, d| [if d[0] < 1.0 { (d[0] * 2.0).eval() } else { (d[0] * 3.0).eval() }]);
    let found = program.gradients(&[], &[[0.5], [f64::NAN], [2.0]]).unwrap();
    assert!(found.values[1].is_nan());
    assert_eq!((found.values[0], found.values[2]), (1.0, 6.0));
    assert_eq!(found.gradients, [[2.0], [3.0], [3.0]]);
}
