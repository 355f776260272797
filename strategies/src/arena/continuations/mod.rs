//! A stack of closures: their captures in segments, and beside them a pointer for each.
//!
//! Captures grow upwards from the start of a segment, the stack of pointers downwards from its end, so that one
//! comparison finds room for both. A pointer leads to the [`Vtable`] of the closure's type. Captures end with the
//! identifier of the left-hand side and are read from their end: see [`closure`]. They are written in [`append`] and
//! called in [`sweep`].
//!
//! Invariants that the unsafe code of this module relies on:
//!
//! * The k-th pointer of a segment, from its end, and the k-th captures, from its start, were written together, and the
//!   captures are as long as the [`Vtable`] says. Both are aligned to 8 bytes.
//! * Every identifier in captures is below `next`. An adjoint vector as long as the recording is therefore long enough.
//! * Each user's closure with a destructor that was moved into the arena is in `destructors`, once, and is taken
//!   out before the destructor runs. The list is empty whenever captures may be written over.

mod append;
mod closure;
mod forward;
mod lanes;
mod sweep;

pub(crate) use append::{append_closure, append_nary_closure, append_user_closure};

use super::places::Resumed;
use super::records::{Refusal, usize_of};
use super::segment::Segment;
use crate::refusal::{out_of_memory, room_for_one};
use crate::{
    ArrayFile, Capacity, Float, IndexManager, LinearId, Mark, MemoryReport, MemoryUsage, SweepError, TapeNumber, active,
};
use closure::{Vtable, whole_words};
use core::marker::PhantomData;
use core::{mem, ptr};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Bytes of a pointer on the stack.
const POINTER: usize = size_of::<&Vtable<f64>>();

/// A recording of [`Continuation`](crate::Continuation): captures of closures, and the stack of pointers to their types.
pub struct Continuations<V: 'static, M: IndexManager> {
    /// Where the next captures go.
    data: *mut u8,
    /// The top of the stack, which grows downwards.
    top: *mut &'static Vtable<V>,
    /// The next identifier.
    next: u64,
    /// One past the largest identifier allowed.
    identifiers: u64,
    number: TapeNumber,
    resumed: Resumed,
    /// The first ones are full, as `full` says; then comes the one in use, then free ones.
    segments: Vec<Segment>,
    full: SmallVec<[Ends<V>; 4]>,
    destructors: Vec<Destructor>,
    manager: PhantomData<M>,
}

/// How far captures and stack reach in a segment.
#[derive(Clone, Copy)]
struct Ends<V: 'static> {
    data: *mut u8,
    top: *mut &'static Vtable<V>,
}

/// A closure whose captures have to be dropped.
struct Destructor {
    object: *mut u8,
    /// # Safety
    ///
    /// The closure lies at the pointer, and nobody uses it any more.
    drop: unsafe fn(*mut u8),
}

// SAFETY: the pointers point into `segments`, which move along; users' closures are `Send`.
unsafe impl<V: Send, M: IndexManager> Send for Continuations<V, M> {}
// SAFETY: shared references only read, and call users' closures by reference, which are `Sync`; the `Bump`s in the segments,
// which are not, are used through exclusive ones alone.
unsafe impl<V: Sync, M: IndexManager> Sync for Continuations<V, M> {}

impl<V: Float, M: IndexManager> Default for Continuations<V, M> {
    fn default() -> Self {
        Self {
            data: ptr::null_mut(),
            top: ptr::null_mut(),
            next: 1,
            identifiers: M::LARGEST + 1,
            number: TapeNumber::default(),
            resumed: Resumed::default(),
            segments: Vec::new(),
            full: SmallVec::new(),
            destructors: Vec::new(),
            manager: PhantomData,
        }
    }
}

/// The bottom of the stack in a segment; aligned, because segments are, and are whole words long.
const fn bottom<V>(segment: &Segment) -> *mut &'static Vtable<V> {
    segment.start().wrapping_add(segment.bytes()).cast()
}

impl<V: 'static, M: IndexManager> Drop for Continuations<V, M> {
    fn drop(&mut self) {
        self.destroy();
    }
}

