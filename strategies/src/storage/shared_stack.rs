//! A [`SlabStack`] that several threads can share, or that belongs to one thread without any overhead.

use crate::MemoryUsage;
use crate::storage::SlabStack;
use core::cell::Cell;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Locked {}
    impl Sealed for super::Unlocked {}
}

/// Choice of the lock of a [`SharedStack`]: [`Locked`] or [`Unlocked`]. The trait is sealed.
pub trait Locking: sealed::Sealed {
    /// Container of a value of type `S`.
    #[doc(hidden)]
    type Cell<S>: From<S>;

    /// Returns the value without locking, because it is borrowed exclusively.
    #[doc(hidden)]
    fn get_mut<S>(cell: &mut Self::Cell<S>) -> &mut S;

    /// Moves the value out.
    #[doc(hidden)]
    fn into_inner<S>(cell: Self::Cell<S>) -> S;
}

/// Mutex: the methods of the stack take `&self`, and threads may share the stack.
#[derive(Clone, Copy, Debug)]
pub struct Locked;

/// No lock: the methods of the stack take `&mut self`, like those of [`SlabStack`].
#[derive(Clone, Copy, Debug)]
pub struct Unlocked;

impl Locking for Locked {
    type Cell<S> = Guarded<S>;

    // No operation leaves the stack inconsistent when the user's code panics, so a poisoned lock is ignored.
    fn get_mut<S>(cell: &mut Guarded<S>) -> &mut S {
        cell.mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_inner<S>(cell: Guarded<S>) -> S {
        cell.mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Mutex that knows which thread holds it.
#[doc(hidden)]
pub struct Guarded<S> {
    mutex: Mutex<S>,
    /// Thread that holds the lock; 0 if none does. A thread finds its own id here only if it has stored it itself, so
    /// relaxed ordering suffices.
    owner: AtomicUsize,
}

impl<S> From<S> for Guarded<S> {
    fn from(value: S) -> Self {
        Self { mutex: Mutex::new(value), owner: AtomicUsize::new(0) }
    }
}

impl<S: fmt::Debug> fmt::Debug for Guarded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mutex.fmt(f)
    }
}

/// Guard of a held lock.
struct Held<'a, S> {
    owner: &'a AtomicUsize,
    value: MutexGuard<'a, S>,
}

impl<S> Guarded<S> {
    /// Waits for the lock.
    ///
    /// # Panics
    ///
    /// When this thread holds the lock already.
    #[inline]
    #[track_caller]
    fn lock(&self) -> Held<'_, S> {
        let thread = this_thread();
        if self.owner.load(Relaxed) == thread && thread != 0 {
            used_under_its_own_lock();
        }
        let value = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(thread, Relaxed);
        Held { owner: &self.owner, value }
    }
}

impl<S> Drop for Held<'_, S> {
    /// Clears the owner; the lock is released afterwards.
    fn drop(&mut self) {
        self.owner.store(0, Relaxed);
    }
}

impl<S> Deref for Held<'_, S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.value
    }
}

impl<S> DerefMut for Held<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.value
    }
}

/// Returns an id that no other running thread has; 0 while thread-local storage is being destroyed.
#[inline]
fn this_thread() -> usize {
    thread_local!(static PLACE: Cell<u8> = const { Cell::new(0) });
    PLACE.try_with(|place| ptr::from_ref(place).addr()).unwrap_or(0)
}

