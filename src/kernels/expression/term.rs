//! The expressions of kernels: operators and functions.

use super::functions::{
    self, Absolute, Adds, At, ByRule, ByRule2, ByRule3, Divides, Maximum, Minimum, Multiplies, Negation, Root, Square,
    Subtracts,
};
use core::ops::{Add, Div, Mul, Neg, Sub};
use tapewright_strategies::kernel::ir::{
    BinaryNode, Compared, Condition, Constant, Joined, Let, Local, Negated, Node, Select, TernaryNode, UnaryNode,
};
use tapewright_strategies::rules::power::Powi;
use tapewright_strategies::rules::selection::{AtLeast, AtMost};
use tapewright_strategies::rules::special::Polygamma;
use tapewright_strategies::{Binary, Ternary, Unary, for_each_function, rules};

/// An expression in a kernel, made by a token's `at`, and by operators and functions. It has no value: the closure runs
/// once, and the expression is computed at every point of the range afterwards.
///
/// Literals are `f64`: write `2.0 * x`, not `2 * x`. For a branch write [`select`](Where::select): `x.ge(0.0).select(a,
/// b)`.
#[derive(Clone, Copy, Debug)]
pub struct Term<N>(pub(crate) N);

/// A condition, true or false at each point, from a comparison of expressions. There is no `if`: it has no value before
/// the launch runs. Write [`select`](Where::select).
#[must_use = "a condition has no effect: write `condition.select(a, b)`"]
#[derive(Clone, Copy, Debug)]
pub struct Where<C>(C);

/// Second and third arguments of functions in kernels: an expression, or an `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument of a function in a kernel",
    note = "an expression or an `f64` is: `2.0`, not `2`"
)]
pub trait Argument {
    /// Type of the node that the argument becomes.
    type Node: Node;
    /// Turns the argument into a node.
    fn into_node(self) -> Self::Node;
}

impl<N: Node> Argument for Term<N> {
    type Node = N;
    #[inline(always)]
    fn into_node(self) -> N {
        self.0
    }
}

impl Argument for f64 {
    type Node = Constant;
    #[inline(always)]
    fn into_node(self) -> Constant {
        Constant(self)
    }
}

/// A constant: this number at every point.
impl From<f64> for Term<Constant> {
    fn from(number: f64) -> Self {
        Self(Constant(number))
    }
}

/// Implements operators, from rows `Trait method Rule`.
macro_rules! operators {
    ($($trait:ident $method:ident $rule:ident;)*) => { $(
        impl<A: Node, B: Node> $trait<Term<B>> for Term<A> {
            type Output = Term<BinaryNode<$rule, A, B>>;
            #[inline(always)]
            fn $method(self, other: Term<B>) -> Self::Output { Term(BinaryNode::of(self.0, other.0)) }
        }
        impl<A: Node> $trait<f64> for Term<A> {
            type Output = Term<BinaryNode<$rule, A, Constant>>;
            #[inline(always)]
            fn $method(self, other: f64) -> Self::Output { Term(BinaryNode::of(self.0, Constant(other))) }
        }
        impl<B: Node> $trait<Term<B>> for f64 {
            type Output = Term<BinaryNode<$rule, Constant, B>>;
            #[inline(always)]
            fn $method(self, other: Term<B>) -> Self::Output { Term(BinaryNode::of(Constant(self), other.0)) }
        }
    )* };
}
operators! {
    Add add Adds;
    Sub sub Subtracts;
    Mul mul Multiplies;
    Div div Divides;
}

impl<A: Node> Neg for Term<A> {
    type Output = Term<UnaryNode<Negation, A>>;
    #[inline(always)]
    fn neg(self) -> Self::Output {
        Term(UnaryNode::of(self.0))
    }
}

/// Selects the formula that a row of the table names; if there is none, its rule, called value by value.
macro_rules! formula {
    ($by_rule:ty) => {
        $by_rule
    };
    ($by_rule:ty, $formula:ident) => {
        $formula
    };
}

