//! Every function at ordinary numbers, where nothing overflows: a partial is singular if it is not finite although the
//! value is a number or infinite, and under no other condition. And at the edges of what numbers can be.

use crate::{panic_of, same};
use tapewright::policy::{self, Policy, Strict};
use tapewright::prelude::*;
use tapewright::strategies::rules;
use tapewright::{Binary, Number, Ternary, Unary, binary, ternary, unary};

const POINTS: [f64; 19] =
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, -2.5, 0.25, 10.0, -10.0, 4.5, -4.5, 7.0];

/// Zeros, infinities, NaN, and numbers whose squares overflow or vanish.
const EDGES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    -0.3,
    5e-324,
    1e-300,
    -1e-300,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

type Of<P> = Real<Tangent<3, f64, P>>;
type Under<P> = fn(&[Of<P>]) -> Of<P>;

/// A function under the three policies. Pointers, so that what compares them is compiled once.
struct Case {
    name: &'static str,
    strict: Under<Strict>,
    subgradient: Under<policy::Subgradient>,
    checked: Under<policy::Checked>,
    single: fn(Real<Single>) -> Real<Single>,
}

type Single = Tangent<1, f32>;

/// Makes a case of a function that is the same under all policies: `|x| x[0] / x[1]`.
macro_rules! case {
    ($name:expr, |$x:ident| $body:expr) => {
        case!($name, |$x| $body, |x| x)
    };
    ($name:expr, |$x:ident| $body:expr, |$y:ident| $single:expr) => {
        Case {
            name: $name,
            strict: |$x| $body.into(),
            subgradient: |$x| $body.into(),
            checked: |$x| $body.into(),
            single: |$y| $single.into(),
        }
    };
}

fn derivatives<P: Policy>(f: Under<P>, x: [f64; 3]) -> (f64, [f64; 3]) {
    let at = |k: usize| Real::with_tangent(x[k], core::array::from_fn(|j| f64::from(u8::from(j == k))));
    let y = f(&[at(0), at(1), at(2)]);
    (y.value(), y.tangent())
}

