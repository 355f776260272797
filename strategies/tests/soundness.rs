//! What safe code may try against the unsafe code of this crate: each attempt is refused or harmless.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::{Linear, Lit, Plus, Times, Var, adjoints, eval, input};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::external::TapeCache;
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::recording::{self, OwnedTape, Running};
use tapewright_strategies::{
    Capacity, Continuation, External, Hybrid, Jacobian, Nary, PrimalValue, Reuse, Shared, SweepError, Taping,
};

/// Runs each scenario under every strategy.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod jacobian { $( #[test] fn $name() { super::$name::<tapewright_strategies::Jacobian>(); } )* }
        mod primal_value { $( #[test] fn $name() { super::$name::<tapewright_strategies::PrimalValue>(); } )* }
        mod continuation { $( #[test] fn $name() { super::$name::<tapewright_strategies::Continuation>(); } )* }
    };
}
scenarios! {
    an_empty_reservation_makes_no_room_that_is_not_there
    a_reservation_in_the_middle_of_a_recording_keeps_it
    a_tape_cannot_be_borrowed_twice
    a_tape_that_is_lent_out_cannot_be_dropped
    a_tape_that_is_lent_out_cannot_be_finished
    a_rule_cannot_end_the_recording_that_it_is_called_from
    a_rule_cannot_record_on_the_tape_that_is_being_written
    a_tape_replaced_in_a_recording_knows_no_earlier_variable
    identifiers_beyond_the_recording_are_refused
    identifiers_of_recordings_of_another_strategy_are_refused
    short_adjoint_vectors_are_refused
}

fn tape<S: Linear>() -> OwnedTape<S> {
    OwnedTape::new(S::Tape::default())
}

/// The tape can record and be swept.
fn works<S: Linear>(tape: &mut OwnedTape<S>) {
    let (x, y) = tape.record(|number| {
        let (x, y) = (input::<S>(number, 3.0), input::<S>(number, 5.0));
        ([x, y], eval::<S, _>(&Plus(Times(x, y), y)))
    });
    assert_eq!(adjoints(tape, y, &x), [5.0, 4.0]);
}

fn an_empty_reservation_makes_no_room_that_is_not_there<S: Linear>() {
    let mut records = S::Tape::default();
    S::reserve(&mut records, Capacity::default());
    // No recording has begun, so there is nothing to number identifiers by; the allocator must not be needed to say so.
    let refused = catch_unwind(AssertUnwindSafe(|| S::input(&mut records, 1.0)));
    assert!(refused.is_err());
    assert_eq!(S::identifiers(&records), 1);
}

fn a_reservation_in_the_middle_of_a_recording_keeps_it<S: Linear>() {
    let mut tape = tape::<S>();
    let (x, y) = tape.record(|number| {
        let reserve = |capacity| recording::with::<S, _>(number, |tape| S::reserve(tape, capacity));
        reserve(Capacity::default());
        let x = input::<S>(number, 3.0);
        reserve(Capacity { inputs: 5, statements: 2_000, arguments: 9_000 });
        let y = eval::<S, _>(&Times(x, x));
        reserve(Capacity { inputs: 5, statements: 9_000, arguments: 20_000 });
        (x, eval::<S, _>(&Times(y, x)))
    });
    assert_eq!(adjoints(&tape, y, &[x]), [27.0]);
}

fn a_tape_cannot_be_borrowed_twice<S: Linear>() {
    let running = tape::<S>().start();
    let number = running.number();
    let again =
        |number| catch_unwind(AssertUnwindSafe(|| recording::with::<S, _>(number, |tape| S::identifiers(tape))));
    recording::with::<S, _>(number, |tape| {
        assert!(again(number).is_err());
        assert!(again(running.number()).is_err(), "whatever the recording calls itself meanwhile");
        assert!(again(RecordingId::default()).is_err());
        S::input(tape, 1.0);
    });
    assert_eq!(again(number).ok(), Some(2));
}

fn a_tape_that_is_lent_out_cannot_be_dropped<S: Linear>() {
    let running = tape::<S>().start();
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        recording::with::<S, _>(running.number(), |tape| {
            drop(running);
            S::input(tape, 1.0);
            S::identifiers(tape)
        })
    }));
    assert!(attempt.is_err() || attempt.is_ok_and(|identifiers| identifiers == 2));
    works(&mut tape::<S>());
}

fn a_tape_that_is_lent_out_cannot_be_finished<S: Linear>() {
    let running = tape::<S>().start();
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        recording::with::<S, _>(running.number(), |_| drop(running.finish()));
    }));
    assert!(attempt.is_err());
    works(&mut tape::<S>());
}

thread_local! {
    static RUNNING: RefCell<Option<Running<Jacobian>>> = const { RefCell::new(None) };
    static VARIABLE: RefCell<Option<Var>> = const { RefCell::new(None) };
}

