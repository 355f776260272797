//! What operators and functions do to lanes.
//!
//! Arithmetic, comparison, `abs`, `min`, `max` and `sqrt` have formulas for lanes, the same as the rules of scalar statements; a test
//! compares them. Everything else calls the scalar rule number by number.

use crate::math::{Function, Operator};
use core::marker::PhantomData;
use tapewright_strategies::Float;
use tapewright_strategies::lanes::{Call, Comparing, Lane, LaneFunction, LaneOperator, Part, Slope};
use tapewright_strategies::shape::Edge;

/// x + y.
#[derive(Clone, Copy, Debug)]
pub struct Adds;
impl LaneOperator for Adds {
    const LEFT: Slope = Slope::One;
    const RIGHT: Slope = Slope::One;
    #[inline(always)]
    fn value<L: Lane>(x: L, y: L) -> L {
        x + y
    }
    #[inline(always)]
    fn left<L: Lane>(_: L, _: L, _: L) -> L {
        L::one()
    }
    #[inline(always)]
    fn right<L: Lane>(_: L, _: L, _: L) -> L {
        L::one()
    }
}

/// x − y.
#[derive(Clone, Copy, Debug)]
pub struct Subtracts;
impl LaneOperator for Subtracts {
    const LEFT: Slope = Slope::One;
    const RIGHT: Slope = Slope::MinusOne;
    #[inline(always)]
    fn value<L: Lane>(x: L, y: L) -> L {
        x - y
    }
    #[inline(always)]
    fn left<L: Lane>(_: L, _: L, _: L) -> L {
        L::one()
    }
    #[inline(always)]
    fn right<L: Lane>(_: L, _: L, _: L) -> L {
        -L::one()
    }
}

/// x·y.
#[derive(Clone, Copy, Debug)]
pub struct Multiplies;
impl LaneOperator for Multiplies {
    const LEFT: Slope = Slope::OfOther;
    const RIGHT: Slope = Slope::OfOther;
    #[inline(always)]
    fn value<L: Lane>(x: L, y: L) -> L {
        x * y
    }
    #[inline(always)]
    fn left<L: Lane>(_: L, y: L, _: L) -> L {
        y
    }
    #[inline(always)]
    fn right<L: Lane>(x: L, _: L, _: L) -> L {
        x
    }
}

/// x/y.
#[derive(Clone, Copy, Debug)]
pub struct Divides;
impl LaneOperator for Divides {
    const LEFT: Slope = Slope::OfOther;
    const RIGHT: Slope = Slope::OfAll;
    #[inline(always)]
    fn value<L: Lane>(x: L, y: L) -> L {
        x / y
    }
    #[inline(always)]
    fn left<L: Lane>(_: L, y: L, _: L) -> L {
        L::one() / y
    }
    #[inline(always)]
    fn right<L: Lane>(_: L, y: L, v: L) -> L {
        -v / y
    }
}

/// Defines an operator that returns one of its arguments: the left one where `$left`.
macro_rules! selecting {
    ($($(#[$doc:meta])* $name:ident($x:ident, $y:ident) = $left:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl LaneOperator for $name {
            const LEFT: Slope = Slope::OfAll;
            const RIGHT: Slope = Slope::OfAll;
            const SELECTS: bool = true;
            #[inline(always)]
            fn value<L: Lane>($x: L, $y: L) -> L { L::select($left, $x, $y) }
            #[inline(always)]
            fn left<L: Lane>(_: L, _: L, v: L) -> L { L::select(v.is_nan(), v, L::one()) }
            #[inline(always)]
            fn right<L: Lane>(_: L, _: L, v: L) -> L { L::select(v.is_nan(), v, L::one()) }
            #[inline(always)]
            fn takes_left<L: Lane>($x: L, $y: L) -> L::Mask { $left }
        }
    )* };
}
selecting! {
    /// The larger; at a tie the left one, and not a NaN if it can be helped.
    Maximum(x, y) = L::either(y.at_most(x), y.is_nan());
    /// The smaller; at a tie the left one, and not a NaN if it can be helped.
    Minimum(x, y) = L::either(x.at_most(y), y.is_nan());
}

/// −x.
#[derive(Clone, Copy, Debug)]
pub struct Negation;
impl LaneFunction for Negation {
    const SLOPE: Slope = Slope::MinusOne;
    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        -x
    }
    #[inline(always)]
    fn derivative<L: Lane>(_: L, _: L) -> L {
        -L::one()
    }
}

