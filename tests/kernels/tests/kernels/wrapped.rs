//! Reads with `periodic`: loops that read around the ends of views must give the bits that the interpreter gives, which
//! finds each element by itself. In views that are shorter than a register, or than a shift, a group goes around several
//! times.
//!
//! Unoptimized loops compute single duals; `--release` and miri run the loops in registers.

use super::special_points::{Interpreted, WILD, assert_same, kind, numbers, parts};
use super::{at_every_level, few};
use core::ops::Range;
use tapewright::kernels::{Space, View, parallel_for, parallel_max, parallel_row_sums, parallel_sum, parallel_sums};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::strategies::kernel::Host;
use tapewright::{Dual, Number};

/// Values all of whose products are finite.
const PLAIN: [f64; 13] = [0.3, -1.7, 0.9, 2.1, -0.4, 1.3, 0.7, -2.2, 1.1, 0.2, -0.6, 1.9, -1.2];

/// Two views, and a number.
type Inputs<'a, V, const R: usize, M> = ([&'a View<Jacobian<V>, R, M>; 2], &'a Real<Jacobian<V>>);
/// What launches make of them.
type Outputs<V, const R: usize, M> = (Vec<View<Jacobian<V>, R, M>>, Real<Jacobian<V>>);
type Launches<V, const R: usize, M> = fn(Inputs<'_, V, R, M>) -> Outputs<V, R, M>;

/// The bits of everything that launches from these numbers, and their sweeps, find.
fn found<V: Number, M: Space<V>, const R: usize>(
    launches: Launches<V, R, M>,
    shape: [usize; R],
    (kinds, shift): (&[f64], usize),
) -> Vec<Vec<u64>> {
    let n: usize = shape.iter().product();
    let numbers = |n: usize, more: usize| numbers::<V>(n, kinds, shift + more);
    let mut tape = Tape::<Jacobian<V>>::new();
    let (inputs, a, outputs, sum) = tape.record(|scope| {
        let inputs = [0, 3].map(|more| scope.view(shape, &numbers(n, more)));
        let a = scope.input(numbers(1, 1)[0]);
        let [x, w] = inputs.clone().map(View::in_space);
        let (outputs, sum) = launches(([&x, &w], &a));
        (inputs, a, outputs.into_iter().map(View::in_space::<Host>).collect::<Vec<_>>(), sum)
    });
    let mut found: Vec<_> = outputs.iter().map(|view| parts(&view.values())).collect();
    found.push(parts(&[sum.value()]));
    let mut add = |adjoints: &tapewright::tape::Adjoints<'_, Jacobian<V>>| {
        found.extend(inputs.iter().map(|view| parts(&adjoints.of_view(view).expect("an input"))));
        // The interpreter sums the adjoints of a uniform scalar by other products, which round differently.
        found.push(parts(&[adjoints.of(&a).expect("an input")]).into_iter().map(kind).collect());
    };
    add(&tape.sweep(&[(&sum, V::ONE)]).expect("swept"));
    for view in &outputs {
        add(&tape.sweep_view(&[], (view, &numbers(n, 4))).expect("swept"));
    }
    if cfg!(miri) {
        return found;
    }
    // Three adjoint vectors at once.
    let mut lanes = tapewright::tape::LaneVector::new(3);
    let seeds = numbers(3, 2);
    let adjoints = tape.sweep_lanes_with(&mut lanes, &[(&sum, &seeds)]).expect("swept");
    for lane in 0..3 {
        found.extend(inputs.iter().map(|view| parts(&adjoints.of_view(view, lane).expect("an input"))));
    }
    found
}

/// All but some points at both ends of each dimension, or nothing where a view has no more.
fn without<const R: usize>(shape: [usize; R], points: usize) -> [Range<usize>; R] {
    shape.map(|n| if n > 2 * points { points..n - points } else { 0..0 })
}

