//! State of a recording beside its tape, and positions in it.

use super::branch_report::HiddenBranches;
use super::singular::Singular;
use crate::external::Externals;
use crate::pool::Pool;
use crate::{Mark, RecordingId, Reverse};
use core::any::TypeId;

/// What there is of a recording whatever its strategy.
pub(crate) struct State {
    /// Only recordings have one.
    pub(crate) number: RecordingId,
    /// Whether it keeps guards.
    pub(crate) guarded: bool,
    /// Whether a part of it did not.
    pub(crate) unguarded: bool,
    /// The first statement that was refused a derivative; kept for strategies that are `Checked` only.
    pub(crate) singular: Option<Singular>,
    /// Comparisons that may have hidden a derivative.
    pub(crate) branches: HiddenBranches,
    /// The identifiers, if the strategy reuses them.
    pub(crate) pool: Pool,
    /// The earlier parts of a recording that was resumed.
    pub(crate) parts: Vec<Part>,
}

impl State {
    /// Of what is no recording yet.
    pub(crate) const fn new() -> Self {
        let (number, branches) = (RecordingId::NONE, HiddenBranches::NONE);
        Self {
            number,
            guarded: false,
            unguarded: false,
            singular: None,
            branches,
            pool: Pool::new(),
            parts: Vec::new(),
        }
    }
}

/// What may be known of a recording that is listed.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) kind: TypeId,
    pub(crate) number: RecordingId,
    pub(crate) guarded: bool,
    pub(crate) paused: bool,
}

/// A place in a recording, between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) number: RecordingId,
    pub(crate) mark: Mark,
    /// The external functions before it.
    pub(crate) externals: usize,
    /// [`Reverse::identifiers`] there.
    identifiers: usize,
}

impl Place {
    pub(crate) fn new<S: Reverse>(number: RecordingId, tape: &S::Tape, externals: &Externals<S::Value>) -> Self {
        Self { number, mark: S::mark(tape), externals: externals.list.len(), identifiers: S::identifiers(tape) }
    }

    /// The recording.
    #[must_use]
    pub const fn number(self) -> RecordingId {
        self.number
    }

    /// [`Reverse::identifiers`] of the recording at this place.
    #[must_use]
    pub const fn identifiers(self) -> usize {
        self.identifiers
    }

    /// Whether it lies before, or is, the other place of the same tape.
    #[must_use]
    pub fn is_before(self, other: Self) -> bool {
        self.mark <= other.mark && self.externals <= other.externals
    }
}

/// A part of a recording behind which it was resumed.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) end: Place,
    /// The identifiers that could be reused then.
    pub(crate) free: Box<[u32]>,
    /// The slots of views that had been given out.
    pub(crate) views: usize,
    /// The first statement before it that was refused a derivative.
    pub(crate) singular: Option<Singular>,
    /// Comparisons before it that may have hidden a derivative.
    pub(crate) branches: HiddenBranches,
}
