//! Each function of kernels against the same function as a scalar statement: value and partials have the same bits.

use super::{Product, at_every_level, numbers};
use core::sync::atomic::{AtomicUsize, Ordering};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::{Float, Unary, ternary};

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

/// For each of some expressions, which one kernel of these views computes: the values, and the adjoints for seeds 1.
macro_rules! by_kernel {
    ([$($body:expr),+], $($x:ident = $at:expr),+) => {
        at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (outputs, ($($x,)+)) = tape.record(|scope| {
                $( let $x = scope.view([$at.len()], &$at); )+
                let shape = ($(&$x,)+).0.shape();
                let mut outputs = [$( { _ = stringify!($body); View::zeros(shape) } ),+];
                by_kernel!(@ outputs, [$($body),+], $($x),+);
                (outputs, ($($x,)+))
            });
            outputs.map(|y| {
                let adjoints = tape.sweep_view(&[], (&y, &vec![1.0; y.len()])).expect("swept");
                (patterns(y.values()), [$( patterns(&adjoints.of_view(&$x).expect("an input")) ),+])
            })
        })
    };
    (@ $outputs:ident, [$a:expr], $($x:ident),+) => {{
        let [a] = &mut $outputs;
        parallel_for(a.all(), ($(&$x,)+ a), |($($x,)+ _)| { $( let $x = $x.at::<0>(); )+ ($a,) });
    }};
    (@ $outputs:ident, [$a:expr, $b:expr, $c:expr, $d:expr], $($x:ident),+) => {{
        let [a, b, c, d] = &mut $outputs;
        parallel_for(a.all(), ($(&$x,)+ a, b, c, d), |($($x,)+ _, _, _, _)| {
            $( let $x = $x.at::<0>(); )+
            ($a, $b, $c, $d)
        });
    }};
}

/// Compares functions of one argument at all points, four in a kernel.
macro_rules! unary {
    ($($($method:ident($($argument:expr),*)),+;)*) => { $( {
        let mut found = by_kernel!([$(x.$method($($argument),*)),+], x = POINTS).into_iter();
        $( {
            let (values, [slopes]) = found.next().expect("as many as there are functions");
            for (k, at) in POINTS.into_iter().enumerate() {
                let (value, slope) = value_and_gradient::<Jacobian>(|x| x[0].$method($($argument),*).into(), &[at]);
                let name = stringify!($method);
                assert_eq!(values[k], pattern(value), "{name}({at}) = {value}, not {}", f64::from_bits(values[k]));
                let found = f64::from_bits(slopes[k]);
                assert_eq!(slopes[k], pattern(slope[0]), "{name}′({at}) = {}, not {found}", slope[0]);
            }
        } )+
    } )* };
}

/// The same for functions of two arguments: at all pairs of points.
macro_rules! binary {
    (|$x:ident, $y:ident| $($($body:expr),+;)*) => { $( {
        let pairs: Vec<(f64, f64)> = POINTS.iter().flat_map(|x| POINTS.map(|y| (*x, y))).collect();
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let mut found = by_kernel!([$($body),+], $x = xs, $y = ys).into_iter();
        $( {
            let (values, [left, right]) = found.next().expect("as many as there are functions");
            for (k, &(x, y)) in pairs.iter().enumerate() {
                let (value, slope) = value_and_gradient::<Jacobian>(
                    |z| {
                        let ($x, $y) = (z[0], z[1]);
                        $body.into()
                    },
                    &[x, y],
                );
                let name = stringify!($body);
                assert_eq!(values[k], pattern(value), "{name} at ({x}, {y}) = {value}, not {}", f64::from_bits(values[k]));
                let found = (f64::from_bits(left[k]), f64::from_bits(right[k]));
                let expected = (pattern(slope[0]), pattern(slope[1]));
                assert_eq!((left[k], right[k]), expected, "∂({name}) at ({x}, {y}) = {slope:?}, not {found:?}");
            }
        } )+
    } )* };
}

#[test]
fn functions_of_one_argument_have_the_bits_of_scalar_statements() {
    unary! {
        abs(), sqrt(), recip(), exp();
        ln(), powi(-3), clamp(-1.0, 1.0), sin();
    }
}