impl Case {
    /// The name of the rule, without its path.
    fn rule(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

/// Compares what a function gives under the three policies.
fn compare(case: &Case, x: [f64; 3]) {
    let name = case.name;
    let (value, strict) = derivatives(case.strict, x);
    let (other, zeroed) = derivatives(case.subgradient, x);
    let singular = strict.map(|partial| !partial.is_finite() && !value.is_nan());
    assert!(same(value, other), "{name} at {x:?}: the value is {value} and {other}");
    for k in 0..3 {
        let expected = if singular[k] { 0.0 } else { strict[k] };
        assert!(same(zeroed[k], expected), "{name} at {x:?}: {zeroed:?} under Subgradient, {strict:?} under Strict");
    }
    if singular.contains(&true) {
        let message = panic_of(|| derivatives(case.checked, x));
        assert!(message.contains(&format!("{} is singular", case.rule())), "{name} at {x:?}: {message}");
    } else {
        let (found, partials) = derivatives(case.checked, x);
        assert!(same(found, value) && (0..3).all(|k| same(partials[k], strict[k])), "{name} at {x:?} under Checked");
    }
}

fn one<R: Unary>() -> Case {
    case!(core::any::type_name::<R>(), |x| unary::<_, R, _>(&x[0]), |x| unary::<_, R, _>(x))
}

fn two<R: Binary>() -> Case {
    case!(core::any::type_name::<R>(), |x| binary::<_, R, _, _>(&x[0], &x[1]))
}

fn three<R: Ternary>() -> Case {
    case!(core::any::type_name::<R>(), |x| ternary::<_, R, _, _, _>(&x[0], &x[1], &x[2]))
}

fn at_points(case: &Case) {
    POINTS.iter().for_each(|x| compare(case, [*x, 0.0, 0.0]));
}

fn at_pairs(case: &Case, right: fn(f64) -> bool) {
    let pairs = POINTS.iter().flat_map(|x| POINTS.map(|y| [*x, y, 0.0]));
    pairs.filter(|[_, y, _]| right(*y)).for_each(|x| compare(case, x));
}

/// At all points for the first argument, and at some for the others, which are shapes.
fn at_triples(case: &Case) {
    let some = [0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0];
    let triples = POINTS.iter().flat_map(|x| some.iter().flat_map(move |y| some.map(|z| [*x, *y, z])));
    triples.for_each(|x| compare(case, x));
}

/// Defines a test of all rows of the table with one argument, one of those with two, and one of those with three.
macro_rules! tests {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        fn all_of_one() -> Vec<Case> {
            vec![$(one::<rules::$f1::$r1>()),*]
        }
        fn all_of_two() -> Vec<Case> {
            vec![$(two::<rules::$f2::$r2>()),*]
        }
        #[test]
        fn functions_of_one_argument() {
            all_of_one().iter().for_each(at_points);
        }
        #[test]
        fn functions_of_two_arguments() {
            all_of_two().iter().for_each(|case| at_pairs(case, |_| true));
        }
        #[test]
        fn functions_of_three_arguments() {
            [$(three::<rules::$f3::$r3>()),*].iter().for_each(at_triples);
        }
    };
}
tapewright::strategies::for_each_function!(tests);

#[test]
fn functions_that_are_not_in_the_table() {
    at_pairs(&two::<rules::power::Powi>(), |n| n.fract() == 0.0);
    at_pairs(&two::<rules::selection::PositiveDifference>(), |_| true);
    at_pairs(&two::<rules::selection::Rounding>(), |w| w >= 0.0);
}

#[test]
fn operators() {
    at_pairs(&case!("Over", |x| (x[0] / x[1])), |_| true);
    at_pairs(&case!("Modulo", |x| (x[0] % x[1])), |_| true);
}

#[test]
fn at_the_edges_a_slope_is_nan_exactly_where_the_value_is() {
    let mut wrong = Vec::new();
    for case in all_of_one() {
        for x in EDGES {
            let (value, slopes) = derivatives(case.strict, [x, 0.0, 0.0]);
            let narrow = (case.single)(Real::with_tangent(Number::from_f64(x), [1.0]));
            for (value, slope) in [(value, slopes[0]), (narrow.value().into(), narrow.tangent()[0].into())] {
                let fine = match case.rule() {
                    // ln|Γ| is infinite at its poles, from where it falls to both sides.
                    "LnGamma" => value.is_nan() == slope.is_nan() || x < 0.0,
                    // Linear.
                    "ToDegrees" | "ToRadians" => slope.is_finite(),
                    _ => value.is_nan() == slope.is_nan(),
                };
                if !fine {
                    wrong.push(format!("{}({x:e}) is {value:e}, with slope {slope:e}", case.rule()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a partial of a function of two finite numbers may be NaN although the value is none.
fn may_be_nan(rule: &str, x: f64, y: f64) -> bool {
    match rule {
        "Hypot" | "Atan2" | "SmoothAbs" => x == 0.0 && y == 0.0,
        "Log" => y == 0.0 || y == 1.0 || x == 0.0,
        "Beta" => x <= 0.0 || y <= 0.0,
        // Only whole powers and orders have a value there.
        "Pow" | "BesselJ" | "BesselI" | "BesselIScaled" => x < 0.0,
        _ => false,
    }
}

#[test]
fn at_finite_arguments_with_a_finite_value_partials_are_no_nan() {
    let mut wrong = Vec::new();
    for case in all_of_two() {
        for (x, y) in EDGES.into_iter().flat_map(|x| EDGES.map(|y| (x, y))) {
            let (value, partials) = derivatives(case.strict, [x, y, 0.0]);
            let regular = x.is_finite() && y.is_finite() && value.is_finite() && !may_be_nan(case.rule(), x, y);
            if regular && partials.iter().any(|partial| partial.is_nan()) {
                wrong.push(format!("{}({x:e}, {y:e}): {partials:?}", case.rule()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
