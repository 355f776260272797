//! Logarithms.

use super::pieces::{LN2_HIGH, LN2_LOW, Two, map, polynomial, within};
use crate::number::simd::vector::SimdVector;
use core::f64::consts::{LOG2_E, LOG10_E, SQRT_2};

/// Returns k and m with x = 2^k·m and m between √½ and √2, so that k is 0 next to 1, for normal numbers x > 0.
#[inline(always)]
pub(super) fn parts<L: SimdVector<Number = f64>>(x: L) -> (L, L) {
    let exponent = |x: f64| f64::from_bits((x.to_bits() >> 52) | 0x4330_0000_0000_0000);
    let mantissa = |x: f64| f64::from_bits((x.to_bits() & 0x000F_FFFF_FFFF_FFFF) | 0x3FF0_0000_0000_0000);
    let (k, m) = (map(x, exponent) - L::splat(4_503_599_627_370_496.0 + 1023.0), map(x, mantissa));
    let is_large = L::splat(SQRT_2).less(m);
    (L::select(is_large, k + L::one(), k), L::select(is_large, L::splat(0.5) * m, m))
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn ln<L: SimdVector<Number = f64>>(x: L) -> L {
    let (k, m) = parts(x);
    // With f = m − 1 and s = f/(2 + f), ln m = f − f²/2 + s·(f²/2 + R(s²)), where s·R is what the series of
    // ln (1 + s) − ln (1 − s) has beyond 2s.
    let f = m - L::one();
    let s = f / (L::splat(2.0) + f);
    let z = s * s;
    let rest = z * polynomial(
        z,
        [
            1.479_819_860_511_658_6e-1,
            1.531_383_769_920_937_3e-1,
            1.818_357_216_161_805e-1,
            2.222_219_843_214_978_4e-1,
            2.857_142_874_366_239e-1,
            3.999_999_999_940_942e-1,
            6.666_666_666_666_735e-1,
        ],
    );
    let half_square = L::splat(0.5) * f * f;
    let found = k * L::splat(LN2_HIGH) - ((half_square - (s * (half_square + rest) + k * L::splat(LN2_LOW))) - f);
    within(x, found, (f64::MIN_POSITIVE, f64::MAX), f64::ln)
}

/// ln(1 + f) for 1 + f between √½ and √2, to some 64 bits.
#[inline(always)]
fn ln_of_one_and<L: SimdVector<Number = f64>>(f: Two<L>) -> Two<L> {
    // With s = f/(2 + f) it is 2s·(1 + s²·(1/3 + s²·(1/5 + …))).
    let s = f.over(Two::ordered_sum(L::splat(2.0), f.high).plus(f.low));
    let square = s.times(s);
    let series = square.high
        * polynomial(
            square.high,
            [
                5.381_433_711_821_606e-2,
                5.228_139_187_889_103e-2,
                5.883_407_651_703_041e-2,
                6.666_648_241_986_646e-2,
                7.692_307_880_906_304e-2,
                9.090_909_089_826_257e-2,
                1.111_111_111_111_422_2e-1,
                1.428_571_428_571_428_2e-1,
                0.2,
            ],
        );
    let third = Two::ordered_sum(L::splat(1.0 / 3.0), series).plus(L::splat(1.850_371_707_708_594e-17));
    let beyond = s.times(square.times(third));
    Two::ordered_sum(s.high, beyond.high).plus(s.low + beyond.low).scaled(L::splat(2.0))
}

/// k·ln 2 + `rest`.
#[inline(always)]
fn with_exponent<L: SimdVector<Number = f64>>(k: L, rest: Two<L>) -> Two<L> {
    Two::ordered_sum(k * L::splat(LN2_HIGH), rest.high).plus(k.fused(L::splat(LN2_LOW), rest.low))
}

/// ln x to some 64 bits, for normal numbers x > 0.
#[inline(always)]
pub(super) fn ln_of<L: SimdVector<Number = f64>>(x: L) -> Two<L> {
    let (k, m) = parts(x);
    with_exponent(k, ln_of_one_and(Two::exact(m - L::one())))
}

/// ln(1 + x).
#[inline(always)]
pub(crate) fn ln_1p<L: SimdVector<Number = f64>>(x: L) -> L {
    let sum = Two::sum(L::one(), x);
    let (k, m) = parts(sum.high);
    #[allow(clippy::cast_possible_truncation, reason = "a whole number of at most 1,024")]
    let smaller = |low: f64, k: f64| low * f64::from_bits((0x3FF_i64 - k as i64).cast_unsigned() << 52);
    let f = Two::ordered_sum(m - L::one(), sum.low.map2(k, smaller));
    let found = with_exponent(k, ln_of_one_and(f)).rounded();
    // −0 stays −0, and so do numbers whose halves are rounded.
    let found = L::select(x.abs().less(L::splat(1e-20)), x, found);
    within(x, found, (-1.0 + 0.5 * f64::EPSILON, 1e300), f64::ln_1p)
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<L: SimdVector<Number = f64>>(x: L) -> L {
    let (k, m) = parts(x);
    let scale = Two::constant(LOG2_E, 2.035_527_374_093_103_3e-17);
    let rest = ln_of_one_and(Two::exact(m - L::one())).times(scale);
    let found = Two::ordered_sum(k, rest.high).plus(rest.low).rounded();
    within(x, found, (f64::MIN_POSITIVE, f64::MAX), f64::log2)
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<L: SimdVector<Number = f64>>(x: L) -> L {
    let found = ln_of(x).times(Two::constant(LOG10_E, 1.098_319_650_216_765e-17)).rounded();
    within(x, found, (f64::MIN_POSITIVE, f64::MAX), f64::log10)
}
