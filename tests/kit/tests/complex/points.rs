//! Points where functions are not smooth, and numbers that are not finite.

use tapewright::policy::{self, Strict};
use tapewright::prelude::*;
use tapewright::{Complex, Dual, Error, SweepError};

type Under<P> = Jacobian<f64, Linear, InMemory, P>;

/// Functions with their branch points and poles.
fn singular<S: Strategy>() -> Vec<(&'static str, fn(Complex<S>) -> Complex<S>, [f64; 2])> {
    vec![
        ("sqrt", |z| z.sqrt(), [0.0, 0.0]),
        ("sqrt", |z| z.sqrt(), [-0.0, -0.0]),
        ("cbrt", |z| z.cbrt(), [0.0, 0.0]),
        ("ln", |z| z.ln(), [0.0, 0.0]),
        ("log2", |z| z.log2(), [0.0, 0.0]),
        ("log10", |z| z.log10(), [0.0, 0.0]),
        ("asin", |z| z.asin(), [1.0, 0.0]),
        ("asin", |z| z.asin(), [-1.0, -0.0]),
        ("acos", |z| z.acos(), [1.0, 0.0]),
        ("acosh", |z| z.acosh(), [1.0, 0.0]),
        ("acosh", |z| z.acosh(), [-1.0, 0.0]),
        ("atanh", |z| z.atanh(), [1.0, 0.0]),
        ("asinh", |z| z.asinh(), [0.0, 1.0]),
        ("atan", |z| z.atan(), [0.0, -1.0]),
        ("powf", |z| z.powf(0.5), [0.0, 0.0]),
        ("powf", |z| z.powf(1.0 / 3.0), [0.0, 0.0]),
        ("norm", |z| z.norm().into(), [0.0, 0.0]),
        ("arg", |z| z.arg().into(), [0.0, 0.0]),
    ]
}

fn real_part<S: Strategy>(f: fn(Complex<S>) -> Complex<S>, x: &[Real<S>]) -> Real<S> {
    let w = f(Complex::from((x[0], x[1])));
    (w.re + w.im).open()
}

#[test]
fn the_policy_decides_at_branch_points() {
    for ((name, f, z), (_, zero, _)) in
        singular::<Under<Strict>>().into_iter().zip(singular::<Under<policy::Subgradient>>())
    {
        let slopes = gradient::<Under<Strict>>(|x| real_part(f, x), &z);
        assert!(slopes.iter().any(|slope| !slope.is_finite()), "{name} at {z:?}: {slopes:?}");
        assert_eq!(gradient::<Under<policy::Subgradient>>(|x| real_part(zero, x), &z), [0.0, 0.0], "{name} at {z:?}");
    }
    for (name, f, z) in singular::<Under<policy::Checked>>() {
        let mut tape = Tape::<Under<policy::Checked>>::new();
        let y = tape.record(|scope| real_part(f, &scope.inputs(&z)));
        let found = tape.sweep(&[(&y, 1.0)]).map(|_| ());
        assert!(matches!(found, Err(Error::Sweep(SweepError::Singular { .. }))), "{name} at {z:?}: {found:?}");
    }
}

/// Re z^e by a passive exponent, with its value, slopes and second derivatives.
fn power(e: f64, z: [f64; 2]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    tapewright::hessian::<Jacobian<Dual<f64, 2>>>(|x| Complex::from((x[0], x[1])).powf(e).re.open(), &z)
}

