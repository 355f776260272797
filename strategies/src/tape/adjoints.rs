//! What is done with the data of records, and adjoints during the sweep with one adjoint vector.

use super::data::{Data, Extent, Target, identifiers};
use crate::{AtExternal, IndexType, Number, Passed, SweepError};
use core::marker::PhantomData;
use core::slice;

/// A kind of record, and what is done with its data, in safe code. The functions that a layout has are made from it.
pub(super) trait Kind<V: Number, I: IndexType>: Extent<V, I> {
    /// Adds seed·∂/∂argument to the adjoint of each argument. The seed is not 0, and finite: with another, zero
    /// partials have to be left out.
    fn reverse(record: Reversal<'_, '_, Self, V, I>, seed: V);

    /// Appends seed·∂/∂argument for each argument to the list, if there is one, passive arguments included, whose
    /// entries mean nothing. Without a list, returns the value of the statement; `None` if the record does not say how
    /// to compute it.
    fn rerun(data: Data<'_, Self, V, I>, seed: V, list: Option<&mut Vec<V>>) -> Option<V>;

    /// The name of a function in the statement that is singular; only for kinds that keep what partials are computed
    /// from.
    fn singular(_: Data<'_, Self, V, I>) -> Option<&'static str> {
        None
    }
}

/// Adds seed·∂/∂argument to the adjoint of each of the `n` arguments of the record whose identifiers end at `ids_end`,
/// and returns where its data begin, not counting the values of passive arguments. The seed is finite.
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

/// [`Kind::rerun`] at these values of variables.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(super) type RerunFn<V> =
    unsafe fn(ids_end: *const u8, n: usize, seed: V, values: &[V], list: Option<&mut Vec<V>>) -> Option<V>;

/// [`Kind::singular`] at these values of variables.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(super) type SingularFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> Option<&'static str>;

/// # Safety
///
/// As [`ReverseFn`], for records of this kind.
unsafe fn reverse<K: Kind<V, I>, V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V::Passed,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let seed = seed.number();
    // SAFETY: promised by the caller.
    let data = unsafe { Data::<K, V, I>::new(ids_end, n, sweep.values, sweep.known) };
    let start = data.start();
    if !seed.is_nought() {
        // SAFETY: promised by the caller.
        K::reverse(unsafe { Reversal::new(data, sweep.adjoints, sweep.length) }, seed);
    }
    start
}

/// # Safety
///
/// As [`RerunFn`], for records of this kind.
unsafe fn rerun<K: Kind<V, I>, V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    values: &[V],
    list: Option<&mut Vec<V>>,
) -> Option<V> {
    // SAFETY: promised by the caller.
    K::rerun(unsafe { Data::new(ids_end, n, values.as_ptr(), values.len()) }, seed, list)
}

/// # Safety
///
/// As [`SingularFn`], for records of this kind.
unsafe fn singular<K: Kind<V, I>, V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    values: &[V],
) -> Option<&'static str> {
    // SAFETY: promised by the caller.
    K::singular(unsafe { Data::new(ids_end, n, values.as_ptr(), values.len()) })
}

/// The functions that read the records of one kind.
#[derive(Clone, Copy)]
pub(super) struct Functions<V: Number> {
    pub(super) reverse: ReverseFn<V>,
    rerun: RerunFn<V>,
    singular: Option<SingularFn<V>>,
}

impl<V: Number> Functions<V> {
    /// Those of this kind.
    pub(super) const fn of<K: Kind<V, I>, I: IndexType>() -> Self {
        Self { reverse: reverse::<K, V, I>, rerun: rerun::<K, V, I>, singular: None }
    }

    /// The same, with [`Kind::singular`] if it is to be asked.
    pub(super) const fn checked<K: Kind<V, I>, I: IndexType>(self, is_checked: bool) -> Self {
        if is_checked { Self { singular: Some(singular::<K, V, I>), ..self } } else { self }
    }
}

/// The data of one record, in place, whatever its kind: they stay as they are for `'a`.
#[derive(Clone, Copy)]
pub(super) struct AnyData<'a, V: Number, I> {
    functions: &'static Functions<V>,
    ids_end: *const u8,
    arguments: usize,
    /// How many values of variables its functions may read.
    known: usize,
    bytes: PhantomData<(&'a [u8], I)>,
}

impl<'a, V: Number, I: IndexType> AnyData<'a, V, I> {
    /// # Safety
    ///
    /// The identifiers of a record of the kind of these functions, with this many arguments, end there, and are below
    /// `known` if it reads values.
    #[inline(always)]
    pub(super) const unsafe fn new(
        functions: &'static Functions<V>,
        ids_end: *const u8,
        arguments: usize,
        known: usize,
    ) -> Self {
        Self { functions, ids_end, arguments, known, bytes: PhantomData }
    }

    /// How many arguments there are.
    #[inline(always)]
    pub(super) const fn arguments(&self) -> usize {
        self.arguments
    }

