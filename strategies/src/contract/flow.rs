//! Where derivatives of arrays go.

use crate::{RecordingId, Tangents};

/// What an array of a kernel depends on.
#[derive(Clone, Debug, Default)]
pub enum Dependence<V> {
    /// On nothing: it is a constant.
    #[default]
    Nothing,
    /// On inputs of a recording, where it has a slot for its adjoints.
    Recorded {
        /// The recording.
        number: RecordingId,
        /// The slot, counted from 1.
        slot: usize,
    },
    /// On variables that move: it carries tangents, in forward mode.
    Moving(Tangents<V>),
}

impl<V> Dependence<V> {
    /// The slot in a recording; 0 if there is none.
    #[must_use]
    #[inline]
    pub const fn slot(&self) -> usize {
        match self {
            Self::Recorded { slot, .. } => *slot,
            _ => 0,
        }
    }

    /// The tangents, if they are of this level.
    pub(crate) fn tangents_at(&self, level: u64) -> Option<&Tangents<V>> {
        match self {
            Self::Moving(tangents) if tangents.level == level => Some(tangents),
            _ => None,
        }
    }
}

/// Where the derivatives of a launch go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nowhere: all operands are constants, or derivatives are paused.
    Nowhere,
    /// The launch is to be recorded.
    Recorded(RecordingId),
    /// What it writes carries tangents.
    Carried,
}

impl Flow {
    /// Whether it is a recording that keeps what a replay needs.
    #[must_use]
    #[inline]
    pub fn is_kept_for_replays(self) -> bool {
        matches!(self, Self::Recorded(number) if crate::recording::keeps_guards(number))
    }
}
