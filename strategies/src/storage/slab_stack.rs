//! A stack in slabs: elements never move once they are in a slab.
//!
//! The first `INLINE` elements are inside the object, the others in slabs of `SLAB` elements each. Blocks before the
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
//! The tail may be empty: `pop` leaves a slab only when it finds nothing there. So a stack whose length alternates at a
//! boundary does not switch slabs each time.
//!
//! Invariants that the unsafe code in `elements` relies on:
//!
//! * `top ≤ room`. Without `base`, `room` is `FIRST` and `before` is 0. With it, `room` is `SLAB`, and the tail is slab
//!   number k of the table, where `before` is `INLINE + SLAB·k`.
//! * The elements `0..len()` are initialized, all other memory is not.
//! * A slab in the table is memory for `SLAB` elements, aligned for them, without other pointers into it.

mod access;
mod elements;
mod iter;
mod table;

pub use iter::{Iter, IterMut, Slabs, SlabsMut};

use crate::MemoryUsage;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use table::Table;

/// A stack whose elements do not move: no reallocation, and no heap at all for few elements.
///
/// The first `INLINE` elements are kept inside the object. Further ones go to slabs of `SLAB` elements, which are
/// allocated when the last slab is full, and never move. Empty slabs are kept for later pushes. Every operation on the
/// end of the stack, and access by index, takes constant time.
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
/// let stack = tapewright_strategies::storage::SlabStack::<f64, 64, 0>::new();
/// ```
///
/// # Panics
///
/// Methods that add elements panic when the allocator has no memory for a slab. The message names the number of bytes,
/// and the stack is unchanged.
///
/// # Examples
///
/// ```
/// use tapewright_strategies::storage::SlabStack;
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
    /// Number of elements in the tail.
    top: usize,
    /// Capacity of the tail.
    room: usize,
    /// Start of the tail; `None` if the tail is inline.
    base: Option<NonNull<T>>,
    /// Number of elements before the tail.
    before: usize,
    slabs: Table<T, SLAB>,
    inline: [MaybeUninit<T>; INLINE],
}

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// Number of elements kept inline: all of them if `T` has no size.
    const FIRST: usize = if size_of::<T>() == 0 { usize::MAX } else { INLINE };

    /// Returns an empty stack. Allocates nothing.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        const { assert!(SLAB > 0, "a slab must have room for at least one element: SLAB is 0") };
        let inline = [const { MaybeUninit::uninit() }; INLINE];
        Self { top: 0, room: Self::FIRST, base: None, before: 0, slabs: Table::new(), inline }
    }

    /// Number of elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.before + self.top
    }

    /// Returns true if there is no element.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of elements that fit without another allocation.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        Self::FIRST.saturating_add(self.slabs.len() * SLAB)
    }

    /// Bytes of the elements, and bytes of this object and everything that it has allocated, exactly.
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        MemoryUsage { used: self.len() * size_of::<T>(), reserved: size_of::<Self>() + self.slabs.reserved() }
    }

    /// Reserves memory for at least `additional` more elements.
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

    /// Makes sure that the next push finds memory; returns false if the allocator has none.
    pub(crate) fn make_room(&mut self) -> bool {
        self.len() < self.capacity() || self.slabs.take(1)
    }

    /// Index of the tail slab; `None` if the tail is inline.
    const fn tail_slab(&self) -> Option<usize> {
        if self.base.is_some() { Some((self.before - INLINE) / SLAB) } else { None }
    }

    /// Makes the slab after the full tail the new tail.
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

    /// Makes the full block before the empty tail the new tail, if there is one. Returns the number of elements in the
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

    /// Makes the inline memory the tail, with `top` elements.
    const fn leave_slabs(&mut self, top: usize) {
        self.base = None;
        (self.before, self.top, self.room) = (0, top, Self::FIRST);
    }
}
