//! The tapes that are recording on this thread.
//!
//! Rust has no generic statics, so there is no "current tape of strategy `S`". Instead one thread-local pointer names the
//! innermost recording, whatever its strategy; the recordings of a thread form a list, innermost first, and every
//! variable carries the number of the recording that made it. A statement of variables of an outer recording is recorded
//! there; a statement of variables of two recordings, or of none that is active on this thread, panics.
//!
//! This is one of the files that contain unsafe code. Its invariants:
//!
//! * Every pointer in the list comes from `Box::into_raw` of a whole `Recorder<S>` and stays valid while it is
//!   listed: whoever owns the box removes it from the list before freeing it, and one that is leaked is never freed.
//! * `kind` is `TypeId::of::<S>()` exactly when the recorder is a `Recorder<S>`.
//! * `lent` is true while [`with`] gives the tape to somebody, or while `pauses` is not 0. Nobody is given it meanwhile, no fast
//!   path uses it, and a [`Running`] that is ended while somebody has it leaves its tape listed and leaks it.
//! * A barrier in the list lies on the stack of [`isolated`], which takes it out before it returns.
//! * Lists are touched by their own thread only: a listed tape cannot be moved to another thread.

use crate::external::{Entry, Externals, Slots};
use crate::pool::Pool;
use crate::{Companion, External, LinearId, Mark, MemoryUsage, Replay, Reverse, SweepError, TapeNumber};
use core::any::TypeId;
use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

/// What the list knows about a recorder without knowing its strategy.
pub(crate) struct Header {
    /// The strategy.
    pub(crate) kind: TypeId,
    pub(crate) number: Cell<TapeNumber>,
    /// Whether the tape is in use by [`with`], or its statements are not to be recorded.
    pub(crate) lent: Cell<bool>,
    /// How many calls of [`pause`] are running; it is `lent` meanwhile.
    pauses: Cell<u32>,
    /// Whether the recording keeps guards.
    guarded: Cell<bool>,
    /// Whether it, or one around it, does.
    guards: Cell<bool>,
    outer: Cell<*const Header>,
    /// The identifiers of the recording, if its strategy reuses them.
    pub(crate) pool: PoolCell,
}

impl Header {
    const fn new(kind: TypeId) -> Self {
        Self {
            kind,
            number: Cell::new(TapeNumber(0)),
            lent: Cell::new(false),
            pauses: Cell::new(0),
            guarded: Cell::new(false),
            guards: Cell::new(false),
            outer: Cell::new(ptr::null()),
            pool: PoolCell(UnsafeCell::new(Pool::new())),
        }
    }
}

/// A pool that several places of a thread can reach, one at a time.
pub(crate) struct PoolCell(UnsafeCell<Pool>);

impl PoolCell {
    /// # Safety
    ///
    /// Nobody changes the pool meanwhile. Several threads may ask.
    unsafe fn reserved(&self) -> usize {
        // SAFETY: promised by the caller.
        unsafe { (*self.0.get()).reserved() }
    }

    /// # Safety
    ///
    /// `f` does not come back here: it calls methods of the pool and nothing that runs code of users.
    #[inline(always)]
    pub(crate) unsafe fn with<R>(&self, f: impl FnOnce(&mut Pool) -> R) -> R {
        // SAFETY: headers are reached by one thread at a time, and `f` makes no second reference.
        f(unsafe { &mut *self.0.get() })
    }
}

/// A tape that can be found through the list. `header` comes first so that a pointer to one is a pointer to both.
#[repr(C)]
pub(crate) struct Recorder<S: Reverse> {
    header: Header,
    pub(crate) tape: S::Tape,
    externals: Externals<S::Value>,
}

struct NotRecording;
/// The kind of a header that hides what lies beyond it.
struct Barrier;

struct EndOfList(Header);
// SAFETY: the cells of the static below are never written: only listed recorders are, and it is none.
unsafe impl Sync for EndOfList {}
static END: EndOfList = EndOfList(Header::new(TypeId::of::<NotRecording>()));

