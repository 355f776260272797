//! One function on three targets: the host, the interpreter, and kernels that were compiled as C while the program ran.

#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "opencl")]
use tapewright::kernels::devices::{DeviceSpace, OpenCl};
use tapewright::kernels::targets::{Accumulation, Evaluation, Found, Gather, Movement, Propagation, Side, Target};
use tapewright::kernels::{
    Host, Indices, Interpreter, Space, View, associative, deep_copy, gather, parallel_exclusive_scan, parallel_fold,
    parallel_for, parallel_max, parallel_min, parallel_row_sums, parallel_scan, parallel_sum, parallel_sums, scatter,
    scatter_add,
};
use tapewright::prelude::*;
use tapewright::tape::LaneVector;
use tapewright_strategies::Number;
use tapewright_strategies::kernel::ir::OPERANDS;
use tapewright_strategies::kernel::memory::Buffer;
use tapewright_third_party::c_target::{Compiled, compiled_kernels};
use tapewright_third_party::remote::Remote;

/// The memory of the host, and the interpreter.
#[derive(Clone, Copy, Debug)]
struct Interpreted;
impl<V: Number> Space<V> for Interpreted {
    fn target() -> &'static dyn Target<V> {
        &Interpreter
    }
}

/// Numbers between −2 and 2, different for each seed.
fn numbers(count: usize, seed: u32) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1_u32 << 22) - 2.0
    };
    (0..count).map(|_| next()).collect()
}

/// A function of views, of a scalar, in one space.
type Function<const R: usize, M> = fn(&View<Jacobian, R, M>, &View<Jacobian, R, M>, &Real<Jacobian>) -> Real<Jacobian>;

/// Bits of the value, and of the adjoints of x, y and k, for four adjoint vectors.
fn bits<const R: usize, M: Space<f64>>(f: Function<R, M>, shape: [usize; R], start: [&[f64]; 2], k: f64) -> Vec<u64> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, k, z) = tape.record(|scope| {
        let (x, y) = (scope.view(shape, start[0]).in_space::<M>(), scope.view(shape, start[1]).in_space::<M>());
        let k = scope.input(k);
        let z = f(&x, &y, &k);
        (x, y, k, z)
    });
    let mut found = vec![z.value()];
    let mut lanes = LaneVector::new(4);
    let adjoints = tape.sweep_lanes_with(&mut lanes, &[(&z, &[1.0, -0.75, 0.0, -0.0])]).expect("swept");
    for lane in 0..4 {
        found.extend_from_slice(&adjoints.of_view(&x, lane).expect("x"));
        found.extend_from_slice(&adjoints.of_view(&y, lane).expect("y"));
    }
    found.extend_from_slice(adjoints.of(&k).expect("k"));
    found.iter().map(|number| if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }).collect()
}

/// Compares a function, generic in the space, between the targets, from plain and from special numbers.
macro_rules! same_on_all_targets {
    ($f:ident, $shape:expr) => {{
        let count: usize = $shape.iter().product();
        let special = [0.0, -0.0, f64::INFINITY, f64::NAN, f64::NEG_INFINITY, 1e300, -1e-310];
        let mut odd = numbers(count, 3);
        odd.iter_mut().step_by(5).zip(special.iter().cycle()).for_each(|(x, y)| *x = *y);
        for start in [[&numbers(count, 1)[..], &numbers(count, 2)[..]], [&odd[..], &numbers(count, 2)[..]]] {
            for k in [0.3, 0.0, f64::INFINITY] {
                let host = bits::<_, Host>($f, $shape, start, k);
                assert_eq!(bits::<_, Interpreted>($f, $shape, start, k), host, "{} by the interpreter", stringify!($f));
                assert_eq!(bits::<_, Compiled>($f, $shape, start, k), host, "{} as C", stringify!($f));
                assert_eq!(bits::<_, Remote<0>>($f, $shape, start, k), host, "{} in another memory", stringify!($f));
                assert_eq!(bits::<_, Remote<1>>($f, $shape, start, k), host, "{} and changed there", stringify!($f));
                #[cfg(feature = "opencl")]
                assert_eq!(bits::<_, OpenCl>($f, $shape, start, k), host, "{} on a device", stringify!($f));
            }
        }
    }};
}

thread_local! {
    /// Points of the launches of the functions below, for each dimension.
    static RANGE: Cell<[(usize, usize); 4]> = const { Cell::new([(0, 0); 4]) };
}

/// The range of the launches in views of rank `R`.
fn range<const R: usize>() -> [Range<usize>; R] {
    let all = RANGE.get();
    core::array::from_fn(|d| all[d].0..all[d].1)
}

