//! Exponentials and logarithms.

use super::hyperbolic::sech_squared;
use crate::Float;
use crate::Unary;
use crate::rules::rule::{binary_rules, is, lit, magnitude, passive, product, unary_rules, with_slopes};
use core::f64::consts::{LN_2, LOG2_E, LOG10_E};

unary_rules! {
    /// eˣ.
    Exp(x, y) = x.exp(), y;
    /// 2ˣ; the derivative is smaller than the value and overflows later.
    Exp2(x, y) = x.exp2(), if y.is_infinite() { beyond(x) } else { y * lit(LN_2) };
    /// eˣ − 1; the derivative is eˣ, computed afresh because y + 1 cancels for x < 0.
    ExpM1(x, y) = x.exp_m1(), x.exp();
    /// ln x. At ±0 the derivative is +∞, the limit from the right.
    Ln(x, y) = x.ln(), over(V::one(), x), is(x, 0.0);
    /// log₂ x.
    Log2(x, y) = x.log2(), over(lit(LOG2_E), x), is(x, 0.0);
    /// log₁₀ x.
    Log10(x, y) = x.log10(), over(lit(LOG10_E), x), is(x, 0.0);
    /// ln(1 + x).
    Ln1p(x, y) = x.ln_1p(), over(V::one(), V::one() + x), is(x, -1.0);
    /// ln(1 + eˣ), without overflow.
    Softplus(x, y) = x.max(V::zero()) + (-x.abs()).exp().ln_1p(), sigmoid(x).0;
}

binary_rules! {
    /// The logarithm of x to base y. At y = ±0 the derivative for y is infinite, the limit from the right.
    Log(x, y, v) = x.log(y), log_argument(x, y, v), log_base(x, y, v),
        is(x, 0.0) || is(y, 0.0) || is(y, 1.0);
    /// ln(eˣ + eʸ), without overflow. Equal arguments share the derivative, infinite ones too.
    LogAddExp(x, y, v) = if x == y { x + lit(LN_2) } else { x.max(y) + (-(x - y).abs()).exp().ln_1p() },
        share(x, y), share(y, x);
}

/// ∂(ln x/ln y)/∂x.
#[inline(always)]
fn log_argument<V: Float>(x: V, y: V, value: V) -> V {
    let slope = |x: V, y: V| over(y.ln().recip(), x);
    if V::ORDER != 1 || value.is_nan() {
        return slope(x, y);
    }
    let slope = slope(passive(x), passive(y)).as_f64();
    with_slopes(slope, [(x, -slope / from_right(x)), (y, log_mixed(from_right(x), from_right(y)))])
}

/// ∂(ln x/ln y)/∂y.
#[inline(always)]
fn log_base<V: Float>(x: V, y: V, value: V) -> V {
    let slope = |x: V, y: V, value: V| {
        if !is(y, 0.0) || value.is_nan() {
            -value / y.ln() / y
        } else if is(x, 1.0) {
            V::zero()
        } else {
            -x.ln() / magnitude(y)
        }
    };
    if V::ORDER != 1 || value.is_nan() {
        return slope(x, y, value);
    }
    let slope = slope(passive(x), passive(y), passive(value)).as_f64();
    let base = from_right(y);
    let bend = product(-slope, (1.0 + 2.0 / base.ln()) / base);
    with_slopes(slope, [(x, log_mixed(from_right(x), base)), (y, bend)])
}

/// ∂²(ln x/ln y)/∂x∂y, which is −1/(x·y·ln² y); where the product x·y would have lost digits, with a power of two.
fn log_mixed(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return f64::NEG_INFINITY;
    }
    let scale = if x * y < 1e-200 { 2_f64.powi(200) } else { 1.0 };
    -scale / (y.ln() * y.ln()) / (x.min(y) * scale * x.max(y))
}

/// The value, 0 in place of −0.
fn from_right<V: Float>(x: V) -> f64 {
    x.as_f64() + 0.0
}

/// The derivative of 2ˣ where 2ˣ overflows.
#[cold]
fn beyond<V: Float>(x: V) -> V {
    (x - V::one()).exp2() * lit(2.0 * LN_2)
}

/// σ(x) = 1/(1 + e⁻ˣ), and its companion 1 − σ(x) = σ(−x), both from e^−|x| so that nothing overflows or cancels.
#[derive(Debug)]
pub struct Sigmoid;
impl Unary for Sigmoid {
    const HASH: u32 = crate::rules::rule::hash_name("Sigmoid");
    #[inline(always)]
    fn value<V: Float>(x: V) -> V {
        sigmoid(x).0
    }
    #[inline(always)]
    fn derivative<V: Float>(x: V, y: V) -> V {
        if V::PARTS == 1 {
            return y * sigmoid(-x).0;
        }
        // σ(x)·σ(−x) = ¼/cosh² ½x: the derivative of the product cancels next to 0.
        let half = lit::<V>(0.5) * x;
        let slope = passive(y) * sigmoid(-passive(x)).0;
        (lit::<V>(0.25) * sech_squared(half, half.tanh())).with_value(slope.as_f64())
    }
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        sigmoid(x)
    }
    #[inline(always)]
    fn derivative_with_companion<V: Float>(_: V, y: V, companion: V) -> V {
        y * companion
    }
}

/// numerator/x as the slope of a logarithm, which has none for x < 0.
#[inline(always)]
fn over<V: Float>(numerator: V, x: V) -> V {
    if x < V::zero() { V::nan() * x } else { numerator / (x + V::zero()) } // the sum turns −0 into 0
}

/// eˣ/(eˣ + eʸ).
#[inline(always)]
fn share<V: Float>(x: V, y: V) -> V {
    sigmoid(if x.is_infinite() && is(x, y.as_f64()) { V::zero() } else { x - y }).0
}

/// 1/(1 + e⁻ˣ), and 1 minus that.
#[inline(always)]
pub(crate) fn sigmoid<V: Float>(x: V) -> (V, V) {
    sigmoid_by(x, (-magnitude(x)).exp())
}

/// 1/(1 + e⁻ˣ), and 1 minus that, from e^−|x|.
#[inline(always)]
pub(crate) fn sigmoid_by<V: Float>(x: V, e: V) -> (V, V) {
    let large = (V::one() + e).recip();
    let small = e * large;
    if x < V::zero() { (small, large) } else { (large, small) }
}
