//! Loss functions, and the scaling of residuals by them.

use crate::kinds::{Products, products, products_by_hand};
use tapewright::residuals::{Cauchy, Huber, Linearization, Loss, Problem, Rho, SoftL1, Trivial, Tukey};

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

/// Derivatives by central differences have an error of h² times the third derivative, and of ε/h by rounding. The
/// scales here are near 1, and so are all derivatives.
fn assert_derivatives(loss: &impl Loss, s: f64) {
    const H: f64 = 1e-5;
    let (below, at, above) = (loss.at(s - H), loss.at(s), loss.at(s + H));
    assert!(near(at.slope, (above.value - below.value) / (2.0 * H), 1e-9), "{at:?} at {s}");
    assert!(near(at.curvature, (above.slope - below.slope) / (2.0 * H), 1e-9), "{at:?} at {s}");
}

#[test]
fn slopes_and_curvatures_are_those_of_the_values() {
    for s in [0.1, 0.5, 1.0, 2.0, 2.24, 2.26, 3.0, 7.0] {
        assert_derivatives(&Huber::new(1.5), s);
        assert_derivatives(&Cauchy::new(1.5), s);
        assert_derivatives(&Tukey::new(1.5), s);
        assert_derivatives(&SoftL1::new(1.5), s);
        assert_derivatives(&Trivial, s);
    }
}

#[test]
fn small_residuals_are_left_as_they_are() {
    let losses: [&dyn Loss; 5] = [&Huber::new(0.5), &Cauchy::new(0.5), &Tukey::new(0.5), &SoftL1::new(0.5), &Trivial];
    for loss in losses {
        let at = loss.at(0.0);
        assert_eq!((at.value, at.slope), (0.0, 1.0));
        let s = 1e-30;
        assert!(near(loss.at(s).value, s, 1e-15 * s), "{:?}", loss.at(s));
    }
}

#[test]
fn thresholds_belong_to_the_inner_formula_and_nothing_jumps_there() {
    let (huber, tukey) = (Huber::new(2.0), Tukey::new(2.0));
    assert_eq!(huber.at(4.0), Rho { value: 4.0, slope: 1.0, curvature: 0.0 });
    let behind = 4.0_f64.next_up();
    assert!(near(huber.at(behind).value, 4.0, 1e-14) && near(huber.at(behind).slope, 1.0, 1e-15));
    assert_eq!(tukey.at(4.0).slope, 0.0);
    assert_eq!(tukey.at(behind), Rho { value: 4.0 / 3.0, slope: 0.0, curvature: 0.0 });
    assert_eq!(tukey.at(4.0).value, 4.0 / 3.0);
}

#[test]
fn outliers_count_as_far_as_the_loss_says() {
    let far = 1e200;
    assert_eq!(Huber::new(3.0).at(far).value, 3.0 * (2.0 * 1e100 - 3.0));
    assert_eq!(Tukey::new(3.0).at(f64::INFINITY).value, 3.0);
    assert!(Cauchy::new(3.0).at(far).value < 9.0 * 461.0);
    assert!(near(SoftL1::new(3.0).at(far).value, 6e100, 1e86));
}

#[test]
#[should_panic(expected = "must be positive and finite, not 0")]
fn a_scale_of_zero_is_refused() {
    let _ = Huber::new(0.0);
}

/// s + s²: a loss that bends upwards.
#[derive(Clone, Copy)]
struct Upwards;

impl Loss for Upwards {
    fn at(&self, s: f64) -> Rho {
        Rho { value: s + s * s, slope: 1.0 + 2.0 * s, curvature: 2.0 }
    }
}

const X: [f64; 2] = [0.5, -1.25];
const Y: [f64; 3] = [0.75, 2.0, -0.5];
const DATA: [f64; 2] = [1.5, -0.25];

/// Gradient of ½ρ, and ρ′·JᵀJ + 2ρ″·Jᵀr·rᵀJ, in which the second term counts if `bends`.
fn by_hand(loss: &impl Loss, bends: bool) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    let (r, jacobian) = (products(X, Y, DATA), products_by_hand(X, Y, DATA));
    let rho = loss.at(r.iter().map(|r| r * r).sum());
    let along = |j: usize| (0..3).map(|i| jacobian[i][j] * r[i]).sum::<f64>();
    let entry = |j: usize, k: usize| {
        let product: f64 = jacobian.iter().map(|row| row[j] * row[k]).sum();
        rho.slope * product + if bends { 2.0 * rho.curvature * along(j) * along(k) } else { 0.0 }
    };
    let gradient = (0..5).map(|j| rho.slope * along(j)).collect();
    (0.5 * rho.value, gradient, (0..5).map(|j| (0..5).map(|k| entry(j, k)).collect()).collect())
}

