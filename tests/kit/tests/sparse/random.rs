//! Random structured functions under all kinds of strategies: the sparse matrices are the dense ones, entry by entry.

use super::record;
use proptest::prelude::{ProptestConfig, any, proptest};
use tapewright::prelude::*;
use tapewright::sparse::{SparseHessian, SparseJacobian, sparse_jacobian};
use tapewright::{Continuation, Dual, Hybrid, Linear, PrimalValue, Reuse, Spilled, dot, hessian, jacobian, logsumexp};

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) >> 33).unwrap_or(0) % n
    }
}

/// Statements that read a few of what was computed before them, each of a kind that is not linear in other places.
fn values<S: Taping>(seed: u64, steps: usize, x: &[Real<S>]) -> Vec<Real<S>> {
    let mut random = Random(seed);
    let mut all: Vec<Real<S>> = x.to_vec();
    for _ in 0..steps {
        // Near each other, as in a grid.
        let at = random.below(all.len());
        let mut near = || all[(at + random.below(3)).min(all.len() - 1)].clone();
        let (a, b, c, d) = (near(), near(), near(), near());
        let next: Real<S> = match random.below(10) {
            0 => (&a + 2.0 * &b - &c).into(),
            1 => (0.5 * &a * &b + &c).into(),
            2 => (&a / (2.0 + &b * &b) - 0.5 * &d).into(),
            3 => ((&a + &b).sin() + &c * 3.0).into(),
            4 => ((&a - &b).max(&c * &d) * 0.5).into(),
            5 => dot(&[a, b], &[c, d]),
            6 => logsumexp(&[a, b]),
            7 => tapewright::sum(&[a, b, c]),
            8 => (Real::from(1.5) * &a + Real::from(0.5)).into(),
            _ => (-(&a * &a) / (1.0 + &a * &a) * &b + c.atan().exp() / 7.0).into(),
        };
        all.push(next);
    }
    all
}

fn outputs<S: Taping>(seed: u64, x: &[Real<S>]) -> Vec<Real<S>> {
    let all = values(seed, 40, x);
    let mut random = Random(!seed);
    (0..12).map(|_| all[random.below(all.len())].clone()).collect()
}

fn output<S: Taping>(seed: u64, x: &[Real<S>]) -> Real<S> {
    let mut sum = Real::<S>::from(0.0);
    for value in outputs(seed, x) {
        sum += &value;
    }
    sum
}

fn point(seed: u64) -> Vec<f64> {
    let mut random = Random(seed ^ 7);
    (0..9).map(|_| f64::from(u32::try_from(random.below(1000)).unwrap_or(0)) / 1000.0 - 0.4).collect()
}

/// The matrices of a recording by rows, and those of the plain drivers.
fn check_jacobian<S: Reverse<Value = f64>>(seed: u64) {
    let x = point(seed);
    let f = |x: &[Real<S>]| outputs(seed, x);
    let (values, dense) = jacobian::<S>(f, &x);
    let (found, sparse) = sparse_jacobian::<S>(f, &x).expect("there is a matrix");
    assert_eq!(values, found);
    for (i, (sparse, dense)) in sparse.to_dense().iter().zip(&dense).enumerate() {
        for (j, (found, expected)) in sparse.iter().zip(dense).enumerate() {
            let most = 1e-13 * (1.0 + expected.abs());
            assert!((found - expected).abs() <= most, "seed {seed}, ({i}, {j}): {found}, not {expected}");
        }
    }
    // At another point, and with a pattern that has every entry.
    let again: Vec<f64> = x.iter().map(|x| x + 0.01).collect();
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, f, &again);
    let mut kept = SparseJacobian::with_pattern(sparse.pattern().clone());
    let found = kept.evaluate(&mut tape, &x, &y).expect("it reads the same variables").clone();
    let (_, dense) = jacobian::<S>(f, &again);
    found.iter().for_each(|(i, j, value)| assert!((value - dense[i][j]).abs() <= 1e-13 * (1.0 + value.abs())));
}

fn check_hessian<S: Reverse<Value = Dual<f64, 3>>>(seed: u64) {
    let x = point(seed);
    let f = |x: &[Real<S>]| output(seed, x);
    let (value, gradient, dense) = hessian::<S>(f, &x);
    let mut tape = Tape::<S>::new();
    let mut sparse = SparseHessian::new(&mut tape, f, &x).expect("there is a pattern");
    let mut slopes = vec![0.0; x.len()];
    assert_eq!(sparse.evaluate(&mut tape, f, &x, &mut slopes), Ok(value));
    assert_eq!(slopes, gradient);
    // Entries are sums of terms as large as the largest entry, which may cancel, in an order of their own.
    let size = dense.iter().flatten().fold(1.0_f64, |size, entry| size.max(entry.abs()));
    for (i, (sparse, dense)) in sparse.matrix().to_dense().iter().zip(&dense).enumerate() {
        for (j, (found, expected)) in sparse.iter().zip(dense).enumerate() {
            assert!((found - expected).abs() <= 1e-12 * size, "seed {seed}, ({i}, {j}): {found}, not {expected}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn jacobian_matrices(seed in any::<u64>()) {
        check_jacobian::<Jacobian>(seed);
        check_jacobian::<PrimalValue<f64, Reuse>>(seed);
    }

    #[test]
    fn hessian_matrices(seed in any::<u64>()) {
        check_hessian::<Jacobian<Dual<f64, 3>>>(seed);
        check_hessian::<PrimalValue<Dual<f64, 3>, Reuse>>(seed);
    }
}

#[test]
fn of_every_kind_of_strategy() {
    check_hessian::<Jacobian<Dual<f64, 3>>>(12_322_778_242_819_220_335);
    for seed in 0..10 {
        check_jacobian::<Hybrid>(seed);
        check_jacobian::<Continuation>(seed);
        check_jacobian::<PrimalValue<f64, Linear, Spilled>>(seed);
        check_hessian::<Hybrid<Dual<f64, 3>>>(seed);
        check_hessian::<Continuation<Dual<f64, 3>>>(seed);
    }
}
