//! Closures of the user on the tape: called as promised, and dropped once, whatever happens.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::{Times, Var, adjoints, eval, input};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::{Continuation, Reverse};

type S = Continuation;

fn tape() -> OwnedTape<S> {
    OwnedTape::new(<S as Reverse>::Tape::default())
}

/// Records x ↦ 2x by a closure that keeps `kept`.
#[track_caller]
fn double<K: Send + Sync + 'static>(x: Var, kept: K) -> Var {
    let id = S::record_closure(&[&x.0.id], move |adjoint, x: &mut [f64]| {
        let _kept = &kept;
        x[0] = 2.0 * adjoint;
    });
    Var::new(2.0 * x.0.value, id)
}

/// Counts how often it is dropped, and panics then if `panics`.
struct Counted {
    drops: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
        if self.panics {
            panic_any("a destructor");
        }
    }
}

#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn counted(&self) -> Counted {
        Counted { drops: self.0.clone(), panics: false }
    }
    fn panicking(&self) -> Counted {
        Counted { drops: self.0.clone(), panics: true }
    }
    fn drops(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Records x ↦ 2ⁿx with a counted closure for each factor.
fn chain(number: RecordingId, kept: impl IntoIterator<Item = Counted>) -> (Var, Var) {
    let x = input::<S>(number, 1.0);
    (x, kept.into_iter().fold(x, double))
}

fn refused<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn a_closure_is_dropped_when_the_next_recording_begins() {
    let (mut tape, counter) = (tape(), Counter::default());
    for round in 0..3 {
        let (x, y) = tape.record(|number| chain(number, (0..5).map(|_| counter.counted())));
        assert_eq!(adjoints(&tape, y, &[x]), adjoints(&tape, y, &[x]), "a second sweep equals the first");
        assert_eq!(adjoints(&tape, y, &[x]), [32.0]);
        assert_eq!(counter.drops(), 5 * round);
    }
}

#[test]
fn a_closure_is_dropped_when_the_tape_is_reset_or_dropped() {
    let (mut tape, counter) = (tape(), Counter::default());
    tape.record(|number| chain(number, [counter.counted()]));
    tape.reset();
    assert_eq!(counter.drops(), 1);
    tape.reset();
    assert_eq!(counter.drops(), 1);
    tape.record(|number| chain(number, [counter.counted(), counter.counted()]));
    drop(tape);
    assert_eq!(counter.drops(), 3);
}

#[test]
fn closures_of_a_recording_that_panics_are_dropped() {
    let (mut tape, counter) = (tape(), Counter::default());
    assert!(refused(|| tape.record(|number| {
        chain(number, [counter.counted(), counter.counted()]);
        panic!("half-way")
    })));
    let (x, y) = tape.record(|number| chain(number, [counter.counted()]));
    assert_eq!((counter.drops(), adjoints(&tape, y, &[x])), (2, vec![2.0]));
    drop(tape);
    assert_eq!(counter.drops(), 3);
}

#[test]
fn all_destructors_run_when_some_panic() {
    let (mut tape, counter) = (tape(), Counter::default());
    let mixed = || [counter.counted(), counter.panicking(), counter.counted(), counter.panicking(), counter.counted()];
    tape.record(|number| chain(number, mixed()));
    let payload = catch_unwind(AssertUnwindSafe(|| tape.reset())).expect_err("a destructor panics");
    assert_eq!((counter.drops(), payload.downcast_ref()), (5, Some(&"a destructor")));
    let (x, y) = tape.record(|number| chain(number, mixed()));
    assert_eq!(adjoints(&tape, y, &[x]), [32.0]);
    assert!(refused(|| tape.record(|_| panic!("a recording that cannot begin does not run"))));
    assert_eq!(counter.drops(), 10);
    let (x, y) = tape.record(|number| chain(number, mixed()));
    assert_eq!(adjoints(&tape, y, &[x]), [32.0]);
    assert!(refused(|| drop(tape)));
    assert_eq!(counter.drops(), 15);
}

#[test]
fn destructors_that_panic_while_unwinding_are_survived() {
    let counter = Counter::default();
    assert!(refused(|| {
        let mut tape = tape();
        tape.record(|number| chain(number, [counter.panicking(), counter.counted()]));
        panic!("unwinds through the tape")
    }));
    assert_eq!(counter.drops(), 2);
}

#[test]
fn a_leaked_tape_drops_nothing() {
    let counter = Counter::default();
    std::thread::spawn({
        let counter = counter.clone();
        move || {
            let mut finished = tape();
            finished.record(|number| chain(number, [counter.counted()]));
            std::mem::forget(finished);
            let running = tape().start();
            chain(running.number(), [counter.counted()]);
            std::mem::forget(running);
        }
    })
    .join()
    .expect("the thread ends well");
    assert_eq!(counter.drops(), 0);
}

#[test]
fn a_tape_taken_out_of_its_recording_drops_its_closures() {
    let (mut tape, counter) = (tape(), Counter::default());
    tape.record(|number| {
        chain(number, [counter.counted()]);
        let taken = recording::with::<S, _>(number, std::mem::take);
        assert_eq!(counter.drops(), 0);
        drop(taken);
        assert_eq!(counter.drops(), 1);
    });
    drop(tape);
    assert_eq!(counter.drops(), 1);
}

#[test]
fn closures_that_are_not_recorded_are_dropped_at_once() {
    let counter = Counter::default();
    let passive = double(Var::passive(1.0), counter.counted());
    assert_eq!((passive.0.id.is_active(), passive.0.value, counter.drops()), (false, 2.0, 1));
    let stale = tape().record(|number| input::<S>(number, 1.0));
    assert!(refused(|| double(stale, counter.counted())));
    assert_eq!(counter.drops(), 2);
    let (mut tape, mut inner) = (tape(), tape());
    tape.record(|number| {
        let x = input::<S>(number, 1.0);
        inner.record(|number| {
            let u = input::<S>(number, 1.0);
            let kept = counter.counted();
            assert!(refused(|| S::record_closure(&[&x.0.id, &u.0.id], move |_, _: &mut [f64]| assert!(!kept.panics))));
        });
        let forged = Var::new(1.0, LinearId::new(number, 7).expect("it fits"));
        assert!(refused(|| double(forged, counter.counted())));
    });
    assert_eq!((counter.drops(), S::memory(tape.tape()).statements), (4, 0));
}

#[test]
fn a_closure_that_finds_no_identifier_is_dropped_and_nothing_is_recorded() {
    let (mut tape, counter) = (tape(), Counter::default());
    tape.tape_mut().limit_identifiers(2);
    let (x, y) = tape.record(|number| {
        let (x, y) = chain(number, [counter.counted()]);
        let payload =
            catch_unwind(AssertUnwindSafe(|| double(y, counter.counted()))).expect_err("the third identifier");
        let message = payload.downcast_ref::<String>().expect("a formatted message");
        assert!(message.contains("out of identifiers: the recording has 2 inputs and statements"), "{message}");
        assert_eq!(counter.drops(), 1);
        assert!(refused(|| eval::<S, _>(&Times(x, y))) && refused(|| input::<S>(number, 1.0)));
        (x, y)
    });
    assert_eq!((adjoints(&tape, y, &[x]), S::memory(tape.tape()).statements), (vec![2.0], 1));
    drop(tape);
    assert_eq!(counter.drops(), 2);
}

thread_local! {
    static REACHED: RefCell<Option<Var>> = const { RefCell::new(None) };
}

/// Records a statement when it is dropped.
struct LastWords;
impl Drop for LastWords {
    fn drop(&mut self) {
        if let Some(x) = REACHED.take() {
            let _ = eval::<S, _>(&Times(x, x));
        }
    }
}

#[test]
fn a_refused_closure_may_record_when_it_is_dropped() {
    let mut tape = tape();
    tape.record(|number| {
        let x = input::<S>(number, 3.0);
        REACHED.set(Some(x));
        let forged = Var::new(1.0, LinearId::new(number, 7).expect("it fits"));
        assert!(refused(|| double(forged, LastWords)));
    });
    assert_eq!(S::memory(tape.tape()).statements, 1);
}

#[test]
fn a_destructor_cannot_record_on_the_tape_that_drops_it() {
    let mut tape = tape();
    tape.record(|number| {
        let x = input::<S>(number, 3.0);
        double(x, LastWords);
        REACHED.set(Some(x));
    });
    assert!(refused(|| tape.reset()), "its recording is over");
    assert_eq!(S::identifiers(tape.tape()), 1);
}

/// Records x ↦ x, and counts the calls of its closure.
fn counted_call(x: Var, calls: &Counter) -> Var {
    let calls = calls.0.clone();
    let id = S::record_closure(&[&x.0.id], move |adjoint, contributions: &mut [f64]| {
        calls.fetch_add(1, Ordering::Relaxed);
        assert_eq!(contributions, [0.0]);
        contributions[0] = adjoint;
    });
    Var::new(x.0.value, id)
}

#[test]
fn a_closure_is_called_once_in_a_sweep_that_reaches_it() {
    let (mut tape, calls) = (tape(), Counter::default());
    let (x, y, z) = tape.record(|number| {
        let x = input::<S>(number, 3.0);
        let y = counted_call(counted_call(x, &calls), &calls);
        (x, y, eval::<S, _>(&Times(x, x)))
    });
    assert_eq!((adjoints(&tape, y, &[x]), calls.drops()), (vec![1.0], 2));
    assert_eq!((adjoints(&tape, y, &[x]), calls.drops()), (vec![1.0], 4));
    assert_eq!((adjoints(&tape, z, &[x]), calls.drops()), (vec![6.0], 4), "an adjoint of 0 is not propagated");
}

#[test]
fn arguments_may_be_passive_and_may_repeat() {
    let mut tape = tape();
    let (x, y, z) = tape.record(|number| {
        let (x, y) = (input::<S>(number, 3.0), input::<S>(number, 5.0));
        let arguments = [x, Var::passive(7.0), y, x].map(|v| v.0.id);
        let id = S::record_closure(&arguments.iter().collect::<Vec<_>>(), |adjoint, contributions: &mut [f64]| {
            contributions.copy_from_slice(&[1.0, f64::NAN, 10.0, 100.0].map(|slope| adjoint * slope));
        });
        (x, y, Var::new(0.0, id))
    });
    assert_eq!(adjoints(&tape, z, &[x, y]), [101.0, 10.0]);
    assert_eq!(S::memory(tape.tape()).arguments, 4);
    assert!(!S::record_closure(&[], |_, _: &mut [f64]| ()).is_active());
}

#[test]
fn a_closure_that_panics_in_a_sweep_stays_on_the_tape() {
    let (mut tape, counter, armed) = (tape(), Counter::default(), Arc::new(AtomicUsize::new(1)));
    let (x, y) = tape.record(|number| {
        let (x, y) = chain(number, [counter.counted()]);
        let (armed, kept) = (armed.clone(), counter.counted());
        let id = S::record_closure(&[&y.0.id], move |adjoint, contributions: &mut [f64]| {
            assert!(armed.load(Ordering::Relaxed) == 0, "armed, and {} kept", Arc::strong_count(&kept.drops));
            contributions[0] = 3.0 * adjoint;
        });
        (x, Var::new(0.0, id))
    });
    assert!(refused(|| adjoints(&tape, y, &[x])));
    armed.store(0, Ordering::Relaxed);
    assert_eq!((adjoints(&tape, y, &[x]), counter.drops()), (vec![6.0], 0));
    drop(tape);
    assert_eq!(counter.drops(), 2);
}

#[test]
fn a_closure_may_sweep_a_tape_of_its_own() {
    let (mut inner, mut outer) = (tape(), tape());
    let (u, v) = inner.record(|number| chain(number, [Counter::default().counted()]));
    let (x, y) = outer.record(|number| {
        let x = input::<S>(number, 3.0);
        let id = S::record_closure(&[&x.0.id], move |adjoint, contributions: &mut [f64]| {
            contributions[0] = adjoint * adjoints(&inner, v, &[u])[0];
        });
        (x, double(Var::new(6.0, id), ()))
    });
    assert_eq!(adjoints(&outer, y, &[x]), [4.0]);
}

#[test]
fn closures_travel_with_their_tape_and_are_called_by_many_threads() {
    let (mut tape, calls) = (tape(), Counter::default());
    let (x, y) = tape.record(|number| {
        let x = input::<S>(number, 3.0);
        (x, counted_call(x, &calls))
    });
    let tape = std::thread::spawn(move || tape).join().expect("the thread ends well");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(adjoints(&tape, y, &[x]), [1.0]));
        }
    });
    std::thread::spawn(move || drop(tape)).join().expect("the thread ends well");
    assert_eq!((calls.drops(), Arc::strong_count(&calls.0)), (2, 1), "dropped on another thread");
}