#[test]
fn powers_at_zero_are_right_or_nan() {
    let flat = vec![vec![0.0; 2]; 2];
    assert_eq!(power(0.0, [0.0, 0.0]), (1.0, vec![0.0; 2], flat.clone()));
    assert_eq!(power(1.0, [0.0, 0.0]), (0.0, vec![1.0, 0.0], flat.clone()));
    assert_eq!(power(2.0, [0.0, 0.0]), (0.0, vec![0.0; 2], vec![vec![2.0, 0.0], vec![0.0, -2.0]]));
    assert_eq!(power(3.0, [0.0, 0.0]), (0.0, vec![0.0; 2], flat.clone()));
    assert_eq!(power(2.5, [0.0, -0.0]), (0.0, vec![0.0; 2], flat));
    // The slope is 0 and the second derivative has no limit; that of the root has none at all.
    let (value, slopes, hessian) = power(1.5, [0.0, 0.0]);
    assert_eq!((value, slopes), (0.0, vec![0.0; 2]));
    assert!(hessian.iter().flatten().all(|second| second.is_nan()), "{hessian:?}");
    assert!(power(0.5, [0.0, 0.0]).1.iter().all(|slope| !slope.is_finite()));
    // With an exponent that is a variable.
    let f = |x: &[Real<Jacobian>]| Complex::from((x[0], x[1])).powf(x[2]).re.open();
    assert_eq!(value_and_gradient::<Jacobian>(f, &[0.0, 0.0, 2.0]), (0.0, vec![0.0; 3]));
    assert_eq!(value_and_gradient::<Jacobian>(f, &[0.0, 0.0, 1.0]), (0.0, vec![1.0, 0.0, 0.0]));
}

#[test]
fn whole_powers_are_exact_on_the_axes() {
    for (z, n, expected) in [([0.0, 2.0], 2, [-4.0, 0.0]), ([-2.0, 0.0], 3, [-8.0, 0.0]), ([0.0, -2.0], -1, [0.0, 0.5])]
    {
        let w = Complex::<Passive>::from((z[0], z[1])).powi(n);
        assert_eq!([w.re.value(), w.im.value()], expected);
    }
}

/// z/w where products of parts overflow or lose digits.
#[test]
fn quotients_do_not_overflow_on_the_way() {
    let cases = [
        ([1e300, 1e300], [1e300, -1e300], [0.0, 1.0], 0.0),
        ([1e-300, 0.0], [1e-300, 1e-300], [0.5, -0.5], 0.0),
        ([5e-324, 0.0], [0.0, 5e-324], [0.0, -1.0], 0.0),
        ([1e308, -1e308], [1e308, 1e308], [0.0, -1.0], 0.0),
        ([1e-300, 2e-300], [1e300, 0.0], [0.0, 0.0], 0.0),
        ([3e300, 1e300], [1e-5, 0.0], [3e305, 1e305], 1e290),
        ([1.0, 1.0], [f64::INFINITY, 0.0], [0.0, 0.0], 0.0),
    ];
    for (z, w, expected, tolerance) in cases {
        let q = Complex::<Passive>::from((z[0], z[1])) / Complex::from((w[0], w[1]));
        let found = [q.re.value(), q.im.value()];
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= tolerance), "{z:?}/{w:?}: {found:?}");
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Rows of annex G of the C standard: argument, value.
#[test]
fn infinite_arguments_have_the_values_of_annex_g() {
    let pi = core::f64::consts::PI;
    let rows: [(&str, fn(&Complex<Passive>) -> Complex<Passive>, [f64; 2], [f64; 2]); 30] = [
        ("exp", Complex::exp, [INF, 0.0], [INF, 0.0]),
        ("exp", Complex::exp, [-INF, INF], [0.0, 0.0]),
        ("exp", Complex::exp, [INF, NAN], [INF, NAN]),
        ("exp", Complex::exp, [NAN, 0.0], [NAN, 0.0]),
        ("exp", Complex::exp, [1.0, INF], [NAN, NAN]),
        ("ln", Complex::ln, [-0.0, 0.0], [-INF, pi]),
        ("ln", Complex::ln, [0.0, -0.0], [-INF, -0.0]),
        ("ln", Complex::ln, [-INF, 1.0], [INF, pi]),
        ("ln", Complex::ln, [INF, INF], [INF, pi / 4.0]),
        ("ln", Complex::ln, [NAN, INF], [INF, NAN]),
        ("sqrt", Complex::sqrt, [NAN, INF], [INF, INF]),
        ("sqrt", Complex::sqrt, [-INF, 1.0], [0.0, INF]),
        ("sqrt", Complex::sqrt, [-INF, -1.0], [0.0, -INF]),
        ("sqrt", Complex::sqrt, [INF, 1.0], [INF, 0.0]),
        ("sqrt", Complex::sqrt, [-0.0, -0.0], [0.0, -0.0]),
        ("sinh", Complex::sinh, [INF, 0.0], [INF, 0.0]),
        ("cosh", Complex::cosh, [INF, 0.0], [INF, 0.0]),
        ("tanh", Complex::tanh, [INF, 1.0], [1.0, 0.0]),
        ("tanh", Complex::tanh, [-INF, NAN], [-1.0, 0.0]),
        ("tanh", Complex::tanh, [1.0, INF], [NAN, NAN]),
        ("asin", Complex::asin, [INF, 1.0], [pi / 2.0, INF]),
        ("acos", Complex::acos, [-INF, 1.0], [pi, -INF]),
        ("acos", Complex::acos, [INF, INF], [pi / 4.0, -INF]),
        ("asinh", Complex::asinh, [INF, INF], [INF, pi / 4.0]),
        ("acosh", Complex::acosh, [-INF, 1.0], [INF, pi]),
        ("atanh", Complex::atanh, [1.0, 0.0], [INF, 0.0]),
        ("atanh", Complex::atanh, [INF, -1.0], [0.0, -pi / 2.0]),
        ("atan", Complex::atan, [0.0, 1.0], [0.0, INF]),
        ("inv", Complex::inv, [-0.0, 0.0], [-INF, NAN]),
        ("inv", Complex::inv, [INF, NAN], [0.0, 0.0]),
    ];
    for (name, f, z, expected) in rows {
        let w = f(&Complex::from((z[0], z[1])));
        let found = [w.re.value(), w.im.value()];
        let same = |(f, e): (f64, f64)| f == e || f.is_nan() && e.is_nan();
        assert!(found.into_iter().zip(expected).all(same), "{name} at {z:?}: {found:?}, not {expected:?}");
    }
}

