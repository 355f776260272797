//! What problems consist of: parameter blocks, and batches of residual blocks of one kind.

use super::kind::Kind;
use super::loss::Loss;
use super::manifold::Manifold;
use core::ops::Range;

/// A parameter block.
pub(super) struct Block {
    /// Offset of its first number in the vector of all parameters.
    pub(super) start: usize,
    /// Number of its parameters.
    pub(super) size: usize,
    pub(super) constant: bool,
    pub(super) manifold: Option<Box<dyn Manifold>>,
}

impl Block {
    /// Range of its parameters in the vector of all.
    pub(super) const fn range(&self) -> Range<usize> {
        self.start..self.start + self.size
    }

    /// Number of columns that it has in a Jacobian matrix.
    pub(super) fn freedom(&self) -> usize {
        match &self.manifold {
            _ if self.constant => 0,
            Some(manifold) => manifold.freedom(),
            None => self.size,
        }
    }
}

/// Residual blocks of one kind with one loss function. A block is called an observation here.
pub(super) struct Batch {
    pub(super) kind: Box<dyn Kind>,
    pub(super) loss: Box<dyn Loss>,
    /// Sizes of the parameter blocks that an observation takes.
    pub(super) sizes: Vec<usize>,
    /// Indices of the parameter blocks, for each observation.
    pub(super) arguments: Vec<usize>,
    /// Number of data of an observation.
    pub(super) width: usize,
    /// Data, for each observation.
    pub(super) data: Vec<f64>,
    /// Number of residuals of an observation.
    pub(super) residuals: usize,
    /// Index of the first observation among all residual blocks.
    pub(super) first: usize,
    /// Number of observations.
    pub(super) count: usize,
}

impl Batch {
    /// Indices of the parameter blocks of an observation.
    pub(super) fn arguments_of(&self, observation: usize) -> &[usize] {
        &self.arguments[observation * self.sizes.len()..][..self.sizes.len()]
    }
}
