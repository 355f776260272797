//! Tapes, and the recordings that own them.

use super::numbers::Numbers;
use super::singular::Singular;
use super::{Header, INNERMOST, Recorder, announce, unlist};
use crate::external::{Entry, Externals};
use crate::lanes::{Inspection, Launch};
use crate::pool::Pool;
use crate::{Companion, Mark, MemoryUsage, Policy, Reverse, SweepError, TapeNumber, refuses_singular};
use core::any::TypeId;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// A place in a recording, between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) number: TapeNumber,
    pub(super) mark: Mark,
    /// The external functions before it.
    pub(super) externals: usize,
    /// [`Reverse::identifiers`] there.
    identifiers: usize,
}

impl Place {
    pub(super) fn new<S: Reverse>(number: TapeNumber, tape: &S::Tape, externals: &Externals<S::Value>) -> Self {
        Self { number, mark: S::mark(tape), externals: externals.list.len(), identifiers: S::identifiers(tape) }
    }

    /// The recording.
    #[must_use]
    pub const fn number(self) -> TapeNumber {
        self.number
    }

    /// [`Reverse::identifiers`] of the recording at this place.
    #[must_use]
    pub const fn identifiers(self) -> usize {
        self.identifiers
    }

    /// Whether it lies before, or is, the other place of the same tape.
    #[must_use]
    pub fn is_before(self, other: Self) -> bool {
        self.mark <= other.mark && self.externals <= other.externals
    }
}

/// A part of a recording behind which it was resumed.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) end: Place,
    /// The identifiers that could be reused then.
    free: Box<[u32]>,
    /// The slots of views that had been given out.
    views: usize,
    /// The first statement before it that was refused a derivative.
    singular: Option<Singular>,
}

/// A tape that is not recording at the moment. Owned, `Send`, and freed on drop.
pub struct OwnedTape<S: Reverse> {
    pub(super) recorder: NonNull<Recorder<S>>,
    /// The earlier parts of a recording that was resumed.
    pub(super) parts: Vec<Part>,
    numbers: Numbers,
    owns: PhantomData<Recorder<S>>,
}

// SAFETY: an `OwnedTape` is in no thread's list (`record` borrows it while it is), so it owns its recorder like a box.
unsafe impl<S: Reverse> Send for OwnedTape<S> {}
// SAFETY: through a shared reference only `&S::Tape` can be had, external functions, launches, arrays and what is noted
// of records, which are `Sync`, and the size of the pool.
unsafe impl<S: Reverse<Tape: Sync>> Sync for OwnedTape<S> {}

impl<S: Reverse> OwnedTape<S> {
    /// A tape that records nothing yet.
    #[must_use]
    pub fn new(tape: S::Tape) -> Self {
        let header = Header::new(TypeId::of::<S>());
        let recorder = Box::into_raw(Box::new(Recorder::<S> { header, tape, externals: Externals::default() }));
        // SAFETY: `Box::into_raw` never returns null.
        let recorder = unsafe { NonNull::new_unchecked(recorder) };
        Self { recorder, parts: Vec::new(), numbers: Numbers::default(), owns: PhantomData }
    }

    /// The strategy's own tape.
    #[must_use]
    #[inline(always)]
    pub fn tape(&self) -> &S::Tape {
        // SAFETY: the recorder is owned and not listed, so nobody else reaches it.
        unsafe { &(*self.recorder.as_ptr()).tape }
    }

    /// The strategy's own tape.
    #[inline(always)]
    pub fn tape_mut(&mut self) -> &mut S::Tape {
        self.parts_mut().0
    }

    /// The strategy's own tape, and what is kept beside its records.
    #[inline(always)]
    pub(super) fn parts_mut(&mut self) -> (&mut S::Tape, &mut Externals<S::Value>) {
        // SAFETY: as in `tape`, and `self` is borrowed exclusively. The two parts and the header are borrowed apart.
        unsafe { (&mut (*self.recorder.as_ptr()).tape, &mut (*self.recorder.as_ptr()).externals) }
    }