/// A rule with a side effect: it ends the recording that it is called from.
struct Ending;
impl Nary<f64> for Ending {
    fn value(_: &[f64], _: &[f64]) -> f64 {
        1.0
    }
    fn partials(_: &[f64], _: &[f64], partials: &mut [f64]) {
        drop(RUNNING.take());
        partials.fill(1.0);
    }
}

fn a_rule_cannot_end_the_recording_that_it_is_called_from<S: Linear>() {
    let running = tape::<Jacobian>().start();
    let x = input::<Jacobian>(running.number(), 1.0);
    RUNNING.set(Some(running));
    let attempt = catch_unwind(AssertUnwindSafe(|| Jacobian::<f64>::record_nary::<Ending>(&[&[x.0]], &[], 1.0)));
    assert!(attempt.is_err() || attempt.is_ok_and(LinearId::is_active));
    works(&mut tape::<S>());
}

/// A rule with a side effect: it records on the tape of the variable.
struct Recording;
impl Nary<f64> for Recording {
    fn value(_: &[f64], _: &[f64]) -> f64 {
        1.0
    }
    fn partials(_: &[f64], _: &[f64], partials: &mut [f64]) {
        let x = VARIABLE.take().expect("the variable is set");
        eval::<Jacobian, _>(&Times(x, x));
        partials.fill(1.0);
    }
}

fn a_rule_cannot_record_on_the_tape_that_is_being_written<S: Linear>() {
    let mut tape = tape::<Jacobian>();
    tape.record(|number| {
        let x = input::<Jacobian>(number, 1.0);
        VARIABLE.set(Some(x));
        let attempt = catch_unwind(AssertUnwindSafe(|| Jacobian::<f64>::record_nary::<Recording>(&[&[x.0]], &[], 1.0)));
        assert!(attempt.is_err());
    });
    works(&mut tape);
    works(&mut self::tape::<S>());
}

fn a_tape_replaced_in_a_recording_knows_no_earlier_variable<S: Linear>() {
    let mut tape = tape::<S>();
    tape.record(|number| {
        let x = input::<S>(number, 2.0);
        eval::<S, _>(&Times(x, x));
        drop(recording::with::<S, _>(number, std::mem::take));
        assert!(catch_unwind(|| eval::<S, _>(&Times(x, x))).is_err());
    });
    works(&mut tape);
}

struct Kept;
impl TapeCache for Kept {
    fn reserved(&self) -> usize {
        0
    }
}
impl Default for Kept {
    fn default() -> Self {
        Self
    }
}

struct Nothing;
impl External<f64> for Nothing {
    fn reverse(&self, _: &[f64], _: &mut [f64]) -> Result<(), SweepError> {
        Ok(())
    }
}

struct Mean;
impl Nary<f64> for Mean {
    fn value(x: &[f64], _: &[f64]) -> f64 {
        x[0]
    }
    fn partials(_: &[f64], _: &[f64], partials: &mut [f64]) {
        partials.fill(1.0);
    }
}

/// Every way by which a number finds a tape: a number is no proof of a strategy.
fn identifiers_of_recordings_of_another_strategy_are_refused<S: Linear>() {
    fn within<S: Linear, O: Linear>() {
        let mut other = tape::<O>();
        let mut before = 0;
        other.record(|number| {
            let of_other = input::<O>(number, 3.0);
            eval::<O, _>(&Times(of_other, of_other));
            before = recording::with::<O, _>(number, |tape| O::identifiers(tape));
            let forged = LinearId::new(number, 1).expect("a number and an index");
            let x = Var::new(3.0, forged);
            let arguments = [(3.0, &forged)];
            let attempts: [&dyn Fn(); 7] = [
                &|| _ = recording::with::<S, _>(number, |tape| S::input(tape, 1.0)),
                &|| _ = eval::<S, _>(&Times(x, x)),
                &|| _ = S::record_nary::<Mean>(&[&[x.0, x.0]], &[], 3.0),
                &|| S::record_external(&arguments, &[1.0], Box::new(Nothing), &mut |_, _| ()),
                &|| recording::record_external::<S>(number, &arguments, &[1.0], Box::new(Nothing), &mut |_, _| ()),
                &|| _ = recording::place::<S>(number),
                &|| recording::with_cache::<S, Kept, _>(number, |_| ()),
            ];
            for (k, attempt) in attempts.iter().enumerate() {
                assert!(catch_unwind(AssertUnwindSafe(attempt)).is_err(), "attempt {k} was not refused");
            }
            assert_eq!(recording::with::<O, _>(number, |tape| O::identifiers(tape)), before);
        });
        works(&mut other);
    }
    if core::any::TypeId::of::<S>() != core::any::TypeId::of::<Jacobian>() {
        within::<S, Jacobian>();
    }
    if core::any::TypeId::of::<S>() != core::any::TypeId::of::<PrimalValue>() {
        within::<S, PrimalValue>();
    }
    if core::any::TypeId::of::<S>() != core::any::TypeId::of::<Continuation>() {
        within::<S, Continuation>();
    }
    within::<S, Hybrid>();
}

