//! Second runs of a part of a computation, which record it.

use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use crate::variables::{Variables, ViewParts, ViewRef};
use smallvec::SmallVec;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::memory::{Shadow, Shadows};
use tapewright_strategies::storage::{catch_storage_errors, uses_devices};
use tapewright_strategies::{Number, Passive, Reverse, Scratch, SweepError, Taping, recording, same};

/// A collection of the values of these variables, as passive variables.
///
/// # Panics
///
/// When `map` makes more variables than `visit` gives, or fewer.
pub(crate) fn plain<S, X>(x: &X) -> X::With<Passive<S::Value>>
where
    S: Taping,
    X: Variables<S>,
{
    counted(x, |x| Real::constant(x.peek()))
}

/// [`plain`] for a collection of which these are the [arguments](Variables::arguments).
///
/// # Panics
///
/// When the arguments are not of this collection.
pub(crate) fn plain_at<S, X>(x: &X, arguments: &[(S::Value, &S::Id)]) -> X::With<Passive<S::Value>>
where
    S: Taping,
    X: Variables<S>,
{
    let plain = plain(x);
    assert_order(&plain, arguments.len(), &|slice, at| {
        slice.iter().zip(&arguments[at..]).all(|(x, (value, _))| has_value(x, *value))
    });
    plain
}

/// Constants with the values of these variables.
///
/// # Panics
///
/// When [`convert`] does.
pub(crate) fn constants<S, T, X>(x: &X) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    convert(x, |x| Real::constant(x.peek()))
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
    x.visit(&mut |slice| values.extend(slice.iter().map(Real::peek)));
    assert_order(&converted, values.len(), &|slice, at| {
        slice.iter().zip(&values[at..]).all(|(x, value)| has_value(x, *value))
    });
    converted
}

fn counted<S, T, X>(x: &X, mut f: impl FnMut(&Real<S>) -> Real<T>) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    let mut calls = 0;
    let mut counting = |x: &Real<S>| {
        calls += 1;
        f(x)
    };
    let made = x.map_with(&mut counting, &mut |view: ViewRef<'_, S::Value>| view.constant());
    assert_views(x, &made);
    let (before, after) = (visited(x), visited(&made));
    if (calls, after) != (before, before) {
        let made = if calls == before { after } else { calls };
        contradiction::<X>(format_args!("`visit` gives {before} variables, and `map` makes {made}"));
    }
    made
}

/// Number of variables that `visit` passes.
pub(super) fn visited<S: Taping>(x: &impl Variables<S>) -> usize {
    let mut count = 0;
    x.visit(&mut |slice| count += slice.len());
    count
}

/// Panics unless the second collection has as many views as the first, of the same shapes.
fn assert_views<S: Taping, T: Taping<Value = S::Value>, X: Variables<S>>(x: &X, made: &X::With<T>) {
    let (before, after) = (x.views(), made.views());
    let same = |(a, b): (&ViewRef<'_, S::Value>, &ViewRef<'_, S::Value>)| a.shape == b.shape;
    if before.len() != after.len() || !before.iter().zip(&after).all(same) {
        let (before, after) = (before.len(), after.len());
        contradiction::<X>(format_args!(
            "`visit_views` gives {before} views, and `map_with` makes {after}, or others: a collection with views \
         implements both"
        ));
    }
}

/// Panics if there are views, for parts of the library that take variables only.
#[track_caller]
pub(crate) fn refuse_views<S: Taping>(what: &str, x: &impl Variables<S>) {
    assert!(x.views().is_empty(), "{what} takes and returns variables, and no views: use a `Stage` for those");
}

/// A collection of the same shape that consists of these variables, in order. `same` compares two variables. Views
/// become constants.
///
/// # Panics
///
/// When `map` takes more variables or fewer, or does not put them where `visit` finds them.
pub(crate) fn rebuild<S, T, X>(x: &X, variables: &[Real<T>], same: Same<T>) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    rebuild_with(x, variables, &mut |view| view.constant(), same)
}

/// [`rebuild`], with views that `views` makes from the collection's views.
pub(super) fn rebuild_with<S, T, X>(
    x: &X,
    variables: &[Real<T>],
    mut views: &mut MakeView<'_, S::Value>,
    same: Same<T>,
) -> X::With<T>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
{
    let count = variables.len();
    let mut rest = variables.iter();
    let mut next = |_: &Real<S>| match rest.next() {
        Some(variable) => variable.clone(),
        None => contradiction::<X>(format_args!("`visit` gives {count} variables, and `map` makes more")),
    };
    let rebuilt = x.map_with(&mut next, &mut views);
    assert_views(x, &rebuilt);
    if rest.len() > 0 {
        let made = count - rest.len();
        contradiction::<X>(format_args!("`visit` gives {count} variables, and `map` makes {made}"));
    }
    assert_order(&rebuilt, count, &|slice, at| same(slice, &variables[at..]));
    rebuilt
}

