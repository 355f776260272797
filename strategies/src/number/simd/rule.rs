//! Scalar rules: functions without a SIMD formula, as function pointers for each part and each type of number.

use crate::Dual;

/// Dependence of a function on one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// The partial derivative is 1.
    One,
    /// The partial derivative is −1.
    MinusOne,
    /// The partial derivative is computed from the arguments.
    Computed,
}

/// Part of a rule to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The value.
    Value,
    /// The derivative, from the argument and the value; or the partial derivative for the left of two arguments.
    Left,
    /// The partial derivative for the right argument.
    Right,
    /// The partial derivative for the third of three arguments; `Left` and `Right` are those for the first and the
    /// second.
    Third,
    /// 1 if the left argument is returned, else 0.
    TakesLeft,
}

/// A rule of one or two arguments over one type of number.
#[derive(Clone, Copy, Debug)]
pub struct ScalarRule<V: 'static> {
    /// The value, from one argument (the second one is ignored) or two.
    pub value: fn(V, V) -> V,
    /// The derivative, from the argument and the value; or the partial derivative for the left of two arguments.
    pub left: fn(V, V) -> V,
    /// The partial derivative for the right argument.
    pub right: fn(V, V) -> V,
    /// 1 if the left argument is returned, else 0.
    pub takes_left: fn(V, V) -> V,
}

impl<V: Copy> ScalarRule<V> {
    /// Evaluates a part at these arguments.
    #[inline(always)]
    pub(crate) fn call(&self, part: Part, x: V, y: V) -> V {
        match part {
            Part::Value => (self.value)(x, y),
            Part::Left => (self.left)(x, y),
            Part::Right => (self.right)(x, y),
            Part::TakesLeft => (self.takes_left)(x, y),
            Part::Third => unreachable!("a rule of two arguments has no third one"),
        }
    }

    /// Placeholder in rules of three arguments.
    pub const NONE: Self = Self { value: |x, _| x, left: |x, _| x, right: |x, _| x, takes_left: |x, _| x };
}

/// A rule of three arguments over one type of number.
#[derive(Clone, Copy, Debug)]
pub struct ScalarRule3<V: 'static> {
    /// The value.
    pub value: fn(V, V, V) -> V,
    /// The partial derivatives for the arguments.
    pub partials: [fn(V, V, V) -> V; 3],
}

impl<V: Copy> ScalarRule3<V> {
    /// Evaluates a part at these arguments.
    #[inline(always)]
    pub(crate) fn call(&self, part: Part, [x, y, z]: [V; 3]) -> V {
        match part {
            Part::Value => (self.value)(x, y, z),
            Part::Left => self.partials[0](x, y, z),
            Part::Right => self.partials[1](x, y, z),
            Part::Third => self.partials[2](x, y, z),
            Part::TakesLeft => unreachable!("a rule of three arguments returns none of them"),
        }
    }
}

/// A rule of three arguments, over all types of numbers.
#[derive(Clone, Copy, Debug)]
pub struct TernaryRule {
    /// Rule over `f64`.
    pub double: ScalarRule3<f64>,
    /// Rule over `f32`.
    pub single: ScalarRule3<f32>,
    /// Rule over duals of `f64`, for derivatives of the parts with respect to all arguments.
    pub double_slopes: ScalarRule3<Dual<f64, 3>>,
    /// Rule over duals of `f32`, for derivatives of the parts with respect to all arguments.
    pub single_slopes: ScalarRule3<Dual<f32, 3>>,
}

/// A function that is evaluated one element at a time.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Returns the name of the rule's type.
    pub name: fn() -> &'static str,
    /// Dependence on the only argument, or on the left one.
    pub left: Slope,
    /// Dependence on the right argument.
    pub right: Slope,
    /// True if the function returns one of its two arguments.
    pub selects: bool,
    /// Rule over `f64`.
    pub double: ScalarRule<f64>,
    /// Rule over `f32`.
    pub single: ScalarRule<f32>,
    /// Rule over duals of `f64`, for derivatives of the parts with respect to both arguments.
    pub double_slopes: ScalarRule<Dual<f64, 2>>,
    /// Rule over duals of `f32`, for derivatives of the parts with respect to both arguments.
    pub single_slopes: ScalarRule<Dual<f32, 2>>,
    /// The rule of three arguments, if the function has three.
    pub three: Option<TernaryRule>,
}
