//! The identifiers of a recording that reuses them.

/// Which identifiers are free, and how many variables share each of the others.
///
/// Emptying it costs the same however many identifiers there ever were.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Identifiers that were used and returned, the latest last. Has room for all, so that returning one cannot fail.
    free: Vec<u32>,
    /// By identifier: how many variables have it. Says nothing of identifiers that this recording has not used yet.
    counts: Vec<u32>,
}

/// The count of an identifier that is never returned.
const PINNED: u32 = u32::MAX;

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { free: Vec::new(), counts: Vec::new() }
    }

    /// Returns all identifiers.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.free.clear();
    }

    /// Whether [`take`](Self::take) finds one, which must never have been used if `unused` says so.
    #[inline(always)]
    pub(crate) const fn has_one(&self, fresh: u64, limit: u64, unused: bool) -> bool {
        !unused && !self.free.is_empty() || fresh < limit && fresh < self.counts.len() as u64
    }

    /// Takes an identifier: the one returned last, or `fresh`, which is then counted on. Only after
    /// [`has_one`](Self::has_one).
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "identifiers are below the length of `counts`")]
    pub(crate) fn take(&mut self, fresh: &mut u64) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            *fresh += 1;
            (*fresh - 1) as u32
        });
        self.counts[id as usize] = 1;
        id
    }

    /// Takes the identifier `fresh` for ever.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "identifiers are below the length of `counts`")]
    pub(crate) fn take_pinned(&mut self, fresh: &mut u64) -> u32 {
        let id = *fresh as u32;
        *fresh += 1;
        self.counts[id as usize] = PINNED;
        id
    }

    /// One more variable has this identifier.
    #[inline(always)]
    pub(crate) fn share(&mut self, id: u32) {
        if let Some(count) = self.counts.get_mut(id as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// One variable less has this identifier; the last one returns it.
    #[inline(always)]
    pub(crate) fn release(&mut self, id: u32) {
        match self.counts.get_mut(id as usize) {
            Some(&mut PINNED | &mut 0) | None => {}
            Some(count) => {
                *count -= 1;
                if *count == 0 {
                    self.free.push(id);
                }
            }
        }
    }

    /// How many identifiers there is room for, 0 among them.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.counts.len()
    }

    /// Makes room for identifiers below this.
    pub(crate) fn grow(&mut self, length: usize) {
        if length > self.counts.len() {
            self.counts.resize(length, 0);
            self.free.reserve(length - self.free.len());
        }
    }

    /// Bytes obtained from the allocator.
    pub(crate) const fn reserved(&self) -> usize {
        (self.free.capacity() + self.counts.capacity()) * size_of::<u32>()
    }
}
