//! The traits of numbers, and of functions that are defined over them.

use super::passed::Passed;
use core::fmt::{Debug, Display};
use core::num::FpCategory;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// Declares the functions of a number. The row `sin: trigonometric::Sin, registers;` becomes `fn sin(self) -> Self;`,
/// and the row `sigmoid: exponential::Sigmoid, rule;` a method that calls the rule.
macro_rules! declare_functions {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        $(declare_functions! { @ $floats1 ($(#[$d1])*) $unary (self) self.unary::<crate::rules::$f1::$r1>().0 })*
        $(declare_functions! {
            @ $floats2 ($(#[$d2])*) $binary (self, other: Self) self.binary::<crate::rules::$f2::$r2>(other)
        })*
        $(declare_functions! {
            @ $floats3 ($(#[$d3])*) $ternary (self, second: Self, third: Self)
                self.ternary::<crate::rules::$f3::$r3>(second, third)
        })*
        $($(#[$d4])*
        #[must_use]
        fn $step(self) -> Self;)*
    };
    (@ rule ($($doc:tt)*) $name:ident ($($arguments:tt)*) $by_rule:expr) => {
        $($doc)*
        #[must_use]
        #[inline]
        #[track_caller]
        fn $name($($arguments)*) -> Self { $by_rule }
    };
    (@ $floats:ident ($($doc:tt)*) $name:ident ($($arguments:tt)*) $by_rule:expr) => {
        $($doc)*
        #[must_use]
        fn $name($($arguments)*) -> Self;
    };
}

/// The number of a variable: a [`Float`], or several of them that are computed at once, its *lanes*.
///
/// Tapes store numbers as plain bytes ([`bytemuck::Pod`]) of any size and alignment. `==` compares *every part*,
/// tangents and lanes included: a seed whose value is 0 may have a tangent, and is not zero.
///
/// Users never have to name it: generic code says `S: Strategy`.
pub trait Number:
    super::simd::dispatch::Registers
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + PartialEq
    + Default
    + Debug
    + Display
    + Send
    + Sync
    + 'static
{
    /// What each lane is: this number itself, unless it has several.
    type Lane: Float;
    /// How many lanes there are.
    const LANES: usize;
    /// Of how many floating-point numbers it consists, values, tangents and lanes together.
    const PARTS: usize;
    /// How many times derivatives are nested in it: 0 for floats and packs of them, 1 for duals of these and for
    /// variables over them, 2 for duals of such duals.
    const ORDER: usize;
    /// Whether it is a variable of a recording, which means nothing outside of this process.
    #[doc(hidden)]
    const VARIABLE: bool = false;
    /// How it is passed to the functions that reverse records.
    #[doc(hidden)]
    type Passed: Passed<Self>;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// Rounds an `f64` literal to this type, once; the same in each lane.
    fn from_f64(value: f64) -> Self;
    /// The number whose lanes are these, from the first to the last.
    #[must_use]
    fn from_lanes(lane: impl FnMut(usize) -> Self::Lane) -> Self;
    /// The same for two numbers.
    #[must_use]
    fn pair_from_lanes(lanes: impl FnMut(usize) -> (Self::Lane, Self::Lane)) -> (Self, Self);
    /// One of the lanes.
    ///
    /// # Panics
    ///
    /// When there is no such lane.
    fn lane(self, k: usize) -> Self::Lane;

    /// The number of these parts, each rounded to the type of the part.
    #[must_use]
    fn from_parts(part: impl FnMut(usize) -> f64) -> Self;
    /// One of the parts, exactly.
    ///
    /// # Panics
    ///
    /// When there is no such part.
    fn part(self, k: usize) -> f64;

    /// The value as `f64`, exactly.
    ///
    /// # Panics
    ///
    /// When lanes have different values.
    #[track_caller]
    fn as_f64(self) -> f64;

    /// Whether every part is exactly 0.
    fn is_nought(self) -> bool;
    /// Whether [`contribution`](Self::contribution) is not 0 and is, whatever the partial, the product: whether the
    /// number is finite and not 0, if it is a scalar.
    #[doc(hidden)]
    #[inline(always)]
    fn is_ordinary(self) -> bool {
        !self.is_nought()
    }
    /// Whether [`contribution`](Self::contribution) is right for partials that are exactly 0, too: whether the number
    /// is finite, if it is a scalar.
    #[doc(hidden)]
    #[inline(always)]
    fn is_plain(self) -> bool {
        true
    }
    /// What a statement with this adjoint contributes to the adjoint of an argument with this partial. Numbers of
    /// several parts see to it, part by part, that zero times anything is zero; for scalars it is the product, and
    /// whoever calls it sees to that.
    #[must_use]
    fn contribution(self, partial: Self) -> Self;

    /// The function of a rule, and its companion.
    #[doc(hidden)]
    fn unary<R: Unary>(self) -> (Self, Self);
    /// The derivative of a rule at this number, given its value and its companion.
    #[doc(hidden)]
    #[must_use]
    fn derivative<R: Unary>(self, y: Self, companion: Self) -> Self;
    /// The function of a rule.
    #[doc(hidden)]
    #[must_use]
    fn binary<R: Binary>(self, other: Self) -> Self;
    /// The partial derivative of a rule for this number, given its value.
    #[doc(hidden)]
    #[must_use]
    fn partial_left<R: Binary>(self, other: Self, value: Self) -> Self;
    /// The partial derivative of a rule for the other number, given its value.
    #[doc(hidden)]
    #[must_use]
    fn partial_right<R: Binary>(self, other: Self, value: Self) -> Self;
    /// The function of a rule.
    #[doc(hidden)]
    #[must_use]
    fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self;
    /// The partial derivative of a rule for argument number `K`, given its value.
    #[doc(hidden)]
    #[must_use]
    fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], value: Self) -> Self;

    /// ψ⁽ⁿ⁾(x), the n-th derivative of the digamma function, for n ≤ 12; NaN for other n.
    #[must_use]
    fn polygamma(self, n: u32) -> Self;
    crate::for_each_function!(declare_functions);
    /// xⁿ.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// Sine and cosine.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
}

/// Numbers that take whole words of 8 bytes, and are aligned as these: an identifier can follow without a gap.
#[doc(hidden)]
pub trait Whole: Float {}

/// A number that means the same everywhere: in a file, and in another process. All numbers do except
/// [`Nested`](crate::Nested) ones, which are variables of a recording.
///
/// The trait is sealed, as [`Number`] is.
pub trait Plain: Number {}

/// A number that is one lane, and can be compared: `f64` (the usual choice) or `f32`.
///
/// Rules are written over every `Float`. It has the arithmetic and the functions of a [`Number`], order, and the
/// questions that may be asked of a float.
///
/// The trait is sealed, as [`Number`] is: tapes store numbers as plain bytes, and rely on their size, their alignment
/// and the absence of padding. A number type of your own does not compile.
pub trait Float: sealed::Sealed + Number<Lane = Self> + num_traits::Num + num_traits::NumCast + PartialOrd {
    /// NaN.
    #[must_use]
    fn nan() -> Self;
    /// ∞.
    #[must_use]
    fn infinity() -> Self;
    /// −∞.
    #[must_use]
    fn neg_infinity() -> Self;
    /// −0.
    #[must_use]
    fn neg_zero() -> Self;
    /// The distance from 1 to the next larger number.
    #[must_use]
    fn epsilon() -> Self;
    /// The smallest finite number.
    #[must_use]
    fn min_value() -> Self;
    /// The largest finite number.
    #[must_use]
    fn max_value() -> Self;
    /// The smallest positive number that has all its digits.
    #[must_use]
    fn min_positive_value() -> Self;
    /// Whether it is NaN.
    fn is_nan(self) -> bool;
    /// Whether it is ∞ or −∞.
    fn is_infinite(self) -> bool;
    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Whether it is finite, not 0, and has all its digits.
    fn is_normal(self) -> bool;
    /// Whether it is so close to 0 that it may have lost digits, and not 0.
    fn is_subnormal(self) -> bool;
    /// Whether its sign bit is not set.
    fn is_sign_positive(self) -> bool;
    /// Whether its sign bit is set.
    fn is_sign_negative(self) -> bool;
    /// What kind of number it is.
    fn classify(self) -> FpCategory;
    /// Mantissa, exponent and sign.
    fn integer_decode(self) -> (u64, i16, i8);

    /// The same kind of number in double precision.
    #[doc(hidden)]
    type Wide: Float;
    /// This number in double precision.
    #[doc(hidden)]
    fn widen(self) -> Self::Wide;
    /// Rounds a number in double precision.
    #[doc(hidden)]
    #[must_use]
    fn narrow(wide: Self::Wide) -> Self;
    /// A number with this value and the same derivatives.
    #[doc(hidden)]
    #[must_use]
    fn with_value(self, value: f64) -> Self;
}

/// A function of one argument with its derivative: all that is needed to use it in expressions under every strategy.
///
/// A rule is a type that is never instantiated; it is written over every [`Float`] so that it serves `f64` and `f32`.
/// Parameters are second arguments: a function with a parameter is a [`Binary`] rule with an `f64` operand.
///
/// ```
/// use tapewright_strategies::{Float, Unary};
///
/// /// x ↦ x·|x|, smooth everywhere.
/// struct SignedSquare;
/// impl Unary for SignedSquare {
///     fn value<V: Float>(x: V) -> V { x * x.abs() }
///     fn derivative<V: Float>(x: V, _y: V) -> V { V::from_f64(2.0) * x.abs() }
/// }
/// assert_eq!(SignedSquare::derivative(-2.0, -4.0), 4.0);
/// ```
pub trait Unary: 'static {
    /// Any number; different ones for different rules make recording a little faster under `PrimalValue`.
    const HASH: u32 = 0;
    /// The function at `x`.
    fn value<V: Float>(x: V) -> V;
    /// The derivative at `x`, where `y` is the function's value.
    fn derivative<V: Float>(x: V, y: V) -> V;

    /// The value and a second number that costs little beside it and that the derivative needs, as cos beside sin.
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        (Self::value(x), V::zero())
    }

    /// The derivative, given the companion.
    #[inline(always)]
    fn derivative_with_companion<V: Float>(x: V, y: V, _companion: V) -> V {
        Self::derivative(x, y)
    }

    /// Whether an infinite derivative at `x` comes from a pole or a vertical tangent, and not from an overflow; see
    /// [`Policy`](crate::Policy). A derivative that is NaN where the value is not needs no mention.
    #[inline(always)]
    fn singular<V: Float>(_x: V) -> bool {
        false
    }
}

/// A function of two arguments with its partial derivatives.
///
/// ```
/// use tapewright_strategies::{Binary, Float};
///
/// /// (x, y) ↦ x²·y.
/// struct SquareTimes;
/// impl Binary for SquareTimes {
///     fn value<V: Float>(x: V, y: V) -> V { x * x * y }
///     fn partial_left<V: Float>(x: V, y: V, _value: V) -> V { V::from_f64(2.0) * x * y }
///     fn partial_right<V: Float>(x: V, _y: V, _value: V) -> V { x * x }
/// }
/// assert_eq!(SquareTimes::partial_left(3.0, 5.0, 45.0), 30.0);
/// ```
pub trait Binary: 'static {
    /// Any number; different ones for different rules make recording a little faster under `PrimalValue`.
    const HASH: u32 = 0;
    /// The function at (`x`, `y`).
    fn value<V: Float>(x: V, y: V) -> V;
    /// ∂/∂x at (`x`, `y`), where `value` is the function's value.
    fn partial_left<V: Float>(x: V, y: V, value: V) -> V;
    /// ∂/∂y at (`x`, `y`), where `value` is the function's value.
    fn partial_right<V: Float>(x: V, y: V, value: V) -> V;

    /// Whether this function returns one of its arguments unchanged, as a maximum does. The other argument's partials
    /// are then exactly 0, whatever they are made of.
    const SELECTS: bool = false;

    /// For a function that [`SELECTS`](Self::SELECTS): whether it returns the left argument.
    #[inline(always)]
    fn selects_left<V: Float>(_x: V, _y: V) -> bool {
        true
    }

    /// As [`Unary::singular`], for both partials.
    #[inline(always)]
    fn singular<V: Float>(_x: V, _y: V) -> bool {
        false
    }
}

/// A function of three arguments with its partial derivatives.
///
/// ```
/// use tapewright_strategies::{Float, Ternary};
///
/// /// (x, y, z) ↦ x·y²·z.
/// struct Product;
/// impl Ternary for Product {
///     fn value<V: Float>(x: V, y: V, z: V) -> V { x * y * y * z }
///     fn partial_first<V: Float>(_x: V, y: V, z: V, _value: V) -> V { y * y * z }
///     fn partial_second<V: Float>(x: V, y: V, z: V, _value: V) -> V { V::from_f64(2.0) * x * y * z }
///     fn partial_third<V: Float>(x: V, y: V, _z: V, _value: V) -> V { x * y * y }
/// }
/// assert_eq!(Product::partial_second(2.0, 3.0, 5.0, 90.0), 60.0);
/// ```
pub trait Ternary: 'static {
    /// Any number; different ones for different rules make recording a little faster under `PrimalValue`.
    const HASH: u32 = 0;
    /// The function at (`x`, `y`, `z`).
    fn value<V: Float>(x: V, y: V, z: V) -> V;
    /// ∂/∂x at (`x`, `y`, `z`), where `value` is the function's value.
    fn partial_first<V: Float>(x: V, y: V, z: V, value: V) -> V;
    /// ∂/∂y at (`x`, `y`, `z`), where `value` is the function's value.
    fn partial_second<V: Float>(x: V, y: V, z: V, value: V) -> V;
    /// ∂/∂z at (`x`, `y`, `z`), where `value` is the function's value.
    fn partial_third<V: Float>(x: V, y: V, z: V, value: V) -> V;

    /// Returns true where a partial is singular; see [`Unary::singular`].
    #[inline(always)]
    fn singular<V: Float>(_x: V, _y: V, _z: V) -> bool {
        false
    }
}

/// The partial of a rule for argument number `K` of one lane.
#[inline(always)]
pub(crate) fn partial_of_lane<R: Ternary, V: Float, const K: usize>([x, y, z]: [V; 3], value: V) -> V {
    match K {
        0 => R::partial_first(x, y, z, value),
        1 => R::partial_second(x, y, z, value),
        _ => R::partial_third(x, y, z, value),
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}
