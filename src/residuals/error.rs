//! Errors of least-squares problems.

use core::fmt;

/// A problem, or a point, that cannot be evaluated. Parameter blocks and residual blocks are counted from 0, in the
/// order in which they were added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResidualError {
    /// A parameter block that the problem does not have.
    NoSuchBlock {
        /// Residual block that names it; `None` if the caller does.
        residual: Option<usize>,
        /// Index of the parameter block.
        block: usize,
        /// Number of parameter blocks in the problem.
        blocks: usize,
    },
    /// A parameter block of another size than the kind of residual block takes.
    BlockSize {
        /// Index of the residual block.
        residual: usize,
        /// Index of the parameter block.
        block: usize,
        /// Size that the kind takes.
        expected: usize,
        /// Size of the parameter block.
        found: usize,
    },
    /// A residual block that names a parameter block twice.
    RepeatedBlock {
        /// Index of the residual block.
        residual: usize,
        /// Index of the parameter block.
        block: usize,
    },
    /// A manifold for points of another size than the parameter block.
    ManifoldSize {
        /// Index of the parameter block.
        block: usize,
        /// Size of the manifold's points.
        expected: usize,
        /// Size of the parameter block.
        found: usize,
    },
    /// All parameter blocks are constant, or there are none.
    NoFreeBlock,
    /// A vector of another length than the problem takes.
    Length {
        /// Name of the vector.
        of: &'static str,
        /// Length that the problem takes.
        expected: usize,
        /// Length of the vector.
        found: usize,
    },
    /// Residuals of which one is infinite or NaN.
    ResidualNotFinite {
        /// Index of the residual block.
        residual: usize,
    },
    /// Finite residuals whose derivatives are not.
    DerivativeNotFinite {
        /// Index of the residual block.
        residual: usize,
    },
    /// A residual block that cannot be differentiated.
    Derivative {
        /// Index of the residual block.
        residual: usize,
        /// Reason of the failure.
        error: crate::Error,
    },
}

impl fmt::Display for ResidualError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchBlock { residual, block, blocks } => {
                if let Some(residual) = residual {
                    write!(f, "residual block {residual}: ")?;
                }
                write!(f, "there is no parameter block {block}: the problem has {blocks}, counted from 0")
            }
            Self::BlockSize { residual, block, expected, found } => write!(
                f,
                "residual block {residual} takes {expected} parameters where parameter block {block} has {found}"
            ),
            Self::RepeatedBlock { residual, block } => write!(
                f,
                "residual block {residual} names parameter block {block} twice: write a kind that takes it once"
            ),
            Self::ManifoldSize { block, expected, found } => write!(
                f,
                "the manifold of parameter block {block} has points of {expected} numbers, and the block has {found}"
            ),
            Self::NoFreeBlock => write!(
                f,
                "the problem has no free parameter block: add one by `Problem::add_parameters`, or do not make all \
                 of them constant"
            ),
            Self::Length { of, expected, found } => {
                write!(f, "the vector of {of} must have {expected} numbers, and has {found}")
            }
            Self::ResidualNotFinite { residual } => {
                write!(f, "the residuals of residual block {residual} are not finite at this point")
            }
            Self::DerivativeNotFinite { residual } => {
                write!(
                    f,
                    "the residuals of residual block {residual} are finite at this point, but not their derivatives"
                )
            }
            Self::Derivative { residual, error } => write!(f, "residual block {residual}: {error}"),
        }
    }
}

impl core::error::Error for ResidualError {}
