//! Random numbers that are the same in every language.

pub use tapewright_test_support::Random as SplitMix64;
use tapewright_test_support::mix;

/// A number that tells data sets apart.
pub(crate) fn fingerprint(parts: &[&[f64]]) -> u64 {
    parts.iter().copied().flatten().fold(0, |hash, x| mix(hash.rotate_left(1) ^ x.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_depend_on_order_and_on_the_last_bit() {
        let of = |x: &[f64]| fingerprint(&[x]);
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[1.0, 2.0_f64.next_up()]));
        assert_eq!(of(&[1.0, 2.0]), fingerprint(&[&[1.0], &[2.0]]));
    }
}
