//! Hyperbolic functions.

use crate::Float;
use crate::rules::rule::{is, lit, one_minus_square, unary_rules};

unary_rules! {
    /// sinh x.
    Sinh(x, y) = x.sinh(), x.cosh();
    /// cosh x.
    Cosh(x, y) = x.cosh(), x.sinh();
    /// tanh x; the derivative is (1 − y)(1 + y) where that does not cancel, else 1/cosh².
    Tanh(x, y) = x.tanh(), sech_squared(x, y);
    /// arsinh x.
    Asinh(x, y) = x.asinh(), V::one().hypot(x).recip();
    /// arcosh x; slope +∞ at 1.
    Acosh(x, y) = x.acosh(), ((x - V::one()).sqrt() * (x + V::one()).sqrt()).recip(), is(x, 1.0);
    /// artanh x; slope +∞ at ±1.
    Atanh(x, y) = x.atanh(), if y.is_nan() { y } else { one_minus_square(x).recip() },
        is(x.abs(), 1.0);
}

/// 1/cosh² x, where y = tanh x.
#[inline(always)]
pub(crate) fn sech_squared<V: Float>(x: V, y: V) -> V {
    if y.abs() < lit(0.97) {
        one_minus_square(y)
    } else {
        let c = x.cosh().recip();
        c * c
    }
}
