//! A [`SlabStack`] that several threads may use, or that pays nothing for not being used so.

use crate::{MemoryUsage, SlabStack};
use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Locked {}
    impl Sealed for super::Unlocked {}
}

/// Whether a [`SharedStack`] has a lock: [`Locked`] or [`Unlocked`]. A closed choice.
pub trait Locking: sealed::Sealed {
    /// What a value of type `S` is kept in.
    #[doc(hidden)]
    type Cell<S>: From<S>;

    /// The value, with no lock: it is borrowed exclusively.
    #[doc(hidden)]
    fn get_mut<S>(cell: &mut Self::Cell<S>) -> &mut S;

    /// The value, moved out.
    #[doc(hidden)]
    fn into_inner<S>(cell: Self::Cell<S>) -> S;
}

/// A mutex: the methods of the stack take `&self`, and threads may share it.
#[derive(Clone, Copy, Debug)]
pub struct Locked;

/// No lock: the methods of the stack take `&mut self`, and are those of [`SlabStack`].
#[derive(Clone, Copy, Debug)]
pub struct Unlocked;

impl Locking for Locked {
    type Cell<S> = Mutex<S>;

    // No operation leaves the stack in a bad state when the user's code panics, so a poisoned lock means nothing here.
    fn get_mut<S>(cell: &mut Mutex<S>) -> &mut S {
        cell.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_inner<S>(cell: Mutex<S>) -> S {
        cell.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Locking for Unlocked {
    type Cell<S> = S;

    #[inline(always)]
    fn get_mut<S>(cell: &mut S) -> &mut S {
        cell
    }

    #[inline(always)]
    fn into_inner<S>(cell: S) -> S {
        cell
    }
}

/// A [`SlabStack`] with or without a lock, by its second type parameter.
///
/// With [`Locked`], every method that needs one element or the length takes the lock once, and
/// [`with`](SharedStack::with) holds it for several operations. With [`Unlocked`] there is nothing but the stack: same
/// size, same code.
///
/// # The order is shared, too
///
/// Elements lie in the order in which threads got the lock, which differs from run to run. Nothing is lost, but
/// the reverse of that order means nothing to any one of the threads: the element that a thread pops need not be the one
/// that it pushed. A tape must be swept in the exact reverse of its own recording. It therefore belongs to one thread,
/// and a computation on several threads keeps a tape on each. Use this stack for what has no order: results, or
/// memory to be given back.
///
/// # Panics and the lock
///
/// A constructor, destructor or closure that panics while the lock is held leaves the stack in order: the lock does not
/// stay poisoned. Code that runs under the lock of a stack must not use that same stack through `&self`: the lock is not
/// reentrant, so that this blocks for ever or panics.
///
/// # Examples
///
/// ```
/// use tapewright_strategies::{Locked, SharedStack, Unlocked};
///
/// let found: SharedStack<u32> = SharedStack::new();
/// std::thread::scope(|threads| {
///     for thread in 0..4 {
///         threads.spawn({ let found = &found; move || found.push(thread) });
///     }
/// });
/// let mut found: Vec<u32> = found.into_inner().iter().copied().collect();
/// found.sort_unstable();
/// assert_eq!(found, [0, 1, 2, 3]);
///
/// let mut own: SharedStack<u32, Unlocked> = SharedStack::new();
/// own.push(7);
/// assert_eq!(own.pop(), Some(7));
/// ```
pub struct SharedStack<T, L: Locking = Locked, const INLINE: usize = 64, const SLAB: usize = 1024> {
    cell: L::Cell<SlabStack<T, INLINE, SLAB>>,
}

impl<T, L: Locking, const INLINE: usize, const SLAB: usize> SharedStack<T, L, INLINE, SLAB> {
    /// An empty stack.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        SlabStack::new().into()
    }

    /// The stack itself. Takes no lock, since nobody else can have it.
    #[inline]
    pub fn get_mut(&mut self) -> &mut SlabStack<T, INLINE, SLAB> {
        L::get_mut(&mut self.cell)
    }

    /// The stack itself.
    #[must_use]
    #[inline]
    pub fn into_inner(self) -> SlabStack<T, INLINE, SLAB> {
        L::into_inner(self.cell)
    }
}

impl<T, const INLINE: usize, const SLAB: usize> SharedStack<T, Locked, INLINE, SLAB> {
    fn lock(&self) -> MutexGuard<'_, SlabStack<T, INLINE, SLAB>> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an element at the end. See [`SlabStack::push`].
    pub fn push(&self, value: T) {
        self.lock().push(value);
    }

    /// Adds the element that `value` returns, which runs under the lock. See [`SlabStack::push_with`].
    pub fn push_with(&self, value: impl FnOnce() -> T) {
        self.lock().push_with(value);
    }

    /// Removes the last element, whoever added it. See [`SlabStack::pop`].
    pub fn pop(&self) -> Option<T> {
        self.lock().pop()
    }

    /// The number of elements at this moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is no element at this moment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Drops all elements under the lock, and keeps the memory. See [`SlabStack::clear`].
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Bytes of the elements and bytes reserved, the lock included. See [`SlabStack::memory`].
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        let lock = size_of::<Self>() - size_of::<SlabStack<T, INLINE, SLAB>>();
        let stack = self.lock().memory();
        MemoryUsage { reserved: stack.reserved + lock, ..stack }
    }

    /// Several operations under one lock.
    pub fn with<R>(&self, operations: impl FnOnce(&mut SlabStack<T, INLINE, SLAB>) -> R) -> R {
        operations(&mut self.lock())
    }
}

impl<T, const INLINE: usize, const SLAB: usize> SharedStack<T, Unlocked, INLINE, SLAB> {
    /// Adds an element at the end. See [`SlabStack::push`].
    #[inline]
    pub fn push(&mut self, value: T) {
        self.cell.push(value);
    }

    /// Adds the element that `value` returns. See [`SlabStack::push_with`].
    #[inline]
    pub fn push_with(&mut self, value: impl FnOnce() -> T) {
        self.cell.push_with(value);
    }

    /// Removes the last element. See [`SlabStack::pop`].
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.cell.pop()
    }

    /// The number of elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.cell.len()
    }

    /// Whether there is no element.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.cell.is_empty()
    }

    /// Drops all elements, and keeps the memory. See [`SlabStack::clear`].
    pub fn clear(&mut self) {
        self.cell.clear();
    }

    /// Bytes of the elements and bytes reserved. See [`SlabStack::memory`].
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        self.cell.memory()
    }

    /// Several operations, as under one lock.
    #[inline]
    pub fn with<R>(&mut self, operations: impl FnOnce(&mut SlabStack<T, INLINE, SLAB>) -> R) -> R {
        operations(&mut self.cell)
    }
}

impl<T, L: Locking, const INLINE: usize, const SLAB: usize> From<SlabStack<T, INLINE, SLAB>>
    for SharedStack<T, L, INLINE, SLAB>
{
    fn from(stack: SlabStack<T, INLINE, SLAB>) -> Self {
        Self { cell: stack.into() }
    }
}

impl<T, L: Locking, const INLINE: usize, const SLAB: usize> Default for SharedStack<T, L, INLINE, SLAB> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, L: Locking, const INLINE: usize, const SLAB: usize> fmt::Debug for SharedStack<T, L, INLINE, SLAB>
where
    L::Cell<SlabStack<T, INLINE, SLAB>>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedStack").field(&self.cell).finish()
    }
}
