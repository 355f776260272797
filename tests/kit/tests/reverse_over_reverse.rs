//! Numbers that are variables of a recording: reverse mode over reverse mode.

#[path = "reverse_over_reverse/implicit.rs"]
mod implicit;
#[path = "reverse_over_reverse/misuse.rs"]
mod misuse;
#[path = "reverse_over_reverse/strategies.rs"]
mod strategies;
#[path = "reverse_over_reverse/workloads.rs"]
mod workloads;

use tapewright::prelude::*;
use tapewright::strategies::Nests;
use tapewright::{Nested, value_and_gradient};

/// The value of `f`, its gradient and its Hessian by rows: a recording of `S` inside a recording of `B`.
fn second<B: Nests<Value = f64>, S: Reverse<Value = Nested<B>>>(
    f: impl Fn(&[Real<S>]) -> Real<S>,
    x: &[f64],
) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    let mut base = Tape::<B>::new();
    let (inputs, value, slopes) = base.record(|scope| {
        let inputs = scope.inputs(x);
        let (value, slopes) = value_and_gradient::<S>(&f, Real::numbers(&inputs));
        (inputs, value, slopes)
    });
    let row = |slope: &Nested<B>| {
        let found = base.sweep(&[(&Real::from(*slope), 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs));
        found.expect("its own")
    };
    let rows = slopes.iter().map(row).collect();
    (value.value(), slopes.iter().map(|slope| slope.value()).collect(), rows)
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(0.0_f64, |size, x| size.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * size, "{found} is not {expected}");
    }
}
