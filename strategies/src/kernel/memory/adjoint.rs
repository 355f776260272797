//! Shadows: the adjoints, or the tangents, of views during a sweep.

use super::buffer::{Arena, NewArray};
use super::cache::ReadCache;
use crate::Number;
use std::borrow::Cow;
use std::sync::Arc;

/// The shadow of a view. Most are 0 everywhere or the same everywhere at first, and no memory is filled for these.
#[derive(Clone, Debug, Default)]
pub enum Shadow<V> {
    /// 0 everywhere.
    #[default]
    Unset,
    /// The same number everywhere.
    Uniform(V),
    /// A number for each element.
    Dense(NewArray<V>),
}

/// The shadows of the views of one recording, in the memory of its arrays.
#[derive(Clone, Debug, Default)]
pub struct Shadows<V> {
    /// By the views' slots; slot 0 stands for views that are passive.
    list: Vec<Shadow<V>>,
    /// Values that the sweep has read back, and the memory.
    fetched: ReadCache<V>,
}

impl<V: Number> Shadows<V> {
    /// No shadows.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: Vec::new(), fetched: ReadCache::new() }
    }

    /// No shadows, with memory from where these values have theirs.
    pub(crate) fn beside(fetched: &ReadCache<V>) -> Self {
        let mut shadows = Self::new();
        shadows.draw_from(fetched.memory.as_ref());
        shadows
    }

    /// Takes memory from there from now on. Without that it has some of its own.
    pub(crate) fn draw_from(&mut self, memory: Option<&Arc<Arena<V>>>) {
        self.fetched.draw_from(memory);
    }

    /// Makes all shadows 0. Their memory goes back to where it is from.
    pub fn clear(&mut self) {
        self.forget_behind(0);
    }

    /// Makes the shadows 0 of all slots behind this one. Their memory goes back to where it is from.
    pub fn forget_behind(&mut self, slot: usize) {
        // Slot 0 stands for no view.
        let first = if slot == 0 { 0 } else { slot.saturating_add(1).min(self.list.len()) };
        self.list.truncate(first);
    }

    /// Whether all shadows are 0 because none was ever set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Bytes of shadows, and of these and of the lists.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        let dense = |shadow: &Shadow<V>| if let Shadow::Dense(buffer) = shadow { buffer.bytes() } else { 0 };
        let used: usize = self.list.iter().map(dense).sum();
        (used, used + self.list.capacity() * size_of::<Shadow<V>>() + self.fetched.bytes())
    }

    /// The values that the sweep has read back.
    #[inline(always)]
    pub(crate) const fn fetched(&mut self) -> &mut ReadCache<V> {
        &mut self.fetched
    }

    /// The shadows by the views' slots, and the values that the sweep has read back.
    pub(crate) fn parts(&mut self) -> (&[Shadow<V>], &mut ReadCache<V>) {
        (&self.list, &mut self.fetched)
    }

    /// Ends a launch: what it alone needs of what has been read back may go.
    #[inline(always)]
    pub(crate) fn end_launch(&mut self) {
        self.fetched.end();
    }

    /// Hands what has been read back over to another adjoint vector of the sweep.
    pub(crate) const fn hand_over(&mut self, other: &mut Self) {
        core::mem::swap(&mut self.fetched, &mut other.fetched);
    }

    /// The shadow in this slot.
    #[must_use]
    pub fn get(&self, slot: usize) -> &Shadow<V> {
        self.list.get(slot).unwrap_or(&Shadow::Unset)
    }

    /// Takes the shadow out, and leaves 0.
    #[must_use]
    pub fn take(&mut self, slot: usize) -> Shadow<V> {
        self.list.get_mut(slot).map_or(Shadow::Unset, core::mem::take)
    }

    /// Puts a shadow in place of what is there.
    pub(crate) fn put(&mut self, slot: usize, shadow: Shadow<V>) {
        if slot >= self.list.len() {
            self.list.resize_with(slot + 1, Shadow::default);
        }
        self.list[slot] = shadow;
    }

    /// A buffer with anything in it.
    pub(crate) fn any(&mut self, length: usize) -> NewArray<V> {
        self.fetched.array(length)
    }

    /// A buffer with this number everywhere.
    pub(crate) fn filled(&mut self, length: usize, number: V) -> NewArray<V> {
        let mut buffer = self.any(length);
        buffer.fill(number);
        buffer
    }

    /// A shadow as a buffer.
    pub(crate) fn dense(&mut self, shadow: Shadow<V>, length: usize) -> NewArray<V> {
        match shadow {
            Shadow::Unset => self.filled(length, V::ZERO),
            Shadow::Uniform(number) => self.filled(length, number),
            Shadow::Dense(buffer) => buffer,
        }
    }

    /// The shadow in this slot, as a buffer.
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

    /// Adds these numbers to the shadow in this slot.
    pub fn add(&mut self, slot: usize, numbers: &[V]) {
        if slot == 0 {
            return;
        }
        if matches!(self.get(slot), Shadow::Unset) {
            let mut buffer = self.any(numbers.len());
            buffer.copy_from_slice(numbers);
            return self.put(slot, Shadow::Dense(buffer));
        }
        let shadow = self.take(slot);
        let mut buffer = self.dense(shadow, numbers.len());
        buffer.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += *number);
        self.put(slot, Shadow::Dense(buffer));
    }

    /// Adds a shadow to the one in this slot.
    pub fn give(&mut self, slot: usize, shadow: Shadow<V>) {
        match shadow {
            Shadow::Unset => {}
            _ if slot == 0 => {}
            Shadow::Uniform(number) => self.add_everywhere(slot, number),
            Shadow::Dense(_) if matches!(self.get(slot), Shadow::Unset) => self.put(slot, shadow),
            Shadow::Dense(buffer) => self.add(slot, &buffer),
        }
    }

    /// Adds a number to all elements of the shadow in this slot.
    pub(crate) fn add_everywhere(&mut self, slot: usize, number: V) {
        if slot == 0 || number.is_nought() {
            return;
        }
        let sum = match self.take(slot) {
            Shadow::Unset => Shadow::Uniform(number),
            Shadow::Uniform(old) => Shadow::Uniform(old + number),
            Shadow::Dense(mut buffer) => {
                buffer.iter_mut().for_each(|element| *element += number);
                Shadow::Dense(buffer)
            }
        };
        self.put(slot, sum);
    }

    /// The elements of the shadow in this slot, of a view with this many.
    #[must_use]
    pub fn elements(&self, slot: usize, length: usize) -> Cow<'_, [V]> {
        match self.get(slot) {
            Shadow::Unset => Cow::Owned(vec![V::ZERO; length]),
            Shadow::Uniform(number) => Cow::Owned(vec![*number; length]),
            Shadow::Dense(buffer) => Cow::Borrowed(buffer),
        }
    }
}
