//! Closed arithmetic: operations on variables that give variables, for code that is generic over `num_traits`.

mod compare;
mod float;
mod functions;
mod number;
mod operators;
#[cfg(feature = "nalgebra")]
mod simba;

use crate::expr::{Assignable, Compound, Ex, Leaf, Literal, Operand, Real, RefLeaf};
use crate::variables::Variables;
use bytemuck::TransparentWrapper;
use core::fmt;
use core::str::FromStr;
use tapewright_strategies::{Nested, Nests, Statement, Strategy, Taping};

pub use functions::ClosedOperand;

/// A variable whose arithmetic is closed: `x + y` is a `Closed<S>` again, and has been recorded.
///
/// Operators on [`Real`] return expressions, so that a complete right-hand side becomes one record. Code that was
/// written for `f64`-like types wants `T + T` to be a `T`: everything generic over `num_traits`, and containers of
/// numbers. Give it this type. It implements `Num`, `Signed`, `Pow`, `Euclid`, `NumCast` and so on under every
/// strategy, and `Float`, `Real`, `FloatCore` and `AsPrimitive` where variables are `Copy` ([`Strategy`]). With the
/// feature `nalgebra` it implements `ComplexField`, `RealField` and the traits of simba and approx that these need, so
/// that nalgebra's algorithms run on it.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::Closed;
/// use tapewright::strategies::num_traits::Float; // the crate num-traits, version 0.2
///
/// /// Code from another crate, which knows nothing of tapes.
/// fn norm<T: Float>(x: &[T]) -> T {
///     x.iter().fold(T::zero(), |sum, x| sum + *x * *x).sqrt()
/// }
///
/// assert_eq!(norm(&[3.0, 4.0]), 5.0);
/// let slope = gradient::<Jacobian>(|x| norm(Closed::wrap_slice(x)).open(), &[3.0, 4.0]);
/// assert!((slope[0] - 0.6).abs() < 1e-15 && (slope[1] - 0.8).abs() < 1e-15);
/// ```
///
/// Complex numbers are [`Complex`](crate::Complex): `num_complex::Complex<Closed<S>>` has wrong derivatives on axes.
///
/// # Cost
///
/// Each operation and each function is a statement of its own: one record with few arguments, and one adjoint. That
/// takes more memory than expressions do; write the code that you own over `Real`. Under [`Passive`](crate::Passive) a
/// `Closed` has the layout of the float and computes as the float does.
///
/// # Conversions
///
/// A `Closed` is a [`Real`] in memory: [`open`](Self::open), `into`, and the conversions of slices cost nothing and
/// record nothing. An expression becomes a `Closed` by `into`, as one statement.
///
/// Casts to and from numbers (`NumCast`, `ToPrimitive`, `FromPrimitive`, `AsPrimitive`) go through the value: their
/// result is passive, also from a `Closed` to another by `NumCast`. Parsed numbers and constants are passive.
/// Comparisons, and queries such as `is_finite`, look at values and are not recorded; a recording that keeps guards
/// notes them, see [`Tape::set_guards`](crate::Tape::set_guards).
///
/// # Panics
///
/// Operations panic where [`eval`](Ex::eval) does: when variables of two recordings, or of one that is not active on
/// this thread, meet, and when the tape is out of identifiers.
#[derive(TransparentWrapper)]
#[repr(transparent)]
pub struct Closed<S: Taping>(pub(crate) Real<S>);

impl<S: Taping> Assignable<S> for Closed<S> {}

impl<S: Taping> Variables<S> for Closed<S> {
    type With<T: Taping<Value = S::Value>> = Closed<T>;

    #[inline]
    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        self.0.visit(f);
    }

    #[inline]
    fn visit_list<'a>(list: &'a [Self], f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        f(Self::peel_slice(list));
    }

    #[inline]
    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Closed<T> {
        Closed(f(&self.0))
    }
}

impl<S: Taping> Clone for Closed<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
impl<S: Strategy> Copy for Closed<S> {}

impl<S: Taping> Closed<S> {
    /// A variable that depends on no input; equal to `From<f64>`, for any value type.
    #[inline(always)]
    pub fn constant(value: S::Value) -> Self {
        Self(Real::constant(value))
    }

    /// The value of the variable; see [`Ex::value`](crate::Ex::value).
    #[inline(always)]
    #[track_caller]
    pub fn value(&self) -> S::Value {
        self.0.value()
    }

