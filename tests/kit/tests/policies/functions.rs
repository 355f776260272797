//! Every function at ordinary numbers, where nothing overflows: a partial is singular if it is not finite although the
//! value is a number or infinite, and under no other condition.

use crate::{panic_of, same};
use tapewright::prelude::*;
use tapewright::strategies::rules;
use tapewright::{Binary, Checked, Policy, Strict, Subgradient, Unary, binary, unary};

const POINTS: [f64; 19] =
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, -2.5, 0.25, 10.0, -10.0, 4.5, -4.5, 7.0];

fn derivatives<P: Policy>(
    f: impl FnOnce(&[Real<Tangent<2, f64, P>>]) -> Real<Tangent<2, f64, P>>,
    x: [f64; 2],
) -> (f64, [f64; 2]) {
    let at = |k: usize| Real::with_tangent(x[k], core::array::from_fn(|j| f64::from(u8::from(j == k))));
    let y = f(&[at(0), at(1)]);
    (y.value(), y.tangent())
}

/// Compares what a function gives under the three policies, for the arguments that are used.
fn compare(
    name: &str,
    x: [f64; 2],
    (value, strict): (f64, [f64; 2]),
    (other, zeroed): (f64, [f64; 2]),
    checked: impl FnOnce() -> (f64, [f64; 2]),
) {
    let singular = strict.map(|partial| !partial.is_finite() && !value.is_nan());
    assert!(same(value, other), "{name} at {x:?}: the value is {value} and {other}");
    for k in 0..2 {
        let expected = if singular[k] { 0.0 } else { strict[k] };
        assert!(same(zeroed[k], expected), "{name} at {x:?}: {zeroed:?} under Subgradient, {strict:?} under Strict");
    }
    if singular.contains(&true) {
        let message = panic_of(checked);
        let name = name.rsplit("::").next().unwrap_or(name);
        assert!(message.contains(&format!("{name} is singular")), "{name} at {x:?}: {message}");
    } else {
        let (found, partials) = checked();
        assert!(same(found, value) && (0..2).all(|k| same(partials[k], strict[k])), "{name} at {x:?} under Checked");
    }
}

fn one<R: Unary>() {
    for x in POINTS {
        let f = |x: f64| [x, 0.0];
        compare(
            core::any::type_name::<R>(),
            f(x),
            derivatives::<Strict>(|x| unary::<_, R, _>(&x[0]).into(), f(x)),
            derivatives::<Subgradient>(|x| unary::<_, R, _>(&x[0]).into(), f(x)),
            || derivatives::<Checked>(|x| unary::<_, R, _>(&x[0]).into(), f(x)),
        );
    }
}

fn two<R: Binary>(right: impl Fn(f64) -> bool) {
    for (x, y) in POINTS.iter().flat_map(|x| POINTS.map(|y| (*x, y))).filter(|(_, y)| right(*y)) {
        compare(
            core::any::type_name::<R>(),
            [x, y],
            derivatives::<Strict>(|x| binary::<_, R, _, _>(&x[0], &x[1]).into(), [x, y]),
            derivatives::<Subgradient>(|x| binary::<_, R, _, _>(&x[0], &x[1]).into(), [x, y]),
            || derivatives::<Checked>(|x| binary::<_, R, _, _>(&x[0], &x[1]).into(), [x, y]),
        );
    }
}

/// Defines a test of all rows of the table with one argument, and one of those with two.
macro_rules! tests {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        #[test]
        fn functions_of_one_argument() {
            $(one::<rules::$f1::$r1>();)*
        }
        #[test]
        fn functions_of_two_arguments() {
            $(two::<rules::$f2::$r2>(|_| true);)*
        }
    };
}
tapewright::strategies::for_each_function!(tests);

#[test]
fn functions_that_are_not_in_the_table() {
    two::<rules::power::Powi>(|n| n.fract() == 0.0);
    two::<rules::selection::PositiveDifference>(|_| true);
    two::<rules::selection::Rounding>(|w| w >= 0.0);
}

#[test]
fn operators() {
    for (x, y) in POINTS.iter().flat_map(|x| POINTS.map(|y| (*x, y))) {
        compare(
            "Over",
            [x, y],
            derivatives::<Strict>(|x| (x[0] / x[1]).into(), [x, y]),
            derivatives::<Subgradient>(|x| (x[0] / x[1]).into(), [x, y]),
            || derivatives::<Checked>(|x| (x[0] / x[1]).into(), [x, y]),
        );
        compare(
            "Modulo",
            [x, y],
            derivatives::<Strict>(|x| (x[0] % x[1]).into(), [x, y]),
            derivatives::<Subgradient>(|x| (x[0] % x[1]).into(), [x, y]),
            || derivatives::<Checked>(|x| (x[0] % x[1]).into(), [x, y]),
        );
    }
}
