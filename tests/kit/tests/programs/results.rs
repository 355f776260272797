//! Values, means and gradients beside tapes.

use tapewright::prelude::*;
use tapewright::programs::{Evaluations, Program, rows, scenarios};

/// Two outputs of three parameters and two data, with statements of all sorts.
fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> [Real<S>; 2] {
    let level = (p[0] * p[1] + 2.0).eval(); // depends on parameters only
    let x = (d[0] * level + (d[1] * p[2]).exp()).eval();
    let _unused = (x * 3.0).eval();
    let y = (x / (level + d[1].square()) - (x * d[0]).sin()).eval();
    let y = (y * y * y - tapewright::sum(&[x, y, d[0]]) + level.sqrt()).eval();
    [y, (x.max(d[0]) - p[2].min(d[1] * 2.0)).eval()]
}

fn data(k: usize) -> [f64; 2] {
    let k = k as f64;
    [(0.37 * k).sin(), (0.11 * k).cos() - 0.3]
}

const P: [f64; 3] = [1.5, -0.25, 0.75];

/// Values and gradients by parameters and data of each output, from a tape.
fn by_tape(k: usize) -> [(f64, Vec<f64>, Vec<f64>); 2] {
    core::array::from_fn(|output| {
        let x: Vec<f64> = P.into_iter().chain(data(k)).collect();
        let (value, gradient) = value_and_gradient::<PrimalValue>(|x| f(&x[..3], &x[3..])[output], &x);
        (value, gradient[..3].to_vec(), gradient[3..].to_vec())
    })
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-13 * (1.0 + b.abs())
}

fn check(found: &Evaluations<f64>, count: usize) {
    assert_eq!(found.count(), count);
    for output in 0..2 {
        let (mut mean, mut gradient) = (0.0, vec![0.0; 3]);
        for k in 0..count {
            let (value, by_parameters, by_data) = &by_tape(k)[output];
            assert!(close(found.values[2 * k + output], *value), "scenario {k}, output {output}");
            mean += value / count as f64;
            gradient.iter_mut().zip(by_parameters).for_each(|(sum, slope)| *sum += slope / count as f64);
            if let Some(slopes) = found.gradients.get(2 * k + output) {
                assert!(slopes.iter().zip(by_data).all(|(a, b)| close(*a, *b)), "{slopes:?} {by_data:?}");
            }
        }
        assert!(close(found.mean(output), mean));
        for (a, b) in found.mean_gradient(output).iter().zip(gradient) {
            assert!(close(*a, b), "output {output}: {a} instead of {b}");
        }
    }
}

#[test]
fn scenarios_have_the_values_and_gradients_of_tapes() {
    for width in [1, 8, 64, 256] {
        let program = Program::new(f).in_blocks_of(width);
        for count in [1, 7, 8, 65, 300] {
            let source = || scenarios(count, 2, |k, d| d.copy_from_slice(&data(k)));
            check(&program.gradients(&P, source()).unwrap(), count);
            let (values, all) = (program.values(&P, source()).unwrap(), program.gradients(&P, source()).unwrap());
            assert_eq!(values.values, all.values);
            assert!(values.gradients.is_empty() && values.mean_gradient(0).is_empty());
            assert_eq!(program.gradient(&P, source()).unwrap().mean_gradient(1), all.mean_gradient(1));
        }
    }
}

#[test]
fn values_and_gradients_of_scenarios_have_the_same_bits_for_blocks_of_any_width() {
    let run = |width| {
        let source = scenarios(2500, 2, |k, d| d.copy_from_slice(&data(k)));
        Program::new(f).in_blocks_of(width).gradients(&P, source).unwrap()
    };
    let all = run(64);
    for width in [8, 16, 128, 1024] {
        let found = run(width);
        assert!(found.values == all.values && found.gradients == all.gradients, "{width}");
        // Sums over scenarios are added up in another order.
        let means = found.mean_gradient(0).into_iter().zip(all.mean_gradient(0));
        means.for_each(|(a, b)| assert!(close(a, b), "{width}"));
    }
}

#[test]
fn programs_of_width_1_have_the_bits_of_tapes() {
    let program = Program::new(f).in_blocks_of(1);
    let found = program.gradients(&P, scenarios(40, 2, |k, d| d.copy_from_slice(&data(k)))).unwrap();
    // Without data, all statements are the same for all scenarios.
    let alone = Program::new(|p, _| f(&p[..3], &p[3..])).in_blocks_of(1);
    for k in 0..40 {
        let at: Vec<f64> = P.into_iter().chain(data(k)).collect();
        let one = alone.gradient(&at, scenarios(1, 0, |_, _| {})).unwrap();
        for output in 0..2 {
            let (value, by_parameters, by_data) = &by_tape(k)[output];
            assert_eq!((found.values[2 * k + output], one.values[output]), (*value, *value), "scenario {k}");
            assert_eq!(found.gradients[2 * k + output], *by_data, "scenario {k}, output {output}");
            assert_eq!(one.mean_gradient(output), [&by_parameters[..], by_data].concat(), "scenario {k}");
        }
    }
}

