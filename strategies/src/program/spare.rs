//! Memory that programs keep from one run to the next. New memory would have to be fetched from the system, page by
//! page.

use crate::storage::{LINE, Line};
use bytemuck::Zeroable as _;
use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// What no thread uses.
pub(super) struct Spare<T>(Arc<Mutex<Vec<T>>>);

impl<T> Spare<T> {
    pub(super) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn give_back(&self, thing: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thing);
    }
}

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Spare<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Lines that no thread uses: of values, of adjoints, and of partial derivatives. All recordings of a function share
/// them.
#[derive(Clone, Default)]
pub struct SpareLines(Spare<[Vec<Line>; 3]>);

impl SpareLines {
    /// As many lines as these, or more, with anything in them.
    pub(super) fn take(&self, counts: [usize; 3]) -> [Vec<Line>; 3] {
        let mut lines = self.0.take().unwrap_or_default();
        lines.iter_mut().zip(counts).for_each(|(lines, count)| lines.resize(count.max(lines.len()), Line::zeroed()));
        lines
    }

    pub(super) fn give_back(&self, lines: [Vec<Line>; 3]) {
        self.0.give_back(lines);
    }
}

impl fmt::Debug for SpareLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lines of {LINE} bytes that no thread uses")
    }
}

/// Numbers of variables by identifier, which go back when they are dropped; none, if there are none.
pub(super) struct Numbers<V> {
    numbers: Vec<V>,
    to: Spare<Vec<V>>,
}

impl<V> Numbers<V> {
    /// Takes numbers that were given back, or new ones.
    pub(super) fn take(from: &Spare<Vec<V>>, new: impl FnOnce() -> Vec<V>) -> Self {
        Self { numbers: from.take().unwrap_or_else(new), to: from.clone() }
    }

    pub(super) fn none() -> Self {
        Self { numbers: Vec::new(), to: Spare::default() }
    }
}

impl<V> Drop for Numbers<V> {
    fn drop(&mut self) {
        if !self.numbers.is_empty() {
            self.to.give_back(core::mem::take(&mut self.numbers));
        }
    }
}

impl<V> Deref for Numbers<V> {
    type Target = [V];
    fn deref(&self) -> &[V] {
        &self.numbers
    }
}

impl<V> DerefMut for Numbers<V> {
    fn deref_mut(&mut self) -> &mut [V] {
        &mut self.numbers
    }
}
