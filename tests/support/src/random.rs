//! Random numbers from a seed: the same ones on every machine, and in every language.

/// Steele, Lea and Flood's `SplitMix64` generator (OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The generator's output function: a bijection that mixes all bits.
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// The numbers that belong to this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `n`.
    #[allow(clippy::cast_possible_truncation, reason = "it is below a usize")]
    pub const fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// A number in this range, its end included.
    pub const fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Whether something happens whose chance is `percent` in 100.
    pub const fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number from `low` to `high` with 53 random bits.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub const fn float(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / 9_007_199_254_740_992.0)
    }

    /// A number strictly between 0 and 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
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

    /// One of these.
    pub const fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_0_gives_the_published_sequence() {
        let mut random = Random::new(0);
        assert_eq!([random.bits(), random.bits()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let moment = |p| draws.iter().map(|z: &f64| z.powi(p)).sum::<f64>() / 100_000.0;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.02, "{} {}", moment(1), moment(2));
    }
}
