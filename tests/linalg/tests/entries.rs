//! Linear algebra as single entries, against differences, under every strategy with external entries, by nalgebra and
//! by faer.

#[path = "entries/backends.rs"]
mod backends;
#[cfg(feature = "faer")]
#[path = "entries/by_faer.rs"]
mod by_faer;
#[path = "entries/counted.rs"]
mod counted;
#[path = "entries/eigenvalues.rs"]
mod eigenvalues;
#[path = "entries/errors.rs"]
mod errors;
#[path = "entries/memory.rs"]
mod memory;
#[path = "entries/precision.rs"]
mod precision;
#[cfg(feature = "faer")]
#[path = "entries/sparse.rs"]
mod sparse;

use backends::{Dense, Vector};
use tapewright::check::GradientMismatch;
use tapewright::linalg::{self, Cholesky, Lu};
use tapewright::prelude::*;
use tapewright::{Checked, Closed, Spilled, check_gradient};
use tapewright_linalg_tests::{assert_close, scattered};

/// Each row is a function of so many inputs, generic over the strategy and the library `D`, whose tests are
/// `check_gradient!` and the same gradient under all strategies and by both libraries. `matrix` and `vector` make
/// operands of variables; the result is what `body` leaves in a vector.
macro_rules! entries {
    ($($name:ident $n:literal |$x:ident, $d:ident| $body:expr;)*) => { $(
        mod $name {
            use super::*;

            pub(super) fn body<$d: Dense, S: Taping<Value = f64>>(reals: &[Real<S>]) -> Vec<Real<S>> {
                let $x = Closed::wrap_slice(reals);
                let results: Vec<Closed<S>> = $body;
                results.into_iter().map(Closed::open).collect()
            }

            #[test]
            fn by_nalgebra() -> Result<(), GradientMismatch> {
                agrees::<backends::ByNalgebra>()
            }

            #[cfg(feature = "faer")]
            #[test]
            fn by_faer() -> Result<(), GradientMismatch> {
                agrees::<backends::ByFaer>()?;
                let x = scattered($n);
                let (ours, theirs) = (rows::<backends::ByFaer>(&x), rows::<backends::ByNalgebra>(&x));
                assert_close(stringify!($name), &ours.concat(), &theirs.concat(), 1e-11);
                Ok(())
            }

            fn rows<D: Dense>(x: &[f64]) -> Vec<Vec<f64>> {
                jacobian::<Jacobian>(body::<D, _>, x).1
            }

            fn agrees<D: Dense>() -> Result<(), GradientMismatch> {
                let x = scattered($n);
                let report = check_gradient!(Jacobian, body::<D, _>, &x)?;
                assert!(report.order > 1.9, "{}", report.order);
                let expected = rows::<D>(&x).concat();
                assert!(expected.iter().any(|slope| slope.abs() > 1e-3), "it moves");
                let same = |how: &str, found: Vec<Vec<f64>>| {
                    assert_close(&format!("{} {how}", stringify!($name)), &found.concat(), &expected, 1e-10);
                };
                same("forward", jacobian_forward::<Tangent<4>>(body::<D, _>, &x).1);
                same("primal", jacobian::<PrimalValue>(body::<D, _>, &x).1);
                same("reused", jacobian::<Jacobian<f64, Reuse>>(body::<D, _>, &x).1);
                same("by differences", tapewright_linalg_tests::jacobian_by_differences(values::<D>, &x, &expected));
                if cfg!(feature = "wide") {
                    same("hybrid", jacobian::<Hybrid>(body::<D, _>, &x).1);
                    same("continued", jacobian::<Continuation>(body::<D, _>, &x).1);
                    same("shared", jacobian::<Jacobian<f64, Linear, Shared>>(body::<D, _>, &x).1);
                    same("primal, reused", jacobian::<PrimalValue<f64, Reuse>>(body::<D, _>, &x).1);
                    same("spilled", jacobian::<PrimalValue<f64, Linear, Spilled>>(body::<D, _>, &x).1);
                    same("checked", jacobian::<Checked<Jacobian>>(body::<D, _>, &x).1);
                }
                Ok(())
            }

            fn values<D: Dense>(x: &[f64]) -> Vec<f64> {
                body::<D, Passive>(Real::wrap_slice(x)).iter().map(Real::value).collect()
            }
        }
    )* };
}

/// A regular matrix.
fn regular<D: Dense, S: Taping<Value = f64>>(x: &[Closed<S>], n: usize) -> D::Matrix<S> {
    D::matrix(n, n, &shifted(x, n, 2.0))
}

/// The entries of a matrix with a large diagonal.
fn shifted<S: Taping<Value = f64>>(x: &[Closed<S>], n: usize, by: f64) -> Vec<Closed<S>> {
    (0..n * n).map(|k| if k % (n + 1) == 0 { &x[k] + by } else { x[k].clone() }).collect()
}

