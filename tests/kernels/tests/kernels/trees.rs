//! Trees of all kinds over odd shapes and ranges, against the same expressions computed with dual numbers, point by
//! point.

use super::dual::{Dual, Seen};
use super::{Product, STACK, at_every_level, bits, numbers};
use core::ops::Range;
use std::cell::Cell;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;

/// Shapes of few elements.
const SHAPES: [[usize; 3]; 16] = [
    [1, 1, 1],
    [1, 1, 2],
    [1, 1, 7],
    [1, 1, 8],
    [1, 1, 9],
    [1, 1, 15],
    [1, 1, 16],
    [1, 1, 17],
    [1, 1, 24],
    [1, 7, 1],
    [8, 1, 1],
    [1, 3, 8],
    [2, 3, 4],
    [2, 1, 9],
    [1, 2, 11],
    [3, 2, 3],
];

/// Ranges of a shape at which reads up to these shifts stay inside.
fn ranges(shape: [usize; 3], radius: [usize; 3]) -> Vec<[Range<usize>; 3]> {
    if (0..3).any(|d| shape[d] < 2 * radius[d]) {
        return vec![[0..0, 0..0, 0..0]];
    }
    let all: [Range<usize>; 3] = core::array::from_fn(|d| radius[d]..shape[d] - radius[d]);
    let mut ranges = vec![all.clone(), core::array::from_fn(|d| radius[d]..radius[d])];
    for d in 0..3 {
        let Range { start, end } = all[d];
        for part in [start..end.saturating_sub(1).max(start), (start + 1).min(end)..end, start + (end - start) / 2..end]
        {
            let mut range = all.clone();
            range[d] = part;
            ranges.push(range);
        }
    }
    // One point.
    ranges.push(core::array::from_fn(|d| {
        let middle = usize::midpoint(all[d].start, all[d].end);
        middle..(middle + 1).min(all[d].end)
    }));
    ranges.dedup();
    ranges
}

/// How the adjoints of the results are made.
#[derive(Clone, Copy, Debug)]
enum Weights {
    /// Others for each element of each.
    All,
    /// The same everywhere.
    Uniform,
    /// Of the second result only.
    One,
}

fn weights(how: Weights, n: usize) -> [Vec<f64>; 3] {
    match how {
        Weights::All => [numbers(n, 11), numbers(n, 12), numbers(n, 13)],
        Weights::Uniform => [vec![1.5; n], vec![-0.5; n], vec![2.0; n]],
        Weights::One => [vec![0.0; n], numbers(n, 14), vec![0.0; n]],
    }
}

/// The weighted sum of all results; uniform seeds come from a sum without weights.
fn weigh<S: Taping<Value = f64>>(how: Weights, views: [&View<S, 3>; 3]) -> Real<S> {
    let n = views[0].len();
    let w = weights(how, n).map(|w| View::<S, 3>::new(views[0].shape(), &w));
    let [a, b, c] = views;
    match how {
        Weights::All => parallel_sum(a.all(), (a, b, c, &w[0], &w[1], &w[2]), |(a, b, c, u, v, w)| {
            a.at::<0, 0, 0>() * u.at::<0, 0, 0>()
                + b.at::<0, 0, 0>() * v.at::<0, 0, 0>()
                + c.at::<0, 0, 0>() * w.at::<0, 0, 0>()
        }),
        Weights::Uniform => {
            let sum =
                |x: &View<S, 3>, w: f64| -> Real<S> { (parallel_sum(x.all(), x, |x| x.at::<0, 0, 0>()) * w).into() };
            (sum(a, 1.5) + sum(b, -0.5) + sum(c, 2.0)).into()
        }
        Weights::One => parallel_sum(b.all(), (b, &w[1]), |(b, w)| b.at::<0, 0, 0>() * w.at::<0, 0, 0>()),
    }
}

fn compare(name: &str, found: f64, expected: f64, scale: f64) {
    assert!((found - expected).abs() <= 1e-12 * scale.max(1.0), "{name}: {found}, not {expected}");
}

