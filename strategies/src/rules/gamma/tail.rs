//! A tail of a distribution with the other one, and slopes by parameters.

use crate::{Dual, Float};

/// One of the two tails of a distribution: multiple·exp(exponent).
#[derive(Clone, Copy)]
pub(crate) struct Tail<W> {
    /// True for the lower tail.
    pub(crate) lower: bool,
    /// The logarithm of the tail but for the multiple.
    pub(crate) exponent: W,
    /// The factor before the exponential function.
    pub(crate) multiple: W,
    /// True if the factor is 1 and the exponent has all its digits near 0, so that the other tail is exact, too.
    pub(crate) logarithmic: bool,
}

impl<W: Float> Tail<W> {
    /// The tail.
    pub(crate) fn value(&self) -> W {
        let power = self.exponent.exp();
        // Where a power has underflowed, its derivatives may be products of 0 and ∞.
        if power.as_f64() == 0.0 { W::ZERO } else { power * self.multiple }
    }

    /// The other tail.
    fn complement(&self) -> W {
        if self.logarithmic { -self.exponent.exp_m1() } else { W::ONE - self.value() }
    }

    /// The lower or the upper tail.
    pub(crate) fn of_side(&self, lower: bool) -> W {
        if self.lower == lower { self.value() } else { self.complement() }
    }

    /// The distribution function over exp(`exponent`), but for a constant.
    pub(crate) fn scaled_lower(self, exponent: f64) -> W {
        let value = Tail { exponent: self.exponent - W::from_f64(exponent), ..self }.value();
        if self.lower { value } else { -value }
    }

    /// The distribution function.
    pub(crate) fn lower(&self) -> W {
        self.of_side(true)
    }
}

impl Tail<f64> {
    /// The logarithm of the lower or the upper tail, also where that underflows.
    pub(crate) fn logarithm(&self, lower: bool) -> f64 {
        if self.lower == lower { self.exponent + self.multiple.ln() } else { self.complement().ln() }
    }
}

/// The slope of a function by one of its parameters.
pub(crate) fn shape_slope<W: Float, const N: usize>(
    f: impl Fn([Dual<W, 1>; N]) -> Dual<W, 1>,
    parameters: [W; N],
    by: usize,
) -> W {
    let mut moving = parameters.map(Dual::constant);
    moving[by].tangents = [W::ONE];
    f(moving).tangents[0]
}
