//! Building blocks of scenarios.

use super::{Outcome, Unproven};
use crate::tape::Adjoints;
use crate::{Error, Number, Real, Reverse, Tape};
use core::any::Any;
use core::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use tapewright_strategies::same;
use tapewright_strategies::singular::refuses_singular;

/// Rounding errors allowed, in units of the value type's epsilon, relative to the larger of 1 and the exact result.
const ULPS: f64 = 256.0;

/// Fails with this reason unless the promise was kept.
pub(super) fn ensure(kept: bool, reason: impl Display) -> Outcome {
    if kept { Ok(()) } else { Err(Unproven::Broken(reason.to_string())) }
}

/// Skips a scenario about positions in a recording if the strategy has no positions.
pub(super) fn needs_marks<S: Reverse>() -> Outcome {
    if S::MARKS {
        return Ok(());
    }
    let strategy = core::any::type_name::<S>();
    let hidden = unless_it_panics(|| S::mark(&S::Tape::default())).is_some();
    ensure(!hidden, format_args!("{strategy} has marks, and says by `Reverse::MARKS` that it has none"))?;
    Err(Unproven::Skipped(format!("{strategy} keeps no track of places in a recording (`Reverse::MARKS`)")))
}

/// Skips a scenario that sweeps through singular points if the strategy's policy refuses that.
pub(super) fn needs_singular_points<S: Reverse>() -> Outcome {
    if !refuses_singular::<S>() {
        return Ok(());
    }
    let strategy = core::any::type_name::<S>();
    Err(Unproven::Skipped(format!("the policy of {strategy} refuses singular points")))
}

/// Floats as values of the value type; the floats in scenarios are exact in `f32`.
pub(super) fn floats<V: Number>(numbers: &[f64]) -> Vec<V> {
    numbers.iter().map(|number| V::from_f64(*number)).collect()
}

/// A passive variable.
pub(super) fn constant<S: Reverse>(number: f64) -> Real<S> {
    Real::constant(S::Value::from_f64(number))
}

/// Checks that a value is the expected one up to rounding; an infinite value has no rounding.
pub(super) fn close<V: Number>(what: &str, found: V, expected: f64) -> Outcome {
    let tolerance = ULPS * <V::Lane as crate::Float>::epsilon().as_f64() * expected.abs().max(1.0);
    let found = found.as_f64();
    let same = found == expected || expected.is_finite() && (found - expected).abs() <= tolerance;
    ensure(same, format_args!("{what} is {found}, not {expected}"))
}

/// Checks that values are the expected ones up to rounding.
pub(super) fn all_close<V: Number>(what: &str, found: &[V], expected: &[f64]) -> Outcome {
    ensure(found.len() == expected.len(), format_args!("{what} has {} entries, not {}", found.len(), expected.len()))?;
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        close(&format!("entry {i} of {what}"), *found, *expected)?;
    }
    Ok(())
}

/// Returns true if these are the same values, bit for bit.
pub(super) fn all_same<V: Number>(a: &[V], b: &[V]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
}

/// A recording that has finished, with its inputs and outputs.
pub(super) struct Recorded<S: Reverse> {
    pub(super) tape: Tape<S>,
    pub(super) x: Vec<Real<S>>,
    pub(super) y: Vec<Real<S>>,
}

/// Records `f` at `x` on a new tape.
pub(super) fn recorded<S: Reverse>(x: &[f64], mut f: impl FnMut(&[Real<S>]) -> Vec<Real<S>>) -> Recorded<S> {
    record(Tape::new(), x, &mut f)
}

/// Records `f` at `x` on this tape.
pub(super) fn recorded_on<S: Reverse>(
    tape: Tape<S>,
    x: &[f64],
    mut f: impl FnMut(&[Real<S>]) -> Vec<Real<S>>,
) -> Recorded<S> {
    record(tape, x, &mut f)
}

/// A computation that is to be recorded.
type Computation<'f, S, Y> = dyn FnMut(&[Real<S>]) -> Y + 'f;

/// [`recorded_on`] without a type parameter for the function: scenarios are many, and compile times add up.
fn record<S: Reverse>(mut tape: Tape<S>, x: &[f64], f: &mut Computation<S, Vec<Real<S>>>) -> Recorded<S> {
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&floats(x));
        let y = f(&x);
        (x, y)
    });
    Recorded { tape, x, y }
}