/// A comparison leaves its guard with the recording by another way than statements do.
#[test]
fn comparisons_of_another_strategy_leave_no_guard() {
    type Other = PrimalValue<f64, tapewright_strategies::Linear, Shared>;
    let mut tape = tape::<PrimalValue>();
    tape.set_guards(true);
    tape.record(|number| {
        let x = input::<PrimalValue>(number, 2.0);
        <Other as Taping>::compare(&x, &Lit(1.0), Comparison::Greater);
    });
    assert_eq!(tape.replay(&[(1, 0.0)], Vec::new()), Ok(()), "no comparison of this strategy comes out differently");
    tape.record(|number| {
        let x = input::<PrimalValue>(number, 2.0);
        <PrimalValue as Taping>::compare(&x, &Lit(1.0), Comparison::Greater);
    });
    assert!(
        matches!(tape.replay(&[(1, 0.0)], Vec::new()), Err(SweepError::BranchChanged { .. })),
        "and its own leave one"
    );
}

fn identifiers_beyond_the_recording_are_refused<S: Linear>() {
    let mut tape = tape::<S>();
    tape.record(|number| {
        let x = input::<S>(number, 2.0);
        for index in [2, 3, 1_000_000, u64::from(u32::MAX)] {
            let forged = Var::new(1.0, LinearId::new(number, index).expect("it fits"));
            assert!(catch_unwind(|| eval::<S, _>(&Times(forged, x))).is_err());
            assert!(catch_unwind(|| eval::<S, _>(&Times(forged, Var::passive(1.0)))).is_err());
        }
    });
    works(&mut tape);
}

#[test]
fn slots_beyond_the_recording_cannot_be_given_values() {
    let mut tape = tape::<PrimalValue>();
    for statements in [0, 1, 100] {
        tape.record(|number| {
            let x = input::<PrimalValue>(number, 2.0);
            (0..statements).fold(x, |x, _| eval::<PrimalValue, _>(&Times(x, x)));
        });
        assert_eq!(tape.replay(&[(1, 1.0)], Vec::new()), Ok(()));
        for slot in [statements + 2, statements + 3, 1_000_000] {
            assert!(
                matches!(tape.replay(&[(slot, 1.0)], Vec::new()), Err(SweepError::Unsupported { .. })),
                "slot {slot}"
            );
        }
    }
}

#[test]
fn only_passive_identifiers_have_index_0_or_no_recording() {
    tape::<PrimalValue>().record(|number| {
        assert!(LinearId::<u32>::new(number, 0).is_none());
        assert!(LinearId::<u32>::new(RecordingId::default(), 5).is_none());
        assert!(LinearId::<u32>::new(number, 1 << 32).is_none());
    });
}

/// Records whose identifiers are forged must be read back as they were written.
#[test]
fn forged_identifiers_do_not_shift_records() {
    let mut tape = tape::<PrimalValue>();
    let (x, y) = tape.record(|number| {
        let x = input::<PrimalValue>(number, 2.0);
        let y = eval::<PrimalValue, _>(&Times(x, x));
        for id in [LinearId::new(number, 0), LinearId::new(RecordingId::default(), 5)].into_iter().flatten() {
            let _ = catch_unwind(|| eval::<PrimalValue, _>(&Times(Times(Var::new(1.0, id), x), Var::passive(1.0))));
        }
        (x, y)
    });
    assert_eq!(adjoints(&tape, y, &[x]), [4.0]);
}

fn short_adjoint_vectors_are_refused<S: Linear>() {
    let mut tape = tape::<S>();
    works(&mut tape);
    let mut short = vec![1.0; S::identifiers(tape.tape()) - 1];
    assert!(catch_unwind(AssertUnwindSafe(|| S::reverse(tape.tape(), &mut short).is_ok())).is_err());
}

#[test]
fn passive_variables_may_be_dropped_on_several_threads_at_once() {
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                (0..50).for_each(|_| drop(<Jacobian<f64, Reuse> as Taping>::passive()));
            });
        }
    });
}

#[test]
fn nothing_is_noted_of_no_recording() {
    // The end of the list of recordings, which all threads share, is not written.
    let note = || recording::note_singular(RecordingId::default(), "a function");
    std::thread::scope(|threads| (0..2).for_each(|_| _ = threads.spawn(note)));
    recording::isolated(note);
}
