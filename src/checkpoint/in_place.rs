//! Blocks that are recorded where they are called, and not apart.
//!
//! A recording for a program or for replays is computed again at other inputs: what was recorded in it, and nothing
//! else. So stages, time loops and preaccumulated blocks of its strategy are recorded in it, as long as it is short.

use super::rerun::{plain, rebuild, same_values};
use crate::expr::Real;
use crate::variables::Variables;
use core::any::{Any, TypeId};
use tapewright_strategies::{Passive, Taping};

/// Variables of a recording in which blocks are recorded where they are called, at most.
const MOST_VARIABLES: usize = 1 << 20;

type Arguments<'a, S> = [(<S as Taping>::Value, &'a <S as Taping>::Id)];

/// False if blocks of strategy `T` are never recorded in recordings of `S`: code for it is not compiled then.
pub(crate) const fn is_possible<S: Taping, T: Taping>() -> bool {
    S::KEEPS_GUARDS && T::KEEPS_GUARDS
}

/// Returns the length of the recording of these variables, if a block of strategy `T` is to be recorded in it.
#[track_caller]
fn length_before<S: Taping, T: Taping>(arguments: &Arguments<'_, S>) -> Option<usize> {
    let length = if TypeId::of::<S>() == TypeId::of::<T>() { S::length_if_guarded(arguments) } else { None };
    length.filter(|length| *length < MOST_VARIABLES)
}

/// Records a block of strategy `T` in the recording of its inputs, if blocks are recorded there. Returns its results,
/// and their variables.
#[track_caller]
pub(crate) fn record<S, T, X, Y>(
    inputs: &X,
    arguments: &Arguments<'_, S>,
    block: impl FnOnce(&X::With<T>) -> Y,
) -> Option<(Y, Vec<Real<S>>)>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    X: Variables<S>,
    Y: Variables<T>,
{
    length_before::<S, T>(arguments)?;
    let results = block(&inputs.map(&mut same));
    let variables = results.list().into_iter().map(same).collect();
    Some((results, variables))
}

/// Records the steps of a time loop in the recording of its inputs, if blocks are recorded there and all steps fit into
/// it. Returns the last state.
#[track_caller]
pub(super) fn record_steps<S, T, C, X>(
    (parameters, state): (&C, &X),
    steps: usize,
    step: &dyn Fn(usize, &C::With<T>, &X::With<T>) -> X::With<T>,
) -> Option<X>
where
    S: Taping,
    T: Taping<Value = S::Value>,
    C: Variables<S>,
    X: Variables<S>,
    X::With<T>: Variables<T, With<Passive<S::Value>> = X::With<Passive<S::Value>>>,
    X::With<Passive<S::Value>>: Variables<Passive<S::Value>, With<S> = X>,
{
    let mut arguments = parameters.arguments();
    arguments.extend(state.arguments());
    if !parameters.views().is_empty() || !state.views().is_empty() {
        return None;
    }
    let before = length_before::<S, T>(&arguments)?;
    let parameters = parameters.map(&mut same);
    let mut state: X::With<T> = state.map(&mut same);
    for number in 0..steps {
        state = step(number, &parameters, &state);
        let fits = |after: usize| (after - before).checked_mul(steps).is_some_and(|all| all < MOST_VARIABLES - before);
        if number == 0 && !S::length_if_guarded(&arguments).is_some_and(fits) {
            return None;
        }
    }
    let variables: Vec<Real<S>> = state.list().into_iter().map(same).collect();
    Some(rebuild(&plain(&state), &variables, same_values))
}

/// The variable under `T`, which is the same strategy as `S`.
fn same<S: Taping, T: Taping>(x: &Real<S>) -> Real<T> {
    (x as &dyn Any).downcast_ref::<Real<T>>().expect("the strategies are the same").clone()
}
