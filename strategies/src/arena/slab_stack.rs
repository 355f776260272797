//! A stack in slabs: elements never move once they are in a slab.
//!
//! The first `INLINE` elements lie inside the object, the others in slabs of `SLAB` elements each. Only the last block is
//! pushed to and popped from, so a few pointers into it suffice for the fast paths:
//!
//! ```text
//! inline, full        slabs, full              tail                kept for later
//! [a b c d]   [e f g h] [i j k l]   [m n _ _] …   [_ _ _ _] [_ _ _ _]
//!                                    ↑start ↑next ↑end
//! ```
//!
//! `before` counts the elements before the tail. While there is no tail, the three pointers are equal, and the elements
//! are the first `before` inline ones. These are addressed by index, since they move with the object.
//!
//! The tail may be empty: `pop` leaves a slab only when it finds nothing there. A stack that goes up and down by one
//! element at a boundary therefore stays where it is.
//!
//! The invariants that the unsafe code relies on:
//!
//! * `start ≤ next ≤ end`. Either all are equal and `before ≤ FIRST`; or they point into the same slab, `end` is
//!   `start + SLAB`, and `before` is `FIRST + SLAB·k` where the slab is number k of the table.
//! * The elements `0..len()` are initialised, nothing else is.
//! * A slab in the table is memory for `SLAB` elements, aligned for them, that nothing else points into.

mod access;
mod iter;
mod removal;
mod table;

pub use iter::{Iter, IterMut, Slabs, SlabsMut};

use crate::MemoryUsage;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use table::Table;

/// A stack whose elements stay where they are: no reallocation, and no heap at all for few elements.
///
/// The first `INLINE` elements are kept inside the object. Further ones go to slabs of `SLAB` elements, which are taken
/// from the allocator when the last slab is full, and never move. Popped slabs are kept for later pushes. Every
/// operation on the end of the stack, and access by index, takes constant time.
///
/// Compared with a [`Vec`]:
///
/// * growing copies nothing, so there are no two copies at any time, and elements in slabs have stable addresses while
///   they are on the stack (those kept inline move with the object);
/// * the elements are not one slice but several, see [`slabs`](Self::slabs). Loops over all elements are fastest
///   when they go slab by slab;
/// * the object is large: `INLINE` elements and some pointers. Box it where it has to be moved often.
///
/// Any `T` is fine, zero-sized and over-aligned ones included. `INLINE` may be 0. A `SLAB` of 0 does not compile:
///
/// ```compile_fail
/// let stack = tapewright_strategies::SlabStack::<f64, 64, 0>::new();
/// ```
///
/// # Panics
///
/// Methods that add elements panic when the allocator has no memory for a slab. The message names the number of bytes,
/// and the stack is as it was.
///
/// # Examples
///
/// ```
/// use tapewright_strategies::SlabStack;
///
/// let mut stack: SlabStack<f64> = SlabStack::new();
/// stack.extend((0..5000).map(f64::from));
/// assert_eq!((stack.len(), stack[4321]), (5000, 4321.0));
/// // From last to first, slab by slab.
/// let mut sum = 0.0;
/// for slab in stack.slabs().rev() {
///     sum += slab.iter().rev().sum::<f64>();
/// }
/// assert_eq!(sum, 4999.0 * 2500.0);
/// assert_eq!(stack.pop(), Some(4999.0));
/// ```
pub struct SlabStack<T, const INLINE: usize = 64, const SLAB: usize = 1024> {
    next: NonNull<T>,
    start: NonNull<T>,
    end: NonNull<T>,
    before: usize,
    slabs: Table<T, SLAB>,
    inline: [MaybeUninit<T>; INLINE],
}

