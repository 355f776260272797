//! Least-squares problems.

use super::batch::{Batch, Block, Point};
use super::error::ResidualError;
use super::evaluate::{Tapes, evaluate};
use super::kind::{Residual, program};
use super::loss::Loss;
use super::manifold::Manifold;
use super::piece::{Piece, Target};
use core::fmt;
use core::ops::Range;

/// A least-squares problem: the cost ½·Σ ρ(|r|²), summed over residual blocks r of parameter blocks.
///
/// The parameters of all blocks, constant ones too, are one vector, in the order in which the blocks were added. A step
/// has a number for each column of the Jacobian matrix: for each free block as many as it has parameters, or as its
/// manifold has degrees of freedom.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::residuals::{Huber, Linearization, Problem, Residual, ResidualError};
///
/// /// Measured positions on a line, observed at times t.
/// struct Line;
///
/// impl Residual<2, 2, 1> for Line {
///     fn sizes(&self) -> [usize; 2] { [1, 1] }
///     fn residuals<S: Strategy>(&self, [start, speed]: [&[Real<S>]; 2], [t, y]: [Real<S>; 2]) -> [Real<S>; 1] {
///         [(start[0] + speed[0] * t - y).into()]
///     }
/// }
///
/// let mut problem = Problem::new();
/// let start = problem.add_parameters(&[0.0]);
/// let speed = problem.add_parameters(&[1.0]);
/// let observations = [[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]].map(|data| ([start, speed], data));
/// problem.add_residuals(Line, Huber::new(10.0), observations)?;
///
/// let mut at = Linearization::new(&problem)?;
/// at.evaluate(problem.start())?;
/// assert_eq!(at.residuals(), [-1.0, -2.0, -3.0]);
/// assert_eq!((at.cost(), at.gradient()), (7.0, vec![-6.0, -8.0]));
/// # Ok::<(), ResidualError>(())
/// ```
#[derive(Default)]
pub struct Problem {
    pub(super) blocks: Vec<Block>,
    pub(super) batches: Vec<Batch>,
    pub(super) tapes: Tapes,
    start: Vec<f64>,
    residual_blocks: usize,
}

impl Problem {
    /// A problem without parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter block with these start values, and returns its index.
    pub fn add_parameters(&mut self, start: &[f64]) -> usize {
        self.blocks.push(Block { start: self.start.len(), size: start.len(), constant: false, manifold: None });
        self.start.extend_from_slice(start);
        self.blocks.len() - 1
    }

    /// Makes a parameter block constant: it has no columns, and steps leave it as it is.
    ///
    /// # Errors
    ///
    /// [`ResidualError::NoSuchBlock`].
    pub fn set_constant(&mut self, block: usize) -> Result<(), ResidualError> {
        self.block_mut(block)?.constant = true;
        Ok(())
    }

    /// Makes a constant parameter block free again.
    ///
    /// # Errors
    ///
    /// [`ResidualError::NoSuchBlock`].
    pub fn set_free(&mut self, block: usize) -> Result<(), ResidualError> {
        self.block_mut(block)?.constant = false;
        Ok(())
    }

    /// Says that a parameter block is a point on a manifold.
    ///
    /// # Errors
    ///
    /// [`ResidualError::NoSuchBlock`], and [`ResidualError::ManifoldSize`] when the manifold's points have another size
    /// than the block.
    pub fn set_manifold(&mut self, block: usize, manifold: impl Manifold) -> Result<(), ResidualError> {
        let (expected, found) = (manifold.size(), self.block_mut(block)?.size);
        if expected != found {
            return Err(ResidualError::ManifoldSize { block, expected, found });
        }
        self.block_mut(block)?.manifold = Some(Box::new(manifold));
        Ok(())
    }

