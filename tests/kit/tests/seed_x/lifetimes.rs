//! Rules belong to the tape: rows X16 and X17. (That a sweep cannot outlive what a callback borrows are programs that
//! do not compile: in `compile-fail`, and in the documentation of `Callback`.)

use crate::everywhere::{everywhere, float};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright::checkpoint::Stage;
use tapewright::external::{Callback, CallbackAdjoints};
use tapewright::prelude::*;
use tapewright::{External, Number, SweepError, external, pause};

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

/// The seed's callback must outlive the sweep, and nothing sees to it. Here the tape keeps it: it is there for every
/// sweep, of positions and lanes too, when the function that made it has returned, and when the tape has gone to
/// another thread.
fn x16_callbacks_outlive_the_sweeps_of_their_tape<S: Reverse<Tape: Send, Variable: Sync>>() {
    fn record<S: Reverse>(tape: &mut Tape<S>, drops: &Arc<AtomicUsize>) -> (Real<S>, Real<S>) {
        tape.record(|scope| {
            let x = scope.input(float(2.0));
            let local = Dropped(Arc::clone(drops));
            let y = scope.insert_callback(std::slice::from_ref(&x), &[x.value()], local).remove(0);
            (x, y)
        })
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, &drops);
    let sweep = |tape: &mut Tape<S>| tape.sweep(&[(&y, S::Value::ONE)]).and_then(|adjoints| adjoints.of(&x));
    assert_eq!(sweep(&mut tape), Ok(S::Value::ONE));
    let (tape, elsewhere) = std::thread::scope(|threads| {
        let here = threads.spawn(|| {
            let found = sweep(&mut tape);
            (tape, found)
        });
        here.join().expect("no panic")
    });
    assert_eq!((elsewhere, drops.load(Ordering::Relaxed)), (Ok(S::Value::ONE), 0));
    drop(tape);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
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
fn three_rules<S: Reverse>(scope: &mut tapewright::Scope<S>, x: &Real<S>, drops: &[Arc<AtomicUsize>; 3]) -> Real<S> {
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

fn recorded<S: Reverse>(tape: &mut Tape<S>, drops: &[Arc<AtomicUsize>; 3]) {
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(2.0));
        let y = three_rules(scope, &x, drops);
        (x, y)
    });
    for _ in 0..3 {
        assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(S::Value::ONE));
    }
    assert_eq!(counts(drops), [0; 3], "sweeps drop nothing");
}

fn x17_rules_are_dropped_once_with_their_recording<S: Reverse>() {
    #[allow(clippy::type_complexity, reason = "functions of a tape")]
    let ends: [fn(Tape<S>) -> Option<Tape<S>>; 5] = [
        |tape| {
            drop(tape);
            None
        },
        |mut tape| {
            tape.reset();
            Some(tape)
        },
        |mut tape| {
            tape.record(|_| ());
            Some(tape)
        },
        |tape| Some(tape.start().finish()),
        |tape| {
            drop(tape.start());
            None
        },
    ];
    for end in ends {
        let drops = <[Arc<AtomicUsize>; 3]>::default();
        let mut tape = Tape::<S>::new();
        recorded(&mut tape, &drops);
        let tape = end(tape);
        assert_eq!(counts(&drops), [1; 3]);
        drop(tape);
        assert_eq!(counts(&drops), [1; 3], "once");
    }
}

fn x17_a_reset_to_a_position_drops_the_rules_behind_it<S: Reverse>() {
    let (before, behind) = <([Arc<AtomicUsize>; 3], [Arc<AtomicUsize>; 3])>::default();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(2.0));
        let y = three_rules(scope, &x, &before);
        (x, y)
    });
    let position = tape.position();
    tape.resume(|scope| {
        let y = scope.renew(&y).expect("of the earlier part");
        let _ = three_rules(scope, &y, &behind);
    });
    tape.reset_to(&position).expect("a position of it");
    assert_eq!((counts(&before), counts(&behind)), ([0; 3], [1; 3]));
    assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(S::Value::ONE));
    drop(tape);
    assert_eq!((counts(&before), counts(&behind)), ([1; 3], [1; 3]));
}

fn x17_rules_of_a_recording_that_panics_are_dropped_once<S: Reverse>() {
    let drops = <[Arc<AtomicUsize>; 3]>::default();
    let mut tape = Tape::<S>::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tape.record(|scope| {
            let x = scope.input(float(2.0));
            let _ = three_rules(scope, &x, &drops);
            panic!("behind the rules");
        });
    }));
    drop(panicked.expect_err("a panic"));
    tape.record(|_| ());
    assert_eq!(counts(&drops), [1; 3]);
    drop(tape);
    assert_eq!(counts(&drops), [1; 3]);
}

fn x17_rules_that_are_not_recorded_are_dropped_at_once<S: Reverse>() {
    let drops = Arc::new(AtomicUsize::new(0));
    let rule = || Identity(Dropped(Arc::clone(&drops)));
    let mut tape = Tape::<S>::new();
    let other = tape.record(|scope| scope.input(float(1.0)));
    tape.record(|scope| {
        let x = scope.input(float(2.0));
        let passive = external(&[Real::<S>::constant(float(2.0))], &[float(2.0)], rule());
        assert!(S::locate(passive[0].id()).is_none());
        assert_eq!(drops.load(Ordering::Relaxed), 1, "passive inputs");
        let paused = pause(|| external(std::slice::from_ref(&x), &[float(2.0)], rule()));
        assert!(S::locate(paused[0].id()).is_none());
        assert_eq!(drops.load(Ordering::Relaxed), 2, "a paused recording");
        let refused = catch_unwind(AssertUnwindSafe(|| external(&[x, other], &[float(2.0)], rule())));
        drop(refused.expect_err("inputs of two recordings"));
        assert_eq!(drops.load(Ordering::Relaxed), 3, "misuse");
    });
    drop(tape);
    assert_eq!(drops.load(Ordering::Relaxed), 3);
}

everywhere!(
    x16_callbacks_outlive_the_sweeps_of_their_tape,
    x17_rules_are_dropped_once_with_their_recording,
    x17_a_reset_to_a_position_drops_the_rules_behind_it,
    x17_rules_of_a_recording_that_panics_are_dropped_once,
    x17_rules_that_are_not_recorded_are_dropped_at_once,
);
