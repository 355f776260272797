//! Scenarios with rules that users add, some of which misbehave.

use super::Outcome;
use super::check::{Recorded, close, ensure, floats, gradient_is, recorded, still_works, unless_it_panics};
use crate::{Binary, Float, Nary, Number, Real, Reverse, Tape, Ternary, Unary, binary, nary, ternary, unary};
use core::any::Any;
use core::cell::{Cell, RefCell};
use core::marker::PhantomData;

/// x ↦ x³, with the square as companion of the value.
struct Cube;
impl Unary for Cube {
    fn value<V: Float>(x: V) -> V {
        x * x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        V::from_f64(3.0) * x * x
    }
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        (x * x * x, x * x)
    }
    fn derivative_with_companion<V: Float>(_: V, _: V, square: V) -> V {
        V::from_f64(3.0) * square
    }
}

/// (x, y) ↦ x²/y.
struct SquareOver;
impl Binary for SquareOver {
    fn value<V: Float>(x: V, y: V) -> V {
        x * x / y
    }
    fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
        V::from_f64(2.0) * x / y
    }
    fn partial_right<V: Float>(_: V, y: V, value: V) -> V {
        -value / y
    }
}

/// (x, y, z) ↦ x·y²/z.
struct SquareRatio;
impl Ternary for SquareRatio {
    fn value<V: Float>(x: V, y: V, z: V) -> V {
        x * y * y / z
    }
    fn partial_first<V: Float>(_: V, y: V, z: V, _: V) -> V {
        y * y / z
    }
    fn partial_second<V: Float>(x: V, y: V, z: V, _: V) -> V {
        V::from_f64(2.0) * x * y / z
    }
    fn partial_third<V: Float>(_: V, _: V, z: V, value: V) -> V {
        -value / z
    }
}

/// Σ cᵢ·xᵢ².
struct WeightedSquares;
impl<V: Number> Nary<V> for WeightedSquares {
    const CONSTANTS: usize = 1;
    fn value(x: &[V], c: &[V]) -> V {
        x.iter().zip(c).fold(V::ZERO, |sum, (x, c)| sum + *c * *x * *x)
    }
    fn partials(x: &[V], c: &[V], partials: &mut [V]) {
        for (partial, (x, c)) in partials.iter_mut().zip(x.iter().zip(c)) {
            *partial = V::from_f64(2.0) * *c * *x;
        }
    }
}

/// A rule of one argument, applied to variables and to expressions.
pub fn unary_rule<S: Reverse>() -> Outcome {
    let f = |v: &[Real<S>]| (unary::<_, Cube, _>(&v[0]) * &v[1] + unary::<_, Cube, _>(&v[0] - &v[1])).into();
    gradient_is::<S>("x³·y + (x − y)³", f, &[1.5, -0.5], 6.3125, &[8.625, -8.625])
}

/// A rule of two arguments, applied to variables, to expressions and to literals.
pub fn binary_rule<S: Reverse>() -> Outcome {
    let f = |v: &[Real<S>]| {
        let (x, y) = (&v[0], &v[1]);
        (binary::<_, SquareOver, _, _>(x, y) + binary::<_, SquareOver, _, _>(2.0, y * x)
            - binary::<_, SquareOver, _, _>(x + y, 4.0))
        .into()
    };
    gradient_is::<S>("x²/y + 4/(xy) − (x + y)²/4", f, &[2.0, 0.5], 10.4375, &[4.75, -25.25])
}

/// A rule of three arguments, applied to variables, to expressions and to literals.
pub fn ternary_rule<S: Reverse>() -> Outcome {
    let f = |v: &[Real<S>]| {
        let (x, y) = (&v[0], &v[1]);
        (ternary::<_, SquareRatio, _, _, _>(x, y, x + y) + ternary::<_, SquareRatio, _, _, _>(y, 2.0, x)
            - ternary::<_, SquareRatio, _, _, _>(0.5, y * x, 4.0))
        .into()
    };
    gradient_is::<S>("xy²/(x + y) + 4y/x − x²y²/8", f, &[2.0, 0.5], 1.075, &[-0.605, 2.22])
}

