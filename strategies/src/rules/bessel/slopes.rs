//! Slopes of Bessel functions by the argument and by the order, with what dual numbers do not find: derivatives of a
//! function that has overflowed, of which there are the signs, and those for tiny x, where 1/x² overflows.

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
    fn value<W: Float>(x: W, nu: W) -> W;
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
    let regular = x > lit(0.0) && (x + nu).is_finite();
    V::narrow(if lost && regular && V::ORDER < 2 { mended::<_, B>(x, nu, by, slope) } else { slope })
}

fn plain_slope<W: Float, B: Bessel>(x: W, nu: W, by: usize) -> W {
    let moving = |value: W, k: usize| Dual { value, tangents: [if k == by { W::ONE } else { W::ZERO }] };
    B::value(moving(x, 0), moving(nu, 1)).tangents[0]
}

fn mended<W: Float, B: Bessel>(x: W, nu: W, by: usize, slope: W) -> W {
    let value = B::value(x.as_f64(), nu.as_f64());
    let bends = if value.is_infinite() {
        overflowed(B::KIND, x.as_f64(), nu.as_f64(), value)
    } else {
        next_to_zero::<B>(x.as_f64(), nu.as_f64(), value)
    };
    bends.map_or(slope, |Bends { first, second: [twice, mixed, by_order] }| {
        let slopes = if by == 0 { [(x, twice), (nu, mixed)] } else { [(x, mixed), (nu, by_order)] };
        let mended: W = with_slopes(first[by], slopes);
        // Parts that duals do find have more digits: −x²/2, of which 1/x is taken here, may have underflowed.
        W::from_parts(|k| if slope.part(k).is_finite() { slope.part(k) } else { mended.part(k) })
    })
}

/// The first derivatives, and the second ones by x, by x and ν, and by ν.
struct Bends {
    first: [f64; 2],
    second: [f64; 3],
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
    if x > 1e-100 || nu < 0.0 {
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
        (change, change_by_nu) = (found.value, found.tangents[0]);
    }
    let mixed = product(change_by_nu, x.recip());
    let twice = product(nu * nu * value - change, x.recip()) / x;
    Some(Bends { first: [change / x, by_nu.value], second: [twice, mixed, by_nu.tangents[0]] })
}
