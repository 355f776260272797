//! Whether a pattern is still that of the function.

use crate::error::Error;
use tapewright_strategies::Float;

/// A weight for each row or column, between 1 and 2.
pub(super) fn weight<V: Float>(k: usize) -> V {
    // SplitMix64.
    let mut z = (k as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    #[allow(clippy::cast_precision_loss, reason = "24 bits")]
    V::from_f64(1.0 + (z >> 40) as f64 / (1_u64 << 24) as f64)
}

/// The sums of a product of the matrix and the weights, with the magnitudes of what was added.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums(Vec<(f64, f64)>);

impl Sums {
    pub(super) fn clear(&mut self, length: usize) {
        self.0.clear();
        self.0.resize(length, (0.0, 0.0));
    }

    pub(super) fn add<V: Float>(&mut self, at: usize, weight: V, value: V) {
        let term = weight.as_f64() * value.as_f64();
        self.0[at].0 += term;
        self.0[at].1 += term.abs();
    }

    /// Compares a sum with what a sweep found along the weights.
    pub(super) fn check<V: Float>(&self, at: usize, found: V) -> Result<(), Error> {
        let (sum, magnitude) = self.0[at];
        let found = found.as_f64();
        let epsilon = if size_of::<V>() == size_of::<f32>() { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let allowed = epsilon.sqrt() * (magnitude + found.abs());
        if (found - sum).abs() > allowed && allowed.is_finite() {
            return Err(Error::PatternChanged { at });
        }
        Ok(())
    }
}
