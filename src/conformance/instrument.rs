//! Scenarios with entries on a tape other than statements: external functions, callbacks, checkpointed stages and
//! loops. For strategies that have positions.

use super::Outcome;
use super::check::{
    Recorded, all_close, close, constant, ensure, floats, needs_marks, recorded, recorded_on, still_works,
};
use crate::checkpoint::{Stage, TapePool, TimeLoop};
use crate::external::{Callback, CallbackAdjoints};
use crate::schedule::Revolve;
use crate::{Error, Number, Passive, Real, Reverse, Rules, Tape, Taping, external};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A function of three inputs, one of them passive, and two outputs, between statements; its rule sees the adjoints
/// that later statements have left, and earlier statements see the adjoints that the rule leaves.
pub fn external_function<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let mut recorded = recorded::<S>(&[2.0, 3.0], |x| {
        let a = (&x[0] * &x[1]).eval();
        let inputs = [x[1].clone(), constant(5.0), a];
        let (p, q) = (inputs[0].value(), inputs[2].value());
        let rules = Rules::new("products", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
            inputs[0] += outputs[0] * q;
            inputs[1] += S::Value::from_f64(f64::NAN);
            inputs[2] += outputs[0] * p + outputs[1];
            Ok(())
        });
        let y = external(&inputs, &[p * q, q], rules);
        vec![(&y[0] * &x[0]).eval(), (&y[1] * &y[1]).eval(), y[1].clone()]
    });
    // x₀²·x₁², x₀²·x₁² and x₀·x₁.
    recorded.sweep_gives("the gradient of the first", &[1.0, 0.0, 0.0], &[36.0, 24.0])?;
    recorded.sweep_gives("the gradient of the others", &[0.0, 1.0, 1.0], &[39.0, 26.0])?;
    recorded.sweep_gives("the gradient of the first again", &[1.0, 0.0, 0.0], &[36.0, 24.0])?;
    still_works(recorded.tape)
}

/// A callback that notes the adjoint of its output and passes it on; or 0, if it has no output.
fn noting<S: Reverse>(seen: &Arc<Mutex<Vec<f64>>>, has_output: bool) -> impl Callback<S::Value> + use<S> {
    let seen = Arc::clone(seen);
    move |adjoints: &mut CallbackAdjoints<S::Value>| {
        let mut seed = S::Value::ZERO;
        if has_output {
            seed = adjoints.get_and_reset_output(0);
            adjoints.increment_input(0, seed);
        }
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(seed.as_f64());
        Ok(())
    }
}

/// Callbacks, including callbacks without outputs, are called at their positions, the last one first, in every sweep.
pub fn callbacks_in_order<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(S::Value::from_f64(3.0));
        let mut y = x.clone();
        for _ in 0..3 {
            y = (&y * 2.0).eval();
            let value = y.value();
            y = scope.insert_callback(&[y], &[value], noting::<S>(&seen, true)).remove(0);
            scope.insert_callback(&[], &[], noting::<S>(&seen, false));
        }
        (x, y)
    });
    for _ in 0..2 {
        let slope = tape.sweep(&[(&y, S::Value::ONE)])?.of(&x)?;
        close("the slope behind three callbacks", slope, 8.0)?;
        let seen = core::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
        ensure(seen == [0.0, 1.0, 0.0, 2.0, 0.0, 4.0], format_args!("callbacks saw {seen:?}"))?;
    }
    Ok(())
}

/// Two variables.
type Pair<T> = [Real<T>; 2];

/// A few statements.
fn steps<T: Taping>(n: usize, [x, k]: &Pair<T>) -> Pair<T> {
    let [mut x, mut k] = [x.clone(), k.clone()];
    for _ in 0..n {
        [x, k] = [(&x * &k).sin().eval(), (&k * 1.0 + &x * -0.25).eval()];
    }
    [x, k]
}

/// A function of two variables. A pointer, so that all stages are of one type.
type OfPair<T> = fn(&Pair<T>) -> Pair<T>;

/// Stages one after the other, that many, of that function.
fn stages<S: Reverse>(count: usize, state: &Pair<S>, plain: OfPair<Passive<S::Value>>, taped: OfPair<S>) -> Pair<S> {
    let mut state = state.clone();
    for _ in 0..count {
        state = Stage::<S>::new().run(&state, plain, taped);
    }
    state
}

/// Stages, which are recorded on tapes of this strategy when a sweep reaches them, and stages inside stages, give the
/// adjoints that all statements on one tape give.
pub fn checkpointed_stages<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let at = [0.75, 1.5];
    let mut plain = recorded::<S>(&at, |x| steps(24, &[x[0].clone(), x[1].clone()]).to_vec());
    let mut nested = recorded::<S>(&at, |x| {
        let two = |state: &Pair<S>| stages::<S>(2, state, |state| steps(4, state), |state| steps(4, state));
        stages::<S>(3, &[x[0].clone(), x[1].clone()], |state| steps(8, state), two).to_vec()
    });
    for seeds in [[1.0, 0.0], [0.5, -2.0], [1.0, 0.0]] {
        let expected = gradient_of(&mut plain, &seeds)?;
        nested.sweep_gives("the gradient through stages", &seeds, &expected)?;
    }
    still_works(nested.tape)
}

