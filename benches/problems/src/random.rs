//! Random numbers that are the same in every language.

/// Steele, Lea and Flood's `SplitMix64` generator (OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

/// The generator's output function: a bijection that mixes all bits.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl SplitMix64 {
    /// A generator in this state.
    #[must_use]
    pub const fn new(state: u64) -> Self {
        Self { state }
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number strictly between 0 and 1.
    pub fn u01(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * 0.5_f64.powi(53)
    }

    /// A number strictly between −1 and 1.
    pub fn symmetric(&mut self) -> f64 {
        2.0 * self.u01() - 1.0
    }

    /// A standard normal number by Box and Muller's method, from two draws; the sine half is not used.
    pub fn normal(&mut self) -> f64 {
        let (u1, u2) = (self.u01(), self.u01());
        (-2.0 * u1.ln()).sqrt() * (core::f64::consts::TAU * u2).cos()
    }
}

/// A number that tells data sets apart.
pub(crate) fn fingerprint(parts: &[&[f64]]) -> u64 {
    parts.iter().copied().flatten().fold(0, |hash, x| mix(hash.rotate_left(1) ^ x.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_0_gives_the_published_sequence() {
        let mut random = SplitMix64::new(0);
        assert_eq!([random.bits(), random.bits()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = SplitMix64::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let moment = |p| draws.iter().map(|z: &f64| z.powi(p)).sum::<f64>() / draws.len() as f64;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.02, "{} {}", moment(1), moment(2));
    }

    #[test]
    fn fingerprints_depend_on_order_and_on_the_last_bit() {
        let of = |x: &[f64]| fingerprint(&[x]);
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[1.0, 2.0_f64.next_up()]));
        assert_eq!(of(&[1.0, 2.0]), fingerprint(&[&[1.0], &[2.0]]));
    }
}