thread_local! {
    static INNERMOST: Cell<*const Header> = const { Cell::new(&raw const END.0) };
    static NUMBERS: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// The header of the innermost recording, or of the end of the list; always valid to read on this thread.
#[inline(always)]
pub(crate) fn innermost() -> *const Header {
    INNERMOST.get()
}

/// The next recording number. Drawn from a process-wide counter in blocks, because an atomic operation for each
/// recording would cost more than a tiny gradient.
#[inline]
fn fresh_number() -> TapeNumber {
    const BLOCK: u32 = 1 << 12;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (mut next, mut end) = NUMBERS.get();
    if next == end {
        next = NEXT.fetch_add(BLOCK, Ordering::Relaxed);
        end = next.wrapping_add(BLOCK);
        if next == 0 {
            next = 1; // 0 means passive
        }
    }
    NUMBERS.set((next.wrapping_add(1), end));
    TapeNumber(next)
}

/// A place in a recording, between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    number: TapeNumber,
    mark: Mark,
    /// The external functions before it.
    externals: usize,
    /// [`Reverse::identifiers`] there.
    identifiers: usize,
}

impl Place {
    fn new<S: Reverse>(number: TapeNumber, tape: &S::Tape, externals: &Externals<S::Value>) -> Self {
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
struct Part {
    end: Place,
    /// The identifiers that could be reused then.
    free: Box<[u32]>,
}

/// A tape that is not recording at the moment. Owned, `Send`, and freed on drop.
pub struct OwnedTape<S: Reverse> {
    recorder: NonNull<Recorder<S>>,
    /// The earlier parts of a recording that was resumed.
    parts: Vec<Part>,
    owns: PhantomData<Recorder<S>>,
}

// SAFETY: an `OwnedTape` is in no thread's list (`record` borrows it while it is), so it owns its recorder like a box.
unsafe impl<S: Reverse> Send for OwnedTape<S> {}
// SAFETY: through a shared reference only `&S::Tape` can be had, external functions, which are `Sync`, and the size of the pool.
unsafe impl<S: Reverse<Tape: Sync>> Sync for OwnedTape<S> {}

impl<S: Reverse> OwnedTape<S> {
    /// A tape that records nothing yet.
    #[must_use]
    pub fn new(tape: S::Tape) -> Self {
        let header = Header::new(TypeId::of::<S>());
        let recorder = Box::into_raw(Box::new(Recorder::<S> { header, tape, externals: Externals::default() }));
        // SAFETY: `Box::into_raw` never returns null.
        Self { recorder: unsafe { NonNull::new_unchecked(recorder) }, parts: Vec::new(), owns: PhantomData }
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
        // SAFETY: as in `tape`, and `self` is borrowed exclusively.
        unsafe { &mut (*self.recorder.as_ptr()).tape }
    }

    /// The number of the latest recording; 0 before the first.
    #[must_use]
    #[inline(always)]
    pub fn number(&self) -> TapeNumber {
        self.header().number.get()
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: the recorder lives as long as `self`; its header is only ever reached by shared reference.
        unsafe { &(*self.recorder.as_ptr()).header }
    }

    /// Begins a recording under a fresh number, without listing it.
    #[inline(always)]
    fn begin(&mut self) {
        let number = fresh_number();
        self.header().number.set(number);
        self.parts.clear();
        // SAFETY: clearing runs no code of users.
        unsafe { self.header().pool.with(Pool::clear) };
        S::begin(self.tape_mut(), number);
        if !self.externals().list.is_empty() {
            self.externals_mut().list.clear();
        }
    }

    #[inline(always)]
    fn externals(&self) -> &Externals<S::Value> {
        // SAFETY: as in `tape`.
        unsafe { &(*self.recorder.as_ptr()).externals }
    }

    #[inline(always)]
    fn externals_mut(&mut self) -> &mut Externals<S::Value> {
        // SAFETY: as in `tape_mut`.
        unsafe { &mut (*self.recorder.as_ptr()).externals }
    }

    /// The place behind the last statement.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::new::<S>(self.number(), self.tape(), self.externals())
    }

    /// [`Reverse::reverse`], with the external functions of the recording among its statements.
    ///
    /// # Errors
    ///
    /// As there, and when a rule fails.
    #[inline(always)]
    pub fn reverse(&self, adjoints: &mut [S::Value]) -> Result<(), SweepError> {
        if self.externals().list.is_empty() {
            return S::reverse(self.tape(), adjoints);
        }
        self.reverse_between(None, None, adjoints)
    }

    /// [`reverse`](Self::reverse) from one place to an earlier one; from the end, or to the start, if it is `None`.
    ///
    /// Afterwards the adjoints of all variables from before `to` are those of the adjoints at `from`.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    ///
    /// # Panics
    ///
    /// When the places are of another recording, or `from` lies before `to`.
    pub fn reverse_between(
        &self,
        from: Option<Place>,
        to: Option<Place>,
        adjoints: &mut [S::Value],
    ) -> Result<(), SweepError> {
        let mut entries = self.entries(from, to).iter().rev();
        let mut stops = entries.clone().map(|entry| entry.mark);
        let (from, to) = (from.map(|place| place.mark), to.map(|place| place.mark));
        S::reverse_through(self.tape(), adjoints, (from, to), &mut stops, &mut |adjoints| {
            entries.next().map_or(Ok(()), |entry| entry.reverse(1, adjoints))
        })
    }

    /// [`reverse_between`](Self::reverse_between) with several adjoint vectors, as
    /// [`Reverse::reverse_lanes_through`] has them.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    ///
    /// # Panics
    ///
    /// As `reverse_between`, and when there are no lanes.
    pub fn reverse_lanes_between(
        &self,
        lanes: usize,
        from: Option<Place>,
        to: Option<Place>,
        adjoints: &mut [S::Value],
    ) -> Result<(), SweepError> {
        let mut entries = self.entries(from, to).iter().rev();
        let mut stops = entries.clone().map(|entry| entry.mark);
        let (from, to) = (from.map(|place| place.mark), to.map(|place| place.mark));
        S::reverse_lanes_through(self.tape(), lanes, adjoints, (from, to), &mut stops, &mut |adjoints| {
            entries.next().map_or(Ok(()), |entry| entry.reverse(lanes, adjoints))
        })
    }

    /// [`Reverse::forward_through`] the whole recording, with its external functions among its statements.
    ///
    /// # Errors
    ///
    /// As there, and when a rule is missing or fails.
    ///
    /// # Panics
    ///
    /// As there.
    pub fn forward(&self, tangents: &mut [S::Value]) -> Result<(), SweepError> {
        let mut entries = self.entries(None, None).iter();
        let mut stops = entries.clone().map(|entry| entry.mark);
        S::forward_through(self.tape(), tangents, &mut stops, &mut |tangents| {
            entries.next().map_or(Ok(()), |entry| entry.forward(tangents))
        })
    }

    /// Whether this is a place of the present recording, in its present part or in an earlier one that was not forgotten.
    #[must_use]
    pub fn has(&self, place: Place) -> bool {
        if place.number == self.number() {
            return place.is_before(self.place());
        }
        self.parts.iter().any(|part| place.number == part.end.number && place.is_before(part.end))
    }

    /// Whether comparisons of variables of later recordings leave guards, which [`replay`](Self::replay) checks.
    pub fn set_guards(&mut self, keep: bool)
    where
        S: Replay,
    {
        self.header().guarded.set(keep);
    }

    /// Computes the recording again with these values in these slots, and the other inputs as they are, external functions
    /// included.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when a slot is not that of an input, or a statement cannot be computed from its record: nothing
    /// has been changed then. [`SweepError::BranchChanged`] when a comparison that left a guard comes out differently, and those
    /// of rules: the recording has been computed again at the old inputs then. [`SweepError::Storage`] when records cannot be
    /// read back: values are then of no use until a replay succeeds.
    pub fn replay(&mut self, inputs: &[(usize, S::Value)]) -> Result<(), SweepError>
    where
        S: Replay,
    {
        // SAFETY: as in `tape_mut`; the two parts are borrowed apart.
        let Recorder { tape, externals, .. } = unsafe { &mut *self.recorder.as_ptr() };
        let entries = &externals.list;
        S::can_be_replayed(tape)?;
        for (slot, _) in inputs {
            let computed = entries.iter().any(|entry| entry.outputs.iter().any(|output| output == *slot));
            if computed || !S::has_no_statement(tape, *slot)? {
                let what = format!("variable {slot} of the recording is no input: a replay cannot give it a value");
                return Err(SweepError::Unsupported { what });
            }
        }
        let exchange = |tape: &mut S::Tape, (slot, value): (usize, S::Value)| {
            (slot, core::mem::replace(&mut S::values_mut(tape)[slot], value))
        };
        let old: Vec<_> = inputs.iter().map(|input| exchange(tape, *input)).collect();
        let stops = || entries.iter().map(|entry| entry.mark);
        let (mut passed, mut outputs) = (0, Vec::new());
        let outcome = S::replay_through(tape, true, &mut stops(), &mut |values| {
            outputs.extend(entries[passed].outputs.iter().map(|slot| values[slot]));
            passed += 1;
            entries[passed - 1].replay(values)
        });
        if outcome.is_ok() {
            return Ok(());
        }
        old.into_iter().rev().for_each(|input| _ = exchange(tape, input));
        let (mut next, mut outputs) = (0, outputs.into_iter());
        S::replay_through(tape, false, &mut stops(), &mut |values| {
            if next < passed {
                // Whatever it says: its results are known.
                let _ = entries[next].replay(values);
                entries[next].outputs.iter().zip(&mut outputs).for_each(|(slot, value)| values[slot] = value);
            }
            next += 1;
            Ok(())
        })?;
        outcome
    }

    /// The external functions from the later place down to the earlier.
    fn entries(&self, from: Option<Place>, to: Option<Place>) -> &[Entry<S::Value>] {
        for place in from.into_iter().chain(to) {
            assert!(self.has(place), "a place of recording {} is none of recording {}", place.number, self.number());
        }
        let list = &self.externals().list;
        let (end, start) = (from.map_or(list.len(), |place| place.externals), to.map_or(0, |place| place.externals));
        let ordered = from.zip(to).is_none_or(|(from, to)| to.mark <= from.mark) && start <= end;
        assert!(ordered, "a sweep goes from a place to an earlier one");
        list.get(start..end).expect("a place of this recording")
    }

    /// Forgets what lies behind a place where the recording was [resumed](Self::resume), and drops the external functions
    /// there. The recording has another number from then on.
    ///
    /// # Errors
    ///
    /// When records cannot be read back. What lay behind the place is forgotten all the same.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed there, and when the destructor of an external function does; all is done then.
    pub fn truncate(&mut self, place: Place) -> Result<(), SweepError> {
        let part = self.parts.iter().position(|part| part.end == place);
        let part = part.unwrap_or_else(|| panic!("recording {} was not resumed at this place", self.number()));
        self.renumber();
        self.parts.truncate(part + 1);
        let outcome = S::truncate(self.tape_mut(), place.mark);
        if outcome.is_ok() {
            // SAFETY: putting identifiers back runs no code of users.
            unsafe { self.header().pool.with(|pool| pool.restore(&self.parts[part].free)) };
        }
        // Last, because destructors of users may panic.
        self.externals_mut().list.truncate(place.externals);
        outcome
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
        // SAFETY: nobody changes the pool of a tape that is not listed, but for methods that borrow it exclusively.
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
        // SAFETY: what was the innermost header is valid.
        self.header().guards.set(self.header().guarded.get() | unsafe { (*outer).guards.get() });
    }

    /// Takes this tape out of the thread's list, wherever in the list it is.
    #[inline(always)]
    fn unlist(&self) {
        unlist(self.header());
        if self.header().pauses.get() > 0 {
            self.header().pauses.set(0);
            self.header().lent.set(false);
        }
    }

    /// Whether somebody uses the tape.
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

    /// [`record`](Self::record) that goes on behind what has been recorded, under a new number: earlier variables are known to
    /// the tape by their old one.
    ///
    /// # Panics
    ///
    /// When there is no recording yet, and when `f` does.
    pub fn resume<R>(&mut self, f: impl FnOnce(TapeNumber) -> R) -> R {
        assert!(self.number() != TapeNumber(0), "there is no recording to go on with: begin one first");
        // SAFETY: copying the list runs no code of users.
        let free = unsafe { self.header().pool.with(|pool| pool.free().into()) };
        self.parts.push(Part { end: self.place(), free });
        self.renumber();
        self.run(f)
    }

    fn renumber(&mut self) {
        let number = fresh_number();
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
    /// When the tape is in use by [`with`]. The tape is then leaked.
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

/// Gives `f` the tape of strategy `S` that records under `number` on this thread.
///
/// # Panics
///
/// When there is no such recording, or when `f` of an outer call is still using this tape.
#[track_caller]
#[inline]
pub fn with<S: Reverse, R>(number: TapeNumber, f: impl FnOnce(&mut S::Tape) -> R) -> R {
    with_parts::<S, R>(number, |tape, _| f(tape))
}

#[track_caller]
#[inline]
fn with_parts<S: Reverse, R>(number: TapeNumber, f: impl FnOnce(&mut S::Tape, &mut Externals<S::Value>) -> R) -> R {
    let mut header = innermost();
    // SAFETY: the innermost header is always valid on its own thread.
    if unsafe { (*header).number.get() } != number || number == TapeNumber(0) {
        header = find_for_statement(number);
    }
    // SAFETY: listed headers are valid.
    if unsafe { header.as_ref() }.is_none_or(|h| h.kind != TypeId::of::<S>()) {
        not_active(number);
    }
    // SAFETY: as above.
    if unsafe { (*header).lent.get() } {
        // SAFETY: as above.
        if unsafe { (*header).pauses.get() } > 0 {
            paused(number);
        }
        in_use(number);
    }
    // SAFETY: `header` is valid (above) and stays so: a tape that is lent is never unlisted or freed. Its `kind` says that
    // it heads a `Recorder<S>`, and `lent` that nobody uses it. The list holds the pointer to the whole recorder.
    unsafe {
        let _lent = Lent::new(header);
        let recorder = &mut *header.cast::<Recorder<S>>().cast_mut();
        f(&mut recorder.tape, &mut recorder.externals)
    }
}

/// Whether a recording of this thread keeps guards.
#[inline(always)]
pub(crate) fn guards() -> bool {
    // SAFETY: the innermost header is valid on its own thread.
    unsafe { (*innermost()).guards.get() }
}

/// Gives `f` the tape of strategy `S` that records under `number` on this thread, if there is one that keeps guards and is
/// not in use or paused.
pub(crate) fn with_guarded<S: Reverse>(number: TapeNumber, f: impl FnOnce(&mut S::Tape)) {
    let header = listed(number);
    // SAFETY: listed headers are valid; `kind` and `lent` as in `with_parts`.
    unsafe {
        if let Some(found) = header.as_ref()
            && found.kind == TypeId::of::<S>()
            && found.guarded.get()
            && !found.lent.get()
        {
            let _lent = Lent::new(header);
            f(&mut (*header.cast::<Recorder<S>>().cast_mut()).tape);
        }
    }
}

/// Records an external function on the tape of strategy `S` that records under `number` on this thread, behind its last
/// statement: `inputs` are the values and identifiers of its arguments, `outputs` the values of its results, each of which becomes a variable that `each` is given, in order.
///
/// # Panics
///
/// As [`with`], and when the tape is out of identifiers, or an input is not a variable of this recording. Nothing has been
/// recorded then, but for variables that are used nowhere, and `rule` is dropped.
#[track_caller]
pub fn record_external<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    rule: Box<dyn External<S::Value>>,
    mut each: impl FnMut(S::Value, S::Id),
) {
    let slot = |(_, id): &(S::Value, &S::Id)| match S::locate(id) {
        None => 0,
        Some((of, slot)) if of == number => slot,
        Some((of, _)) => two_recordings(number, of),
    };
    let slots: Vec<usize> = inputs.iter().map(slot).collect();
    let passive = inputs.iter().zip(&slots).filter(|(_, slot)| **slot == 0).map(|((value, _), _)| *value).collect();
    let mut results = Vec::with_capacity(outputs.len());
    let mut rule = Some(rule);
    with_parts::<S, _>(number, |tape, externals| {
        let known = S::identifiers(tape);
        assert!(
            slots.iter().all(|slot| *slot < known),
            "an input of this external function is a variable that recording {number} never made"
        );
        results.extend(outputs.iter().map(|value| S::intermediate(tape, *value)));
        let slot = |id: &S::Id| S::locate(id).map_or(0, |(_, slot)| slot);
        let outputs: Vec<usize> = results.iter().map(slot).collect();
        externals.list.push(Entry {
            mark: S::mark(tape),
            inputs: Slots::new(&slots),
            passive,
            outputs: Slots::new(&outputs),
            rule: rule.take().expect("it is moved once"),
        });
    });
    outputs.iter().zip(results).for_each(|(value, id)| each(*value, id));
}

/// Gives `f` what the tape of strategy `S` that records under `number` on this thread keeps of this type, made if there is
/// none yet.
///
/// # Panics
///
/// As [`with`].
#[track_caller]
pub fn with_companion<S: Reverse, C: Companion + Default, R>(number: TapeNumber, f: impl FnOnce(&mut C) -> R) -> R {
    with_parts::<S, _>(number, |_, externals| f(externals.companion()))
}

/// The place behind the last statement of the recording of strategy `S` under `number`, which is active on this thread.
///
/// # Panics
///
/// As [`with`].
#[must_use]
#[track_caller]
pub fn place<S: Reverse>(number: TapeNumber) -> Place {
    with_parts::<S, _>(number, |tape, externals| Place::new::<S>(number, tape, externals))
}

/// Runs `f` with all recordings of this thread paused: its statements are computed, not recorded, and their results are
/// passive. Recordings that `f` starts do record. They go on when `f` returns or panics.
pub fn pause<R>(f: impl FnOnce() -> R) -> R {
    struct GoOn;
    impl Drop for GoOn {
        fn drop(&mut self) {
            each_listed(|header| {
                let pauses = header.pauses.get();
                header.pauses.set(pauses.saturating_sub(1));
                if pauses == 1 {
                    header.lent.set(false);
                }
            });
        }
    }
    each_listed(|header| {
        // One that is lent out is being written, and nothing is recorded on it in the meantime.
        if !header.lent.get() || header.pauses.get() > 0 {
            header.pauses.set(header.pauses.get() + 1);
            header.lent.set(true);
        }
    });
    let _go_on = GoOn;
    f()
}

/// Runs `f` out of sight of the recordings of this thread: a statement of `f` with a variable of theirs panics, because the
/// variable is not among the inputs that `f` was given. Recordings that `f` starts do record.
pub fn isolated<R>(f: impl FnOnce() -> R) -> R {
    struct Unhide<'a>(&'a Header);
    impl Drop for Unhide<'_> {
        fn drop(&mut self) {
            unlist(self.0);
        }
    }
    let barrier = Header::new(TypeId::of::<Barrier>());
    barrier.outer.set(INNERMOST.replace(&raw const barrier));
    let _unhide = Unhide(&barrier);
    f()
}

