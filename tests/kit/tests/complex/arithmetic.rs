//! Operators in all forms, functions of two complex numbers with all their second derivatives, and what is not
//! holomorphic: values by `num_complex` over floats, off its cuts.

use num_complex::{Complex64, ComplexFloat};
use std::iter::zip;
use tapewright::packs::{Pack, in_packs};
use tapewright::prelude::*;
use tapewright::strategies::num_traits::{self, FromPrimitive, Inv, Num, One, Pow, ToPrimitive, Zero};
use tapewright::{Closed, Complex, Dual};

/// A function of two complex numbers.
type Of2<S> = fn(Complex<S>, Complex<S>) -> Complex<S>;
/// Its value and its derivatives ∂z and ∂w, ∂z∂z, ∂z∂w and ∂w∂w.
type Expected = fn(Complex64, Complex64) -> (Complex64, [Complex64; 2], [Complex64; 3]);

fn call<S: Strategy>(f: Of2<S>, x: &[Real<S>]) -> [Real<S>; 2] {
    let w = f(Complex::from((x[0], x[1])), Complex::from((x[2], x[3])));
    [w.re.open(), w.im.open()]
}

/// Either part.
fn part(z: Complex64, k: usize) -> f64 {
    if k == 0 { z.re } else { z.im }
}

fn assert_close(what: &str, found: f64, expected: f64, scale: f64) {
    assert!((found - expected).abs() <= 1e-14 * scale, "{what}: {found}, not {expected}");
}

/// Asserts value, slopes and second derivatives of a function, by the recording and by forward mode.
fn assert_derivatives(
    name: &str,
    f: (Of2<Jacobian>, Of2<Jacobian<Dual<f64, 4>>>, Of2<Tangent<4>>),
    expected: Expected,
) {
    let points = [(3.0, 2.0, 0.5, -1.5), (-2.0, 0.5, 2.0, 0.0), (0.0, 1.5, -1.0, 0.25), (4.0, 0.0, 0.0, 2.0)];
    for (x, y, u, v) in points {
        let point = [x, y, u, v];
        let what = format!("{name} at {point:?}");
        let (value, slopes, curvatures) = expected(Complex64::new(x, y), Complex64::new(u, v));
        // The derivative for the imaginary part is i times the one for the real part.
        let factor = |a: usize| if a.is_multiple_of(2) { Complex64::new(1.0, 0.0) } else { Complex64::i() };
        let (found, reverse) = jacobian::<Jacobian>(|x| call(f.0, x).to_vec(), &point);
        let forward = jacobian_forward::<Tangent<4>>(|x| call(f.2, x).to_vec(), &point);
        for k in 0..2 {
            assert_close(&what, found[k], part(value, k), value.norm());
            assert_eq!(forward.0[k].to_bits(), found[k].to_bits(), "{what}");
            let (second_value, _, hessian) = tapewright::hessian::<Jacobian<Dual<f64, 4>>>(|x| call(f.1, x)[k], &point);
            assert_eq!(second_value.to_bits(), found[k].to_bits(), "{what}");
            for a in 0..4 {
                let slope = slopes[a / 2] * factor(a);
                assert_close(&what, reverse[k][a], part(slope, k), slope.norm());
                assert_close(&what, forward.1[k][a], part(slope, k), slope.norm());
                for b in 0..4 {
                    let second = curvatures[a / 2 + b / 2] * factor(a) * factor(b);
                    assert_close(&what, hessian[a][b], part(second, k), 8.0 * second.norm());
                }
            }
        }
    }
}

/// Asserts it of a function that is written once.
macro_rules! assert_derivatives {
    ($f:expr, $expected:expr) => {
        assert_derivatives(stringify!($f), ($f, $f, $f), $expected)
    };
}

