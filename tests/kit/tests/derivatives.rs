//! Every function under both taping strategies, in forward mode and in both float widths: values against `f64`'s own
//! functions, derivatives against closed forms and against differences, at regular points and at the edges.

use core::f64::consts::{E, FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LN_10, PI};
use tapewright::prelude::*;
use tapewright::strategies::rules::FUNCTIONS;
use tapewright::{Number, logsumexp, smooth_max, smooth_min};

#[path = "derivatives/edges.rs"]
mod edges;

type Of<S> = fn(&[Real<S>]) -> Real<S>;

/// One function with what is known about it.
struct Case {
    name: &'static str,
    points: &'static [&'static [f64]],
    value: fn(&[f64]) -> f64,
    /// Where the standard library has the function.
    value32: Option<fn(&[f32]) -> f32>,
    gradient: fn(&[f64]) -> Vec<f64>,
    jacobian: Of<Jacobian>,
    primal: Of<PrimalValue>,
    jacobian32: Of<Jacobian<f32>>,
    primal32: Of<PrimalValue<f32>>,
    tangent: Of<Tangent<3>>,
    tangent32: Of<Tangent<3, f32>>,
}

macro_rules! standard {
    ($value:expr) => {
        Some($value)
    };
}
macro_rules! ours {
    ($value:expr) => {
        None
    };
}

/// Defines a list of cases from rows `name [points] |x| rule, value, [partials];`. A row `sin [&[0.5]] |x| x[0].sin(),
/// …` becomes a generic function `sin` and a [`Case`] that holds its instances.
macro_rules! cases {
    ($list:ident, $module:ident, $whose:ident: $($name:ident [$($point:expr),+] |$x:ident| $rule:expr, $value:expr, [$($partial:expr),+];)*) => {
        mod $module {
            use super::*;
            $(pub(super) fn $name<S: Taping>($x: &[Real<S>]) -> Real<S> { $rule.into() })*
        }
        #[allow(unused_variables, reason = "some partials are constants")]
        const $list: &[Case] = &[$(Case {
            name: stringify!($name),
            points: &[$(&$point),+],
            value: |$x| $value,
            value32: $whose!(|$x| $value),
            gradient: |$x| vec![$($partial),+],
            jacobian: $module::$name,
            primal: $module::$name,
            jacobian32: $module::$name,
            primal32: $module::$name,
            tangent: $module::$name,
            tangent32: $module::$name,
        }),*];
    };
}

