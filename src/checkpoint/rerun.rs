//! Running a part of a computation again, to record it this time.

use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use crate::variables::Variables;
use tapewright_strategies::{Passive, Reverse, Scratch, SweepError, TapeNumber, Taping, active, catch_storage_errors};

/// The values of these variables.
pub(crate) fn plain<S, X>(x: &X) -> X::With<Passive<S::Value>>
where
    S: Taping,
    X: Variables<S>,
{
    x.map(&mut |x| Real::constant(x.value()))
}

/// A collection of the same shape of the variables that the list has, in order.
pub(super) fn rebuild<S, T, X>(x: &X, variables: &mut impl Iterator<Item = Real<T>>) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    x.map(&mut |_| variables.next().expect("there are as many variables as there were"))
}

/// Records `f` at these values on this tape, out of sight of all other recordings; returns its inputs and outputs.
///
/// # Panics
///
/// When an output is a variable of another recording.
#[allow(clippy::type_complexity, reason = "inputs, and outputs")]
pub(crate) fn record<T, X, Y>(
    tape: &mut Tape<T>,
    inputs: &X,
    f: impl FnOnce(&X::With<T>) -> Y,
) -> Result<(Scratch<Real<T>>, Y), SweepError>
where
    T: Reverse,
    X: Variables<Passive<T::Value>>,
    Y: Variables<T>,
{
    isolated::<T, _>(|| {
        tape.record(|scope| {
            let (mut values, mut variables) = (Scratch::new(), Scratch::new());
            inputs.visit(&mut |slice| values.extend_from_slice(Real::floats(slice)));
            scope.inputs_into(&values, &mut variables);
            let outputs = f(&rebuild(inputs, &mut variables.iter().cloned()));
            assert_own(Some(scope.number()), &outputs);
            (variables, outputs)
        })
    })
}

/// Sweeps a recording forward, from these tangents of its inputs to those of its outputs.
pub(super) fn sweep_forward<T: Reverse>(
    tape: &mut Tape<T>,
    (inputs, tangents): (&[Real<T>], &[T::Value]),
    (outputs, results): (&[&Real<T>], &mut [T::Value]),
) -> Result<(), SweepError> {
    let tangents: Vec<(&Real<T>, T::Value)> = inputs.iter().zip(tangents.iter().copied()).collect();
    results.copy_from_slice(&tape.jvp(&tangents, outputs).map_err(into_sweep_error)?);
    Ok(())
}

/// Runs `f`, which records under `T`, out of sight of all recordings; returns the error that its storage met.
pub(super) fn isolated<T: Reverse, Y>(f: impl FnOnce() -> Y) -> Result<Y, SweepError> {
    let run = || active::isolated(f);
    Ok(if T::SPILLS { catch_storage_errors(run)? } else { run() })
}

/// Panics if an output is a variable of another recording than this one, or of any recording if it is `None`: the function has
/// it from elsewhere than from its inputs.
pub(super) fn assert_own<T: Reverse>(recording: Option<TapeNumber>, outputs: &impl Variables<T>) {
    outputs.visit(&mut |slice| slice.iter().for_each(|output| assert_one(recording, output)));
}

/// The variables of a collection, which are passive or of this recording.
///
/// # Panics
///
/// When one is of another recording.
pub(super) fn own<T: Reverse>(recording: TapeNumber, outputs: &impl Variables<T>, count: usize) -> Vec<Real<T>> {
    let mut own = Vec::with_capacity(count);
    outputs.visit(&mut |slice| own.extend(slice.iter().inspect(|output| assert_one(Some(recording), output)).cloned()));
    own
}

#[inline(always)]
fn assert_one<T: Reverse>(recording: Option<TapeNumber>, output: &Real<T>) {
    if let Some((number, _)) = T::locate(output.id()) {
        assert!(
            recording == Some(number),
            "a stage returns a variable of recording {number} that is not among its inputs: what a stage depends on must be \
             declared as an input, or its derivative would be lost (return a constant of the variable's value if that is meant)"
        );
    }
}

/// Sweeps a recording from these outputs with these seeds, and adds the adjoints of the inputs, for each of several vectors that
/// lie interlaced.
pub(super) fn sweep<T: Reverse>(
    tape: &mut Tape<T>,
    (inputs, outputs): (&[Real<T>], &[Real<T>]),
    seeds: &[T::Value],
    adjoints: &mut [T::Value],
    lanes: usize,
) -> Result<(), SweepError> {
    let swept = if lanes == 1 {
        tape.sweep_through((outputs, seeds), (inputs, adjoints))
    } else {
        tape.sweep_lanes_through(lanes, (outputs, seeds), (inputs, adjoints))
    };
    swept.map_err(into_sweep_error)
}

/// An error of a nested sweep, as that of the sweep around it.
pub(super) fn into_sweep_error(error: Error) -> SweepError {
    match error {
        Error::Sweep(error) => error,
        Error::Storage(error) => SweepError::Storage(error),
        error => SweepError::rule("a checkpointed stage", error),
    }
}
