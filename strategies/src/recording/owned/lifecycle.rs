//! Life of a tape between recordings: positions, resets, settings and bytes.

use crate::external::{Entry, Externals, TapeCache};
use crate::identifier::RecordingId;
use crate::kernel::launch::{Inspection, Launch};
use crate::policy::Policy;
use crate::pool::Freed;
use crate::recording::current::branch_report::HiddenBranches;
use crate::recording::current::list::{OwnedTape, Running};
use crate::recording::current::singular::Singular;
use crate::recording::current::state::Constants;
use crate::recording::current::state::{Part, Place, State};
use crate::singular::refuses_singular;
use crate::{MemoryUsage, Reverse, SweepError};
use core::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl<S: Reverse> OwnedTape<S> {
    /// Returns the tape of the strategy.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn tape(&self) -> &S::Tape {
        self.all().1
    }

    /// Returns the tape of the strategy, to change it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn tape_mut(&mut self) -> &mut S::Tape {
        self.all_mut().1
    }

    /// Returns the tape of the strategy, and the data that is kept in addition to its records.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn parts_mut(&mut self) -> (&mut S::Tape, &mut Externals<S::Value>) {
        let (_, tape, externals) = self.all_mut();
        (tape, externals)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn externals(&self) -> &Externals<S::Value> {
        self.all().2
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn externals_mut(&mut self) -> &mut Externals<S::Value> {
        self.all_mut().2
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn state(&self) -> &State {
        self.all().0
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn state_mut(&mut self) -> &mut State {
        self.all_mut().0
    }

    /// Returns the id of the latest recording; 0 before the first.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn number(&self) -> RecordingId {
        self.state().number
    }

    /// Returns why there are constants that depend on inputs of the recording, if there are some: statements with
    /// variables were computed in a pause, or elements of active arrays were read while it kept guards.
    #[must_use]
    pub fn constants(&self) -> Option<&'static str> {
        self.state().constants.map(Constants::reason)
    }

    /// Takes what the first 64 statements need from the allocator, so that they are recorded without it.
    pub fn prepare(&mut self) {
        self.numbers.provide(TypeId::of::<S>());
        let identifiers = S::prepare(self.tape_mut());
        let pool = &mut self.state_mut().pool;
        if identifiers > pool.len() {
            // Without memory the recording asks again, and reports it.
            _ = pool.grow(identifiers);
        }
    }

    /// Begins a recording under a fresh id, without listing it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn begin(&mut self, forget: &mut dyn FnMut()) {
        let number = self.numbers.take(TypeId::of::<S>());
        let state = self.state_mut();
        (state.number, state.unguarded, state.constants) = (number, false, None);
        state.branches = HiddenBranches::NONE;
        if refuses_singular::<S>() {
            state.singular = None;
        }
        state.pool.clear();
        state.parts.clear();
        S::begin(self.tape_mut(), number);
        if self.externals().is_used() {
            self.externals_mut().clear();
            forget();
        }
        S::Policy::tracing(|| self.externals_mut().notes_mut().clear());
    }

    /// Takes the external functions and launches out of the recording, which cannot be swept or replayed then.
    pub(crate) fn take_entries(&mut self) -> Vec<Entry<S::Value>> {
        core::mem::take(&mut self.externals_mut().list)
    }

    /// Fails under the policy [`Checked`](crate::Checked) if a statement of the recording is singular, or a comparison
    /// may have hidden a derivative. Sweeps call this first.
    ///
    /// # Errors
    ///
    /// [`SweepError::Singular`] with the first statement, or else [`SweepError::HiddenBranch`] with the first
    /// comparison.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn check_singular(&self) -> Result<(), SweepError> {
        if !refuses_singular::<S>() {
            return Ok(());
        }
        let State { singular, branches, .. } = self.state();
        singular.map(Singular::error).or_else(|| branches.error()).map_or(Ok(()), Err)
    }

    /// Returns the position behind the last statement.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::new::<S>(self.number(), self.tape(), self.externals())
    }

    /// Forgets everything behind a position where the recording was [resumed](Self::resume), and drops the external
    /// functions there. The recording has another id from then on.
    ///
    /// # Errors
    ///
    /// When records cannot be read back. The statements behind the position are forgotten all the same, but external
    /// functions may be dropped only when the next recording begins.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed at this position; and when the destructor of a closure or of an external
    /// function panics, after everything has been forgotten.
    pub fn truncate(&mut self, place: Place) -> Result<(), SweepError> {
        let part = self.state().parts.iter().position(|part| part.end == place);
        let part = part.unwrap_or_else(|| panic!("recording {} was not resumed at this place", self.number()));
        self.renumber();
        let parts = &mut self.state_mut().parts;
        Freed::cut(parts[part..].iter_mut().map(|part| &mut part.free));
        parts.truncate(part + 1);
        let outcome = catch_unwind(AssertUnwindSafe(|| S::truncate(self.tape_mut(), place.mark)));
        // Also if that fails later: the tape gives out these identifiers from now on. If there are still records of
        // external functions, the functions are kept, and their indices and slots with them.
        if S::mark(self.tape()) == place.mark {
            self.forget_behind(place, part);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Restores the data that is kept in addition to the records to its state at the end of a part.
    fn forget_behind(&mut self, place: Place, part: usize) {
        S::Policy::tracing(|| {
            let (tape, externals) = self.parts_mut();
            externals.notes_mut().truncate(S::next_record(tape), S::identifiers(tape));
        });
        let State { singular, branches, pool, parts, .. } = self.state_mut();
        (*singular, *branches) = (parts[part].singular, parts[part].branches);
        parts[part].free.restore(pool);
        // Last, because destructors of users may panic.
        let views = self.state().parts[part].views;
        self.externals_mut().truncate(place.externals, views);
    }

    /// Returns the number of view slots that were given out before this position, if the recording was resumed there.
    #[must_use]
    pub fn views_at(&self, place: Place) -> Option<usize> {
        self.state().parts.iter().find(|part| part.end == place).map(|part| part.views)
    }

    /// Bytes of arrays that launches of kernels keep.
    #[must_use]
    pub fn array_bytes(&self) -> MemoryUsage {
        self.externals().array_bytes()
    }

    /// Describes the launches of kernels in the recording, in their order, as they run in a reverse sweep.
    #[must_use]
    pub fn launches(&self) -> Vec<Inspection> {
        self.externals().list.iter().filter_map(Entry::launch).map(Launch::inspect).collect()
    }

    /// Returns true if the view with this slot is an input of the recording.
    #[must_use]
    pub fn is_input_view(&self, slot: usize) -> bool {
        self.externals().arrays.is_input(slot)
    }

    /// Returns the bytes of external functions, and the bytes of the caches that the tape keeps for them.
    #[must_use]
    pub fn external_bytes(&self) -> (MemoryUsage, usize) {
        self.externals().bytes()
    }

    /// Returns the bytes of the snapshots of time loops.
    #[must_use]
    pub fn snapshot_bytes(&self) -> MemoryUsage {
        self.externals().snapshots()
    }

    /// Returns the cache of type `C` in this tape, and makes it if there is none yet.
    pub fn cache<C: TapeCache + Default>(&mut self) -> &mut C {
        self.externals_mut().cache()
    }

    /// Returns the bytes that the management of reused identifiers takes.
    #[must_use]
    pub fn pool_bytes(&self) -> usize {
        self.state().pool.reserved()
    }

    /// Forgets the recording, which counts as finished from now on, and keeps its memory.
    pub fn reset(&mut self) {
        self.begin(&mut || {});
    }

    /// Starts a new recording, runs `f` with this tape as the innermost recording of the thread, and stops, also when
    /// `f` panics.
    #[inline]
    pub fn record<R>(&mut self, f: impl FnOnce(RecordingId) -> R) -> R {
        self.record_after(&mut || {}, f)
    }

    /// Records as [`record`](Self::record) does. Calls `forget` first if there were launches or views, whose adjoints
    /// can be forgotten then.
    #[inline]
    pub fn record_after<R>(&mut self, forget: &mut dyn FnMut(), f: impl FnOnce(RecordingId) -> R) -> R {
        self.begin(forget);
        self.during(f)
    }

    /// Continues the recording behind its last statement, under a new id: the tape knows earlier variables by their old
    /// id.
    ///
    /// # Panics
    ///
    /// When there is no recording yet, and when `f` panics.
    pub fn resume<R>(&mut self, f: impl FnOnce(RecordingId) -> R) -> R {
        assert!(self.number() != RecordingId::NONE, "there is no recording to go on with: begin one first");
        let (views, end) = (self.externals().arrays.slots(), self.place());
        let State { singular, branches, parts, pool, .. } = self.state_mut();
        let free = Freed::note(parts.last_mut().map(|last| &mut last.free), pool);
        parts.push(Part { end, free, views, singular: *singular, branches: *branches });
        self.renumber();
        self.during(f)
    }

    /// Sets the singular statement after all values have been recomputed, whichever part of the recording it is in.
    pub(crate) fn set_singular(&mut self, singular: Option<Singular>) {
        let state = self.state_mut();
        state.singular = singular;
        state.parts.iter_mut().for_each(|part| part.singular = singular);
    }

    fn renumber(&mut self) {
        S::Policy::tracing(|| self.externals_mut().notes_mut().go_on());
        let number = self.numbers.take(TypeId::of::<S>());
        self.state_mut().number = number;
        S::resume(self.tape_mut(), number);
    }

    /// Starts a new recording that lasts until [`Running::finish`] or until the guard is dropped.
    #[must_use]
    pub fn start(mut self) -> Running<S> {
        self.begin(&mut || {});
        Running::of(self)
    }
}

impl<S: Reverse> Running<S> {
    /// Returns the id of this recording.
    #[must_use]
    pub fn number(&self) -> RecordingId {
        self.number
    }

    /// Stops recording and returns the tape.
    ///
    /// # Panics
    ///
    /// When the tape is in use by [`with`](crate::recording::with). The tape is then leaked.
    #[must_use]
    pub fn finish(mut self) -> OwnedTape<S> {
        let tape = self.end();
        tape.unwrap_or_else(|| panic!("recording {} cannot be finished while its tape is in use", self.number))
    }
}

impl<S: Reverse> Drop for Running<S> {
    /// Stops recording and frees the tape; leaks it, still listed, if it is in use.
    fn drop(&mut self) {
        drop(self.end());
    }
}
