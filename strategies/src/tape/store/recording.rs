//! The memory of one recording: [`Records`].

use super::lengths::{Extent, Kept};
use crate::contract::Comparison;
use crate::error::{StorageError, out_of_memory};
use crate::external::Mark;
use crate::identifier::RecordingId;
use crate::storage::{ArrayFile, Layer, Segments, Slabs, SpillDefaults, SpillOptions, SpillUsage, Spilled};
use crate::tape::format::code_table::Codes;
use crate::tape::format::kind::Objects;
use crate::tape::format::layout::Layout;
use crate::tape::store::steps::Steps;
use crate::tape::usize_of;
use crate::{Capacity, IndexManager, MemoryUsage, Number};
use core::marker::PhantomData;
use core::panic::Location;
use core::ptr;
use smallvec::SmallVec;
use std::sync::Arc;

/// The content of the records of a tape: [`Partials`], [`Values`] or [`Closures`].
pub trait Content: sealed::Sealed + 'static {
    /// True if the tape keeps the value of every variable.
    #[doc(hidden)]
    const VALUES: bool;
    /// True if each record ends in the address of its layout, false if it ends in a code.
    #[doc(hidden)]
    const BY_ADDRESS: bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! contents {
    ($($(#[$doc:meta])* $name:ident: values $values:literal, by address $by_address:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());
        impl sealed::Sealed for $name {}
        impl Content for $name {
            const VALUES: bool = $values;
            const BY_ADDRESS: bool = $by_address;
        }
    )* };
}
contents! {
    /// Partials: the records of [`Jacobian`](crate::Jacobian).
    Partials: values false, by address false;
    /// Operands from which partials are recomputed, or partials, and the value of every variable: the records of
    /// [`PrimalValue`](crate::PrimalValue) and [`Hybrid`](crate::Hybrid).
    Values: values true, by address false;
    /// Partials, or closures of users: the records of [`Continuation`](crate::Continuation).
    Closures: values false, by address true;
}

/// A recording: segments of records and, if they are kept, the value of each variable.
///
/// The values are one contiguous array, not segments, because the sweep reads them in random order; like the adjoint
/// vector, the array grows by doubling.
pub struct Records<V: Number, M: IndexManager, L: Layer, K: Content> {
    /// Address of the next record.
    pub(crate) data: *mut u8,
    /// The last address at which a record may begin without its writer checking for space: the segment has `SLACK`
    /// bytes there, and there is an identifier.
    pub(crate) last: *mut u8,
    /// End of the segment that is being written.
    pub(crate) segment_end: *mut u8,
    /// The number of the next record, counted from 1. With linear indices it is the next identifier.
    pub(crate) next: u64,
    /// The next identifier that has never been used, where identifiers are reused.
    pub(crate) fresh: u64,
    /// The exclusive upper bound of the numbers of inputs that come first and have no records.
    pub(crate) inputs: u64,
    /// Exclusive upper bound of the identifiers that can be used without a call of `make_room`.
    pub(crate) limit: u64,
    /// The values, addressed by identifier.
    pub(crate) values: *mut V,
    pub(crate) codes: Codes<V>,
    /// One past the largest identifier allowed.
    pub(crate) identifiers: u64,
    pub(crate) number: RecordingId,
    pub(crate) resumed: Resumed,
    /// The objects in records that have to be dropped before the segments.
    pub(crate) objects: Objects,
    pub(crate) segments: L::Segments,
    /// The segments filled so far, followed by the current one.
    pub(crate) spans: SmallVec<[Span; 4]>,
    /// The counts of those spans that have been counted.
    pub(crate) counted: Counts,
    pub(crate) value_store: Vec<V>,
    /// The number of the first record of a statement whose value cannot be recomputed from it.
    pub(crate) first_partials: u64,
    pub(crate) guards: Guards<V>,
    pub(crate) steps: Steps<V, M::Index>,
    /// Counts how often records were forgotten: meanwhile they are only added.
    pub(crate) revision: u64,
    pub(crate) lengths: Kept,
    kind: PhantomData<(M, K)>,
}

/// Number of identifiers, and of their values, that a tape has memory for at first.
pub(crate) const IDENTIFIERS: usize = 512;

/// Records of at most this many bytes are written without checking for the end of the segment.
pub(crate) const SLACK: usize = 256;

/// Value of `data` while no segment is being written.
const CLOSED: *mut u8 = ptr::without_provenance_mut(1);

/// The part of a recording in one segment.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Start and length of the segment when it was written.
    pub(crate) start: *mut u8,
    pub(crate) bytes: usize,
    /// Bytes of records; not set in the current span.
    pub(crate) data: usize,
    /// The number of the first record in this span.
    pub(crate) first: u64,
    /// The counts when this span was begun.
    pub(crate) before: Counts,
}