/// Functions of views over the [range]: one for each rank, with the offsets at which they read. They have all border
/// rules, adjoints that are added, stored, replaced and replaced in place, slopes that are infinite at 0, several sums
/// of one pass, and sums of rows.
macro_rules! over_a_range {
    ($($name:ident $rank:literal: [$($o:literal)*] [$($a:literal)*] [$($b:literal)*] [$($c:literal)*];)*) => { $(
        fn $name<M: Space<f64>>(
            x: &View<Jacobian, $rank, M>,
            y: &View<Jacobian, $rank, M>,
            k: &Real<Jacobian>,
        ) -> Real<Jacobian> {
            let (mut u, mut v, mut w) = (x.clone(), y.clone(), x.clone());
            parallel_for(range(), (&mut u, &mut v, k), |(u, v, k)| {
                let (a, b) = (u.or_zero::<$($a),*>(), v.periodic::<$($b),*>());
                (a * b - k * u.nearest::<$($c),*>(), u.new() / v.nearest::<$($a),*>() + u.periodic::<$($c),*>())
            });
            // Slopes that are infinite where an element is 0, and of which the sums below ask only some.
            parallel_for(range(), (&mut w, x, y), |(w, x, y)| {
                (x.at::<$($o),*>().abs().sqrt() * w.or_zero::<$($b),*>() + y.nearest::<$($b),*>().square().sqrt(),)
            });
            // In place at the points of a part, and everywhere.
            parallel_for(range(), (&mut v, k), |(v, k)| (v.at::<$($o),*>() * v.at::<$($o),*>() + k / v.at::<$($o),*>(),));
            parallel_for(v.all(), (&mut v, &u), |(v, u)| (0.5 * v.at::<$($o),*>() - u.at::<$($o),*>(),));
            let [a, b, c] = parallel_sums(range(), (&u, &v, &w, k), |(u, v, w, k)| {
                (
                    u.or_zero::<$($c),*>() * v.at::<$($o),*>(),
                    v.periodic::<$($a),*>() * k,
                    w.at::<$($o),*>().ge(0.5).select(w.nearest::<$($b),*>().sqrt(), 0.0),
                )
            });
            let most = parallel_max(range(), (&u, &v), |(u, v)| u.nearest::<$($c),*>() - v.at::<$($o),*>());
            let least = parallel_min(range(), (&w,), |(w,)| w.periodic::<$($b),*>());
            (a * 0.5 - b + c * 2.0 + most - least).into()
        }
    )* };
}
over_a_range! {
    in_one 1: [0] [-2] [3] [1];
    in_two 2: [0 0] [-1 2] [1 -1] [0 -3];
    in_three 3: [0 0 0] [1 0 -1] [0 -2 1] [-1 1 0];
    in_four 4: [0 0 0 0] [1 0 0 -1] [0 -1 2 1] [0 1 0 -2];
}

/// All border rules, several outputs, a launch in place, a selection.
fn borders<M: Space<f64>>(x: &View<Jacobian, 1, M>, y: &View<Jacobian, 1, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let (mut x, mut y) = (x.clone(), y.clone());
    let n = x.len();
    parallel_for(0..n, (&mut x, &mut y, k), |(x, y, k)| {
        let new = x.or_zero::<-1>() * y.nearest::<2>() + k * x.periodic::<-3>();
        (new, y.at::<0>().ge(0.1).select(y.nearest::<-2>() * x.at::<0>(), y.or_zero::<1>()) - x.new())
    });
    parallel_for(2..n - 1, (&mut x, &y), |(x, y)| (x.at::<0>() * x.at::<0>() - y.at::<0>().abs() / 3.0,));
    parallel_sum(1..n, (&x, &y, k), |(x, y, k)| x.at::<0>() * y.at::<-1>() + k * y.at::<0>().max(x.at::<0>()))
}

/// Launches in place that read from one side only, so that elements outside of the range get adjoints, too.
fn one_way<M: Space<f64>>(x: &View<Jacobian, 1, M>, y: &View<Jacobian, 1, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let (mut u, n) = (x.clone(), x.len());
    parallel_for(3..n - 5, (&mut u, k), |(u, k)| (k * u.at::<1>() * u.at::<1>(),));
    parallel_for(4..n - 2, (&mut u, y), |(u, y)| (u.at::<2>() * y.at::<-3>(),));
    parallel_sum(u.all(), &u, |u| u.at::<0>().square())
}

/// Rows, columns and a part of them, in two dimensions.
fn rows<M: Space<f64>>(x: &View<Jacobian, 2, M>, y: &View<Jacobian, 2, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let mut u = y.clone();
    let [m, n] = x.shape();
    parallel_for([1..m - 1, 0..n], (&mut u, x, k), |(u, x, k)| {
        (u.at::<0, 0>() + k * (u.at::<-1, 0>() * x.at::<1, 0>() - x.periodic::<0, 2>()),)
    });
    let sums: View<Jacobian, 1, M> = parallel_row_sums(u.all(), (&u, x), |(u, x)| u.at::<0, 0>() * x.at::<0, 0>());
    let mut squares = sums.clone();
    deep_copy(&sums, &mut squares);
    parallel_for(squares.all(), &mut squares, |s| (s.at::<0>().square(),));
    let sum = parallel_sum(squares.all(), (&squares, &sums), |(q, s)| q.at::<0>() - 0.5 * s.at::<0>());
    (sum + parallel_max(u.all(), &u, |u| u.at::<0, 0>())).into()
}

