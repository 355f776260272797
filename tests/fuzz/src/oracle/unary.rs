//! Functions of one argument: values and slopes by plain formulas, with the documented conventions.

use super::number::{Num, is_single, round, smallest, unit};
use super::special::{self, density, softplus};
use core::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Un {
    Neg,
    Abs,
    Sqrt,
    Cbrt,
    Recip,
    Exp,
    Exp2,
    ExpM1,
    Ln,
    Log2,
    Log10,
    Ln1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    ToDegrees,
    ToRadians,
    Fract,
    Erf,
    Erfc,
    Gamma,
    LnGamma,
    Digamma,
    NormalPdf,
    NormalCdf,
    NormalQuantile,
    Sigmoid,
    Softplus,
    Wave,
    Powi(i32),
}

/// Calls a function of the standard library in the library's precision.
macro_rules! standard {
    ($x:expr, $function:ident $(, $more:expr)?) => {{
        #[allow(clippy::cast_possible_truncation, reason = "the number has single precision")]
        let value = if is_single() { f64::from(($x as f32).$function($($more)?)) } else { $x.$function($($more)?) };
        Num::exact(value)
    }};
}

/// Where e⁻ˣ is 0 by far.
pub(super) fn vanishing() -> f64 {
    if is_single() { 250.0 } else { 2000.0 }
}

/// What is known to a relative error of 10⁻¹³.
pub(super) fn special(v: f64, k: f64) -> Num {
    if v.is_finite() { Num::within(v, (1e-13 + (k + 2.0) * unit()) * v.abs()) } else { Num::UNKNOWN }
}

/// The arguments for which the series of Γ and its like are good.
pub(super) fn is_moderate(x: f64) -> bool {
    x > 0.02 && x < 25.0
}

/// The value at `x`, which is exact.
pub(crate) fn value(op: Un, x: f64) -> Num {
    match op {
        Un::Neg => Num::exact(-x),
        Un::Abs => Num::exact(x.abs()),
        Un::Sqrt => standard!(x, sqrt),
        Un::Cbrt => standard!(x, cbrt),
        Un::Recip => Num::exact(round(1.0 / x)),
        Un::Exp => standard!(x, exp),
        Un::Exp2 => standard!(x, exp2),
        Un::ExpM1 => standard!(x, exp_m1),
        Un::Ln => standard!(x, ln),
        Un::Log2 => standard!(x, log2),
        Un::Log10 => standard!(x, log10),
        Un::Ln1p => standard!(x, ln_1p),
        Un::Sin => standard!(x, sin),
        Un::Cos => standard!(x, cos),
        Un::Tan => standard!(x, tan),
        Un::Asin => standard!(x, asin),
        Un::Acos => standard!(x, acos),
        Un::Atan => standard!(x, atan),
        Un::Sinh => standard!(x, sinh),
        Un::Cosh => standard!(x, cosh),
        Un::Tanh => standard!(x, tanh),
        Un::Asinh => standard!(x, asinh),
        Un::Acosh => standard!(x, acosh),
        Un::Atanh => standard!(x, atanh),
        Un::ToDegrees => standard!(x, to_degrees),
        Un::ToRadians => standard!(x, to_radians),
        Un::Fract => standard!(x, fract),
        Un::Powi(n) => standard!(x, powi, n),
        _ => special_value(op, x),
    }
}

fn special_value(op: Un, x: f64) -> Num {
    if x.is_nan() {
        return Num::exact(x);
    }
    match op {
        Un::Erf if x.is_finite() => special(special::erf(x), 0.0),
        Un::Erfc if x.abs() < 5.0 => special(special::erfc(x), 4.0 * x * x),
        Un::Gamma if is_moderate(x) => special(special::gamma(x), 0.0),
        Un::LnGamma if is_moderate(x) => Num::within(special::gamma(x).ln(), 3e-13),
        Un::Digamma if is_moderate(x) => Num::within(special::digamma(x), 1e-13 * (1.0 + 1.0 / x)),
        Un::NormalPdf if x.abs() < 30.0 => Num::near(density(x), 8.0 + 2.0 * x * x),
        Un::NormalCdf if x.abs() < 7.0 => special(special::distribution(x), 4.0 * x * x + 2.0),
        Un::NormalQuantile if (1e-3..0.999).contains(&x) => {
            let y = special::quantile(x);
            Num::within(y, 1e-13 * (1.0 + y.abs()) + unit() * x / density(y))
        }
        Un::Sigmoid if x.abs() < 600.0 => Num::near(softplus(x).1, 8.0),
        Un::Softplus if x.abs() < 600.0 => Num::near(softplus(x).0, 8.0),
        Un::Wave if x.abs() < 20.0 => {
            let v = x * (-x * x).exp();
            Num::within(v, (8.0 + 4.0 * x * x) * unit() * v.abs() + underflow(x))
        }
        _ => Num::UNKNOWN,
    }
}

