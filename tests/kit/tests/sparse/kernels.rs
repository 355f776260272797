//! Patterns of recordings with launches: element by element.
//!
//! A case is a function with kernels inside. Its Jacobian's pattern must be exactly where the dense matrix is other
//! than 0, at a point at which nothing cancels. The Hessian's pattern must contain all that is other than 0, and no
//! more unless the case says so.
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use super::record;
use tapewright::checkpoint::{TimeLoop, closure_stage};
use tapewright::kernels::{
    Indices, View, deep_copy, dot, fill, gather, norm_squared, parallel_fold, parallel_for, parallel_max,
    parallel_row_sums, parallel_scan, parallel_sum, scatter, scatter_add,
};
use tapewright::prelude::*;
use tapewright::schedule::FullTape;
use tapewright::sparse::{Pattern, SparseJacobian, sparse_hessian};
use tapewright::{Dual, PrimalValue, Reuse, hessian, jacobian};

/// A function with several results.
type Function<S> = fn(&[Real<S>]) -> Vec<Real<S>>;

/// Of second order.
type Second = PrimalValue<Dual<f64, 4>>;

fn jacobian_of<S: Reverse<Value = f64>>(f: Function<S>, x: &[f64]) -> Pattern {
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, f, x);
    let pattern = tape.jacobian_pattern(&x, &y).expect("there is a pattern");
    let mut sparse = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    let matrix = sparse.evaluate(&mut tape, &x, &y).expect("it is as it was");
    assert_eq!(matrix.pattern(), &pattern);
    pattern
}

fn others(dense: &[Vec<f64>], columns: usize) -> Pattern {
    let entries = |row: &Vec<f64>| (0..columns).filter(|k| row[*k] != 0.0).collect::<Vec<_>>();
    Pattern::from_rows(columns, dense.iter().map(entries))
}

/// A function under the strategies with which it is recorded.
struct Case {
    plain: Function<Jacobian>,
    reusing: Function<PrimalValue<f64, Reuse>>,
    second: Function<Second>,
}

fn check(case: &Case, n: u8, is_exact: bool) {
    let x: Vec<f64> = (0..n).map(|k| 0.7 + 0.31 * (1.7 * f64::from(k)).sin()).collect();
    let expected = others(&jacobian::<Jacobian>(case.plain, &x).1, x.len());
    assert_eq!(jacobian_of(case.plain, &x), expected, "{}", jacobian_of(case.plain, &x));
    assert_eq!(jacobian_of(case.reusing, &x), expected);
    let sum = |x: &[Real<Second>]| {
        let mut sum = Real::from(0.0);
        (case.second)(x).iter().zip(0_u16..).for_each(|(y, k)| sum += (1.0 + 0.3 * f64::from(k)) * y);
        sum
    };
    let (_, _, dense) = hessian::<Second>(sum, &x);
    let (_, _, found) = sparse_hessian::<Second>(sum, &x).expect("there is a pattern");
    for (i, row) in dense.iter().enumerate() {
        for (j, entry) in row.iter().enumerate() {
            let difference = (found.get(i, j).unwrap_or(0.0) - entry).abs();
            assert!(difference <= 1e-12 * (1.0 + entry.abs()), "({i}, {j}): {found:?} and {entry}");
        }
    }
    let expected = others(&dense, x.len());
    assert!(!is_exact || *found.pattern() == expected, "{}\n{expected}", found.pattern());
}

