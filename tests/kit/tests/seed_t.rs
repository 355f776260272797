//! The claims of the literature on Jacobian and primal-value taping, one test each, for linear index management.
//!
//! The classic figures belong to tapes that reuse indices: 5 bytes for a Jacobian statement and 21 for a primal-value one
//! (4 of each for the index of the left-hand side). Linear indices make the left-hand side implicit, so that a Jacobian
//! statement costs 1 byte; ours may not cost more than either.

#[path = "common/mixed.rs"]
mod mixed;
#[path = "common/records.rs"]
mod records;

use mixed::{gradient, mixed};
use records::recorded;
use tapewright::prelude::*;
use tapewright::{Binary, Float, MemoryReport, Unary, binary, dot, linear_combination, sum, unary};

/// Records `f` of these inputs.
fn record<S: Strategy + Reverse<Value = f64>>(
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

/// Asserts for both strategies.
macro_rules! both {
    ($f:ident $(, $argument:expr)*) => {
        $f::<Jacobian>($($argument),*);
        $f::<PrimalValue>($($argument),*);
    };
}

#[test]
fn t1_the_reverse_step_scales_accumulates_and_clears() {
    fn holds<S: Strategy + Reverse<Value = f64>>() {
        let mut middle = Real::<S>::default();
        let (mut tape, x, y) = record::<S>(&[0.7], |x| {
            let mut y = x[0];
            for k in 0..20 {
                y = y.sin().into();
                if k == 10 {
                    middle = y;
                }
            }
            y
        });
        let mut chain = (0.7_f64, 1.0_f64);
        for _ in 0..20 {
            chain = (chain.0.sin(), chain.1 * chain.0.cos());
        }
        let adjoints = tape.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
        let gradient = adjoints.of(&x[0]).expect("an input");
        assert!((gradient / chain.1 - 1.0).abs() < 1e-14);
        assert_eq!((adjoints.of(&middle), adjoints.of(&y)), (Ok(0.0), Ok(0.0)), "only inputs keep adjoints");
    }
    both!(holds);
}

/// Ten operations.
fn ten_operations<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    ((x[0] * x[1] + x[0].sin()) / (x[1].exp() + 2.0) - (x[0] - x[1]).cos() * 0.5).into()
}

#[test]
fn t2_a_ten_operation_statement_is_one_record() {
    fn holds<S: Strategy + Reverse<Value = f64>>() {
        let (tape, ..) = record::<S>(&[0.3, 0.4], |x| (0..7).map(|_| ten_operations(x)).last().expect("seven"));
        assert_eq!((tape.memory().statements, tape.memory().arguments), (7, 7 * 6));
    }
    both!(holds);
}

#[test]
fn t3_jacobian_taping_takes_partials_when_the_statement_is_evaluated() {
    let (mut tape, mut x, y) = record::<Jacobian>(&[2.0, 3.0], |x| {
        let mut leaf = x[0];
        let y = (leaf * x[1]).into();
        leaf.assign(100.0);
        y
    });
    let swept = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
    assert_eq!(swept, Ok(vec![3.0, 2.0]));
    let input = x[0];
    x[0].assign(50.0);
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&input)), Ok(3.0));
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

/// (x, y) ↦ x + K·y, a type of statement for each K.
struct AddTimes<const K: u32>;
impl<const K: u32> Binary for AddTimes<K> {
    fn value<V: Float>(x: V, y: V) -> V {
        x + V::from_f64(f64::from(K)) * y
    }
    fn partial_left<V: Float>(_: V, _: V, _: V) -> V {
        V::one()
    }
    fn partial_right<V: Float>(_: V, _: V, _: V) -> V {
        V::from_f64(f64::from(K))
    }
}

/// x ↦ x + K.
struct Shift<const K: u32>;
impl<const K: u32> Unary for Shift<K> {
    fn value<V: Float>(x: V) -> V {
        x + V::from_f64(f64::from(K))
    }
    fn derivative<V: Float>(_: V, _: V) -> V {
        V::from_f64(f64::from(K))
    }
}

