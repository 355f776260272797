//! Variables that are dropped early, late, and in odd places.

use super::{Reusing, churn, each, slot, slots, swept};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tapewright::prelude::*;

#[test]
fn an_expression_keeps_the_identifiers_of_its_leaves() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[0.5, 1.5]);
            let (a, b) = ((&x[0] * 2.0).eval(), (&x[1] * 3.0).eval());
            let (slot_a, slot_b) = (slot(&a), slot(&b));
            let kept = a.clone() * b.clone() + (a.clone() * 1.0).sin();
            drop((a, b)); // the expression has copies
            let others: Vec<_> = (0..10).map(|k| (&x[0] * f64::from(k) + &x[1]).eval()).collect();
            assert!(others.iter().all(|other| ![slot_a, slot_b].contains(&slot(other))));
            churn(&x[1], 100);
            let twice = kept.clone();
            let first = kept.eval();
            churn(&x[1], 10);
            let second = twice.eval();
            let moved = (first * second).eval();
            // Now nobody has them.
            let mut free: Vec<_> = (0..20).map(|_| (&x[0] + 1.0).eval()).collect();
            free.push(moved.clone());
            assert!([slot_a, slot_b].iter().all(|at| free.iter().any(|other| slot(other) == *at)));
            (x, moved)
        });
        let (a, b) = (1.0_f64, 4.5_f64);
        let value = a * b + a.sin();
        assert!((y.value() - value * value).abs() < 1e-13);
        let gradient = swept(&mut tape, &y, &x);
        assert!((gradient[0] - 2.0 * value * 2.0 * (b + a.cos())).abs() < 1e-12);
        assert!((gradient[1] - 2.0 * value * 3.0 * a).abs() < 1e-12);
    }
    each!(holds);
}

/// A variable of a recording that is to end in some way, dropped after that, while another recording of the same tape
/// runs.
fn survives<S: Reusing>(end: impl FnOnce(Tape<S>, Real<S>) -> Option<Tape<S>>) {
    let mut tape = Tape::<S>::new();
    let y = tape.record(|scope| {
        let x = scope.input(2.0);
        (&x * &x).eval()
    });
    let mut tape = end(tape, y).unwrap_or_default();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(3.0);
        let y = (&x * &x).eval();
        churn(&x, 10);
        let cube = (&y * &x).eval();
        (x, cube)
    });
    assert_eq!(swept(&mut tape, &y, &[x]), [27.0]);
    assert!(slots(&tape) <= 6, "{} slots", slots(&tape));
}

#[test]
fn variables_may_outlive_their_recording() {
    fn holds<S: Reusing>() {
        survives::<S>(|mut tape, y| {
            tape.reset();
            drop(y);
            Some(tape)
        });
        survives::<S>(|tape, y| {
            drop(tape);
            drop(y);
            None
        });
        survives::<S>(|mut tape, y| {
            // Dropped while the identifier means another variable.
            tape.record(|scope| {
                let x = scope.inputs(&[1.0, 2.0, 3.0]);
                let a = (&x[0] * &x[1]).eval();
                drop(y);
                let b = (&x[1] * &x[2]).eval();
                assert_ne!(slot(&a), slot(&b));
            });
            Some(tape)
        });
        survives::<S>(|tape, y| {
            let mut recording = tape.start();
            let _ = recording.scope().input(1.0);
            drop(y);
            Some(recording.finish())
        });
    }
    each!(holds);
}

#[test]
fn a_variable_may_be_dropped_on_another_thread() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let moved = (&x * 3.0).eval();
            let copied = (&x * 5.0).eval();
            let copy = copied.clone();
            let y = (&moved * &copied).eval();
            std::thread::spawn(move || {
                // A recording there with the same identifiers.
                let mut other = Tape::<S>::new();
                other.record(|scope| {
                    let u = scope.inputs(&[1.0; 8]);
                    drop((moved, copy));
                    let v = (&u[0] * &u[1]).eval();
                    assert_eq!(slot(&v), 9);
                });
            })
            .join()
            .expect("nothing panics there");
            churn(&x, 20);
            (x, (&y * &copied).eval())
        });
        assert_eq!(swept(&mut tape, &y, &[x]), [3.0 * 25.0 * 3.0 * 4.0]);
    }
    each!(holds);
}

