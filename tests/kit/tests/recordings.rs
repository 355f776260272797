//! Which tape a statement is recorded on, and when a recording is over: nested, leaked, ended and moved recordings, and
//! panics in them.

#[macro_use]
#[path = "common/recordings.rs"]
mod common;

use common::{Copying, NOT_ACTIVE, TWO, assert_small, panic_of, record_small, refused_here, works};
use std::cell::Cell;
use std::sync::Barrier;
use tapewright::prelude::*;
use tapewright::tape::Recording;

scenarios! {
    statements_of_an_outer_recording_go_to_the_outer_tape
    a_leaked_recording_leaks_its_tape_and_nothing_else
    recordings_may_end_in_any_order
    a_dropped_recording_is_over
    a_panic_ends_the_recordings_it_leaves
    a_panic_in_the_inner_recording_leaves_the_outer_one_going
    tapes_may_change_threads_between_recordings
    eight_threads_record_on_their_own_tapes
    a_drop_may_record
    recordings_have_numbers_of_their_own
    passive_statements_need_no_recording
}

fn statements_of_an_outer_recording_go_to_the_outer_tape<S: Copying>() {
    nested::<S, S>();
    nested::<S, Jacobian>();
    nested::<S, PrimalValue>();
    nested::<S, Jacobian<f64, Linear<u64>>>();
    nested::<S, PrimalValue<f64, Linear<u64>>>();
}

fn nested<S: Copying, T: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<T>::new());
    let (x, y, made) = outer.record(|scope| {
        let x = scope.input(2.0);
        let (made, mut y) = inner.record(|inside| {
            let u = inside.inputs(&[3.0, 5.0]);
            let square: Real<S> = (x * x).into();
            let z: Real<T> = (u[0] * u[1] + u[1]).into();
            let late = scope.input(7.0);
            ((u, z), Real::<S>::from(square * x + late * 0.0))
        });
        y *= x;
        (x, y, made)
    });
    assert_small(&mut inner, &made);
    assert_eq!((inner.memory().statements, outer.memory().statements), (1, 3));
    let adjoints = outer.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
    assert_eq!((y.value(), adjoints.of(&x)), (16.0, Ok(32.0)));
}

fn a_leaked_recording_leaks_its_tape_and_nothing_else<S: Copying>() {
    std::thread::spawn(|| {
        let mut leaked = Tape::<S>::new().start();
        let x = leaked.scope().input(2.0);
        std::mem::forget(leaked);
        works(&mut Tape::<S>::new());
        works(&mut Tape::<Jacobian>::new());
        works(&mut Tape::<PrimalValue>::new());
        let still_recorded: Real<S> = (x * x).into();
        assert_eq!(still_recorded.value(), 4.0);
        let mut tape = Tape::<S>::new();
        tape.record(|scope| {
            let y = scope.input(1.0);
            refused_here(TWO, || (x * y).eval());
        });
    })
    .join()
    .expect("the thread ends well");
}

/// Records the small function on a running recording.
fn add_small<S: Copying>(recording: &mut Recording<S>) -> (Vec<Real<S>>, Real<S>) {
    let x = recording.scope().inputs(&[3.0, 5.0]);
    let z = (x[0] * x[1] + x[1]).into();
    (x, z)
}

fn recordings_may_end_in_any_order<S: Copying>() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut running: Vec<_> = (0..3).map(|_| Some(Tape::<S>::new().start())).collect();
        let mut made = Vec::new();
        for recording in running.iter_mut().flatten() {
            made.push(add_small(recording));
        }
        for k in order {
            let (x, z) = &mut made[k];
            let late: Real<S> = (*z + x[0] * 0.0).into();
            *z = late;
            let mut tape = running[k].take().expect("each ends once").finish();
            assert_small(&mut tape, &made[k]);
            refused_here(NOT_ACTIVE, || (made[k].1 + 1.0).eval());
        }
    }
}

fn a_dropped_recording_is_over<S: Copying>() {
    let mut first = Tape::<S>::new().start();
    let mut second = Tape::<PrimalValue>::new().start();
    let (a, b) = (add_small(&mut first), add_small(&mut second));
    drop(first);
    refused_here(NOT_ACTIVE, || (a.1 * 2.0).eval());
    assert_small(&mut second.finish(), &b);
}