/// Four dimensions, a quotient of outputs, no scalar.
fn boxes<M: Space<f64>>(x: &View<Jacobian, 4, M>, y: &View<Jacobian, 4, M>, _: &Real<Jacobian>) -> Real<Jacobian> {
    let (mut u, mut v) = (x.clone(), y.clone());
    parallel_for([0..2, 1..3, 0..2, 1..4], (&mut u, &mut v), |(u, v)| {
        let product = u.at::<0, -1, 0, 1>() * v.or_zero::<0, 0, 1, 0>();
        (product - v.at::<0, 0, 0, -1>(), u.new() / (1.5 + v.at::<0, 0, 0, 0>().square()))
    });
    parallel_sum(u.all(), (&u, &v), |(u, v)| u.at::<0, 0, 0, 0>() - v.at::<0, 0, 0, 0>().sqrt())
}

/// Operands of lower rank along each dimension: y = A·x, an outer product, xᵀAx, and sums of rows that read other rows.
fn lower_rank<M: Space<f64>>(x: &View<Jacobian, 2, M>, y: &View<Jacobian, 2, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let [m, n] = x.shape();
    let (row, column) = (y.row(1), x.column(2));
    let product: View<Jacobian, 1, M> =
        parallel_row_sums(x.all(), (x, row.along::<1>(), k), |(a, x, k)| k * a.at::<0, 0>() * x.at());
    let mut u = y.clone();
    parallel_for([0..m, 1..n - 1], (&mut u, row.along::<1>(), column.along::<0>()), |(u, row, column)| {
        (u.at::<0, 1>() * row.at() - column.at() / (2.0 + u.at::<0, -1>().abs()),)
    });
    let beside: View<Jacobian, 1, M> = parallel_row_sums([1..m - 1, 0..n], (&u, column.along::<0>()), |(u, c)| {
        u.at::<-1, 0>() * u.at::<1, 0>() * c.at()
    });
    let form = parallel_sum(x.all(), (x, &u, product.along::<0>(), row.along::<1>(), k), |(a, u, y, x, k)| {
        y.at() * a.at::<0, 0>() * x.at() + k * u.at::<0, 0>()
    });
    (form + parallel_sum(beside.all(), &beside, |b| b.at::<0>().square())).into()
}

/// An operand along all three pairs of dimensions, and along the first, the middle and the last one of three.
fn planes<M: Space<f64>>(x: &View<Jacobian, 3, M>, y: &View<Jacobian, 3, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let [l, m, n] = x.shape();
    let (a, b, c) = (x.slice([0..l, 0..m, 1..2]), x.slice([0..l, 1..2, 0..n]), x.slice([1..2, 0..m, 0..n]));
    let (a, b, c) = (a.reshape([l, m]), b.reshape([l, n]), c.reshape([m, n]));
    let mut u = y.clone();
    parallel_for(
        [0..l, 1..m, 0..n],
        (&mut u, a.along2::<0, 1>(), b.along2::<0, 2>(), c.along2::<1, 2>()),
        |(u, a, b, c)| (u.or_zero::<0, 0, -1>() * a.at() + b.at() * c.at(),),
    );
    let (p, q, r) = (a.column(0), c.column(1), b.row(1));
    let lines = (&u, p.along::<0>(), q.along::<1>(), r.along::<2>(), k);
    parallel_sum([0..l, 0..m - 1, 1..n], lines, |(u, p, q, r, k)| {
        u.periodic::<1, 0, 2>() * p.at() + k * q.at() * r.at() / (1.0 + u.at::<0, 1, 0>().square())
    })
}

#[test]
fn operands_of_lower_rank_have_the_same_bits_on_all_targets() {
    same_on_all_targets!(lower_rank, [5, 37]);
    // Several blocks of rows for the adjoints of a row.
    same_on_all_targets!(lower_rank, [300, 7]);
    same_on_all_targets!(planes, [4, 3, 6]);
}

#[test]
fn adjoints_of_long_operands_of_lower_rank_have_the_same_bits_on_all_targets() {
    fn adjoints<M: Space<f64>>() -> Vec<u64> {
        let (shape, [rows, columns]) = ([3, 70_001], [3, 70_001]);
        let (x, y) = (numbers(rows, 1), numbers(columns, 2));
        let mut tape = Tape::<Jacobian>::new();
        let (x, y, z) = tape.record(|scope| {
            let a = View::<Jacobian, 2>::new(shape, &numbers(rows * columns, 3)).in_space::<M>();
            let (x, y) = (scope.view([rows], &x).in_space::<M>(), scope.view([columns], &y).in_space::<M>());
            let z = parallel_sum([0..rows, 3..columns], (&a, x.along::<0>(), y.along::<1>()), |(a, x, y)| {
                a.at::<0, 0>() * x.at() * y.at()
            });
            (x, y, z)
        });
        let adjoints = tape.sweep(&[(&z, 1.5)]).expect("swept");
        let found = [&*adjoints.of_view(&x).expect("x"), &*adjoints.of_view(&y).expect("y"), &[z.value()]].concat();
        found.iter().map(|number| number.to_bits()).collect()
    }
    let host = adjoints::<Host>();
    assert_eq!(adjoints::<Interpreted>(), host);
    assert_eq!(adjoints::<Compiled>(), host);
}

