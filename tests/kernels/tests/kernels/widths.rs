//! Each kind of loop over few elements, at every level: small enough for an interpreter that checks each access to
//! memory.

use super::{at_every_level, few, numbers};
use tapewright::Dual;
use tapewright::kernels::{
    Field2, Indices, Term, View, gather, parallel_fold, parallel_for, parallel_max, parallel_min, parallel_scan,
    parallel_sum, scatter, scatter_add,
};
use tapewright::prelude::*;
use tapewright::strategies::kernel::ir::Node;

type Views<V, const R: usize> = View<Jacobian<V>, R>;
type Number<V> = Real<Jacobian<V>>;

/// The bits of numbers, of both precisions.
fn bits<V: tapewright::Float>(numbers: &[V]) -> Vec<u64> {
    numbers.iter().map(|x| x.as_f64().to_bits()).collect()
}

/// Numbers that look random.
fn of<V: tapewright::Float>(n: usize, seed: usize) -> Vec<V> {
    numbers(n, seed).into_iter().map(V::from_f64).collect()
}

/// Runs a function of a view and a number, which changes the second view, at every level. Compares the values, the
/// adjoints of the inputs for a number and for a view as output, and what moves along a tangent.
fn same<V: tapewright::Float, const R: usize>(
    shape: [usize; R],
    f: impl Fn(&Views<V, R>, &Number<V>, &mut Views<V, R>) -> Number<V> + Sync,
) {
    let n = shape.iter().product();
    let found = at_every_level(|| {
        let mut tape = Tape::<Jacobian<V>>::new();
        let (x, a, y, sum) = tape.record(|scope| {
            let (x, a) = (scope.view(shape, &of(n, 3)), scope.input(V::from_f64(0.7)));
            let mut y = x.clone();
            let sum = f(&x, &a, &mut y);
            (x, a, y, sum)
        });
        let mut found = vec![bits(&y.values()), bits(&[sum.value()])];
        let mut add = |adjoints: &tapewright::tape::Adjoints<'_, Jacobian<V>>| {
            found.extend([bits(&adjoints.of_view(&x).expect("x")), bits(&[adjoints.of(&a).expect("a")])]);
        };
        add(&tape.sweep(&[(&sum, V::one())]).expect("swept"));
        add(&tape.sweep_view(&[], (&y, &of::<V>(n, 8))).expect("swept"));
        found.push(bits(&tape.jvp(&[(&a, V::one())], &[&sum]).expect("swept")));
        found
    });
    assert!(found.iter().flatten().all(|x| f64::from_bits(*x).is_finite()), "{shape:?}: {found:?}");
}

/// Stencils of radius 0 to 3, in place and out of place, on whole views and on parts.
fn stencils<V: tapewright::Float>(n: usize) {
    same::<V, 1>([n], |x, a, y| {
        parallel_for(y.all(), (&mut *y, a), |(y, a)| (y.at::<0>().square() * a,));
        parallel_for(y.interior(1), (x, &mut *y), |(x, y)| (x.at::<-1>() * x.at::<1>() - y.at::<0>(),));
        parallel_for(y.interior(1), &mut *y, |y| (y.at::<-1>() * y.at::<0>() + 0.5 * y.at::<1>(),));
        parallel_for(n / 2..n, (x, &mut *y), |(x, _)| (x.at::<0>().exp(),));
        if n > 6 {
            parallel_for(3..n - 3, (x, &mut *y), |(x, y)| (x.at::<-3>() * y.at::<0>() * x.at::<3>(),));
            parallel_for(y.interior(2), (a, &mut *y), |(a, y)| (y.at::<-2>() * a + y.at::<2>() / 3.0,));
        }
        parallel_sum(y.all(), &*y, |y| y.at::<0>() * y.at::<0>())
    });
}

#[test]
fn stencils_in_double_precision() {
    for n in few(1, &[11, 3, 8, 17]) {
        stencils::<f64>(*n);
    }
}

#[test]
fn stencils_in_single_precision() {
    for n in few(1, &[18, 3, 17, 35]) {
        stencils::<f32>(*n);
    }
}

