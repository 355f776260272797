//! Room for records, and identifiers with their values.

use super::records::{Content, Records};
use super::usize_of;
use crate::pool::Pool;
use crate::refusal::Refusal;
use crate::storage::Layer;
use crate::{IndexManager, Number, TapeNumber, active};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Makes sure that the next record has room; grows the tape if not.
    #[inline]
    pub(super) fn make_room(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.make_room_for_identifier(false)?;
        if bytes <= self.segment_end.addr() - self.data.addr() {
            return Ok(());
        }
        self.enter(bytes).map_err(Refusal::Storage)
    }

    /// Makes sure that there is an identifier, a fresh one if it must be, and a place for its value.
    #[inline]
    fn make_room_for_identifier(&mut self, fresh: bool) -> Result<(), Refusal> {
        if M::REUSES {
            let ready = self.with_pool(|pool, next, limit| {
                let unused = *next < limit && *next < pool.len() as u64;
                if fresh { unused } else { pool.next(*next, limit).is_some() }
            });
            return if ready { Ok(()) } else { self.grow(self.fresh + 1) };
        }
        if self.next < self.limit { Ok(()) } else { self.grow(self.next + 1) }
    }

    /// Gives `f` the pool of this recording, the next fresh identifier and their limit.
    #[inline]
    pub(super) fn with_pool<R>(&mut self, f: impl FnOnce(&mut Pool, &mut u64, u64) -> R) -> R {
        // SAFETY: the callers, in this file and `push`, run nothing but methods of the pool.
        unsafe { active::with_pool(self.number, |pool| f(pool, &mut self.fresh, self.limit)) }
    }

    /// Takes an identifier from the pool, which has one.
    pub(super) fn take_identifier(&mut self) -> u64 {
        self.with_pool(|pool, fresh, limit| {
            let id = pool.next(*fresh, limit).map(u64::from);
            let id = id.expect("the tape of a recording is not exchanged for another while it runs");
            pool.take(id, fresh);
            id
        })
    }

    /// Makes sure that all identifiers below `end` can be used, as far as they are allowed.
    #[cold]
    pub(super) fn grow(&mut self, end: u64) -> Result<(), Refusal> {
        // Only a tape that never began one; identifiers without a recording would pass for passive.
        assert!(self.number != TapeNumber::default(), "nothing can be recorded before a recording begins");
        if end > self.identifiers {
            return Err(self.out_of_identifiers());
        }
        if K::VALUES && usize_of(end) > self.value_store.capacity() {
            self.grow_values(usize_of(end))?;
        }
        self.limit = self.identifiers;
        if K::VALUES {
            self.limit = self.limit.min(self.value_store.capacity() as u64);
        }
        if M::REUSES {
            let wanted = usize_of(self.identifiers.min((2 * self.fresh).max(end).max(512)));
            let grown =
                self.with_pool(|pool, _, _| if usize_of(end) > pool.len() { pool.grow(wanted) } else { Ok(()) });
            let room = self.with_pool(|pool, _, _| pool.len());
            self.limit = self.limit.min(room as u64);
            grown?;
        }
        Ok(())
    }

    pub(super) fn out_of_identifiers(&self) -> Refusal {
        Refusal::OutOfIdentifiers { used: self.len() as u64 - 1, limit: self.identifiers - 1, reused: M::REUSES }
    }
}
