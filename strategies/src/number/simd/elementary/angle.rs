//! Inverse circular functions.

use super::pieces::{Two, inside, polynomial, where_valid, within};
use crate::number::simd::vector::SimdVector;
use core::f64::consts::{FRAC_PI_4, SQRT_2};

/// The angle of a point in the upper half plane, given by its distances from the axes; `is_left` where it is in the
/// left half plane.
#[inline(always)]
fn angle<L: SimdVector<Number = f64>>(up: Two<L>, along: Two<L>, is_left: L::Mask) -> L {
    // From the nearer axis, and from the diagonal if that is nearer.
    let is_steep = along.high.less(up.high);
    let (shorter, longer) = (Two::select(is_steep, along, up), Two::select(is_steep, up, along));
    let is_diagonal = (L::splat(SQRT_2 - 1.0) * longer.high).less(shorter.high);
    let sum = Two::ordered_sum(longer.high, shorter.high).plus(longer.low + shorter.low);
    let difference = Two::ordered_sum(longer.high, -shorter.high).plus(longer.low - shorter.low);
    let difference = Two { high: -difference.high, low: -difference.low };
    let above = Two::select(is_diagonal, difference, shorter);
    let ratio = above.over(Two::select(is_diagonal, sum, longer));
    let (z, square) = (ratio.high, ratio.high * ratio.high);
    let series = polynomial(
        square,
        [
            1.628_518_302_986_566_7e-2,
            -3.457_004_418_609_553_6e-2,
            4.551_573_086_664_191e-2,
            -5.230_449_856_709_240_6e-2,
            5.878_928_398_517_232e-2,
            -6.666_424_833_613_552e-2,
            7.692_296_372_129_964e-2,
            -9.090_908_753_400_499e-2,
            1.111_111_110_515_342_9e-1,
            -1.428_571_428_565_980_6e-1,
            1.999_999_999_999_980_4e-1,
            -3.333_333_333_333_333e-1,
        ],
    );
    let low = (z * square).fused(series, ratio.low - ratio.low * square);
    // Eighths of a turn from the axis on the right, and the direction of the rest.
    let (zero, one) = (L::zero(), L::one());
    let eighths = L::select(is_diagonal, one, zero);
    let eighths = L::select(is_steep, L::splat(2.0) - eighths, eighths);
    let eighths = L::select(is_left, L::splat(4.0) - eighths, eighths);
    let sign = L::select(is_steep, -one, one);
    let sign = L::select(is_left, -sign, sign);
    let base = Two::product(eighths, L::splat(FRAC_PI_4));
    let low = sign.fused(low, eighths.fused(L::splat(3.061_616_997_868_383e-17), base.low));
    let found = Two::ordered_sum(base.high, sign * z);
    found.plus(low).high
}

/// Mask without elements.
#[inline(always)]
fn nowhere<L: SimdVector<Number = f64>>() -> L::Mask {
    L::zero().differ(L::zero())
}

/// Arctangent.
#[inline(always)]
pub(crate) fn atan<L: SimdVector<Number = f64>>(x: L) -> L {
    let found = angle(Two::exact(x.abs()), Two::exact(L::one()), nowhere::<L>());
    within(x, found.map2(x, f64::copysign), (-1e300, 1e300), f64::atan)
}

/// The angle of the point (x, y).
#[inline(always)]
pub(crate) fn atan2<L: SimdVector<Number = f64>>(y: L, x: L) -> L {
    let (up, along) = (y.abs(), x.abs());
    let found = angle(Two::exact(up), Two::exact(along), x.less(L::zero())).map2(y, f64::copysign);
    let valid = L::both(inside(up, 1e-150, 1e150), inside(along, 1e-150, 1e150));
    where_valid(valid, [y, x], found, f64::atan2)
}

/// √(1 − x²) for |x| < 1.
#[inline(always)]
fn other_leg<L: SimdVector<Number = f64>>(x: L) -> Two<L> {
    let square = Two::product(x, x);
    let rest = Two::ordered_sum(L::one(), -square.high).plus(-square.low);
    let root = rest.high.sqrt();
    Two { high: root, low: ((-root).fused(root, rest.high) + rest.low) * (L::splat(0.5) / root) }
}

/// The numbers next to −1 and 1, between them.
const INSIDE: (f64, f64) = (-1.0 + 0.5 * f64::EPSILON, 1.0 - 0.5 * f64::EPSILON);

/// Arcsine.
#[inline(always)]
pub(crate) fn asin<L: SimdVector<Number = f64>>(x: L) -> L {
    let found = angle(Two::exact(x.abs()), other_leg(x), nowhere::<L>());
    within(x, found.map2(x, f64::copysign), INSIDE, f64::asin)
}

/// Arccosine.
#[inline(always)]
pub(crate) fn acos<L: SimdVector<Number = f64>>(x: L) -> L {
    let found = angle(other_leg(x), Two::exact(x.abs()), x.less(L::zero()));
    within(x, found, INSIDE, f64::acos)
}