cases! { ELEMENTARY, elementary, standard:
    abs [[0.3], [-2.5]] |x| x[0].abs(), x[0].abs(), [x[0] / x[0].abs()];
    sqrt [[0.3], [17.0], [1e-20]] |x| x[0].sqrt(), x[0].sqrt(), [0.5 * x[0].powf(-0.5)];
    cbrt [[0.3], [-17.0]] |x| x[0].cbrt(), x[0].cbrt(), [x[0].abs().powf(-2.0 / 3.0) / 3.0];
    recip [[0.3], [-17.0]] |x| x[0].recip(), x[0].recip(), [-1.0 / (x[0] * x[0])];
    exp [[0.3], [-7.0], [20.5]] |x| x[0].exp(), x[0].exp(), [E.powf(x[0])];
    exp2 [[0.3], [-7.0]] |x| x[0].exp2(), x[0].exp2(), [LN_2 * 2.0_f64.powf(x[0])];
    exp_m1 [[0.3], [-7.0], [1e-6]] |x| x[0].exp_m1(), x[0].exp_m1(), [E.powf(x[0])];
    ln [[0.3], [17.0]] |x| x[0].ln(), x[0].ln(), [1.0 / x[0]];
    log2 [[0.3], [17.0]] |x| x[0].log2(), x[0].log2(), [1.0 / (x[0] * LN_2)];
    log10 [[0.3], [17.0]] |x| x[0].log10(), x[0].log10(), [1.0 / (x[0] * LN_10)];
    ln_1p [[0.3], [17.0], [-0.7]] |x| x[0].ln_1p(), x[0].ln_1p(), [1.0 / (1.0 + x[0])];
    log [[0.3, 2.5], [17.0, 0.2]] |x| x[0].log(&x[1]), x[0].log(x[1]),
        [1.0 / (x[0] * x[1].ln()), -x[0].ln() / (x[1] * x[1].ln().powi(2))];
    powf [[1.3, 2.7], [0.4, -1.2], [5.0, 0.5], [1e-3, 3.0]] |x| x[0].powf(&x[1]), x[0].powf(x[1]),
        [x[1] * x[0].powf(x[1] - 1.0), x[0].powf(x[1]) * x[0].ln()];
    cube [[0.3], [-2.5]] |x| x[0].powi(3), x[0].powi(3), [3.0 * x[0] * x[0]];
    inverse_square [[0.3], [-2.5]] |x| x[0].powi(-2), x[0].powi(-2), [-2.0 / (x[0] * x[0] * x[0])];
    sin [[0.3], [-2.5], [40.0]] |x| x[0].sin(), x[0].sin(), [x[0].cos()];
    cos [[0.3], [-2.5], [40.0]] |x| x[0].cos(), x[0].cos(), [-x[0].sin()];
    sin_of_pair [[0.3], [-2.5]] |x| x[0].sin_cos().0, x[0].sin_cos().0, [x[0].cos()];
    cos_of_pair [[0.3], [-2.5]] |x| x[0].sin_cos().1, x[0].sin_cos().1, [-x[0].sin()];
    tan [[0.3], [-2.5]] |x| x[0].tan(), x[0].tan(), [x[0].cos().powi(-2)];
    asin [[0.3], [-0.9]] |x| x[0].asin(), x[0].asin(), [1.0 / (1.0 - x[0] * x[0]).sqrt()];
    acos [[0.3], [-0.9]] |x| x[0].acos(), x[0].acos(), [-1.0 / (1.0 - x[0] * x[0]).sqrt()];
    atan [[0.3], [-2.5]] |x| x[0].atan(), x[0].atan(), [1.0 / (1.0 + x[0] * x[0])];
    atan2 [[0.3, 2.5], [-1.5, -0.4]] |x| x[0].atan2(&x[1]), x[0].atan2(x[1]),
        [x[1] / (x[0] * x[0] + x[1] * x[1]), -x[0] / (x[0] * x[0] + x[1] * x[1])];
    sinh [[0.3], [-2.5]] |x| x[0].sinh(), x[0].sinh(), [0.5 * (x[0].exp() + (-x[0]).exp())];
    cosh [[0.3], [-2.5]] |x| x[0].cosh(), x[0].cosh(), [0.5 * (x[0].exp() - (-x[0]).exp())];
    tanh [[0.3], [-2.5], [12.0], [-19.0]] |x| x[0].tanh(), x[0].tanh(), [x[0].cosh().powi(-2)];
    asinh [[0.3], [-2.5]] |x| x[0].asinh(), x[0].asinh(), [1.0 / (1.0 + x[0] * x[0]).sqrt()];
    acosh [[1.3], [25.0]] |x| x[0].acosh(), x[0].acosh(), [1.0 / (x[0] * x[0] - 1.0).sqrt()];
    atanh [[0.3], [-0.9]] |x| x[0].atanh(), x[0].atanh(), [1.0 / (1.0 - x[0] * x[0])];
    hypot [[0.3, 2.5], [-1.5, -0.4]] |x| x[0].hypot(&x[1]), x[0].hypot(x[1]),
        [x[0] / (x[0] * x[0] + x[1] * x[1]).sqrt(), x[1] / (x[0] * x[0] + x[1] * x[1]).sqrt()];
    mul_add [[0.3, 2.5, -0.7]] |x| x[0].mul_add(&x[1], &x[2]), x[0] * x[1] + x[2], [x[1], x[0], 1.0];
    rem [[5.3, 2.0], [-5.3, 2.0], [7.1, -3.0]] |x| &x[0] % &x[1], x[0] % x[1], [1.0, -(x[0] / x[1]).trunc()];
    quotient [[5.3, 2.0], [-0.3, -7.0]] |x| &x[0] / &x[1], x[0] / x[1], [1.0 / x[1], -x[0] / (x[1] * x[1])];
    max [[0.3, 2.5], [2.5, 0.3]] |x| x[0].max(&x[1]), x[0].max(x[1]), [step(x[0], x[1]), step(x[1], x[0])];
    min [[0.3, 2.5], [2.5, 0.3]] |x| x[0].min(&x[1]), x[0].min(x[1]), [step(x[1], x[0]), step(x[0], x[1])];
    clamp [[0.3], [-2.5], [7.0]] |x| x[0].clamp(-1.0, 2.0), x[0].clamp(-1.0, 2.0), [step(2.0, x[0]) * step(x[0], -1.0)];
    copysign [[0.3, -2.5], [-0.3, -1.0]] |x| x[0].copysign(&x[1]), x[0].copysign(x[1]),
        [(x[0] * x[1]).signum(), 0.0];
    to_degrees [[0.3]] |x| x[0].to_degrees(), x[0].to_degrees(), [180.0 / PI];
    to_radians [[30.0], [7.7]] |x| x[0].to_radians(), x[0].to_radians(), [PI / 180.0];
    fract [[0.3], [-2.6]] |x| x[0].fract(), x[0].fract(), [1.0];
}

