//! Second derivatives: programs over duals, beside tapes that are recorded over duals for each scenario.

use super::functions::{POINTS, all};
use tapewright::prelude::*;
use tapewright::programs::{Evaluations, Program, Scenarios, rows, scenarios};
use tapewright::{Dual, hvp, preaccumulate};

type Second = Jacobian<Dual<f64, 1>>;

/// Parameters, a direction, and one datum for each of 300 scenarios.
const P: [f64; 3] = [1.25, 0.4, -0.75];
const V: [f64; 3] = [0.5, -2.0, 1.0];

fn data() -> impl Scenarios<f64> + Copy {
    scenarios(300, 1, |k, data| data[0] = (k % 71) as f64 * 0.05 - 1.7)
}

/// Asserts that means, their gradient and the product of their Hessian matrix are those of tapes to 12 digits.
fn check(found: &Evaluations<Dual<f64, 1>>, f: impl Fn(&[Real<Second>], &[Real<Second>]) -> Real<Second>) {
    let (mut mean, mut gradient, mut product) = (0.0, [0.0; 3], [0.0; 3]);
    let mut along = 0.0;
    for k in 0..300 {
        let mut row = [0.0];
        data().write(k, &mut row);
        let row = [Real::constant(Dual::constant(row[0]))];
        let (value, slopes, bends) = hvp::<Second>(|p| f(p, &row), &P, &V);
        mean += value / 300.0;
        along += slopes.iter().zip(V).map(|(slope, v)| slope * v).sum::<f64>() / 300.0;
        gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope / 300.0);
        product.iter_mut().zip(bends).for_each(|(sum, bend)| *sum += bend / 300.0);
    }
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-3), "{a} and {b}");
    close(found.mean(0).value, mean);
    close(found.mean(0).tangents[0], along);
    let by_parameters = found.mean_gradient(0);
    for (found, (slope, bend)) in by_parameters.iter().zip(gradient.into_iter().zip(product)) {
        close(found.value, slope);
        close(found.tangents[0], bend);
    }
    assert!(product.iter().all(|bend| *bend != 0.0));
}

/// Powers, quotients, exponentials, a selection, a constant, a function of a slice and a statement of parameters.
fn smooth<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
    let scale = (p[0] * p[0] * p[2].exp()).eval();
    let a = (scale * (d[0] * p[1]).sin() / (d[0] * d[0] + 1.0)).eval();
    let b = ((a * p[2]).tanh() + (scale + d[0].powi(2)).ln() * 3.0).eval();
    let c = (b.max(a * 2.0) + (b * b + 1.0).sqrt() * p[0].powf(p[1]) + (p[2] * d[0]).normal_cdf()).eval();
    (c * tapewright::dot(&[a, b, p[1]], &[b, c, d[0]])).into()
}

#[test]
fn hessians_of_means_are_those_of_tapes() {
    for width in [8, 64] {
        let program = Program::<Dual<f64, 1>>::new(|p, d| [smooth(p, d)]).in_blocks_of(width);
        let found = program.hessian_times(&P, &V.map(|v| [v]), data()).unwrap();
        assert_eq!((found.branches().recordings, found.branches().alone), (1, 0));
        check(&found, smooth);
    }
}

#[test]
fn scenarios_that_branch_otherwise_have_their_own_second_derivatives() {
    fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
        let x = smooth(p, d);
        if d[0] > 0.5 {
            return (x * x).into();
        }
        if d[0] < -0.5 { (x * p[1] * p[2]).sin().into() } else { (x * x * p[0]).into() }
    }
    for (most, alone) in [(16, false), (1, true)] {
        let program = Program::<Dual<f64, 1>>::new(|p, d| [f(p, d)]).most_patterns(most);
        let found = program.hessian_times(&P, &V.map(|v| [v]), data()).unwrap();
        assert_eq!((found.branches().recordings, found.branches().alone > 0), (most.min(3), alone));
        check(&found, f);
    }
}

#[test]
fn what_is_recorded_alone_has_second_derivatives() {
    fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
        let [y] = preaccumulate(&[p[0], p[1], p[2]], |x| [(x[0] * x[1] * x[2]).eval()]);
        (y * d[0] + smooth(p, d)).into()
    }
    let program = Program::<Dual<f64, 1>>::new(|p, d| [f(p, d)]);
    let found = program.hessian_times(&P, &V.map(|v| [v]), data()).unwrap();
    assert_eq!(found.branches().alone, 300);
    check(&found, f);
}

#[test]
fn every_function_has_the_second_derivatives_of_a_tape() {
    let direction = [0.75, -0.5, 0.25];
    let names: Vec<_> = all::<Passive>(Real::wrap_slice(&POINTS[0])).into_iter().map(|(name, _)| name).collect();
    let program = Program::<Dual<f64, 1>>::new(|_, d| all(d).into_iter().map(|(_, y)| y).collect::<Vec<_>>());
    let points = POINTS.map(|point| [0, 1, 2].map(|k| Dual { value: point[k], tangents: [direction[k]] }));
    let found = program.gradients(&[], &points).unwrap();
    let agree = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-13 * b.abs();
    for (k, point) in POINTS.iter().enumerate() {
        for (output, name) in names.iter().enumerate() {
            let (value, gradient, product) = hvp::<PrimalValue<Dual<f64, 1>>>(|x| all(x)[output].1, point, &direction);
            let at = k * names.len() + output;
            assert!(agree(found.values[at].value, value), "{name} at {point:?}: {} and {value}", found.values[at]);
            for (found, (slope, bend)) in found.gradients[at].iter().zip(gradient.into_iter().zip(product)) {
                assert!(agree(found.value, slope), "{name}′ at {point:?}: {found} and {slope}");
                assert!(agree(found.tangents[0], bend), "{name}″ at {point:?}: {found} and {bend}");
            }
        }
    }
}

