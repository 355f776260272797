//! Things by the number of their slot.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

/// Things by the number of their slot, or tape. A schedule gives the numbers, and may use any.
pub(super) type Slots<V> = HashMap<usize, V, BuildHasherDefault<Spread>>;

/// Spreads numbers over all bits. Schedules count from 0, so there is nothing to protect against.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }
    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
