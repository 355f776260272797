//! Folds and scans by rules that are declared associative, beside statements that combine the same groups.

use super::{close, numbers};
use tapewright::kernels::{View, associative, parallel_exclusive_scan, parallel_fold, parallel_scan, parallel_sum};
use tapewright::prelude::*;
use tapewright::{Dual, Number, jacobian, jacobian_forward};

/// Number of elements that are combined in one group.
const GROUP: usize = 2056;

/// Lengths around the borders of groups, of four groups side by side, and of a part of sixteen.
const LENGTHS: [usize; 9] =
    [1, 2, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP + 1, 5 * GROUP, 6 * GROUP + 7, 18 * GROUP + 3];

/// A rule for views and for statements; what it is called by, and the elements from numbers around 0.
macro_rules! rules {
    ($($name:ident, $numbers:ident: |$a:ident, $b:ident| $rule:expr;)*) => { $(
        mod $name {
            use super::*;

            pub(super) fn elements(n: usize) -> Vec<f64> {
                super::$numbers(n)
            }

            /// Fold, scan, and exclusive scan behind a variable, one after the other.
            pub(super) fn by_views<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
                let (start, x) = x.split_first().expect("the start");
                let x = View::of_variables([x.len()], x);
                let mut all = vec![parallel_fold(&x, associative(|$a, $b| $rule))];
                all.extend(parallel_scan(&x, associative(|$a, $b| $rule)).to_variables());
                let behind = parallel_exclusive_scan(&x, start.clone(), associative(|$a, $b| $rule));
                all.extend(behind.to_variables());
                all
            }

            pub(super) fn by_statements<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
                let (start, x) = (x[0], &x[1..]);
                let rule = |$a: Real<S>, $b: Real<S>| ($rule).eval();
                let scanned = |start: Option<Real<S>>, x: &[Real<S>]| in_groups(start, x, rule);
                let all = scanned(None, x);
                let behind = scanned(Some(start), &x[..x.len() - 1]);
                [&all[x.len() - 1..], &all, &[start], &behind].concat()
            }
        }
    )* };
}

rules! {
    sums, around_zero: |a, b| a + b;
    products, around_one: |a, b| a * b;
    // Declared associative, though it is not.
    not_associative, around_half: |a, b| a * b + 0.5 * a;
    not_symmetric, around_half: |a, b| 0.25 * b + (a * b).sin();
}

fn around_zero(n: usize) -> Vec<f64> {
    numbers(n, 3)
}

fn around_one(n: usize) -> Vec<f64> {
    numbers(n, 5).into_iter().map(|x| 1.0 + 0.02 * x).collect()
}

fn around_half(n: usize) -> Vec<f64> {
    numbers(n, 7).into_iter().map(|x| 0.5 + 0.02 * x).collect()
}

/// The first group in order, behind the start; each later group on its own, and joined with the result before it.
fn in_groups<T: Copy>(start: Option<T>, x: &[T], rule: impl Fn(T, T) -> T) -> Vec<T> {
    let (mut carry, mut all) = (start, Vec::new());
    for (k, group) in x.chunks(GROUP).enumerate() {
        let mut local = if k == 0 { start } else { None };
        for x in group {
            let next = local.map_or(*x, |local| rule(local, *x));
            local = Some(next);
            all.push(if k == 0 { next } else { rule(carry.expect("a group before"), next) });
        }
        carry = all.last().copied();
    }
    all
}

fn agree(found: &[f64], expected: &[f64], scale: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found.is_nan() && expected.is_nan() || close(*found, *expected, scale);
        assert!(same, "{what}: element {k} is {found}, not {expected}");
    }
}

type Slopes = (Vec<f64>, Vec<f64>, Vec<f64>);

/// Values, the adjoints of the inputs for these seeds, and the tangents of the outputs for these directions.
fn derivatives<S: Reverse<Value = f64>>(
    function: impl Fn(&[Real<S>]) -> Vec<Real<S>>,
    x: &[f64],
    seed: impl Fn(usize) -> f64,
) -> Slopes {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(x);
        let y = function(&x);
        (x, y)
    });
    let seeds: Vec<_> = y.iter().enumerate().map(|(k, y)| (y, seed(k))).collect();
    let adjoints = tape.sweep(&seeds).expect("swept");
    let of_x = x.iter().map(|x| adjoints.of(x).expect("an input")).collect();
    let directions: Vec<_> = x.iter().zip(numbers(x.len(), 11)).collect();
    let moved = tape.jvp(&directions, &y.iter().collect::<Vec<_>>()).expect("swept");
    (y.iter().map(Real::value).collect(), of_x, moved)
}