/// Slices, lists of places with repetitions, folds and scans.
fn transfers<M: Space<f64>>(x: &View<Jacobian, 2, M>, y: &View<Jacobian, 2, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let [m, n] = x.shape();
    let places = Indices::new(&[3, 0, n + 1, 3, 2 * n - 1]);
    let (mut u, mut sums, first) = (y.clone(), x.row(1), x.row(0));
    u.set([1..m, 0..n], &x.slice([0..m - 1, 0..n]));
    scatter_add(&gather(&u, &places), &Indices::new(&[1, 0, 1, 2, 1]), &mut sums);
    scatter(&sums.slice(0..3), &Indices::new(&[n, 2, 0]), &mut u);
    let scanned = parallel_scan(&u, |a, b| 0.5 * a + b);
    let fold = parallel_fold(&first, associative(|a, b| a + b));
    let element = u.variable([1, 0]);
    (parallel_sum(u.all(), (&u, &scanned, k), |(u, s, k)| u.at::<0, 0>() * s.at::<0, 0>() + k) + fold * element).into()
}

#[test]
fn transfers_folds_and_scans_have_the_same_bits_on_all_targets() {
    same_on_all_targets!(transfers, [3, 7]);
    same_on_all_targets!(transfers, [5, 37]);
}

/// Lists of places: every element to the same place, one place, the first and the last one, none of some elements, and
/// seeds that are one number for all.
fn lists<M: Space<f64>>(x: &View<Jacobian, 1, M>, y: &View<Jacobian, 1, M>, k: &Real<Jacobian>) -> Real<Jacobian> {
    let n = x.len();
    let (ends, one) = (Indices::new(&[n - 1, 0, 0, n - 1, n - 1]), Indices::new(&[n / 2]));
    let all: Vec<usize> = (0..n).map(|i| i * i % n).collect();
    let all = Indices::new(&all);
    let (mut sums, mut u) = (View::zeros([n]).in_space::<M>(), y.clone());
    scatter_add(x, &Indices::new(&vec![n - 1; n]), &mut sums);
    scatter_add(&gather(&sums, &ends), &ends, &mut u);
    scatter_add(&gather(x, &all), &all, &mut u);
    scatter(&gather(&u, &one), &one, &mut sums);
    // The same list reads and writes another view; and twice.
    let again = gather(&gather(&u, &all), &all);
    let uniform = parallel_sum(0..n, &gather(x, &all), |x| x.at::<0>());
    let sum = parallel_sum(0..n, (&u, &sums, &again, k), |(u, s, a, k)| u.at::<0>() * s.at::<0>() + k * a.at::<0>());
    (sum + uniform).into()
}

#[test]
fn lists_of_places_have_the_same_bits_on_all_targets() {
    same_on_all_targets!(lists, [1]);
    same_on_all_targets!(lists, [2]);
    same_on_all_targets!(lists, [301]);
}

/// Scans in groups: sums, products, whose slopes depend on the values, and a rule that is not associative; exclusive
/// ones from a variable; adjoints that are set and that are added.
fn scans<S: Taping<Value = f64>, M: Space<f64>>(x: &View<S, 1, M>, y: &View<S, 1, M>, k: &Real<S>) -> View<S, 1, M> {
    let sums = parallel_scan(x, associative(|a, b| a + b));
    let products = parallel_scan(y, associative(|a, b| a * b));
    let pairs = parallel_scan(&sums, associative(|a, b| 0.5 * a * b + a.sqrt() - b));
    let behind = parallel_exclusive_scan(y, k.clone(), associative(|a, b| a * b / 3.0));
    let linear = parallel_exclusive_scan(x, 2.5 * k, associative(|a, b| b - 0.5 * a));
    let second = parallel_scan(x, associative(|_, b| b));
    let mut all = second;
    parallel_for(all.all(), (&mut all, &sums, &products, &pairs, &behind, &linear), |(a, s, p, q, b, l)| {
        (a.at::<0>() * s.at::<0>() + p.at::<0>() * q.at::<0>() + b.at::<0>() - l.at::<0>(),)
    });
    all
}

fn sum_of_scans<M: Space<f64>>(
    x: &View<Jacobian, 1, M>,
    y: &View<Jacobian, 1, M>,
    k: &Real<Jacobian>,
) -> Real<Jacobian> {
    let all = scans(x, y, k);
    parallel_sum(all.all(), (&all, y), |(a, y)| a.at::<0>() * y.at::<0>())
}

