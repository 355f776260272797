//! Blocks that are recorded where they are called, and not apart.
//!
//! A recording for a program or for replays is computed again at other inputs: what was recorded in it, and nothing
//! else. So stages, time loops and preaccumulated blocks of its strategy are recorded in it, as long as it is short.

use super::placed::dependences;
use super::rerun::{plain, rebuild_with, same_values};
use crate::expr::Real;
use crate::variables::{Variables, ViewParts, ViewRef};
use core::any::{Any, TypeId};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tapewright_strategies::recording::{guards, in_place, note_read};
use tapewright_strategies::{Number, Passive, Taping, same};

/// Numbers of a recording in which blocks are recorded where they are called, at most: variables, and elements of
/// arrays.
const MOST_NUMBERS: usize = 1 << 20;

/// False if blocks of strategy `T` are never recorded in recordings of `S`: code for it is not compiled then.
pub(crate) const fn is_possible<S: Taping, T: Taping>() -> bool {
    S::KEEPS_GUARDS && T::KEEPS_GUARDS
}

/// Returns how many numbers the recording of these variables holds, if a block of strategy `T` is to be recorded in it.
#[track_caller]
fn length<S: Taping, T: Taping>(arguments: &[(S::Value, &S::Id)], views: &[ViewRef<'_, S::Value>]) -> Option<usize> {
    let is_same = TypeId::of::<S>() == TypeId::of::<T>();
    let length = if is_same { S::length_if_guarded(&dependences(views), arguments) } else { None };
    length.filter(|length| *length < MOST_NUMBERS)
}

/// Variables and views that were recorded.
pub(crate) struct Recorded<S: Taping> {
    variables: Vec<Real<S>>,
    views: Vec<ViewParts<S::Value>>,
}

impl<S: Taping> Recorded<S> {
    /// Those of a collection over `T`, which is the same strategy.
    fn of<T: Taping<Value = S::Value>>(results: &impl Variables<T>) -> Self {
        let variables = results.list().into_iter().map(renamed).collect();
        Self { variables, views: results.views().into_iter().map(as_it_is).collect() }
    }

    /// Returns true if these are the variables and views of a collection, by their values.
    pub(super) fn has_values_of<P: Taping<Value = S::Value>>(&self, results: &impl Variables<P>) -> bool {
        let (values, views) = (results.values(), results.views());
        let same_elements = |(a, b): (&ViewParts<S::Value>, &ViewRef<'_, S::Value>)| {
            let (a, b) = (a.values.elements(), b.values());
            a.len() == b.len() && a.iter().zip(&*b).all(|(a, b)| same(*a, *b))
        };
        (self.variables.len(), self.views.len()) == (values.len(), views.len())
            && self.variables.iter().zip(&values).all(|(x, value)| same(x.peek(), *value))
            && self.views.iter().zip(&views).all(same_elements)
    }

    /// A collection of the same shape that consists of these.
    pub(crate) fn in_shape_of<P: Taping<Value = S::Value>, Y: Variables<P>>(self, results: &Y) -> Y::With<S> {
        let mut views = self.views.into_iter();
        let view = &mut |view: ViewRef<'_, S::Value>| views.next().unwrap_or_else(|| view.constant());
        rebuild_with(results, &self.variables, view, same_values)
    }
}

/// Records a block of strategy `T` in the recording of its inputs, if blocks are recorded there. Returns its results,
/// under both names.
#[track_caller]
pub(crate) fn record<S, T, X, Y>(inputs: &X, block: impl FnOnce(&X::With<T>) -> Y) -> Option<(Y, Recorded<S>)>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
    Y: Variables<T>,
{
    if !guards() {
        return None;
    }
    length::<S, T>(&inputs.arguments(), &inputs.views())?;
    let inputs = inputs.map_with(&mut renamed, &mut as_it_is);
    let results = in_place(|| block(&inputs));
    let recorded = Recorded::of(&results);
    Some((results, recorded))
}

/// A step of a loop, given its number, the parameters and the state before it.
type Step<'a, C, X> = &'a dyn Fn(usize, &C, &X) -> X;

/// Records the steps of a time loop in the recording of its inputs, if blocks are recorded there and all steps fit into
/// it. Returns the last state.
#[track_caller]
pub(super) fn record_steps<S, T, C, X>(
    (parameters, state): (&C, &X),
    steps: usize,
    step: Step<'_, C::With<T>, X::With<T>>,
) -> Option<X>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    C: Variables<S>,
    X: Variables<S>,
    X::With<T>: Variables<T, With<Passive<S::Value>> = X::With<Passive<S::Value>>>,
    X::With<Passive<S::Value>>: Variables<Passive<S::Value>, With<S> = X>,
{
    if !guards() {
        return None;
    }
    let (mut arguments, mut views) = (parameters.arguments(), parameters.views());
    arguments.extend(state.arguments());
    views.extend(state.views());
    let before = length::<S, T>(&arguments, &views)?;
    let parameters = parameters.map_with(&mut renamed, &mut as_it_is);
    let mut state: X::With<T> = state.map_with(&mut renamed, &mut as_it_is);
    for number in 0..steps {
        state = in_place(|| step(number, &parameters, &state));
        // The first step says how long all would be; others may be longer.
        let rest = if number == 0 { steps } else { 1 };
        let fits = |after: usize| after.saturating_sub(before).saturating_mul(rest) < MOST_NUMBERS - before;
        if !length::<S, T>(&arguments, &views).is_some_and(fits) {
            return None;
        }
    }
    Some(Recorded::<S>::of(&state).in_shape_of(&plain(&state)))
}

/// Runs what is not recorded in place. A panic, and results that leave nothing in a recording, are decisions that
/// follow from the inputs, which are read where a recording notes it: it is used again where they are the same.
pub(crate) fn apart<S: Taping, Y>(
    read: impl FnOnce(),
    leaves_nothing: impl FnOnce(&Y) -> bool,
    run: impl FnOnce() -> Y,
) -> Y {
    if !S::KEEPS_GUARDS || !guards() {
        return run();
    }
    let outcome = catch_unwind(AssertUnwindSafe(run));
    if outcome.as_ref().map_or(true, leaves_nothing) {
        read();
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Reads the inputs of a block, where a recording notes it.
pub(crate) fn read<S: Taping>(inputs: &impl Variables<S>) {
    inputs.list().into_iter().for_each(|x| _ = x.value());
    inputs.views().iter().filter_map(|view| view.dependence.number()).for_each(note_read);
}

/// Returns true if a collection has neither variables nor views.
pub(crate) fn is_empty<S: Taping>(results: &impl Variables<S>) -> bool {
    results.count() == 0 && results.views().is_empty()
}

/// The variable under `T`, which is the same strategy as `S`.
fn renamed<S: Taping, T: Taping>(x: &Real<S>) -> Real<T> {
    (x as &dyn Any).downcast_ref::<Real<T>>().expect("the strategies are the same").clone()
}

/// The parts of a view, whose slot it shares, as a copy does.
fn as_it_is<V: Number>(view: ViewRef<'_, V>) -> ViewParts<V> {
    ViewParts { values: view.values.clone(), dependence: view.dependence.clone(), shares: true }
}
