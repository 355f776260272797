//! Budgets, and recommendations for them.

use crate::advisor::text::table;
use core::fmt;

/// How much memory there is, and what is known of the program; made of a number of bytes, or by [`Budget::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub(crate) bytes: usize,
    /// Steps, and numbers in a state.
    pub(crate) time_loop: Option<(usize, usize)>,
}

impl Budget {
    /// This many bytes for tape and adjoints together, as [`Prediction::bytes`](crate::advisor::Prediction::bytes)
    /// counts them.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, time_loop: None }
    }

    /// The same for a program that is a loop of this many steps, alike in what they record, whose state has this many
    /// variables. It can then be reversed from snapshots of its state.
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

/// What [`recommend`](super::recommend) says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recommendation {
    /// Whether it takes no more memory than there is. If not, nothing does, and this is what takes the least.
    pub fits: bool,
    /// The strategy's type, as it is written after `use tapewright::prelude::*`.
    pub strategy: String,
    /// An expression that makes the tape, or the time loop, for programs that also
    /// `use tapewright::{SpillOptions, Spilled, TimeLoop, schedule::Revolve}`. For forward mode, a call that finds the
    /// value and the gradient of the function `f`.
    pub code: String,
    /// Bytes of memory that it takes: exact for tapes in memory, an estimate from above for the others.
    pub bytes: usize,
    /// One sentence.
    pub reason: String,
    /// Whether other tapes could be recommended if the program ran with reused indices.
    pub(crate) lacks_reuse: bool,
}

/// The expression, the reason, and what there is to try.
impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.code, self.reason)?;
        if self.lacks_reuse { write!(f, "\n{}", table::ADVICE) } else { Ok(()) }
    }
}
