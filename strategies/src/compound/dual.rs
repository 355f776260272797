//! Implementation of the number traits for duals, by derivative rules.

use crate::number::dual::{Dual, each, guarded};
use crate::number::traits::{Binary, Float, Number, Plain, Ternary, Unary, partial_of_lane, sealed};
use crate::rules::arithmetic::{Modulo, Over};
use crate::rules::elementary::exponential::{Exp, ExpM1};
use crate::rules::elementary::power::{Powi, Recip, Sqrt, Square};
use crate::rules::elementary::trigonometric::{Cos, Sin};
use crate::rules::selection::returns_argument;
use crate::rules::special::{FRAC_1_SQRT_TAU, NormalCdf};
use crate::rules::{Function, Operator};
use core::any::TypeId;
use core::cmp::Ordering;
use core::num::FpCategory;
use core::ops::{Div, Rem};
use num_traits::{Num, NumCast, One, ToPrimitive, Zero};
use smallvec::SmallVec;

impl<V: Number, const N: usize> Dual<V, N> {
    #[inline(always)]
    fn apply<R: Function>(self) -> Self {
        let (y, companion) = R::value_and_companion(self.value);
        self.chain(y, R::derivative(self.value, y, companion))
    }

    #[inline(always)]
    fn apply2<R: Operator>(self, other: Self) -> Self {
        let (x, y) = (self.value, other.value);
        let value = R::value(x, y);
        let (mut left, mut right) = (R::partial_left(x, y, value), R::partial_right(x, y, value));
        if R::SELECTS {
            left = V::chosen::<R>([x, y], [left, V::ZERO], R::selects_left);
            right = V::chosen::<R>([x, y], [V::ZERO, right], R::selects_left);
        }
        self.chain2(other, value, (left, right))
    }
}

impl<V: Number, const N: usize> Dual<V, N> {
    /// The derivative of a rule, given the rule's value, if its formula needs no choice that lanes make by themselves:
    /// the formula of the rule, for all lanes at once.
    #[inline(always)]
    fn derivative_of_lanes<R: Unary>(self, y: Self) -> Option<Self> {
        match () {
            () if is::<R, Exp>() => Some(y),
            () if is::<R, ExpM1>() => Some(self.exp()),
            () if is::<R, Sin>() => Some(self.cos()),
            () if is::<R, Cos>() => Some(-self.sin()),
            () if is::<R, Sqrt>() => Some(Self::from_f64(0.5) / (y + Self::ZERO)),
            () if is::<R, Square>() => Some(self + self),
            () if is::<R, Recip>() => Some(-(y * y)),
            () if is::<R, NormalCdf>() => {
                Some(Self::from_f64(FRAC_1_SQRT_TAU) * (Self::from_f64(-0.5) * self * self).exp())
            }
            () => None,
        }
    }
}

fn is<R: 'static, Other: 'static>() -> bool {
    TypeId::of::<R>() == TypeId::of::<Other>()
}

// Functions of their own, so that the closures of the callers leave no copies of them.
impl<V: Number, const N: usize> Dual<V, N> {
    /// The number whose lanes all equal this one.
    #[inline(always)]
    fn of_lane(lane: Dual<V::Lane, N>) -> Self {
        Self { value: V::from_lanes(|_| lane.value), tangents: each(|i| V::from_lanes(|_| lane.tangents[i])) }
    }

    /// The number with these lanes.
    #[inline(always)]
    fn of_lanes(lanes: &[Dual<V::Lane, N>]) -> Self {
        let tangent = |i: usize| V::from_lanes(|k| lanes[k].tangents[i]);
        Self { value: V::from_lanes(|k| lanes[k].value), tangents: each(tangent) }
    }
}

impl<V: Number, const N: usize> Div for Dual<V, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.apply2::<Over>(other)
    }
}

impl<V: Number, const N: usize> Rem for Dual<V, N> {
    type Output = Self;
    fn rem(self, other: Self) -> Self {
        self.apply2::<Modulo>(other)
    }
}

/// Compares the values only.
impl<V: Float, const N: usize> PartialOrd for Dual<V, N> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

