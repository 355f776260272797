//! Values of complex functions in double precision: right on the axes and on both sides of each cut, between which the
//! sign of zero decides, and without intermediate overflow.
//!
//! After W. Kahan, *Branch cuts for complex elementary functions* (1987), and annex G of the C standard. Where a sum
//! cancels, its terms are arranged such that it does not.

use super::parts::{Point, parts};
use core::f64::consts::{FRAC_PI_2, LN_2};

/// 2ⁿ for −1022 ≤ n ≤ 1023.
const fn power_of_two(n: i64) -> f64 {
    f64::from_bits((1023 + n).cast_unsigned() << 52)
}

/// The absolute value of a part from which on 1/z² is negligible beside 1.
const LARGE: f64 = power_of_two(300);

/// Returns true where 1/z² is negligible beside 1.
fn is_large(z: Point) -> bool {
    z.re.abs() > LARGE || z.im.abs() > LARGE
}

/// a·b, where zero times anything is zero.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0_f64.copysign(1_f64.copysign(a) * 1_f64.copysign(b)) } else { a * b }
}

/// exp(x)·factor, for a power function `exp`, also where exp(x) overflows or has lost digits. 0 for a factor of 0.
fn power_times(exp: fn(f64) -> f64, x: f64, factor: f64) -> f64 {
    let power = exp(x);
    if factor == 0.0 {
        factor
    } else if power.is_normal() || x.is_infinite() {
        power * factor
    } else {
        let root = exp(0.25 * x);
        factor * root * root * root * root
    }
}

/// eˣ·factor.
fn exp_times(x: f64, factor: f64) -> f64 {
    power_times(f64::exp, x, factor)
}

/// exp(x)·(cosine + i·sine), for a power function `exp`, and sine and cosine of an angle that is proportional to y.
fn turn(exp: fn(f64) -> f64, (x, y): (f64, f64), (sine, cosine): (f64, f64)) -> Point {
    match (x, y) {
        (x, y) if y == 0.0 => parts(exp(x), y),
        (f64::NEG_INFINITY, y) if !y.is_finite() => parts(0.0, 0.0),
        (f64::INFINITY, y) if !y.is_finite() => parts(f64::INFINITY, f64::NAN),
        _ => parts(power_times(exp, x, cosine), power_times(exp, x, sine)),
    }
}

/// e^(x + iy).
pub(super) fn exp(z: Point) -> Point {
    turn(f64::exp, (z.re, z.im), z.im.sin_cos())
}

/// ln 2, less its nearest `f64`.
const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;

/// 2^(x + iy).
pub(super) fn exp2(z: Point) -> Point {
    let angle = z.im * LN_2;
    let rest = z.im.mul_add(LN_2, -angle) + z.im * LN_2_REST;
    let (sine, cosine) = angle.sin_cos();
    turn(f64::exp2, (z.re, z.im), (sine + rest * cosine, cosine - rest * sine))
}

/// ln |z|, also where |z| overflows, has lost digits or is near 1.
fn ln_norm(z: Point) -> f64 {
    let r = z.re.hypot(z.im);
    if r > 0.5 && r < 2.0 {
        0.5 * square_minus_one(z.re, z.im).ln_1p()
    } else if r.is_normal() || r == 0.0 || r.is_nan() || z.re.is_infinite() || z.im.is_infinite() {
        r.ln()
    } else {
        let n: i16 = if r.is_infinite() { -2 } else { 200 };
        let scale = power_of_two(n.into());
        (z.re * scale).hypot(z.im * scale).ln() - f64::from(n) * LN_2
    }
}

/// x² + y² − 1, computed with twice the digits.
fn square_minus_one(x: f64, y: f64) -> f64 {
    let square = |x: f64| (x * x, x.mul_add(x, -(x * x)));
    let ((x2, x_rest), (y2, y_rest)) = (square(x), square(y));
    let (large, small, large_rest, small_rest) =
        if x2 > y2 { (x2, y2, x_rest, y_rest) } else { (y2, x2, y_rest, x_rest) };
    let (sum, sum_rest) = sum_with_rest(large, -1.0);
    let (total, total_rest) = sum_with_rest(sum, small);
    total + (total_rest + sum_rest + large_rest + small_rest)
}

/// a + b, and its rounding error.
fn sum_with_rest(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_found = sum - a;
    (sum, (a - (sum - b_found)) + (b - b_found))
}