/// Counts of some records, and their bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Number of spans that have been counted, from the first on.
    pub(crate) spans: usize,
    pub(crate) records: usize,
    pub(crate) statements: usize,
    pub(crate) arguments: usize,
    pub(crate) payload: usize,
    pub(crate) bytes: usize,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Default for Records<V, M, L, K> {
    fn default() -> Self {
        Self::on(L::Segments::default())
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Bytes behind the data of each record of a statement that identify its result: 0 with linear indices, otherwise
    /// those of the identifier, and of the earlier value of the identifier if values are kept.
    pub(crate) const TAIL: usize = match (M::REUSES, K::VALUES) {
        (false, _) => 0,
        (true, false) => size_of::<M::Index>(),
        (true, true) => size_of::<V>() + size_of::<M::Index>(),
    };
    /// Bytes at the end of each record: a code or the address of the layout.
    pub(crate) const CODE: usize = if K::BY_ADDRESS { size_of::<*const Layout<V>>() } else { 1 };
    /// True if there is one value for each live variable only, so that a sweep has to restore earlier values.
    pub(crate) const RESTORES: bool = M::REUSES && K::VALUES;

    /// True if records may leave memory.
    pub(crate) const SPILLS: bool = L::SPILLS;

    /// Makes an empty tape on this storage.
    pub(crate) fn on(segments: L::Segments) -> Self {
        Self {
            data: CLOSED,
            last: ptr::null_mut(),
            segment_end: CLOSED,
            next: 1,
            fresh: 1,
            inputs: 1,
            limit: 0,
            values: ptr::null_mut(),
            codes: Codes::new::<M::Index>(),
            identifiers: M::LARGEST + 1,
            number: RecordingId::default(),
            resumed: Resumed::default(),
            objects: Objects::default(),
            segments,
            spans: SmallVec::new(),
            counted: Counts::default(),
            value_store: Vec::new(),
            first_partials: u64::MAX,
            guards: Guards::new(),
            steps: Steps::default(),
            revision: 0,
            lengths: Kept::default(),
            kind: PhantomData,
        }
    }

    /// Notes that the value of the statement that is recorded next cannot be recomputed from its record.
    pub(crate) fn keeps_partials(&mut self) {
        self.first_partials = self.first_partials.min(self.next);
    }

    /// Notes that the recording so far lacks data that replays need.
    pub(crate) fn forbid_replays(&mut self) {
        self.first_partials = self.first_partials.min(self.next - 1);
    }

    /// Empties the recording, keeps its memory, and drops closures of users.
    #[inline(always)]
    pub(crate) fn begin(&mut self, number: RecordingId) {
        self.number = number;
        self.revision += 1;
        self.next = 1;
        self.fresh = 1;
        self.inputs = 1;
        self.resumed.clear();
        if K::VALUES {
            self.first_partials = u64::MAX;
            if !self.guards.list.is_empty() {
                self.guards.truncate(0);
            }
        }
        match &mut *self.spans {
            // The common case of a small recording, in constant time, whatever memory earlier recordings used.
            [span] if self.data != CLOSED && !self.codes.is_full() => {
                span.first = 1;
                self.data = span.start;
                self.set_end();
            }
            _ => self.rewind(),
        }
        if K::BY_ADDRESS {
            self.objects.truncate(0);
        }
    }

    #[cold]
    fn rewind(&mut self) {
        self.spans.clear();
        self.counted = Counts::default();
        self.segments.rewind();
        self.close();
        if self.codes.is_full() {
            self.codes = Codes::new::<M::Index>();
        }
    }

    /// Returns true if a segment is being written.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.data != CLOSED
    }

    /// Marks that no segment is being written, so that no record fits.
    pub(crate) fn close(&mut self) {
        (self.data, self.last, self.segment_end) = (CLOSED, ptr::null_mut(), CLOSED);
    }

    /// Continues writing at `data` in a segment that ends at `segment_end`.
    pub(crate) fn open(&mut self, data: *mut u8, segment_end: *mut u8) {
        (self.data, self.segment_end) = (data, segment_end);
        self.set_end();
    }

    /// Sets the limit of records in the segment that is being written. With linear indices, and if no values are kept,
    /// there are identifiers for all statements that fit below the limit; otherwise writers check for an identifier.
    #[inline(always)]
    pub(crate) fn set_end(&mut self) {
        let room = self.segment_end.addr() - self.data.addr();
        self.last = if room < SLACK { ptr::null_mut() } else { self.segment_end.wrapping_sub(SLACK) };
        self.lower_end();
    }

    /// Lowers the limit of records if there are fewer identifiers left than it allows, as after some have been taken
    /// without records.
    #[inline(always)]
    pub(crate) fn lower_end(&mut self) {
        let room = self.segment_end.addr() - self.data.addr();
        if !M::REUSES && !K::VALUES && self.identifiers < self.next + room as u64 {
            let left = self.identifiers.saturating_sub(self.next);
            let least = size_of::<M::Index>() + Self::CODE;
            let end = self.data.wrapping_add(room.min(usize_of(left) * least));
            self.last = self.last.min(end.wrapping_sub(1));
        }
    }

    /// Begins the next segment.
    pub(crate) fn enter(&mut self, least: usize) -> Result<(), StorageError> {
        if self.is_open() {
            let current = self.spans.last_mut().expect("the current segment has a span");
            current.data = self.data.addr() - current.start.addr();
            if L::Segments::COUNTS_AT_ONCE {
                self.counted = self.count()?;
            }
        }
        self.close();
        if self.spans.try_reserve(1).is_err() {
            out_of_memory(2 * self.spans.len() * size_of::<Span>(), "the list of segments of the tape");
        }
        let (start, bytes) = self.segments.advance(least)?;
        self.spans.push(Span { start, bytes, data: 0, first: self.next, before: self.counted });
        self.open(start, start.wrapping_add(bytes));
        Ok(())
    }

    /// Bytes of records in span `at`.
    pub(crate) fn data_of(&self, at: usize) -> usize {
        let span = &self.spans[at];
        let current = at + 1 == self.spans.len() && self.is_open();
        if current { self.data.addr() - span.start.addr() } else { span.data }
    }

    /// Returns how far the recording has come: it has the same records as long as this does not change.
    pub(crate) fn extent(&self) -> Extent {
        (self.revision, (0..self.spans.len()).map(|at| self.data_of(at)).sum())
    }

    /// Changes the number of identifiers that a recording may use, for tests that exhaust them.
    pub fn limit_identifiers(&mut self, identifiers: u64) {
        self.identifiers = identifiers.min(M::LARGEST).saturating_add(1);
        self.limit = self.limit.min(self.identifiers);
        self.set_end();
    }

    /// Makes `first` the first identifier of an empty recording: for tests that use the last identifiers. Sweeps over
    /// such a recording must end at a mark of it.
    ///
    /// # Panics
    ///
    /// When there are variables, when there is no such identifier, and when the tape keeps the values of variables,
    /// which would need as much memory as for the skipped identifiers.
    #[doc(hidden)]
    pub fn begin_identifiers_at(&mut self, first: u64) {
        let allowed = (1..=self.identifiers).contains(&first) && !K::VALUES;
        assert!(self.len() == 1 && allowed, "identifiers begin where the recording does");
        if M::REUSES {
            self.fresh = first;
            return;
        }
        self.rewind();
        self.revision += 1;
        (self.next, self.inputs) = (first, first);
    }

    /// Returns 1 + the largest identifier used.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize_of(if M::REUSES { self.fresh } else { self.next })
    }

    /// Returns the value of each variable, by identifier.
    pub(crate) fn all_values(&self) -> &[V] {
        self.values()
    }

    /// Returns the value of each variable, by identifier, to change it.
    pub(crate) fn all_values_mut(&mut self) -> &mut [V] {
        self.with_values().1
    }

    /// Takes memory for the first 64 statements, as [`Reverse::prepare`](crate::Reverse::prepare) asks. What the
    /// layer or the allocator refuses is reported by the statement that needs it.
    pub(crate) fn prepare(&mut self) -> usize {
        const STATEMENTS: usize = 64;
        if !self.spans.is_empty() {
            return 0;
        }
        let argument = size_of::<V>() + size_of::<M::Index>();
        let record = 4 * argument + size_of::<u32>() + Self::TAIL + Self::CODE;
        // Slabs that spill have the length of the options, which budgets count in.
        if self.segments.advance(if L::SPILLS { 0 } else { STATEMENTS * record }).is_ok() {
            self.segments.rewind();
        }
        if K::VALUES && self.value_store.capacity() == 0 {
            _ = self.grow_values(IDENTIFIERS);
        }
        if M::REUSES { IDENTIFIERS } else { 0 }
    }

    /// Reserves memory for a recording of this size, and touches it.
    ///
    /// # Panics
    ///
    /// When the size exceeds the address space, or the memory that the allocator has. The tape stays usable.
    #[track_caller]
    pub(crate) fn reserve(&mut self, capacity: Capacity) {
        let records = capacity.bytes(1, 1, 0);
        let argument = size_of::<V>() + size_of::<M::Index>();
        // Inputs behind statements have records.
        let input = if M::REUSES { 0 } else { Self::CODE };
        self.segments.reserve(capacity.bytes(input, Self::TAIL + Self::CODE, argument));
        if K::VALUES && !M::REUSES && records >= self.value_store.capacity() {
            if let Err(refusal) = self.grow_values(records + 1) {
                refusal.raise();
            }
            let used = self.len();
            self.value_store.spare_capacity_mut()[used..].iter_mut().for_each(|value| _ = value.write(V::ZERO));
        }
    }

    /// Returns the file for arrays that leave memory.
    pub(crate) fn array_file(&self) -> Option<&Arc<ArrayFile>> {
        self.segments.array_file()
    }

    /// Returns the bytes of segments and of values obtained from the allocator.
    pub(crate) fn reserved(&self) -> (usize, usize) {
        (self.segments.reserved(), self.value_store.capacity() * size_of::<V>())
    }
}