macro_rules! cases {
    ($($(#[$doc:meta])* $name:ident($n:literal $(, $more:ident)?): |$x:ident| $body:block)*) => { $(
        $(#[$doc])*
        #[test]
        fn $name() {
            fn f<S: Taping>($x: &[Real<S>]) -> Vec<Real<S>> $body
            let is_exact = true $(&& { stringify!($more); false })?;
            check(&Case { plain: f, reusing: f, second: f }, $n, is_exact);
        }
    )* };
}

cases! {
    a_stencil_in_place(12): |x| {
        let mut u = View::of_variables([x.len()], x);
        for _ in 0..2 {
            parallel_for(u.interior(1), &mut u, |u| (u.at::<0>() + 0.1 * u.at::<0>() * (u.at::<1>() - u.at::<-1>()),));
        }
        u.to_variables()
    }
    two_fields_at_once(24): |x| {
        let (mut u, mut v) = (View::of_variables([3, 4], &x[..12]), View::of_variables([3, 4], &x[12..]));
        parallel_for(u.interior(1), (&mut u, &mut v), |(u, v)| {
            (u.at::<0, 0>() * u.at::<0, 1>() + v.at::<0, 0>(), v.at::<0, 0>() * v.at::<1, 0>() + 2.0 * u.at::<0, -1>())
        });
        [u.to_variables(), v.to_variables()].concat()
    }
    what_lies_beyond_the_borders(5): |x| {
        let x = View::of_variables([x.len()], x);
        let (mut a, mut b, mut c) = (View::zeros([5]), View::zeros([5]), View::zeros([5]));
        parallel_for(x.all(), (&x, &mut a, &mut b, &mut c), |(x, ..)| (
            x.at::<0>() * x.at::<0>() * (1.0 + x.or_zero::<2>()),
            x.nearest::<-2>().sin(),
            x.periodic::<3>() * x.periodic::<-4>() + x.at::<0>(),
        ));
        [a.to_variables(), b.to_variables(), c.to_variables()].concat()
    }
    new_values_and_temporaries(6, over): |x| {
        let (u, mut v, mut w) = (View::of_variables([6], x), View::zeros([6]), View::zeros([6]));
        parallel_for(u.interior(1), (&u, &mut v, &mut w), |(u, v, _)| {
            (u.at::<0>().sin(), (v.new() * u.at::<1>()).bind::<0, _>(|t| t + u.at::<-1>()))
        });
        [v.to_variables(), w.to_variables()].concat()
    }
    a_choice_has_both(6, over): |x| {
        let (u, mut v) = (View::of_variables([6], x), View::zeros([6]));
        parallel_for(u.interior(1), (&u, &mut v), |(u, _)| {
            (u.at::<0>().ge(0.0).select(u.at::<1>() * u.at::<0>(), u.at::<1>() + u.at::<0>()).exp(),)
        });
        v.to_variables()
    }
    a_sum_of_products_of_neighbors(8): |x| {
        let x = View::of_variables([x.len()], x);
        vec![parallel_sum(x.interior(1), &x, |x| x.at::<-1>() * x.at::<1>() + x.at::<0>().square())]
    }
    numbers_that_all_points_share(7): |x| {
        let (a, mut u) = (&x[0], View::of_variables([6], &x[1..]));
        parallel_for(u.interior(1), (&mut u, a), |(u, a)| (a * u.at::<1>(),));
        let mut v = View::zeros([6]);
        fill(a, &mut v);
        vec![parallel_sum(u.all(), &u, |u| u.at::<0>()), dot(&u, &v)]
    }
    sums_of_rows(12): |x| {
        let x = View::of_variables([3, 4], x);
        let sums: View<S, 1> = parallel_row_sums([0..3, 1..4], &x, |x| x.at::<0, 0>() * x.at::<0, -1>());
        sums.to_variables()
    }
    norms(4): |x| {
        let x = View::of_variables([4], x);
        vec![norm_squared(&x)]
    }
    folds_and_scans(5): |x| {
        let x = View::of_variables([5], x);
        let mut all = parallel_scan(&x, |a, b| a * b).to_variables();
        all.push(parallel_fold(&x, |a, b| a + b.square()));
        all
    }
    gathered_and_scattered(6): |x| {
        let (x, mut y) = (View::of_variables([6], x), View::of_variables([3], &x[..3]));
        let some = gather(&x, &Indices::new(&[5, 0, 3, 3]));
        scatter_add(&some, &Indices::new(&[0, 1, 1, 2]), &mut y);
        let mut z = x.clone();
        scatter(&y, &Indices::new(&[4, 0, 2]), &mut z);
        let mut both = z.to_variables();
        both.push((&both[0] * &both[4]).into());
        both
    }
    slices_and_elements(12): |x| {
        let mut x = View::of_variables([3, 4], x);
        let row = x.slice([1..2, 0..4]);
        x.set([0..1, 0..4], &row);
        let (a, b) = (x.variable([0, 1]), x.column(2));
        let mut out = b.to_variables();
        out.push((a.sin() * &out[1]).into());
        out
    }
    /// A clone stands for what was there before.
    views_that_are_cloned_and_written(6): |x| {
        let mut u = View::of_variables([6], x);
        let before = u.clone();
        parallel_for(2..4, (&mut u, &before), |(u, b)| (u.at::<-1>() * b.at::<1>(),));
        let mut copy = View::zeros([6]);
        deep_copy(&u, &mut copy);
        parallel_for(1..5, (&mut copy, &u), |(c, u)| (c.at::<0>() + u.at::<1>(),));
        [copy.to_variables(), before.to_variables()].concat()
    }
    passive_views_and_what_is_overwritten(5): |x| {
        let (mut u, passive) = (View::of_variables([5], x), View::filled([5], Real::<S>::from(2.0).value()));
        parallel_for(1..3, (&mut u, &passive), |(_, p)| (p.at::<0>() * p.at::<1>(),));
        parallel_for(0..4, (&mut u, &passive), |(u, p)| (p.at::<0>() * u.at::<1>(),));
        u.to_variables()
    }
    rows_of_a_domain_in_order(20): |x| {
        let mut u = View::of_variables([5, 4], x);
        for row in 1..5 {
            parallel_for([row..row + 1, 1..4], &mut u, |u| (u.at::<0, 0>() * u.at::<-1, 0>() + u.at::<0, -1>(),));
        }
        u.to_variables()
    }
    nothing_in_a_range(3): |x| {
        let u = View::of_variables([3], x);
        let none = parallel_sum(1..1, &u, |u| u.at::<0>());
        vec![(none + &x[0]).into(), parallel_sum(0..2, &u, |u| u.at::<0>())]
    }
}

/// A launch knows its operations even where records hold partial derivatives only.
#[test]
fn hessian_patterns_of_kernels_are_exact_under_both_strategies() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let (x, mut y) = (View::of_variables([x.len()], x), View::zeros([x.len()]));
        parallel_for(x.interior(1), (&x, &mut y), |(x, _)| (x.at::<-1>() * x.at::<1>() + 2.0 * x.at::<0>(),));
        parallel_sum(y.interior(1), &y, |y| y.at::<0>() - 3.0 * y.at::<1>())
    }
    fn pattern<S: Reverse<Value = Dual<f64, 4>>>(x: &[f64]) -> Pattern {
        let mut tape = Tape::<S>::new();
        let x: Vec<_> = x.iter().map(|x| Dual::constant(*x)).collect();
        let (x, y) = record(&mut tape, f, &x);
        tape.hessian_pattern(&x, &y).expect("there is a pattern")
    }
    let x = [0.5, 1.5, -0.75, 2.0, 0.25, 1.0];
    let (_, _, dense) = hessian::<Second>(f, &x);
    let expected = others(&dense, x.len());
    assert_eq!(expected.entries(), 8);
    assert_eq!(pattern::<Jacobian<Dual<f64, 4>>>(&x), expected);
    assert_eq!(pattern::<Second>(&x), expected);
}

