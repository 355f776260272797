//! Variables and the expression trees that operators build from them.

pub(crate) mod nodes;

mod assign;
mod branch;
mod compare;
mod given;
mod operand;
mod operators;
mod rule;
mod select;

use bytemuck::TransparentWrapper;
use core::fmt;
use core::marker::PhantomData;
use tapewright_strategies::contract::{Comparison, Tree, Variable};
use tapewright_strategies::{Expression, Nested, Nests, Number as _, Passive, Taping};

pub use assign::Assignable;
pub(crate) use branch::{note_branch, note_singular_point};
pub(crate) use compare::comparisons;
pub(crate) use given::{Singular, given};
pub use nodes::node::{BackLeaf, Bin, Compound, Leaf, Literal, RefLeaf, Un};
pub use nodes::tri::Tri;
pub use operand::Operand;
pub use rule::{binary, ternary, unary};
pub use select::Choice;

/// An expression of strategy `S` with root node `N`.
///
/// Operators and functions return expressions; nothing is recorded until an expression becomes a [`Real`] by `.into()`,
/// [`eval`](Self::eval), [`assign`](Real::assign) or a compound assignment. An expression keeps its values, so it may
/// be stored and compared; folding it twice records it twice.
///
/// An expression has the functions and comparisons that [`Real`] has as methods, and takes itself by value:
/// `(x * y).sin()`.
///
/// An expression is not a variable, and two expressions have two types: `.into()` or [`eval`](Self::eval) makes a
/// variable of either.
///
/// ```compile_fail,E0308
/// # use tapewright::prelude::*;
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     x[0] * x[1] + 1.0 // .into() is missing
/// }
/// ```
///
/// ```compile_fail,E0308
/// # use tapewright::prelude::*;
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     let y = if x[0] > 0.0 { x[0] * x[1] } else { x[0] + x[1] };
///     y.into()
/// }
/// ```
///
/// An expression that was built of references borrows its variables:
///
/// ```compile_fail,E0597
/// # use tapewright::prelude::*;
/// fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
///     let kept = {
///         let y: Real<S> = (&x[0] * &x[0]).into();
///         &y * 2.0
///     };
///     kept.into()
/// }
/// ```
#[derive(TransparentWrapper)]
#[repr(transparent)]
#[transparent(N)]
pub struct Ex<S, N>(pub(crate) N, pub(crate) PhantomData<fn() -> S>);

/// A variable of strategy `S`.
///
/// A variable is `Copy + Send + Sync + 'static` for every strategy with linear indices. Under [`Passive`] it has the
/// memory layout of the float; under the taping strategies with `f64` values and `u32` identifiers it takes 16 bytes.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn norm<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     let sum: Real<S> = x.iter().map(|v| *v * *v).sum();
///     sum.sqrt().into()
/// }
/// assert_eq!(norm::<Passive>(Real::wrap_slice(&[3.0, 4.0])).value(), 5.0);
/// ```
///
/// A float is not a variable until `.into()` makes it one, literals in arithmetic with variables are `f64`, and all
/// variables of an expression are of one strategy:
///
/// ```compile_fail,E0308
/// # use tapewright::prelude::*;
/// fn positive<S: Strategy>(x: Real<S>) -> Real<S> {
///     if x > 0.0 { x } else { 0.0 }
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use tapewright::prelude::*;
/// fn twice<S: Strategy>(x: Real<S>) -> Real<S> {
///     (x * 2).into()
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use tapewright::prelude::*;
/// fn product(x: Real<Jacobian>, y: Real<PrimalValue>) -> Real<Jacobian> {
///     (x * y).into()
/// }
/// ```
///
/// Under [`Taping`] variables need not be `Copy`: compute with references there.
///
/// ```compile_fail,E0508
/// # use tapewright::prelude::*;
/// fn product<S: Taping>(x: &[Real<S>]) -> Real<S> {
///     (x[0] * x[1]).into() // &x[0] * &x[1]
/// }
/// ```
pub type Real<S> = Ex<S, Leaf<S>>;

/// One variable where several may be returned.
impl<S: Taping> AsRef<[Self]> for Ex<S, Leaf<S>> {
    #[inline(always)]
    fn as_ref(&self) -> &[Self] {
        core::slice::from_ref(self)
    }
}

impl<S, N: Clone> Clone for Ex<S, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}
impl<S, N: Copy> Copy for Ex<S, N> {}

#[inline(always)]
pub(crate) const fn ex<S, N>(node: N) -> Ex<S, N> {
    Ex(node, PhantomData)
}

impl<S: Taping, N: Tree<S>> Ex<S, N> {
    /// Value of the expression, computed when the expression was built.
    ///
    /// What a function computes of values, and how it branches on them, has no derivatives. A recording that keeps
    /// guards, as every recording of a [program](crate::programs) does, is used again only where the value is the same.
    #[inline(always)]
    #[track_caller]
    pub fn value(&self) -> S::Value {
        S::compare(&self.0, &Literal::<S>(self.peek()), Comparison::Read);
        self.peek()
    }
}

