//! Adjoints during the sweep with one adjoint vector.

use super::data::{Data, Kind};
use super::jacobian::{Factored, Scattered};
use crate::{AtExternal, IndexType, Number, Shape, SweepError};
use core::marker::PhantomData;
use core::slice;

/// The data of a record that is being reversed, and the adjoints of its recording.
pub(super) struct Reversal<'a, 's, K, V, I> {
    data: Data<'a, K, V, I>,
    adjoints: *mut V,
    length: usize,
    borrows: PhantomData<&'s mut [V]>,
}

impl<'a, 's, K: Kind<V, I>, V: Number, I: IndexType> Reversal<'a, 's, K, V, I> {
    /// # Safety
    ///
    /// The adjoints, of which there are `length`, are more than any identifier in the data, and for `'s` nobody else
    /// uses them.
    #[inline(always)]
    pub(super) const unsafe fn new(data: Data<'a, K, V, I>, adjoints: *mut V, length: usize) -> Self {
        Self { data, adjoints, length, borrows: PhantomData }
    }

    /// The record's data.
    #[inline(always)]
    pub(super) const fn data(&self) -> Data<'a, K, V, I> {
        self.data
    }

    /// Adds to the adjoints of the arguments, one after the other.
    #[inline(always)]
    pub(super) fn adding(self) -> Adding<'s, impl Iterator<Item = usize>, V> {
        Adding { ids: self.data.ids(), adjoints: self.adjoints, length: self.length, borrows: PhantomData }
    }
}

/// Adds to the adjoints of a record's arguments, one after the other.
pub(super) struct Adding<'s, A, V> {
    ids: A,
    adjoints: *mut V,
    length: usize,
    borrows: PhantomData<&'s mut [V]>,
}

/// Where contributions go.
pub(super) trait Target<V> {
    /// The contribution for the next argument; false if there is none.
    fn take(&mut self, contribution: V) -> bool;
}

impl<A: Iterator<Item = usize>, V: Number> Target<V> for Adding<'_, A, V> {
    #[inline(always)]
    fn take(&mut self, contribution: V) -> bool {
        let Some(id) = self.ids.next() else { return false };
        debug_assert!(id < self.length, "identifiers are below the recording's length");
        // SAFETY: the identifiers of a record are below the number of adjoints of its recording.
        unsafe { *self.adjoints.add(id) += contribution }
        true
    }
}

impl<V> Target<V> for &mut Vec<V> {
    #[inline(always)]
    fn take(&mut self, contribution: V) -> bool {
        self.push(contribution);
        true
    }
}

/// The adjoint that was added to last by the first and by the last argument of a record, as far as nothing else has
/// been added since.
///
/// What has just been written to memory can be read back only some 12 cycles later, and in many recordings a record adds
/// to what the one behind it has added to: in `sum += a * b` to the sum before, or to the same `b` over and over.
pub(super) struct Recent<V> {
    first: (usize, V),
    last: (usize, V),
}

impl<V: Number> Recent<V> {
    /// No variable has this identifier.
    const NONE: usize = usize::MAX;

    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { first: (Self::NONE, V::ZERO), last: (Self::NONE, V::ZERO) }
    }

    /// The adjoint of this variable, which is 0 afterwards; `single` says whether records have one argument.
    ///
    /// # Safety
    ///
    /// There is one.
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, adjoints: *mut V, id: usize, single: bool) -> V {
        let (recent, adjoint) = if single { self.last } else { self.first };
        // SAFETY: promised by the caller.
        let place = unsafe { adjoints.add(id) };
        // SAFETY: as above.
        let seed = if recent == id { adjoint } else { unsafe { place.read() } };
        // SAFETY: as above.
        unsafe { place.write(V::ZERO) }
        if self.last.0 == id {
            self.last.0 = Self::NONE;
        }
        seed
    }

    /// Adds to the adjoints of the arguments of a Jacobian record.
    ///
    /// # Safety
    ///
    /// As [`Reversal::new`], and nothing but this and [`take`](Self::take) has changed the adjoints since `self` is new.
    #[inline(always)]
    pub(super) unsafe fn scatter<H: Shape, I: IndexType>(
        &mut self,
        data: Data<'_, Scattered<H>, V, I>,
        adjoints: *mut V,
        seed: V,
    ) {
        let to = AddingRecent { ids: data.ids(), adjoints, recent: self, is_first: H::LEAVES > 1 };
        H::scatter(seed, seed, &mut Factored { factors: data.numbers(), to });
    }
}

