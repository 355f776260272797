//! Matrices of variables, and entries on the tape that have them as inputs.

use super::backend::Backend;
use super::element::Element;
use super::error::LinalgError;
use super::system::Dense;
use crate::closed::Closed;
use crate::expr::Real;
use crate::external;
use core::sync::atomic::{AtomicBool, Ordering};
use std::borrow::Cow;
use tapewright_strategies::{External, Taping, recording};

/// A matrix or vector of variables, of one of the supported libraries.
///
/// | type | under the feature | library |
/// |---|---|---|
/// | `nalgebra::DMatrix<Closed<S>>`, `DVector`, and others with a number of rows at run time | `nalgebra` | nalgebra |
/// | `faer::Mat<Closed<S>>`, `faer::Col<Closed<S>>` | `faer` | faer |
///
/// faer is the faster of the two for large matrices, and nalgebra the smaller dependency.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no matrix of variables whose number of rows is known at run time",
    note = "entries of `linalg` take `DMatrix<Closed<S>>` and `DVector<Closed<S>>` of nalgebra 0.35, and `Mat` and \
            `Col` of faer 0.24; `DMatrix::from_column_slice(2, 2, m.as_slice())` copies a `Matrix2`"
)]
pub trait Matrix: Sized {
    /// The strategy of the variables.
    type Strategy: Taping<Value: Element>;
    /// The library, which computes with the floats that the variables' values consist of.
    type Backend: Backend<<<Self::Strategy as Taping>::Value as Element>::Scalar>;

    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// The entries, column after column.
    fn entries(&self) -> impl Iterator<Item = &Closed<Self::Strategy>>;
    /// Each column as a slice, if the entries of a column are adjacent: they need not be copied then.
    fn column_slices(&self) -> Option<Vec<&[Closed<Self::Strategy>]>> {
        None
    }
    /// Makes a matrix of this type and these entries, column after column, with as many columns as some existing matrix
    /// of this type.
    fn from_entries(rows: usize, columns: usize, entries: Vec<Closed<Self::Strategy>>) -> Self;
}

/// Value type of the variables of a matrix.
pub(super) type Number<M> = <<M as Matrix>::Strategy as Taping>::Value;

/// A matrix with its factors.
pub(super) type Factorized<M> = Lifted<Number<M>, <M as Matrix>::Backend>;

/// A dense matrix of such values, with its factors by this library.
pub(crate) type Lifted<V, B> = <V as Element>::System<Dense<<V as Element>::Scalar, B>>;

/// One of the matrices that an entry is a function of: its variables, one list in several pieces.
pub(crate) struct Operand<'a, S: Taping> {
    pieces: Vec<Cow<'a, [Real<S>]>>,
    /// True if derivatives with respect to the variables are needed.
    pub(crate) moves: bool,
}

impl<'a, S: Taping> Operand<'a, S> {
    #[track_caller]
    fn new(pieces: Vec<Cow<'a, [Real<S>]>>) -> Self {
        let moves = S::are_active(&peeled(&pieces).collect::<Vec<_>>());
        Self { pieces, moves }
    }

    #[cfg(feature = "faer")]
    #[track_caller]
    pub(super) fn slice(variables: &'a [Real<S>]) -> Self {
        Self::new(vec![Cow::Borrowed(variables)])
    }

    #[track_caller]
    pub(super) fn matrix<M: Matrix<Strategy = S>>(matrix: &'a M) -> Self {
        Self::columns(matrix, |_| 0)
    }

    /// The lower triangle of a square matrix, column after column.
    #[track_caller]
    pub(super) fn lower<M: Matrix<Strategy = S>>(matrix: &'a M) -> Self {
        Self::columns(matrix, |column| column)
    }

