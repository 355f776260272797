//! What the functions that read the data of records have in common.

use super::usize_of;
use crate::{AtExternal, IndexType, Number, SweepError};
use core::slice;

/// What the functions that reverse records share during a sweep. What all of them use comes first: elsewhere it would
/// cost each an instruction.
#[repr(C)]
pub(super) struct Sweep<'a, V> {
    pub(super) adjoints: &'a mut [V],
    /// The values of variables, if the tape keeps them. A pointer, because the sweep restores those that were
    /// overwritten.
    pub(super) values: *mut V,
    /// How many there are.
    pub(super) known: usize,
    pub(super) at: &'a mut AtExternal<'a, V>,
    /// Why the sweep with one adjoint vector has ended early, if it has: its loop returns numbers and addresses, in
    /// registers.
    pub(super) outcome: Result<(), SweepError>,
}

impl<V> Sweep<'_, V> {
    /// Does what is to be done where an external function was called.
    #[inline(always)]
    pub(super) fn meet(&mut self, external: usize, lanes: usize) -> Result<(), SweepError> {
        (self.at)(external, 0..lanes, self.adjoints)
    }

    /// The values of variables; none if there are none.
    ///
    /// # Safety
    ///
    /// Nobody writes to them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn values(&self) -> &[V] {
        // SAFETY: `known` values lie there; the caller promises the rest.
        unsafe { values_of(self.values, self.known) }
    }
}

/// This many values; an empty slice if there are none.
///
/// # Safety
///
/// They lie there, and nobody writes to them meanwhile.
#[inline(always)]
pub(super) unsafe fn values_of<'a, V>(values: *const V, known: usize) -> &'a [V] {
    // SAFETY: promised by the caller.
    if known == 0 { &[] } else { unsafe { slice::from_raw_parts(values, known) } }
}

/// Adds seed·∂/∂argument to the adjoint of each of the `n` arguments of the record whose identifiers end at `ids_end`,
/// and returns where its data begin, not counting the values of passive arguments. The seed is finite: with another,
/// zero partials have to be left out.
///
/// A function that was compiled for a type of statement returns its argument less a constant. So a processor that has
/// predicted the call knows where the record before this one ends, and need not wait until it has read this one.
///
/// # Safety
///
/// * A record with `n` arguments that was written for the layout that holds this function has its identifiers there.
/// * They are below the number of adjoints and, where the function reads them, of values.
pub(super) type ReverseFn<V> =
    unsafe fn(ids_end: *const u8, n: usize, seed: <V as Number>::Passed, sweep: &mut Sweep<'_, V>) -> *const u8;

/// Appends seed·∂/∂argument for each argument to the list, if there is one, passive arguments included, whose entries
/// mean nothing. Without a list, returns the value of the statement at these values of variables; `None` if the record
/// does not say how to compute it.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(super) type RerunFn<V> =
    unsafe fn(ids_end: *const u8, n: usize, seed: V, values: &[V], list: Option<&mut Vec<V>>) -> Option<V>;

/// The name of a function in a statement that is singular at these values of variables.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(super) type SingularFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> Option<&'static str>;

/// The identifiers of a record.
///
/// # Safety
///
/// `n` of them end there.
#[inline(always)]
pub(super) unsafe fn identifiers<I: IndexType>(
    ids_end: *const u8,
    n: usize,
) -> impl ExactSizeIterator<Item = usize> + Clone + use<I> {
    let first = ids_end.wrapping_sub(n * size_of::<I>()).cast::<I>();
    // SAFETY: promised by the caller.
    (0..n).map(move |k| unsafe { usize_of(first.add(k).read_unaligned().widen()) })
}

/// The numbers in front of the identifiers of a record.
///
/// # Safety
///
/// `n` identifiers end there, with `count` numbers in front of them.
#[inline(always)]
pub(super) unsafe fn numbers<V: Copy, I>(
    ids_end: *const u8,
    n: usize,
    count: usize,
) -> impl ExactSizeIterator<Item = V> + Clone + use<V, I> {
    let first = ids_end.wrapping_sub(n * size_of::<I>() + count * size_of::<V>()).cast::<V>();
    // SAFETY: promised by the caller.
    (0..count).map(move |k| unsafe { first.add(k).read_unaligned() })
}

/// Adds to the adjoints of a record's arguments, one after the other.
pub(super) struct Arguments<'a, V, I> {
    pub(super) ids: *const I,
    pub(super) adjoints: &'a mut [V],
}

impl<V: Number, I: IndexType> Arguments<'_, V, I> {
    /// # Safety
    ///
    /// This is called at most once for each identifier of the record, and all of them are below the number of adjoints.
    #[inline(always)]
    unsafe fn add(&mut self, contribution: V) {
        // SAFETY: promised by the caller.
        unsafe {
            let id = usize_of(self.ids.read_unaligned().widen());
            self.ids = self.ids.add(1);
            debug_assert!(id < self.adjoints.len(), "identifiers are below the recording's length");
            *self.adjoints.get_unchecked_mut(id) += contribution;
        }
    }
}

/// Where the identifiers of a record begin, and the numbers in front of them.
#[inline(always)]
pub(super) const fn parts<V, I>(ids_end: *const u8, leaves: usize, payload: usize) -> (*const I, *const V) {
    let ids = ids_end.wrapping_sub(leaves * size_of::<I>());
    (ids.cast(), ids.wrapping_sub(payload * size_of::<V>()).cast())
}

/// Where contributions go.
pub(super) trait Target<V> {
    /// # Safety
    ///
    /// As [`Arguments::add`].
    unsafe fn take(&mut self, contribution: V);
}

impl<V: Number, I: IndexType> Target<V> for Arguments<'_, V, I> {
    #[inline(always)]
    unsafe fn take(&mut self, contribution: V) {
        // SAFETY: promised by the caller.
        unsafe { self.add(contribution) }
    }
}

impl<V> Target<V> for &mut Vec<V> {
    #[inline(always)]
    unsafe fn take(&mut self, contribution: V) {
        self.push(contribution);
    }
}

/// A rule of a user has not kept its promise.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn misreported() -> ! {
    panic!("a statement must report as many leaves, constants and partials as its types say")
}
