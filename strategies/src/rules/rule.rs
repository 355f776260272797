//! The traits of differentiable functions as nodes of expressions use them, and the macros that define rules.

use crate::rules::Bend;
use crate::shape::{Edge, Scaling};
use crate::{Binary, Float, Number, Unary};

/// The function of a node with one child: a [`Unary`] rule, lane by lane, or a linear function.
pub trait Function: 'static {
    /// The hash of the function, [`Unary::HASH`] for a rule.
    const HASH: u32;
    /// The form in which the partial is known.
    type Edge: Edge;
    /// Number of results that programs keep for derivatives, because they are costly to compute again: none, the value,
    /// or the value and its companion.
    const KEPT: usize = 0;
    /// Computes the value and its companion, as [`Unary::value_and_companion`] does.
    fn value_and_companion<V: Number>(x: V) -> (V, V);
    /// Computes the derivative, as [`Unary::derivative_with_companion`] does.
    fn derivative<V: Number>(x: V, y: V, companion: V) -> V;
    /// Returns true where [`Unary::singular`] does, for the value of one lane.
    fn singular(x: f64) -> bool;
}

impl<R: Unary> Function for R {
    const HASH: u32 = R::HASH;
    type Edge = Scaling;
    const KEPT: usize = R::KEPT;
    #[inline(always)]
    fn value_and_companion<V: Number>(x: V) -> (V, V) {
        x.unary::<R>()
    }
    #[inline(always)]
    fn derivative<V: Number>(x: V, y: V, companion: V) -> V {
        x.derivative::<R>(y, companion)
    }
    #[inline(always)]
    fn singular(x: f64) -> bool {
        <R as Unary>::singular(x)
    }
}

/// The function of a node with two children: a [`Binary`] rule, lane by lane, or a function that is linear in an
/// argument.
pub trait Operator: 'static {
    /// The hash of the function, [`Binary::HASH`] for a rule.
    const HASH: u32;
    /// How the partial of the left argument is known.
    type Left: Edge;
    /// How the partial of the right argument is known.
    type Right: Edge;
    /// True if the function returns one of its arguments, as [`Binary::SELECTS`] says.
    const SELECTS: bool = false;
    /// The arguments in which the function is not linear.
    const BEND: Bend;
    /// Number of results that programs keep for derivatives: none, or the value.
    const KEPT: usize = 0;
    /// Calls the closure if the function selects, and returns true then. For arithmetic the closure is not even
    /// compiled.
    #[inline(always)]
    fn selecting(_does: impl FnOnce()) -> bool {
        false
    }
    /// Computes the value, as [`Binary::value`] does.
    fn value<V: Number>(x: V, y: V) -> V;
    /// Computes the partial of the left argument, as [`Binary::partial_left`] does.
    fn partial_left<V: Number>(x: V, y: V, value: V) -> V;
    /// Computes the partial of the right argument, as [`Binary::partial_right`] does.
    fn partial_right<V: Number>(x: V, y: V, value: V) -> V;
    /// Returns true where [`Binary::selects_left`] does, for one lane.
    fn selects_left<V: Float>(x: V, y: V) -> bool;
    /// Returns true where [`Binary::singular`] does, for the values of one lane.
    fn singular(x: f64, y: f64) -> bool;
}

