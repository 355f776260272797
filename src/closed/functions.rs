//! Functions of closed variables that are not in the list of `math/methods.rs`, and what may be their other arguments.

use super::Closed;
use crate::expr::{Literal, note_branch, note_singular_point};
use crate::expr::{binary, ternary, unary};
use smallvec::SmallVec;
use tapewright_strategies::contract::{Comparison, Variable};
use tapewright_strategies::rules::selection::{AtLeast, AtMost, PositiveDifference};
use tapewright_strategies::singular::refuses_singular;
use tapewright_strategies::{Binary, Number, Taping, Ternary, Unary, agreed, for_each_function};

/// Second and third arguments of functions of a [`Closed`] variable: another one, by value or borrowed, or an `f64`.
pub trait ClosedOperand<S: Taping> {
    /// Records `R` of `left` and this.
    #[track_caller]
    fn apply<R: Binary>(self, left: &Closed<S>) -> Closed<S>;
    /// Records `R` of `first`, this and `third`.
    #[track_caller]
    fn apply_second<R: Ternary>(self, first: &Closed<S>, third: impl ClosedOperand<S>) -> Closed<S>;
    /// Records `R` of `first`, `second` and this.
    #[track_caller]
    fn apply_third<R: Ternary>(self, first: &Closed<S>, second: &Closed<S>) -> Closed<S>;
    /// Records `R` of `first`, the number `second` and this.
    #[track_caller]
    fn apply_third_to_number<R: Ternary>(self, first: &Closed<S>, second: f64) -> Closed<S>;
}

macro_rules! closed_operands {
    ($($t:ty, |$y:ident| $node:expr, $number:expr, $apply_third:ident;)*) => { $(
        impl<S: Taping> ClosedOperand<S> for $t {
            #[inline]
            #[track_caller]
            fn apply<R: Binary>(self, left: &Closed<S>) -> Closed<S> {
                let $y = self;
                left.note_pole::<R>($number);
                binary::<S, R, _, _>(left, $node).into()
            }
            #[inline]
            #[track_caller]
            fn apply_second<R: Ternary>(self, first: &Closed<S>, third: impl ClosedOperand<S>) -> Closed<S> {
                let $y = self;
                third.$apply_third::<R>(first, $node)
            }
            #[inline]
            #[track_caller]
            fn apply_third<R: Ternary>(self, first: &Closed<S>, second: &Closed<S>) -> Closed<S> {
                let $y = self;
                ternary::<S, R, _, _, _>(first, second, $node).into()
            }
            #[inline]
            #[track_caller]
            fn apply_third_to_number<R: Ternary>(self, first: &Closed<S>, second: f64) -> Closed<S> {
                let $y = self;
                ternary::<S, R, _, _, _>(first, second, $node).into()
            }
        }
    )* };
}
closed_operands! {
    &Closed<S>, |y| y, y.number(), apply_third;
    Closed<S>, |y| &y, y.number(), apply_third;
    f64, |y| y, (S::Value::from_f64(y), S::raw(&S::passive())), apply_third_to_number;
}

