//! Choices lane by lane.

use super::branch::note_branch;
use super::given::given;
use super::{Compound, Ex, Operand, Real};
use tapewright_strategies::contract::{Comparison, Tree};
use tapewright_strategies::{Number, Taping};

/// Result of a comparison in each lane, by which [`select`](Self::select) chooses.
///
/// Made by `less`, `at_most`, `more` and `at_least` of variables and expressions. With values of one lane, a choice is
/// a branch as `if` is. Strategies that can replay a recording note the result of the comparison in each lane; a
/// recording in which active variables of several lanes were chosen from cannot be replayed.
///
/// ```
/// use tapewright::prelude::*;
///
/// /// max(x − y, 0) with one slope of the two at a tie.
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     let difference = (x[0] - x[1]).eval();
///     x[0].less(x[1]).select(&Real::from(0.0), &difference)
/// }
/// assert_eq!(gradient::<Jacobian>(f, &[2.0, 1.0]), [1.0, -1.0]);
/// assert_eq!(gradient::<Jacobian>(f, &[1.0, 2.0]), [0.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Choice<S: Taping> {
    /// Mask: 1 in lanes in which the comparison holds, 0 in the others.
    yes: S::Value,
}

impl<S: Taping> Choice<S> {
    /// Returns `yes` in lanes in which the comparison holds, `no` in the others. The derivatives of a lane belong to
    /// the variable that was chosen.
    ///
    /// # Panics
    ///
    /// When [`Ex::eval`](crate::Ex::eval) does.
    #[must_use]
    #[track_caller]
    pub fn select(self, yes: &Real<S>, no: &Real<S>) -> Real<S> {
        if S::Value::LANES == 1 {
            return if self.yes.is_nought() { no.clone() } else { yes.clone() };
        }
        let chosen = |k: usize| if self.yes.lane(k).is_nought() { no.value().lane(k) } else { yes.value().lane(k) };
        let value = S::Value::from_lanes(chosen);
        let partials = [self.yes, S::Value::ONE - self.yes];
        given::<S, 2>(&[yes, no], value, &partials, &[None; 2]).expect("statements of two arguments have a type")
    }
}

type Lane<S> = <<S as Taping>::Value as Number>::Lane;

#[inline(always)]
#[track_caller]
fn choose<S: Taping>(
    left: &impl Tree<S>,
    right: &impl Tree<S>,
    comparison: Comparison,
    holds: impl Fn(Lane<S>, Lane<S>) -> bool,
) -> Choice<S> {
    S::compare(left, right, comparison);
    note_branch::<false, S, _, _>(left, right, comparison);
    let (x, y) = (left.value(), right.value());
    let lane = |k: usize| if holds(x.lane(k), y.lane(k)) { Number::ONE } else { Number::ZERO };
    Choice { yes: S::Value::from_lanes(lane) }
}

/// Makes methods of variables and of expressions; a row is `less Less <`.
macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $comparison:ident $operator:tt;)*) => {
        impl<S: Taping> Real<S> { $(
            $(#[$doc])*
            #[inline(always)]
            #[track_caller]
            pub fn $name<B: Operand<S, Node: Tree<S>>>(&self, other: B) -> Choice<S> {
                choose::<S>(&self.0, &other.into_node(), Comparison::$comparison, |x, y| x $operator y)
            }
        )* }
        #[doc(hidden)]
        impl<S: Taping, N: Compound + Tree<S>> Ex<S, N> { $(
            $(#[$doc])*
            #[inline(always)]
            #[track_caller]
            pub fn $name<B: Operand<S, Node: Tree<S>>>(self, other: B) -> Choice<S> {
                choose::<S>(&self.0, &other.into_node(), Comparison::$comparison, |x, y| x $operator y)
            }
        )* }
    };
}

comparisons! {
    /// Compares by `<`, lane by lane; see [`Choice`].
    less Less <;
    /// Compares by `<=`, lane by lane; see [`Choice`].
    at_most LessOrEqual <=;
    /// Compares by `>`, lane by lane; see [`Choice`].
    more Greater >;
    /// Compares by `>=`, lane by lane; see [`Choice`].
    at_least GreaterOrEqual >=;
}