#[test]
fn several_directions_are_taken_at_once_also_in_single_precision() {
    let program = Program::<Dual<f32, 3>>::new(|p, d| [(p[0] * p[0] * p[1] * d[0]).eval(), (p[0] + d[0]).eval()]);
    let unit = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
    let rows: Vec<[f32; 1]> = (0..40_u8).map(|k| [f32::from(k)]).collect();
    let found = program.hessian_times(&[3.0, 5.0], &unit, &rows).unwrap();
    let mean = 19.5;
    let gradient = found.mean_gradient(0);
    assert_eq!(gradient.iter().map(|slope| slope.value / mean).collect::<Vec<_>>(), [30.0, 9.0]);
    assert_eq!(
        gradient.iter().map(|slope| slope.tangents.map(|t| t / mean)).collect::<Vec<_>>(),
        [[10.0, 6.0, 16.0], [6.0, 0.0, 6.0]]
    );
    assert_eq!(found.mean_gradient(1)[0], Dual { value: 1.0, tangents: [0.0; 3] });
}

#[test]
fn third_derivatives_come_from_duals_of_duals() {
    type Third = Dual<Dual<f64, 1>, 1>;
    let program = Program::<Third>::new(|p, d| [(p[0] * p[0] * p[0] * d[0]).eval()]);
    let one = Dual { value: 1.0, tangents: [0.0] };
    let p = [Dual { value: Dual { value: 2.0, tangents: [1.0] }, tangents: [one] }];
    let d = [[Third::constant(Dual::constant(4.0))]];
    let slope = program.gradient(&p, &d).unwrap().mean_gradient(0)[0];
    assert_eq!(
        slope,
        Dual { value: Dual { value: 48.0, tangents: [48.0] }, tangents: [Dual { value: 48.0, tangents: [24.0] }] }
    );
}

#[test]
fn values_that_are_read_are_the_same_only_with_their_tangents() {
    // A constant that is made of a value has the value's tangent.
    let program =
        Program::<Dual<f64, 1>>::new(|p, d| [(Real::constant(p[0].value()) * p[1] * d[0]).eval()]).most_patterns(1);
    for tangent in [1.0, -2.0] {
        let found = program.hessian_times(&[3.0, 5.0], &[[tangent], [0.0]], &[[2.0]]).unwrap();
        assert_eq!(found.mean(0), Dual { value: 30.0, tangents: [10.0 * tangent] });
        assert_eq!(found.mean_gradient(0)[1], Dual { value: 6.0, tangents: [2.0 * tangent] });
    }
}

#[test]
fn constants_that_differ_in_tangents_only_are_kept_apart() {
    let constant = |tangent: f64| Real::constant(Dual { value: 2.0, tangents: [tangent] });
    let program = Program::<Dual<f64, 1>>::new(move |p, d| [(p[0] * constant(1.0) + d[0] * constant(7.0)).eval()]);
    let found = program.hessian_times(&[3.0], &[[0.0]], &[[5.0]]).unwrap();
    assert_eq!(found.mean(0), Dual { value: 16.0, tangents: [38.0] });
    assert_eq!(found.mean_gradient(0), [Dual { value: 2.0, tangents: [1.0] }]);
}

#[test]
fn directions_of_the_wrong_length_are_refused() {
    let program = Program::<Dual<f64, 1>>::new(|p, d| [(p[0] * d[0]).eval()]);
    let error = program.hessian_times(&[1.0], &[[1.0], [2.0]], &[[2.0]]).unwrap_err();
    assert_eq!(error.to_string(), "lengths differ: 1 parameters, but 2 entries of directions");
    let none = program.hessian_times(&[1.0], &[[1.0]], &[[0.0; 1]; 0]).unwrap();
    assert!(none.values.is_empty());
}

#[test]
fn maxima_and_minima_of_many_lanes_are_those_of_one() {
    const SPECIAL: [f64; 7] = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let number = |k: usize, tangent: f64| Dual { value: SPECIAL[k], tangents: [tangent] };
    let data: Vec<Dual<f64, 1>> =
        (0..7 * 7).flat_map(|k| [number(k / 7, 1.0 + k as f64), number(k % 7, -0.5)]).collect();
    let run = |width: usize| {
        let program = Program::<Dual<f64, 1>>::new(|_, d| {
            let [x, y] = [d[0], d[1]];
            [x.max(y).eval(), x.min(y).eval(), x.clamp(-1.0, 1.0).eval(), (x.max(y) * x.min(y) + y).eval()]
        });
        let found = program.in_blocks_of(width).gradients(&[], rows(&data, 2)).unwrap();
        assert_eq!((found.branches().recordings, found.branches().alone), (1, 0));
        let parts = |number: &Dual<f64, 1>| [number.value, number.tangents[0]];
        found.values.iter().chain(found.gradients.iter().flatten()).flat_map(parts).collect::<Vec<f64>>()
    };
    let (many, one) = (run(8), run(1));
    assert_eq!(many.len(), 7 * 7 * 4 * (1 + 2) * 2);
    for (k, (many, one)) in many.iter().zip(&one).enumerate() {
        assert!(many == one || many.is_nan() && one.is_nan(), "number {k}: {many}, not {one}");
    }
    assert!(many.iter().any(|x| x.is_nan()) && many.contains(&1.0));
}