/// Calls a macro with the methods of some rows of the table, four at a time.
#[cfg(feature = "wide")]
macro_rules! by_fours {
    (unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
     binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
     ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
     steps $steps:tt) => {
        #[test]
        fn all_functions_of_one_argument_have_the_bits_of_scalar_statements() {
            by_fours! { unary () $($unary)* }
        }
        #[test]
        fn all_functions_of_two_arguments_have_the_bits_of_scalar_statements() {
            by_fours! { binary |x, y| () $($binary)* }
        }
        #[test]
        fn all_functions_of_three_arguments_have_the_bits_of_scalar_statements() {
            let [xs, ys, zs] = triples();
            $( {
                let [found] = by_kernel!([x.$ternary(y, z)], x = xs, y = ys, z = zs);
                compare_at_triples(stringify!($ternary), &found, |v| v[0].$ternary(v[1], v[2]).into());
            } )*
        }
    };
    (unary ($($done:tt)*) $a:ident $b:ident $c:ident $d:ident $($more:ident)*) => {
        by_fours! { unary ($($done)* $a(), $b(), $c(), $d();) $($more)* }
    };
    (unary ($($done:tt)*) $a:ident $($more:ident)*) => { by_fours! { unary ($($done)* $a();) $($more)* } };
    (unary ($($done:tt)*)) => { unary! { $($done)* } };
    (binary |$x:ident, $y:ident| ($($done:tt)*) $a:ident $b:ident $c:ident $d:ident $($more:ident)*) => {
        by_fours! { binary |$x, $y| ($($done)* $x.$a($y), $x.$b($y), $x.$c($y), $x.$d($y);) $($more)* }
    };
    (binary |$x:ident, $y:ident| ($($done:tt)*) $a:ident $($more:ident)*) => {
        by_fours! { binary |$x, $y| ($($done)* $x.$a($y);) $($more)* }
    };
    (binary |$x:ident, $y:ident| ($($done:tt)*)) => { binary! { |$x, $y| $($done)* } };
}
// Each takes as long to compile as the ones above, and goes the same way.
#[cfg(feature = "wide")]
tapewright::strategies::for_each_function!(by_fours);

#[cfg(feature = "wide")]
#[test]
fn whole_powers_have_the_bits_of_scalar_statements() {
    unary! {
        powi(2), powi(5), powi(0), powi(1);
        powi(-1), powi(-2), sqrt(), abs();
    }
}

#[test]
fn a_square_has_the_bits_of_a_product() {
    let (values, [slopes]) = &by_kernel!([x.square()], x = POINTS)[0];
    for (k, at) in POINTS.into_iter().enumerate() {
        let (value, slope) = value_and_gradient::<Jacobian>(|x| (x[0] * x[0]).into(), &[at]);
        assert_eq!((values[k], slopes[k]), (pattern(value), pattern(slope[0])), "at {at}");
    }
}

#[test]
fn operators_and_functions_of_two_arguments_have_the_bits_of_scalar_statements() {
    binary! { |x, y|
        x + y, x - y, x * y, x / y;
        x.max(y), x.min(y), x.copysign(y), x.hypot(y);
    }
}

#[cfg(feature = "wide")]
#[test]
fn swapped_arguments_have_the_bits_of_scalar_statements() {
    binary! { |x, y|
        y.powf(x), y.atan2(x), y.log(x), y.copysign(x);
    }
}

#[test]
fn numbers_as_arguments_have_the_bits_of_scalar_statements() {
    binary! { |x, y|
        2.0 - x / 3.0 + -y * 0.5 + 4.0, 1.0 / x - 0.0 * y, x.max(0.0) + y.min(-1.0), x * -0.5 - y;
    }
}

type Statement = fn(&[Real<Jacobian>]) -> Real<Jacobian>;

/// Ordinary numbers and singular ones for each of three arguments.
fn triples() -> [Vec<f64>; 3] {
    let odd = [0.3, -1.9, 0.0, 1.0, f64::INFINITY, f64::NAN, -1e300, 1e-300];
    let triples = || odd.iter().flat_map(|x| odd.iter().flat_map(move |y| odd.map(|z| [*x, *y, z])));
    [0, 1, 2].map(|k| triples().map(|triple| triple[k]).collect())
}

