//! The slots of inputs.

use core::ops::Range;

/// The slots of a recording's inputs.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// All of them lie in here.
    pub(crate) hull: Range<usize>,
    /// Slots in the hull that are none, in order: not all of them, if a strategy does not number variables upwards.
    gaps: Vec<Range<usize>>,
}

impl Inputs {
    /// No inputs.
    pub(crate) const NONE: Self = Self { hull: 0..0, gaps: Vec::new() };

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.hull = 0..0;
        if !self.gaps.is_empty() {
            self.gaps.clear();
        }
    }

    /// Registers inputs with these slots.
    #[inline(always)]
    pub(crate) fn add(&mut self, slots: Range<usize>) {
        if self.hull.is_empty() {
            self.hull = slots;
        } else if self.hull.end == slots.start {
            self.hull.end = slots.end;
        } else {
            self.add_apart(slots);
        }
    }

    #[cold]
    fn add_apart(&mut self, slots: Range<usize>) {
        if self.hull.end < slots.start {
            self.gaps.push(self.hull.end..slots.start);
        } else {
            self.gaps.retain(|gap| gap.end <= slots.start || slots.end <= gap.start);
        }
        self.hull = self.hull.start.min(slots.start)..self.hull.end.max(slots.end);
    }

    /// Forgets slots from this one on.
    pub(crate) fn truncate(&mut self, end: usize) {
        self.hull.end = self.hull.end.min(end).max(self.hull.start);
        while let Some(gap) = self.gaps.last()
            && gap.end >= self.hull.end
        {
            self.hull.end = self.hull.end.min(gap.start);
            self.gaps.pop();
        }
    }

    /// Returns false if the variable in this slot is known not to be an input.
    #[inline(always)]
    pub(crate) fn may_have(&self, slot: usize) -> bool {
        self.hull.contains(&slot) && (self.gaps.is_empty() || !self.is_in_a_gap(slot))
    }

    #[cold]
    fn is_in_a_gap(&self, slot: usize) -> bool {
        let behind = self.gaps.partition_point(|gap| gap.end <= slot);
        self.gaps.get(behind).is_some_and(|gap| gap.start <= slot)
    }
}
