//! A register as a number: several scenarios of a program, side by side.

use crate::number::dual::{Dual, each};
use crate::number::simd::dispatch::{Registers, SimdTask};
use crate::number::simd::elementary::{angle, circular, error, exponential, logarithm, power};
use crate::number::simd::rule::{Part, Rule};
use crate::number::simd::scalar::ScalarValue;
use crate::number::simd::vector::{Formula, MOST, SimdVector};
use crate::number::traits::{Binary, Float, Number, Ternary, Unary, partial_of_lane};
use crate::rules::elementary::exponential::{Exp, Exp2, ExpM1, Ln, Ln1p, Log2, Log10, Sigmoid, Softplus};
use crate::rules::elementary::hyperbolic::{Cosh, Sinh, Tanh};
use crate::rules::elementary::logarithmic::LnSigmoid;
use crate::rules::elementary::power::{Pow, Powi, Recip, Sqrt, Square, whole};
use crate::rules::elementary::trigonometric::{Acos, Asin, Atan, Atan2, Cos, Sin, Tan};
use crate::rules::selection::{AtLeast, AtMost, Max, Min, returns_argument};
use crate::rules::special::{Erf, Erfc, NormalCdf, NormalPdf};
use core::any::TypeId;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number that programs compute for many scenarios side by side: `f64`, `f32`, or a [`Dual`](crate::Dual) over them.
#[diagnostic::on_unimplemented(
    message = "programs compute `f64`, `f32` and duals of these, not `{Self}`",
    label = "no numbers of a program"
)]
pub trait InRegisters: Float<Part: Scalar> {
    /// Several of these numbers, each part in a register.
    #[doc(hidden)]
    type Over<L: SimdVector<Number = Self::Part>>: SideBySide<L>;

    /// Copies of this number.
    #[doc(hidden)]
    fn splat<L: SimdVector<Number = Self::Part>>(self) -> Self::Over<L>;
}

/// Scalars are single registers.
macro_rules! single_registers {
    ($($scalar:ty)*) => { $(
        impl InRegisters for $scalar {
            type Over<L: SimdVector<Number = Self>> = Register<L>;
            #[inline(always)]
            fn splat<L: SimdVector<Number = Self>>(self) -> Register<L> {
                Register(L::splat(self))
            }
        }
    )* };
}
single_registers! { f64 f32 }

impl<V: InRegisters, const N: usize> InRegisters for Dual<V, N> {
    type Over<L: SimdVector<Number = V::Part>> = Dual<V::Over<L>, N>;
    #[inline(always)]
    fn splat<L: SimdVector<Number = V::Part>>(self) -> Dual<V::Over<L>, N> {
        Dual { value: self.value.splat(), tangents: each(|k| self.tangents[k].splat()) }
    }
}

/// Several numbers, each part in a register. In memory, parts lie `stride` bytes apart.
pub trait SideBySide<L: SimdVector>: Number {
    /// All of them 1: to the compiler a constant, which [`ONE`](Number::ONE), a constant in memory, is not.
    fn one() -> Self;

    /// Loads consecutive numbers.
    ///
    /// # Safety
    ///
    /// As many numbers as there are lanes may be read from the address of each part.
    unsafe fn load(from: *const L::Number, stride: usize) -> Self;

    /// Stores to consecutive numbers.
    ///
    /// # Safety
    ///
    /// As many numbers as there are lanes may be written from the address of each part on.
    unsafe fn store(self, to: *mut L::Number, stride: usize);
}

/// A scalar whose registers are numbers: `f64` or `f32`.
pub trait Scalar: Float<Part = Self> {
    /// Value and companion of a rule, if registers have a formula for it that is compiled into each statement.
    #[doc(hidden)]
    fn inlined<R: Unary, L: SimdVector<Number = Self>>(x: L) -> Option<(L, L)>;
}

