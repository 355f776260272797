//! Entries over numbers other than floats: second and third derivatives, and many evaluations at once.
//!
//! Each entry stands beside a program of elementary statements for the same thing. Both are recorded over the same
//! numbers; the entry over floats is compared, bit for bit, with the values of the one over duals and with the lanes of
//! the one over packs.

#[path = "numbers/eigenvalues.rs"]
mod eigenvalues;
#[path = "numbers/elementary.rs"]
mod elementary;
#[cfg(feature = "packs")]
#[path = "numbers/in_lanes.rs"]
mod in_lanes;
#[cfg(feature = "faer")]
#[path = "numbers/sparse.rs"]
mod sparse;

use nalgebra::{DMatrix, DVector};
use tapewright::linalg::{self, Cholesky, Element, Lu, Matrix};
use tapewright::prelude::*;
use tapewright::{Closed, Dual, Number, hessian, hvp};
use tapewright_linalg_tests::{assert_close, scattered};
use tapewright_test_support::bits;

/// A library.
pub(crate) trait Library {
    type Matrix<S: Strategy<Value: Element>>: Matrix<Strategy = S>;
    type Vector<S: Strategy<Value: Element>>: Matrix<Strategy = S, Backend = <Self::Matrix<S> as Matrix>::Backend>;
}

pub(crate) struct ByNalgebra;

impl Library for ByNalgebra {
    type Matrix<S: Strategy<Value: Element>> = DMatrix<Closed<S>>;
    type Vector<S: Strategy<Value: Element>> = DVector<Closed<S>>;
}

#[cfg(feature = "faer")]
pub(crate) struct ByFaer;

#[cfg(feature = "faer")]
impl Library for ByFaer {
    type Matrix<S: Strategy<Value: Element>> = faer::Mat<Closed<S>>;
    type Vector<S: Strategy<Value: Element>> = faer::Col<Closed<S>>;
}

/// An entry, and elementary statements for the same thing.
pub(crate) trait Row {
    const INPUTS: usize;
    fn entry<L: Library, S: Strategy<Value: Element>>(x: &[Real<S>]) -> Vec<Real<S>>;
    fn elementary<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>>;
}

/// A function of all results whose second and third derivatives by them are not 0.
pub(crate) fn weighed<S: Strategy>(results: Vec<Real<S>>) -> Real<S> {
    let weight = |k: usize| scattered(k + 1)[k] + 1.5;
    let terms = results.iter().enumerate().map(|(k, y)| (*y * *y * (*y * 0.1 + weight(k)) + *y * weight(k + 3)).eval());
    tapewright::sum(&terms.collect::<Vec<_>>())
}

fn entry<R: Row, L: Library, S: Strategy<Value: Element>>(x: &[Real<S>]) -> Real<S> {
    weighed(R::entry::<L, S>(x))
}

fn elementary<R: Row, S: Strategy>(x: &[Real<S>]) -> Real<S> {
    weighed(R::elementary(x))
}

type D1 = Dual<f64, 1>;
type D2 = Dual<D1, 1>;

/// The Hessian times a vector, in all ways.
fn second<R: Row, L: Library>(x: &[f64], v: &[f64]) {
    let (value, slopes, product) = hvp::<Jacobian<D1>>(entry::<R, L, _>, x, v);
    let (plain_value, plain_slopes) = value_and_gradient::<Jacobian>(entry::<R, L, _>, x);
    assert_eq!((value.to_bits(), bits(&slopes)), (plain_value.to_bits(), bits(&plain_slopes)), "values of duals");
    let (other_value, other_slopes, expected) = hvp::<Jacobian<D1>>(elementary::<R, _>, x, v);
    assert_close("value", &[value], &[other_value], 1e-12);
    assert_close("gradient", &slopes, &other_slopes, 1e-11);
    assert_close("product", &product, &expected, 1e-10);
    assert!(expected.iter().any(|entry| entry.abs() > 1e-3), "it bends");
    let at = |t: f64| -> Vec<f64> {
        let moved: Vec<f64> = x.iter().zip(v).map(|(x, v)| x + t * v).collect();
        gradient::<Jacobian>(entry::<R, L, _>, &moved)
    };
    let step = 1e-5;
    let by_differences: Vec<f64> = at(step).iter().zip(at(-step)).map(|(a, b)| (a - b) / (2.0 * step)).collect();
    assert_close("differences", &product, &by_differences, 1e-7);
    assert_close("primal", &hvp::<PrimalValue<D1>>(entry::<R, L, _>, x, v).2, &product, 1e-12);
    // Forward mode over duals: the derivative of the value along one direction, along another.
    let moving: Vec<D1> = x.iter().zip(v).map(|(x, v)| Dual { value: *x, tangents: [*v] }).collect();
    let along: Vec<D1> = scattered(x.len()).into_iter().map(Dual::constant).collect();
    let (_, forward) = jvp::<Tangent<1, D1>>(|x| vec![entry::<R, L, _>(x)], &moving, &along).expect("a direction");
    let sum: f64 = product.iter().zip(&along).map(|(product, along)| product * along.value).sum();
    assert_close("forward", &forward[0].tangents, &[sum], 1e-10);
    // Several directions at once.
    let rows = hessian::<Jacobian<Dual<f64, 3>>>(entry::<R, L, _>, x).2;
    let products: Vec<f64> = rows.iter().map(|row| row.iter().zip(v).map(|(entry, v)| entry * v).sum()).collect();
    assert_close("hessian", &products, &product, 1e-10);
}

