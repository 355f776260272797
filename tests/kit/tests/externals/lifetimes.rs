//! Rules belong to the tape, and are dropped once. (That a sweep cannot outlive what a callback borrows are programs that
//! do not compile: in `compile-fail`, and in the documentation of `Callback`.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright::checkpoint::Stage;
use tapewright::external::{Callback, CallbackAdjoints};
use tapewright::prelude::*;
use tapewright::{External, Number, SweepError, external, pause};
use tapewright_kit_tests::panics::panics;

/// The list of entries beside a tape is the same for all strategies.
type S = Hybrid<f64, Reuse>;

/// Counts how often it was dropped, and takes a name for the order.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<V: Number> Callback<V> for Dropped {
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, V>) -> Result<(), SweepError> {
        let seed = adjoints.get_and_reset_output(0);
        adjoints.increment_input(0, seed);
        Ok(())
    }
}

struct Identity(Dropped);

impl<V: Number> External<V> for Identity {
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        assert_eq!(self.0.0.load(Ordering::Relaxed), 0, "it is called before it is dropped");
        inputs[0] = outputs[0];
        Ok(())
    }
}

/// x by three rules in a row, each of which is dropped once.
fn three_rules(scope: &mut tapewright::Scope<S>, x: &Real<S>, drops: &[Arc<AtomicUsize>; 3]) -> Real<S> {
    let x = external(std::slice::from_ref(x), &[x.value()], Identity(Dropped(Arc::clone(&drops[0])))).remove(0);
    let x = scope.insert_callback(std::slice::from_ref(&x), &[x.value()], Dropped(Arc::clone(&drops[1]))).remove(0);
    let kept = Dropped(Arc::clone(&drops[2]));
    Stage::<S>::new().run(&x, Clone::clone, move |x| {
        assert_eq!(kept.0.load(Ordering::Relaxed), 0);
        x.clone()
    })
}

fn counts(drops: &[Arc<AtomicUsize>; 3]) -> [usize; 3] {
    drops.each_ref().map(|drops| drops.load(Ordering::Relaxed))
}

fn recorded(tape: &mut Tape<S>, drops: &[Arc<AtomicUsize>; 3]) {
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        let y = three_rules(scope, &x, drops);
        (x, y)
    });
    for _ in 0..3 {
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)), Ok(1.0));
    }
    assert_eq!(counts(drops), [0; 3], "sweeps drop nothing");
}

#[test]
fn rules_are_dropped_once_with_their_recording() {
    /// One of five ways to end the recording of a tape.
    fn end(way: u8, mut tape: Tape<S>) -> Option<Tape<S>> {
        match way {
            0 => return None,
            1 => tape.reset(),
            2 => tape.record(|_| ()),
            3 => return Some(tape.start().finish()),
            _ => {
                drop(tape.start());
                return None;
            }
        }
        Some(tape)
    }
    for way in 0..5 {
        let drops = <[Arc<AtomicUsize>; 3]>::default();
        let mut tape = Tape::<S>::new();
        recorded(&mut tape, &drops);
        let tape = end(way, tape);
        assert_eq!(counts(&drops), [1; 3]);
        drop(tape);
        assert_eq!(counts(&drops), [1; 3], "once");
    }
}

#[test]
fn rules_of_a_recording_that_panics_are_dropped_once() {
    let drops = <[Arc<AtomicUsize>; 3]>::default();
    let mut tape = Tape::<S>::new();
    let panicked = panics(&mut || {
        tape.record(|scope| {
            let x = scope.input(2.0);
            let _ = three_rules(scope, &x, &drops);
            panic!("behind the rules");
        });
    });
    assert!(panicked);
    tape.record(|_| ());
    assert_eq!(counts(&drops), [1; 3]);
    drop(tape);
    assert_eq!(counts(&drops), [1; 3]);
}

#[test]
fn rules_that_are_not_recorded_are_dropped_at_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let rule = || Identity(Dropped(Arc::clone(&drops)));
    let mut tape = Tape::<S>::new();
    let other = tape.record(|scope| scope.input(1.0));
    tape.record(|scope| {
        let x = scope.input(2.0);
        let passive = external(&[Real::<S>::constant(2.0)], &[2.0], rule());
        assert!(S::locate(passive[0].id()).is_none());
        assert_eq!(drops.load(Ordering::Relaxed), 1, "passive inputs");
        let paused = pause(|| external(std::slice::from_ref(&x), &[2.0], rule()));
        assert!(S::locate(paused[0].id()).is_none());
        assert_eq!(drops.load(Ordering::Relaxed), 2, "a paused recording");
        assert!(
            panics(&mut || drop(external(&[x.clone(), other.clone()], &[2.0], rule()))),
            "inputs of two recordings"
        );
        assert_eq!(drops.load(Ordering::Relaxed), 3, "misuse");
    });
    drop(tape);
    assert_eq!(drops.load(Ordering::Relaxed), 3);
}