#[test]
fn outputs_of_programs_of_width_1_may_be_inputs_or_constants() {
    let program = Program::new(|p, d| [p[0], d[1], Real::from(7.0), (p[1] * p[1]).eval(), d[1]]);
    let found = program.in_blocks_of(1).gradients(&[2.0, 0.5], &[[3.0, 4.0], [5.0, 6.0]]).unwrap();
    assert_eq!(found.values, [2.0, 4.0, 7.0, 0.25, 4.0, 2.0, 6.0, 7.0, 0.25, 6.0]);
    assert_eq!(found.gradients[..5], [[0.0; 2], [0.0, 1.0], [0.0; 2], [0.0; 2], [0.0, 1.0]]);
    assert_eq!(found.gradients[..5], found.gradients[5..]);
    let means: Vec<_> = (0..5).map(|output| found.mean_gradient(output)).collect();
    assert_eq!(means, [[1.0, 0.0], [0.0; 2], [0.0; 2], [0.0, 1.0], [0.0; 2]]);
}

#[cfg(feature = "threads")]
#[test]
fn results_have_the_same_bits_for_any_number_of_threads() {
    let run = |program: Program<'_>| {
        let source = scenarios(5000, 2, |k, d| d.copy_from_slice(&data(k)));
        program.gradients(&P, source).unwrap()
    };
    let all = run(Program::new(f));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| run(Program::new(f).in_parallel())) == all, "{threads}");
        let one_by_one = || Program::new(f).in_blocks_of(1);
        assert!(pool.install(|| run(one_by_one().in_parallel())) == run(one_by_one()), "{threads}");
    }
}

#[test]
fn a_program_runs_again_with_other_parameters() {
    let program = Program::new(|p, d| [f(p, d)[0]]);
    for scale in [1.0, -2.0, 0.5] {
        let p = P.map(|x| scale * x);
        let found = program.gradient(&p, &[data(3)]).unwrap();
        let x: Vec<f64> = p.into_iter().chain(data(3)).collect();
        let (value, gradient) = value_and_gradient::<PrimalValue>(|x| f(&x[..3], &x[3..])[0], &x);
        assert!(close(found.values[0], value));
        assert!(found.mean_gradient(0).iter().zip(&gradient).all(|(a, b)| close(*a, *b)));
        assert_eq!(found.branches().recordings, 1);
    }
}

#[test]
fn rows_arrays_and_vectors_are_sources_of_scenarios() {
    let program = Program::new(|p, d| [f(p, d)[0]]);
    let arrays: Vec<[f64; 2]> = (0..20).map(data).collect();
    let flat: Vec<f64> = arrays.iter().flatten().copied().collect();
    let vectors: Vec<Vec<f64>> = arrays.iter().map(|row| row.to_vec()).collect();
    let all = program.gradient(&P, &arrays).unwrap();
    assert_eq!(program.gradient(&P, rows(&flat, 2)).unwrap(), all);
    assert_eq!(program.gradient(&P, &vectors[..]).unwrap(), all);
    assert_eq!(program.gradient(&P, &arrays[..]).unwrap(), all);
}

#[test]
fn many_data_come_to_their_scenarios() {
    // More than a first-level cache holds of a block, in a short block, and in a full one with a short one behind it.
    fn sum<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
        d.iter().enumerate().fold(p[0], |sum, (k, d)| (sum + d * p[0] * (k as f64 + 1.0)).eval())
    }
    let program = Program::new(|p, d| [sum(p, d)]);
    for count in [1, 8, 21, 64, 75] {
        let numbers: Vec<f64> = (0..count * 100).map(|k| (0.37 * f64::from(k)).sin()).collect();
        let found = program.gradients(&[0.75], rows(&numbers, 100)).unwrap();
        for (k, data) in numbers.chunks(100).enumerate() {
            let x: Vec<f64> = core::iter::once(0.75).chain(data.iter().copied()).collect();
            let (value, gradient) = value_and_gradient::<PrimalValue>(|x| sum(&x[..1], &x[1..]), &x);
            assert_eq!((found.values[k], &found.gradients[k][..]), (value, &gradient[1..]), "{k} of {count}");
        }
    }
}

#[test]
fn outputs_may_be_inputs_constants_and_functions_of_parameters_alone() {
    let program = Program::new(|p, d| {
        let doubled = (p[0] * 2.0).eval();
        [p[0], d[0], Real::from(7.0), doubled, d[0]]
    });
    let found = program.gradients(&[3.0], &[[1.0], [2.0], [6.0]]).unwrap();
    assert_eq!(found.values[..5], [3.0, 1.0, 7.0, 6.0, 1.0]);
    assert_eq!([0, 1, 2, 3, 4].map(|output| found.mean(output)), [3.0, 3.0, 7.0, 6.0, 3.0]);
    assert_eq!([0, 1, 2, 3, 4].map(|output| found.mean_gradient(output)[0]), [1.0, 0.0, 0.0, 2.0, 0.0]);
    assert_eq!(found.gradients[..5], [[0.0], [1.0], [0.0], [0.0], [1.0]]);
}

