//! Expressions of all kinds over odd shapes and ranges, in place and into other views, against scalar statements.

use super::oracle::{Number, Token, map};
use super::{Product, STACK, at_every_level, numbers};
use core::ops::Range;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::strategies::same;
use tapewright::{Float, Number as Value};

/// Rows of lengths around those of registers.
const LINE: &[[usize; 1]] = &[[1], [2], [3], [5], [8], [15], [16], [17], [40]];
const PLANE: &[[usize; 2]] = &[[1, 1], [2, 9], [5, 19], [3, 33], [8, 2]];
const SPACE: &[[usize; 3]] = &[
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
const HYPERSPACE: &[[usize; 4]] = &[[1, 1, 1, 1], [2, 1, 3, 5], [3, 2, 4, 9], [1, 3, 1, 17], [3, 2, 3, 4]];

/// Ranges of a shape at which reads up to these shifts stay inside.
fn ranges<const R: usize>(shape: [usize; R], radius: [usize; R]) -> Vec<[Range<usize>; R]> {
    if (0..R).any(|d| shape[d] < 2 * radius[d]) {
        return vec![core::array::from_fn(|_| 0..0)];
    }
    let all: [Range<usize>; R] = core::array::from_fn(|d| radius[d]..shape[d] - radius[d]);
    let mut ranges = vec![all.clone(), core::array::from_fn(|d| radius[d]..radius[d])];
    for d in 0..R {
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

/// Seeds of the three views, element by element.
fn seeds<V: Value>(n: usize) -> Vec<(&'static str, [Vec<V>; 3])> {
    let random = |seed| of(&numbers(n, seed));
    let all = |x: f64| vec![V::from_f64(x); n];
    vec![
        ("others for each element", [random(11), random(12), random(13)]),
        // They come from sums, so that nothing is kept for single elements.
        (UNIFORM, [all(1.5), all(-0.5), all(2.0)]),
        ("of the second view only", [all(0.0), random(14), all(0.0)]),
    ]
}
const UNIFORM: &str = "the same everywhere";

fn of<V: Value>(numbers: &[f64]) -> Vec<V> {
    numbers.iter().map(|x| V::from_f64(*x)).collect()
}

/// Three views and two numbers.
type Views<S, const R: usize> = [View<S, R>; 3];
type Part<const R: usize> = [Range<usize>; R];
type Run<S, const R: usize> = fn(&mut Views<S, R>, &[Real<S>; 2], &Part<R>);
type Plain<S, const R: usize> = fn([Token<'_, S, R>; 3], [Number<S>; 2]);

/// A kernel and its oracle, for adjoints and for tangents.
struct Kernel<V: Value, const R: usize> {
    name: &'static str,
    run: Run<Jacobian<V>, R>,
    plain: Plain<Jacobian<V>, R>,
    moving: Run<Tangent<1, V>, R>,
    plain_moving: Plain<Tangent<1, V>, R>,
    /// Three views and two numbers.
    inputs: fn(usize) -> Vec<f64>,
}

/// Inputs that look random.
fn ordinary(n: usize) -> Vec<f64> {
    [numbers(n, 1), numbers(n, 2), numbers(n, 3), vec![0.7, -1.3]].concat()
}

/// Tests of kernels. `name: f64, SPACE, [0, 0, 1], |a, b, c, k, l| (x, y, z);` is a kernel of three views and two numbers
/// that writes all views over these shapes, and reads up to these shifts without a border rule; with `(z,)` it writes the
/// last view only. Adjoints by the kernel, tangents by forward mode and by a forward sweep are those of scalar statements.
macro_rules! kernels {
    ($($name:ident: $value:ty, $shapes:expr, [$($radius:literal),+] $(, $inputs:ident)?, |$a:ident, $b:ident, $c:ident, $k:ident, $l:ident|
        ($($body:tt)*);)*) => { $(
        #[test]
        fn $name() {
            const R: usize = [$($radius),+].len();
            fn run<S: Taping<Value = $value>>(views: &mut Views<S, R>, numbers: &[Real<S>; 2], range: &Part<R>) {
                let [a, b, c] = views;
                kernels!(@ run a b c numbers range, |$a, $b, $c, $k, $l| ($($body)*));
            }
            fn plain<S: Strategy<Value = $value>>([$a, $b, $c]: [Token<'_, S, R>; 3], [$k, $l]: [Number<S>; 2]) {
                _ = ($a, $b, $c, $k, $l);
                kernels!(@ plain $a $b $c, ($($body)*));
            }
            let inputs = kernels!(@ inputs $($inputs)?);
            let kernel = Kernel { name: stringify!($name), run, plain, moving: run, plain_moving: plain, inputs };
            agrees(&kernel, $shapes, [$($radius),+]);
        }
    )* };
    (@ run $x:ident $y:ident $z:ident $n:ident $range:ident, |$a:ident, $b:ident, $c:ident, $k:ident, $l:ident| ($one:expr,)) => {
        parallel_for($range.clone(), (&*$x, &*$y, $z, &$n[0], &$n[1]), |($a, $b, $c, $k, $l)| {
            _ = ($a, $b, $c, $k, $l);
            ($one,)
        })
    };
    (@ run $x:ident $y:ident $z:ident $n:ident $range:ident, |$a:ident, $b:ident, $c:ident, $k:ident, $l:ident| $all:expr) => {
        parallel_for($range.clone(), ($x, $y, $z, &$n[0], &$n[1]), |($a, $b, $c, $k, $l)| {
            _ = ($a, $b, $c, $k, $l);
            $all
        })
    };
    (@ inputs) => { ordinary };
    (@ inputs $inputs:ident) => { $inputs };
    (@ plain $a:ident $b:ident $c:ident, ($z:expr,)) => { $c.set($z) };
    (@ plain $a:ident $b:ident $c:ident, ($x:expr, $y:expr, $z:expr)) => {
        $a.set($x);
        $b.set($y);
        $c.set($z);
    };
}

fn agrees<V: Value, const R: usize>(kernel: &Kernel<V, R>, shapes: &[[usize; R]], radius: [usize; R]) {
    let body = || {
        for shape in shapes {
            for (k, range) in ranges(*shape, radius).into_iter().enumerate() {
                // With and without copies of the views, on the whole views; on parts of them in turn.
                let copies: &[bool] = if k == 0 { &[false, true] } else { &[[true, false][k % 2]] };
                adjoints(kernel, (*shape, &range), copies);
                tangents(kernel, *shape, &range);
            }
        }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(4 * STACK).spawn_scoped(scope, body).expect("a thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Some thousand roundings of numbers of this size; what is not finite is the same.
#[track_caller]
fn compare<V: Value>(found: V, expected: V, scale: f64, what: impl Fn() -> String) {
    let close = (found.as_f64() - expected.as_f64()).abs()
        <= 4096.0 * <V::Lane as Float>::epsilon().as_f64() * scale.max(expected.as_f64().abs());
    assert!(close || found == expected || same(found, expected), "{}: {found}, not {expected}", what());
}

/// The three views by the oracle.
fn by_statements<S: Strategy, const R: usize>(
    plain: Plain<S, R>,
    (shape, range): ([usize; R], &Part<R>),
    x: &[Real<S>],
) -> Vec<Real<S>> {
    let n = shape.iter().product();
    let [mut a, mut b, mut c] = [0, 1, 2].map(|d| x[d * n..][..n].to_vec());
    let numbers = [Number(x[3 * n]), Number(x[3 * n + 1])];
    map(shape, range, [&mut a, &mut b, &mut c], |tokens| plain(tokens, numbers));
    [a, b, c].concat()
}

fn adjoints<V: Value, const R: usize>(kernel: &Kernel<V, R>, (shape, range): ([usize; R], &Part<R>), copies: &[bool]) {
    let n: usize = shape.iter().product();
    let (at, seeds) = (of::<V>(&(kernel.inputs)(n)), seeds::<V>(n));
    let mut tape = Tape::<Jacobian<V>>::new();
    let (inputs, outputs) = tape.record(|scope| {
        let inputs = scope.inputs(&at);
        let outputs = by_statements(kernel.plain, (shape, range), &inputs);
        (inputs, outputs)
    });
    let tangents = of::<V>(&numbers(3 * n + 2, 21));
    for keep in copies.iter().copied() {
        let (values, gradients, moved) =
            at_every_level(|| by_kernel(kernel, (shape, range), &at, keep, &seeds, &tangents));
        let what = |part: &str| format!("{}, {shape:?}, {range:?}, copies {keep}: {part}", kernel.name);
        for (k, output) in outputs.iter().enumerate() {
            let found = from_bits::<V>(values[k]);
            assert!(found == output.value() || same(found, output.value()), "{}", what(&format!("value {k}")));
        }
        for ((gradient, moved), (how, seeds)) in gradients.iter().zip(moved).zip(&seeds) {
            let swept = tape.sweep_all(&outputs, &seeds.concat()).expect("swept");
            let expected = swept.of_all(&inputs).expect("inputs");
            let (mut sum, mut scale) = (V::ZERO, 1.0);
            for (k, (found, expected)) in gradient.iter().zip(expected).enumerate() {
                compare(from_bits::<V>(*found), expected, 10.0, || what(&format!("input {k}, seeds {how}")));
                sum += tangents[k] * expected;
                scale += (tangents[k] * expected).as_f64().abs();
            }
            if sum.as_f64().is_finite() {
                compare(from_bits::<V>(moved), sum, scale, || what("a forward sweep"));
            }
        }
    }
}

/// The bits of a number; of any NaN the same.
fn to_bits<V: Value>(x: V) -> u64 {
    if x.as_f64().is_nan() { f64::NAN.to_bits() } else { x.as_f64().to_bits() }
}

fn from_bits<V: Value>(bits: u64) -> V {
    V::from_f64(f64::from_bits(bits))
}

/// The bits of the values; for all seeds those of the gradient, and of the derivative of the weighted sum along a
/// direction.
type Bits = (Vec<u64>, Vec<Vec<u64>>, Vec<u64>);

fn by_kernel<V: Value, const R: usize>(
    kernel: &Kernel<V, R>,
    (shape, range): ([usize; R], &Part<R>),
    at: &[V],
    keep: bool,
    seeds: &[(&str, [Vec<V>; 3])],
    tangents: &[V],
) -> Bits {
    let n: usize = shape.iter().product();
    let mut tape = Tape::<Jacobian<V>>::new();
    let (inputs, elements, sums) = tape.record(|scope| {
        let inputs = scope.inputs(at);
        let mut views: Views<_, R> = core::array::from_fn(|d| View::of_variables(shape, &inputs[d * n..][..n]));
        let copies = keep.then(|| views.clone());
        (kernel.run)(&mut views, &[inputs[3 * n], inputs[3 * n + 1]], range);
        drop(copies);
        let elements: Vec<_> = views.iter().flat_map(View::to_variables).collect();
        let sum = |view: &View<_, R>| {
            let flat = view.reshape([n]);
            parallel_sum(flat.all(), &flat, |x| x.at::<0>())
        };
        (inputs, elements, views.each_ref().map(sum))
    });
    let directions: Vec<_> = inputs.iter().zip(tangents.iter().copied()).collect();
    let (mut gradients, mut moved) = (Vec::new(), Vec::new());
    for (how, seeds) in seeds {
        let seeds: Vec<_> = if *how == UNIFORM {
            sums.iter().zip(seeds).map(|(sum, seeds)| (sum, seeds[0])).collect()
        } else {
            elements.iter().zip(seeds.iter().flatten().copied()).collect()
        };
        let outputs: Vec<&Real<_>> = seeds.iter().map(|(y, _)| *y).collect();
        let along = tape.jvp(&directions, &outputs).expect("swept forward");
        // What has no seed may have an infinite tangent.
        let seeded = along.iter().zip(&seeds).filter(|(_, (_, seed))| !seed.is_nought());
        moved.push(to_bits(seeded.fold(V::ZERO, |sum, (t, (_, seed))| sum + *t * *seed)));
        let adjoints = tape.sweep(&seeds).expect("swept");
        gradients.push(adjoints.of_all(&inputs).expect("inputs").into_iter().map(to_bits).collect());
    }
    (elements.iter().map(|x| to_bits(x.value())).collect(), gradients, moved)
}

/// Tangents of the views, along one direction.
fn tangents<V: Value, const R: usize>(kernel: &Kernel<V, R>, shape: [usize; R], range: &Part<R>) {
    let n: usize = shape.iter().product();
    let (at, along) = (of::<V>(&(kernel.inputs)(n)), of::<V>(&numbers(3 * n + 2, 21)));
    let inputs: Vec<Real<Tangent<1, V>>> = at.iter().zip(&along).map(|(x, t)| Real::with_tangent(*x, [*t])).collect();
    let expected = by_statements(kernel.plain_moving, (shape, range), &inputs);
    let mut views: Views<_, R> =
        core::array::from_fn(|d| View::moving(shape, &at[d * n..][..n], |_| along[d * n..][..n].to_vec()));
    (kernel.moving)(&mut views, &[inputs[3 * n], inputs[3 * n + 1]], range);
    let found = views.iter().flat_map(|view| view.tangents(0));
    for (k, (found, expected)) in found.zip(expected).enumerate() {
        compare(found, expected.tangent()[0], 10.0, || format!("{}, {shape:?}, {range:?}: tangent {k}", kernel.name));
    }
}

kernels! {
    points_only: f64, SPACE, [0, 0, 0], |a, b, c, k, l| (
        a.at::<0, 0, 0>() * b.at::<0, 0, 0>() * k,
        (a.new() + c.at::<0, 0, 0>()).sin() - l,
        a.new() / (2.0 + b.new().square()) - -c.at::<0, 0, 0>() * l
    );
    shifts_along_a_row: f64, SPACE, [0, 0, 2], |a, b, c, k, l| (
        a.at::<0, 0, -2>() - b.at::<0, 0, 1>() * a.at::<0, 0, 2>() * k,
        -(a.at::<0, 0, 1>() + 2.0 * b.at::<0, 0, -1>()) - c.at::<0, 0, 2>() * 0.25,
        b.new() * a.new() - l * c.at::<0, 0, -1>() / (3.0 - a.at::<0, 0, 2>())
    );
    shifts_between_rows: f64, SPACE, [1, 1, 1], |a, b, c, k, l| (
        a.at::<1, 0, -1>() * a.at::<-1, 1, 1>() - b.at::<0, -1, 0>() * c.at::<1, 1, 1>(),
        b.at::<0, 0, 0>() - 0.5 * a.at::<1, -1, 0>() + k * l,
        c.at::<-1, -1, -1>() - (a.new() * b.new()).exp().bind::<0, _>(|e| e * a.at::<0, 0, 1>() - e / (1.0 + e))
    );
    linear_kernels: f64, SPACE, [0, 1, 1], |a, b, c, k, l| (
        0.5 * (a.at::<0, 1, -1>() - b.at::<0, 0, 0>()) / 4.0,
        -b.at::<0, -1, 0>() - (3.0 - c.at::<0, 0, 1>()) * 2.0,
        a.new() - b.new() * 0.0 + k - l
    );
    borders_of_all_kinds: f64, SPACE, [0, 0, 0], |a, b, c, k, l| (
        a.or_zero::<0, 1, -7>() * b.nearest::<-1, 0, 5>() - c.periodic::<1, -2, -7>() * k,
        b.nearest::<7, -7, -1>() - a.nearest::<0, 1, 2>() * a.new() + a.periodic::<0, 0, 3>(),
        c.periodic::<-3, 0, 1>() * b.new() - c.or_zero::<0, 0, 1>() * c.nearest::<0, 0, 0>() * l
    );
    choices: f64, SPACE, [0, 0, 1], |a, b, c, k, l| (
        a.at::<0, 0, -1>().max(b.at::<0, 0, 1>()).min(k * 0.3) - c.at::<0, 0, 0>().abs(),
        a.new().lt(b.at::<0, 0, 0>()).or(k.le(c.at::<0, 0, 1>())).select(a.at::<0, 0, 1>() * l, -b.at::<0, 0, -1>()),
        (a.new() * b.new()).bind::<3, _>(|e| {
            e.gt(-0.01).and(e.ge(l).or(a.at::<0, 0, 0>().lt(0.2))).select(e.bind::<2, _>(|d| d * d - e), 1.5)
                - e.clamp(-0.05, 0.05).hypot(2.0 + b.at::<0, 0, 0>())
        })
    );
    functions_of_three_arguments: f64, SPACE, [0, 0, 1], |a, b, c, k, l| (
        a.at::<0, 0, -1>().ternary::<Product, _, _>(b.at::<0, 0, 1>(), c.at::<0, 0, 0>()) * k,
        k.ternary::<Product, _, _>(a.new() - c.periodic::<0, 0, 3>(), 0.5) + b.at::<0, 0, 1>(),
        (a.or_zero::<0, -2, 1>() * l).ternary::<Product, _, _>(1.5, b.nearest::<0, 0, -2>())
            - a.at::<0, 0, 0>().gt(l).select(b.at::<0, 0, 0>().ternary::<Product, _, _>(k, l), c.at::<0, 0, 1>())
    );
    numbers_alone: f64, SPACE, [0, 0, 0], |a, b, c, k, l| (
        k * l - 0.0 * k,
        a.at::<0, 0, 0>() * 1.0 - k / (l * l),
        b.new() - k.max(l) * (2.0 + c.at::<0, 0, 0>()).sqrt()
    );
    constants_and_passthrough: f64, SPACE, [0, 0, 0], |a, b, c, k, l| (
        c.at::<0, 0, 0>() * 1.0,
        b.at::<0, 0, 0>() - b.at::<0, 0, 0>(),
        a.at::<0, 0, 0>() + 0.0 * k
    );
    the_same_new_value_again: f64, SPACE, [0, 0, 1], |a, b, c, k, l| (
        (a.at::<0, 0, 1>() * k).sin(),
        (a.at::<0, 0, 1>() * k).sin() * (a.at::<0, 0, 1>() * k).sin() - a.new(),
        (b.new() - a.new()) * (b.new() - a.new()) - c.at::<0, 0, -1>() * a.new()
    );
    a_row_with_borders: f64, LINE, [0], |a, b, c, k, l| (
        a.or_zero::<-7>() * b.nearest::<2>() + a.periodic::<7>() * 0.5 - b.or_zero::<7>() * k + c.at::<0>() * a.or_zero::<1>(),
    );
    rows_and_columns_with_borders: f64, PLANE, [0, 0], |a, b, c, k, l| (
        a.or_zero::<1, 2>() * c.at::<0, 0>() + a.or_zero::<-1, -3>() * 0.5
            - b.nearest::<-1, 1>() * b.periodic::<1, -2>() * a.or_zero::<0, 7>(),
    );
    four_dimensions: f64, HYPERSPACE, [1, 0, 1, 2], |a, b, c, k, l| (
        c.at::<0, 0, 0, 0>() * a.at::<1, 0, -1, 0>() * a.at::<-1, 0, 1, 1>() + b.at::<0, 0, 0, -2>() / (2.0 + a.at::<0, 0, 0, 0>()),
    );
    four_dimensions_with_borders: f64, HYPERSPACE, [0, 0, 0, 0], |a, b, c, k, l| (
        a.nearest::<1, 0, -1, 2>() * b.periodic::<-1, 2, 0, -3>() + b.or_zero::<0, 0, 0, 4>()
            + a.or_zero::<0, 1, -1, 0>() * a.at::<0, 0, 0, 0>(),
    );
    coordinates_in_a_row: f64, LINE, [0], |a, b, c, k, l| (
        a.index::<0>().ne(0.0).select(a.or_zero::<-1>() * a.index::<0>(), 0.5)
            + (b.nearest::<2>() * (1.0 + b.index::<0>()).sqrt() - c.periodic::<-3>() * k) / (2.0 + c.index::<0>()),
    );
    a_coordinate_as_slope: f64, LINE, [0], |a, b, c, k, l| (a.at::<0>() * a.index::<0>(),);
    coordinates_between_rows: f64, PLANE, [0, 0], |a, b, c, k, l| (
        a.index::<0>().eq(a.index::<1>()).not().select(a.or_zero::<1, -2>() * (0.1 * a.index::<1>()).sin(), l)
            + b.nearest::<-1, 3>() * c.periodic::<2, 1>() / (1.0 + a.index::<0>() + a.index::<1>()),
    );
    coordinates_of_stencils: f64, SPACE, [0, 1, 1], |a, b, c, k, l| (
        a.at::<0, 1, -1>() * (0.1 * a.index::<2>() - 0.2 * a.index::<1>()) * k,
        a.new() * b.at::<0, -1, 1>() + b.index::<0>() * c.at::<0, 0, 0>() / (1.0 + b.index::<2>()),
        (a.index::<1>() - 1.0).sqrt().bind::<0, _>(|root| {
            a.index::<1>().ge(1.0).select(root * c.at::<0, 1, 1>(), l) * b.new() + root.lt(1.0).select(0.5, root)
        })
    );
    coordinates_in_four_dimensions: f64, HYPERSPACE, [0, 0, 0, 0], |a, b, c, k, l| (
        a.nearest::<1, 0, -1, 2>() * (0.3 * a.index::<0>() + 0.2 * a.index::<3>())
            + b.periodic::<-1, 2, 0, -3>() / (1.0 + a.index::<1>())
            + c.or_zero::<0, 1, 1, -2>() * (0.1 * c.index::<2>()).exp(),
    );
    coordinates_in_single_precision: f32, LINE, [0], |a, b, c, k, l| (
        a.nearest::<-2>() * (1.0 + a.index::<0>()).sqrt() + b.periodic::<1>() / (1.0 + b.index::<0>()) - c.or_zero::<1>() * k,
    );
    single_precision: f32, LINE, [1], |a, b, c, k, l| (
        a.at::<-1>() * b.at::<0>() + (a.at::<1>() * 0.3).exp(),
        b.at::<1>().ternary::<Product, _, _>(c.at::<-1>(), a.new()) - k,
        c.at::<0>() * l + b.new().max(a.new())
    );
    single_precision_with_borders: f32, LINE, [0], |a, b, c, k, l| (
        a.or_zero::<-1>() * b.nearest::<1>() + a.periodic::<2>().exp() * k - c.at::<0>(),
    );
}

/// Numbers around the bounds of the choices below.
#[cfg(feature = "wide")]
fn around_bounds(n: usize) -> Vec<f64> {
    let at = [-1.0, 4.0, 0.0, -0.0, 2.0, -3.0, 9.0, 1.0, -2.0, 0.25, 16.0];
    let x = |k: usize| at[k % 11];
    (0..n).map(x).chain((0..n).map(|k| x(10 - k % 11))).chain((0..n).map(|k| x(k + 3))).chain([1.0, 1.0]).collect()
}

// What is not chosen contributes nothing, though what is made of the choice has an infinite slope.
#[cfg(feature = "wide")]
kernels! {
    the_larger: f64, LINE, [0], around_bounds, |a, b, c, k, l| (a.at::<0>().max(0.0).sqrt(),);
    the_smaller: f64, LINE, [0], around_bounds, |a, b, c, k, l| (-(0.0 - a.at::<0>().min(0.0)).sqrt(),);
    a_sum_of_the_larger: f64, LINE, [0], around_bounds, |a, b, c, k, l| (
        (a.at::<0>().max(0.0) + b.at::<0>().max(0.0)).sqrt() * k,
    );
    the_smallest_of_the_larger: f64, LINE, [0], around_bounds, |a, b, c, k, l| (
        (2.0 * a.at::<0>().max(0.0).min(b.at::<0>().max(0.0))).sqrt(),
    );
    what_lies_between: f64, LINE, [0], around_bounds, |a, b, c, k, l| (a.at::<0>().clamp(0.0, 1.0).sqrt(),);
    what_is_selected: f64, LINE, [0], around_bounds, |a, b, c, k, l| (a.at::<0>().ge(0.0).select(a.at::<0>(), 0.0).sqrt(),);
    what_is_not_selected: f64, LINE, [0], around_bounds, |a, b, c, k, l| (
        a.at::<0>().lt(0.0).select(0.0, a.at::<0>()).sqrt(),
    );
    selections_of_selections: f64, LINE, [0], around_bounds, |a, b, c, k, l| (
        a.at::<0>()
            .ge(0.0)
            .select(
                b.at::<0>().ge(0.0).select(a.at::<0>() + b.at::<0>(), a.at::<0>()),
                b.at::<0>().ge(0.0).select(b.at::<0>(), 0.0)
            )
            .sqrt(),
    );
    a_difference_of_selections: f64, LINE, [0], around_bounds, |a, b, c, k, l| (
        (a.at::<0>().ge(0.0).select(a.at::<0>(), 0.0) - b.at::<0>().lt(0.0).select(0.0, -b.at::<0>())).sqrt(),
    );
}
