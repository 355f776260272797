//! Stencils of all ranks and both precisions.

use super::{at_every_level, bits, numbers};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;

/// The gradient of a generic function of a view, at every level, against central differences of it under `Passive`.
macro_rules! differences {
    ($f:ident, $rank:literal, $shape:expr) => {{
        let shape: [usize; $rank] = $shape;
        let n = shape.iter().product();
        let at = numbers(n, 5);
        let gradient = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (x, sum) = tape.record(|scope| {
                let x = scope.view(shape, &at);
                let sum = $f(&x);
                (x, sum)
            });
            let first = bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"));
            let second = bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"));
            assert_eq!(first, second, "a second sweep");
            first
        });
        for k in 0..n {
            let moved = |h: f64| {
                let at: Vec<f64> = at.iter().enumerate().map(|(j, x)| if j == k { x + h } else { *x }).collect();
                $f::<Passive>(&View::new(shape, &at)).value()
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            // Values are below 100, so a difference's roundings are below 100·2⁻⁵²·4/2e-5; its truncation is of order h².
            assert!((f64::from_bits(gradient[k]) - slope).abs() < 1e-7, "element {k} of {shape:?}: {slope}");
        }
    }};
}

#[test]
fn a_stencil_of_rank_3_in_place() {
    fn heat<S: Taping<Value = f64>>(t: &View<S, 3>) -> Real<S> {
        let mut t = t.clone();
        for _ in 0..2 {
            parallel_for(t.interior(1), &mut t, |t| {
                let c = t.at::<0, 0, 0>();
                let beside = t.at::<1, 0, 0>() + t.at::<-1, 0, 0>() + t.at::<0, 1, 0>() + t.at::<0, -1, 0>();
                (c + 0.1 * c * (beside + t.at::<0, 0, 1>() + t.at::<0, 0, -1>() - 6.0 * c),)
            });
        }
        parallel_sum(t.all(), &t, |t| t.at::<0, 0, 0>().square())
    }
    for shape in [[3, 3, 3], [3, 4, 11], [4, 3, 19], [1, 5, 9], [5, 1, 3]] {
        differences!(heat, 3, shape);
    }
}

#[test]
fn a_stencil_of_rank_4_with_borders() {
    fn f<S: Taping<Value = f64>>(x: &View<S, 4>) -> Real<S> {
        let mut y = View::zeros(x.shape());
        parallel_for(x.all(), (x, &mut y), |(x, _)| {
            let product = x.nearest::<1, 0, -1, 2>() * x.periodic::<-1, 2, 0, -3>();
            (product + x.or_zero::<0, 1, -1, 0>() * x.at::<0, 0, 0, 0>() + x.or_zero::<0, 0, 0, 4>(),)
        });
        parallel_sum(y.all(), &y, |y| y.at::<0, 0, 0, 0>().square())
    }
    for shape in [[1, 1, 1, 1], [2, 1, 3, 5], [2, 2, 2, 9], [1, 3, 1, 17], [3, 2, 1, 4]] {
        differences!(f, 4, shape);
    }
}

#[test]
fn a_stencil_of_rank_4_in_the_interior() {
    fn f<S: Taping<Value = f64>>(x: &View<S, 4>) -> Real<S> {
        let mut y = x.clone();
        parallel_for([1..2, 0..2, 1..3, 2..x.shape()[3] - 1], (x, &mut y), |(x, y)| {
            let product = x.at::<1, 0, -1, 0>() * x.at::<-1, 0, 1, 1>();
            (y.at::<0, 0, 0, 0>() * product + x.at::<0, 0, 0, -2>() / (2.0 + x.at::<0, 0, 0, 0>()),)
        });
        parallel_sum(y.all(), &y, |y| y.at::<0, 0, 0, 0>().square())
    }
    for shape in [[3, 2, 4, 4], [3, 3, 4, 12], [3, 2, 4, 20]] {
        differences!(f, 4, shape);
    }
}

#[test]
fn the_largest_shifts_on_tiny_views() {
    fn f<S: Taping<Value = f64>>(x: &View<S, 2>) -> Real<S> {
        let mut y = View::filled(x.shape(), 1.0);
        parallel_for(x.all(), (x, &mut y), |(x, _)| {
            let far = x.nearest::<7, -7>() * x.periodic::<-7, 7>() + x.or_zero::<7, 7>() + x.or_zero::<-7, 0>();
            (far * x.at::<0, 0>() + x.periodic::<0, -7>(),)
        });
        parallel_sum(y.all(), &y, |y| y.at::<0, 0>().square())
    }
    for rows in [1, 2, 7, 8, 9] {
        for columns in [1, 2, 3, 8, 15, 24] {
            differences!(f, 2, [rows, columns]);
        }
    }
}

/// Values of a kernel and adjoints of its inputs, in single precision.
fn in_single_precision<const BORDERS: bool>(n: usize) {
    let narrow = |seed| numbers(n, seed).into_iter().map(|x| x as f32).collect::<Vec<f32>>();
    let (x0, b0) = (narrow(3), narrow(4));
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let (values, gx, gb) = at_every_level(|| {
        let mut tape = Tape::<Jacobian<f32>>::new();
        let (x, b, y, sum) = tape.record(|scope| {
            let (x, b) = (scope.view([n], &x0), scope.view([n], &b0));
            let mut y = View::zeros([n]);
            if BORDERS {
                parallel_for(x.all(), (&x, &b, &mut y), |(x, b, _)| {
                    (x.or_zero::<-1>() * b.at::<0>() + x.periodic::<1>().exp(),)
                });
            } else {
                parallel_for(1..n - 1, (&x, &b, &mut y), |(x, b, _)| (x.at::<-1>() * b.at::<0>() + x.at::<1>().exp(),));
            }
            let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
            (x, b, y, sum)
        });
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        (bits(y.values()), bits(&adjoints.of_view(&x).expect("x")), bits(&adjoints.of_view(&b).expect("b")))
    });
    let at = |k: usize, shift: isize| k.checked_add_signed(shift).and_then(|k| x0.get(k)).copied().unwrap_or(0.0);
    let range = if BORDERS { 0..n } else { 1..n - 1 };
    // Two roundings of numbers below 2, and the exponential's.
    let close = |found: u32, expected: f32, what: &str, k: usize| {
        let found = f32::from_bits(found);
        assert!((found - expected).abs() <= 8.0 * f32::EPSILON, "{what}[{k}] of {n}: {found}, not {expected}");
    };
    for k in 0..n {
        let here = range.contains(&k);
        let next = x0[(k + 1) % n];
        close(values[k], if here { at(k, -1) * b0[k] + next.exp() } else { 0.0 }, "y", k);
        close(gb[k], if here { at(k, -1) } else { 0.0 }, "∂b", k);
        let from_next = if range.contains(&(k + 1)) { b0[k + 1] } else { 0.0 };
        let from_last = if range.contains(&((k + n - 1) % n)) && (BORDERS || k > 0) { x0[k].exp() } else { 0.0 };
        close(gx[k], from_next + from_last, "∂x", k);
    }
}

#[test]
fn views_of_single_precision() {
    for n in [1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 70] {
        in_single_precision::<true>(n);
    }
    for n in [2, 3, 8, 15, 16, 17, 31, 32, 33, 70] {
        in_single_precision::<false>(n);
    }
}
