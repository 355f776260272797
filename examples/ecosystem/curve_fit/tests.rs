//! Tests of `curve_fit`, and of the adaptors on its curves.

mod fit;
mod nist;

use argmin::core::{CostFunction, Executor, Gradient, Hessian, Jacobian as _, Operator};
use argmin::solver::gaussnewton::GaussNewton;
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use argmin::solver::trustregion::{Steihaug, TrustRegion};
use argmin_math::{ArgminDot, ArgminInv, ArgminTranspose};
use fit::{Fit, Way};
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt, TerminationReason};
use nist::{ALL, digits};
use tapewright::prelude::*;
use tapewright::residuals::{Cauchy, Problem, Residual, ResidualError, Trivial, UnitQuaternion};
use tapewright_ecosystem::adaptors::{AdaptorError, ForArgmin, ForLevenbergMarquardt};

#[test]
fn parameters_and_deviations_are_the_certified_ones_from_both_starts_in_both_ways() {
    for reference in ALL {
        for start in reference.starts {
            for way in Way::ALL {
                let fit = Fit::of(&reference, start, way).expect("a fit");
                let name = reference.name;
                assert!(fit.is_certified(&reference), "{name}, {way}: {:?}, {} digits", fit.x, fit.digits(&reference));
                assert_eq!(fit.deviations.len(), reference.certified.len());
                assert!(fit.evaluations < 600, "{name}, {way}: {}", fit.evaluations);
                for (deviation, [_, certified]) in fit.deviations.iter().zip(reference.certified) {
                    // Relative changes of deviations are those of parameters, in units of deviations, times curvatures.
                    assert!(digits(*deviation, *certified) > 5.0, "{name}, {way}: {deviation}, not {certified}");
                }
            }
        }
    }
}

#[test]
fn jacobian_matrices_of_the_curves_are_those_of_differences() {
    for reference in ALL {
        let problem = reference.problem(reference.starts[1]).expect("a problem");
        let mut adapted = ForLevenbergMarquardt::new(&problem).expect("no manifolds");
        let (start, by_tape) = (adapted.params(), adapted.jacobian().expect("finite"));
        for k in 0..start.len() {
            let h = 1e-6 * start[k];
            let [above, below] = [h, -h].map(|h| {
                let mut moved = start.clone();
                moved[k] += h;
                adapted.set_params(&moved);
                adapted.residuals().expect("finite")
            });
            let scale = by_tape.column(k).amax();
            // Third derivatives times h², and the rounding of residuals over h.
            let off = ((above - below) / (2.0 * h) - by_tape.column(k)).amax();
            assert!(off <= 1e-8 * scale, "{}, parameter {k}: {off} of {scale}", reference.name);
        }
    }
}

/// a·x₀ + b·x₁² − y, over two blocks of parameters that are apart in the vector of all.
struct Bent;

impl Residual<2, 2, 1> for Bent {
    fn sizes(&self) -> [usize; 2] {
        [1, 2]
    }
    fn residuals<S: Strategy>(&self, [a, b]: [&[Real<S>]; 2], [t, y]: [Real<S>; 2]) -> [Real<S>; 1] {
        [(a[0] * t + b[0] * b[1].square() * t * t - y).into()]
    }
}

/// A problem with a constant block between free ones, and a start at which residuals are (−1, 9).
fn bent(problem: &mut Problem) -> [usize; 3] {
    let blocks = [&[2.0][..], &[7.0][..], &[3.0, -1.0][..]].map(|start| problem.add_parameters(start));
    problem.set_constant(blocks[1]).expect("there is such a block");
    let observations = [[1.0, 6.0], [2.0, 7.0]].map(|data| ([blocks[0], blocks[2]], data));
    problem.add_residuals(Bent, Trivial, observations).expect("blocks fit");
    blocks
}

#[test]
fn adaptors_leave_constant_blocks_out() {
    let mut problem = Problem::new();
    bent(&mut problem);
    let mut adapted = ForLevenbergMarquardt::new(&problem).expect("no manifolds");
    assert_eq!(adapted.params().as_slice(), [2.0, 3.0, -1.0]);
    assert_eq!(adapted.residuals().expect("finite").as_slice(), [-1.0, 9.0]);
    // Column by column: t, b₁²·t², 2·b₀·b₁·t².
    assert_eq!(adapted.jacobian().expect("finite").as_slice(), [1.0, 2.0, 1.0, 4.0, -6.0, -24.0]);
    adapted.set_params(&nalgebra_0_34::DVector::from_vec(vec![4.0, 0.5, 2.0]));
    assert_eq!(adapted.x(), [4.0, 7.0, 0.5, 2.0]);
    assert_eq!(adapted.residuals().expect("finite").as_slice(), [0.0, 9.0]);
    assert_eq!(adapted.jacobian().expect("finite").as_slice(), [1.0, 2.0, 4.0, 16.0, 2.0, 8.0]);

    let adapted = ForArgmin::new(&problem).expect("no manifolds");
    let start = adapted.start();
    assert_eq!(start, [2.0, 3.0, -1.0]);
    assert_eq!(adapted.cost(&start).expect("finite"), 41.0);
    assert_eq!(adapted.gradient(&start).expect("finite"), [17.0, 35.0, -210.0]);
    // JᵀJ·(1, 0, 1), where J·(1, 0, 1) = (−5, −22).
    let matrix = adapted.hessian(&start).expect("finite");
    assert_eq!(matrix.dot(&vec![1.0, 0.0, 1.0]), [-49.0, -93.0, 558.0]);
}