fn vector<D: Dense, S: Taping<Value = f64>>(x: &[Closed<S>]) -> D::Vector<S> {
    D::vector(x)
}

/// A passive matrix.
fn constant<D: Dense, S: Taping<Value = f64>>(n: usize, by: f64) -> D::Matrix<S> {
    let numbers: Vec<Closed<S>> = scattered(n * n).into_iter().map(Closed::from).collect();
    regular_by::<D, S>(&numbers, n, by)
}

fn regular_by<D: Dense, S: Taping<Value = f64>>(x: &[Closed<S>], n: usize, by: f64) -> D::Matrix<S> {
    D::matrix(n, n, &shifted(x, n, by))
}

entries! {
    product 15 |x, D| Vector::entries(linalg::product(&D::matrix(3, 3, &x[..9]), &D::matrix(3, 2, &x[9..])).unwrap());
    product_with_a_vector 16 |x, D| linalg::product(&D::matrix(3, 4, &x[..12]), &vector::<D, S>(&x[12..])).unwrap().entries();
    constant_times_matrix 9 |x, D| linalg::product(&constant::<D, S>(3, 0.0), &D::matrix(3, 3, x)).unwrap().entries();
    matrix_times_constant 9 |x, D| linalg::product(&D::matrix(3, 3, x), &constant::<D, S>(3, 0.0)).unwrap().entries();
    square_of_a_matrix 9 |x, D| { let a: D::Matrix<S> = D::matrix(3, 3, x); linalg::product(&a, &a).unwrap().entries() };
    solution 20 |x, D| linalg::solve(&regular::<D, S>(x, 4), &vector::<D, S>(&x[16..])).unwrap().entries();
    solutions 15 |x, D| linalg::solve(&regular::<D, S>(x, 3), &D::matrix(3, 2, &x[9..])).unwrap().entries();
    pivoted_solution 20 |x, D| linalg::solve(&D::matrix(4, 4, &x[..16]), &vector::<D, S>(&x[16..])).unwrap().entries();
    solution_with_a_constant_matrix 4 |x, D| linalg::solve(&constant::<D, S>(4, 2.0), &vector::<D, S>(x)).unwrap().entries();
    solution_for_a_constant 16 |x, D| {
        let ones: Vec<Closed<S>> = (1..5).map(Closed::from).collect();
        linalg::solve(&regular::<D, S>(x, 4), &vector::<D, S>(&ones)).unwrap().entries()
    };
    ln_det 16 |x, D| vec![Lu::new(&D::matrix(4, 4, x)).unwrap().ln_det().0];
    inverse 9 |x, D| Lu::new(&regular::<D, S>(x, 3)).unwrap().inverse().entries();
    everything_of_one_factorization 12 |x, D| {
        let a = regular::<D, S>(x, 3);
        let lu = Lu::new(&a).unwrap();
        let mut results = lu.solve(&vector::<D, S>(&x[9..])).unwrap().entries();
        results.push(lu.ln_det().0);
        results.extend(lu.inverse().entries());
        results
    };
    cholesky_solution 20 |x, D| {
        let a = regular_by::<D, S>(x, 4, 4.0);
        Cholesky::new(&a).unwrap().solve(&vector::<D, S>(&x[16..])).unwrap().entries()
    };
    cholesky_solutions 15 |x, D| {
        let a = regular_by::<D, S>(x, 3, 4.0);
        Cholesky::new(&a).unwrap().solve(&D::matrix(3, 2, &x[9..])).unwrap().entries()
    };
    cholesky_ln_det 9 |x, D| vec![Cholesky::new(&regular_by::<D, S>(x, 3, 4.0)).unwrap().ln_det()];
    cholesky_factor 16 |x, D| Cholesky::new(&regular_by::<D, S>(x, 4, 4.0)).unwrap().l().entries();
    eigenvalues_alone 16 |x, D| linalg::symmetric_eigenvalues(&D::matrix(4, 4, x)).unwrap();
    eigenvalues_and_vectors 16 |x, D| {
        let (values, vectors) = linalg::symmetric_eigen(&D::matrix(4, 4, x)).unwrap();
        values.into_iter().chain(vectors.entries()).collect()
    };
    normal_density 20 |x, D| {
        let (sigma, r) = (regular_by::<D, S>(x, 4, 4.0), vector::<D, S>(&x[16..]));
        let factors = Cholesky::new(&sigma).unwrap();
        let solved = factors.solve(&r).unwrap().entries();
        let square = r.entries().into_iter().zip(solved).map(|(r, z)| r * z).sum::<Closed<S>>();
        vec![square + factors.ln_det()]
    };
}
