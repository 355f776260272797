//! Errors of calls that the caller can correct.

use core::fmt;
use tapewright_strategies::SweepError;
use tapewright_strategies::storage::StorageError;

/// A call that the caller can correct.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Two lengths that must be equal are not.
    LengthMismatch {
        /// Name of the thing that the first length belongs to, and the length.
        expected: (&'static str, usize),
        /// Name of the thing that the second length belongs to, and the length.
        found: (&'static str, usize),
    },
    /// A variable of a recording other than the one that is being swept; 0 means none yet.
    ForeignVariable {
        /// Id of the variable's recording.
        variable: u32,
        /// Id of the tape's latest recording.
        recording: u32,
    },
    /// Adjoints were requested of a variable or view that is not an input of the recording. A sweep to the beginning of
    /// the recording consumes the adjoints of all others.
    NotAnInput {
        /// Id of the recording.
        recording: u32,
    },
    /// Records could not be written to the file that they are spilled to, or could not be read back.
    Storage(StorageError),
    /// A position of another recording, or of a part of this one that has been forgotten; 0 means none yet.
    StalePosition {
        /// Id of the position's recording.
        position: u32,
        /// Id of the tape's latest recording.
        recording: u32,
    },
    /// A position inside a part of a recording, where an end of such a part is needed.
    PositionInside {
        /// Id of the recording.
        recording: u32,
    },
    /// A variable was seeded that was made after the position from which the sweep was to start.
    SeedBehind {
        /// Id of the recording.
        recording: u32,
    },
    /// An earlier sweep from position to position with this adjoint vector has ended early, by an error or a panic, so
    /// that adjoints are lost. Reset the vector, and seed it again.
    CutShort {
        /// Id of the recording.
        recording: u32,
    },
    /// A sparse matrix has an entry outside its pattern: the function has taken another branch, in which it reads other
    /// variables than in the recording from which the pattern was made.
    PatternChanged {
        /// The row of the first such entry. `None` if only a column whose entries do not add up is known, because the
        /// recording has no pattern.
        row: Option<usize>,
        /// The column of the first such entry. `None` if only a row whose entries do not add up is known.
        column: Option<usize>,
    },
    /// A sweep ended early.
    Sweep(SweepError),
}

impl From<SweepError> for Error {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Storage(error) => Self::Storage(error),
            error => Self::Sweep(error),
        }
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

fn cut_short(f: &mut fmt::Formatter<'_>, recording: u32) -> fmt::Result {
    write!(
        f,
        "a sweep over a part of recording #{recording} has ended early, by an error or a panic, and its adjoints \
         are lost: call `AdjointVector::reset`, and begin again with `Tape::seed`"
    )
}

fn pattern_changed(f: &mut fmt::Formatter<'_>, place: (Option<usize>, Option<usize>)) -> fmt::Result {
    match place {
        (Some(row), Some(column)) => {
            write!(f, "the sparse matrix has an entry in row {row}, column {column} that is not in its pattern")?;
        }
        (Some(row), None) => write!(f, "the entries of the sparse matrix do not add up in row {row}")?,
        (None, Some(column)) => write!(f, "the entries of the sparse matrix do not add up in column {column}")?,
        (None, None) => write!(f, "the entries of the sparse matrix do not add up")?,
    }
    write!(
        f,
        ": the function depends on variables on which it did not depend when the pattern was found, so find the pattern \
         again"
    )
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch { expected: (a, n), found: (b, m) } => {
                write!(f, "lengths differ: {n} {a}, but {m} {b}")
            }
            Self::ForeignVariable { variable, recording } => write!(
                f,
                "a variable of recording #{variable} was used with the tape of recording #{recording}: it belongs to \
                 another tape, or the tape has been reset or has recorded again since"
            ),
            Self::NotAnInput { recording } => write!(
                f,
                "adjoints were requested of a variable or view that is not an input of recording #{recording}: it is \
                 the result of a statement or of a kernel, or an input that was overwritten, as by `x *= 5.0`. A sweep \
                 consumes the adjoints of results. Ask for the adjoint of the input, and keep a copy of an input that \
                 is going to be overwritten: `let mut x = input.clone()`"
            ),
            Self::Storage(error) => fmt::Display::fmt(error, f),
            Self::StalePosition { position, recording } => write!(
                f,
                "a position of recording #{position} was used with the tape of recording #{recording}: it belongs to another \
                 tape, or what was recorded there has been forgotten"
            ),
            Self::PositionInside { recording } => write!(
                f,
                "a position inside a part of recording #{recording} was given, but the end of a part is needed: a tape can be \
                 reset to positions at which it was resumed (call `Tape::position` before `Tape::resume`)"
            ),
            Self::SeedBehind { recording } => write!(
                f,
                "a variable of recording #{recording} was seeded that was made after the position where the sweep was to \
                 begin, so the seed would be lost"
            ),
            Self::CutShort { recording } => cut_short(f, *recording),
            Self::PatternChanged { row, column } => pattern_changed(f, (*row, *column)),
            Self::Sweep(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for Error {}

/// Checks that two lengths agree.
pub(crate) fn same_length(expected: (&'static str, usize), found: (&'static str, usize)) -> Result<(), Error> {
    if expected.1 == found.1 { Ok(()) } else { Err(Error::LengthMismatch { expected, found }) }
}