/// Compares values and slopes at the triples with those of a statement.
fn compare_at_triples(name: &str, (values, slopes): &(Vec<u64>, [Vec<u64>; 3]), statement: Statement) {
    let [x, y, z] = triples();
    for k in 0..x.len() {
        let triple = [x[k], y[k], z[k]];
        let (value, gradient) = value_and_gradient::<Jacobian>(statement, &triple);
        assert_eq!(values[k], pattern(value), "{name} at {triple:?}: {value}, not {}", f64::from_bits(values[k]));
        let found = [0, 1, 2].map(|j| f64::from_bits(slopes[j][k]));
        let same = (0..3).all(|j| slopes[j][k] == pattern(gradient[j]) || found[j] == 0.0 && gradient[j] == 0.0);
        assert!(same, "∂ of {name} at {triple:?}: {gradient:?}, not {found:?}");
    }
}

#[test]
fn functions_of_three_arguments_have_the_bits_of_scalar_statements() {
    let [xs, ys, zs] = triples();
    let found = by_kernel!(
        [
            x.ternary::<Product, _, _>(y, z),
            z.ternary::<Product, _, _>(x + y, 0.5),
            x.ternary::<Product, _, _>(2.0, y * z),
            (x - 1.0).ternary::<Product, _, _>(y, y)
        ],
        x = xs,
        y = ys,
        z = zs
    );
    let statements: [Statement; 4] = [
        |v| ternary::<_, Product, _, _, _>(v[0], v[1], v[2]).into(),
        |v| ternary::<_, Product, _, _, _>(v[2], v[0] + v[1], 0.5).into(),
        |v| ternary::<_, Product, _, _, _>(v[0], 2.0, v[1] * v[2]).into(),
        |v| ternary::<_, Product, _, _, _>(v[0] - 1.0, v[1], v[1]).into(),
    ];
    for (n, (found, statement)) in found.iter().zip(statements).enumerate() {
        compare_at_triples(&format!("statement {n}"), found, statement);
    }
}

/// A rule that is defined for positive numbers only.
struct OfPositive;
impl Unary for OfPositive {
    fn value<V: Float>(x: V) -> V {
        assert!(x > V::ZERO, "called at {x:?}");
        x.ln()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        assert!(x > V::ZERO, "called at {x:?}");
        x.recip()
    }
}

#[test]
fn rules_are_called_only_with_what_points_of_the_range_read() {
    at_every_level(|| {
        for n in [5, 9, 17, 40] {
            let mut at = vec![2.0; n];
            (at[0], at[n - 1]) = (-1.0, 0.0);
            let mut tape = Tape::<Jacobian>::new();
            let (x, y) = tape.record(|scope| {
                let (x, mut y) = (scope.view([n], &at), View::zeros([n]));
                parallel_for(2..n - 2, (&x, &mut y), |(x, _)| {
                    (x.at::<-1>().unary::<OfPositive>() + x.at::<1>().unary::<OfPositive>(),)
                });
                (x, y)
            });
            let adjoints = tape.sweep_view(&[], (&y, &vec![1.0; n])).expect("swept");
            let slopes = adjoints.of_view(&x).expect("an input");
            let uses = |k: usize| (2..n - 2).filter(|point| point.abs_diff(k) == 1).count();
            (0..n).for_each(|k| assert_eq!(slopes[k], 0.5 * uses(k) as f64, "element {k} of {n}"));
        }
    });
}

#[test]
fn expressions_of_a_hundred_operations_inside_one_another() {
    macro_rules! ten {
        ($x:expr, $f:expr) => {
            $x * $f * $f * $f * $f * $f * $f * $f * $f * $f * $f
        };
    }
    macro_rules! hundred {
        ($x:expr, $f:expr) => {
            ten!(ten!(ten!(ten!(ten!(ten!(ten!(ten!(ten!(ten!($x, $f), $f), $f), $f), $f), $f), $f), $f), $f), $f)
        };
    }
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([3], &[1.0, 1.01, 0.99]);
        let y = parallel_sum(x.all(), &x, |x| hundred!(x.at::<0>(), x.at::<0>()));
        (x, y)
    });
    let slopes = tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("an input").into_owned();
    for (x, slope) in x.values().iter().zip(slopes) {
        // A hundred products each way, each of which may be rounded.
        let expected = 101.0 * x.powi(100);
        assert!((slope - expected).abs() <= 400.0 * f64::EPSILON * expected, "{slope}, not {expected}");
    }
}

/// A function that counts how often it is computed.
#[derive(Clone, Copy, Debug)]
struct Counted;
static COUNT: AtomicUsize = AtomicUsize::new(0);
impl Unary for Counted {
    fn value<V: Float>(x: V) -> V {
        COUNT.fetch_add(1, Ordering::Relaxed);
        x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        x + x
    }
}