#[test]
fn border_rules() {
    for n in few(2, &[1, 10, 2, 17]) {
        same::<f64, 1>([*n], |x, a, y| {
            parallel_for(y.all(), (x, &mut *y), |(x, _)| (x.or_zero::<-3>() * x.nearest::<2>() + x.periodic::<1>(),));
            parallel_for(y.all(), (&mut *y, a), |(y, a)| (y.nearest::<-1>() * a + y.or_zero::<1>() * y.at::<0>(),));
            parallel_sum(y.all(), (&*y, a), |(y, a)| y.periodic::<-2>() * y.at::<0>() * a)
        });
    }
    for shape in few(1, &[[2, 11], [1, 1], [3, 5], [2, 19]]) {
        same::<f32, 2>(*shape, |x, a, y| {
            parallel_for(y.all(), (x, a, &mut *y), |(x, a, _)| {
                (x.nearest::<1, -1>() * a + x.periodic::<-1, 2>() * x.or_zero::<0, 3>(),)
            });
            parallel_sum(y.all(), &*y, |y| y.at::<0, 0>() * y.or_zero::<1, 0>())
        });
    }
}

/// A branch, a temporary, and extrema.
fn branches<U: Field2, W: Field2, K: Node>(x: U, w: W, a: Term<K>) -> Term<impl Node> {
    let (x, w) = (x.at::<0, 0>(), w.at::<0, 0>());
    let chosen = x.ge(0.0).and(w.lt(0.3)).select(x.abs() * a, (x * w).bind::<0, _>(|p| p * p - p));
    chosen + x.max(w) - x.max(0.01).sqrt()
}

#[test]
fn several_outputs() {
    for shape in few(1, &[[2, 9], [1, 1], [3, 5], [2, 19]]) {
        same::<f64, 2>(*shape, |x, a, y| {
            let mut z = View::zeros(*shape);
            parallel_for(y.all(), (&mut *y, &mut z, x, a), |(y, z, x, a)| {
                (branches(x, y, a), y.new() * z.at::<0, 0>() + y.new() * y.at::<0, 0>() - x.at::<0, 0>())
            });
            let [rows, columns] = *shape;
            parallel_for([rows / 2..rows, 0..columns - columns / 3], (&mut *y, &mut z), |(y, z)| {
                (z.at::<0, 0>() + y.at::<0, 0>() * 0.5, y.new() * y.new())
            });
            parallel_sum(z.all(), (&z, &*y), |(z, y)| z.at::<0, 0>() * y.at::<0, 0>())
        });
    }
}

#[test]
fn three_dimensions() {
    for shape in few(1, &[[3, 3, 10], [4, 3, 19]]) {
        same::<f64, 3>(*shape, |x, a, y| {
            parallel_for(y.interior(1), (&mut *y, a), |(y, a)| {
                let beside = y.at::<1, 0, 0>() + y.at::<-1, 0, 0>() * y.at::<0, 1, 0>() + y.at::<0, -1, 0>();
                (y.at::<0, 0, 0>() + a * beside + y.at::<0, 0, 1>() * y.at::<0, 0, -1>(),)
            });
            parallel_for([0..2, 2..3, 2..10], (x, &mut *y), |(x, y)| (x.at::<1, -1, -2>() * y.at::<0, 0, 0>(),));
            parallel_sum([1..2, 1..3, 0..10], &*y, |y| y.at::<0, 0, 0>().square())
        });
    }
    for shape in few(1, &[[1, 2, 9], [2, 3, 9]]) {
        same::<f32, 3>(*shape, |x, a, y| {
            parallel_for(y.all(), (x, &mut *y), |(x, _)| (x.nearest::<1, 0, -1>() * x.or_zero::<0, -1, 1>(),));
            parallel_sum(y.all(), (&*y, a), |(y, a)| y.at::<0, 0, 0>() * a)
        });
    }
}

#[test]
fn reductions() {
    for n in few(1, &[18, 1, 16, 37]) {
        let n = *n;
        same::<f64, 1>([n], |x, a, y| {
            let sum = parallel_sum(x.all(), (x, a), |(x, a)| (x.at::<0>() * a).sin());
            parallel_for(y.all(), (&mut *y, &sum), |(y, sum)| (y.at::<0>() * sum,));
            let inner = parallel_sum(n / 3..n - n / 4, &*y, |y| y.at::<0>() * y.nearest::<1>());
            let most = parallel_max(y.all(), &*y, |y| y.at::<0>().square());
            let least = parallel_min(n / 2..n, (x, &*y), |(x, y)| x.or_zero::<-2>() - y.at::<0>());
            (inner + most * least).into()
        });
    }
    same::<f32, 2>([2, 19], |x, a, y| {
        parallel_for(y.all(), (&mut *y, a), |(y, a)| (y.at::<0, 0>() * a,));
        let most = parallel_max([0..2, 1..18], (x, &*y), |(x, y)| x.at::<0, -1>() * y.at::<0, 1>());
        (parallel_sum([1..2, 0..19], x, |x| x.at::<0, 0>()) * most).into()
    });
}

