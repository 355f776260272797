//! Elements that go between views, and between views and variables; kernels in forward mode.

use crate::{close, numbers};
use tapewright::kernels::{
    Indices, View, fill, gather, parallel_fold, parallel_for, parallel_max, parallel_scan, parallel_sum, scatter,
    scatter_add,
};
use tapewright::prelude::*;
use tapewright::{jacobian, jacobian_forward, pause};
use tapewright_test_support::panic_message;

const EDGES: [usize; 6] = [0, 4, 4, 11, 4, 2];

/// Everything that moves elements, around kernels that are not linear.
fn by_views<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let mut x = View::of_variables([3, 4], x);
    let before = x.clone();
    let part = x.slice([0..2, 1..3]);
    x.set([1..3, 2..4], &part);
    parallel_for([1..3, 0..4], &mut x, |x| (x.at::<0, 0>() * x.at::<-1, 0>(),));
    let picked = gather(&x, &Indices::new(&EDGES));
    let mut sums = x.row(2);
    parallel_for(sums.all(), (&mut sums, &x.row(0)), |(s, r)| (s.at::<0>().sin() * r.at::<0>(),));
    let (first, rest) = (picked.slice(0..2), picked.slice(2..6));
    scatter_add(&rest, &Indices::new(&[3, 0, 3, 3]), &mut sums);
    scatter(&first, &Indices::new(&[1, 2]), &mut sums);
    let column = before.column(3);
    let square = parallel_sum(column.all(), &column, |c| c.at::<0>().square());
    let mut outputs = sums.reshape([2, 2]).to_variables();
    outputs.push(square);
    outputs.push(x.variable([2, 1]));
    outputs
}

/// The same by statements.
fn by_statements<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let before = x.to_vec();
    let mut x = x.to_vec();
    for (i, j) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
        x[(i + 1) * 4 + j + 1] = before[i * 4 + j].clone();
    }
    let old = x.clone();
    for k in 4..12 {
        x[k] = (&old[k] * &old[k - 4]).eval();
    }
    let picked: Vec<Real<S>> = EDGES.iter().map(|k| x[*k].clone()).collect();
    let mut sums: Vec<Real<S>> = (0..4).map(|j| (x[8 + j].sin() * &x[j]).eval()).collect();
    for (value, place) in picked[2..].iter().zip([3, 0, 3, 3]) {
        sums[place] = (&sums[place] + value).eval();
    }
    sums[1] = picked[0].clone();
    sums[2] = picked[1].clone();
    let square = (&before[3] * &before[3] + &before[7] * &before[7] + &before[11] * &before[11]).eval();
    sums.extend([square, x[9].clone()]);
    sums
}

fn assert_same(found: &[Vec<f64>], expected: &[Vec<f64>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!(close(*found, *expected, 1.0), "{found} for {expected}");
    }
}

fn agrees<S: Reverse<Value = f64>>() {
    let x = numbers(12, 3);
    let (values, expected) = jacobian::<S>(|x| by_statements(x), &x);
    assert!(expected.iter().flatten().filter(|slope| **slope != 0.0).count() > 12);
    let (found, slopes) = jacobian::<S>(|x| by_views(x), &x);
    assert_same(&[found], &[values]);
    assert_same(&slopes, &expected);
}

#[test]
fn elements_that_move_have_the_derivatives_of_statements() {
    agrees::<Jacobian>();
    agrees::<PrimalValue>();
    agrees::<Continuation>();
}

#[test]
fn kernels_and_transfers_have_a_forward_mode() {
    let x = numbers(12, 3);
    let expected = jacobian::<Jacobian>(|x| by_statements(x), &x).1;
    // Five directions at once, so that the last of the evaluations is not full.
    assert_same(&jacobian_forward::<Tangent<5>>(by_views, &x).1, &expected);
}

/// Kernels of several kinds, with a variable that all points share.
fn kernels<S: Taping<Value = f64>>(x: &View<S, 2>, a: &Real<S>) -> (View<S, 2>, Vec<Real<S>>) {
    let mut y = x.clone();
    parallel_for(y.interior(1), (&mut y, x, a), |(_, x, a)| {
        (x.at::<0, 1>() * x.at::<1, 0>() + a * x.at::<0, 0>().exp(),)
    });
    let mut z = View::zeros(y.shape());
    fill(a, &mut z);
    parallel_for(z.all(), (&mut z, &y), |(z, y)| (z.at::<0, 0>() * y.periodic::<1, -1>().max(0.1),));
    let sum = parallel_sum(z.all(), (&z, a), |(z, a)| z.at::<0, 0>().powi(3) / (a + 2.0));
    let largest = parallel_max(y.all(), &y, |y| y.at::<0, 0>());
    (z, vec![sum, largest])
}