/// A rule of a slice with constants, its arguments in two pieces, in the middle of a computation.
pub fn nary_rule<S: Reverse>() -> Outcome {
    let f = |v: &[Real<S>]| {
        let constants = floats(&[0.5, 2.0, -1.0]);
        let squares = nary::<S, WeightedSquares>(&[&v[..2], &v[2..]], &constants);
        (&squares * &v[0]).into()
    };
    gradient_is::<S>("(x²/2 + 2y² − z²)·x", f, &[2.0, 1.5, 3.0], -5.0, &[1.5, 12.0, -12.0])
}

thread_local! {
    /// True if `Bomb` is to go off on this thread.
    static ARMED: Cell<bool> = const { Cell::new(false) };
    /// A `Real<S>` that the misbehaving rules below use.
    static REACHED: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// x ↦ x², whose derivative panics while `ARMED`.
struct Bomb;
impl Unary for Bomb {
    fn value<V: Float>(x: V) -> V {
        x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        assert!(!ARMED.get(), "this rule was told to panic");
        x + x
    }
}

/// Runs `f` with `Bomb` armed, and returns `None` if it went off.
fn while_armed<R>(f: impl FnOnce() -> R) -> Option<R> {
    ARMED.set(true);
    let result = unless_it_panics(f);
    ARMED.set(false);
    result
}

/// A rule that panics while its statement is recorded leaves the recording as it was, or with a complete statement.
pub fn rule_panics_while_recording<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[1.5, 2.0], |x| {
        let before = (&x[0] * &x[1]).eval();
        let lost = while_armed(|| (unary::<_, Bomb, _>(&x[0]) * &before).eval());
        let after = (unary::<_, Bomb, _>(&before) * &x[0]).eval();
        vec![after, lost.unwrap_or_default()]
    });
    recorded.sweep_gives("the gradient beside a statement that panicked", &[1.0, 0.0], &[27.0, 13.5])?;
    still_works(recorded.tape)
}

/// A rule that panics during a sweep leaves the recording and the adjoints fit for the next sweep.
pub fn rule_panics_during_a_sweep<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[1.5, 2.0], |x| {
        let early = (&x[0] * &x[1]).eval();
        let bomb = (unary::<_, Bomb, _>(&early) * &x[1]).eval();
        vec![(&bomb * 2.0).eval(), early]
    });
    for _ in 0..2 {
        let Recorded { tape, y, .. } = &mut recorded;
        // Strategies that evaluate rules while recording do not panic here; then there is nothing to survive.
        let _ = while_armed(|| tape.sweep_all(y, &floats(&[1.0, 1.0])).is_ok());
        recorded.sweep_gives("the gradient after a sweep that panicked", &[1.0, 0.0], &[48.0, 54.0])?;
        recorded.sweep_gives("the gradient of another output", &[0.0, 1.0], &[2.0, 1.5])?;
    }
    still_works(recorded.tape)
}

/// Records statements of the `Real<S>` in `REACHED`, if there is one.
fn meddle<S: Reverse>() {
    let reached = REACHED.take();
    if let Some(variable) = reached.as_ref().and_then(|any| any.downcast_ref::<Real<S>>()) {
        let twice = (variable + variable).eval();
        let _ = (&twice * variable).eval();
    }
    REACHED.set(reached);
}

/// Runs `f` while the rules below can reach this variable.
fn while_reached<S: Reverse, R>(variable: &Real<S>, f: impl FnOnce() -> R) -> Option<R> {
    REACHED.set(Some(Box::new(variable.clone())));
    let result = unless_it_panics(f);
    REACHED.set(None);
    result
}

/// x ↦ x², whose value and derivative record statements.
struct Meddler<S>(PhantomData<S>);
impl<S: Reverse> Unary for Meddler<S> {
    fn value<V: Float>(x: V) -> V {
        meddle::<S>();
        x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        meddle::<S>();
        x + x
    }
}

