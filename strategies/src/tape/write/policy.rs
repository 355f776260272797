//! The entry points of statements, with the checks that policies require.
//!
//! Under [`Checked`](crate::Checked) singular functions are noted while recording, whatever the record keeps: partials
//! may be computed only in the sweep, where the line of the statement is not known. Under
//! [`Tracing`](crate::policy::Tracing) the source location is noted, and the first non-finite value.

use super::{fast, variadic};
use crate::contract::Taped;
use crate::identifier::{IndexType, LinearId};
use crate::policy::{Inline, Policy};
use crate::singular::{partials_of_slice, refuses_singular, singular_function};
use crate::storage::Layer;
use crate::tape::format::layout::LayoutOf;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Nary, Number, Reverse, Statement, Taping, recording};
use core::panic::Location;

/// Records a typed statement; returns the identifier of its result, passive if no argument is active.
///
/// # Panics
///
/// In the cases listed at [`fast::append`].
#[inline(always)]
#[track_caller]
pub(crate) fn append<S, V, M, L, K, N>(statement: &N) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V, Raw = LinearId<M::Index>> + LayoutOf<N>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    N: Statement<S>,
{
    let id = fast::append::<S, V, M, L, K, N>(None, statement).unwrap_or_else(M::passive);
    if const { S::Policy::WATCHES } {
        note::<S, N, M::Index>(statement, M::raw(&id));
    }
    id
}

/// Records a typed statement whose result replaces a variable, which may be among its arguments. Under index management
/// that reuses identifiers, an identifier that no other variable has is kept, and the record overwrites its value.
///
/// # Panics
///
/// In the cases listed at [`fast::append`]; the variable is then unchanged.
#[inline(always)]
#[track_caller]
pub(crate) fn append_over<S, V, M, L, K, N>(variable: &mut Taped<V, M::Id>, statement: &N)
where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V, Raw = LinearId<M::Index>> + LayoutOf<N>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    N: Statement<S>,
{
    let value = statement.value();
    if let Some(id) = fast::append::<S, V, M, L, K, N>(Some(&mut variable.id), statement) {
        variable.id = id;
    }
    variable.value = value;
    if const { S::Policy::WATCHES } {
        note::<S, N, M::Index>(statement, M::raw(&variable.id));
    }
}

/// Makes the notes that the policy requires on a statement whose result has this identifier.
#[inline(always)]
#[track_caller]
fn note<S: Reverse<Raw = LinearId<I>>, N: Statement<S>, I: IndexType>(statement: &N, id: LinearId<I>) {
    if const { refuses_singular::<S>() }
        && id.is_active()
        && let Some(function) = S::Policy::looking(|| singular_function(statement, |id| id.is_active()))
    {
        recording::note_singular(id.number(), function);
    }
    S::Policy::tracing_inline(Note::<S, N>(statement, id, Location::caller()));
}

/// A statement that has been recorded, its result, and its source location.
struct Note<'a, S: Taping, N>(&'a N, S::Raw, &'static Location<'static>);

impl<S: Reverse<Raw = LinearId<I>>, I: IndexType, N: Statement<S>> Inline for Note<'_, S, N> {
    #[inline(always)]
    fn call(self) {
        let Self(statement, id, here) = self;
        if id.is_active() {
            recording::note_statement::<S, N>(id.number(), statement, |id| id.is_active(), here);
        }
    }
}

/// Calls [`variadic::append_nary`], and makes the notes that the policy requires.
///
/// # Panics
///
/// In the cases listed at [`variadic::append_nary`].
#[track_caller]
pub(crate) fn append_nary<S, R, V, M, L, K>(arguments: &[&[Taped<V, M::Id>]], constants: &[V], value: V) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V>,
    R: Nary<V>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let id = variadic::append_nary::<S, R, V, M, L, K>(arguments, constants, value);
    if const { refuses_singular::<S>() && !R::UNIT } && M::raw(&id).is_active() {
        let (values, is_active) = values_and_activity::<V, M>(arguments);
        let mut partials = vec![V::ZERO; values.len()];
        if partials_of_slice::<S::Policy, R, V>(&values, constants, &mut partials, &is_active) {
            recording::note_singular(M::raw(&id).number(), core::any::type_name::<R>());
        }
    }
    let here = Location::caller();
    S::Policy::tracing(|| {
        let raw = M::raw(&id);
        if raw.is_active() {
            let (values, is_active) = values_and_activity::<V, M>(arguments);
            recording::note_nary::<S, R>(raw.number(), (values, &is_active), constants, value, here);
        }
    });
    id
}

/// The values of these arguments, one after the other, and for each, true if it is active.
fn values_and_activity<V: Number, M: IndexManager>(arguments: &[&[Taped<V, M::Id>]]) -> (Vec<V>, Vec<bool>) {
    arguments.iter().copied().flatten().map(|x| (x.value, M::raw(&x.id).is_active())).unzip()
}