/// Third derivatives, by duals of duals.
fn third<R: Row, L: Library>(x: &[f64], v: &[f64]) {
    let w = &scattered(2 * x.len())[x.len()..];
    let number = |k: usize| D2 {
        value: Dual { value: x[k], tangents: [v[k]] },
        tangents: [Dual { value: w[k], tangents: [0.0] }],
    };
    let at: Vec<D2> = (0..x.len()).map(number).collect();
    let parts = |slopes: Vec<D2>| slopes.iter().map(|slope| slope.tangents[0].tangents[0]).collect::<Vec<_>>();
    let found = parts(gradient::<Jacobian<D2>>(entry::<R, L, _>, &at));
    let expected = parts(gradient::<Jacobian<D2>>(elementary::<R, _>, &at));
    assert_close("third derivatives", &found, &expected, 1e-9);
    assert!(expected.iter().any(|entry| entry.abs() > 1e-3), "it bends");
}

pub(crate) fn agrees<R: Row, L: Library>() {
    let x = scattered(R::INPUTS);
    let v = &scattered(3 * R::INPUTS)[2 * R::INPUTS..];
    second::<R, L>(&x, v);
    third::<R, L>(&x, v);
}

/// The row `product 12 |x, L| entry; elementary;` becomes the tests `product::by_nalgebra`, `by_faer` and `in_lanes`.
macro_rules! rows {
    ($($name:ident $n:literal |$x:ident, $l:ident| $entry:expr; $elementary:expr;)*) => { $(
        mod $name {
            use super::*;

            pub(super) struct This;
            impl Row for This {
                const INPUTS: usize = $n;
                fn entry<$l: Library, S: Strategy<Value: Element>>($x: &[Real<S>]) -> Vec<Real<S>> {
                    $entry
                }
                fn elementary<S: Strategy>($x: &[Real<S>]) -> Vec<Real<S>> {
                    $elementary
                }
            }

            #[test]
            fn by_nalgebra() {
                agrees::<This, ByNalgebra>();
            }

            #[cfg(feature = "faer")]
            #[test]
            fn by_faer() {
                agrees::<This, ByFaer>();
            }

            #[cfg(feature = "packs")]
            #[test]
            fn in_lanes() {
                crate::in_lanes::agrees::<This, ByNalgebra>();
                #[cfg(feature = "faer")]
                crate::in_lanes::agrees::<This, ByFaer>();
            }
        }
    )* };
}
pub(crate) use rows;

pub(crate) fn matrix<M: Matrix<Strategy: Strategy>>(n: usize, x: &[Real<M::Strategy>]) -> M {
    M::from_entries(n, x.len() / n, x.iter().map(|x| Closed::from(*x)).collect())
}

/// The entries of a square matrix with more on its diagonal.
pub(crate) fn shifted<S: Strategy>(n: usize, x: &[Real<S>], by: f64) -> Vec<Real<S>> {
    (0..n * n).map(|k| if k % (n + 1) == 0 { (x[k] + by).eval() } else { x[k] }).collect()
}

/// The rows of a matrix in the opposite order: it needs pivots.
fn upside_down<S: Strategy>(n: usize, x: &[Real<S>]) -> Vec<Real<S>> {
    (0..x.len()).map(|k| x[k / n * n + (n - 1 - k % n)]).collect()
}

pub(crate) fn reals<M: Matrix<Strategy: Strategy>>(matrix: M) -> Vec<Real<M::Strategy>> {
    matrix.entries().map(|x| x.open()).collect()
}

