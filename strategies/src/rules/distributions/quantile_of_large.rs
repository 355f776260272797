//! Quantiles of gamma and beta distributions with huge shapes, by the normal quantile z: the expansion by Cornish and
//! Fisher (Abramowitz and Stegun, 26.2.49), whose next terms are negligible. It has all digits of the slopes, also
//! where numbers next to each other are more than a standard deviation apart.

use crate::rules::gamma::tail::shape_slope;
use crate::rules::rule::lit;
use crate::{Dual, Float};

/// From these shapes on it is exact to double precision.
pub(crate) const HUGE: f64 = 1e13;

/// (x − mean)/deviation from skewness and excess kurtosis.
fn standard<W: Float>(z: W, skewness: W, kurtosis: W) -> W {
    let square = z * z;
    let third = skewness * lit(1.0 / 6.0) * (square - W::ONE);
    let fourth = kurtosis * lit(1.0 / 24.0) * (square - lit(3.0));
    z + third + z * (fourth - skewness * skewness * lit(1.0 / 36.0) * (lit::<W>(2.0) * square - lit(5.0)))
}

/// The quantile of the gamma distribution.
pub(crate) fn gamma<W: Float>(z: W, a: W) -> W {
    let root = a.sqrt();
    a + root * standard(z, lit::<W>(2.0) / root, lit::<W>(6.0) / a)
}

/// The quantile of the beta distribution; with a and b exchanged, and −z, it is 1 less that.
pub(crate) fn beta<W: Float>(z: W, a: W, b: W) -> W {
    let n = a + b;
    let (x, y) = (a / n, b / n);
    let spread = a.recip() + b.recip();
    let skewness = lit::<W>(2.0) * (y - x) * spread.sqrt();
    let kurtosis = lit::<W>(6.0) * ((y - x) * (y - x) * spread - n.recip());
    x + (x * y / (n + W::ONE)).sqrt() * standard(z, skewness, kurtosis)
}

/// The slope of one of these by z.
pub(crate) fn slope_z<W: Float, const N: usize>(
    f: impl Fn(Dual<W, 1>, [Dual<W, 1>; N]) -> Dual<W, 1>,
    z: W,
    shapes: [W; N],
) -> W {
    shape_slope(|[z]| f(z, shapes.map(Dual::constant)), [z], 0)
}

/// The slope of one of these by a shape.
pub(crate) fn slope_shape<W: Float, const N: usize>(
    f: impl Fn(Dual<W, 1>, [Dual<W, 1>; N]) -> Dual<W, 1>,
    z: W,
    shapes: [W; N],
    by: usize,
) -> W {
    shape_slope(|shapes| f(Dual::constant(z), shapes), shapes, by)
}
