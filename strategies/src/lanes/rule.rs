//! Functions of kernels: the ones with formulas for registers, and the ones that are computed number by number.

use crate::Dual;

/// How a function depends on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// The partial is 1.
    One,
    /// The partial is −1.
    MinusOne,
    /// The partial is computed from the arguments.
    Computed,
}

/// What is asked of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The value.
    Value,
    /// The derivative, of the argument and the value; or the partial of the left of two arguments.
    Left,
    /// The partial of the right argument.
    Right,
    /// Whether the left argument is returned.
    TakesLeft,
}

/// A rule over one type of number.
#[derive(Clone, Copy, Debug)]
pub struct Scalar<V: 'static> {
    /// The value, of one argument (and anything), or of two.
    pub value: fn(V, V) -> V,
    /// The derivative, of the argument and the value; or the partial of the left of two arguments.
    pub left: fn(V, V) -> V,
    /// The partial of the right argument.
    pub right: fn(V, V) -> V,
    /// 1 if the left argument is returned, else 0.
    pub takes_left: fn(V, V) -> V,
}

impl<V: Copy> Scalar<V> {
    /// A part at these arguments.
    #[inline(always)]
    pub(super) fn call(&self, part: Part, x: V, y: V) -> V {
        match part {
            Part::Value => (self.value)(x, y),
            Part::Left => (self.left)(x, y),
            Part::Right => (self.right)(x, y),
            Part::TakesLeft => (self.takes_left)(x, y),
        }
    }
}

/// A function that is computed number by number.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name of its type.
    pub name: fn() -> &'static str,
    /// How it depends on its argument, or on the left one.
    pub left: Slope,
    /// How it depends on the right argument.
    pub right: Slope,
    /// Whether it returns one of its two arguments.
    pub selects: bool,
    /// It over `f64`.
    pub double: Scalar<f64>,
    /// It over `f32`.
    pub single: Scalar<f32>,
    /// It over `f64`, with the derivatives of its parts by both arguments.
    pub double_slopes: Scalar<Dual<f64, 2>>,
    /// It over `f32`, with the derivatives of its parts by both arguments.
    pub single_slopes: Scalar<Dual<f32, 2>>,
}

/// A function of one argument.
pub trait LaneFunction: Copy + Send + Sync + 'static {
    /// What it is.
    const FORMULA: Formula;
}

/// A function of two arguments.
pub trait LaneOperator: Copy + Send + Sync + 'static {
    /// What it is.
    const FORMULA: Formula2;
}

/// Functions of one argument x.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
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
pub enum Formula2 {
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