/// ln z.
pub(super) fn ln(z: Point) -> Point {
    parts(ln_norm(z), z.im.atan2(z.re))
}

/// √z.
pub(super) fn sqrt(z: Point) -> Point {
    let (x, y) = (z.re, z.im);
    if y.is_infinite() {
        return parts(f64::INFINITY, y);
    } else if x == 0.0 && y == 0.0 {
        return parts(0.0, y);
    } else if x.is_infinite() {
        let other = if y.is_nan() { y } else { 0.0 };
        let (re, im) = if x > 0.0 { (x, other) } else { (other, -x) };
        return parts(re, im.copysign(y));
    }
    let largest = x.abs().max(y.abs());
    let (down, up) = match largest {
        l if l > power_of_two(1000) => (power_of_two(-4), power_of_two(2)),
        l if l < power_of_two(-900) => (power_of_two(120), power_of_two(-60)),
        _ => (1.0, 1.0),
    };
    let (x, y) = (x * down, y * down);
    let long = (0.5 * (x.abs() + x.hypot(y))).sqrt();
    let short = y / (2.0 * long);
    if x >= 0.0 { parts(long * up, short * up) } else { parts(short.abs() * up, long.copysign(y) * up) }
}

/// ∛z.
pub(super) fn cbrt(z: Point) -> Point {
    let r = z.re.hypot(z.im);
    let (scale, root) = match r {
        r if r.is_normal() || r == 0.0 => (1.0, 1.0),
        r if r.is_infinite() => (power_of_two(-3), power_of_two(1)),
        _ => (power_of_two(300), power_of_two(-100)),
    };
    let length = (z.re * scale).hypot(z.im * scale).cbrt() * root;
    let angle = z.im.atan2(z.re) / 3.0;
    parts(length * angle.cos(), times(length, angle.sin()))
}

/// The exponent of a power of two near 1/|z|: nothing overflows or loses digits in their product and its square.
fn near_inverse(z: Point) -> i64 {
    1023 - (z.re.abs().max(z.im.abs()).to_bits() >> 52).clamp(1, 2045).cast_signed()
}

/// 1/z.
pub(super) fn inv(z: Point) -> Point {
    if z.is_zero() {
        return parts(f64::INFINITY.copysign(z.re), f64::NAN);
    } else if z.re.is_infinite() || z.im.is_infinite() {
        return parts(0_f64.copysign(z.re), 0_f64.copysign(-z.im));
    }
    let scale = power_of_two(near_inverse(z));
    let (x, y) = (z.re * scale, z.im * scale);
    let square = x * x + y * y;
    parts(x / square * scale, -y / square * scale)
}

/// z/w.
pub(super) fn quotient(z: Point, w: Point) -> Point {
    if w.is_zero() {
        let infinity = f64::INFINITY.copysign(w.re);
        return parts(infinity * z.re, infinity * z.im);
    } else if w.re.is_infinite() || w.im.is_infinite() || z.re.is_infinite() || z.im.is_infinite() {
        let inverse = inv(w);
        return parts(
            times(z.re, inverse.re) - times(z.im, inverse.im),
            times(z.im, inverse.re) + times(z.re, inverse.im),
        );
    }
    let (for_z, for_w) = (near_inverse(z), near_inverse(w));
    let (p, q) = (power_of_two(for_z), power_of_two(for_w));
    let (x, y, u, v) = (z.re * p, z.im * p, w.re * q, w.im * q);
    let square = u * u + v * v;
    let half = (for_w - for_z) / 2;
    let back = |part: f64| part * power_of_two(half) * power_of_two(for_w - for_z - half);
    parts(back((x * u + y * v) / square), back((y * u - x * v) / square))
}

/// sinh x·factor, also where sinh x overflows.
fn sinh_times(x: f64, factor: f64) -> f64 {
    if x.abs() < 700.0 { times(x.sinh(), factor) } else { exp_times(x.abs(), 0.5 * factor) * 1_f64.copysign(x) }
}

/// cosh x·factor, also where cosh x overflows.
fn cosh_times(x: f64, factor: f64) -> f64 {
    if x.abs() < 700.0 { times(x.cosh(), factor) } else { exp_times(x.abs(), 0.5 * factor) }
}

/// sinh z.
pub(super) fn sinh(z: Point) -> Point {
    parts(sinh_times(z.re, z.im.cos()), cosh_times(z.re, sine(z.im)))
}

