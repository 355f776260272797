//! What safe code may try against the unsafe code of this crate: each attempt is refused or harmless.

use super::nodes::{Linear, Lit, Plus, Times, Total, Var, adjoints, eval, input, panics, refused, tape, works};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::contract::{Comparison, Load, Opaque, Sink, Store, Tree, Twin};
use tapewright_strategies::external::{Mark, TapeCache};
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::recording::{self, Running};
use tapewright_strategies::shape::{self, Both, Scaled, Unit};
use tapewright_strategies::typenum::{U0, U1, U2};
use tapewright_strategies::{
    Capacity, Checked, Continuation, Expression, External, Hybrid, Jacobian, Nary, Nested, PrimalValue, Reuse, Reverse,
    Shared, SweepError, Taping,
};

under_each! {
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
    forged_marks_reach_no_foreign_memory
}

fn an_empty_reservation_makes_no_room_that_is_not_there<S: Linear>() {
    let mut records = S::Tape::default();
    S::reserve(&mut records, Capacity::default());
    // No recording has begun, so there is nothing to number identifiers by; the allocator must not be needed to say so.
    assert!(refused(|| S::input(&mut records, 1.0)));
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
    assert!(refused(|| recording::with::<S, _>(running.number(), |_| drop(running.finish()))));
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
        assert!(refused(|| Jacobian::<f64>::record_nary::<Recording>(&[&[x.0]], &[], 1.0)));
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
        assert!(refused(|| eval::<S, _>(&Times(x, x))));
    });
    works(&mut tape);
}

#[derive(Default)]
struct Kept;
impl TapeCache for Kept {
    fn reserved(&self) -> usize {
        0
    }
}

