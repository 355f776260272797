//! The same by elementary statements. Matrices are column after column.

use tapewright::prelude::*;

/// Subtracts a multiple of row k from row i.
fn subtract<S: Strategy>(columns: &mut [Real<S>], n: usize, (i, k): (usize, usize), factor: Real<S>) {
    columns.chunks_exact_mut(n).for_each(|column| column[i] = (column[i] - factor * column[k]).eval());
}

/// A·X = B, by elimination without exchanges.
pub(crate) fn solve<S: Strategy>(n: usize, a: &[Real<S>], b: &[Real<S>]) -> Vec<Real<S>> {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    for k in 0..n {
        for i in k + 1..n {
            let factor = (a[k * n + i] / a[k * n + k]).eval();
            subtract(&mut a[k * n..], n, (i, k), factor);
            subtract(&mut b, n, (i, k), factor);
        }
    }
    for j in 0..b.len() / n {
        for i in (0..n).rev() {
            let rest = (i + 1..n).fold(b[j * n + i], |rest, k| (rest - a[k * n + i] * b[j * n + k]).eval());
            b[j * n + i] = (rest / a[i * n + i]).eval();
        }
    }
    b
}

/// ln |det A|, by elimination.
pub(crate) fn ln_det<S: Strategy>(n: usize, a: &[Real<S>]) -> Real<S> {
    let mut a = a.to_vec();
    let mut sum = Real::from(0.0);
    for k in 0..n {
        for i in k + 1..n {
            let factor = (a[k * n + i] / a[k * n + k]).eval();
            subtract(&mut a[k * n..], n, (i, k), factor);
        }
        sum += a[k * n + k].abs().ln();
    }
    sum
}

pub(crate) fn inverse<S: Strategy>(n: usize, a: &[Real<S>]) -> Vec<Real<S>> {
    let one = |k: usize| Real::from(if k.is_multiple_of(n + 1) { 1.0 } else { 0.0 });
    solve(n, a, &(0..n * n).map(one).collect::<Vec<_>>())
}

pub(crate) fn product<S: Strategy>(n: usize, a: &[Real<S>], b: &[Real<S>]) -> Vec<Real<S>> {
    let rows = a.len() / n;
    let entry =
        |i: usize, j: usize| (0..n).fold(Real::from(0.0), |sum, k| (sum + a[k * rows + i] * b[j * n + k]).eval());
    (0..b.len() / n).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| entry(i, j)).collect()
}

/// The symmetric matrix with this lower triangle.
pub(crate) fn mirrored<S: Strategy>(n: usize, a: &[Real<S>]) -> Vec<Real<S>> {
    (0..n * n).map(|k| if k % n < k / n { a[k % n * n + k / n] } else { a[k] }).collect()
}

/// L with A = L·Lᵀ.
pub(crate) fn cholesky<S: Strategy>(n: usize, a: &[Real<S>]) -> Vec<Real<S>> {
    let mut l = vec![Real::from(0.0); n * n];
    for j in 0..n {
        for i in j..n {
            let rest = (0..j).fold(a[j * n + i], |rest, k| (rest - l[k * n + i] * l[k * n + j]).eval());
            l[j * n + i] = if i == j { rest.sqrt().eval() } else { (rest / l[j * n + j]).eval() };
        }
    }
    l
}