    /// The number of the latest recording; 0 before the first.
    #[must_use]
    #[inline(always)]
    pub fn number(&self) -> TapeNumber {
        self.header().number.get()
    }

    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: the recorder lives as long as `self`; its header is only ever reached by shared reference.
        unsafe { &(*self.recorder.as_ptr()).header }
    }

    /// Begins a recording under a fresh number, without listing it.
    #[inline(always)]
    fn begin(&mut self) {
        let number = self.numbers.take(TypeId::of::<S>());
        self.header().number.set(number);
        self.header().unguarded.set(false);
        if refuses_singular::<S>() {
            self.header().singular.set(None);
        }
        self.parts.clear();
        // SAFETY: clearing runs no code of users.
        unsafe { self.header().pool.with(Pool::clear) };
        S::begin(self.tape_mut(), number);
        if self.externals().is_used() {
            self.externals_mut().clear();
        }
        S::Policy::tracing(|| self.externals_mut().notes_mut().clear());
    }

    #[inline(always)]
    pub(super) fn externals(&self) -> &Externals<S::Value> {
        // SAFETY: as in `tape`.
        unsafe { &(*self.recorder.as_ptr()).externals }
    }

    #[inline(always)]
    fn externals_mut(&mut self) -> &mut Externals<S::Value> {
        self.parts_mut().1
    }

    /// Fails if a statement of the recording is singular, and the policy is [`Checked`](crate::Checked). Sweeps do this
    /// first.
    ///
    /// # Errors
    ///
    /// [`SweepError::Singular`] with the first of them.
    #[inline(always)]
    pub fn check_singular(&self) -> Result<(), SweepError> {
        if refuses_singular::<S>()
            && let Some(singular) = self.header().singular.get()
        {
            return Err(singular.error());
        }
        Ok(())
    }

    /// The place behind the last statement.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::new::<S>(self.number(), self.tape(), self.externals())
    }

    /// Forgets what lies behind a place where the recording was [resumed](Self::resume), and drops the external
    /// functions there. The recording has another number from then on.
    ///
    /// # Errors
    ///
    /// When records cannot be read back. What lay behind the place is forgotten all the same, but external functions
    /// are dropped when the next recording begins.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed there, and when the destructor of an external function does; all is done
    /// then.
    pub fn truncate(&mut self, place: Place) -> Result<(), SweepError> {
        let part = self.parts.iter().position(|part| part.end == place);
        let part = part.unwrap_or_else(|| panic!("recording {} was not resumed at this place", self.number()));
        self.renumber();
        self.parts.truncate(part + 1);
        let outcome = S::truncate(self.tape_mut(), place.mark);
        if outcome.is_ok() {
            S::Policy::tracing(|| {
                let (tape, externals) = self.parts_mut();
                externals.notes_mut().truncate(S::next_record(tape), S::identifiers(tape));
            });
            self.header().singular.set(self.parts[part].singular);
            // SAFETY: putting identifiers back runs no code of users.
            unsafe { self.header().pool.with(|pool| pool.restore(&self.parts[part].free)) };
            // Last, because destructors of users may panic. If there are still records of external functions, they are
            // kept, and their numbers and slots with them.
            let views = self.parts[part].views;
            self.externals_mut().truncate(place.externals, views);
        }
        outcome
    }

    /// The slots of views that were given out before this place, if the recording was resumed there.
    #[must_use]
    pub fn views_at(&self, place: Place) -> Option<usize> {
        self.parts.iter().find(|part| part.end == place).map(|part| part.views)
    }

    /// Bytes of arrays that launches of kernels keep.
    #[must_use]
    pub fn array_bytes(&self) -> MemoryUsage {
        self.externals().array_bytes()
    }

    /// What the launches of kernels in the recording do in a reverse sweep, in their order.
    #[must_use]
    pub fn launches(&self) -> Vec<Inspection> {
        self.externals().list.iter().filter_map(Entry::launch).map(Launch::inspect).collect()
    }

    /// Whether the view with this slot is an input of the recording.
    #[must_use]
    pub fn is_input_view(&self, slot: usize) -> bool {
        self.externals().arrays.is_input(slot)
    }

    /// Bytes of external functions, and of what the tape keeps for them.
    #[must_use]
    pub fn external_bytes(&self) -> (MemoryUsage, usize) {
        self.externals().bytes()
    }

    /// What this tape keeps of this type, made if there is none yet.
    pub fn companion<C: Companion + Default>(&mut self) -> &mut C {
        self.externals_mut().companion()
    }

    /// Bytes that the management of reused identifiers takes.
    #[must_use]
    pub fn pool_bytes(&self) -> usize {
        // SAFETY: only methods that borrow it exclusively change the pool of a tape that is not listed.
        unsafe { self.header().pool.reserved() }
    }

    /// Forgets the recording: its variables are of a finished recording from now on. Memory is kept.
    pub fn reset(&mut self) {
        self.begin();
    }

    #[inline(always)]
    fn list(&self) {
        let header = self.recorder.as_ptr().cast::<Header>().cast_const();
        let outer = INNERMOST.replace(header);
        self.header().outer.set(outer);
        self.header().unguarded.set(self.header().unguarded.get() | !self.header().guarded.get());
        // SAFETY: what was the innermost header is valid.
        self.header().guards.set(self.header().guarded.get() | unsafe { (*outer).guards.get() });
        if self.header().guarded.get() {
            announce(self.number(), true);
        }
    }

    /// Takes this tape out of the thread's list, wherever in the list it is.
    #[inline(always)]
    fn unlist(&self) {
        unlist(self.header());
        if self.header().guarded.get() {
            announce(self.number(), false);
        }
        if self.header().pauses.get() > 0 {
            self.header().pauses.set(0);
            self.header().set_lent(false);
        }
    }

    /// Whether the tape is in use.
    fn in_use(&self) -> bool {
        self.header().lent.get() && self.header().pauses.get() == 0
    }

    /// Starts a new recording, runs `f` with this tape as the thread's innermost, and stops, also when `f` panics.
    #[inline]
    pub fn record<R>(&mut self, f: impl FnOnce(TapeNumber) -> R) -> R {
        self.begin();
        self.run(f)
    }

    #[inline(always)]
    fn run<R>(&mut self, f: impl FnOnce(TapeNumber) -> R) -> R {
        struct Unlist<'a, S: Reverse>(&'a OwnedTape<S>);
        impl<S: Reverse> Drop for Unlist<'_, S> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.unlist();
            }
        }
        self.list();
        let listed = Unlist(self);
        f(listed.0.number())
    }

    /// [`record`](Self::record) that goes on behind what has been recorded, under a new number: earlier variables are
    /// known to the tape by their old one.
    ///
    /// # Panics
    ///
    /// When there is no recording yet, and when `f` does.
    pub fn resume<R>(&mut self, f: impl FnOnce(TapeNumber) -> R) -> R {
        assert!(self.number() != TapeNumber::NONE, "there is no recording to go on with: begin one first");
        // SAFETY: copying the list runs no code of users.
        let free = unsafe { self.header().pool.with(|pool| pool.free().into()) };
        let (views, singular) = (self.externals().arrays.slots(), self.header().singular.get());
        self.parts.push(Part { end: self.place(), free, views, singular });
        self.renumber();
        self.run(f)
    }

    /// Says which statement is singular after all have been computed again, whatever part of the recording it is in.
    pub(super) fn set_singular(&mut self, singular: Option<Singular>) {
        self.header().singular.set(singular);
        self.parts.iter_mut().for_each(|part| part.singular = singular);
    }

    fn renumber(&mut self) {
        S::Policy::tracing(|| self.externals_mut().notes_mut().go_on());
        let number = self.numbers.take(TypeId::of::<S>());
        self.header().number.set(number);
        S::resume(self.tape_mut(), number);
    }

    /// Starts a new recording that lasts until [`Running::finish`] or until the guard is dropped.
    #[must_use]
    pub fn start(mut self) -> Running<S> {
        self.begin();
        self.list();
        Running { number: self.number(), tape: ManuallyDrop::new(self), here: PhantomData }
    }
}

