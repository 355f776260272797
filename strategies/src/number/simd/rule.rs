//! Functions that are computed number by number: a function pointer for each part and each type of number.

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
    /// The partial of the third of three arguments; those of the first and the second are `Left` and `Right`.
    Third,
    /// Whether the left argument is returned.
    TakesLeft,
}

/// A rule over one type of number.
#[derive(Clone, Copy, Debug)]
pub struct ScalarRule<V: 'static> {
    /// The value, of one argument (and anything), or of two.
    pub value: fn(V, V) -> V,
    /// The derivative, of the argument and the value; or the partial of the left of two arguments.
    pub left: fn(V, V) -> V,
    /// The partial of the right argument.
    pub right: fn(V, V) -> V,
    /// 1 if the left argument is returned, else 0.
    pub takes_left: fn(V, V) -> V,
}

impl<V: Copy> ScalarRule<V> {
    /// A part at these arguments.
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

    /// A placeholder in rules of three arguments.
    pub const NONE: Self = Self { value: |x, _| x, left: |x, _| x, right: |x, _| x, takes_left: |x, _| x };
}

/// A rule of three arguments over one type of number.
#[derive(Clone, Copy, Debug)]
pub struct ScalarRule3<V: 'static> {
    /// The value.
    pub value: fn(V, V, V) -> V,
    /// The partials of the arguments.
    pub partials: [fn(V, V, V) -> V; 3],
}

impl<V: Copy> ScalarRule3<V> {
    /// A part at these arguments.
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

/// A function of three arguments that is computed number by number.
#[derive(Clone, Copy, Debug)]
pub struct TernaryRule {
    /// The function over `f64`.
    pub double: ScalarRule3<f64>,
    /// The function over `f32`.
    pub single: ScalarRule3<f32>,
    /// The function over `f64`, with the derivatives of its parts by all arguments.
    pub double_slopes: ScalarRule3<Dual<f64, 3>>,
    /// The function over `f32`, with the derivatives of its parts by all arguments.
    pub single_slopes: ScalarRule3<Dual<f32, 3>>,
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
    pub double: ScalarRule<f64>,
    /// It over `f32`.
    pub single: ScalarRule<f32>,
    /// It over `f64`, with the derivatives of its parts by both arguments.
    pub double_slopes: ScalarRule<Dual<f64, 2>>,
    /// It over `f32`, with the derivatives of its parts by both arguments.
    pub single_slopes: ScalarRule<Dual<f32, 2>>,
    /// The function of three arguments, if it is one.
    pub three: Option<TernaryRule>,
}
