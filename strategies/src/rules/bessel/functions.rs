//! Bessel functions of real order.

use super::contour::{self, Scaled};
use super::series;
use super::slopes::{Bends, Bessel, Kind, by_argument, by_order, reflected};
use crate::Float;
use crate::rules::rule::{binary_rules, is, lit, product, zero_with_slope};
use core::f64::consts::{FRAC_1_PI, FRAC_2_PI, PI};

binary_rules! {
    /// The Bessel function of the first kind J of order ν at x (DLMF 10.2.2). For x < 0 it is defined for whole orders
    /// alone, and ∂ν is NaN there.
    BesselJ(x, nu, v) = V::narrow(first(x.widen(), nu.widen())),
        by_argument::<V, OfFirst>(x, nu), by_order::<V, OfFirst>(x, nu), is(x, 0.0);
    /// The Bessel function of the second kind Y (DLMF 10.2.3), for x ≥ 0; −∞ at x = 0 for ν ≥ 0.
    BesselY(x, nu, v) = V::narrow(second(x.widen(), nu.widen())),
        by_argument::<V, OfSecond>(x, nu), by_order::<V, OfSecond>(x, nu), is(x, 0.0);
    /// The modified Bessel function of the first kind I (DLMF 10.25.2). For x < 0 as [`BesselJ`].
    BesselI(x, nu, v) = V::narrow(modified_first(x.widen(), nu.widen())),
        by_argument::<V, OfModifiedFirst>(x, nu), by_order::<V, OfModifiedFirst>(x, nu), is(x, 0.0);
    /// The modified Bessel function of the second kind K (DLMF 10.27.4), for x ≥ 0; ∞ at x = 0.
    BesselK(x, nu, v) = V::narrow(modified_second(x.widen(), nu.widen())),
        by_argument::<V, OfModifiedSecond>(x, nu), by_order::<V, OfModifiedSecond>(x, nu), is(x, 0.0);
    /// exp(−|x|) times I, which does not overflow for large x.
    BesselIScaled(x, nu, v) = V::narrow(modified_first_scaled(x.widen(), nu.widen())),
        by_argument::<V, OfModifiedFirstScaled>(x, nu), by_order::<V, OfModifiedFirstScaled>(x, nu), is(x, 0.0);
    /// exp(x) times K, which does not vanish for large x.
    BesselKScaled(x, nu, v) = V::narrow(modified_second_scaled(x.widen(), nu.widen())),
        by_argument::<V, OfModifiedSecondScaled>(x, nu), by_order::<V, OfModifiedSecondScaled>(x, nu), is(x, 0.0);
}

/// Names functions for their slopes: with their kind, the g of their factor exp(g·|x|), and, behind that, what those of
/// a negative order are: factors of the functions of order −ν, the second of which is infinite at x = 0.
macro_rules! functions {
    ($($name:ident: $f:ident, $kind:ident, $growth:literal
        $(, |$nu:ident| $left:ident $by_left:expr, $right:ident $by_right:expr)?;)*) => { $(
        struct $name;
        impl Bessel for $name {
            const KIND: Kind = Kind::$kind;
            const GROWTH: f64 = $growth;
            fn value<W: Float>(x: W, nu: W) -> W { $f(x, nu) }
            $(fn reflected(x: f64, $nu: f64) -> Option<Bends> {
                Some(reflected::<$left, $right>(x, $nu, [$by_left, $by_right]))
            })?
        }
    )* };
}
functions! {
    OfFirst: first, Regular, 0.0, |nu| OfFirst cosine(nu, 1.0), OfSecond sine(nu, -1.0);
    OfSecond: second, Second, 0.0, |nu| OfFirst sine(nu, 1.0), OfSecond cosine(nu, 1.0);
    OfModifiedFirst: modified_first, Regular, 0.0,
        |nu| OfModifiedFirst [1.0, 0.0, 0.0], OfModifiedSecond sine(nu, FRAC_2_PI);
    OfModifiedSecond: modified_second, Modified, 0.0;
    OfModifiedFirstScaled: modified_first_scaled, Regular, -1.0,
        |nu| OfModifiedFirstScaled [1.0, 0.0, 0.0], OfModifiedSecondFalling sine(nu, FRAC_2_PI);
    OfModifiedSecondScaled: modified_second_scaled, Modified, 1.0;
    OfModifiedSecondFalling: modified_second_falling, Modified, -1.0;
}

/// factor·sin πν with its first and second derivative.
fn sine(nu: f64, factor: f64) -> [f64; 3] {
    let (sin, cos) = half_turns(nu);
    [factor * sin, factor * PI * cos, -factor * PI * PI * sin]
}

