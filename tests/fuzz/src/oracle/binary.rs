//! Functions of two arguments: values and slopes by plain formulas, with the documented conventions.

use super::number::{Num, is_single, round, smallest, unit};
use super::special::{self, softplus};
use super::unary::{is_moderate, special as to_special, vanishing};
use core::f64::consts::FRAC_1_SQRT_2;

/// A function of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bin {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    /// x − y, and 0 for equal infinities.
    Apart,
    Pow,
    Log,
    Hypot,
    /// The left argument is y.
    Atan2,
    Max,
    Min,
    /// Limits from below, and from above, where a NaN stays.
    AtLeast,
    AtMost,
    CopySign,
    Beta,
    LogAddExp,
    /// (√(d² + w²) − |d|)/2.
    Rounding,
    AbsSub,
    SquareTimes,
}

impl Bin {
    /// Whether it returns one of its arguments.
    pub(crate) const fn selects(self) -> bool {
        matches!(self, Self::Max | Self::Min | Self::AtLeast | Self::AtMost)
    }
}

/// For functions that return one of their arguments: whether it is the left one.
pub(crate) fn selects(op: Bin, x: f64, y: f64) -> Option<bool> {
    match op {
        Bin::Max => Some(x >= y || y.is_nan()),
        Bin::Min => Some(x <= y || y.is_nan()),
        Bin::AtLeast => Some(x >= y || x.is_nan()),
        Bin::AtMost => Some(x <= y || x.is_nan()),
        _ => None,
    }
}

/// Calls a function of the standard library in the library's precision.
macro_rules! standard {
    ($x:expr, $function:ident, $y:expr) => {{
        #[allow(clippy::cast_possible_truncation, reason = "the numbers have single precision")]
        let value = if is_single() { f64::from(($x as f32).$function($y as f32)) } else { $x.$function($y) };
        Num::exact(value)
    }};
}

/// The value at exact arguments.
pub(crate) fn value(op: Bin, x: f64, y: f64) -> Num {
    if let Some(left) = selects(op, x, y) {
        return Num::exact(if left { x } else { y });
    }
    match op {
        Bin::Plus => Num::exact(round(x + y)),
        Bin::Minus => Num::exact(round(x - y)),
        Bin::Times => Num::exact(round(x * y)),
        Bin::Over => Num::exact(round(x / y)),
        Bin::Modulo => Num::exact(x % y),
        Bin::Apart => Num::exact(if x == y { 0.0 } else { round(x - y) }),
        Bin::Pow => standard!(x, powf, y),
        Bin::Log => standard!(x, log, y),
        Bin::Hypot => standard!(x, hypot, y),
        Bin::Atan2 => standard!(x, atan2, y),
        Bin::CopySign if y.is_nan() && !x.is_nan() => Num::UNKNOWN,
        Bin::CopySign => Num::exact(x.copysign(y)),
        Bin::AbsSub => Num::exact(positive_difference(x, y)),
        _ if x.is_nan() || y.is_nan() => Num::UNKNOWN,
        Bin::Beta if is_moderate(x) && is_moderate(y) => {
            to_special(special::gamma(x) / special::gamma(x + y) * special::gamma(y), 4.0)
        }
        Bin::LogAddExp if x.abs().max(y.abs()) < 600.0 => {
            Num::within(special::log_add_exp(x, y), 8.0 * unit() * (x.max(y).abs() + 1.0))
        }
        Bin::Rounding if y == 0.0 => Num::ZERO,
        Bin::Rounding if is_ordinary(x, y) => Num::near(0.5 * y * (y / (x.hypot(y) + x.abs())), 12.0),
        Bin::SquareTimes => Num::exact(round(round(x * x) * y)),
        _ => Num::UNKNOWN,
    }
}

fn positive_difference(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x <= y {
        0.0
    } else {
        round(x - y)
    }
}

/// Whether plain formulas neither overflow nor lose digits.
fn is_ordinary(x: f64, y: f64) -> bool {
    let small = if is_single() { 1e-8 } else { 1e-80 };
    let fits = |x: f64| x == 0.0 || (x.abs() > small && x.abs() < 1.0 / small);
    fits(x) && fits(y)
}

type Slopes = (Num, Num);

const NAN: Num = Num::exact(f64::NAN);