/// Steps, from the methods of the same names on variables.
macro_rules! steps {
    (
        unary $unary:tt
        binary $binary:tt
        ternary $ternary:tt
        steps { $($(#[$doc:meta])* $method:ident: $comparison:ident;)* }
    ) => {
        impl<S: Taping> Closed<S> { $(
            $(#[$doc])*
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn $method(&self) -> Self { Self(self.0.$method()) }
        )* }
    };
}
for_each_function!(steps);

/// Questions about values, of which strategies that can replay a recording are told.
impl<S: Taping> Closed<S> {
    /// Tells that the program asked something about the value, and may branch on the answer.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn ask(&self, question: Comparison) {
        S::compare(&self.0.0, &Literal::<S>(self.peek()), question);
        if matches!(question, Comparison::Class | Comparison::IsNormal | Comparison::IsSubnormal) {
            // They ask for 0, among other things.
            note_branch::<true, S, _, _>(&self.0.0, &Literal::<S>(S::Value::ZERO), Comparison::Equal);
        }
    }

    /// Returns the answer of `question` for the value.
    ///
    /// # Panics
    ///
    /// When the lanes of the value disagree.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn answer<T: PartialEq>(&self, question: impl Fn(<S::Value as Number>::Lane) -> T) -> T {
        agreed::<S::Value, _>(|k| question(self.peek().lane(k)))
    }

    /// `self` ≥ 0, for a choice between two branches that have the same derivative, or none, at 0: it [hides
    /// nothing](tapewright_strategies::contract::Branch).
    #[inline]
    #[track_caller]
    #[cfg(feature = "nalgebra")]
    pub(super) fn is_at_least_zero(&self) -> bool {
        S::compare(&self.0.0, &Literal::<S>(S::Value::ZERO), Comparison::GreaterOrEqual);
        self.answer(|value| value >= Number::ZERO)
    }

    /// A passive variable with the same value in each lane.
    #[inline(always)]
    pub(super) fn everywhere(value: <S::Value as Number>::Lane) -> Self {
        Self::constant(S::Value::from_lanes(|_| value))
    }

    /// Tells that the program asked for the whole part of the value, and may branch on it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn ask_whole_part(&self) {
        S::compare(&self.0.0, &Literal::<S>(self.peek().trunc()), Comparison::Trunc);
    }
}

impl<S: Taping> Closed<S> {
    /// Records `R` of the variable. At a pole or a vertical tangent, as √ at 0, the strategy is told.
    #[inline]
    #[track_caller]
    pub(crate) fn function<R: Unary>(&self) -> Self {
        if const { !refuses_singular::<S>() } && (0..S::Value::LANES).any(|k| R::singular(self.peek().lane(k))) {
            note_singular_point::<S>(self.peek(), &[self.number().1]);
        }
        unary::<S, R, _>(self).into()
    }

    /// The value and the identifier.
    #[inline(always)]
    pub(crate) fn number(&self) -> (S::Value, S::Raw) {
        (self.peek(), S::raw(self.0.0.0.id()))
    }

    /// Tells the strategy if `R` has no derivative by one of its arguments, the variable and another number, as
    /// `powf(0.5)` at 0 and `hypot` where both are 0.
    #[inline]
    #[track_caller]
    pub(crate) fn note_pole<R: Binary>(&self, other: (S::Value, S::Raw)) {
        let at = |k: usize| (self.peek().lane(k), other.0.lane(k));
        let is_suspect = |k: usize| {
            let (x, y) = at(k);
            R::singular(x, y) || x.as_f64() == 0.0 && y.as_f64() == 0.0
        };
        if const { !refuses_singular::<S>() } && (0..S::Value::LANES).any(is_suspect) {
            let is_pole = |partial: fn(_, _, _) -> <S::Value as Number>::Lane| {
                (0..S::Value::LANES).any(|k| {
                    let (x, y) = at(k);
                    !partial(x, y, R::value(x, y)).as_f64().is_finite()
                })
            };
            let poles = [(is_pole(R::partial_left), self.number().1), (is_pole(R::partial_right), other.1)];
            let sides: SmallVec<[S::Raw; 2]> = poles.into_iter().filter(|(is, _)| *is).map(|(_, id)| id).collect();
            note_singular_point::<S>(self.peek(), &sides);
        }
    }

    /// Whole power. Under `f32` values the exponent is an `f32` too, so it is exact up to 2²⁴.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        self.0.powi(n).into()
    }

    /// Polygamma function ψ⁽ⁿ⁾, the n-th derivative of the digamma function, for n from 0 to 12; derivatives of an
    /// order above 20 are NaN.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn polygamma(&self, n: u32) -> Self {
        self.0.polygamma(n).into()
    }

    /// The value limited to [`low`, `high`] as one statement; at a bound `self` has the slope 1, and a NaN stays.
    ///
    /// # Panics
    ///
    /// Unless `low` ≤ `high`, as [`f64::clamp`].
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn clamp(&self, low: &Self, high: &Self) -> Self {
        assert!(low <= high, "clamp needs low ≤ high, not {low} and {high}");
        binary::<S, AtMost, _, _>(binary::<S, AtLeast, _, _>(self, low), high).into()
    }

    /// `self`·a + b as one statement, with two roundings (`f64::mul_add` has one).
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn mul_add(&self, a: &Self, b: &Self) -> Self {
        self.0.mul_add(&a.0, &b.0).into()
    }

    /// Sine and cosine, two statements.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn sin_cos(&self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// `self` − `other` if that is positive, else 0. The slopes are 1 and −1, also where both are equal, and 0 below.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn abs_sub(&self, other: impl ClosedOperand<S>) -> Self {
        other.apply::<PositiveDifference>(self)
    }

    /// The whole number n for which `self` − n·`other` is smallest and not negative, as a passive variable.
    #[must_use]
    #[track_caller]
    pub fn div_euclid(&self, other: &Self) -> Self {
        let quotient = (&self.0 / &other.0).trunc().peek();
        let down = if *other > 0.0 { S::Value::ONE } else { -S::Value::ONE };
        Self::constant(if &self.0 % &other.0 < 0.0 { quotient - down } else { quotient })
    }

    /// `self` − n·`other` for the n of [`div_euclid`](Self::div_euclid), as one statement; ∂other is −n.
    #[must_use]
    #[track_caller]
    pub fn rem_euclid(&self, other: &Self) -> Self {
        let remainder = &self.0 % &other.0;
        if remainder < 0.0 { (remainder + other.0.abs()).into() } else { remainder.into() }
    }
}
