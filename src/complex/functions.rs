//! Functions of one and of two complex numbers, each with its complex derivative.

use super::parts::{Parts, Point, parts};
use super::rules::{Holomorphic, HolomorphicOfTwo};
use super::values;
use core::f64::consts::{LN_2, LOG2_E, LOG10_E};
use tapewright_strategies::Float;
use tapewright_strategies::rules::hash_name;

/// Defines functions from rows `Name(z) = value, derivative, singular;`.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($z:ident) = $value:expr, $derivative:expr, $singular:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name;
        impl Holomorphic for $name {
            const HASH: u32 = hash_name(concat!("Complex", stringify!($name)));
            fn value($z: Point) -> Point { $value }
            fn derivative<V: Float>($z: Parts<V>) -> Parts<V> { $derivative }
            #[allow(unused_variables, reason = "most functions are singular nowhere")]
            fn singular($z: Point) -> bool { $singular }
        }
    )* };
}

functions! {
    /// 1/z.
    Inv(z) = values::inv(z), -square(z.apply::<Inv>()), z.is_zero();
    /// e^z.
    Exp(z) = values::exp(z), z.apply::<Exp>(), false;
    /// 2^z; the derivative is smaller than the value and overflows later.
    Exp2(z) = values::exp2(z), parts(z.re - V::ONE, z.im).apply::<Exp2>().scale(2.0 * LN_2), false;
    /// ln z.
    Ln(z) = values::ln(z), z.apply::<Inv>(), z.is_zero();
    /// log₂ z.
    Log2(z) = values::ln(z).scale(LOG2_E), z.apply::<Inv>().scale(LOG2_E), z.is_zero();
    /// log₁₀ z.
    Log10(z) = values::ln(z).scale(LOG10_E), z.apply::<Inv>().scale(LOG10_E), z.is_zero();
    /// √z.
    Sqrt(z) = values::sqrt(z), z.apply::<Sqrt>().apply::<Inv>().scale(0.5), z.is_zero();
    /// ∛z.
    Cbrt(z) = values::cbrt(z), square(z.apply::<Cbrt>().apply::<Inv>()).scale(1.0 / 3.0), z.is_zero();
    /// sin z.
    Sin(z) = values::turned(values::sinh, z), z.apply::<Cos>(), false;
    /// cos z.
    Cos(z) = values::cosh(z.times_i()), -z.apply::<Sin>(), false;
    /// tan z.
    Tan(z) = values::turned(values::tanh, z), square(z.apply::<Cos>().apply::<Inv>()), false;
    /// sinh z.
    Sinh(z) = values::sinh(z), z.apply::<Cosh>(), false;
    /// cosh z.
    Cosh(z) = values::cosh(z), z.apply::<Sinh>(), false;
    /// tanh z.
    Tanh(z) = values::tanh(z), square(z.apply::<Cosh>().apply::<Inv>()), false;
    /// arcsin z.
    Asin(z) = values::asin(z), inverse_root(z), is_real_unit(z);
    /// arccos z.
    Acos(z) = values::acos(z), -inverse_root(z), is_real_unit(z);
    /// arctan z.
    Atan(z) = values::turned(values::atanh, z), inverse(z.times_i()), is_real_unit(z.times_i());
    /// arsinh z.
    Asinh(z) = values::turned(values::asin, z), inverse_root(z.times_i()), is_real_unit(z.times_i());
    /// arcosh z.
    Acosh(z) = values::acosh(z), inverse_root_turned(z), is_real_unit(z);
    /// artanh z.
    Atanh(z) = values::atanh(z), inverse(z), is_real_unit(z);
}

fn square<V: Float>(z: Parts<V>) -> Parts<V> {
    z * z
}

/// Returns true at ±1, with a zero of either sign as imaginary part.
fn is_real_unit(z: Point) -> bool {
    z.re.abs() == 1.0 && z.im == 0.0
}

/// Returns true where 1 − z² is far from 0. Its derivatives do not cancel then; the terms of the derivatives of
/// (1 − z)(1 + z) do.
fn is_small<V: Float>(z: Parts<V>) -> bool {
    z.re.as_f64().hypot(z.im.as_f64()) < 0.5
}

/// 1 − z², for a small z.
fn one_minus_square<V: Float>(z: Parts<V>) -> Parts<V> {
    Parts::real(1.0) - square(z)
}

/// 1 − z and 1 + z; a zero of the imaginary part keeps its sign, which says on what side of a cut they are.
fn beside_one<V: Float>(z: Parts<V>) -> (Parts<V>, Parts<V>) {
    (parts(V::ONE - z.re, -z.im), parts(V::ONE + z.re, z.im))
}

