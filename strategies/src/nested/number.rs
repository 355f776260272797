//! Numbers that are variables of a recording.

use super::given;
use super::given::Given;
use crate::number::dual::{Dual, guarded};
use crate::number::parts::same;
use crate::number::traits::Number;
use crate::{LinearId, Nests, Taped, recording};
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Rem, Sub};

/// A number that is a variable of a recording of strategy `S`: what is computed with it is recorded there.
///
/// Under a taping strategy it gives derivatives of derivatives, reverse mode over reverse mode: the values, the
/// partials and the adjoints of a recording of `Jacobian<Nested<Jacobian>>` are variables of a recording of `Jacobian`,
/// the *base*. A gradient of the one consists of variables of the base, so that a function of the gradient can be swept
/// again. [`Dual`] computes the same by forward mode over reverse mode, and takes less memory and time unless a
/// derivative of a function of a whole gradient is wanted.
///
/// Each operation on active numbers is a statement of the base, with one or two arguments, whose partials are the
/// tangents of [`Dual`]s. Passive numbers, which all literals are, are computed with as plain ones are.
///
/// *Zero* is a passive number that is 0. An active number with the value 0 is not zero, and is propagated. Branches are
/// decided by values; `==` compares identifiers, too.
///
/// # Restrictions
///
/// The base is a strategy that [`Nests`]. Records of such numbers live in memory: under `Spilled` they are an error of
/// the compiler, and so is an exchange of them with other processes. Array kernels refuse them with a panic, and stages
/// of checkpoints do, because a stage must not use variables that it was not given.
///
/// # Panics
///
/// Operations on active numbers panic where statements of the base do: when the recording of an operand is not active
/// on this thread, when two operands belong to two recordings, and when the base is out of identifiers. A sweep over
/// such numbers therefore has to be made on the thread of the base, while it records. A panic in a statement records
/// nothing of it in either recording, and both can be used.
///
/// # Examples
///
/// `Real::numbers` of the crate `tapewright` makes numbers of the variables of a recording, and has an example. Without
/// a recording, numbers are passive:
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
    /// The number that is this variable.
    ///
    /// A recording that [keeps guards](crate::Replay) cannot be replayed from then on: branches may be decided by
    /// numbers, and leave none.
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

    /// Forbids replays of a recording that keeps guards.
    #[inline(always)]
    #[track_caller]
    fn may_decide(self) {
        if self.is_active() && recording::guards() {
            recording::with_guarded::<S>(self.id().number(), S::forbid_replays);
        }
    }

    /// A number that depends on nothing.
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
        // A number can be made of any bytes, and of these an identifier that no recording gives: it is none then.
        LinearId::new(self.0.id.number(), self.0.id.index()).unwrap_or(LinearId::PASSIVE)
    }

    /// The variable.
    #[inline(always)]
    fn variable(self) -> Taped<S::Value, LinearId> {
        Taped { value: self.value(), id: self.id() }
    }

    /// Variables as numbers, without copying: see [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// As `new`.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn wrap_slice(variables: &[Taped<S::Value, LinearId>]) -> &[Self] {
        let numbers = Self::cast(variables);
        numbers.iter().for_each(|number| number.may_decide());
        numbers
    }

    /// Whether it depends on an input of the base.
    #[inline(always)]
    pub(crate) fn is_active(self) -> bool {
        self.id().is_active()
    }

    /// Whether it is a passive number with exactly this value, so that arithmetic with it may be left out.
    #[inline(always)]
    fn is_exactly(self, value: S::Value) -> bool {
        !self.is_active() && same(self.value(), value)
    }

    /// The result of a function of this number: of duals with one tangent.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn lift(self, f: impl FnOnce(Dual<S::Value, 1>) -> Dual<S::Value, 1>) -> Self {
        let tangent = if self.is_active() { S::Value::ONE } else { S::Value::ZERO };
        let Dual { value, tangents } = f(Dual { value: self.value(), tangents: [tangent] });
        self.with_partial(value, tangents[0])
    }

    /// The result of a function of two numbers: of duals with a tangent for each.
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

    /// The result of a function of three numbers: of duals with a tangent for each. Two statements, of the first two,
    /// and of what they gave and the third.
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

    /// Records a statement of this number, unless the partial is zero.
    #[inline(always)]
    #[track_caller]
    fn with_partial(self, value: S::Value, partial: S::Value) -> Self {
        if !self.is_active() || partial.is_nought() {
            return Self::constant(value);
        }
        Self(Given::<S, given::One>::new([self.variable()], value, [partial]).record())
    }

    /// Records a statement of two numbers, of those whose partials are not zero.
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

    /// Zero times anything is zero, and 1 times anything is that.
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

    /// a·b, where zero times anything is zero.
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

/// Compares every part: values and identifiers.
impl<S: Nests> PartialEq for Nested<S> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let place = |x: &Self| (x.id().number(), x.id().index());
        self.value() == other.value() && place(self) == place(other)
    }
}

/// Compares the values.
impl<S: Nests> PartialOrd for Nested<S> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value().partial_cmp(&other.value())
    }
}

/// The value, and the variable's identifier.
impl<S: Nests> fmt::Debug for Nested<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The value.
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
            // Adding 0 changes nothing, except that −0 + 0 is 0.
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
