//! What is computed when: rows T1, T3 and T14. (Row T6, that a recording of partials cannot be computed again, is a
//! program that does not compile, `replay_of_a_jacobian_tape` in `compile-fail`.)

use super::everywhere::everywhere;
use super::record;
use std::cell::Cell;
use tapewright::prelude::*;
use tapewright::tape::Replay;
use tapewright::{Error, Float, Nary, Number, Spilled, Unary, dot, linear_combination, nary, sum, unary};
use tapewright_kit_tests::Tight;

fn t1_the_reverse_step_scales_accumulates_and_clears<S: Reverse<Value = f64>>() {
    let mut middle = Real::<S>::default();
    let (mut tape, x, y) = record::<S>(&[0.7], |x| {
        let mut y = x[0].clone();
        for k in 0..20 {
            y = y.sin().into();
            if k == 10 {
                middle = y.clone();
            }
        }
        y
    });
    let mut chain = (0.7_f64, 1.0_f64);
    for _ in 0..20 {
        chain = (chain.0.sin(), chain.1 * chain.0.cos());
    }
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
    let gradient = adjoints.of(&x[0]).expect("an input");
    assert!((gradient / chain.1 - 1.0).abs() < 1e-14);
    for consumed in [&middle, &y] {
        assert!(matches!(adjoints.of(consumed), Err(Error::NotAnInput { .. })), "only inputs keep adjoints");
    }
}

fn t1_a_second_argument_is_added_to_what_is_there<S: Reverse<Value = f64>>() {
    // ū += (dφ/du)ᵀ·w̄, where u is an argument of several statements and several times of one.
    let (mut tape, x, y) = record::<S>(&[3.0], |x| {
        let a = (&x[0] * &x[0]).eval();
        let b = (&a * &x[0] + &a).eval();
        (&b + &a * 2.0 - &x[0]).into()
    });
    for seed in [1.0, -0.5] {
        // x³ + 3x² − x
        let slope = seed * (27.0 + 18.0 - 1.0);
        assert_eq!(tape.sweep(&[(&y, seed)]).and_then(|adjoints| adjoints.of(&x[0])), Ok(slope));
    }
}

everywhere!(t1_the_reverse_step_scales_accumulates_and_clears, t1_a_second_argument_is_added_to_what_is_there);

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
    let ((mut tape, x, y), evaluated) = calls(|| record::<S>(&[2.0, 3.0], f));
    assert_eq!(evaluated, [1, usize::from(now)], "values and derivatives at evaluation");
    let right = |swept: [usize; 2]| if now { swept == [0, 0] } else { swept[1] == 1 };
    for seed in [1.0, -2.0] {
        let (found, swept) = calls(|| tape.sweep(&[(&y, seed)]).and_then(|adjoints| adjoints.of_all(&x)));
        assert_eq!(found, Ok(gradient.map(|slope| seed * slope).to_vec()));
        assert!(right(swept), "values and derivatives in a sweep: {swept:?}");
    }
    let lanes = || tape.sweep_lanes(&[(&y, [1.0, 4.0, 0.0])]).and_then(|adjoints| adjoints.of(&x[0]));
    let (found, swept) = calls(lanes);
    assert_eq!(found, Ok([gradient[0], 4.0 * gradient[0], 0.0]));
    assert!(right(swept), "values and derivatives in a sweep of several lanes: {swept:?}");
    let (found, swept) = calls(|| tape.jvp(&[(&x[0], 1.0)], &[&y]));
    assert_eq!(found, Ok(vec![gradient[0]]));
    assert!(if now { swept == [0, 0] } else { swept[1] >= 1 }, "values and derivatives in a forward sweep: {swept:?}");
    let (_, unswept) = calls(|| tape.sweep(&[(&x[1], 1.0)]).map(|_| ()));
    assert_eq!(unswept, [0, 0], "a statement whose adjoint is 0");
}

fn jacobian_like<S: Reverse<Value = f64>>() {
    [product, scaled, slice].into_iter().for_each(|example| partials_are_computed::<S>(true, example()));
    // What becomes of a leaf afterwards makes no difference.
    let (mut tape, mut x, y) = record::<S>(&[2.0, 3.0], |x| {
        let mut leaf = x[0].clone();
        let y = (&leaf * &x[1]).into();
        leaf.assign(100.0);
        y
    });
    let input = x[0].clone();
    x[0].assign(50.0);
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&input)), Ok(3.0));
}

