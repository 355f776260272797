//! Numbers that are variables of a recording.

use super::given::{self, Given};
use crate::contract::Taped;
use crate::identifier::LinearId;
use crate::number::dual::{Dual, guarded};
use crate::number::parts::same;
use crate::number::traits::Number;
use crate::{Nests, recording};
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Rem, Sub};

/// A number that is a variable of a recording of strategy `S`, which records all computations with the number.
///
/// Under a taping strategy, nested numbers give derivatives of derivatives, by reverse mode over reverse mode: the
/// values, the partial derivatives and the adjoints of a recording of `Jacobian<Nested<Jacobian>>` are variables of a
/// recording of `Jacobian`, the *base*. Its gradients consist of variables of the base, so that a function of a
/// gradient can be swept again. [`Dual`] computes the same by forward mode over reverse mode, and takes less memory and
/// time unless a derivative of a function of a complete gradient is wanted.
///
/// Each operation on active numbers is a statement of the base with one or two arguments, whose partial derivatives are
/// the tangents of [`Dual`]s. Passive numbers, such as all literals, are computed like plain numbers.
///
/// *Zero* is a passive number with value 0. An active number with the value 0 is not zero, and is propagated. Values
/// decide branches; `==` compares identifiers, too.
///
/// # Restrictions
///
/// The base is a strategy that [`Nests`]. Records of nested numbers must be in memory: `Spilled` is a compile-time
/// error, and so is an exchange with other processes. Array kernels panic, and so do stages of checkpoints, because a
/// stage must not use variables that were not passed to it.
///
/// # Panics
///
/// Operations on active numbers panic where statements of the base do: when the recording of an operand is not active
/// on this thread, when two operands belong to two recordings, and when the base is out of identifiers. A sweep over
/// nested numbers must therefore run on the thread of the base, while the base records. A panic in a statement records
/// nothing of it in either recording, and both can be used.
///
/// # Examples
///
/// `Real::numbers` of the crate `tapewright` converts the variables of a recording to numbers, and has an example.
/// Without a recording, numbers are passive:
///
/// ```
/// use tapewright_strategies::{Jacobian, Nested, Number};
///
/// let x = Nested::<Jacobian>::from_f64(3.0);
/// assert_eq!((x * x.ln()).value(), 3.0 * 3.0_f64.ln());
/// assert!(!x.id().is_active());
/// ```
#[repr(transparent)]
pub struct Nested<S: Nests>(pub(crate) Taped<S::Value, LinearId>);

impl<S: Nests> Clone for Nested<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Nests> Copy for Nested<S> {}

impl<S: Nests> Nested<S> {
    /// Converts a variable to a number.
    ///
    /// A recording that [keeps guards](crate::Replay) cannot be replayed afterwards: numbers may decide branches
    /// without leaving a guard.
    ///
    /// # Panics
    ///
    /// When guards are kept, and the recording of the variable is not active on this thread.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn new(value: S::Value, id: LinearId) -> Self {
        let number = Self(Taped { value, id });
        number.may_decide();
        number
    }

    /// Forbids replays of the variable's recording if it keeps guards.
    #[inline(always)]
    #[track_caller]
    fn may_decide(self) {
        if self.is_active() && recording::guards() {
            recording::with_guarded::<S>(self.id().number(), S::forbid_replays);
        }
    }

    /// Wraps a passive value.
    #[must_use]
    #[inline(always)]
    pub const fn constant(value: S::Value) -> Self {
        Self(Taped { value, id: LinearId::PASSIVE })
    }

    /// The value.
    #[must_use]
    #[inline(always)]
    pub const fn value(self) -> S::Value {
        self.0.value
    }

    /// The identifier of the variable.
    #[must_use]
    #[inline(always)]
    pub fn id(self) -> LinearId {
        // A number can be made from any bytes; an identifier that no recording assigns counts as passive.
        LinearId::new(self.0.id.number(), self.0.id.index()).unwrap_or(LinearId::PASSIVE)
    }

    /// Returns the variable.
    #[inline(always)]
    fn variable(self) -> Taped<S::Value, LinearId> {
        Taped { value: self.value(), id: self.id() }
    }

    /// Reinterprets variables as numbers, without copying; see [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// When guards are kept, and the recording of a variable is not active on this thread.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn wrap_slice(variables: &[Taped<S::Value, LinearId>]) -> &[Self] {
        let numbers = Self::cast(variables);
        numbers.iter().for_each(|number| number.may_decide());
        numbers
    }

    /// Returns true if the number depends on an input of the base.
    #[inline(always)]
    pub(crate) fn is_active(self) -> bool {
        self.id().is_active()
    }

    /// Returns true if the number is passive and has exactly this value, so that arithmetic with it may be skipped.
    #[inline(always)]
    fn is_exactly(self, value: S::Value) -> bool {
        !self.is_active() && same(self.value(), value)
    }

    /// Applies a function of one argument, given over duals with one tangent.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn lift(self, f: impl FnOnce(Dual<S::Value, 1>) -> Dual<S::Value, 1>) -> Self {
        let tangent = if self.is_active() { S::Value::ONE } else { S::Value::ZERO };
        let Dual { value, tangents } = f(Dual { value: self.value(), tangents: [tangent] });
        self.with_partial(value, tangents[0])
    }

    /// Applies a function of two arguments, given over duals with a tangent for each.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn lift2(
        self,
        other: Self,
        f: impl FnOnce(Dual<S::Value, 2>, Dual<S::Value, 2>) -> Dual<S::Value, 2>,
    ) -> Self {
        let one = |active| if active { S::Value::ONE } else { S::Value::ZERO };
        let left = Dual { value: self.value(), tangents: [one(self.is_active()), S::Value::ZERO] };
        let right = Dual { value: other.value(), tangents: [S::Value::ZERO, one(other.is_active())] };
        let Dual { value, tangents } = f(left, right);
        self.with_partials(other, value, tangents)
    }

    /// Applies a function of three arguments, given over duals with a tangent for each. Records two statements: one of
    /// the first two arguments, and one of its result and the third argument.
    #[track_caller]
    pub(crate) fn lift3(numbers: [Self; 3], f: impl FnOnce([Dual<S::Value, 3>; 3]) -> Dual<S::Value, 3>) -> Self {
        let dual = |k: usize| {
            let one = if numbers[k].is_active() { S::Value::ONE } else { S::Value::ZERO };
            let tangents = core::array::from_fn(|i| if i == k { one } else { S::Value::ZERO });
            Dual { value: numbers[k].value(), tangents }
        };
        let Dual { value, tangents: [first, second, third] } = f(core::array::from_fn(dual));
        let pair = numbers[0].with_partials(numbers[1], value, [first, second]);
        if !numbers[2].is_active() || third.is_nought() {
            return pair;
        }
        pair.with_partials(numbers[2], value, [S::Value::ONE, third])
    }

    /// Records a statement of this number, unless the partial derivative is zero.
    #[inline(always)]
    #[track_caller]
    fn with_partial(self, value: S::Value, partial: S::Value) -> Self {
        if !self.is_active() || partial.is_nought() {
            return Self::constant(value);
        }
        Self(Given::<S, given::One>::new([self.variable()], value, [partial]).record())
    }

    /// Records a statement of the arguments whose partial derivatives are not zero.
    #[inline(always)]
    #[track_caller]
    fn with_partials(self, other: Self, value: S::Value, [left, right]: [S::Value; 2]) -> Self {
        if !other.is_active() || right.is_nought() {
            return self.with_partial(value, left);
        }
        if !self.is_active() || left.is_nought() {
            return other.with_partial(value, right);
        }
        Self(Given::<S, given::Two>::new([self.variable(), other.variable()], value, [left, right]).record())
    }

    /// Product with the given value. A passive factor 1 returns the other number without a statement.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn product(self, other: Self, value: S::Value) -> Self {
        if self.is_exactly(S::Value::ONE) {
            return other;
        }
        if other.is_exactly(S::Value::ONE) {
            return self;
        }
        self.with_partials(other, value, [other.value(), self.value()])
    }

    /// Product that is zero where a factor is zero.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn guarded_product(self, other: Self) -> Self {
        self.product(other, guarded(self.value(), other.value()))
    }
}

