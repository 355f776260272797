//! Places of numbers in arrays that keep the parts of their elements in planes: all values, then all first tangents,
//! and so on, and within each the lanes of a pack one after the other.

use crate::Number;
use core::fmt::Debug;
use core::{ptr, slice};

/// Distance between the planes of an array: `()` for numbers of one part, which have a single plane.
pub trait Stride: Copy + Debug + Send + Sync + 'static {
    /// Distance of 0.
    const ZERO: Self;
    /// Wraps a number of parts.
    fn new(parts: isize) -> Self;
    /// Returns the number of parts between an element's part in one plane and its part in the next one.
    fn get(self) -> isize;
}

impl Stride for () {
    const ZERO: Self = ();
    #[inline(always)]
    fn new(_: isize) {}
    #[inline(always)]
    fn get(self) -> isize {
        0
    }
}

impl Stride for isize {
    const ZERO: Self = 0;
    #[inline(always)]
    fn new(parts: isize) -> Self {
        parts
    }
    #[inline(always)]
    fn get(self) -> isize {
        self
    }
}

/// Number of parts of a number, each of which has a plane of its own.
pub(crate) const fn planes<V: Number>() -> usize {
    size_of::<V>() / size_of::<V::Part>()
}

/// Returns the parts of a number.
#[inline(always)]
pub(crate) fn parts<V: Number>(number: &V) -> &[V::Part] {
    bytemuck::cast_slice(slice::from_ref(number))
}

/// Returns the parts of a number, to change them.
#[inline(always)]
pub(crate) fn parts_mut<V: Number>(number: &mut V) -> &mut [V::Part] {
    bytemuck::cast_slice_mut(slice::from_mut(number))
}

/// Address of an element in planes.
#[derive(Clone, Copy, Debug)]
pub struct Place<V: Number> {
    /// Address of the element's first part.
    first: *mut V::Part,
    stride: V::Stride,
}

impl<V: Number> Place<V> {
    /// The address of no element.
    pub(crate) const NULL: Self = Self { first: ptr::null_mut(), stride: V::Stride::ZERO };

    /// Address of an element by its first part and the distance between planes.
    #[inline(always)]
    pub(crate) fn new(first: *mut V::Part, stride: isize) -> Self {
        Self { first, stride: V::Stride::new(stride) }
    }

    /// Returns true if this is the address of no element.
    #[inline(always)]
    pub(crate) const fn is_null(self) -> bool {
        self.first.is_null()
    }

    /// Returns the address of another element of the same array.
    #[inline(always)]
    pub(crate) fn wrapping_offset(self, elements: isize) -> Self {
        Self { first: self.first.wrapping_offset(elements), ..self }
    }

    /// Returns the distance between the planes.
    #[inline(always)]
    pub(crate) fn stride(self) -> isize {
        self.stride.get()
    }

    /// Returns the address of a number of one part.
    #[inline(always)]
    pub(crate) fn address(self) -> *mut V {
        const { assert!(planes::<V>() == 1, "numbers of several parts are loaded part by part") }
        self.first.cast()
    }

    /// Returns the address of a part.
    #[inline(always)]
    pub(crate) fn part(self, k: usize) -> *mut V::Part {
        self.first.wrapping_offset(k.cast_signed() * self.stride.get())
    }

    /// Returns the element as one of numbers that are parts `k`, `k` + `step`, `k` + 2·`step` and so on of it: one of
    /// its lanes, or its value.
    #[inline(always)]
    pub(crate) fn narrowed<U: Number>(self, k: usize, step: usize) -> Place<U> {
        const { assert!(size_of::<U::Part>() == size_of::<V::Part>(), "both have parts of one type") }
        Place { first: self.part(k).cast(), stride: U::Stride::new(step.cast_signed() * self.stride.get()) }
    }

    /// Reads the element.
    ///
    /// # Safety
    ///
    /// The element may be read.
    #[inline(always)]
    pub(crate) unsafe fn get(self) -> V {
        let mut number = V::ZERO;
        for (k, part) in parts_mut(&mut number).iter_mut().enumerate() {
            // SAFETY: promised by the caller.
            *part = unsafe { *self.part(k) };
        }
        number
    }

    /// Writes the element.
    ///
    /// # Safety
    ///
    /// The element may be written.
    #[inline(always)]
    pub(crate) unsafe fn set(self, number: V) {
        for (k, part) in parts(&number).iter().enumerate() {
            // SAFETY: promised by the caller.
            unsafe { *self.part(k) = *part }
        }
    }
}
