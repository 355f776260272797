//! Options whose payoffs branch, beside scalar tapes: equal to 12 digits, and counted in the result.

use std::collections::HashSet;
use tapewright::prelude::*;
use tapewright::programs::{Evaluations, Program, rows};

/// Normal numbers of some paths, path by path.
fn normals(paths: usize, steps: usize) -> Vec<f64> {
    let quantile = |u: f64| Real::<Passive>::from(u).normal_quantile().value();
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        quantile(((state >> 33) as f64 + 0.5) / 2_f64.powi(31))
    };
    (0..paths * steps).map(|_| next()).collect()
}

/// Spots along a path for spot, volatility, rate and time of a step.
fn path<S: Strategy>(p: &[Real<S>], z: &[Real<S>]) -> Vec<Real<S>> {
    let (mut spot, mut spots) = (p[0], Vec::new());
    for z in z {
        spot = (spot * ((p[2] - 0.5 * p[1] * p[1]) * p[3] + p[1] * p[3].sqrt() * *z).exp()).into();
        spots.push(spot);
    }
    spots
}

const PARAMETERS: [f64; 4] = [100.0, 0.2, 0.03, 0.25];

/// Asserts that values, gradients by parameters and by data are those of scalar tapes to 12 digits.
fn check(
    found: &Evaluations<f64>,
    (data, columns): (&[f64], usize),
    f: impl Fn(&[Real<PrimalValue>], &[Real<PrimalValue>]) -> Real<PrimalValue>,
) {
    let (mut sum, paths) = (PARAMETERS.map(|_| 0.0), data.len() / columns);
    for (k, row) in data.chunks_exact(columns).enumerate() {
        let x: Vec<f64> = PARAMETERS.iter().chain(row).copied().collect();
        let (value, slopes) = value_and_gradient::<PrimalValue>(|x| f(&x[..4], &x[4..]), &x);
        assert!((found.values[k] - value).abs() <= 1e-12 * value.abs(), "path {k}: {} and {value}", found.values[k]);
        let size = slopes.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * size;
        assert!(found.gradients[k].iter().zip(&slopes[4..]).all(agree), "path {k}");
        sum.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += slope);
    }
    for (mean, sum) in found.mean_gradient(0).iter().zip(sum) {
        assert!((mean - sum / paths as f64).abs() <= 1e-12 * (sum / paths as f64).abs(), "{mean} and {sum}");
    }
}

/// A call that is lost when the spot reaches 125 at the end of a step.
fn barrier<S: Strategy>(p: &[Real<S>], z: &[Real<S>]) -> Real<S> {
    let spots = path(p, z);
    for spot in &spots {
        if *spot > 125.0 {
            return Real::from(0.0);
        }
    }
    let last = spots[spots.len() - 1];
    ((last - 100.0).max(0.0) * (-p[2] * p[3] * z.len() as f64).exp()).into()
}

#[test]
fn a_barrier_option_has_a_recording_for_each_step_in_which_it_is_lost() {
    let data = normals(500, 6);
    let program = Program::new(|p, z| [barrier(p, z)]);
    let found = program.gradients(&PARAMETERS, rows(&data, 6)).unwrap();
    check(&found, (&data, 6), barrier);
    let way = |z: &[f64]| {
        path::<Passive>(Real::wrap_slice(&PARAMETERS), Real::wrap_slice(z)).iter().position(|spot| *spot > 125.0)
    };
    let ways: HashSet<_> = data.chunks_exact(6).map(way).collect();
    assert!(ways.len() >= 5, "{ways:?}");
    assert_eq!((found.branches().recordings, found.branches().alone), (ways.len(), 0));
}

const STRIKE: f64 = 105.0;

/// Payoff of a put in units of the strike.
fn put(spot: f64) -> f64 {
    (1.0 - spot / STRIKE).max(0.0)
}

/// The values of holding an American put at the end of each step but the last, as quadratic functions of the spot in
/// units of the strike: least squares over the paths that are in the money (Longstaff and Schwartz, 2001).
fn regression(data: &[f64], steps: usize) -> Vec<[f64; 3]> {
    let paths: Vec<Vec<f64>> = data
        .chunks_exact(steps)
        .map(|z| path::<Passive>(Real::wrap_slice(&PARAMETERS), Real::wrap_slice(z)).iter().map(Real::value).collect())
        .collect();
    let discount = (-PARAMETERS[2] * PARAMETERS[3]).exp();
    let mut cash: Vec<f64> = paths.iter().map(|spots| put(spots[steps - 1])).collect();
    let mut rules = vec![[0.0; 3]; steps - 1];
    for step in (0..steps - 1).rev() {
        cash.iter_mut().for_each(|cash| *cash *= discount);
        let mut sums = [[0.0; 4]; 3];
        for (spots, cash) in paths.iter().zip(&cash).filter(|(spots, _)| put(spots[step]) > 0.0) {
            let x = spots[step] / STRIKE;
            let powers = [1.0, x, x * x, *cash];
            (0..3).for_each(|i| (0..4).for_each(|j| sums[i][j] += powers[i] * powers[j]));
        }
        rules[step] = solution(sums);
        for (spots, cash) in paths.iter().zip(&mut cash) {
            let [a, b, c] = rules[step];
            let x = spots[step] / STRIKE;
            if put(spots[step]) > 0.0 && put(spots[step]) > a + x * (b + x * c) {
                *cash = put(spots[step]);
            }
        }
    }
    rules
}