/// factor·cos πν with its first and second derivative.
fn cosine(nu: f64, factor: f64) -> [f64; 3] {
    let (sin, cos) = half_turns(nu);
    [factor * cos, -factor * PI * sin, -factor * PI * PI * cos]
}

/// J.
fn first<W: Float>(x: W, nu: W) -> W {
    of_whole_line(x, nu, |x, nu| {
        if nu >= W::ZERO {
            return if x.is_infinite() { W::ZERO } else { first_of_positive(x, nu) };
        }
        let (sin, cos) = half_turns(-nu);
        if is(x, 0.0) && !is(sin, 0.0) {
            return infinite(x, nu, sin);
        }
        product(cos, first(x, -nu)) - product(sin, second(x, -nu))
    })
}

/// J for finite x ≥ 0 and ν ≥ 0.
fn first_of_positive<W: Float>(x: W, nu: W) -> W {
    if x * x <= lit::<W>(4.0) * (nu + W::ONE) {
        series::power_series(x, nu, -1.0).number()
    } else if x < nu {
        contour::first_kind(x, nu).number()
    } else {
        contour::hankel(x, nu).0
    }
}

/// Y.
fn second<W: Float>(x: W, nu: W) -> W {
    if x.is_nan() || x < W::ZERO || !nu.is_finite() {
        undefined(x, nu)
    } else if nu < W::ZERO {
        let (sin, cos) = half_turns(-nu);
        if is(x, 0.0) && !is(cos, 0.0) {
            return infinite(x, nu, -cos);
        }
        product(sin, first(x, -nu)) + product(cos, second(x, -nu))
    } else if is(x, 0.0) {
        let x = x + W::ZERO; // which turns −0 into 0
        if nu > W::ZERO { -x.powf(-nu) } else { x.ln() + bent(nu, -0.5 * PI, f64::NEG_INFINITY) }
    } else if x.is_infinite() {
        W::ZERO
    } else if nu <= lit(0.5) && x <= W::ONE {
        series::temme(x, nu, -1.0)
    } else if is_tiny(x, nu) {
        -series::leading_power(x, nu) * lit(FRAC_2_PI)
    } else if x < nu {
        contour::second_kind(x, nu).number()
    } else {
        contour::hankel(x, nu).1
    }
}

/// I.
fn modified_first<W: Float>(x: W, nu: W) -> W {
    of_whole_line(x, nu, |x, nu| {
        if x.is_infinite() {
            return x.exp() + if is(nu, 0.0) { W::ZERO } else { zero_with_slope(nu, undefined(x, nu)) };
        }
        modified_first_by(x, nu, W::ZERO)
    })
}

/// exp(−|x|)·I.
fn modified_first_scaled<W: Float>(x: W, nu: W) -> W {
    of_whole_line(x, nu, |x, nu| if x.is_infinite() { W::ZERO } else { modified_first_by(x, nu, -x) })
}

/// exp(exponent)·I for finite x ≥ 0.
fn modified_first_by<W: Float>(x: W, nu: W, exponent: W) -> W {
    let order = if nu < W::ZERO { -nu } else { nu };
    let (regular, even) = modified_first_of_positive(x, order, exponent);
    let regular = regular.number();
    // I − (2/π)·sin πν·K for negative orders, I for others; or the mean of the two and half of what they differ by.
    let share = if nu < W::ZERO { FRAC_2_PI } else { 0.0 } - if even { FRAC_1_PI } else { 0.0 };
    if share == 0.0 {
        return regular;
    }
    let sin = half_turns(order).0 * lit(share);
    if is(x, 0.0) && !is(sin, 0.0) {
        return infinite(x, nu, sin);
    }
    let second = if is(x, 0.0) {
        second_at_zero(x, order)
    } else {
        modified_second_apart(x, order).times_exp(exponent - x).number()
    };
    regular + product(sin, second)
}

/// exp(exponent)·I for finite x ≥ 0 and ν ≥ 0; or, and then the second is true, half of the sum of that at ν and at −ν,
/// where the other half has a slope that is exponentially small for large x.
fn modified_first_of_positive<W: Float>(x: W, nu: W, exponent: W) -> (Scaled<W>, bool) {
    let square = x * x;
    let large = square + nu * nu >= lit(400.0);
    let even = nu <= lit(0.5) && x > W::ONE;
    let known = if even && !large {
        Scaled { factor: series::modified_first_kind_even(x, nu), exponent }
    } else if !large || square <= lit::<W>(8.0) * (nu + W::ONE) {
        series::power_series(x, nu, 1.0).times_exp(exponent)
    } else if nu * nu <= x {
        Scaled { factor: contour::modified_first_kind_even(x, nu), exponent: x + exponent }
    } else {
        contour::modified_first_kind(x, nu).times_exp(x + exponent)
    };
    (known, even)
}

