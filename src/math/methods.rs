//! The functions as methods: on variables by reference, on expressions by value; and on closed variables, recorded.

use crate::closed::{Closed, ClosedOperand};
use crate::expr::{Bin, Compound, Ex, Literal, Operand, Real, RefLeaf, Un, ex};
use tapewright_strategies::rules::arithmetic::Apart;
use tapewright_strategies::rules::arithmetic::{Less, Plus, Times};
use tapewright_strategies::rules::exponential::{
    Exp, Exp2, ExpM1, Ln, Ln1p, Log, Log2, Log10, LogAddExp, Sigmoid, Softplus,
};
use tapewright_strategies::rules::hyperbolic::{Acosh, Asinh, Atanh, Cosh, Sinh, Tanh};
use tapewright_strategies::rules::power::{Cbrt, Hypot, Pow, Powi, Recip, Sqrt};
use tapewright_strategies::rules::selection::{Abs, AtLeast, AtMost, CopySign, Fract, Max, Min, Rounding, SmoothAbs};
use tapewright_strategies::rules::special::{
    Beta, Digamma, Erf, Erfc, Gamma, LnGamma, NormalCdf, NormalPdf, NormalQuantile,
};
use tapewright_strategies::rules::trigonometric::{Acos, Asin, Atan, Atan2, Cos, Sin, Tan, ToDegrees, ToRadians};
use tapewright_strategies::{Binary, Number, Unary};
use tapewright_strategies::{Comparison, Expression, Taping, Tree};

/// An expression with your own rule of one argument at its root; see [`Unary`].
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Float, Unary, unary};
///
/// /// x ↦ x·|x|, smooth everywhere.
/// struct SignedSquare;
/// impl Unary for SignedSquare {
///     fn value<V: Float>(x: V) -> V { x * x.abs() }
///     fn derivative<V: Float>(x: V, _y: V) -> V { V::from_f64(2.0) * x.abs() }
/// }
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (unary::<_, SignedSquare, _>(x[0]) * 3.0).into() }
/// assert_eq!(gradient::<PrimalValue>(f, &[-2.0]), [12.0]);
/// ```
#[inline(always)]
pub fn unary<S: Taping, R: Unary, A: Operand<S>>(argument: A) -> Ex<S, Un<S, R, A::Node>> {
    ex(Un::new(argument.into_node()))
}

/// An expression with your own rule of two arguments at its root; see [`Binary`].
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Binary, Number, Float, binary};
///
/// /// (x, y) ↦ x²·y.
/// struct SquareTimes;
/// impl Binary for SquareTimes {
///     fn value<V: Float>(x: V, y: V) -> V { x * x * y }
///     fn partial_left<V: Float>(x: V, y: V, _value: V) -> V { V::from_f64(2.0) * x * y }
///     fn partial_right<V: Float>(x: V, _y: V, _value: V) -> V { x * x }
/// }
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { binary::<_, SquareTimes, _, _>(x[0], x[1]).into() }
/// assert_eq!(gradient::<Jacobian>(f, &[3.0, 5.0]), [30.0, 9.0]);
/// ```
#[inline(always)]
pub fn binary<S: Taping, R: Binary, A: Operand<S>, B: Operand<S>>(
    left: A,
    right: B,
) -> Ex<S, Bin<S, R, A::Node, B::Node>> {
    ex(Bin::new(left.into_node(), right.into_node()))
}

