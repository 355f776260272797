//! Outlines of recordings: which records a sweep may leave out.

use core::ops::Range;

/// An outline of a recording, for sweeps from some of its variables that leave out what the seeds do not reach.
///
/// The records are divided into chunks. An outline says where each chunk lies, which chunk each slot was written in
/// last, and to which earlier chunks and which inputs the records of a chunk may pass adjoints.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Outline {
    pub(crate) chunks: Vec<Chunk>,
    /// For each slot, 1 + the chunk with the record that wrote it last; 0 if there is none. Empty where numbers of
    /// records are slots.
    pub(crate) latest: Vec<u32>,
    /// The slots that are written in each chunk. Empty where numbers of records are slots.
    pub(crate) written: Vec<u32>,
    /// The chunks that every sweep must pass.
    pub(crate) always: Vec<u32>,
}

/// A chunk of records in one segment.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Numbers of its records.
    pub(crate) numbers: Range<usize>,
    /// The segment, and the end of the last record as an offset in it.
    pub(crate) place: (usize, usize),
    /// The first chunk to which a record of this one may pass an adjoint.
    pub(crate) reach: u32,
    /// Its slots in [`Outline::written`].
    pub(crate) written: Range<u32>,
    /// Slots of the inputs to which it may pass adjoints.
    pub(crate) inputs: Touched,
    /// True if it has a launch, which may pass on adjoints of views.
    pub(crate) launches: bool,
}

/// A way in which an entry of a recording outside its records passes on adjoints.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// From its results to its inputs, and only if the adjoint of a result is not 0.
    Results,
    /// From its results and from views.
    Views,
    /// Always: a sweep must not leave it out.
    Always,
}

/// Returns the way in which the entry with this index passes on adjoints, after calling a function with the slots of
/// its inputs, and then with those of its results and `true`.
#[doc(hidden)]
pub type Entries<'a> = dyn Fn(usize, &mut dyn FnMut(usize, bool)) -> Passes + 'a;

impl Outline {
    /// Returns the bytes that the allocator gave.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slots = self.latest.capacity() + self.written.capacity() + self.always.capacity();
        self.chunks.capacity() * size_of::<Chunk>() + slots * size_of::<u32>()
    }

    /// Returns the chunk that wrote this slot last; `None` if the slot belongs to an input.
    pub(crate) fn chunk_of(&self, slot: usize) -> Option<usize> {
        if self.latest.is_empty() {
            let behind = self.chunks.partition_point(|chunk| chunk.numbers.start <= slot);
            return behind.checked_sub(1);
        }
        self.latest.get(slot).and_then(|chunk| (*chunk as usize).checked_sub(1))
    }

    /// Calls `pass` with the chunks that a sweep from these slots has to pass, the last first, and returns the slots
    /// outside of which no input has an adjoint afterwards. `pass` returns false if there was nothing to pass on.
    pub(crate) fn sweep<E>(
        &self,
        seeded: &mut dyn Iterator<Item = usize>,
        mut pass: impl FnMut(&Chunk) -> Result<bool, E>,
    ) -> Result<Touched, E> {
        let (mut touched, mut low, mut high) = (Touched::default(), usize::MAX, 0);
        for slot in seeded {
            touched.add(slot..slot + 1);
            if let Some(chunk) = self.chunk_of(slot) {
                (low, high) = (low.min(chunk), high.max(chunk));
            }
        }
        let (mut always, mut done) = (self.always.iter().rev().peekable(), self.chunks.len());
        loop {
            while always.next_if(|chunk| **chunk as usize >= done).is_some() {}
            let within = done.checked_sub(1).map(|below| below.min(high)).filter(|chunk| *chunk >= low);
            let Some(at) = within.max(always.peek().map(|chunk| **chunk as usize)) else { break };
            (done, high) = (at, high.max(at));
            let chunk = &self.chunks[at];
            if pass(chunk)? {
                low = low.min(chunk.reach as usize);
                touched.join(&chunk.inputs);
            }
        }
        Ok(touched)
    }
}

/// Some slots: at most two ranges that contain them.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    pub low: Range<usize>,
    pub high: Range<usize>,
}

impl Default for Touched {
    fn default() -> Self {
        Self { low: 0..0, high: 0..0 }
    }
}

impl Touched {
    /// Every slot below this one.
    pub(crate) const fn below(end: usize) -> Self {
        Self { low: 0..end, high: 0..0 }
    }

    /// Adds the slots of another set.
    fn join(&mut self, other: &Self) {
        self.add(other.low.clone());
        self.add(other.high.clone());
    }

    /// Adds a range; of three ranges, the two that are nearest to each other become one.
    pub(crate) fn add(&mut self, range: Range<usize>) {
        if range.is_empty() || holds(&self.low, &range) || holds(&self.high, &range) {
            return;
        }
        let mut all = [self.low.clone(), self.high.clone(), range];
        all.sort_unstable_by_key(|range| (range.is_empty(), range.start));
        let [a, b, c] = all;
        let gap = |a: &Range<usize>, b: &Range<usize>| b.start.saturating_sub(a.end);
        let joined = |a: Range<usize>, b: Range<usize>| a.start..a.end.max(b.end);
        (self.low, self.high) = match (b.is_empty(), c.is_empty()) {
            (true, _) => (a, 0..0),
            (false, true) => (a, b),
            (false, false) if gap(&a, &b) <= gap(&b, &c) => (joined(a, b), c),
            (false, false) => (a, joined(b, c)),
        };
    }
}

fn holds(range: &Range<usize>, other: &Range<usize>) -> bool {
    range.start <= other.start && other.end <= range.end
}

#[cfg(test)]
mod tests {
    use super::Touched;

    #[test]
    fn of_three_ranges_the_two_nearest_become_one() {
        let mut touched = Touched::default();
        touched.add(5..5);
        assert_eq!(touched, Touched::default(), "an empty range has no slots");
        [900..901, 1..3, 905..910, 2..4].into_iter().for_each(|range| touched.add(range));
        assert_eq!(touched, Touched { low: 1..4, high: 900..910 });
        touched.add(902..903);
        assert_eq!(touched, Touched { low: 1..4, high: 900..910 }, "a part of one is no third");
        touched.add(500..501);
        assert_eq!(touched, Touched { low: 1..4, high: 500..910 });
    }
}