/// The slopes for both arguments, which are exact; not those of functions that return one of them.
pub(crate) fn slopes(op: Bin, x: f64, y: f64) -> Slopes {
    match op {
        Bin::Plus => (Num::ONE, Num::ONE),
        Bin::Times => (Num::exact(y), Num::exact(x)),
        Bin::Over => (Num::exact(round(1.0 / y)), Num::exact(round(-round(x / y) / y))),
        Bin::Modulo => (Num::ONE, wraps(x, y)),
        Bin::Pow => (base(x, y), exponent(x, y)),
        Bin::Log => logarithm(x, y),
        Bin::Hypot => hypotenuse(x, y),
        Bin::Atan2 => angle(x, y),
        Bin::CopySign => (signed(x, y), Num::ZERO),
        Bin::AbsSub if x.is_nan() || y.is_nan() => (NAN, NAN),
        Bin::AbsSub if positive_difference(x, y).is_nan() => (Num::UNKNOWN, Num::UNKNOWN),
        Bin::AbsSub if x < y => (Num::ZERO, Num::ZERO),
        Bin::Minus | Bin::Apart | Bin::AbsSub => (Num::ONE, Num::exact(-1.0)),
        Bin::Beta if is_moderate(x) && is_moderate(y) => beta(x, y),
        Bin::LogAddExp => (share(x, y), share(y, x)),
        Bin::Rounding => (closing(x, y), Num::UNKNOWN),
        Bin::SquareTimes => (Num::exact(round(round(2.0 * x) * y)), Num::exact(round(x * x))),
        _ => (Num::UNKNOWN, Num::UNKNOWN),
    }
}

/// −n where x % y = x − n·y.
fn wraps(x: f64, y: f64) -> Num {
    let v = x % y;
    if v.is_nan() {
        return NAN;
    }
    if y.is_infinite() || x == 0.0 {
        return Num::ZERO;
    }
    let n = ((x - v) / y).round();
    if n == 0.0 {
        return Num::ZERO;
    }
    if n.abs() < 1e6 { Num::exact(-n) } else { Num::near(-n, 8.0) }
}

/// ∂xʸ/∂x = y·xʸ/x.
fn base(x: f64, y: f64) -> Num {
    if y == 0.0 || (x == 1.0 && y.is_nan()) {
        return Num::ZERO;
    }
    if x.is_nan() || y.is_nan() {
        return NAN;
    }
    if y.is_infinite() {
        return Num::UNKNOWN;
    }
    if x == 0.0 || x.is_infinite() {
        let power = x.powf(y - 1.0);
        return if power == 0.0 { Num::ZERO } else { Num::near(y * power, 16.0) };
    }
    let power = x.powf(y);
    if power.is_nan() {
        return NAN;
    }
    let slope = y * (power / x);
    if !is_ordinary(power, power / x) || !is_ordinary(slope, y) || power == 0.0 {
        return Num::UNKNOWN;
    }
    // In a library that takes xʸ⁻¹, y − 1 is rounded.
    Num::near(slope, 16.0 + 2.0 * (y.abs() + 1.0) * x.abs().ln().abs())
}

/// ∂xʸ/∂y = xʸ·ln x.
fn exponent(x: f64, y: f64) -> Num {
    let power = x.powf(y);
    if (y == 0.0 && x.is_nan()) || (x == 1.0) || (x == 0.0 && y > 0.0) {
        return Num::ZERO;
    }
    if x.is_nan() || y.is_nan() || x < 0.0 {
        return NAN;
    }
    if x == 0.0 {
        // −∞; but ∞ where x is −0 and its power −∞.
        return Num::exact(power * x.ln());
    }
    if x.is_infinite() {
        return if power == 0.0 { Num::ZERO } else { Num::exact(f64::INFINITY) };
    }
    if !is_ordinary(power, 1.0) || power == 0.0 {
        return Num::UNKNOWN;
    }
    Num::near(power * x.ln(), 16.0 + 2.0 * (y * x.ln()).abs())
}

/// Whether a remainder may be that of another multiple, also because there are too many of them to be counted.
pub(super) fn jumps(x: Num, y: Num) -> bool {
    let times = |x: f64, y: f64| (x / y).trunc();
    let are_many = x.v.is_finite() && y.v != 0.0 && times(x.v, y.v).is_infinite();
    are_many
        || [-1.0, 1.0]
            .iter()
            .any(|k| [-1.0, 1.0].iter().any(|l| times(x.v + k * x.e, y.v + l * y.e) != times(x.v, y.v)))
}

