//! Traits of numbers, and of functions defined over them.

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

/// Type of a variable's value: a [`Float`], or several floats that are computed together, its *lanes*.
///
/// Tapes store numbers as plain bytes ([`bytemuck::Pod`]) of any size and alignment. `==` compares *every part*,
/// tangents and lanes included: a seed whose value is 0 may have a tangent, and is not zero.
///
/// User code never has to name this trait: generic code says `S: Strategy`.
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
    /// Type of each lane: `Self`, unless the number has several lanes.
    type Lane: Float;
    /// Number of lanes.
    const LANES: usize;
    /// Number of floating-point values that make up the number: values, tangents and lanes together.
    const PARTS: usize;
    /// Depth of nested derivatives: 0 for floats and packs of floats, 1 for duals of these and for variables over them,
    /// 2 for duals of such duals.
    const ORDER: usize;
    /// True if the number is a variable of a recording, which has no meaning outside this process.
    #[doc(hidden)]
    const VARIABLE: bool = false;
    /// Representation of the number as an argument of functions that reverse records.
    #[doc(hidden)]
    type Passed: Passed<Self>;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// Rounds an `f64` literal to this type, once; all lanes are equal.
    fn from_f64(value: f64) -> Self;
    /// Returns these numbers, if they have this type.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn borrowed(numbers: &[f64]) -> Option<&[Self]> {
        let _ = numbers;
        None
    }
    /// Builds a number from its lanes, called in order.
    #[must_use]
    fn from_lanes(lane: impl FnMut(usize) -> Self::Lane) -> Self;
    /// Returns `left` in the lanes in which the function `R` returns the first of two numbers, as `is_left` says, and
    /// `right` in the others. Values decide.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn chosen<R: 'static>(
        [x, y]: [Self; 2],
        [left, right]: [Self; 2],
        is_left: impl Fn(Self::Lane, Self::Lane) -> bool + Copy,
    ) -> Self {
        Self::from_lanes(|k| if is_left(x.lane(k), y.lane(k)) { left.lane(k) } else { right.lane(k) })
    }
    /// Returns this number in the lanes in which the value of `tested` is NaN, and `other` in the others.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn where_nan(self, tested: Self, other: Self) -> Self {
        Self::from_lanes(|k| if tested.lane(k).is_nan() { self.lane(k) } else { other.lane(k) })
    }
    /// Builds two numbers from pairs of lanes, called in order.
    #[must_use]
    fn pair_from_lanes(lanes: impl FnMut(usize) -> (Self::Lane, Self::Lane)) -> (Self, Self);
    /// Returns one of the lanes.
    ///
    /// # Panics
    ///
    /// When there is no such lane.
    fn lane(self, k: usize) -> Self::Lane;

    /// Builds a number from its parts, each rounded to the type of the part.
    #[must_use]
    fn from_parts(part: impl FnMut(usize) -> f64) -> Self;
    /// Returns one of the parts, exactly.
    ///
    /// # Panics
    ///
    /// When there is no such part.
    fn part(self, k: usize) -> f64;

    /// Returns the value as `f64`, exactly.
    ///
    /// # Panics
    ///
    /// When lanes have different values.
    #[track_caller]
    fn as_f64(self) -> f64;

    /// Returns true if every part is exactly 0.
    fn is_nought(self) -> bool;
    /// Returns true if [`contribution`](Self::contribution) is non-zero and equal to the product for every partial
    /// derivative. For a scalar: if it is finite and not 0.
    #[doc(hidden)]
    #[inline(always)]
    fn is_ordinary(self) -> bool {
        !self.is_nought()
    }
    /// Returns true if [`contribution`](Self::contribution) is also correct for partial derivatives that are exactly 0.
    /// For a scalar: if it is finite.
    #[doc(hidden)]
    #[inline(always)]
    fn is_plain(self) -> bool {
        true
    }
    /// Returns true if all numbers of an array are [ordinary](Self::is_ordinary).
    #[doc(hidden)]
    #[inline(always)]
    fn all_ordinary<const N: usize>(numbers: &[Self; N]) -> bool {
        numbers.iter().all(|number| number.is_ordinary())
    }
    /// Returns true if all numbers of an array are [plain](Self::is_plain).
    #[doc(hidden)]
    #[inline(always)]
    fn all_plain<const N: usize>(numbers: &[Self; N]) -> bool {
        numbers.iter().all(|number| number.is_plain())
    }
    /// Returns true if all parts of all numbers of an array are exactly 0.
    #[doc(hidden)]
    #[inline(always)]
    fn all_nought<const N: usize>(numbers: &[Self; N]) -> bool {
        numbers.iter().all(|number| number.is_nought())
    }
    /// Contribution of a statement with this adjoint to the adjoint of an argument with this partial derivative.
    /// Numbers of several parts ensure, part by part, that a product with zero is zero. For scalars this is the plain
    /// product, and the caller must ensure that.
    #[must_use]
    fn contribution(self, partial: Self) -> Self;
    /// Returns 1/x.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn inverse(self) -> Self {
        Self::ONE / self
    }
    /// Returns the derivative of self/divisor with respect to the divisor: where divisions are dear, found without the
    /// quotient, which is seldom needed otherwise when adjoints are computed.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn slope_of_quotient(self, divisor: Self, quotient: Self) -> Self {
        -quotient / divisor
    }
    /// Adds the [`contribution`](Self::contribution) of each of `terms` with this factor to `sums`.
    #[doc(hidden)]
    #[inline(always)]
    fn add_contributions<const N: usize>(sums: &mut [Self; N], factor: Self, terms: &[Self; N]) {
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term.contribution(factor));
    }
    /// Returns true if a product with zero in one of these sums of contributions may be NaN instead of zero. For
    /// scalars: if a sum is NaN.
    #[doc(hidden)]
    #[inline(always)]
    fn are_suspect<const N: usize>(sums: &[Self; N]) -> bool {
        let _ = sums;
        false
    }
    /// Copies an array, for scalars by the registers that the other functions of arrays use. A register that is loaded
    /// from memory that was stored in two pieces has to wait for both.
    #[doc(hidden)]
    #[inline(always)]
    fn copied<const N: usize>(numbers: &[Self; N]) -> [Self; N] {
        *numbers
    }

    /// Returns this number. A pack passes through its register on the way: copied as memory, it may be stored in two
    /// pieces, and a register that is loaded from there has to wait for both.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn by_registers(self) -> Self {
        self
    }

    /// Evaluates the function of a rule, and its companion.
    #[doc(hidden)]
    fn unary<R: Unary>(self) -> (Self, Self);
    /// Evaluates the derivative of a rule at this number, given its value and its companion.
    #[doc(hidden)]
    #[must_use]
    fn derivative<R: Unary>(self, y: Self, companion: Self) -> Self;
    /// Evaluates the function of a rule of two arguments.
    #[doc(hidden)]
    #[must_use]
    fn binary<R: Binary>(self, other: Self) -> Self;
    /// Evaluates the partial derivative of a rule with respect to this number, given the rule's value.
    #[doc(hidden)]
    #[must_use]
    fn partial_left<R: Binary>(self, other: Self, value: Self) -> Self;
    /// Evaluates the partial derivative of a rule with respect to the other number, given the rule's value.
    #[doc(hidden)]
    #[must_use]
    fn partial_right<R: Binary>(self, other: Self, value: Self) -> Self;
    /// Evaluates the function of a rule of three arguments.
    #[doc(hidden)]
    #[must_use]
    fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self;
    /// Evaluates the partial derivative of a rule with respect to argument `K`, given the rule's value.
    #[doc(hidden)]
    #[must_use]
    fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], value: Self) -> Self;

    /// ψ⁽ⁿ⁾(x), the n-th derivative of the digamma function, for n ≤ 20; NaN for other n.
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

