//! The claims of the literature on the bytes of Jacobian and primal-value taping, for reused identifiers, which the
//! classic figures assume: the ceilings are theirs, the exact figures ours.
//!
//! Bytes of a statement with four arguments, all active, of which no two have the same partial and none a partial of
//! ±1:
//!
//! | | partials | values | saved |
//! |---|---|---|---|
//! | classic, identifiers reused | 5 + 12·4 = 53 | 21 + 4·4 = 37 | 30 % |
//! | ours, identifiers reused | 5 + 12·4 = 53 | 13 + 4·4 = 29 | 45 % |
//! | ours, identifiers linear | 1 + 12·4 = 49 | 9 + 4·4 = 25 | 49 % |
//!
//! The smaller of the two is what `Hybrid` takes, with a value for each variable: 29 and 25.

#[path = "common/mixed.rs"]
mod mixed;
#[path = "common/records.rs"]
mod records;

use mixed::{gradient, mixed};
use records::recorded;
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;

type JacobianReuse = Jacobian<f64, Reuse>;
type PrimalReuse = PrimalValue<f64, Reuse>;

/// Bytes of the records alone: not of adjoints and values, which grow with the variables alive.
fn bytes(report: &MemoryReport) -> usize {
    recorded(report) - report.usage("values").used
}

/// Bytes that `f` records of these inputs.
fn cost<S: Reverse<Value = f64>>(x: &[f64], f: impl FnOnce(&[Real<S>]) -> Real<S>) -> usize {
    let mut tape = Tape::<S>::new();
    tape.record(|scope| drop(scope.inputs(x)));
    assert_eq!(bytes(&tape.memory()), 0, "inputs take no bytes");
    tape.record(|scope| {
        let x = scope.inputs(x);
        f(&x)
    });
    bytes(&tape.memory())
}

#[test]
fn t4_a_jacobian_statement_costs_5_bytes_beside_its_arguments() {
    let n = 1_000_000;
    let added = cost::<JacobianReuse>(&[1.0, 1e-6], |x| (0..n).fold(x[0].clone(), |y, _| (y + &x[1]).into()));
    assert_eq!(added, n * (1 + 4 + 2 * 4), "partials of 1 are not stored");
    let multiplied = cost::<JacobianReuse>(&[1.0, 1.0], |x| (0..n).fold(x[0].clone(), |y, _| (y * &x[1]).into()));
    assert_eq!(multiplied, 5 * n + 12 * 2 * n);
    assert!(added.max(multiplied) <= 5 * n + 12 * 2 * n);
}

#[test]
fn t5_a_jacobian_argument_costs_12_bytes_at_most() {
    let one = cost::<JacobianReuse>(&[1.0, 2.0], |x| x[0].sin().into());
    let two = cost::<JacobianReuse>(&[1.0, 2.0], |x| (x[0].sin() * &x[1]).into());
    let three = cost::<JacobianReuse>(&[1.0, 2.0], |x| (x[0].sin() * &x[1] * &x[0]).into());
    let shared = cost::<JacobianReuse>(&[1.0, 2.0], |x| (&x[0] * (&x[1] + &x[0] - &x[1])).into());
    assert_eq!((one, two, three), (5 + 12, 5 + 24, 5 + 36));
    assert_eq!(shared, 5 + 2 * 8 + 4 * 4, "arguments that share a partial cost 4 bytes each");
}

#[test]
fn t9_a_primal_value_statement_costs_13_bytes_of_21() {
    let n = 1_000_000;
    let cost = cost::<PrimalReuse>(&[1.0, 1.0], |x| (0..n).fold(x[0].clone(), |y, _| (y * &x[1]).into()));
    assert_eq!(cost, n * (13 + 2 * 4), "the value that was overwritten, the identifier, and a byte");
    assert!(cost <= n * (21 + 2 * 4));
}

#[test]
fn t10_a_primal_value_argument_costs_4_bytes() {
    let one = cost::<PrimalReuse>(&[1.0, 2.0], |x| x[0].sin().into());
    let two = cost::<PrimalReuse>(&[1.0, 2.0], |x| (x[0].sin() * &x[1]).into());
    let three = cost::<PrimalReuse>(&[1.0, 2.0], |x| (x[0].sin() * &x[1] * &x[0]).into());
    assert_eq!((one, two - one, three - two), (17, 4, 4));
}

#[test]
fn t12_passive_arguments_cost_8_bytes_each_and_every_activity_pattern_is_right() {
    for pattern in 0..16 {
        let measured = |(report, found): (MemoryReport, [f64; 4])| {
            assert_eq!(found, gradient(pattern), "pattern {pattern:04b}");
            bytes(&report)
        };
        let jacobian = measured(mixed::<JacobianReuse>(pattern));
        let primal = measured(mixed::<PrimalReuse>(pattern));
        let hybrid = measured(mixed::<Hybrid<f64, Reuse>>(pattern));
        let active = pattern.count_ones() as usize;
        let passive = 4 - active;
        if active == 0 {
            assert_eq!((jacobian, primal, hybrid), (0, 0, 0));
        } else {
            assert_eq!((jacobian, primal), (5 + 12 * active, 13 + 4 * 4 + 8 * passive), "pattern {pattern:04b}");
            assert!(jacobian <= 5 + 12 * active && primal <= 21 + 4 * active + 12 * passive);
            assert!(hybrid <= primal && hybrid <= jacobian + 8, "pattern {pattern:04b}: {hybrid} bytes");
        }
    }
}

#[test]
fn t15_four_arguments_cost_no_more_than_53_and_37_bytes() {
    fn four<S: Reverse<Value = f64>>() -> usize {
        cost::<S>(&[0.5, 0.6, 0.7, 0.8], |x| (x[0].sin() * &x[1] + &x[2] * &x[3]).into())
    }
    let saving = |values: f64, partials: f64| 1.0 - values / partials;
    assert_eq!((5 + 12 * 4, 21 + 4 * 4), (53, 37));
    assert!((saving(37.0, 53.0) - 0.3019).abs() < 1e-4);
    let (jacobian, primal, hybrid) = (four::<JacobianReuse>(), four::<PrimalReuse>(), four::<Hybrid<f64, Reuse>>());
    assert_eq!((jacobian, primal, hybrid), (53, 29, 29));
    assert!((saving(29.0, 53.0) - 0.4528).abs() < 1e-4 && (saving(25.0, 49.0) - 0.4898).abs() < 1e-4);
    println!("four arguments: {jacobian} bytes with partials, {primal} with values, which wins");
}

#[test]
fn t18_reused_indices_take_4_bytes_more_than_linear_ones() {
    let jacobian = cost::<JacobianReuse>(&[1.0], |x| x[0].sin().into());
    let primal = cost::<PrimalReuse>(&[1.0], |x| x[0].sin().into());
    assert_eq!((jacobian - 12, primal - 4), (5, 13), "4 more than with linear indices");
}