fn primal_value_like<S: Reverse<Value = f64>>() {
    [product, scaled, slice].into_iter().for_each(|example| partials_are_computed::<S>(false, example()));
}

/// Runs a test under strategies with every index manager and layer.
macro_rules! managed {
    ($test:ident: $f:ident of $($strategy:ident)*) => {
        #[test]
        fn $test() {$(
            $f::<$strategy>();
            $f::<$strategy<f64, Linear<u64>>>();
            $f::<$strategy<f64, Linear, Shared>>();
            $f::<$strategy<f64, Linear, Spilled<Tight>>>();
            $f::<$strategy<f64, Reuse>>();
            $f::<$strategy<f64, Reuse, Spilled<Tight>>>();
        )*}
    };
}

managed!(t3_jacobian_taping_computes_partials_at_evaluation_and_sweeps_call_no_rule: jacobian_like of Jacobian);
managed!(t3_primal_value_taping_computes_partials_in_the_sweep_and_not_before: primal_value_like of PrimalValue);
managed!(t3_hybrid_taping_does_what_its_record_says: hybrid_like of Hybrid);

fn hybrid_like<S: Reverse<Value = f64>>() {
    partials_are_computed::<S>(false, product());
    partials_are_computed::<S>(true, scaled());
    partials_are_computed::<S>(false, slice());
}

#[test]
fn t3_continuations_capture_partials_at_evaluation() {
    jacobian_like::<Continuation>();
    jacobian_like::<Continuation<f64, Linear<u64>>>();
    jacobian_like::<Continuation<f64, Reuse>>();
}

/// Statements of all kinds, with literals and passive arguments among them.
fn program<S: Replay<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let passive = Real::constant(0.25);
    let mut y = x.to_vec();
    for k in 0..40 {
        let (a, b) = (&y[k % 3], &y[(k + 1) % 3]);
        let next: Real<S> = match k % 4 {
            0 => (a.sin() * b + &passive * a - 0.5).into(),
            1 => (a / (b * b + 2.0) - unary::<_, Cube, _>(b) * 1e-3).into(),
            2 => (sum(&y) * 0.25 + dot(&y, x)).into(),
            _ => linear_combination(&[0.5, -0.25, 2.0], &y),
        };
        y[k % 3] = (next.tanh() + a * 0.125).into();
    }
    y
}

/// Values of the outputs, and the gradient of each, as bits.
fn outcome<S: Replay<Value = f64>>(tape: &mut Tape<S>, x: &[Real<S>], y: &[Real<S>]) -> Vec<u64> {
    let mut bits = Vec::new();
    for y in y {
        bits.push(tape.value_of(y).expect("its own").to_bits());
        let gradient = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(x)).expect("its own");
        bits.extend(gradient.into_iter().map(f64::to_bits));
    }
    bits
}

fn record_program<S: Replay<Value = f64>>(at: [f64; 3]) -> (Tape<S>, Vec<Real<S>>, Vec<Real<S>>) {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&at);
        let y = program(&x);
        (x, y)
    });
    (tape, x, y)
}

fn replays_agree_with_new_recordings<S: Replay<Value = f64>>() {
    let (mut tape, x, y) = record_program::<S>([0.5, -1.25, 2.0]);
    let memory = tape.memory();
    assert_eq!(tape.memory().usage("arguments").used, tape.memory().arguments * size_of_argument::<S>());
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX) * 4.0 - 2.0
    };
    for _ in 0..20 {
        let at = [random(), random(), random()];
        let inputs: Vec<_> = x.iter().zip(at).collect();
        tape.replay(&inputs).expect("a recording of values can be computed again");
        let (mut fresh, u, v) = record_program::<S>(at);
        assert_eq!(outcome(&mut tape, &x, &y), outcome(&mut fresh, &u, &v), "at {at:?}");
    }
    let after = tape.memory();
    assert_eq!((after.statements, after.arguments), (memory.statements, memory.arguments), "nothing is recorded again");
}

/// Bytes of an argument, which is its identifier alone.
fn size_of_argument<S: Taping>() -> usize {
    size_of::<S::Raw>() / 2
}

#[test]
fn t14_a_replay_at_new_inputs_gives_the_bits_of_a_new_recording() {
    replays_agree_with_new_recordings::<PrimalValue>();
    replays_agree_with_new_recordings::<PrimalValue<f64, Linear<u64>>>();
    replays_agree_with_new_recordings::<PrimalValue<f64, Linear, Shared>>();
    replays_agree_with_new_recordings::<PrimalValue<f64, Linear, Spilled<Tight>>>();
}