/// Gives each rule a method. The row `sin Sin` becomes `fn sin(&self) -> Ex<S, Un<S, Sin, RefLeaf<S>>>` on variables
/// and `fn sin(self) -> Ex<S, Un<S, Sin, N>>` on expressions, and `fn sin(&self) -> Self`, a statement, on closed
/// variables.
macro_rules! unary_methods {
    ($($(#[$doc:meta])* $method:ident $rule:ident;)*) => {
        impl<S: Taping> Real<S> { $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $method(&self) -> Ex<S, Un<S, $rule, RefLeaf<'_, S>>> { unary(self) }
        )* }
        impl<S: Taping, N: Compound + Expression<S>> Ex<S, N> { $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $method(self) -> Ex<S, Un<S, $rule, N>> { unary(self) }
        )* }
        impl<S: Taping> Closed<S> { $(
            $(#[$doc])*
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn $method(&self) -> Self { self.function::<$rule>() }
        )* }
    };
}

unary_methods! {
    /// Absolute value; slope 0 at 0.
    abs Abs;
    /// Square root; slope +∞ at 0.
    sqrt Sqrt;
    /// Cube root; slope +∞ at 0.
    cbrt Cbrt;
    /// 1/x.
    recip Recip;
    /// eˣ.
    exp Exp;
    /// 2ˣ.
    exp2 Exp2;
    /// eˣ − 1, exact near 0.
    exp_m1 ExpM1;
    /// Natural logarithm.
    ln Ln;
    /// Logarithm to base 2.
    log2 Log2;
    /// Logarithm to base 10.
    log10 Log10;
    /// ln(1 + x), exact near 0.
    ln_1p Ln1p;
    /// Sine.
    sin Sin;
    /// Cosine.
    cos Cos;
    /// Tangent.
    tan Tan;
    /// Arcsine.
    asin Asin;
    /// Arccosine.
    acos Acos;
    /// Arctangent.
    atan Atan;
    /// Hyperbolic sine.
    sinh Sinh;
    /// Hyperbolic cosine.
    cosh Cosh;
    /// Hyperbolic tangent.
    tanh Tanh;
    /// Inverse hyperbolic sine.
    asinh Asinh;
    /// Inverse hyperbolic cosine.
    acosh Acosh;
    /// Inverse hyperbolic tangent.
    atanh Atanh;
    /// Radians to degrees.
    to_degrees ToDegrees;
    /// Degrees to radians.
    to_radians ToRadians;
    /// x − trunc x; slope 1.
    fract Fract;
    /// Error function.
    erf Erf;
    /// Complementary error function.
    erfc Erfc;
    /// Gamma function Γ.
    gamma Gamma;
    /// ln |Γ|.
    ln_gamma LnGamma;
    /// Digamma function ψ = Γ′/Γ.
    digamma Digamma;
    /// Density of the standard normal distribution.
    normal_pdf NormalPdf;
    /// Distribution function of the standard normal distribution.
    normal_cdf NormalCdf;
    /// Quantile function of the standard normal distribution.
    normal_quantile NormalQuantile;
    /// Logistic function 1/(1 + e⁻ˣ), without overflow.
    sigmoid Sigmoid;
    /// ln(1 + eˣ), without overflow.
    softplus Softplus;
}

/// As `unary_methods`, for rules whose second argument may be a variable, an expression or an `f64`.
macro_rules! binary_methods {
    ($($(#[$doc:meta])* $method:ident $rule:ident;)*) => {
        impl<S: Taping> Real<S> { $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $method<B: Operand<S>>(&self, other: B) -> Ex<S, Bin<S, $rule, RefLeaf<'_, S>, B::Node>> {
                binary(self, other)
            }
        )* }
        impl<S: Taping, N: Compound + Expression<S>> Ex<S, N> { $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $method<B: Operand<S>>(self, other: B) -> Ex<S, Bin<S, $rule, N, B::Node>> {
                binary(self, other)
            }
        )* }
        impl<S: Taping> Closed<S> { $(
            $(#[$doc])*
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn $method(&self, other: impl ClosedOperand<S>) -> Self { other.apply::<$rule>(self) }
        )* }
    };
}

binary_methods! {
    /// Power with any exponent; see [`powi`](Self::powi) for whole ones.
    powf Pow;
    /// Logarithm to base `other`.
    log Log;
    /// √(x² + other²), without overflow.
    hypot Hypot;
    /// The angle of the point (`other`, `self`).
    atan2 Atan2;
    /// The larger of the two; at a tie `self`.
    max Max;
    /// The smaller of the two; at a tie `self`.
    min Min;
    /// The magnitude of `self` with the sign of `other`.
    copysign CopySign;
    /// Beta function B(`self`, `other`).
    beta Beta;
    /// ln(eˣ + eʸ), without overflow.
    log_add_exp LogAddExp;
    /// √(x² + w²) with w = `other`: |x| rounded off over a width w.
    smooth_abs SmoothAbs;
}

/// xⁿ as a node.
type Power<S, N> = Ex<S, Bin<S, Powi, N, Literal<S>>>;
/// x limited from below, then from above.
type Clamped<S, N> = Ex<S, Bin<S, AtMost, Bin<S, AtLeast, N, Literal<S>>, Literal<S>>>;
/// x·a + b.
type MulAdd<S, N, A, B> = Ex<S, Bin<S, Plus, Bin<S, Times, N, A>, B>>;

/// Methods that are more than a rule applied to operands, for one kind of receiver. `$node` is the receiver as a node,
/// of type `$type`.
macro_rules! composed_methods {
    ($type:ty, ($($receiver:tt)*), $node:expr, $value:expr) => {
        /// Whole power. Under `f32` values the exponent is an `f32` too, so it is exact up to 2²⁴.
        #[inline(always)]
        pub fn powi($($receiver)*, n: i32) -> Power<S, $type> {
            ex(Bin::new($node, f64::from(n).into_node()))
        }

        /// The value limited to [`low`, `high`]; at a bound the slope is 1, outside 0, and a NaN stays.
        ///
        /// # Panics
        ///
        /// Unless `low` ≤ `high`, as [`f64::clamp`].
        #[inline(always)]
        #[track_caller]
        pub fn clamp($($receiver)*, low: f64, high: f64) -> Clamped<S, $type> {
            assert!(low <= high, "clamp needs low ≤ high, not {low} and {high}");
            ex(Bin::new(Bin::new($node, low.into_node()), high.into_node()))
        }

        /// `self`·a + b in one expression, with two roundings (`f64::mul_add` has one).
        #[inline(always)]
        pub fn mul_add<A: Operand<S>, B: Operand<S>>($($receiver)*, a: A, b: B) -> MulAdd<S, $type, A::Node, B::Node> {
            ex(Bin::new(Bin::new($node, a.into_node()), b.into_node()))
        }
    };
}

/// Functions that are constant between jumps. They are reported to strategies that can replay a recording, as
/// comparisons are.
macro_rules! step_functions {
    (($($receiver:tt)*), $node:expr, $value:expr) => {
        step_functions! { @ ($($receiver)*), $node, $value,
            /// The sign as a passive variable: its slope is 0.
            signum Sign;
            /// The largest whole number below, as a passive variable: its slope is 0.
            floor Floor;
            /// The smallest whole number above, as a passive variable: its slope is 0.
            ceil Ceil;
            /// The nearest whole number, as a passive variable: its slope is 0.
            round Round;
            /// The whole part, as a passive variable: its slope is 0.
            trunc Trunc;
        }
    };
    (@ $receiver:tt, $node:expr, $value:expr, $($(#[$doc:meta])* $name:ident $comparison:ident;)*) => { $(
        step_functions! { @@ $receiver, $node, $value, $(#[$doc])* $name $comparison }
    )* };
    (@@ ($($receiver:tt)*), $node:expr, $value:expr, $(#[$doc:meta])* $name:ident $comparison:ident) => {
        $(#[$doc])*
        #[must_use]
        #[inline(always)]
        #[track_caller]
        pub fn $name($($receiver)*) -> Real<S> {
            let value = Number::$name($value);
            S::compare($node, &Literal::<S>(value), Comparison::$comparison);
            Real::constant(value)
        }
    };
}

impl<S: Taping> Real<S> {
    composed_methods!(RefLeaf<'_, S>, (&self), RefLeaf(&self.0), self.value());
    step_functions!((&self), &self.0, self.value());

    /// Sine and cosine as two expressions.
    #[inline(always)]
    #[allow(clippy::type_complexity, reason = "the types say what is returned")]
    pub fn sin_cos(&self) -> (Ex<S, Un<S, Sin, RefLeaf<'_, S>>>, Ex<S, Un<S, Cos, RefLeaf<'_, S>>>) {
        (self.sin(), self.cos())
    }
}

impl<S: Taping, N: Compound + Expression<S>> Ex<S, N> {
    composed_methods!(N, (self), self.0, self.value());
}

impl<S: Taping, N: Compound + Tree<S>> Ex<S, N> {
    step_functions!((self), &self.0, self.value());
}

/// A maximum rounded off over a width `w`: (x + y + √((x − y)² + w²))/2, without overflow; with `w` = 0 the maximum
/// itself.
#[inline(always)]
#[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
pub fn smooth_max<'a, S: Taping>(
    x: &'a Real<S>,
    y: &'a Real<S>,
    w: f64,
) -> Ex<S, Bin<S, Plus, Pair<'a, S, Max>, Rounded<'a, S>>> {
    x.max(y) + rounding(x, y, w)
}

/// A minimum rounded off over a width `w`: (x + y − √((x − y)² + w²))/2, without overflow; with `w` = 0 the minimum
/// itself.
#[inline(always)]
#[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
pub fn smooth_min<'a, S: Taping>(
    x: &'a Real<S>,
    y: &'a Real<S>,
    w: f64,
) -> Ex<S, Bin<S, Less, Pair<'a, S, Min>, Rounded<'a, S>>> {
    x.min(y) - rounding(y, x, w)
}

/// Two borrowed variables under an operator.
type Pair<'a, S, O> = Bin<S, O, RefLeaf<'a, S>, RefLeaf<'a, S>>;
/// What rounding off adds.
type Rounded<'a, S> = Bin<S, Rounding, Pair<'a, S, Apart>, Literal<S>>;

#[inline(always)]
fn rounding<'a, S: Taping>(x: &'a Real<S>, y: &'a Real<S>, w: f64) -> Ex<S, Rounded<'a, S>> {
    binary(ex(Bin::<S, Apart, _, _>::new(x.into_node(), y.into_node())), w)
}