/// K.
fn modified_second<W: Float>(x: W, nu: W) -> W {
    modified_second_by(x, nu, -x)
}

/// exp(x)·K.
fn modified_second_scaled<W: Float>(x: W, nu: W) -> W {
    modified_second_by(x, nu, W::ZERO)
}

/// exp(−x)·K.
fn modified_second_falling<W: Float>(x: W, nu: W) -> W {
    modified_second_by(x, nu, lit::<W>(-2.0) * x)
}

/// exp(x + exponent)·K.
fn modified_second_by<W: Float>(x: W, nu: W, exponent: W) -> W {
    if x.is_nan() || x < W::ZERO || !nu.is_finite() {
        undefined(x, nu)
    } else if nu < W::ZERO {
        modified_second_by(x, -nu, exponent)
    } else if is(x, 0.0) {
        second_at_zero(x, nu)
    } else if x.is_infinite() {
        W::ZERO
    } else {
        modified_second_apart(x, nu).times_exp(exponent).number()
    }
}

/// Returns true if the first term of the series of Y and K is all of it, to double precision.
fn is_tiny<W: Float>(x: W, nu: W) -> bool {
    x < lit(1e-100) && nu > lit(0.5) && nu <= lit(12.5)
}

/// A function as infinite as K at x = 0, for ν ≥ 0.
fn second_at_zero<W: Float>(x: W, nu: W) -> W {
    let x = x + W::ZERO; // which turns −0 into 0
    if nu > W::ZERO { x.powf(-nu) } else { -x.ln() + bent(nu, 0.0, f64::INFINITY) }
}

/// exp(x)·K for finite x > 0 and ν ≥ 0.
fn modified_second_apart<W: Float>(x: W, nu: W) -> Scaled<W> {
    if nu <= lit(0.5) && x <= W::ONE {
        Scaled { factor: series::temme(x, nu, 1.0), exponent: x }
    } else if is_tiny(x, nu) {
        Scaled { factor: series::leading_power(x, nu), exponent: x }
    } else if nu * nu <= x {
        Scaled { factor: contour::modified_second_kind_even(x, nu), exponent: W::ZERO }
    } else {
        contour::modified_second_kind(x, nu)
    }
}

/// Extends a function of x ≥ 0 to the whole line, for whole orders: it is even or odd as its order is.
fn of_whole_line<W: Float>(x: W, nu: W, f: impl Fn(W, W) -> W) -> W {
    let order = nu.as_f64();
    if x.is_nan() || !nu.is_finite() || x < W::ZERO && order.fract() != 0.0 {
        return undefined(x, nu);
    }
    if x >= W::ZERO {
        return f(x + W::ZERO, nu); // the sum turns −0 into 0
    }
    let value = f(-x, lit(order)) + zero_with_slope(nu, undefined(x, nu));
    if order % 2.0 == 0.0 { value } else { -value }
}

/// NaN, with derivatives up to the third that are NaN, too.
fn undefined<W: Float>(x: W, nu: W) -> W {
    let nan = (x + nu) * W::nan();
    nan * nan * nan
}

/// sin πν and cos πν, for whole and half orders exactly.
fn half_turns<W: Float>(nu: W) -> (W, W) {
    let nearest = nu.as_f64().round();
    let past = nu - lit(nearest);
    let (sin, cos) = if past.abs() <= lit(0.25) {
        (past * lit(PI)).sin_cos()
    } else {
        let (cos, size) = ((lit::<W>(0.5) - past.abs()) * lit(PI)).sin_cos();
        (if past < W::ZERO { -size } else { size }, cos)
    };
    if nearest % 2.0 == 0.0 { (sin, cos) } else { (-sin, -cos) }
}

/// xᵛ at x = 0 for ν < 0, with a sign.
fn infinite<W: Float>(x: W, nu: W, sign: W) -> W {
    let power = (x + W::ZERO).powf(nu);
    if sign < W::ZERO { -power } else { power }
}

/// Something that is 0 and has this slope and this bend in ν.
fn bent<W: Float>(nu: W, slope: f64, bend: f64) -> W {
    zero_with_slope(nu, lit::<W>(slope) + zero_with_slope(nu, lit(bend)))
}
