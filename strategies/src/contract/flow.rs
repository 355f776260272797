//! Dependences of arrays, and the destination of their derivatives.

use crate::identifier::RecordingId;
use crate::kernel::memory::Tangents;

/// The dependence of an array of a kernel on inputs.
#[derive(Clone, Debug, Default)]
pub enum Dependence<V> {
    /// No dependence: the array is a constant.
    #[default]
    Nothing,
    /// A dependence on inputs of a recording, in which the array has a slot for its adjoints.
    Recorded {
        /// The recording.
        number: RecordingId,
        /// The slot, counted from 1.
        slot: usize,
    },
    /// A dependence on variables of forward mode: the array carries tangents.
    Moving(Tangents<V>),
}

impl<V> Dependence<V> {
    /// The recording on whose inputs the array depends.
    #[must_use]
    #[inline]
    pub const fn number(&self) -> Option<RecordingId> {
        match self {
            Self::Recorded { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// The slot of the array in a recording; 0 if it has none.
    #[must_use]
    #[inline]
    pub const fn slot(&self) -> usize {
        match self {
            Self::Recorded { slot, .. } => *slot,
            _ => 0,
        }
    }

    /// The tangents, if they belong to the evaluation with this level.
    pub(crate) fn tangents_at(&self, level: u64) -> Option<&Tangents<V>> {
        match self {
            Self::Moving(tangents) if tangents.level == level => Some(tangents),
            _ => None,
        }
    }
}

/// The destination of the derivatives of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// No destination: all operands are constants, or derivatives are paused.
    Nowhere,
    /// A recording, in which the launch is to be recorded.
    Recorded(RecordingId),
    /// Forward mode: the arrays and variables that the launch writes carry tangents.
    Carried,
}

impl Flow {
    /// Returns true if the derivatives go to a recording that keeps what a replay needs.
    #[must_use]
    #[inline]
    pub fn is_kept_for_replays(self) -> bool {
        matches!(self, Self::Recorded(number) if crate::recording::keeps_guards(number))
    }
}
