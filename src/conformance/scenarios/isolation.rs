//! Traces that one recording leaves for the next on the same tape: its memory, and nothing else.

use crate::conformance::Outcome;
use crate::conformance::check::{constant, ensure, is_passive, number_of, recorded, recorded_on, still_works};
use crate::{Real, Reverse, Tape};
use std::collections::HashSet;

/// A recording without inputs has passive variables only; it can be swept, and the tape used again. So can a tape that
/// has recorded nothing.
pub fn recording_without_inputs<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    tape.sweep(&[])?;
    tape.record(|_| ());
    tape.sweep(&[])?;
    let mut recorded = recorded_on(tape, &[], |_| vec![(&constant(2.0) * 3.0).into()]);
    ensure(is_passive(&recorded.y[0]), "a variable that depends on no input is active")?;
    recorded.sweep_gives("the gradient", &[1.0], &[])?;
    recorded.tape.reset();
    recorded.tape.sweep(&[])?;
    still_works(recorded.tape)
}

/// Within a recording every input and every statement has a slot of its own, from 1 up, below the number that the tape
/// says an adjoint vector needs; two recordings have two ids.
pub fn identifiers_are_distinct<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[1.0, 2.0, 3.0], |x| {
        let mut y: Vec<Real<S>> = x.to_vec();
        (0..5).for_each(|k| y.push((&y[k] * &y[k + 1]).eval()));
        y
    });
    let slots: HashSet<usize> =
        recorded.y.iter().filter_map(|variable| S::locate(variable.id())).map(|(_, slot)| slot).collect();
    let length = S::identifiers(recorded.tape.tape_mut());
    ensure(slots.len() == 8, format_args!("8 variables have {} slots", slots.len()))?;
    ensure(
        slots.iter().all(|slot| (1..length).contains(slot)),
        format_args!("slots {slots:?} are not in 1..{length}"),
    )?;
    let first = number_of(&recorded.x[0]);
    let again = recorded_on(recorded.tape, &[1.0], <[Real<S>]>::to_vec);
    ensure(number_of(&again.x[0]) != first, "two recordings have the same number")
}