cases! { SPECIAL, special, ours:
    erf [[0.3], [-1.5]] |x| x[0].erf(), Number::erf(x[0]), [FRAC_2_SQRT_PI / (x[0] * x[0]).exp()];
    erfc [[0.3], [-1.5], [4.0]] |x| x[0].erfc(), Number::erfc(x[0]), [-FRAC_2_SQRT_PI / (x[0] * x[0]).exp()];
    gamma [[0.3], [4.2], [-1.4]] |x| x[0].gamma(), Number::gamma(x[0]), [Number::gamma(x[0]) * psi(x[0])];
    ln_gamma [[0.3], [4.2], [-1.4]] |x| x[0].ln_gamma(), Number::ln_gamma(x[0]), [psi(x[0])];
    digamma [[0.3], [4.2], [-1.4]] |x| x[0].digamma(), Number::digamma(x[0]), [psi_prime(x[0])];
    beta [[0.3, 2.5], [4.2, 1.7], [14.0, 12.5]] |x| x[0].beta(&x[1]), gammas(x[0], x[1]), [
        gammas(x[0], x[1]) * (psi(x[0]) - psi(x[0] + x[1])),
        gammas(x[0], x[1]) * (psi(x[1]) - psi(x[0] + x[1]))
    ];
    normal_pdf [[0.3], [-1.5]] |x| x[0].normal_pdf(), bell(x[0]), [-x[0] * bell(x[0])];
    normal_cdf [[0.3], [-1.5]] |x| x[0].normal_cdf(), 0.5 + 0.5 * Number::erf(x[0] * FRAC_1_SQRT_2), [bell(x[0])];
    normal_quantile [[0.3], [0.975], [1e-4]] |x| x[0].normal_quantile(), Number::normal_quantile(x[0]),
        [1.0 / bell(Number::normal_quantile(x[0]))];
    sigmoid [[0.3], [-1.5], [9.0]] |x| x[0].sigmoid(), 1.0 / (1.0 + (-x[0]).exp()),
        [0.25 * (0.5 * x[0]).cosh().powi(-2)];
    softplus [[0.3], [-1.5], [9.0]] |x| x[0].softplus(), x[0].exp().ln_1p(), [0.5 + 0.5 * (0.5 * x[0]).tanh()];
    log_add_exp [[0.3, -1.5], [2.0, 2.0], [-3.0, 1.0]] |x| x[0].log_add_exp(&x[1]), (x[0].exp() + x[1].exp()).ln(),
        [x[0].exp() / (x[0].exp() + x[1].exp()), x[1].exp() / (x[0].exp() + x[1].exp())];
    log_sum_exp [[0.3, -1.5, 2.0]] |x| logsumexp(x), exponentials(x).ln(),
        [x[0].exp() / exponentials(x), x[1].exp() / exponentials(x), x[2].exp() / exponentials(x)];
    smooth_abs [[0.3, 0.5], [-2.0, 0.1]] |x| x[0].smooth_abs(&x[1]), length(x[0], x[1]),
        [x[0] / length(x[0], x[1]), x[1] / length(x[0], x[1])];
    smooth_maximum [[0.3, 0.5], [2.0, -1.0], [1.0, 1.0]] |x| smooth_max(&x[0], &x[1], 0.5),
        0.5 * (x[0] + x[1] + length(x[0] - x[1], 0.5)), [
            0.5 + 0.5 * (x[0] - x[1]) / length(x[0] - x[1], 0.5),
            0.5 - 0.5 * (x[0] - x[1]) / length(x[0] - x[1], 0.5)
        ];
    smooth_minimum [[0.3, 0.5], [2.0, -1.0], [1.0, 1.0]] |x| smooth_min(&x[0], &x[1], 0.5),
        0.5 * (x[0] + x[1] - length(x[0] - x[1], 0.5)), [
            0.5 - 0.5 * (x[0] - x[1]) / length(x[0] - x[1], 0.5),
            0.5 + 0.5 * (x[0] - x[1]) / length(x[0] - x[1], 0.5)
        ];
}