    /// Adds residual blocks of one kind: for each the indices of its parameter blocks, and its data. Returns their
    /// indices.
    ///
    /// Blocks that are added by one call are evaluated by one program, in pieces of 512 on the threads of rayon
    /// (feature `rayon`), so add many at once.
    ///
    /// # Errors
    ///
    /// [`ResidualError::NoSuchBlock`], [`ResidualError::BlockSize`] and [`ResidualError::RepeatedBlock`], of the first
    /// residual block with such an index. The problem is unchanged then.
    pub fn add_residuals<K, const B: usize, const D: usize, const M: usize>(
        &mut self,
        kind: K,
        loss: impl Loss,
        observations: impl IntoIterator<Item = ([usize; B], [f64; D])>,
    ) -> Result<Range<usize>, ResidualError>
    where
        K: Residual<B, D, M>,
    {
        let (sizes, first) = (kind.sizes().to_vec(), self.residual_blocks);
        let (mut arguments, mut starts, mut data, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (blocks, numbers) in observations {
            self.check(first + count, &blocks, &sizes)?;
            arguments.extend(blocks);
            starts.extend(blocks.map(|block| self.blocks[block].start));
            data.extend(numbers);
            count += 1;
        }
        let parameters = sizes.iter().sum();
        self.batches.push(Batch {
            program: program(kind, count, parameters),
            loss: Box::new(loss),
            sizes,
            arguments,
            starts,
            parameters,
            width: D,
            data,
            residuals: M,
            first,
            count,
        });
        self.residual_blocks += count;
        Ok(first..self.residual_blocks)
    }

    /// The start values of all parameters.
    #[must_use]
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The number of parameter blocks.
    #[must_use]
    pub fn parameter_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of residual blocks.
    #[must_use]
    pub const fn residual_blocks(&self) -> usize {
        self.residual_blocks
    }

    /// Range of a block's parameters in the vector of all.
    ///
    /// # Panics
    ///
    /// When there is no such block.
    #[must_use]
    #[track_caller]
    pub fn parameters(&self, block: usize) -> Range<usize> {
        self.blocks[block].range()
    }

    /// Returns true if a parameter block is constant.
    ///
    /// # Panics
    ///
    /// When there is no such block.
    #[must_use]
    #[track_caller]
    pub fn is_constant(&self, block: usize) -> bool {
        self.blocks[block].constant
    }

    /// The manifold of a parameter block, if there is one.
    ///
    /// # Panics
    ///
    /// When there is no such block.
    #[must_use]
    #[track_caller]
    pub fn manifold(&self, block: usize) -> Option<&dyn Manifold> {
        self.blocks[block].manifold.as_deref()
    }

    /// Returns true if a residual block has a loss function other than [`Trivial`](super::Trivial). The cost is half of
    /// the sum of squares of residuals otherwise, as solvers without loss functions expect.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        self.batches.iter().any(|batch| batch.count > 0 && !batch.loss.is_trivial())
    }

