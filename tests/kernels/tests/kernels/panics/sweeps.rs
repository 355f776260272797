//! Panics of rules inside sweeps and replays: what the next sweep finds.

use super::{AT, ENTRIES, Fate, N, alone, entries, panics_at, program};
use crate::bits;
use tapewright::Error;
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright::tape::{AdjointVector, Position};

/// A recording of a program that does not panic.
struct Recorded<S: Reverse> {
    tape: Tape<S>,
    v: View<S, 1>,
    k: Real<S>,
    y: Real<S>,
    /// Before everything but the inputs.
    start: Position,
}

fn record<S: Reverse<Value = f64>>(e: usize, at: &[f64; N]) -> Recorded<S> {
    let mut tape = Tape::<S>::new();
    tape.set_guards_if_it_can();
    let (v, k, y, start) = tape.record(|scope| {
        let (v, k) = (scope.view([N], at), scope.input(0.9));
        let start = scope.position();
        let (y, ..) = program(&v, &k, e, Fate::PanicsAt(0));
        (v, k, y, start)
    });
    Recorded { tape, v, k, y, start }
}

/// Replays need more than sweeps.
trait Guarded {
    fn set_guards_if_it_can(&mut self);
}
impl<S: Reverse> Guarded for Tape<S> {
    fn set_guards_if_it_can(&mut self) {
        if let Some(tape) = (self as &mut dyn core::any::Any).downcast_mut::<Tape<PrimalValue>>() {
            tape.set_guards(true);
        }
    }
}

/// The bits of the derivatives, by a sweep.
fn swept<S: Reverse<Value = f64>>(of: &mut Recorded<S>) -> Vec<u64> {
    let adjoints = of.tape.sweep(&[(&of.y, 1.0)]).expect("swept");
    let mut found = bits(&adjoints.of_view(&of.v).expect("an input"));
    found.extend(bits(&[adjoints.of(&of.k).expect("an input")]));
    found
}

/// Lets `sweep` panic at each of its calls, checks by `after` what it has left behind, and returns the number of calls.
fn each_call<T>(of: &mut T, sweep: fn(&mut T), after: impl FnMut(&mut T, usize)) -> usize {
    some_calls(of, 1, sweep, after)
}

/// [`each_call`] for one of several.
fn some_calls<T>(of: &mut T, step: usize, sweep: fn(&mut T), mut after: impl FnMut(&mut T, usize)) -> usize {
    let mut call = 1;
    while panics_at(call, || sweep(of)) {
        after(of, call);
        call += step;
    }
    call - 1
}

/// The same by the first of two lanes.
fn lanes<S: Reverse<Value = f64>>(of: &mut Recorded<S>) -> Vec<u64> {
    let adjoints = of.tape.sweep_lanes(&[(&of.y, [1.0, 2.0])]).expect("swept");
    let mut found = bits(&adjoints.of_view(&of.v, 0).expect("an input"));
    found.extend(bits(&adjoints.of(&of.k).expect("an input")[..1]));
    found
}

/// The derivative by k, by a forward sweep.
fn forward<S: Reverse<Value = f64>>(of: &mut Recorded<S>) -> Result<Vec<f64>, Error> {
    of.tape.jvp(&[(&of.k, 1.0)], &[&of.y])
}

fn check_sweeps<S: Reverse<Value = f64>>() {
    let mut calls = 0;
    for e in 0..ENTRIES {
        let (of, name) = (&mut record::<S>(e, &AT), entries::<S>()[e].0);
        let expected = swept(of);
        let same = |of: &mut Recorded<S>, call| assert_eq!(swept(of), expected, "{name}, call {call}");
        calls += each_call(of, |of| _ = of.tape.sweep(&[(&of.y, 1.0)]).expect("swept"), same);
        some_calls(of, 7, |of| _ = lanes(of), |of, call| assert_eq!(lanes(of), expected, "{name}, call {call}, lanes"));
        let before = forward(of);
        some_calls(of, 7, |of| _ = forward(of), |of, _| assert_eq!(forward(of), before, "{name}, forward"));
        same(of, 0);
    }
    assert!(calls > 10 * ENTRIES, "sweeps call rules: {calls}");
}

#[test]
fn the_sweep_after_one_that_panicked_finds_what_it_would_have_found() {
    let _alone = alone();
    check_sweeps::<PrimalValue>();
}

#[test]
fn the_replay_that_panicked_has_left_the_recording_as_it_was() {
    type S = PrimalValue;
    let _alone = alone();
    let new = AT.map(|x| 1.25 * x - 0.1);
    let replay = |of: &mut Recorded<S>| {
        let new = AT.map(|x| 1.25 * x - 0.1);
        of.tape.new_inputs().view(&of.v, &new).and_then(|inputs| inputs.replay()).expect("replayed");
    };
    let mut calls = 0;
    for e in 0..ENTRIES {
        let (of, name) = (&mut record::<S>(e, &AT), entries::<S>()[e].0);
        let (expected, value) = (swept(of), of.y.value().to_bits());
        calls += each_call(of, replay, |of, call| {
            assert_eq!(of.tape.value_of(&of.y).expect("it has one").to_bits(), value, "{name}, call {call}");
            assert_eq!(swept(of), expected, "{name}, call {call}");
        });
        assert_eq!(swept(of), swept(&mut record::<S>(e, &new)), "{name}: the replay that does not panic");
    }
    assert!(calls > ENTRIES, "replays call rules: {calls}");
}

/// A vector in the middle of a sweep from place to place.
struct Under(Recorded<PrimalValue>, AdjointVector<f64>);

#[test]
fn a_sweep_from_place_to_place_that_panicked_must_be_begun_again() {
    let _alone = alone();
    let mut under = Under(record(0, &AT), AdjointVector::new());
    let expected = swept(&mut under.0);
    let sweep = |Under(of, vector): &mut Under| {
        vector.reset();
        of.tape.seed(vector, &[(&of.y, 1.0)]).expect("seeded");
        of.tape.sweep_between(vector, &of.tape.position(), &of.start).expect("swept");
    };
    let calls = each_call(&mut under, sweep, |Under(of, vector), _| {
        let error = of.tape.sweep_from_position(vector, &of.start).expect_err("adjoints are lost");
        assert!(matches!(error, Error::CutShort { .. }) && error.to_string().contains("reset"), "{error}");
        assert_eq!(of.tape.seed(vector, &[(&of.y, 1.0)]), Err(error));
        vector.reset();
        of.tape.seed(vector, &[(&of.y, 1.0)]).expect("seeded");
        of.tape.sweep_between(vector, &of.tape.position(), &of.start).expect("swept");
        let adjoints = of.tape.sweep_from_position(vector, &of.start).expect("swept");
        assert_eq!(bits(&adjoints.of_view(&of.v).expect("an input")), expected[..N]);
    });
    assert!(calls >= N, "{calls}");
}