    /// The part of each column that begins at row `from(column)`.
    #[track_caller]
    fn columns<M: Matrix<Strategy = S>>(matrix: &'a M, from: impl Fn(usize) -> usize) -> Self {
        if let Some(columns) = matrix.column_slices() {
            let part = |(j, column): (usize, &'a [Closed<S>])| Cow::Borrowed(&Closed::peel_slice(column)[from(j)..]);
            return Self::new(columns.into_iter().enumerate().map(part).collect());
        }
        let rows = matrix.shape().0;
        let part = matrix.entries().enumerate().filter(|(k, _)| k % rows >= from(k / rows));
        Self::new(vec![part.map(|(_, x)| x.as_real().clone()).collect()])
    }

    /// Reads all values where a recording notes it: a decision follows from them, and the recording is used again where
    /// they are the same.
    pub(super) fn decide(&self) {
        self.pieces.iter().flat_map(|piece| piece.iter()).for_each(|x| _ = x.value());
    }

    /// Returns the outcome of a function of the values; an error is a decision that follows from them.
    pub(super) fn deciding<T>(&self, outcome: Result<T, LinalgError>) -> Result<T, LinalgError> {
        if outcome.is_err() {
            self.decide();
        }
        outcome
    }

    pub(crate) fn values(&self) -> Vec<S::Value> {
        let mut values = Vec::with_capacity(self.pieces.iter().map(|piece| piece.len()).sum());
        self.pieces.iter().for_each(|piece| values.extend(piece.iter().map(Real::peek)));
        values
    }
}

/// The variables of a matrix whose factors may never be used. Whoever asks if there are factors, and for nothing else,
/// has decided by its values all the same.
pub(super) struct Unused<S: Taping>(Vec<Real<S>>, AtomicBool);

impl<S: Taping> Unused<S> {
    /// Copies the variables if a recording may note what is read: a borrow would have to outlive the factors.
    pub(super) fn new(operand: &Operand<'_, S>) -> Self {
        let noted = operand.moves && recording::guards();
        let all = operand.pieces.iter().filter(|_| noted).flat_map(|piece| piece.iter().cloned());
        Self(all.collect(), AtomicBool::new(true))
    }

    /// Notes that an entry factorizes the matrix again.
    pub(super) fn use_it(&self) {
        self.1.store(false, Ordering::Relaxed);
    }
}

impl<S: Taping> Drop for Unused<S> {
    fn drop(&mut self) {
        if *self.1.get_mut() && !std::thread::panicking() {
            self.0.iter().for_each(|x| _ = x.value());
        }
    }
}

/// The pieces in the form that strategies take.
fn peeled<'p, S: Taping>(pieces: &'p [Cow<'_, [Real<S>]>]) -> impl Iterator<Item = &'p [S::Variable]> {
    pieces.iter().map(|piece| Real::peel(piece))
}

/// Records the function with these results and this rule, whose inputs are the operands that move, one after another.
#[track_caller]
pub(crate) fn entry<S: Taping, R: External<S::Value>>(
    operands: &[&Operand<'_, S>],
    outputs: &[S::Value],
    rule: impl FnOnce() -> R,
) -> Vec<Closed<S>> {
    let moving = operands.iter().filter(|operand| operand.moves);
    let pieces: Vec<_> = moving.flat_map(|operand| peeled(&operand.pieces)).collect();
    let results = if operands.iter().any(|operand| operand.moves) {
        external::record_pieces(&pieces, outputs, rule())
    } else {
        outputs.iter().map(|value| Real::constant(*value)).collect()
    };
    results.into_iter().map(Closed::from).collect()
}

/// Number of rows of a matrix, or an error if the matrix is not square.
pub(super) fn square<M: Matrix>(matrix: &M) -> Result<usize, LinalgError> {
    let (rows, columns) = matrix.shape();
    if rows != columns {
        return Err(LinalgError::shape(format!("a matrix of {rows} rows and {columns} columns is not square")));
    }
    Ok(rows)
}

/// Checks that a system of n equations has right-hand sides of n rows.
pub(super) fn right<M: Matrix>(n: usize, matrix: &M) -> Result<(), LinalgError> {
    let (rows, _) = matrix.shape();
    if rows == n {
        return Ok(());
    }
    Err(LinalgError::shape(format!("a system of {n} equations has no right-hand side of {rows} rows")))
}
