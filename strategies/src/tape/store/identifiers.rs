//! Reservation of memory for records, and of identifiers with their values.

use super::recording::{Content, IDENTIFIERS, Records};
use crate::error::Refusal;
use crate::identifier::{LinearId, RecordingId};
use crate::pool::Pool;
use crate::storage::Layer;
use crate::tape::usize_of;
use crate::{IndexManager, Number, recording};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Makes sure that the next record has memory and an identifier, with memory for its value; grows the tape if not.
    /// The identifier is `own` if that is allowed.
    #[inline]
    pub(crate) fn make_room(&mut self, own: Option<LinearId<M::Index>>, bytes: usize) -> Result<(), Refusal> {
        let ready = if M::REUSES {
            own.is_some_and(|own| own.within(self.number, self.fresh))
                || recording::with_pool(self.number, |pool| pool.next(self.fresh, self.limit)).is_some()
        } else {
            self.next < self.limit
        };
        if !ready {
            self.grow(self.len() as u64 + 1)?;
        }
        if bytes <= self.segment_end.addr() - self.data.addr() {
            return Ok(());
        }
        self.enter(bytes).map_err(Refusal::Storage)
    }

    /// Returns the exclusive upper bound of the identifiers of the recording with id `number`, the identifier of the
    /// next statement's result, and true if that is [`own`](IndexManager::own). `None` if the tape has to grow first.
    #[inline(always)]
    pub(crate) fn identifier_of(
        &self,
        number: RecordingId,
        pool: &Pool,
        own: Option<LinearId<M::Index>>,
    ) -> Option<(u64, u64, bool)> {
        if const { !M::REUSES } {
            let has_room = !K::VALUES || self.next < self.limit;
            return if has_room { Some((self.next, self.next, false)) } else { None };
        }
        let known = self.fresh;
        match own {
            // Such an identifier has no mark.
            Some(own) if own.within(number, known) => Some((known, own.index(), true)),
            _ => Some((known, pool.next(known, self.limit).map(u64::from)?, false)),
        }
    }

    /// Returns [`own`](IndexManager::own) if that is allowed, and otherwise takes an identifier from the pool, which
    /// must have one.
    pub(crate) fn take_identifier(&mut self, own: Option<LinearId<M::Index>>) -> u64 {
        if let Some(own) = own.filter(|own| own.within(self.number, self.fresh)) {
            return own.index();
        }
        let id = recording::with_pool(self.number, |pool| pool.next(self.fresh, self.limit)).map(u64::from);
        let id = id.expect("the tape of a recording is not exchanged for another while it runs");
        recording::with_pool(self.number, |pool| pool.take(id, &mut self.fresh));
        id
    }

    /// Makes sure that all identifiers below `end` can be used, as far as they are allowed.
    #[cold]
    pub(crate) fn grow(&mut self, end: u64) -> Result<(), Refusal> {
        // Can fail only for a tape that never began a recording: identifiers without a recording would count as
        // passive.
        assert!(self.number != RecordingId::default(), "nothing can be recorded before a recording begins");
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
            let wanted = usize_of(self.identifiers.min((2 * self.fresh).max(end).max(IDENTIFIERS as u64)));
            let length = || recording::with_pool(self.number, |pool| pool.len());
            let enough = usize_of(end) <= length();
            let grown = if enough { Ok(()) } else { recording::with_pool(self.number, |pool| pool.grow(wanted)) };
            let room = length();
            self.limit = self.limit.min(room as u64);
            grown?;
        }
        Ok(())
    }

    pub(crate) fn out_of_identifiers(&self) -> Refusal {
        Refusal::OutOfIdentifiers { used: self.len() as u64 - 1, limit: self.identifiers - 1, reused: M::REUSES }
    }
}
