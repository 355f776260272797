//! Stages of a chain of sines: their entries on the tape, and how often they are computed. Stages in stages are tested by
//! the conformance kit (`checkpointed_stages`) and in `nested_allocations.rs`.

use std::cell::Cell;
use tapewright::checkpoint::Stage;
use tapewright::prelude::*;
use tapewright_kit_tests::{close, float, for_each_mechanism, holds_results_only};

thread_local! {
    /// Sines computed by this thread.
    static SINES: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn repeated_sin<S: Taping>(n: usize, x: &Real<S>) -> Real<S> {
    SINES.set(SINES.get() + n);
    let mut y = x.clone();
    for _ in 0..n {
        y = y.sin().into();
    }
    y
}

/// sin(sin(… x)) and Π cos xₖ, in the arithmetic of the value type, last factor first.
pub(crate) fn exact<V: tapewright::Number>(n: usize, x: V) -> (V, V) {
    let mut states = vec![x];
    for k in 0..n {
        states.push(states[k].sin());
    }
    let mut slope = V::ONE;
    for k in (0..n).rev() {
        slope = slope * states[k].cos();
    }
    (states[n], slope)
}

const DISTANCE: usize = 4;

/// The lengths of the stages of `n` sines.
pub(crate) fn stages(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(DISTANCE).map(move |i| DISTANCE.min(n - i))
}

/// Sines in stages that are recorded under `T`.
fn in_stages<T: Reverse, S: Taping<Value = T::Value>>(n: usize, x: &Real<S>) -> Real<S> {
    let mut x = x.clone();
    for m in stages(n) {
        x = Stage::<T>::new().run(&x, |x| repeated_sin(m, x), move |x| repeated_sin(m, x));
    }
    x
}

fn record<T: Reverse, S: Reverse<Value = T::Value>>(n: usize) -> (Tape<S>, Real<S>, Real<S>) {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(0.7));
        let y = in_stages::<T, S>(n, &x);
        (x, y)
    });
    (tape, x, y)
}

/// Also where the distance does not divide the length. Sweeps give what the full tape gives, to the last bit, and with
/// them every sine is computed twice.
fn stages_give_the_gradient_of_the_full_tape<T: Reverse, S: Reverse<Value = T::Value>>() {
    for n in [0, 1, 3, 4, 5, 1000] {
        let before = SINES.get();
        let (mut tape, x, y) = record::<T, S>(n);
        assert_eq!(SINES.get() - before, n);
        holds_results_only(&tape, stages(n).count());
        let full = gradient::<S>(|x| repeated_sin(n, &x[0]), &[x.value()])[0];
        let (value, slope) = exact(n, x.value());
        assert_eq!(y.value(), value);
        close(full, slope, 4 * n);
        for seed in [1.0, -2.0, 1.0].map(float::<S::Value>) {
            let before = SINES.get();
            let found = tape.sweep(&[(&y, seed)]).and_then(|adjoints| adjoints.of(&x)).expect("its own");
            assert_eq!(found, seed * full, "{n} sines, a power of 2 for a seed");
            assert_eq!(SINES.get() - before, n, "2n with the forward run");
        }
    }
}

fn stages_compute_everything_twice_and_give_the_gradient_of_the_full_tape<S: Reverse>() {
    stages_give_the_gradient_of_the_full_tape::<S, S>();
}

for_each_mechanism!(
    stages_compute_everything_twice_and_give_the_gradient_of_the_full_tape,
    stages_leave_their_entries_only
);

#[test]
fn stages_may_be_recorded_under_another_strategy() {
    stages_give_the_gradient_of_the_full_tape::<PrimalValue<f32, Reuse>, Jacobian<f32>>();
}

fn stages_leave_their_entries_only<S: Reverse>() {
    let report = |stages: usize| record::<S, S>(stages * DISTANCE).0.memory();
    let mut inputs = Tape::<S>::new();
    let mut variables = |n: usize| {
        inputs.record(|scope| scope.inputs(&vec![float(0.7); n]));
        inputs.memory().total().used
    };
    let entry = report(1).usage("externals").used;
    assert!((1..512).contains(&entry), "{entry} bytes for an entry");
    for stages in [0, 1, 7, 50] {
        let report = report(stages);
        assert_eq!(report.usage("externals").used, stages * entry, "{report}");
        // Their results: variables, and where identifiers are reused, which one each is.
        let rest = report.total().used - stages * entry;
        assert!(rest <= variables(1 + stages) + 32 * stages, "{report}");
    }
}