/// The adjoints of the inputs of a recording.
fn gradient_of<S: Reverse>(recorded: &mut Recorded<S>, seeds: &[f64]) -> Result<Vec<f64>, Error> {
    let adjoints = recorded.tape.sweep_all(&recorded.y, &floats(seeds))?.of_all(&recorded.x)?;
    Ok(adjoints.into_iter().map(Number::as_f64).collect())
}

/// A nested recording in a rule is swept alone, and wiped: the adjoints of the recording around it are as they were.
pub fn nested_recording_in_a_rule<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let mut recorded = recorded::<S>(&[0.5, 2.0], |x| {
        let (pool, at) = (TapePool::<S>::new(), [x[0].value(), x[1].value()]);
        let values = steps(5, &at.map(Real::<Passive<S::Value>>::constant)).map(|y| y.value());
        let rules = Rules::new("five steps", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
            let mut nested = pool.nested();
            let x = nested.inputs(&at);
            let y = steps(5, &[x[0].clone(), x[1].clone()]);
            let swept = nested.compute_adjoints(&[(&y[0], outputs[0]), (&y[1], outputs[1])]);
            let found = swept.and_then(|()| Ok([nested.adjoint(&x[0])?, nested.adjoint(&x[1])?]));
            inputs.copy_from_slice(&found.map_err(|error| crate::SweepError::rule("five steps", error))?);
            Ok(())
        });
        let y = external(x, &values, rules);
        vec![(&y[0] * &y[1] + &x[0]).eval()]
    });
    let mut plain = recorded_on(Tape::<S>::new(), &[0.5, 2.0], |x| {
        let [p, q] = steps(5, &[x[0].clone(), x[1].clone()]);
        vec![(&p * &q + &x[0]).eval()]
    });
    let expected = gradient_of(&mut plain, &[1.0])?;
    recorded.sweep_gives("the gradient by a nested recording", &[1.0], &expected)?;
    recorded.sweep_gives("the gradient by a second one", &[1.0], &expected)
}

/// A loop that is reversed with a few snapshots.
pub fn reversed_loop<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let mut tape = Tape::<S>::new();
    let (x, end) = tape.record(|scope| -> Result<_, Error> {
        let x = scope.inputs(&floats(&[0.75, 1.5]));
        let end = TimeLoop::<S>::new(Revolve::new(12, 2)).run(
            &(),
            &[x[0].clone(), x[1].clone()],
            |_, (), state| steps(1, state),
            |_, (), state| steps(1, state),
        )?;
        Ok((x, end))
    })?;
    let mut plain = recorded::<S>(&[0.75, 1.5], |x| steps(12, &[x[0].clone(), x[1].clone()]).to_vec());
    for seeds in [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] {
        let expected = gradient_of(&mut plain, &seeds)?;
        let found = tape.sweep_all(&end, &floats(&seeds))?.of_all(&x)?;
        all_close("the gradient of a loop", &found, &expected)?;
    }
    Ok(())
}

/// Counts up when it is dropped.
struct Drops(Arc<AtomicUsize>);

impl Drop for Drops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Rules are dropped once: with their recording, or when the tape is reset to a position before them.
pub fn rules_are_dropped_once<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let drops = Arc::new(AtomicUsize::new(0));
    let rule = || {
        let kept = Drops(Arc::clone(&drops));
        Rules::new("a rule", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
            let gone = kept.0.load(Ordering::Relaxed);
            inputs[0] += if gone > 1 { S::Value::from_f64(f64::NAN) } else { outputs[0] };
            Ok(())
        })
    };
    let dropped = |what: &str, expected: usize| {
        let found = drops.load(Ordering::Relaxed);
        ensure(found == expected, format_args!("{found} rules have been dropped, not {expected}, {what}"))
    };
    let mut tape = Tape::<S>::new();
    let y = tape.record(|scope| {
        let x = scope.input(S::Value::ONE);
        external(core::slice::from_ref(&x), &[x.value()], rule()).remove(0)
    });
    let position = tape.position();
    tape.resume(|scope| -> Outcome {
        let y = scope.renew(&y)?;
        external(core::slice::from_ref(&y), &[y.value()], rule());
        Ok(())
    })?;
    dropped("before any of them should be", 0)?;
    tape.reset_to(&position)?;
    dropped("after a reset to the position between them", 1)?;
    tape.sweep(&[(&y, S::Value::ONE)])?;
    tape.reset();
    dropped("after a reset", 2)?;
    drop(tape);
    dropped("after the tape", 2)
}