impl<R: Binary> Operator for R {
    const HASH: u32 = R::HASH;
    const SELECTS: bool = R::SELECTS;
    const BEND: Bend = if R::SELECTS { Bend::Nothing } else { Bend::Anything };
    const KEPT: usize = if R::SELECTS { 0 } else { 1 };
    type Left = Scaling;
    type Right = Scaling;
    #[inline(always)]
    fn selecting(does: impl FnOnce()) -> bool {
        if R::SELECTS {
            does();
        }
        R::SELECTS
    }
    #[inline(always)]
    fn value<V: Number>(x: V, y: V) -> V {
        x.binary::<R>(y)
    }
    #[inline(always)]
    fn partial_left<V: Number>(x: V, y: V, value: V) -> V {
        x.partial_left::<R>(y, value)
    }
    #[inline(always)]
    fn partial_right<V: Number>(x: V, y: V, value: V) -> V {
        x.partial_right::<R>(y, value)
    }
    #[inline(always)]
    fn selects_left<V: Float>(x: V, y: V) -> bool {
        <R as Binary>::selects_left(x, y)
    }
    #[inline(always)]
    fn singular(x: f64, y: f64) -> bool {
        <R as Binary>::singular(x, y)
    }
}

/// Defines [`Unary`] rules from rows `Name(x, y) = value, derivative;`, with [`Unary::singular`] behind them if it is
/// not `false`. The row `Exp(x, y) = x.exp(), y;` becomes `pub struct Exp; impl Unary for Exp { fn value(x) { x.exp() }
/// fn derivative(x, y) { y } }`.
macro_rules! unary_rules {
    ($($(#[$doc:meta])* $name:ident($x:ident, $y:ident) = $value:expr, $derivative:expr $(, $singular:expr)?;)*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl crate::Unary for $name {
            const HASH: u32 = $crate::rules::rule::hash_name(stringify!($name));
            const KEPT: usize = 1;
            #[inline(always)]
            fn value<V: Float>($x: V) -> V { $value }
            #[inline(always)]
            #[allow(unused_variables, reason = "a rule may need only one of x and y")]
            fn derivative<V: Float>($x: V, $y: V) -> V { $derivative }
            $(#[inline(always)]
            fn singular<V: Float>($x: V) -> bool { $singular })?
        }
    )* };
}
pub(crate) use unary_rules;