thread_local! {
    static LATE: RefCell<Vec<Box<dyn std::any::Any>>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn a_variable_may_be_dropped_when_its_thread_ends() {
    fn holds<S: Reusing>() {
        for leaked in [false, true] {
            let ended = std::thread::spawn(move || {
                LATE.with_borrow_mut(|late| late.push(Box::new(0)));
                let mut recording = Tape::<S>::new().start();
                let x = recording.scope().input(2.0);
                let y = (&x * &x).eval();
                LATE.with_borrow_mut(|late| {
                    late.push(Box::new(x.clone()));
                    late.push(Box::new(y.clone()));
                    late.push(Box::new((&y * &x).eval()));
                    late.push(Box::new(x));
                });
                if leaked {
                    std::mem::forget(recording); // it stays active to the end
                } else {
                    LATE.with_borrow_mut(|late| late.push(Box::new(recording.finish())));
                }
            });
            ended.join().expect("destructors of thread-locals may drop variables");
        }
    }
    each!(holds);
}

/// Drops variables of an outer recording inside another, of strategy `T`.
fn dropped_inside<S: Reusing, T: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let mut other = Tape::<T>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        let mut kept = (&x * 1.0).eval();
        let freed = (&x * 7.0).eval();
        let at = slot(&freed);
        other.record(|scope| {
            let u = scope.input(10.0);
            let v = (&u * &u).eval();
            drop(freed);
            let again = (&kept * 3.0).eval();
            assert_eq!(slot(&again), at, "the identifier is free for the outer recording");
            for _ in 0..100 {
                kept = (&kept * 0.5 + &again * 0.5).into();
            }
            drop((v, again));
            let w = (&u * 2.0).eval();
            assert_eq!(w.value(), 20.0);
        });
        churn(&x, 20);
        (x, kept)
    });
    // k ← k/2 + 3x/2 has the fixed point 3x.
    assert_eq!(swept(&mut tape, &y, &[x]), [3.0]);
    assert_eq!(slots(&tape), 6, "slot 0, the input, and three or four variables at once");
}

#[test]
fn variables_of_an_outer_recording_may_be_dropped_inside_another() {
    fn holds<S: Reusing>() {
        dropped_inside::<S, S>();
        dropped_inside::<S, Jacobian>();
        dropped_inside::<S, PrimalValue<f64, Reuse>>();
        dropped_inside::<S, Jacobian<f64, Reuse>>();
    }
    each!(holds);
}

#[test]
fn variables_may_be_dropped_by_a_panic() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let kept = (&x * 3.0).eval();
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let a = (&x * 5.0).eval();
                let copy = a.clone();
                let b = (&a * &kept).eval();
                let expression = copy * b.clone();
                if b.value() > 0.0 {
                    resume_unwind(Box::new(slot(&a).max(slot(&b))));
                }
                drop(expression);
            }));
            let largest = *unwound.expect_err("it panics").downcast::<usize>().expect("an identifier");
            let again = [(&x + 1.0).eval(), (&x + 2.0).eval()];
            assert!(again.iter().all(|variable| slot(variable) <= largest), "identifiers are free after the panic");
            churn(&x, 20);
            (x, (&kept * &again[1]).eval())
        });
        assert_eq!(swept(&mut tape, &y, &[x]), [3.0 * 4.0 + 6.0]);

        let mut outside = Vec::new();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            tape.record(|scope| {
                let x = scope.input(2.0);
                outside.push(x.clone());
                outside.push((&x * &x).eval());
                let _temporary = (&x * 3.0).eval();
                resume_unwind(Box::new(()));
            })
        }));
        assert!(unwound.is_err());
        assert_eq!(swept(&mut tape, &outside[1], &outside[..1]), [4.0], "what was recorded before can be swept");
        let fresh = tape.record(|scope| slot(&scope.input(1.0)));
        assert_eq!(fresh, 1);
    }
    each!(holds);
}