/// What a stage or a time loop returns is taken to depend on all that it was given, and not to be linear in it.
#[test]
fn stages_and_time_loops_over_views_are_full() {
    fn stage<S: Reverse<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let u = View::of_variables([2], &x[..2]);
        let of_both = |(u, a): &(View<S, 1>, Real<S>)| -> (View<S, 1>, Real<S>) {
            let mut v = View::zeros([2]);
            parallel_for(u.all(), (u, &mut v), |(u, _)| (u.at::<0>() * 2.0,));
            (v, (a + 1.0).into())
        };
        let (v, b) = closure_stage(of_both, &(u, x[2].clone()));
        [v.to_variables(), vec![(b * &x[3]).into(), x[4].clone()]].concat()
    }
    fn time_loop<S: Reverse<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let u = View::of_variables([3], x);
        let run = TimeLoop::<S>::new(FullTape::new(2)).run(&(), &u, |_, (), u| step(u), |_, (), u| step(u));
        run.expect("it runs").to_variables()
    }
    fn step<S: Taping>(u: &View<S, 1>) -> View<S, 1> {
        let mut next = u.clone();
        parallel_for(u.interior(1), (u, &mut next), |(u, _)| (u.at::<-1>() * u.at::<1>(),));
        next
    }
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let rows = "xxx..\nxxx..\nxxxx.\n....x\n";
    assert_eq!(jacobian_of::<Jacobian>(stage, &x).to_string(), rows);
    assert_eq!(jacobian_of::<PrimalValue<f64, Reuse>>(stage, &x).to_string(), rows);
    assert_eq!(jacobian_of::<Jacobian>(time_loop, &x[..3]).to_string(), "xxx\nxxx\nxxx\n");
    let mut tape = Tape::<PrimalValue>::new();
    let (inputs, y) = record(&mut tape, |x| (stage(x)[0] + x[4].powi(2)).eval(), &x);
    let rows = "xxx..\nxxx..\nxxx..\n.....\n....x\n";
    assert_eq!(tape.hessian_pattern(&inputs, &y).expect("there is one").to_string(), rows);
}

/// Which point is the largest is a branch.
#[test]
fn a_maximum_depends_on_the_point_where_it_was_found() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let x = View::of_variables([x.len()], x);
        parallel_max(0..3, &x, |x| x.at::<0>() * x.at::<1>())
    }
    for guards in [false, true] {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(guards);
        let (x, y) = record(&mut tape, f, &[1.0, 4.0, 3.0, 2.0, 5.0]);
        assert_eq!(tape.jacobian_pattern(&x, &[y]).expect("there is one").to_string(), ".xx..\n");
        assert_eq!(
            tape.hessian_pattern(&x, &y).expect("there is one").to_string(),
            ".....\n..x..\n.x...\n.....\n.....\n"
        );
    }
}