impl<S: Nests> Default for Nested<S> {
    fn default() -> Self {
        Self::ZERO
    }
}

/// Compares values and identifiers.
impl<S: Nests> PartialEq for Nested<S> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let place = |x: &Self| (x.id().number(), x.id().index());
        self.value() == other.value() && place(self) == place(other)
    }
}

/// Compares the values only.
impl<S: Nests> PartialOrd for Nested<S> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value().partial_cmp(&other.value())
    }
}

/// Formats the value and the identifier.
impl<S: Nests> fmt::Debug for Nested<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Formats the value.
impl<S: Nests> fmt::Display for Nested<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value(), f)
    }
}

impl<S: Nests> Add for Nested<S> {
    type Output = Self;
    #[inline(always)]
    #[track_caller]
    fn add(self, other: Self) -> Self {
        let value = self.value() + other.value();
        match (self.is_active(), other.is_active()) {
            (true, true) => Self(Given::<S, given::Sum>::new([self.variable(), other.variable()], value, []).record()),
            // Adding 0 changes nothing, except that −0 + 0 is +0.
            (true, false) if same(value, self.value()) => self,
            (false, true) if same(value, other.value()) => other,
            (true, false) => Self(Given::<S, given::Same>::new([self.variable()], value, []).record()),
            (false, true) => Self(Given::<S, given::Same>::new([other.variable()], value, []).record()),
            (false, false) => Self::constant(value),
        }
    }
}

impl<S: Nests> AddAssign for Nested<S> {
    #[inline(always)]
    #[track_caller]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<S: Nests> Sub for Nested<S> {
    type Output = Self;
    #[inline(always)]
    #[track_caller]
    fn sub(self, other: Self) -> Self {
        let value = self.value() - other.value();
        match (self.is_active(), other.is_active()) {
            (true, true) => {
                Self(Given::<S, given::Difference>::new([self.variable(), other.variable()], value, []).record())
            }
            (true, false) if same(value, self.value()) => self,
            (true, false) => Self(Given::<S, given::Same>::new([self.variable()], value, []).record()),
            (false, true) => Self(Given::<S, given::Negative>::new([other.variable()], value, []).record()),
            (false, false) => Self::constant(value),
        }
    }
}

impl<S: Nests> Neg for Nested<S> {
    type Output = Self;
    #[inline(always)]
    #[track_caller]
    fn neg(self) -> Self {
        let value = -self.value();
        if !self.is_active() {
            return Self::constant(value);
        }
        Self(Given::<S, given::Negative>::new([self.variable()], value, []).record())
    }
}

impl<S: Nests> Mul for Nested<S> {
    type Output = Self;
    #[inline(always)]
    #[track_caller]
    fn mul(self, other: Self) -> Self {
        self.product(other, self.value() * other.value())
    }
}

impl<S: Nests> Div for Nested<S> {
    type Output = Self;
    #[inline]
    #[track_caller]
    fn div(self, other: Self) -> Self {
        self.lift2(other, |x, y| x / y)
    }
}

impl<S: Nests> Rem for Nested<S> {
    type Output = Self;
    #[track_caller]
    fn rem(self, other: Self) -> Self {
        self.lift2(other, |x, y| x % y)
    }
}
