//! Partials are computed where a strategy says: when a statement is evaluated, or in sweeps. (That a recording of partials
//! cannot be computed again is a program that does not compile, `replay_of_a_jacobian_tape` in `compile-fail`.)

use crate::record;
use std::cell::Cell;
use tapewright::prelude::*;
use tapewright::{Float, Nary, Number, Spilled, Unary, nary, unary};
use tapewright_kit_tests::Tight;

thread_local! {
    /// How often values and derivatives of the rules below were computed on this thread.
    static CALLS: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
}

fn count(which: usize) {
    let mut calls = CALLS.get();
    calls[which] += 1;
    CALLS.set(calls);
}

/// The values and derivatives that `f` computes.
fn calls<R>(f: impl FnOnce() -> R) -> (R, [usize; 2]) {
    CALLS.set([0; 2]);
    (f(), CALLS.get())
}

/// x ↦ x³.
struct Cube;
impl Unary for Cube {
    fn value<V: Float>(x: V) -> V {
        count(0);
        x * x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        count(1);
        V::from_f64(3.0) * x * x
    }
}

/// Σ xᵢ².
struct Squares;
impl<V: Number> Nary<V> for Squares {
    fn value(x: &[V], _: &[V]) -> V {
        count(0);
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x)
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        count(1);
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x + *x);
    }
}

/// A statement with a user's rule at x = (2, 3), and its gradient.
type Example<S> = (fn(&[Real<S>]) -> Real<S>, [f64; 2]);

/// x₀³·x₁: no literals, so the values take fewer bytes than the partials.
fn product<S: Taping>() -> Example<S> {
    (|x| (unary::<_, Cube, _>(&x[0]) * &x[1]).into(), [36.0, 8.0])
}

/// 2·x₀³/4 + 1 + x₁: more literals than partials.
fn scaled<S: Taping>() -> Example<S> {
    (|x| (2.0 * unary::<_, Cube, _>(&x[0]) / 4.0 + 1.0 + &x[1]).into(), [6.0, 1.0])
}

/// x₀² + x₁².
fn slice<S: Reverse<Value = f64>>() -> Example<S> {
    (|x| nary::<S, Squares>(&[x], &[]), [4.0, 6.0])
}

/// Whether the partials are computed when the statement is evaluated, and no sweep calls a rule; or the other way
/// round.
fn partials_are_computed<S: Reverse<Value = f64>>(now: bool, (f, gradient): Example<S>) {
    let ((mut tape, x, outputs), evaluated) = calls(|| record::<S>(&[2.0, 3.0], &|x| vec![f(x)]));
    let y = &outputs[0];
    assert_eq!(evaluated, [1, usize::from(now)], "values and derivatives at evaluation");
    let right = |swept: [usize; 2]| if now { swept == [0, 0] } else { swept[1] == 1 };
    for seed in [1.0, -2.0] {
        let (found, swept) = calls(|| tape.sweep(&[(y, seed)]).and_then(|adjoints| adjoints.of_all(&x)));
        assert_eq!(found, Ok(gradient.map(|slope| seed * slope).to_vec()));
        assert!(right(swept), "values and derivatives in a sweep: {swept:?}");
    }
    let lanes = || tape.sweep_lanes(&[(y, [1.0, 4.0, 0.0])]).and_then(|adjoints| adjoints.of(&x[0]));
    let (found, swept) = calls(lanes);
    assert_eq!(found, Ok([gradient[0], 4.0 * gradient[0], 0.0]));
    assert!(right(swept), "values and derivatives in a sweep of several lanes: {swept:?}");
    let (found, swept) = calls(|| tape.jvp(&[(&x[0], 1.0)], &[y]));
    assert_eq!(found, Ok(vec![gradient[0]]));
    assert!(if now { swept == [0, 0] } else { swept[1] >= 1 }, "values and derivatives in a forward sweep: {swept:?}");
    let (_, unswept) = calls(|| tape.sweep(&[(&x[1], 1.0)]).map(|_| ()));
    assert_eq!(unswept, [0, 0], "a statement whose adjoint is 0");
}

fn jacobian_like<S: Reverse<Value = f64>>() {
    [product, scaled, slice].into_iter().for_each(|example| partials_are_computed::<S>(true, example()));
    // What becomes of a leaf afterwards makes no difference.
    let (mut tape, mut x, y) = record::<S>(&[2.0, 3.0], &|x| {
        let mut leaf = x[0].clone();
        let y = (&leaf * &x[1]).eval();
        leaf.assign(100.0);
        vec![y]
    });
    let input = x[0].clone();
    x[0].assign(50.0);
    assert_eq!(tape.sweep(&[(&y[0], 1.0)]).and_then(|adjoints| adjoints.of(&input)), Ok(3.0));
}

fn primal_value_like<S: Reverse<Value = f64>>() {
    [product, scaled, slice].into_iter().for_each(|example| partials_are_computed::<S>(false, example()));
}

fn hybrid_like<S: Reverse<Value = f64>>() {
    partials_are_computed::<S>(false, product());
    partials_are_computed::<S>(true, scaled());
    partials_are_computed::<S>(false, slice());
}

#[test]
fn jacobian_taping_computes_partials_at_evaluation_and_sweeps_call_no_rule() {
    jacobian_like::<Jacobian>();
    #[cfg(feature = "wide")]
    jacobian_like::<Jacobian<f64, Reuse, Spilled<Tight>>>();
}

#[test]
fn primal_value_taping_computes_partials_in_the_sweep_and_not_before() {
    primal_value_like::<PrimalValue<f64, Reuse, Spilled<Tight>>>();
    #[cfg(feature = "wide")]
    primal_value_like::<PrimalValue<f64, Linear, Shared>>();
}

#[test]
fn hybrid_taping_does_what_its_record_says() {
    hybrid_like::<Hybrid>();
    #[cfg(feature = "wide")]
    hybrid_like::<Hybrid<f64, Reuse>>();
}

#[test]
fn continuations_capture_partials_at_evaluation() {
    jacobian_like::<Continuation<f64, Reuse>>();
}