fn a_panic_ends_the_recordings_it_leaves<S: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<Jacobian>::new());
    let mut kept = None;
    let caught = panic_of(|| {
        outer.record(|scope| {
            kept = Some(scope.input(1.0));
            let guard = Tape::<PrimalValue>::new().start();
            inner.record(|_| panic!("midway in {}", guard.finish().memory().statements));
        });
    });
    assert_eq!(caught.message, "midway in 0");
    let x = kept.expect("the outer recording has begun");
    refused_here("no recording is active on this thread", || (x + 1.0).eval());
    works(&mut outer);
    works(&mut inner);
}

fn a_panic_in_the_inner_recording_leaves_the_outer_one_going<S: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    let made = outer.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        assert_eq!(panic_of(|| inner.record(|_| panic!("inside"))).message, "inside");
        let z = (x[0] * x[1] + x[1]).into();
        (x, z)
    });
    assert_small(&mut outer, &made);
    works(&mut inner);
}

fn tapes_may_change_threads_between_recordings<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let first = record_small(&mut tape);
    let (mut tape, second) = std::thread::spawn(move || {
        assert_small(&mut tape, &first);
        let second = record_small(&mut tape);
        (tape, second)
    })
    .join()
    .expect("the thread ends well");
    assert_small(&mut tape, &second);
    works(&mut tape);
}

/// Each recording of a thread begins before those of the others end: all of them wait in the middle. Nothing is
/// asserted, and nothing fails, while others wait.
fn eight_threads_record_on_their_own_tapes<S: Copying>() {
    const LAST: i32 = 50;
    let all_record = Barrier::new(8);
    let slopes = |x: f64| -> Vec<f64> {
        let mut tape = Tape::<S>::new();
        let power = |n: i32, x: &Real<S>| {
            let half = (0..n / 2).fold(Real::from(1.0), |y: Real<S>, _| (y * *x).into());
            all_record.wait();
            (n / 2..n).fold(half, |y, _| (y * *x).into())
        };
        let slope = |n| {
            let mut gradient = [0.0];
            tape.gradient(|x| power(n, &x[0]), &[x], &mut gradient).map_or(f64::NAN, |_| gradient[0])
        };
        (1..LAST).map(slope).collect()
    };
    let slopes = &slopes;
    std::thread::scope(|threads| {
        let running: Vec<_> = (1..=8_u8).map(|thread| threads.spawn(move || slopes(f64::from(thread) / 8.0))).collect();
        for (thread, running) in (1..=8_u8).zip(running) {
            let x = f64::from(thread) / 8.0;
            for (n, found) in (1..LAST).zip(running.join().expect("the thread ends well")) {
                let expected = f64::from(n) * x.powi(n - 1);
                assert!((found - expected).abs() <= 1e-12 * expected, "thread {thread}, n = {n}");
            }
        }
    });
}

/// Records when it is dropped: on the recording of its variable, and on a tape of its own.
struct Parting<'a, S: Copying>(Real<S>, &'a Cell<Real<S>>);
impl<S: Copying> Drop for Parting<'_, S> {
    fn drop(&mut self) {
        works(&mut Tape::<S>::new());
        self.1.set((self.0 * self.0).into());
    }
}

fn a_drop_may_record<S: Copying>() {
    let result = Cell::new(Real::<S>::default());
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| {
        let x = scope.input(3.0);
        drop(Parting(x, &result));
        x
    });
    assert_eq!(tape.sweep(&[(&result.get(), 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(6.0));
    let caught = panic_of(|| {
        tape.record(|scope| {
            let _parting = Parting(scope.input(3.0), &result);
            panic!("leaving")
        })
    });
    assert_eq!(caught.message, "leaving");
    assert_eq!((result.get().value(), tape.memory().statements), (9.0, 1));
}

fn recordings_have_numbers_of_their_own<S: Copying>() {
    let numbers = || {
        let mut tape = Tape::<S>::new();
        (0..10_000).map(|_| tape.record(|scope| scope.number().get())).collect::<Vec<_>>()
    };
    let other = std::thread::spawn(numbers);
    let mut all = numbers();
    all.extend(other.join().expect("the thread ends well"));
    let guard = Tape::<S>::new().start();
    all.push(Tape::<Jacobian>::new().record(|scope| scope.number().get()));
    drop(guard);
    assert!(!all.contains(&0), "0 means passive");
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

fn passive_statements_need_no_recording<S: Copying>() {
    let x = Real::<S>::from(3.0);
    let mut y: Real<S> = (x * x + 1.0).into();
    y += tapewright::sum(&[x, y]);
    assert_eq!(y.value(), 23.0);
    let mut tape = Tape::<S>::new();
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.0));
}