/// Launches over views of a rank, with the shifts at which they read: none, and three others.
macro_rules! launches {
    ($($name:ident $rank:literal: [$($o:literal)*] [$($a:literal)*] [$($b:literal)*] [$($c:literal)*];)*) => { $(
        fn $name<V: Number, M: Space<V>>(([x, w], k): Inputs<'_, V, $rank, M>) -> Outputs<V, $rank, M> {
            let shape = x.shape();
            let (mut u, mut v, mut y) = (x.clone(), w.clone(), View::zeros(shape).in_space::<M>());
            // Linear; a product of neighbors, one of them twice, of views that may be one; and in place.
            parallel_for(y.all(), (x, &mut y), |(x, _)| {
                (x.periodic::<$($a),*>() - 2.0 * x.periodic::<$($b),*>() + 0.5 * x.periodic::<$($c),*>(),)
            });
            parallel_for(y.all(), (x, x, w, &mut v, k), |(x, z, w, _, k)| {
                let (p, q) = (x.periodic::<$($a),*>(), z.periodic::<$($b),*>());
                (p * q + k * w.periodic::<$($a),*>() * w.periodic::<$($c),*>() - q / (w.periodic::<$($b),*>() + 3.0),)
            });
            parallel_for(u.all(), (&mut u, &v, k), |(u, v, k)| {
                (u.periodic::<$($b),*>() * v.periodic::<$($a),*>() - k * u.periodic::<$($c),*>() * u.at::<$($o),*>(),)
            });
            // At its own point, added to it, and with a coordinate.
            parallel_for(y.all(), (&mut y, &u), |(y, u)| (y.plus(0.25 * u.periodic::<$($c),*>() * y.at::<$($o),*>()),));
            parallel_for(y.all(), (&mut y, &u, x), |(y, u, x)| {
                (y.minus(x.periodic::<$($a),*>() * u.periodic::<$($b),*>() * (u.index::<0>() + 0.5)),)
            });
            // Over a part, also with reads that stay inside; two results, of which the second uses the first.
            parallel_for(without(shape, 1), (x, &mut y), |(x, y)| (x.periodic::<$($b),*>() * y.at::<$($o),*>(),));
            parallel_for(without(shape, 3), (&mut u, &mut v, w), |(u, v, w)| {
                let step = w.at::<$($a),*>() * u.periodic::<$($c),*>();
                (step, u.new() * v.at::<$($o),*>() + w.periodic::<$($b),*>() * v.periodic::<$($a),*>())
            });
            // Where a function is called number by number, and where a slope is infinite.
            parallel_for(without(shape, 1), (&mut u, w), |(u, w)| ((w.periodic::<$($a),*>() * 0.1).exp() * u.at::<$($o),*>(),));
            parallel_for(y.all(), (&mut y, w), |(y, w)| ((y.at::<$($o),*>() * 0.1).sin() + w.periodic::<$($c),*>().sqrt(),));
            parallel_for(y.all(), (x, w, &mut v), |(x, w, v)| {
                ((x.periodic::<$($a),*>() * w.periodic::<$($b),*>()).abs().sqrt() + (v.periodic::<$($c),*>() * 0.1).exp(),)
            });
            // With another rule beside.
            parallel_for(y.all(), (x, &mut u), |(x, u)| {
                (x.periodic::<$($a),*>() * x.or_zero::<$($b),*>() - u.nearest::<$($c),*>() * u.periodic::<$($a),*>(),)
            });
            let [p, q] = parallel_sums(y.all(), (&u, &v, &y, k), |(u, v, y, k)| {
                (u.periodic::<$($b),*>() * y.at::<$($o),*>() * k, y.periodic::<$($a),*>() - v.periodic::<$($c),*>() * k)
            });
            let part = parallel_sum(without(shape, 1), (&v, w), |(v, w)| v.periodic::<$($b),*>() * w.at::<$($o),*>());
            let mut sum: Real<_> = (p + q + part).into();
            // An extremum needs points, and lanes that agree.
            if V::LANES == 1 && without(shape, 1).iter().all(|range| !range.is_empty()) {
                let range = without(shape, 1);
                sum += parallel_max(range, (&u, x), |(u, x)| u.periodic::<$($a),*>() - x.at::<$($o),*>());
            }
            (vec![u, v, y], sum)
        }
    )* };
}
launches! {
    in_a_row 1: [0] [-1] [2] [-3];
    in_a_plane 2: [0 0] [1 -1] [-3 2] [0 3];
    in_a_box 3: [0 0 0] [1 0 -2] [-1 3 0] [0 -2 1];
    in_four 4: [0 0 0 0] [1 0 -1 2] [0 -3 0 -1] [-2 1 3 0];
}

