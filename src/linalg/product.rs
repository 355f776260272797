//! Products C = A·B.

use super::backend::{Backend, Block};
use super::element::Element;
use super::error::LinalgError;
use super::matrix::{Matrix, Number, Operand, entry};
use super::multiply::times;
use core::marker::PhantomData;
use tapewright_strategies::{External, SweepError};

/// The rule of A·B. The inputs are the entries of A if A moves, then the entries of B if B moves.
struct Product<V, B> {
    /// Number of rows of A, and of B.
    rows: (usize, usize),
    /// Values of A, if B moves.
    left: Option<Vec<V>>,
    /// Values of B, if A moves.
    right: Option<Vec<V>>,
    backend: PhantomData<fn() -> B>,
}

impl<V, B> Product<V, B> {
    /// Number of inputs that are entries of A.
    fn of_left(&self) -> usize {
        if self.right.is_some() { self.rows.0 * self.rows.1 } else { 0 }
    }
}

impl<V: Element, B: Backend<V::Scalar>> External<V> for Product<V, B> {
    fn name(&self) -> String {
        String::from("matrix product")
    }

    /// Ā += C̄·Bᵀ and B̄ += Aᵀ·C̄.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let seeds = Block::new(outputs, self.rows.0);
        let (left, right) = inputs.split_at_mut(self.of_left());
        if let Some(b) = &self.right {
            V::multiply::<B>(1.0, seeds, Block::new(b, self.rows.1).t(), left);
        }
        if let Some(a) = &self.left {
            V::multiply::<B>(1.0, Block::new(a, self.rows.0).t(), seeds, right);
        }
        Ok(())
    }

    fn accumulates(&self) -> bool {
        true
    }

    /// Ċ = Ȧ·B + A·Ḃ.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let (left, right) = inputs.split_at(self.of_left());
        if let Some(b) = &self.right {
            V::multiply::<B>(1.0, Block::new(left, self.rows.0), Block::new(b, self.rows.1), outputs);
        }
        if let Some(a) = &self.left {
            V::multiply::<B>(1.0, Block::new(a, self.rows.0), Block::new(right, self.rows.1), outputs);
        }
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let (left, right) = inputs.split_at(self.of_left());
        // What moves is an input, and is kept if the other one moves, too.
        let kept = |kept: &mut Option<Vec<V>>, moves: bool, from: &[V]| {
            if let Some(kept) = kept.as_mut().filter(|_| moves) {
                kept.copy_from_slice(from);
            }
        };
        let (moves_left, moves_right) = (self.right.is_some(), self.left.is_some());
        kept(&mut self.left, moves_left, left);
        kept(&mut self.right, moves_right, right);
        let [a, b] =
            [(moves_left, left, &self.left), (moves_right, right, &self.right)].map(|(moves, inputs, kept)| {
                if moves { inputs } else { kept.as_deref().expect("it is kept if it does not move") }
            });
        outputs.fill(V::ZERO);
        V::multiply::<B>(1.0, Block::new(a, self.rows.0), Block::new(b, self.rows.1), outputs);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        let bytes = |kept: &Option<Vec<V>>| kept.as_ref().map_or(0, |kept| kept.capacity() * size_of::<V>());
        bytes(&self.left) + bytes(&self.right)
    }
}

/// A·B as one entry, which keeps the values of each matrix if the other one moves.
///
/// The result has the type of B, which may be a vector.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::{DMatrix, DVector};
/// use tapewright::{Closed, linalg, prelude::*};
///
/// let mut tape = Tape::<Jacobian>::new();
/// let y = tape.record(|scope| {
///     let x = scope.inputs(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
///     let x = Closed::wrap_slice(&x);
///     let a = DMatrix::from_row_slice(2, 2, &x[..4]);
///     linalg::product(&a, &DVector::from_column_slice(&x[4..])).expect("two columns, two rows")
/// });
/// assert_eq!((y[0].value(), y[1].value()), (17.0, 39.0));
/// assert_eq!(tape.memory().statements, 0);
/// # }
/// ```
///
/// # Errors
///
/// When B has not as many rows as A has columns.
///
/// # Panics
///
/// When [`external`](crate::external()) does.
#[track_caller]
pub fn product<A, M>(a: &A, b: &M) -> Result<M, LinalgError>
where
    A: Matrix,
    M: Matrix<Strategy = A::Strategy, Backend = A::Backend>,
{
    let ((m, k), (rows, n)) = (a.shape(), b.shape());
    if k != rows {
        let what = format!("a matrix of {k} columns cannot be multiplied with one of {rows} rows");
        return Err(LinalgError::shape(what));
    }
    let (left, right) = (Operand::matrix(a), Operand::matrix(b));
    let (a, b) = (left.values(), right.values());
    let mut values = vec![Number::<A>::default(); m * n];
    if k > 0 {
        values = times::<_, A::Backend>(Block::new(&a, m), Block::new(&b, k));
    }
    let rule = || Product::<_, A::Backend> {
        rows: (m, k),
        left: right.moves.then_some(a),
        right: left.moves.then_some(b),
        backend: PhantomData,
    };
    Ok(M::from_entries(m, n, entry(&[&left, &right], &values, rule)))
}
