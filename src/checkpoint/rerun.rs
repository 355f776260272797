//! Running a part of a computation again, to record it this time.

use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use crate::variables::Variables;
use smallvec::SmallVec;
use tapewright_strategies::{
    Float, Passive, Reverse, Scratch, SweepError, TapeNumber, Taping, active, catch_storage_errors,
};

/// The values of these variables.
///
/// # Panics
///
/// When `map` makes more variables than `visit` gives, or fewer.
pub(crate) fn plain<S, X>(x: &X) -> X::With<Passive<S::Value>>
where
    S: Taping,
    X: Variables<S>,
{
    counted(x, |x| Real::constant(x.value()))
}

/// [`plain`] for a collection of which these are the [arguments](Variables::arguments).
///
/// # Panics
///
/// When they do not belong together.
pub(crate) fn plain_at<S, X>(x: &X, arguments: &[(S::Value, &S::Id)]) -> X::With<Passive<S::Value>>
where
    S: Taping,
    X: Variables<S>,
{
    let plain = plain(x);
    assert_order(&plain, arguments, |x, (value, _)| has_value(x, *value));
    plain
}

/// [`Variables::map`] with a function that keeps values.
///
/// # Panics
///
/// When `map` makes more variables than `visit` gives, or fewer, or does not put them where `visit` finds them.
pub(crate) fn convert<S, T, X>(x: &X, f: impl FnMut(&Real<S>) -> Real<T>) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    let converted = counted(x, f);
    let mut values = SmallVec::<[S::Value; 8]>::new();
    x.visit(&mut |slice| values.extend(slice.iter().map(Real::value)));
    assert_order(&converted, &values, |x, value| has_value(x, *value));
    converted
}

fn counted<S, T, X>(x: &X, mut f: impl FnMut(&Real<S>) -> Real<T>) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    let mut calls = 0;
    let made = x.map(&mut |x| {
        calls += 1;
        f(x)
    });
    let (before, after) = (visited(x), visited(&made));
    if (calls, after) != (before, before) {
        let made = if calls == before { after } else { calls };
        contradiction::<X>(format_args!("`visit` gives {before} variables, and `map` makes {made}"));
    }
    made
}

/// The number of variables, as `visit` gives them.
pub(super) fn visited<S: Taping>(x: &impl Variables<S>) -> usize {
    let mut count = 0;
    x.visit(&mut |slice| count += slice.len());
    count
}

/// A collection of the same shape of these variables, in order. `same` tells variables apart.
///
/// # Panics
///
/// When `map` takes more of them or fewer, or does not put them where `visit` finds them.
pub(crate) fn rebuild<S, T, X>(x: &X, variables: &[Real<T>], same: impl Fn(&Real<T>, &Real<T>) -> bool) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    let count = variables.len();
    let mut rest = variables.iter();
    let rebuilt = x.map(&mut |_| match rest.next() {
        Some(variable) => variable.clone(),
        None => contradiction::<X>(format_args!("`visit` gives {count} variables, and `map` makes more")),
    });
    if rest.len() > 0 {
        let made = count - rest.len();
        contradiction::<X>(format_args!("`visit` gives {count} variables, and `map` makes {made}"));
    }
    assert_order(&rebuilt, variables, same);
    rebuilt
}

/// # Panics
///
/// When these are not the variables of the collection, in the order of `visit`.
pub(super) fn assert_order<S, X, E>(x: &X, expected: &[E], same: impl Fn(&Real<S>, &E) -> bool)
where
    S: Taping,
    X: Variables<S>,
{
    let (mut rest, mut right) = (expected, true);
    x.visit(&mut |slice| {
        let (here, beyond) = rest.split_at(slice.len().min(rest.len()));
        right &= here.len() == slice.len() && slice.iter().zip(here).all(|(found, expected)| same(found, expected));
        rest = beyond;
    });
    if !right || !rest.is_empty() {
        contradiction::<X>(format_args!("`map` does not put variables where `visit` finds them"));
    }
}

/// Whether two variables have the same value, bit for bit.
pub(crate) fn same_value<S: Taping>(a: &Real<S>, b: &Real<S>) -> bool {
    has_value(a, b.value())
}

/// Whether a variable has this value, bit for bit.
pub(super) fn has_value<S: Taping>(x: &Real<S>, value: S::Value) -> bool {
    let (found, expected) = (x.value().as_f64(), value.as_f64());
    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
}

/// Whether two inputs of a recording are the same one.
pub(super) fn same_variable<S: Reverse>(a: &Real<S>, b: &Real<S>) -> bool {
    S::locate(a.id()) == S::locate(b.id())
}

/// Panics because an implementation of [`Variables`] contradicts itself.
#[cold]
pub(super) fn contradiction<X>(what: core::fmt::Arguments<'_>) -> ! {
    panic!("`Variables` is not implemented correctly for {}: {what}", core::any::type_name::<X>())
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
            let outputs = f(&rebuild(inputs, &variables, same_variable));
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