/// Makes a view of a collection from the view in its place.
type MakeView<'f, V> = dyn FnMut(ViewRef<'_, V>) -> ViewParts<V> + 'f;

/// Compares variables with as many of the others, pairwise.
type Same<T> = fn(&[Real<T>], &[Real<T>]) -> bool;

/// Asserts that a collection has the variables that it should have, in their order.
///
/// # Panics
///
/// When the collection has not this many variables, or `same` returns false for a slice of them and the number of
/// variables before it in the order of `visit`. Slices are compared at once: the function is behind a pointer.
fn assert_order<S: Taping, X: Variables<S>>(x: &X, count: usize, same: &dyn Fn(&[Real<S>], usize) -> bool) {
    let (mut passed, mut right) = (0, true);
    x.visit(&mut |slice| {
        right = right && slice.len() <= count - passed && same(slice, passed);
        passed = if right { passed + slice.len() } else { passed };
    });
    if !right || passed != count {
        contradiction::<X>(format_args!("`map` does not put variables where `visit` finds them"));
    }
}

/// Returns true if variables have the same values pairwise, bit for bit.
pub(crate) fn same_values<S: Taping>(a: &[Real<S>], b: &[Real<S>]) -> bool {
    a.iter().zip(b).all(|(a, b)| has_value(a, b.peek()))
}

/// Returns true if a variable has this value, bit for bit.
fn has_value<S: Taping>(x: &Real<S>, value: S::Value) -> bool {
    same(x.peek(), value)
}

/// Returns true if inputs of a recording are the same inputs pairwise.
pub(super) fn same_variables<S: Reverse>(a: &[Real<S>], b: &[Real<S>]) -> bool {
    a.iter().zip(b).all(|(a, b)| S::locate(a.id()) == S::locate(b.id()))
}

/// Panics because an implementation of [`Variables`] contradicts itself.
#[cold]
pub(super) fn contradiction<X>(what: core::fmt::Arguments<'_>) -> ! {
    panic!("`Variables` is not implemented correctly for {}: {what}", core::any::type_name::<X>())
}

/// Records `f` at these values on this tape, hidden from all other recordings; returns its inputs and outputs.
///
/// # Panics
///
/// When an output is a variable of another recording.
#[allow(clippy::type_complexity, reason = "inputs, and outputs")]
pub(crate) fn record<T, X, Y>(
    tape: &mut Tape<T>,
    inputs: &X,
    f: &mut dyn FnMut(&X::With<T>) -> Y,
) -> Result<(Scratch<Real<T>>, Y), SweepError>
where
    T: Reverse,
    X: Variables<Passive<T::Value>>,
    Y: Variables<T>,
{
    let (variables, _, outputs) = record_with_views(tape, inputs, &mut |number, at| {
        let outputs = f(at);
        assert_own(Some(number), &outputs);
        outputs
    })?;
    Ok((variables, outputs))
}

/// [`record`] for a function that checks its outputs itself, given the number of the recording. Also returns the slots
/// of the inputs that are views.
#[allow(clippy::type_complexity, reason = "inputs, and outputs")]
pub(super) fn record_with_views<T, X, Y>(
    tape: &mut Tape<T>,
    inputs: &X,
    f: &mut dyn FnMut(RecordingId, &X::With<T>) -> Y,
) -> Result<(Scratch<Real<T>>, Slots, Y), SweepError>
where
    T: Reverse,
    X: Variables<Passive<T::Value>>,
{
    isolated::<T, _>(|| {
        tape.record(|scope| {
            let (mut values, mut variables) = (Scratch::new(), Scratch::new());
            inputs.visit(&mut |slice| values.extend_from_slice(Real::floats(slice)));
            scope.inputs_into(&values, &mut variables);
            let mut slots = Slots::new();
            let at = rebuild_with(
                inputs,
                &variables,
                &mut |view| input::<T>(scope.number(), view, &mut slots),
                same_variables,
            );
            let outputs = f(scope.number(), &at);
            (variables, slots, outputs)
        })
    })
}

/// Slots of views in a recording.
pub(super) type Slots = SmallVec<[usize; 4]>;

/// Both ends of a recording: variables, and slots of views.
pub(super) struct Ends<'a, T: Taping> {
    pub(super) inputs: &'a [Real<T>],
    pub(super) outputs: &'a [Real<T>],
    /// Slots of views among the inputs.
    pub(super) from: &'a [usize],
    /// Slots of views among the outputs.
    pub(super) to: &'a [usize],
}

/// Makes a view of a collection an input of a recording, and appends its slot to the list.
pub(super) fn input<T: Reverse>(
    number: RecordingId,
    view: ViewRef<'_, T::Value>,
    slots: &mut Slots,
) -> ViewParts<T::Value> {
    let dependence = Flow::Recorded(number).fresh::<T>();
    slots.push(dependence.slot());
    ViewParts { values: view.values.clone(), dependence, shares: false }
}

