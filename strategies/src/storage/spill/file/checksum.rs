//! Checksums of spilled bytes.

use crate::number::simd::dispatch::{Plain, dispatch_plain};

/// Checksum that differs when a fault has changed the bytes. Not a protection against deliberate changes.
///
/// Eight sums run in parallel, each over every eighth word, so that the multiplications do not wait for each other. A
/// step is one-to-one in the word and in the previous sum: data that differ within a single word always have different
/// checksums, other data have the same one with probability 2⁻⁶⁴. Missing bytes at the end count as 0, and the length
/// distinguishes such ends.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    dispatch_plain(Sum(bytes))
}

struct Sum<'a>(&'a [u8]);

impl Plain for Sum<'_> {
    type Output = u64;
    #[inline(always)]
    fn run(self) -> u64 {
        let mut lanes: [u64; 8] = core::array::from_fn(|lane| mix(lane as u64, FACTOR));
        let (chunks, rest) = self.0.as_chunks();
        for chunk in chunks {
            add(&mut lanes, chunk);
        }
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            add(&mut lanes, &last);
        }
        lanes.into_iter().fold(self.0.len() as u64, mix)
    }
}

/// 2⁶⁴ divided by the golden ratio: odd, so that multiplication loses no information, with an irregular bit pattern.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline(always)]
fn add(lanes: &mut [u64; 8], chunk: &[u8; 64]) {
    let (words, _) = chunk.as_chunks();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = mix(*lane, u64::from_le_bytes(*word));
    }
}

/// Mixes a word into a sum. A product carries changes to higher bits only; the shift brings them back down. A change of
/// the highest bit changes two bits, so that no other single bit cancels it.
#[inline(always)]
const fn mix(sum: u64, word: u64) -> u64 {
    let product = (sum ^ word).wrapping_mul(FACTOR);
    product ^ (product >> 32)
}

#[cfg(test)]
mod tests {
    use super::checksum;
    use std::collections::HashSet;

    fn page() -> Vec<u8> {
        (0..4096_u32).map(|i| i.wrapping_mul(2_654_435_769).to_be_bytes()[0] | 1).collect()
    }

    /// Checksum of a page with some bits changed.
    fn changed(bits: &[usize]) -> u64 {
        let mut bytes = page();
        bits.iter().for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
        checksum(&bytes)
    }

    #[test]
    fn every_bit_counts_and_so_does_every_pair_of_neighbors_and_of_signs() {
        let right = checksum(&page());
        let bits = || (0..8 * 4096).step_by(if cfg!(miri) { 1999 } else { 1 });
        let mut seen = HashSet::from([right]);
        assert!(bits().all(|bit| seen.insert(changed(&[bit]))));
        for apart in (1..=64).chain([128, 512, 513, 1024, 8192, 20_000]) {
            let mut pairs = bits().step_by(61).filter(|bit| bit + apart < 8 * 4096);
            assert!(pairs.all(|bit| changed(&[bit, bit + apart]) != right), "bits {apart} apart");
            let mut signs = bits().filter(|bit| bit % 64 == 63 && bit + 64 * apart < 8 * 4096);
            assert!(signs.all(|sign| changed(&[sign, sign + 64 * apart]) != right), "signs {apart} numbers apart");
        }
        // The trace of a word's highest bit, which only the shift distinguishes.
        assert!((0..64).all(|bit| changed(&[63, 512 + bit]) != right));
    }

    #[test]
    fn zeros_words_in_another_order_and_other_lengths_count() {
        let bytes = page();
        let mut seen = HashSet::from([checksum(&bytes)]);
        for count in [8, 64, 512, 4096] {
            let mut zeroed = bytes.clone();
            zeroed[..count].fill(0);
            assert!(seen.insert(checksum(&zeroed)), "{count} bytes are 0");
            let mut moved = bytes.clone();
            moved.rotate_left(count % 4096 + 8);
            assert!(seen.insert(checksum(&moved)), "moved by {count}");
        }
        for length in (0..200).chain([4095]) {
            assert!(seen.insert(checksum(&bytes[..length])), "the first {length} bytes");
            assert!(length == 0 || seen.insert(checksum(&vec![0; length])), "{length} zeros");
        }
    }
}
