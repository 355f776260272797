//! What closures capture, and the functions that are called with it.
//!
//! Captures are read backwards from their end, and are a multiple of 8 bytes long:
//!
//! | closure | captures |
//! |---|---|
//! | typed | partials, gap, arguments, result |
//! | of slices | partials unless all are 1, gap, arguments, count, result |
//! | user's | skipped bytes, object, gap, arguments, skipped, count, result |
//!
//! *Arguments* and *result* are identifiers, 0 for passive arguments; *count* says how many arguments there are, and *skipped*
//! how many bytes were left out to align the object. These are of the width of identifiers. A gap is what rounds up to
//! whole words.

use super::super::records::usize_of;
use crate::scratch::Scratch;
use crate::shape::Scatter;
use crate::{Float, IndexType, Shape};

/// Bytes in a word: the unit of captures.
pub(super) const WORD: usize = 8;

/// Rounds bytes up to a multiple of 8.
pub(super) const fn whole_words(bytes: usize) -> usize {
    bytes.next_multiple_of(WORD)
}

/// What the functions of closures share during a sweep.
pub(super) struct Sweep<'a, V> {
    pub(super) adjoints: &'a mut [V],
    /// Written at each call site of a [`ReverseFn`], so that the compiler keeps the sites apart.
    pub(super) site: usize,
}

/// Adds seed·∂result/∂argument to the adjoint of each argument of the closure that ends at `end`.
///
/// # Safety
///
/// * Captures of a closure of this function's type end there.
/// * The identifiers among them are below the number of adjoints.
pub(super) type ReverseFn<V> = unsafe fn(end: *const u8, seed: V, sweep: &mut Sweep<'_, V>);

/// What the captures of one closure are.
pub(super) struct Extent {
    pub(super) bytes: usize,
    pub(super) arguments: usize,
}

/// Appends seed·∂result/∂argument for each argument of the closure that ends at `end`, passive ones included.
///
/// # Safety
///
/// Captures of a closure of this function's type end there.
pub(super) type ListFn<V> = unsafe fn(end: *const u8, seed: V, contributions: &mut Vec<V>);

/// What all closures of one type share.
pub(super) struct Vtable<V: 'static> {
    pub(super) reverse: ReverseFn<V>,
    pub(super) list: ListFn<V>,
    /// Whether what it contributes is, up to rounding, but not bit for bit, the seed times what it contributes for seed 1.
    pub(super) foreign: bool,
    /// Numbers behind the identifiers of the arguments.
    pub(super) trailing: usize,
    /// Bytes of captures; 0 if they differ from closure to closure.
    pub(super) bytes: usize,
    /// Measures the closure that ends there.
    ///
    /// # Safety
    ///
    /// A closure of this type ends there.
    pub(super) extent: unsafe fn(end: *const u8) -> Extent,
    /// A number that tells most types apart.
    pub(super) hash: u32,
}

impl<V: Float> Vtable<V> {
    /// Closures of statements of this shape.
    pub(super) const fn typed<H: Shape, I: IndexType>() -> Self {
        Self {
            reverse: reverse_typed::<H, V, I>,
            list: list_typed::<H, V, I>,
            foreign: false,
            trailing: 1,
            bytes: typed_bytes::<V, I>(H::FACTORS, H::LEAVES),
            extent: extent_of_typed::<H, V, I>,
            hash: H::HASH,
        }
    }

    /// Closures over any number of partials; none are captured if `ONES`.
    pub(super) const fn slices<const ONES: bool, I: IndexType>() -> Self {
        let hash = if ONES { 0xA11 } else { 0xA12 };
        Self {
            reverse: reverse_slices::<ONES, V, I>,
            list: list_slices::<ONES, V, I>,
            foreign: false,
            trailing: 2,
            bytes: 0,
            extent: extent_of_slices::<ONES, V, I>,
            hash,
        }
    }

    /// Users' closures of this type.
    pub(super) const fn user<F: Fn(V, &mut [V]), I: IndexType>() -> Self {
        Self {
            reverse: reverse_user::<F, V, I>,
            list: list_user::<F, V, I>,
            foreign: true,
            trailing: 3,
            bytes: 0,
            extent: extent_of_user::<F, I>,
            hash: 0xA13,
        }
    }
}

/// Bytes of captures of a typed closure.
pub(super) const fn typed_bytes<V, I>(factors: usize, leaves: usize) -> usize {
    whole_words(factors * size_of::<V>() + (leaves + 1) * size_of::<I>())
}

