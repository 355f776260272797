//! What is recommended fits, and is what the budget asks for.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::advisor::{Budget, Prediction, forecast, recommend};
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::storage::SpillOptions;
use tapewright::strategies::Spills;
use tapewright::{Spilled, program};

const STEPS: usize = 20_000;

fn step<S: Taping>(u: &[Real<S>]) -> Vec<Real<S>> {
    let n = u.len();
    (0..n).map(|i| (&u[i] + 0.1 * (&u[(i + 1) % n] - 2.0 * &u[i] + &u[(i + n - 1) % n])).into()).collect()
}

fn heat<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut u = x[..STATE].to_vec();
    for _ in 0..STEPS {
        u = step(&u);
    }
    (&u[0] * &u[1]).into()
}

/// Numbers in a state.
const STATE: usize = 4;

/// More inputs than forward mode is tried for.
const X: [f64; 33] = {
    let mut x = [0.0; 33];
    (x[0], x[1], x[2], x[3]) = (1.0, 2.0, 4.0, 8.0);
    x
};

/// Panics unless it is the gradient of the function.
#[track_caller]
fn assert_gradient(gradient: &[f64]) {
    let (moving, rest) = gradient.split_at(STATE);
    assert!(moving.iter().all(|slope| (slope - 1.875).abs() < 1e-9), "{moving:?}");
    assert_eq!(rest, [0.0; 29]);
}

/// What is recommended for the function with so much memory.
#[track_caller]
fn recommended(budget: impl Into<Budget>) -> tapewright::advisor::Recommendation {
    recommend(&program!(heat: Taping), &X, budget).unwrap_or_else(|error| panic!("{error}"))
}

/// The numbers in an expression.
fn numbers(code: &str) -> Vec<usize> {
    let words = code.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    words.filter_map(|word| word.parse().ok()).filter(|number| *number != 64).collect()
}

#[test]
fn with_a_huge_budget_it_is_a_fast_tape_in_memory() {
    let found = recommended(usize::MAX);
    assert!(found.fits && found.code == format!("Tape::<{}>::new()", found.strategy), "{found}");
    let rows = forecast(&program!(heat: Taping), &X);
    assert_eq!(rows.row(&found.strategy).map(Prediction::bytes), Some(found.bytes));
    assert!(found.reason.contains("all strategies fit") && found.reason.ends_with('.'), "{found}");
}

#[test]
fn a_budget_that_is_exact_is_enough_and_a_byte_less_is_not() {
    let rows = forecast(&program!(heat: Taping), &X);
    let least = rows.rows().iter().min_by_key(|row| row.bytes()).expect("there are eight");
    let found = recommended(least.bytes());
    assert_eq!((&found.strategy, found.bytes), (&least.strategy, least.bytes()), "{found}");
    let found = recommended(least.bytes() - 1);
    assert!(found.fits && found.strategy.contains("Spilled"), "{found}");
}

/// Runs the function on a spilled tape as it is recommended.
#[track_caller]
fn assert_spills_within<S: Spills<Value = f64>>(budget: usize) {
    let found = recommended(budget);
    assert!(found.fits, "{found}");
    let &[slab, memory] = &numbers(&found.code)[..] else { panic!("{found}") };
    let options = SpillOptions::default().slab(slab).memory(memory);
    let mut tape = Tape::<S>::spilled(options).unwrap_or_else(|error| panic!("{error}"));
    let mut gradient = [0.0; 33];
    tape.gradient(heat, &X, &mut gradient).unwrap_or_else(|error| panic!("{error}"));
    assert_gradient(&gradient);
    let (usage, memory) = (tape.spill_usage(), tape.memory());
    let in_memory = usage.peak_resident + memory.usage("adjoints").used + memory.usage("values").used;
    assert!(in_memory <= budget && usage.on_disk > 0, "{in_memory} of {budget}: {usage:?}");
}

#[test]
fn what_fits_on_disk_only_is_spilled_within_the_budget() {
    assert_eq!(recommended(64_000).strategy, "Jacobian<f64, Reuse, Spilled>");
    assert_spills_within::<Jacobian<f64, Reuse, Spilled>>(64_000);
    // With linear indices fewer bytes go to disk.
    assert_eq!(recommended(1 << 20).strategy, "Jacobian<f64, Linear, Spilled>");
    assert_spills_within::<Jacobian<f64, Linear, Spilled>>(1 << 20);
}

#[test]
fn a_time_loop_gets_as_many_snapshots_as_fit() {
    let budget = 400_000;
    let found = recommended(Budget::new(budget).time_loop(STEPS, STATE));
    assert!(found.fits && found.bytes <= budget && found.code.starts_with("TimeLoop::<"), "{found}");
    let &[steps, snapshots] = &numbers(&found.code)[..] else { panic!("{found}") };
    assert_eq!(steps, STEPS);
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(steps, snapshots)).progress(move |progress| {
        seen.fetch_max(progress.snapshots, Relaxed);
        ControlFlow::Continue(())
    });
    let mut tape = Tape::<Jacobian>::new();
    let run = |x: &[Real<Jacobian>]| -> Real<Jacobian> {
        let end = time_loop.run(&(), &x[..STATE].to_vec(), |_, (), u| step(u), |_, (), u| step(u));
        let end = end.unwrap_or_else(|error| panic!("{error}"));
        (end[0] * end[1]).into()
    };
    let mut gradient = [0.0; 33];
    tape.gradient(run, &X, &mut gradient).unwrap_or_else(|error| panic!("{error}"));
    assert_gradient(&gradient);
    assert!(most.load(Relaxed) <= snapshots && most.load(Relaxed) > 1000, "{most:?} of {snapshots}");
    let memory = tape.memory();
    let kept = memory.total().used + memory.usage("nested").reserved - memory.usage("tables").used;
    assert!(kept <= budget, "{memory}");
}

#[test]
fn what_fits_nowhere_is_said_to() {
    let found = recommended(100);
    assert!(!found.fits && found.reason.starts_with("Nothing fits into 100 B"), "{found}");
    assert!(found.reason.ends_with("(see `checkpoint!` and `TimeLoop`)."), "{found}");
    let found = recommended(Budget::new(100).time_loop(STEPS, STATE));
    assert!(!found.fits && found.reason.contains("A time loop of") && found.reason.contains("needs about"), "{found}");
}
