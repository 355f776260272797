//! The trait of kinds of records: their data, and safe access to them.

use crate::identifier::IndexType;
use crate::tape::usize_of;
use crate::{MemoryUsage, Number};
use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A kind of record: its content (an object, values, identifiers of arguments), and the operations on it, in safe code.
/// The functions of a layout are made from it.
pub(crate) trait Kind<V: Number, I: IndexType>: Sized + 'static {
    /// Number of arguments; `None` if each record gives it.
    const ARGUMENTS: Option<usize>;
    /// Number of values in front of the identifiers: in total, or for each argument if each record gives the number of
    /// arguments.
    const NUMBERS: usize;
    /// True if values of passive arguments, whose identifiers are 0, stand in front of the other values, last first.
    const PASSIVES: bool = false;
    /// Type of the object in front of the values; `()` if there is none.
    type Object;

    /// Passes seed·∂/∂argument to `to` for each argument. The seed is [ordinary](Number::is_ordinary), since with other
    /// seeds zero partials have to be left out; if all partials are ±1, it may be any value but 0.
    fn reverse(data: Data<'_, Self, V, I>, seed: V, to: &mut impl Target<V>);

    /// Recomputes the value of the statement; `None` for kinds that do not keep operands.
    fn value(_: Data<'_, Self, V, I>) -> Option<V> {
        None
    }

    /// Returns the name of a function in the statement that is singular; `None` for kinds that do not keep operands.
    fn singular(_: Data<'_, Self, V, I>) -> Option<&'static str> {
        None
    }
}

/// The data of one record, in place, and the values of variables.
pub(crate) struct Data<'a, K, V, I> {
    ids_end: *const u8,
    n: usize,
    values: *const V,
    known: usize,
    borrows: PhantomData<(&'a (), K, I)>,
}

impl<K, V, I> Clone for Data<'_, K, V, I> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V, I> Copy for Data<'_, K, V, I> {}

impl<'a, K: Kind<V, I>, V: Number, I: IndexType> Data<'a, K, V, I> {
    /// # Safety
    ///
    /// The identifiers of a record of this kind end at `ids_end`; if each record gives the number of arguments, there
    /// are `n` of them. If the kind reads values, the identifiers are below `known`, `known` values lie at `values`,
    /// and nobody writes to them or to the record for `'a`.
    #[inline(always)]
    pub(crate) const unsafe fn new(ids_end: *const u8, n: usize, values: *const V, known: usize) -> Self {
        Self { ids_end, n, values, known, borrows: PhantomData }
    }

    /// Number of arguments.
    #[inline(always)]
    pub(crate) fn arguments(&self) -> usize {
        if const { K::ARGUMENTS.is_some() } { Self::COUNT } else { self.n }
    }

    /// Number of arguments, if all records of the kind have the same.
    const COUNT: usize = if let Some(n) = K::ARGUMENTS { n } else { 0 };

    /// Bytes of identifiers and values, if all records of the kind have the same number of arguments.
    pub(crate) const FIXED: usize = Self::COUNT * size_of::<I>() + K::NUMBERS * size_of::<V>();

    #[inline(always)]
    fn first_number(&self) -> *const u8 {
        let bytes = if const { K::ARGUMENTS.is_some() } {
            Self::FIXED
        } else {
            self.n * (size_of::<I>() + K::NUMBERS * size_of::<V>())
        };
        self.ids_end.wrapping_sub(bytes)
    }

    /// Returns the start of the data, not counting the values of passive arguments.
    #[inline(always)]
    pub(crate) fn start(&self) -> *const u8 {
        self.first_number().wrapping_sub(size_of::<K::Object>())
    }

    /// Returns the identifiers of the arguments, 0 for passive ones.
    #[inline(always)]
    pub(crate) fn ids(&self) -> Ids<'a, I> {
        // SAFETY: the record has this many.
        unsafe { Ids::before(self.ids_end, self.arguments()) }
    }

    /// Returns the values in front of the identifiers.
    #[inline(always)]
    pub(crate) fn numbers(&self) -> Row<'a, V> {
        let left = if const { K::ARGUMENTS.is_some() } { K::NUMBERS } else { K::NUMBERS * self.n };
        Row { next: self.first_number().cast(), left, borrows: PhantomData }
    }

    /// Returns the object in front of the values.
    pub(crate) fn object(&self) -> &'a K::Object {
        // SAFETY: the object was moved there, aligned; it is dropped only through an exclusive reference to the tape.
        unsafe { &*self.first_number().wrapping_sub(size_of::<K::Object>()).cast::<K::Object>() }
    }

    /// Returns the values and identifiers of the arguments from this one on, for kinds without values of passive
    /// arguments. Panics if there are not as many arguments.
    #[inline(always)]
    pub(crate) fn arguments_from(&self, first: usize) -> Arguments<'a, V, I> {
        const { assert!(!K::PASSIVES) }
        let left = self.arguments().checked_sub(first).expect("there are as many arguments");
        // SAFETY: the record has this many.
        let ids = unsafe { Ids::before(self.ids_end, left) };
        Arguments { ids, passives: None, values: self.values, known: self.known }
    }

    /// Returns the values and identifiers of the arguments, first to last.
    #[inline(always)]
    pub(crate) fn arguments_with_values(&self) -> Arguments<'a, V, I> {
        let passives = if const { K::PASSIVES } { Some(self.first_number().cast()) } else { None };
        Arguments { ids: self.ids(), passives, values: self.values, known: self.known }
    }
}

