//! `+ − × ÷ %` and negation.

use super::rules::{Function, Operator, hash_name};
use tapewright_strategies::Float;
use tapewright_strategies::shape::{Negated, Same, Scaling};

/// Defines an [`Operator`] from a row `Name: LeftEdge, RightEdge, (x, y, v) = value, ∂x, ∂y, whether infinite ones are
/// singular;`.
macro_rules! operators {
    ($(
        $(#[$doc:meta])* $name:ident: $le:ty, $re:ty,
        ($x:ident, $y:ident, $v:ident) = $value:expr, $l:expr, $r:expr, $singular:expr;
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        #[allow(unused_variables, reason = "a rule may not need all of x, y and v")]
        impl Operator for $name {
            const HASH: u32 = hash_name(stringify!($name));
            const SELECTS: bool = false;
            type Left = $le;
            type Right = $re;
            #[inline(always)]
            fn value<V: Float>($x: V, $y: V) -> V { $value }
            #[inline(always)]
            fn partial_left<V: Float>($x: V, $y: V, $v: V) -> V { $l }
            #[inline(always)]
            fn partial_right<V: Float>($x: V, $y: V, $v: V) -> V { $r }
            #[inline(always)]
            fn selects_left<V: Float>(_: V, _: V) -> bool { true }
            #[inline(always)]
            fn singular<V: Float>($x: V, $y: V) -> bool { $singular }
        }
    )* };
}

operators! {
    /// x + y.
    Plus: Same, Same, (x, y, v) = x + y, V::one(), V::one(), false;
    /// x − y.
    Less: Same, Negated, (x, y, v) = x - y, V::one(), -V::one(), false;
    /// x − y, and 0 for equal infinities: how far apart two numbers are.
    Apart: Same, Negated, (x, y, v) = if x == y { V::zero() } else { x - y }, V::one(), -V::one(), false;
    /// x·y.
    Times: Scaling, Scaling, (x, y, v) = x * y, y, x, false;
    /// x/y.
    Over: Scaling, Scaling, (x, y, v) = x / y, y.recip(), -v / y, y.is_zero();
    /// The remainder of truncated division: v = x − n·y with a whole n. It is found from v, because x/y can round up to
    /// the next whole number.
    Modulo: Same, Scaling, (x, y, v) = x % y, V::one(), -((x - v) / y).round(), false;
}

/// −x.
#[derive(Debug)]
pub struct Negative;
impl Function for Negative {
    const HASH: u32 = hash_name("Negative");
    type Edge = Negated;
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        (-x, V::zero())
    }
    #[inline(always)]
    fn derivative<V: Float>(_: V, _: V, _: V) -> V {
        -V::one()
    }
    #[inline(always)]
    fn singular<V: Float>(_: V) -> bool {
        false
    }
}