/// Implements functions by rules: the row `exp: exponential::Exp, registers;` becomes `fn exp(self) -> Self`.
macro_rules! by_rules {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary $ternary:tt
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        $(by_rules! { @ $floats1 $unary (self) self.apply::<crate::rules::$f1::$r1>() })*
        $(by_rules! { @ $floats2 $binary (self, other: Self) self.apply2::<crate::rules::$f2::$r2>(other) })*
        $(#[inline]
        fn $step(self) -> Self { Self::constant(self.value.$step()) })*
    };
    (@ rule $($any:tt)*) => {};
    (@ $floats:ident $name:ident ($($arguments:tt)*) $by_rule:expr) => {
        #[inline]
        fn $name($($arguments)*) -> Self { $by_rule }
    };
}

impl<V: Number, const N: usize> Number for Dual<V, N> {
    type Lane = Dual<V::Lane, N>;
    type Passed = Self;
    const LANES: usize = V::LANES;
    const PARTS: usize = V::PARTS * (1 + N);
    const ORDER: usize = V::ORDER + 1;
    const VARIABLE: bool = V::VARIABLE;
    const ZERO: Self = Self { value: V::ZERO, tangents: [V::ZERO; N] };
    const ONE: Self = Self { value: V::ONE, tangents: [V::ZERO; N] };

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::constant(V::from_f64(value))
    }
    #[inline(always)]
    fn from_lanes(mut lane: impl FnMut(usize) -> Self::Lane) -> Self {
        if const { Self::LANES == 1 } {
            return Self::of_lane(lane(0));
        }
        let lanes: SmallVec<[Self::Lane; 8]> = (0..Self::LANES).map(&mut lane).collect();
        Self::of_lanes(&lanes)
    }
    #[inline(always)]
    fn chosen<R: 'static>(
        [x, y]: [Self; 2],
        [left, right]: [Self; 2],
        is_left: impl Fn(Self::Lane, Self::Lane) -> bool + Copy,
    ) -> Self {
        let is_left = |x, y| is_left(Dual::constant(x), Dual::constant(y));
        let chosen = |left, right| V::chosen::<R>([x.value, y.value], [left, right], is_left);
        Self { value: chosen(left.value, right.value), tangents: each(|i| chosen(left.tangents[i], right.tangents[i])) }
    }
    #[inline(always)]
    fn where_nan(self, tested: Self, other: Self) -> Self {
        let part = |part: V, other| part.where_nan(tested.value, other);
        Self { value: part(self.value, other.value), tangents: each(|i| part(self.tangents[i], other.tangents[i])) }
    }
    #[inline(always)]
    fn pair_from_lanes(mut pair: impl FnMut(usize) -> (Self::Lane, Self::Lane)) -> (Self, Self) {
        if const { Self::LANES == 1 } {
            let (first, second) = pair(0);
            return (Self::of_lane(first), Self::of_lane(second));
        }
        let lanes: SmallVec<[(Self::Lane, Self::Lane); 8]> = (0..Self::LANES).map(&mut pair).collect();
        (Self::from_lanes(|k| lanes[k].0), Self::from_lanes(|k| lanes[k].1))
    }
    #[inline(always)]
    fn lane(self, k: usize) -> Self::Lane {
        Dual { value: self.value.lane(k), tangents: each(|i| self.tangents[i].lane(k)) }
    }
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        let mut number = |i: usize| V::from_parts(|k| part(i * V::PARTS + k));
        Self { value: number(0), tangents: each(|i| number(1 + i)) }
    }
    fn part(self, k: usize) -> f64 {
        match k / V::PARTS {
            0 => self.value.part(k),
            i => self.tangents[i - 1].part(k % V::PARTS),
        }
    }
    #[track_caller]
    fn as_f64(self) -> f64 {
        self.value.as_f64()
    }

    #[inline(always)]
    fn is_nought(self) -> bool {
        self.value.is_nought() && self.tangents.iter().all(|tangent| tangent.is_nought())
    }
    #[inline(always)]
    fn contribution(self, partial: Self) -> Self {
        self.chain2(partial, guarded(self.value, partial.value), (partial.value, self.value))
    }

    #[inline(always)]
    fn unary<R: Unary>(self) -> (Self, Self) {
        (self.apply::<R>(), Self::ZERO)
    }
    #[inline(always)]
    fn derivative<R: Unary>(self, y: Self, _: Self) -> Self {
        if const { Self::LANES > 1 }
            && let Some(derivative) = self.derivative_of_lanes::<R>(y)
        {
            return derivative;
        }
        Self::from_lanes(|k| R::derivative(self.lane(k), y.lane(k)))
    }
    #[inline(always)]
    fn binary<R: Binary>(self, other: Self) -> Self {
        self.apply2::<R>(other)
    }
    #[inline(always)]
    fn partial_left<R: Binary>(self, other: Self, value: Self) -> Self {
        if returns_argument::<R>() {
            return value.where_nan(value, Self::ONE);
        }
        Self::from_lanes(|k| R::partial_left(self.lane(k), other.lane(k), value.lane(k)))
    }
    #[inline(always)]
    fn partial_right<R: Binary>(self, other: Self, value: Self) -> Self {
        if returns_argument::<R>() {
            return value.where_nan(value, Self::ONE);
        }
        Self::from_lanes(|k| R::partial_right(self.lane(k), other.lane(k), value.lane(k)))
    }

    fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self {
        let arguments = [self.value, second.value, third.value];
        let value = self.value.ternary::<R>(second.value, third.value);
        // Partial derivatives for arguments with zero tangents are skipped, because they may be expensive.
        let moves = |x: &Self| x.tangents.iter().any(|tangent| !tangent.is_nought());
        let first = if moves(&self) { V::partial_of_three::<R, 0>(arguments, value) } else { V::ZERO };
        let at_second = if moves(&second) { V::partial_of_three::<R, 1>(arguments, value) } else { V::ZERO };
        let at_third = if moves(&third) { V::partial_of_three::<R, 2>(arguments, value) } else { V::ZERO };
        self.chain3([second, third], value, [first, at_second, at_third])
    }
    #[inline(always)]
    fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], value: Self) -> Self {
        Self::from_lanes(|k| partial_of_lane::<R, _, K>(arguments.map(|x| x.lane(k)), value.lane(k)))
    }

    crate::for_each_function!(by_rules);
    fn polygamma(self, n: u32) -> Self {
        self.chain(self.value.polygamma(n), self.value.polygamma(n + 1))
    }
    #[inline]
    fn powi(self, n: i32) -> Self {
        self.apply2::<Powi>(Self::from_f64(n.into()))
    }
    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
}

