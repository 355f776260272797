//! The numbers a variable can hold.

use core::f64::consts::{PI, SQRT_2};
use core::fmt::{Debug, Display};
use core::ops::AddAssign;
use statrs::function::erf;

/// A floating-point value type: `f64` (the usual choice) or `f32`.
///
/// Elementary functions come from [`num_traits::Float`]; this trait adds the special functions that rules need and
/// the rounding of literals. Users never have to name it: generic code says `S: Strategy`.
///
/// The trait is sealed: tapes store numbers as plain bytes, and rely on their size, their alignment and the absence of
/// padding. A number type of your own does not compile:
///
/// ```compile_fail
/// # use num_traits as nt;
/// # use std::ops::*;
/// # macro_rules! ops { ($($t:ident $m:ident $ta:ident $ma:ident $o:tt;)*) => { $( impl $t for Wide { type Output = Wide; fn $m(self, o: Wide) -> Wide { Wide(self.0 $o o.0) } } impl $ta for Wide { fn $ma(&mut self, o: Wide) { self.0 = self.0 $o o.0 } } )* } }
/// # ops! { Add add AddAssign add_assign +; Sub sub SubAssign sub_assign -; Mul mul MulAssign mul_assign *; Div div DivAssign div_assign /; Rem rem RemAssign rem_assign %; }
/// # impl Neg for Wide { type Output = Wide; fn neg(self) -> Wide { Wide(-self.0) } }
/// # impl std::fmt::Display for Wide { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { self.0.fmt(f) } }
/// # impl nt::Zero for Wide { fn zero() -> Wide { Wide(0.0) } fn is_zero(&self) -> bool { self.0 == 0.0 } }
/// # impl nt::One for Wide { fn one() -> Wide { Wide(1.0) } }
/// # impl nt::Num for Wide { type FromStrRadixErr = (); fn from_str_radix(_: &str, _: u32) -> Result<Wide, ()> { Err(()) } }
/// # impl nt::ToPrimitive for Wide { fn to_i64(&self) -> Option<i64> { None } fn to_u64(&self) -> Option<u64> { None } }
/// # impl nt::NumCast for Wide { fn from<T: nt::ToPrimitive>(n: T) -> Option<Wide> { n.to_f64().map(Wide) } }
/// # macro_rules! f0 { ($($n:ident)*) => { $( fn $n() -> Wide { Wide(<f64 as nt::Float>::$n()) } )* } }
/// # macro_rules! f1 { ($($n:ident)*) => { $( fn $n(self) -> Wide { Wide(nt::Float::$n(self.0)) } )* } }
/// # macro_rules! fb { ($($n:ident)*) => { $( fn $n(self) -> bool { nt::Float::$n(self.0) } )* } }
/// # macro_rules! f2 { ($($n:ident)*) => { $( fn $n(self, o: Wide) -> Wide { Wide(nt::Float::$n(self.0, o.0)) } )* } }
/// # impl nt::Float for Wide {
/// #     f0! { nan infinity neg_infinity neg_zero min_value min_positive_value max_value }
/// #     f1! { floor ceil round trunc fract abs signum recip sqrt exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh asinh acosh atanh }
/// #     fb! { is_nan is_infinite is_finite is_normal is_sign_positive is_sign_negative }
/// #     f2! { powf log max min abs_sub hypot atan2 }
/// #     fn classify(self) -> std::num::FpCategory { self.0.classify() }
/// #     fn mul_add(self, a: Wide, b: Wide) -> Wide { Wide(self.0.mul_add(a.0, b.0)) }
/// #     fn powi(self, n: i32) -> Wide { Wide(self.0.powi(n)) }
/// #     fn sin_cos(self) -> (Wide, Wide) { (nt::Float::sin(self), nt::Float::cos(self)) }
/// #     fn integer_decode(self) -> (u64, i16, i8) { nt::Float::integer_decode(self.0) }
/// # }
/// # macro_rules! special { ($($n:ident)*) => { $( fn $n(self) -> Wide { self } )* } }
/// #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
/// #[repr(align(64))]
/// struct Wide(f64);
///
/// impl tapewright_strategies::Float for Wide {
///     fn from_f64(value: f64) -> Self { Self(value) }
///     fn as_f64(self) -> f64 { self.0 }
///     // ...
/// #   special! { erf erfc gamma ln_gamma digamma trigamma normal_quantile }
/// }
/// ```
pub trait Float:
    sealed::Sealed
    + crate::lanes::Registers
    + num_traits::Float
    + bytemuck::Pod
    + AddAssign
    + Default
    + Debug
    + Display
    + Send
    + Sync
    + 'static
{
    /// Rounds an `f64` literal to this type, once.
    fn from_f64(value: f64) -> Self;
    /// The value as `f64`, exactly.
    fn as_f64(self) -> f64;
    /// Whether the value is finite and not 0, in one comparison.
    #[doc(hidden)]
    fn is_ordinary(self) -> bool;
    /// Whether the value is 0, by the same number that tells whether it is ordinary.
    #[doc(hidden)]
    fn is_nought(self) -> bool;
    /// Error function, from `libm`.
    #[must_use]
    fn erf(self) -> Self;
    /// Complementary error function, from `libm`.
    #[must_use]
    fn erfc(self) -> Self;
    /// Gamma function Γ(x), from `libm`.
    #[must_use]
    fn gamma(self) -> Self;
    /// ln |Γ(x)|, from `libm`.
    #[must_use]
    fn ln_gamma(self) -> Self;
    /// Digamma ψ(x) = Γ′(x)/Γ(x), from `statrs`; ∓∞ at ±0, NaN at the other poles.
    #[must_use]
    fn digamma(self) -> Self;
    /// Trigamma ψ′(x), from `special`; +∞ at ±0, NaN at the other poles.
    #[must_use]
    fn trigamma(self) -> Self;
    /// The quantile of the standard normal distribution, Φ⁻¹(p); ∓∞ at 0 and 1, NaN outside.
    #[must_use]
    fn normal_quantile(self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! float {
    ($($t:ty)*) => { $(
        impl sealed::Sealed for $t {}
        impl Float for $t {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding a literal to the value type is the purpose")]
            fn from_f64(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn as_f64(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn is_ordinary(self) -> bool {
                // Without its sign, a number's bits are 0 for zeros, and from those of ∞ on for what is not finite.
                (self.to_bits() << 1).wrapping_sub(1) < (Self::INFINITY.to_bits() << 1) - 1
            }
            #[inline(always)]
            fn is_nought(self) -> bool { self.to_bits() << 1 == 0 }
            fn erf(self) -> Self { Self::from_f64(libm::erf(self.as_f64())) }
            fn erfc(self) -> Self { Self::from_f64(libm::erfc(self.as_f64())) }
            fn gamma(self) -> Self { Self::from_f64(libm::tgamma(self.as_f64())) }
            fn ln_gamma(self) -> Self { Self::from_f64(libm::lgamma(self.as_f64())) }
            fn digamma(self) -> Self { Self::from_f64(digamma(self.as_f64())) }
            fn trigamma(self) -> Self { Self::from_f64(trigamma(self.as_f64())) }
            fn normal_quantile(self) -> Self { Self::from_f64(normal_quantile(self.as_f64())) }
        }
    )* };
}
float!(f64 f32);

/// Whether a record with this seed adds seed·partial to the adjoint of an argument. Zero times anything, infinities and
/// NaN included, is zero and adds nothing.
#[inline(always)]
pub(crate) fn counts<V: Float>(seed: V, partial: V) -> bool {
    seed.is_ordinary() || seed != V::zero() && partial != V::zero()
}

/// By ψ(x) = ψ(1 − x) − π/tan πx for x < 0, with x reduced to a period first.
fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        -x.recip()
    } else if x < 0.0 {
        statrs::function::gamma::digamma(1.0 - x) - PI / (PI * past_pole(x)).tan()
    } else {
        statrs::function::gamma::digamma(x)
    }
}

/// By ψ′(x) = (π/sin πx)² − ψ′(1 − x) for x < 0, with x reduced to a period first.
fn trigamma(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY
    } else if x < 0.0 {
        let ratio = PI / (PI * past_pole(x)).sin();
        ratio * ratio - special::Gamma::trigamma(&(1.0 - x))
    } else {
        special::Gamma::trigamma(&x)
    }
}

/// The distance from the nearest whole number; NaN where that is 0.
fn past_pole(x: f64) -> f64 {
    let distance = x - x.round();
    if distance == 0.0 { f64::NAN } else { distance }
}

/// Φ⁻¹(p) from the inverse error functions, polished by one Newton step. Near the ends it starts from erfc⁻¹, near the
/// middle from erf⁻¹, and above the middle it is the quantile of 1 − p, so that no digits cancel.
fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 || p.is_nan() {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let (z, excess): (f64, fn(f64, f64) -> f64) = if p < 0.25 {
        (-SQRT_2 * erf::erfc_inv(2.0 * p), |z, p| 0.5 * libm::erfc(-z / SQRT_2) - p)
    } else {
        (SQRT_2 * erf::erf_inv(2.0 * (p - 0.5)), |z, p| 0.5 * libm::erf(z / SQRT_2) - (p - 0.5))
    };
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    if density > f64::MIN_POSITIVE { z - excess(z, p) / density } else { z }
}