/// K15: products with the Jacobian through kernels, against reverse mode.
#[test]
fn k15_tangents_through_kernels_are_the_transposes_of_adjoints() {
    let (shape, n) = ([5, 4], 20);
    let (x, seeds) = (numbers(n, 1), numbers(n, 4));
    let directions = [numbers(n, 2), vec![0.0; n]];
    let slopes = [0.7, 1.0];
    let moving = View::<Tangent<2>, 2>::moving(shape, &x, |k| directions[k].clone());
    let a = Real::with_tangent(0.3, slopes);
    let (z, numbers) = kernels(&moving, &a);

    let mut tape = Tape::<Jacobian>::new();
    let (inputs, a, outputs, outputs_numbers) = tape.record(|scope| {
        let (x, a) = (scope.view(shape, &x), scope.input(0.3));
        let (z, numbers) = kernels(&x, &a);
        (x, a, z, numbers)
    });
    assert_eq!(z.values(), outputs.values());
    for (k, direction) in directions.iter().enumerate() {
        for (number, seed) in numbers.iter().zip(&outputs_numbers) {
            let adjoints = tape.sweep(&[(seed, 1.0)]).expect("it is swept");
            let of_x = adjoints.of_view(&inputs).expect("an input");
            let product: f64 = of_x.iter().zip(direction).map(|(a, d)| a * d).sum();
            let product = product + adjoints.of(&a).expect("an input") * slopes[k];
            assert!(close(number.tangent()[k], product, 10.0), "{} for {product}", number.tangent()[k]);
        }
        let adjoints = tape.sweep_view(&[], (&outputs, &seeds)).expect("it is swept");
        let of_x = adjoints.of_view(&inputs).expect("an input");
        let product: f64 = of_x.iter().zip(direction).map(|(a, d)| a * d).sum();
        let product = product + adjoints.of(&a).expect("an input") * slopes[k];
        let found: f64 = z.tangents(k).iter().zip(&seeds).map(|(t, s)| t * s).sum();
        assert!(close(found, product, 10.0), "{found} for {product}");
    }
}

#[test]
fn evaluations_of_forward_mode_do_not_mix_in_kernels() {
    let inner = |x: &View<Tangent<1>, 1>| parallel_sum(x.all(), x, |x| x.at::<0>().square());
    // An inner derivative of views that do not move outside.
    let outer = derivative::<Tangent<1>>(
        |x| {
            let slope = derivative::<Tangent<1>>(|y| inner(&View::of_variables([2], &[y, 3.0.into()])), 2.0);
            (x * slope).into()
        },
        1.0,
    );
    assert_eq!(outer, 4.0);
    let text = panic_message(|| {
        derivative::<Tangent<1>>(
            |x| {
                let slope = derivative::<Tangent<1>>(|y| inner(&View::of_variables([2], &[y, x])), 2.0);
                (x * slope).into()
            },
            1.0,
        )
    });
    assert!(text.contains("level"), "{text}");
}

#[test]
fn what_is_paused_is_constant_in_forward_mode_too() {
    let slope = derivative::<Tangent<1>>(
        |x| {
            let x = View::of_variables([2], &[x, 2.0.into()]);
            let constant = pause(|| parallel_sum(x.all(), &x, |x| x.at::<0>().square()));
            (constant * parallel_sum(x.all(), &x, |x| x.at::<0>())).into()
        },
        3.0,
    );
    assert_eq!(slope, 13.0);
}

/// A rule that is not linear: its partials are those of both arguments.
macro_rules! rule {
    () => {
        |a, b| (a * b).bind::<0, _>(|p| p * 0.3 + a.max(b))
    };
}

fn folds_by_views<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let x = View::of_variables([2, x.len() / 2], x);
    let sums = parallel_scan(&x, |a, b| a + b);
    let mut outputs = parallel_scan(&sums, rule!()).to_variables();
    outputs.extend([
        parallel_fold(&sums, |a, b| a - b),
        parallel_fold(&x, rule!()),
        parallel_fold(&x, |a, b| a.max(b)),
    ]);
    outputs
}

