//! Problems at a point: residuals and their derivatives.

use super::batch::{Layout, Point};
use super::error::ResidualError;
use super::evaluate::evaluate;
use super::normal::NormalMatrix;
use super::piece::{Piece, Rows, Target};
use super::problem::Problem;
use crate::sparse::SparseMatrix;
use core::fmt;

/// Residuals of a problem at a point, with their derivatives, in memory that is reused from point to point.
///
/// Everything is 0 before the first [`evaluate`](Self::evaluate), and has no meaning after one that failed.
pub struct Linearization<'p> {
    problem: &'p Problem,
    layout: Layout,
    cost: f64,
    residuals: Vec<f64>,
    jacobian: SparseMatrix<f64>,
    /// Derivatives of points on manifolds by steps, for each parameter block.
    lifts: Vec<Vec<f64>>,
    normal: Option<NormalMatrix>,
}

impl<'p> Linearization<'p> {
    /// Memory for the residuals and derivatives of a problem.
    ///
    /// # Errors
    ///
    /// [`ResidualError::NoFreeBlock`].
    pub fn new(problem: &'p Problem) -> Result<Self, ResidualError> {
        if problem.columns() == 0 {
            return Err(ResidualError::NoFreeBlock);
        }
        let layout = Layout::new(&problem.blocks, &problem.batches);
        Ok(Self {
            problem,
            cost: 0.0,
            residuals: vec![0.0; layout.pattern.rows()],
            jacobian: SparseMatrix::of_parts(layout.pattern.clone(), vec![0.0; layout.pattern.entries()]),
            layout,
            lifts: vec![Vec::new(); problem.blocks.len()],
            normal: None,
        })
    }

    /// Evaluates residuals and Jacobian matrix at a point, which has a number for each parameter of the problem.
    ///
    /// The results have the same bits for any number of threads.
    ///
    /// # Errors
    ///
    /// [`ResidualError::Length`], and [`ResidualError::ResidualNotFinite`], [`ResidualError::DerivativeNotFinite`] or
    /// [`ResidualError::Derivative`] of the first residual block with that error.
    ///
    /// # Panics
    ///
    /// When a residual block does.
    pub fn evaluate(&mut self, x: &[f64]) -> Result<(), ResidualError> {
        self.problem.check_length(x)?;
        let blocks = &self.problem.blocks;
        for (lift, block) in self.lifts.iter_mut().zip(blocks) {
            if let Some(manifold) = block.manifold.as_ref().filter(|_| !block.constant) {
                lift.resize(block.size * block.freedom(), 0.0);
                manifold.jacobian(&x[block.range()], lift);
            }
        }
        let (pattern, values) = self.jacobian.values_mut();
        let (mut residuals, mut jacobian, mut row) = (&mut *self.residuals, values, 0);
        let mut pieces = Vec::new();
        for (k, (batch, places)) in self.problem.batches.iter().zip(&self.layout.places).enumerate() {
            for piece in Piece::of(k, batch) {
                let height = piece.len() * batch.residuals;
                let starts = &pattern.starts()[row..=row + height];
                let entries = starts[height] - starts[0];
                row += height;
                let jacobian = jacobian.split_off_mut(..entries).unwrap_or_default();
                pieces.push(piece.writing(Target {
                    residuals: residuals.split_off_mut(..height).unwrap_or_default(),
                    rows: Some(Rows { starts, places, jacobian, lifts: &self.lifts }),
                }));
            }
        }
        let point = Point { blocks, x };
        self.cost = evaluate(pieces, &self.problem.batches, point, &self.problem.tapes)?;
        Ok(())
    }

    /// The cost, ½·Σ ρ(|r|²).
    #[must_use]
    pub const fn cost(&self) -> f64 {
        self.cost
    }

    /// The residuals of all blocks, in the order in which they were added; with a loss function scaled such that plain
    /// least squares has the same gradient.
    #[must_use]
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// The Jacobian matrix J of [`residuals`](Self::residuals), by rows, with columns for free parameter blocks. All
    /// rows of a residual block have the same entries.
    ///
    /// With the feature `faer`, `jacobian().as_faer()` is a matrix of that crate, without copying.
    #[must_use]
    pub const fn jacobian(&self) -> &SparseMatrix<f64> {
        &self.jacobian
    }

    /// First column of a parameter block; `None` if the block is constant, or if there is no such block.
    #[must_use]
    pub fn column(&self, block: usize) -> Option<usize> {
        let free = self.problem.blocks.get(block)?.freedom() > 0;
        free.then(|| self.layout.columns[block])
    }

    /// The gradient of the cost, Jᵀ·r.
    #[must_use]
    pub fn gradient(&self) -> Vec<f64> {
        self.jacobian.transpose_times(&self.residuals)
    }

    /// J·v.
    ///
    /// # Panics
    ///
    /// When the vector does not have a number for each column.
    #[must_use]
    #[track_caller]
    pub fn times(&self, v: &[f64]) -> Vec<f64> {
        self.jacobian.times(v)
    }

    /// Jᵀ·v.
    ///
    /// # Panics
    ///
    /// When the vector does not have a number for each residual.
    #[must_use]
    #[track_caller]
    pub fn transpose_times(&self, v: &[f64]) -> Vec<f64> {
        self.jacobian.transpose_times(v)
    }

    /// Computes `JᵀJ` by blocks. The matrix may be changed; the next call computes it again.
    pub fn normal_matrix(&mut self) -> &mut NormalMatrix {
        let normal = self.normal.get_or_insert_with(|| NormalMatrix::new(self.problem, &self.layout));
        normal.compute(self.problem, &self.jacobian);
        normal
    }
}

impl fmt::Debug for Linearization<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linearization of {:?}, at a cost of {}", self.problem, self.cost)
    }
}
