//! Derivatives of arrays along directions.

use super::buffer::Buffer;
use super::shared::SharedArray;
use crate::{Number, level};
use core::fmt;

/// Tangents of the elements of an array, one array for each direction.
#[derive(Clone)]
pub struct Tangents<V> {
    pub(crate) level: u64,
    /// Tangents by direction; `None` if all are zero.
    pub(crate) directions: Vec<Option<SharedArray<V>>>,
}

impl<V: Number> Tangents<V> {
    /// Wraps tangents that belong to the evaluation running on this thread: one buffer for each direction, `None` if
    /// all are zero.
    #[must_use]
    pub fn new(directions: impl IntoIterator<Item = Option<Buffer<V>>>) -> Self {
        Self {
            level: level::present(),
            directions: directions.into_iter().map(|buffer| buffer.map(SharedArray::new)).collect(),
        }
    }

    /// Returns the tangents along a direction; `None` if all are zero.
    #[must_use]
    pub fn along(&self, direction: usize) -> Option<&Buffer<V>> {
        self.directions.get(direction).and_then(Option::as_deref)
    }

    /// Checks that the tangents belong to the evaluation running on this thread.
    ///
    /// # Panics
    ///
    /// When the tangents belong to another evaluation.
    #[track_caller]
    pub fn assert_present(&self) {
        level::assert_present(self.level);
    }
}

impl<V> fmt::Debug for Tangents<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tangents along {} directions", self.directions.len())
    }
}