/// cosh z.
pub(super) fn cosh(z: Point) -> Point {
    parts(cosh_times(z.re, z.im.cos()), sinh_times(z.re, sine(z.im)))
}

/// sin y.
fn sine(y: f64) -> f64 {
    y.sin()
}

/// tanh z. From |x| = 22 on, e^−2|x| is negligible beside 1.
pub(super) fn tanh(z: Point) -> Point {
    let (x, y) = (z.re, z.im);
    if x.abs() > 22.0 {
        return match (x.is_infinite(), y.is_finite()) {
            (true, false) => parts(1_f64.copysign(x), 0.0),
            (false, false) => parts(f64::NAN, f64::NAN),
            _ => parts(1_f64.copysign(x), 4.0 * y.sin() * y.cos() * (-2.0 * x.abs()).exp()),
        };
    }
    let (t, s) = (y.tan(), x.sinh());
    let b = 1.0 + t * t;
    let denominator = 1.0 + b * s * s;
    parts(b * x.cosh() * s / denominator, t / denominator)
}

/// ln |2z|.
fn ln_twice_norm(z: Point) -> f64 {
    ln_norm(z) + LN_2
}

/// √(1 − z) and √(1 + z).
fn roots(z: Point) -> (Point, Point) {
    (sqrt(parts(1.0 - z.re, -z.im)), sqrt(parts(1.0 + z.re, z.im)))
}

/// arcsin z.
pub(super) fn asin(z: Point) -> Point {
    if is_large(z) {
        return parts(z.re.atan2(z.im.abs()), ln_twice_norm(z).copysign(z.im));
    }
    let (a, b) = roots(z);
    parts((z.re / (a.re * b.re - a.im * b.im)).atan(), (a.re * b.im - a.im * b.re).asinh())
}

/// arccos z.
pub(super) fn acos(z: Point) -> Point {
    if is_large(z) {
        return parts(z.im.abs().atan2(z.re), -ln_twice_norm(z).copysign(z.im));
    }
    let (a, b) = roots(z);
    parts(2.0 * (a.re / b.re).atan(), (b.re * a.im - b.im * a.re).asinh())
}

/// arcosh z.
pub(super) fn acosh(z: Point) -> Point {
    if is_large(z) {
        return parts(ln_twice_norm(z), z.im.atan2(z.re));
    }
    let (a, b) = (sqrt(parts(z.re - 1.0, z.im)), sqrt(parts(z.re + 1.0, z.im)));
    parts((a.re * b.re + a.im * b.im).asinh(), 2.0 * (a.im / b.re).atan())
}

/// artanh z.
pub(super) fn atanh(z: Point) -> Point {
    let (x, y) = (z.re.abs(), z.im);
    if is_large(z) {
        let im = if y.is_nan() { y } else { FRAC_PI_2.copysign(y) };
        return parts(inv(z).re, im);
    }
    let distance = (1.0 - x).hypot(y);
    let re =
        if distance < 1e-100 { 0.5 * (LN_2 - distance.ln()) } else { 0.25 * (4.0 * x / (distance * distance)).ln_1p() };
    parts(re.copysign(z.re), 0.5 * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y))
}

/// −i·f(iz), which is sin z for f = sinh.
pub(super) fn turned(f: fn(Point) -> Point, z: Point) -> Point {
    let turned = f(parts(-z.im, z.re));
    parts(turned.im, -turned.re)
}

/// z^w = exp(w·ln z), 1 for w = 0; at z = 0 the limit, if there is one.
pub(super) fn power(z: Point, w: Point) -> Point {
    if w.is_zero() {
        return parts(1.0, 0.0);
    } else if z.is_zero() {
        return match w.re {
            u if u > 0.0 => parts(0.0, 0.0),
            u if u < 0.0 && w.im == 0.0 => parts(f64::INFINITY, f64::NAN),
            _ => parts(f64::NAN, f64::NAN),
        };
    }
    let ln = ln(z);
    let angle = times(w.re, ln.im) + times(w.im, ln.re);
    let length = z.re.hypot(z.im).powf(w.re);
    if w.im == 0.0 && length.is_normal() && angle.is_finite() {
        return parts(length * angle.cos(), length * angle.sin());
    }
    exp(parts(times(w.re, ln.re) - times(w.im, ln.im), angle))
}