#[test]
fn argmin_finds_the_certified_parameters_in_two_ways() {
    let reference = &ALL[0];
    let problem = reference.problem(reference.starts[1]).expect("a problem");
    let adapted = || ForArgmin::new(&problem).expect("no manifolds");
    let start = adapted().start();

    let trust = TrustRegion::new(Steihaug::new()).with_radius(100.0).expect("positive");
    let found = Executor::new(adapted(), trust.with_max_radius(1000.0).expect("positive"))
        .configure(|state| state.param(start).max_iters(200))
        .run()
        .expect("it runs");
    let cost = found.state().get_best_cost();
    assert!((2.0 * cost / reference.squares - 1.0).abs() < 1e-9, "{cost}");

    // L-BFGS's first step is as long as the gradient, which suits parameters of one size.
    let reference = &ALL[2];
    let problem = reference.problem(reference.starts[1]).expect("a problem");
    let adapted = ForArgmin::new(&problem).expect("no manifolds");
    let start = adapted.start();
    let search = LBFGS::new(MoreThuenteLineSearch::new(), 5).with_tolerance_grad(1e-10).expect("positive");
    let found =
        Executor::new(adapted, search).configure(|state| state.param(start).max_iters(500)).run().expect("it runs");
    let cost = found.state().get_best_cost();
    assert!((2.0 * cost / reference.squares - 1.0).abs() < 1e-9, "{cost}");
}

#[test]
fn gauss_and_newton_factor_a_sparse_matrix() {
    let reference = &ALL[0];
    let problem = reference.problem(reference.starts[1]).expect("a problem");
    let adapted = ForArgmin::new(&problem).expect("no manifolds");
    let start = adapted.start();
    let residuals = adapted.apply(&start).expect("finite");
    assert_eq!(0.5 * residuals.iter().map(|r| r * r).sum::<f64>(), adapted.cost(&start).expect("finite"));
    let jacobian = adapted.jacobian(&start).expect("finite");
    let gradient: Vec<f64> = jacobian.clone().t().dot(&residuals);
    assert_eq!(gradient, adapted.gradient(&start).expect("finite"));
    assert!(jacobian.inv().is_err());
    let found = Executor::new(adapted, GaussNewton::new().with_tolerance(1e-12).expect("positive"))
        .configure(|state| state.param(start).max_iters(100))
        .run()
        .expect("it runs");
    // Its cost is the norm of the residuals.
    let squares = found.state().get_best_cost().powi(2);
    assert!((squares / reference.squares - 1.0).abs() < 1e-9, "{squares}");
}

#[test]
fn problems_that_solvers_would_get_wrong_are_refused() {
    let mut problem = Problem::new();
    let blocks = bent(&mut problem);
    problem.add_residuals(Bent, Cauchy::new(1.0), [([blocks[0], blocks[2]], [0.0; 2])]).expect("blocks fit");
    let error = ForLevenbergMarquardt::new(&problem).err().expect("a loss");
    assert_eq!(error, AdaptorError::Loss);
    assert!(error.to_string().contains("argmin"), "{error}");
    assert!(ForArgmin::new(&problem).is_ok());

    let rotation = problem.add_parameters(&[1.0, 0.0, 0.0, 0.0]);
    problem.set_manifold(rotation, UnitQuaternion).expect("four numbers");
    let error = ForArgmin::new(&problem).err().expect("a manifold");
    assert_eq!(error, AdaptorError::Manifold { block: 3 });
    assert!(error.to_string().starts_with("parameter block 3 is on a manifold"), "{error}");
    problem.set_constant(rotation).expect("there is such a block");
    assert!(ForArgmin::new(&problem).is_ok());
}

/// √x − y.
struct Root;

impl Residual<1, 1, 1> for Root {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [y]: [Real<S>; 1]) -> [Real<S>; 1] {
        [(x[0].sqrt() - y).into()]
    }
}

#[test]
fn a_step_to_derivatives_that_are_not_finite_ends_with_their_error() {
    let mut problem = Problem::new();
    let x = problem.add_parameters(&[1.0]);
    problem.add_residuals(Root, Trivial, [([x], [2.0])]).expect("blocks fit");
    let mut adapted = ForLevenbergMarquardt::new(&problem).expect("finite");
    adapted.set_params(&nalgebra_0_34::DVector::from_vec(vec![0.0]));
    assert_eq!(adapted.residuals().expect("finite").as_slice(), [-2.0]);
    assert_eq!(adapted.outcome(), Ok(()));
    assert!(adapted.jacobian().is_none());
    assert_eq!(adapted.outcome(), Err(ResidualError::DerivativeNotFinite { residual: 0 }));
    adapted.set_params(&nalgebra_0_34::DVector::from_vec(vec![4.0]));
    assert_eq!(adapted.jacobian().expect("finite").as_slice(), [0.25]);
}

#[test]
fn a_step_to_residuals_that_are_not_finite_ends_with_their_error() {
    let mut problem = Problem::new();
    let x = problem.add_parameters(&[1.0]);
    problem.add_residuals(Root, Trivial, [([x], [-4.0])]).expect("blocks fit");
    let (found, report) = LevenbergMarquardt::new().minimize(ForLevenbergMarquardt::new(&problem).expect("finite"));
    assert!(matches!(report.termination, TerminationReason::User(_)), "{:?}", report.termination);
    assert_eq!(found.outcome(), Err(ResidualError::ResidualNotFinite { residual: 0 }));
}
