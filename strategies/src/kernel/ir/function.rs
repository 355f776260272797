//! Functions of kernels: the ones with formulas for registers, and the ones that are computed number by number.

use crate::number::simd::rule::Rule;

/// A function of one argument.
pub trait KernelUnary: Copy + Send + Sync + 'static {
    /// What it is.
    const FORMULA: UnaryFormula;
}

/// A function of two arguments.
pub trait KernelBinary: Copy + Send + Sync + 'static {
    /// What it is.
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
    /// Number by number.
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
    /// The larger; at a tie the left one, and not a NaN if it can be helped.
    Larger,
    /// The smaller; at a tie the left one, and not a NaN if it can be helped.
    Smaller,
    /// Number by number.
    Rule(&'static Rule),
}

/// How two numbers x and y are compared.
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
}

/// A comparison, as a type.
pub trait Comparing: Copy + Send + Sync + 'static {
    /// Which one.
    const HOW: Comparison;
}
