//! The numbers a variable can hold.

use core::f64::consts::{PI, SQRT_2};
use core::fmt::{Debug, Display};
use core::ops::AddAssign;
use statrs::function::erf;

/// A floating-point value type: `f64` (the usual choice) or `f32`.
///
/// Elementary functions come from [`num_traits::Float`]; this trait adds the special functions that rules need and
/// the rounding of literals. Users never have to name it: generic code says `S: Strategy`.
pub trait Float:
    num_traits::Float + bytemuck::Pod + AddAssign + Default + Debug + Display + Send + Sync + 'static
{
    /// Rounds an `f64` literal to this type, once.
    fn from_f64(value: f64) -> Self;
    /// The value as `f64`, exactly.
    fn as_f64(self) -> f64;
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

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Float for $t {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding a literal to the value type is the purpose")]
            fn from_f64(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn as_f64(self) -> f64 { f64::from(self) }
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
