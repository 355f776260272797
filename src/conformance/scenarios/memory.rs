//! Reports of a tape's memory, and behavior of large recordings.

use crate::conformance::Outcome;
use crate::conformance::check::{ensure, recorded, recorded_on, still_works};
use crate::{Capacity, Real, Reverse, Tape, dot};
use tapewright_strategies::MemoryReport;

/// x ↦ x after `n` statements with two arguments each, which add 1/n in all.
fn drift<S: Reverse>(x: &[Real<S>], n: u32) -> Vec<Real<S>> {
    let step = 1.0 / f64::from(n);
    let mut y = x[0].clone();
    (0..n).for_each(|_| y = (&y + &x[1] * step).into());
    vec![y]
}

/// Checks that the recording has these numbers of statements and arguments.
fn counts(what: &str, report: &MemoryReport, statements: usize, arguments: usize) -> Outcome {
    let found = (report.statements, report.arguments);
    ensure(
        found == (statements, arguments),
        format_args!("{what} has {statements} statements with {arguments} arguments, but the report says {found:?}"),
    )
}

/// Statements and uses of arguments are counted, without inputs and passive statements.
pub fn statements_and_arguments_are_counted<S: Reverse>() -> Outcome {
    let recorded = recorded::<S>(&[1.0, 2.0, 3.0], |x| {
        let product = (&x[0] * &x[1] * &x[2]).eval();
        let doubled = (&product * 2.0).eval();
        let _passive = (&Real::<S>::from(2.0) * 3.0).eval();
        vec![doubled, dot(&x[..2], &x[1..]), (&x[0] + &x[1]).eval()]
    });
    counts("a recording", &recorded.tape.memory(), 4, 3 + 1 + 4 + 2)?;
    counts("a new tape", &Tape::<S>::new().memory(), 0, 0)
}

/// `used ≤ reserved` in every stream, for tapes in all conditions.
pub fn used_is_at_most_reserved<S: Reverse>() -> Outcome {
    let honest = |when: &str, tape: &Tape<S>| {
        tape.memory().streams().iter().try_for_each(|(name, usage)| {
            ensure(usage.used <= usage.reserved, format_args!("stream {name:?} of {when} tape uses {usage:?}"))
        })
    };
    honest("a new", &Tape::new())?;
    honest("a reserved", &Tape::with_capacity(Capacity { inputs: 10, statements: 1000, arguments: 3000 }))?;
    for n in [1, 10, 100_000] {
        let mut recorded = recorded::<S>(&[1.0, 2.0], |x| drift(x, n));
        honest("a recorded", &recorded.tape)?;
        recorded.sweep(&[1.0])?;
        honest("a swept", &recorded.tape)?;
        recorded.tape.reset();
        honest("a reset", &recorded.tape)?;
    }
    Ok(())
}

/// After a reset a tape has no statements, and records as a new one; no stream uses anything, except the parts that a
/// tape has from the beginning: its `tables`, and a slot for passive variables.
pub fn reset_empties_the_streams<S: Reverse>() -> Outcome {
    let slot = size_of::<S::Value>();
    let mut recorded = recorded::<S>(&[1.0, 2.0], |x| drift(x, 1000));
    recorded.sweep(&[1.0])?;
    recorded.tape.reset();
    let report = recorded.tape.memory();
    counts("a reset tape", &report, 0, 0)?;
    for (name, usage) in report.streams().iter().filter(|(name, _)| *name != "tables") {
        ensure(usage.used <= slot, format_args!("stream {name:?} uses {} bytes after a reset", usage.used))?;
    }
    still_works(recorded.tape)
}

/// A second, equal recording obtains no more memory, and is reported alike. The memory of a tape that spills depends on
/// the progress of the disk; such a tape must use the same bytes.
pub fn same_recording_reserves_no_more<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    let mut reports = Vec::new();
    for _ in 0..4 {
        let mut recorded = recorded_on(tape, &[1.0, 2.0], |x| drift(x, 50_000));
        recorded.sweep(&[1.0])?;
        reports.push(recorded.tape.memory());
        tape = recorded.tape;
    }
    let (second, fourth) = (&reports[1], &reports[3]);
    if S::SPILLS {
        let (used, later) = (second.total().used, fourth.total().used);
        return ensure(used == later, format_args!("the same recording uses first {used} bytes and later {later}"));
    }
    ensure(second == fourth, format_args!("the same recording reports first\n{second}and later\n{fourth}"))
}

