//! Shadows: adjoints, or tangents, of views during a sweep.

use super::buffer::{Arena, Buffer};
use super::cache::ReadCache;
use super::shared::{NewArray, SharedArray};
use crate::Number;
use std::borrow::Cow;
use std::sync::Arc;

/// Shadow of a view. Most are zero or uniform at first, and take no array.
#[derive(Clone, Debug, Default)]
pub enum Shadow<V> {
    /// Zero everywhere.
    #[default]
    Unset,
    /// One value for all elements.
    Uniform(V),
    /// One value for each element.
    Dense(NewArray<V>),
}

/// Shadows of the views of one recording, allocated from the arena of its arrays.
#[derive(Clone, Debug, Default)]
pub struct Shadows<V> {
    /// Shadows by slot of the view; slot 0 stands for passive views.
    list: Vec<Shadow<V>>,
    /// Arrays that the sweep has read back, and the arena that shadows are allocated from.
    fetched: ReadCache<V>,
}

impl<V: Number> Shadows<V> {
    /// Returns an empty set of shadows.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: Vec::new(), fetched: ReadCache::new() }
    }

    /// Sets the arena that shadows are allocated from. Without one they get an arena of their own.
    pub(crate) fn draw_from(&mut self, memory: Option<&Arc<Arena<V>>>) {
        self.fetched.draw_from(memory);
    }

    /// Makes all shadows zero, and releases their memory.
    pub fn clear(&mut self) {
        self.forget_behind(0);
    }

    /// Makes the shadows of all slots above this one zero, and releases their memory. Slot 0 stands for all slots.
    pub fn forget_behind(&mut self, slot: usize) {
        // Slot 0 stands for no view.
        let first = if slot == 0 { 0 } else { slot.saturating_add(1).min(self.list.len()) };
        self.list.truncate(first);
    }

    /// Returns true if no shadow was ever set, so that all are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns bytes of dense shadows, and bytes of these together with the lists and the arrays read back.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        let dense = |shadow: &Shadow<V>| if let Shadow::Dense(buffer) = shadow { buffer.bytes() } else { 0 };
        let used: usize = self.list.iter().map(dense).sum();
        (used, used + self.list.capacity() * size_of::<Shadow<V>>() + self.fetched.bytes())
    }

    /// Arrays that the sweep has read back.
    #[inline(always)]
    pub(crate) const fn fetched(&mut self) -> &mut ReadCache<V> {
        &mut self.fetched
    }

    /// Shadows by slot of the view, and the arrays that the sweep has read back.
    pub(crate) fn parts(&mut self) -> (&[Shadow<V>], &mut ReadCache<V>) {
        (&self.list, &mut self.fetched)
    }

    /// Ends a launch: arrays that only this launch has read back may be released.
    #[inline(always)]
    pub(crate) fn end_launch(&mut self) {
        self.fetched.end();
    }

    /// Exchanges the arrays read back with another adjoint vector of the sweep.
    pub(crate) const fn hand_over(&mut self, other: &mut Self) {
        core::mem::swap(&mut self.fetched, &mut other.fetched);
    }

    /// Returns the shadow in this slot.
    #[must_use]
    pub fn get(&self, slot: usize) -> &Shadow<V> {
        self.list.get(slot).unwrap_or(&Shadow::Unset)
    }

    /// Takes the shadow out of this slot, and leaves zero.
    #[must_use]
    pub fn take(&mut self, slot: usize) -> Shadow<V> {
        self.list.get_mut(slot).map_or(Shadow::Unset, core::mem::take)
    }

    /// Replaces the shadow in this slot.
    pub(crate) fn put(&mut self, slot: usize, shadow: Shadow<V>) {
        if slot >= self.list.len() {
            self.list.resize_with(slot + 1, Shadow::default);
        }
        self.list[slot] = shadow;
    }

    /// Allocates a buffer with unspecified contents.
    pub(crate) fn any(&mut self, length: usize) -> NewArray<V> {
        self.fetched.array(length)
    }

    /// Allocates a buffer filled with one value.
    pub(crate) fn filled(&mut self, length: usize, number: V) -> NewArray<V> {
        let mut buffer = self.any(length);
        buffer.fill(number);
        buffer
    }

    /// Converts a shadow to a buffer.
    pub(crate) fn dense(&mut self, shadow: Shadow<V>, length: usize) -> NewArray<V> {
        match shadow {
            Shadow::Unset => self.filled(length, V::ZERO),
            Shadow::Uniform(number) => self.filled(length, number),
            Shadow::Dense(buffer) => buffer,
        }
    }

    /// Converts the shadow in this slot to a buffer in place.
    pub(crate) fn make_dense(&mut self, slot: usize, length: usize) -> &mut NewArray<V> {
        if !matches!(self.get(slot), Shadow::Dense(_)) {
            let shadow = self.take(slot);
            let buffer = self.dense(shadow, length);
            self.put(slot, Shadow::Dense(buffer));
        }
        match &mut self.list[slot] {
            Shadow::Dense(buffer) => buffer,
            _ => unreachable!("it has just been made one"),
        }
    }

    /// Adds these values to the shadow in this slot, element by element.
    pub fn add(&mut self, slot: usize, numbers: &[V]) {
        if slot != 0 {
            let mut buffer = self.any(numbers.len());
            buffer.assign(numbers);
            self.give(slot, Shadow::Dense(buffer));
        }
    }

    /// Adds an array to the shadow in this slot.
    pub(crate) fn add_array(&mut self, slot: usize, numbers: &Buffer<V>) {
        if slot == 0 {
            return;
        }
        if matches!(self.get(slot), Shadow::Unset) {
            let mut buffer = self.any(numbers.len());
            buffer.copy_from(numbers);
            return self.put(slot, Shadow::Dense(buffer));
        }
        let shadow = self.take(slot);
        let mut buffer = self.dense(shadow, numbers.len());
        buffer.add(numbers);
        self.put(slot, Shadow::Dense(buffer));
    }

    /// Adds a shadow to the one in this slot.
    pub fn give(&mut self, slot: usize, shadow: Shadow<V>) {
        match shadow {
            Shadow::Unset => {}
            _ if slot == 0 => {}
            Shadow::Uniform(number) => self.add_everywhere(slot, number),
            Shadow::Dense(_) if matches!(self.get(slot), Shadow::Unset) => self.put(slot, shadow),
            Shadow::Dense(buffer) => self.add_array(slot, &buffer),
        }
    }

    /// Adds one value to all elements of the shadow in this slot.
    pub(crate) fn add_everywhere(&mut self, slot: usize, number: V) {
        if slot == 0 || number.is_nought() {
            return;
        }
        let sum = match self.take(slot) {
            Shadow::Unset => Shadow::Uniform(number),
            Shadow::Uniform(old) => Shadow::Uniform(old + number),
            Shadow::Dense(mut buffer) => {
                buffer.add_everywhere(number);
                Shadow::Dense(buffer)
            }
        };
        self.put(slot, sum);
    }

    /// Returns a copy of the shadow in this slot, for a view of this length; on a device, if the shadow is there.
    #[must_use]
    pub fn copy(&self, slot: usize, length: usize) -> SharedArray<V> {
        let mut copy = Buffer::unspecified(length);
        match self.get(slot) {
            Shadow::Unset => copy.fill(V::ZERO),
            Shadow::Uniform(number) => copy.fill(*number),
            Shadow::Dense(buffer) => copy.copy_from(buffer),
        }
        SharedArray::new(copy)
    }

    /// Returns the elements of the shadow in this slot, for a view of this length: borrowed if they lie in an array of
    /// numbers of one part.
    #[must_use]
    pub fn elements(&self, slot: usize, length: usize) -> Cow<'_, [V]> {
        match self.get(slot) {
            Shadow::Unset => Cow::Owned(vec![V::ZERO; length]),
            Shadow::Uniform(number) => Cow::Owned(vec![*number; length]),
            Shadow::Dense(buffer) => buffer.to_cow(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shadow, Shadows};

    #[test]
    fn uniform_adjoints_add_up_with_one_another_and_with_those_of_elements() {
        let mut shadows = Shadows::<f64>::new();
        shadows.add_everywhere(1, 2.0);
        shadows.add_everywhere(1, 3.0);
        assert_eq!(*shadows.elements(1, 3), [5.0; 3]);
        shadows.add(1, &[1.0, 2.0, 3.0]);
        shadows.give(1, Shadow::Uniform(10.0));
        assert_eq!(*shadows.elements(1, 3), [16.0, 17.0, 18.0]);
    }
}
