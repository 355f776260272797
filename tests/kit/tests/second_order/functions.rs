//! Every function: bit for bit the values and gradients of plain numbers, and second derivatives against differences.

use tapewright::prelude::*;
use tapewright::strategies::rules::FUNCTIONS;
use tapewright::{Dual, Nested, Number, smooth_max, smooth_min};

type Plain = Jacobian;
type First = Jacobian<Dual<f64, 2>>;
type Twice = Jacobian<Nested<Plain>>;

/// A function of two variables under three strategies, and points at which it is smooth.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) plain: fn(&[Real<Plain>]) -> Real<Plain>,
    pub(super) dual: fn(&[Real<First>]) -> Real<First>,
    pub(super) nested: fn(&[Real<Twice>]) -> Real<Twice>,
    pub(super) points: &'static [[f64; 2]],
}

macro_rules! cases {
    ($($name:literal |$x:ident, $y:ident| $value:expr, $points:expr;)*) => {
        pub(super) fn cases() -> Vec<Case> {
            vec![$(Case {
                name: $name,
                plain: |v| { let ($x, $y) = (v[0], v[1]); let _ = ($x, $y); $value.into() },
                dual: |v| { let ($x, $y) = (v[0], v[1]); let _ = ($x, $y); $value.into() },
                nested: |v| { let ($x, $y) = (v[0], v[1]); let _ = ($x, $y); $value.into() },
                points: $points,
            },)*]
        }
    };
}

/// Where a function of positive numbers is smooth.
const POSITIVE: &[[f64; 2]] = &[[0.3, 1.0], [1.7, 0.4], [12.5, 2.0]];
/// Where a function of any numbers is smooth.
const ANY: &[[f64; 2]] = &[[-1.3, 0.7], [0.4, -0.2], [2.1, 1.9], [0.0, 0.6]];
/// Between −1 and 1.
const INSIDE: &[[f64; 2]] = &[[-0.6, 0.3], [0.2, -0.8], [0.7, 0.5]];
/// Above 1.
const ABOVE: &[[f64; 2]] = &[[1.1, 2.0], [3.0, 1.5]];

