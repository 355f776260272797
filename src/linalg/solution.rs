//! Solutions of A·X = B.

use super::error::LinalgError;
use super::matrix::{self, Matrix, Operand, entry, right};
use super::system::{System, share};
use std::sync::Arc;
use tapewright_strategies::{External, Number, SweepError};

/// The rule of X = A⁻¹·B. The inputs are the entries of A if A moves, then the entries of B if B moves.
struct Solution<V, K> {
    system: Arc<K>,
    /// Values of X, if A moves.
    x: Option<Vec<V>>,
    /// Values of B, if A moves and B does not, for replays.
    b: Option<Vec<V>>,
    /// True if B moves.
    right: bool,
}

impl<V: Number, K: System<V>> Solution<V, K> {
    /// Number of inputs that are entries of A.
    fn of_matrix(&self) -> usize {
        if self.x.is_some() { self.system.entries() } else { 0 }
    }
}

impl<V: Number, K: System<V>> External<V> for Solution<V, K> {
    fn name(&self) -> String {
        String::from("linear solve")
    }

    /// B̄ += Λ and Ā −= Λ·Xᵀ, with Aᵀ·Λ = X̄.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let mut lambda = outputs.to_vec();
        self.system.solve(true, &mut lambda);
        let (matrix, right) = inputs.split_at_mut(self.of_matrix());
        right.iter_mut().zip(&lambda).for_each(|(adjoint, lambda)| *adjoint += *lambda);
        if let Some(x) = &self.x {
            self.system.subtract_outer(&lambda, x, matrix);
        }
        Ok(())
    }

    fn accumulates(&self) -> bool {
        true
    }

    /// A·Ẋ = Ḃ − Ȧ·X.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let (matrix, right) = inputs.split_at(self.of_matrix());
        if self.right {
            outputs.copy_from_slice(right);
        }
        if let Some(x) = &self.x {
            self.system.subtract_product(false, matrix, x, outputs);
        }
        self.system.solve(false, outputs);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let (matrix, right) = inputs.split_at(self.of_matrix());
        if self.x.is_some() {
            let system = self.system.of_other(matrix).map_err(|error| SweepError::rule("linear solve", error))?;
            self.system = system;
        }
        outputs.copy_from_slice(self.b.as_deref().unwrap_or(right));
        self.system.solve(false, outputs);
        if let Some(x) = &mut self.x {
            x.copy_from_slice(outputs);
        }
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        let bytes = |kept: &Option<Vec<V>>| kept.as_ref().map_or(0, |kept| kept.capacity() * size_of::<V>());
        share(&self.system) + bytes(&self.x) + bytes(&self.b)
    }
}

/// Records X = A⁻¹·B.
#[track_caller]
pub(super) fn record<M: Matrix, K: System<matrix::Number<M>>>(
    system: &Arc<K>,
    matrix: &Operand<'_, M::Strategy>,
    b: &M,
) -> Result<M, LinalgError> {
    right(system.rows(), b)?;
    let operand = Operand::matrix(b);
    let mut x = operand.values();
    system.solve(false, &mut x);
    let rule = || Solution {
        system: Arc::clone(system),
        x: matrix.moves.then(|| x.clone()),
        b: (matrix.moves && !operand.moves).then(|| operand.values()),
        right: operand.moves,
    };
    let results = entry(&[matrix, &operand], &x, rule);
    let (rows, columns) = b.shape();
    Ok(M::from_entries(rows, columns, results))
}
