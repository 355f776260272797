//! Reads with border rules, at every level, in every place.

use super::{at_every_level, bits, close, numbers};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;

/// Gradient by the kernel at every level against central differences, for a generic function of a view.
macro_rules! differences {
    ($n:expr, $x:ident, $body:expr) => {{
        fn f<S: Taping<Value = f64>>(x: &View<S, 1>) -> Real<S> {
            let mut y = x.clone();
            parallel_for(x.all(), (x, &mut y), |($x, _)| ($body,));
            parallel_sum(y.all(), &y, |y| y.at::<0>().square())
        }
        let at = numbers($n, 3);
        let gradient = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (x, sum) = tape.record(|scope| {
                let x = scope.view([$n], &at);
                let sum = f(&x);
                (x, sum)
            });
            bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"))
        });
        for k in 0..$n {
            let moved = |h: f64| {
                let at: Vec<f64> = at.iter().enumerate().map(|(j, x)| if j == k { x + h } else { *x }).collect();
                f::<Passive>(&View::new([$n], &at)).value()
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!(
                (f64::from_bits(gradient[k]) - slope).abs() < 1e-8,
                "element {k} of {}: {} and {slope}",
                $n,
                f64::from_bits(gradient[k])
            );
        }
    }};
}

#[test]
fn zeros_outside() {
    for n in [1, 2, 3, 5, 8, 15, 16, 17, 40] {
        differences!(n, x, x.or_zero::<-2>() * x.at::<0>() + x.or_zero::<1>() * 0.5 - x.or_zero::<3>());
    }
}

#[test]
fn the_nearest_element_outside() {
    for n in [1, 2, 3, 5, 8, 15, 16, 17, 40] {
        differences!(n, x, x.nearest::<-2>() * x.at::<0>() + x.nearest::<1>() * 0.5 - x.nearest::<3>());
    }
}

#[test]
fn periodic_views() {
    for n in [1, 2, 3, 5, 8, 15, 16, 17, 40] {
        differences!(n, x, x.periodic::<-2>() * x.at::<0>() + x.periodic::<1>() * 0.5 - x.periodic::<7>());
    }
}

#[test]
fn borders_in_two_dimensions() {
    fn f<S: Taping<Value = f64>>(x: &View<S, 2>) -> Real<S> {
        let mut y = View::zeros(x.shape());
        parallel_for(x.all(), (x, &mut y), |(x, _)| {
            (x.nearest::<-1, 1>() * x.periodic::<1, -2>() + x.or_zero::<2, 0>() * x.at::<0, 0>(),)
        });
        parallel_sum(y.all(), &y, |y| y.at::<0, 0>().square())
    }
    for (rows, columns) in [(1, 1), (2, 9), (5, 19), (3, 33)] {
        let n = rows * columns;
        let at = numbers(n, 5);
        let gradient = at_every_level(|| {
            let mut tape = Tape::<PrimalValue>::new();
            let (x, sum) = tape.record(|scope| {
                let x = scope.view([rows, columns], &at);
                let sum = f(&x);
                (x, sum)
            });
            bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"))
        });
        for k in 0..n {
            let moved = |h: f64| {
                let at: Vec<f64> = at.iter().enumerate().map(|(j, x)| if j == k { x + h } else { *x }).collect();
                f::<Passive>(&View::new([rows, columns], &at)).value()
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!(close(f64::from_bits(gradient[k]), slope, 1e6), "element {k} of {rows} × {columns}");
        }
    }
}

#[test]
fn zeros_beside_rows_and_columns_are_those_of_a_plain_loop() {
    // y = u(+1, +2)·u + u(−1, −3)/2 − u(0, +7)·u(−2, 0), in plain numbers.
    fn plain(rows: usize, columns: usize, u: &[f64]) -> Vec<f64> {
        let at = |i: usize, j: usize, di: isize, dj: isize| {
            let (i, j) = (i.cast_signed() + di, j.cast_signed() + dj);
            let inside = i >= 0 && j >= 0 && i < rows.cast_signed() && j < columns.cast_signed();
            if inside { u[i.cast_unsigned() * columns + j.cast_unsigned()] } else { 0.0 }
        };
        let value = |i, j| at(i, j, 1, 2) * at(i, j, 0, 0) + at(i, j, -1, -3) * 0.5 - at(i, j, 0, 7) * at(i, j, -2, 0);
        (0..rows).flat_map(|i| (0..columns).map(move |j| value(i, j))).collect()
    }
    fn kernel<S: Taping<Value = f64>>(u: &View<S, 2>) -> View<S, 2> {
        let mut y = View::zeros(u.shape());
        parallel_for(u.all(), (u, &mut y), |(u, _)| {
            let products = u.or_zero::<1, 2>() * u.at::<0, 0>() + u.or_zero::<-1, -3>() * 0.5;
            (products - u.or_zero::<0, 7>() * u.or_zero::<-2, 0>(),)
        });
        y
    }
    for (rows, columns) in [(1, 1), (1, 9), (2, 5), (3, 17), (4, 8), (5, 30), (6, 67)] {
        let n = rows * columns;
        let u = numbers(n, 11);
        let expected: Vec<u64> = plain(rows, columns, &u).iter().map(|y| y.to_bits()).collect();
        let gradient = at_every_level(|| {
            assert_eq!(bits(kernel(&View::<Passive, 2>::new([rows, columns], &u)).values()), expected);
            let mut tape = Tape::<Jacobian>::new();
            let (u, sum) = tape.record(|scope| {
                let u = scope.view([rows, columns], &u);
                let y = kernel(&u);
                (u, parallel_sum(y.all(), &y, |y| y.at::<0, 0>().square()))
            });
            bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&u).expect("u"))
        });
        for k in 0..n {
            let moved = |h: f64| {
                let u: Vec<f64> = u.iter().enumerate().map(|(j, x)| if j == k { x + h } else { *x }).collect();
                plain(rows, columns, &u).iter().map(|y| y * y).sum::<f64>()
            };
            // The truncation error is h² times third derivatives of a few units, and rounding 1e-16 · Σ y² / h.
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let found = f64::from_bits(gradient[k]);
            assert!((found - slope).abs() < 1e-7, "element {k} of {rows} × {columns}: {found} and {slope}");
        }
    }
}
