//! Programs that are generic over `num_traits` and know nothing of tapes: they compute what they compute with floats,
//! and their gradients are those of statement-level code.

use super::{differentiated, report};
use approx::assert_relative_eq;
use num_complex::Complex;
use tapewright::prelude::*;
use tapewright::strategies::num_traits::{Float, FloatConst, FromPrimitive, Num};
use tapewright::{Closed, Number as Value};

/// A program over foreign traits, and the same written for this library.
trait Program {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T;
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S>;
}

/// Runs the program with floats, closed passive variables, and closed variables under a strategy; all values must be
/// the same bits. Returns the gradient.
fn run<S: Strategy + Reverse, P: Program>(x: &[f64]) -> Vec<S::Value>
where
    S::Value: Float + FloatConst + FromPrimitive,
{
    let x: Vec<S::Value> = x.iter().map(|x| Value::from_f64(*x)).collect();
    let passive: Vec<Closed<Passive<S::Value>>> = x.iter().map(|x| Closed::constant(*x)).collect();
    let (value, gradient) = differentiated::<S>(P::foreign, &x);
    assert_eq!([P::foreign(&x), P::foreign(&passive).value()], [value; 2]);
    let (expected, slopes) = value_and_gradient::<S>(P::statements, &x);
    let tolerance = 1e3 * <<S::Value as Value>::Lane as tapewright::Float>::epsilon().as_f64();
    let number = |v: &S::Value| v.as_f64();
    assert_relative_eq!(value.as_f64(), expected.as_f64(), max_relative = tolerance);
    for (found, expected) in gradient.iter().zip(&slopes) {
        assert_relative_eq!(number(found), number(expected), epsilon = tolerance, max_relative = tolerance);
    }
    gradient
}

/// Runs the program under every strategy; returns its gradient.
fn agrees<P: Program>(x: &[f64]) -> Vec<f64> {
    run::<Jacobian<f32>, P>(x);
    run::<PrimalValue<f32>, P>(x);
    run::<Jacobian<f64, Linear<u64>>, P>(x);
    let gradient = run::<Jacobian, P>(x);
    let other = run::<PrimalValue, P>(x);
    assert_eq!(gradient, other);
    gradient
}

/// The root of x³ + ax = b by Newton's method.
struct Newton;
impl Program for Newton {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T {
        let (a, b) = (x[0], x[1]);
        let three = T::from_u8(3).expect("a small number");
        let mut root = T::one();
        for _ in 0..8 {
            let residual = root.powi(3) + a * root - b;
            root = root - residual / (three * root * root + a);
        }
        root
    }
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let (a, b) = (x[0], x[1]);
        let mut root = Real::from(1.0);
        for _ in 0..8 {
            root = (root - (root.powi(3) + a * root - b) / (3.0 * root * root + a)).into();
        }
        root
    }
}

#[test]
fn a_newton_solver_has_the_slopes_of_the_implicit_function() {
    let gradient = agrees::<Newton>(&[2.0, 5.0]);
    let root: f64 = Newton::foreign(&[2.0, 5.0]);
    assert_relative_eq!(root.powi(3) + 2.0 * root, 5.0, max_relative = 1e-14);
    let slope = 3.0 * root * root + 2.0;
    assert_relative_eq!(gradient[..], [-root / slope, 1.0 / slope][..], max_relative = 1e-12);
}

/// c₀ + c₁x + … by Horner's rule, for any kind of number; the last one is x.
fn horner<T: Num + Clone>(numbers: &[T]) -> T {
    let (x, coefficients) = numbers.split_last().expect("at least x");
    coefficients.iter().rev().fold(T::zero(), |sum, c| sum * x.clone() + c.clone())
}

struct Horner;
impl Program for Horner {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T {
        horner(x)
    }
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        (x[0] + x[3] * (x[1] + x[3] * x[2])).into()
    }
}

#[test]
fn a_polynomial_by_horners_rule() {
    assert_eq!(agrees::<Horner>(&[3.0, -2.0, 5.0, 2.0]), [1.0, 2.0, 4.0, -2.0 + 20.0]);
    // Integers too, so that this is code that anybody may have written.
    assert_eq!(horner(&[3, -2, 5, 2]), 19);
}

/// |z² + c|² after a few steps from z = c.
struct Orbit;
impl Program for Orbit {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T {
        let c = Complex::new(x[0], x[1]);
        let mut z = c;
        for _ in 0..4 {
            z = z * z + c;
        }
        z.norm_sqr()
    }
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let (mut re, mut im) = (x[0], x[1]);
        for _ in 0..4 {
            (re, im) = ((re * re - im * im + x[0]).eval(), (2.0 * re * im + x[1]).eval());
        }
        (re * re + im * im).into()
    }
}

/// Re(√(z·eᶻ)/(z + i)), off the axes: on them, `num_complex` has other derivatives than its functions.
struct Analytic;
impl Program for Analytic {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T {
        let z = Complex::new(x[0], x[1]);
        ((z * z.exp()).sqrt() / (z + Complex::i())).re
    }
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let length = (0.5 * x[0]).exp() * x[0].hypot(x[1]).sqrt();
        let angle = (0.5 * (x[1] + x[1].atan2(x[0]))).eval();
        let (re, im) = ((length * angle.cos()).eval(), (length * angle.sin()).eval());
        let (a, b) = (x[0], (x[1] + 1.0).eval());
        ((re * a + im * b) / (a * a + b * b)).into()
    }
}

