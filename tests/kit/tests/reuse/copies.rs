//! Copies share an identifier, which is free when the last of them is gone, and never before.

use super::{Reusing, churn, each, slot, swept};
use tapewright::prelude::*;

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn copies_may_be_dropped_in_any_order() {
    fn holds<S: Reusing>() {
        for order in ORDERS {
            let mut tape = Tape::<S>::new();
            let (x, y) = tape.record(|scope| {
                let x = scope.input(2.0);
                let original = (&x * 3.0).eval();
                let at = slot(&original);
                let copy = original.clone();
                let of_copy = copy.clone();
                assert_eq!((slot(&copy), slot(&of_copy)), (at, at));
                let mut all = [Some(original), Some(copy), Some(of_copy)];
                let mut y = (&x * 1.0).eval();
                for (gone, k) in order.into_iter().enumerate() {
                    let last = all[k].take().expect("each once");
                    let others: Vec<_> = (0..4).map(|k| (&x + f64::from(k)).eval()).collect();
                    assert!(others.iter().all(|other| slot(other) != at), "one of {order:?} is alive after {gone}");
                    y *= &last;
                    drop(others);
                    churn(&x, 5);
                }
                let others: Vec<_> = (0..12).map(|k| (&x + f64::from(k)).eval()).collect();
                assert!(others.iter().any(|other| slot(other) == at), "{order:?} have all been dropped");
                (x, y)
            });
            // y = x·(3x)³.
            assert_eq!(swept(&mut tape, &y, &[x]), [27.0 * 4.0 * 8.0]);
        }
    }
    each!(holds);
}

#[test]
fn assigning_a_copy_releases_what_was_there() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let mut a = (&x * 3.0).eval();
            let mut b = (&x * 5.0).eval();
            let (at_a, at_b) = (slot(&a), slot(&b));
            for _ in 0..100 {
                b.clone_from(&a);
                let next = (&x * 5.0).eval();
                assert_eq!((slot(&b), slot(&next)), (at_a, at_b));
                b = next;
                a = a.clone();
                std::mem::swap(&mut a, &mut b);
                std::mem::swap(&mut a, &mut b);
            }
            (x, (&a * &b).eval())
        });
        assert_eq!(swept(&mut tape, &y, &[x]), [15.0 * 4.0]);
    }
    each!(holds);
}

#[test]
fn copies_of_a_finished_recording_are_right_when_the_original_is_gone() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let mut recording = Tape::<S>::new().start();
        let x = recording.scope().input(2.0);
        let y = (&x * &x).eval();
        let mut finished = recording.finish();
        // While another recording is the innermost, and when none is.
        let copy = tape.record(|scope| {
            let u = scope.input(1.0);
            let copy = y.clone();
            drop(y);
            churn(&u, 20);
            copy
        });
        let again = copy.clone();
        drop(copy);
        assert_eq!(swept(&mut finished, &again, std::slice::from_ref(&x)), [4.0]);
        drop((again, x));
        let (x, y) = finished.record(|scope| {
            let x = scope.input(3.0);
            let y = (&x * &x).eval();
            churn(&x, 20);
            (x, y)
        });
        assert_eq!(swept(&mut finished, &y, &[x]), [6.0]);
    }
    each!(holds);
}

#[test]
fn a_copy_made_on_another_thread_outlives_the_original() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let original = (&x * 3.0).eval();
            let shared = (&x * 5.0).eval();
            let second = shared.clone();
            let slots = [slot(&original), slot(&shared)];
            let (a, b) = std::thread::scope(|threads| {
                threads.spawn(|| (original.clone(), shared.clone())).join().expect("copying does not panic")
            });
            drop((original, shared, second));
            let others: Vec<_> = (0..100).map(|k| (&x * f64::from(k)).eval()).collect();
            assert!(others.iter().all(|other| !slots.contains(&slot(other))));
            drop(others);
            churn(&x, 1000);
            let c = a.clone();
            let y = (&a * &b).eval();
            drop((a, b));
            churn(&x, 1000);
            (x, (&y * &c).eval())
        });
        // 3x·5x·3x.
        assert_eq!(swept(&mut tape, &y, &[x]), [45.0 * 3.0 * 4.0]);
    }
    each!(holds);
}

#[test]
fn copies_made_on_several_threads_at_once_are_never_of_another_variable() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let mut y = (&x * 1.0).eval();
            for _ in 0..20 {
                let original = (&x * 0.5).eval();
                let mut copies = std::thread::scope(|threads| {
                    let there: Vec<_> = (0..3)
                        .map(|_| threads.spawn(|| (0..5).map(|_| original.clone()).collect::<Vec<_>>()))
                        .collect();
                    let mut here: Vec<_> = (0..5).map(|_| original.clone()).collect();
                    here.truncate(2);
                    there.into_iter().for_each(|copies| here.extend(copies.join().expect("copying does not panic")));
                    here
                });
                drop(original);
                copies.truncate(3);
                churn(&x, 10);
                let at = slot(&copies[0]);
                let others: Vec<_> = (0..8).map(|_| (&x + 1.0).eval()).collect();
                assert!(others.iter().all(|other| slot(other) != at));
                copies.iter().for_each(|copy| y *= copy);
            }
            (x, y)
        });
        // y = x·(x/2)⁶⁰, and x/2 = 1.
        assert_eq!(swept(&mut tape, &y, &[x]), [61.0]);
    }
    each!(holds);
}
