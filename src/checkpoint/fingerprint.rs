//! Whether two runs of one computation gave the same bits.

use crate::expr::Real;
use crate::variables::Variables;
use core::ops::Range;
use smallvec::SmallVec;
use tapewright_strategies::{Float, Passive};

/// The bits of many numbers in few: any one number that differs is noticed, and which it was, or almost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(SmallVec<[u64; 1]>);

/// Numbers are told apart in so many blocks.
const BLOCKS: usize = 64;

impl Fingerprint {
    pub(super) fn of<V: Float>(values: &[V]) -> Self {
        Self(values.chunks(block(values.len())).map(digest_of).collect())
    }

    /// The numbers among which the first that differs is; `None` if all are the same.
    pub(super) fn difference<V: Float>(&self, values: &[V]) -> Option<Range<usize>> {
        let length = block(values.len());
        let other = Self::of(values);
        let at = (0..self.0.len().max(other.0.len())).find(|k| self.0.get(*k) != other.0.get(*k))?;
        Some(at * length..((at + 1) * length).min(values.len()).max(at * length))
    }

    pub(super) fn bytes(&self) -> usize {
        if self.0.spilled() { self.0.capacity() * size_of::<u64>() } else { 0 }
    }
}

const fn block(values: usize) -> usize {
    let block = values.div_ceil(BLOCKS);
    if block == 0 { 1 } else { block }
}

/// Eight sums beside one another, so that the compiler can use vectors. Rotating, and adding bits modulo 2, loses nothing of a
/// single change.
fn digest_of<V: Float>(values: &[V]) -> u64 {
    let mut lanes = [0x9E37_79B9_7F4A_7C15_u64; 8];
    let mut chunks = values.chunks_exact(8);
    for chunk in &mut chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = lane.rotate_left(5) ^ bits(*value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = lane.rotate_left(5) ^ bits(*value);
    }
    lanes.iter().fold(values.len() as u64, |sum, lane| then(sum, *lane))
}

/// The bits, alike for every NaN: their sign and payload depend on how the compiler arranges operands.
fn bits<V: Float>(value: V) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.as_f64().to_bits() }
}

const fn then(sum: u64, next: u64) -> u64 {
    (sum.rotate_left(23) ^ next).wrapping_mul(0x100_0000_01B3)
}

/// The bits of all the numbers of a collection.
pub(super) fn digest<V: Float, X: Variables<Passive<V>>>(numbers: &X) -> u64 {
    let mut sum = 0;
    numbers.visit(&mut |slice| sum = then(sum, digest_of(Real::floats(slice))));
    sum
}

/// The lengths of all the slices of a collection, in order.
pub(super) fn shape<V: Float, X: Variables<Passive<V>>>(collection: &X) -> u64 {
    let mut sum = 0;
    collection.visit(&mut |slice| sum = then(sum, slice.len() as u64));
    sum
}