// The iterators do not depend on the kind of record, so that code that is generic over them is compiled once. They are
// written without closures, `?` and wrappers of operations: the compiler processes them once for each argument of each
// statement of a program.

/// A row of values or identifiers in a record.
#[derive(Clone)]
pub(crate) struct Row<'a, T> {
    /// Start of the remaining elements.
    next: *const T,
    left: usize,
    borrows: PhantomData<&'a ()>,
}

impl<T: Copy> Row<'_, T> {
    /// Returns the next element. Panics if there is none.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&mut self) -> T {
        if self.left == 0 {
            misreported();
        }
        self.left -= 1;
        let next = self.next;
        // SAFETY: there was one left.
        unsafe {
            self.next = next.add(1);
            next.read_unaligned()
        }
    }
}

impl<T: Copy> Iterator for Row<'_, T> {
    type Item = T;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next(&mut self) -> Option<T> {
        if self.left == 0 { None } else { Some(self.read()) }
    }
    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
impl<T: Copy> ExactSizeIterator for Row<'_, T> {}

/// The identifiers in a record.
#[derive(Clone)]
pub(crate) struct Ids<'a, I>(Row<'a, I>);

impl<I: IndexType> Ids<'_, I> {
    /// # Safety
    ///
    /// `n` identifiers end at `end`, and stay there as long as this value lives.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const unsafe fn before(end: *const u8, n: usize) -> Self {
        Self(Row { next: end.cast::<I>().wrapping_sub(n), left: n, borrows: PhantomData })
    }

    /// Returns the next identifier. Panics if there is none.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&mut self) -> usize {
        usize_of(self.0.read().widen())
    }
}

impl<I: IndexType> Iterator for Ids<'_, I> {
    type Item = usize;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next(&mut self) -> Option<usize> {
        if self.0.left == 0 { None } else { Some(self.read()) }
    }
    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}
impl<I: IndexType> ExactSizeIterator for Ids<'_, I> {}

/// The identifiers of a record's arguments, and numbers that stand in front of them, one for each.
#[derive(Clone)]
pub(crate) struct Terms<'a, V, I> {
    id: *const I,
    number: *const V,
    left: usize,
    borrows: PhantomData<&'a ()>,
}

impl<V, I> Terms<'_, V, I> {
    /// # Safety
    ///
    /// `n` identifiers end at `end`, with as many numbers in front, and stay there as long as this value lives.
    #[inline(always)]
    pub(crate) const unsafe fn before(end: *const u8, n: usize) -> Self {
        let id = end.cast::<I>().wrapping_sub(n);
        Self { id, number: id.cast::<V>().wrapping_sub(n), left: n, borrows: PhantomData }
    }
}

impl<'a, V, I: IndexType> Terms<'a, V, I> {
    /// These identifiers, with a number for each.
    #[inline(always)]
    pub(crate) fn of(ids: &Ids<'a, I>, numbers: &'a [V]) -> Self {
        let left = ids.len();
        assert!(left <= numbers.len(), "there is a number for each identifier");
        Self { id: ids.0.next, number: numbers.as_ptr(), left, borrows: PhantomData }
    }
}

impl<V: Copy, I: IndexType> Iterator for Terms<'_, V, I> {
    type Item = (usize, V);
    #[inline(always)]
    fn next(&mut self) -> Option<(usize, V)> {
        self.left = self.left.checked_sub(1)?;
        let (id, number) = (self.id, self.number);
        (self.id, self.number) = (id.wrapping_add(1), number.wrapping_add(1));
        // SAFETY: there was one left of both.
        Some(unsafe { (usize_of(id.read_unaligned().widen()), number.read_unaligned()) })
    }
}