/// Defines [`Binary`] rules from rows `Name(x, y, v) = value, ∂x, ∂y;`, with [`Binary::singular`] behind them if it is
/// not `false`.
macro_rules! binary_rules {
    ($(
        $(#[$doc:meta])* $name:ident($x:ident, $y:ident, $v:ident) =
            $value:expr, $left:expr, $right:expr $(, $singular:expr)?;
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        #[allow(unused_variables, reason = "a rule may not need all of x, y and v")]
        impl crate::Binary for $name {
            const HASH: u32 = $crate::rules::rule::hash_name(stringify!($name));
            #[inline(always)]
            fn value<V: Float>($x: V, $y: V) -> V { $value }
            #[inline(always)]
            fn partial_left<V: Float>($x: V, $y: V, $v: V) -> V { $left }
            #[inline(always)]
            fn partial_right<V: Float>($x: V, $y: V, $v: V) -> V { $right }
            $(#[inline(always)]
            fn singular<V: Float>($x: V, $y: V) -> bool { $singular })?
        }
    )* };
}
pub(crate) use binary_rules;

/// Defines [`Ternary`](crate::Ternary) rules from rows `Name(x, y, z, v) = value, ∂x, ∂y, ∂z;`, with
/// [`Ternary::singular`](crate::Ternary::singular) behind them if it is not `false`.
macro_rules! ternary_rules {
    ($(
        $(#[$doc:meta])* $name:ident($x:ident, $y:ident, $z:ident, $v:ident) =
            $value:expr, $first:expr, $second:expr, $third:expr $(, $singular:expr)?;
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        #[allow(unused_variables, reason = "a rule may not need all of x, y, z and v")]
        impl crate::Ternary for $name {
            const HASH: u32 = $crate::rules::rule::hash_name(stringify!($name));
            #[inline(always)]
            fn value<V: Float>($x: V, $y: V, $z: V) -> V { $value }
            #[inline(always)]
            fn partial_first<V: Float>($x: V, $y: V, $z: V, $v: V) -> V { $first }
            #[inline(always)]
            fn partial_second<V: Float>($x: V, $y: V, $z: V, $v: V) -> V { $second }
            #[inline(always)]
            fn partial_third<V: Float>($x: V, $y: V, $z: V, $v: V) -> V { $third }
            $(#[inline(always)]
            fn singular<V: Float>($x: V, $y: V, $z: V) -> bool { $singular })?
        }
    )* };
}
pub(crate) use ternary_rules;

/// FNV-1a of a rule's name.
#[must_use]
pub const fn hash_name(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let mut hash = 0x811C_9DC5_u32;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

/// Returns true if the value is this one, whatever the derivatives are.
#[inline(always)]
pub(super) fn is<V: Float>(x: V, value: f64) -> bool {
    x.as_f64() == value
}

/// |x|, whose own derivative at 0 is the one from the right, so that it may stand in the derivative of a smooth
/// function.
#[inline(always)]
pub(super) fn magnitude<V: Float>(x: V) -> V {
    if x < V::zero() { -x } else { x + V::zero() } // the sum turns −0 into 0
}

/// Something that is 0 and has this slope in x, a finite number; the slope may be infinite.
#[inline(always)]
pub(super) fn zero_with_slope<V: Float>(x: V, slope: V) -> V {
    if V::PARTS == 1 { V::ZERO } else { (x - V::from_f64(x.as_f64())).contribution(slope) }
}

/// A number with these derivatives by numbers; its second derivatives, over duals of duals, are NaN.
#[inline]
pub(super) fn with_slopes<W: Float>(number: f64, slopes: impl IntoIterator<Item = (W, f64)> + Clone) -> W {
    let unknown = if W::ORDER > 1 {
        slopes.clone().into_iter().fold(W::ZERO, |sum, (x, _)| sum + zero_with_slope(x, W::nan()))
    } else {
        W::ZERO
    };
    let moved = slopes.into_iter().fold(W::ZERO, |sum, (x, slope)| sum + zero_with_slope(x, lit::<W>(slope) + unknown));
    moved.with_value(number) // which keeps the sign of a zero
}

/// a·b, where 0 times anything is 0.
pub(super) fn product<W: Float>(a: W, b: W) -> W {
    if a.is_nought() { W::ZERO } else { a.contribution(b) }
}

/// factor·exp(exponent), where the exponential alone may be beyond the range of floats: it is taken in halves then.
pub(super) fn times_exp<W: Float>(factor: W, exponent: W) -> W {
    if exponent.abs() < lit(700.0) {
        return factor * exponent.exp();
    }
    times_square(factor, (lit::<W>(0.5) * exponent).exp())
}

/// factor·half², where the square alone may be beyond the range of floats. 0 where `half` is, whatever the factor.
pub(super) fn times_square<W: Float>(factor: W, half: W) -> W {
    if is(half, 0.0) { W::ZERO } else { factor * half * half }
}

/// A value of a function in double precision, which is computed again if it was rounded to single precision: where a
/// slope is a function of the value, that may say little.
pub(super) fn widened<V: Float>(value: V, again: impl FnOnce() -> f64) -> V::Wide {
    let wide = value.widen();
    if V::epsilon().as_f64() > f64::EPSILON { wide.with_value(again()) } else { wide }
}

/// 1 − x² = (1 − x)(1 + x), whose own derivative is −2x: that of the product cancels next to 0.
#[inline(always)]
pub(super) fn one_minus_square<V: Float>(x: V) -> V {
    let product = |x: V| (V::one() - x) * (V::one() + x);
    if V::PARTS == 1 { product(x) } else { (V::one() - x * x).with_value(product(passive(x)).as_f64()) }
}

/// The value alone, which depends on nothing.
#[inline(always)]
pub(super) fn passive<V: Float>(x: V) -> V {
    V::from_f64(x.as_f64())
}

/// A literal in a rule.
#[inline(always)]
pub(super) fn lit<V: Float>(value: f64) -> V {
    V::from_f64(value)
}