fn folds_by_statements<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    fn scan<S: Strategy>(x: &[Real<S>], rule: impl Fn(Real<S>, Real<S>) -> Real<S>) -> Vec<Real<S>> {
        let mut last = x[0];
        let next = |x: &Real<S>| {
            last = rule(last, *x);
            last
        };
        let rest: Vec<Real<S>> = x[1..].iter().map(next).collect();
        [&x[..1], &rest].concat()
    }
    let combined = |a: Real<S>, b: Real<S>| (a * b * 0.3 + a.max(b)).eval();
    let sums = scan(x, |a, b| (a + b).eval());
    let mut outputs = scan(&sums, combined);
    let ends = [scan(&sums, |a, b| (a - b).eval()), scan(x, combined), scan(x, |a, b| a.max(b).eval())]
        .map(|s| s[s.len() - 1]);
    outputs.extend(ends);
    outputs
}

#[test]
fn folds_and_scans_have_the_derivatives_of_statements() {
    let x = numbers(8, 6);
    let (values, expected) = jacobian::<Jacobian>(|x| folds_by_statements(x), &x);
    for (found, slopes) in [
        jacobian::<Jacobian>(|x| folds_by_views(x), &x),
        jacobian::<PrimalValue>(|x| folds_by_views(x), &x),
        jacobian_forward::<Tangent<5>>(folds_by_views, &x),
    ] {
        assert_same(&[found], core::slice::from_ref(&values));
        assert_same(&slopes, &expected);
    }
}

#[test]
fn forward_sweeps_over_a_recording_go_through_transfers_and_scans() {
    let at = numbers(12, 3);
    let expected = jacobian::<Jacobian>(|x| [by_statements(x), folds_by_statements(x)].concat(), &at).1;
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&at);
        let y = [by_views(&x), folds_by_views(&x)].concat();
        (x, y)
    });
    let outputs: Vec<&Real<Jacobian>> = y.iter().collect();
    for (k, x) in x.iter().enumerate() {
        let found = tape.jvp(&[(x, 1.0)], &outputs).expect("it is swept");
        let column: Vec<f64> = expected.iter().map(|row| row[k]).collect();
        assert_same(&[found], &[column]);
    }
}

/// Adjoints that are one number for all elements, and those of a view that is overwritten completely.
#[test]
fn uniform_adjoints_go_through_transfers() {
    fn sum<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let x = View::of_variables([5], x);
        let picked = gather(&x, &Indices::new(&[1, 1, 3]));
        let mut w = x.clone();
        scatter_add(&picked, &Indices::new(&[0, 4, 4]), &mut w);
        w.set(0..2, &picked.slice(1..3)); // x1, x3, x2, x3, x4 + x1 + x3
        let mut all = x.clone();
        all.set(0..5, &w);
        vec![(parallel_sum(all.all(), &all, |a| a.at::<0>()) + parallel_sum(x.all(), &x, |x| x.at::<0>())).into()]
    }
    let (at, expected) = ([1.0, 2.0, 4.0, 8.0, 16.0], [[1.0, 3.0, 2.0, 4.0, 2.0]]);
    for (values, slopes) in [
        jacobian::<Jacobian>(|x| sum(x), &at),
        jacobian::<PrimalValue>(|x| sum(x), &at),
        jacobian_forward::<Tangent<5>>(sum, &at),
    ] {
        assert_eq!((values, slopes), (vec![48.0 + 31.0], expected.map(Vec::from).to_vec()));
    }
}

#[test]
fn a_scan_of_sums_keeps_nothing() {
    let mut tape = Tape::<Jacobian>::new();
    let mut kept = |linear: bool| {
        let y = tape.record(|scope| {
            let x = scope.view([100], &[0.5; 100]);
            if linear { parallel_scan(&x, |a, b| a + b) } else { parallel_scan(&x, |a, b| a * b) }
        });
        drop(y);
        tape.memory().usage("arrays").used
    };
    assert_eq!(kept(true), 0);
    assert!(kept(false) >= 1600);
}

#[test]
fn a_rule_is_made_of_its_arguments() {
    let x = View::<Passive, 1>::filled([3], 2.0);
    let mut stolen = None;
    parallel_for(x.all(), (&x, &mut x.clone()), |(x, _)| {
        stolen = Some(x.at::<0>());
        (x.at::<0>(),)
    });
    let term = stolen.expect("the closure has run");
    let text = panic_message(|| parallel_fold(&x, |a, _| a + term));
    assert!(text.contains("made of its two arguments, and of nothing from elsewhere"), "{text}");
}