/// Tangents of the results of scans, along two directions.
fn tangents_of_scans<M: Space<f64>>(start: [&[f64]; 2], k: f64) -> Vec<u64> {
    let n = start[0].len();
    let mut direction = [numbers(n, 7), vec![0.0; n]];
    direction[0].iter_mut().step_by(3).for_each(|tangent| *tangent = 0.0);
    let [x, y] = start.map(|x| View::<Tangent<2>, 1>::moving([n], x, |k| direction[k].clone()).in_space::<M>());
    let all = scans(&x, &y, &Real::<Tangent<2>>::with_tangent(k, [0.5, 1.0]));
    let found = [all.values(), &all.tangents(0), &all.tangents(1)].concat();
    found.iter().map(|number| if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }).collect()
}

#[test]
fn scans_in_groups_have_the_same_bits_on_all_targets() {
    // Part of the first group, all of it, one element more, and several groups.
    for n in [1, 2056, 2057, 4200] {
        same_on_all_targets!(sum_of_scans, [n]);
        let (mut x, y) = (numbers(n, 1), numbers(n, 2));
        for odd in [0.3, 0.0, f64::INFINITY] {
            x[n / 2] = odd;
            let host = tangents_of_scans::<Host>([&x, &y], odd);
            assert_eq!(tangents_of_scans::<Remote<1>>([&x, &y], odd), host);
            #[cfg(feature = "opencl")]
            assert_eq!(tangents_of_scans::<OpenCl>([&x, &y], odd), host);
        }
    }
}

/// Results of launches.
struct Launched<S: Taping<Value = f64>, M: Space<f64>> {
    views: Vec<View<S, 2, M>>,
    sums_of_rows: View<S, 1, M>,
    numbers: Vec<Real<S>>,
}

/// Every border rule, branches, coordinates, operands of lower rank, launches in place, parts of ranges, new values,
/// sums, sums of rows and extrema.
fn moved<S: Taping<Value = f64>, M: Space<f64>>(
    (x, y): (&View<S, 2, M>, &View<S, 2, M>),
    k: &Real<S>,
) -> Launched<S, M> {
    let [m, n] = x.shape();
    let (mut u, mut v, mut w) = (x.clone(), y.clone(), x.clone());
    parallel_for([0..m, 0..n], (&mut u, &mut v, x, k), |(u, v, x, k)| {
        let beside = u.or_zero::<0, -1>() * v.nearest::<1, 2>() - k * u.periodic::<-1, 1>();
        let branch =
            v.at::<0, 0>().ge(0.0).select(beside / (x.at::<0, 0>() + v.at::<0, 0>()), x.or_zero::<1, 0>().abs());
        (branch * u.index::<1>() + k, u.new().max(v.at::<0, 0>()).min(3.0) - u.at::<0, 0>().square().sqrt())
    });
    let (row, column) = (y.row(m - 1), x.column(n - 1));
    parallel_for([0..m, n / 3..n], (&mut w, row.along::<1>(), column.along::<0>(), k), |(w, row, column, k)| {
        (w.at::<0, 0>() * row.at() + column.at() / w.at::<0, 0>() * k,)
    });
    let sums_of_rows = parallel_row_sums(u.all(), (&u, &v), |(u, v)| u.at::<0, 0>() * v.at::<0, 0>());
    let [a, b] = parallel_sums([0..m, n / 2..n], (&u, &v, k), |(u, v, k)| {
        (k * u.at::<0, 0>() / v.nearest::<0, -1>(), v.at::<0, 0>().sqrt())
    });
    let most = parallel_max(w.all(), (&w, k), |(w, k)| k * w.at::<0, 0>());
    Launched { views: vec![u, v, w], sums_of_rows, numbers: vec![a, b, most] }
}

/// Bits of the tangents of what `moved` computes, along three directions: in forward sweeps of a recording, and of an
/// evaluation that carries tangents.
fn tangents<M: Space<f64>>(shape: [usize; 2], start: [&[f64]; 2], k: f64, directions: &[&[f64]; 3]) -> Vec<u64> {
    let count = shape[0] * shape[1];
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, results) = tape.record(|scope| {
        let (xs, ys, k) = (scope.inputs(start[0]), scope.inputs(start[1]), scope.input(k));
        let [x, y] = [&xs, &ys].map(|numbers| View::of_variables(shape, numbers).in_space::<M>());
        let Launched { views, sums_of_rows, numbers: mut results } = moved((&x, &y), &k);
        views.iter().for_each(|view| results.extend(view.to_variables()));
        results.extend(sums_of_rows.to_variables());
        ([xs, ys, vec![k]].concat(), results)
    });
    let mut found = Vec::new();
    for direction in directions {
        let moving: Vec<_> = inputs.iter().zip(direction.iter().copied()).collect();
        found.extend(tape.jvp(&moving, &results.iter().collect::<Vec<_>>()).expect("swept"));
    }
    let along = |first: usize| move |k: usize| directions[k][first..][..count].to_vec();
    let [x, y] = [0, 1].map(|k| View::<Tangent<3>, 2>::moving(shape, start[k], along(k * count)).in_space::<M>());
    let k = Real::<Tangent<3>>::with_tangent(k, directions.map(|direction| direction[2 * count]));
    let Launched { views, sums_of_rows, numbers } = moved((&x, &y), &k);
    for k in 0..3 {
        views.iter().for_each(|view| found.extend(view.tangents(k)));
        found.extend(sums_of_rows.tangents(k));
        found.extend(numbers.iter().map(|number| number.tangent()[k]));
    }
    found.iter().map(|number| if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }).collect()
}