#[test]
fn a_function_is_computed_once_for_all_numbers_that_points_share() {
    let n = 100;
    let computed = |numbers_shared: usize| {
        let mut tape = Tape::<Jacobian>::new();
        let (shared, y) = tape.record(|scope| {
            let shared = [0.5, 0.25, 2.0].map(|a| scope.input(a));
            let x = View::new([n], &numbers(n, 1));
            let [a, b, c] = &shared;
            let y = match numbers_shared {
                1 => parallel_sum(0..n, (&x, a), |(x, a)| a * x.at::<0>().unary::<Counted>()),
                _ => parallel_sum(0..n, (&x, a, b, c), |(x, a, b, c)| a * b * c * x.at::<0>().unary::<Counted>()),
            };
            (shared, y)
        });
        COUNT.store(0, Ordering::Relaxed);
        let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
        let sum: f64 = numbers(n, 1).iter().map(|x| x * x).sum();
        if numbers_shared > 1 {
            for (of, rest) in [(0, 0.5), (1, 1.0), (2, 0.125)] {
                let found = adjoints.of(&shared[of]).expect("an input");
                assert!((found - rest * sum).abs() < 1e-13 * sum, "{found} and {}", rest * sum);
            }
        }
        COUNT.load(Ordering::Relaxed)
    };
    assert_eq!((computed(1), computed(3)), (n, n));
}

/// Functions of two numbers between 0 and 1, as a kernel and as a scalar statement. Literals are rounded to the
/// precision of the views.
macro_rules! many {
    ($x:ident, $y:ident) => {
        $x.exp() * 0.1 + $x.ln() - $x.sin() + $y.cos() * $x.tan() + $x.asin() / 3.0 + $x.acos() - $y.atan() * 1.7
            + $x.sinh().cosh()
            + ($x * 0.3).tanh()
            + $y.asinh()
            + $x.atanh()
            + $x.sqrt()
            + $y.cbrt()
            + $x.recip()
            + $x.powi(3)
            - $y.powi(-2) * 0.01
            + $x.exp_m1()
            + $y.ln_1p()
            + $x.log2()
            + $x.log10()
            + $y.sigmoid()
            + $x.softplus()
            + $x.clamp(0.3, 0.7)
            + $x.max(0.55)
            + $y.min($x)
            + $x.hypot($y)
            + $y.atan2($x)
            + $x.powf($y)
            + $x.erf()
            + ($x - 0.45).abs() * 0.7
    };
}

#[test]
fn functions_of_single_precision_have_the_bits_of_scalar_statements() {
    // An odd number, so that some points are computed in groups and some alone.
    let points: Vec<[f32; 2]> = (0..37).map(|k| [0.013 + 0.026 * k as f32, 0.99 - 0.0251 * k as f32]).collect();
    let [x, y] = [0, 1].map(|k| points.iter().map(|point| point[k]).collect::<Vec<f32>>());
    let [values, slopes @ ..] = at_every_level(|| {
        let mut tape = Tape::<Jacobian<f32>>::new();
        let (x, y, z) = tape.record(|scope| {
            let (x, y) = (scope.view([37], &x), scope.view([37], &y));
            let mut z = View::zeros([37]);
            parallel_for(z.all(), (&x, &y, &mut z), |(x, y, _)| {
                let (x, y) = (x.at::<0>(), y.at::<0>());
                (many!(x, y),)
            });
            (x, y, z)
        });
        let adjoints = tape.sweep_view(&[], (&z, &[1.0; 37])).expect("swept");
        [z.to_vec(), adjoints.of_view(&x).expect("x").to_vec(), adjoints.of_view(&y).expect("y").to_vec()]
    });
    for (k, at) in points.iter().enumerate() {
        let (value, gradient) = value_and_gradient::<Jacobian<f32>>(
            |z| {
                let (x, y) = (z[0], z[1]);
                many!(x, y).into()
            },
            at,
        );
        assert_eq!(values[k].to_bits(), value.to_bits(), "at {at:?}: {} and {value}", values[k]);
        for (found, expected) in slopes.iter().zip(gradient) {
            // Thirty terms, each with a few roundings, of which 1/x² is the largest.
            let scale = at[0].powi(-2) + at[1].powi(-3) + 100.0;
            assert!(
                (found[k] - expected).abs() <= 64.0 * f32::EPSILON * scale,
                "at {at:?}: {} and {expected}",
                found[k]
            );
        }
    }
}
