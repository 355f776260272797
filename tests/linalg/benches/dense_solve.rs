//! A dense system as an entry: what record and sweep take beside the factorization alone, in processor time.
//!
//! `cargo bench -p tapewright-linalg-tests --features faer --bench dense_solve` prints, for each library, the least of
//! seven times and their ratio, for a matrix of 1000 rows or of as many as an argument says.
//!
//! Matrices of this size come and go as pages of the kernel, unless glibc is told to keep memory, as `compare` does for
//! what it runs: `MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=8589934592`.

use cpu_time::ProcessTime;
use nalgebra::{DMatrix, DVector};
use tapewright::linalg::{self, Backend, Matrix};
use tapewright::{Closed, prelude::*};
use tapewright_linalg_tests::scattered;

/// The least of seven times, in milliseconds.
fn least(mut f: impl FnMut() -> f64) -> f64 {
    (0..7).map(|_| f()).fold(f64::INFINITY, f64::min)
}

fn milliseconds(f: impl FnOnce()) -> f64 {
    let start = ProcessTime::now();
    f();
    1e3 * start.elapsed().as_secs_f64()
}

/// A regular matrix, column after column, and a right-hand side.
fn system(n: usize) -> Vec<f64> {
    let mut numbers = scattered(n * n + n);
    (0..n).for_each(|k| numbers[k * (n + 1)] += 4.0);
    numbers
}

/// Record and sweep of Σxᵢ², for all entries of the matrix and of the right-hand side.
fn gradient_of<A, B>(numbers: &[f64], n: usize) -> f64
where
    A: Matrix<Strategy = Jacobian>,
    B: Matrix<Strategy = Jacobian, Backend = A::Backend>,
{
    let mut tape = Tape::<Jacobian>::new();
    let mut gradient = vec![0.0; numbers.len()];
    let f = |x: &[Real<Jacobian>]| {
        let (matrix, right) = Closed::wrap_slice(x).split_at(n * n);
        let a = A::from_entries(n, n, matrix.to_vec());
        let x = linalg::solve(&a, &B::from_entries(n, 1, right.to_vec())).expect("regular");
        let x: Vec<Real<Jacobian>> = x.entries().map(|x| x.open()).collect();
        tapewright::dot(&x, &x)
    };
    least(|| milliseconds(|| _ = tape.gradient(f, numbers, &mut gradient).expect("a rule")))
}

fn compare<A, B>(name: &str, numbers: &[f64], n: usize)
where
    A: Matrix<Strategy = Jacobian>,
    B: Matrix<Strategy = Jacobian, Backend = A::Backend>,
{
    let copied = |matrix: Vec<f64>| milliseconds(|| _ = std::hint::black_box(A::Backend::factorize(n, matrix)));
    let factorized = least(|| copied(numbers[..n * n].to_vec()));
    let all = gradient_of::<A, B>(numbers, n);
    println!(
        "{name:>9}, n = {n}: factorization {factorized:.2} ms, record and sweep {all:.2} ms, {:.3} times",
        all / factorized
    );
}

fn main() {
    let n = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let numbers = system(n);
    compare::<DMatrix<Closed<Jacobian>>, DVector<Closed<Jacobian>>>("nalgebra", &numbers, n);
    compare::<faer::Mat<Closed<Jacobian>>, faer::Col<Closed<Jacobian>>>("faer", &numbers, n);
}
