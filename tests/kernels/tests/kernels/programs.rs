//! Kernels against the same computation by scalar statements.

use super::{at_every_level, bits, close, numbers};
use tapewright::kernels::{Field2, Term, View, parallel_for, parallel_max, parallel_min, parallel_sum};
use tapewright::prelude::*;
use tapewright::strategies::kernel::ir::Node;

/// One component of the two-dimensional Burgers equation, explicit and upwind.
fn moved<W: Field2, U: Field2, V: Field2>(w: W, u: U, v: V, a: f64, nu: f64) -> Term<impl Node> {
    let (u, v, c) = (u.at::<0, 0>(), v.at::<0, 0>(), w.at::<0, 0>());
    let (east, west, north, south) = (w.at::<0, 1>(), w.at::<0, -1>(), w.at::<1, 0>(), w.at::<-1, 0>());
    let ax = u.ge(0.0).select(u * (c - west), u * (east - c));
    let ay = v.ge(0.0).select(v * (c - south), v * (north - c));
    c - a * (ax + ay) + nu * (east + west + north + south - 4.0 * c)
}

pub(super) fn burgers<S: Taping<Value = f64>>(
    u: &View<S, 2>,
    v: &View<S, 2>,
    steps: usize,
    a: f64,
    nu: f64,
) -> Real<S> {
    let (mut u, mut v) = (u.clone(), v.clone());
    for _ in 0..steps {
        parallel_for(u.interior(1), (&mut u, &mut v), |(u, v)| (moved(u, u, v, a, nu), moved(v, u, v, a, nu)));
    }
    parallel_sum(u.all(), (&u, &v), |(u, v)| u.at::<0, 0>().square() + v.at::<0, 0>().square())
}

/// The same by scalar statements.
fn burgers_by_statements<S: Strategy<Value = f64>>(
    [rows, columns]: [usize; 2],
    u: &[Real<S>],
    v: &[Real<S>],
    steps: usize,
    a: f64,
    nu: f64,
) -> Real<S> {
    let (mut u, mut v) = (u.to_vec(), v.to_vec());
    for _ in 0..steps {
        let step = |w: &[Real<S>], k: usize| -> Real<S> {
            let (c, east, west, north, south) = (w[k], w[k + 1], w[k - 1], w[k + columns], w[k - columns]);
            let ax: Real<S> = if u[k] >= 0.0 { u[k] * (c - west) } else { u[k] * (east - c) }.into();
            let ay: Real<S> = if v[k] >= 0.0 { v[k] * (c - south) } else { v[k] * (north - c) }.into();
            (c - a * (ax + ay) + nu * (east + west + north + south - 4.0 * c)).into()
        };
        let (mut next_u, mut next_v) = (u.clone(), v.clone());
        for j in 1..rows - 1 {
            for i in 1..columns - 1 {
                let k = j * columns + i;
                (next_u[k], next_v[k]) = (step(&u, k), step(&v, k));
            }
        }
        (u, v) = (next_u, next_v);
    }
    u.iter().zip(&v).map(|(u, v)| *u * *u + *v * *v).sum()
}

#[test]
fn burgers_has_the_values_and_the_gradient_of_scalar_statements() {
    for [rows, columns] in [[3, 3], [4, 10], [9, 13], [8, 16], [5, 17], [12, 35]] {
        let n = rows * columns;
        let (u0, v0) = (numbers(n, 1), numbers(n, 2));
        let (a, nu, steps) = (0.127, 0.0161, 5);
        let (value, gu, gv) = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (u, v, f) = tape.record(|scope| {
                let (u, v) = (scope.view([rows, columns], &u0), scope.view([rows, columns], &v0));
                let f = burgers(&u, &v, steps, a, nu);
                (u, v, f)
            });
            let adjoints = tape.sweep(&[(&f, 1.0)]).expect("swept");
            (f.value().to_bits(), bits(&adjoints.of_view(&u).expect("u")), bits(&adjoints.of_view(&v).expect("v")))
        });
        let primal =
            burgers::<Passive>(&View::new([rows, columns], &u0), &View::new([rows, columns], &v0), steps, a, nu);
        assert_eq!(primal.value().to_bits(), value, "the value under Passive");
        let both: Vec<f64> = u0.iter().chain(&v0).copied().collect();
        let (expected, gradient) = value_and_gradient::<Jacobian>(
            |x| burgers_by_statements([rows, columns], &x[..n], &x[n..], steps, a, nu),
            &both,
        );
        assert!(close(f64::from_bits(value), expected, expected));
        for k in 0..n {
            assert!(close(f64::from_bits(gu[k]), gradient[k], 4.0), "∂u[{k}] of {rows} × {columns}");
            assert!(close(f64::from_bits(gv[k]), gradient[n + k], 4.0), "∂v[{k}] of {rows} × {columns}");
        }
    }
}

