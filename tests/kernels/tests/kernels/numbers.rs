//! Kernels over numbers of several parts: Hessian products through launches, and evaluations in lanes.

use super::Product;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::{Dual, Number};

const SHAPE: [usize; 2] = [6, 7];

/// Steps of Burgers' equation in two dimensions, with a border, functions that are computed by rules, and a selection.
fn burgers<S: Taping>(start: &View<S, 2>, viscosity: &Real<S>) -> Real<S> {
    let (mut u, mut v) = (start.clone(), start.clone());
    for _ in 0..4 {
        parallel_for(u.interior(1), (&mut u, &mut v, viscosity), |(u, v, nu)| {
            let (a, b) = (u.at::<0, 0>(), v.at::<0, 0>());
            let spread = u.at::<1, 0>() + u.at::<-1, 0>() + u.at::<0, 1>() + u.at::<0, -1>() - 4.0 * a;
            let drift = a * (u.at::<1, 0>() - u.at::<-1, 0>()) + b * (u.at::<0, 1>() - u.at::<0, -1>());
            (
                a + 0.05 * nu * spread - 0.1 * drift,
                b + 0.02 * (a * b).tanh() + (a * 0.3).exp().max(b) * 0.01 - a.ternary::<Product, _, _>(b, nu) * 0.02,
            )
        });
    }
    parallel_sum(u.all(), (&u, &v), |(u, v)| {
        let (a, b) = (u.at::<0, 0>(), v.at::<0, 0>());
        a * a * b + (a * a + b * b + 1.0).sqrt() + (a - 0.3).abs()
    })
}

fn temperatures(shift: f64) -> Vec<f64> {
    (0..42).map(|k| 0.4 + 0.1 * f64::from((k * 13) % 17) / 17.0 + shift * f64::from(k % 3)).collect()
}

/// The gradient, and the derivatives of the gradient along a direction, by one sweep over duals. The tangents are along
/// once, twice, four times … the direction.
fn by_duals<S: Reverse<Value = Dual<f64, N>>, const N: usize>() -> (Vec<f64>, Vec<f64>) {
    let mut tape = Tape::<S>::new();
    let times = |k: usize| f64::from(1 << k);
    let dual = |(value, tangent): (f64, f64)| Dual { value, tangents: core::array::from_fn(|k| times(k) * tangent) };
    let values: Vec<_> = temperatures(0.0).into_iter().zip(direction()).map(dual).collect();
    let (start, nu, sum) = tape.record(|scope| {
        let (start, nu) = (scope.view(SHAPE, &values), scope.input(dual((0.7, 0.25))));
        let sum = burgers(&start, &nu);
        (start, nu, sum)
    });
    let adjoints = tape.sweep(&[(&sum, Dual::ONE)]).expect("its own");
    let mut all = adjoints.of_view(&start).expect("an input").to_vec();
    all.push(adjoints.of(&nu).expect("an input"));
    for a in &all {
        assert!((0..N).all(|k| a.tangents[k] == times(k) * a.tangents[0]), "{:?}", a.tangents);
    }
    (all.iter().map(|a| a.value).collect(), all.iter().map(|a| a.tangents[0]).collect())
}

fn direction() -> impl Iterator<Item = f64> {
    (0..42).map(|k| f64::from(k % 5) * 0.5 - 1.0)
}

fn plain(t: f64) -> Vec<f64> {
    let mut tape = Tape::<Jacobian>::new();
    let values: Vec<f64> = temperatures(0.0).into_iter().zip(direction()).map(|(x, d)| x + t * d).collect();
    let (start, nu, sum) = tape.record(|scope| {
        let (start, nu) = (scope.view(SHAPE, &values), scope.input(0.7 + 0.25 * t));
        let sum = burgers(&start, &nu);
        (start, nu, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own");
    let mut all = adjoints.of_view(&start).expect("an input").to_vec();
    all.push(adjoints.of(&nu).expect("an input"));
    all
}

/// Row K15: Hessian–vector products of parallel code.
#[test]
fn k15_hessian_products_through_launches() {
    let h = 1e-4;
    let expected: Vec<f64> = plain(h).iter().zip(plain(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
    for (gradient, product) in [
        by_duals::<Jacobian<Dual<f64, 1>>, 1>(),
        by_duals::<PrimalValue<Dual<f64, 1>>, 1>(),
        by_duals::<PrimalValue<Dual<f64, 1>, Reuse>, 1>(),
        by_duals::<Continuation<Dual<f64, 1>>, 1>(),
        // Of 24 bytes, which do not fill a cache line.
        by_duals::<Jacobian<Dual<f64, 2>>, 2>(),
    ] {
        for (found, expected) in gradient.iter().zip(plain(0.0)) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} is not {expected}");
        }
        for (found, expected) in product.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
        }
    }
}

#[test]
fn launches_in_lanes() {
    fn gradient<S: Reverse>(values: &[S::Value]) -> (S::Value, Vec<S::Value>) {
        let mut tape = Tape::<S>::new();
        let (start, sum) = tape.record(|scope| {
            let start = scope.view(SHAPE, values);
            let sum = burgers(&start, &Real::from(0.7));
            (start, sum)
        });
        let adjoints = tape.sweep(&[(&sum, S::Value::ONE)]).expect("its own");
        (sum.value(), adjoints.of_view(&start).expect("an input").to_vec())
    }
    let sets: [Vec<f64>; 2] = [temperatures(0.0), temperatures(-0.2)];
    let packs: Vec<Pack<2>> = (0..42).map(|k| Pack([sets[0][k], sets[1][k]])).collect();
    let (value, slopes) = gradient::<PrimalValue<Pack<2>>>(&packs);
    for (lane, set) in sets.iter().enumerate() {
        let (alone, expected) = gradient::<Jacobian>(set);
        assert!((value[lane] - alone).abs() <= 1e-13 * alone.abs());
        for (found, expected) in slopes.iter().zip(&expected) {
            assert!((found[lane] - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} {expected} {lane}");
        }
    }
}

#[test]
#[should_panic(expected = "duals of duals")]
fn rules_of_kernels_have_no_third_derivatives() {
    type S = Jacobian<Dual<Dual<f64, 1>, 1>>;
    Tape::<S>::new().record(|scope| {
        let x = scope.view([3], &[Dual::ONE; 3]);
        parallel_sum(x.all(), &x, |x| x.at::<0>().exp())
    });
}
