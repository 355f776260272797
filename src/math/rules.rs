//! What a function must say to be differentiated.

use tapewright_strategies::Float;
use tapewright_strategies::shape::{Edge, Scaling};

/// A function of one argument with its derivative: all that is needed to use it in expressions under every strategy.
///
/// A rule is a type that is never instantiated; it is written over every [`Float`] so that it serves `f64` and `f32`.
/// Parameters are second arguments: a function with a parameter is a [`Binary`] rule with an `f64` operand.
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
pub trait Unary: 'static {
    /// Any number; different ones for different rules make recording a little faster under `PrimalValue`.
    const HASH: u32 = 0;
    /// The function at `x`.
    fn value<V: Float>(x: V) -> V;
    /// The derivative at `x`, where `y` is the function's value.
    fn derivative<V: Float>(x: V, y: V) -> V;

    /// The value and a second number that costs little beside it and that the derivative needs, as cos beside sin.
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        (Self::value(x), V::zero())
    }

    /// The derivative, given the companion.
    #[inline(always)]
    fn derivative_with_companion<V: Float>(x: V, y: V, _companion: V) -> V {
        Self::derivative(x, y)
    }

    /// Whether an infinite derivative at `x` is that of a pole or a vertical tangent, and not one that overflows; see
    /// [`Policy`](crate::Policy). A derivative that is NaN where the value is not needs no mention.
    #[inline(always)]
    fn singular<V: Float>(_x: V) -> bool {
        false
    }
}

/// A function of two arguments with its partial derivatives.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Binary, Float, binary};
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
pub trait Binary: 'static {
    /// Any number; different ones for different rules make recording a little faster under `PrimalValue`.
    const HASH: u32 = 0;
    /// The function at (`x`, `y`).
    fn value<V: Float>(x: V, y: V) -> V;
    /// ∂/∂x at (`x`, `y`), where `value` is the function's value.
    fn partial_left<V: Float>(x: V, y: V, value: V) -> V;
    /// ∂/∂y at (`x`, `y`), where `value` is the function's value.
    fn partial_right<V: Float>(x: V, y: V, value: V) -> V;

    /// Whether this function returns one of its arguments unchanged, as a maximum does. The other argument's partials
    /// are then exactly 0, whatever they are made of.
    const SELECTS: bool = false;

    /// For a function that [`SELECTS`](Self::SELECTS): whether it returns the left argument.
    #[inline(always)]
    fn selects_left<V: Float>(_x: V, _y: V) -> bool {
        true
    }

    /// As [`Unary::singular`], for both partials.
    #[inline(always)]
    fn singular<V: Float>(_x: V, _y: V) -> bool {
        false
    }
}

/// What a node with one child needs: a [`Unary`] rule, or a linear function.
pub trait Function: 'static {
    /// As [`Unary::HASH`].
    const HASH: u32;
    /// How the partial is known.
    type Edge: Edge;
    /// As [`Unary::value_and_companion`].
    fn value_and_companion<V: Float>(x: V) -> (V, V);
    /// As [`Unary::derivative_with_companion`].
    fn derivative<V: Float>(x: V, y: V, companion: V) -> V;
    /// As [`Unary::singular`].
    fn singular<V: Float>(x: V) -> bool;
}

impl<R: Unary> Function for R {
    const HASH: u32 = R::HASH;
    type Edge = Scaling;
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        <R as Unary>::value_and_companion(x)
    }
    #[inline(always)]
    fn derivative<V: Float>(x: V, y: V, companion: V) -> V {
        R::derivative_with_companion(x, y, companion)
    }
    #[inline(always)]
    fn singular<V: Float>(x: V) -> bool {
        <R as Unary>::singular(x)
    }
}

/// What a node with two children needs: a [`Binary`] rule, or a function that is linear in an argument.
pub trait Operator: 'static {
    /// As [`Binary::HASH`].
    const HASH: u32;
    /// How the partial of the left argument is known.
    type Left: Edge;
    /// How the partial of the right argument is known.
    type Right: Edge;
    /// As [`Binary::SELECTS`].
    const SELECTS: bool;
    /// As [`Binary::value`].
    fn value<V: Float>(x: V, y: V) -> V;
    /// As [`Binary::partial_left`].
    fn partial_left<V: Float>(x: V, y: V, value: V) -> V;
    /// As [`Binary::partial_right`].
    fn partial_right<V: Float>(x: V, y: V, value: V) -> V;
    /// As [`Binary::selects_left`].
    fn selects_left<V: Float>(x: V, y: V) -> bool;
    /// As [`Binary::singular`].
    fn singular<V: Float>(x: V, y: V) -> bool;
}

impl<R: Binary> Operator for R {
    const HASH: u32 = R::HASH;
    const SELECTS: bool = R::SELECTS;
    type Left = Scaling;
    type Right = Scaling;
    #[inline(always)]
    fn value<V: Float>(x: V, y: V) -> V {
        <R as Binary>::value(x, y)
    }
    #[inline(always)]
    fn partial_left<V: Float>(x: V, y: V, value: V) -> V {
        <R as Binary>::partial_left(x, y, value)
    }
    #[inline(always)]
    fn partial_right<V: Float>(x: V, y: V, value: V) -> V {
        <R as Binary>::partial_right(x, y, value)
    }
    #[inline(always)]
    fn selects_left<V: Float>(x: V, y: V) -> bool {
        <R as Binary>::selects_left(x, y)
    }
    #[inline(always)]
    fn singular<V: Float>(x: V, y: V) -> bool {
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
        impl crate::math::Unary for $name {
            const HASH: u32 = $crate::math::rules::hash_name(stringify!($name));
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
pub(super) use unary_rules;

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
        impl crate::math::Binary for $name {
            const HASH: u32 = $crate::math::rules::hash_name(stringify!($name));
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
pub(super) use binary_rules;

/// FNV-1a of a rule's name.
pub(crate) const fn hash_name(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let mut hash = 0x811C_9DC5_u32;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

/// A literal in a rule.
#[inline(always)]
pub(super) fn lit<V: Float>(value: f64) -> V {
    V::from_f64(value)
}