/// More statements use more bytes, and everything that was counted as an argument has a byte at least.
pub fn report_grows_with_the_recording<S: Reverse>() -> Outcome {
    let report = |n| recorded::<S>(&[1.0, 2.0], |x| drift(x, n)).tape.memory();
    let (small, large) = (report(1000), report(3000));
    counts("a small recording", &small, 1000, 2000)?;
    counts("a large recording", &large, 3000, 6000)?;
    let grown = large.total().used.saturating_sub(small.total().used);
    ensure(grown >= 4000, format_args!("4000 more arguments use {grown} bytes more"))
}

/// 10⁶ statements: longer than any segment, with a wide statement now and then.
pub fn large_recording<S: Reverse>() -> Outcome {
    const N: u32 = 1_000_000;
    let mut tape = Tape::<S>::new();
    for _ in 0..2 {
        let mut recorded = recorded_on(tape, &[1.0, 2.0], |x| {
            let mut y = x[0].clone();
            for k in 0..N {
                y = if k % 100_000 == 7 {
                    dot(&vec![y; 1024], &vec![Real::from(1.0 / 512.0); 1024])
                } else {
                    (-&y).into()
                };
            }
            vec![(&y * &x[1]).eval()]
        });
        // Ten wide statements that double, and an even number of changes of sign.
        let factor = 1024.0;
        recorded.sweep_gives("the gradient of 10⁶ statements", &[1.0], &[2.0 * factor, factor])?;
        let statements = recorded.tape.memory().statements;
        ensure(statements == N as usize + 1, format_args!("{statements} statements of {}", N + 1))?;
        tape = recorded.tape;
    }
    Ok(())
}

/// A tape that has reserved memory records right, also more than it was asked to make room for, and forgets the
/// recording before.
pub fn reserved_tape_records_right<S: Reverse>() -> Outcome {
    let of = |inputs, statements, arguments| Capacity { inputs, statements, arguments };
    let mut recorded = recorded_on(Tape::<S>::with_capacity(of(2, 20_000, 40_000)), &[1.0, 2.0], |x| drift(x, 16_384));
    recorded.sweep_gives("the gradient on a reserved tape", &[1.0], &[1.0, 1.0])?;
    for capacity in [of(2, 50_000, 40_000), of(1, 3, 2), Capacity::default()] {
        recorded.tape.reserve(capacity);
        counts("a tape after `reserve`", &recorded.tape.memory(), 0, 0)?;
        ensure(recorded.sweep(&[1.0]).is_err(), "an output from before `reserve` was swept")?;
        recorded = recorded_on(recorded.tape, &[1.0, 2.0], |x| drift(x, 32_768));
        recorded.sweep_gives(&format!("the gradient after room for {capacity}"), &[1.0], &[1.0, 1.0])?;
    }
    Ok(())
}

/// A recording of the size that [`reserve`](Reverse::reserve) was told takes no more memory, whether it has many
/// statements or few that are wide.
///
/// The reserved bytes in the reports before and after the recording may differ by half a byte for each statement and
/// argument. That allows for further data of a strategy, such as a slot for each variable that is alive, where slots
/// are used again. A `reserve` that leaves out statements or arguments needs a byte for each of them at least. A tape
/// that spills reserves only within its budget of memory, and has only to record.
pub fn recording_within_its_capacity_reserves_no_more<S: Reverse>() -> Outcome {
    let of = |statements, arguments| Capacity { inputs: 2, statements, arguments };
    fits::<S>(of(50_000, 50_000), |y, _| y.sin().into())?;
    fits::<S>(of(50_000, 200_000), |y, x| (y * &x[0] * y * &x[1]).into())?;
    fits::<S>(of(50, 100_000), |y, x| dot(&vec![y.clone(); 1000], &vec![x[1].clone(); 1000]))
}

/// Checks that a recording of this size takes no more memory on a tape that has reserved for it. Each statement is made
/// of the one before it and the inputs.
fn fits<S: Reverse>(capacity: Capacity, next: fn(&Real<S>, &[Real<S>]) -> Real<S>) -> Outcome {
    let tape = Tape::<S>::with_capacity(capacity);
    let before = tape.memory();
    let fold = |x: &[Real<S>]| vec![(0..capacity.statements).fold(x[0].clone(), |y, _| next(&y, x))];
    let recorded = recorded_on(tape, &[0.5, 0.25], fold);
    let after = recorded.tape.memory();
    counts("a recording within its capacity", &after, capacity.statements, capacity.arguments)?;
    let allowed = before.total().reserved + usize::midpoint(capacity.statements, capacity.arguments);
    ensure(
        S::SPILLS || after.total().reserved <= allowed,
        format_args!("{capacity} take more than `reserve` has made room for, first\n{before}and later\n{after}"),
    )
}