impl<S: Reverse> Drop for OwnedTape<S> {
    fn drop(&mut self) {
        self.numbers.give_back(TypeId::of::<S>());
        // SAFETY: the pointer came from `Box::into_raw`, and nobody else owns or lists it.
        drop(unsafe { Box::from_raw(self.recorder.as_ptr()) });
    }
}

/// A recording in progress that owns its tape.
///
/// If the guard is leaked, the tape is leaked with it and stays active on this thread: nothing dangles.
pub struct Running<S: Reverse> {
    tape: ManuallyDrop<OwnedTape<S>>,
    number: TapeNumber,
    here: PhantomData<*const ()>,
}

impl<S: Reverse> Running<S> {
    /// The number of this recording.
    #[must_use]
    pub fn number(&self) -> TapeNumber {
        self.number
    }

    /// Stops recording and returns the tape.
    ///
    /// # Panics
    ///
    /// When the tape is in use by [`with`](super::with). The tape is then leaked.
    #[must_use]
    pub fn finish(self) -> OwnedTape<S> {
        let mut this = ManuallyDrop::new(self);
        assert!(!this.tape.in_use(), "recording {} cannot be finished while its tape is in use", this.number);
        this.tape.unlist();
        // SAFETY: `this` is never used or dropped again.
        unsafe { ManuallyDrop::take(&mut this.tape) }
    }
}

impl<S: Reverse> Drop for Running<S> {
    /// Stops recording and frees the tape; leaks it, still listed, if it is in use.
    fn drop(&mut self) {
        if !self.tape.in_use() {
            self.tape.unlist();
            // SAFETY: `self` is being dropped, so the tape is not used again.
            unsafe { ManuallyDrop::drop(&mut self.tape) }
        }
    }
}
