//! Branches on which the observations of a pack disagree.

use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Residual, Trivial};

/// x² where x·t is positive, else −3x; then halved until it is below 1. Numbers are powers of two, so all is exact.
struct Pieces;

impl Residual<1, 1, 1> for Pieces {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [t]: [Real<S>; 1]) -> [Real<S>; 1] {
        let mut y: Real<S> = if x[0] * t > 0.0 { (x[0] * x[0]).into() } else { (x[0] * -3.0).into() };
        while y >= 1.0 {
            y = (y * 0.5).into();
        }
        [y]
    }
}

fn by_hand(x: f64, t: f64) -> [f64; 2] {
    let (mut y, mut slope) = if x * t > 0.0 { (x * x, 2.0 * x) } else { (-3.0 * x, -3.0) };
    while y >= 1.0 {
        (y, slope) = (0.5 * y, 0.5 * slope);
    }
    [y, slope]
}

fn assert_by_hand(data: &[f64]) {
    let mut problem = Problem::new();
    let x: Vec<usize> = (0..data.len()).map(|_| problem.add_parameters(&[2.0])).collect();
    problem.add_residuals(Pieces, Trivial, x.iter().zip(data).map(|(x, t)| ([*x], [*t]))).expect("possible");
    let point: Vec<f64> = (0..data.len()).map(|k| [0.5, 4.0, -8.0, 1.0, -0.25][k % 5]).collect();
    let mut at = Linearization::new(&problem).expect("free blocks");
    at.evaluate(&point).expect("finite");
    let expected: Vec<_> = point.iter().zip(data).map(|(x, t)| by_hand(*x, *t)).collect();
    assert_eq!(at.residuals(), expected.iter().map(|pair| pair[0]).collect::<Vec<_>>(), "{data:?}");
    assert_eq!(at.jacobian().values(), expected.iter().map(|pair| pair[1]).collect::<Vec<_>>(), "{data:?}");
    assert_eq!(problem.cost(&point), Ok(at.cost()), "bit for bit");
}

#[test]
fn observations_that_disagree_are_computed_alone() {
    assert_by_hand(&[1.0; 8]);
    assert_by_hand(&[-1.0, 1.0]);
    for odd in 0..8 {
        let mut data = [1.0; 8];
        data[odd] = -1.0;
        assert_by_hand(&data);
    }
    let alternating: Vec<f64> = (0..19).map(|k| if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
    assert_by_hand(&alternating);
}

#[test]
fn a_nan_of_one_observation_stays_there() {
    let mut problem = Problem::new();
    let x: Vec<usize> = (0..8).map(|_| problem.add_parameters(&[2.0])).collect();
    let data = |k: usize| if k == 5 { f64::NAN } else { 1.0 };
    problem.add_residuals(Pieces, Trivial, x.iter().map(|k| ([*k], [data(*k)]))).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    at.evaluate(problem.start()).expect("a comparison with NaN is false, so all are finite");
    let slopes: Vec<f64> = (0..8).map(|k| by_hand(2.0, data(k))[1]).collect();
    assert_eq!(at.jacobian().values(), slopes);
}

/// A kind that panics for negative numbers.
struct Strict;

impl Residual<1, 0, 1> for Strict {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], []: [Real<S>; 0]) -> [Real<S>; 1] {
        assert!(x[0] >= 0.0, "negative");
        [x[0].sqrt().into()]
    }
}

#[test]
fn panics_of_observations_come_out_and_the_problem_can_be_used_again() {
    let mut problem = Problem::new();
    let x: Vec<usize> = (0..8).map(|_| problem.add_parameters(&[4.0])).collect();
    problem.add_residuals(Strict, Trivial, x.iter().map(|x| ([*x], []))).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    let mut point = problem.start().to_vec();
    for odd in [0, 5] {
        point[odd] = -4.0;
        let caught = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| at.evaluate(&point)));
        assert!(caught.is_err(), "observation {odd} panics");
        point[odd] = 4.0;
    }
    at.evaluate(&point).expect("finite");
    assert_eq!((at.residuals(), at.jacobian().values()), (&[2.0; 8][..], &[0.25; 8][..]));
}

#[test]
#[should_panic(expected = "all lanes of its numbers agree on")]
fn a_pack_alone_still_panics_where_lanes_disagree() {
    let mut problem = Problem::new();
    let x: Vec<usize> = (0..8).map(|_| problem.add_parameters(&[2.0])).collect();
    let data = x.iter().map(|k| ([*k], [if *k == 3 { -1.0 } else { 1.0 }]));
    problem.add_residuals(Pieces, Trivial, data).expect("possible");
    problem.cost(problem.start()).expect("finite");
    let x = Real::<Passive<tapewright::packs::Pack<2>>>::constant(tapewright::packs::Pack([1.0, -1.0]));
    assert!(x > 0.0);
}