/// Calls `f` with each recording of this thread, innermost first.
fn each_listed(mut f: impl FnMut(&Header)) {
    let mut at = innermost();
    // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null.
    while let Some(header) = unsafe { at.as_ref() } {
        let outer = header.outer.get();
        // Recordings have numbers; barriers and the end of the list, which all threads share, have none.
        if header.number.get() != TapeNumber(0) {
            f(header);
        }
        at = outer;
    }
}

/// Takes a header out of the thread's list, wherever in the list it is.
#[inline(always)]
fn unlist(header: &Header) {
    let outer = header.outer.get();
    if ptr::eq(INNERMOST.get(), header) {
        INNERMOST.set(outer);
        return;
    }
    let mut at = INNERMOST.get();
    // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null.
    while let Some(inner) = unsafe { at.as_ref() } {
        if ptr::eq(inner.outer.get(), header) {
            inner.outer.set(outer);
            return;
        }
        at = inner.outer.get();
    }
}

/// Marks a tape as in use until this is dropped, also when a panic does it.
pub(crate) struct Lent(*const Header);

impl Lent {
    /// # Safety
    ///
    /// `header` is listed on this thread and not marked.
    #[inline(always)]
    pub(crate) unsafe fn new(header: *const Header) -> Self {
        // SAFETY: listed headers are valid on their own thread.
        let before = unsafe { (*header).lent.replace(true) };
        debug_assert!(!before, "a tape is lent to one at a time");
        Self(header)
    }
}