    /// The value for output; see [`Ex::peek`](crate::Ex::peek).
    #[inline(always)]
    pub fn peek(&self) -> S::Value {
        self.0.peek()
    }

    /// The variable as a [`Real`], for expressions.
    #[must_use]
    #[inline(always)]
    pub fn open(self) -> Real<S> {
        self.0
    }

    /// The variable as a borrowed [`Real`], for expressions.
    #[inline(always)]
    pub fn as_real(&self) -> &Real<S> {
        &self.0
    }

    /// Converts variables to closed variables, without copying.
    #[inline(always)]
    pub fn wrap_slice(reals: &[Real<S>]) -> &[Self] {
        TransparentWrapper::wrap_slice(reals)
    }

    /// Converts variables to mutable closed variables, without copying.
    #[inline(always)]
    pub fn wrap_slice_mut(reals: &mut [Real<S>]) -> &mut [Self] {
        TransparentWrapper::wrap_slice_mut(reals)
    }

    /// Converts closed variables to variables, without copying.
    #[inline(always)]
    pub fn peel_slice(closed: &[Self]) -> &[Real<S>] {
        TransparentWrapper::peel_slice(closed)
    }

    /// Converts closed variables to mutable variables, without copying.
    #[inline(always)]
    pub fn peel_slice_mut(closed: &mut [Self]) -> &mut [Real<S>] {
        TransparentWrapper::peel_slice_mut(closed)
    }
}

impl<S: Taping> From<Real<S>> for Closed<S> {
    #[inline(always)]
    fn from(real: Real<S>) -> Self {
        Self(real)
    }
}

impl<S: Taping> From<Closed<S>> for Real<S> {
    #[inline(always)]
    fn from(closed: Closed<S>) -> Self {
        closed.0
    }
}

/// Makes a number of another strategy of the variable.
impl<S: Nests> From<Closed<S>> for Nested<S> {
    #[inline(always)]
    fn from(closed: Closed<S>) -> Self {
        closed.0.into()
    }
}

/// Takes the variable out of a number of another strategy.
impl<S: Nests> From<Nested<S>> for Closed<S> {
    #[inline(always)]
    fn from(number: Nested<S>) -> Self {
        Self(number.into())
    }
}

/// Records the expression as one statement.
impl<S: Taping, N: Statement<S> + Compound> From<Ex<S, N>> for Closed<S> {
    #[inline(always)]
    #[track_caller]
    fn from(expression: Ex<S, N>) -> Self {
        Self(expression.eval())
    }
}

/// A literal, such as a `Datum`, as a variable that depends on no input.
impl<S: Taping> From<Ex<S, Literal<S>>> for Closed<S> {
    #[inline(always)]
    fn from(literal: Ex<S, Literal<S>>) -> Self {
        Self(literal.into())
    }
}

/// Makes an operand of a closed variable, so that it may be an argument of a rule of your own, for instance.
impl<'a, S: Taping> Operand<S> for &'a Closed<S> {
    type Node = RefLeaf<'a, S>;
    #[inline(always)]
    fn into_node(self) -> RefLeaf<'a, S> {
        Operand::<S>::into_node(&self.0)
    }
}

impl<S: Taping> Operand<S> for Closed<S> {
    type Node = Leaf<S>;
    #[inline(always)]
    fn into_node(self) -> Leaf<S> {
        Operand::<S>::into_node(self.0)
    }
}

impl<S: Taping> Default for Closed<S> {
    /// A passive 0.
    #[inline(always)]
    fn default() -> Self {
        Self(Real::default())
    }
}

/// Implements conversions from numbers that every float can hold, to passive variables, rounded for `f32` values as
/// `f64` operands are.
macro_rules! from_numbers {
    ($($t:ty)*) => { $(
        impl<S: Taping> From<$t> for Closed<S> {
            #[inline(always)]
            fn from(value: $t) -> Self { Self(Real::from(f64::from(value))) }
        }
    )* };
}
from_numbers!(f64 f32 i8 i16 i32 u8 u16 u32);

/// Parses a passive variable by the value type's parser.
impl<S: Taping<Value: FromStr>> FromStr for Closed<S> {
    type Err = <S::Value as FromStr>::Err;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::constant)
    }
}

impl<S: Taping> fmt::Debug for Closed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.peek(), f)
    }
}

impl<S: Taping> fmt::Display for Closed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.peek(), f)
    }
}

impl<S: Taping<Value: fmt::LowerExp>> fmt::LowerExp for Closed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerExp::fmt(&self.peek(), f)
    }
}