impl Scalar for f64 {
    #[inline(always)]
    fn inlined<R: Unary, L: SimdVector<Number = Self>>(x: L) -> Option<(L, L)> {
        let zero = L::zero();
        match () {
            () if const { R::HASH == Exp::HASH } && is::<R, Exp>() => Some((exponential::exp(x), zero)),
            () if const { R::HASH == ExpM1::HASH } && is::<R, ExpM1>() => Some((exponential::exp_m1(x), zero)),
            () if const { R::HASH == Ln::HASH } && is::<R, Ln>() => Some((logarithm::ln(x), zero)),
            () if const { R::HASH == Tanh::HASH } && is::<R, Tanh>() => Some((exponential::tanh(x), zero)),
            () if const { R::HASH == Sin::HASH } && is::<R, Sin>() => Some(circular::sin_cos(x)),
            () if const { R::HASH == Cos::HASH } && is::<R, Cos>() => Some(circular::cos_sin(x)),
            () => None,
        }
    }
}

impl Scalar for f32 {
    #[inline(always)]
    fn inlined<R: Unary, L: SimdVector<Number = Self>>(_: L) -> Option<(L, L)> {
        None
    }
}

/// Functions that are called, one for each instruction set: the row `Sin(x) = circular::sin_cos(x), 2;` names the
/// rule, its value and companion, and the number of these that it needs. Elements of `f32` are computed in `f64`.
macro_rules! called {
    (
        unary { $($rule:ident($x:ident) = $found:expr, $results:literal;)* }
        binary { $($rule2:ident($x2:ident, $y2:ident) = $found2:expr;)* }
    ) => {
        $(impl Formula for $rule {
            const COUNTS: [usize; 2] = [1, $results];
            #[inline(always)]
            fn of<L: SimdVector<Number = f64>>($x: L, _: L) -> (L, L) { $found }
        })*
        $(impl Formula for $rule2 {
            const COUNTS: [usize; 2] = [2, 1];
            #[inline(always)]
            fn of<L: SimdVector<Number = f64>>($x2: L, $y2: L) -> (L, L) { ($found2, L::zero()) }
        })*
        impl<L: SimdVector<Number: Scalar>> Register<L> {
            /// Value and companion of a rule of one argument, if it has a formula.
            #[inline(always)]
            fn called<R: Unary>(self) -> Option<(Self, Self)> {
                $(if const { R::HASH == <$rule as Unary>::HASH } && is::<R, $rule>() {
                    return Some(self.call::<$rule>(self));
                })*
                None
            }
            /// Value of a rule of two arguments, if it has a formula.
            #[inline(always)]
            fn called2<R: Binary>(self, other: Self) -> Option<Self> {
                $(if const { R::HASH == <$rule2 as Binary>::HASH } && is::<R, $rule2>() {
                    return Some(self.call::<$rule2>(other).0);
                })*
                None
            }
        }
    };
}
called! {
    unary {
        Exp(x) = (exponential::exp(x), L::zero()), 1;
        ExpM1(x) = (exponential::exp_m1(x), L::zero()), 1;
        Exp2(x) = (exponential::exp2(x), L::zero()), 1;
        Sinh(x) = (exponential::sinh(x).0, L::zero()), 1;
        Cosh(x) = (exponential::cosh(x).0, L::zero()), 1;
        Tanh(x) = (exponential::tanh(x), L::zero()), 1;
        Sigmoid(x) = exponential::sigmoid(x), 2;
        Softplus(x) = (exponential::softplus(x), L::zero()), 1;
        LnSigmoid(x) = (exponential::ln_sigmoid(x), L::zero()), 1;
        Ln(x) = (logarithm::ln(x), L::zero()), 1;
        Ln1p(x) = (logarithm::ln_1p(x), L::zero()), 1;
        Log2(x) = (logarithm::log2(x), L::zero()), 1;
        Log10(x) = (logarithm::log10(x), L::zero()), 1;
        Sin(x) = circular::sin_cos(x), 2;
        Cos(x) = circular::cos_sin(x), 2;
        Tan(x) = (circular::tan(x), L::zero()), 1;
        Asin(x) = (angle::asin(x), L::zero()), 1;
        Acos(x) = (angle::acos(x), L::zero()), 1;
        Atan(x) = (angle::atan(x), L::zero()), 1;
        Erf(x) = (error::erf(x), L::zero()), 1;
        Erfc(x) = (error::erfc(x), L::zero()), 1;
        NormalCdf(x) = (error::normal_cdf(x), L::zero()), 1;
        NormalPdf(x) = (error::normal_pdf(x), L::zero()), 1;
    }
    binary {
        Pow(x, y) = power::pow(x, y);
        Atan2(y, x) = angle::atan2(y, x);
    }
}