    /// The number of rows of the Jacobian matrix: of residuals.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|batch| batch.count * batch.residuals).sum()
    }

    /// The number of columns of the Jacobian matrix.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.blocks.iter().map(Block::freedom).sum()
    }

    /// The cost at a point. Has the bits of [`Linearization::cost`](super::Linearization::cost), for less time.
    ///
    /// # Errors
    ///
    /// [`ResidualError::Length`], [`ResidualError::ResidualNotFinite`], [`ResidualError::Derivative`].
    ///
    /// # Panics
    ///
    /// When a residual block does.
    pub fn cost(&self, x: &[f64]) -> Result<f64, ResidualError> {
        self.check_length(x)?;
        let pieces = self.batches.iter().enumerate().flat_map(|(k, batch)| Piece::of(k, batch)).collect();
        evaluate(pieces, &self.batches, Point { blocks: &self.blocks, x }, &self.tapes)
    }

    /// Computes the residuals at a point, without derivatives, into a slice with a number for each of the
    /// [`rows`](Self::rows). Returns the cost. Both have the bits of a [`Linearization`](super::Linearization).
    ///
    /// ```
    /// # use tapewright::prelude::*;
    /// # use tapewright::residuals::{Problem, Residual, ResidualError, Trivial};
    /// # struct Measured;
    /// # impl Residual<1, 1, 1> for Measured {
    /// #     fn sizes(&self) -> [usize; 1] { [1] }
    /// #     fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [y]: [Real<S>; 1]) -> [Real<S>; 1] {
    /// #         [(x[0] - y).into()]
    /// #     }
    /// # }
    /// let mut problem = Problem::new();
    /// let x = problem.add_parameters(&[5.0]);
    /// problem.add_residuals(Measured, Trivial, [([x], [4.0]), ([x], [7.0])])?;
    /// let mut residuals = vec![0.0; problem.rows()];
    /// assert_eq!(problem.residuals(&[5.0], &mut residuals), Ok(2.5));
    /// assert_eq!(residuals, [1.0, -2.0]);
    /// # Ok::<(), ResidualError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ResidualError::Length`], [`ResidualError::ResidualNotFinite`], [`ResidualError::Derivative`].
    ///
    /// # Panics
    ///
    /// When a residual block does.
    pub fn residuals(&self, x: &[f64], mut residuals: &mut [f64]) -> Result<f64, ResidualError> {
        self.check_length(x)?;
        same_length("residuals", self.rows(), residuals.len())?;
        let mut pieces = Vec::new();
        for (k, batch) in self.batches.iter().enumerate() {
            for piece in Piece::of(k, batch) {
                let residuals = residuals.split_off_mut(..piece.len() * batch.residuals).unwrap_or_default();
                pieces.push(piece.writing(Target { residuals, rows: None }));
            }
        }
        evaluate(pieces, &self.batches, Point { blocks: &self.blocks, x }, &self.tapes)
    }

    /// Moves all free parameters by a step: x ⊞ δ.
    ///
    /// # Errors
    ///
    /// [`ResidualError::Length`] when a vector does not have as many numbers as there are parameters, or the step not
    /// as many as there are columns.
    pub fn plus(&self, x: &[f64], step: &[f64], moved: &mut [f64]) -> Result<(), ResidualError> {
        self.check_length(x)?;
        self.check_length(moved)?;
        same_length("steps", self.columns(), step.len())?;
        moved.copy_from_slice(x);
        let mut rest = step;
        for block in &self.blocks {
            let (step, others) = rest.split_at(block.freedom());
            rest = others;
            let moved = &mut moved[block.range()];
            match &block.manifold {
                _ if block.constant => {}
                Some(manifold) => manifold.plus(&x[block.range()], step, moved),
                None => moved.iter_mut().zip(step).for_each(|(x, step)| *x += step),
            }
        }
        Ok(())
    }

    pub(super) fn check_length(&self, x: &[f64]) -> Result<(), ResidualError> {
        same_length("parameters", self.start.len(), x.len())
    }

    fn block_mut(&mut self, block: usize) -> Result<&mut Block, ResidualError> {
        let blocks = self.blocks.len();
        self.blocks.get_mut(block).ok_or(ResidualError::NoSuchBlock { residual: None, block, blocks })
    }

    /// Checks the parameter blocks of a residual block.
    fn check(&self, residual: usize, arguments: &[usize], sizes: &[usize]) -> Result<(), ResidualError> {
        for (k, (block, expected)) in arguments.iter().zip(sizes).enumerate() {
            let (block, expected, blocks) = (*block, *expected, self.blocks.len());
            let none = ResidualError::NoSuchBlock { residual: Some(residual), block, blocks };
            let found = self.blocks.get(block).ok_or(none)?.size;
            if expected != found {
                return Err(ResidualError::BlockSize { residual, block, expected, found });
            }
            if arguments[..k].contains(&block) {
                return Err(ResidualError::RepeatedBlock { residual, block });
            }
        }
        Ok(())
    }
}

/// Checks the length of a vector.
pub(super) const fn same_length(of: &'static str, expected: usize, found: usize) -> Result<(), ResidualError> {
    if expected == found { Ok(()) } else { Err(ResidualError::Length { of, expected, found }) }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (residuals, parameters) = (self.residual_blocks, self.blocks.len());
        write!(f, "Problem of {residuals} residual blocks and {parameters} parameter blocks")
    }
}