#[cold]
#[track_caller]
fn used_under_its_own_lock() -> ! {
    panic!(
        "a `SharedStack` was used by code that runs under its own lock: an element's constructor or destructor, or a closure \
         given to `with` or `push_with`, must not use the stack that it runs for (inside `with`, use the `&mut SlabStack`)"
    )
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

/// A [`SlabStack`] with or without a lock, selected by the second type parameter.
///
/// With [`Locked`], every method that needs one element or the length takes the lock once, and
/// [`with`](SharedStack::with) holds it for several operations. With [`Unlocked`] there is no overhead: same size, same
/// code as the stack.
///
/// # The order is shared, too
///
/// Elements are stored in the order in which threads got the lock, which differs from run to run. No element is lost,
/// but the reverse of that order has no meaning for a single thread: the element that a thread pops need not be the one
/// that it pushed. A tape must be swept in the exact reverse of its own recording, so it belongs to one thread, and a
/// computation on several threads keeps one tape on each. Use this stack for data without order: results, or memory to
/// be released.
///
/// # Panics and the lock
///
/// A constructor, destructor or closure that panics while the lock is held leaves the stack consistent, and the lock
/// usable.
///
/// Code that runs under the lock of a stack must not use that same stack through `&self`, because the lock is not
/// reentrant. Such code is a closure passed to [`with`](SharedStack::with) or [`push_with`](SharedStack::push_with),
/// and the destructors of elements that [`clear`](SharedStack::clear) drops. There, every method that takes the lock
/// panics instead of blocking for ever. A destructor that panics during another panic aborts the process, so two
/// elements whose destructors do this in one `clear` abort it. Other threads wait for the lock as usual.
///
/// # Examples
///
/// ```
/// use tapewright_strategies::storage::{Locked, SharedStack, Unlocked};
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
    /// Returns an empty stack.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        SlabStack::new().into()
    }

    /// Returns the inner stack. Takes no lock, because the stack is borrowed exclusively.
    #[inline]
    pub fn get_mut(&mut self) -> &mut SlabStack<T, INLINE, SLAB> {
        L::get_mut(&mut self.cell)
    }

    /// Unwraps the inner stack.
    #[must_use]
    #[inline]
    pub fn into_inner(self) -> SlabStack<T, INLINE, SLAB> {
        L::into_inner(self.cell)
    }
}

impl<T, const INLINE: usize, const SLAB: usize> SharedStack<T, Locked, INLINE, SLAB> {
    /// Returns an empty stack, for a static variable.
    pub(crate) const fn locked() -> Self {
        Self { cell: Guarded { mutex: Mutex::new(SlabStack::new()), owner: AtomicUsize::new(0) } }
    }
}

/// Implements the methods of stacks with one kind of lock: the receiver, and the expression that gives access.
macro_rules! methods {
    ($lock:ty, $self:ident: $receiver:ty => $stack:expr) => {
        impl<T, const INLINE: usize, const SLAB: usize> SharedStack<T, $lock, INLINE, SLAB> {
            /// Adds an element at the end. See [`SlabStack::push`].
            #[inline]
            #[track_caller]
            pub fn push($self: $receiver, value: T) {
                $stack.push(value);
            }

            /// Adds the element that `value` returns; `value` runs under the lock. See [`SlabStack::push_with`].
            #[inline]
            #[track_caller]
            pub fn push_with($self: $receiver, value: impl FnOnce() -> T) {
                $stack.push_with(value);
            }

            /// Removes the last element, whichever thread added it. See [`SlabStack::pop`].
            #[inline]
            #[track_caller]
            pub fn pop($self: $receiver) -> Option<T> {
                $stack.pop()
            }

            /// Drops all elements under the lock, and keeps the memory. See [`SlabStack::clear`].
            #[track_caller]
            pub fn clear($self: $receiver) {
                $stack.clear();
            }

            /// Runs several operations under one lock.
            #[inline]
            #[track_caller]
            pub fn with<R>($self: $receiver, operations: impl FnOnce(&mut SlabStack<T, INLINE, SLAB>) -> R) -> R {
                operations(&mut $stack)
            }

            /// Number of elements at this moment.
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn len(&$self) -> usize {
                $stack.len()
            }

            /// Returns true if there is no element at this moment.
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn is_empty(&$self) -> bool {
                $stack.is_empty()
            }

            /// Bytes of the elements and bytes reserved, including the lock. See [`SlabStack::memory`].
            #[must_use]
            #[track_caller]
            pub fn memory(&$self) -> MemoryUsage {
                let lock = size_of::<Self>() - size_of::<SlabStack<T, INLINE, SLAB>>();
                let stack = $stack.memory();
                MemoryUsage { reserved: stack.reserved + lock, ..stack }
            }
        }
    };
}
methods!(Locked, self: &Self => self.cell.lock());
methods!(Unlocked, self: &mut Self => self.cell);

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
