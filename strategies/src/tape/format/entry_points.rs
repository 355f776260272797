//! The functions that read records, and adjoints during the sweep with one adjoint vector.

use super::kind::{Data, Ids, Kind, Target};
use crate::scratch::Scratch;
use crate::{AtExternal, IndexType, Number, Passed, SweepError};
use core::marker::PhantomData;
use core::mem::replace;
use core::slice;

/// Adds seed·∂/∂argument for each argument of the record whose identifiers end at `ids_end` to the place that it has
/// among `places`, and returns where its data begin, not counting the values of passive arguments. The seed is
/// [ordinary](Number::is_ordinary). As many identifiers end at `to_end`, and say which places they are: the record's
/// own in sweeps, and 0, 1, 2 … where the contributions are wanted themselves.
///
/// A function that was compiled for a type of statement returns its argument less a constant. So a processor that has
/// predicted the call knows where the record before this one ends, and need not wait until it has read this one. That
/// is why there is a [`SkipFn`], too.
///
/// # Safety
///
/// * A record that was written for the layout that holds this function has its identifiers at `ids_end`. They are below
///   the number of values where the function reads these, as many as the places say lie there, and nobody writes to
///   them or to the record meanwhile.
/// * The places say how many arguments there are, if the kind does not; nobody else uses them.
/// * As many identifiers end at `to_end` and stay there meanwhile, and they are below the number of places.
pub(crate) type ReverseFn<V> = unsafe fn(
    ids_end: *const u8,
    to_end: *const u8,
    seed: <V as Number>::Passed,
    places: &mut Places<'_, V>,
) -> *const u8;

/// Where the data begin of the record whose identifiers end there, if it has no values of passive arguments.
pub(crate) type SkipFn = fn(ids_end: *const u8) -> *const u8;

/// [`Kind::value`] at these values of variables.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(crate) type ValueFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> Option<V>;

/// [`Kind::singular`] at these values of variables.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(crate) type SingularFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> Option<&'static str>;

/// # Safety
///
/// As [`ReverseFn`], for records of this kind.
unsafe fn reverse<K: Kind<V, I>, V: Number, I: IndexType>(
    ids_end: *const u8,
    to_end: *const u8,
    seed: V::Passed,
    places: &mut Places<'_, V>,
) -> *const u8 {
    let seed = seed.number();
    // SAFETY: promised by the caller.
    let data = unsafe { Data::<K, V, I>::new(ids_end, places.arguments, places.values, places.known) };
    // SAFETY: promised by the caller.
    K::reverse(data, seed, &mut unsafe { Adding::<V, I>::new(to_end, data.arguments(), places) });
    data.start()
}

fn skip<K: Kind<V, I>, V: Number, I: IndexType>(ids_end: *const u8) -> *const u8 {
    const { assert!(size_of::<K::Object>() == 0, "records with an object say how many arguments they have") }
    ids_end.wrapping_sub(Data::<K, V, I>::FIXED)
}