/// Slots of the views of a collection; 0 for constants.
pub(super) fn slots<S: Taping>(x: &impl Variables<S>) -> Slots {
    let mut slots = Slots::new();
    x.visit_views(&mut |view| slots.push(view.dependence.slot()));
    slots
}

/// Adds a shadow to another one.
pub(super) fn add_shadow<V: Number>(sum: &mut Shadow<V>, other: Shadow<V>) {
    let mut both = Shadows::new();
    both.give(1, core::mem::take(sum));
    both.give(1, other);
    *sum = both.take(1);
}

/// Runs `f`, which records under `T`, hidden from all recordings; returns the error that its storage met.
pub(super) fn isolated<T: Reverse, Y>(f: impl FnOnce() -> Y) -> Result<Y, SweepError> {
    let run = || recording::isolated(f);
    Ok(if T::SPILLS || uses_devices() { catch_storage_errors(run)? } else { run() })
}

/// Panics if an output is a variable of another recording than this one, or of any recording if this one is `None`: the
/// function has not made it from its inputs.
pub(super) fn assert_own<T: Reverse>(recording: Option<RecordingId>, outputs: &impl Variables<T>) {
    outputs.visit(&mut |slice| slice.iter().for_each(|output| assert_one(recording, output)));
    outputs.visit_views(&mut |view| {
        if let Dependence::Recorded { number, .. } = view.dependence {
            assert_number(recording, *number);
        }
    });
}

/// The variables of a collection, which are passive or of this recording.
///
/// # Panics
///
/// When one is of another recording.
pub(super) fn own<T: Reverse>(recording: RecordingId, outputs: &impl Variables<T>, count: usize) -> Vec<Real<T>> {
    let mut own = Vec::with_capacity(count);
    assert_own(Some(recording), outputs);
    outputs.visit(&mut |slice| own.extend_from_slice(slice));
    own
}

#[inline(always)]
fn assert_one<T: Reverse>(recording: Option<RecordingId>, output: &Real<T>) {
    if let Some((number, _)) = T::locate(output.id()) {
        assert_number(recording, number);
    }
}

fn assert_number(recording: Option<RecordingId>, number: RecordingId) {
    assert!(
        recording == Some(number),
        "a stage returns a variable of recording {number} that is not among its inputs: what a stage depends on must \
         be declared as an input, or its derivative would be lost (return a constant of the variable's value if that \
         is meant)"
    );
}

/// Sweeps a recording from these outputs with these seeds, and adds the adjoints of the inputs, for each of several
/// interleaved vectors.
pub(super) fn sweep_lanes<T: Reverse>(
    tape: &mut Tape<T>,
    ends: Ends<'_, T>,
    seeds: &[T::Value],
    adjoints: &mut [T::Value],
    lanes: usize,
) -> Result<(), SweepError> {
    if lanes == 1 {
        return sweep(tape, ends, (seeds, Vec::new()), adjoints).map(drop);
    }
    tape.sweep_lanes_through(lanes, (ends.outputs, seeds), (ends.inputs, adjoints)).map_err(into_sweep_error)
}

/// Sweeps a recording from these outputs with these seeds, and shadows of views, adds the adjoints of the inputs, and
/// returns the shadows of the inputs that are views.
pub(super) fn sweep<T: Reverse>(
    tape: &mut Tape<T>,
    ends: Ends<'_, T>,
    (seeds, shadows): (&[T::Value], Vec<Shadow<T::Value>>),
    adjoints: &mut [T::Value],
) -> Result<Vec<Shadow<T::Value>>, SweepError> {
    let given = ends.to.iter().copied().zip(shadows);
    let swept = tape.sweep_through((ends.outputs, seeds), given, (ends.inputs, adjoints), ends.from);
    swept.map_err(into_sweep_error)
}

/// Sweeps a recording forward, from these tangents of its inputs to the tangents of its outputs, including views.
pub(super) fn sweep_forward<T: Reverse>(
    tape: &mut Tape<T>,
    ends: Ends<'_, T>,
    (tangents, shadows): (&[T::Value], Vec<Shadow<T::Value>>),
    results: &mut [T::Value],
) -> Result<Vec<Shadow<T::Value>>, SweepError> {
    let given = ends.from.iter().copied().zip(shadows);
    let swept = tape.jvp_of_views((ends.inputs, tangents), given, (ends.outputs, results), ends.to);
    swept.map_err(into_sweep_error)
}

/// Converts an error of a nested sweep into an error of the sweep around it.
pub(super) fn into_sweep_error(error: Error) -> SweepError {
    match error {
        Error::Sweep(error) => error,
        Error::Storage(error) => SweepError::Storage(error),
        error => SweepError::rule("a checkpointed stage", error),
    }
}
