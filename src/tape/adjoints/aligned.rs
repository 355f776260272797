//! Vectors of values that begin at a cache line.

use core::ops::{Deref, DerefMut};
use tapewright_strategies::Number;

/// Bytes in a cache line.
pub(crate) const LINE: usize = 64;

/// A vector of zeros whose memory is not touched; `None` if the allocator has no such memory.
pub(crate) fn zeros<V: Number>(length: usize) -> Option<Vec<V>> {
    bytemuck::allocation::try_zeroed_vec(length).ok()
}

/// A vector of values. Values with several lanes begin at a cache line, if a complete number of lanes reaches one: what
/// a sweep writes across two lines has to reach the cache before it can be read again.
#[derive(Clone, Debug)]
pub(crate) struct Aligned<V: Number> {
    /// The lanes of the values, after lanes of padding.
    lanes: Vec<V::Lane>,
    /// Index of the first lane of a value; 0 unless a value has several lanes.
    start: usize,
}

impl<V: Number> Default for Aligned<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Number> Aligned<V> {
    /// An empty vector.
    pub(crate) const fn new() -> Self {
        const { assert!(size_of::<V>() == V::LANES * size_of::<V::Lane>(), "a number is its lanes") }
        Self { lanes: Vec::new(), start: 0 }
    }

    /// A vector of this many zeros, whose memory is not touched; `None` if the allocator has no such memory.
    pub(crate) fn zeros(length: usize) -> Option<Self> {
        let slack = if V::LANES == 1 { 0 } else { LINE / size_of::<V::Lane>() };
        let numbers = length.saturating_mul(V::LANES);
        let mut lanes: Vec<V::Lane> = zeros(numbers.saturating_add(slack))?;
        let start = Some(lanes.as_ptr().align_offset(LINE)).filter(|start| *start < slack).unwrap_or(0);
        lanes.truncate(start + numbers);
        Some(Self { lanes, start })
    }

    /// Appends zeros up to this length. Returns false if the allocator lacks the memory.
    pub(crate) fn extend_to(&mut self, length: usize) -> bool {
        let needed = length.saturating_mul(V::LANES).saturating_add(self.start);
        let more = needed.saturating_sub(self.lanes.len());
        let found = self.lanes.try_reserve(more).is_ok();
        if found && more > 0 {
            self.lanes.resize(needed, Number::ZERO);
        }
        found
    }

    /// Bytes that the allocator gave.
    pub(crate) fn bytes(&self) -> usize {
        self.lanes.capacity() * size_of::<V::Lane>()
    }
}

impl<V: Number> Deref for Aligned<V> {
    type Target = [V];
    #[inline(always)]
    fn deref(&self) -> &[V] {
        bytemuck::cast_slice(if V::LANES == 1 { &self.lanes } else { &self.lanes[self.start..] })
    }
}

impl<V: Number> DerefMut for Aligned<V> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [V] {
        bytemuck::cast_slice_mut(if V::LANES == 1 { &mut self.lanes } else { &mut self.lanes[self.start..] })
    }
}

#[cfg(all(test, feature = "packs"))]
mod tests {
    use super::{Aligned, LINE};
    use tapewright_strategies::{Dual, Number, Pack};

    fn behave<V: Number>(is_aligned: bool) {
        let mut found = Aligned::<V>::zeros(100).expect("a few bytes");
        assert_eq!((found.len(), found.as_ptr().addr().is_multiple_of(LINE) || !is_aligned), (100, true));
        assert!(found.bytes() >= 100 * size_of::<V>());
        found[99] = V::ONE;
        assert!(found.extend_to(5) && found.len() == 100, "it does not shrink");
        assert!(found.extend_to(1000) && found.len() == 1000);
        let ones = found.clone().iter().filter(|number| **number == V::ONE).count();
        assert_eq!((ones, found[99]), (1, V::ONE));
        assert!(Aligned::<V>::zeros(usize::MAX).is_none() && !found.extend_to(usize::MAX));
        assert_eq!((found.len(), Aligned::<V>::new().len()), (1000, 0));
    }

    #[test]
    fn packs_begin_with_a_line_and_all_numbers_are_kept() {
        behave::<f64>(false);
        behave::<Dual<f64, 2>>(false);
        behave::<Dual<Pack<2>, 2>>(false);
        behave::<Pack<8>>(true);
        behave::<Pack<4>>(true);
        behave::<Pack<4, f32>>(true);
    }
}
