//! Why sweeps end early.

use crate::StorageError;
use core::fmt;
use core::ops::Range;

/// Why a sweep over a recording ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepError {
    /// Records, or snapshots of a computation, could not be written to disk or read back.
    Storage(StorageError),
    /// A function that is differentiated by rules of its author has no rule for this kind of sweep.
    NoRule {
        /// The function's name.
        function: String,
        /// The rule: `"forward"` or `"replay"`.
        rule: &'static str,
    },
    /// A rule failed.
    Rule {
        /// The function's name.
        function: String,
        /// What it said.
        message: String,
    },
    /// A stage of a computation that was run again, to be recorded this time, computed something else than before.
    NotReproducible {
        /// The stage.
        stage: String,
        /// The outputs among which the first that came out differently is, counted from 0; empty if their number
        /// changed.
        outputs: Range<usize>,
    },
    /// The plan for the reversal of a time loop cannot be carried out, or would not reverse it.
    FaultySchedule {
        /// The loop's name.
        time_loop: String,
        /// The action of the plan with its place, counted from 1; or that the plan ended.
        action: String,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody asked for the computation to stop.
    Cancelled {
        /// What was stopped.
        what: String,
    },
    /// At the new inputs of a replay a comparison came out differently, so that the program would take another branch.
    BranchChanged {
        /// The file with the comparison.
        file: String,
        /// The line in it.
        line: u32,
    },
    /// Under the policy [`Checked`](crate::Checked): a statement of the recording has a function that has no derivative
    /// at its arguments.
    Singular {
        /// The name of its rule.
        function: String,
        /// The file with the statement; after a replay, with the call of that.
        file: String,
        /// The line in it.
        line: u32,
    },
    /// Under the policy [`Checked`](crate::Checked): a comparison of the recording may have hidden a derivative, since
    /// an active number equals a passive one, or is negligible; see [`Branch`](crate::Branch).
    HiddenBranch {
        /// The file with the comparison, which may be one of another crate.
        file: String,
        /// The line in it.
        line: u32,
        /// The line of the program that led there, as `file:line`; known under [`Tracing`](crate::Tracing).
        statement: Option<String>,
    },
    /// The strategy, or this recording, cannot do this.
    Unsupported {
        /// What was asked for, and why it cannot be done.
        what: String,
    },
}

impl SweepError {
    /// An error of a rule, in words.
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
    /// A sweep came to an external function that it knows nothing of.
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