#[test]
fn operators_and_powers_have_their_first_and_second_derivatives() {
    assert_derivatives!(|z, w| z + w, |z, w| (z + w, [1.0.into(), 1.0.into()], [0.0.into(); 3]));
    assert_derivatives!(|z, w| z - w, |z, w| (z - w, [1.0.into(), (-1.0).into()], [0.0.into(); 3]));
    assert_derivatives!(|z, w| z * w, |z, w| (z * w, [w, z], [0.0.into(), 1.0.into(), 0.0.into()]));
    assert_derivatives!(|z, w| z / w, |z, w| {
        (z / w, [1.0 / w, -z / (w * w)], [0.0.into(), -1.0 / (w * w), 2.0 * z / (w * w * w)])
    });
    assert_derivatives!(|z, w| z.fdiv(w), |z, w| {
        (z / w, [1.0 / w, -z / (w * w)], [0.0.into(), -1.0 / (w * w), 2.0 * z / (w * w * w)])
    });
    assert_derivatives!(|z, w| z.powc(w), |z, w| {
        let (p, l) = ((w * z.ln()).exp(), z.ln());
        (p, [w * p / z, p * l], [w * (w - 1.0) * p / (z * z), p / z * (1.0 + w * l), p * l * l])
    });
    assert_derivatives!(|z, _| z.powi(3), |z, _| (
        z * z * z,
        [3.0 * z * z, 0.0.into()],
        [6.0 * z, 0.0.into(), 0.0.into()]
    ));
    assert_derivatives!(|z, _| z.powi(-2), |z, _| {
        (1.0 / (z * z), [-2.0 / (z * z * z), 0.0.into()], [6.0 / (z * z * z * z), 0.0.into(), 0.0.into()])
    });
}

/// √|z|·conj z, |z|₁, arg z and so on: no function of z alone is holomorphic here.
fn of_parts<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    let z = Complex::from((x[0], x[1]));
    let polar = Complex::from_polar(x[0], x[1]);
    let (r, theta) = z.to_polar();
    let cis = Complex::cis(x[1]);
    let all = [z.norm(), z.norm_sqr(), z.l1_norm(), z.arg(), z.conj().im, polar.re, polar.im, r, theta, cis.re, cis.im];
    all.map(Closed::open).to_vec()
}

#[test]
fn parts_have_the_slopes_of_real_functions() {
    for [x, y] in [[3.0, -4.0], [-2.0, 0.0], [-2.0, -0.0], [0.0, 1.5]] {
        let (sin, cos) = f64::sin_cos(y);
        let (r, r2) = (f64::hypot(x, y), x * x + y * y);
        let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
        let (norm, arg) = ([r, x / r, y / r], [f64::atan2(y, x), -y / r2, x / r2]);
        let expected = [
            norm,
            [r2, 2.0 * x, 2.0 * y],
            [x.abs() + y.abs(), sign(x), sign(y)],
            arg,
            [-y, 0.0, -1.0],
            [x * cos, cos, -x * sin],
            [x * sin, sin, x * cos],
            norm,
            arg,
            [cos, 0.0, -sin],
            [sin, 0.0, cos],
        ];
        for (values, slopes) in [jacobian::<Jacobian>(of_parts, &[x, y]), jacobian::<PrimalValue>(of_parts, &[x, y])] {
            for (k, row) in expected.iter().enumerate() {
                let found = [values[k], slopes[k][0], slopes[k][1]];
                zip(found, row).for_each(|(f, e)| assert_close(&format!("number {k} at ({x}, {y})"), f, *e, e.abs()));
            }
        }
    }
}

/// A number of each kind.
struct Operands<S: Strategy> {
    z: Complex<S>,
    w: Complex<S>,
    closed: Closed<S>,
    real: Real<S>,
}

/// An operator in all forms, each with what it is of the numbers z = 3 + 2i, w = 0.5 − 1.5i, and t = 7.
macro_rules! forms {
    ($($name:ident $op:tt $assign:tt;)*) => { $(
        #[test]
        fn $name() {
            let (z, w, t) = (Complex64::new(3.0, 2.0), Complex64::new(0.5, -1.5), 7.0);
            let with_w: [fn(Operands<Passive>) -> Complex<Passive>; 6] = [
                |o| o.z $op o.w, |o| &o.z $op o.w, |o| o.z $op &o.w, |o| &o.z $op &o.w,
                |o| { let mut z = o.z; z $assign o.w; z }, |o| { let mut z = o.z; z $assign &o.w; z },
            ];
            let with_t: [fn(Operands<Passive>) -> Complex<Passive>; 15] = [
                |o| o.z $op o.closed, |o| &o.z $op o.closed, |o| o.z $op &o.closed, |o| &o.z $op &o.closed,
                |o| o.z $op o.real, |o| &o.z $op o.real, |o| o.z $op &o.real, |o| &o.z $op &o.real,
                |o| o.z $op 7.0, |o| &o.z $op 7.0,
                |o| { let mut z = o.z; z $assign o.closed; z }, |o| { let mut z = o.z; z $assign &o.closed; z },
                |o| { let mut z = o.z; z $assign o.real; z }, |o| { let mut z = o.z; z $assign &o.real; z },
                |o| { let mut z = o.z; z $assign 7.0; z },
            ];
            let of_t: [fn(Operands<Passive>) -> Complex<Passive>; 6] = [
                |o| o.closed $op o.z, |o| &o.closed $op o.z, |o| o.closed $op &o.z, |o| &o.closed $op &o.z,
                |o| 7.0 $op o.z, |o| 7.0 $op &o.z,
            ];
            for (forms, expected) in [(&with_w[..], z $op w), (&with_t[..], z $op t), (&of_t[..], t $op z)] {
                for form in forms {
                    let found = form(Operands {
                        z: Complex::from((z.re, z.im)),
                        w: Complex::from((w.re, w.im)),
                        closed: Closed::from(t),
                        real: Real::from(t),
                    });
                    assert_close("the real part", found.re.value(), expected.re, expected.norm());
                    assert_close("the imaginary part", found.im.value(), expected.im, expected.norm());
                }
            }
        }
    )* };
}