/// Compares views with statements at these elements; roundings are those of so many sums of numbers up to `scale`.
macro_rules! compare {
    ($rule:ident, $x:expr, $seed:expr, $scale:expr) => {{
        let x: &[f64] = $x;
        let expected = derivatives::<Jacobian>(|x| $rule::by_statements(x), x, $seed);
        let what = format!("{} of {}", stringify!($rule), x.len());
        let bits = |y: &[f64]| y.iter().map(|y| if y.is_nan() { 0 } else { y.to_bits() }).collect::<Vec<_>>();
        for found in [
            derivatives::<Jacobian>(|x| $rule::by_views(x), x, $seed),
            derivatives::<PrimalValue>(|x| $rule::by_views(x), x, $seed),
        ] {
            assert_eq!(bits(&found.0), bits(&expected.0), "values of {what}");
            agree(&found.1, &expected.1, $scale, &format!("adjoints of {what}"));
            agree(&found.2, &expected.2, $scale, &format!("tangents of {what}"));
        }
    }};
}

/// Compares these rules at all lengths.
macro_rules! compare_at_all_lengths {
    ($($rule:ident)*) => {
        for n in LENGTHS {
            let (seeds, scale) = (numbers(3 * n, 2), n as f64);
            let seed = |k: usize| seeds[k % (2 * n)];
            $( compare!($rule, &[&[0.9], &$rule::elements(n)[..]].concat(), seed, scale); )*
        }
    };
}

#[test]
fn groups_have_the_values_and_derivatives_of_statements() {
    compare_at_all_lengths! { sums products not_associative }
}

/// Compares a rule where an element is 0, infinite or NaN.
macro_rules! compare_at_special_points {
    ($rule:ident) => {{
        let n = 5 * GROUP + 200;
        for special in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for place in [0, GROUP, 4 * GROUP + 100, n - 1] {
                let mut x = [&[0.5], &around_one(n)[..]].concat();
                x[1 + place] = special;
                // Few seeds, so that zero adjoints meet what is not finite.
                let seed = |k: usize| if k % 3000 == 7 { 0.75 } else { 0.0 };
                compare!($rule, &x, seed, n as f64);
            }
        }
    }};
}

#[test]
fn zeros_infinities_and_nan_in_a_group_pass_through_as_through_statements() {
    compare_at_special_points!(products);
}

#[test]
fn functions_in_rules_have_the_values_and_derivatives_of_statements() {
    compare_at_all_lengths! { not_symmetric }
    compare_at_special_points!(not_symmetric);
}

#[test]
fn several_adjoint_vectors_and_forward_mode_give_the_same_matrix() {
    /// More than a group of elements from a few inputs.
    fn elements<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let factors = around_one(GROUP + 3);
        factors.iter().enumerate().map(|(k, factor)| (&x[k % x.len()] * *factor).into()).collect()
    }
    fn by_views<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        products::by_views(&elements(x)).into_iter().step_by(397).collect()
    }
    fn by_statements<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        products::by_statements(&elements(x)).into_iter().step_by(397).collect()
    }
    let at = [1.0, 1.001, 0.999, 1.002, 0.998, 1.0];
    let expected = jacobian::<Jacobian>(|x| by_statements(x), &at).1;
    let found = jacobian::<Jacobian>(|x| by_views(x), &at).1;
    let forward = jacobian_forward::<Tangent<4>>(by_views, &at).1;
    for matrix in [found, forward] {
        for (row, expected) in matrix.iter().zip(&expected) {
            agree(row, expected, GROUP as f64, "a row");
        }
    }
}

#[test]
fn patterns_have_the_entries_of_statements() {
    let at = [&[0.9], &around_half(GROUP + 9)[..]].concat();
    let pattern = |function: fn(&[Real<PrimalValue>]) -> Vec<Real<PrimalValue>>| {
        let mut tape = Tape::<PrimalValue>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&at);
            let y = function(&x);
            (x, y)
        });
        let some: Vec<_> = y.iter().copied().step_by(261).collect();
        let curved = tape.hessian_pattern(&x[..], &y[0]).expect("there is one").to_string();
        (tape.jacobian_pattern(&x, &some).expect("there is one").to_string(), curved)
    };
    macro_rules! each {
        ($($rule:ident)*) => { $(
            let (found, expected) = (pattern($rule::by_views), pattern(|x| $rule::by_statements(x)));
            assert!(found.0 == expected.0, "Jacobian matrix of {}", stringify!($rule));
            assert!(found.1 == expected.1, "Hessian matrix of {}", stringify!($rule));
        )* };
    }
    each! { sums products not_symmetric not_associative }
}