rows! {
    product 15 |x, L| reals(linalg::product(&matrix::<L::Matrix<S>>(3, &x[..9]), &matrix::<L::Matrix<S>>(3, &x[9..])).unwrap());
        elementary::product(3, &x[..9], &x[9..]);
    product_with_a_constant 9 |x, L| {
        let constant: Vec<Real<S>> = scattered(9).into_iter().map(Real::from).collect();
        let first = linalg::product(&matrix::<L::Matrix<S>>(3, x), &matrix::<L::Matrix<S>>(3, &constant)).unwrap();
        reals(linalg::product(&matrix::<L::Matrix<S>>(3, &constant), &first).unwrap())
    };
    {
        let constant: Vec<Real<S>> = scattered(9).into_iter().map(Real::from).collect();
        elementary::product(3, &constant, &elementary::product(3, x, &constant))
    };
    solution 20 |x, L| {
        let a: L::Matrix<S> = matrix(4, &shifted(4, x, 3.0));
        reals(linalg::solve(&a, &matrix::<L::Vector<S>>(4, &x[16..])).unwrap())
    };
        elementary::solve(4, &shifted(4, x, 3.0), &x[16..]);
    pivoted_solutions 15 |x, L| {
        let a: L::Matrix<S> = matrix(3, &upside_down(3, &shifted(3, x, 3.0)));
        reals(linalg::solve(&a, &matrix::<L::Matrix<S>>(3, &upside_down(3, &x[9..]))).unwrap())
    };
        elementary::solve(3, &shifted(3, x, 3.0), &x[9..]);
    solution_for_a_constant 9 |x, L| {
        let (a, ones): (L::Matrix<S>, L::Vector<S>) = (matrix(3, &shifted(3, x, 3.0)), matrix(3, &[Real::from(1.0); 3]));
        reals(linalg::solve(&a, &ones).unwrap())
    };
        elementary::solve(3, &shifted(3, x, 3.0), &[Real::from(1.0); 3]);
    inverse 9 |x, L| reals(Lu::new(&matrix::<L::Matrix<S>>(3, &shifted(3, x, 3.0))).unwrap().inverse());
        elementary::inverse(3, &shifted(3, x, 3.0));
    ln_det 9 |x, L| vec![Lu::new(&matrix::<L::Matrix<S>>(3, &upside_down(3, &shifted(3, x, -3.0)))).unwrap().ln_det().0.open()];
        vec![elementary::ln_det(3, &shifted(3, x, -3.0))];
    cholesky_solution 20 |x, L| {
        let (a, b): (L::Matrix<S>, L::Vector<S>) = (matrix(4, &shifted(4, x, 5.0)), matrix(4, &x[16..]));
        reals(Cholesky::new(&a).unwrap().solve(&b).unwrap())
    };
        elementary::solve(4, &elementary::mirrored(4, &shifted(4, x, 5.0)), &x[16..]);
    cholesky_ln_det 9 |x, L| vec![Cholesky::new(&matrix::<L::Matrix<S>>(3, &shifted(3, x, 4.0))).unwrap().ln_det().open()];
        vec![elementary::ln_det(3, &elementary::mirrored(3, &shifted(3, x, 4.0)))];
    cholesky_factor 16 |x, L| reals(Cholesky::new(&matrix::<L::Matrix<S>>(4, &shifted(4, x, 4.0))).unwrap().l());
        elementary::cholesky(4, &shifted(4, x, 4.0));
    density 12 |x, L| {
        let (a, b): (L::Matrix<S>, L::Vector<S>) = (matrix(3, &shifted(3, x, 4.0)), matrix(3, &x[9..]));
        let factors = Cholesky::new(&a).unwrap();
        let mut results = reals(factors.solve(&b).unwrap());
        results.push(factors.ln_det().open());
        results.extend(reals(factors.l()));
        results
    };
    {
        let a = elementary::mirrored(3, &shifted(3, x, 4.0));
        let mut results = elementary::solve(3, &a, &x[9..]);
        results.push(elementary::ln_det(3, &a));
        results.extend(elementary::cholesky(3, &a));
        results
    };
}

/// What is passive moves, too, if it has tangents.
#[test]
fn constants_with_tangents() {
    let x = scattered(20);
    let direction = scattered(40)[20..].to_vec();
    let solved = |x: &[Real<Passive<D1>>]| weighed(solution::This::entry::<ByNalgebra, _>(x)).value();
    let numbers: Vec<Real<Passive<D1>>> =
        x.iter().zip(&direction).map(|(x, v)| Real::constant(Dual { value: *x, tangents: [*v] })).collect();
    let slope = gradient::<Jacobian>(entry::<solution::This, ByNalgebra, _>, &x);
    let expected: f64 = slope.iter().zip(&direction).map(|(slope, v)| slope * v).sum();
    assert_close("tangent", &solved(&numbers).tangents, &[expected], 1e-12);
}

/// Single precision agrees with double.
#[test]
fn duals_of_single_precision() {
    let (x, v) = (scattered(12), &scattered(24)[12..]);
    let single = |numbers: &[f64]| numbers.iter().map(|x| <f32 as Number>::from_f64(*x)).collect::<Vec<_>>();
    let found = hvp::<Jacobian<Dual<f32, 1>>>(entry::<density::This, ByNalgebra, _>, &single(&x), &single(v)).2;
    let expected = hvp::<Jacobian<D1>>(entry::<density::This, ByNalgebra, _>, &x, v).2;
    assert_close("single", &found.into_iter().map(f64::from).collect::<Vec<_>>(), &expected, 1e-4);
}