/// Bytes of captures of a closure over slices.
pub(super) const fn slices_bytes<V, I>(partials: usize, arguments: usize) -> usize {
    whole_words(partials * size_of::<V>() + (arguments + 2) * size_of::<I>())
}

/// Bytes of a user's closure from the end of its object on.
pub(super) const fn user_tail_bytes<I>(arguments: usize) -> usize {
    whole_words((arguments + 3) * size_of::<I>())
}

/// The identifier of the left-hand side of the closure that ends there.
///
/// # Safety
///
/// A closure ends there.
#[inline(always)]
pub(super) unsafe fn result<I: IndexType>(end: *const u8) -> usize {
    // SAFETY: promised by the caller; ends are aligned to 8 bytes.
    unsafe { usize_of(end.cast::<I>().sub(1).read().widen()) }
}

/// # Safety
///
/// A typed closure of this shape ends there.
unsafe fn extent_of_typed<H: Shape, V, I>(_: *const u8) -> Extent {
    Extent { bytes: typed_bytes::<V, I>(H::FACTORS, H::LEAVES), arguments: H::LEAVES }
}

/// # Safety
///
/// As [`ReverseFn`], for typed closures of this shape.
unsafe fn reverse_typed<H: Shape, V: Float, I: IndexType>(end: *const u8, seed: V, sweep: &mut Sweep<'_, V>) {
    let factors = end.wrapping_sub(typed_bytes::<V, I>(H::FACTORS, H::LEAVES)).cast::<V>();
    let arguments = end.cast::<I>().wrapping_sub(H::LEAVES + 1);
    H::scatter(seed, seed, &mut Captured { factors, arguments, adjoints: sweep.adjoints });
}

/// # Safety
///
/// As [`ListFn`], for typed closures of this shape.
unsafe fn list_typed<H: Shape, V: Float, I: IndexType>(end: *const u8, seed: V, contributions: &mut Vec<V>) {
    struct Listed<'a, V>(*const V, &'a mut Vec<V>);
    impl<V: Float> Scatter<V> for Listed<'_, V> {
        fn factor(&mut self) -> V {
            // SAFETY: `FACTORS` factors were captured, and a shape asks for as many (all shapes are this crate's).
            unsafe {
                self.0 = self.0.add(1);
                self.0.sub(1).read()
            }
        }
        fn leaf(&mut self, contribution: V) {
            self.1.push(contribution);
        }
    }
    let factors = end.wrapping_sub(typed_bytes::<V, I>(H::FACTORS, H::LEAVES)).cast::<V>();
    H::scatter(seed, seed, &mut Listed(factors, contributions));
}

/// The captures of a typed closure while it runs.
struct Captured<'a, V, I> {
    factors: *const V,
    arguments: *const I,
    adjoints: &'a mut [V],
}

impl<V: Float, I: IndexType> Scatter<V> for Captured<'_, V, I> {
    #[inline(always)]
    fn factor(&mut self) -> V {
        // SAFETY: `FACTORS` factors were captured, and a shape asks for as many (all shapes are this crate's).
        unsafe {
            self.factors = self.factors.add(1);
            self.factors.sub(1).read()
        }
    }

    #[inline(always)]
    fn leaf(&mut self, contribution: V) {
        // SAFETY: `LEAVES` identifiers were captured, and a shape has as many leaves; the sweep vouches for them.
        unsafe {
            let id = usize_of(self.arguments.read().widen());
            self.arguments = self.arguments.add(1);
            debug_assert!(id < self.adjoints.len(), "identifiers are below the recording's length");
            *self.adjoints.get_unchecked_mut(id) += contribution;
        }
    }
}

/// # Safety
///
/// `count` values were captured from `at` on, and stay there.
unsafe fn captured<T: Copy>(at: *const T, count: usize) -> impl Iterator<Item = T> {
    // SAFETY: promised by the caller.
    (0..count).map(move |k| unsafe { at.add(k).read() })
}

/// The number of arguments of the closure over slices, or of the user, that ends there.
///
/// # Safety
///
/// One of them ends there.
unsafe fn count<I: IndexType>(end: *const u8) -> usize {
    // SAFETY: promised by the caller.
    unsafe { usize_of(end.cast::<I>().sub(2).read().widen()) }
}