#[test]
fn second_derivatives_and_single_precision_are_those_of_statements() {
    type Second = Jacobian<Dual<f64, 1>>;
    type Single = Real<Jacobian<f32>>;
    let n = 6 * GROUP + 5;
    let duals: Vec<Dual<f64, 1>> = around_one(n + 1)
        .into_iter()
        .zip(numbers(n + 1, 9))
        .map(|(value, tangent)| Dual { value, tangents: [tangent] })
        .collect();
    let second = |function: fn(&[Real<Second>]) -> Vec<Real<Second>>| {
        let mut tape = Tape::<Second>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&duals);
            let y = function(&x);
            (x, y)
        });
        let seeds: Vec<_> = y.iter().map(|y| (y, Dual::constant(0.01))).collect();
        let adjoints = tape.sweep(&seeds).expect("swept");
        x.iter().map(|x| adjoints.of(x).expect("an input").tangents[0]).collect::<Vec<_>>()
    };
    let scale = (n * n) as f64;
    agree(&second(products::by_views), &second(|x| products::by_statements(x)), scale, "second derivatives");

    let single = |function: fn(&[Single]) -> Vec<Single>| {
        let x: Vec<f32> = around_one(n + 1).into_iter().map(f32::from_f64).collect();
        let (y, slopes) = jacobian::<Jacobian<f32>>(|x| vec![function(x).swap_remove(0)], &x);
        (y[0], slopes[0].iter().map(|slope| f64::from(*slope)).collect::<Vec<_>>())
    };
    let (found, expected) = (single(products::by_views), single(|x| products::by_statements(x)));
    assert_eq!(found.0.to_bits(), expected.0.to_bits());
    for (found, expected) in found.1.iter().zip(&expected.1) {
        assert!((found - expected).abs() <= f64::from(f32::EPSILON) * 2.0 * n as f64, "{found}, not {expected}");
    }
}

#[test]
fn an_exclusive_scan_begins_with_a_number_or_a_variable() {
    let x = View::<Passive, 2>::new([2, 2], &[3.0, 1.0, 4.0, 1.0]);
    assert_eq!(parallel_exclusive_scan(&x, 2.0, |a, b| 0.5 * a + b).values(), [2.0, 4.0, 3.0, 5.5]);
    let mut tape = Tape::<Jacobian>::new();
    // The elements are constants, and the start is not.
    let (start, y) = tape.record(|scope| {
        let (start, x) = (scope.input(2.0), View::new([4], &[3.0, 1.0, 4.0, 1.0]));
        (start, parallel_exclusive_scan(&x, start, |a, b| a * b))
    });
    assert_eq!(y.values(), [2.0, 6.0, 6.0, 24.0]);
    assert_eq!(tape.sweep_view(&[], (&y, &[1.0, 10.0, 100.0, 1000.0])).expect("swept").of(&start), Ok(12_331.0));
}

#[test]
fn replays_repeat_groups_at_other_inputs() {
    let n = 2 * GROUP + 30;
    let run = |x: &[f64], start: f64, again: Option<(&[f64], f64)>| {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(true);
        let (input, k, sum) = tape.record(|scope| {
            let (input, k) = (scope.view([n], x), scope.input(start));
            let y = parallel_scan(&input, associative(|a, b| a * b));
            let z = parallel_exclusive_scan(&y, k, associative(|a, b| a * b + 0.5 * a));
            // Behind a variable, constants are combined again.
            let constants = View::new([n], &around_half(n));
            let w = parallel_exclusive_scan(&constants, k, |a, b| a * b + 0.5 * a);
            let sum = parallel_sum(z.all(), (&z, &w), |(z, w)| (z.at::<0>() * w.at::<0>()).square());
            (input, k, (sum + parallel_fold(&y, associative(|a, b| a.max(b)))).eval())
        });
        if let Some((x, start)) = again {
            tape.new_inputs()
                .variable(&k, start)
                .and_then(|new| new.view(&input, x))
                .expect("its own")
                .replay()
                .expect("replayed");
        }
        let value = tape.value_of(&sum).expect("its own");
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        let mut all = vec![value, adjoints.of(&k).expect("an input")];
        all.extend_from_slice(&adjoints.of_view(&input).expect("an input"));
        all
    };
    let (x, other) = (around_one(n), around_one(n + 1)[1..].to_vec());
    let (found, expected) = (run(&x, 0.5, Some((&other, 0.25))), run(&other, 0.25, None));
    assert_eq!(super::bits(&found), super::bits(&expected));
}

#[test]
fn sums_in_groups_keep_nothing() {
    let mut tape = Tape::<Jacobian>::new();
    let kept = tape.record(|scope| {
        let x = scope.view([5000], &vec![0.5; 5000]);
        (parallel_scan(&x, associative(|a, b| a + b)), parallel_fold(&x, associative(|a, b| a + b)))
    });
    drop(kept);
    assert_eq!(tape.memory().usage("arrays").used, 0);
}
