//! How often a matrix is factorized, by a library of the test's own that counts.

use nalgebra::{DMatrix, Dyn, LU};
use std::cell::Cell;
use tapewright::implicit::{self, Equations};
use tapewright::linalg::{Backend, Block, Cholesky, Element, Factors, Lu, Matrix, Nalgebra};
use tapewright::prelude::*;
use tapewright::{Closed, Dual, Error, Number, hvp};
use tapewright_linalg_tests::{assert_close, scattered};

thread_local! {
    static FACTORIZATIONS: Cell<usize> = const { Cell::new(0) };
    static SOLUTIONS: Cell<usize> = const { Cell::new(0) };
}

/// nalgebra, counted.
#[derive(Debug)]
struct Counting;

/// Its factors.
struct Counted(LU<f64, Dyn, Dyn>);

fn count(what: &'static std::thread::LocalKey<Cell<usize>>) {
    what.set(what.get() + 1);
}

impl Factors<f64> for Counted {
    fn pivots(&self) -> Vec<f64> {
        self.0.pivots()
    }
    fn is_odd(&self) -> bool {
        self.0.is_odd()
    }
    fn solve(&self, right: &mut [f64]) {
        count(&SOLUTIONS);
        Factors::solve(&self.0, right);
    }
    fn solve_transposed(&self, right: &mut [f64]) {
        count(&SOLUTIONS);
        self.0.solve_transposed(right);
    }
    fn owned_bytes(&self) -> usize {
        self.0.owned_bytes()
    }
}

impl Backend<f64> for Counting {
    type Factors = Counted;
    fn factorize(n: usize, matrix: Vec<f64>) -> Counted {
        count(&FACTORIZATIONS);
        Counted(Nalgebra::factorize(n, matrix))
    }
    fn cholesky(n: usize, matrix: Vec<f64>) -> Option<Vec<f64>> {
        count(&FACTORIZATIONS);
        Nalgebra::cholesky(n, matrix)
    }
    fn solve_lower(n: usize, lower: &[f64], transposed: bool, right: &mut [f64]) {
        count(&SOLUTIONS);
        Nalgebra::solve_lower(n, lower, transposed, right);
    }
    fn multiply(scale: f64, left: Block<'_, f64>, right: Block<'_, f64>, sum: &mut [f64]) {
        Nalgebra::multiply(scale, left, right, sum);
    }
    fn eigen(n: usize, matrix: Vec<f64>) -> Option<(Vec<f64>, Vec<f64>)> {
        count(&FACTORIZATIONS);
        Nalgebra::eigen(n, matrix)
    }
    fn svd(rows: usize, columns: usize, matrix: Vec<f64>) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        count(&FACTORIZATIONS);
        Nalgebra::svd(rows, columns, matrix)
    }
    fn eigenvalues(n: usize, matrix: Vec<f64>) -> Option<Vec<(f64, f64)>> {
        count(&FACTORIZATIONS);
        Nalgebra::eigenvalues(n, matrix)
    }
}

/// A matrix for it.
struct Mine<S: Taping>(DMatrix<Closed<S>>);

impl<S: Taping<Value: Element<Scalar = f64>>> Matrix for Mine<S> {
    type Strategy = S;
    type Backend = Counting;
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }
    fn entries(&self) -> impl Iterator<Item = &Closed<S>> {
        self.0.iter()
    }
    fn from_entries(rows: usize, columns: usize, entries: Vec<Closed<S>>) -> Self {
        Self(DMatrix::from_vec(rows, columns, entries))
    }
}

/// Factorizations and solutions since the last call.
fn counts() -> (usize, usize) {
    (FACTORIZATIONS.take(), SOLUTIONS.take())
}

fn matrix<S: Taping<Value: Element<Scalar = f64>>>(x: &[Real<S>], n: usize) -> Mine<S> {
    let entry = |i: usize, j: usize| {
        if i == j { Closed::<S>::from(x[i + n * j].clone()) + 5.0 } else { x[i + n * j].clone().into() }
    };
    Mine(DMatrix::from_fn(n, n, entry))
}

fn right<S: Taping<Value: Element<Scalar = f64>>>(x: &[Real<S>], n: usize) -> Mine<S> {
    Mine(DMatrix::from_fn(n, 1, |i, _| x[n * n + i].clone().into()))
}

fn solved<S: Taping<Value: Element<Scalar = f64>>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let (a, b) = (matrix(x, 4), right(x, 4));
    Lu::new(&a).and_then(|lu| lu.solve(&b)).expect("regular").0.iter().map(|x| x.clone().open()).collect()
}