/// A formula's result: good to some roundings, unless it is 0, which the formula may be by underflow.
fn good(v: f64) -> Num {
    Num::near(v, 16.0)
}

/// The error of a factor times eˣ where that underflows: a power next to 0 is right to its last place, and no better.
fn underflow(factor: f64) -> f64 {
    factor.abs() * smallest()
}

/// 0 where the condition holds, else the formula.
fn zero_if(condition: bool, formula: f64) -> Num {
    if condition { Num::ZERO } else { good(formula) }
}

/// The formula where the condition holds, else NaN.
fn only_if(condition: bool, formula: Num) -> Num {
    if condition { formula } else { Num::exact(f64::NAN) }
}

/// The slope at `x`, which is exact.
pub(crate) fn slope(op: Un, x: f64) -> Num {
    let (square, large) = (x * x, x.abs() > vanishing());
    match op {
        Un::Neg => Num::exact(-1.0),
        Un::Abs if x == 0.0 => Num::ZERO,
        Un::Abs => Num::exact(if x.is_nan() { x } else { x.signum() }),
        Un::Sqrt => only_if(x >= 0.0, zero_if(x == f64::INFINITY, 0.5 / x.abs().sqrt())),
        Un::Cbrt => zero_if(x.is_infinite(), 1.0 / (3.0 * x.cbrt() * x.cbrt())),
        Un::Recip => zero_if(x.abs() > if is_single() { 1e30 } else { 1e200 }, -1.0 / x / x),
        Un::Exp | Un::ExpM1 => zero_if(x < -vanishing(), rounded_exp(x)),
        Un::Exp2 => zero_if(x < -2.0 * vanishing(), round(x.exp2()) * LN_2),
        Un::Ln => logarithm(x, 1.0),
        Un::Log2 => logarithm(x, LN_2),
        Un::Log10 => logarithm(x, LN_10),
        Un::Ln1p => logarithm(1.0 + x, 1.0),
        Un::Sin => good(x.cos()),
        Un::Cos => zero_if(x == 0.0, -x.sin()),
        Un::Tan => good(1.0 / x.cos() / x.cos()),
        Un::Asin => only_if(x.abs() <= 1.0, good(1.0 / ((1.0 - x) * (1.0 + x)).sqrt())),
        Un::Acos => only_if(x.abs() <= 1.0, good(-1.0 / ((1.0 - x) * (1.0 + x)).sqrt())),
        Un::Atan if x.abs() > 1.0 => zero_if(x.abs() > if is_single() { 1e30 } else { 1e200 }, 1.0 / x / (x + 1.0 / x)),
        Un::Atan => good(1.0 / (1.0 + square)),
        Un::Sinh => good(x.cosh()),
        Un::Cosh => zero_if(x == 0.0, x.sinh()),
        Un::Tanh => tanh_slope(x, large),
        Un::Asinh => zero_if(x.is_infinite(), 1.0 / 1.0_f64.hypot(x)),
        Un::Acosh => only_if(x >= 1.0, zero_if(x.is_infinite(), 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt()))),
        Un::Atanh => only_if(x.abs() <= 1.0, good(1.0 / ((1.0 - x) * (1.0 + x)))),
        Un::ToDegrees => good(180.0 / core::f64::consts::PI),
        Un::ToRadians => good(core::f64::consts::PI / 180.0),
        Un::Fract => Num::exact(if x.is_finite() { 1.0 } else { f64::NAN }),
        Un::Powi(n) => powi_slope(x, n),
        _ if x.is_nan() => Num::exact(x),
        _ => special_slope(op, x, large),
    }
}