impl<S: Taping, N: Expression<S>> Ex<S, N> {
    /// Value of the expression for output: to print, to log, or to keep as a result. Unlike [`value`](Self::value) it
    /// leaves no guard, so nothing that the function computes may depend on it: a number that is made of it stays as it
    /// was recorded.
    #[inline(always)]
    pub fn peek(&self) -> S::Value {
        self.0.value()
    }
}

impl<S: Taping> Real<S> {
    #[inline(always)]
    pub(crate) fn from_parts(value: S::Value, id: S::Id) -> Self {
        ex(Leaf(S::Variable::new(value, id)))
    }

    /// A variable that depends on no input. Arithmetic with `f64` operands is cheaper where the value is a literal.
    #[inline(always)]
    pub fn constant(value: S::Value) -> Self {
        Self::from_parts(value, S::passive())
    }

    /// A passive NaN, for a variable that is to be assigned before it is used.
    #[must_use]
    pub fn undefined() -> Self {
        Self::constant(S::Value::from_f64(f64::NAN))
    }

    /// The strategy's identifier of this variable.
    #[inline(always)]
    pub fn id(&self) -> &S::Id {
        self.0.0.id()
    }

    /// The strategy's own form of these variables, which has the same memory layout.
    #[inline(always)]
    pub fn peel(reals: &[Self]) -> &[S::Variable] {
        Leaf::peel_slice(Self::peel_slice(reals))
    }

    /// Variables in the strategy's own form, as those of the library.
    #[inline(always)]
    pub(crate) fn of_variables(variables: &[S::Variable]) -> &[Self] {
        <Self as TransparentWrapper<Leaf<S>>>::wrap_slice(Leaf::wrap_slice(variables))
    }
}

/// Makes a number of another strategy of a variable.
impl<S: Nests> From<Real<S>> for Nested<S> {
    #[inline(always)]
    fn from(real: Real<S>) -> Self {
        Self::new(real.peek(), *real.id())
    }
}

/// Takes the variable out of a number of another strategy.
impl<S: Nests> From<Nested<S>> for Real<S> {
    #[inline(always)]
    fn from(number: Nested<S>) -> Self {
        Self::from_parts(number.value(), number.id())
    }
}

impl<S: Nests> Real<S> {
    /// These variables as numbers of another strategy, without copying: see [`Nested`].
    ///
    /// The Hessian matrix times a vector v, as the gradient of ∇f·v:
    ///
    /// ```
    /// use tapewright::{Nested, prelude::*};
    ///
    /// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    ///     (x[0] * x[0] * x[1]).into()
    /// }
    ///
    /// let v = [1.0, 0.0];
    /// let along = |x: &[Real<Jacobian>]| -> Real<Jacobian> {
    ///     let slopes = gradient::<Jacobian<Nested<Jacobian>>>(f, Real::numbers(x));
    ///     slopes.iter().zip(v).map(|(slope, v)| Real::from(*slope) * v).sum()
    /// };
    /// assert_eq!(gradient::<Jacobian>(along, &[3.0, 5.0]), [10.0, 6.0]);
    /// ```
    #[inline(always)]
    pub fn numbers(reals: &[Self]) -> &[Nested<S>] {
        Nested::wrap_slice(Self::peel(reals))
    }
}

/// Conversions between slices of floats and slices of passive variables, without copying.
impl<V> Real<Passive<V>>
where
    Passive<V>: Taping<Value = V, Variable = V>,
{
    /// Returns floats as variables.
    #[inline(always)]
    pub fn wrap_slice(floats: &[V]) -> &[Self] {
        TransparentWrapper::wrap_slice(<Leaf<Passive<V>> as TransparentWrapper<V>>::wrap_slice(floats))
    }

    /// Returns floats as mutable variables.
    #[inline(always)]
    pub fn wrap_slice_mut(floats: &mut [V]) -> &mut [Self] {
        TransparentWrapper::wrap_slice_mut(<Leaf<Passive<V>> as TransparentWrapper<V>>::wrap_slice_mut(floats))
    }

    /// Returns variables as floats.
    #[inline(always)]
    pub fn floats(reals: &[Self]) -> &[V] {
        <Leaf<Passive<V>> as TransparentWrapper<V>>::peel_slice(TransparentWrapper::peel_slice(reals))
    }

    /// Returns variables as mutable floats.
    #[inline(always)]
    pub fn floats_mut(reals: &mut [Self]) -> &mut [V] {
        <Leaf<Passive<V>> as TransparentWrapper<V>>::peel_slice_mut(TransparentWrapper::peel_slice_mut(reals))
    }
}

impl<S: Taping> Default for Real<S> {
    /// A passive 0.
    #[inline(always)]
    fn default() -> Self {
        Self::from(0.0)
    }
}

impl<S: Taping, N: Expression<S>> fmt::Debug for Ex<S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.peek(), f)
    }
}

impl<S: Taping, N: Expression<S>> fmt::Display for Ex<S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.peek(), f)
    }
}
