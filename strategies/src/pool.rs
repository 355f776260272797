//! The identifiers of a recording that reuses them.

use crate::refusal::Refusal;

/// Which identifiers are free, and how many variables share those that are shared.
///
/// Emptying it costs the same however many identifiers there ever were.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Identifiers that were used and returned, the latest last, in the first `returned` places. There is a place for
    /// each, so that returning one cannot fail.
    free: Vec<u32>,
    returned: usize,
    /// By identifier: how many variables have it, if it has ever been shared since it was taken.
    counts: Vec<u32>,
}

/// The count of an identifier that has been copied too often to be counted.
const MANY: u32 = u32::MAX;

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { free: Vec::new(), returned: 0, counts: Vec::new() }
    }

    /// Returns all identifiers.
    #[inline(always)]
    pub(crate) const fn clear(&mut self) {
        self.returned = 0;
    }

    /// The identifier to be taken next: the one returned last, or `fresh` if it is below `limit`.
    ///
    /// `fresh` and `limit` are the tape's. Should it be another's (users may exchange tapes while they record), what
    /// was returned may be none of its identifiers, and is not given out.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "identifiers are 30 bits wide")]
    pub(crate) fn next(&self, fresh: u64, limit: u64) -> Option<u32> {
        match self.returned.checked_sub(1) {
            Some(last) => self.free.get(last).copied().filter(|id| u64::from(*id) < fresh),
            None => (fresh < limit && fresh < self.free.len() as u64).then_some(fresh as u32),
        }
    }

    /// Takes what [`next`](Self::next) has just found.
    #[inline(always)]
    pub(crate) const fn take(&mut self, id: u64, fresh: &mut u64) {
        if id == *fresh {
            *fresh += 1;
        } else {
            self.returned -= 1;
        }
    }

    /// One more variable has this identifier; `first` says that only one had it so far.
    #[inline]
    pub(crate) fn share(&mut self, id: u32, first: bool) {
        if let Some(count) = self.counts.get_mut(id as usize) {
            *count = if first { 2 } else { count.saturating_add(1) };
        }
    }

    /// One variable less has this shared identifier; the last one returns it.
    #[inline]
    pub(crate) fn release_shared(&mut self, id: u32) {
        match self.counts.get_mut(id as usize) {
            None | Some(&mut (MANY | 0)) => {}
            Some(count) => {
                *count -= 1;
                if *count == 0 {
                    self.release(id);
                }
            }
        }
    }

    /// The only variable that has this identifier is gone.
    #[inline(always)]
    pub(crate) fn release(&mut self, id: u32) {
        if let Some(place) = self.free.get_mut(self.returned) {
            *place = id;
            self.returned += 1;
        }
    }

    /// The identifiers that were used and returned.
    pub(crate) fn free(&self) -> &[u32] {
        &self.free[..self.returned]
    }

    /// Makes these the identifiers that can be reused. There were this many at some time, so there is room.
    pub(crate) fn restore(&mut self, free: &[u32]) {
        self.returned = free.len();
        self.free[..free.len()].copy_from_slice(free);
    }

    /// How many identifiers there is room for, 0 among them.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.free.len()
    }

    /// Makes room for identifiers below this. All is as it was when the allocator has no memory for that.
    pub(crate) fn grow(&mut self, length: usize) -> Result<(), Refusal> {
        let bytes = length.saturating_mul(size_of::<u32>());
        let refusal = Refusal::OutOfMemory { bytes, what: "the identifiers of variables that are alive at once" };
        if self.free.is_empty() {
            // Memory that the allocator has cleared need not be touched before it is used.
            match (bytemuck::try_zeroed_vec(length), bytemuck::try_zeroed_vec(length)) {
                (Ok(free), Ok(counts)) => (self.free, self.counts) = (free, counts),
                _ => return Err(refusal),
            }
            return Ok(());
        }
        for list in [&mut self.counts, &mut self.free] {
            if list.try_reserve(length.saturating_sub(list.len())).is_err() {
                return Err(refusal);
            }
        }
        self.counts.resize(length.max(self.counts.len()), 0);
        self.free.resize(length.max(self.free.len()), 0);
        Ok(())
    }

    /// Bytes obtained from the allocator.
    pub(crate) const fn reserved(&self) -> usize {
        (self.free.capacity() + self.counts.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn identifiers_that_another_tape_returned_are_not_given_out() {
        let (mut pool, mut fresh) = (Pool::new(), 1);
        pool.grow(8).expect("a few words");
        for id in 1..=5 {
            assert_eq!(pool.next(fresh, 8), Some(id));
            pool.take(u64::from(id), &mut fresh);
        }
        pool.release(5);
        assert_eq!(pool.next(6, 8), Some(5), "the tape's own");
        assert_eq!(pool.next(5, 8), None, "a tape that has not come so far would give it out once more");
        assert_eq!(pool.next(3, 8), None);
    }
}