/// eˣ, infinite where it is in the library's precision.
fn rounded_exp(x: f64) -> f64 {
    if round(x.exp()) == f64::INFINITY { f64::INFINITY } else { x.exp() }
}

/// 1/(x·scale) as the slope of a logarithm. Near the largest number the product overflows, and the slope has lost
/// digits; near 0, 1/x may overflow where the slope does not.
fn logarithm(x: f64, scale: f64) -> Num {
    let (slope, normal) =
        (1.0 / scale / x.abs(), if is_single() { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE });
    if slope > 0.0 && slope < normal {
        return Num::UNKNOWN;
    }
    only_if(x >= 0.0, zero_if(x == f64::INFINITY, slope))
}

/// 1/cosh²; a rule that uses tanh x loses digits where that is near ±1.
fn tanh_slope(x: f64, large: bool) -> Num {
    if large {
        return Num::ZERO;
    }
    let (c, lost) = (x.cosh(), 1.0 / (1.0 - x.tanh().abs()).max(1.0 / 64.0));
    // The square may overflow where its reciprocal does not underflow.
    Num::near(1.0 / c / c, 16.0 + lost)
}

fn powi_slope(x: f64, n: i32) -> Num {
    let slope = f64::from(n) * x.powf(f64::from(n - 1));
    match n {
        0 => Num::ZERO,
        1 if x.is_nan() => Num::UNKNOWN,
        1 => Num::ONE,
        _ if slope == 0.0 && (x == 0.0 || x.is_infinite()) => Num::ZERO,
        _ if x == 0.0 => Num::exact(slope),
        _ => Num::near(slope, 64.0 + 4.0 * f64::from(n).abs()),
    }
}

fn special_slope(op: Un, x: f64, large: bool) -> Num {
    let (gauss, lost) = ((-x * x).exp() * FRAC_2_SQRT_PI, 8.0 + 4.0 * x * x);
    match op {
        Un::Erf | Un::Erfc | Un::NormalPdf | Un::NormalCdf | Un::Sigmoid if large => Num::ZERO,
        Un::Softplus if x < -vanishing() => Num::ZERO,
        Un::Erf => Num::near(gauss, lost),
        Un::Erfc => Num::near(-gauss, lost),
        Un::Gamma if is_moderate(x) => {
            // Next to the zero of ψ the library's is right to 3·10⁻¹⁵.
            let (gamma, psi) = (special::gamma(x), special::digamma(x));
            Num::within(gamma * psi, gamma * (1e-14 + (1e-13 + 4.0 * unit()) * psi.abs()))
        }
        Un::LnGamma if is_moderate(x) => {
            Num::within(special::digamma(x), 1e-14 + (1e-13 + 2.0 * unit()) * (special::digamma(x).abs() + 1.0 / x))
        }
        Un::Digamma if is_moderate(x) => special(special::trigamma(x), 0.0),
        Un::NormalPdf if x == 0.0 => Num::ZERO,
        Un::NormalPdf => {
            let v = -x * density(x);
            Num::within(v, lost * unit() * v.abs() + underflow(x))
        }
        Un::NormalCdf => Num::near(density(x), lost),
        Un::NormalQuantile if (1e-3..0.999).contains(&x) => {
            let y = special::quantile(x);
            let lost = (1e-13 * (1.0 + y.abs()) + unit() * x / density(y)) * y.abs();
            Num::within(1.0 / density(y), (lost + (16.0 + 4.0 * y * y) * unit()) / density(y))
        }
        Un::Sigmoid if x.abs() < 30.0 => Num::near(softplus(x).1 * softplus(-x).1, 16.0),
        Un::Softplus if x.abs() < 30.0 => Num::near(softplus(x).1, 16.0),
        Un::Wave if x.abs() < 20.0 => {
            let (e, factor) = ((-x * x).exp(), 1.0 + 2.0 * x * x);
            let lost = (16.0 + 8.0 * x * x) * factor * e * unit();
            Num::within((1.0 - 2.0 * x * x) * e, lost + underflow(factor))
        }
        _ => Num::UNKNOWN,
    }
}
