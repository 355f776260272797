//! Functions of matrices as single entries, at the matrices where values coincide or are 0: against numbers of high
//! precision, first and second order, in reverse and forward mode.

#[path = "functions/errors.rs"]
mod errors;
#[path = "functions/numbers.rs"]
mod numbers;
#[path = "functions/own_algorithms.rs"]
mod own_algorithms;
#[path = "functions/rows.rs"]
mod rows;
#[path = "functions/scales.rs"]
mod scales;
#[path = "functions/small_integers.rs"]
mod small_integers;

use nalgebra::{DMatrix, DVector};
use rows::{Row, direction, weight};
use tapewright::linalg::{self, Element};
use tapewright::prelude::*;
use tapewright::{Closed, Dual, Float, Unary, hvp};

/// A function of a user's.
pub(crate) struct Sine;

impl Unary for Sine {
    fn value<V: Float>(x: V) -> V {
        x.sin()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        x.cos()
    }
}

/// A small number.
fn number(k: usize) -> f64 {
    f64::from(u32::try_from(k).expect("small"))
}

/// The results of an operation on a matrix of these entries, one after another.
pub(crate) fn results<S: Taping<Value: Element>>(
    operation: &str,
    (rows, columns): (usize, usize),
    x: &[Real<S>],
) -> Vec<Closed<S>> {
    let x = Closed::wrap_slice(x);
    if operation == "outer" {
        // A matrix of rank 1.
        let (u, v) = x.split_at(rows);
        let (u, v) = (DMatrix::from_column_slice(rows, 1, u), DMatrix::from_row_slice(1, columns, v));
        let product = linalg::product(&u, &v).expect("one and one");
        return linalg::pseudo_inverse(&product, 1e-12).expect("rank 1").iter().cloned().collect();
    }
    let matrix = DMatrix::from_column_slice(rows, columns, x);
    let found = match operation {
        "symmetric_sqrt" => linalg::symmetric_sqrt(&matrix),
        "symmetric_inverse_sqrt" => linalg::symmetric_inverse_sqrt(&matrix),
        "symmetric_ln" => linalg::symmetric_ln(&matrix),
        "symmetric_exp" => linalg::symmetric_exp(&matrix),
        "sine" => linalg::symmetric_function::<Sine, _>(&matrix),
        "pseudo_inverse" => linalg::pseudo_inverse(&matrix, 1e-12),
        "nearest_orthogonal" => linalg::nearest_orthogonal(&matrix, 1e-12),
        "nearest_rotation" => linalg::nearest_rotation(&matrix, 1e-12),
        _ => return others(operation, &matrix),
    };
    found.unwrap_or_else(|error| panic!("{operation}: {error}")).iter().cloned().collect()
}

/// The results of operations that are no matrices of the same type.
fn others<S: Taping<Value: Element>>(operation: &str, matrix: &DMatrix<Closed<S>>) -> Vec<Closed<S>> {
    let (rows, columns) = matrix.shape();
    match operation {
        "least_squares" => {
            let right = DVector::from_fn(rows, |k, _| Closed::from(number(k) * (number(k) - 2.0) / 4.0 + 0.5));
            let found = linalg::least_squares(matrix, &right, 1e-12).expect("finite");
            found.iter().cloned().collect()
        }
        "align" => {
            let found = linalg::align(&places(rows, columns), matrix, true, 1e-12).expect("not on a line");
            found.rotation.iter().cloned().chain([found.scale]).chain(found.translation).collect()
        }
        "aligned" => {
            aligned(&matrix.columns(0, columns / 2).into(), &matrix.columns(columns / 2, columns / 2).into(), true)
        }
        "moved" => {
            aligned(&matrix.columns(0, columns / 2).into(), &matrix.columns(columns / 2, columns / 2).into(), false)
        }
        "aligned with fixed ones" => aligned(&places(rows, columns), matrix, true),
        "determinant" => vec![linalg::determinant(matrix).expect("finite")],
        "singular_values" => linalg::singular_values(matrix).expect("finite"),
        "nuclear" => {
            let values = linalg::singular_values(matrix).expect("finite");
            vec![values.into_iter().fold(Closed::default(), |sum, value| sum + value)]
        }
        "eigenvalues" => {
            let found = linalg::eigenvalues(matrix).expect("finite");
            let (real, imaginary): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            real.into_iter().chain(imaginary).collect()
        }
        _ => panic!("no such operation: {operation}"),
    }
}