impl<V: 'static, M: IndexManager> Continuations<V, M> {
    /// Runs the destructors of users' closures; all of them, also when some panic.
    #[cold]
    fn destroy(&mut self) {
        let mut panics = Vec::new();
        while let Some(Destructor { object, drop }) = self.destructors.pop() {
            // SAFETY: the closure was moved into the arena when it was listed, nothing has been written over it since,
            // and as it is listed no more, it is dropped once.
            panics.extend(catch_unwind(AssertUnwindSafe(|| unsafe { drop(object) })).err());
        }
        // The list is empty now, whatever happens next. While unwinding, a second panic would abort.
        if let Some(panic) = panics.pop()
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl<V: Float, M: IndexManager> Continuations<V, M> {
    /// Empties the recording, keeps its memory, and drops users' closures.
    #[inline(always)]
    pub(crate) fn begin(&mut self, number: TapeNumber) {
        self.number = number;
        self.next = 1;
        self.resumed.clear();
        self.full.clear();
        if !self.segments.is_empty() {
            self.enter(0);
        }
        if !self.destructors.is_empty() {
            self.destroy();
        }
    }

    /// Makes segment `at` the one in use.
    #[inline(always)]
    fn enter(&mut self, at: usize) {
        let segment = &self.segments[at];
        self.data = segment.start();
        self.top = bottom(segment);
    }

    /// Changes the number of identifiers that a recording may use, for tests that exhaust them.
    pub fn limit_identifiers(&mut self, identifiers: u64) {
        self.identifiers = identifiers.min(M::LARGEST).saturating_add(1);
    }

    /// Gives the first variable of a recording, in which there is none yet, this identifier: for tests that use the
    /// last identifiers.
    ///
    /// # Panics
    ///
    /// When there are variables, and when there is no such identifier.
    #[doc(hidden)]
    pub fn begin_identifiers_at(&mut self, first: u64) {
        let allowed = (1..=self.identifiers).contains(&first);
        assert!(self.next == 1 && allowed, "identifiers begin where the recording does");
        self.next = first;
    }

    /// The identifier of a new variable. The one place that decides it.
    #[inline(always)]
    fn fresh_identifier(&mut self) -> Result<u64, Refusal> {
        if M::REUSES {
            return match self.pooled_identifier() {
                Some(id) => Ok(id),
                None => self.grow_pool(),
            };
        }
        self.unused_identifier()
    }

    /// An identifier that the pool has.
    #[inline(always)]
    fn pooled_identifier(&mut self) -> Option<u64> {
        let (next, identifiers) = (&mut self.next, self.identifiers);
        // SAFETY: this runs nothing but methods of the pool.
        unsafe {
            active::with_pool(self.number, |pool| {
                let id = pool.next(*next, identifiers).map(u64::from);
                id.inspect(|id| pool.take(*id, next))
            })
        }
    }

    /// Makes the pool larger, and takes an identifier from it.
    #[cold]
    fn grow_pool(&mut self) -> Result<u64, Refusal> {
        let wanted = usize_of(self.identifiers.min((2 * self.next).max(512)));
        if self.next < self.identifiers {
            // SAFETY: this runs nothing but methods of the pool.
            unsafe { active::with_pool(self.number, |pool| pool.grow(wanted))? }
        }
        self.pooled_identifier().ok_or_else(|| self.out_of_identifiers())
    }

    /// An identifier that no variable of this recording has had.
    #[inline(always)]
    fn unused_identifier(&mut self) -> Result<u64, Refusal> {
        if self.next >= self.identifiers {
            return Err(self.out_of_identifiers());
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    #[cold]
    fn out_of_identifiers(&self) -> Refusal {
        Refusal::OutOfIdentifiers { used: self.next - 1, limit: self.identifiers - 1, reused: M::REUSES }
    }

    /// Registers an independent variable.
    #[inline]
    pub(crate) fn input(&mut self, _: V) -> Result<LinearId<M::Index>, Refusal> {
        self.assert_begun();
        Ok(LinearId::pack(self.number, self.unused_identifier()?))
    }

    /// Registers an independent variable for each value.
    #[inline]
    pub(crate) fn inputs(&mut self, values: &[V], mut each: impl FnMut(V, LinearId<M::Index>)) -> Result<(), Refusal> {
        self.assert_begun();
        if values.len() as u64 > self.identifiers.saturating_sub(self.next) {
            return Err(self.out_of_identifiers());
        }
        for value in values {
            let index = self.unused_identifier()?;
            each(*value, LinearId::pack(self.number, index));
        }
        Ok(())
    }

    /// Registers a variable whose derivatives somebody else propagates.
    pub(crate) fn intermediate(&mut self, _: V) -> Result<LinearId<M::Index>, Refusal> {
        self.assert_begun();
        Ok(LinearId::pack(self.number, self.fresh_identifier()?))
    }

    /// The place behind the last closure.
    /// Arrays stay in memory.
    #[allow(clippy::unused_self, reason = "tapes that spill have a file")]
    pub(crate) const fn array_file(&self) -> Option<&Arc<ArrayFile>> {
        None
    }

    pub(crate) fn mark(&self) -> Mark {
        let segment = self.segments.get(self.full.len()).filter(|_| !self.data.is_null());
        let stack = segment.map_or(0, |segment| bottom::<V>(segment).addr() - self.top.addr());
        Mark::new([self.full.len() as u64, stack as u64, self.next, 0])
    }

    /// Forgets the closures behind a mark at which the recording was resumed.
    pub(crate) fn truncate(&mut self, mark: Mark) -> Result<(), SweepError> {
        self.resumed.cut(mark);
        let [.., next, _] = mark.numbers();
        self.next = next;
        let Some(mut cursor) = sweep::Cursor::new(self) else { return Ok(()) };
        cursor.go_to(mark);
        let (at, ends) = (cursor.at, cursor.ends);
        // Closures are moved into the arena in the order of the list, so those that go are its last ones.
        let behind = |destructor: &&Destructor| {
            let object = destructor.object;
            let holds =
                |segment: &Segment| (segment.start()..segment.start().wrapping_add(segment.bytes())).contains(&object);
            let later = self.segments[at + 1..].iter().any(holds);
            later || holds(&self.segments[at]) && object >= ends.data
        };
        let kept = self.destructors.len() - self.destructors.iter().rev().take_while(behind).count();
        let mut gone = self.destructors.split_off(kept);
        self.full.truncate(at);
        (self.data, self.top) = (ends.data, ends.top);
        mem::swap(&mut self.destructors, &mut gone);
        let kept = gone;
        // Those that go are in the list now, should one of them panic; the others come back in any case.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.destroy()));
        self.destructors = kept;
        outcome.or_else(|panic| resume_unwind(panic))
    }

    /// Goes on under another number.
    pub(crate) fn resume(&mut self, number: TapeNumber) {
        self.resumed.push(self.mark());
        self.number = number;
    }

    /// The identifier under the number of the present part of the recording.
    pub(crate) fn renew(&self, id: LinearId<M::Index>) -> LinearId<M::Index> {
        id.renewed(self.number, self.len())
    }

    /// Only a tape that never began a recording has no number; identifiers without one would pass for passive.
    fn assert_begun(&self) {
        assert!(self.number != TapeNumber::default(), "nothing can be recorded before a recording begins");
    }

    /// Whether captures of so many bytes, and a pointer, fit into the segment in use.
    #[inline(always)]
    fn has_room(&self, bytes: usize) -> bool {
        self.data.addr() + bytes + POINTER <= self.top.addr()
    }

    /// Goes on in a segment that has room for captures of so many bytes.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        self.assert_begun();
        let at = if self.data.is_null() { 0 } else { self.full.len() + 1 };
        let least = whole_words(bytes + POINTER);
        let standard = if at == 0 { Segment::FIRST } else { Segment::BYTES };
        if self.full.try_reserve(1).is_err() {
            out_of_memory(2 * self.full.len() * size_of::<Ends<V>>(), "the list of segments of the tape");
        }
        if self.segments.get(at).is_none_or(|segment| segment.bytes() < least) {
            room_for_one(&mut self.segments, "the list of segments of the tape");
            self.segments.insert(at, Segment::new(least.max(standard)));
        }
        if at > 0 {
            self.full.push(Ends { data: self.data, top: self.top });
        }
        self.enter(at);
    }

    /// 1 + the largest identifier used.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize_of(self.next)
    }

    /// Makes room for a recording of this size, and touches it.
    ///
    /// # Panics
    ///
    /// When that is more than can be addressed, or than the allocator has. The tape can be used then.
    #[track_caller]
    pub(crate) fn reserve(&mut self, capacity: Capacity) {
        // Captures are rounded up to whole words, so by 4 bytes at most.
        let index = size_of::<M::Index>();
        let bytes = capacity.bytes(0, POINTER + index + 4, size_of::<V>() + index);
        let have: usize = self.segments.iter().map(Segment::bytes).sum();
        if bytes > have {
            // A closure does not straddle segments, so the middle of each may stay empty.
            let slack = 4096 * (self.segments.len() + 1);
            room_for_one(&mut self.segments, "the list of segments of the tape");
            self.segments.push(Segment::new(whole_words(bytes - have + slack).max(Segment::FIRST)));
        }
        let used = if self.data.is_null() { 0 } else { self.full.len() + 1 };
        self.segments.iter_mut().skip(used).for_each(Segment::touch);
        if self.data.is_null() && !self.segments.is_empty() && self.number != TapeNumber::default() {
            self.enter(0);
        }
    }

    /// Bytes and counts, found by walking the recording.
    pub(crate) fn memory(&self) -> MemoryReport {
        let (mut statements, mut arguments, mut captures) = (0, 0, 0);
        self.each_closure(|vtable, end| {
            // SAFETY: a closure of this type ends there.
            let extent = unsafe { (vtable.extent)(end) };
            statements += 1;
            arguments += extent.arguments;
            captures += extent.bytes;
            extent.bytes
        });
        let reserved: usize = self.segments.iter().map(Segment::reserved).sum();
        let stack = statements * POINTER;
        MemoryReport::new(statements, arguments)
            .stream("closures", MemoryUsage::exact(captures))
            .stream("functions", MemoryUsage::exact(stack))
            .stream("free", MemoryUsage { used: 0, reserved: reserved - captures - stack })
            .stream("destructors", MemoryUsage::of_vec(&self.destructors))
            .stream("tables", MemoryUsage::exact(size_of::<Self>()))
    }
}