/// Σ xᵢ², whose partials record statements.
struct MeddlingSquares<S>(PhantomData<S>);
impl<S: Reverse, V: Number> Nary<V> for MeddlingSquares<S> {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x)
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        meddle::<S>();
        for (partial, x) in partials.iter_mut().zip(x) {
            *partial = *x + *x;
        }
    }
}

/// Records `f`, a sum of squares of two variables that meddles with the tape, inside another recording. The meddling
/// may work, the statement may be refused, or the complete recording may be given up: no value may be wrong.
fn survives<S: Reverse>(f: fn(&[Real<S>]) -> Real<S>) -> Outcome {
    let mut inside = Ok(());
    let mut outer = recorded::<S>(&[2.0], |x| {
        inside = meddles(f);
        vec![(&x[0] * &x[0]).eval()]
    });
    inside?;
    outer.sweep_gives("the gradient of the recording around", &[1.0], &[4.0])
}

fn meddles<S: Reverse>(f: fn(&[Real<S>]) -> Real<S>) -> Outcome {
    let mut tape = Tape::<S>::new();
    let mut input = Real::default();
    let finished = unless_it_panics(|| {
        tape.record(|scope| {
            let x = scope.inputs(&floats(&[1.5, 2.0]));
            input = x[0].clone();
            let before = (&x[0] * &x[1]).eval();
            let meddled = while_reached(&before, || f(&x));
            let after = (&before * &before).eval();
            let quiet = f(&x);
            (x, vec![after, quiet.clone(), meddled.unwrap_or(quiet)])
        })
    });
    let Some((x, y)) = finished else {
        let swept = tape.sweep(&[(&input, S::Value::ONE)]).is_ok();
        ensure(!swept, "a recording was given up, and yet its variables can be swept")?;
        return still_works(tape);
    };
    let mut recorded = Recorded { tape, x, y };
    let swept = while_reached(&recorded.y[0].clone(), || recorded.sweep(&[1.0; 3]).is_ok());
    ensure(swept != Some(false), "a sweep that a rule meddles with finds a foreign variable")?;
    recorded.sweep_gives("the gradient of a statement beside", &[1.0, 0.0, 0.0], &[12.0, 9.0])?;
    recorded.sweep_gives("the gradient of the rule", &[0.0, 1.0, 0.0], &[3.0, 4.0])?;
    recorded.sweep_gives("the gradient of the meddling rule", &[0.0, 0.0, 1.0], &[3.0, 4.0])?;
    still_works(recorded.tape)
}

/// A rule that records on the tape that is recording it works, or panics and ends that recording; it corrupts nothing.
pub fn rule_records_in_its_derivative<S: Reverse>() -> Outcome {
    survives::<S>(|x| (unary::<_, Meddler<S>, _>(&x[0]) + unary::<_, Meddler<S>, _>(&x[1])).eval())
}

/// A rule of slices that records on the tape that is recording it works, or panics and ends that recording.
pub fn nary_rule_records_in_its_partials<S: Reverse>() -> Outcome {
    survives::<S>(|x| nary::<S, MeddlingSquares<S>>(&[x], &[]))
}

/// x ↦ x², whose derivative is computed by a recording of its own.
struct ByTape<S>(PhantomData<S>);
impl<S: Reverse> Unary for ByTape<S> {
    fn value<V: Float>(x: V) -> V {
        x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        let square = |x: &[Real<S>]| (&x[0] * &x[0]).eval();
        V::from_f64(crate::gradient::<S>(square, &[S::Value::from_f64(x.as_f64())])[0].as_f64())
    }
}

/// A rule may record and sweep a tape of its own, of the same strategy.
pub fn rule_records_on_a_tape_of_its_own<S: Reverse>() -> Outcome {
    let f = |x: &[Real<S>]| (unary::<_, ByTape<S>, _>(&x[0]) * &x[1]).into();
    gradient_is::<S>("x²·y", f, &[1.5, 2.0], 4.5, &[6.0, 2.25])?;
    let mut tape = Tape::<S>::new();
    let mut gradient = floats(&[0.0, 0.0]);
    tape.gradient(f, &floats(&[1.5, 2.0]), &mut gradient)?;
    close("entry 0 of the gradient by a reused tape", gradient[0], 6.0)
}
