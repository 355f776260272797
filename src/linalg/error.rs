//! Why there is no solution.

use core::fmt;

/// Why a matrix cannot be factorised or a system cannot be solved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinalgError {
    /// The matrices do not fit together, or one should be square.
    Shape {
        /// What does not fit.
        what: String,
    },
    /// A value in a matrix is infinite or NaN.
    NotFinite {
        /// Its row, counted from 0.
        row: usize,
        /// Its column, counted from 0.
        column: usize,
    },
    /// A pivot is exactly 0.
    Singular {
        /// The pivot, counted from 0, where it is known.
        pivot: Option<usize>,
    },
    /// A pivot of the Cholesky factorisation is not positive.
    NotPositiveDefinite,
    /// The iteration for eigenvalues did not come to an end.
    NoConvergence,
    /// Two eigenvalues coincide, and the entries of the matrix have tangents along which their eigenvectors have no
    /// derivative: see [`symmetric_eigenvalues`](super::symmetric_eigenvalues).
    EigenvaluesCoincide {
        /// The first one, in ascending order, counted from 0.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// In one lane of a matrix of packs, which is another matrix in each.
    Lane {
        /// The lane, counted from 0.
        lane: usize,
        /// What is wrong there.
        error: Box<Self>,
    },
    /// An entry of a sparse pattern is outside of the matrix, or there twice.
    Pattern {
        /// Which one.
        what: String,
    },
    /// The library that does the work has no memory.
    Memory,
}

impl LinalgError {
    /// An error of shapes, in words.
    pub(super) fn shape(what: impl Into<String>) -> Self {
        Self::Shape { what: what.into() }
    }

    /// This error, in one of several lanes, if they differ.
    #[cfg(feature = "packs")]
    pub(super) fn in_lane(self, lane: usize, lanes: usize) -> Self {
        if lanes > 1 { Self::Lane { lane, error: Box::new(self) } } else { self }
    }

    /// What is wrong, without the lane.
    #[cfg(feature = "nalgebra")]
    pub(crate) fn without_lane(self) -> Self {
        match self {
            Self::Lane { error, .. } => *error,
            error => error,
        }
    }
}

impl fmt::Display for LinalgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { what } | Self::Pattern { what } => f.write_str(what),
            Self::NotFinite { row, column } => write!(f, "the matrix is not finite in row {row}, column {column}"),
            Self::Singular { pivot: Some(pivot) } => write!(f, "the matrix is singular: its pivot {pivot} is 0"),
            Self::Singular { pivot: None } => f.write_str("the matrix is singular: a pivot is 0"),
            Self::NotPositiveDefinite => f.write_str("the matrix is not positive definite: a pivot is not positive"),
            Self::NoConvergence => f.write_str("the iteration for the eigenvalues did not converge"),
            Self::EigenvaluesCoincide { first, second } => write!(
                f,
                "the eigenvalues {first} and {second} coincide, and the matrix has tangents: their eigenvectors have no derivative"
            ),
            Self::Lane { lane, error } => write!(f, "lane {lane}: {error}"),
            Self::Memory => f.write_str("there is no memory for the factors of the matrix"),
        }
    }
}

impl core::error::Error for LinalgError {}