/// Those of ln x/ln y.
fn logarithm(x: f64, y: f64) -> Slopes {
    if !(is_ordinary(x, y) && x > 0.0 && y > 0.0 && y != 1.0) {
        return (Num::UNKNOWN, Num::UNKNOWN);
    }
    let over = -x.ln() / y.ln() / y.ln() / y;
    (Num::near(1.0 / y.ln() / x, 16.0), if x == 1.0 { Num::ZERO } else { Num::near(over, 16.0) })
}

fn hypotenuse(x: f64, y: f64) -> Slopes {
    let toward = |x: f64, y: f64| -> Num {
        match (x.is_infinite(), y.is_infinite()) {
            (true, true) => Num::near(x.signum() * FRAC_1_SQRT_2, 4.0),
            (true, false) => Num::exact(x.signum()),
            (false, true) => Num::ZERO,
            _ if x.is_nan() || y.is_nan() || (x == 0.0 && y == 0.0) => NAN,
            _ if x == 0.0 => Num::ZERO,
            _ => {
                let scale = x.abs().max(y.abs());
                let (x, y) = (x / scale, y / scale);
                Num::near(x / (x * x + y * y).sqrt(), 16.0)
            }
        }
    };
    if (x.is_nan() && y.is_infinite()) || (y.is_nan() && x.is_infinite()) {
        let one = |x: f64| if x.is_nan() { Num::ZERO } else { Num::exact(x.signum()) };
        return (one(x), one(y));
    }
    (toward(x, y), toward(y, x))
}

/// Those of the angle of (x, y), for y first.
fn angle(y: f64, x: f64) -> Slopes {
    if x.is_nan() || y.is_nan() || (x == 0.0 && y == 0.0) {
        return (NAN, NAN);
    }
    if x.is_infinite() || y.is_infinite() {
        return (Num::ZERO, Num::ZERO);
    }
    let scale = x.abs().max(y.abs());
    let (a, b) = (x / scale, y / scale);
    let square = a * a + b * b;
    let over = |a: f64, whole: f64| match a / square / scale {
        _ if whole == 0.0 => Num::ZERO,
        // A quotient by the scale may be too small for all of its digits.
        v => Num::within(v, 16.0 * unit() * v.abs() + smallest() / square / scale),
    };
    (over(a, x), -over(b, y))
}

fn signed(x: f64, y: f64) -> Num {
    match x {
        _ if x == 0.0 => Num::ZERO,
        _ if x.is_nan() => NAN,
        _ if y.is_nan() => Num::UNKNOWN,
        _ => Num::exact(x.signum() * 1.0_f64.copysign(y)),
    }
}

/// −B·(ψ(x + y) − ψ(x)), and the same for y.
fn beta(x: f64, y: f64) -> Slopes {
    let value = special::gamma(x) / special::gamma(x + y) * special::gamma(y);
    let sum = special::digamma(x + y);
    let slope = |x: f64| {
        let psi = special::digamma(x);
        let lost = 1e-13 * (sum.abs() + psi.abs()) + 4.0 * unit() * (sum - psi).abs();
        Num::within(-value * (sum - psi), value * lost)
    };
    (slope(x), slope(y))
}

/// eˣ/(eˣ + eʸ).
fn share(x: f64, y: f64) -> Num {
    let d = x - y;
    match d {
        _ if x.is_nan() || y.is_nan() => NAN,
        _ if x == y => Num::exact(0.5),
        _ if d > vanishing() => Num::within(1.0, 0.0),
        _ if d < -vanishing() => Num::ZERO,
        // The difference is rounded relative to itself, which eᵈ magnifies |d| times.
        _ => Num::near(softplus(d).1, 16.0 + 2.0 * d.abs()),
    }
}

/// ∂/∂d of (√(d² + w²) − |d|)/2.
fn closing(d: f64, w: f64) -> Num {
    if w == 0.0 {
        return Num::ZERO;
    }
    if !is_ordinary(d, w) {
        return Num::UNKNOWN;
    }
    let r = d.hypot(w);
    let slope = 0.5 * (w / r) * (w / (r + d.abs()));
    Num::near(if d < 0.0 { slope } else { -slope }, 16.0)
}