/// Inputs: three views and two numbers.
fn inputs(n: usize) -> Vec<f64> {
    [numbers(n, 1), numbers(n, 2), numbers(n, 3), vec![0.7, -1.3]].concat()
}

/// Adjoints by a kernel, and tangents by forward mode and by a forward sweep, against dual numbers. The kernel writes
/// to three views, all of which it may read; `$keep` says whether copies of the views from before stay.
macro_rules! agree {
    ($name:ident, $radius:expr, |$a:ident, $b:ident, $c:ident, $k:ident, $l:ident| ($x:expr, $y:expr, $z:expr)) => {
        #[test]
        fn $name() {
            fn run<S: Taping<Value = f64>>(
                views: &mut [View<S, 3>; 3],
                numbers: &[Real<S>; 2],
                range: &[Range<usize>; 3],
            ) {
                let [a, b, c] = views;
                parallel_for(range.clone(), (a, b, c, &numbers[0], &numbers[1]), |($a, $b, $c, $k, $l)| {
                    _ = ($a, $b, $c, $k, $l);
                    ($x, $y, $z)
                });
            }
            fn expected(shape: [usize; 3], range: &[Range<usize>; 3]) -> [Vec<Dual>; 3] {
                let n = shape.iter().product();
                let at = inputs(n);
                let all: Vec<Dual> = at.iter().enumerate().map(|(k, x)| Dual::input(*x, k)).collect();
                let before = [&all[..n], &all[n..2 * n], &all[2 * n..3 * n]];
                let mut after = before.map(<[Dual]>::to_vec);
                for i in range[0].clone() {
                    for j in range[1].clone() {
                        for m in range[2].clone() {
                            let new: [Cell<Dual>; 3] = core::array::from_fn(|_| Cell::new(Dual::constant(0.0)));
                            let seen = |d: usize| Seen { elements: before[d], shape, point: [i, j, m], new: &new[d] };
                            let ($a, $b, $c) = (seen(0), seen(1), seen(2));
                            let ($k, $l) = (all[3 * n], all[3 * n + 1]);
                            _ = ($a, $b, $c, $k, $l);
                            new[0].set($x);
                            new[1].set($y);
                            new[2].set($z);
                            let place = (i * shape[1] + j) * shape[2] + m;
                            (0..3).for_each(|d| after[d][place] = new[d].get());
                        }
                    }
                }
                after
            }
            agree(stringify!($name), $radius, expected, run::<Jacobian>, run::<Tangent<1>>);
        }
    };
}

type Run<S> = fn(&mut [View<S, 3>; 3], &[Real<S>; 2], &[Range<usize>; 3]);
type Expected = fn([usize; 3], &[Range<usize>; 3]) -> [Vec<Dual>; 3];

