//! The functions that read records, and the adjoints of the sweep with one adjoint vector.

use super::code::{self, by_shape};
use super::kind::{Data, Ids, Kind, Target, Terms, branch};
use super::partials::Scattered;
use crate::contract::AtExternal;
use crate::identifier::IndexType;
use crate::shape::Shape;
use crate::{Number, Passed, SweepError};
use core::marker::PhantomData;
use core::mem::replace;
use core::slice;

/// Adds seed·∂/∂argument for each argument of the record whose identifiers end at `ids_end` to the argument's adjoint
/// in `places`, and returns the start of the record's data, not counting the values of passive arguments. The seed is
/// [ordinary](Number::is_ordinary).
///
/// A function that was compiled for a type of statement returns its argument less a constant. A processor that has
/// predicted the call therefore knows the end of the record before this one without waiting for the reads of this one.
/// This is also the reason for [`SkipFn`].
///
/// # Safety
///
/// * A record that was written for the layout of this function has its identifiers at `ids_end`. The identifiers are
///   below the number of values if the function reads values, that number of values lies at `places.values`, and nobody
///   writes to the values or to the record meanwhile.
/// * `places.arguments` is the number of arguments, if the kind does not give it; nobody else uses `places`.
/// * The identifiers are below the number of adjoints.
pub(crate) type ReverseFn<V> =
    unsafe fn(ids_end: *const u8, seed: <V as Number>::Passed, places: &mut Places<'_, V>) -> *const u8;

/// Writes seed·∂/∂argument for each argument of the record whose identifiers end at `ids_end`, in order, to the
/// adjoints in `places`, a row with room for them, and returns the sum of their products with the tangents of the
/// arguments. The seed is ordinary. The sum is wrong where a product with zero is NaN in it, and where it is −0.
///
/// # Safety
///
/// The conditions of [`ReverseFn`], but for the adjoints: there are as many as arguments; and the identifiers are those
/// of `tangents`, to which nobody writes meanwhile.
pub(crate) type ForwardFn<V> =
    unsafe fn(ids_end: *const u8, seed: <V as Number>::Passed, tangents: Tangents<V>, places: &mut Places<'_, V>) -> V;

/// The tangents of all variables: that of identifier `i` is `stride`·`i` behind the start.
#[derive(Clone, Copy)]
pub(crate) struct Tangents<V> {
    start: *const V,
    stride: usize,
}

/// Returns the start of the data of the record whose identifiers end at `ids_end`, if it has no values of passive
/// arguments.
pub(crate) type SkipFn = fn(ids_end: *const u8) -> *const u8;

/// Entry point of [`Kind::value`], at these values of variables.
///
/// # Safety
///
/// The conditions of [`ReverseFn`], for these values.
pub(crate) type ValueFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> Option<V>;

/// Entry point of [`Kind::singular`], at these values of variables.
///
/// # Safety
///
/// The conditions of [`ReverseFn`], for these values.
pub(crate) type SingularFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> Option<&'static str>;

impl<V: Number> Tangents<V> {
    /// The tangents that begin there, one for each identifier.
    #[inline(always)]
    pub(crate) const fn adjacent(start: *const V) -> Self {
        Self { start, stride: 1 }
    }

    /// The same tangent for all variables, for those who need no sums of products.
    #[inline(always)]
    pub(crate) const fn equal(tangent: &V) -> Self {
        Self { start: tangent, stride: 0 }
    }
}

/// # Safety
///
/// The conditions of [`ReverseFn`], for records of this kind.
unsafe fn reverse<K: Kind<V, I>, V: Number, I: IndexType>(
    ids_end: *const u8,
    seed: V::Passed,
    places: &mut Places<'_, V>,
) -> *const u8 {
    let seed = seed.number();
    // SAFETY: promised by the caller.
    let data = unsafe { Data::<K, V, I>::new(ids_end, places.arguments, places.values, places.known) };
    // SAFETY: promised by the caller.
    K::reverse(data, seed, &mut unsafe { Adding::<V, I>::new(ids_end, data.arguments(), places) });
    data.start()
}

/// # Safety
///
/// The conditions of [`ForwardFn`], for records of this kind.
unsafe fn forward<K: Kind<V, I>, V: Number, I: IndexType>(
    ids_end: *const u8,
    seed: V::Passed,
    tangents: Tangents<V>,
    places: &mut Places<'_, V>,
) -> V {
    let seed = seed.number();
    // SAFETY: promised by the caller.
    let data = unsafe { Data::<K, V, I>::new(ids_end, places.arguments, places.values, places.known) };
    // SAFETY: promised by the caller.
    let mut to = unsafe { Listing { sum: Summing::new(data.ids(), tangents), next: places.adjoints } };
    K::reverse(data, seed, &mut to);
    to.sum.done()
}

fn skip<K: Kind<V, I>, V: Number, I: IndexType>(ids_end: *const u8) -> *const u8 {
    const { assert!(size_of::<K::Object>() == 0, "records with an object say how many arguments they have") }
    ids_end.wrapping_sub(Data::<K, V, I>::FIXED)
}

/// # Safety
///
/// The conditions of [`ValueFn`], for records of this kind.
unsafe fn value<K: Kind<V, I>, V: Number, I: IndexType>(ids_end: *const u8, n: usize, values: &[V]) -> Option<V> {
    // SAFETY: promised by the caller.
    K::value(unsafe { Data::new(ids_end, n, values.as_ptr(), values.len()) })
}

/// # Safety
///
/// The conditions of [`SingularFn`], for records of this kind.
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
    pub(crate) forward: ForwardFn<V>,
    /// `None` if the records of a layout differ in length.
    pub(crate) skip: Option<SkipFn>,
    value: Option<ValueFn<V>>,
    singular: Option<SingularFn<V>>,
}

impl<V: Number> Functions<V> {
    /// The functions of this kind, without its values.
    pub(crate) const fn of<K: Kind<V, I>, I: IndexType>() -> Self {
        let skip: Option<SkipFn> = if K::ARGUMENTS.is_some() { Some(skip::<K, V, I>) } else { None };
        Self { reverse: reverse::<K, V, I>, forward: forward::<K, V, I>, skip, value: None, singular: None }
    }

    /// These functions for records of the kind that differ in length.
    pub(crate) const fn of_varying(self) -> Self {
        Self { skip: None, ..self }
    }

    /// The functions of this kind, with [`Kind::value`], and with [`Kind::singular`] if `is_checked`.
    pub(crate) const fn computed<K: Kind<V, I>, I: IndexType>(is_checked: bool) -> Self {
        let singular: Option<SingularFn<V>> = if is_checked { Some(singular::<K, V, I>) } else { None };
        Self { value: Some(value::<K, V, I>), singular, ..Self::of::<K, I>() }
    }
}

/// The data of one record, in place, whatever its kind. The bytes do not change for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct AnyData<'a, V: Number, I> {
    functions: &'static Functions<V>,
    ids_end: *const u8,
    arguments: usize,
    /// Number of values of variables that the functions may read.
    known: usize,
    bytes: PhantomData<(&'a [u8], I)>,
}

impl<'a, V: Number, I: IndexType> AnyData<'a, V, I> {
    /// # Safety
    ///
    /// The identifiers of a record of the kind of these functions, with this number of arguments, end at `ids_end`, and
    /// are below `known` if the kind reads values.
    #[inline(always)]
    pub(crate) const unsafe fn new(
        functions: &'static Functions<V>,
        ids_end: *const u8,
        arguments: usize,
        known: usize,
    ) -> Self {
        Self { functions, ids_end, arguments, known, bytes: PhantomData }
    }

    /// Number of arguments.
    #[inline(always)]
    pub(crate) const fn arguments(&self) -> usize {
        self.arguments
    }

    /// End of the identifiers.
    pub(crate) const fn end(&self) -> *const u8 {
        self.ids_end
    }

    /// Start of the data of a record with this many values in front of the identifiers.
    pub(crate) const fn start_of(&self, numbers: usize) -> *const u8 {
        self.ids_end.wrapping_sub(self.arguments * size_of::<I>() + numbers * size_of::<V>())
    }

    /// Returns the identifiers of the arguments, 0 for passive ones.
    #[inline(always)]
    pub(crate) fn ids(&self) -> Ids<'a, I> {
        // SAFETY: the record has this many.
        unsafe { Ids::before(self.ids_end, self.arguments) }
    }

    /// Appends the contribution of the record to the adjoint of each argument, for this seed, at these values of
    /// variables. Only closures of users are called with seeds other than 1, which are ordinary: the contributions of
    /// other records are the seed times those for seed 1.
    #[inline(always)]
    pub(crate) fn contributions(&self, seed: V, values: &[V], contributions: &mut Vec<V>) {
        let first = contributions.len();
        contributions.resize(first + self.arguments, V::ZERO);
        self.list(seed, values, &mut contributions[first..]);
    }

    /// Writes the contributions to a row with room for them, as [`contributions`](Self::contributions) appends them.
    #[inline(always)]
    pub(crate) fn list(&self, seed: V, values: &[V], row: &mut [V]) {
        self.check(values);
        assert!(row.len() >= self.arguments, "there is room for all contributions");
        let mut places = Places::new(row, (values.as_ptr().cast_mut(), values.len()));
        places.arguments = self.arguments;
        let forward = self.functions.forward;
        let place = forward as usize / 16;
        branch(place & 1 != 0);
        branch(place & 2 != 0);
        // SAFETY: the record lies there, and there are enough values; the row has room for all contributions.
        unsafe { forward(self.ids_end, V::Passed::of(seed), Tangents::equal(&V::ZERO), &mut places) };
    }

    /// The functions that read the record.
    pub(crate) const fn functions(&self) -> &'static Functions<V> {
        self.functions
    }

    /// Recomputes the value of the statement at these values of variables; `None` if the record does not keep its
    /// operands.
    #[inline(always)]
    pub(crate) fn value(&self, values: &[V]) -> Option<V> {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        self.functions.value.and_then(|value| unsafe { value(self.ids_end, self.arguments, values) })
    }

    /// Returns the name of a function in the statement that is singular at these values of variables, under the policy
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
    /// The places have an adjoint for each identifier of the record's recording, and a value if the kind reads values,
    /// to which nobody writes meanwhile. The seed is ordinary.
    #[inline(always)]
    pub(crate) unsafe fn reverse(&self, seed: V, places: &mut Places<'_, V>) {
        // SAFETY: promised by the caller.
        unsafe {
            places.arguments = self.arguments;
            (self.functions.reverse)(self.ids_end, V::Passed::of(seed), places);
        }
    }
}