/// A register as a number, with the elements as lanes. Values of this type exist only inside of functions that are
/// compiled for the register's instruction set.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Register<L>(L);

impl<L: SimdVector<Number: Scalar>> SideBySide<L> for Register<L> {
    #[inline(always)]
    fn one() -> Self {
        Self(L::one())
    }
    #[inline(always)]
    unsafe fn load(from: *const L::Number, _: usize) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self(L::load(from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut L::Number, _: usize) {
        // SAFETY: promised by the caller.
        unsafe { self.0.store(to) }
    }
}

impl<L: SimdVector, V: SideBySide<L>, const N: usize> SideBySide<L> for Dual<V, N> {
    #[inline(always)]
    fn one() -> Self {
        Self { value: V::one(), tangents: [V::ZERO; N] }
    }
    #[inline(always)]
    unsafe fn load(from: *const L::Number, stride: usize) -> Self {
        // SAFETY: promised by the caller, for all parts.
        let part = |k: usize| unsafe { V::load(from.byte_add(k * planes::<V, L>() * stride), stride) };
        Self { value: part(0), tangents: each(|k| part(1 + k)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut L::Number, stride: usize) {
        // SAFETY: promised by the caller, for all parts.
        let part = |k: usize, part: V| unsafe { part.store(to.byte_add(k * planes::<V, L>() * stride), stride) };
        part(0, self.value);
        let mut k = 0;
        while k < N {
            part(1 + k, self.tangents[k]);
            k += 1;
        }
    }
}

/// Number of registers of a number.
const fn planes<V, L>() -> usize {
    size_of::<V>() / size_of::<L>()
}

// SAFETY: a register of scalars consists of scalars, without padding; all bits are valid.
unsafe impl<L: SimdVector<Number: Scalar>> bytemuck::Zeroable for Register<L> {}
// SAFETY: as above.
unsafe impl<L: SimdVector<Number: Scalar>> bytemuck::Pod for Register<L> {}

#[inline(always)]
fn is<R: 'static, Other: 'static>() -> bool {
    TypeId::of::<R>() == TypeId::of::<Other>()
}

impl<L: SimdVector<Number: Scalar>> Register<L> {
    /// All lanes the same number.
    #[inline(always)]
    fn splat(number: L::Number) -> Self {
        Self(L::splat(number))
    }

    /// Returns the elements, and zeros behind them.
    #[inline(always)]
    fn numbers(self) -> [L::Number; MOST] {
        let mut numbers = [L::Number::ZERO; MOST];
        // SAFETY: registers have at most `MOST` elements.
        unsafe { self.0.store(numbers.as_mut_ptr()) }
        numbers
    }

    #[inline(always)]
    fn of(numbers: [L::Number; MOST]) -> Self {
        // SAFETY: registers have at most `MOST` elements.
        unsafe { Self(L::load(numbers.as_ptr())) }
    }

    const fn constant(number: L::Number) -> Self {
        let numbers = [number; MOST];
        // SAFETY: a register consists of at most `MOST` elements.
        Self(unsafe { (&raw const numbers).cast::<L>().read_unaligned() })
    }

    /// Computes a formula by the function that is compiled for this instruction set.
    #[inline(always)]
    fn call<F: Formula>(self, other: Self) -> (Self, Self) {
        let (mut first, mut second) = (Self::wide(self.numbers()), Self::wide(other.numbers()));
        // SAFETY: registers have at most `MOST` elements.
        unsafe { L::call::<F>([first.as_mut_ptr(), second.as_mut_ptr()]) }
        let companion = if const { F::COUNTS[1] == 2 } { Self::of(Self::narrow(second)) } else { Self::default() };
        (Self::of(Self::narrow(first)), companion)
    }

    #[inline(always)]
    fn wide(numbers: [L::Number; MOST]) -> [f64; MOST] {
        let (mut wide, mut k) = ([0.0; MOST], 0);
        while k < Self::LANES {
            wide[k] = numbers[k].as_f64();
            k += 1;
        }
        wide
    }

    #[inline(always)]
    fn narrow(wide: [f64; MOST]) -> [L::Number; MOST] {
        let (mut numbers, mut k) = ([L::Number::ZERO; MOST], 0);
        while k < Self::LANES {
            numbers[k] = L::Number::from_f64(wide[k]);
            k += 1;
        }
        numbers
    }

    /// Builds a register from its elements. A loop without iterators, which would be compiled for each statement.
    #[inline(always)]
    fn each(mut element: impl FnMut(usize) -> L::Number) -> Self {
        let mut numbers = [L::Number::ZERO; MOST];
        let mut k = 0;
        while k < Self::LANES {
            numbers[k] = element(k);
            k += 1;
        }
        Self::of(numbers)
    }
}

impl<L: SimdVector<Number: Scalar>> Default for Register<L> {
    fn default() -> Self {
        Self(L::zero())
    }
}

impl<L: SimdVector<Number: Scalar>> PartialEq for Register<L> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        !L::any(self.0.differ(other.0))
    }
}

impl<L: SimdVector<Number: Scalar>> fmt::Debug for Register<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.numbers()[..Self::LANES]).finish()
    }
}