#[test]
fn transfers_that_cannot_be() {
    let x = View::<Passive, 2>::zeros([2, 3]);
    let (mut y, three) = (x.clone(), View::<Passive, 1>::zeros([3]));
    assert_eq!(
        panic_message(|| gather(&x, &Indices::new(&[0, 6]))),
        "index 6 is beyond a view of 6 elements, whose indices are 0 to 5"
    );
    assert!(panic_message(|| gather(&x, &Indices::new(&[]))).contains("the list of indices has no elements"));
    assert_eq!(
        panic_message(|| scatter(&three, &Indices::new(&[4, 1, 4]), &mut y)),
        "elements 0 and 2 would both be put at place 4 (use `scatter_add` to add them up)"
    );
    let short = Indices::new(&[0, 1]);
    assert_eq!(
        panic_message(|| scatter_add(&three, &short, &mut y)),
        "a view of 3 elements cannot be scattered to 2 places: give an index for each element, 3 in all"
    );
    assert_eq!(
        panic_message(|| Indices::new(&[1 << 32])),
        "index 4294967296 is beyond 2^32 - 1, the largest that there can be"
    );
    assert!(panic_message(|| x.slice([0..2, 0..4])).contains("0..4 along dimension 1 goes beyond"));
    assert!(panic_message(|| y.set([0..1, 0..2], &x)).contains("of shape [1, 2] cannot hold a view of shape [2, 3]"));
    assert!(panic_message(|| x.reshape([7])).contains("has 6 elements, so it cannot have shape [7]"));
    assert!(panic_message(|| x.variable([1, 3])).contains("the point [1, 3] is not in a view of shape [2, 3]"));
    assert!(panic_message(|| View::<Passive, 1>::of_variables([2], &[1.0.into()])).contains("has 2 elements, not 1"));
    assert!(panic_message(|| x.row(2)).contains("2..3 along dimension 0 goes beyond"));
}

#[test]
fn a_view_of_another_recording_is_not_transferred() {
    let mut tape = Tape::<Jacobian>::new();
    let old = tape.record(|scope| scope.view([3], &[1.0, 2.0, 3.0]));
    let text = panic_message(|| tape.record(|_| gather(&old, &Indices::new(&[0]))));
    assert!(text.contains("recording"), "{text}");
    assert!(!panic_message(|| tape.record(|_| old.to_variables())).is_empty());
}

#[test]
fn what_is_taken_while_the_recording_is_paused_is_constant() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.view([3], &[1.0, 2.0, 3.0]);
        let before = x.clone();
        let part = pause(|| x.slice(0..1));
        assert!(!part.is_active());
        x.set(2..3, &part);
        assert!(panic_message(|| pause(|| x.set(0..1, &part))).contains("a part of a view cannot become a constant"));
        let y = parallel_sum(x.all(), &x, |x| x.at::<0>().square());
        (before, y)
    });
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("it is swept");
    assert_eq!(*adjoints.of_view(&x).expect("an input"), [2.0, 4.0, 0.0]);
}

/// S15: the elements of a matrix have one slot for all, and two matrices may share their elements, in any shape.
#[test]
fn s15_a_matrix_takes_one_slot_whatever_its_size() {
    let (mut tape, mut first) = (Tape::<Jacobian>::new(), None);
    for (rows, columns) in [(1, 1), (30, 40), (200, 3)] {
        let elements = rows * columns;
        let (x, y) = tape.record(|scope| {
            let x = scope.view([rows, columns], &numbers(elements, 5));
            let flat = x.reshape([elements]);
            let y = parallel_sum(flat.all(), &flat, |x| x.at::<0>().square());
            (x, y)
        });
        let adjoints = tape.sweep(&[(&y, 1.0)]).expect("it is swept");
        for (adjoint, value) in adjoints.of_view(&x).expect("an input").iter().zip(x.values()) {
            assert_eq!(*adjoint, 2.0 * value);
        }
        // No element is an entry of the vector of adjoints, or a record: there is the sum, and what is passive.
        let report = tape.memory();
        assert_eq!((report.usage("adjoints").used, report.statements, report.arguments), (2 * 8, 0, 0), "{elements}");
        let recorded = report.usage("externals").used;
        assert_eq!(recorded, *first.get_or_insert(recorded), "the view and the sum, whatever their elements");
    }
}