/// The maximum number of arguments of a frequent shape.
pub(crate) const SHAPED: usize = 3;

/// Writes the partials of a record of a frequent shape to the row, and returns them with the identifiers of the
/// arguments.
///
/// # Safety
///
/// The identifiers of a record with this code, one of a frequent shape, end at `ids_end`, and do not change for `'a`.
#[inline(always)]
pub(crate) unsafe fn shaped<'a, V: Number, I: IndexType>(
    code: u8,
    ids_end: *const u8,
    row: &'a mut [V; SHAPED],
) -> Terms<'a, V, I> {
    macro_rules! leaf {
        ($shape:ident) => {
            listed::<code::$shape, V, I>(ids_end, row)
        };
    }
    // SAFETY: promised by the caller.
    let ids: Ids<'a, I> = unsafe { by_shape!(code, leaf) };
    Terms::of(&ids, row)
}

/// Writes the partials of a record of this shape to the row.
///
/// # Safety
///
/// The identifiers of such a record end at `ids_end`, and do not change for `'a`.
#[inline(always)]
unsafe fn listed<'a, H: Shape, V: Number, I: IndexType>(ids_end: *const u8, row: &mut [V; SHAPED]) -> Ids<'a, I> {
    const { assert!(H::LEAVES <= SHAPED, "there is room for all partials") }
    // SAFETY: promised by the caller. The kind reads no values.
    let data = unsafe { Data::<Scattered<H>, V, I>::new(ids_end, 0, core::ptr::null(), 0) };
    Kind::reverse(data, V::ONE, &mut InRow { row, count: 0 });
    data.ids()
}