impl<L: SimdVector<Number: Scalar>> fmt::Display for Register<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Implements operators: the row `Add add` names the trait and its method.
macro_rules! operators {
    ($($trait:ident $method:ident)*) => { $(
        impl<L: SimdVector<Number: Scalar>> $trait for Register<L> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($trait::$method(self.0, other.0))
            }
        }
    )* };
}
operators! { Add add Sub sub Mul mul Div div }

impl<L: SimdVector<Number: Scalar>> AddAssign for Register<L> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<L: SimdVector<Number: Scalar>> Neg for Register<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// Functions that have no formula here, one element at a time.
macro_rules! by_elements {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary $ternary:tt
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        $(by_elements! { @ $floats1 $unary (self) self.unary::<crate::rules::$f1::$r1>().0 })*
        $(by_elements! { @ $floats2 $binary (self, other: Self) self.binary::<crate::rules::$f2::$r2>(other) })*
        $(by_elements! { @ native $step (self) {
            let x = self.numbers();
            Self::each(|k| x[k].$step())
        } })*
    };
    (@ rule $($any:tt)*) => {};
    (@ $floats:ident $name:ident ($($arguments:tt)*) $found:expr) => {
        #[inline(always)]
        fn $name($($arguments)*) -> Self { $found }
    };
}