fn agree(name: &str, radius: [usize; 3], expected: Expected, run: Run<Jacobian>, forward: Run<Tangent<1>>) {
    let body = || {
        for shape in SHAPES {
            for range in ranges(shape, radius) {
                one_case(name, shape, &range, expected, run, forward);
            }
        }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(4 * STACK).spawn_scoped(scope, body).expect("a thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn one_case(
    name: &str,
    shape: [usize; 3],
    range: &[Range<usize>; 3],
    expected: Expected,
    run: Run<Jacobian>,
    forward: Run<Tangent<1>>,
) {
    let n: usize = shape.iter().product();
    let (at, right) = (inputs(n), expected(shape, range));
    let tangents = numbers(3 * n + 2, 21);
    for (how, keep) in [
        (Weights::All, false),
        (Weights::All, true),
        (Weights::Uniform, false),
        (Weights::One, false),
        (Weights::One, true),
    ] {
        let name = format!("{name}, {shape:?}, {range:?}, {how:?}, copies {keep}");
        let (values, gradient, moved) = at_every_level(|| reverse(shape, range, &at, how, keep, run, &tangents));
        for d in 0..3 {
            for j in 0..n {
                let found = f64::from_bits(values[d * n + j]);
                let close = found == right[d][j].value || (found - right[d][j].value).abs() <= 4e-16 * found.abs();
                assert!(close, "{name}: value {d}, {j}: {found}, not {}", right[d][j].value);
            }
        }
        let w = weights(how, n);
        let mut sum = 0.0;
        for k in 0..3 * n + 2 {
            let terms =
                || (0..3).flat_map(|d| (0..n).map(move |j| (d, j))).map(|(d, j)| w[d][j] * right[d][j].slopes[k]);
            let scale: f64 = terms().map(f64::abs).sum();
            compare(&format!("{name}: input {k}"), f64::from_bits(gradient[k]), terms().sum(), scale);
            sum += tangents[k] * f64::from_bits(gradient[k]);
        }
        compare(&format!("{name}: forward sweep"), f64::from_bits(moved), sum, 100.0);
    }
    let mut views: [View<Tangent<1>, 3>; 3] =
        core::array::from_fn(|d| View::moving(shape, &at[d * n..][..n], |_| tangents[d * n..][..n].to_vec()));
    let shared: Vec<Real<Tangent<1>>> = (3 * n..3 * n + 2).map(|k| Real::with_tangent(at[k], [tangents[k]])).collect();
    forward(&mut views, &[shared[0], shared[1]], range);
    for d in 0..3 {
        for (j, found) in views[d].tangents(0).into_iter().enumerate() {
            let terms = || (0..3 * n + 2).map(|k| tangents[k] * right[d][j].slopes[k]);
            compare(
                &format!("{name}, {shape:?}, {range:?}: tangent {d}, {j}"),
                found,
                terms().sum(),
                terms().map(f64::abs).sum(),
            );
        }
    }
}

/// The bits of the values, of the gradient of a weighted sum, and of its derivative along a direction.
fn reverse(
    shape: [usize; 3],
    range: &[Range<usize>; 3],
    at: &[f64],
    how: Weights,
    keep: bool,
    run: Run<Jacobian>,
    tangents: &[f64],
) -> (Vec<u64>, Vec<u64>, u64) {
    let n: usize = shape.iter().product();
    let mut tape = Tape::<Jacobian>::new();
    let (start, shared, values, sum) = tape.record(|scope| {
        let shared = [scope.input(at[3 * n]), scope.input(at[3 * n + 1])];
        let variables: Vec<Real<Jacobian>> = at[..3 * n].iter().map(|x| scope.input(*x)).collect();
        let mut views: [View<Jacobian, 3>; 3] =
            core::array::from_fn(|d| View::of_variables(shape, &variables[d * n..][..n]));
        let copies = keep.then(|| views.clone());
        run(&mut views, &shared, range);
        let sum = weigh(how, [&views[0], &views[1], &views[2]]);
        let values: Vec<f64> = views.iter().flat_map(|view| view.values().to_vec()).collect();
        drop(copies);
        (variables, shared, values, sum)
    });
    let all: Vec<_> = start.iter().chain(&shared).collect();
    let seeds: Vec<_> = all.iter().copied().zip(tangents.iter().copied()).collect();
    let moved = tape.jvp(&seeds, &[&sum]).expect("swept forward")[0];
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    let gradient: Vec<f64> = all.iter().map(|x| adjoints.of(x).expect("an input")).collect();
    (bits(&values), bits(&gradient), moved.to_bits())
}

agree!(points_only, [0, 0, 0], |a, b, c, k, l| (
    a.at::<0, 0, 0>() * b.at::<0, 0, 0>() * k,
    (a.new() + c.at::<0, 0, 0>()).sin() - l,
    a.new() / (2.0 + b.new().square()) - -c.at::<0, 0, 0>() * l
));

agree!(shifts_along_a_row, [0, 0, 2], |a, b, c, k, l| (
    a.at::<0, 0, -2>() - b.at::<0, 0, 1>() * a.at::<0, 0, 2>() * k,
    -(a.at::<0, 0, 1>() + 2.0 * b.at::<0, 0, -1>()) - c.at::<0, 0, 2>() * 0.25,
    b.new() * a.new() - l * c.at::<0, 0, -1>() / (3.0 - a.at::<0, 0, 2>())
));

agree!(shifts_between_rows, [1, 1, 1], |a, b, c, k, l| (
    a.at::<1, 0, -1>() * a.at::<-1, 1, 1>() - b.at::<0, -1, 0>() * c.at::<1, 1, 1>(),
    b.at::<0, 0, 0>() - 0.5 * a.at::<1, -1, 0>() + k * l,
    c.at::<-1, -1, -1>() - (a.new() * b.new()).exp().bind::<0, _>(|e| e * a.at::<0, 0, 1>() - e / (1.0 + e))
));

agree!(linear_kernels, [0, 1, 1], |a, b, c, k, l| (
    0.5 * (a.at::<0, 1, -1>() - b.at::<0, 0, 0>()) / 4.0,
    -b.at::<0, -1, 0>() - (3.0 - c.at::<0, 0, 1>()) * 2.0,
    a.new() - b.new() * 0.0 + k - l
));

agree!(borders_of_all_kinds, [0, 0, 0], |a, b, c, k, l| (
    a.or_zero::<0, 1, -7>() * b.nearest::<-1, 0, 5>() - c.periodic::<1, -2, -7>() * k,
    b.nearest::<7, -7, -1>() - a.nearest::<0, 1, 2>() * a.new() + a.periodic::<0, 0, 3>(),
    c.periodic::<-3, 0, 1>() * b.new() - c.or_zero::<0, 0, 1>() * c.nearest::<0, 0, 0>() * l
));

agree!(choices, [0, 0, 1], |a, b, c, k, l| (
    a.at::<0, 0, -1>().max(b.at::<0, 0, 1>()).min(k * 0.3) - c.at::<0, 0, 0>().abs(),
    a.new().lt(b.at::<0, 0, 0>()).or(k.le(c.at::<0, 0, 1>())).select(a.at::<0, 0, 1>() * l, -b.at::<0, 0, -1>()),
    (a.new() * b.new()).bind::<3, _>(|e| {
        e.gt(-0.01).and(e.ge(l).or(a.at::<0, 0, 0>().lt(0.2))).select(e.bind::<2, _>(|d| d * d - e), 1.5)
            - e.clamp(-0.05, 0.05).hypot(2.0 + b.at::<0, 0, 0>())
    })
));

agree!(functions_of_three_arguments, [0, 0, 1], |a, b, c, k, l| (
    a.at::<0, 0, -1>().ternary::<Product, _, _>(b.at::<0, 0, 1>(), c.at::<0, 0, 0>()) * k,
    k.ternary::<Product, _, _>(a.new() - c.periodic::<0, 0, 3>(), 0.5) + b.at::<0, 0, 1>(),
    (a.or_zero::<0, -2, 1>() * l).ternary::<Product, _, _>(1.5, b.nearest::<0, 0, -2>())
        - a.at::<0, 0, 0>().gt(l).select(b.at::<0, 0, 0>().ternary::<Product, _, _>(k, l), c.at::<0, 0, 1>())
));

agree!(numbers_alone, [0, 0, 0], |a, b, c, k, l| (
    k * l - 0.0 * k,
    a.at::<0, 0, 0>() * 1.0 - k / (l * l),
    b.new() - k.max(l) * (2.0 + c.at::<0, 0, 0>()).sqrt()
));

agree!(constants_and_passthrough, [0, 0, 0], |a, b, c, k, l| (
    c.at::<0, 0, 0>() * 1.0,
    b.at::<0, 0, 0>() - b.at::<0, 0, 0>(),
    a.at::<0, 0, 0>() + 0.0 * k
));

agree!(the_same_new_value_again, [0, 0, 1], |a, b, c, k, l| (
    (a.at::<0, 0, 1>() * k).sin(),
    (a.at::<0, 0, 1>() * k).sin() * (a.at::<0, 0, 1>() * k).sin() - a.new(),
    (b.new() - a.new()) * (b.new() - a.new()) - c.at::<0, 0, -1>() * a.new()
));
