//! What becomes a record: rows T2, T11, T17 and T19, under every strategy.

use super::everywhere::everywhere;
use super::record;
use tapewright::prelude::*;
use tapewright::storage::{SpillDefaults, SpillOptions};
use tapewright::{Binary, Float, Spilled, Unary, binary, dot, linear_combination, sum, unary};

/// Ten operations.
fn ten_operations<S: Taping>(x: &[Real<S>]) -> Real<S> {
    ((&x[0] * &x[1] + x[0].sin()) / (x[1].exp() + 2.0) - (&x[0] - &x[1]).cos() * 0.5).into()
}

fn t2_a_ten_operation_statement_is_one_record<S: Reverse<Value = f64>>() {
    let (tape, ..) = record::<S>(&[0.3, 0.4], |x| (0..7).map(|_| ten_operations(x)).last().expect("seven"));
    assert_eq!((tape.memory().statements, tape.memory().arguments), (7, 7 * 6));
}

/// (x, y) ↦ x + K·y, a type of statement for each K.
struct AddTimes<const K: u32>;
impl<const K: u32> Binary for AddTimes<K> {
    fn value<V: Float>(x: V, y: V) -> V {
        x + V::from_f64(f64::from(K)) * y
    }
    fn partial_left<V: Float>(_: V, _: V, _: V) -> V {
        V::ONE
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

fn t11_each_record_finds_the_function_of_its_own_statement_type<S: Reverse<Value = f64>>() {
    let (mut tape, x, y) = record::<S>(&[0.0, 1.0], |x| {
        let mut y = x[0].clone();
        macro_rules! interleave {
            ($($k:literal)*) => { for _ in 0..3 { $(
                y = binary::<_, AddTimes<$k>, _, _>(&y, &x[1]).into();
                let z: Real<S> = unary::<_, Shift<$k>, _>(&x[0]).into();
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

fn t17_passive_computations_record_nothing<S: Reverse<Value = f64>>() {
    let (tape, ..) = record::<S>(&[1.0], |x| {
        let mut y = Real::<S>::from(1.0);
        for k in 0..1_000 {
            y = (&y + (&y * 0.5).sin() * f64::from(k)).into();
            y = sum(&[y.clone(), y]);
        }
        assert!(S::locate(y.id()).is_none(), "passive variables have no identifier");
        (&x[0] + 0.0).into()
    });
    assert_eq!(tape.memory().statements, 1);
}

/// Three functions of slices of so many variables.
fn wide<S: Reverse<Value = f64>>(n: u32) {
    let values: Vec<f64> = (0..n).map(|k| 1.0 + f64::from(k % 7)).collect();
    let weights: Vec<f64> = (0..n).map(|k| f64::from(k % 5)).collect();
    let (mut tape, x, y) = record::<S>(&values, |x| {
        let y: Real<S> = (sum(x) + 2.0 * dot(x, x)).into();
        (&y + linear_combination(&weights, x)).into()
    });
    assert_eq!(tape.memory().statements, 5);
    let found = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
    let expected = values.iter().zip(&weights).map(|(x, w)| 1.0 + 4.0 * x + w).collect();
    assert_eq!(found, Ok(expected));
}

fn t19_statements_may_have_more_arguments_than_a_byte_counts<S: Reverse<Value = f64>>() {
    [253, 254, 255, 256, 257, 300].into_iter().for_each(wide::<S>);
}

/// Records of 10⁵ arguments: a record lies in one slab, and the other spilled layers of these tests have no budget for
/// such slabs.
struct Roomy;
impl SpillDefaults for Roomy {
    fn options() -> SpillOptions {
        SpillOptions::default().slab(16 << 10).memory(16 << 20)
    }
}

#[test]
fn t19_statements_may_have_any_number_of_arguments() {
    for n in [65_535, 65_536, 100_000] {
        wide::<Jacobian>(n);
        wide::<Jacobian<f64, Linear<u64>>>(n);
        wide::<Jacobian<f64, Linear, Shared>>(n);
        wide::<Jacobian<f64, Reuse, Spilled<Roomy>>>(n);
        wide::<PrimalValue>(n);
        wide::<PrimalValue<f64, Reuse>>(n);
        wide::<PrimalValue<f64, Linear, Spilled<Roomy>>>(n);
        wide::<Hybrid>(n);
        wide::<Hybrid<f64, Reuse>>(n);
        wide::<Continuation>(n);
        wide::<Continuation<f64, Reuse>>(n);
    }
}

everywhere!(
    t2_a_ten_operation_statement_is_one_record,
    t11_each_record_finds_the_function_of_its_own_statement_type,
    t17_passive_computations_record_nothing,
    t19_statements_may_have_more_arguments_than_a_byte_counts
);
