//! Functions that kernels can call: those with a formula in SIMD registers, and those evaluated by a scalar rule.

use crate::number::simd::rule::Rule;

/// A function of one argument.
pub trait KernelUnary: Copy + Send + Sync + 'static {
    /// Formula or rule by which the function is computed.
    const FORMULA: UnaryFormula;
}

/// A function of two arguments.
pub trait KernelBinary: Copy + Send + Sync + 'static {
    /// Formula or rule by which the function is computed.
    const FORMULA: BinaryFormula;
}

/// A function of three arguments.
pub trait KernelTernary: Copy + Send + Sync + 'static {
    /// The rule of the function.
    const RULE: &'static Rule;
}

/// Functions of one argument x.
#[derive(Clone, Copy, Debug)]
pub enum UnaryFormula {
    /// −x.
    Negative,
    /// |x|.
    Absolute,
    /// √x.
    Root,
    /// x².
    Square,
    /// A rule, called one element at a time.
    Rule(&'static Rule),
}

/// Functions of two arguments x and y.
#[derive(Clone, Copy, Debug)]
pub enum BinaryFormula {
    /// x + y.
    Sum,
    /// x − y.
    Difference,
    /// x·y.
    Product,
    /// x/y.
    Quotient,
    /// The larger argument; the left one at a tie, and the other one where one is NaN.
    Larger,
    /// The smaller argument; the left one at a tie, and the other one where one is NaN.
    Smaller,
    /// A rule, called one element at a time.
    Rule(&'static Rule),
}

/// Comparison of two values x and y.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// x < y.
    Less,
    /// x ≤ y.
    AtMost,
    /// x > y.
    More,
    /// x ≥ y.
    AtLeast,
    /// x = y.
    Equal,
    /// x ≠ y, also where either is NaN.
    Different,
}

/// A comparison, as a type.
pub trait Comparing: Copy + Send + Sync + 'static {
    /// The comparison that the type stands for.
    const HOW: Comparison;
}