/// Few launches, for miri: with all that groups around the ends read.
fn few_launches<V: Number, M: Space<V>>(([x, w], k): Inputs<'_, V, 2, M>) -> Outputs<V, 2, M> {
    let (mut y, row) = (w.clone(), View::<_, 1>::new([x.shape()[1]], &vec![V::from_f64(0.7); x.shape()[1]]));
    let row = row.in_space::<M>();
    parallel_for(y.all(), (x, &mut y, k, row.along::<1>()), |(x, y, k, row)| {
        (x.periodic::<-1, 2>() * x.periodic::<3, -1>() * k + y.at::<0, 0>() * row.at() * y.index::<1>(),)
    });
    let sum = parallel_sum(y.all(), (&y, x, row.along::<1>(), k), |(y, x, row, k)| {
        y.periodic::<1, -1>() * x.at::<0, 0>() * row.at() - k * y.periodic::<0, 2>()
    });
    let sums: View<_, 1, M> = parallel_row_sums(y.all(), (&y, x, k), |(y, x, k)| {
        y.periodic::<0, -2>() * x.at::<0, 0>() + k * y.periodic::<0, 3>()
    });
    (vec![y], (sum + parallel_sum(sums.all(), &sums, |s| s.at::<0>().square())).into())
}

/// A difference between what the loops and what the interpreter find fails, with its place.
macro_rules! same {
    ($V:ty, $launches:ident, $shapes:expr) => {
        for shape in $shapes {
            for (kinds, shifts) in few(1, &[(&PLAIN[..], 1), (&WILD[..], 4)]) {
                for shift in 0..*shifts {
                    let (shape, from) = (*shape, (*kinds, shift));
                    let expected = found::<$V, Interpreted, _>($launches, shape, from);
                    let loops = at_every_level(|| found::<$V, Host, _>($launches, shape, from));
                    assert_same(&loops, &expected, &format!("{shape:?}, {shift}"));
                }
            }
        }
    };
}

#[test]
fn few_points() {
    same!(f64, few_launches, few(1, &[[2, 5], [1, 1], [3, 17], [17, 3], [8, 64]]));
}

#[test]
fn duals_at_few_points() {
    same!(Dual<f64, 5>, few_launches, few(1, &[[2, 5], [1, 1], [3, 17]]));
}

#[test]
fn one_dimension() {
    same!(f64, in_a_row, &[[17], [2], [1], [3], [5], [8], [64]]);
    same!(f32, in_a_row, &[[3], [37], [1], [16], [64]]);
}

#[test]
fn two_dimensions() {
    same!(f64, in_a_plane, &[[3, 11], [1, 2], [1, 1], [2, 3], [5, 8], [8, 17], [17, 5], [5, 64]]);
    same!(f32, in_a_plane, &[[2, 19], [5, 3], [8, 40]]);
}

#[test]
fn three_and_four_dimensions() {
    same!(f64, in_a_box, &[[2, 1, 9], [1, 3, 2], [3, 5, 17], [8, 2, 5]]);
    same!(f64, in_four, &[[1, 2, 1, 9], [2, 1, 3, 1], [2, 3, 5, 8], [5, 1, 2, 17]]);
}

#[test]
fn duals() {
    same!(Dual<f64, 1>, in_a_row, &[[9], [2], [1], [5], [17], [64]]);
    same!(Dual<f64, 5>, in_a_plane, &[[2, 9], [1, 1], [3, 5], [5, 17]]);
}

#[test]
fn lanes_and_lanes_with_tangents() {
    same!(Pack<3>, in_a_plane, &[[2, 9], [1, 1], [3, 5], [5, 17]]);
    same!(Dual<Pack<2>, 2>, in_a_row, &[[9], [2], [1], [17]]);
}

/// Groups around the ends where threads share an array: rows that belong to one part, and parts of rows.
#[test]
fn parts_of_threads() {
    for shape in [[400, 90], [2, 35_000]] {
        let expected = found::<f64, Interpreted, _>(few_launches, shape, (&PLAIN, 0));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let loops = pool.install(|| found::<f64, Host, _>(few_launches, shape, (&PLAIN, 0)));
            let differs = loops.iter().zip(&expected).position(|(loops, expected)| loops != expected);
            assert_eq!(differs, None, "{threads} threads, {shape:?}: the array that differs");
        }
    }
}
