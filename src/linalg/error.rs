//! Errors of linear algebra.

use core::fmt;
use tapewright_strategies::Float;

/// Reason why a matrix cannot be factorized or a system cannot be solved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinalgError {
    /// The matrices do not fit together, or one should be square.
    Shape {
        /// Description of the shapes that do not fit.
        what: String,
    },
    /// A value in a matrix is infinite or NaN.
    NotFinite {
        /// Row of the value, counted from 0.
        row: usize,
        /// Column of the value, counted from 0.
        column: usize,
    },
    /// A pivot is exactly 0.
    Singular {
        /// Index of the pivot, counted from 0, if it is known.
        pivot: Option<usize>,
    },
    /// A pivot of the Cholesky factorization is not positive.
    NotPositiveDefinite,
    /// The iteration for eigenvalues did not converge.
    NoConvergence,
    /// Two eigenvalues coincide, and the entries of the matrix have tangents along which their eigenvectors have no
    /// derivative: see [`symmetric_eigenvalues`](super::symmetric_eigenvalues).
    EigenvaluesCoincide {
        /// Index of one eigenvalue, in ascending order, counted from 0.
        first: usize,
        /// Index of the other eigenvalue.
        second: usize,
    },
    /// A matrix without entries, for which the function has no value.
    Empty {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        columns: usize,
    },
    /// A tolerance that is negative, NaN, or not below 1.
    Tolerance {
        /// The tolerance that was given, as text.
        given: String,
    },
    /// A rank that is too low for the function.
    Rank {
        /// Number of singular values above the tolerance.
        found: usize,
        /// Number of singular values that have to be above the tolerance.
        needed: usize,
    },
    /// A direction along which the matrix changes its rank: a pseudo-inverse jumps there.
    RankChanges,
    /// The rotation next to a matrix is not determined: the two smallest singular values, of which the last has the
    /// sign of the determinant, add up to 0.
    RotationUndetermined,
    /// Two singular values coincide, and the result depends on each of them separately.
    SingularValuesCoincide {
        /// Index of one singular value, in descending order, counted from 0.
        first: usize,
        /// Index of the other singular value.
        second: usize,
    },
    /// A singular value is 0 and has no derivative, just as the absolute value has none at 0.
    SingularValueZero {
        /// Index of the singular value, in descending order, counted from 0.
        index: usize,
    },
    /// An eigenvalue of a general matrix that coincides with another one, and has no derivative.
    EigenvalueNotSimple {
        /// Index of the eigenvalue, counted from 0.
        index: usize,
        /// Index of the eigenvalue that coincides with it.
        other: usize,
    },
    /// A scalar function has no finite value, or no derivative, at an eigenvalue of its matrix.
    NotSmooth {
        /// Index of the eigenvalue, in ascending order, counted from 0.
        index: usize,
        /// The eigenvalue, as text.
        eigenvalue: String,
    },
    /// An error in one lane of a matrix of packs, if the lanes differ.
    Lane {
        /// Index of the lane, counted from 0.
        lane: usize,
        /// The error in this lane.
        error: Box<Self>,
    },
    /// An entry of a sparse pattern is outside the matrix, or occurs twice.
    Pattern {
        /// Description of the entry.
        what: String,
    },
    /// The library of linear algebra has no memory.
    Memory,
}

impl LinalgError {
    /// An error of shapes, described in words.
    pub(super) fn shape(what: impl Into<String>) -> Self {
        Self::Shape { what: what.into() }
    }

    /// Wraps this error as an error of one lane, if there are several lanes.
    #[cfg(feature = "packs")]
    pub(super) fn in_lane(self, lane: usize, lanes: usize) -> Self {
        if lanes > 1 { Self::Lane { lane, error: Box::new(self) } } else { self }
    }

    /// The error without the lane.
    pub(crate) fn without_lane(self) -> Self {
        match self {
            Self::Lane { error, .. } => *error,
            error => error,
        }
    }
}

impl LinalgError {
    /// Messages of functions of matrices that do not depend on the case.
    const fn fixed(&self) -> &'static str {
        match self {
            Self::RankChanges => {
                "the matrix changes its rank along this direction, and its pseudo-inverse jumps; move it along directions \
                 that keep the rank, or make the tolerance smaller"
            }
            Self::RotationUndetermined => {
                "the nearest rotation is not determined: the two smallest singular values, with the sign of the \
                 determinant, add up to 0; points that are to be aligned must not all lie on a line"
            }
            _ => "the matrix has no solution",
        }
    }

    /// Writes the messages of functions of matrices.
    fn of_functions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { rows, columns } => {
                write!(
                    f,
                    "a matrix of {rows} rows and {columns} columns has no entries; the function needs at least one"
                )
            }
            Self::Tolerance { given } => write!(
                f,
                "the tolerance is {given}; it has to be at least 0 and less than 1, a part of the largest singular value"
            ),
            Self::Rank { found, needed } => write!(
                f,
                "the matrix has the rank {found} and needs {needed}: only so many singular values are above the \
                 tolerance, and the result is not determined or has no derivative"
            ),
            Self::SingularValuesCoincide { first, second } => write!(
                f,
                "the singular values {first} and {second} coincide, and have no derivative one by one; use a function \
                 that treats them alike"
            ),
            Self::SingularValueZero { index } => {
                write!(f, "the singular value {index} is 0, and has no derivative; leave it out of the result")
            }
            Self::EigenvalueNotSimple { index, other } => write!(
                f,
                "the eigenvalue {index} coincides with {other}, and has no derivative; use functions of the matrix, \
                 such as its trace or determinant"
            ),
            Self::NotSmooth { index, eigenvalue } => write!(
                f,
                "the function has no finite value or no derivative at the eigenvalue {index}, {eigenvalue}, within the \
                 rounding of eigenvalues; shift the matrix to where the function is smooth"
            ),
            error => f.write_str(error.fixed()),
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
                "the eigenvalues {first} and {second} coincide, and the matrix has tangents: their eigenvectors have no \
                 derivative; a function of the matrix, linalg::symmetric_function, has one"
            ),
            Self::Memory => f.write_str("there is no memory for the factors of the matrix"),
            Self::Lane { lane, error } => write!(f, "lane {lane}: {error}"),
            error => error.of_functions(f),
        }
    }
}

impl core::error::Error for LinalgError {}

/// Checks that all values are finite, in a matrix of n rows, and names the first one that is not.
pub(super) fn finite<V: Float>(n: usize, numbers: &[V]) -> Result<(), LinalgError> {
    let bad = numbers.iter().position(|number| !number.is_finite());
    bad.map_or(Ok(()), |k| Err(LinalgError::NotFinite { row: k % n, column: k / n }))
}
