//! Replays under `Checked`: what is singular at the new inputs is found in the sweeps after them.

use crate::refusal;
use tapewright::prelude::*;
use tapewright::{Checked, Nary, Number, nary};

type S = Checked<PrimalValue>;

/// Records `f` at `x`.
fn recorded<const N: usize>(x: [f64; N], f: impl FnOnce(&[Real<S>]) -> Real<S>) -> (Tape<S>, Vec<Real<S>>, Real<S>) {
    let mut tape = Tape::new();
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(&x);
        let y = f(&inputs);
        (inputs, y)
    });
    (tape, inputs, y)
}

#[test]
fn a_replay_at_a_singular_point_is_refused_in_the_sweep_with_its_line() {
    let (mut tape, x, y) = recorded([4.0], |x| (x[0].sqrt() + 1.0).into());
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of(&x[0])), Ok(0.25));
    let line = line!() + 1;
    tape.replay(&[(&x[0], 0.0)]).expect("values can be computed");
    assert_eq!(refusal(tape.sweep(&[(&y, 1.0)])), Some(("Sqrt".into(), line)));
    tape.new_inputs().variable(&x[0], 1.0).and_then(|new| new.replay()).expect("values can be computed");
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of(&x[0])), Ok(0.5));
}

#[test]
fn a_replay_at_a_regular_point_forgets_what_was_singular() {
    let (mut tape, x, y) = recorded([0.0], |x| x[0].ln().into());
    assert!(refusal(tape.sweep(&[(&y, 1.0)])).is_some());
    tape.replay(&[(&x[0], 2.0)]).expect("values can be computed");
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of(&x[0])), Ok(0.5));
}

#[test]
fn the_first_singular_statement_is_named() {
    let (mut tape, x, y) = recorded([1.0, 1.0], |x| {
        let root = x[0].cbrt().eval();
        (x[1].ln() * root).into()
    });
    tape.replay(&[(&x[0], 0.0), (&x[1], 0.0)]).expect("values can be computed");
    assert_eq!(refusal(tape.sweep(&[(&y, 1.0)])).map(|(function, _)| function), Some("Cbrt".into()));
}

#[test]
fn functions_of_passive_arguments_are_not_refused() {
    let (mut tape, x, y) =
        recorded([4.0], |x| (Real::<S>::from(0.0).sqrt() * x[0] + x[0].powf(Real::from(3.0))).into());
    tape.replay(&[(&x[0], -2.0)]).expect("values can be computed");
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of(&x[0])), Ok(12.0));
}

#[test]
fn functions_of_slices_are_looked_at_too() {
    let (mut tape, x, y) = recorded([3.0, 4.0], |x| nary::<S, Norm>(&[x], &[]));
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of_all(&x)), Ok(vec![0.6, 0.8]));
    tape.replay(&[(&x[0], 0.0), (&x[1], 0.0)]).expect("values can be computed");
    assert_eq!(refusal(tape.sweep(&[(&y, 1.0)])).map(|(function, _)| function), Some("Norm".into()));
}

#[test]
fn a_replay_that_fails_leaves_everything_as_it_was() {
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(4.0);
        let y: Real<S> = if x > 1.0 { x.sqrt().into() } else { x };
        (x, y)
    });
    assert!(tape.replay(&[(&x, 0.0)]).is_err());
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of(&x)), Ok(0.25));
}

/// √Σxᵢ².
struct Norm;
impl<V: Number> Nary<V> for Norm {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x).sqrt()
    }
    fn partials(x: &[V], constants: &[V], partials: &mut [V]) {
        let norm = Self::value(x, constants);
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x / norm);
    }
}