forms! {
    addition_in_all_forms + +=;
    subtraction_in_all_forms - -=;
    multiplication_in_all_forms * *=;
    division_in_all_forms / /=;
    remainder_in_all_forms % %=;
}

/// Each operation is two statements at most: parts that nothing happens to are not recorded.
#[test]
fn operations_are_two_statements() {
    let statements = |f: Of2<Jacobian>| {
        let mut tape = Tape::<Jacobian>::new();
        tape.record(|scope| call(f, &scope.inputs(&[3.0, 2.0, 0.5, -1.5])));
        tape.memory().statements
    };
    let all: [(Of2<Jacobian>, usize); 7] = [
        (|z, w| z * w + z, 4),
        (|z, w| z / w, 2),
        (|z, w| z.powc(w), 2),
        (|z, _| z.sqrt(), 2),
        (|z, _| z + 1.0, 1),
        (|z, _| z.conj(), 1),
        (|z, w| Complex::new(z.norm_sqr(), w.arg()), 2),
    ];
    for (f, expected) in all {
        assert_eq!(statements(f), expected);
    }
}

/// A program with everything that foreign code asks of numbers.
fn generic<T: Num + Clone + Inv<Output = T> + FromPrimitive + std::iter::Sum + std::iter::Product>(z: &T) -> T {
    let three = T::from_u8(3).expect("a small number");
    let sum: T = [z.clone(), T::one(), three].into_iter().sum();
    let product: T = [sum.clone(), z.clone()].into_iter().product();
    product + num_traits::pow(sum, 2) - z.clone().inv() + T::zero()
}

#[test]
fn code_that_is_generic_over_num_traits_runs() {
    let (x, y) = (0.7, -0.4);
    let expected = generic(&Complex64::new(x, y));
    let z = Complex64::new(x, y);
    let slope = 2.0 * z + 4.0 + 2.0 * (z + 4.0) + 1.0 / (z * z);
    // Under a strategy whose variables are not `Copy`, too.
    let (value, slopes) = jacobian::<Jacobian<f64, Reuse>>(
        |x| {
            let w = generic(&Complex::from((x[0].clone(), x[1].clone())));
            vec![w.re.open(), w.im.open()]
        },
        &[x, y],
    );
    assert_close("Re", value[0], expected.re, expected.norm());
    assert_close("Im", value[1], expected.im, expected.norm());
    for (found, expected) in
        zip([slopes[0][0], slopes[0][1], slopes[1][0], slopes[1][1]], [slope.re, -slope.im, slope.im, slope.re])
    {
        assert_close("slope", found, expected, slope.norm());
    }
}

