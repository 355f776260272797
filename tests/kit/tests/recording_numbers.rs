//! Numbers of recordings when nearly all have been drawn: in a process of its own, because the numbers are those of
//! all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::identifier::LinearId;
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::tape::{Continuations, Records};
use tapewright_strategies::{Continuation, Jacobian, PrimalValue, Reverse};

/// Records one statement of one input, and checks that a variable of another recording is refused.
fn one_recording<S: Reverse<Value = f64, Id = LinearId>>(tape: &mut OwnedTape<S>, foreign: LinearId) -> LinearId {
    tape.record(|number| {
        let x = recording::with::<S, _>(number, |tape| S::input(tape, 2.0));
        let refused = catch_unwind(AssertUnwindSafe(|| recording::common_number([x, foreign])));
        assert!(refused.is_err() || !foreign.is_active(), "recording {number} accepts {foreign:?}");
        x
    })
}

#[test]
fn s2_recordings_go_on_when_all_numbers_have_been_used() {
    // Blocks of 256 numbers; the last 4096 are for strategies that have none yet.
    recording::pretend_drawn(4096 + 3);
    std::panic::set_hook(Box::new(|_| ()));
    let mut jacobian = OwnedTape::<Jacobian>::new(Records::default());
    let mut primal = OwnedTape::<PrimalValue>::new(Records::default());
    let (mut last, mut seen) = ((LinearId::PASSIVE, LinearId::PASSIVE), [Vec::new(), Vec::new()]);
    for _ in 0..5000 {
        last.0 = one_recording(&mut jacobian, last.1);
        last.1 = one_recording(&mut primal, last.0);
        seen[0].push(last.0.number());
        seen[1].push(last.1.number());
    }
    assert!(seen.iter().flatten().all(|number| number.get() != 0), "0 means passive");
    assert!(seen[0].iter().all(|number| !seen[1].contains(number)), "no number is that of two strategies");
    let mut numbers = seen[0].clone();
    numbers.sort_unstable_by_key(|number| number.get());
    numbers.dedup();
    assert!(numbers.len() <= 3 * 256, "they repeat: {}", numbers.len());

    // A strategy that comes now, and thousands of threads that record.
    let mut late = OwnedTape::<Continuation>::new(Continuations::default());
    let other = one_recording(&mut late, last.0);
    assert!(!seen.iter().flatten().any(|number| *number == other.number()));
    for _ in 0..2000 {
        let in_thread = || {
            let mut tape = OwnedTape::<Jacobian>::new(Records::default());
            one_recording(&mut tape, LinearId::PASSIVE).number()
        };
        let number = std::thread::spawn(in_thread).join().expect("no panic");
        assert!(!seen[1].contains(&number));
    }
}