/// Float whose size and alignment are multiples of 8 bytes: an identifier can follow without padding.
#[doc(hidden)]
pub trait Whole: Float {}

/// A number with the same meaning everywhere: in a file, and in another process. All numbers are plain except
/// [`Nested`](crate::Nested) ones, which are variables of a recording.
///
/// The trait is sealed, like [`Number`].
pub trait Plain: Number {}

/// A number with a single lane, which can be compared: `f64` (the usual choice) or `f32`.
///
/// Rules are written over every `Float`. A float has the arithmetic and the functions of a [`Number`], an order, and
/// the classification of floating-point values.
///
/// The trait is sealed, like [`Number`]: tapes store numbers as plain bytes, and rely on their size, their alignment
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
    /// Distance from 1 to the next larger value.
    #[must_use]
    fn epsilon() -> Self;
    /// The smallest finite value.
    #[must_use]
    fn min_value() -> Self;
    /// The largest finite value.
    #[must_use]
    fn max_value() -> Self;
    /// The smallest positive normal value.
    #[must_use]
    fn min_positive_value() -> Self;
    /// Returns true if the value is NaN.
    fn is_nan(self) -> bool;
    /// Returns true if the value is ∞ or −∞.
    fn is_infinite(self) -> bool;
    /// Returns true if the value is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Returns true if the value is finite, not 0 and not subnormal.
    fn is_normal(self) -> bool;
    /// Returns true if the value is subnormal: not 0, but so small that digits may be lost.
    fn is_subnormal(self) -> bool;
    /// Returns true if the sign bit is not set.
    fn is_sign_positive(self) -> bool;
    /// Returns true if the sign bit is set.
    fn is_sign_negative(self) -> bool;
    /// Returns the floating-point category of the value.
    fn classify(self) -> FpCategory;
    /// Returns mantissa, exponent and sign.
    fn integer_decode(self) -> (u64, i16, i8);

    /// Type of the number in double precision, with the same derivatives.
    #[doc(hidden)]
    type Wide: Float;
    /// Converts the number to double precision.
    #[doc(hidden)]
    fn widen(self) -> Self::Wide;
    /// Rounds a number in double precision to this type.
    #[doc(hidden)]
    #[must_use]
    fn narrow(wide: Self::Wide) -> Self;
    /// Replaces the value, and keeps the derivatives.
    #[doc(hidden)]
    #[must_use]
    fn with_value(self, value: f64) -> Self;
}

