//! Slopes of Bessel functions by the argument and by the order, with what dual numbers do not find: derivatives of a
//! function that has overflowed, of which there are the signs, and those for tiny x, where 1/x² overflows.

use super::contour::asinh_of_quotient;
use crate::rules::rule::{lit, product, with_slopes};
use crate::{Dual, Float, Number as _};
use core::f64::consts::{FRAC_2_PI, LN_2, PI};

/// The functions, but for factors e^±x.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// J and I.
    Regular,
    /// Y.
    Second,
    /// K.
    Modified,
}

/// A Bessel function.
pub(crate) trait Bessel {
    const KIND: Kind;
    /// The g of a factor exp(g·x).
    const GROWTH: f64;
    fn value<W: Float>(x: W, nu: W) -> W;
    /// The derivatives at order −`nu` for `nu` > 0, for functions that are not even in the order.
    fn reflected(_x: f64, _nu: f64) -> Option<Bends> {
        None
    }
}

/// The slope by x.
pub(crate) fn by_argument<V: Float, B: Bessel>(x: V, nu: V) -> V {
    slope::<V, B>(x, nu, 0)
}

/// The slope by ν.
pub(crate) fn by_order<V: Float, B: Bessel>(x: V, nu: V) -> V {
    slope::<V, B>(x, nu, 1)
}

fn slope<V: Float, B: Bessel>(x: V, nu: V, by: usize) -> V {
    let (x, nu) = (x.widen(), nu.widen());
    let slope = plain_slope::<V::Wide, B>(x, nu, by);
    let lost = (0..V::Wide::PARTS).any(|k| !slope.part(k).is_finite());
    let regular = x >= lit(0.0) && (x + nu).is_finite();
    V::narrow(if lost && regular && V::ORDER < 2 { mended::<_, B>(x, nu, by, slope) } else { slope })
}

fn plain_slope<W: Float, B: Bessel>(x: W, nu: W, by: usize) -> W {
    let moving = |value: W, k: usize| Dual { value, tangents: [if k == by { W::ONE } else { W::ZERO }] };
    B::value(moving(x, 0), moving(nu, 1)).tangents[0]
}

fn mended<W: Float, B: Bessel>(x: W, nu: W, by: usize, slope: W) -> W {
    let (at, order) = (x.as_f64() + 0.0, nu.as_f64()); // the sum turns −0 into 0
    let value = B::value(at, order);
    // A function of a negative order has a part that is infinite at 0.
    let has_pole = order < 0.0 && B::KIND != Kind::Modified && at <= (-order).max(1.0);
    let bends = if at == 0.0 && !has_pole {
        at_zero(B::KIND, order)
    } else if value.is_infinite() && !has_pole {
        overflowed(B::KIND, at, order, value)
    } else {
        next_to_zero::<B>(at, order, value).or_else(|| if order < 0.0 { B::reflected(at, -order) } else { None })
    };
    // Parts that duals do find have more digits: −x²/2, of which 1/x is taken here, may have underflowed.
    let is_found = |part: f64| if at == 0.0 { !part.is_nan() } else { part.is_finite() };
    bends.map_or(slope, |Bends { first, second: [twice, mixed, by_order] }| {
        let slopes = if by == 0 { [(x, twice), (nu, mixed)] } else { [(x, mixed), (nu, by_order)] };
        let mended: W = with_slopes(first[by], slopes);
        W::from_parts(|k| if is_found(slope.part(k)) { slope.part(k) } else { mended.part(k) })
    })
}

/// The first derivatives, and the second ones by x, by x and ν, and by ν.
pub(crate) struct Bends {
    first: [f64; 2],
    second: [f64; 3],
}

/// Limits at x = 0 for ν ≥ 0 that duals do not find: those of xᵛ.
fn at_zero(kind: Kind, nu: f64) -> Option<Bends> {
    let mixed = match nu {
        0.0 => f64::INFINITY,
        nu if nu <= 1.0 => f64::NEG_INFINITY,
        _ => 0.0,
    };
    let by_order = if nu == 0.0 { f64::INFINITY } else { 0.0 };
    (kind == Kind::Regular).then_some(Bends { first: [f64::NAN; 2], second: [f64::NAN, mixed, by_order] })
}

/// The derivatives of a·A + e·E for the order −ν, where the factors are given with their first and second derivatives
/// by ν. Those of E may be beyond the range of floats: it grows like exp(ν·asinh(ν/x)).
pub(crate) fn reflected<A: Bessel, E: Bessel>(x: f64, nu: f64, [a, e]: [[f64; 3]; 2]) -> Bends {
    let (of_a, of_e) = (products(a, all_derivatives::<A>(x, nu)), all_derivatives::<E>(x, nu));
    let growth = asinh_of_quotient(nu, x).min(1e100);
    let change = e[1] + product(growth, e[0]);
    let signs = [-e[0], change, e[0], -change, e[2] + growth * (e[1] + change)];
    let infinite = f64::INFINITY.copysign(of_e[0]);
    let of_e = products(e, of_e);
    let sum = |k: usize| if of_e[k].is_finite() { of_e[k] + of_a[k] } else { product(signs[k], infinite) };
    Bends { first: [sum(0), -sum(1)], second: [sum(2), -sum(3), sum(4)] }
}

