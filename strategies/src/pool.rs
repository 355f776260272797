//! The identifiers of a recording that reuses them.

use crate::refusal::Refusal;

/// Which identifiers are free, and how many variables share those that are shared.
///
/// Emptying it costs the same however many identifiers there ever were.
#[derive(Debug)]
pub(crate) struct Pool {
    /// By identifier. One that was returned: the one that was returned before it and is still free, or 0. One that is
    /// taken: how many variables have it, if it has ever been shared since.
    places: Vec<u32>,
    /// The identifier that was returned last and is still free, or 0.
    latest: u32,
}

/// The count of an identifier that has been copied too often to be counted.
const MANY: u32 = u32::MAX;

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), latest: 0 }
    }

    /// Returns all identifiers.
    #[inline(always)]
    pub(crate) const fn clear(&mut self) {
        self.latest = 0;
    }

    /// The identifier to be taken next: the one returned last, or `fresh` if it is below `limit`.
    ///
    /// `fresh` and `limit` are the tape's. Should it be another's (users may exchange tapes while they record), what
    /// was returned may be none of its identifiers, and is not given out.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "identifiers are 30 bits wide")]
    pub(crate) fn next(&self, fresh: u64, limit: u64) -> Option<u32> {
        if self.latest == 0 {
            return (fresh < limit && fresh < self.places.len() as u64).then_some(fresh as u32);
        }
        (u64::from(self.latest) < fresh).then_some(self.latest)
    }

    /// Takes what [`next`](Self::next) has just found.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: u64, fresh: &mut u64) {
        if id == *fresh {
            *fresh += 1;
        } else {
            self.latest = self.places.get(self.latest as usize).copied().unwrap_or(0);
        }
    }

    /// One more variable has this identifier; `first` says that only one had it so far.
    #[inline]
    pub(crate) fn share(&mut self, id: u32, first: bool) {
        if let Some(count) = self.places.get_mut(id as usize) {
            *count = if first { 2 } else { count.saturating_add(1) };
        }
    }

    /// One variable less has this shared identifier; the last one returns it.
    #[inline]
    pub(crate) fn release_shared(&mut self, id: u32) {
        match self.places.get_mut(id as usize) {
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
        if let Some(place) = self.places.get_mut(id as usize) {
            *place = core::mem::replace(&mut self.latest, id);
        }
    }

    /// The identifiers that were used and returned, the latest first.
    pub(crate) fn free(&self) -> impl Iterator<Item = u32> {
        let before = |id: &u32| self.places.get(*id as usize).copied().filter(|before| *before != 0);
        core::iter::successors(Some(self.latest).filter(|latest| *latest != 0), before)
    }

    /// Makes these, the latest first, the identifiers that can be reused.
    pub(crate) fn restore(&mut self, free: &[u32]) {
        self.clear();
        free.iter().rev().for_each(|id| self.release(*id));
    }

    /// How many identifiers there is room for, 0 among them.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Makes room for identifiers below this. All is as it was when the allocator has no memory for that.
    pub(crate) fn grow(&mut self, length: usize) -> Result<(), Refusal> {
        let bytes = length.saturating_mul(size_of::<u32>());
        let refusal = Refusal::OutOfMemory { bytes, what: "the identifiers of variables that are alive at once" };
        if self.places.is_empty() {
            // Memory that the allocator has cleared need not be touched before it is used.
            self.places = bytemuck::try_zeroed_vec(length).map_err(|()| refusal)?;
            return Ok(());
        }
        if self.places.try_reserve(length.saturating_sub(self.places.len())).is_err() {
            return Err(refusal);
        }
        self.places.resize(length.max(self.places.len()), 0);
        Ok(())
    }

    /// Bytes obtained from the allocator.
    pub(crate) const fn reserved(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
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