cases! {
    "+" |x, y| x + y * 2.0, ANY;
    "-" |x, y| x - y, ANY;
    "*" |x, y| x * y * x, ANY;
    "/" |x, y| x / y, ANY;
    "%" |x, y| x % y * x, &[[5.3, 2.0], [-5.3, 2.1], [0.7, -0.3]];
    "neg" |x, y| -(x * y), ANY;
    "abs" |x, y| (x * x * x).abs(), &[[-1.3, 0.0], [0.4, 0.0]];
    "sqrt" |x, y| (x * y).sqrt(), POSITIVE;
    "cbrt" |x, y| (x * x).cbrt(), POSITIVE;
    "recip" |x, y| x.recip(), &[[-1.3, 0.0], [0.4, 0.0]];
    "exp" |x, y| (x * y).exp(), ANY;
    "exp2" |x, y| x.exp2(), ANY;
    "exp_m1" |x, y| x.exp_m1(), ANY;
    "ln" |x, y| (x * y).ln(), POSITIVE;
    "log2" |x, y| x.log2(), POSITIVE;
    "log10" |x, y| x.log10(), POSITIVE;
    "ln_1p" |x, y| x.ln_1p(), POSITIVE;
    "sin" |x, y| (x * y).sin(), ANY;
    "cos" |x, y| (x * y).cos(), ANY;
    "tan" |x, y| x.tan(), ANY;
    "asin" |x, y| x.asin(), INSIDE;
    "acos" |x, y| x.acos(), INSIDE;
    "atan" |x, y| x.atan(), ANY;
    "sinh" |x, y| x.sinh(), ANY;
    "cosh" |x, y| x.cosh(), ANY;
    "tanh" |x, y| x.tanh(), &[[-1.3, 0.0], [0.0, 0.0], [3.5, 0.0], [-2.0, 0.0]];
    "asinh" |x, y| x.asinh(), ANY;
    "acosh" |x, y| x.acosh(), ABOVE;
    "atanh" |x, y| x.atanh(), INSIDE;
    "to_degrees" |x, y| (x * x).to_degrees(), ANY;
    "to_radians" |x, y| (x * x).to_radians(), ANY;
    "fract" |x, y| (x * x).fract(), &[[1.3, 0.0], [-0.7, 0.0]];
    "erf" |x, y| x.erf(), ANY;
    "erfc" |x, y| x.erfc(), ANY;
    "gamma" |x, y| x.gamma(), &[[0.3, 0.0], [4.2, 0.0], [-1.5, 0.0], [-0.4, 0.0]];
    "ln_gamma" |x, y| x.ln_gamma(), &[[0.3, 0.0], [4.2, 0.0], [30.0, 0.0], [-1.5, 0.0]];
    "digamma" |x, y| x.digamma(), &[[0.3, 0.0], [4.2, 0.0], [30.0, 0.0], [-1.5, 0.0], [-7.7, 0.0]];
    "normal_pdf" |x, y| x.normal_pdf(), ANY;
    "normal_cdf" |x, y| x.normal_cdf(), ANY;
    "normal_quantile" |x, y| x.normal_quantile(), &[[0.2, 0.0], [0.5, 0.0], [0.85, 0.0]];
    "sigmoid" |x, y| x.sigmoid(), &[[-3.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [1.5, 0.0]];
    "softplus" |x, y| x.softplus(), &[[-3.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [1.5, 0.0]];
    "ln_normal_cdf" |x, y| x.ln_normal_cdf(), &[[-9.0, 0.0], [-1.3, 0.0], [0.0, 0.0], [2.1, 0.0]];
    "erfcx" |x, y| x.erfcx(), &[[-1.3, 0.0], [0.0, 0.0], [2.1, 0.0], [7.0, 0.0]];
    "ln_erfc" |x, y| x.ln_erfc(), &[[-1.3, 0.0], [0.0, 0.0], [2.1, 0.0], [7.0, 0.0]];
    "log1m_exp" |x, y| x.log1m_exp(), &[[-0.3, 0.0], [-1.7, 0.0], [-9.0, 0.0]];
    "x_ln_x" |x, y| x.x_ln_x(), POSITIVE;
    "logit" |x, y| x.logit(), &[[0.2, 0.0], [0.5, 0.0], [0.85, 0.0]];
    "ln_sigmoid" |x, y| x.ln_sigmoid(), &[[-3.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [1.5, 0.0]];
    "sinc" |x, y| x.sinc(), ANY;
    "square" |x, y| x.square(), ANY;
    "lambert_w0" |x, y| x.lambert_w0(), &[[-0.2, 0.0], [0.3, 0.0], [12.5, 0.0]];
    "lambert_wm1" |x, y| x.lambert_wm1(), &[[-0.2, 0.0], [-0.19, 0.0]];
    "log_diff_exp" |x, y| x.log_diff_exp(y), &[[0.3, -2.0], [5.0, -4.0], [1.5, 1.0]];
    "xlogy" |x, y| x.xlogy(y), POSITIVE;
    "xlog1py" |x, y| x.xlog1py(y), POSITIVE;
    "powf" |x, y| x.powf(y), &[[0.3, 1.7], [2.5, -0.8], [1.0, 2.0], [3.0, 0.0], [1.0, 0.0]];
    "powf of a literal" |x, y| x.powf(2.5), POSITIVE;
    "powi 2" |x, y| x.powi(2), &[[-1.3, 0.0], [0.0, 0.0], [-0.0, 0.0], [2.0, 0.0]];
    "powi 3" |x, y| x.powi(3), &[[-1.3, 0.0], [0.0, 0.0], [2.0, 0.0]];
    "powi -2" |x, y| x.powi(-2), &[[-1.3, 0.0], [2.0, 0.0]];
    "powi 1" |x, y| x.powi(1) * x, &[[-1.3, 0.0], [0.0, 0.0]];
    "powi 70" |x, y| x.powi(70), &[];
    "log" |x, y| x.log(y), &[[0.3, 2.0], [5.0, 0.4]];
    "hypot" |x, y| x.hypot(y), &[[3.0, 4.0], [-1.0, 0.5], [0.0, 2.0]];
    "atan2" |x, y| x.atan2(y), &[[3.0, 4.0], [-1.0, 0.5], [0.0, 2.0], [1.0, 0.0]];
    "copysign" |x, y| (x * x).copysign(y), &[[3.0, 4.0], [-1.0, -0.5]];
    "max" |x, y| (x * x).max(y * y * y), &[[3.0, 1.0], [0.5, 1.5]];
    "min" |x, y| (x * x).min(y * y * y), &[[3.0, 1.0], [0.5, 1.5]];
    "clamp" |x, y| (x * x).clamp(0.5, 2.0), &[[1.0, 0.0], [0.1, 0.0], [3.0, 0.0]];
    "log_add_exp" |x, y| x.log_add_exp(y), &[[0.3, 2.0], [5.0, -4.0], [1.5, 1.5], [0.0, 0.0]];
    "beta" |x, y| x.beta(y), &[[0.3, 2.0], [1.5, 1.5], [7.0, 0.8]];
    "trigamma" |x, y| (x * y).trigamma(), POSITIVE;
    "ln_beta" |x, y| x.ln_beta(y), POSITIVE;
    "ln_choose" |x, y| x.ln_choose(y), &[[4.3, 1.2], [12.5, 7.0]];
    "gamma_p" |x, y| x.gamma_p(y), POSITIVE;
    "gamma_q" |x, y| x.gamma_q(y), POSITIVE;
    "gamma_p_inv" |x, y| x.gamma_p_inv(y), &[[0.3, 1.5], [0.7, 4.0]];
    "gamma_q_inv" |x, y| x.gamma_q_inv(y), &[[0.3, 1.5], [0.7, 4.0]];
    "student_t_cdf" |x, y| x.student_t_cdf(y), &[[0.3, 1.5], [-1.2, 4.0]];
    "beta_inc" |x, y| x.beta_inc(y, 1.5), &[[0.3, 1.5], [0.6, 4.0]];
    "beta_inc_inv" |x, y| x.beta_inc_inv(y, 1.5), &[[0.3, 1.5], [0.6, 4.0]];
    "binomial_cdf" |x, y| (x + 2.0).binomial_cdf(7.0, y), &[[0.3, 0.3], [0.5, 0.6]];
    "bessel_j" |x, y| x.bessel_j(y), &[[0.7, 0.3], [2.5, 4.2], [25.0, 1.5]];
    "bessel_y" |x, y| x.bessel_y(y), &[[0.7, 0.3], [2.5, 4.2], [25.0, 1.5]];
    "bessel_i" |x, y| x.bessel_i(y), &[[0.7, 0.3], [2.5, 4.2], [25.0, 1.5]];
    "bessel_k" |x, y| x.bessel_k(y), &[[0.7, 0.3], [2.5, 4.2], [25.0, 1.5]];
    "bessel_i_scaled" |x, y| x.bessel_i_scaled(y), &[[0.7, 0.3], [2.5, 4.2], [25.0, 1.5]];
    "bessel_k_scaled" |x, y| x.bessel_k_scaled(y), &[[0.7, 0.3], [2.5, 4.2], [25.0, 1.5]];
    "smooth_abs" |x, y| x.smooth_abs(0.3), &[[-1.0, 0.0], [0.0, 0.0], [0.2, 0.0]];
    "smooth_max" |x, y| smooth_max(&x, &y, 0.5), &[[1.0, 0.7], [0.2, 0.9], [0.4, 0.4]];
    "smooth_min" |x, y| smooth_min(&x, &y, 0.5), &[[1.0, 0.7], [0.2, 0.9], [0.4, 0.4]];
    "mul_add" |x, y| x.mul_add(y, x), ANY;
}

/// The value, the gradient and the Hessian.
pub(super) fn second(case: &Case, x: [f64; 2]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    tapewright::hessian::<First>(case.dual, &x)
}

/// The same by reverse mode over reverse mode.
fn second_by_reverse(case: &Case, x: [f64; 2]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    let mut base = Tape::<Plain>::new();
    let (inputs, value, slopes) = base.record(|scope| {
        let inputs = scope.inputs(&x);
        let (value, slopes) = value_and_gradient::<Twice>(case.nested, Real::numbers(&inputs));
        (inputs, value, slopes)
    });
    let row = |slope: &Nested<Plain>| {
        let found = base.sweep(&[(&Real::from(*slope), 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs));
        found.expect("its own")
    };
    let rows = slopes.iter().map(row).collect();
    (value.value(), slopes.iter().map(|slope| slope.value()).collect(), rows)
}

#[test]
fn every_function_has_a_row() {
    let cases = cases();
    for (name, ..) in FUNCTIONS {
        let found = cases.iter().find(|case| case.name == *name);
        let case = found.unwrap_or_else(|| panic!("`{name}` needs a row in the list of cases here"));
        assert!(!case.points.is_empty(), "`{name}` needs points");
    }
}

#[test]
fn reverse_over_reverse_finds_what_duals_find() {
    let odd = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let odd: Vec<[f64; 2]> = odd.iter().flat_map(|x| odd.map(|y| [*x, y])).collect();
    let same = |a: f64, b: f64| tapewright::strategies::same(a, b) || a == 0.0 && b == 0.0;
    let mut differ = Vec::new();
    for case in cases() {
        for x in case.points.iter().chain(&odd) {
            let (expected, gradient, hessian) = second(&case, *x);
            let (value, slopes, rows) = second_by_reverse(&case, *x);
            assert!(same(value, expected), "{} at {x:?}: {value} is not {expected}", case.name);
            let right = slopes.iter().zip(&gradient).all(|(a, b)| same(*a, *b));
            assert!(right, "∇{} at {x:?}: {slopes:?} is not {gradient:?}", case.name);
            let close = |(a, b): (&f64, &f64)| same(*a, *b) || (a - b).abs() <= 1e-12 * b.abs();
            if !rows.iter().flatten().zip(hessian.iter().flatten()).all(close) {
                differ.push(format!("∇²{} at {x:?}: {rows:?} is not {hessian:?}", case.name));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn values_and_gradients_are_the_plain_ones_bit_for_bit() {
    let odd = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-310, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let odd: Vec<[f64; 2]> = odd.iter().flat_map(|x| odd.map(|y| [*x, y])).collect();
    for case in cases() {
        for x in case.points.iter().chain(&odd) {
            let (value, gradient) = value_and_gradient::<Plain>(case.plain, x);
            let (found, slopes, _) = second(&case, *x);
            let same = |a: f64, b: f64| tapewright::strategies::same(a, b) || a == 0.0 && b == 0.0;
            assert!(same(found, value), "{} at {x:?}: {found} is not {value}", case.name);
            let right = slopes.iter().zip(&gradient).all(|(a, b)| same(*a, *b));
            assert!(right, "∇{} at {x:?}: {slopes:?} is not {gradient:?}", case.name);
        }
    }
}

#[test]
fn second_derivatives_are_the_differences_of_first_ones() {
    for case in cases() {
        for x in case.points {
            let (_, _, rows) = second(&case, *x);
            assert!((rows[0][1] - rows[1][0]).abs() <= 1e-12 * rows[0][1].abs().max(1.0), "{}: {rows:?}", case.name);
            for j in 0..2 {
                let slopes = |h: f64| {
                    let mut at = *x;
                    at[j] += h;
                    value_and_gradient::<Plain>(case.plain, &at).1
                };
                // Four differences, whose errors of the second and the fourth order cancel.
                let h = 1e-3;
                let (a, b, c, d) = (slopes(2.0 * h), slopes(h), slopes(-h), slopes(-2.0 * h));
                for i in 0..2 {
                    let expected = (-a[i] + 8.0 * b[i] - 8.0 * c[i] + d[i]) / (12.0 * h);
                    let size = expected.abs().max(a[i].abs()).max(1.0);
                    let found = rows[i][j];
                    let close = (found - expected).abs() <= 2e-8 * size;
                    assert!(close, "∂²{}/∂{i}∂{j} at {x:?} is {found}, differences give {expected}", case.name);
                }
            }
        }
    }
}

#[test]
fn polygamma_functions_at_known_points() {
    use core::f64::consts::PI;
    const ZETA_3: f64 = 1.202_056_903_159_594_2;
    const ZETA_5: f64 = 1.036_927_755_143_37;
    let known = [
        (2, 1.0, -2.0 * ZETA_3),
        (2, 0.5, -14.0 * ZETA_3),
        (3, 1.0, PI.powi(4) / 15.0),
        (3, 0.5, PI.powi(4)),
        (4, 1.0, -24.0 * ZETA_5),
        (4, 0.5, -24.0 * 31.0 * ZETA_5),
        (1, 1.0, PI * PI / 6.0),
        // By ψ⁽ⁿ⁾(x) = ψ⁽ⁿ⁾(x + 1) + (−1)ⁿ⁺¹·n!/xⁿ⁺¹ from the ones above.
        (2, -0.5, -14.0 * ZETA_3 + 16.0),
        (3, -0.5, PI.powi(4) + 96.0),
        (2, 2.0, -2.0 * ZETA_3 + 2.0),
        (3, 3.0, PI.powi(4) / 15.0 - 6.0 - 6.0 / 16.0),
        // From the first terms of the asymptotic series, which are exact there.
        (2, 1e8, -1e-16 - 1e-24),
    ];
    for (n, x, expected) in known {
        let found = x.polygamma(n);
        assert!((found - expected).abs() <= 1e-14 * expected.abs(), "ψ⁽{n}⁾({x}) is {found}, not {expected}");
    }
    assert_eq!([0.0_f64.polygamma(2), (-0.0_f64).polygamma(2)], [f64::NEG_INFINITY, f64::INFINITY]);
    assert!((-3.0_f64).polygamma(2).is_nan() && 1.0_f64.polygamma(21).is_nan());
    assert_eq!(1.0_f64.polygamma(0), 1.0_f64.digamma());
}