fn assert_scaled(loss: impl Loss + Copy, bends: bool) {
    let mut problem = Problem::new();
    let blocks = [problem.add_parameters(&X), problem.add_parameters(&Y)];
    problem.add_residuals(Products, loss, [(blocks, DATA)]).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    at.evaluate(problem.start()).expect("finite");
    let (cost, gradient, matrix) = by_hand(&loss, bends);
    assert!(near(at.cost(), cost, 1e-14 * cost.abs()));
    // A dozen operations on numbers of this size.
    let scale = matrix.iter().flatten().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    at.gradient().iter().zip(gradient).for_each(|(a, b)| assert!(near(*a, b, 1e-14 * scale), "{a} {b}"));
    let upper = at.normal_matrix().to_upper().to_dense();
    for (i, row) in matrix.iter().enumerate() {
        (i..5).for_each(|j| assert!(near(upper[i][j], row[j], 1e-14 * scale), "{} {}", upper[i][j], row[j]));
    }
}

#[test]
fn gradient_and_normal_matrix_are_those_of_the_loss() {
    assert_scaled(Trivial, false);
    assert_scaled(Upwards, true);
    assert_scaled(Cauchy::new(1.5), false);
    assert_scaled(SoftL1::new(0.5), false);
    assert_scaled(Huber::new(0.25), false);
    assert_scaled(Huber::new(100.0), false);
    assert_scaled(Tukey::new(5.0), false);
}

#[test]
fn an_outlier_beyond_tukeys_scale_has_no_residuals_and_no_slopes() {
    let mut problem = Problem::new();
    let blocks = [problem.add_parameters(&X), problem.add_parameters(&Y)];
    problem.add_residuals(Products, Tukey::new(0.1), [(blocks, DATA)]).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    at.evaluate(problem.start()).expect("finite");
    assert!(at.residuals().iter().chain(at.jacobian().values()).all(|number| *number == 0.0));
    assert!(near(at.cost(), 0.005 / 3.0, 1e-17));
}

#[test]
fn residuals_of_zero_are_harmless_under_every_loss() {
    fn assert_at_zero(loss: impl Loss) {
        let mut problem = Problem::new();
        let x = problem.add_parameters(&[2.0]);
        problem.add_residuals(crate::kinds::Measured, loss, [([x], [2.0])]).expect("possible");
        let mut at = Linearization::new(&problem).expect("a free block");
        at.evaluate(problem.start()).expect("finite");
        assert_eq!((at.residuals(), at.jacobian().values(), at.cost()), (&[0.0][..], &[1.0][..], 0.0));
    }
    assert_at_zero(Trivial);
    assert_at_zero(Huber::new(1.0));
    assert_at_zero(Cauchy::new(1.0));
    assert_at_zero(Tukey::new(1.0));
    assert_at_zero(SoftL1::new(1.0));
    assert_at_zero(Upwards);
}

#[test]
fn a_loss_that_is_chosen_at_run_time_has_the_bits_of_the_loss() {
    fn results(loss: impl Loss) -> (bool, Vec<f64>) {
        let mut problem = Problem::new();
        let blocks = [problem.add_parameters(&X), problem.add_parameters(&Y)];
        problem.add_residuals(Products, loss, [(blocks, DATA)]).expect("possible");
        let mut at = Linearization::new(&problem).expect("free blocks");
        at.evaluate(problem.start()).expect("finite");
        (problem.has_losses(), [&[at.cost()], at.residuals(), at.jacobian().values()].concat())
    }
    assert_eq!(results(Box::new(Trivial) as Box<dyn Loss>), results(Trivial));
    assert_eq!(results(Box::new(Cauchy::new(0.5)) as Box<dyn Loss>), results(Cauchy::new(0.5)));
    assert_eq!([results(Trivial).0, results(Cauchy::new(0.5)).0], [false, true]);
    assert!(!Problem::new().has_losses());
}

#[test]
fn residuals_on_the_threshold_of_hubers_loss_are_left_as_they_are() {
    // |r|² = 4 exactly, and the next numbers beside it.
    for (x, is_scaled) in [(2.0_f64.next_down(), false), (2.0, false), (2.0_f64.next_up(), true)] {
        let mut problem = Problem::new();
        let block = problem.add_parameters(&[x]);
        problem.add_residuals(crate::kinds::Measured, Huber::new(2.0), [([block], [0.0])]).expect("possible");
        let mut at = Linearization::new(&problem).expect("a free block");
        at.evaluate(problem.start()).expect("finite");
        let root = if is_scaled { (2.0 / x).sqrt() } else { 1.0 };
        assert!(near(at.residuals()[0], x * root, 1e-15 * x) && near(at.jacobian().values()[0], root, 1e-15), "{at:?}");
        assert!(near(at.cost(), 2.0, 1e-15));
        assert!(near(at.gradient()[0], 2.0, 1e-15));
        assert!(is_scaled || at.residuals()[0] == x);
    }
}
