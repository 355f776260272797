//! Errors of sweeps.

use crate::error::StorageError;
use core::fmt;
use core::ops::Range;

/// Reason why a sweep over a recording ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepError {
    /// Records, or snapshots of a computation, could not be written to disk or read back.
    Storage(StorageError),
    /// A function with rules of its author has no rule for this kind of sweep.
    NoRule {
        /// Name of the function.
        function: String,
        /// The missing rule: `"forward"` or `"replay"`.
        rule: &'static str,
    },
    /// A rule failed.
    Rule {
        /// Name of the function.
        function: String,
        /// Message of the rule.
        message: String,
    },
    /// A stage that was rerun for recording computed other results than in its first run.
    NotReproducible {
        /// Name of the stage.
        stage: String,
        /// Outputs among which the first different one is, counted from 0; empty if their number changed.
        outputs: Range<usize>,
    },
    /// The schedule for the reversal of a time loop cannot be carried out, or would not reverse the loop.
    FaultySchedule {
        /// Name of the loop.
        time_loop: String,
        /// The faulty action with its position, counted from 1; or the end of the schedule.
        action: String,
        /// Reason why the action is faulty.
        why: String,
    },
    /// The computation was asked to stop.
    Cancelled {
        /// Name of the computation.
        what: String,
    },
    /// At the new inputs of a replay a comparison came out differently, so that the program would take another branch.
    BranchChanged {
        /// File of the comparison.
        file: String,
        /// Line of the comparison.
        line: u32,
    },
    /// Under the policy [`Checked`](crate::Checked): a statement of the recording uses a function that has no
    /// derivative at its arguments.
    Singular {
        /// Name of the function's rule.
        function: String,
        /// File of the statement; after a replay, of the call of the replay.
        file: String,
        /// Line of the statement or call.
        line: u32,
    },
    /// Under the policy [`Checked`](crate::Checked): a comparison of the recording may have hidden a derivative, since
    /// an active number equals a passive one, or is negligible; see [`Branch`](crate::contract::Branch).
    HiddenBranch {
        /// File of the comparison, which may belong to another crate.
        file: String,
        /// Line of the comparison.
        line: u32,
        /// Line of the program that led to the comparison, as `file:line`; known under [`Traced`](crate::Traced).
        statement: Option<String>,
    },
    /// The strategy, or this recording, does not support the operation.
    Unsupported {
        /// The requested operation, and the reason why it is not supported.
        what: String,
    },
}

impl SweepError {
    /// Wraps the failure of a rule, described in words.
    pub fn rule(function: impl Into<String>, message: impl fmt::Display) -> Self {
        Self::Rule { function: function.into(), message: message.to_string() }
    }
}

impl From<StorageError> for SweepError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl SweepError {
    /// Returns the error for a sweep that reaches an external function which it cannot process.
    #[cold]
    pub(crate) fn left_out(external: usize) -> Self {
        let what = format!(
            "a sweep over the statements alone came to external function {external} of the recording, and must not leave it out"
        );
        Self::Unsupported { what }
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(error) => fmt::Display::fmt(error, f),
            Self::NoRule { function, rule } => write!(f, "the external function {function} has no {rule} rule"),
            Self::Rule { function, message } => {
                write!(f, "the rule of the external function {function} failed: {message}")
            }
            Self::NotReproducible { stage, outputs } => {
                write!(f, "{stage} is not reproducible: run again on the same inputs, it computed ")?;
                match outputs.len() {
                    0 => f.write_str("another number of outputs")?,
                    1 => write!(f, "another output {}", outputs.start)?,
                    _ => write!(f, "another output among {} to {}", outputs.start, outputs.end - 1)?,
                }
                f.write_str(" (random numbers, clocks and changing globals must be inputs)")
            }
            Self::FaultySchedule { time_loop, action, why } => {
                write!(f, "the schedule of {time_loop} is faulty at {action}: {why}")
            }
            Self::Cancelled { what } => write!(f, "{what} was cancelled"),
            Self::BranchChanged { file, line } => write!(
                f,
                "the comparison at {file}:{line} comes out differently at the new inputs: the recording is not that of \
                 the branch that would be taken, so record again"
            ),
            Self::Singular { function, file, line } => {
                write!(f, "the statement at {file}:{line} has no derivative: {function} is singular at its arguments")
            }
            Self::HiddenBranch { file, line, statement } => {
                let reached = statement.as_ref().map(|line| format!(", reached from {line},")).unwrap_or_default();
                write!(
                    f,
                    "the comparison at {file}:{line}{reached} may hide a derivative: an active number equals a passive one \
                     there, or is negligible, and the program may have gone on without it (compare `value()` if the \
                     branch is meant; for rotations, matrices and complex numbers there are entries of this library)"
                )
            }
            Self::Unsupported { what } => f.write_str(what),
        }
    }
}

impl core::error::Error for SweepError {}
