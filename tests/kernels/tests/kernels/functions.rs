//! Each function of kernels against the same function as a scalar statement: value and partials have the same bits.

use super::at_every_level;
use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

/// Ordinary numbers, and singular ones.
const POINTS: [f64; 21] = [
    0.3,
    -0.7,
    1.9,
    -2.5,
    3.0,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e300,
    -1e300,
    1e-300,
    -1e-300,
    5e-324,
    -2.0,
    40.0,
    -40.0,
];

/// The bits of a number; of any NaN the same.
fn pattern(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

fn patterns(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().copied().map(pattern).collect()
}

/// Values, and adjoints for seeds 1, of a kernel of one view.
macro_rules! by_kernel {
    ($($x:ident = $at:expr),+; $body:expr) => {
        at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (y, ($($x,)+)) = tape.record(|scope| {
                $( let $x = scope.view([$at.len()], &$at); )+
                let mut y = View::zeros(($(&$x,)+).0.shape());
                let all = y.all();
                parallel_for(all, ($(&$x,)+ &mut y), |($($x,)+ _)| {
                    $( let $x = $x.at::<0>(); )+
                    ($body,)
                });
                (y, ($($x,)+))
            });
            let seeds = vec![1.0; y.len()];
            let values = patterns(y.values());
            let adjoints = tape.sweep_view(&[], (&y, &seeds)).expect("swept");
            (values, [$( patterns(&adjoints.of_view(&$x).expect("an input")) ),+])
        })
    };
}

/// Compares a function of one argument at all points.
macro_rules! unary {
    ($($method:ident($($argument:expr),*);)*) => { $( {
        let (values, [slopes]) = by_kernel!(x = POINTS; x.$method($($argument),*));
        for (k, at) in POINTS.into_iter().enumerate() {
            let (value, slope) = value_and_gradient::<Jacobian>(|x| x[0].$method($($argument),*).into(), &[at]);
            let name = stringify!($method);
            assert_eq!(values[k], pattern(value), "{name}({at}) = {value}, not {}", f64::from_bits(values[k]));
            let found = f64::from_bits(slopes[k]);
            assert_eq!(slopes[k], pattern(slope[0]), "{name}′({at}) = {}, not {found}", slope[0]);
        }
    } )* };
}

/// The same for functions of two arguments: at all pairs of points.
macro_rules! binary {
    ($($name:ident: |$x:ident, $y:ident| $body:expr;)*) => { $( {
        let pairs: Vec<(f64, f64)> = POINTS.iter().flat_map(|x| POINTS.map(|y| (*x, y))).collect();
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (values, [left, right]) = by_kernel!($x = xs, $y = ys; $body);
        for (k, (x, y)) in pairs.into_iter().enumerate() {
            let (value, slope) = value_and_gradient::<Jacobian>(
                |z| {
                    let ($x, $y) = (z[0], z[1]);
                    $body.into()
                },
                &[x, y],
            );
            let name = stringify!($name);
            assert_eq!(values[k], pattern(value), "{name}({x}, {y}) = {value}, not {}", f64::from_bits(values[k]));
            let found = (f64::from_bits(left[k]), f64::from_bits(right[k]));
            assert_eq!((left[k], right[k]), (pattern(slope[0]), pattern(slope[1])), "{name}′({x}, {y}) = {slope:?}, not {found:?}");
        }
    } )* };
}

#[test]
fn functions_of_one_argument_have_the_bits_of_scalar_statements() {
    unary! {
        abs(); sqrt(); recip(); exp(); ln(); powi(-3); clamp(-1.0, 1.0);
    }
}

/// Each takes as long to compile as the ones above, and goes the same way.
#[cfg(feature = "wide")]
#[test]
fn all_other_functions_of_one_argument_have_the_bits_of_scalar_statements() {
    unary! {
        cbrt(); exp2(); exp_m1(); log2(); log10(); ln_1p(); sin(); cos(); tan(); asin(); acos(); atan(); sinh(); cosh(); tanh();
        asinh(); acosh(); atanh(); to_degrees(); to_radians(); fract(); sigmoid(); softplus(); powi(2); powi(0); powi(1);
        erf(); erfc(); gamma(); ln_gamma(); digamma(); normal_pdf(); normal_cdf(); normal_quantile();
    }
}

#[test]
fn a_square_has_the_bits_of_a_product() {
    let (values, [slopes]) = by_kernel!(x = POINTS; x.square());
    for (k, at) in POINTS.into_iter().enumerate() {
        let (value, slope) = value_and_gradient::<Jacobian>(|x| (x[0] * x[0]).into(), &[at]);
        assert_eq!((values[k], slopes[k]), (pattern(value), pattern(slope[0])), "at {at}");
    }
}

#[test]
fn operators_and_functions_of_two_arguments_have_the_bits_of_scalar_statements() {
    binary! {
        sum: |x, y| x + y;
        difference: |x, y| x - y;
        product: |x, y| x * y;
        quotient: |x, y| x / y;
        maximum: |x, y| x.max(y);
        minimum: |x, y| x.min(y);
        copysign: |x, y| x.copysign(y);
    }
}

#[cfg(feature = "wide")]
#[test]
fn all_other_functions_of_two_arguments_have_the_bits_of_scalar_statements() {
    binary! {
        powf: |x, y| x.powf(y);
        log: |x, y| x.log(y);
        hypot: |x, y| x.hypot(y);
        atan2: |x, y| x.atan2(y);
        log_add_exp: |x, y| x.log_add_exp(y);
        smooth_abs: |x, y| x.smooth_abs(y);
        beta: |x, y| x.beta(y);
    }
}

#[test]
fn numbers_as_arguments_have_the_bits_of_scalar_statements() {
    binary! {
        literals: |x, y| 2.0 - x / 3.0 + -y * 0.5 + 4.0;
        factors: |x, y| 1.0 / x - 0.0 * y;
        limits: |x, y| x.max(0.0) + y.min(-1.0);
    }
}
