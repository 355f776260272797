//! Whether a pattern is still the function's.

use crate::error::Error;
use crate::pattern::Pattern;
use tapewright_strategies::{Float, Number, SweepError};

/// A weight for each row or column, between 1 and 2.
pub(crate) fn weight<V: Number>(k: usize) -> V {
    // SplitMix64.
    let mut z = (k as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    #[allow(clippy::cast_precision_loss, reason = "24 bits")]
    V::from_f64(1.0 + (z >> 40) as f64 / (1_u64 << 24) as f64)
}

/// How many parts of a number are compared: of a variable of a recording the value, whose other parts say which it is.
const fn parts<V: Float>() -> usize {
    if V::VARIABLE { 1 } else { V::PARTS }
}

/// The sums of a product of the matrix and the weights, part by part, with the magnitudes of what was added.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    sums: Vec<(f64, f64)>,
    doubt: Option<Doubt>,
}

/// A sum that is not what was found: it may be a sum of rounding errors, or one of which nothing can be said.
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

    /// Compares a sum with what a sweep found along the weights. The first one that differs is kept as a doubt, or the
    /// first one that is not finite.
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

    /// What is left to be found out.
    pub(super) const fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }
}

impl Doubt {
    /// Whether the pattern of the recording lies in the one that is known: what differs are rounding errors then, and
    /// infinite entries belong there. Sums decide where a recording tells no pattern.
    ///
    /// `by_rows` says whether there was a sum for each row, or one for each column.
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