impl<V: Number, M: IndexManager, D: SpillDefaults, K: Content> Records<V, M, Spilled<D>, K> {
    /// Makes an empty tape whose file exists.
    pub(crate) fn spilled(options: SpillOptions) -> Result<Self, StorageError> {
        Ok(Self::on(Slabs::open(options)?))
    }

    pub(crate) fn usage(&self) -> SpillUsage {
        self.segments.usage()
    }
}

/// The guards of one recording, in the order of the comparisons.
pub(crate) struct Guards<V: Number> {
    pub(crate) list: Vec<Guard<V>>,
    /// The operands of the comparisons, encoded as the data of records of statements.
    pub(crate) bytes: Vec<u8>,
}

/// One comparison that a replay repeats.
pub(crate) struct Guard<V: Number> {
    /// The number of the first record behind the comparison.
    pub(crate) number: u64,
    pub(crate) comparison: Comparison,
    /// The outcome in each lane, as returned by [`Comparison::outcomes`].
    pub(crate) outcomes: SmallVec<[i8; 8]>,
    pub(crate) location: &'static Location<'static>,
    /// Layout of each operand, and start and end of its data in `Guards::bytes`.
    pub(crate) operands: [(&'static Layout<V>, usize, usize); 2],
}

impl<V: Number> Guards<V> {
    pub(crate) const fn new() -> Self {
        Self { list: Vec::new(), bytes: Vec::new() }
    }

    /// Forgets all guards but the first `kept`.
    pub(crate) fn truncate(&mut self, kept: usize) {
        if let Some(Guard { operands: [(_, start, _), _], .. }) = self.list.get(kept) {
            self.bytes.truncate(*start);
            self.list.truncate(kept);
        }
    }

    pub(crate) fn memory(&self) -> MemoryUsage {
        let (list, bytes) = (MemoryUsage::of_vec(&self.list), MemoryUsage::of_vec(&self.bytes));
        MemoryUsage { used: list.used + bytes.used, reserved: list.reserved + bytes.reserved }
    }
}

/// The marks at which a recording was resumed, the only ones to which it can be truncated. Truncated elsewhere, records
/// might remain that have identifiers above the recording's; and the integers of a mark can come from anywhere.
#[derive(Default)]
pub(crate) struct Resumed(pub(crate) Vec<Mark>);

impl Resumed {
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets the marks behind this one.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed there.
    #[track_caller]
    pub(crate) fn cut(&mut self, mark: Mark) {
        let at = self.0.iter().position(|resumed| *resumed == mark);
        let at = at.unwrap_or_else(|| panic!("the recording was not resumed at {mark:?}, so it cannot be cut there"));
        self.0.truncate(at + 1);
    }
}