#[test]
fn tangents_have_the_same_bits_on_all_targets() {
    let special = [0.0, -0.0, f64::INFINITY, f64::NAN, f64::NEG_INFINITY, 1e300, -1e-310];
    let scalars = [0.3, 0.0, f64::INFINITY];
    // Rows longer than a chunk last.
    for (shape, scalars) in
        [([1, 1], &scalars[..]), ([4, 3], &scalars), ([3, 40], &scalars), ([1, 4200], &scalars[..1])]
    {
        let count = shape[0] * shape[1];
        let mut odd = numbers(count, 3);
        odd.iter_mut().step_by(5).zip(special.iter().cycle()).for_each(|(x, y)| *x = *y);
        // Most zero, so that the other factor does not count where it is infinite; all; only the scalar.
        let (mut some, all, mut none) =
            (numbers(2 * count + 1, 4), numbers(2 * count + 1, 5), vec![0.0; 2 * count + 1]);
        some.iter_mut().enumerate().filter(|(k, _)| k % 5 < 3).for_each(|(_, tangent)| *tangent = 0.0);
        none[2 * count] = 1.0;
        let directions = &[&some[..], &all, &none];
        for start in [[&numbers(count, 1)[..], &numbers(count, 2)], [&odd, &numbers(count, 2)]] {
            for k in scalars.iter().copied() {
                let host = tangents::<Host>(shape, start, k, directions);
                assert_eq!(tangents::<Interpreted>(shape, start, k, directions), host, "{shape:?} by the interpreter");
                assert_eq!(tangents::<Compiled>(shape, start, k, directions), host, "{shape:?} as C");
                assert_eq!(tangents::<Remote<0>>(shape, start, k, directions), host, "{shape:?} in another memory");
                assert_eq!(tangents::<Remote<1>>(shape, start, k, directions), host, "{shape:?} and changed there");
                #[cfg(feature = "opencl")]
                assert_eq!(tangents::<OpenCl>(shape, start, k, directions), host, "{shape:?} on a device");
            }
        }
    }
}

/// A target that counts what it moves.
#[derive(Debug)]
struct Mover;
static MOVES: AtomicUsize = AtomicUsize::new(0);
impl Target<f64> for Mover {
    fn values(&self, job: Evaluation<'_, f64>) {
        Interpreter.values(job);
    }
    fn sums(&self, job: Evaluation<'_, f64>, sums: &mut [f64]) {
        Interpreter.sums(job, sums);
    }
    fn row_sums(&self, job: Evaluation<'_, f64>, sums: &mut Buffer<f64>) {
        Interpreter.row_sums(job, sums);
    }
    fn extremum(&self, job: Evaluation<'_, f64>, largest: bool) -> Option<Found<f64>> {
        Interpreter.extremum(job, largest)
    }
    fn gather(&self, job: Accumulation<'_, f64>) {
        Interpreter.gather(job);
    }
    fn tangents(&self, job: Propagation<'_, f64>) {
        Interpreter.tangents(job);
    }
    fn scalars(&self, job: &Gather<'_, f64>) -> [f64; OPERANDS] {
        Interpreter.scalars(job)
    }
    fn transfer(&self, job: Movement<'_, f64>) {
        MOVES.fetch_add(1, Ordering::Relaxed);
        assert_eq!(job.selects() == Side::Source, job.places().count() == job.length(), "no list is as long as a view");
        job.carry_out();
    }
}
impl Space<f64> for Mover {
    fn target() -> &'static dyn Target<f64> {
        &Mover
    }
}

#[test]
fn a_target_moves_what_launches_sweeps_and_replays_move() {
    let moves = |expected: usize, what: &str| assert_eq!(MOVES.swap(0, Ordering::Relaxed), expected, "{what}");
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, z) = tape.record(|scope| {
        let x = scope.view([6], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]).in_space::<Mover>();
        let mut y = x.clone();
        y.set(2..4, &x.slice(0..2));
        scatter_add(&gather(&y, &Indices::new(&[5, 5, 3])), &Indices::new(&[0, 1, 1]), &mut y);
        (x, parallel_sum(y.all(), &y, |y| y.at::<0>().square()))
    });
    moves(4, "a slice, a range, a gather and a scatter");
    assert_eq!(z.value(), 33.0 * 33.0 + 36.0 * 36.0 + 1.0 + 4.0 + 256.0 + 1024.0);
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    assert_eq!(*adjoints.of_view(&x).expect("x"), [68.0, 148.0, 0.0, 0.0, 32.0, 202.0]);
    // Seeds of the range that is overwritten become 0, too.
    moves(5, "the adjoints of these, and zeros");
    let inputs = tape.new_inputs().view(&x, &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]).expect("as many elements");
    inputs.replay().expect("replayed");
    moves(4, "a replay");
    assert_eq!(tape.value_of(&z).expect("z"), 3.0);
}