impl Drop for Lent {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the header was listed, and marked tapes are neither unlisted nor freed.
        unsafe { (*self.0).lent.set(false) }
    }
}

/// The header of the recording with this number, or null.
#[cold]
fn find(number: TapeNumber) -> *const Header {
    let mut at = innermost();
    // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null.
    while let Some(header) = unsafe { at.as_ref() } {
        if header.number.get() == number && number != TapeNumber(0) {
            return at;
        }
        at = header.outer.get();
    }
    ptr::null()
}

/// The same for a statement. What is not found on this side of a barrier must not be used: it lies behind the barrier, or is
/// not active any more when a stage is recorded during a sweep.
#[cold]
#[track_caller]
fn find_for_statement(number: TapeNumber) -> *const Header {
    let mut at = innermost();
    // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null.
    while let Some(header) = unsafe { at.as_ref() } {
        if header.number.get() == number && number != TapeNumber(0) {
            return at;
        }
        if header.kind == TypeId::of::<Barrier>() {
            undeclared(number);
        }
        at = header.outer.get();
    }
    ptr::null()
}

/// The header of the recording with this number, or null.
#[inline(always)]
fn listed(number: TapeNumber) -> *const Header {
    let header = innermost();
    // SAFETY: the innermost header is always valid on its own thread.
    if unsafe { (*header).number.get() } == number { header } else { find(number) }
}