struct Nothing;
impl External<f64> for Nothing {
    fn reverse(&self, _: &[f64], _: &mut [f64]) -> Result<(), SweepError> {
        Ok(())
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
                &|| _ = S::record_nary::<Total>(&[&[x.0, x.0]], &[], 3.0),
                &|| S::record_external(&arguments, &[1.0], Box::new(Nothing), &mut |_, _| ()),
                &|| recording::record_external::<S>(number, &arguments, &[1.0], Box::new(Nothing), &mut |_, _| ()),
                &|| _ = recording::place::<S>(number),
                &|| recording::with_cache::<S, Kept, _>(number, |_| ()),
            ];
            for (k, attempt) in attempts.iter().enumerate() {
                assert!(refused(attempt), "attempt {k} was not refused");
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
    let (mut tape, mut other) = (tape::<S>(), tape::<S>());
    let foreign = other.record(|number| input::<S>(number, 1.0));
    tape.record(|number| {
        let x = input::<S>(number, 2.0);
        // The tape knows these statements from now on, and takes the shortest way to record them.
        (0..2).for_each(|_| _ = (eval::<S, _>(&Times(x, x)), eval::<S, _>(&Plus(x, Times(x, x)))));
        assert!(panics(|| eval::<S, _>(&Times(foreign, x))).contains("recordings"));
        assert!(panics(|| eval::<S, _>(&Plus(foreign, Times(x, x)))).contains("recordings"));
        assert!(panics(|| eval::<S, _>(&Plus(x, Times(x, foreign)))).contains("recordings"));
        for index in [6, 7, 1_000_000, u64::from(u32::MAX)] {
            let forged = Var::new(1.0, LinearId::new(number, index).expect("it fits"));
            let arguments = [(1.0, &forged.0.id), (2.0, &x.0.id)];
            let attempts: [&dyn Fn(); 5] = [
                &|| _ = eval::<S, _>(&Plus(forged, Times(x, x))),
                &|| _ = eval::<S, _>(&Times(forged, x)),
                &|| _ = eval::<S, _>(&Times(x, forged)),
                &|| _ = eval::<S, _>(&Times(forged, Var::passive(1.0))),
                &|| recording::record_external::<S>(number, &arguments, &[1.0], Box::new(Nothing), &mut |_, _| ()),
            ];
            attempts.iter().for_each(|attempt| assert!(panics(attempt).contains("never made")));
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
    assert!(refused(|| S::reverse(tape.tape(), &mut short)));
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

/// A mark's numbers can be anybody's.
fn forged_marks_reach_no_foreign_memory<S: Linear>() {
    let mut tape = tape::<S>();
    let (x, y) = tape.record(|number| {
        let x = input::<S>(number, 3.0);
        let mut y = eval::<S, _>(&Times(x, x));
        let inputs = [(x.0.value, &x.0.id), (y.0.value, &y.0.id)];
        recording::record_external::<S>(number, &inputs, &[2.0], Box::new(Nothing), &mut |_, _| ());
        y = eval::<S, _>(&Plus(Times(y, x), Lit(1.0)));
        (x, y)
    });
    let own = S::mark(tape.tape()).numbers();
    for k in 0..4 {
        for number in [0, 1, 2, 5, own[k] / 2, own[k] + 1, u64::MAX] {
            let mut numbers = own;
            numbers[k] = number;
            let forged = Mark::new(numbers);
            if numbers != own {
                assert!(panics(|| S::truncate(tape.tape_mut(), forged)).contains("was not resumed"));
            }
            // Whatever such a sweep finds, it stays within the recording.
            let mut vector = vec![1.0; S::identifiers(tape.tape())];
            let ends = [(Some(forged), None), (None, Some(forged)), (Some(forged), Some(forged))];
            for ends in ends {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    S::reverse_through(tape.tape(), &mut vector, ends, &mut |_, _, _| Ok(()))
                }));
            }
        }
    }
    assert_eq!(adjoints(&tape, y, &[x]), [27.0]);
}

#[test]
fn forged_marks_reach_no_foreign_memory_of_a_tape_with_both_kinds_of_records() {
    forged_marks_reach_no_foreign_memory::<Hybrid>();
}

/// Users can reach the tapes of running recordings, and exchange them: identifiers of one must not be written to the
/// other.
#[test]
fn exchanged_tapes_are_refused() {
    fn holds<S: Reverse<Value = f64, Raw = LinearId>>() {
        let n = if cfg!(miri) { 600 } else { 5000 };
        let double = |id: &S::Id| {
            let x = Var::new(1.0, S::raw(id));
            S::record(&Plus(x, x))
        };
        let input = |number| recording::with::<S, _>(number, |tape| S::input(tape, 1.0));
        let (mut outer, mut inner) = (tape::<S>(), tape::<S>());
        outer.record(|first| {
            let _kept = double(&input(first));
            inner.record(|second| {
                let u = input(second);
                drop((0..n).map(|_| double(&u)).collect::<Vec<_>>());
                recording::with::<S, _>(first, |a| recording::with::<S, _>(second, |b| std::mem::swap(a, b)));
                // A panic, or identifiers within the tape that is there now.
                let slot = || S::locate(&double(&u)).map_or(0, |(_, slot)| slot);
                let slot = catch_unwind(AssertUnwindSafe(slot)).unwrap_or(0);
                assert!(recording::with::<S, _>(second, |tape| slot < S::identifiers(tape)));
            });
        });
    }
    holds::<Jacobian<f64, Reuse>>();
    holds::<PrimalValue<f64, Reuse>>();
    holds::<Continuation<f64, Reuse>>();
}

/// A number made of bytes may have an identifier that no recording gave.
#[test]
fn numbers_of_no_recording_are_refused_or_passive() {
    let mut base = tape::<Jacobian>();
    base.record(|number| {
        let x = input::<Jacobian>(number, 0.5).0;
        let forged = LinearId::new(number, 1000).expect("it could be one");
        let product = || Nested::<Jacobian>::new(1.0, forged) * Nested::new(x.value, x.id);
        assert!(panics(product).contains("never made"));
    });
    let number: Nested<Jacobian> = bytemuck::pod_read_unaligned(&[0xFF_u8; size_of::<Nested<Jacobian>>()]);
    assert!(panics(|| -number).contains("not active on this thread"));
    let zero: Nested<Jacobian> = bytemuck::Zeroable::zeroed();
    assert_eq!((zero.value(), zero.id().is_active()), (0.0, false));
}

/// A function whose partial panics.
#[derive(Clone, Copy)]
struct Panicking(Var);

/// A function of two arguments that reports this many leaves when it has been rebuilt, and its two when it is recorded.
#[derive(Clone, Copy)]
struct Forgetful<const LEAVES: usize>([Var; 2], bool);

impl<S: Taping<Value = f64, Raw = LinearId>> Expression<S> for Panicking {
    type Shape = Scaled<Unit>;
    fn value(&self) -> f64 {
        2.0
    }
    fn backward(&self, _: f64, _: &mut impl Sink<S>) {
        panic!("this has no partial");
    }
    fn silence(&self, _: &mut impl Sink<S>) {}
}

impl<S: Taping<Value = f64, Raw = LinearId>> Tree<S> for Panicking {
    type Args = U1;
    type Constants = U0;
    type Back = Self;
    fn store(&self, store: &mut impl Store<S>) {
        Tree::<S>::store(&self.0, store);
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Twin<S> for Panicking {
    type Over<T: Taping> = Opaque;
    const HASH: u32 = 71;
    const CONSTANTS: usize = 0;
    fn load(source: &mut impl Load<S>) -> Self {
        Self(Twin::<S>::load(source))
    }
}

impl<const LEAVES: usize, S: Taping<Value = f64, Raw = LinearId>> Expression<S> for Forgetful<LEAVES> {
    type Shape = Both<Scaled<Unit>, Scaled<Unit>>;
    fn value(&self) -> f64 {
        3.0
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<S>) {
        let leaves = if self.1 { LEAVES } else { 2 };
        for k in 0..leaves {
            sink.factor(seed);
            Expression::<S>::backward(&self.0[k % 2], seed, sink);
        }
    }
    fn silence(&self, sink: &mut impl Sink<S>) {
        Expression::<S>::backward(self, 0.0, sink);
    }
}

impl<const LEAVES: usize, S: Taping<Value = f64, Raw = LinearId>> Tree<S> for Forgetful<LEAVES> {
    type Args = U2;
    type Constants = U0;
    type Back = Self;
    fn store(&self, store: &mut impl Store<S>) {
        self.0.iter().for_each(|x| Tree::<S>::store(x, store));
    }
}

impl<const LEAVES: usize, S: Taping<Value = f64, Raw = LinearId>> Twin<S> for Forgetful<LEAVES> {
    type Over<T: Taping> = Opaque;
    const HASH: u32 = 72;
    const CONSTANTS: usize = 0;
    fn load(source: &mut impl Load<S>) -> Self {
        Self([Twin::<S>::load(source), Twin::<S>::load(source)], true)
    }
}

#[test]
fn a_panic_behind_a_statement_returns_its_identifier() {
    type S = Checked<PrimalValue<f64, Reuse>>;
    let mut tape = tape::<S>();
    tape.record(|number| {
        let x = recording::with::<S, _>(number, |tape| S::input(tape, 1.0));
        for _ in 0..10 {
            let statement = Panicking(Var::new(1.0, S::raw(&x)));
            assert!(refused(|| S::record(&statement)), "its partial is asked for");
        }
    });
    assert_eq!(S::identifiers(tape.tape()), 3, "that of passive variables, the input's, and one of statements");
}

/// True for each kind of sweep that panics over a statement that reports so many leaves.
fn sweeps_refused<S: Reverse<Value = f64, Raw = LinearId>, const LEAVES: usize>() -> [bool; 3] {
    let mut tape = tape::<S>();
    tape.record(|number| {
        let x = [2.0, 3.0].map(|x| Var::new(x, S::raw(&recording::with::<S, _>(number, |tape| S::input(tape, x)))));
        S::record(&Forgetful::<LEAVES>(x, false));
    });
    let tape = tape.tape();
    let sweeps: [&dyn Fn() -> Result<(), SweepError>; 3] = [
        &|| S::reverse(tape, &mut [0.0, 0.0, 0.0, 1.0]),
        &|| S::reverse_lanes_through(tape, 2, &mut [1.0; 8], (None, None), &mut |_, _, _| Ok(())),
        &|| S::forward_through(tape, 1, &mut [0.0, 1.0, 1.0, 0.0], &mut |_, _, _| Ok(())),
    ];
    sweeps.map(|sweep| refused(|| sweep().expect("a recording in memory")))
}

#[test]
fn no_sweep_takes_a_rebuilt_statement_with_too_few_or_too_many_leaves() {
    assert_eq!(sweeps_refused::<PrimalValue, 2>(), [false; 3]);
    for found in
        [sweeps_refused::<PrimalValue, 0>(), sweeps_refused::<PrimalValue, 1>(), sweeps_refused::<PrimalValue, 3>()]
    {
        assert_eq!(found, [true; 3]);
    }
    assert_eq!(sweeps_refused::<Jacobian, 1>(), [false; 3], "nothing is rebuilt");
}

/// Reports fewer leaves and factors than its type says, or more.
struct Liar(usize, Var);

impl Expression<Continuation> for Liar {
    type Shape = Both<Scaled<Unit>, Scaled<Unit>>;
    fn value(&self) -> f64 {
        1.0
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<Continuation>) {
        for _ in 0..self.0 {
            sink.factor(seed);
            sink.leaf(seed, self.1.0.id);
        }
    }
    fn silence(&self, sink: &mut impl Sink<Continuation>) {
        self.backward(0.0, sink);
    }
}

impl Tree<Continuation> for Liar {
    type Args = U2;
    type Constants = U0;
    type Back = Times<Var, Var>;
    fn store(&self, store: &mut impl Store<Continuation>) {
        (0..self.0).for_each(|_| store.leaf(1.0, self.1.0.id));
    }
}

#[test]
fn a_statement_that_reports_too_little_or_too_much_is_refused() {
    let mut tape = tape::<Continuation>();
    tape.record(|number| {
        let x = input::<Continuation>(number, 3.0);
        for (count, wrong) in [(0, true), (1, true), (2, false), (3, true), (1000, true)] {
            assert_eq!(refused(|| Continuation::record(&Liar(count, x))), wrong);
        }
    });
    assert_eq!(<Continuation>::memory(tape.tape()).statements, 1);
}

/// A statement without arguments.
#[derive(Clone, Copy)]
struct Alone;

impl Expression<Continuation> for Alone {
    type Shape = shape::Nothing;
    fn value(&self) -> f64 {
        2.0
    }
    fn backward(&self, _: f64, _: &mut impl Sink<Continuation>) {}
    fn silence(&self, _: &mut impl Sink<Continuation>) {}
}

impl Tree<Continuation> for Alone {
    type Args = U0;
    type Constants = U0;
    type Back = Self;
    fn store(&self, _: &mut impl Store<Continuation>) {}
}

impl Twin<Continuation> for Alone {
    type Over<T: Taping> = Opaque;
    const HASH: u32 = 9;
    const CONSTANTS: usize = 0;
    fn load(_: &mut impl Load<Continuation>) -> Self {
        Self
    }
}

#[test]
fn a_statement_without_arguments_is_passive() {
    let mut tape = tape::<Continuation>();
    tape.record(|number| {
        input::<Continuation>(number, 3.0);
        assert!(!Continuation::record(&Alone).is_active());
    });
    assert_eq!(<Continuation>::memory(tape.tape()).statements, 0);
}
