//! `+ − × ÷ %` and negation.

use super::rule::{Function, Operator, hash_name};
use crate::number::by_lanes2;
use crate::rules::Bend;
use crate::shape::{Negated, Same, Scaling};
use crate::{Float, Number};
use core::ops::Rem;

/// Defines an [`Operator`] from a row `Name: LeftEdge, RightEdge, Bend, (x, y, v) = value, ∂x, ∂y, whether infinite
/// ones are singular;`.
macro_rules! operators {
    ($(
        $(#[$doc:meta])* $name:ident: $le:ty, $re:ty, $bend:ident,
        ($x:ident, $y:ident, $v:ident) = $value:expr, $l:expr, $r:expr, $singular:expr;
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        #[allow(unused_variables, reason = "a rule may not need all of x, y and v")]
        impl Operator for $name {
            const HASH: u32 = hash_name(stringify!($name));
            type Left = $le;
            type Right = $re;
            const BEND: Bend = Bend::$bend;
            #[inline(always)]
            fn value<V: Number>($x: V, $y: V) -> V { $value }
            #[inline(always)]
            fn partial_left<V: Number>($x: V, $y: V, $v: V) -> V { $l }
            #[inline(always)]
            fn partial_right<V: Number>($x: V, $y: V, $v: V) -> V { $r }
            #[inline(always)]
            fn selects_left<V: Float>(_: V, _: V) -> bool { true }
            #[inline(always)]
            fn singular($x: f64, $y: f64) -> bool { $singular }
        }
    )* };
}

operators! {
    /// x + y.
    Plus: Same, Same, Nothing, (x, y, v) = x + y, V::ONE, V::ONE, false;
    /// x − y.
    Minus: Same, Negated, Nothing, (x, y, v) = x - y, V::ONE, -V::ONE, false;
    /// x − y, and 0 for equal infinities: how far apart two numbers are.
    Apart: Same, Negated, Nothing, (x, y, v) = by_lanes2(x, y, apart), V::ONE, -V::ONE, false;
    /// x·y.
    Times: Scaling, Scaling, Product, (x, y, v) = x * y, y, x, false;
    /// x/y.
    Over: Scaling, Scaling, Quotient, (x, y, v) = x / y, y.inverse(), x.slope_of_quotient(y, v), y == 0.0;
    /// The remainder of truncated division: v = x − n·y with a whole n. It is found from v, because x/y can round up to
    /// the next whole number.
    Modulo: Same, Scaling, Nothing, (x, y, v) = by_lanes2(x, y, Rem::rem), V::ONE, -((x - v) / y).round(), false;
}

fn apart<V: Float>(x: V, y: V) -> V {
    if x.is_infinite() && x.as_f64() == y.as_f64() { V::ZERO } else { x - y }
}

/// −x.
#[derive(Debug)]
pub struct Negative;
impl Function for Negative {
    const HASH: u32 = hash_name("Negative");
    type Edge = Negated;
    #[inline(always)]
    fn value_and_companion<V: Number>(x: V) -> (V, V) {
        (-x, V::ZERO)
    }
    #[inline(always)]
    fn derivative<V: Number>(_: V, _: V, _: V) -> V {
        -V::ONE
    }
    #[inline(always)]
    fn singular(_: f64) -> bool {
        false
    }
}
