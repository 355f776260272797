//! The claims of the literature on an arena of continuations, one test each: what they say of an arena, of variables
//! and of gradients is tested under every strategy, what they say of closures under `Continuation`.
//!
//! Row S15, matrix variables that keep an array of identifiers, is for arrays, which do not exist yet: it has no test.

#![allow(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]

use tapewright::prelude::*;

#[path = "seed_s/arena.rs"]
mod arena;
#[path = "seed_s/closures.rs"]
mod closures;
#[path = "sweeps/everywhere.rs"]
mod everywhere;
#[path = "seed_s/gradients.rs"]
mod gradients;
#[path = "seed_s/identifiers.rs"]
mod identifiers;
#[path = "../../../strategies/tests/common/skipped.rs"]
mod skipped;

/// exp(x₀)·x₁·x₁.
fn example<S: Taping>(x: &[Real<S>]) -> Real<S> {
    (x[0].exp() * &x[1] * &x[1]).into()
}

const AT: [f64; 2] = [5.2, -3.9];
const VALUE: f64 = 2_757.150_798_921_05;
const GRADIENT: [f64; 2] = [2_757.150_798_921_05, -1_413.923_486_626_18];

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}

/// Bytes that `f` of two inputs takes, with the values of its variables where they are kept.
fn cost<S: Reverse<Value = f64>>(f: impl Fn(&[Real<S>]) -> Real<S>) -> usize {
    let bytes = |f: &dyn Fn(&[Real<S>]) -> Real<S>| {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| f(&scope.inputs(&[0.5, 0.6])));
        tape.memory().total().used
    };
    bytes(&f) - bytes(&|x| x[0].clone())
}
