//! Sweeps over a recording: with several adjoint vectors, forward, at new inputs, and the rules that they call.

#[path = "sweeps/accumulating.rs"]
mod accumulating;
#[path = "sweeps/forward.rs"]
mod forward;
#[path = "sweeps/lanes.rs"]
mod lanes;
#[path = "sweeps/outlined.rs"]
mod outlined;
#[path = "sweeps/replays.rs"]
mod replays;
#[path = "sweeps/rules.rs"]
mod rules;
#[path = "sweeps/runs.rs"]
mod runs;
#[path = "sweeps/slices.rs"]
mod slices;

use tapewright::{dot, logsumexp, prelude::*, sum};

/// A recording of a function of these inputs: its tape, its inputs and its outputs.
type Recorded<S> = (Tape<S>, Vec<Real<S>>, Vec<Real<S>>);

/// A function of a slice, as a pointer: what records it is compiled once for each strategy.
type Function<'a, S> = &'a dyn Fn(&[Real<S>]) -> Vec<Real<S>>;

fn record<S: Reverse<Value = f64>>(x: &[f64], f: Function<S>) -> Recorded<S> {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(x);
        let y = f(&x);
        (x, y)
    });
    (tape, x, y)
}

/// Statements of all kinds, of three variables. None is one that a replay cannot compute again, unless a `passive`
/// variable is given, which is then an argument of functions of slices.
fn all_kinds<S: Taping<Value = f64>>(x: &[Real<S>], passive: Option<&Real<S>>) -> Vec<Real<S>> {
    let constant = Real::constant(0.25);
    let (mut wide, mut some) = (Vec::new(), Vec::new());
    for k in 0..40 {
        wide.push(x[k % 3].clone());
        some.push(passive.filter(|_| k % 4 == 0).unwrap_or(&x[k % 3]).clone());
    }
    let a: Real<S> = (&x[0] * &x[1] - x[2].sin() * &x[0] * &constant).into();
    let b: Real<S> = (-(&a - &x[1] * 2.0) * (&a + &x[2])).into();
    let c: Real<S> = (sum(&wide) * 0.1 + dot(&wide, &some) + logsumexp(&some) + sum(&some)).into();
    let mut d = x[2].clone();
    d += &b;
    d *= x[0].exp() - &c;
    let e: Real<S> = x[2].max(x[0].exp() - &c).into();
    let f = tapewright::linear_combination(&[2.0, 0.5], &[c.clone(), x[0].clone()]);
    vec![a, b, c, (-&d).into(), d, e, f, x[0].clone()]
}