/// The solution of three linear equations, by elimination.
fn solution(mut rows: [[f64; 4]; 3]) -> [f64; 3] {
    for k in 0..3 {
        let pivot = rows[k];
        for row in rows.iter_mut().skip(k + 1) {
            let factor = row[k] / pivot[k];
            row.iter_mut().zip(pivot).for_each(|(x, pivot)| *x -= factor * pivot);
        }
    }
    let mut x = [0.0; 3];
    for k in (0..3).rev() {
        let known: f64 = (k + 1..3).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][3] - known) / rows[k][k];
    }
    x
}

/// An American put: exercised when it pays more than it is worth to hold, as the regression says.
fn american<S: Strategy>(p: &[Real<S>], z: &[Real<S>], rules: &[[f64; 3]]) -> Real<S> {
    let spots = path(p, z);
    for (step, spot) in spots.iter().enumerate() {
        let payoff = (STRIKE - *spot).eval();
        let x = (*spot / STRIKE).eval();
        let exercises = match rules.get(step) {
            Some([a, b, c]) => payoff > 0.0 && payoff > STRIKE * (*a + x * (*b + x * *c)),
            None => payoff > 0.0,
        };
        if exercises {
            return (payoff * (-p[2] * p[3] * (step + 1) as f64).exp()).into();
        }
    }
    Real::from(0.0)
}

#[test]
fn american_exercise_by_regression_is_a_branch() {
    let steps = 4;
    let data = normals(600, steps);
    let rules = regression(&data, steps);
    let program = Program::new(|p, z| [american(p, z, &rules)]).most_patterns(32);
    let found = program.gradients(&PARAMETERS, rows(&data, steps)).unwrap();
    check(&found, (&data, steps), |p, z| american(p, z, &rules));
    assert!(found.branches().recordings > steps, "{}", found.branches());
    assert_eq!(found.branches().alone, 0);
    // The European put is worth 7.9, and the right to exercise is worth something.
    let european: f64 = data
        .chunks_exact(steps)
        .map(|z| path::<Passive>(Real::wrap_slice(&PARAMETERS), Real::wrap_slice(z))[steps - 1].value())
        .map(|spot| (STRIKE - spot).max(0.0) * (-PARAMETERS[2] * PARAMETERS[3] * steps as f64).exp() / 600.0)
        .sum();
    assert!(found.mean(0) > european, "{} and {european}", found.mean(0));
}

/// Fifteen digital options, each on the spot after a step of its own; each that pays multiplies by the spot.
fn digitals<S: Strategy>(p: &[Real<S>], z: &[Real<S>]) -> Real<S> {
    let mut sum = (0.1 * p[0]).eval();
    for (step, spot) in path(p, z).iter().enumerate() {
        if *spot > 98.0 + step as f64 {
            sum = (sum + *spot * (1.0 + step as f64)).eval();
        }
    }
    sum
}

#[test]
fn fifteen_digitals_beyond_the_number_of_patterns_are_recorded_alone() {
    let data = normals(300, 15);
    let way = |z: &[f64]| -> Vec<bool> {
        let spots = path::<Passive>(Real::wrap_slice(&PARAMETERS), Real::wrap_slice(z));
        spots.iter().enumerate().map(|(step, spot)| *spot > 98.0 + step as f64).collect()
    };
    let ways: Vec<_> = data.chunks_exact(15).map(way).collect();
    let patterns = ways.iter().collect::<HashSet<_>>().len();
    assert!(patterns > 100, "{patterns}");
    for most in [16, 1000] {
        let program = Program::new(|p, z| [digitals(p, z)]).most_patterns(most);
        let found = program.gradients(&PARAMETERS, rows(&data, 15)).unwrap();
        check(&found, (&data, 15), digitals);
        let branches = found.branches();
        assert_eq!(branches.recordings, most.min(patterns), "{branches}");
        // Those that are recorded alone are what the patterns leave over.
        if most > patterns {
            assert_eq!(branches.alone, 0);
        } else {
            assert!(branches.alone > 0 && branches.alone <= 300 - most, "{branches}");
        }
    }
}
