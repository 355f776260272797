//! The numbers a variable can hold.

use core::fmt::{Debug, Display};
use core::ops::AddAssign;

/// A floating-point value type: `f64` (the usual choice) or `f32`.
///
/// Elementary functions come from [`num_traits::Float`]; this trait adds the special functions that rules need and
/// the rounding of literals. Users never have to name it: generic code says `S: Strategy`.
pub trait Float: num_traits::Float + AddAssign + Default + Debug + Display + Send + Sync + 'static {
    /// Rounds an `f64` literal to this type, once.
    fn from_f64(value: f64) -> Self;
    /// The value as `f64`, exactly.
    fn as_f64(self) -> f64;
    /// Error function, from `libm`.
    fn erf(self) -> Self;
    /// Complementary error function, from `libm`.
    fn erfc(self) -> Self;
    /// Gamma function Γ(x), from `libm`.
    fn gamma(self) -> Self;
    /// ln |Γ(x)|, from `libm`.
    fn ln_gamma(self) -> Self;
    /// Digamma ψ(x) = Γ′(x)/Γ(x), from `statrs` (reflection for x < 0).
    fn digamma(self) -> Self;
    /// Trigamma ψ′(x), from `special`.
    fn trigamma(self) -> Self;
    /// The quantile of the standard normal distribution, Φ⁻¹(p); ∓∞ at 0 and 1, NaN outside.
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
            fn digamma(self) -> Self { Self::from_f64(statrs::function::gamma::digamma(self.as_f64())) }
            fn trigamma(self) -> Self { Self::from_f64(special::Gamma::trigamma(&self.as_f64())) }
            fn normal_quantile(self) -> Self { Self::from_f64(normal_quantile(self.as_f64())) }
        }
    )* };
}
float!(f64 f32);

/// Φ⁻¹(p) = −√2·erfc⁻¹(2p), polished by one Newton step on the tail that is not cancelled.
fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let z = -core::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p);
    let density = (-0.5 * z * z).exp() / (2.0 * core::f64::consts::PI).sqrt();
    let residual = 0.5 * libm::erfc(-z / core::f64::consts::SQRT_2) - p;
    if density > 0.0 { z - residual / density } else { z }
}