/// 1 above the threshold, else 0.
fn step(x: f64, threshold: f64) -> f64 {
    f64::from(u8::from(x > threshold))
}
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}
/// The standard normal density.
fn bell(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}
fn exponentials(x: &[f64]) -> f64 {
    x.iter().map(|x| x.exp()).sum()
}
fn gammas(x: f64, y: f64) -> f64 {
    Number::gamma(x) * Number::gamma(y) / Number::gamma(x + y)
}
/// ψ from ψ(x) = ψ(x + n) − Σ 1/(x + k) and the first terms of its series at x + 1000.
fn psi(x: f64) -> f64 {
    let z = x + 1000.0;
    let far = z.ln() - 0.5 / z - 1.0 / (12.0 * z * z) + 1.0 / (120.0 * z.powi(4));
    far - (0..1000).rev().map(|k| 1.0 / (x + f64::from(k))).sum::<f64>()
}
/// ψ′ likewise.
fn psi_prime(x: f64) -> f64 {
    let z = x + 1000.0;
    let far = 1.0 / z + 0.5 / (z * z) + 1.0 / (6.0 * z.powi(3)) - 1.0 / (30.0 * z.powi(5));
    far + (0..1000).rev().map(|k| (x + f64::from(k)).powi(-2)).sum::<f64>()
}

fn rounded(x: &[f64]) -> Vec<f32> {
    x.iter().map(|x| Number::from_f64(*x)).collect()
}

/// Every case with each of its points.
fn each(mut check: impl FnMut(&Case, &[f64])) {
    for case in ELEMENTARY.iter().chain(SPECIAL) {
        case.points.iter().for_each(|x| check(case, x));
    }
}

/// Value and gradient by forward mode.
fn forward<S: Forward>(f: Of<S>, x: &[S::Value]) -> (S::Value, Vec<S::Value>) {
    let (values, rows) = jacobian_forward(|x| vec![f(x)], x);
    (values[0], rows.concat())
}

/// Panics unless |a − b| ≤ tolerance·max(1e-3, |b|).
fn assert_close(a: f64, b: f64, tolerance: f64, what: impl core::fmt::Display) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1e-3), "{what}: {a:e}, expected {b:e}");
}

/// The derivative of `f` at 0 by Ridders' method: central differences extrapolated to step 0.
fn extrapolated(f: impl Fn(f64) -> f64, step: f64) -> f64 {
    let central = |h: f64| (f(h) - f(-h)) / (2.0 * h);
    let mut best = (f64::INFINITY, f64::NAN);
    let mut row = vec![central(step)];
    for k in 1..10 {
        let mut next = vec![central(step * 0.6_f64.powi(k))];
        for (j, coarse) in row.iter().enumerate() {
            let factor = 0.36_f64.powi(-(i32::try_from(j).expect("a short row") + 1));
            next.push((next[j] * factor - coarse) / (factor - 1.0));
            let error = (next[j + 1] - next[j]).abs().max((next[j + 1] - coarse).abs());
            if error < best.0 {
                best = (error, next[j + 1]);
            }
        }
        row = next;
    }
    best.1
}

/// The others have theirs in `special_functions.rs`.
#[test]
fn every_function_that_floats_have_has_a_row() {
    let of_floats = FUNCTIONS.iter().filter(|(_, _, floats)| ["native", "registers"].contains(floats));
    for (name, arguments, _) in of_floats {
        let found = ELEMENTARY.iter().find(|case| case.name == *name);
        let case = found.unwrap_or_else(|| panic!("`{name}` needs a row in the list `ELEMENTARY`"));
        assert!(case.points.iter().all(|x| x.len() == *arguments), "`{name}` has {arguments} arguments");
    }
}

