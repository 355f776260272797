//! Closures of the user on the tape: called as promised, dropped once, whatever happens, and what they capture is
//! aligned and takes the bytes that are documented.

use super::nodes::{self, Plus, Times, Var, adjoints, eval, input, refused};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright_strategies::contract::Taped;
use tapewright_strategies::identifier::{IndexType, LinearId, RecordingId};
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::{Capacity, Continuation, Float, Linear, Nary, Reverse, Taping};

type S = Continuation;

fn tape() -> OwnedTape<S> {
    nodes::tape()
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

macro_rules! aligned {
    ($($name:ident $align:literal)*) => { $( #[repr(align($align))] struct $name([u8; $align]); )* };
}
aligned! { Two 2 Sixteen 16 Large 128 Page 4096 }

#[repr(align(64))]
struct Nothing;

/// Asserts that it lies where it must, and holds what it was given.
trait Intact {
    fn assert_intact(&self);
}
macro_rules! intact {
    ($($name:ident $byte:literal)*) => { $(
        impl Intact for $name {
            fn assert_intact(&self) {
                assert_eq!(std::ptr::from_ref(self).addr() % align_of::<Self>(), 0);
                assert!(self.0.iter().all(|byte| *byte == $byte));
            }
        }
    )* };
}
intact! { Two 2 Sixteen 16 Large 128 Page 40 }
impl Intact for Nothing {
    fn assert_intact(&self) {
        assert_eq!(std::ptr::from_ref(self).addr() % 64, 0);
    }
}

/// Records x ↦ x by a closure that keeps `kept` and looks at it.
fn pass<K: Intact + Send + Sync + 'static>(x: Var, kept: K) -> Var {
    let id = S::record_closure(&[&x.0.id], move |adjoint, x: &mut [f64]| {
        kept.assert_intact();
        x[0] = adjoint;
    });
    Var::new(x.0.value, id)
}

#[test]
fn s6_captures_are_aligned_also_beyond_eight_bytes() {
    let mut tape = tape();
    for _ in 0..2 {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 3.0);
            let mut y = x;
            for _ in 0..12 {
                y = pass(pass(y, Two([2; 2])), Sixteen([16; 16]));
                y = pass(eval::<S, _>(&Plus(y, Var::passive(0.0))), Large([128; 128]));
                y = pass(pass(y, Page([40; 4096])), Nothing);
            }
            (x, y)
        });
        assert_eq!(adjoints(&tape, y, &[x]), [1.0]);
        let report = S::memory(tape.tape());
        assert_eq!((report.statements, report.arguments), (12 * 6, 12 * 7));
        assert!(report.usage("closures").used > 64 << 10, "more than a segment: {report}");
    }
}

#[test]
fn closures_take_the_documented_bytes() {
    let used = |f: &dyn Fn(Var)| {
        let mut tape = tape();
        tape.record(|number| f(input::<S>(number, 3.0)));
        let report = S::memory(tape.tape());
        let bytes = |stream| report.usage(stream).used;
        (bytes("closures"), bytes("functions"), bytes("destructors"))
    };
    let closure = |f: fn(f64, &mut [f64]), n: usize| {
        used(&move |x| {
            S::record_closure(&vec![&x.0.id; n], f);
        })
    };
    // A function pointer is 8 bytes; then arguments and two numbers of 4 bytes each.
    assert_eq!(closure(|_, _| (), 1), (8 + 12, 8, 0));
    assert_eq!(closure(|_, _| (), 2), (8 + 16, 8, 0));
    let nothing = used(&|x| {
        S::record_closure(&[&x.0.id], |adjoint, x: &mut [f64]| x[0] = adjoint);
    });
    assert_eq!(nothing, (12, 8, 0));
    let with_destructor = used(&|x| {
        let kept = Arc::new(2.0);
        S::record_closure(&[&x.0.id], move |adjoint, x: &mut [f64]| x[0] = adjoint * *kept);
    });
    assert_eq!(with_destructor, (8 + 12, 8, 16));
}

#[test]
fn closures_reach_into_new_segments_and_find_them_again() {
    let (mut tape, kept) = (tape(), Arc::new(0.0));
    for k in 1..=3 {
        let arguments = k * (64 << 10) / 12;
        S::reserve(tape.tape_mut(), Capacity { arguments, ..Capacity::default() });
    }
    let reserved = S::memory(tape.tape()).usage("free").reserved;
    for n in [120, 1, 120] {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 3.0);
            let y = (0..n).fold(x, |y, _| {
                let (kept, ballast) = (kept.clone(), [0.0; 150]);
                let id = S::record_closure(&[&y.0.id], move |adjoint, contributions: &mut [f64]| {
                    contributions[0] = adjoint + *kept + ballast.iter().sum::<f64>();
                });
                Var::new(3.0, id)
            });
            (x, y)
        });
        assert_eq!(adjoints(&tape, y, &[x]), [1.0]);
        let report = S::memory(tape.tape());
        let used = report.usage("closures").used + report.usage("functions").used;
        assert_eq!(used + report.usage("free").reserved, reserved, "the closures lie in the reserved segments");
        assert_eq!((report.statements, report.usage("destructors").used), (n, 16 * n));
        assert_eq!(Arc::strong_count(&kept), 1 + n);
        tape.reset();
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

/// Closures with values and identifiers of other widths.
type Wide<V, I> = Continuation<V, Linear<I>>;

/// Σ xᵢ², for any value type.
struct Sum;
impl<V: Float> Nary<V> for Sum {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::zero(), |sum, x| sum + *x * *x)
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x + *x);
    }
}

/// A closure behind functions of 1 to 5 inputs, which end wherever they do.
fn aligned_closures<V: Float, I: IndexType>() {
    let mut tape = nodes::tape::<Wide<V, I>>();
    for n in 1..6_u8 {
        let (x, z) = tape.record(|number| {
            let input = |k: u8| {
                let value = V::from_f64(k.into());
                Taped { value, id: recording::with::<Wide<V, I>, _>(number, |tape| Wide::<V, I>::input(tape, value)) }
            };
            let x: Vec<_> = (1..=n).map(input).collect();
            let sum = Wide::<V, I>::record_nary::<Sum>(&[&x], &[], V::zero());
            let ids: Vec<_> = x.iter().map(|x| &x.id).chain([&sum]).collect();
            let kept = Sixteen([16; 16]);
            let z = Wide::<V, I>::record_closure(&ids, move |adjoint, contributions| {
                kept.assert_intact();
                contributions.fill(adjoint + adjoint);
            });
            (x, z)
        });
        let slot = |id| Wide::<V, I>::locate(id).map_or(0, |(_, slot)| slot);
        let mut adjoints = vec![V::zero(); Wide::<V, I>::identifiers(tape.tape())];
        adjoints[slot(&z)] = V::one();
        Wide::<V, I>::reverse(tape.tape(), &mut adjoints).expect("records in memory");
        // z = 2·(Σ xᵢ + Σ xᵢ²).
        for x in &x {
            assert_eq!(adjoints[slot(&x.id)], V::from_f64(2.0) + V::from_f64(4.0) * x.value);
        }
    }
}

#[test]
fn closures_of_all_widths_are_aligned() {
    aligned_closures::<f64, u32>();
    aligned_closures::<f64, u64>();
    aligned_closures::<f32, u32>();
    aligned_closures::<f32, u64>();
}