/// # Safety
///
/// As [`ValueFn`], for records of this kind.
unsafe fn value<K: Kind<V, I>, V: Number, I: IndexType>(ids_end: *const u8, n: usize, values: &[V]) -> Option<V> {
    // SAFETY: promised by the caller.
    K::value(unsafe { Data::new(ids_end, n, values.as_ptr(), values.len()) })
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
pub(crate) struct Functions<V: Number> {
    pub(crate) reverse: ReverseFn<V>,
    /// `None` where a record's layout does not say how long it is.
    pub(crate) skip: Option<SkipFn>,
    value: Option<ValueFn<V>>,
    singular: Option<SingularFn<V>>,
}

impl<V: Number> Functions<V> {
    /// Those of this kind.
    pub(crate) const fn of<K: Kind<V, I>, I: IndexType>() -> Self {
        let skip: Option<SkipFn> = if K::ARGUMENTS.is_some() { Some(skip::<K, V, I>) } else { None };
        Self { reverse: reverse::<K, V, I>, skip, value: None, singular: None }
    }

    /// The same for records of the kind that differ in length.
    pub(crate) const fn of_varying(self) -> Self {
        Self { skip: None, ..self }
    }

    /// The same, with [`Kind::value`], and with [`Kind::singular`] if it is to be asked.
    pub(crate) const fn computed<K: Kind<V, I>, I: IndexType>(is_checked: bool) -> Self {
        let singular: Option<SingularFn<V>> = if is_checked { Some(singular::<K, V, I>) } else { None };
        Self { value: Some(value::<K, V, I>), singular, ..Self::of::<K, I>() }
    }
}

/// The data of one record, in place, whatever its kind: they stay as they are for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct AnyData<'a, V: Number, I> {
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
    pub(crate) const unsafe fn new(
        functions: &'static Functions<V>,
        ids_end: *const u8,
        arguments: usize,
        known: usize,
    ) -> Self {
        Self { functions, ids_end, arguments, known, bytes: PhantomData }
    }

    /// How many arguments there are.
    #[inline(always)]
    pub(crate) const fn arguments(&self) -> usize {
        self.arguments
    }

    /// The identifiers of the arguments, 0 for passive ones.
    #[inline(always)]
    pub(crate) fn ids(&self) -> Ids<'a, I> {
        // SAFETY: the record has this many.
        unsafe { Ids::before(self.ids_end, self.arguments) }
    }

    /// Appends what the record contributes to the adjoint of each argument, for this seed, at these values of
    /// variables. Only closures of users are asked with seeds other than 1, which are ordinary: what others contribute
    /// is the seed times that.
    #[inline(always)]
    pub(crate) fn contributions(&self, seed: V, values: &[V], contributions: &mut Vec<V>) {
        self.check(values);
        let (first, n) = (contributions.len(), self.arguments);
        // Whatever is added to −0, the sum is that.
        contributions.resize(first + n, -V::ZERO);
        let mut places = Places::new(&mut contributions[first..], (values.as_ptr().cast_mut(), values.len()));
        places.arguments = n;
        let many: Scratch<I>;
        let ids = if let Some(ids) = I::COUNTING.get(..n) {
            ids
        } else {
            many = Scratch::of((0..n as u64).map(I::narrow));
            &**many
        };
        let to_end = ids.as_ptr_range().end.cast();
        // SAFETY: the record lies there, and there are enough values; the identifiers 0 to n − 1 end at `to_end`.
        unsafe { (self.functions.reverse)(self.ids_end, to_end, V::Passed::of(seed), &mut places) };
    }

    /// The value of the statement at these values of variables; `None` if the record does not say how to compute it.
    pub(crate) fn value(&self, values: &[V]) -> Option<V> {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        self.functions.value.and_then(|value| unsafe { value(self.ids_end, self.arguments, values) })
    }

    /// The name of a function in the statement that is singular at these values of variables, under the policy
    /// [`Checked`](crate::Checked).
    pub(crate) fn singular(&self, values: &[V]) -> Option<&'static str> {
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
    /// The sweep is one of the record's recording. The seed is ordinary.
    #[inline(always)]
    pub(crate) unsafe fn reverse(&self, seed: V, sweep: &mut Sweep<'_, V>) {
        // SAFETY: promised by the caller.
        unsafe {
            sweep.places.arguments = self.arguments;
            (self.functions.reverse)(self.ids_end, self.ids_end, V::Passed::of(seed), &mut sweep.places);
        }
    }
}

/// Where contributions of records go, and what they may be computed from.
#[repr(C)]
pub(crate) struct Places<'a, V> {
    /// Pointers, because the loop over records keeps them in registers while functions use them, too.
    pub(crate) adjoints: *mut V,
    pub(crate) length: usize,
    /// The values of variables, if the tape keeps them. The sweep restores those that were overwritten.
    pub(crate) values: *mut V,
    /// How many there are.
    pub(crate) known: usize,
    /// How many arguments the record has that is reversed, if its kind does not say it.
    pub(crate) arguments: usize,
    borrows: PhantomData<&'a mut [V]>,
}

impl<'a, V> Places<'a, V> {
    /// These, and values that a sweep may write to if the recording restores them.
    #[inline(always)]
    fn new(adjoints: &'a mut [V], (values, known): (*mut V, usize)) -> Self {
        let (length, adjoints) = (adjoints.len(), adjoints.as_mut_ptr());
        Self { adjoints, length, values, known, arguments: 0, borrows: PhantomData }
    }
}

/// Adds to the places of a record's arguments, one after the other.
pub(crate) struct Adding<'a, 's, V, I> {
    ids: Ids<'a, I>,
    adjoints: *mut V,
    length: usize,
    borrows: PhantomData<&'s mut [V]>,
}

impl<'s, V: Number, I: IndexType> Adding<'_, 's, V, I> {
    /// # Safety
    ///
    /// `n` identifiers end at `to_end`, and stay there as long as this lives; they are below the number of places,
    /// which nobody else uses for `'s`.
    #[inline(always)]
    pub(crate) const unsafe fn new(to_end: *const u8, n: usize, places: &Places<'s, V>) -> Self {
        // SAFETY: promised by the caller.
        let ids = unsafe { Ids::before(to_end, n) };
        Self { ids, adjoints: places.adjoints, length: places.length, borrows: PhantomData }
    }
}

