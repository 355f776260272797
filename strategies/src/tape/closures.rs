//! Writing closures of users.

use super::layout::Layout;
use super::records::{Content, Records};
use super::write_slowly::{narrow, where_they_belong};
use crate::refusal::Refusal;
use crate::storage::Layer;
use crate::{IndexManager, LinearId, Number, Policy, Reverse, active};
use core::mem::needs_drop;
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
            active::note::<S>(raw.number(), here);
        }
    });
    id
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Makes a record of a closure of the user's, over arguments of this recording; takes it out of `reverse` then.
    fn push_closure<F>(
        &mut self,
        arguments: &[LinearId<M::Index>],
        reverse: &mut Option<F>,
    ) -> Result<LinearId<M::Index>, Refusal>
    where
        F: Fn(V, &mut [V]) + Send + Sync + 'static,
    {
        let count = u32::try_from(arguments.len()).expect("a closure has fewer than 2^32 arguments");
        let most = align_of::<F>() - 1;
        let fixed = size_of::<F>() + arguments.len() * size_of::<M::Index>() + 2 * size_of::<u32>();
        let layout = const { &Layout::closure::<F, M::Index>() };
        self.make_room(fixed + most + Self::TAIL + Self::CODE)?;
        if needs_drop::<F>() {
            let refused = |bytes| Refusal::OutOfMemory { bytes, what: "the list of closures with destructors" };
            self.objects.reserve().map_err(refused)?;
        }
        let skipped = self.data.addr().next_multiple_of(align_of::<F>()) - self.data.addr();
        let object = self.data.wrapping_add(skipped);
        let id = self.push(layout, V::ZERO, skipped + fixed, |record| {
            record.skip(skipped);
            record.put(reverse.take().expect("the closure is moved once"));
            arguments.iter().for_each(|id| record.put(narrow::<M>(id.index())));
            record.put(u32::try_from(skipped).expect("alignments are small"));
            record.put(count);
        })?;
        if needs_drop::<F>() {
            // SAFETY: it has just been moved there; `F` is `Send` and `Sync`.
            unsafe { self.objects.push::<F>(object) }
        }
        Ok(id)
    }
}