/// A function of one argument with its derivative: all that expressions need to use it under every strategy.
///
/// A rule is a type that is never instantiated, written over every [`Float`] so that it serves `f64` and `f32`. A
/// parameter is a second argument: a function with a parameter is a [`Binary`] rule with an `f64` operand.
///
/// Second derivatives come from [`derivative`](Self::derivative), which is evaluated over duals then;
/// [`value`](Self::value) never is. Near a removable singularity the formula of the derivative must therefore have
/// accurate derivatives itself: a series, as for sin(x)/x at 0.
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
    /// Hash of the rule, any integer; distinct values for distinct rules make recording a little faster under
    /// `PrimalValue`.
    const HASH: u32 = 0;
    /// Number of results that programs keep for the derivative: the value and the companion, or the value alone if
    /// there is no companion.
    #[doc(hidden)]
    const KEPT: usize = 2;
    /// Evaluates the function at `x`.
    fn value<V: Float>(x: V) -> V;
    /// Evaluates the derivative at `x`, where `y` is the function's value.
    fn derivative<V: Float>(x: V, y: V) -> V;

    /// Evaluates the function together with a companion: a second value that the derivative needs and that is cheap to
    /// compute with the first, as cos with sin.
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        (Self::value(x), V::zero())
    }

    /// Evaluates the derivative, given the companion.
    #[inline(always)]
    fn derivative_with_companion<V: Float>(x: V, y: V, _companion: V) -> V {
        Self::derivative(x, y)
    }

    /// Returns true if an infinite derivative at `x` comes from a pole or a vertical tangent, and not from an overflow;
    /// see [`Policy`](crate::policy::Policy). A derivative that is NaN where the value is not NaN needs no mention.
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
    /// Hash of the rule, any integer; distinct values for distinct rules make recording a little faster under
    /// `PrimalValue`.
    const HASH: u32 = 0;
    /// Evaluates the function at (`x`, `y`).
    fn value<V: Float>(x: V, y: V) -> V;
    /// Evaluates ∂/∂x at (`x`, `y`), where `value` is the function's value.
    fn partial_left<V: Float>(x: V, y: V, value: V) -> V;
    /// Evaluates ∂/∂y at (`x`, `y`), where `value` is the function's value.
    fn partial_right<V: Float>(x: V, y: V, value: V) -> V;

    /// True if the function returns one of its arguments unchanged, as a maximum does. The partial derivative for the
    /// other argument is then exactly 0, even if it is not finite.
    const SELECTS: bool = false;

    /// Returns true if a function that [`SELECTS`](Self::SELECTS) returns the left argument.
    #[inline(always)]
    fn selects_left<V: Float>(_x: V, _y: V) -> bool {
        true
    }

    /// Returns true where a partial derivative is singular; see [`Unary::singular`].
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
    /// Hash of the rule, any integer; distinct values for distinct rules make recording a little faster under
    /// `PrimalValue`.
    const HASH: u32 = 0;
    /// Evaluates the function at (`x`, `y`, `z`).
    fn value<V: Float>(x: V, y: V, z: V) -> V;
    /// Evaluates ∂/∂x at (`x`, `y`, `z`), where `value` is the function's value.
    fn partial_first<V: Float>(x: V, y: V, z: V, value: V) -> V;
    /// Evaluates ∂/∂y at (`x`, `y`, `z`), where `value` is the function's value.
    fn partial_second<V: Float>(x: V, y: V, z: V, value: V) -> V;
    /// Evaluates ∂/∂z at (`x`, `y`, `z`), where `value` is the function's value.
    fn partial_third<V: Float>(x: V, y: V, z: V, value: V) -> V;

    /// Returns true where a partial derivative is singular; see [`Unary::singular`].
    #[inline(always)]
    fn singular<V: Float>(_x: V, _y: V, _z: V) -> bool {
        false
    }
}

/// Evaluates the partial derivative of a rule with respect to argument `K`, for one lane.
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

/// Representation of a number of type `V` as an argument.
pub trait Passed<V>: Copy {
    /// Wraps a number.
    fn of(number: V) -> Self;
    /// Unwraps the number.
    fn number(self) -> V;
}

impl<V: Copy> Passed<V> for V {
    #[inline(always)]
    fn of(number: V) -> V {
        number
    }
    #[inline(always)]
    fn number(self) -> V {
        self
    }
}

/// A number that is passed in memory, at the start of a cache line: a register that is stored across two lines must
/// reach the cache before it can be loaded again.
#[cfg(feature = "packs")]
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Lined<V>(V);

#[cfg(feature = "packs")]
impl<V: Number> Passed<V> for Lined<V> {
    #[inline(always)]
    fn of(number: V) -> Self {
        Self(number.by_registers())
    }
    #[inline(always)]
    fn number(self) -> V {
        self.0
    }
}
