//! What can be wrong with a workload that somebody asks for.

use core::fmt;

/// Why a workload cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// What the operating system says.
        reason: String,
    },
    /// Something in the text is not what belongs there.
    Malformed {
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        found: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// The text ends too early.
    Missing {
        /// The text's last line, counted from 1.
        line: usize,
        /// What was being read.
        wanted: &'static str,
        /// How many of them the text has.
        found: usize,
        /// How many of them belong there.
        needed: usize,
    },
    /// The text goes on after its end.
    Trailing {
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// No workload has this size.
    Size {
        /// The workload's name.
        workload: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    /// An error unless `value` ≥ `least`.
    pub(crate) fn unless_at_least(workload: &'static str, what: &str, value: usize, least: usize) -> Result<(), Self> {
        if value >= least {
            return Ok(());
        }
        Err(Self::Size { workload, reason: format!("{what} must be at least {least}, not {value}") })
    }

    /// The product of these sizes, if it is below 2³²: a tape with `u32` identifiers could not take more inputs.
    pub(crate) fn product(workload: &'static str, factors: &[usize]) -> Result<usize, Self> {
        let product = factors.iter().try_fold(1_usize, |product, factor| product.checked_mul(*factor));
        product.filter(|n| u32::try_from(*n).is_ok()).ok_or_else(|| {
            let factors: Vec<String> = factors.iter().map(ToString::to_string).collect();
            Self::Size { workload, reason: format!("{} numbers are too many", factors.join(" × ")) }
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, reason } => write!(f, "cannot read {path}: {reason}"),
            Self::Malformed { line, found, wanted } => write!(f, "line {line}: expected {wanted}, found {found:?}"),
            Self::Missing { line, wanted, found, needed } => {
                write!(f, "the text ends at line {line}: expected {wanted}, number {} of {needed}", found + 1)
            }
            Self::Trailing { line, found } => write!(f, "line {line}: nothing more belongs here, found {found:?}"),
            Self::Size { workload, reason } => write!(f, "{workload}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