#[test]
fn infinite_partials_point_by_point() {
    let gradient = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, sum) = tape.record(|scope| {
            let at: Vec<f64> = (0..19).map(|k| f64::from(k % 3)).collect();
            let (x, mut y) = (scope.view([19], &at), View::zeros([19]));
            parallel_for(2..19, (&x, &mut y), |(x, _)| ((x.at::<-1>() * x.at::<0>()).sqrt() * x.at::<-2>(),));
            let sum = parallel_sum(3..19, &y, |y| y.at::<0>().sqrt());
            (x, sum)
        });
        let found = tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x").into_owned();
        // Of any NaN the same bits.
        found.iter().map(|x| if x.is_nan() { f64::NAN } else { *x }.to_bits()).collect::<Vec<_>>()
    });
    assert!(gradient.iter().any(|x| !f64::from_bits(*x).is_finite()), "{gradient:?}");
}

#[test]
fn elements_that_move() {
    same::<f64, 2>([3, 7], |x, a, y| {
        let places = Indices::new(&[0, 20, 4, 4, 11]);
        let mut picked = gather(x, &places);
        parallel_for(picked.all(), (&mut picked, a), |(p, a)| (p.at::<0>() * p.nearest::<1>() * a,));
        scatter_add(&picked, &Indices::new(&[3, 0, 3, 20, 9]), y);
        scatter(&picked.slice(1..3), &Indices::new(&[7, 8]), y);
        let part = y.slice([0..2, 2..6]);
        y.set([1..3, 0..4], &part);
        let (row, column) = (y.row(1), x.column(6));
        parallel_for(y.interior(1), (x, &mut *y), |(x, y)| (y.at::<0, -1>() * x.at::<-1, 1>(),));
        let scanned = parallel_scan(&row, |a, b| (a * b).bind::<0, _>(|p| p * 0.3 + a.max(b)));
        let folded = parallel_fold(&column, |a, b| a - b * 0.5);
        let flat = y.reshape([21]);
        let sum = parallel_sum(flat.all(), &flat, |y| y.at::<0>().square());
        let number = flat.variable([5]);
        (parallel_sum(scanned.all(), &scanned, |s| s.at::<0>()) * folded + sum * number).into()
    });
}

#[test]
fn in_place_without_a_recording() {
    for n in few(2, &[1, 18, 9]) {
        at_every_level(|| {
            let x = View::<Passive, 1>::new([*n], &numbers(*n, 1));
            let mut y = x.clone();
            parallel_for(y.all(), (&mut y, &x), |(y, x)| (y.at::<0>() * 2.0 + x.nearest::<-1>(),));
            parallel_for(y.all(), &mut y, |y| (y.at::<0>() - y.or_zero::<1>(),));
            bits(y.values())
        });
    }
}

/// Groups of duals reach farther than groups of numbers, in bytes: into the margins of both arrays here.
#[test]
fn duals_at_the_largest_shifts() {
    fn check<const N: usize>(n: usize) {
        let found = at_every_level(|| {
            let mut tape = Tape::<Jacobian<Dual<f64, N>>>::new();
            let values: Vec<_> =
                of::<f64>(n, 3).into_iter().map(|x| Dual { value: x, tangents: [0.5 - x; N] }).collect();
            let (x, sum) = tape.record(|scope| {
                let x = scope.view([n], &values);
                let mut y = View::zeros([n]);
                parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.or_zero::<7>() * x.or_zero::<-7>() + x.at::<0>(),));
                (x, parallel_sum(y.all(), &y, |y| y.at::<0>() * y.at::<0>()))
            });
            let slopes =
                tape.sweep(&[(&sum, Dual::constant(1.0))]).expect("swept").of_view(&x).expect("an input").to_vec();
            slopes.iter().flat_map(|slope| [slope.value.to_bits(), slope.tangents[0].to_bits()]).collect::<Vec<_>>()
        });
        assert_eq!(found.len(), 2 * n);
    }
    for n in few(1, &[9, 1, 5, 8, 17, 33]) {
        check::<1>(*n);
        if !cfg!(miri) {
            check::<2>(*n);
        }
    }
}