/// 1/√(1 − z²) with the cuts of arcsin: the product of the roots of 1 − z and 1 + z.
fn inverse_root<V: Float>(z: Parts<V>) -> Parts<V> {
    if is_small(z) {
        return one_minus_square(z).apply::<Sqrt>().apply::<Inv>();
    }
    let (below, above) = beside_one(z);
    below.apply::<Sqrt>().apply::<Inv>() * above.apply::<Sqrt>().apply::<Inv>()
}

/// 1/√(z² − 1) with the cut of arcosh: the product of the roots of z − 1 and z + 1.
fn inverse_root_turned<V: Float>(z: Parts<V>) -> Parts<V> {
    if is_small(z) {
        let turned = inverse_root(z).times_i();
        return if z.im.is_sign_negative() { turned } else { -turned };
    }
    let (below, above) = (parts(z.re - V::ONE, z.im), parts(z.re + V::ONE, z.im));
    below.apply::<Sqrt>().apply::<Inv>() * above.apply::<Sqrt>().apply::<Inv>()
}

/// 1/(1 − z²).
fn inverse<V: Float>(z: Parts<V>) -> Parts<V> {
    if is_small(z) {
        return one_minus_square(z).apply::<Inv>();
    }
    let (below, above) = beside_one(z);
    below.apply::<Inv>() * above.apply::<Inv>()
}

/// z/w.
#[derive(Debug)]
pub(super) struct Quotient;
impl HolomorphicOfTwo for Quotient {
    fn value<V: Float>(z: Parts<V>, w: Parts<V>) -> Parts<V> {
        (z * w.apply::<Inv>()).with_value(values::quotient(z.point(), w.point()))
    }
    fn partials<V: Float>(z: Parts<V>, w: Parts<V>) -> (Parts<V>, Parts<V>) {
        let inverse = w.apply::<Inv>();
        (inverse, -(Self::value(z, w) * inverse))
    }
    fn singular(_: Point, w: Point) -> bool {
        w.is_zero()
    }
}

/// z^w.
#[derive(Debug)]
pub(super) struct Power;
impl HolomorphicOfTwo for Power {
    fn value<V: Float>(z: Parts<V>, w: Parts<V>) -> Parts<V> {
        if z.point().is_zero() {
            power_of_zero(z, w)
        } else {
            (w * z.apply::<Ln>()).apply::<Exp>().with_value(values::power(z.point(), w.point()))
        }
    }
    fn partials<V: Float>(z: Parts<V>, w: Parts<V>) -> (Parts<V>, Parts<V>) {
        let one_less = parts(w.re - V::ONE, w.im);
        if !z.point().is_zero() {
            return (w * Self::value(z, one_less), Self::value(z, w) * z.apply::<Ln>());
        }
        let for_z = if is_constant(w) && w.point().is_zero() { Parts::real(0.0) } else { w * Self::value(z, one_less) };
        (for_z, vanishing(z, w, if w.re > V::ZERO { parts(0.0, 0.0) } else { parts(f64::NAN, f64::NAN) }))
    }
    fn singular(z: Point, _: Point) -> bool {
        z.is_zero()
    }
}

/// Returns true for a number that has no derivatives.
fn is_constant<V: Float>(w: Parts<V>) -> bool {
    let value = w.point();
    w.re == V::from_f64(value.re) && w.im == V::from_f64(value.im)
}

/// 0^w with its derivatives. For the constant exponents 0, 1, …, 7 they are the derivatives of a product.
fn power_of_zero<V: Float>(z: Parts<V>, w: Parts<V>) -> Parts<V> {
    let exponent = w.point();
    let whole = (0..8_u8).find(|n| exponent.re == f64::from(*n) && exponent.im == 0.0);
    match whole {
        Some(n) if is_constant(w) => (0..n).fold(Parts::real(1.0), |power, _| power * z),
        _ => vanishing(z, w, values::power(z.point(), exponent)),
    }
}

/// A function of z and w with this value that vanishes at z = 0 as z^w does: its derivatives are 0 if the real part of
/// w is above their order, else NaN.
fn vanishing<V: Float>(z: Parts<V>, w: Parts<V>, value: Point) -> Parts<V> {
    let order = f64::from(u8::try_from(V::ORDER).unwrap_or(u8::MAX));
    let slope = if w.re.as_f64() > order { V::ZERO } else { V::nan() };
    let number = (z.re + z.im + w.re + w.im) * slope;
    parts(number, number).with_value(value)
}
