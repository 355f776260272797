//! Writing closures of users.

use super::slow::where_they_belong;
use crate::storage::Layer;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, LinearId, Number, Policy, Reverse, recording};
use core::panic::Location;

/// Records a statement that a user's closure reverses; returns passive, and drops it, if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record).
#[track_caller]
pub(crate) fn append_closure<S, V, M, L, K, F>(arguments: &[LinearId<M::Index>], reverse: F) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    F: Fn(V, &mut [V]) + Send + Sync + 'static,
{
    // If it is refused, it is dropped when the tape is not lent out any more: its destructor may record.
    let mut reverse = Some(reverse);
    let id = where_they_belong::<S, M>(arguments.iter().copied(), |tape| tape.push_closure(arguments, &mut reverse));
    let here = Location::caller();
    S::Policy::tracing(|| {
        let raw = M::raw(&id);
        if raw.is_active() {
            recording::note::<S>(raw.number(), here);
        }
    });
    id
}
