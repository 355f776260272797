//! The functions as methods: on variables by reference, on expressions by value; and on closed variables, recorded.

use crate::closed::{Closed, ClosedOperand};
use crate::expr::{Bin, Compound, Ex, Literal, Operand, Real, RefLeaf, Tri, Un, binary, ex, ternary, unary};
use tapewright_strategies::contract::{Comparison, Tree};
use tapewright_strategies::rules::arithmetic::{Apart, Minus, Plus, Times};
use tapewright_strategies::rules::power::Powi;
use tapewright_strategies::rules::selection::{AtLeast, AtMost, Max, Min, Rounding};
use tapewright_strategies::rules::special::Polygamma;
use tapewright_strategies::rules::trigonometric::{Cos, Sin};
use tapewright_strategies::{Expression, Number, Taping, for_each_function, rules};

/// Gives each rule a method. The row `sin: trigonometric::Sin, registers;` becomes `fn sin(&self) -> Ex<S, Un<S, Sin,
/// RefLeaf<S>>>` on variables and `fn sin(self) -> Ex<S, Un<S, Sin, N>>` on expressions, and `fn sin(&self) -> Self`, a
/// statement, on closed variables. Further arguments may be variables, expressions or an `f64`.
macro_rules! methods {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        impl<S: Taping> Real<S> {
            $($(#[$d1])*
            #[inline(always)]
            pub fn $unary(&self) -> Ex<S, Un<S, rules::$f1::$r1, RefLeaf<'_, S>>> { unary(self) })*
            $($(#[$d2])*
            #[inline(always)]
            pub fn $binary<B: Operand<S>>(
                &self,
                other: B,
            ) -> Ex<S, Bin<S, rules::$f2::$r2, RefLeaf<'_, S>, B::Node>> {
                binary(self, other)
            })*
            $($(#[$d3])*
            #[inline(always)]
            #[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
            pub fn $ternary<B: Operand<S>, C: Operand<S>>(
                &self,
                second: B,
                third: C,
            ) -> Ex<S, Tri<S, rules::$f3::$r3, RefLeaf<'_, S>, B::Node, C::Node>> {
                ternary(self, second, third)
            })*
        }
        // Documented once, as methods of variables: a page of `Real` would have them twice.
        #[doc(hidden)]
        impl<S: Taping, N: Compound + Expression<S>> Ex<S, N> {
            $($(#[$d1])*
            #[inline(always)]
            pub fn $unary(self) -> Ex<S, Un<S, rules::$f1::$r1, N>> { unary(self) })*
            $($(#[$d2])*
            #[inline(always)]
            pub fn $binary<B: Operand<S>>(self, other: B) -> Ex<S, Bin<S, rules::$f2::$r2, N, B::Node>> {
                binary(self, other)
            })*
            $($(#[$d3])*
            #[inline(always)]
            #[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
            pub fn $ternary<B: Operand<S>, C: Operand<S>>(
                self,
                second: B,
                third: C,
            ) -> Ex<S, Tri<S, rules::$f3::$r3, N, B::Node, C::Node>> {
                ternary(self, second, third)
            })*
        }
        impl<S: Taping> Closed<S> {
            $($(#[$d1])*
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn $unary(&self) -> Self { self.function::<rules::$f1::$r1>() })*
            $($(#[$d2])*
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn $binary(&self, other: impl ClosedOperand<S>) -> Self { other.apply::<rules::$f2::$r2>(self) })*
            $($(#[$d3])*
            #[must_use]
            #[inline]
            #[track_caller]
            pub fn $ternary(&self, second: impl ClosedOperand<S>, third: impl ClosedOperand<S>) -> Self {
                second.apply_second::<rules::$f3::$r3>(self, third)
            })*
        }
    };
}
for_each_function!(methods);

/// xⁿ as a node.
type Power<S, N> = Ex<S, Bin<S, Powi, N, Literal<S>>>;
/// ψ⁽ⁿ⁾(x) as a node.
type DigammaDerivative<S, N> = Ex<S, Bin<S, Polygamma, N, Literal<S>>>;
/// The node of x limited from below, then from above.
type Clamped<S, N> = Ex<S, Bin<S, AtMost, Bin<S, AtLeast, N, Literal<S>>, Literal<S>>>;
/// The node of x·a + b.
type MulAdd<S, N, A, B> = Ex<S, Bin<S, Plus, Bin<S, Times, N, A>, B>>;

/// Methods that are more than a rule applied to operands, for one kind of receiver. `$node` is the receiver as a node,
/// of type `$type`.
macro_rules! composed_methods {
    ($type:ty, ($($receiver:tt)*), $node:expr, $value:expr) => {
        /// Integer power. Under `f32` values the exponent is an `f32` too, so it is exact up to 2²⁴.
        #[inline(always)]
        pub fn powi($($receiver)*, n: i32) -> Power<S, $type> {
            ex(Bin::new($node, f64::from(n).into_node()))
        }

        /// Polygamma function ψ⁽ⁿ⁾, the n-th derivative of the digamma function, for n from 0 to 12; derivatives of an
        /// order above 20 are NaN.
        #[inline(always)]
        pub fn polygamma($($receiver)*, n: u32) -> DigammaDerivative<S, $type> {
            ex(Bin::new($node, f64::from(n).into_node()))
        }

        /// The value limited to [`low`, `high`]; at a bound the slope is 1, outside 0, and a NaN stays.
        ///
        /// # Panics
        ///
        /// Unless `low` ≤ `high`, as [`f64::clamp`].
        #[inline(always)]
        #[track_caller]
        pub fn clamp($($receiver)*, low: f64, high: f64) -> Clamped<S, $type> {
            assert!(low <= high, "clamp needs low ≤ high, not {low} and {high}");
            ex(Bin::new(Bin::new($node, low.into_node()), high.into_node()))
        }

        /// `self`·a + b in one expression, with two roundings (`f64::mul_add` has one).
        #[inline(always)]
        pub fn mul_add<A: Operand<S>, B: Operand<S>>($($receiver)*, a: A, b: B) -> MulAdd<S, $type, A::Node, B::Node> {
            ex(Bin::new(Bin::new($node, a.into_node()), b.into_node()))
        }
    };
}

/// Functions that are constant between jumps. They are reported to strategies that can replay a recording, as
/// comparisons are.
macro_rules! step_functions {
    (
        $receiver:tt, $node:expr, $value:expr;
        unary $unary:tt
        binary $binary:tt
        ternary $ternary:tt
        steps { $($(#[$doc:meta])* $name:ident: $comparison:ident;)* }
    ) => { $(
        step_functions! { @ $receiver, $node, $value, $(#[$doc])* $name $comparison }
    )* };
    (@ ($($receiver:tt)*), $node:expr, $value:expr, $(#[$doc:meta])* $name:ident $comparison:ident) => {
        $(#[$doc])*
        #[must_use]
        #[inline(always)]
        #[track_caller]
        pub fn $name($($receiver)*) -> Real<S> {
            let value = Number::$name($value);
            S::compare($node, &Literal::<S>(value), Comparison::$comparison);
            Real::constant(value)
        }
    };
}

impl<S: Taping> Real<S> {
    composed_methods!(RefLeaf<'_, S>, (&self), RefLeaf(&self.0), self.peek());
    for_each_function!(step_functions (&self), &self.0, self.peek(););

    /// Sine and cosine as two expressions.
    #[inline(always)]
    #[allow(clippy::type_complexity, reason = "the types say what is returned")]
    pub fn sin_cos(&self) -> (Ex<S, Un<S, Sin, RefLeaf<'_, S>>>, Ex<S, Un<S, Cos, RefLeaf<'_, S>>>) {
        (self.sin(), self.cos())
    }
}

#[doc(hidden)]
impl<S: Taping, N: Compound + Expression<S>> Ex<S, N> {
    composed_methods!(N, (self), self.0, self.peek());
}

#[doc(hidden)]
impl<S: Taping, N: Compound + Tree<S>> Ex<S, N> {
    for_each_function!(step_functions (self), &self.0, self.peek(););
}

/// A maximum rounded off over a width `w`: (x + y + √((x − y)² + w²))/2, without overflow; with `w` = 0 the maximum
/// itself.
#[inline(always)]
#[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
pub fn smooth_max<'a, S: Taping>(
    x: &'a Real<S>,
    y: &'a Real<S>,
    w: f64,
) -> Ex<S, Bin<S, Plus, Pair<'a, S, Max>, Rounded<'a, S>>> {
    x.max(y) + rounding(x, y, w)
}

/// A minimum rounded off over a width `w`: (x + y − √((x − y)² + w²))/2, without overflow; with `w` = 0 the minimum
/// itself.
#[inline(always)]
#[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
pub fn smooth_min<'a, S: Taping>(
    x: &'a Real<S>,
    y: &'a Real<S>,
    w: f64,
) -> Ex<S, Bin<S, Minus, Pair<'a, S, Min>, Rounded<'a, S>>> {
    x.min(y) - rounding(y, x, w)
}

/// Two borrowed variables under an operator.
type Pair<'a, S, O> = Bin<S, O, RefLeaf<'a, S>, RefLeaf<'a, S>>;
/// The node of the term that rounding off adds.
type Rounded<'a, S> = Bin<S, Rounding, Pair<'a, S, Apart>, Literal<S>>;

#[inline(always)]
fn rounding<'a, S: Taping>(x: &'a Real<S>, y: &'a Real<S>, w: f64) -> Ex<S, Rounded<'a, S>> {
    binary(ex(Bin::<S, Apart, _, _>::new(x.into_node(), y.into_node())), w)
}