/// A NaN that an argument has goes on, and so do its derivatives.
#[test]
fn nan_arguments_have_nan_slopes() {
    let all: [fn(&Complex<Jacobian>) -> Complex<Jacobian>; 10] = [
        Complex::sqrt,
        Complex::ln,
        Complex::exp,
        Complex::sin,
        Complex::tanh,
        Complex::asin,
        Complex::acosh,
        Complex::atanh,
        Complex::inv,
        |z| z.powf(2.5),
    ];
    for f in all {
        let (value, slopes) =
            value_and_gradient::<Jacobian>(|x| f(&Complex::from((x[0], x[1]))).re.open(), &[0.5, NAN]);
        assert!(value.is_nan() && slopes.iter().all(|slope| slope.is_nan()), "{value} {slopes:?}");
    }
}

/// Replays go through the rules at other points, across a cut, too.
#[test]
fn replays_are_right_on_the_other_side_of_a_cut() {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[4.0, 1.0]);
        let w = Complex::from((x[0], x[1])).sqrt();
        (x, w.im.open())
    });
    tape.replay(&x.iter().zip([-4.0, -0.0]).collect::<Vec<_>>()).expect("no branch");
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("one output");
    assert_eq!(adjoints.of_all(&x).expect("inputs"), [0.25, 0.0]);
}

/// One over the other strategy: reverse over reverse.
#[test]
fn reverse_over_reverse_has_the_second_derivative() {
    type Inner = Jacobian<tapewright::Nested<Jacobian>>;
    let slope = |x: &[Real<Jacobian>]| -> Real<Jacobian> {
        let f = |x: &[Real<Inner>]| Complex::from((x[0], x[1])).sqrt().re.open();
        Real::from(gradient::<Inner>(f, Real::numbers(x))[0])
    };
    // √z″ = −z^−3/2/4 at 4: −1/32.
    assert_eq!(gradient::<Jacobian>(slope, &[4.0, 0.0]), [-1.0 / 32.0, 0.0]);
}