/// Gives each row a method: `sin: trigonometric::Sin, registers;` becomes
/// `fn sin(self) -> Term<UnaryNode<ByRule<trigonometric::Sin>, A>>`.
macro_rules! methods {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        impl<A: Node> Term<A> {
            $($(#[$d1])*
            #[inline(always)]
            pub fn $unary(self) -> Term<UnaryNode<formula!(ByRule<rules::$f1::$r1> $(, $kernel1)?), A>> {
                Term(UnaryNode::of(self.0))
            })*
            $($(#[$d2])*
            #[inline(always)]
            pub fn $binary<B: Argument>(
                self,
                other: B,
            ) -> Term<BinaryNode<formula!(ByRule2<rules::$f2::$r2> $(, $kernel2)?), A, B::Node>> {
                Term(BinaryNode::of(self.0, other.into_node()))
            })*
            $($(#[$d3])*
            #[inline(always)]
            #[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
            pub fn $ternary<B: Argument, C: Argument>(
                self,
                second: B,
                third: C,
            ) -> Term<TernaryNode<ByRule3<rules::$f3::$r3>, A, B::Node, C::Node>> {
                Term(TernaryNode::of(self.0, second.into_node(), third.into_node()))
            })*
        }
    };
}
for_each_function!(methods);

/// Expression of x limited from below, then from above.
type Clamped<A> = Term<BinaryNode<ByRule2<AtMost>, BinaryNode<ByRule2<AtLeast>, A, Constant>, Constant>>;

impl<A: Node> Term<A> {
    /// Integer power.
    #[inline(always)]
    pub fn powi(self, n: i32) -> Term<BinaryNode<ByRule2<Powi>, A, Constant>> {
        Term(BinaryNode::of(self.0, Constant(f64::from(n))))
    }

    /// Polygamma function ψ⁽ⁿ⁾, the n-th derivative of the digamma function, for n from 0 to 12; derivatives of an
    /// order above 20 are NaN.
    #[inline(always)]
    pub fn polygamma(self, n: u32) -> Term<BinaryNode<ByRule2<Polygamma>, A, Constant>> {
        Term(BinaryNode::of(self.0, Constant(f64::from(n))))
    }

    /// The value limited to [`low`, `high`]; at a bound the slope is 1, outside 0, and a NaN stays.
    ///
    /// # Panics
    ///
    /// Unless `low` ≤ `high`, as [`f64::clamp`].
    #[inline(always)]
    #[track_caller]
    pub fn clamp(self, low: f64, high: f64) -> Clamped<A> {
        assert!(low <= high, "clamp needs low ≤ high, not {low} and {high}");
        Term(BinaryNode::of(BinaryNode::of(self.0, Constant(low)), Constant(high)))
    }

    /// Your own rule of one argument; see [`Unary`].
    #[inline(always)]
    pub fn unary<R: Unary>(self) -> Term<UnaryNode<ByRule<R>, A>> {
        Term(UnaryNode::of(self.0))
    }

    /// Your own rule of two arguments; see [`Binary`].
    #[inline(always)]
    pub fn binary<R: Binary, B: Argument>(self, other: B) -> Term<BinaryNode<ByRule2<R>, A, B::Node>> {
        Term(BinaryNode::of(self.0, other.into_node()))
    }

    /// Your own rule of three arguments; see [`Ternary`].
    #[inline(always)]
    #[allow(clippy::type_complexity, reason = "an expression's type is its tree")]
    pub fn ternary<R: Ternary, B: Argument, C: Argument>(
        self,
        second: B,
        third: C,
    ) -> Term<TernaryNode<ByRule3<R>, A, B::Node, C::Node>> {
        Term(TernaryNode::of(self.0, second.into_node(), third.into_node()))
    }

    /// Computes the expression once for all its uses in `f`, which gets it as a temporary. Expressions are trees: an
    /// expression that occurs twice is computed, and reversed, twice, unless it is bound. Temporaries that are bound
    /// one inside the other have different numbers `K`, below 16.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_for}, prelude::*};
    ///
    /// let mut x = View::<Passive, 1>::new([2], &[1.0, 2.0]);
    /// parallel_for(x.all(), &mut x, |x| (x.at::<0>().exp().bind::<0, _>(|e| e / (1.0 + e * e)),));
    /// let e = 1.0_f64.exp();
    /// assert_eq!(x.values()[0], e / (1.0 + e * e));
    /// ```
    #[inline(always)]
    pub fn bind<const K: usize, B: Node>(self, f: impl FnOnce(Term<Local<K>>) -> Term<B>) -> Term<Let<K, A, B>> {
        const { assert!(K < 16, "temporaries have numbers below 16") };
        Term(Let(self.0, f(Term(Local)).0))
    }
}

/// Implements comparisons, from rows `method Comparison`.
macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident $rule:ident;)*) => {
        impl<A: Node> Term<A> { $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $method<B: Argument>(self, other: B) -> Where<Compared<At<{ functions::$rule }>, A, B::Node>> {
                Where(Compared::of(self.0, other.into_node()))
            }
        )* }
    };
}
comparisons! {
    /// True at points with `self` < `other`.
    lt LESS;
    /// True at points with `self` ≤ `other`.
    le AT_MOST;
    /// True at points with `self` > `other`.
    gt MORE;
    /// True at points with `self` ≥ `other`.
    ge AT_LEAST;
    /// True at points with `self` = `other`; for coordinates mostly, because results of arithmetic are rounded.
    eq EQUAL;
    /// True at points with `self` ≠ `other`, also where either is NaN.
    ne DIFFERENT;
}

impl<C: Condition> Where<C> {
    /// Selects `yes` at points at which the condition holds, else `no`. Both are computed everywhere; the one that is
    /// not selected contributes nothing to derivatives, also where it is infinite or NaN.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
    ///
    /// let roots = |x: &[Real<Jacobian>]| {
    ///     let x = View::of_variables([3], x);
    ///     parallel_sum(x.all(), &x, |x| x.at::<0>().gt(0.0).select(x.at::<0>().sqrt(), 0.0))
    /// };
    /// assert_eq!(gradient::<Jacobian>(roots, &[4.0, 0.0, -1.0]), [0.25, 0.0, 0.0]);
    /// ```
    #[inline(always)]
    pub fn select<A: Argument, B: Argument>(self, yes: A, no: B) -> Term<Select<C, A::Node, B::Node>> {
        Term(Select(self.0, yes.into_node(), no.into_node()))
    }

    /// True at points at which both conditions hold.
    #[inline(always)]
    pub fn and<D: Condition>(self, other: Where<D>) -> Where<Joined<true, C, D>> {
        Where(Joined(self.0, other.0))
    }

    /// True at points at which the condition does not hold.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "a condition is negated as it is joined, by a method")]
    pub fn not(self) -> Where<Negated<C>> {
        Where(Negated(self.0))
    }

    /// True at points at which at least one of the conditions holds.
    #[inline(always)]
    pub fn or<D: Condition>(self, other: Where<D>) -> Where<Joined<false, C, D>> {
        Where(Joined(self.0, other.0))
    }
}