/// Points of small integers.
fn places<S: Taping<Value: Element>>(rows: usize, columns: usize) -> DMatrix<Closed<S>> {
    let place = |k: usize| Closed::from(number((3 * k * k + k) % 7) - 2.0);
    DMatrix::from_iterator(rows, columns, (0..rows * columns).map(place))
}

/// Points, moved next to others.
fn aligned<S: Taping<Value: Element>>(
    from: &DMatrix<Closed<S>>,
    to: &DMatrix<Closed<S>>,
    scaled: bool,
) -> Vec<Closed<S>> {
    let found = linalg::align(from, to, scaled, 1e-12).expect("not on a line");
    let turned = linalg::product(&found.rotation, from).expect("of one size");
    let rows = from.nrows();
    let moved = |(k, x): (usize, &Closed<S>)| &found.scale * x + &found.translation[k % rows];
    turned.iter().enumerate().map(moved).collect()
}

/// Their sum with the weights of the rows.
pub(crate) fn weighed<S: Taping<Value: Element>>(row: &Row, x: &[Real<S>]) -> Real<S> {
    let found = results(&row.operation, (row.rows, row.columns), x);
    let terms = found.into_iter().enumerate().map(|(k, y)| y * weight(k));
    terms.fold(Closed::default(), |sum, term| sum + term).open()
}

/// The largest difference of some numbers from those of a row, in parts of the largest of these.
fn off(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1e-20_f64, |most, e| most.max(e.abs()));
    // NaN is far away.
    let differences = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs() / largest);
    differences.fold(0.0, |most, off| if off > most || off.is_nan() { off } else { most })
}

fn check(operations: &[&str], first: f64, second: f64) {
    let mut failed = Vec::new();
    let mut count = 0;
    for row in rows::all().iter().filter(|row| operations.contains(&row.operation.as_str())) {
        count += 1;
        let mut report = |how: &str, off: f64, limit: f64| {
            if off > limit || off.is_nan() {
                failed.push(format!("{} {} at {}: {off:e}", row.operation, how, row.name));
            }
        };
        let gradient = gradient::<Jacobian>(|x| weighed(row, x), &row.inputs);
        report("gradient", off(&gradient, &row.gradient), first * row.condition());
        let forward = jacobian_forward::<Tangent<4>>(|x| vec![weighed(row, x)], &row.inputs).1.remove(0);
        // Along single entries the rank may change, and singular values part.
        report("forward", off(&forward, &row.gradient), first * row.condition());
        if !row.product.is_empty() {
            let direction: Vec<f64> = (0..row.inputs.len()).map(direction).collect();
            let (_, slopes, product) = hvp::<Jacobian<Dual<f64, 1>>>(|x| weighed(row, x), &row.inputs, &direction);
            report("gradient of duals", if slopes == gradient { 0.0 } else { f64::NAN }, 0.0);
            report("second order", off(&product, &row.product), second * row.condition());
        }
    }
    assert!(count > 2, "there are rows");
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn functions_of_symmetric_matrices() {
    let all = ["symmetric_sqrt", "symmetric_inverse_sqrt", "symmetric_ln", "symmetric_exp", "sine"];
    check(&all, 4e-15, 4e-14);
}

#[test]
fn pseudo_inverses() {
    check(&["pseudo_inverse", "least_squares"], 4e-15, 2e-14);
    check(&["outer"], 4e-15, 2e-14);
}

#[test]
fn nearest_matrices() {
    check(&["nearest_orthogonal"], 4e-15, 1e-14);
    check(&["nearest_rotation"], 4e-15, 1e-14);
    check(&["align"], 1e-14, 4e-14);
}

#[test]
fn determinants() {
    check(&["determinant"], 4e-15, 4e-15);
}

#[test]
fn values() {
    check(&["singular_values"], 4e-15, 1e-14);
    check(&["eigenvalues"], 1e-14, 1e-13);
}
