//! The parts of a recording that was resumed, and what was forgotten of them.

use smallvec::SmallVec;
use tapewright_strategies::RecordingId;
use tapewright_strategies::recording::Place;

/// The earlier parts of a recording that was resumed.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Where each of them ends.
    pub(crate) ends: SmallVec<[Place; 2]>,
    /// How often something was forgotten.
    pub(crate) cuts: u64,
    /// Numbers of cuts, in order, each with what was kept then. Those that were followed by a cut that kept no more
    /// are left out.
    kept: Vec<(u64, Kept)>,
}

/// What a cut kept. Of two cuts of one recording, none keeps more of the one and less of the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) identifiers: usize,
    /// Slots of views.
    pub(crate) views: usize,
}

impl Kept {
    const ALL: Self = Self { identifiers: usize::MAX, views: usize::MAX };
}

impl Parts {
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        if !self.ends.is_empty() {
            *self = Self::default();
        }
    }

    /// Whether a variable of the recording with this number is of an earlier part.
    pub(crate) fn have(&self, number: RecordingId) -> bool {
        self.ends.iter().any(|end| end.number() == number)
    }

    /// The number of the first part, which stays the same as long as the recording does.
    pub(crate) fn root(&self, present: RecordingId) -> RecordingId {
        self.ends.first().map_or(present, |end| end.number())
    }

    pub(crate) fn cut(&mut self, kept: Kept) {
        self.cuts += 1;
        let keeps_no_less = |(_, old): &(u64, Kept)| old.identifiers >= kept.identifiers && old.views >= kept.views;
        while self.kept.last().is_some_and(keeps_no_less) {
            self.kept.pop();
        }
        self.kept.push((self.cuts, kept));
    }

    /// What all cuts since this one have kept.
    pub(crate) fn kept_since(&self, cut: u64) -> Kept {
        let first = self.kept.partition_point(|(number, _)| *number <= cut);
        self.kept.get(first).map_or(Kept::ALL, |(_, kept)| *kept)
    }
}

/// The sweep from position to position that an adjoint vector is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Under {
    pub(crate) recording: RecordingId,
    /// The cuts that have been made up to now.
    pub(crate) cuts: u64,
    /// Seeds were added since the last sweep to slots below this.
    pub(crate) seeded: usize,
    /// True after a sweep that has ended early, by an error or a panic, so that adjoints are lost.
    pub(crate) cut_short: bool,
}