/// The values and identifiers of a record's arguments.
pub(crate) struct Arguments<'a, V, I> {
    ids: Ids<'a, I>,
    /// End of the values of passive arguments, one for each identifier that is 0, last first, if there are any.
    passives: Option<*const V>,
    /// Start of the values of variables. There are `known`, and identifiers are below that.
    values: *const V,
    known: usize,
}

impl<V: Number, I: IndexType> Arguments<'_, V, I> {
    /// Returns value and identifier of the next argument. Panics if there is none.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&mut self) -> (V, usize) {
        let id = self.ids.read();
        let mut at = self.values.wrapping_add(id);
        if id == 0
            && let Some(passives) = &mut self.passives
        {
            *passives = passives.wrapping_sub(1);
            at = *passives;
        } else {
            debug_assert!(id < self.known, "identifiers are below the recording's length");
        }
        // SAFETY: there is a value for each identifier.
        (unsafe { at.read_unaligned() }, id)
    }
}

impl<V: Number, I: IndexType> Iterator for Arguments<'_, V, I> {
    type Item = (V, usize);
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next(&mut self) -> Option<(V, usize)> {
        if self.ids.0.left == 0 { None } else { Some(self.read()) }
    }
}

/// A receiver of contributions to adjoints.
pub(crate) trait Target<V> {
    /// Takes the contribution for the next argument. There must be a next argument.
    fn take(&mut self, contribution: V);

    /// Takes these contributions, for one argument after the other.
    #[inline(always)]
    fn take_all(&mut self, contributions: impl Iterator<Item = V>) {
        contributions.for_each(|contribution| self.take(contribution));
    }
}

/// The objects in records that have to be dropped, in the order of the records: each once, until it is taken out of the
/// list to be dropped. All are taken out before anything is written over them.
#[derive(Default)]
pub(crate) struct Objects(Vec<Object>);

/// An object that has to be dropped.
struct Object {
    at: *mut u8,
    /// # Safety
    ///
    /// An object lies at the pointer, and nobody uses it any more.
    drop: unsafe fn(*mut u8),
}

// SAFETY: the objects are closures of users, which are `Send` and `Sync`, and belong to the tape.
unsafe impl Send for Objects {}
// SAFETY: as above; through a shared reference they are counted only.
unsafe impl Sync for Objects {}

/// # Safety
///
/// An `F` lies at `object`, and nobody uses it any more.
unsafe fn drop_as<F>(object: *mut u8) {
    // SAFETY: promised by the caller.
    unsafe { core::ptr::drop_in_place(object.cast::<F>()) }
}

impl Objects {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) const fn memory(&self) -> MemoryUsage {
        MemoryUsage::of_vec(&self.0)
    }

    /// Reserves memory for one more object; if the allocator has none, returns the number of bytes as an error.
    pub(crate) fn reserve(&mut self) -> Result<(), usize> {
        self.0.try_reserve(1).map_err(|_| 2 * self.0.len() * size_of::<Object>())
    }

    /// Lists an object that has been moved to address `at`.
    ///
    /// # Safety
    ///
    /// An `F` lies at `at`, which is `Send` and `Sync`; nobody else drops it, and nothing is written over it before it
    /// is dropped here.
    pub(crate) unsafe fn push<F>(&mut self, at: *mut u8) {
        self.0.push(Object { at, drop: drop_as::<F> });
    }

    /// Drops all objects but the first `kept`; also the others when the destructor of one panics.
    pub(crate) fn truncate(&mut self, kept: usize) {
        let mut panics = Vec::new();
        while self.0.len() > kept
            && let Some(Object { at, drop }) = self.0.pop()
        {
            // SAFETY: the object was moved there when it was listed, nothing has been written over it since, and as it
            // is listed no more, it is dropped once.
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

/// Panics because a rule of a user has reported another number of items than its types give.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn misreported() -> ! {
    panic!("a statement must report as many leaves, constants and partials as its types say")
}

/// Hints that the bytes at this address will be read soon. They need not exist, and the hint has no effect that a
/// program can see.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8) {
    // SAFETY: a hint is no access: the address may be any.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    let _ = at;
}

/// Branches on `way`, with the same code on both sides: a hint for predicting the indirect call behind it.
///
/// Some processors (Zen 3) predict such a call by the directions of earlier branches, and not by the targets of earlier
/// calls: without branches that depend on the record, they predict the function that was called last.
#[inline(always)]
pub(crate) fn branch(way: bool) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if way {
        // SAFETY: this is no instruction. The compiler does not know that, so it keeps the branch.
        unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) }
    }
    let _ = way;
}