// SAFETY: a stack owns its elements and its slabs as a vector does.
unsafe impl<T: Send, const INLINE: usize, const SLAB: usize> Send for SlabStack<T, INLINE, SLAB> {}
// SAFETY: `&SlabStack` gives out `&T` and reads plain fields. It does not touch the `Bump`s, which are not `Sync`.
unsafe impl<T: Sync, const INLINE: usize, const SLAB: usize> Sync for SlabStack<T, INLINE, SLAB> {}

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// How many elements are kept inline: without a size, all.
    const FIRST: usize = if size_of::<T>() == 0 { usize::MAX } else { INLINE };

    /// An empty stack. Takes nothing from the allocator.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        const { assert!(SLAB > 0, "a slab must have room for at least one element: SLAB is 0") };
        let nowhere = NonNull::dangling();
        let inline = [const { MaybeUninit::uninit() }; INLINE];
        Self { next: nowhere, start: nowhere, end: nowhere, before: 0, slabs: Table::new(), inline }
    }

    /// The number of elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        // SAFETY: both point into the tail slab, or are equal, and `start ≤ next`.
        self.before + if size_of::<T>() == 0 { 0 } else { unsafe { self.next.offset_from_unsigned(self.start) } }
    }

    /// Whether there is no element.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements fit without taking more memory from the allocator.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        Self::FIRST.saturating_add(self.slabs.len() * SLAB)
    }

    /// Bytes of the elements, and bytes of this object and of all that it has from the allocator, exactly.
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        MemoryUsage { used: self.len() * size_of::<T>(), reserved: size_of::<Self>() + self.slabs.reserved() }
    }

    /// Adds an element at the end.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.push_with(|| value);
    }

    /// Adds the element that `value` returns, which is built in its place where the compiler can.
    ///
    /// When `value` panics, the stack is as it was.
    #[inline]
    pub fn push_with(&mut self, value: impl FnOnce() -> T) {
        if self.next == self.end {
            if self.before < Self::FIRST {
                let place = self.inline_mut(self.before);
                // SAFETY: an inline place, and it holds no element since there are `before` of them.
                unsafe { place.write(value()) };
                self.before += 1;
                return;
            }
            self.advance();
        }
        // SAFETY: `next < end`, so this is a place of the tail slab without an element.
        unsafe {
            self.next.write(value());
            self.next = self.next.add(1);
        }
    }

    /// Removes the last element and returns it; `None` if there is none. Its slab is kept for later pushes.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.next == self.start {
            if self.start != self.end {
                self.retreat();
            }
            if self.start == self.end {
                self.before = self.before.checked_sub(1)?;
                // SAFETY: the last inline element, which is forgotten by the line above.
                return Some(unsafe { self.inline_mut(self.before).read() });
            }
        }
        // SAFETY: `start < next`, so this is the last element of the tail slab, which is forgotten.
        unsafe {
            self.next = self.next.sub(1);
            Some(self.next.read())
        }
    }

    /// Makes room for at least `additional` more elements.
    ///
    /// # Panics
    ///
    /// When the allocator does not have the memory. The message names the number of bytes.
    pub fn reserve(&mut self, additional: usize) {
        let needed = self.len().checked_add(additional).expect("a stack has at most usize::MAX elements");
        let missing = needed.saturating_sub(self.capacity());
        if missing > 0 {
            self.slabs.grow(missing.div_ceil(SLAB));
        }
    }

    /// Gives back to the allocator what is not in use.
    ///
    /// Slabs are taken in groups, of up to 1 MiB unless [`reserve`](Self::reserve) asked for more. A group goes back
    /// once none of its slabs is in use.
    pub fn shrink_to_fit(&mut self) {
        let len = self.len();
        // SAFETY: the number of elements stays. If the tail is empty, it is no longer the tail.
        unsafe { self.set_len(len) };
        self.slabs.shrink(len.saturating_sub(Self::FIRST).div_ceil(SLAB));
    }

    /// Adds copies of `values` at the end, in their order, slab by slab.
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        let mut rest = values;
        while !rest.is_empty() {
            let (place, room) = self.room();
            let count = room.min(rest.len());
            // SAFETY: there is room for `count` elements, and `rest`, borrowed from elsewhere, has as many. They need no
            // drop, being `Copy`.
            unsafe { place.copy_from_nonoverlapping(rest.as_ptr(), count) };
            if self.start == self.end {
                self.before += count;
            } else {
                // SAFETY: `room` is the distance to the end of the tail slab.
                self.next = unsafe { self.next.add(count) };
            }
            rest = &rest[count..];
        }
    }

    /// The first free place, and how many there are from it to the end of its block: at least one.
    fn room(&mut self) -> (*mut T, usize) {
        if self.next == self.end {
            if self.before < Self::FIRST {
                return (self.inline_mut(self.before), Self::FIRST - self.before);
            }
            self.advance();
        }
        // SAFETY: both point into the tail slab, and `next ≤ end`. Elements without a size never get here.
        (self.next.as_ptr(), unsafe { self.end.offset_from_unsigned(self.next) })
    }

    /// Makes the slab after the full tail the tail.
    #[cold]
    #[inline(never)]
    fn advance(&mut self) {
        assert!(size_of::<T>() != 0, "a stack has at most usize::MAX elements");
        let slab = if self.start == self.end { 0 } else { self.tail() + 1 };
        if slab == self.slabs.len() {
            self.slabs.grow(1);
        }
        self.enter(slab);
        self.next = self.start;
    }

    /// Makes what lies before the empty tail slab the tail.
    #[cold]
    #[inline(never)]
    fn retreat(&mut self) {
        match self.tail().checked_sub(1) {
            Some(slab) => {
                self.enter(slab);
                self.next = self.end;
            }
            None => self.leave_slabs(INLINE),
        }
    }

    /// The number of the tail slab, if there is one.
    const fn tail(&self) -> usize {
        (self.before - Self::FIRST) / SLAB
    }

    /// Makes a slab of the table the tail. The caller sets `next`.
    fn enter(&mut self, slab: usize) {
        self.start = self.slabs.slab(slab);
        // SAFETY: one past the end of the slab.
        self.end = unsafe { self.start.add(SLAB) };
        self.before = INLINE + slab * SLAB;
    }

    /// No tail slab any more, and so many elements inline.
    const fn leave_slabs(&mut self, len: usize) {
        (self.start, self.next, self.end) = (NonNull::dangling(), NonNull::dangling(), NonNull::dangling());
        self.before = len;
    }

    /// Changes the number of elements, and neither drops nor writes any.
    ///
    /// # Safety
    ///
    /// The elements `0..len` must be initialised. Those after them are the caller's from now on.
    unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        if len <= Self::FIRST {
            self.leave_slabs(len);
        } else {
            self.enter((len - INLINE - 1) / SLAB);
            // SAFETY: at most `SLAB` elements lie in the last slab in use.
            self.next = unsafe { self.start.add(len - self.before) };
        }
    }

    /// An inline place. The index may be that of the end.
    const fn inline_mut(&mut self, index: usize) -> *mut T {
        debug_assert!(index <= Self::FIRST);
        // SAFETY: the index is at most the number of inline places; elements without a size all have the same place.
        unsafe { self.inline.as_mut_ptr().cast::<T>().add(index) }
    }
}