#[test]
fn zero_times_infinity_is_zero_lane_by_lane() {
    // √max(x, 0) at −1: the partial of the root is infinite, the seed of the maximum's right argument is no partial at
    // all.
    let x = [4.0, -1.0, 0.0, 9.0, -2.0, 16.0, -3.0, 25.0, -1.0, 36.0];
    let gradient = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, sum) = tape.record(|scope| {
            let x = scope.view([10], &x);
            let mut y = View::zeros([10]);
            parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>().max(0.0),));
            let sum = parallel_sum(y.all(), &y, |y| y.at::<0>().sqrt());
            (x, sum)
        });
        bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"))
    });
    for (x, slope) in x.iter().zip(gradient) {
        let expected = gradient_of_root(*x);
        assert_eq!(f64::from_bits(slope), expected, "at {x}");
    }
}

/// By scalar statements.
fn gradient_of_root(x: f64) -> f64 {
    gradient::<Jacobian>(
        |x| {
            let y: Real<Jacobian> = x[0].max(0.0).into();
            y.sqrt().into()
        },
        &[x],
    )[0]
}

#[test]
fn a_branch_that_is_not_taken_contributes_nothing() {
    let x = [4.0, -1.0, 0.25, -9.0, 1.0, 1.0, -1.0, 1.0, 4.0];
    let gradient = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, sum) = tape.record(|scope| {
            let x = scope.view([9], &x);
            let sum = parallel_sum(x.all(), &x, |x| {
                let x = x.at::<0>();
                x.ge(0.0).select(x.sqrt(), 2.0 * x)
            });
            (x, sum)
        });
        bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"))
    });
    for (x, slope) in x.iter().zip(gradient) {
        assert_eq!(f64::from_bits(slope), if *x >= 0.0 { 0.5 / x.sqrt() } else { 2.0 });
    }
}

#[test]
fn the_adjoint_of_an_extremum_goes_to_the_first_point() {
    let x = [1.0, 3.0, f64::NAN, 3.0, -2.0, -2.0];
    let mut tape = Tape::<PrimalValue>::new();
    let (x, most, least) = tape.record(|scope| {
        let x = scope.view([6], &x);
        let most = parallel_max(x.all(), &x, |x| 2.0 * x.at::<0>());
        let least = parallel_min(x.all(), &x, |x| x.at::<0>().square() * x.at::<0>());
        (x, most, least)
    });
    assert_eq!((most.value(), least.value()), (6.0, -8.0));
    assert_eq!(*tape.sweep(&[(&most, 1.0)]).expect("swept").of_view(&x).expect("x"), [0.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(*tape.sweep(&[(&least, 1.0)]).expect("swept").of_view(&x).expect("x"), [0.0, 0.0, 0.0, 0.0, 12.0, 0.0]);
}

#[test]
fn temporaries_count_once() {
    fn f<S: Taping<Value = f64>>(x: &View<S, 1>) -> Real<S> {
        let mut y = View::zeros(x.shape());
        parallel_for(1..x.len() - 1, (x, &mut y), |(x, _)| {
            let e = (x.at::<-1>() * x.at::<1>()).exp();
            (e.bind::<0, _>(|e| (e * e + x.at::<0>()).bind::<1, _>(|q| q * q / (1.0 + e * q * q))),)
        });
        parallel_sum(y.all(), &y, |y| y.at::<0>())
    }
    let n = 23;
    let at = numbers(n, 9);
    let gradient = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, sum) = tape.record(|scope| {
            let x = scope.view([n], &at);
            let sum = f(&x);
            (x, sum)
        });
        bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"))
    });
    for k in 0..n {
        let moved = |h: f64| {
            let at: Vec<f64> = at.iter().enumerate().map(|(j, x)| if j == k { x + h } else { *x }).collect();
            f::<Passive>(&View::new([n], &at)).value()
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((f64::from_bits(gradient[k]) - slope).abs() < 1e-8, "element {k}");
    }
}

#[test]
fn an_extremum_of_zeros_of_both_signs_is_the_first_of_them() {
    let mut state = 1_u64;
    for n in 5..60 {
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            [0.0, -0.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0][(state >> 61) as usize]
        };
        let mut at: Vec<f64> = (0..n).map(|_| random()).collect();
        at[n - 1] = 0.0;
        let first = at.iter().copied().find(|x| *x == 0.0).expect("the last one is");
        let [most, least] = at_every_level(|| {
            let x = View::<Passive, 1>::new([n], &at);
            let most = parallel_max(x.all(), &x, |x| x.at::<0>());
            let least = parallel_min(x.all(), &x, |x| -x.at::<0>());
            [most.value().to_bits(), least.value().to_bits()]
        });
        assert_eq!((most, least), (first.to_bits(), (-first).to_bits()), "{at:?}");
    }
}
