//! Budgets, and recommendations for them.

use crate::advisor::text::table;
use core::fmt;

/// Memory that there is, and properties of the program; made of a number of bytes, or by [`Budget::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub(crate) bytes: usize,
    /// Number of steps, and of variables in a state.
    pub(crate) time_loop: Option<(usize, usize)>,
}

impl Budget {
    /// A budget of this many bytes for tape and adjoints together, counted as by
    /// [`Prediction::bytes`](crate::advisor::Prediction::bytes).
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, time_loop: None }
    }

    /// Adds that the program is a loop of this many steps, alike in their records, whose state has this many variables.
    /// Such a program can be reversed from snapshots of its state.
    #[must_use]
    pub const fn time_loop(mut self, steps: usize, state: usize) -> Self {
        self.time_loop = Some((steps, state));
        self
    }
}

impl From<usize> for Budget {
    fn from(bytes: usize) -> Self {
        Self::new(bytes)
    }
}

/// Answer of [`recommend`](crate::advisor::recommend()).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recommendation {
    /// True if the recommendation takes no more memory than there is. If false, nothing fits, and this recommendation
    /// takes the least.
    pub fits: bool,
    /// The strategy's type, in the form in which it is written after `use tapewright::prelude::*`.
    pub strategy: String,
    /// An expression that makes the tape, or the time loop, for programs that also
    /// `use tapewright::{Spilled, checkpoint::TimeLoop, schedule::Revolve, storage::SpillOptions}`. For forward mode, a
    /// call that finds the value and the gradient of the function `f`.
    pub code: String,
    /// Bytes of memory that the recommendation takes: exact for tapes in memory, an upper estimate for the others.
    pub bytes: usize,
    /// The reason, in one sentence.
    pub reason: String,
    /// True if other tapes could be recommended if the program ran with reused indices.
    pub(crate) lacks_reuse: bool,
}

/// Prints the expression, the reason, and further strategies to try.
impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.code, self.reason)?;
        if self.lacks_reuse { write!(f, "\n{}", table::ADVICE) } else { Ok(()) }
    }
}