    /// The identifiers of the arguments, 0 for passive ones.
    #[inline(always)]
    pub(super) fn ids(&self) -> impl ExactSizeIterator<Item = usize> + Clone + use<'a, V, I> {
        // SAFETY: the record has this many.
        unsafe { identifiers::<I>(self.ids_end, self.arguments) }
    }

    /// Appends what the record contributes to the adjoint of each argument, for this seed, at these values of
    /// variables. Only closures of users are asked with seeds other than 1: what others contribute is the seed times
    /// that.
    #[inline(always)]
    pub(super) fn contributions(&self, seed: V, values: &[V], contributions: &mut Vec<V>) {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        unsafe { _ = (self.functions.rerun)(self.ids_end, self.arguments, seed, values, Some(contributions)) }
    }

    /// The value of the statement at these values of variables; `None` if the record does not say how to compute it.
    pub(super) fn value(&self, values: &[V]) -> Option<V> {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        unsafe { (self.functions.rerun)(self.ids_end, self.arguments, V::ONE, values, None) }
    }

    /// The name of a function in the statement that is singular at these values of variables, under the policy
    /// [`Checked`](crate::Checked).
    pub(super) fn singular(&self, values: &[V]) -> Option<&'static str> {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        self.functions.singular.and_then(|singular| unsafe { singular(self.ids_end, self.arguments, values) })
    }

    #[inline(always)]
    fn check(&self, values: &[V]) {
        assert!(values.len() >= self.known, "there is a value for each identifier");
    }

    /// Adds seed·∂/∂argument to the adjoint of each argument.
    ///
    /// # Safety
    ///
    /// The sweep is one of the record's recording. The seed is finite.
    #[inline(always)]
    pub(super) unsafe fn reverse(&self, seed: V, sweep: &mut Sweep<'_, V>) {
        // SAFETY: promised by the caller.
        unsafe { _ = (self.functions.reverse)(self.ids_end, self.arguments, V::Passed::of(seed), sweep) }
    }
}

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

/// The adjoint that the last argument of a record has added to, as far as nothing else has been added since.
///
/// What has just been written to memory can be added to again only some 12 cycles later, and in many recordings a
/// record adds to what the one behind it has added to: in `y += a * x` with one `x` and many `y`, and in `y = y.sin()`.
pub(super) struct Recent<V> {
    id: usize,
    adjoint: V,
}

impl<V: Number> Recent<V> {
    /// No variable has this identifier.
    const NONE: usize = usize::MAX;

    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { id: Self::NONE, adjoint: V::ZERO }
    }

    /// The adjoint of the variable that the next record assigns to, which is 0 afterwards. No record before that one
    /// has it among its arguments.
    ///
    /// # Safety
    ///
    /// There is one.
    #[inline(always)]
    pub(super) unsafe fn take(&self, adjoints: *mut V, id: usize) -> V {
        // SAFETY: promised by the caller.
        let place = unsafe { adjoints.add(id) };
        // SAFETY: as above.
        let seed = if self.id == id { self.adjoint } else { unsafe { place.read() } };
        // SAFETY: as above.
        unsafe { place.write(V::ZERO) }
        seed
    }

    /// Adds to the adjoints of the arguments of a record.
    ///
    /// # Safety
    ///
    /// As [`Reversal::new`], and nothing but this and [`take`](Self::take) has changed the adjoints since `self` is
    /// new.
    #[inline(always)]
    pub(super) unsafe fn adding<'r, K: Kind<V, I>, I: IndexType>(
        &'r mut self,
        data: Data<'r, K, V, I>,
        adjoints: *mut V,
    ) -> impl Target<V> + use<'r, K, V, I> {
        AddingRecent { ids: data.ids(), adjoints, recent: self }
    }
}

/// [`Adding`] that makes use of what is recent.
struct AddingRecent<'r, A, V> {
    ids: A,
    adjoints: *mut V,
    recent: &'r mut Recent<V>,
}

impl<A: ExactSizeIterator<Item = usize>, V: Number> Target<V> for AddingRecent<'_, A, V> {
    #[inline(always)]
    fn take(&mut self, contribution: V) -> bool {
        let Some(id) = self.ids.next() else { return false };
        let (is_last, recent) = (self.ids.len() == 0, &mut *self.recent);
        // SAFETY: identifiers are below the number of adjoints.
        let place = unsafe { self.adjoints.add(id) };
        // SAFETY: as above.
        let before = if is_last && recent.id == id { recent.adjoint } else { unsafe { place.read() } };
        let sum = before + contribution;
        // SAFETY: as above.
        unsafe { place.write(sum) }
        if is_last {
            *recent = Recent { id, adjoint: sum };
        } else if recent.id == id {
            recent.id = Recent::<V>::NONE;
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
    pub(super) failed: Option<SweepError>,
    borrows: PhantomData<&'a mut [V]>,
}

impl<'a, V> Sweep<'a, V> {
    /// A sweep over these adjoints, with values that it may write to if the recording restores them.
    pub(super) fn new(adjoints: &'a mut [V], (values, known): (*mut V, usize), at: &'a mut AtExternal<'a, V>) -> Self {
        let (length, adjoints) = (adjoints.len(), adjoints.as_mut_ptr());
        Self { adjoints, length, values, known, at, failed: None, borrows: PhantomData }
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
        self.failed = (self.at)(external, 0..1, adjoints).err();
    }

    /// Fails if the sweep has ended early.
    #[inline(always)]
    pub(super) fn check(&mut self) -> Result<(), SweepError> {
        // Moved only if there is one.
        if self.failed.is_some() { self.failed.take().map_or(Ok(()), Err) } else { Ok(()) }
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
