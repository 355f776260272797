//! Exponential and hyperbolic functions.

use super::logarithm::ln_1p;
use super::pieces::{LN2_HIGH, LN2_LOW, ROUNDER, Two, polynomial, within};
use crate::number::simd::vector::SimdVector;
use core::f64::consts::{LN_2, LOG2_E};

/// For x = k·ln 2 + r: r, and a number that has k in its last bits.
#[inline(always)]
fn remainder<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let shifted = x.fused(L::splat(LOG2_E), L::splat(ROUNDER));
    let k = shifted - L::splat(ROUNDER);
    (k.fused(L::splat(-LN2_LOW), k.fused(L::splat(-LN2_HIGH), x)), shifted)
}

/// (eʳ − 1 − r)/r² for |r| ≤ ½·ln 2, with as many digits as eʳ needs.
#[inline(always)]
fn beyond_first_of_power<L: SimdVector<Number = f64>>(r: L) -> L {
    // The polynomial of degree 9 that is exact at ten Chebyshev points, off by at most 1.2·10⁻¹⁶, which is 1.7·10⁻¹⁷ of
    // eʳ, at most 0.12 of its unit in the last place. Even and odd powers apart so that the two sums are independent.
    let square = r * r;
    let even = polynomial(
        square,
        [
            2.762_008_844_540_974_6e-7,
            2.480_152_129_595_437_6e-5,
            0.001_388_888_891_721_371_7,
            0.041_666_666_666_624_13,
            0.500_000_000_000_000_1,
        ],
    );
    let odd = polynomial(
        square,
        [
            2.510_038_549_551_032e-8,
            2.755_726_845_999_706_4e-6,
            1.984_126_986_305_361_8e-4,
            0.008_333_333_333_330_062,
            0.166_666_666_666_666_69,
        ],
    );
    odd.fused(r, even)
}

/// (eʳ − 1 − r)/r² for |r| ≤ ½·ln 2, with more digits than a float has.
#[inline(always)]
fn beyond_first<L: SimdVector<Number = f64>>(r: L) -> L {
    // The series up to r¹³, even and odd powers apart so that the two sums are independent.
    let square = r * r;
    let even = polynomial(
        square,
        [
            1.0 / 479_001_600.0, // 1/12!
            1.0 / 3_628_800.0,
            1.0 / 40_320.0,
            1.0 / 720.0,
            1.0 / 24.0,
            0.5,
        ],
    );
    let odd = polynomial(
        square,
        [
            1.0 / 6_227_020_800.0, // 1/13!
            1.0 / 39_916_800.0,
            1.0 / 362_880.0,
            1.0 / 5_040.0,
            1.0 / 120.0,
            1.0 / 6.0,
        ],
    );
    odd.fused(r, even)
}

/// Returns x·2^k for the k in the last bits of `shifted`, if the result is a normal number.
#[inline(always)]
pub(super) fn scaled<L: SimdVector<Number = f64>>(x: L, shifted: L) -> L {
    x.map2(shifted, |x, k| f64::from_bits(x.to_bits().wrapping_add(k.to_bits() << 52)))
}

/// eˣ.
#[inline(always)]
pub(crate) fn exp<L: SimdVector<Number = f64>>(x: L) -> L {
    let (r, shifted) = remainder(x);
    let p = (r * r).fused(beyond_first_of_power(r), r);
    within(x, scaled(L::one() + p, shifted), (-708.0, 709.0), f64::exp)
}

/// eˣ − 1.
#[inline(always)]
pub(crate) fn exp_m1<L: SimdVector<Number = f64>>(x: L) -> L {
    within(x, rise(x), (-708.0, 709.0), f64::exp_m1)
}

