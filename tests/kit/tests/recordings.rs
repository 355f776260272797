//! Recordings: when they are over, what they refuse, and their parts. That nested, leaked and moved recordings are right
//! under every strategy, also after panics, is tested by the conformance kit (`recordings`, `misuse`).

#[path = "recordings/forgotten_parts.rs"]
mod forgotten_parts;
#[path = "recordings/identifiers.rs"]
mod identifiers;
#[path = "recordings/positions.rs"]
mod positions;
#[path = "recordings/refusals.rs"]
mod refusals;
#[path = "recordings/threads.rs"]
mod threads;

use std::cell::Cell;
use tapewright::prelude::*;
use tapewright_kit_tests::panics::panic_of;

/// x·y + y at (3, 5), and its variables.
fn record_small<S: Reverse<Value = f64>>(tape: &mut Tape<S>) -> (Vec<Real<S>>, Real<S>) {
    tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let z = (&x[0] * &x[1] + &x[1]).into();
        (x, z)
    })
}

fn assert_small<S: Reverse<Value = f64>>(tape: &mut Tape<S>, (x, z): &(Vec<Real<S>>, Real<S>)) {
    let adjoints = tape.sweep(&[(z, 1.0)]).expect("the variables are the tape's");
    assert_eq!(adjoints.of_all(x), Ok(vec![5.0, 4.0]));
}

fn works<S: Reverse<Value = f64>>(tape: &mut Tape<S>) {
    let made = record_small(tape);
    assert_small(tape, &made);
}

#[test]
fn three_recordings_may_end_in_any_order() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut running = [(); 3].map(|()| Some(Tape::<Jacobian>::new().start()));
        let mut made = Vec::new();
        for recording in running.iter_mut().flatten() {
            let x = recording.scope().inputs(&[3.0, 5.0]);
            let z = (x[0] * x[1] + x[1]).eval();
            made.push((x, z));
        }
        for k in order {
            let (x, z) = &mut made[k];
            *z = (*z + x[0] * 0.0).into(); // while others are over
            let mut tape = running[k].take().expect("each ends once").finish();
            assert_small(&mut tape, &made[k]);
            let text = panic_of(&mut || _ = (made[k].1 + 1.0).eval());
            assert!(text.contains("which is not active on this thread"), "{text}");
        }
    }
}

/// Records when it is dropped: on the recording of its variable, and on a tape of its own.
struct Parting<'a>(Real<Jacobian>, &'a Cell<Real<Jacobian>>);
impl Drop for Parting<'_> {
    fn drop(&mut self) {
        works(&mut Tape::<Jacobian>::new());
        self.1.set((self.0 * self.0).into());
    }
}

#[test]
fn a_drop_may_record() {
    let result = Cell::new(Real::<Jacobian>::default());
    let mut tape = Tape::<Jacobian>::new();
    let x = tape.record(|scope| {
        let x = scope.input(3.0);
        drop(Parting(x, &result));
        x
    });
    assert_eq!(tape.sweep(&[(&result.get(), 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(6.0));
    let text = panic_of(&mut || {
        tape.record(|scope| {
            let _parting = Parting(scope.input(3.0), &result);
            panic!("leaving")
        });
    });
    assert_eq!(text, "leaving");
    assert_eq!((result.get().value(), tape.memory().statements), (9.0, 1));
}

#[test]
fn recordings_have_numbers_of_their_own() {
    fn numbers() -> Vec<u32> {
        let mut tape = Tape::<Jacobian>::new();
        (0..10_000).map(|_| tape.record(|scope| scope.number().get())).collect()
    }
    let other = std::thread::spawn(numbers);
    let mut all = numbers();
    all.extend(other.join().expect("the thread ends well"));
    let guard = Tape::<PrimalValue>::new().start();
    all.push(Tape::<Jacobian>::new().record(|scope| scope.number().get()));
    drop(guard);
    assert!(!all.contains(&0), "0 means passive");
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn passive_statements_need_no_recording() {
    let x = Real::<Jacobian>::from(3.0);
    let mut y = (x * x + 1.0).eval();
    y += tapewright::sum(&[x, y]);
    assert_eq!(y.value(), 23.0);
    let mut tape = Tape::<Jacobian>::new();
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.0));
}
