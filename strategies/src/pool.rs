//! The pool of identifiers of a recording that reuses them.

use crate::error::Refusal;

/// The free identifiers, as a list, and the number of variables that share each shared identifier.
///
/// Clearing the pool takes constant time.
#[derive(Debug)]
pub(crate) struct Pool {
    /// One entry per identifier. Free identifiers form a list: the entry is the identifier that was returned before and
    /// is still free, or 0. The entry of a taken identifier is the number of variables that share it; unspecified until
    /// it is shared.
    places: Vec<u32>,
    /// The head of the list of free identifiers: the one that was returned last, or 0.
    latest: u32,
}

/// The count of an identifier with too many copies to be counted.
const MANY: u32 = u32::MAX;

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), latest: 0 }
    }

    /// Frees all identifiers.
    #[inline(always)]
    pub(crate) const fn clear(&mut self) {
        self.latest = 0;
    }

    /// Returns the identifier to be taken next: the one returned last, or `fresh` if it is below `limit`.
    ///
    /// `fresh` and `limit` are the tape's. If they belong to another tape (users may exchange tapes while they record),
    /// the identifiers that were returned may not be that tape's, and are not given out.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "identifiers are 30 bits wide")]
    pub(crate) fn next(&self, fresh: u64, limit: u64) -> Option<u32> {
        if self.latest == 0 {
            return (fresh < limit && fresh < self.places.len() as u64).then_some(fresh as u32);
        }
        (u64::from(self.latest) < fresh).then_some(self.latest)
    }

    /// Takes the identifier that [`next`](Self::next) has just found.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: u64, fresh: &mut u64) {
        if id == *fresh {
            *fresh += 1;
        } else {
            self.latest = self.places.get(self.latest as usize).copied().unwrap_or(0);
        }
    }

    /// Counts one more variable with this identifier; `first` is true if only one variable had it so far.
    #[inline]
    pub(crate) fn share(&mut self, id: u32, first: bool) {
        if let Some(count) = self.places.get_mut(id as usize) {
            *count = if first { 2 } else { count.saturating_add(1) };
        }
    }

    /// Counts one variable less with this shared identifier; the last one returns it.
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

    /// Returns an identifier whose only variable is gone.
    #[inline(always)]
    pub(crate) fn release(&mut self, id: u32) {
        if let Some(place) = self.places.get_mut(id as usize) {
            *place = core::mem::replace(&mut self.latest, id);
        }
    }

    /// Returns the identifiers that were used and returned, the latest first.
    pub(crate) fn free(&self) -> impl Iterator<Item = u32> {
        let before = |id: &u32| self.places.get(*id as usize).copied().filter(|before| *before != 0);
        let first = Some(self.latest).filter(|latest| *latest != 0);
        // Code that changes the tape of a running recording (`recording::with`) may have one identifier returned twice.
        core::iter::successors(first, before).take(self.places.len())
    }

    /// Makes the identifiers in `free`, the latest first, the free ones.
    pub(crate) fn restore(&mut self, free: impl DoubleEndedIterator<Item = u32>) {
        self.clear();
        free.rev().for_each(|id| self.release(id));
    }

    /// Number of identifiers that the pool has memory for, including 0.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Reserves memory for identifiers below `length`. When the allocator has no memory for that, nothing changes.
    pub(crate) fn grow(&mut self, length: usize) -> Result<(), Refusal> {
        let bytes = length.saturating_mul(size_of::<u32>());
        let refusal = Refusal::OutOfMemory { bytes, what: "the identifiers of variables that are alive at once" };
        if self.places.is_empty() {
            // Memory that the allocator has zeroed need not be touched before it is used.
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

/// The identifiers that were free at the end of a part of a recording: what differs from the end of the next part.
#[derive(Debug)]
pub(crate) struct Freed {
    /// Number of identifiers, those that were returned first, that are the same as at the end of the next part.
    shared: usize,
    /// The others, the latest last.
    latest: Vec<u32>,
}

impl Freed {
    /// Notes the free identifiers at the end of a part behind the part with `last`.
    pub(crate) fn note(last: Option<&mut Self>, pool: &Pool) -> Self {
        let mut latest: Vec<u32> = pool.free().collect();
        latest.reverse();
        if let Some(last) = last {
            last.shared = last.latest.iter().zip(&latest).take_while(|(old, new)| old == new).count();
            last.latest.drain(..last.shared);
            last.latest.shrink_to_fit();
        }
        Self { shared: 0, latest }
    }

    /// Makes the first of these parts the last one.
    pub(crate) fn cut<'a>(parts: impl DoubleEndedIterator<Item = &'a mut Self>) {
        let mut free = Vec::new();
        let mut first = None;
        for part in parts.rev() {
            free.truncate(part.shared);
            free.extend_from_slice(&part.latest);
            first = Some(part);
        }
        if let Some(first) = first {
            *first = Self { shared: 0, latest: free };
        }
    }

    /// Makes the identifiers free that were free at the end of this part, the last one.
    pub(crate) fn restore(&self, pool: &mut Pool) {
        pool.restore(self.latest.iter().rev().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::{Freed, MANY, Pool};

    #[test]
    fn parts_keep_what_differs_from_the_next_part() {
        let (mut pool, mut fresh) = taken(7);
        let (mut parts, mut lists) = (Vec::<Freed>::new(), Vec::new());
        let mut note = |pool: &Pool| {
            let freed = Freed::note(parts.last_mut(), pool);
            parts.push(freed);
            lists.push(pool.free().collect::<Vec<u32>>());
        };
        [3, 1, 5].into_iter().for_each(|id| pool.release(id));
        note(&pool);
        note(&pool); // nothing has changed
        assert_eq!([take(&mut pool, &mut fresh), take(&mut pool, &mut fresh)], [5, 1]);
        pool.release(6);
        note(&pool);
        assert_eq!([take(&mut pool, &mut fresh), take(&mut pool, &mut fresh)], [6, 3]);
        note(&pool); // none is left
        [2, 6].into_iter().for_each(|id| pool.release(id));
        note(&pool);
        assert_eq!(parts.iter().map(|part| part.latest.len()).collect::<Vec<_>>(), [0, 2, 2, 0, 2]);
        for at in [3, 2, 2, 0] {
            Freed::cut(parts[at..].iter_mut());
            parts.truncate(at + 1);
            parts[at].restore(&mut pool);
            assert_eq!(pool.free().collect::<Vec<u32>>(), lists[at], "part {at}");
        }
    }

    /// A pool with the identifiers 1 to `n` taken, and the next fresh one.
    fn taken(n: u64) -> (Pool, u64) {
        let (mut pool, mut fresh) = (Pool::new(), 1);
        pool.grow(8).expect("a few words");
        (1..=n).for_each(|id| assert_eq!(u64::from(take(&mut pool, &mut fresh)), id));
        (pool, fresh)
    }

    fn take(pool: &mut Pool, fresh: &mut u64) -> u32 {
        let id = pool.next(*fresh, 1 << 20).expect("there is room");
        pool.take(u64::from(id), fresh);
        id
    }

    #[test]
    fn identifiers_that_another_tape_returned_are_not_given_out() {
        let (mut pool, fresh) = taken(5);
        pool.release(5);
        assert_eq!((fresh, pool.next(6, 8)), (6, Some(5)), "the tape's own");
        assert_eq!(pool.next(5, 8), None, "a tape that has not come so far would give it out once more");
        assert_eq!(pool.next(3, 8), None);
    }

    #[test]
    fn what_is_restored_comes_in_the_order_that_it_would_have_come_in() {
        let (mut pool, mut fresh) = taken(5);
        [2, 4, 1].into_iter().for_each(|id| pool.release(id));
        let free: Vec<u32> = pool.free().collect();
        assert_eq!(free, [1, 4, 2]);
        assert_eq!([take(&mut pool, &mut fresh), take(&mut pool, &mut fresh)], [1, 4]);
        [5, 4].into_iter().for_each(|id| pool.release(id));
        pool.restore(free.into_iter());
        assert_eq!([(); 4].map(|()| take(&mut pool, &mut fresh)), [1, 4, 2, 6]);
    }

    #[test]
    fn what_was_free_may_be_shared_and_what_was_shared_may_be_free() {
        let (mut pool, mut fresh) = taken(3);
        pool.release(1);
        pool.release(2);
        assert_eq!(take(&mut pool, &mut fresh), 2, "its place still names 1");
        pool.share(2, true);
        pool.share(2, false);
        (0..3).for_each(|_| pool.release_shared(2));
        assert_eq!([(); 3].map(|()| take(&mut pool, &mut fresh)), [2, 1, 4]);
    }

    #[test]
    fn a_list_that_is_not_empty_stays_when_there_is_room_for_more() {
        let (mut pool, mut fresh) = taken(7);
        pool.release(3);
        pool.release(6);
        pool.grow(1024).expect("a few words");
        assert_eq!([(); 3].map(|()| take(&mut pool, &mut fresh)), [6, 3, 8]);
    }

    #[test]
    fn identifiers_that_are_shared_too_often_or_are_none_are_not_returned() {
        let (mut pool, mut fresh) = taken(2);
        pool.places[2] = MANY - 1;
        pool.share(2, false);
        pool.share(2, false);
        (0..3).for_each(|_| pool.release_shared(2));
        pool.release(8);
        pool.release_shared(8);
        assert_eq!((pool.free().count(), take(&mut pool, &mut fresh)), (0, 3));
    }

    #[test]
    fn a_list_that_a_misused_tape_has_made_a_circle_ends() {
        let (mut pool, _) = taken(2);
        pool.release(2);
        pool.release(2);
        assert_eq!(pool.free().count(), 8);
    }
}
