//! Room for records, and identifiers with their values.

use super::records::{Content, Records};
use super::usize_of;
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
            let (number, next, limit) = (self.number, self.fresh, self.limit);
            let ready = if fresh {
                next < limit && next < active::with_pool(number, |pool| pool.len()) as u64
            } else {
                active::with_pool(number, |pool| pool.next(next, limit)).is_some()
            };
            return if ready { Ok(()) } else { self.grow(self.fresh + 1) };
        }
        if self.next < self.limit { Ok(()) } else { self.grow(self.next + 1) }
    }

    /// Takes an identifier from the pool, which has one.
    pub(super) fn take_identifier(&mut self) -> u64 {
        let id = active::with_pool(self.number, |pool| pool.next(self.fresh, self.limit)).map(u64::from);
        let id = id.expect("the tape of a recording is not exchanged for another while it runs");
        active::with_pool(self.number, |pool| pool.take(id, &mut self.fresh));
        id
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
            let length = || active::with_pool(self.number, |pool| pool.len());
            let enough = usize_of(end) <= length();
            let grown = if enough { Ok(()) } else { active::with_pool(self.number, |pool| pool.grow(wanted)) };
            let room = length();
            self.limit = self.limit.min(room as u64);
            grown?;
        }
        Ok(())
    }

    pub(super) fn out_of_identifiers(&self) -> Refusal {
        Refusal::OutOfIdentifiers { used: self.len() as u64 - 1, limit: self.identifiers - 1, reused: M::REUSES }
    }

    /// Makes room for the values of `least` identifiers at least. All is as it was when the allocator has no memory for
    /// that.
    pub(super) fn grow_values(&mut self, least: usize) -> Result<(), Refusal> {
        let capacity = least.max(2 * self.value_store.capacity()).max(512);
        let used = if self.value_store.capacity() == 0 { 0 } else { self.len() };
        // SAFETY: elements 0..used have been written, and are not moved if there is no memory.
        let grown = unsafe {
            self.value_store.set_len(used);
            let grown = self.value_store.try_reserve_exact(capacity - used);
            self.value_store.set_len(0);
            grown
        };
        let refused = |_| Refusal::OutOfMemory {
            bytes: capacity.saturating_mul(size_of::<V>()),
            what: "the values of variables",
        };
        grown.map_err(refused)?;
        if used == 0 {
            self.value_store.spare_capacity_mut()[0].write(V::ZERO);
        }
        if M::REUSES {
            // What an identifier overwrites is read, also when it overwrites nothing.
            let used = self.len();
            self.value_store.spare_capacity_mut()[used..].iter_mut().for_each(|value| _ = value.write(V::ZERO));
        }
        self.values = self.value_store.as_mut_ptr();
        Ok(())
    }
}