#[test]
fn random_ranges_have_the_same_bits_on_all_targets() {
    let mut state = 7_u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % n
    };
    for _ in 0..12 {
        // One element, a part that touches a border, or any part, along each dimension.
        let mut part = |n: usize| match below(4) {
            0 => (0, n),
            1 => (n - 1, n),
            2 => (0, 1 + below(n)),
            _ => {
                let from = below(n);
                (from, from + 1 + below(n - from))
            }
        };
        let mut set = |shape: &[usize]| {
            let mut all = [(0, 0); 4];
            all.iter_mut().zip(shape).for_each(|(range, n)| *range = part(*n));
            RANGE.set(all);
        };
        set(&[23]);
        same_on_all_targets!(in_one, [23]);
        set(&[5, 19]);
        same_on_all_targets!(in_two, [5, 19]);
        set(&[3, 4, 7]);
        same_on_all_targets!(in_three, [3, 4, 7]);
        set(&[2, 3, 2, 6]);
        same_on_all_targets!(in_four, [2, 3, 2, 6]);
    }
}

/// Adjoints of a scalar and of operands of lower rank, where only the points of the last columns have a seed.
fn seeds_of_some<M: Space<f64>>(
    x: &View<Jacobian, 2, M>,
    y: &View<Jacobian, 2, M>,
    k: &Real<Jacobian>,
) -> Real<Jacobian> {
    let ([m, n], mut u, mut v) = (x.shape(), x.clone(), x.clone());
    let (row, column) = (y.row(1), y.column(2));
    parallel_for(u.all(), (&mut u, x, column.along::<0>(), row.along::<1>(), k), |(_, x, column, row, k)| {
        (x.at::<0, 0>() * column.at() * row.at() + k * x.at::<0, 0>(),)
    });
    parallel_for(u.all(), (&mut v, x, column.along::<0>(), k), |(_, x, column, k)| {
        (x.or_zero::<0, -1>() * column.at() * k + k * x.nearest::<1, 0>(),)
    });
    parallel_sum([0..m, 10..n], (&u, &v), |(u, v)| 0.3 * u.at::<0, 0>() - v.at::<0, 0>())
}

#[test]
fn sums_in_which_zero_seeds_meet_infinite_slopes_have_the_bits_of_the_host() {
    let shape = [3, 60];
    let plain = numbers(180, 1);
    // In the first group of 16 points of a row, which reads outside the view, and, with offset 1, at its end.
    for column in [0, 5, 9] {
        for row in 0..3 {
            let mut x = plain.clone();
            x[60 * row + column] = f64::INFINITY;
            let start = [&x[..], &numbers(180, 2)[..]];
            let host = bits::<_, Host>(seeds_of_some, shape, start, 0.3);
            assert_eq!(bits::<_, Compiled>(seeds_of_some, shape, start, 0.3), host);
        }
    }
}

#[test]
fn values_and_adjoints_have_the_same_bits_on_all_targets() {
    same_on_all_targets!(borders, [41]);
    same_on_all_targets!(one_way, [41]);
    same_on_all_targets!(rows, [5, 37]);
    same_on_all_targets!(boxes, [2, 3, 3, 5]);
    // Those of the functions above, each once: extrema have no text, copies have one.
    assert!(compiled_kernels() >= 10, "{}", compiled_kernels());
}

#[test]
fn sums_of_long_rows_have_the_same_bits_on_all_targets() {
    fn sum<M: Space<f64>>() -> [u64; 2] {
        let x = View::<Passive, 1>::new([70_001], &numbers(70_001, 7)).in_space::<M>();
        let all = parallel_sum(3..70_000, &x, |x| x.at::<1>() * x.at::<-2>());
        let x = x.reshape([1, 70_001]);
        let row: View<Passive, 1, M> = parallel_row_sums(x.all(), &x, |x| x.at::<0, 0>());
        [all.value().to_bits(), row.values()[0].to_bits()]
    }
    let host = sum::<Host>();
    assert_eq!(sum::<Interpreted>(), host);
    assert_eq!(sum::<Compiled>(), host);
}

/// Gradients of sums of functions, by the target of the space.
fn gradients_of_functions<M: Space<f64>>(start: &[f64]) -> Vec<f64> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, [a, b, c, d]) = tape.record(|scope| {
        let x = scope.view([start.len()], start).in_space::<M>();
        let [a, b, c] = parallel_sums(x.all(), &x, |x| {
            let x = x.at::<0>();
            (
                x.sin() * x.exp() + (x.square() + 0.5).powf(x) + x.tanh().hypot(x),
                x.asinh() + (x.square() + 1.5).acosh() + (0.25 * x).atanh() + x.to_degrees().to_radians(),
                x.erf() - x.erfc() + x.normal_cdf() + 0.01 * x.normal_pdf(),
            )
        });
        let d = parallel_sum(x.all(), &x, |x| (x.at::<0>().square() + 1.0).digamma());
        (x, [a, b, c, d])
    });
    let mut found: Vec<f64> = [&a, &b, &c, &d].iter().map(|sum| sum.value()).collect();
    for sum in [a, b, c, d] {
        found.extend_from_slice(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"));
    }
    found
}

