//! The parts of a recording that was resumed, and the cuts that have forgotten something of them.

use smallvec::SmallVec;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::recording::Place;

/// The earlier parts of a recording that was resumed.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// End of each earlier part.
    pub(crate) ends: SmallVec<[Place; 2]>,
    /// True if an earlier part has a larger recording id than a later one.
    jumbled: bool,
    /// Number of cuts: calls that have forgotten a part of the recording.
    pub(crate) cuts: u64,
    /// Indices of cuts, in ascending order, each with the identifiers that the cut kept. A cut is left out if a later
    /// one kept no more.
    kept: Vec<(u64, Kept)>,
}

/// Identifiers and slots of views that a cut kept: those below these counts. Of two cuts of one recording, one keeps at
/// least as much as the other in both.
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

    /// Returns true if the recording id is the id of an earlier part.
    pub(crate) fn have(&self, number: RecordingId) -> bool {
        if self.jumbled {
            return self.ends.iter().any(|end| end.number() == number);
        }
        self.ends.binary_search_by_key(&number.get(), |end| end.number().get()).is_ok()
    }

    /// Adds a part, which ends here.
    pub(crate) fn end(&mut self, end: Place) {
        self.jumbled |= self.ends.last().is_some_and(|last| last.number().get() > end.number().get());
        self.ends.push(end);
    }

    /// Id of the first part, which stays the same as long as the recording does.
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

    /// Identifiers and views that all cuts after this one have kept.
    pub(crate) fn kept_since(&self, cut: u64) -> Kept {
        let first = self.kept.partition_point(|(number, _)| *number <= cut);
        self.kept.get(first).map_or(Kept::ALL, |(_, kept)| *kept)
    }
}

/// The sweep from position to position that an adjoint vector is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Under {
    pub(crate) recording: RecordingId,
    /// Number of cuts when the sweep was begun or continued.
    pub(crate) cuts: u64,
    /// Upper bound of the slots to which seeds were added since the last sweep.
    pub(crate) seeded: usize,
    /// True after a sweep that has ended early, by an error or a panic, so that adjoints are lost.
    pub(crate) cut_short: bool,
}