/// Counts one more variable with this identifier, which only one had so far if this is the `first` copy; false if its
/// recording is not active on this thread.
#[inline]
pub(crate) fn share(id: LinearId, first: bool) -> bool {
    // SAFETY: listed headers are valid; counting runs no code of users.
    unsafe {
        let header = listed(id.number()).as_ref();
        header.map(|header| header.pool.with(|pool| pool.share(narrow(id), first))).is_some()
    }
}

/// Returns the identifier in `bits` if it is the innermost recording's and has no mark, `mark` being the lowest one; else
/// false.
#[inline(always)]
pub(crate) fn release_unshared(bits: u64, mark: u64) -> bool {
    // SAFETY: the innermost header is always valid on its own thread; returning an identifier runs no code of users.
    unsafe {
        let header = innermost();
        // Counted from 1, so that no passive variable passes for one of the end of the list, which all threads share.
        let rest = bits.wrapping_sub((u64::from((*header).number.get().0) << 32) + 1);
        if rest >= mark - 1 {
            return false;
        }
        (*header).pool.with(|pool| pool.release(narrow(LinearId::from_bits(rest + 1))));
    }
    true
}

/// Counts one variable less with this identifier, which others may have if it is `shared`; does nothing if its
/// recording is not active on this thread.
#[cold]
#[inline(never)]
pub(crate) fn release(id: LinearId, shared: bool) {
    let index = narrow(id);
    // SAFETY: as in `share`.
    unsafe {
        if let Some(header) = listed(id.number()).as_ref() {
            header.pool.with(|pool| if shared { pool.release_shared(index) } else { pool.release(index) });
        }
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "reused identifiers have 30 bits")]
fn narrow(id: LinearId) -> u32 {
    id.index() as u32
}

