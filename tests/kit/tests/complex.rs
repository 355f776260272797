//! Complex numbers: values, derivatives and second derivatives against numbers of 1500 digits, on the axes and on both
//! sides of each cut; arithmetic in all forms.

#![allow(clippy::type_complexity, reason = "tables of functions")]
#![allow(clippy::cast_possible_truncation, reason = "rounding to single precision is tested")]

#[path = "complex/arithmetic.rs"]
mod arithmetic;
#[path = "complex/points.rs"]
mod points;

use std::iter::zip;
use tapewright::prelude::*;
use tapewright::{Closed, Complex, Dual};

/// Rows of a function's name, z, f(z), f′(z) and f″(z), each as real and imaginary part. Computed by mpmath 1.3
/// with 1500 digits and rounded once. Where a part of z is 0, it was replaced by ±10⁻¹⁰⁰⁰ for the side that its
/// sign names. The inverse functions are Kahan's: arcsin by its real part arctan(x/Re √(1 − z)√(1 + z)) and its
/// imaginary part arsinh Im(conj √(1 − z)·√(1 + z)), arccos z = π/2 − arcsin z, arcosh z = ln(z + √(z − 1)√(z +
/// 1)), artanh z = (ln(1 + z) − ln(1 − z))/2, arsinh and arctan of iz.
const ROWS: &str = include_str!("complex/values.csv");

/// A function of complex numbers.
type Function<S> = fn(&Complex<S>) -> Complex<S>;

/// The function with this name.
fn function<S: Taping>(name: &str) -> Function<S> {
    match name {
        "inv" => Complex::inv,
        "exp" => Complex::exp,
        "exp2" => Complex::exp2,
        "ln" => Complex::ln,
        "log2" => Complex::log2,
        "log10" => Complex::log10,
        "sqrt" => Complex::sqrt,
        "cbrt" => Complex::cbrt,
        "sin" => Complex::sin,
        "cos" => Complex::cos,
        "tan" => Complex::tan,
        "sinh" => Complex::sinh,
        "cosh" => Complex::cosh,
        "tanh" => Complex::tanh,
        "asin" => Complex::asin,
        "acos" => Complex::acos,
        "atan" => Complex::atan,
        "asinh" => Complex::asinh,
        "acosh" => Complex::acosh,
        "atanh" => Complex::atanh,
        other => panic!("there is no function {other}"),
    }
}

/// A row of [`ROWS`].
struct Row {
    name: &'static str,
    z: [f64; 2],
    value: [f64; 2],
    slope: [f64; 2],
    curvature: [f64; 2],
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let (name, numbers) = line.split_once(',').expect("a name");
        let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().expect("a number")).collect();
        let [z, value, slope, curvature] = [0, 2, 4, 6].map(|k| [numbers[k], numbers[k + 1]]);
        Row { name, z, value, slope, curvature }
    };
    ROWS.lines().map(row).collect()
}

/// Both parts of a function.
fn both<S: Strategy>(f: Function<S>, x: &[Real<S>]) -> [Real<S>; 2] {
    let w = f(&Complex::from((x[0], x[1])));
    [w.re.open(), w.im.open()]
}

/// Asserts that complex numbers are right but for some roundings of their absolute value. What overflows need not be
/// right, but must not look as if it was.
#[track_caller]
fn assert_close(what: &str, row: &Row, found: [f64; 2], expected: [f64; 2], roundings: f64) {
    let at = format!("{what} of {} at {:?}: {found:?}, not {expected:?}", row.name, row.z);
    if expected.iter().any(|part| part.is_infinite()) {
        assert!(found.iter().any(|part| !part.is_finite()), "{at}");
        return;
    }
    // Numbers that have lost digits may be a few of the smallest ones off.
    let tolerance = roundings * (expected[0].hypot(expected[1]) * f64::EPSILON / 2.0).max(5e-324);
    assert!(zip(found, expected).all(|(found, expected)| (found - expected).abs() <= tolerance), "{at}");
}

/// The slopes of both parts of a function with this derivative.
fn cauchy_riemann([a, b]: [f64; 2]) -> [[f64; 2]; 2] {
    [[a, -b], [b, a]]
}

/// How many roundings value, derivative and second derivative may take.
const ROUNDINGS: [f64; 3] = [6.0, 12.0, 40.0];

/// Asserts values and slopes of both parts.
fn assert_row(row: &Row, (values, slopes): (Vec<f64>, Vec<Vec<f64>>)) {
    assert_close("the value", row, [values[0], values[1]], row.value, ROUNDINGS[0]);
    // Neither part loses digits, however small it is beside the other one.
    for (found, expected) in zip(&values, row.value).filter(|(_, expected)| expected.is_finite()) {
        assert!((found - expected).abs() <= 1e-14 * expected.abs() + 1e-323, "{} at {:?}: {values:?}", row.name, row.z);
    }
    for (part, expected) in cauchy_riemann(row.slope).into_iter().enumerate() {
        assert_close("the slopes", row, [slopes[part][0], slopes[part][1]], expected, ROUNDINGS[1]);
        // The sign of a zero, too, which says on what side of the next cut it is.
        let signs = [values[part], row.value[part]].map(f64::is_sign_negative);
        assert!(row.value[part] != 0.0 || signs[0] == signs[1], "{} at {:?}: {values:?}", row.name, row.z);
    }
}

#[test]
fn functions_have_the_values_and_derivatives_of_1500_digits() {
    for row in rows() {
        assert_row(&row, jacobian::<Jacobian>(|x| both(function(row.name), x).to_vec(), &row.z));
        assert_row(&row, jacobian::<PrimalValue>(|x| both(function(row.name), x).to_vec(), &row.z));
        assert_row(&row, jacobian_forward::<Tangent<2>>(|x| both(function(row.name), x).to_vec(), &row.z));
    }
}

#[test]
fn functions_have_the_second_derivatives_of_1500_digits() {
    type S = Jacobian<Dual<f64, 2>>;
    for row in rows() {
        let [a, b] = row.curvature;
        for (part, expected) in [[[a, -b], [-b, -a]], [[b, a], [a, -b]]].into_iter().enumerate() {
            let (value, slopes, hessian) = tapewright::hessian::<S>(|x| both(function(row.name), x)[part], &row.z);
            let plain = value_and_gradient::<Jacobian>(|x| both(function(row.name), x)[part], &row.z);
            // Bit for bit, but that some NaN or other is one.
            let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
            assert_eq!(
                (bits(value), bits(slopes[0]), bits(slopes[1])),
                (bits(plain.0), bits(plain.1[0]), bits(plain.1[1]))
            );
            for (found, expected) in zip(&hessian, expected) {
                assert_close("the second derivatives", &row, [found[0], found[1]], expected, ROUNDINGS[2]);
            }
        }
    }
}

/// Passive numbers and those of single precision are rounded once from double precision.
#[test]
fn functions_of_single_precision_are_rounded_once() {
    for row in rows() {
        let z = row.z.map(|part| part as f32);
        if zip(z, row.z).any(|(single, double)| f64::from(single) != double) {
            continue;
        }
        let w = function::<Passive<f32>>(row.name)(&Complex::new(Closed::constant(z[0]), Closed::constant(z[1])));
        for (found, expected) in zip([w.re.value(), w.im.value()], row.value) {
            let nearest = expected as f32;
            let next = [nearest.next_down(), nearest, nearest.next_up()];
            assert!(next.contains(&found), "{} at {z:?}: {found}, not {nearest}", row.name);
        }
    }
}
