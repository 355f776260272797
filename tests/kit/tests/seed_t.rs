//! The claims of the literature on Jacobian and primal-value taping, one test each.
//!
//! The bytes in this file are for linear index management, those for reused indices are in `seed_t_reuse.rs`. What the
//! claims say about evaluation is tested under every strategy, in the modules below.
//!
//! The classic figures belong to tapes that reuse indices: 5 bytes for a Jacobian statement and 21 for a primal-value
//! one (4 of each for the index of the left-hand side). Linear indices make the left-hand side implicit, so that a
//! Jacobian statement costs 1 byte; ours may not cost more than either.

#[path = "seed_t/book.rs"]
mod book;
#[path = "sweeps/everywhere.rs"]
mod everywhere;
#[path = "common/mixed.rs"]
mod mixed;
#[path = "common/records.rs"]
mod records;
#[path = "seed_t/statements.rs"]
mod statements;
#[path = "seed_t/sweeps.rs"]
mod sweeps;

use mixed::{gradient, mixed};
use records::recorded;
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;

/// Records `f` of these inputs.
fn record<S: Reverse<Value = f64>>(
    x: &[f64],
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
) -> (Tape<S>, Vec<Real<S>>, Real<S>) {
    let mut tape = Tape::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(x);
        let y = f(&x);
        (x, y)
    });
    (tape, x, y)
}

/// Bytes that `f` adds to a recording of these inputs.
fn cost<S: Strategy + Reverse<Value = f64>>(x: &[f64], f: impl FnOnce(&[Real<S>]) -> Real<S>) -> usize {
    let inputs = recorded(&record::<S>(x, |x| x[0]).0.memory());
    recorded(&record::<S>(x, f).0.memory()) - inputs
}

#[test]
fn t4_a_jacobian_statement_costs_1_byte_where_reuse_needs_5() {
    let n = 1_000_000;
    let added = cost::<Jacobian>(&[1.0, 1e-6], |x| (0..n).fold(x[0], |y, _| (y + x[1]).into()));
    assert_eq!(added, n * (1 + 2 * 4), "partials of 1 are not stored");
    let multiplied = cost::<Jacobian>(&[1.0, 1.0], |x| (0..n).fold(x[0], |y, _| (y * x[1]).into()));
    assert_eq!(multiplied, n * (1 + 2 * 12));
    assert!(added.max(multiplied) <= 5 * n + 12 * 2 * n);
}

#[test]
fn t5_a_jacobian_argument_costs_12_bytes_at_most() {
    let one = cost::<Jacobian>(&[1.0, 2.0], |x| x[0].sin().into());
    let two = cost::<Jacobian>(&[1.0, 2.0], |x| (x[0].sin() * x[1]).into());
    let three = cost::<Jacobian>(&[1.0, 2.0], |x| (x[0].sin() * x[1] * x[0]).into());
    let shared = cost::<Jacobian>(&[1.0, 2.0], |x| (x[0] * (x[1] + x[0] - x[1])).into());
    assert_eq!((one, two, three), (13, 25, 37));
    assert_eq!(shared, 1 + 2 * 8 + 4 * 4, "arguments that share a partial cost 4 bytes each");
}

#[test]
fn t6_jacobian_taping_stores_no_passive_argument() {
    let f = |passive: usize| {
        cost::<Jacobian>(&[1.5], move |x| {
            let c = Real::from(2.0);
            match passive {
                0 => x[0].sin().into(),
                1 => (x[0].sin() * c).into(),
                _ => (x[0].sin() * c + c * c - c).into(),
            }
        })
    };
    assert_eq!((f(0), f(1), f(2)), (13, 13, 13));
}

#[test]
fn t7_primal_value_taping_stores_each_value_once() {
    let uses = |x: &[Real<PrimalValue>]| -> Vec<Real<PrimalValue>> {
        let a: Real<_> = (x[0] * 1.0).into();
        vec![a, (a + a).into(), (a * a).into(), a.sin().into(), a.cos().into()]
    };
    let values =
        |f: fn(Vec<Real<PrimalValue>>) -> Real<PrimalValue>| record::<PrimalValue>(&[0.5], |x| f(uses(x))).0.memory();
    let report = values(|all| all[4]);
    // Slot 0, the input, and one value for each of a, b, c, d and e, although a is used six times.
    assert_eq!(report.usage("values").used, 8 * (2 + 5));
    assert_eq!((report.arguments, report.usage("arguments").used), (1 + 6, 4 * 7));
    assert_eq!(report.usage("constants").used, 8, "the literal 1");
}