/// Gives `f` the identifiers of a recording that is active on this thread, whether or not its tape is lent out.
///
/// # Panics
///
/// When it is not active.
///
/// # Safety
///
/// As [`PoolCell::with`].
#[track_caller]
pub(crate) unsafe fn with_pool<R>(number: TapeNumber, f: impl FnOnce(&mut Pool) -> R) -> R {
    // SAFETY: listed headers are valid; the caller vouches for `f`.
    unsafe {
        match listed(number).as_ref() {
            Some(header) if number != TapeNumber(0) => header.pool.with(f),
            _ => not_active(number),
        }
    }
}

/// The recording that all active identifiers belong to; `None` if all are passive, or the recording is paused.
///
/// # Panics
///
/// When they belong to two recordings.
#[track_caller]
pub fn common_number<I: crate::IndexType>(ids: impl IntoIterator<Item = LinearId<I>>) -> Option<TapeNumber> {
    common(ids.into_iter().map(LinearId::number))
}

#[track_caller]
fn common(numbers: impl Iterator<Item = TapeNumber>) -> Option<TapeNumber> {
    let mut common = TapeNumber(0);
    for number in numbers {
        if number == TapeNumber(0) || number == common {
            continue;
        }
        if common != TapeNumber(0) {
            // What a barrier hides is the more likely mistake.
            find_for_statement(common);
            find_for_statement(number);
            two_recordings(common, number);
        }
        common = number;
    }
    if common == TapeNumber(0) {
        return None;
    }
    // SAFETY: listed headers are valid.
    match unsafe { listed(common).as_ref() } {
        Some(header) if header.pauses.get() > 0 => {
            // What a barrier hides must not be used, paused or not.
            find_for_statement(common);
            None
        }
        _ => Some(common),
    }
}

