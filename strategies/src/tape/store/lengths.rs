//! Lengths of records, by which walks go up: only the end of a record tells where it begins.

use crate::MemoryUsage;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The lengths of the records of a recording: a byte for each record, found by the first walk up and kept for the next.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    /// What they belong to; `None` while they are being found.
    of: Option<Extent>,
    /// The length of each record in bytes, 0 if it does not fit into a byte; within a span, the last record first.
    short: Vec<u8>,
    /// The lengths that do not fit into a byte, in the same order.
    long: Vec<usize>,
    /// For each span, the number of its first record, and where its lengths begin.
    spans: Vec<(usize, usize, usize)>,
}

/// How far a recording has come: how often records were forgotten before, and the bytes of its records.
pub(crate) type Extent = (u64, usize);

impl Lengths {
    fn clear(&mut self) {
        self.of = None;
        self.short.clear();
        self.long.clear();
        self.spans.clear();
    }

    /// Begins the next span.
    pub(crate) fn begin(&mut self) {
        self.spans.push((0, self.short.len(), self.long.len()));
    }

    /// Adds a record in front of those of the span.
    #[inline(always)]
    pub(crate) fn push(&mut self, length: usize) {
        if let Ok(short @ 1..) = u8::try_from(length) {
            self.short.push(short);
        } else {
            self.short.push(0);
            self.long.push(length);
        }
    }

    /// Ends the span, whose first record has this number.
    pub(crate) fn end(&mut self, first: usize) {
        self.spans.last_mut().expect("it has been begun").0 = first;
    }

    /// Returns the number of the first record in a span, and the ends of its records, which begin there.
    pub(crate) fn span(&self, at: usize, start: *const u8) -> (usize, Ends<'_>) {
        let (first, short, long) = self.spans[at];
        let next = self.spans.get(at + 1).map_or((self.short.len(), self.long.len()), |next| (next.1, next.2));
        (first, Ends { end: start, short: &self.short[short..next.0], long: &self.long[long..next.1] })
    }
}

/// The ends of the records in a span, first to last.
#[derive(Debug)]
pub(crate) struct Ends<'a> {
    end: *const u8,
    short: &'a [u8],
    long: &'a [usize],
}

impl Iterator for Ends<'_> {
    type Item = *const u8;
    #[inline(always)]
    fn next(&mut self) -> Option<*const u8> {
        let (length, short) = self.short.split_last()?;
        self.short = short;
        let mut length = usize::from(*length);
        if length == 0 {
            let long;
            (length, long) = self.long.split_last().map(|(length, long)| (*length, long))?;
            self.long = long;
        }
        self.end = self.end.wrapping_add(length);
        Some(self.end)
    }
}

/// The lengths of one recording, shared by the threads that walk up.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Option<Arc<Lengths>>>);

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Lengths>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lengths and true if they are kept; otherwise an empty list, which nobody else has.
    pub(crate) fn of(&self, extent: Extent) -> (Arc<Lengths>, bool) {
        let mut kept = self.lock();
        if let Some(lengths) = kept.as_ref().filter(|lengths| lengths.of == Some(extent)) {
            return (Arc::clone(lengths), true);
        }
        let mut lengths = kept.take().unwrap_or_default();
        match Arc::get_mut(&mut lengths) {
            Some(lengths) => lengths.clear(),
            None => lengths = Arc::default(),
        }
        (lengths, false)
    }

    /// Keeps the lengths, or only their memory if they are of no extent.
    pub(crate) fn keep(&self, mut lengths: Arc<Lengths>, extent: Option<Extent>) {
        if let Some(lengths) = Arc::get_mut(&mut lengths) {
            lengths.of = extent;
        }
        *self.lock() = Some(lengths);
    }

    /// Bytes in use for this part of the recording, and bytes that the allocator gave.
    pub(crate) fn memory(&self, extent: Extent) -> MemoryUsage {
        let kept = self.lock();
        let Some(lengths) = kept.as_deref() else { return MemoryUsage { used: 0, reserved: 0 } };
        let Lengths { of, short, long, spans } = lengths;
        let usages = [MemoryUsage::of_vec(short), MemoryUsage::of_vec(long), MemoryUsage::of_vec(spans)];
        let sum = |of: fn(&MemoryUsage) -> usize| usages.iter().map(of).sum();
        let used = if *of == Some(extent) { sum(|usage| usage.used) } else { 0 };
        MemoryUsage { used, reserved: sum(|usage| usage.reserved) }
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;
    use core::ptr;
    use std::sync::Arc;

    #[test]
    fn ends_are_sums_of_lengths_of_any_size() {
        let spans = [&[1, 255, 256, 7, 100_000][..], &[], &[300], &[5, 5]];
        let kept = Kept::default();
        let (mut lengths, known) = kept.of((1, 100));
        assert!(!known);
        for (first, span) in spans.iter().enumerate() {
            let lengths = Arc::get_mut(&mut lengths).expect("nobody else has them");
            lengths.begin();
            span.iter().rev().for_each(|length| lengths.push(*length));
            lengths.end(10 * first);
        }
        kept.keep(lengths, Some((1, 100)));
        let (lengths, known) = kept.of((1, 100));
        assert!(known);
        for (at, span) in spans.iter().enumerate() {
            let (first, ends) = lengths.span(at, ptr::without_provenance(1000));
            let expected = span.iter().scan(1000, |end, length| {
                *end += length;
                Some(*end)
            });
            assert_eq!(first, 10 * at);
            assert!(ends.map(<*const u8>::addr).eq(expected), "span {at}");
        }
    }

    #[test]
    fn lengths_of_another_extent_are_not_kept() {
        let kept = Kept::default();
        for (extent, known) in
            [((1, 100), false), ((1, 100), true), ((1, 101), false), ((2, 101), false), ((2, 101), true)]
        {
            let (lengths, found) = kept.of(extent);
            assert_eq!(found, known, "{extent:?}");
            kept.keep(lengths, Some(extent));
        }
        let (shared, _) = kept.of((2, 101));
        assert!(kept.of((3, 5)).0.short.is_empty() && shared.of == Some((2, 101)), "those in use are not changed");
        kept.keep(shared, None);
        assert!(!kept.of((2, 101)).1);
    }
}