impl<L: SimdVector<Number: Scalar>> Number for Register<L> {
    type Lane = L::Number;
    type Passed = Self;
    const LANES: usize = L::N;
    const PARTS: usize = L::N;
    const ORDER: usize = 0;
    const ZERO: Self = Self::constant(L::Number::ZERO);
    const ONE: Self = Self::constant(L::Number::ONE);

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::splat(L::Number::from_f64(value))
    }
    #[inline(always)]
    fn from_lanes(lane: impl FnMut(usize) -> L::Number) -> Self {
        Self::each(lane)
    }
    #[inline(always)]
    fn chosen<R: 'static>(
        [x, y]: [Self; 2],
        [left, right]: [Self; 2],
        is_left: impl Fn(L::Number, L::Number) -> bool + Copy,
    ) -> Self {
        let (x, y) = (x.0, y.0);
        // As the rules have it: at a tie the left one, and a maximum is not NaN if it can be helped.
        let mask = match () {
            () if is::<R, Max>() => L::either(y.at_most(x), y.differ(y)),
            () if is::<R, Min>() => L::either(x.at_most(y), y.differ(y)),
            () if is::<R, AtLeast>() => L::either(y.at_most(x), x.differ(x)),
            () if is::<R, AtMost>() => L::either(x.at_most(y), x.differ(x)),
            () => {
                let [x, y, left, right] = [Self(x), Self(y), left, right].map(Self::numbers);
                return Self::each(|k| if is_left(x[k], y[k]) { left[k] } else { right[k] });
            }
        };
        Self(L::select(mask, left.0, right.0))
    }
    #[inline(always)]
    fn where_nan(self, tested: Self, other: Self) -> Self {
        Self(L::select(tested.0.differ(tested.0), self.0, other.0))
    }
    #[inline(always)]
    fn pair_from_lanes(mut lanes: impl FnMut(usize) -> (L::Number, L::Number)) -> (Self, Self) {
        let mut second = [L::Number::ZERO; MOST];
        let first = Self::each(|k| {
            let (a, b) = lanes(k);
            second[k] = b;
            a
        });
        (first, Self::of(second))
    }
    #[inline(always)]
    fn lane(self, k: usize) -> L::Number {
        self.numbers()[k]
    }
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        Self::each(|k| L::Number::from_f64(part(k)))
    }
    fn part(self, k: usize) -> f64 {
        self.numbers()[k].as_f64()
    }
    #[track_caller]
    fn as_f64(self) -> f64 {
        let numbers = self.numbers();
        let same = (1..Self::LANES).all(|k| numbers[k].as_f64().to_bits() == numbers[0].as_f64().to_bits());
        assert!(same, "the elements of {self} have different values, so it is no single number");
        numbers[0].as_f64()
    }

    #[inline(always)]
    fn is_nought(self) -> bool {
        self == Self(L::zero())
    }
    #[inline(always)]
    fn contribution(self, partial: Self) -> Self {
        let zero = L::zero();
        let counts = L::both(self.0.differ(zero), partial.0.differ(zero));
        Self((self.0 * partial.0).or_zero(counts))
    }

    #[inline(always)]
    fn inverse(self) -> Self {
        Self(L::one()) / self
    }
    #[inline(always)]
    fn slope_of_quotient(self, divisor: Self, _: Self) -> Self {
        // 0 where the quotient is, also if the reciprocal is infinite.
        let zero = L::zero();
        let is_zero = L::both(self.0.equal(zero), zero.less(divisor.0.abs()));
        let inverse = divisor.inverse().0;
        Self(L::select(is_zero, zero, -self.0 * inverse * inverse))
    }

    #[inline(always)]
    fn unary<R: Unary>(self) -> (Self, Self) {
        if is::<R, Sqrt>() {
            return (Self(self.0.sqrt()), Self::default());
        }
        if let Some((value, companion)) = L::Number::inlined::<R, L>(self.0) {
            return (Self(value), Self(companion));
        }
        if let Some(found) = self.called::<R>() {
            return found;
        }
        let x = self.numbers();
        Self::pair_from_lanes(|k| R::value_and_companion(x[k]))
    }
    #[inline(always)]
    fn derivative<R: Unary>(self, y: Self, companion: Self) -> Self {
        match () {
            () if is::<R, Exp>() => y,
            () if is::<R, ExpM1>() => self.unary::<Exp>().0,
            () if is::<R, Sin>() => companion,
            () if is::<R, Cos>() => -companion,
            () if is::<R, Square>() => self + self,
            () if is::<R, Recip>() => -y * y,
            () => {
                let (x, y, companion) = (self.numbers(), y.numbers(), companion.numbers());
                Self::each(|k| R::derivative_with_companion(x[k], y[k], companion[k]))
            }
        }
    }
    #[inline(always)]
    fn binary<R: Binary>(self, other: Self) -> Self {
        let (x, y) = (self.0, other.0);
        match () {
            () if is::<R, Max>() || is::<R, Min>() => {
                Self::chosen::<R>([self, other], [self, other], <R as Binary>::selects_left)
            }
            () if is::<R, AtLeast>() => Self(L::select(x.less(y), y, x)),
            () if is::<R, AtMost>() => Self(L::select(y.less(x), y, x)),
            () if const { <R as Binary>::HASH == <Powi as Binary>::HASH }
                && is::<R, Powi>()
                && other == Self::splat(other.numbers()[0]) =>
            {
                self.powi(whole(other.numbers()[0]))
            }
            () => {
                if let Some(found) = self.called2::<R>(other) {
                    return found;
                }
                let (x, y) = (self.numbers(), other.numbers());
                Self::each(|k| R::value(x[k], y[k]))
            }
        }
    }
    #[inline(always)]
    fn partial_left<R: Binary>(self, other: Self, value: Self) -> Self {
        if returns_argument::<R>() {
            return value.where_nan(value, Self(L::one()));
        }
        let (x, y, value) = (self.numbers(), other.numbers(), value.numbers());
        Self::each(|k| R::partial_left(x[k], y[k], value[k]))
    }
    #[inline(always)]
    fn partial_right<R: Binary>(self, other: Self, value: Self) -> Self {
        if returns_argument::<R>() {
            return value.where_nan(value, Self(L::one()));
        }
        let (x, y, value) = (self.numbers(), other.numbers(), value.numbers());
        Self::each(|k| R::partial_right(x[k], y[k], value[k]))
    }

    fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self {
        let (x, y, z) = (self.numbers(), second.numbers(), third.numbers());
        Self::each(|k| R::value(x[k], y[k], z[k]))
    }
    fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], value: Self) -> Self {
        let (arguments, value) = (arguments.map(Self::numbers), value.numbers());
        Self::each(|k| partial_of_lane::<R, L::Number, K>(arguments.map(|x| x[k]), value[k]))
    }

    crate::for_each_function!(by_elements);
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        Self(power::powi(self.0, n))
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        self.unary::<Sin>()
    }
    fn polygamma(self, n: u32) -> Self {
        let x = self.numbers();
        Self::each(|k| x[k].polygamma(n))
    }
}