/// Writes contributions to the front of a row.
struct InRow<'r, V> {
    row: &'r mut [V; SHAPED],
    count: usize,
}

impl<V> Target<V> for InRow<'_, V> {
    #[inline(always)]
    fn take(&mut self, contribution: V) {
        self.row[self.count] = contribution;
        self.count += 1;
    }
}

/// The adjoints to which records contribute, and the values from which contributions are computed.
#[repr(C)]
pub(crate) struct Places<'a, V> {
    /// Pointers, because the loop over records keeps them in registers while functions use them, too.
    pub(crate) adjoints: *mut V,
    pub(crate) length: usize,
    /// The values of variables, if the tape keeps them. The sweep restores those that were overwritten.
    pub(crate) values: *mut V,
    /// Number of values.
    pub(crate) known: usize,
    /// Number of arguments of the record that is being reversed, if its kind does not give it.
    pub(crate) arguments: usize,
    borrows: PhantomData<&'a mut [V]>,
}

impl<'a, V> Places<'a, V> {
    /// Combines adjoints with values to which a sweep may write if the recording restores them.
    #[inline(always)]
    pub(crate) fn new(adjoints: &'a mut [V], (values, known): (*mut V, usize)) -> Self {
        let (length, adjoints) = (adjoints.len(), adjoints.as_mut_ptr());
        Self { adjoints, length, values, known, arguments: 0, borrows: PhantomData }
    }
}

