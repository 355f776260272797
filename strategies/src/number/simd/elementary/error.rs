//! Error functions and the normal distribution.

use super::exponential::{exp, power_of_e, scaled};
use super::pieces::{Two, polynomial, within};
use crate::number::simd::vector::SimdVector;
use crate::number::special;
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

const INFINITY: f64 = f64::INFINITY;

/// erf x for |x| ≤ 1, given x².
#[inline(always)]
fn near_zero<L: SimdVector<Number = f64>>(x: Two<L>, square: L) -> Two<L> {
    let series = square
        * polynomial(
            square,
            [
                6.174_097_221_305_255e-11,
                -1.150_035_715_978_529_6e-9,
                1.469_248_485_913_326_3e-8,
                -1.635_511_861_087_770_5e-7,
                1.646_144_665_692_856_1e-6,
                -1.492_562_250_448_984_2e-5,
                1.205_533_221_471_627_6e-4,
                -8.548_327_010_033_328e-4,
                5.223_977_625_303_518e-3,
                -2.686_617_064_512_383_8e-2,
                1.128_379_167_095_511_1e-1,
                -3.761_263_890_318_375_4e-1,
            ],
        );
    let slope = Two::ordered_sum(L::splat(FRAC_2_SQRT_PI), series).plus(L::splat(1.533_545_961_316_588e-17));
    slope.times(x)
}

/// erfc a for a from 0 to 26.5, given the square of a, too.
#[inline(always)]
fn complement<L: SimdVector<Number = f64>>(a: Two<L>, square: Two<L>) -> L {
    let (m, shifted) = power_of_e(Two { high: -square.high, low: -square.low });
    // (1 + 2a)·erfc a·e^(a²) hardly varies. It is a polynomial in (a − 4)/(a + 4).
    let t = (a.high - L::splat(4.0)) / (a.high + L::splat(4.0));
    let beyond = t * polynomial(
        t,
        [
            -1.997_543_743_178_082_7e-9,
            -1.425_133_445_869_175_2e-8,
            -7.900_521_372_752_969e-9,
            1.166_135_478_287_049_5e-7,
            6.387_569_687_958_898e-8,
            -8.361_908_726_660_892e-7,
            2.998_161_670_656_036_7e-7,
            5.718_207_522_529_586e-6,
            -1.122_378_381_213_689_5e-5,
            -2.440_312_763_073_497_7e-5,
            1.506_218_605_486_122_5e-4,
            -1.992_555_698_781_791_4e-4,
            -7.577_732_525_458_08e-4,
            5.031_969_775_683_875_5e-3,
            -1.619_773_407_153_98e-2,
            3.716_751_555_946_641_6e-2,
            -6.633_036_581_053_452e-2,
            9.373_283_499_702_487e-2,
            -1.010_390_660_363_927_2e-1,
            6.809_705_425_472_969e-2,
            1.537_965_210_262_139_1e-2,
            -1.396_211_168_405_628_3e-1,
        ],
    );
    let product = Two::ordered_sum(L::splat(1.232_995_118_625_552_6), beyond).plus(L::splat(-5.03e-17));
    let twice = a.scaled(L::splat(2.0));
    let found = m.times(product.over(Two::sum(L::one(), twice.high).plus(twice.low)));
    // Next to 0, where the polynomial is steep, from the error function itself.
    let small = near_zero(a, square.high);
    let small = Two::ordered_sum(L::one(), -small.high).plus(-small.low).high;
    L::select(a.high.less(L::splat(0.5)), small, scaled(found.rounded(), shifted))
}

/// The smaller of |x| and a bound.
#[inline(always)]
fn size_up_to<L: SimdVector<Number = f64>>(x: L, most: f64) -> L {
    let (size, most) = (x.abs(), L::splat(most));
    L::select(size.less(most), size, most)
}

/// Error function.
#[inline(always)]
pub(crate) fn erf<L: SimdVector<Number = f64>>(x: L) -> L {
    let (a, square) = (size_up_to(x, 6.0), x * x);
    let small = near_zero(Two::exact(x), square).rounded();
    let large = (L::one() - complement(Two::exact(a), Two::product(a, a))).map2(x, f64::copysign);
    let found = L::select(x.abs().less(L::one()), small, large);
    within(x, L::select(x.equal(L::zero()), x, found), (-INFINITY, INFINITY), special::erf)
}

/// Complementary error function.
#[inline(always)]
pub(crate) fn erfc<L: SimdVector<Number = f64>>(x: L) -> L {
    let a = size_up_to(x, 26.0);
    let found = complement(Two::exact(a), Two::product(a, a));
    let found = L::select(x.less(L::zero()), L::splat(2.0) - found, found);
    within(x, found, (-INFINITY, 26.0), special::erfc)
}

/// Distribution function of the standard normal distribution.
#[inline(always)]
pub(crate) fn normal_cdf<L: SimdVector<Number = f64>>(x: L) -> L {
    let size = size_up_to(x, 36.5);
    let a = Two::exact(size).times(Two::constant(FRAC_1_SQRT_2, -4.833_646_656_726_457e-17));
    let half = L::splat(0.5);
    let found = half * complement(a, Two::product(size, size).scaled(half));
    let found = L::select(x.less(L::zero()), found, L::one() - found);
    within(x, found, (-36.5, INFINITY), |x| 0.5 * special::erfc(-x * FRAC_1_SQRT_2))
}

/// Density of the standard normal distribution.
#[inline(always)]
pub(crate) fn normal_pdf<L: SimdVector<Number = f64>>(x: L) -> L {
    L::splat(0.398_942_280_401_432_7) * exp(L::splat(-0.5) * x * x)
}
