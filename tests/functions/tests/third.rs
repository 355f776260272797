//! Third derivatives of a sample of the rules, by duals of duals.
//!
//! A line of `third.txt` is a function with its arguments, the three by which it is derived, and the derivative.

use tapewright::strategies::{Dual, Number, Ternary, rules};
use tapewright::{Binary, Unary};

type Second = Dual<Dual<f64, 1>, 1>;
/// The derivative of a function by the arguments of these numbers, at some arguments.
type Third = fn([f64; 3], [usize; 3]) -> f64;

/// The arguments as numbers with the tangents of two of them.
fn duals(x: [f64; 3], inner: usize, outer: usize) -> [Second; 3] {
    core::array::from_fn(|k| {
        let one = |along: usize| f64::from(u8::from(along == k));
        let number = |value, tangent| Dual { value, tangents: [tangent] };
        Dual { value: number(x[k], one(inner)), tangents: [number(one(outer), 0.0)] }
    })
}

fn unary<R: Unary>(x: [f64; 3], [_, j, k]: [usize; 3]) -> f64 {
    let [x, ..] = duals(x, j, k);
    let (y, companion) = x.unary::<R>();
    x.derivative::<R>(y, companion).tangents[0].tangents[0]
}

fn binary<R: Binary>(x: [f64; 3], [i, j, k]: [usize; 3]) -> f64 {
    let [x, y, _] = duals(x, j, k);
    let value = x.binary::<R>(y);
    let partial = if i == 0 { x.partial_left::<R>(y, value) } else { x.partial_right::<R>(y, value) };
    partial.tangents[0].tangents[0]
}

fn ternary<R: Ternary>(x: [f64; 3], [i, j, k]: [usize; 3]) -> f64 {
    let x = duals(x, j, k);
    let value = x[0].ternary::<R>(x[1], x[2]);
    let partial = match i {
        0 => Second::partial_of_three::<R, 0>(x, value),
        1 => Second::partial_of_three::<R, 1>(x, value),
        _ => Second::partial_of_three::<R, 2>(x, value),
    };
    partial.tangents[0].tangents[0]
}

const FUNCTIONS: &[(&str, Third)] = &[
    ("trigamma", unary::<rules::special::Trigamma>),
    ("ln_normal_cdf", unary::<rules::tails::LnNormalCdf>),
    ("erfcx", unary::<rules::tails::Erfcx>),
    ("log1m_exp", unary::<rules::logarithmic::Log1mExp>),
    ("sinc", unary::<rules::trigonometric::Sinc>),
    ("lambert_w0", unary::<rules::lambert::LambertW0>),
    ("ln_beta", binary::<rules::gamma_ratio::LnBeta>),
    ("ln_choose", binary::<rules::gamma_ratio::LnChoose>),
    ("log_diff_exp", binary::<rules::logarithmic::LogDiffExp>),
    ("gamma_p", binary::<rules::incomplete_gamma::GammaP>),
    ("gamma_p_inv", binary::<rules::quantile::GammaPInv>),
    ("student_t_cdf", binary::<rules::student::StudentTCdf>),
    ("bessel_j", binary::<rules::bessel::BesselJ>),
    ("bessel_k", binary::<rules::bessel::BesselK>),
    ("beta_inc", ternary::<rules::distribution::BetaInc>),
];

/// Ten times what rules allow themselves in second derivatives; of a thousandth, for what is smaller.
const TOLERANCE: f64 = 1e-10;

#[test]
fn third_derivatives_of_a_sample_are_right() {
    let mut wrong = Vec::new();
    for line in include_str!("third.txt").lines().filter(|line| !line.starts_with('#')) {
        let [call, by, derivative] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}: three fields") };
        let (name, arguments) = call.split_once(' ').expect("arguments");
        let mut x = [0.0; 3];
        x.iter_mut().zip(arguments.split(' ')).for_each(|(x, text)| *x = text.parse().expect("a number"));
        let by: Vec<usize> = by.split(' ').map(|text| text.parse().expect("a number")).collect();
        let expected: f64 = derivative.parse().expect("a number");
        let function = FUNCTIONS.iter().find(|row| row.0 == name).expect("a function of this name").1;
        let found = function(x, by.try_into().expect("three arguments"));
        if (found - expected).abs().is_nan() || (found - expected).abs() > TOLERANCE * expected.abs().max(1e-3) {
            wrong.push(format!("{found} at {line}"));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
