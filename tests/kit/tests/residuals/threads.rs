//! Problems on threads.

use crate::bundle::scene;
use tapewright::prelude::*;
use tapewright::residuals::{Cauchy, Linearization, Problem, Residual, Trivial};
use tapewright::with_partials;

#[test]
fn results_have_the_same_bits_for_any_number_of_threads() {
    let problem = scene(8, 400, Cauchy::new(2.0));
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
        pool.install(|| {
            let mut at = Linearization::new(&problem).expect("free blocks");
            at.evaluate(problem.start()).expect("finite");
            assert_eq!(problem.cost(problem.start()), Ok(at.cost()));
            let cost = at.cost().to_bits();
            (cost, bits(at.residuals()), bits(at.jacobian().values()), bits(&at.normal_matrix().diagonal()))
        })
    };
    let alone = run(1);
    [2, 3, 7].iter().for_each(|threads| assert!(run(*threads) == alone, "{threads} threads"));
}

/// √x, which panics for negative numbers.
struct Strict;

impl Residual<1, 0, 1> for Strict {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy<Value = f64>>(&self, [x]: [&[Real<S>]; 1], []: [Real<S>; 0]) -> [Real<S>; 1] {
        assert!(x[0] >= 0.0, "negative");
        // What programs refuse, so that each observation is computed alone, on the thread of its piece.
        let root = x[0].value().sqrt();
        [with_partials(&[x[0]], root, &[0.5 / root])]
    }
}

#[test]
fn panics_on_threads_come_out_and_the_problem_can_be_used_again() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads can be made");
    let mut problem = Problem::new();
    let blocks: Vec<usize> = (0..1600).map(|_| problem.add_parameters(&[4.0])).collect();
    problem.add_residuals(Strict, Trivial, blocks.iter().map(|x| ([*x], []))).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    for odd in [0, 700, 1599] {
        let mut x = problem.start().to_vec();
        x[odd] = -4.0;
        let run = || pool.install(|| at.evaluate(&x));
        assert!(std::panic::catch_unwind(core::panic::AssertUnwindSafe(run)).is_err(), "observation {odd} panics");
        pool.install(|| at.evaluate(problem.start())).expect("finite");
        assert!(at.residuals().iter().all(|r| *r == 2.0) && at.jacobian().values().iter().all(|slope| *slope == 0.25));
        assert_eq!(problem.cost(problem.start()), Ok(at.cost()));
    }
}

#[test]
fn several_threads_may_evaluate_one_problem() {
    let problem = scene(8, 400, Cauchy::new(2.0));
    let evaluate = |scale: f64| {
        let x: Vec<f64> = problem.start().iter().map(|x| x * scale).collect();
        let mut at = Linearization::new(&problem).expect("free blocks");
        at.evaluate(&x).expect("finite");
        let mut residuals = vec![0.0; problem.rows()];
        assert_eq!(problem.residuals(&x, &mut residuals), Ok(at.cost()));
        assert_eq!(residuals, at.residuals());
        (at.cost(), residuals, at.jacobian().values().to_vec())
    };
    let scales = [1.0, 1.0 + 1e-3, 1.0, 1.0 - 1e-3];
    let alone = scales.map(evaluate);
    let together = std::thread::scope(|scope| {
        scales.map(|scale| scope.spawn(move || evaluate(scale))).map(|thread| thread.join().expect("no panic"))
    });
    assert!(alone == together);
}
