//! Records with any number of arguments: lists of partials, sums, functions of slices, closures of users. How they are
//! read.

use super::functions::{RerunFn, Sweep, identifiers, numbers, parts};
use crate::scratch::Scratch;
use crate::{IndexType, Nary, Number, Passed, Policy, partials_of_slice};

/// # Safety
///
/// As [`ReverseFn`], for records of partials.
pub(super) unsafe fn listed<V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V::Passed,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let seed = seed.number();
    // SAFETY: promised by the caller.
    let (ids, partials) = unsafe { (identifiers::<I>(ids_end, n), numbers::<V, I>(ids_end, n, n)) };
    if !seed.is_nought() {
        ids.zip(partials).for_each(|(id, partial)| sweep.adjoints[id] += seed.contribution(partial));
    }
    parts::<V, I>(ids_end, n, n).1.cast()
}

/// # Safety
///
/// As [`RerunFn`], for records of partials.
pub(super) unsafe fn rerun_listed<V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    _: &[V],
    list: Option<&mut Vec<V>>,
) -> Option<V> {
    // SAFETY: promised by the caller.
    let partials = unsafe { numbers::<V, I>(ids_end, n, n) };
    list?.extend(partials.map(|partial| seed * partial));
    None
}

/// # Safety
///
/// As [`ReverseFn`], for sums.
pub(super) unsafe fn ones<V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V::Passed,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let seed = seed.number();
    // SAFETY: promised by the caller.
    let ids = unsafe { identifiers::<I>(ids_end, n) };
    if !seed.is_nought() {
        ids.for_each(|id| sweep.adjoints[id] += seed);
    }
    parts::<V, I>(ids_end, n, 0).1.cast()
}

/// # Safety
///
/// As [`RerunFn`], for sums.
pub(super) unsafe fn rerun_ones<V: Number>(
    _: *const u8,
    n: usize,
    seed: V,
    _: &[V],
    list: Option<&mut Vec<V>>,
) -> Option<V> {
    let list = list?;
    list.resize(list.len() + n, seed);
    None
}

/// The values of the arguments of a function of a slice, and its constants behind them.
///
/// # Safety
///
/// As [`RerunFn`], for records of `Layout::nary::<P, R, I>`.
unsafe fn ingredients<R: Nary<V>, V: Number, I: IndexType>(ids_end: *const u8, n: usize, values: &[V]) -> Scratch<V> {
    // SAFETY: promised by the caller.
    let (ids, constants) = unsafe { (identifiers::<I>(ids_end, n), numbers::<V, I>(ids_end, n, n * R::CONSTANTS)) };
    Scratch::of(ids.map(|id| values[id]).chain(constants))
}

/// Adds the contributions that `rerun` lists to the adjoints of the arguments.
///
/// # Safety
///
/// As [`ReverseFn`], for records whose `RerunFn` it is.
#[inline(always)]
unsafe fn reverse_by_list<V: Number, I: IndexType>(
    rerun: RerunFn<V>,
    ids_end: *const u8,
    n: usize,
    seed: V,
    sweep: &mut Sweep<'_, V>,
) {
    if seed.is_nought() {
        return;
    }
    // A number of several parts has some that are 0, and the function only multiplies.
    let (asked, factor) = if V::PARTS == 1 { (seed, None) } else { (V::ONE, Some(seed)) };
    let mut contributions = Scratch::<V>::new();
    // SAFETY: promised by the caller; nothing writes to the values while they are read here.
    let ids = unsafe {
        rerun(ids_end, n, asked, sweep.values(), Some(&mut contributions));
        identifiers::<I>(ids_end, n)
    };
    let contributions = contributions.iter().map(|found| factor.map_or(*found, |seed| seed.contribution(*found)));
    ids.zip(contributions).for_each(|(id, contribution)| sweep.adjoints[id] += contribution);
}

/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::nary::<P, R, I>`.
pub(super) unsafe fn reverse_slice<P: Policy, R: Nary<V>, V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V::Passed,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    // SAFETY: promised by the caller.
    unsafe { reverse_by_list::<V, I>(rerun_slice::<P, R, V, I>, ids_end, n, seed.number(), sweep) }
    parts::<V, I>(ids_end, n, n * R::CONSTANTS).1.cast()
}

/// # Safety
///
/// As [`RerunFn`], for records of `Layout::nary::<P, R, I>`.
pub(super) unsafe fn rerun_slice<P: Policy, R: Nary<V>, V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    values: &[V],
    list: Option<&mut Vec<V>>,
) -> Option<V> {
    // SAFETY: promised by the caller.
    let all = unsafe { ingredients::<R, V, I>(ids_end, n, values) };
    let Some(list) = list else { return Some(R::value(&all[..n], &all[n..])) };
    let first = list.len();
    list.resize(first + n, V::ZERO);
    partials_of_slice::<P, R, V>(&all[..n], &all[n..], &mut list[first..], []);
    list[first..].iter_mut().for_each(|partial| *partial = seed * *partial);
    None
}

/// # Safety
///
/// As [`SingularFn`], for records of `Layout::nary::<P, R, I>`.
///
/// [`SingularFn`]: super::functions::SingularFn
pub(super) unsafe fn singular_slice<P: Policy, R: Nary<V>, V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    values: &[V],
) -> Option<&'static str> {
    // SAFETY: promised by the caller.
    let all = unsafe { ingredients::<R, V, I>(ids_end, n, values) };
    let mut partials = vec![V::ZERO; n];
    let active = core::iter::repeat(true); // others have no such records
    let singular = partials_of_slice::<P, R, V>(&all[..n], &all[n..], &mut partials, active);
    singular.then(core::any::type_name::<R>)
}

/// # Safety
///
/// As [`ReverseFn`], for closures of type `F`.
pub(super) unsafe fn call<F: Fn(V, &mut [V]), V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V::Passed,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    // SAFETY: promised by the caller.
    unsafe { reverse_by_list::<V, I>(rerun_call::<F, V, I>, ids_end, n, seed.number(), sweep) }
    ids_end.wrapping_sub(n * size_of::<I>() + size_of::<F>())
}

/// # Safety
///
/// As [`RerunFn`], for closures of type `F`.
pub(super) unsafe fn rerun_call<F: Fn(V, &mut [V]), V: Number, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    _: &[V],
    list: Option<&mut Vec<V>>,
) -> Option<V> {
    let list = list?;
    let object = ids_end.wrapping_sub(n * size_of::<I>() + size_of::<F>()).cast::<F>();
    // SAFETY: the object was moved there, aligned; it is dropped only through an exclusive reference to the tape, and
    // this sweep holds a shared one.
    let function = unsafe { &*object };
    let first = list.len();
    list.resize(first + n, V::ZERO);
    function(seed, &mut list[first..]);
    None
}
