//! What a passive argument costs: a chain of statements with one, beside the same chain with a literal in its place.
//!
//! `cargo bench --bench passive` prints, for each strategy, nanoseconds a statement to record and to sweep: the least of
//! many turns, in each of which both chains take theirs. Both gradients are checked first.

mod turns;

use std::hint::black_box;
use tapewright::{Continuation, Hybrid, Jacobian, PrimalValue, Real, Reuse, Reverse, Tape};
use turns::seconds;

/// Statements in a chain, few enough for the caches.
const STATEMENTS: u32 = 20_000;
const SLOPE: f64 = 0.999;

/// yₖ₊₁ = c·yₖ + x, where `c` is a passive variable or a literal.
fn chain<S: Reverse<Value = f64>>(x: &Real<S>, passive: bool) -> Real<S> {
    let (literal, variable) = (black_box(SLOPE), Real::<S>::constant(black_box(SLOPE)));
    let mut y = x.clone();
    for _ in 0..STATEMENTS {
        y = if passive { (&y * &variable + x).into() } else { (&y * literal + x).into() };
    }
    y
}

/// The slope of the chain: Σ cᵏ for k from 0 to the number of statements.
fn slope() -> f64 {
    let terms = i32::try_from(STATEMENTS).expect("few");
    (1.0 - SLOPE.powi(terms + 1)) / (1.0 - SLOPE)
}

fn row<S: Reverse<Value = f64>>(name: &str) {
    let mut tape = Tape::<S>::new();
    let (mut record, mut sweep) = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
    for turn in 0..300 {
        for (k, passive) in [false, true].into_iter().enumerate() {
            let mut recorded = None;
            record[k] = record[k].min(seconds(|| {
                recorded = Some(tape.record(|scope| {
                    let x = scope.input(black_box(1.0));
                    let y = chain(&x, passive);
                    (x, y)
                }));
            }));
            let (x, y) = recorded.expect("it has been recorded");
            sweep[k] = sweep[k].min(seconds(|| tape.sweep(&[(&y, 1.0)]).is_ok()));
            if turn == 0 {
                let found = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)).expect("of this recording");
                assert!((found / slope() - 1.0).abs() < 1e-10, "{name}: {found} in place of {}", slope());
            }
        }
    }
    let [literal, passive] = record.map(|least| 1e9 * least / f64::from(STATEMENTS));
    let [swept, passive_swept] = sweep.map(|least| 1e9 * least / f64::from(STATEMENTS));
    println!(
        "| {name} | {literal:.1} | {passive:.1} | {:+.1} | {swept:.1} | {passive_swept:.1} | {:+.1} |",
        passive - literal,
        passive_swept - swept
    );
}

fn main() {
    println!("| strategy | record, literal, ns | passive | more | sweep, literal, ns | passive | more |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    row::<Jacobian>("Jacobian");
    row::<Jacobian<f64, Reuse>>("Jacobian, Reuse");
    row::<PrimalValue>("PrimalValue");
    row::<PrimalValue<f64, Reuse>>("PrimalValue, Reuse");
    row::<Hybrid>("Hybrid");
    row::<Hybrid<f64, Reuse>>("Hybrid, Reuse");
    row::<Continuation>("Continuation");
    row::<Continuation<f64, Reuse>>("Continuation, Reuse");
}
