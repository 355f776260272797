//! Copies share an identifier, which is free when the last of them is gone, and never before; variables may be dropped
//! in odd places. More of these are in the conformance kit, `lifetimes`.

use super::{One, churn, slot, swept};
use std::cell::RefCell;
use tapewright::prelude::*;

#[test]
fn assigning_a_copy_releases_what_was_there() {
    type S = One;
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

#[test]
fn copies_made_on_several_threads_at_once_are_never_of_another_variable() {
    type S = One;
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        let mut y = (&x * 1.0).eval();
        for _ in 0..20 {
            let original = (&x * 0.5).eval();
            let mut copies = std::thread::scope(|threads| {
                let there: Vec<_> =
                    (0..3).map(|_| threads.spawn(|| (0..5).map(|_| original.clone()).collect::<Vec<_>>())).collect();
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

thread_local! {
    static LATE: RefCell<Vec<Box<dyn std::any::Any>>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn a_variable_may_be_dropped_when_its_thread_ends() {
    type S = One;
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