impl<V: Float, const N: usize> sealed::Sealed for Dual<V, N> {}
impl<V: Plain, const N: usize> Plain for Dual<V, N> {}

/// Forwards constants and classifications to the value.
macro_rules! of_value {
    ($($constant:ident)* | $($question:ident $answer:ty;)*) => {
        $(fn $constant() -> Self { Self::constant(V::$constant()) })*
        $(#[inline(always)]
        fn $question(self) -> $answer { self.value.$question() })*
    };
}

impl<V: Float, const N: usize> Float for Dual<V, N> {
    type Wide = Dual<V::Wide, N>;
    of_value! {
        nan infinity neg_infinity neg_zero epsilon min_value max_value min_positive_value
        | is_nan bool; is_infinite bool; is_finite bool; is_normal bool; is_subnormal bool; is_sign_positive bool;
        is_sign_negative bool; classify FpCategory; integer_decode (u64, i16, i8);
    }
    fn widen(self) -> Self::Wide {
        Dual { value: self.value.widen(), tangents: each(|i| self.tangents[i].widen()) }
    }
    fn narrow(wide: Self::Wide) -> Self {
        Self { value: V::narrow(wide.value), tangents: each(|i| V::narrow(wide.tangents[i])) }
    }
    fn with_value(self, value: f64) -> Self {
        Self { value: self.value.with_value(value), ..self }
    }
}

impl<V: Float, const N: usize> Zero for Dual<V, N> {
    fn zero() -> Self {
        Self::ZERO
    }
    /// Returns true if every part is 0.
    fn is_zero(&self) -> bool {
        self.is_nought()
    }
}

impl<V: Float, const N: usize> One for Dual<V, N> {
    fn one() -> Self {
        Self::ONE
    }
}

impl<V: Float, const N: usize> Num for Dual<V, N> {
    type FromStrRadixErr = V::FromStrRadixErr;
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        V::from_str_radix(text, radix).map(Self::constant)
    }
}

/// Casts the value.
impl<V: Float, const N: usize> ToPrimitive for Dual<V, N> {
    fn to_i64(&self) -> Option<i64> {
        self.value.to_i64()
    }
    fn to_u64(&self) -> Option<u64> {
        self.value.to_u64()
    }
    fn to_f64(&self) -> Option<f64> {
        self.value.to_f64()
    }
}

impl<V: Float, const N: usize> NumCast for Dual<V, N> {
    fn from<T: ToPrimitive>(number: T) -> Option<Self> {
        V::from(number).map(Self::constant)
    }
}
