//! Processes whose address space is limited, so that the allocator refuses.

use super::{assert_usable, refused};
use std::process::Command;
use tapewright::prelude::*;
use tapewright::storage::{SpillOptions, StorageError};
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Error, Number, Shared, Spilled};

/// What the children may have, in KiB, and what of it is taken from the start, in bytes.
const LIMIT: usize = 300 << 10;
const BALLAST: usize = 150 << 20;

/// Runs a scenario in a process of its own.
fn run(scenario: &str) {
    let script = format!("ulimit -v {LIMIT}; exec \"$0\" --exact children::scenario_of_a_child --nocapture");
    let mut child = Command::new("bash");
    child.args(["-c", &script]).arg(std::env::current_exe().expect("this program"));
    child.env("TAPEWRIGHT_MEMORY_SCENARIO", scenario).env("RUST_BACKTRACE", "0").env("MALLOC_ARENA_MAX", "1");
    let output = child.output().expect("bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("scenario passed"), "{}: {text}", output.status);
}

/// What the children do; nothing when it is called as a test.
#[test]
fn scenario_of_a_child() {
    let Ok(scenario) = std::env::var("TAPEWRIGHT_MEMORY_SCENARIO") else { return };
    match scenario.as_str() {
        "records" => {
            super::each!(records);
        }
        "identifiers" => {
            identifiers::<Jacobian<f64, Reuse>>("identifiers of variables that are alive at once");
            identifiers::<PrimalValue<f64, Reuse>>("");
            identifiers::<PrimalValue>("");
        }
        "adjoints" => {
            super::each!(adjoints);
        }
        "spilled" => spilled(),
        other => panic!("no scenario {other}"),
    }
    println!("scenario passed");
}

#[test]
fn records_and_values_without_memory_are_a_panic_that_loses_nothing() {
    run("records");
}

#[test]
fn identifiers_without_memory_are_a_panic_that_loses_nothing() {
    run("identifiers");
}

#[test]
fn adjoints_without_memory_are_a_panic_that_loses_nothing() {
    run("adjoints");
}

#[test]
fn slabs_without_memory_are_an_error_that_loses_nothing() {
    run("spilled");
}

/// Memory that is promised, and not touched.
fn ballast(bytes: usize) -> Vec<u8> {
    let mut ballast = Vec::new();
    ballast.try_reserve_exact(bytes).expect("within the limit");
    ballast
}

/// Takes what there is, in pieces that the system maps one by one.
fn everything() -> Vec<Vec<u8>> {
    let mut pieces = Vec::with_capacity(1000);
    loop {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(4 << 20).is_err() {
            return pieces;
        }
        pieces.push(piece);
    }
}

/// Each statement makes the derivative larger by 1: `y ← y + x`.
fn add<S: Reverse>(y: &Real<S>, x: &Real<S>) -> Real<S> {
    (y + x).into()
}

/// The derivative after so many steps.
#[track_caller]
fn assert_slope<S: Reverse>(tape: &mut Tape<S>, (x, y): (&Real<S>, &Real<S>), steps: u32) {
    let one = S::Value::from_f64(1.0);
    let slope = tape.sweep(&[(y, one)]).and_then(|adjoints| adjoints.of(x)).expect("in memory");
    // Exact below 2²⁴ in single precision, and rounded as the sums above that.
    let expected = (0..steps).fold(one, |slope, _| slope + one);
    assert_eq!(slope, expected, "{steps} steps");
}

/// Records until there is no memory, catches that, and sweeps what was recorded.
fn records<S: Reverse>() {
    Shared::release_idle();
    let taken = ballast(BALLAST);
    let mut tape = Tape::<S>::new();
    let mut kept = None;
    let found = refused(|| {
        tape.record(|scope| {
            let x = scope.input(S::Value::from_f64(0.5));
            let mut y = x.clone();
            for steps in 1..1_000_000_000 {
                y = add(&y, &x);
                if steps % 1000 == 1 {
                    kept = Some((x.clone(), y.clone(), steps));
                }
            }
        });
    });
    assert!(found.starts_with("out of memory: the allocator has no "), "{found}");
    drop(taken);
    let (x, y, steps) = kept.expect("some statements were recorded");
    assert!(steps > 100_000, "{steps}");
    assert_slope(&mut tape, (&x, &y), steps);
    // The recording goes on, too.
    let (x, y) = tape.resume(|scope| {
        let (x, y) = (scope.renew(&x).expect("of this recording"), scope.renew(&y).expect("of this recording"));
        let y = add(&y, &x);
        (x, y)
    });
    assert_slope(&mut tape, (&x, &y), steps + 1);
    assert_usable(&mut tape);
}

/// Inputs until there is no memory.
fn identifiers<S: Reverse>(expected: &str) {
    let mut tape = Tape::<S>::new();
    let mut alive: Vec<Real<S>> = Vec::with_capacity(4_000_000);
    let mut taken = everything();
    taken.truncate(taken.len().saturating_sub(2));
    let found = refused(|| {
        tape.record(|scope| (0..4_000_000).for_each(|_| alive.push(scope.input(S::Value::from_f64(0.5)))));
    });
    assert!(found.starts_with("out of memory: the allocator has no ") && found.contains(expected), "{found}");
    assert!(found.contains("nothing more has been recorded, and everything before it is intact"), "{found}");
    drop(taken);
    assert!(alive.len() > 100_000, "{}", alive.len());
    let last = alive.pop().expect("there are many");
    let slopes = tape.sweep(&[(&last, S::Value::from_f64(1.0))]).expect("in memory");
    assert_eq!((slopes.of(&last), slopes.of(&alive[0])), (Ok(S::Value::from_f64(1.0)), Ok(S::Value::from_f64(0.0))));
    drop(alive);
    assert_usable(&mut tape);
}

/// Sweeps without memory for their vectors.
fn adjoints<S: Reverse>() {
    const STEPS: u32 = 2_000_000;
    let one = S::Value::from_f64(1.0);
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(S::Value::from_f64(0.5));
        let y = (0..STEPS).fold(x.clone(), |y, _| add(&y, &x));
        (x, y)
    });
    let identifiers = S::identifiers(tape.tape_mut());
    let bytes = identifiers * size_of::<S::Value>();
    let mut vector = AdjointVector::new();
    let mut lanes = LaneVector::new(100);
    if identifiers > STEPS as usize {
        let taken = everything();
        let expected =
            format!("out of memory: the allocator has no {bytes} bytes for the adjoints of {identifiers} identifiers");
        assert_eq!(refused(|| tape.sweep(&[(&y, one)]).map(|_| ())), expected);
        assert_eq!(refused(|| tape.sweep_with(&mut vector, &[(&y, one)]).map(|_| ())), expected);
        assert_eq!(refused(|| tape.seed(&mut vector, &[(&y, one)])), expected);
        assert_eq!(refused(|| tape.jvp(&[(&x, one)], &[&y])), expected);
        drop(taken);
        let found = refused(|| tape.sweep_lanes_with(&mut lanes, &[(&y, &[one; 100])]).map(|_| ()));
        let expected = format!("no {} bytes for the adjoints of {identifiers} identifiers in 100 lanes", 100 * bytes);
        assert!(found.contains(&expected), "{found}");
    }
    let slope = S::Value::from_f64(f64::from(STEPS + 1));
    assert_eq!(tape.sweep_with(&mut vector, &[(&y, one)]).and_then(|found| found.of(&x)), Ok(slope));
    assert_eq!(tape.sweep_lanes(&[(&y, [one; 2])]).and_then(|found| found.of(&x)), Ok([slope; 2]));
    assert_slope(&mut tape, (&x, &y), STEPS);
    let small = tape.record(|scope| scope.input(one));
    let found = tape.sweep_lanes_with(&mut lanes, &[(&small, &[one; 100])]).and_then(|found| found.of(&small));
    assert_eq!(found.map(<[_]>::to_vec), Ok(vec![one; 100]));
    assert_usable(&mut tape);
}

/// A memory budget that is larger than the memory.
fn spilled() {
    let taken = ballast(BALLAST);
    let options = SpillOptions::default().memory(1 << 40);
    let mut tape = Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options).expect("a directory");
    let mut kept = None;
    let result = tape.try_record(|scope| {
        let x = scope.input(0.5);
        let mut y = x;
        for steps in 1..1_000_000_000 {
            y = add(&y, &x);
            kept = Some((x, y, steps));
        }
    });
    let Err(Error::Storage(StorageError::OutOfMemory { bytes, .. })) = &result else { panic!("{result:?}") };
    assert_eq!(*bytes, 1 << 20);
    drop(taken);
    let (x, y, steps) = kept.expect("some statements were recorded");
    assert_slope(&mut tape, (&x, &y), steps);
    assert_usable(&mut tape);
}
