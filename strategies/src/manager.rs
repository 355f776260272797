//! Index management: how variables get identifiers.

use crate::identifier::{IndexType, LinearId};
use crate::recording;
use core::fmt;
use core::marker::PhantomData;
use core::mem::forget;
use core::sync::atomic::{AtomicU64, Ordering};

/// The way in which a tape gives identifiers to variables: [`Linear`] or [`Reuse`].
pub trait IndexManager: sealed::Sealed + 'static {
    /// The width of identifiers.
    type Index: IndexType;
    /// The identifier that a variable carries.
    type Id: Clone + fmt::Debug + Send + Sync + 'static;
    /// True if later variables get the identifiers of dropped ones.
    const REUSES: bool;
    /// The largest identifier.
    const LARGEST: u64;

    #[doc(hidden)]
    fn passive() -> Self::Id;
    #[doc(hidden)]
    fn raw(id: &Self::Id) -> LinearId<Self::Index>;
    /// Returns the identifier of a variable for a statement whose result replaces the variable's value. An identifier
    /// that other variables may share has a mark, and is then not [`within`](LinearId::within) any recording.
    #[doc(hidden)]
    #[inline(always)]
    fn own(id: &mut Self::Id) -> Option<LinearId<Self::Index>> {
        let _ = id;
        None
    }
    /// Replaces the identifier of a variable by a new one, or by its [own](Self::own).
    #[doc(hidden)]
    #[inline(always)]
    fn put(id: &mut Self::Id, new: Self::Id) {
        *id = new;
    }
    /// Makes the identifier that a variable carries from one that the tape has just taken.
    #[doc(hidden)]
    fn adopt(raw: LinearId<Self::Index>) -> Self::Id;
    /// Makes the identifier that a variable carries from one that the tape has just taken and never takes back.
    #[doc(hidden)]
    fn adopt_pinned(raw: LinearId<Self::Index>) -> Self::Id;
}

mod sealed {
    pub trait Sealed {}
    impl<I> Sealed for super::Linear<I> {}
    impl Sealed for super::Reuse {}
}

/// Linear index management: each variable gets the next identifier, in the order of the statements, and keeps it.
///
/// Records need not contain the identifier of their result, and variables are `Copy`. The adjoint vector has one entry
/// for each input and statement of the recording. `I` is the width of identifiers: `u32` or `u64`.
#[derive(Clone, Copy, Debug)]
pub struct Linear<I = u32>(PhantomData<I>);

/// Reusing index management: a variable returns its identifier when it is dropped, and a later variable gets it; copies
/// share one identifier.
///
/// The target of `y += x` or `y.assign(x)` keeps its identifier, unless it is an input, has been copied, or belongs to
/// a recording other than the innermost.
///
/// The adjoint vector is as long as the maximum number of variables that were alive at the same time (inputs count as
/// alive throughout, because their adjoints are read at the end), and stays in the cache where a linear one would not.
/// A record contains the identifier of its result: 4 bytes more, and under strategies that keep values the overwritten
/// value, 8 bytes, instead of a value for each identifier. Variables are `Clone` and not `Copy`: generic code is
/// written over [`Taping`](crate::Taping), with references.
///
/// At most 2³⁰ − 1 variables (of 16 bytes) may be alive at the same time; the number of statements is not limited.
#[derive(Clone, Copy, Debug)]
pub struct Reuse(());

impl<I: IndexType> IndexManager for Linear<I> {
    type Index = I;
    type Id = LinearId<I>;
    const REUSES: bool = false;
    const LARGEST: u64 = I::LARGEST;
    #[inline(always)]
    fn passive() -> LinearId<I> {
        LinearId::passive()
    }
    #[inline(always)]
    fn raw(id: &LinearId<I>) -> LinearId<I> {
        *id
    }
    #[inline(always)]
    fn adopt(raw: LinearId<I>) -> LinearId<I> {
        raw
    }
    #[inline(always)]
    fn adopt_pinned(raw: LinearId<I>) -> LinearId<I> {
        raw
    }
}

impl IndexManager for Reuse {
    type Index = u32;
    type Id = CountedId;
    const REUSES: bool = true;
    const LARGEST: u64 = CountedId::SHARED - 1;
    #[inline(always)]
    fn passive() -> CountedId {
        CountedId(AtomicU64::new(0))
    }
    #[inline(always)]
    fn raw(id: &CountedId) -> LinearId<u32> {
        LinearId::from_bits(id.load() & !(CountedId::PINNED | CountedId::SHARED))
    }
    #[inline(always)]
    fn own(id: &mut CountedId) -> Option<LinearId<u32>> {
        Some(LinearId::from_bits(*id.0.get_mut()))
    }
    fn put(id: &mut CountedId, mut new: CountedId) {
        if id.0.get_mut() == new.0.get_mut() {
            forget(new);
        } else {
            *id = new;
        }
    }
    #[inline(always)]
    fn adopt(raw: LinearId<u32>) -> CountedId {
        CountedId(AtomicU64::new(raw.to_bits()))
    }
    #[inline(always)]
    fn adopt_pinned(raw: LinearId<u32>) -> CountedId {
        CountedId(AtomicU64::new(raw.to_bits() | CountedId::PINNED))
    }
}

/// The identifier of a variable under [`Reuse`]: 8 bytes. The recording that made the identifier counts its copies.
///
/// The last copy that is dropped returns the identifier, while the recording is active on this thread. Where the
/// recording is not active (it has finished, or belongs to another thread), dropping does nothing, and copying pins the
/// original's identifier: it is never returned, so that the copy cannot come to refer to another variable.
pub struct CountedId(
    /// The recording id in the upper half, two marks, and the index. Atomic, because copying through a shared reference
    /// marks the original; relaxed, because a mark is for the thread that drops the variable, and that thread does so
    /// after all borrows have ended.
    AtomicU64,
);

impl CountedId {
    /// The mark of a pinned identifier, which is never returned.
    const PINNED: u64 = 1 << 31;
    /// The mark of an identifier that other variables may share.
    const SHARED: u64 = 1 << 30;

    #[inline(always)]
    fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Marks the original of a copy that is about to be made.
    #[inline]
    fn share(&self) {
        let bits = self.load();
        if bits == 0 || bits & Self::PINNED != 0 {
            return;
        }
        let first = bits & Self::SHARED == 0;
        if !recording::share(Reuse::raw(self), first) {
            // Another thread may be copying the same variable.
            self.0.fetch_or(Self::PINNED, Ordering::Relaxed);
        } else if first {
            self.0.fetch_or(Self::SHARED, Ordering::Relaxed);
        }
    }
}

impl Clone for CountedId {
    #[inline]
    fn clone(&self) -> Self {
        self.share();
        Self(AtomicU64::new(self.load()))
    }
}

impl Drop for CountedId {
    #[inline(always)]
    fn drop(&mut self) {
        let bits = *self.0.get_mut();
        // In most cases, the bits less those of the innermost recording's id are the index alone.
        if !recording::release_unshared(bits, Self::SHARED) && bits != 0 && bits & Self::PINNED == 0 {
            recording::release(Reuse::raw(self), bits & Self::SHARED != 0);
        }
    }
}

impl fmt::Debug for CountedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reuse::raw(self).fmt(f)
    }
}