#[test]
fn text_and_conversions() {
    type P = Passive;
    let z = Complex::<P>::from((1.5, -2.0));
    assert_eq!((z.to_string(), format!("{z:e}")), ("1.5-2i".into(), "1.5e0-2e0i".into()));
    for (text, re, im) in [
        ("1.5-2i", 1.5, -2.0),
        ("-1e-3+2e+2i", -1e-3, 2e2),
        ("i", 0.0, 1.0),
        ("-i", 0.0, -1.0),
        ("4", 4.0, 0.0),
        ("2-i", 2.0, -1.0),
        ("-2.5i", 0.0, -2.5),
        (" 1 + 2i ", 1.0, 2.0),
    ] {
        let expected = Complex::<P>::from((re, im));
        assert_eq!(text.parse::<Complex<P>>().expect(text), expected, "{text}");
        assert_eq!(Complex::<P>::from_str_radix(text, 10).expect(text), expected, "{text}");
    }
    assert!("1+xi".parse::<Complex<P>>().is_err() && "".parse::<Complex<P>>().is_err());
    assert_eq!(Complex::from(num_complex::Complex::<Closed<P>>::from(z)), z);
    assert_eq!(Complex::<P>::from(Complex64::new(1.5, -2.0)), z);
    let (re, im): (Real<P>, Real<P>) = z.into();
    assert_eq!(Complex::from((re, im)), z);
    let (re, im): (Closed<P>, Closed<P>) = z.into();
    assert_eq!((Complex::from((re, im)), z.value()), (z, (1.5, -2.0)));
    assert_eq!((z.to_f64(), (z - Complex::i() * -2.0).to_i64()), (None, Some(1)));
    assert_eq!(<Complex<P> as num_traits::NumCast>::from(3_u8), Some(Complex::from(3.0)));
    assert!(Complex::<P>::zero().is_zero() && Complex::<P>::one().is_one() && Complex::<P>::default().is_zero());
    let nan = Complex::<P>::from((f64::NAN, f64::INFINITY));
    assert_eq!((nan.is_nan(), nan.is_infinite(), nan.is_finite(), nan.is_normal()), (true, false, false, false));
    assert_eq!((z.is_nan(), z.is_infinite(), z.is_finite(), z.is_normal()), (false, false, true, true));
}

#[test]
fn texts_are_read_as_num_complex_reads_them() {
    let theirs = |text: &str, radix| Complex64::from_str_radix(text, radix).map(|z| (z.re, z.im)).ok();
    for text in
        ["2i+1", "-i-3", "2j+1", "1+-2i", "1-+2i", "1--2i", "1+", "i+i", "1e+5i", "e-1i", "ff+1i", "1+a.8i", "e+e"]
    {
        for radix in [2, 10, 16, 36] {
            let ours = Complex::<Passive>::from_str_radix(text, radix).map(|z| z.value()).ok();
            assert_eq!(ours, theirs(text, radix), "{text} to base {radix}");
        }
    }
}

/// Functions that the table of numbers lacks, against `num_complex`.
#[test]
fn other_functions_have_the_values_of_num_complex() {
    let pairs: [(fn(&Complex<Passive>) -> Complex<Passive>, fn(Complex64) -> Complex64); 9] = [
        (|z| z.finv(), |z| z.finv()),
        (|z| z.log(3.0), |z| z.log(3.0)),
        (|z| z.expf(2.5), |z| z.expf(2.5)),
        (|z| z.powf(-1.5), |z| z.powf(-1.5)),
        (|z| z.powu(7), |z| z.powu(7)),
        (|z| z.scale(3.0), |z| z.scale(3.0)),
        (|z| z.unscale(3.0), |z| z.unscale(3.0)),
        (|z| Pow::pow(z, 0.5_f32), |z| z.powf(0.5)),
        (|z| z.powi(0), |z| z.powi(0)),
    ];
    for (x, y) in [(0.7, -0.4), (-2.0, 1.5), (0.0, 3.0)] {
        for (k, (ours, theirs)) in pairs.iter().enumerate() {
            let (found, expected) = (ours(&Complex::from((x, y))), theirs(Complex64::new(x, y)));
            assert_close(&format!("Re {k}"), found.re.value(), expected.re, expected.abs());
            assert_close(&format!("Im {k}"), found.im.value(), expected.im, expected.abs());
        }
    }
}

/// ln(√z/z^½) + √z: its imaginary part.
fn roots<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let z = Complex::from((x[0], x[1]));
    ((z.sqrt() / z.powf(0.5)).ln() + z.sqrt()).im.open()
}

/// Lanes on different sides of a cut.
#[test]
fn packs_have_the_sides_of_their_lanes() {
    let rows = [[-4.0, 0.0], [-4.0, -0.0], [-4.0, 3.0], [4.0, -0.0]];
    let found = in_packs::<Jacobian<Pack<4>>, _, 4>(4, |k| &rows[k], |x, _| roots(x)).expect("four inputs");
    for (k, row) in rows.iter().enumerate() {
        let (value, slopes) = value_and_gradient::<Jacobian>(roots, row);
        assert_eq!((found.values[k], &found.gradients[k]), (value, &slopes));
    }
    assert_eq!([found.values[0], found.values[1]], [2.0, -2.0]);
}