/// The value of a function, its derivatives by x and ν, and the second ones by x, by x and ν, and by ν.
fn all_derivatives<B: Bessel>(x: f64, nu: f64) -> [f64; 6] {
    let (moving_x, moving_nu) = (Dual { value: x, tangents: [1.0, 0.0] }, Dual { value: nu, tangents: [0.0, 1.0] });
    let by_x = slope::<Dual<f64, 2>, B>(moving_x, moving_nu, 0);
    let by_nu = slope::<Dual<f64, 2>, B>(moving_x, moving_nu, 1);
    [B::value(x, nu), by_x.value, by_nu.value, by_x.tangents[0], by_x.tangents[1], by_nu.tangents[1]]
}

/// The derivatives of a product of such a function and a factor of ν.
fn products([factor, by_nu, twice]: [f64; 3], [f, f_x, f_nu, f_xx, f_xnu, f_nunu]: [f64; 6]) -> [f64; 5] {
    [
        product(factor, f_x),
        product(by_nu, f) + product(factor, f_nu),
        product(factor, f_xx),
        product(by_nu, f_x) + product(factor, f_xnu),
        product(twice, f) + 2.0 * product(by_nu, f_nu) + product(factor, f_nunu),
    ]
}

/// The signs of the derivatives of a function that is infinite by overflow.
fn overflowed(kind: Kind, x: f64, nu: f64, value: f64) -> Option<Bends> {
    let by_nu = if nu == 0.0 { 0.0 } else { value * nu.signum() };
    match kind {
        Kind::Modified => Some(Bends { first: [-value, by_nu], second: [value, -by_nu, value] }),
        Kind::Second if nu >= 0.0 => Some(Bends { first: [-value, by_nu], second: [value, -by_nu, value] }),
        Kind::Regular if x > 1.0 => {
            let bend = if nu * nu > x { value } else { -value };
            Some(Bends { first: [value, -by_nu], second: [value, -by_nu, bend] })
        }
        _ => None,
    }
}

/// Derivatives for small x, where the functions are sums of multiples of x^±ν. The derivative by ln x, of which all
/// else is made, is what the recurrences of the functions leave (DLMF 10.6.2 and 10.29.2).
fn next_to_zero<B: Bessel>(x: f64, nu: f64, value: f64) -> Option<Bends> {
    if B::KIND == Kind::Modified && nu < 0.0 {
        let Bends { first: [by_x, by_nu], second: [twice, mixed, by_order] } = next_to_zero::<B>(x, -nu, value)?;
        return Some(Bends { first: [by_x, -by_nu], second: [twice, -mixed, by_order] });
    }
    if x > 1e-100 || x == 0.0 {
        return None;
    }
    let order = Dual { value: Dual { value: nu, tangents: [1.0] }, tangents: [Dual::constant(1.0)] };
    let [by_nu] = B::value(Dual::constant(Dual::constant(x)), order).tangents;
    let sign = if B::KIND == Kind::Regular { 1.0 } else { -1.0 };
    let (mut change, mut change_by_nu) = (sign * nu * value, sign * (value + nu * by_nu.value));
    if sign < 0.0 && nu <= 0.5 {
        let logarithm = x.ln() - LN_2;
        let rest = libm::tgamma(1.0 - nu) * (nu * logarithm).exp();
        let by_nu = logarithm - (1.0 - nu).digamma();
        let (factor, slope) =
            if B::KIND == Kind::Second { (FRAC_2_PI * (PI * nu).cos(), -2.0 * (PI * nu).sin()) } else { (-1.0, 0.0) };
        change += rest * factor;
        change_by_nu += rest * (factor * by_nu + slope);
    }
    // Where 1/x is finite, duals find them, and next to ν = 0 with more digits.
    let moving = Dual { value: Dual { value: nu, tangents: [1.0] }, tangents: [Dual::constant(0.0)] };
    let [found] = B::value(Dual { value: Dual::constant(x), tangents: [Dual::constant(x)] }, moving).tangents;
    if found.value.is_finite() && found.tangents[0].is_finite() {
        change = found.value - B::GROWTH * x * value;
        change_by_nu = found.tangents[0] - B::GROWTH * x * by_nu.value;
    } else if nu < 0.0 {
        return None;
    }
    // Without the factor exp(g·x), and with it.
    let (by_x, mixed) = (change / x, product(change_by_nu, x.recip()));
    let twice = product(nu * nu * value - change, x.recip()) / x;
    let grown =
        |number: f64, by: f64, slope: f64| if number.is_finite() { number + product(by, slope) } else { number };
    let twice = grown(twice, 2.0 * B::GROWTH, by_x);
    let mixed = grown(mixed, B::GROWTH, by_nu.value);
    Some(Bends { first: [grown(by_x, B::GROWTH, value), by_nu.value], second: [twice, mixed, by_nu.tangents[0]] })
}
