//! A stack in slabs: elements never move once they are in a slab.
//!
//! The first `INLINE` elements lie inside the object, the others in slabs of `SLAB` elements each. Blocks before the
//! *tail* are full, those after it are empty and wait for later pushes:
//!
//! ```text
//! inline        slabs: full            tail           kept for later
//! [a b c d]   [e f g h] [i j k l]   [m n _ _]   [_ _ _ _] [_ _ _ _]
//! ←────── before = 12 ────────→      ↑  ↑top = 2, room = 4
//!                                    base
//! ```
//!
//! The inline elements are the first tail. Their `base` is `None`, since they move with the object.
//!
//! The tail may be empty: `pop` leaves a slab only when it finds nothing there. A stack that goes up and down by one
//! element at a boundary therefore stays where it is.
//!
//! The invariants that the unsafe code relies on:
//!
//! * `top ≤ room`. Without `base`, `room` is `FIRST` and `before` is 0. With it, `room` is `SLAB`, and the tail is slab
//!   number k of the table, where `before` is `INLINE + SLAB·k`.
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
/// * the elements are not one slice but several, see [`slabs`](Self::slabs). Loops over all elements are fastest when
///   they go slab by slab;
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
    /// The number of elements in the tail.
    top: usize,
    /// How many elements fit into the tail.
    room: usize,
    /// The first place of the tail; `None` for the inline places.
    base: Option<NonNull<T>>,
    /// The number of elements before the tail.
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
        let inline = [const { MaybeUninit::uninit() }; INLINE];
        Self { top: 0, room: Self::FIRST, base: None, before: 0, slabs: Table::new(), inline }
    }

    /// The number of elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.before + self.top
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
        let mut top = self.top;
        if top == self.room {
            self.advance();
            top = 0;
        }
        // SAFETY: `top < room`, so this is a place of the tail without an element. The count stays in a register, since
        // for all the compiler knows the write may change `self.top`.
        unsafe { self.tail_mut().add(top).write(value()) };
        self.top = top + 1;
    }

    /// Removes the last element and returns it; `None` if there is none. Its slab is kept for later pushes.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let mut top = self.top;
        if top == 0 {
            top = self.retreat();
            if top == 0 {
                return None;
            }
        }
        self.top = top - 1;
        // SAFETY: the last element, which is forgotten by the line above.
        Some(unsafe { self.tail_mut().add(top - 1).read() })
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
            if self.top == self.room {
                self.advance();
            }
            let count = rest.len().min(self.room - self.top);
            // SAFETY: there is room for `count` elements, and `rest`, borrowed from elsewhere, has as many. They need
            // no drop, being `Copy`.
            unsafe { self.tail_mut().add(self.top).copy_from_nonoverlapping(rest.as_ptr(), count) };
            self.top += count;
            rest = &rest[count..];
        }
    }

    /// The first place of the tail.
    #[inline(always)]
    const fn tail_mut(&mut self) -> *mut T {
        match self.base {
            Some(base) => base.as_ptr(),
            None => self.inline.as_mut_ptr().cast(),
        }
    }

    /// The number of the tail slab; `None` if the tail is inline.
    const fn tail_slab(&self) -> Option<usize> {
        if self.base.is_some() { Some((self.before - INLINE) / SLAB) } else { None }
    }

    /// Makes the slab after the full tail the tail.
    #[cold]
    #[inline(never)]
    fn advance(&mut self) {
        assert!(size_of::<T>() != 0, "a stack has at most usize::MAX elements");
        let slab = self.tail_slab().map_or(0, |slab| slab + 1);
        if slab == self.slabs.len() {
            self.slabs.grow(1);
        }
        self.enter(slab, 0);
    }

    /// Makes the full block before the empty tail the tail, if there is one. Returns the number of elements in the
    /// tail.
    #[cold]
    #[inline(never)]
    fn retreat(&mut self) -> usize {
        match self.tail_slab() {
            None => (),
            Some(0) => self.leave_slabs(INLINE),
            Some(slab) => self.enter(slab - 1, SLAB),
        }
        self.top
    }

    /// Makes a slab of the table the tail, with `top` elements.
    fn enter(&mut self, slab: usize, top: usize) {
        self.base = Some(self.slabs.slab(slab));
        (self.before, self.top, self.room) = (INLINE + slab * SLAB, top, SLAB);
    }

    /// Makes the inline places the tail, with `top` elements.
    const fn leave_slabs(&mut self, top: usize) {
        self.base = None;
        (self.before, self.top, self.room) = (0, top, Self::FIRST);
    }

    /// Changes the number of elements, and neither drops nor writes any. The tail is not empty unless all is.
    ///
    /// # Safety
    ///
    /// The elements `0..len` must be initialised. Those after them are the caller's from now on.
    unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        if len <= Self::FIRST {
            self.leave_slabs(len);
        } else {
            let slab = (len - INLINE - 1) / SLAB;
            self.enter(slab, len - INLINE - slab * SLAB);
        }
    }
}
