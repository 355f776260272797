//! Traces that one recording leaves for the next on the same tape: its memory, and nothing else.

use crate::conformance::Outcome;
use crate::conformance::check::{ensure, floats, number_of, recorded, recorded_on, still_works};
use crate::{Real, Reverse, Tape};
use std::collections::HashSet;

/// A short recording on a tape that held a long one, and the other way round.
pub fn shorter_recording_after_a_longer_one<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    for length in [1000, 3, 5000, 0, 1, 5000, 2] {
        let mut recorded = recorded_on(tape, &[1.0, 0.5], |x| {
            let mut y = x[1].clone();
            (0..length).for_each(|_| y = (&y + &x[0]).into());
            vec![(&y * 2.0).eval()]
        });
        recorded.sweep_gives(
            &format!("the gradient of {length} additions"),
            &[1.0],
            &[2.0 * f64::from(length), 2.0],
        )?;
        let statements = recorded.tape.memory().statements;
        ensure(
            statements == usize::try_from(length).unwrap_or_default() + 1,
            format_args!("{statements} statements after {length} additions and a product"),
        )?;
        tape = recorded.tape;
    }
    Ok(())
}

/// A reset leaves no statements, and a tape that records as a new one.
pub fn reset_forgets_the_recording<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0], |x| vec![(&x[0] * &x[0]).eval()]);
    recorded.sweep_gives("the gradient", &[1.0], &[4.0])?;
    recorded.tape.reset();
    let report = recorded.tape.memory();
    ensure(report.statements == 0 && report.arguments == 0, "statements are left after a reset")?;
    still_works(recorded.tape)
}

/// A recording in which nothing happens can be swept, and the tape used again; so can a tape that never recorded.
pub fn empty_recording<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    tape.sweep(&[])?;
    tape.record(|_| ());
    tape.sweep(&[])?;
    tape.reset();
    tape.sweep(&[])?;
    still_works(tape)
}

/// Inputs that are registered between statements.
pub fn inputs_registered_late<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.inputs(&floats(&[2.0]));
        let mut y = (&x[0] * &x[0]).eval();
        for late in floats(&[3.0, 5.0]) {
            let late = scope.input(late);
            y *= &late;
            x.push(late);
        }
        (x, y)
    });
    let mut recorded = crate::conformance::check::Recorded { tape, x, y: vec![y] };
    recorded.sweep_gives("the gradient of x²·y·z", &[1.0], &[60.0, 20.0, 12.0])?;
    recorded.sweep_gives("the gradient of x²·y·z again", &[1.0], &[60.0, 20.0, 12.0])
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
