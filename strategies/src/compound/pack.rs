//! Packs: several numbers that are computed together.

use super::registered::{self, Registered};
use crate::number::traits::{Binary, Number, Plain, Ternary, Unary, partial_of_lane};
use crate::rules::selection::returns_argument;
use core::array::from_fn;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Index, Mul, Neg, Sub};

/// `N` numbers, the *lanes*, that are computed together: `N` evaluations of a program in one recording.
///
/// All lanes share statements, identifiers and branches; each lane has its own values and adjoints. Arithmetic and the
/// [functions](crate::Pack#functions) below work on complete SIMD registers, as wide as those of the compile-time
/// target. In memory the lanes are contiguous, without padding.
///
/// # Branches
///
/// `if x < y` compares all lanes, and panics where they disagree; `x.less(&y).select(&a, &b)` chooses lane by lane, and
/// so do `min`, `max`, `abs`, `clamp` and the smooth ones.
///
/// # Functions
///
/// `exp`, `exp_m1`, `ln`, `ln_1p`, `sin`, `cos`, `sinh`, `cosh`, `tanh`, `asin`, `acos`, `atan` and `powf` are the
/// functions of the crate `wide`, which differ from the standard library's in the last places; where arguments or
/// results are very large or very small, infinite or NaN, the standard library's are used. All other functions are
/// computed lane by lane and have the same bits as for single numbers. The result of a lane never depends on other
/// lanes.
///
/// ```
/// use tapewright_strategies::{Number, Pack};
///
/// let x = Pack([1.0, 2.0]);
/// assert_eq!((x * x + Pack::from_f64(0.5)).0, [1.5, 4.5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Pack<const N: usize, V = f64>(
    /// The lanes.
    pub [V; N],
);

impl<const N: usize, V: Registered> Default for Pack<N, V> {
    fn default() -> Self {
        Self::ZERO
    }
}

/// Formats the lanes, in brackets.
impl<const N: usize, V: fmt::Display> fmt::Display for Pack<N, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, lane) in self.0.iter().enumerate() {
            f.write_str(if k == 0 { "[" } else { ", " })?;
            fmt::Display::fmt(lane, f)?;
        }
        f.write_str("]")
    }
}

/// Indexes the lanes.
impl<const N: usize, V> Index<usize> for Pack<N, V> {
    type Output = V;
    fn index(&self, k: usize) -> &V {
        &self.0[k]
    }
}

/// Implements operators by functions of registers: the row `Add add plus` names the trait, its method and the function.
macro_rules! operators {
    ($($trait:ident $method:ident $function:ident)*) => { $(
        impl<const N: usize, V: Registered> $trait for Pack<N, V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(V::$function(self.0, other.0))
            }
        }
    )* };
}
operators! { Add add plus Sub sub minus Mul mul times Div div over }

impl<const N: usize, V: Registered> AddAssign for Pack<N, V> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const N: usize, V: Registered> Neg for Pack<N, V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(V::negative(self.0))
    }
}

/// Implements functions by complete registers, or lane by lane.
macro_rules! by_lanes {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary $ternary:tt
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        $(by_lanes! { @ $floats1 $unary (self) (self.0) self.0.map(|x| x.$unary()) })*
        $(by_lanes! {
            @ $floats2 $binary (self, other: Self) (self.0, other.0) from_fn(|k| self.0[k].$binary(other.0[k]))
        })*
        $(by_lanes! { @ native $step (self) (self.0) self.0.map(|x| x.$step()) })*
    };
    (@ rule $($any:tt)*) => {};
    (@ registers $name:ident ($($arguments:tt)*) ($($numbers:expr),*) $by_lane:expr) => {
        #[inline(always)]
        fn $name($($arguments)*) -> Self { Self(registered::$name($($numbers),*)) }
    };
    (@ $floats:ident $name:ident ($($arguments:tt)*) ($($numbers:expr),*) $by_lane:expr) => {
        #[inline(always)]
        fn $name($($arguments)*) -> Self { Self($by_lane) }
    };
}