/// # Safety
///
/// A closure over slices ends there.
unsafe fn extent_of_slices<const ONES: bool, V, I: IndexType>(end: *const u8) -> Extent {
    // SAFETY: promised by the caller.
    let arguments = unsafe { count::<I>(end) };
    Extent { bytes: slices_bytes::<V, I>(if ONES { 0 } else { arguments }, arguments), arguments }
}

/// # Safety
///
/// As [`ReverseFn`], for closures over slices.
unsafe fn reverse_slices<const ONES: bool, V: Float, I: IndexType>(end: *const u8, seed: V, sweep: &mut Sweep<'_, V>) {
    // SAFETY: partials and identifiers lie where `Continuations::append_slices` wrote them.
    let (partials, slots) = unsafe {
        let Extent { bytes, arguments } = extent_of_slices::<ONES, V, I>(end);
        let partials = captured::<V>(end.sub(bytes).cast(), if ONES { 0 } else { arguments });
        (partials, captured::<I>(end.cast::<I>().sub(arguments + 2), arguments).map(|id| usize_of(id.widen())))
    };
    if ONES {
        slots.for_each(|slot| sweep.adjoints[slot] += seed);
    } else {
        slots.zip(partials).for_each(|(slot, partial)| sweep.adjoints[slot] += seed * partial);
    }
}

/// # Safety
///
/// As [`ListFn`], for closures over slices.
unsafe fn list_slices<const ONES: bool, V: Float, I: IndexType>(end: *const u8, seed: V, contributions: &mut Vec<V>) {
    // SAFETY: the partials lie where `Continuations::append_slices` wrote them.
    unsafe {
        let Extent { bytes, arguments } = extent_of_slices::<ONES, V, I>(end);
        if ONES {
            contributions.extend((0..arguments).map(|_| seed));
        } else {
            contributions.extend(captured::<V>(end.sub(bytes).cast(), arguments).map(|partial| seed * partial));
        }
    }
}

/// The identifiers of the arguments of the closure that ends there, passive ones included.
///
/// # Safety
///
/// It does, and is of this type.
pub(super) unsafe fn arguments<V, I: IndexType>(vtable: &Vtable<V>, end: *const u8) -> impl Iterator<Item = usize> {
    // SAFETY: promised by the caller; all closures have the identifiers of their arguments in front of the trailing numbers.
    unsafe {
        let n = (vtable.extent)(end).arguments;
        captured::<I>(end.cast::<I>().sub(n + vtable.trailing), n).map(|id| usize_of(id.widen()))
    }
}

/// # Safety
///
/// A user's closure of this type ends there.
unsafe fn extent_of_user<F, I: IndexType>(end: *const u8) -> Extent {
    // SAFETY: promised by the caller.
    let (arguments, skipped) = unsafe { (count::<I>(end), usize_of(end.cast::<I>().sub(3).read().widen())) };
    Extent { bytes: skipped + whole_words(size_of::<F>()) + user_tail_bytes::<I>(arguments), arguments }
}

/// # Safety
///
/// As [`ReverseFn`], for users' closures of this type.
unsafe fn reverse_user<F: Fn(V, &mut [V]), V: Float, I: IndexType>(end: *const u8, seed: V, sweep: &mut Sweep<'_, V>) {
    let mut contributions = Scratch::<V>::new();
    // SAFETY: promised by the caller; identifiers lie where `Continuations::append_user` put them.
    let slots = unsafe {
        list_user::<F, V, I>(end, seed, &mut contributions);
        let n = count::<I>(end);
        captured::<I>(end.cast::<I>().sub(n + 3), n).map(|id| usize_of(id.widen()))
    };
    slots.zip(contributions.iter()).for_each(|(slot, contribution)| sweep.adjoints[slot] += *contribution);
}

/// # Safety
///
/// As [`ListFn`], for users' closures of this type.
unsafe fn list_user<F: Fn(V, &mut [V]), V: Float, I: IndexType>(end: *const u8, seed: V, contributions: &mut Vec<V>) {
    // SAFETY: the object lies where `Continuations::append_user` put it; it is dropped only through an exclusive reference to
    // the tape, and this sweep holds a shared one.
    let (function, n) = unsafe {
        let n = count::<I>(end);
        let object = end.sub(user_tail_bytes::<I>(n) + whole_words(size_of::<F>()));
        (&*object.cast::<F>(), n)
    };
    let before = contributions.len();
    contributions.resize(before + n, V::zero());
    function(seed, &mut contributions[before..]);
}
