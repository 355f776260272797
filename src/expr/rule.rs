//! Expressions with a rule at their root.

use super::{Bin, Ex, Operand, Tri, Un, ex};
use tapewright_strategies::{Binary, Taping, Ternary, Unary};

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

/// An expression with your own rule of three arguments at its root; see [`Ternary`].
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Float, Ternary, ternary};
///
/// /// (x, y, z) ↦ x·y²·z.
/// struct Product;
/// impl Ternary for Product {
///     fn value<V: Float>(x: V, y: V, z: V) -> V { x * y * y * z }
///     fn partial_first<V: Float>(_x: V, y: V, z: V, _value: V) -> V { y * y * z }
///     fn partial_second<V: Float>(x: V, y: V, z: V, _value: V) -> V { V::from_f64(2.0) * x * y * z }
///     fn partial_third<V: Float>(x: V, y: V, _z: V, _value: V) -> V { x * y * y }
/// }
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { ternary::<_, Product, _, _, _>(x[0], x[1], 5.0).into() }
/// assert_eq!(gradient::<Jacobian>(f, &[2.0, 3.0]), [45.0, 60.0]);
/// ```
#[inline(always)]
#[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
pub fn ternary<S: Taping, R: Ternary, A: Operand<S>, B: Operand<S>, C: Operand<S>>(
    first: A,
    second: B,
    third: C,
) -> Ex<S, Tri<S, R, A::Node, B::Node, C::Node>> {
    ex(Tri::new(first.into_node(), second.into_node(), third.into_node()))
}