/// [`Adding`] that makes use of what is recent.
struct AddingRecent<'r, A, V> {
    ids: A,
    adjoints: *mut V,
    recent: &'r mut Recent<V>,
    is_first: bool,
}

impl<A: ExactSizeIterator<Item = usize>, V: Number> Target<V> for AddingRecent<'_, A, V> {
    #[inline(always)]
    fn take(&mut self, contribution: V) -> bool {
        let Some(id) = self.ids.next() else { return false };
        let (Recent { first, last }, is_last) = (&mut *self.recent, self.ids.len() == 0);
        // SAFETY: identifiers are below the number of adjoints.
        let place = unsafe { self.adjoints.add(id) };
        // SAFETY: as above.
        let before = if is_last && last.0 == id { last.1 } else { unsafe { place.read() } };
        let sum = before + contribution;
        // SAFETY: as above.
        unsafe { place.write(sum) }
        if core::mem::replace(&mut self.is_first, false) {
            *first = (id, sum);
        } else if first.0 == id {
            first.0 = Recent::<V>::NONE;
        }
        if is_last {
            *last = (id, sum);
        } else if last.0 == id {
            last.0 = Recent::<V>::NONE;
        }
        true
    }
}

/// What the sweep with one adjoint vector shares with the functions that reverse records. What all of them use comes
/// first: elsewhere it would cost each an instruction.
#[repr(C)]
pub(super) struct Sweep<'a, V> {
    /// Pointers, because the loop over records keeps them in registers while functions use them, too.
    pub(super) adjoints: *mut V,
    pub(super) length: usize,
    /// The values of variables, if the tape keeps them. The sweep restores those that were overwritten.
    pub(super) values: *mut V,
    /// How many there are.
    pub(super) known: usize,
    at: &'a mut AtExternal<'a, V>,
    /// Why the sweep has ended early, if it has: its loop returns numbers and addresses, in registers.
    pub(super) outcome: Result<(), SweepError>,
    borrows: PhantomData<&'a mut [V]>,
}

impl<'a, V> Sweep<'a, V> {
    /// A sweep over these adjoints, with values that it may write to if the recording restores them.
    pub(super) fn new(
        adjoints: &'a mut [V],
        (values, known): (*mut V, usize),
        at: &'a mut AtExternal<'a, V>,
    ) -> Self {
        let (length, adjoints) = (adjoints.len(), adjoints.as_mut_ptr());
        Self { adjoints, length, values, known, at, outcome: Ok(()), borrows: PhantomData }
    }

    /// All adjoints.
    #[inline(always)]
    pub(super) fn adjoints(&mut self) -> &mut [V] {
        // SAFETY: they are borrowed for `'a`, and through `self` alone.
        unsafe { slice::from_raw_parts_mut(self.adjoints, self.length) }
    }

    /// Does what is to be done where an external function was called.
    pub(super) fn meet(&mut self, external: usize) {
        // SAFETY: as in `adjoints`.
        let adjoints = unsafe { slice::from_raw_parts_mut(self.adjoints, self.length) };
        self.outcome = (self.at)(external, 0..1, adjoints);
    }

    /// The values of variables; none if there are none.
    ///
    /// # Safety
    ///
    /// Nobody writes to them meanwhile.
    pub(super) unsafe fn values(&self) -> &[V] {
        // SAFETY: `known` values lie there; the caller promises the rest.
        if self.known == 0 { &[] } else { unsafe { slice::from_raw_parts(self.values, self.known) } }
    }
}