/// Array kernels never run over registers: an element of an array is a scalar, a dual or a pack.
impl<L: SimdVector<Number: Scalar>> Registers for Register<L> {
    type Part = L::Number;
    type Stride = isize;
    type Elements<'a> = Vec<Self>;
    fn elements(_: &[Self::Part], copy: impl FnOnce() -> Vec<Self>) -> Vec<Self> {
        copy()
    }
    type Single = ScalarValue<Self>;
    fn call(rule: &'static Rule, part: Part, x: Self, y: Self) -> Self {
        let (x, y) = (x.numbers(), y.numbers());
        Self::each(|k| L::Number::call(rule, part, x[k], y[k]))
    }
    fn call_with_slopes(_: &'static Rule, _: Part, _: Self, _: Self) -> (Self, Self, Self) {
        unreachable!("no kernel runs over registers")
    }
    fn call3(_: &'static Rule, _: Part, _: [Self; 3]) -> Self {
        unreachable!("no kernel runs over registers")
    }
    fn call3_with_slopes(_: &'static Rule, _: Part, _: [Self; 3]) -> (Self, [Self; 3]) {
        unreachable!("no kernel runs over registers")
    }
    unsafe fn dispatch<T: SimdTask<Self>>(task: T) -> T::Output {
        // SAFETY: promised by the caller.
        unsafe { task.run::<ScalarValue<Self>>() }
    }
}
