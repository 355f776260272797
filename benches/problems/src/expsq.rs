//! A tiny function, many times.

use crate::{Checksums, Error, Problem};
use tapewright::{Real, Taping};

/// exp(x₀)·x₁·x₁: one statement with three argument uses, at points that move a little from evaluation to evaluation.
#[derive(Clone, Copy, Debug)]
pub struct ExpSq {
    gradients: usize,
}

impl Default for ExpSq {
    fn default() -> Self {
        Self { gradients: 1_000_000 }
    }
}

impl ExpSq {
    /// As many evaluations.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when `gradients` is 0.
    pub fn new(gradients: usize) -> Result<Self, Error> {
        Error::unless_at_least("expsq", "the number of gradients", gradients, 1)?;
        Ok(Self { gradients })
    }
}

impl Problem for ExpSq {
    fn name(&self) -> &'static str {
        "expsq"
    }

    fn size(&self) -> String {
        format!("{} gradients", self.gradients)
    }

    fn evaluations(&self) -> usize {
        self.gradients
    }

    #[inline]
    fn inputs_into(&self, k: usize, x: &mut Vec<f64>) {
        let shift = 1e-7 * k as f64;
        x.clear();
        x.extend_from_slice(&[0.3 + shift, 1.7 - shift]);
    }

    #[inline]
    fn eval<S: Taping>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        (x[0].exp() * &x[1] * &x[1]).into()
    }

    #[inline]
    fn plain(&self, _: usize, x: &[f64]) -> f64 {
        x[0].exp() * x[1] * x[1]
    }

    #[inline]
    fn adjoint(&self, _: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let factor = x[0].exp() * x[1];
        let value = factor * x[1];
        gradient.copy_from_slice(&[value, 2.0 * factor]);
        value
    }

    fn checksums(&self) -> Option<Checksums> {
        (self.gradients == 1_000_000).then_some(Checksums {
            value: 3_862_301.429_922_299,
            sum: 8_544_810.006_004_64,
            norm: 6_069_864.817_330_326,
        })
    }
}
