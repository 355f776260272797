//! Check that a pattern is still the function's.

use crate::error::Error;
use crate::pattern::Pattern;
use tapewright_strategies::{Float, Number, SweepError};

/// Weight of row or column `k`, between 1 and 2.
pub(crate) fn weight<V: Number>(k: usize) -> V {
    // SplitMix64.
    let mut z = (k as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    #[allow(clippy::cast_precision_loss, reason = "24 bits")]
    V::from_f64(1.0 + (z >> 40) as f64 / (1_u64 << 24) as f64)
}

/// Number of parts of a value that are compared. Of a variable of a recording only the value is compared, because its
/// other parts are its identity.
const fn parts<V: Float>() -> usize {
    if V::VARIABLE { 1 } else { V::PARTS }
}

/// Sums of a product of the matrix and the weights, part by part, with the magnitudes of their terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    sums: Vec<(f64, f64)>,
    doubt: Option<Doubt>,
}

/// A sum that differs from the result of the sweep: it may be a sum of rounding errors, or not finite, which says
/// nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    at: usize,
    is_finite: bool,
}

impl Sums {
    pub(super) fn clear<V: Float>(&mut self, length: usize) {
        self.doubt = None;
        self.sums.clear();
        self.sums.resize(length * parts::<V>(), (0.0, 0.0));
    }

    pub(super) fn add<V: Float>(&mut self, at: usize, weight: V, value: V) {
        for (k, (sum, magnitude)) in self.sums[at * parts::<V>()..][..parts::<V>()].iter_mut().enumerate() {
            let term = weight.as_f64() * value.part(k);
            *sum += term;
            *magnitude += term.abs();
        }
    }

    /// Compares a sum with the result of the sweep along the weights. The first sum that differs, or the first that is
    /// not finite, is kept as a doubt.
    pub(super) fn check<V: Float>(&mut self, at: usize, found: V) {
        let (epsilon, smallest) = (V::epsilon().as_f64(), V::min_positive_value().as_f64());
        for (k, (sum, magnitude)) in self.sums[at * parts::<V>()..][..parts::<V>()].iter().enumerate() {
            let found = found.part(k);
            let allowed = epsilon.sqrt() * (magnitude + found.abs()) + smallest;
            let is_finite = allowed.is_finite();
            let is_new = self.doubt.is_none_or(|doubt| is_finite && !doubt.is_finite);
            if is_new && !(is_finite && (found - sum).abs() <= allowed) {
                self.doubt = Some(Doubt { at, is_finite });
            }
        }
    }

    /// The doubt that is left to be settled.
    pub(super) const fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }
}

impl Doubt {
    /// Decides by the pattern of the recording. If it lies in the known pattern, the differences are rounding errors,
    /// and infinite entries belong there. Sums decide if a recording tells no pattern.
    ///
    /// `by_rows` is true if there was a sum for each row, false if there was one for each column.
    pub(super) fn settle(self, by_rows: bool, known: &Pattern, found: Result<Pattern, Error>) -> Result<(), Error> {
        let (row, column) = match found {
            Ok(found) => match known.lacks(&found) {
                Some((row, column)) => (Some(row), Some(column)),
                None => return Ok(()),
            },
            Err(Error::Sweep(SweepError::Unsupported { .. })) if self.is_finite => {
                (by_rows.then_some(self.at), (!by_rows).then_some(self.at))
            }
            Err(Error::Sweep(SweepError::Unsupported { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        Err(Error::PatternChanged { row, column })
    }
}