/// eˣ − 1 for |x| ≤ 708.
#[inline(always)]
fn rise<L: SimdVector<Number = f64>>(x: L) -> L {
    let (r, shifted) = remainder(x);
    let p = (r * r).fused(beyond_first(r), r);
    let power = scaled(L::one(), shifted);
    // −0 stays −0.
    L::select(x.equal(L::zero()), x, power.fused(p, power - L::one()))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<L: SimdVector<Number = f64>>(x: L) -> L {
    let two = L::splat(2.0);
    let rise = rise(two * x.abs());
    let size = rise / (rise + two);
    within(x, size.map2(x, f64::copysign), (-300.0, 300.0), f64::tanh)
}

/// The remainder r of x = k·ln 2 + r, and a number that has k in its last bits, for |x| below 2²⁰.
#[inline(always)]
fn reduced<L: SimdVector<Number = f64>>(x: Two<L>) -> (Two<L>, L) {
    let shifted = x.high.fused(L::splat(LOG2_E), L::splat(ROUNDER));
    let k = shifted - L::splat(ROUNDER);
    let first = k.fused(L::splat(-LN2_HIGH), x.high);
    let rest = k.fused(L::splat(-LN2_LOW), x.low);
    (Two::sum(first, rest), shifted)
}

/// eʳ for |r| ≤ ½·ln 2.
#[inline(always)]
fn power_of_remainder<L: SimdVector<Number = f64>>(r: Two<L>) -> Two<L> {
    let sum = Two::ordered_sum(L::one(), r.high);
    let square = r.high * r.high;
    sum.plus(square.fused(beyond_first(r.high), r.low * sum.high))
}

/// Returns e^x as m·2^k: m, between 0.7 and 1.5, and a number that has k in its last bits.
#[inline(always)]
pub(super) fn power_of_e<L: SimdVector<Number = f64>>(x: Two<L>) -> (Two<L>, L) {
    let (r, shifted) = reduced(x);
    (power_of_remainder(r), shifted)
}

/// 2ˣ.
#[inline(always)]
pub(crate) fn exp2<L: SimdVector<Number = f64>>(x: L) -> L {
    let shifted = x + L::splat(ROUNDER);
    let rest = x - (shifted - L::splat(ROUNDER));
    let r = Two::product(rest, L::splat(LN_2));
    let m = power_of_remainder(r.plus(rest * L::splat(2.319_046_813_846_299_6e-17)));
    within(x, scaled(m.high, shifted), (-1021.0, 1023.0), f64::exp2)
}

/// Half of e^|x| and half of e^−|x| for |x| ≤ 708.
#[inline(always)]
fn halves<L: SimdVector<Number = f64>>(x: L) -> (Two<L>, L) {
    let (m, shifted) = power_of_e(Two::exact(x.abs()));
    let half = m.scaled(scaled(L::splat(0.5), shifted));
    (half, L::splat(0.25) / half.high)
}

/// Hyperbolic sine, and the cosine.
#[inline(always)]
pub(crate) fn sinh<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let (rising, falling) = halves(x);
    let square = x * x;
    let series = polynomial(
        square,
        [
            1.0 / 121_645_100_408_832_000.0, // 1/19!
            1.0 / 355_687_428_096_000.0,
            1.0 / 1_307_674_368_000.0,
            1.0 / 6_227_020_800.0,
            1.0 / 39_916_800.0,
            1.0 / 362_880.0,
            1.0 / 5_040.0,
            1.0 / 120.0,
            1.0 / 6.0,
        ],
    );
    let large = (rising.high + (rising.low - falling)).map2(x, f64::copysign);
    let found = L::select(x.abs().less(L::one()), (square * x).fused(series, x), large);
    let cosine = rising.high + (rising.low + falling);
    // −0 stays −0.
    let found = L::select(x.equal(L::zero()), x, found);
    (within(x, found, (-708.0, 708.0), f64::sinh), within(x, cosine, (-708.0, 708.0), f64::cosh))
}

/// Hyperbolic cosine, and the sine.
#[inline(always)]
pub(crate) fn cosh<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let (sinh, cosh) = sinh(x);
    (cosh, sinh)
}

/// Logistic function 1/(1 + e⁻ˣ), and 1 minus that.
#[inline(always)]
pub(crate) fn sigmoid<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let e = exp(-x.abs());
    let large = L::one() / (L::one() + e);
    let small = e * large;
    let is_negative = x.less(L::zero());
    (L::select(is_negative, small, large), L::select(is_negative, large, small))
}

/// ln(1 + eˣ).
#[inline(always)]
pub(crate) fn softplus<L: SimdVector<Number = f64>>(x: L) -> L {
    L::select(x.less(L::zero()), L::zero(), x) + ln_1p(exp(-x.abs()))
}

/// Logarithm of the logistic function.
#[inline(always)]
pub(crate) fn ln_sigmoid<L: SimdVector<Number = f64>>(x: L) -> L {
    L::select(x.less(L::zero()), x, L::zero()) - ln_1p(exp(-x.abs()))
}