#[test]
fn parameters_or_data_may_be_missing() {
    let only_data = Program::new(|_, d| [(d[0] * d[0]).eval()]);
    let found = only_data.gradients(&[], &[[3.0], [5.0]]).unwrap();
    assert_eq!((found.mean(0), &found.gradients[1][..], found.mean_gradient(0)), (17.0, &[10.0][..], vec![]));
    let only_parameters = Program::new(|p, _| [(p[0] * p[0]).eval()]);
    let found = only_parameters.gradient(&[3.0], &[[]; 4]).unwrap();
    assert_eq!((found.mean_gradient(0), found.values), (vec![6.0], vec![9.0; 4]));
}

#[test]
fn no_scenario_gives_no_result() {
    let found = Program::new(f).gradient(&P, &[[0.0; 2]; 0]).unwrap();
    assert_eq!((found.count(), found.values.len(), found.branches().recordings), (0, 0, 0));
}

#[test]
fn standard_errors_are_those_of_the_mean() {
    let found = Program::new(|_, d| [(d[0] * 1.0).eval()]).values(&[], &[[1.0], [2.0], [3.0], [6.0]]).unwrap();
    // Squares about the mean 3: 4 + 1 + 0 + 9 = 14; √(14/3/4).
    assert_eq!((found.mean(0), found.standard_error(0)), (3.0, (14.0_f64 / 3.0 / 4.0).sqrt()));
}

#[test]
fn scenarios_that_are_not_finite_are_counted() {
    let program = Program::new(|p, d| [(p[0] / d[0]).eval()]);
    let found = program.gradient(&[2.0], &[[1.0], [0.0], [4.0], [0.0]]).unwrap();
    assert_eq!(found.not_finite(), Some((2, 1)));
    assert_eq!(program.values(&[2.0], &[[1.0]]).unwrap().not_finite(), None);
}

#[test]
fn zero_times_anything_is_zero() {
    // A root with an infinite derivative has the adjoint 0; a seed of 0 meets an infinite partial.
    let program = Program::new(|p, d| {
        let root = p[0].sqrt().eval();
        let other = (d[0] * p[0]).sqrt().eval();
        [((d[0] - d[0]) * root + other * 0.0).eval()]
    });
    let found = program.gradients(&[0.0], &[[1.0], [2.0]]).unwrap();
    assert_eq!((found.mean_gradient(0), &found.gradients[0][..]), (vec![0.0], &[0.0][..]));
    // The argument that is not returned has an infinite derivative.
    let program = Program::new(|p, d| [d[0].sqrt().max(p[0]).eval()]);
    let found = program.gradients(&[1.0], &[[0.0], [4.0]]).unwrap();
    assert_eq!((found.mean_gradient(0), found.gradients), (vec![0.5], vec![vec![0.0], vec![0.25]]));
}

#[test]
fn slopes_of_quotients_are_those_of_tapes_at_zeros_and_beyond_the_range_of_reciprocals() {
    let dividends = [0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NAN];
    let divisors = [0.0, -0.0, 1e-310, -3.0, 1e200, f64::INFINITY, f64::NAN];
    let sets: Vec<[f64; 2]> = dividends.iter().flat_map(|x| divisors.iter().map(|y| [*x, *y])).collect();
    let found = Program::new(|_, d| [(d[0] / d[1]).eval()]).gradients(&[], &sets).unwrap();
    for (k, set) in sets.iter().enumerate() {
        let (_, gradient) = value_and_gradient::<PrimalValue>(|x| (x[0] / x[1]).into(), set);
        for (slope, expected) in found.gradients[k].iter().zip(&gradient) {
            let both_nan = slope.is_nan() && expected.is_nan();
            let off = (slope - expected).abs();
            let is_close = slope == expected || off <= 4.0 * f64::EPSILON * expected.abs();
            assert!(both_nan || is_close, "at {set:?}: {slope:e} instead of {expected:e}");
        }
    }
}

#[test]
fn single_precision_has_the_bits_of_tapes() {
    let program = Program::<f32>::new(|p, d| [(p[0] * d[0].exp() / (d[0] + 2.0)).eval()]);
    let sets: Vec<[f32; 1]> = (0..100_u16).map(|k| [f32::from(k) * 0.01]).collect();
    let found = program.gradients(&[1.25], &sets).unwrap();
    for (k, set) in sets.iter().enumerate() {
        let (value, gradient) =
            value_and_gradient::<PrimalValue<f32>>(|x| (x[0] * x[1].exp() / (x[1] + 2.0)).into(), &[1.25, set[0]]);
        assert_eq!(found.values[k].to_bits(), value.to_bits());
        assert!((found.gradients[k][0] - gradient[1]).abs() <= 4.0 * f32::EPSILON * gradient[1].abs());
    }
}