/// Adds contributions to the adjoints of a record's arguments, one after the other.
pub(crate) struct Adding<'a, 's, V, I> {
    ids: Ids<'a, I>,
    adjoints: *mut V,
    length: usize,
    borrows: PhantomData<&'s mut [V]>,
}

impl<'s, V: Number, I: IndexType> Adding<'_, 's, V, I> {
    /// # Safety
    ///
    /// `n` identifiers end at `to_end`, and stay there as long as this value lives; they are below the number of
    /// adjoints in `places`, which nobody else uses for `'s`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const unsafe fn new(to_end: *const u8, n: usize, places: &Places<'s, V>) -> Self {
        // SAFETY: promised by the caller.
        let ids = unsafe { Ids::before(to_end, n) };
        Self { ids, adjoints: places.adjoints, length: places.length, borrows: PhantomData }
    }
}

impl<V: Number, I: IndexType> Target<V> for Adding<'_, '_, V, I> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, contribution: V) {
        let id = self.ids.read();
        debug_assert!(id < self.length, "identifiers are below the number of places");
        // SAFETY: promised to `new`.
        unsafe { *self.adjoints.add(id) += contribution }
    }
}

/// The sum Σ tangent·contribution over the arguments of a record, the first argument last: in a running sum it is what
/// was computed last, and the sum of the others need not wait for it.
pub(crate) struct Summing<'a, V, I> {
    ids: Ids<'a, I>,
    tangents: Tangents<V>,
    /// `None` before the first argument.
    first: Option<V>,
    /// −0 at first, the additive identity.
    others: V,
}

impl<'a, V: Number, I: IndexType> Summing<'a, V, I> {
    /// # Safety
    ///
    /// The identifiers are those of `tangents`, to which nobody writes as long as this value lives.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn new(ids: Ids<'a, I>, tangents: Tangents<V>) -> Self {
        Self { ids, tangents, first: None, others: -V::ZERO }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn done(self) -> V {
        self.first.map_or(self.others, |first| self.others + first)
    }
}

impl<V: Number, I: IndexType> Target<V> for Summing<'_, V, I> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, contribution: V) {
        let id = self.ids.read();
        // SAFETY: promised to `new`.
        let product = unsafe { *self.tangents.start.add(id * self.tangents.stride) }.contribution(contribution);
        if self.first.is_none() {
            self.first = Some(product);
        } else {
            self.others += product;
        }
    }
}

/// Writes contributions one after the other, and adds up their products with tangents.
struct Listing<'a, V, I> {
    sum: Summing<'a, V, I>,
    next: *mut V,
}

impl<V: Number, I: IndexType> Target<V> for Listing<'_, V, I> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, contribution: V) {
        // The identifier is read first: that panics if there is none.
        if const { V::VARIABLE } {
            self.sum.ids.read(); // products would be statements of another recording
        } else {
            self.sum.take(contribution);
        }
        // SAFETY: there is room for as many as identifiers.
        unsafe {
            self.next.write(contribution);
            self.next = self.next.add(1);
        }
    }
}