#[test]
fn complex_numbers_of_closed_variables() {
    agrees::<Orbit>(&[-0.4, 0.6]);
    agrees::<Analytic>(&[0.7, 0.9]);
}

/// The sum of the solution of a 3×3 system by Gaussian elimination with row pivots; rows of matrix and right-hand side.
struct Elimination;
impl Program for Elimination {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T {
        let mut rows: Vec<Vec<T>> = x.chunks(4).map(<[T]>::to_vec).collect();
        for k in 0..3 {
            let largest = (k..3).fold(k, |best, i| if rows[i][k].abs() > rows[best][k].abs() { i } else { best });
            rows.swap(k, largest);
            let pivot = rows[k].clone();
            for row in &mut rows[k + 1..] {
                let factor = row[k] / pivot[k];
                row.iter_mut().zip(&pivot).for_each(|(entry, above)| *entry = *entry - factor * *above);
            }
        }
        let mut solution = [T::zero(); 3];
        for k in (0..3).rev() {
            let known = (k + 1..3).fold(T::zero(), |sum, j| sum + rows[k][j] * solution[j]);
            solution[k] = (rows[k][3] - known) / rows[k][k];
        }
        solution.iter().fold(T::zero(), |sum, x| sum + *x)
    }
    /// By Cramer's rule.
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let column = |k: usize| [x[k], x[4 + k], x[8 + k]];
        let determinant = |a: [Real<S>; 3], b: [Real<S>; 3], c: [Real<S>; 3]| {
            (a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1])
                + c[0] * (a[1] * b[2] - a[2] * b[1]))
                .eval()
        };
        let (a, b, c, right) = (column(0), column(1), column(2), column(3));
        let solutions = determinant(right, b, c) + determinant(a, right, c) + determinant(a, b, right);
        (solutions / determinant(a, b, c)).into()
    }
}

#[test]
fn gaussian_elimination_agrees_with_cramers_rule() {
    let gradient = agrees::<Elimination>(&[0.5, 2.0, -1.0, 3.0, 4.0, -1.0, 0.5, 1.0, 1.0, 1.0, 3.0, -2.0]);
    assert!(gradient.iter().all(|slope| *slope != 0.0), "{gradient:?}");
}

/// Two steps of the classical Runge–Kutta method for a pendulum with x″ = −ω²·sin x, and its energy at the end.
struct Pendulum;
impl Program for Pendulum {
    fn foreign<T: Float + FloatConst + FromPrimitive>(x: &[T]) -> T {
        let slope = |[angle, speed]: [T; 2]| [speed, -x[2] * x[2] * angle.sin()];
        let number = |n: f64| T::from_f64(n).expect("a float");
        let along = |y: [T; 2], k: [T; 2], h: T| [y[0] + h * k[0], y[1] + h * k[1]];
        let step = T::FRAC_PI_8();
        let (half, sixth) = (step * number(0.5), step / number(6.0));
        let mut y = [x[0], x[1]];
        for _ in 0..2 {
            let k1 = slope(y);
            let k2 = slope(along(y, k1, half));
            let k3 = slope(along(y, k2, half));
            let k4 = slope(along(y, k3, step));
            let mean = |i: usize| sixth * (k1[i] + number(2.0) * (k2[i] + k3[i]) + k4[i]);
            y = [y[0] + mean(0), y[1] + mean(1)];
        }
        y[1] * y[1] * half - x[2].powi(2) * y[0].cos()
    }
    fn statements<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let slope = |[angle, speed]: [Real<S>; 2]| [speed, (-x[2] * x[2] * angle.sin()).eval()];
        let along = |y: [Real<S>; 2], k: [Real<S>; 2], h: f64| [(y[0] + h * k[0]).eval(), (y[1] + h * k[1]).eval()];
        let step = core::f64::consts::FRAC_PI_8;
        let mut y = [x[0], x[1]];
        for _ in 0..2 {
            let k1 = slope(y);
            let k2 = slope(along(y, k1, step / 2.0));
            let k3 = slope(along(y, k2, step / 2.0));
            let k4 = slope(along(y, k3, step));
            for i in 0..2 {
                y[i] += step / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
            }
        }
        (y[1] * y[1] * (step / 2.0) - x[2].powi(2) * y[0].cos()).into()
    }
}

#[test]
fn runge_kutta_steps_of_a_pendulum() {
    agrees::<Pendulum>(&[0.8, -0.3, 1.4]);
}

#[test]
fn a_foreign_program_records_its_operations_one_by_one() {
    // Of eight steps, the first has an inactive root: 9 operations, of which 3 are then passive.
    assert_eq!(report::<Jacobian, _>(&[2.0, 5.0], Newton::foreign).statements, 8 * 9 - 3);
    // A product and a sum for each of three coefficients; the product of 0 by the variable too.
    assert_eq!(report::<Jacobian, _>(&[3.0, -2.0, 5.0, 2.0], Horner::foreign).statements, 6);
}