#[test]
fn functions_of_c_agree_to_the_last_digits_and_others_are_interpreted() {
    let plain = numbers(40, 5);
    let (host, c) = (gradients_of_functions::<Host>(&plain), gradients_of_functions::<Compiled>(&plain));
    for (k, (a, b)) in host.iter().zip(&c).enumerate() {
        assert!((a - b).abs() <= 8.0 * f64::EPSILON * a.abs(), "{k}: {a} and {b}");
    }
}

#[test]
fn functions_of_c_agree_at_special_points() {
    for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, 1e-310, 40.0, -40.0] {
        let (host, c) = (gradients_of_functions::<Host>(&[x]), gradients_of_functions::<Compiled>(&[x]));
        for (k, (a, b)) in host.iter().zip(&c).enumerate() {
            let same = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 8.0 * f64::EPSILON * a.abs();
            assert!(same, "{k} at {x}: {a} and {b}");
        }
    }
}

#[test]
fn single_precision_has_the_same_bits_on_all_targets() {
    fn found<M: Space<f32>>() -> Vec<u32> {
        let mut tape = Tape::<Jacobian<f32>>::new();
        #[allow(clippy::cast_possible_truncation, reason = "any numbers will do")]
        let start: Vec<f32> = numbers(33, 9).into_iter().map(|x| x as f32).collect();
        let (x, k, z) = tape.record(|scope| {
            let (x, k) = (scope.view([33], &start).in_space::<M>(), scope.input(0.1));
            let mut y = x.clone();
            parallel_for(1..32, (&mut y, &k), |(y, k)| (0.1 * y.at::<-1>() * y.at::<1>() + k * y.at::<0>() / 3.0,));
            let z = parallel_sum(y.all(), (&y, &x), |(y, x)| y.at::<0>() * x.nearest::<1>());
            let a = View::<Jacobian<f32>, 2>::filled([3, 33], 0.7).in_space::<M>();
            let product: View<Jacobian<f32>, 1, M> =
                parallel_row_sums(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>() * x.at());
            let form = parallel_sum(a.all(), (&a, product.along::<0>()), |(a, y)| a.at::<0, 0>() * y.at().square());
            // Lists of places, and a scan in two groups.
            let long = gather(&x, &Indices::new(&(0..2100).map(|i| i % 33).collect::<Vec<_>>()));
            let scanned = parallel_exclusive_scan(&long, k, associative(|a, b| 0.1 * a * b + b));
            let mut sums = x.clone();
            scatter_add(&scanned, &Indices::new(&(0..2100).map(|i| i * i % 33).collect::<Vec<_>>()), &mut sums);
            let rest = parallel_sum(x.all(), (&x, &sums), |(x, s)| x.at::<0>() * s.at::<0>());
            (x, k, Real::from(z + form + rest))
        });
        let tangent = tape.jvp(&[(&k, 0.7)], &[&z]).expect("swept")[0];
        let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
        let (of_x, of_k) = (adjoints.of_view(&x).expect("x"), adjoints.of(&k).expect("k"));
        of_x.iter().chain([&of_k, &z.value(), &tangent]).map(|number| number.to_bits()).collect()
    }
    let host = found::<Host>();
    assert_eq!(found::<Interpreted>(), host);
    assert_eq!(found::<Compiled>(), host);
    #[cfg(feature = "opencl")]
    if OpenCl::selected().expect("a device").rounds_single {
        assert_eq!(found::<OpenCl>(), host);
    }
}

#[test]
fn replays_run_on_the_target_of_the_launch() {
    fn found<M: Space<f64>>() -> Vec<f64> {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(true);
        let (x, k, z) = tape.record(|scope| {
            let (x, k) = (scope.view([9], &numbers(9, 1)).in_space::<M>(), scope.input(0.5));
            let mut y = x.clone();
            parallel_for(1..8, (&mut y, &k), |(y, k)| (y.at::<-1>() * y.at::<1>() + k * y.at::<0>(),));
            let z = parallel_sum(y.all(), &y, |y| y.at::<0>().square());
            (x, k, z)
        });
        let again = tape.new_inputs().variable(&k, -1.5).and_then(|inputs| inputs.view(&x, &numbers(9, 4)));
        again.and_then(|inputs| inputs.replay()).expect("replayed");
        let value = tape.value_of(&z).expect("z");
        let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
        [&[value, adjoints.of(&k).expect("k")], &*adjoints.of_view(&x).expect("x")].concat()
    }
    let host = found::<Host>();
    assert_eq!(found::<Interpreted>(), host);
    assert_eq!(found::<Compiled>(), host);
}
