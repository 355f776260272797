//! Exponentials and logarithms.

use super::Unary;
use super::rules::{binary_rules, lit, unary_rules};
use core::f64::consts::{LN_2, LN_10};
use tapewright_strategies::Float;

unary_rules! {
    /// eˣ.
    Exp(x, y) = x.exp(), y;
    /// 2ˣ.
    Exp2(x, y) = x.exp2(), y * lit(LN_2);
    /// eˣ − 1; the derivative is eˣ, computed afresh because y + 1 cancels for x < 0.
    ExpM1(x, y) = x.exp_m1(), x.exp();
    /// ln x. At 0 the derivative is the IEEE limit.
    Ln(x, y) = x.ln(), x.recip();
    /// log₂ x.
    Log2(x, y) = x.log2(), (x * lit(LN_2)).recip();
    /// log₁₀ x.
    Log10(x, y) = x.log10(), (x * lit(LN_10)).recip();
    /// ln(1 + x).
    Ln1p(x, y) = x.ln_1p(), (V::one() + x).recip();
    /// ln(1 + eˣ), without overflow.
    Softplus(x, y) = x.max(V::zero()) + (-x.abs()).exp().ln_1p(), sigmoid(x).0;
}

binary_rules! {
    /// The logarithm of x to base y.
    Log(x, y, v) = x.log(y), (x * y.ln()).recip(), -v / (y * y.ln());
    /// ln(eˣ + eʸ), without overflow.
    LogAddExp(x, y, v) = if x == y { x + lit(LN_2) } else { x.max(y) + (-(x - y).abs()).exp().ln_1p() },
        sigmoid(x - y).0, sigmoid(y - x).0;
}

/// σ(x) = 1/(1 + e⁻ˣ), and its companion 1 − σ(x) = σ(−x), both from e^−|x| so that nothing overflows or cancels.
#[derive(Debug)]
pub struct Sigmoid;
impl Unary for Sigmoid {
    const HASH: u32 = super::rules::hash_name("Sigmoid");
    #[inline(always)]
    fn value<V: Float>(x: V) -> V {
        sigmoid(x).0
    }
    #[inline(always)]
    fn derivative<V: Float>(x: V, y: V) -> V {
        y * sigmoid(-x).0
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

#[inline(always)]
fn sigmoid<V: Float>(x: V) -> (V, V) {
    let e = (-x.abs()).exp();
    let large = (V::one() + e).recip();
    let small = e * large;
    if x < V::zero() { (small, large) } else { (large, small) }
}