/// The adjoint to which the last argument of a record was added, as long as nothing else has been added since.
///
/// A value that was just written to memory can be added to again only some 12 cycles later. In many recordings a record
/// adds to the adjoint to which the record behind it has added: in `y += a * x` with one `x` and many `y`, and in `y =
/// y.sin()`.
pub(crate) struct Recent<V> {
    id: usize,
    adjoint: V,
}

impl<V: Number> Recent<V> {
    /// An identifier that no variable has.
    const NONE: usize = usize::MAX;

    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { id: Self::NONE, adjoint: V::ZERO }
    }

    /// Takes the adjoint of the variable to which the next record assigns, and sets it to 0.
    ///
    /// # Safety
    ///
    /// `adjoints` has an entry `id`.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self, adjoints: *mut V, id: usize) -> V {
        // SAFETY: promised by the caller.
        let place = unsafe { adjoints.add(id) };
        // SAFETY: as above.
        let seed = if self.id == id { replace(&mut self.adjoint, V::ZERO) } else { unsafe { place.read() } };
        // SAFETY: as above.
        unsafe { place.write(V::ZERO.by_registers()) }
        seed.by_registers()
    }

    /// Returns a target that adds to the adjoints of the arguments of a record.
    ///
    /// # Safety
    ///
    /// The conditions of [`Adding::new`], for the identifiers of the record; and nothing but this method and
    /// [`take`](Self::take) has changed the adjoints since `self` is new.
    #[inline(always)]
    pub(crate) unsafe fn adding<'r, K: Kind<V, I>, I: IndexType>(
        &'r mut self,
        data: Data<'r, K, V, I>,
        adjoints: *mut V,
    ) -> impl Target<V> + use<'r, K, V, I> {
        AddingRecent { ids: data.ids(), adjoints, recent: self }
    }
}

/// Adds contributions like [`Adding`], and takes the last adjoint from [`Recent`].
struct AddingRecent<'r, V, I> {
    ids: Ids<'r, I>,
    adjoints: *mut V,
    recent: &'r mut Recent<V>,
}

impl<V: Number, I: IndexType> Target<V> for AddingRecent<'_, V, I> {
    #[cfg_attr(not(debug_assertions), inline(always))]
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

/// The sweep with one adjoint vector. `places` is the first field, so that a pointer to it is also a pointer to the
/// sweep: the loop over records has no register to spare.
#[repr(C)]
pub(crate) struct Sweep<'a, V> {
    pub(crate) places: Places<'a, V>,
    at: &'a mut AtExternal<'a, V>,
    /// The error that ended the sweep early, if any. A field, because the loop returns integers and addresses in
    /// registers.
    pub(crate) failed: Option<SweepError>,
}

impl<'a, V> Sweep<'a, V> {
    /// Starts a sweep over these adjoints, with values to which it may write if the recording restores them.
    pub(crate) fn new(adjoints: &'a mut [V], values: (*mut V, usize), at: &'a mut AtExternal<'a, V>) -> Self {
        Self { places: Places::new(adjoints, values), at, failed: None }
    }

    /// All adjoints.
    #[inline(always)]
    pub(crate) fn adjoints(&mut self) -> &mut [V] {
        // SAFETY: they are borrowed for `'a`, and through `self` alone.
        unsafe { slice::from_raw_parts_mut(self.places.adjoints, self.places.length) }
    }

    /// Calls back at the position of an external function.
    pub(crate) fn meet(&mut self, external: usize) {
        // SAFETY: as in `adjoints`.
        let adjoints = unsafe { slice::from_raw_parts_mut(self.places.adjoints, self.places.length) };
        self.failed = (self.at)(external, 0..1, adjoints).err();
    }

    /// Returns the error that ended the sweep early, if any.
    #[inline(always)]
    pub(crate) fn check(&mut self) -> Result<(), SweepError> {
        // Moved only if there is an error.
        if self.failed.is_some() { self.failed.take().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// The values of variables; empty if the tape keeps none.
    ///
    /// # Safety
    ///
    /// Nobody writes to the values meanwhile.
    pub(crate) unsafe fn values(&self) -> &[V] {
        let Places { values, known, .. } = self.places;
        // SAFETY: `known` values lie there; the caller promises the rest.
        if known == 0 { &[] } else { unsafe { slice::from_raw_parts(values, known) } }
    }
}