impl<S: Reverse> Recorded<S> {
    /// Sweeps from the outputs with these seeds.
    pub(super) fn sweep(&mut self, seeds: &[f64]) -> Result<Adjoints<'_, S>, Error> {
        self.tape.sweep_all(&self.y, &floats(seeds))
    }

    /// Sweeps, and compares the adjoints of the inputs.
    pub(super) fn sweep_gives(&mut self, what: &str, seeds: &[f64], expected: &[f64]) -> Outcome {
        let adjoints = self.tape.sweep_all(&self.y, &floats(seeds))?.of_all(&self.x)?;
        all_close(what, &adjoints, expected)
    }
}

/// Checks that `f` at `x` has this value and this gradient.
pub(super) fn gradient_is<S: Reverse>(
    what: &str,
    mut f: impl FnMut(&[Real<S>]) -> Real<S>,
    x: &[f64],
    value: f64,
    gradient: &[f64],
) -> Outcome {
    has_gradient(what, &mut f, x, value, gradient)
}

/// [`gradient_is`] without a type parameter for the function.
fn has_gradient<S: Reverse>(
    what: &str,
    f: &mut Computation<S, Real<S>>,
    x: &[f64],
    value: f64,
    gradient: &[f64],
) -> Outcome {
    let mut recorded = recorded(x, |x| vec![f(x)]);
    close(&format!("the value of {what}"), recorded.y[0].value(), value)?;
    recorded.sweep_gives(&format!("the gradient of {what}"), &[1.0], gradient)
}

/// Checks that a tape with a history records and sweeps as a new one does.
pub(super) fn still_works<S: Reverse>(tape: Tape<S>) -> Outcome {
    let mut again = recorded_on(tape, &[1.5, 2.0], |x| {
        let t = (&x[0] * &x[1]).eval();
        vec![(&t * &t + x[1].exp()).eval()]
    });
    again.sweep_gives("the gradient of a later recording", &[1.0], &[12.0, 9.0 + 2.0_f64.exp()])
}

/// Id of the recording that a variable belongs to; 0 if the variable is passive.
pub(super) fn number_of<S: Reverse>(variable: &Real<S>) -> u32 {
    S::locate(variable.id()).map_or(0, |(number, _)| number.get())
}

/// Returns true if a variable is passive.
pub(super) fn is_passive<S: Reverse>(variable: &Real<S>) -> bool {
    S::locate(variable.id()).is_none()
}

/// The text of a panic.
pub(super) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without text")
}

/// Runs `f`, and returns `None` if it panics.
pub(super) fn unless_it_panics<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// Checks that `f` panics with a text that names these recordings as `#number`.
pub(super) fn panics_naming(what: &str, numbers: &[u32], f: &mut dyn FnMut()) -> Outcome {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        return Err(Unproven::Broken(format!("{what} did not panic")));
    };
    let text = panic_message(&*payload);
    numbers.iter().try_for_each(|number| {
        ensure(names(text, *number), format_args!("{what} panics without naming recording #{number}: {text}"))
    })
}

/// Returns true if a text contains `#number`, and not as the beginning of a longer number.
fn names(text: &str, number: u32) -> bool {
    let named = format!("#{number}");
    text.match_indices(&named).any(|(at, _)| !text[at + named.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// A scenario's part on another thread.
pub(super) type Elsewhere = Box<dyn FnOnce() -> Outcome + Send>;

/// Starts a thread. A boxed function, because each type of function would compile a start of its own.
pub(super) fn start_thread(f: Elsewhere) -> JoinHandle<Outcome> {
    std::thread::spawn(f)
}

/// Waits for a thread; a panic there is a broken promise.
pub(super) fn outcome_of_thread(thread: JoinHandle<Outcome>) -> Outcome {
    let joined = thread.join();
    joined.unwrap_or_else(|payload| Err(Unproven::Broken(format!("unexpected panic: {}", panic_message(&*payload)))))
}

/// Runs a scenario on a thread of its own.
pub(super) fn on_another_thread(f: Elsewhere) -> Outcome {
    outcome_of_thread(start_thread(f))
}
