//! Vectors that are reused from use to use, so that statements over long slices allocate once and not each time.

use core::any::Any;
use core::cell::RefCell;
use core::ops::{Deref, DerefMut};

thread_local! {
    /// The idle vectors: one for each element type and depth of nesting.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// An empty vector that belongs to this thread and is returned to it on drop.
#[derive(Debug)]
#[allow(clippy::box_collection, reason = "the box is kept, as `dyn Any`")]
pub struct Scratch<T: 'static>(Option<Box<Vec<T>>>);

impl<T: 'static> Scratch<T> {
    /// Takes an idle vector, or makes a new one.
    #[must_use]
    pub fn new() -> Self {
        let kept = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            // The latest one, so that in nested uses each use gets its own vector back, which has grown to its length.
            let at = kept.iter().rposition(|vector| vector.is::<Vec<T>>())?;
            kept.remove(at).downcast::<Vec<T>>().ok()
        });
        Self(Some(kept.ok().flatten().unwrap_or_default()))
    }

    /// Takes a vector and fills it with these elements.
    pub(crate) fn of(elements: impl Iterator<Item = T>) -> Self {
        let mut scratch = Self::new();
        scratch.extend(elements);
        scratch
    }
}

/// Calls `f` with this many elements, all equal to `first`; few of them are on the stack.
pub fn with_row<T: Copy + 'static, R>(first: T, n: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
    const FEW: usize = 16;
    if n <= FEW {
        return f(&mut [first; FEW][..n]);
    }
    let mut scratch = Scratch::new();
    scratch.resize(n, first);
    f(&mut scratch)
}

impl<T: 'static> Default for Scratch<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: 'static> Deref for Scratch<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        self.0.as_ref().expect("the vector is there until drop")
    }
}

impl<T: 'static> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        self.0.as_mut().expect("the vector is there until drop")
    }
}

impl<T: 'static> Drop for Scratch<T> {
    fn drop(&mut self) {
        if let Some(mut vector) = self.0.take() {
            vector.clear();
            // While the thread ends, the vector cannot be kept and is freed.
            let _ = KEPT.try_with(|kept| kept.borrow_mut().push(vector));
        }
    }
}
