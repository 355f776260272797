//! Kinds that programs refuse, and those of which a recording does not hold all.

use core::sync::atomic::{AtomicUsize, Ordering};
use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Residual, Trivial};
use tapewright::{Number as _, with_partials};

/// A statement of which only partials are known: 2·t·x.
struct Partials;

impl Residual<1, 1, 1> for Partials {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [t]: [Real<S>; 1]) -> [Real<S>; 1] {
        let slope = t.value() + t.value();
        [with_partials(&[x[0]], slope * x[0].value(), &[slope])]
    }
}

/// x², scaled by the value of a datum.
struct Hidden;

impl Residual<1, 1, 1> for Hidden {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [t]: [Real<S>; 1]) -> [Real<S>; 1] {
        [(x[0] * x[0] * Real::constant(t.value())).into()]
    }
}

/// x², and 3·x for the few that a comparison of values chooses.
struct Rare;

impl Residual<1, 1, 1> for Rare {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [t]: [Real<S>; 1]) -> [Real<S>; 1] {
        let is_rare = (t + x[0]).value().as_f64() == 62.0;
        [if is_rare { (x[0] * 3.0).into() } else { (x[0] * x[0]).into() }]
    }
}

/// x + n, where n is the number of steps that t takes to 0.
struct Steps;

impl Residual<1, 1, 1> for Steps {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [t]: [Real<S>; 1]) -> [Real<S>; 1] {
        let (mut left, mut y) = (t, x[0]);
        while left > 0.0 {
            (left, y) = ((left - 1.0).into(), (y + 1.0).into());
        }
        [y]
    }
}

/// Evaluates a kind at x = k + 1 with the data k + 1, and compares residuals and slopes.
fn assert_evaluated(kind: impl Residual<1, 1, 1>, by_hand: impl Fn(f64) -> [f64; 2]) {
    let mut problem = Problem::new();
    let numbers: Vec<f64> = (1..700).map(|k| f64::from(k % 40 + 1)).collect();
    let blocks: Vec<usize> = numbers.iter().map(|x| problem.add_parameters(&[*x])).collect();
    problem.add_residuals(kind, Trivial, blocks.iter().zip(&numbers).map(|(x, t)| ([*x], [*t]))).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    for _ in 0..2 {
        at.evaluate(problem.start()).expect("finite");
        assert_eq!(at.residuals(), numbers.iter().map(|x| by_hand(*x)[0]).collect::<Vec<_>>());
        assert_eq!(at.jacobian().values(), numbers.iter().map(|x| by_hand(*x)[1]).collect::<Vec<_>>());
        assert_eq!(problem.cost(problem.start()), Ok(at.cost()), "bit for bit");
    }
}

#[test]
fn statements_that_programs_refuse_are_computed_one_by_one() {
    assert_evaluated(Partials, |x| [2.0 * x * x, 2.0 * x]);
}

#[test]
fn values_that_are_read_are_those_of_the_observation() {
    assert_evaluated(Hidden, |x| [x * x * x, 2.0 * x * x]);
    assert_evaluated(Rare, |x| if x == 31.0 { [3.0 * x, 3.0] } else { [x * x, 2.0 * x] });
}

#[test]
fn observations_beyond_the_last_recording_are_computed_one_by_one() {
    assert_evaluated(Steps, |x| [2.0 * x, 1.0]);
}

/// Calls of [`Shared`] that make a recording: of those on plain numbers and by other tapes there are none.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// scale·x, where the scale is the value of a parameter that all observations share.
struct Shared;

impl Residual<2, 0, 1> for Shared {
    fn sizes(&self) -> [usize; 2] {
        [1, 1]
    }
    fn residuals<S: Strategy>(&self, [scale, x]: [&[Real<S>]; 2], []: [Real<S>; 0]) -> [Real<S>; 1] {
        CALLS.fetch_add(1, Ordering::Relaxed);
        [(x[0] * Real::constant(scale[0].value())).into()]
    }
}

#[test]
fn recordings_that_fit_no_later_point_make_room_for_others() {
    const COUNT: usize = 600;
    let mut problem = Problem::new();
    let scale = problem.add_parameters(&[1.0]);
    let blocks: Vec<usize> = (0..COUNT).map(|k| problem.add_parameters(&[1.0 + k as f64])).collect();
    problem.add_residuals(Shared, Trivial, blocks.iter().map(|x| ([scale, *x], []))).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    let mut x = problem.start().to_vec();
    for point in 0..50_u32 {
        x[scale] = f64::from(point) + 0.5;
        at.evaluate(&x).expect("finite");
        assert_eq!(problem.cost(&x), Ok(at.cost()), "bit for bit");
        assert!((0..COUNT).all(|k| at.residuals()[k] == x[scale] * (1.0 + k as f64)), "point {point}");
        assert!(at.jacobian().values().chunks_exact(2).all(|row| row == [0.0, x[scale]]), "point {point}");
        assert_eq!(CALLS.load(Ordering::Relaxed), 1 + point as usize, "one recording for each point");
    }
    // The last sixteen are kept.
    for point in 34..50_u32 {
        x[scale] = f64::from(point) + 0.5;
        at.evaluate(&x).expect("finite");
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 50);
}

/// A value of a parameter that is read after a function which is rounded otherwise in registers.
struct Rounded;

impl Residual<1, 0, 1> for Rounded {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], []: [Real<S>; 0]) -> [Real<S>; 1] {
        let y = x[0].exp().eval();
        [(x[0] * Real::constant(y.value())).into()]
    }
}

#[test]
fn observations_that_no_recording_fits_in_registers_are_computed_one_by_one() {
    let mut problem = Problem::new();
    let blocks: Vec<usize> = (0..700).map(|k| problem.add_parameters(&[0.01 * f64::from(k)])).collect();
    problem.add_residuals(Rounded, Trivial, blocks.iter().map(|x| ([*x], []))).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    for shift in [0.0, 0.3, 0.0] {
        let x: Vec<f64> = problem.start().iter().map(|x| x + shift).collect();
        at.evaluate(&x).expect("finite");
        let slopes: Vec<f64> = x.iter().map(|x| Real::<Passive>::constant(*x).exp().value()).collect();
        assert_eq!(at.jacobian().values(), slopes);
        assert_eq!(at.residuals(), x.iter().zip(&slopes).map(|(x, slope)| x * slope).collect::<Vec<_>>());
        assert_eq!(problem.cost(&x), Ok(at.cost()), "bit for bit");
    }
}
