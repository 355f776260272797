//! Digests, to find out if two runs of one computation gave the same bits.

use crate::expr::Real;
use crate::variables::Variables;
use core::ops::Range;
use smallvec::SmallVec;
use tapewright_strategies::{Number, Passive, bits};

/// Digests of many values in up to 64 blocks: a difference is noticed, up to collisions of 64 bits, and its block
/// found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(SmallVec<[u64; 1]>);

/// Largest number of blocks, each of which has a digest.
const BLOCKS: usize = 64;

impl Fingerprint {
    pub(super) fn of<V: Number>(values: &[V]) -> Self {
        Self(values.chunks(block(values.len())).map(digest_of).collect())
    }

    /// Appends the digests of arrays to the digests of the values.
    pub(super) fn with(mut self, arrays: impl Iterator<Item = u64>) -> Self {
        self.0.extend(arrays);
        self
    }

    /// The digests of arrays, which follow the digests of this many values.
    pub(super) fn arrays(&self, numbers: usize) -> &[u64] {
        self.0.get(numbers.div_ceil(block(numbers))..).unwrap_or(&[])
    }

    /// The block of values that contains the first difference; `None` if all are the same. There must be as many values
    /// as at first.
    pub(super) fn difference<V: Number>(&self, values: &[V]) -> Option<Range<usize>> {
        let length = block(values.len());
        let mut blocks = self.0.iter().zip(values.chunks(length));
        let at = blocks.position(|(digest, block)| *digest != digest_of(block))?;
        Some(at * length..((at + 1) * length).min(values.len()))
    }

    pub(super) fn bytes(&self) -> usize {
        if self.0.spilled() { self.0.capacity() * size_of::<u64>() } else { 0 }
    }
}

const fn block(values: usize) -> usize {
    let block = values.div_ceil(BLOCKS);
    if block == 0 { 1 } else { block }
}

/// A digest of 64 bits for a sequence of slices: with a probability of about 1 − 2⁻⁶⁴ it differs if any value, the
/// order of values or the length of a slice differs.
///
/// For each row of 64 parts of values it takes the sum of bits · key modulo 2¹²⁸, with a key for each position (D.
/// Lemire and O. Kaser, *Strongly universal string hashing is fast*, The Computer Journal 57, 2014). In such a sum, two
/// values that are exchanged always change the sum, because |(a − b)·(kᵢ − kⱼ)| is less than 2¹²⁸ and not 0. Sums are
/// chained by a mixer that is one to one, so that differences in earlier rows are not lost.
struct Digest(u64);

/// Keys of the positions, which are as good as random: the first numbers of `SplitMix64`.
const KEYS: [u64; 64] = {
    let mut keys = [0; 64];
    let mut place = 0;
    while place < keys.len() {
        keys[place] = mix(WEYL.wrapping_mul(place as u64 + 1));
        place += 1;
    }
    keys
};

/// 2⁶⁴ divided by the golden ratio.
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// The mixer of `SplitMix64`, which is one to one (G. Steele, D. Lea and C. Flood, *Fast splittable pseudorandom number
/// generators*, OOPSLA 2014).
const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl Digest {
    const fn new() -> Self {
        Self(WEYL)
    }

    fn slice<V: Number>(&mut self, values: &[V]) {
        for row in values.chunks((KEYS.len() / V::PARTS).max(1)) {
            let parts = row.iter().flat_map(|value| (0..V::PARTS).map(|k| bits(value.part(k))));
            let products = parts.zip(KEYS.iter().cycle()).map(|(bits, key)| u128::from(bits) * u128::from(*key));
            let sum = products.fold(0, u128::wrapping_add);
            #[allow(clippy::cast_possible_truncation, reason = "one half, then the other")]
            for half in [sum as u64, (sum >> 64) as u64] {
                self.word(half);
            }
        }
        self.word(values.len() as u64);
    }

    const fn word(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }
}

/// Digest of the bits of these values.
pub(super) fn digest_of<V: Number>(values: &[V]) -> u64 {
    let mut digest = Digest::new();
    digest.slice(values);
    digest.0
}

/// Digest of the bits of all values of a collection.
pub(super) fn digest<V: Number, X: Variables<Passive<V>>>(numbers: &X) -> u64 {
    let mut digest = Digest::new();
    numbers.visit(&mut |slice| digest.slice(Real::floats(slice)));
    numbers.visit_views(&mut |view| digest.slice(&view.values()));
    digest.0
}

/// Digest of the lengths of all slices of a collection, in order.
pub(super) fn shape<V: Number, X: Variables<Passive<V>>>(collection: &X) -> u64 {
    let mut digest = Digest::new();
    collection.visit(&mut |slice| digest.word(slice.len() as u64));
    collection.visit_views(&mut |view| view.shape().iter().for_each(|length| digest.word(*length as u64)));
    digest.0
}