#[test]
fn a_recording_and_three_sweeps_of_four_vectors_factorize_once() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let _ = counts();
    let (inputs, x) = tape.record(|scope| {
        let inputs = scope.inputs(&scattered(20));
        let x = solved(&inputs);
        (inputs, x)
    });
    assert_eq!(counts(), (1, 1), "one solution for the value");
    let first = tape.sweep(&[(&x[0], 1.0)])?.of_all(&inputs)?;
    let again = tape.sweep(&[(&x[0], 1.0)])?.of_all(&inputs)?;
    assert_eq!((first, counts()), (again, (0, 2)), "one solution for each sweep");
    let unit = |k: usize| core::array::from_fn(|l| if l == k { 1.0 } else { 0.0 });
    let seeds: Vec<(&Real<Jacobian>, [f64; 4])> = x.iter().enumerate().map(|(k, x)| (x, unit(k))).collect();
    tape.sweep_lanes(&seeds)?;
    assert_eq!(counts(), (0, 4), "one for each adjoint vector");
    Ok(())
}

#[test]
fn forward_mode_factorizes_once_for_all_its_directions() {
    let x = scattered(20);
    let _ = counts();
    let direction = vec![1.0; x.len()];
    jvp::<Tangent>(solved, &x, &direction).expect("as many as inputs");
    assert_eq!(counts(), (1, 2));
    let directions = [direction, x.clone(), scattered(20), vec![0.5; 20]];
    jvps::<Tangent<4>>(solved, &x, &directions).expect("as many as inputs");
    assert_eq!(counts(), (1, 5));
}

#[test]
fn solutions_and_determinant_of_a_matrix_share_a_factorization() {
    let f = |x: &[Real<Jacobian>]| {
        let (a, b) = (matrix(x, 4), right(x, 4));
        let factors = Cholesky::new(&a).expect("a large diagonal");
        let z = factors.solve(&b).expect("as many rows").0;
        (z.dot(&b.0) + factors.ln_det() + factors.l().0[(3, 3)]).open()
    };
    let _ = counts();
    gradient::<Jacobian>(f, &scattered(20));
    assert_eq!(counts().0, 1);
}

#[test]
fn eigenvectors_are_found_once() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let _ = counts();
    let values = tape.record(|scope| {
        let inputs = scope.inputs(&scattered(16));
        tapewright::linalg::symmetric_eigenvalues(&matrix(&inputs, 4)).expect("finite")
    });
    for value in values {
        tape.sweep(&[(value.as_real(), 1.0)])?;
    }
    assert_eq!(counts(), (1, 0));
    Ok(())
}

/// Every entry of a matrix, by one factorization each of both kinds, and one for the eigenvalues.
fn everything<S: Taping<Value: Element<Scalar = f64>>>(x: &[Real<S>]) -> Real<S> {
    let (a, b) = (matrix(x, 4), right(x, 4));
    let lu = Lu::new(&a).expect("regular");
    let cholesky = Cholesky::new(&a).expect("a large diagonal");
    let mut results = vec![lu.ln_det().0, cholesky.ln_det()];
    for solved in [lu.solve(&b), cholesky.solve(&b), Ok(lu.inverse()), Ok(cholesky.l())] {
        results.extend(solved.expect("as many rows").0.iter().cloned());
    }
    results.extend(tapewright::linalg::symmetric_eigenvalues(&a).expect("finite"));
    results.into_iter().sum::<Closed<S>>().open()
}

#[test]
fn duals_factorize_once() {
    let (x, v) = (scattered(20), scattered(40)[20..].to_vec());
    let _ = counts();
    hvp::<Jacobian<Dual<f64, 1>>>(everything, &x, &v);
    assert_eq!(counts().0, 3, "L·U, L·Lᵀ and the eigenvectors");
    let many: Vec<Dual<Dual<f64, 3>, 2>> =
        x.iter().map(|x| Dual::constant(Dual { value: *x, tangents: [*x; 3] })).collect();
    gradient::<Jacobian<Dual<Dual<f64, 3>, 2>>>(everything, &many);
    assert_eq!(counts().0, 3, "six tangents of two orders");
}

/// A solution, and one for all tangents; a sweep does the same with the transpose.
#[test]
fn duals_solve_for_all_tangents_at_once() -> Result<(), Error> {
    let numbers: Vec<Dual<f64, 3>> =
        scattered(20).iter().map(|x| Dual { value: *x, tangents: [1.0, *x, -1.0] }).collect();
    let mut tape = Tape::<Jacobian<Dual<f64, 3>>>::new();
    let _ = counts();
    let x = tape.record(|scope| solved(&scope.inputs(&numbers)));
    assert_eq!(counts(), (1, 2));
    tape.sweep(&[(&x[0], Dual::constant(1.0))])?;
    assert_eq!(counts(), (0, 2));
    let at_rest: Vec<Dual<f64, 3>> = numbers.iter().map(|x| Dual::constant(x.value)).collect();
    tape.record(|scope| _ = solved(&scope.inputs(&at_rest)));
    assert_eq!(counts(), (1, 1), "what does not move is not solved for");
    Ok(())
}