/// x².
#[derive(Clone, Copy, Debug)]
pub struct Square;
impl LaneFunction for Square {
    const SLOPE: Slope = Slope::OfAll;
    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x * x
    }
    #[inline(always)]
    fn derivative<L: Lane>(x: L, _: L) -> L {
        x + x
    }
}

/// |x|.
#[derive(Clone, Copy, Debug)]
pub struct Absolute;
impl LaneFunction for Absolute {
    const SLOPE: Slope = Slope::OfAll;
    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x.abs()
    }
    #[inline(always)]
    fn derivative<L: Lane>(x: L, _: L) -> L {
        let zero = L::zero();
        let sign = L::select(x.less(zero), -L::one(), L::select(zero.less(x), L::one(), x));
        L::select(x.equal(zero), zero, sign)
    }
}

/// √x.
#[derive(Clone, Copy, Debug)]
pub struct Root;
impl LaneFunction for Root {
    const SLOPE: Slope = Slope::OfAll;
    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x.sqrt()
    }
    #[inline(always)]
    fn derivative<L: Lane>(_: L, y: L) -> L {
        L::splat(L::Number::from_f64(0.5)) / y.abs()
    }
}

/// What is asked of a rule.
#[inline(always)]
const fn call<R>(part: Part) -> Call {
    Call { rule: core::any::type_name::<R>, part }
}

/// A rule of one argument, number by number.
pub struct ByRule<R>(PhantomData<fn() -> R>);
impl<R> Clone for ByRule<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for ByRule<R> {}
impl<R: Function> LaneFunction for ByRule<R> {
    const SLOPE: Slope = slope::<R::Edge>();
    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x.map(call::<R>(Part::Value), |x| R::value_and_companion(x).0)
    }
    #[inline(always)]
    fn derivative<L: Lane>(x: L, y: L) -> L {
        x.map2(y, call::<R>(Part::Left), |x, y| R::derivative(x, y, R::value_and_companion(x).1))
    }
}

/// A rule of two arguments, number by number.
pub struct ByRule2<R>(PhantomData<fn() -> R>);
impl<R> Clone for ByRule2<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for ByRule2<R> {}
impl<R: Operator> LaneOperator for ByRule2<R> {
    const LEFT: Slope = slope::<R::Left>();
    const RIGHT: Slope = slope::<R::Right>();
    const SELECTS: bool = R::SELECTS;
    #[inline(always)]
    fn value<L: Lane>(x: L, y: L) -> L {
        x.map2(y, call::<R>(Part::Value), |x, y| R::value(x, y))
    }
    #[inline(always)]
    fn left<L: Lane>(x: L, y: L, _: L) -> L {
        x.map2(y, call::<R>(Part::Left), |x, y| R::partial_left(x, y, R::value(x, y)))
    }
    #[inline(always)]
    fn right<L: Lane>(x: L, y: L, _: L) -> L {
        x.map2(y, call::<R>(Part::Right), |x, y| R::partial_right(x, y, R::value(x, y)))
    }
    #[inline(always)]
    fn takes_left<L: Lane>(x: L, y: L) -> L::Mask {
        let number = |yes: bool| if yes { L::Number::from_f64(1.0) } else { L::Number::from_f64(0.0) };
        x.map2(y, call::<R>(Part::TakesLeft), |x, y| number(R::selects_left(x, y))).equal(L::one())
    }
}

const fn slope<E: Edge>() -> Slope {
    match (E::SCALES, E::NEGATES) {
        (true, _) => Slope::OfAll,
        (false, true) => Slope::MinusOne,
        (false, false) => Slope::One,
    }
}

/// The comparison with this number.
#[derive(Clone, Copy, Debug)]
pub struct At<const COMPARISON: u8>;
pub(super) const LESS: u8 = 0;
pub(super) const AT_MOST: u8 = 1;
pub(super) const MORE: u8 = 2;
pub(super) const AT_LEAST: u8 = 3;
impl<const COMPARISON: u8> Comparing for At<COMPARISON> {
    #[inline(always)]
    fn holds<L: Lane>(x: L, y: L) -> L::Mask {
        match COMPARISON {
            LESS => x.less(y),
            AT_MOST => x.at_most(y),
            MORE => y.less(x),
            _ => y.at_most(x),
        }
    }
}
