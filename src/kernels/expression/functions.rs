//! Operators and functions of kernels.
//!
//! Arithmetic, comparison, `abs`, `min`, `max` and `sqrt` have SIMD formulas, equal to the rules of scalar statements;
//! a test compares them. Every other function calls the scalar rule value by value.

use core::marker::PhantomData;
use tapewright_strategies::kernel::ir::{
    BinaryFormula, Comparing, Comparison, KernelBinary, KernelTernary, KernelUnary, UnaryFormula,
};
use tapewright_strategies::kernel::rule::{Rule, ScalarRule, ScalarRule3, Slope, TernaryRule};
use tapewright_strategies::rules::{Function, Operator};
use tapewright_strategies::shape::Edge;
use tapewright_strategies::{Float, Ternary};

/// Defines functions with SIMD formulas.
macro_rules! formulas {
    ($($(#[$doc:meta])* $name:ident: $trait:ident = $formula:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        formulas! { @ $name $trait $formula }
    )* };
    (@ $name:ident KernelUnary $formula:expr) => {
        impl KernelUnary for $name {
            const FORMULA: UnaryFormula = $formula;
        }
    };
    (@ $name:ident KernelBinary $formula:expr) => {
        impl KernelBinary for $name {
            const FORMULA: BinaryFormula = $formula;
        }
    };
}
formulas! {
    /// x + y.
    Adds: KernelBinary = BinaryFormula::Sum;
    /// x − y.
    Subtracts: KernelBinary = BinaryFormula::Difference;
    /// x·y.
    Multiplies: KernelBinary = BinaryFormula::Product;
    /// x/y.
    Divides: KernelBinary = BinaryFormula::Quotient;
    /// The larger argument; at a tie the left one, and a NaN only if both are NaN.
    Maximum: KernelBinary = BinaryFormula::Larger;
    /// The smaller argument; at a tie the left one, and a NaN only if both are NaN.
    Minimum: KernelBinary = BinaryFormula::Smaller;
    /// −x.
    Negation: KernelUnary = UnaryFormula::Negative;
    /// x².
    Square: KernelUnary = UnaryFormula::Square;
    /// |x|.
    Absolute: KernelUnary = UnaryFormula::Absolute;
    /// √x.
    Root: KernelUnary = UnaryFormula::Root;
}

/// A rule of one argument, called value by value.
pub struct ByRule<R>(PhantomData<fn() -> R>);
impl<R> Clone for ByRule<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for ByRule<R> {}
impl<R: Function> ByRule<R> {
    const fn scalar<V: Float>() -> ScalarRule<V> {
        ScalarRule {
            value: |x, _| R::value_and_companion(x).0,
            left: |x, y| R::derivative(x, y, R::value_and_companion(x).1),
            right: |x, _| x,
            takes_left: |_, _| V::ONE,
        }
    }
}
impl<R: Function> KernelUnary for ByRule<R> {
    const FORMULA: UnaryFormula = UnaryFormula::Rule(&Rule {
        name: core::any::type_name::<R>,
        left: slope::<R::Edge>(),
        right: Slope::Computed,
        selects: false,
        double: Self::scalar(),
        single: Self::scalar(),
        double_slopes: Self::scalar(),
        single_slopes: Self::scalar(),
        three: None,
    });
}

/// A rule of two arguments, called value by value.
pub struct ByRule2<R>(PhantomData<fn() -> R>);
impl<R> Clone for ByRule2<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for ByRule2<R> {}
impl<R: Operator> ByRule2<R> {
    const fn scalar<V: Float>() -> ScalarRule<V> {
        ScalarRule {
            value: |x, y| R::value(x, y),
            left: |x, y| R::partial_left(x, y, R::value(x, y)),
            right: |x, y| R::partial_right(x, y, R::value(x, y)),
            takes_left: |x, y| if R::selects_left(x, y) { V::ONE } else { V::ZERO },
        }
    }
}
impl<R: Operator> KernelBinary for ByRule2<R> {
    const FORMULA: BinaryFormula = BinaryFormula::Rule(&Rule {
        name: core::any::type_name::<R>,
        left: slope::<R::Left>(),
        right: slope::<R::Right>(),
        selects: R::SELECTS,
        double: Self::scalar(),
        single: Self::scalar(),
        double_slopes: Self::scalar(),
        single_slopes: Self::scalar(),
        three: None,
    });
}

/// A rule of three arguments, called value by value.
pub struct ByRule3<R>(PhantomData<fn() -> R>);
impl<R> Clone for ByRule3<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for ByRule3<R> {}
impl<R: Ternary> ByRule3<R> {
    const fn scalar<V: Float>() -> ScalarRule3<V> {
        ScalarRule3 {
            value: |x, y, z| x.ternary::<R>(y, z),
            partials: [
                |x, y, z| V::partial_of_three::<R, 0>([x, y, z], x.ternary::<R>(y, z)),
                |x, y, z| V::partial_of_three::<R, 1>([x, y, z], x.ternary::<R>(y, z)),
                |x, y, z| V::partial_of_three::<R, 2>([x, y, z], x.ternary::<R>(y, z)),
            ],
        }
    }
}
impl<R: Ternary> KernelTernary for ByRule3<R> {
    const RULE: &'static Rule = &Rule {
        name: core::any::type_name::<R>,
        left: Slope::Computed,
        right: Slope::Computed,
        selects: false,
        double: ScalarRule::NONE,
        single: ScalarRule::NONE,
        double_slopes: ScalarRule::NONE,
        single_slopes: ScalarRule::NONE,
        three: Some(TernaryRule {
            double: Self::scalar(),
            single: Self::scalar(),
            double_slopes: Self::scalar(),
            single_slopes: Self::scalar(),
        }),
    };
}

const fn slope<E: Edge>() -> Slope {
    match (E::SCALES, E::NEGATES) {
        (true, _) => Slope::Computed,
        (false, true) => Slope::MinusOne,
        (false, false) => Slope::One,
    }
}

/// The comparison with this code.
#[derive(Clone, Copy, Debug)]
pub struct At<const COMPARISON: u8>;
pub(crate) const LESS: u8 = 0;
pub(crate) const AT_MOST: u8 = 1;
pub(crate) const MORE: u8 = 2;
pub(crate) const AT_LEAST: u8 = 3;
pub(crate) const EQUAL: u8 = 4;
pub(crate) const DIFFERENT: u8 = 5;
impl<const COMPARISON: u8> Comparing for At<COMPARISON> {
    const HOW: Comparison = match COMPARISON {
        LESS => Comparison::Less,
        AT_MOST => Comparison::AtMost,
        MORE => Comparison::More,
        AT_LEAST => Comparison::AtLeast,
        EQUAL => Comparison::Equal,
        _ => Comparison::Different,
    };
}
