//! Closures of users: objects that records hold, and that have to be dropped.

use super::layout::Layout;
use super::records::{Content, Records};
use super::write::{narrow, where_they_belong};
use crate::refusal::Refusal;
use crate::storage::Layer;
use crate::{Float, IndexManager, LinearId, Reverse};
use core::mem::needs_drop;
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The objects in records that have to be dropped, in the order of the records: each once, until it is taken out to be dropped. All
/// are taken out before anything is written over them.
#[derive(Default)]
pub(super) struct Objects(Vec<Object>);

struct Object {
    at: *mut u8,
    /// # Safety
    ///
    /// The object lies there, and nobody uses it any more.
    drop: unsafe fn(*mut u8),
}

impl Objects {
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) const fn memory(&self) -> crate::MemoryUsage {
        crate::MemoryUsage::of_vec(&self.0)
    }

    /// Drops all but the first `kept`; all of them, also when some panic.
    pub(super) fn truncate(&mut self, kept: usize) {
        let mut panics = Vec::new();
        while self.0.len() > kept
            && let Some(Object { at, drop }) = self.0.pop()
        {
            // SAFETY: the object was moved there when it was listed, nothing has been written over it since, and as it is listed no
            // more, it is dropped once.
            panics.extend(catch_unwind(AssertUnwindSafe(|| unsafe { drop(at) })).err());
        }
        // While unwinding, a second panic would abort.
        if let Some(panic) = panics.pop()
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

/// Records a statement that a user's closure reverses; returns passive, and drops it, if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record).
#[track_caller]
pub(crate) fn append_closure<S, V, M, L, K, F>(arguments: &[LinearId<M::Index>], reverse: F) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Float,
    M: IndexManager,
    L: Layer,
    K: Content,
    F: Fn(V, &mut [V]) + Send + Sync + 'static,
{
    // If it is refused, it is dropped when the tape is not lent out any more: its destructor may record.
    let mut reverse = Some(reverse);
    where_they_belong::<S, M>(arguments.iter().copied(), |tape| tape.push_closure(arguments, &mut reverse))
}

impl<V: Float, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
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
        if self.objects.0.try_reserve(usize::from(needs_drop::<F>())).is_err() {
            let bytes = 2 * self.objects.len() * size_of::<Object>();
            return Err(Refusal::OutOfMemory { bytes, what: "the list of closures with destructors" });
        }
        let skipped = self.data.addr().next_multiple_of(align_of::<F>()) - self.data.addr();
        let object = self.data.wrapping_add(skipped);
        let id = self.push(layout, V::zero(), skipped + fixed, |record| {
            record.skip(skipped);
            record.put(reverse.take().expect("the closure is moved once"));
            arguments.iter().for_each(|id| record.put(narrow::<M>(id.index())));
            record.put(u32::try_from(skipped).expect("alignments are small"));
            record.put(count);
        })?;
        if needs_drop::<F>() {
            self.objects.0.push(Object { at: object, drop: drop_as::<F> });
        }
        Ok(id)
    }
}

/// # Safety
///
/// An `F` lies there, and nobody uses it any more.
unsafe fn drop_as<F>(object: *mut u8) {
    // SAFETY: promised by the caller.
    unsafe { ptr::drop_in_place(object.cast::<F>()) }
}