#[test]
fn t8_value_and_adjoint_have_one_identifier() {
    let (mut tape, x, y) = record::<PrimalValue>(&[3.0, 4.0], |x| (x[0] * x[1]).into());
    let indices = [x[0].id().index(), x[1].id().index(), y.id().index()];
    assert_eq!(indices, [1, 2, 3]);
    // The partial for each input is the other's value, read at the identifier at which its own adjoint is written.
    let swept = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
    assert_eq!(swept, Ok(vec![4.0, 3.0]));
    let report = tape.memory();
    assert_eq!(report.usage("values").used, report.usage("adjoints").used);
}

#[test]
fn t9_a_primal_value_statement_costs_9_bytes_where_reuse_needs_21() {
    let n = 1_000_000;
    let cost = cost::<PrimalValue>(&[1.0, 1.0], |x| (0..n).fold(x[0], |y, _| (y * x[1]).into()));
    assert_eq!(cost, n * (9 + 2 * 4));
    assert!(cost <= n * (21 + 2 * 4));
}

#[test]
fn t10_a_primal_value_argument_costs_4_bytes() {
    let one = cost::<PrimalValue>(&[1.0, 2.0], |x| x[0].sin().into());
    let two = cost::<PrimalValue>(&[1.0, 2.0], |x| (x[0].sin() * x[1]).into());
    let three = cost::<PrimalValue>(&[1.0, 2.0], |x| (x[0].sin() * x[1] * x[0]).into());
    assert_eq!((two - one, three - two), (4, 4));
}

/// Bytes of a statement in a recording of nothing else but `inputs` inputs.
fn statement(report: &MemoryReport, inputs: usize) -> usize {
    // With values, an input keeps its own, and slot 0 takes 8 bytes; first inputs have no records.
    recorded(report) - if report.usage("values").used > 0 { 8 * inputs + 8 } else { 0 }
}

#[test]
fn t12_passive_arguments_cost_8_bytes_each_and_every_activity_pattern_is_right() {
    for pattern in 0..16 {
        let ((jacobian, found), (primal, also)) = (mixed::<Jacobian>(pattern), mixed::<PrimalValue>(pattern));
        assert_eq!((found, also), (gradient(pattern), gradient(pattern)), "pattern {pattern:04b}");
        let active = pattern.count_ones() as usize;
        let (jacobian, primal) = (statement(&jacobian, active), statement(&primal, active));
        if active == 0 {
            assert_eq!((jacobian, primal), (0, 0));
        } else {
            assert_eq!((jacobian, primal), (1 + 12 * active, 9 + 4 * 4 + 8 * (4 - active)), "pattern {pattern:04b}");
        }
    }
}

#[test]
fn t15_four_arguments_cost_less_than_37_and_53_bytes() {
    // With reused indices: 21 + 4·4 = 37 against 5 + 12·4 = 53, which saves 30 %.
    assert_eq!((21 + 4 * 4, 5 + 12 * 4), (37, 53));
    assert!((1.0 - 37.0 / 53.0_f64 - 0.3019).abs() < 1e-4);
    let x = [0.5, 0.6, 0.7, 0.8];
    let jacobian = cost::<Jacobian>(&x, |x| (x[0].sin() * x[1] + x[2] * x[3]).into());
    let primal = cost::<PrimalValue>(&x, |x| (x[0].sin() * x[1] + x[2] * x[3]).into());
    assert_eq!((jacobian, primal), (49, 25));
    assert!(jacobian <= 53 && primal <= 37);
}

#[test]
fn t18_linear_indices_take_4_bytes_less_than_the_classic_figures() {
    // 1 byte beside the partials, 9 beside identifiers. For reused indices see `seed_t_reuse.rs`.
    let jacobian = cost::<Jacobian>(&[1.0], |x| x[0].sin().into());
    let primal = cost::<PrimalValue>(&[1.0], |x| x[0].sin().into());
    assert_eq!((jacobian - 12, primal - 4), (1, 9));
}