#[test]
fn values_are_those_of_the_standard_library() {
    each(|case, x| {
        let expected = (case.value)(x);
        let (a, b) = (value_and_gradient(case.jacobian, x).0, value_and_gradient(case.primal, x).0);
        assert_eq!((a, a), (b, forward(case.tangent, x).0), "{} at {x:?}", case.name);
        if case.value32.is_some() {
            assert_eq!(a, expected, "{} at {x:?}", case.name);
        } else {
            assert_close(a, expected, 2e-15, format_args!("{} at {x:?}", case.name));
        }
    });
}

#[test]
fn f32_values_are_those_of_the_standard_library() {
    each(|case, x| {
        let x32 = rounded(x);
        let (a, b) = (value_and_gradient(case.jacobian32, &x32).0, value_and_gradient(case.primal32, &x32).0);
        assert_eq!((a, a), (b, forward(case.tangent32, &x32).0), "{} at {x:?}", case.name);
        match case.value32 {
            Some(value) => assert_eq!(a, value(&x32), "{} at {x:?}", case.name),
            None => assert_close(f64::from(a), (case.value)(x), 2e-6, format_args!("{} at {x:?}", case.name)),
        }
    });
}

#[test]
fn derivatives_agree_with_closed_forms() {
    each(|case, x| {
        let (a, b, c) = (gradient(case.jacobian, x), gradient(case.primal, x), forward(case.tangent, x).1);
        for (k, expected) in (case.gradient)(x).into_iter().enumerate() {
            let what = format_args!("∂{k} {} at {x:?}", case.name).to_string();
            assert_close(a[k], expected, 2e-14, &what);
            assert_close(b[k], expected, 2e-14, &what);
            assert_close(c[k], expected, 2e-14, &what);
        }
    });
}

#[test]
fn derivatives_agree_with_extrapolated_differences() {
    each(|case, x| {
        let slopes = gradient(case.jacobian, x);
        for (k, slope) in slopes.iter().enumerate() {
            let at = |h: f64| {
                let mut x = x.to_vec();
                x[k] += h;
                value_and_gradient(case.jacobian, &x).0
            };
            let step = 0.05 * x[k].abs().min(1.0).min(1.0 - x[k].abs().fract()).max(1e-21);
            assert_close(*slope, extrapolated(at, step), 1e-8, format_args!("∂{k} {} at {x:?}", case.name));
        }
    });
}

#[test]
fn f32_derivatives_agree_with_f64_derivatives_at_the_same_point() {
    each(|case, x| {
        let x32 = rounded(x);
        let x64: Vec<f64> = x32.iter().map(|x| f64::from(*x)).collect();
        let (a, b) = (gradient(case.jacobian32, &x32), gradient(case.primal32, &x32));
        let c = forward(case.tangent32, &x32).1;
        for (k, expected) in gradient(case.jacobian, &x64).into_iter().enumerate() {
            let what = format_args!("∂{k} {} at {x:?}", case.name).to_string();
            assert_close(f64::from(a[k]), expected, 5e-6, &what);
            assert_close(f64::from(b[k]), expected, 5e-6, &what);
            assert_close(f64::from(c[k]), expected, 5e-6, &what);
        }
    });
}

#[test]
fn steps_are_passive_and_have_the_values_of_f64() {
    for x in [2.5, -2.5, 0.0, 1e300] {
        let (value, slopes) = value_and_gradient::<Jacobian>(
            |v| {
                let x = &v[0];
                let steps = [x.signum(), x.floor(), x.ceil(), x.round(), x.trunc()];
                (steps[0] + steps[1] * 10.0 + steps[2] * 100.0 + steps[3] * 1e3 + steps[4] * 1e4).into()
            },
            &[x],
        );
        assert_eq!(value, x.signum() + x.floor() * 10.0 + x.ceil() * 100.0 + x.round() * 1e3 + x.trunc() * 1e4);
        assert_eq!(slopes, [0.0]);
    }
}