/// [`common_number`] for the identifiers of any strategy that can be swept.
///
/// # Panics
///
/// As there.
#[track_caller]
pub fn recording_of<'i, S: Reverse>(ids: impl IntoIterator<Item = &'i S::Id>) -> Option<TapeNumber> {
    let number = |id| S::locate(id).map_or(TapeNumber(0), |(number, _)| number);
    common(ids.into_iter().map(number))
}

#[cold]
#[track_caller]
fn paused(number: TapeNumber) -> ! {
    panic!("recording {number} is paused: it cannot be given inputs, marks or external functions before it goes on")
}

#[cold]
#[track_caller]
fn undeclared(number: TapeNumber) -> ! {
    panic!(
        "a stage uses a variable of recording {number} that is not among its inputs: what a stage depends on must be \
         declared as an input, or its derivative would be lost (use the variable's value to treat it as a constant)"
    )
}

#[cold]
#[track_caller]
fn in_use(number: TapeNumber) -> ! {
    panic!(
        "the tape of recording {number} is in use: a rule must not record on the tape that is being written (rules compute \
         with numbers)"
    )
}

#[cold]
#[track_caller]
fn two_recordings(a: TapeNumber, b: TapeNumber) -> ! {
    panic!(
        "this statement has variables of two recordings, {a} and {b}: every active variable of a statement must come \
         from the same recording"
    )
}

#[cold]
#[track_caller]
fn not_active(number: TapeNumber) -> ! {
    let innermost = innermost();
    // SAFETY: the innermost header is always valid on its own thread.
    let inner = unsafe { &*innermost }.number.get();
    let now = if inner == TapeNumber(0) {
        String::from("no recording is active on this thread")
    } else {
        format!("the innermost recording on this thread is {inner}")
    };
    panic!(
        "this statement has a variable of recording {number}, which is not active on this thread: it has finished, was \
         reset, or belongs to another thread or strategy ({now})"
    )
}
