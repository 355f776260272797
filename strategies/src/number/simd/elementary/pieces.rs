//! What formulas are made of.

use crate::number::simd::vector::{MOST, SimdVector};

/// A sum with this number, 1.5·2⁵², is rounded to whole numbers, and has them in its last bits.
pub(super) const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// The leading bits of ln 2, few enough for exact products with exponents.
pub(super) const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
/// ln 2 without its leading bits.
pub(super) const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Applies a function to each element.
#[inline(always)]
pub(super) fn map<L: SimdVector<Number = f64>>(x: L, f: impl Fn(f64) -> f64) -> L {
    x.map2(x, |x, _| f(x))
}

/// Evaluates a polynomial with these coefficients, that of the highest power first, at `x`.
#[inline(always)]
pub(super) fn polynomial<L: SimdVector<Number = f64>, const N: usize>(x: L, coefficients: [f64; N]) -> L {
    let mut sum = L::splat(coefficients[0]);
    let mut k = 1;
    while k < N {
        sum = sum.fused(x, L::splat(coefficients[k]));
        k += 1;
    }
    sum
}

/// A number as the sum of two: one rounded to a float, and what is left of it.
#[derive(Clone, Copy)]
pub(super) struct Two<L> {
    pub(super) high: L,
    pub(super) low: L,
}

impl<L: SimdVector<Number = f64>> Two<L> {
    /// A number that is a float.
    #[inline(always)]
    pub(super) fn exact(high: L) -> Self {
        Self { high, low: L::zero() }
    }

    /// The same constant in all elements.
    #[inline(always)]
    pub(super) fn constant(high: f64, low: f64) -> Self {
        Self { high: L::splat(high), low: L::splat(low) }
    }

    /// a + b for |a| ≥ |b|, or a = 0.
    #[inline(always)]
    pub(super) fn ordered_sum(a: L, b: L) -> Self {
        let high = a + b;
        Self { high, low: (a - high) + b }
    }

    /// a + b.
    #[inline(always)]
    pub(super) fn sum(a: L, b: L) -> Self {
        let high = a + b;
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    /// a·b.
    #[inline(always)]
    pub(super) fn product(a: L, b: L) -> Self {
        let high = a * b;
        Self { high, low: a.fused(b, -high) }
    }

    /// The product of two numbers.
    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        let Self { high, low } = Self::product(self.high, other.high);
        Self { high, low: self.high.fused(other.low, self.low.fused(other.high, low)) }
    }

    /// The quotient of two numbers.
    #[inline(always)]
    pub(super) fn over(self, divisor: Self) -> Self {
        let inverse = L::one() / divisor.high;
        let high = self.high * inverse;
        let rest = (-high).fused(divisor.high, self.high) + self.low;
        Self { high, low: inverse * (-high).fused(divisor.low, rest) }
    }

    /// The sum with something much smaller.
    #[inline(always)]
    pub(super) fn plus(self, small: L) -> Self {
        Self::ordered_sum(self.high, self.low + small)
    }

    /// The number itself, rounded.
    #[inline(always)]
    pub(super) fn rounded(self) -> L {
        self.high + self.low
    }

    /// The product with a power of two.
    #[inline(always)]
    pub(super) fn scaled(self, power: L) -> Self {
        Self { high: self.high * power, low: self.low * power }
    }

    /// `yes` where the mask is true, else `no`.
    #[inline(always)]
    pub(super) fn select(mask: L::Mask, yes: Self, no: Self) -> Self {
        Self { high: L::select(mask, yes.high, no.high), low: L::select(mask, yes.low, no.low) }
    }
}

/// Mask of the elements within these bounds.
#[inline(always)]
pub(super) fn inside<L: SimdVector<Number = f64>>(x: L, least: f64, most: f64) -> L::Mask {
    L::both(L::splat(least).at_most(x), x.at_most(L::splat(most)))
}

/// Returns `found`, which a formula for arguments within the bounds has given; elements with other arguments are
/// computed by `f`.
#[inline(always)]
pub(super) fn within<L: SimdVector<Number = f64>>(x: L, found: L, (least, most): (f64, f64), f: fn(f64) -> f64) -> L {
    let outside = L::either(L::splat(least).not_at_most(x), x.not_at_most(L::splat(most)));
    if L::any(outside) { repaired(x, found, (least, most), f) } else { found }
}

#[cold]
#[inline(always)]
fn repaired<L: SimdVector<Number = f64>>(x: L, found: L, bounds: (f64, f64), f: fn(f64) -> f64) -> L {
    let (mut arguments, mut results) = ([0.0; MOST], [0.0; MOST]);
    // SAFETY: registers have at most `MOST` elements.
    unsafe {
        x.store(arguments.as_mut_ptr());
        found.store(results.as_mut_ptr());
        repair(&arguments[..L::N], &mut results[..L::N], bounds, f);
        L::load(results.as_ptr())
    }
}

#[cold]
#[inline(never)]
fn repair(arguments: &[f64], results: &mut [f64], (least, most): (f64, f64), f: fn(f64) -> f64) {
    for (x, result) in arguments.iter().zip(results) {
        if !(least..=most).contains(x) {
            *result = f(*x);
        }
    }
}

/// Returns `found`, which a formula of two arguments has given where the mask is true; other elements are computed by
/// `f`.
#[inline(always)]
pub(super) fn where_valid<L: SimdVector<Number = f64>>(
    valid: L::Mask,
    [x, y]: [L; 2],
    found: L,
    f: fn(f64, f64) -> f64,
) -> L {
    let missing = L::select(valid, L::zero(), L::one());
    if !L::any(missing.differ(L::zero())) {
        return found;
    }
    let [mut first, mut second, mut results, mut flags] = [[0.0; MOST]; 4];
    // SAFETY: registers have at most `MOST` elements.
    unsafe {
        x.store(first.as_mut_ptr());
        y.store(second.as_mut_ptr());
        found.store(results.as_mut_ptr());
        missing.store(flags.as_mut_ptr());
        repair_pairs([&first[..L::N], &second, &flags], &mut results, f);
        L::load(results.as_ptr())
    }
}

#[cold]
#[inline(never)]
fn repair_pairs([first, second, flags]: [&[f64]; 3], results: &mut [f64; MOST], f: fn(f64, f64) -> f64) {
    for k in 0..first.len() {
        if flags[k] != 0.0 {
            results[k] = f(first[k], second[k]);
        }
    }
}