#[cfg(feature = "packs")]
#[test]
fn packs_factorize_each_lane_or_one_for_all() {
    use tapewright::packs::Pack;
    let x = scattered(20);
    let lanes = |step: f64| -> Vec<Pack<4>> {
        x.iter().map(|x| Pack([*x, x + step, x + 2.0 * step, x + 3.0 * step])).collect()
    };
    let _ = counts();
    gradient::<Jacobian<Pack<4>>>(everything, &lanes(0.1));
    assert_eq!(counts().0, 4 * 3);
    gradient::<Jacobian<Pack<4>>>(everything, &lanes(0.0));
    assert_eq!(counts().0, 3);
    // Other tangents are no other matrix.
    hvp::<Jacobian<Dual<Pack<4>, 1>>>(everything, &lanes(0.0), &lanes(0.1));
    assert_eq!(counts().0, 3);
    hvp::<Jacobian<Dual<Pack<4>, 1>>>(everything, &lanes(0.1), &lanes(0.0));
    assert_eq!(counts().0, 4 * 3);
}

/// x₀·x₁ = p₀ and x₀ + x₁ = p₁.
struct Sides;

impl<V: Number> Equations<V> for Sides {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] * x[1] - p[0]).into(), (x[0] + x[1] - p[1]).into()]
    }
}

/// The sides of a rectangle of this area and half perimeter, the longer one last.
fn sides<S: Taping<Value: Element<Scalar = f64>>>(p: &[Real<S>]) -> Vec<Real<S>> {
    let (area, half) = (p[0].value(), p[1].value());
    let at = |sign: f64| {
        S::Value::from_lanes(|lane| {
            let (area, half) = (area.lane(lane).as_f64(), half.lane(lane).as_f64());
            Number::from_f64(0.5 * (half + sign * (half * half - 4.0 * area).sqrt()))
        })
    };
    implicit::solution_by::<Counting, _>(Sides, &[at(-1.0), at(1.0)], p).expect("a solution")
}

fn shorter<S: Taping<Value: Element<Scalar = f64>>>(p: &[Real<S>]) -> Real<S> {
    sides(p)[0].clone()
}

#[test]
fn implicit_functions_factorize_once() -> Result<(), Error> {
    let p = [6.0, 5.0];
    let mut tape = Tape::<Jacobian>::new();
    let _ = counts();
    let (inputs, x) = tape.record(|scope| {
        let inputs = scope.inputs(&p);
        let x = sides(&inputs);
        (inputs, x)
    });
    assert_eq!(counts(), (1, 1), "a solution to see that they are solved");
    // x₀ = (p₁ − √(p₁² − 4·p₀))/2
    let slopes = tape.sweep(&[(&x[0], 1.0)])?.of_all(&inputs)?;
    assert_eq!(counts(), (0, 1));
    assert_close("slopes", &slopes, &[1.0, -2.0], 1e-14);
    tape.sweep_lanes(&[(&x[0], [1.0, 0.0]), (&x[1], [0.0, 1.0])])?;
    assert_eq!(counts(), (0, 2), "one for each adjoint vector");
    jvp::<Tangent>(sides, &p, &[1.0, 0.0]).expect("two inputs");
    assert_eq!(counts(), (1, 2));

    // ∂²x₀/∂p₀² = 2·(p₁² − 4·p₀)^(−3/2)
    let (_, gradient, product) = hvp::<Jacobian<Dual<f64, 1>>>(shorter, &p, &[1.0, 0.0]);
    assert_eq!(counts().0, 1);
    assert_close("slopes", &gradient, &[1.0, -2.0], 1e-14);
    assert_close("second derivative", &product[..1], &[2.0], 1e-14);
    let thrice = p.map(|p| Dual::constant(Dual { value: p, tangents: [p; 3] }));
    gradient_of::<Dual<Dual<f64, 3>, 2>>(&thrice);
    assert_eq!(counts().0, 1, "tangents of two orders");
    Ok(())
}

fn gradient_of<V: Element<Scalar = f64>>(p: &[V]) -> Vec<V> {
    gradient::<Jacobian<V>>(shorter, p)
}

#[cfg(feature = "packs")]
#[test]
fn implicit_functions_over_packs_factorize_each_lane_or_one_for_all() {
    use tapewright::packs::Pack;
    let _ = counts();
    for (other, expected) in [(5.0, 1), (7.0, 2)] {
        let p = [Pack([6.0, 6.0]), Pack([5.0, other])];
        gradient_of(&p);
        assert_eq!(counts().0, expected);
        let found = gradient_of(&p.map(|p| Dual { value: p, tangents: [Pack([1.0, -1.0])] }));
        assert_eq!(counts().0, expected, "whatever tangents there are");
        assert_close("slope", &[found[0].value.lane(0)], &[1.0], 1e-14);
    }
}
