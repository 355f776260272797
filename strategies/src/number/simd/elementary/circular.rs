//! Sine, cosine and tangent.

use super::pieces::{ROUNDER, Two, map, polynomial, within};
use crate::number::simd::vector::SimdVector;
use core::f64::consts::FRAC_2_PI;

/// Sine and cosine of what is left of an angle without quarter turns, and a number that has these in its last bits.
struct Turned<L> {
    sin: Two<L>,
    cos: Two<L>,
    turns: L,
}

/// Takes quarter turns from an angle, |x| ≤ 10⁵.
#[inline(always)]
fn turned<L: SimdVector<Number = f64>>(x: L) -> Turned<L> {
    // x = k·π/2 + r, with π/2 in three parts whose products with k are exact.
    let shifted = x.fused(L::splat(FRAC_2_PI), L::splat(ROUNDER));
    let k = shifted - L::splat(ROUNDER);
    let first = x - k * L::splat(1.570_796_326_734_125_6);
    let second = k * L::splat(6.077_100_506_303_966e-11);
    let high = first - second;
    let low = ((first - high) - second) - k * L::splat(2.022_266_248_795_950_7e-21);
    let r = high + low;
    let low = (high - r) + low;
    let z = r * r;
    let half = L::splat(0.5);
    let series = polynomial(
        z,
        [
            1.589_690_995_211_55e-10,
            -2.505_076_025_340_686_3e-8,
            2.755_731_370_707_006_8e-6,
            -1.984_126_982_985_795e-4,
            8.333_333_333_322_49e-3,
        ],
    );
    let cube = z * r;
    let less = (z * (half * low - cube * series) - low) - cube * L::splat(-1.666_666_666_666_663_2e-1);
    let sin = r - less;
    let sin = Two { high: sin, low: (r - sin) - less };
    let series = z * polynomial(
        z,
        [
            -1.135_964_755_778_819_5e-11,
            2.087_572_321_298_175e-9,
            -2.755_731_435_139_066_3e-7,
            2.480_158_728_947_673e-5,
            -1.388_888_888_887_411e-3,
            4.166_666_666_666_66e-2,
        ],
    );
    let half_z = half * z;
    let leading = L::one() - half_z;
    let cos = Two::ordered_sum(leading, ((L::one() - leading) - half_z) + (z * series - r * low));
    Turned { sin, cos, turns: shifted }
}

/// Mask of the elements in which the number of quarter turns is odd.
#[inline(always)]
fn is_odd<L: SimdVector<Number = f64>>(turns: L) -> L::Mask {
    map(turns, |k| f64::from_bits(k.to_bits() << 63 >> 1)).differ(L::zero())
}

/// Sine and cosine.
#[inline(always)]
pub(crate) fn sin_cos<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let Turned { sin, cos, turns } = turned(x);
    let (sin, cos, is_odd) = (sin.high, cos.high, is_odd(turns));
    // Quarter turns exchange the two, and half turns change their signs.
    let signed = |x: L, k: L| x.map2(k, |x, k| f64::from_bits(x.to_bits() ^ ((k.to_bits() & 2) << 62)));
    let next = map(turns, |k| f64::from_bits(k.to_bits().wrapping_add(1)));
    let sin_found = L::select(x.equal(L::zero()), x, signed(L::select(is_odd, cos, sin), turns));
    let cos_found = signed(L::select(is_odd, sin, cos), next);
    (within(x, sin_found, (-1e5, 1e5), f64::sin), within(x, cos_found, (-1e5, 1e5), f64::cos))
}

/// Tangent.
#[inline(always)]
pub(crate) fn tan<L: SimdVector<Number = f64>>(x: L) -> L {
    let Turned { sin, cos, turns } = turned(x);
    let is_odd = is_odd(turns);
    let above = Two::select(is_odd, cos, sin);
    let found = above.over(Two::select(is_odd, sin, cos)).rounded();
    let found = L::select(is_odd, -found, found);
    within(x, L::select(x.equal(L::zero()), x, found), (-1e5, 1e5), f64::tan)
}

/// Cosine and sine.
#[inline(always)]
pub(crate) fn cos_sin<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let (sin, cos) = sin_cos(x);
    (cos, sin)
}
