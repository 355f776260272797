//! Index management: how identifiers are given to variables.

use crate::active;
use crate::identifier::{IndexType, LinearId, TapeNumber};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

/// How a tape gives identifiers to variables: [`Linear`] or [`Reuse`].
pub trait IndexManager: sealed::Sealed + 'static {
    /// The width of identifiers.
    type Index: IndexType;
    /// What a variable carries.
    type Id: Clone + fmt::Debug + Send + Sync + 'static;
    /// Whether identifiers of variables that are gone are given to later ones.
    const REUSES: bool;
    /// The largest identifier.
    const LARGEST: u64;

    #[doc(hidden)]
    fn passive() -> Self::Id;
    #[doc(hidden)]
    fn raw(id: &Self::Id) -> LinearId<Self::Index>;
    /// Makes the identifier that the variable carries of one that was just taken.
    #[doc(hidden)]
    fn adopt(raw: LinearId<Self::Index>) -> Self::Id;
}

mod sealed {
    pub trait Sealed {}
    impl<I> Sealed for super::Linear<I> {}
    impl Sealed for super::Reuse {}
}

/// Each variable gets the next identifier, in the order of the statements, and keeps it.
///
/// Records need not say which variable they assign to, and variables are `Copy`. The adjoint vector is as long as the
/// recording has inputs and statements. `I` is the width: `u32` or `u64`.
#[derive(Clone, Copy, Debug)]
pub struct Linear<I = u32>(PhantomData<I>);

/// A variable returns its identifier when it is dropped, and a later one gets it; copies share one.
///
/// The adjoint vector is as long as the most variables that were alive at once (inputs count as alive throughout,
/// because their adjoints are asked for at the end), and stays in the cache where a linear one would not. A record says which
/// variable it assigns to: 4 bytes more, and under strategies that keep values the overwritten value, 8 bytes, instead of a value
/// for each identifier. Variables are `Clone` and not `Copy`: generic code is written over
/// [`Taping`](crate::Taping), with references.
///
/// Identifiers are 32 bits wide: at most 2³¹ − 1 variables may be alive at once, while the number of statements is not limited.
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
}

impl IndexManager for Reuse {
    type Index = u32;
    type Id = CountedId;
    const REUSES: bool = true;
    const LARGEST: u64 = (CountedId::PIN - 1) as u64;
    #[inline(always)]
    fn passive() -> CountedId {
        CountedId { number: TapeNumber(0), index: AtomicU32::new(0) }
    }
    #[inline(always)]
    fn raw(id: &CountedId) -> LinearId<u32> {
        LinearId::pack(id.number, u64::from(id.index()))
    }
    #[inline(always)]
    fn adopt(raw: LinearId<u32>) -> CountedId {
        #[allow(clippy::cast_possible_truncation, reason = "the index has 32 bits")]
        let index = raw.index() as u32;
        CountedId { number: raw.number(), index: AtomicU32::new(index) }
    }
}

/// The identifier of a variable under [`Reuse`]: 8 bytes, counted by the recording that made it.
///
/// Copies are counted, and the last one that is dropped returns the identifier, while the recording is active on this
/// thread. Where it is not (it has finished, or belongs to another thread), dropping does nothing, and copying keeps the
/// original's identifier from ever being returned, so that the copy cannot come to mean another variable.
pub struct CountedId {
    number: TapeNumber,
    /// The identifier; the highest bit says that this one is not counted.
    index: AtomicU32,
}

impl CountedId {
    const PIN: u32 = 1 << 31;

    #[inline(always)]
    fn index(&self) -> u32 {
        self.index.load(Ordering::Relaxed) & !Self::PIN
    }

    #[inline(always)]
    fn is_counted(&self) -> bool {
        self.number != TapeNumber(0) && self.index.load(Ordering::Relaxed) & Self::PIN == 0
    }
}

impl Clone for CountedId {
    #[inline(always)]
    fn clone(&self) -> Self {
        if self.is_counted() && !active::share(self.number, self.index()) {
            // Relaxed: whoever drops the original does so after this borrow has ended.
            self.index.fetch_or(Self::PIN, Ordering::Relaxed);
        }
        Self { number: self.number, index: AtomicU32::new(self.index.load(Ordering::Relaxed)) }
    }
}

impl Drop for CountedId {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_counted() {
            active::release(self.number, self.index());
        }
    }
}

impl fmt::Debug for CountedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reuse::raw(self).fmt(f)
    }
}