impl<V: Number, I: IndexType> Target<V> for Adding<'_, '_, V, I> {
    #[inline(always)]
    fn take(&mut self, contribution: V) {
        let id = self.ids.read();
        debug_assert!(id < self.length, "identifiers are below the number of places");
        // SAFETY: promised to `new`.
        unsafe { *self.adjoints.add(id) += contribution }
    }
}

/// The adjoint that the last argument of a record has added to, as far as nothing else has been added since.
///
/// What has just been written to memory can be added to again only some 12 cycles later, and in many recordings a
/// record adds to what the one behind it has added to: in `y += a * x` with one `x` and many `y`, and in `y = y.sin()`.
pub(crate) struct Recent<V> {
    id: usize,
    adjoint: V,
}

impl<V: Number> Recent<V> {
    /// No variable has this identifier.
    const NONE: usize = usize::MAX;

    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { id: Self::NONE, adjoint: V::ZERO }
    }

    /// The adjoint of the variable that the next record assigns to, which is 0 afterwards.
    ///
    /// # Safety
    ///
    /// There is one.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self, adjoints: *mut V, id: usize) -> V {
        // SAFETY: promised by the caller.
        let place = unsafe { adjoints.add(id) };
        // SAFETY: as above.
        let seed = if self.id == id { replace(&mut self.adjoint, V::ZERO) } else { unsafe { place.read() } };
        // SAFETY: as above.
        unsafe { place.write(V::ZERO) }
        seed
    }

    /// Adds to the adjoints of the arguments of a record.
    ///
    /// # Safety
    ///
    /// As [`Adding::new`], with the identifiers of the record, and nothing but this and [`take`](Self::take) has
    /// changed the adjoints since `self` is new.
    #[inline(always)]
    pub(crate) unsafe fn adding<'r, K: Kind<V, I>, I: IndexType>(
        &'r mut self,
        data: Data<'r, K, V, I>,
        adjoints: *mut V,
    ) -> impl Target<V> + use<'r, K, V, I> {
        AddingRecent { ids: data.ids(), adjoints, recent: self }
    }
}

/// [`Adding`] that makes use of what is recent.
struct AddingRecent<'r, V, I> {
    ids: Ids<'r, I>,
    adjoints: *mut V,
    recent: &'r mut Recent<V>,
}

impl<V: Number, I: IndexType> Target<V> for AddingRecent<'_, V, I> {
    #[inline(always)]
    fn take(&mut self, contribution: V) {
        let id = self.ids.read();
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
    }
}

/// The sweep with one adjoint vector. The places come first: a pointer to them is one to the sweep, and its loop has no
/// register to spare.
#[repr(C)]
pub(crate) struct Sweep<'a, V> {
    pub(crate) places: Places<'a, V>,
    at: &'a mut AtExternal<'a, V>,
    /// Why the sweep has ended early, if it has: its loop returns numbers and addresses, in registers.
    pub(crate) failed: Option<SweepError>,
}

impl<'a, V> Sweep<'a, V> {
    /// A sweep over these adjoints, with values that it may write to if the recording restores them.
    pub(crate) fn new(adjoints: &'a mut [V], values: (*mut V, usize), at: &'a mut AtExternal<'a, V>) -> Self {
        Self { places: Places::new(adjoints, values), at, failed: None }
    }

    /// All adjoints.
    #[inline(always)]
    pub(crate) fn adjoints(&mut self) -> &mut [V] {
        // SAFETY: they are borrowed for `'a`, and through `self` alone.
        unsafe { slice::from_raw_parts_mut(self.places.adjoints, self.places.length) }
    }

    /// Does what is to be done where an external function was called.
    pub(crate) fn meet(&mut self, external: usize) {
        // SAFETY: as in `adjoints`.
        let adjoints = unsafe { slice::from_raw_parts_mut(self.places.adjoints, self.places.length) };
        self.failed = (self.at)(external, 0..1, adjoints).err();
    }

    /// Fails if the sweep has ended early.
    #[inline(always)]
    pub(crate) fn check(&mut self) -> Result<(), SweepError> {
        // Moved only if there is one.
        if self.failed.is_some() { self.failed.take().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// The values of variables; none if there are none.
    ///
    /// # Safety
    ///
    /// Nobody writes to them meanwhile.
    pub(crate) unsafe fn values(&self) -> &[V] {
        let Places { values, known, .. } = self.places;
        // SAFETY: `known` values lie there; the caller promises the rest.
        if known == 0 { &[] } else { unsafe { slice::from_raw_parts(values, known) } }
    }
}