impl<const N: usize, V: Registered> Plain for Pack<N, V> {}
impl<const N: usize, V: Registered> Number for Pack<N, V> {
    type Lane = V;
    type Passed = crate::number::traits::Lined<Self>;
    const LANES: usize = {
        assert!(N > 0, "a pack needs lanes");
        N
    };
    const PARTS: usize = N;
    const ORDER: usize = V::ORDER;
    const ZERO: Self = Self([V::ZERO; N]);
    const ONE: Self = Self([V::ONE; N]);

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self([V::from_f64(value); N])
    }
    #[inline(always)]
    fn from_lanes(lane: impl FnMut(usize) -> V) -> Self {
        Self(from_fn(lane))
    }
    #[inline(always)]
    fn chosen<R: 'static>([x, y]: [Self; 2], [left, right]: [Self; 2], is_left: impl Fn(V, V) -> bool + Copy) -> Self {
        registered::chosen::<R, V, N>(x.0, y.0, (left.0, right.0))
            .map_or_else(|| Self(from_fn(|k| if is_left(x.0[k], y.0[k]) { left.0[k] } else { right.0[k] })), Self)
    }
    #[inline(always)]
    fn where_nan(self, tested: Self, other: Self) -> Self {
        Self(V::where_nan_of(tested.0, self.0, other.0))
    }
    #[inline(always)]
    fn by_registers(self) -> Self {
        Self(V::copied(&self.0))
    }
    #[inline(always)]
    fn pair_from_lanes(mut lanes: impl FnMut(usize) -> (V, V)) -> (Self, Self) {
        let mut second = [V::ZERO; N];
        let first = from_fn(|k| {
            let (a, b) = lanes(k);
            second[k] = b;
            a
        });
        (Self(first), Self(second))
    }
    #[inline(always)]
    fn lane(self, k: usize) -> V {
        self.0[k]
    }
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        Self(from_fn(|k| V::from_f64(part(k))))
    }
    fn part(self, k: usize) -> f64 {
        self.0[k].as_f64()
    }
    #[track_caller]
    fn as_f64(self) -> f64 {
        let bits = self.0.map(|lane| lane.as_f64().to_bits());
        let same = bits.iter().all(|lane| *lane == bits[0]);
        assert!(same, "the lanes of {self} have different values, so it is no single number");
        self.0[0].as_f64()
    }

    #[inline(always)]
    fn is_nought(self) -> bool {
        V::are_nought(self.0)
    }
    #[inline(always)]
    fn contribution(self, partial: Self) -> Self {
        Self(V::contributed(self.0, partial.0))
    }

    #[inline(always)]
    fn unary<R: Unary>(self) -> (Self, Self) {
        registered::unary::<R, V, N>(self.0).map_or_else(
            || Self::pair_from_lanes(|k| R::value_and_companion(self.0[k])),
            |(value, companion)| (Self(value), Self(companion)),
        )
    }
    #[inline(always)]
    fn derivative<R: Unary>(self, y: Self, companion: Self) -> Self {
        registered::derivative::<R, V, N>(self.0)
            .map_or_else(|| Self(from_fn(|k| R::derivative_with_companion(self.0[k], y.0[k], companion.0[k]))), Self)
    }
    #[inline(always)]
    fn binary<R: Binary>(self, other: Self) -> Self {
        registered::binary::<R, V, N>(self.0, other.0)
            .map_or_else(|| Self(from_fn(|k| R::value(self.0[k], other.0[k]))), Self)
    }
    #[inline(always)]
    fn partial_left<R: Binary>(self, other: Self, value: Self) -> Self {
        if returns_argument::<R>() {
            return value.where_nan(value, Self::ONE);
        }
        Self(from_fn(|k| R::partial_left(self.0[k], other.0[k], value.0[k])))
    }
    #[inline(always)]
    fn partial_right<R: Binary>(self, other: Self, value: Self) -> Self {
        if returns_argument::<R>() {
            return value.where_nan(value, Self::ONE);
        }
        Self(from_fn(|k| R::partial_right(self.0[k], other.0[k], value.0[k])))
    }

    fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self {
        Self(from_fn(|k| R::value(self.0[k], second.0[k], third.0[k])))
    }
    fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], value: Self) -> Self {
        Self(from_fn(|k| partial_of_lane::<R, V, K>(arguments.map(|x| x.0[k]), value.0[k])))
    }

    crate::for_each_function!(by_lanes);
    #[inline]
    fn powi(self, n: i32) -> Self {
        Self(self.0.map(|x| x.powi(n)))
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = registered::sin_cos(self.0);
        (Self(sin), Self(cos))
    }
    fn polygamma(self, n: u32) -> Self {
        Self(self.0.map(|x| x.polygamma(n)))
    }
}