#[test]
fn t11_each_record_finds_the_function_of_its_own_statement_type() {
    fn holds<S: Strategy + Reverse<Value = f64>>() {
        let (mut tape, x, y) = record::<S>(&[0.0, 1.0], |x| {
            let mut y = x[0];
            macro_rules! interleave {
                ($($k:literal)*) => { for _ in 0..3 { $(
                    y = binary::<_, AddTimes<$k>, _, _>(y, x[1]).into();
                    let z: Real<S> = unary::<_, Shift<$k>, _>(x[0]).into();
                    y += z;
                )* } };
            }
            interleave!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30);
            y
        });
        let total = 3.0 * 465.0;
        assert_eq!(y.value(), 2.0 * total);
        let swept = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
        assert_eq!(swept, Ok(vec![1.0 + total, total]));
    }
    both!(holds);
}

/// Bytes of a statement in a recording of nothing else but `inputs` inputs.
fn statement(report: &MemoryReport, inputs: usize) -> usize {
    // With values, an input keeps its own, and slot 0 takes 8 bytes.
    recorded(report) - if report.usage("values").used > 0 { 9 * inputs + 8 } else { inputs }
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
fn t13_each_literal_costs_a_primal_value_record_8_bytes() {
    let none = cost::<PrimalValue>(&[1.0], |x| (x[0] * x[0]).into());
    let one = cost::<PrimalValue>(&[1.0], |x| (2.0 * x[0] * x[0]).into());
    let two = cost::<PrimalValue>(&[1.0], |x| (2.0 * x[0] * x[0] + 1.0).into());
    assert_eq!((none, one, two), (17, 25, 33));
    let jacobian = |f: fn(&[Real<Jacobian>]) -> Real<Jacobian>| cost::<Jacobian>(&[1.0], f);
    assert_eq!(jacobian(|x| (x[0] * x[0]).into()), jacobian(|x| (2.0 * x[0] * x[0] + 1.0).into()));
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
fn t16_which_strategy_needs_less_memory_depends_on_the_statement() {
    let x = [0.5, 0.6];
    let constants = |jacobian: bool| {
        if jacobian {
            cost::<Jacobian>(&x, |x| (2.0 * x[0].sin() + 3.0 * 4.0_f64.sqrt() - 1.0).into())
        } else {
            cost::<PrimalValue>(&x, |x| (2.0 * x[0].sin() + 3.0 * 4.0_f64.sqrt() - 1.0).into())
        }
    };
    assert!(constants(true) < constants(false), "literals cost primal values only");
    let products = (
        cost::<Jacobian>(&x, |x| (x[0] * x[1] * x[0] * x[1]).into()),
        cost::<PrimalValue>(&x, |x| (x[0] * x[1] * x[0] * x[1]).into()),
    );
    assert!(products.0 > products.1, "partials cost Jacobians only");
}

#[test]
fn t17_passive_computations_record_nothing() {
    fn holds<S: Strategy + Reverse<Value = f64>>() {
        let (tape, ..) = record::<S>(&[1.0], |x| {
            let mut y = Real::<S>::from(1.0);
            for k in 0..1_000 {
                y += (y * 0.5).sin() * f64::from(k);
                y = sum(&[y, y]);
            }
            assert!(S::locate(y.id()).is_none(), "passive variables have no identifier");
            (x[0] + 0.0).into()
        });
        assert_eq!(tape.memory().statements, 1);
    }
    both!(holds);
}

#[test]
fn t18_figures_name_their_index_scheme() {
    // Linear indices: 1 byte beside the partials, 9 beside identifiers. Reused indices would need 4 bytes more each.
    let jacobian = cost::<Jacobian>(&[1.0], |x| x[0].sin().into());
    let primal = cost::<PrimalValue>(&[1.0], |x| x[0].sin().into());
    assert_eq!((jacobian - 12, primal - 4), (1, 9));
}

#[test]
fn t19_statements_may_have_any_number_of_arguments() {
    fn holds<S: Strategy + Reverse<Value = f64>>(n: u32) {
        let values: Vec<f64> = (0..n).map(|k| 1.0 + f64::from(k % 7)).collect();
        let weights: Vec<f64> = (0..n).map(|k| f64::from(k % 5)).collect();
        let (mut tape, x, y) = record::<S>(&values, |x| {
            let y: Real<S> = (sum(x) + 2.0 * dot(x, x)).into();
            (y + linear_combination(&weights, x)).into()
        });
        assert_eq!(tape.memory().statements, 5);
        let found = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
        let expected = values.iter().zip(&weights).map(|(x, w)| 1.0 + 4.0 * x + w).collect();
        assert_eq!(found, Ok(expected));
    }
    for n in [253, 254, 255, 256, 257, 300, 65_536, 100_000] {
        both!(holds, n);
    }
}
