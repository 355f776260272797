//! General and whole powers.

use super::exponential::{power_of_e, scaled};
use super::logarithm::ln_of;
use super::pieces::{Two, inside, where_valid};
use crate::number::simd::vector::{SimdValue, SimdVector};

/// xʸ.
#[inline(always)]
pub(crate) fn pow<L: SimdVector<Number = f64>>(x: L, y: L) -> L {
    let exponent = ln_of(x).times(Two::exact(y));
    let exponent = Two::ordered_sum(exponent.high, exponent.low);
    let (m, shifted) = power_of_e(exponent);
    let valid = L::both(inside(x, f64::MIN_POSITIVE, f64::MAX), inside(exponent.high, -708.0, 709.0));
    where_valid(valid, [x, y], scaled(m.high, shifted), f64::powf)
}

/// xⁿ by repeated squares, in the order of the standard library.
#[inline(always)]
pub(crate) fn powi<L: SimdValue>(x: L, n: i32) -> L {
    let (mut square, mut power, mut left) = (x, L::one(), n.unsigned_abs());
    loop {
        if left % 2 == 1 {
            power = power * square;
        }
        left /= 2;
        if left == 0 {
            return if n < 0 { L::one() / power } else { power };
        }
        square = square * square;
    }
}
