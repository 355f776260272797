//! The recordings of a thread in a list, and the tapes that own them. All unsafe code of this module is here. Its
//! invariants:
//!
//! * Every pointer in a list points to a complete `Recorder<S>`, from `Box::leak`, or to a screen on the stack of
//!   [`behind`], which takes it out of the list before it returns. The pointer stays valid while it is listed: a listed
//!   tape is borrowed by [`OwnedTape::during`], or inside a [`Running`], which takes it out of the list before it
//!   releases it. A leaked tape is never freed. So the methods of an [`OwnedTape`] have exclusive access to it.
//! * `kind` is `TypeId::of::<S>()` exactly when the header is that of a `Recorder<S>`. The header is open to `S` only
//!   then.
//! * `lent` is true while [`lend`] has lent the tape. Meanwhile the tape is not lent again, it is open to no strategy,
//!   and a [`Running`] that ends leaves it listed and leaks it.
//! * A reference to the state of a listed recorder lasts for one method of the pool, which runs no code of users.
//! * A list is accessed by its own thread only: a listed tape cannot be moved to another thread.

use super::announced::announce;
use super::ids::Numbers;
use super::state::{Seen, State};
use crate::Reverse;
use crate::error::Refusal;
use crate::external::Externals;
use crate::identifier::RecordingId;
use core::any::TypeId;
use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::mem::forget;
use core::ptr::{self, NonNull};

/// The part of a recorder that does not depend on its strategy.
struct Header {
    /// `TypeId` of the strategy, or of `Barrier`, `Pause`, `Glass` or `EndOfList`.
    kind: TypeId,
    /// The strategy whose statements take the fast path, or `NOBODY`, as while the tape is in use. Compared by address:
    /// equal addresses mean equal strategies; a strategy that comes with another address goes through [`admit`] first.
    open_to: Cell<&'static TypeId>,
    /// True while the tape is in use.
    lent: Cell<bool>,
    /// True if this recording, or one around it, keeps guards.
    guards: Cell<bool>,
    outer: Cell<*const Header>,
    state: UnsafeCell<State>,
}

/// A tape that can be found through the list. `header` is the first field, so that a pointer to it is also a pointer to
/// the recorder.
#[repr(C)]
struct Recorder<S: Reverse> {
    header: Header,
    tape: S::Tape,
    externals: Externals<S::Value>,
}

/// The kind of a header that hides the headers beyond it.
pub(crate) struct Barrier;
/// The kind of a header that pauses the recordings beyond it.
struct Pause;
/// The kind of a header that shows the recordings beyond it.
struct Glass;
struct EndOfList(Header);
/// The value of `open_to` in recorders that are open to no strategy.
static NOBODY: TypeId = TypeId::of::<EndOfList>();
// SAFETY: the static below is never written: only recorders are, and screens by their threads.
unsafe impl Sync for EndOfList {}
static END: EndOfList = EndOfList(Header::new(TypeId::of::<EndOfList>()));

thread_local! {
    static INNERMOST: Cell<*const Header> = const { Cell::new(&raw const END.0) };
}

impl Header {
    const fn new(kind: TypeId) -> Self {
        let (lent, guards, outer) = (Cell::new(false), Cell::new(false), Cell::new(ptr::null()));
        Self { kind, open_to: Cell::new(&NOBODY), lent, guards, outer, state: UnsafeCell::new(State::new()) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn number(&self) -> RecordingId {
        // SAFETY: nobody has an exclusive reference to the state when this file asks.
        unsafe { (*self.state.get()).number }
    }

    /// Returns true if this is the recording with this id. Screens and the end of the list have no id.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has(&self, number: RecordingId) -> bool {
        self.number() == number && number != RecordingId::NONE
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn guarded(&self) -> bool {
        // SAFETY: as in `number`.
        unsafe { (*self.state.get()).guarded }
    }
}

/// Returns the first header of this thread's list, innermost first, for which `is` returns true, and true if it is
/// paused; a null pointer if there is none.
#[inline(always)]
fn first(is: impl Fn(&Header) -> bool) -> (*const Header, bool) {
    let (mut at, mut paused) = (INNERMOST.get(), false);
    // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null. `is` comes from this
    // file and takes nothing out of the list.
    while let Some(header) = unsafe { at.as_ref() } {
        if is(header) {
            break;
        }
        paused |= header.kind == TypeId::of::<Pause>();
        at = header.outer.get();
    }
    (at, paused)
}

/// Returns the header of the recording with this id, or null.
#[cfg_attr(not(debug_assertions), inline(always))]
fn listed(number: RecordingId) -> *const Header {
    #[cold]
    fn find(number: RecordingId) -> *const Header {
        first(|header| header.has(number)).0
    }
    if is_innermost(number) { INNERMOST.get() } else { find(number) }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn is_innermost(number: RecordingId) -> bool {
    // SAFETY: the innermost header is always valid on its own thread.
    unsafe { (*INNERMOST.get()).has(number) }
}

/// Describes the recording with this id, or the first header of one of the kinds `or` if that comes earlier.
pub(crate) fn look(number: RecordingId, or: &[TypeId]) -> Option<Seen> {
    let (found, hidden) = first(|header| header.has(number) || or.contains(&header.kind));
    // SAFETY: listed headers are valid.
    let header = unsafe { found.as_ref() }?;
    // A recording that was in use when the pause began does not count as paused: its tape is being written, and no
    // statement may be recorded on it meanwhile.
    let paused = hidden && !header.lent.get();
    Some(Seen { kind: header.kind, number: header.number(), guarded: header.guarded(), paused })
}

/// Returns true if the recording with this id is paused. Nothing is ahead of the innermost one that could pause it.
#[inline]
pub(crate) fn is_paused(number: RecordingId) -> bool {
    !is_innermost(number) && look(number, &[]).is_some_and(|seen| seen.paused)
}

/// Returns true if the innermost recording, or one around it, keeps guards.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn guards_here() -> bool {
    // SAFETY: the innermost header is always valid on its own thread.
    unsafe { (*INNERMOST.get()).guards.get() }
}

/// Returns the id of the innermost recording, or [`RecordingId::NONE`].
pub(crate) fn innermost_number() -> RecordingId {
    // SAFETY: listed headers are valid.
    unsafe { first(|header| header.number() != RecordingId::NONE).0.as_ref() }.map_or(RecordingId::NONE, Header::number)
}

/// Returns the state and the tape of the innermost recording, if it is of this strategy and not in use. The pointers
/// are valid for exclusive use until other code that uses recordings is called.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn innermost_parts<S: Reverse>() -> Option<(*mut State, *mut S::Tape)> {
    let header = INNERMOST.get();
    // SAFETY: the innermost header is valid. One that is open to `S` is that of a `Recorder<S>`: `admit` has checked
    // it.
    unsafe {
        let usable = ptr::eq((*header).open_to.get(), strategy::<S>());
        usable.then(|| ((*header).state.get(), &raw mut (*header.cast::<Recorder<S>>().cast_mut()).tape))
    }
}

/// Returns the `TypeId` of the strategy, at the same address for all statements that are compiled together, and for all
/// statements if the linker merges equal constants.
#[inline(always)]
fn strategy<S: 'static>() -> &'static TypeId {
    const { &TypeId::of::<S>() }
}

/// Opens the innermost recording to the statements of strategy `S` that are compiled here, if it is of this strategy
/// and not in use.
#[inline(always)]
pub(crate) fn admit<S: Reverse>() {
    fn admit(strategy: &'static TypeId) {
        // SAFETY: the innermost header is valid on its own thread.
        let header = unsafe { &*INNERMOST.get() };
        if header.kind == *strategy && !header.lent.get() {
            header.open_to.set(strategy);
        }
    }
    admit(strategy::<S>());
}

/// Returns the header of the recording with this id. Unless `from_anywhere`, returns the barrier in front of it, if
/// there is one, and null if the recording is paused. Null if there is none.
#[cold]
fn find_to_lend(number: RecordingId, from_anywhere: bool) -> *const Header {
    if from_anywhere {
        return listed(number);
    }
    let (found, paused) = first(|header| header.has(number) || header.kind == TypeId::of::<Barrier>());
    if paused { ptr::null() } else { found }
}

/// Calls `f` with the tape of strategy `S` that records under `number` on this thread. Returns `None` if there is none,
/// if it is in use, and, unless `from_anywhere`, if it is paused or lies behind a barrier.
#[inline(always)]
pub(crate) fn lend<S: Reverse, R>(
    number: RecordingId,
    from_anywhere: bool,
    f: impl FnOnce(&mut S::Tape, &mut Externals<S::Value>) -> R,
) -> Option<R> {
    struct Lent<'a>(&'a Header, &'static TypeId);
    impl Drop for Lent<'_> {
        #[cfg_attr(not(debug_assertions), inline(always))]
        fn drop(&mut self) {
            self.0.lent.set(false);
            self.0.open_to.set(self.1);
        }
    }
    let found = if is_innermost(number) { INNERMOST.get() } else { find_to_lend(number, from_anywhere) };
    // SAFETY: listed headers are valid.
    let header = unsafe { found.as_ref() }?;
    // A header is open only to the strategy that is its kind, and to no strategy while its tape is lent.
    if !ptr::eq(header.open_to.get(), strategy::<S>()) && (header.kind != TypeId::of::<S>() || header.lent.get()) {
        return None;
    }
    header.lent.set(true);
    let _lent = Lent(header, header.open_to.replace(&NOBODY));
    let recorder = found.cast::<Recorder<S>>().cast_mut();
    // SAFETY: it is a `Recorder<S>`, as has just been seen, and the list holds the pointer to the whole of it. It stays
    // valid: a tape that is lent is never unlisted or freed. Nobody else uses it, and the header lies apart from it.
    Some(unsafe { f(&mut (*recorder).tape, &mut (*recorder).externals) })
}

/// Takes a header out of the thread's list when dropped, at any position in the list.
struct Listed<'a>(&'a Header);

impl Drop for Listed<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        if self.0.guarded() {
            announce(self.0.number(), false);
        }
        let outer = self.0.outer.get();
        if ptr::eq(INNERMOST.get(), self.0) {
            return INNERMOST.set(outer);
        }
        // SAFETY: listed headers are valid.
        if let Some(inner) = unsafe { first(|inner| ptr::eq(inner.outer.get(), self.0)).0.as_ref() } {
            inner.outer.set(outer);
        }
    }
}

/// What a screen does to the recordings of its thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Pauses,
    Hides,
    /// They are neither paused nor hidden, but its own flag of guards is off, as that of a screen that hides.
    Shows,
}

/// Runs `f` behind a screen in front of the recordings of this thread.
pub(crate) fn behind<R>(screen: Screen, f: impl FnOnce() -> R) -> R {
    let paused = screen == Screen::Pauses;
    let screen = Header::new(match screen {
        Screen::Pauses => TypeId::of::<Pause>(),
        Screen::Hides => TypeId::of::<Barrier>(),
        Screen::Shows => TypeId::of::<Glass>(),
    });
    // What runs isolated may compare variables of recordings that have ended.
    screen.guards.set(paused && guards_here());
    screen.outer.set(INNERMOST.replace(&raw const screen));
    let _listed = Listed(&screen);
    f()
}

/// Changes the state of the recording with this id, if it is active on this thread. `change` must not run code of users
/// or query recordings.
pub(crate) fn change_state(number: RecordingId, change: impl FnOnce(&mut State)) {
    // SAFETY: listed headers are valid, and this is the only reference to the state: `change` makes no other.
    unsafe { listed(number).as_ref().map(|header| change(&mut *header.state.get())) };
}

/// Returns the identifier in `bits` to the pool if it is of the innermost recording and below `mark`, the lowest bit
/// that marks shared identifiers; returns false otherwise.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "reused identifiers have 30 bits")]
pub(crate) fn release_unshared(bits: u64, mark: u64) -> bool {
    // SAFETY: the innermost header is always valid on its own thread, and this is a method of the pool.
    unsafe {
        let state = (*INNERMOST.get()).state.get();
        // Counted from 1, so that no passive variable passes for one of the end of the list, which all threads share.
        let rest = bits.wrapping_sub((*state).number.first_bits());
        if rest >= mark - 1 {
            return false;
        }
        (*state).pool.release((rest + 1) as u32);
    }
    true
}

/// The identifiers of a recording, available even while its tape is lent. Each method calls the method of its pool with
/// the same name, and returns `None` if the recording is not active on this thread.
pub(crate) struct PoolOf(pub(crate) RecordingId);

macro_rules! methods_of_pool {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[inline]
        pub(crate) fn $name(&self, $($argument: $type),*) -> Option<$result> {
            // SAFETY: listed headers are valid, and no method of the pool runs code of users.
            unsafe { listed(self.0).as_ref().map(|header| (*header.state.get()).pool.$name($($argument),*)) }
        }
    )*};
}

impl PoolOf {
    // `len() -> usize` is a method with this name, which calls that of the pool.
    methods_of_pool! {
        next(fresh: u64, limit: u64) -> Option<u32>;
        take(id: u64, fresh: &mut u64) -> ();
        share(id: u32, first: bool) -> ();
        release(id: u32) -> ();
        release_shared(id: u32) -> ();
        len() -> usize;
        grow(length: usize) -> Result<(), Refusal>;
    }
}

/// A tape that is not recording at the moment. It owns its memory, is `Send`, and frees it on drop.
pub struct OwnedTape<S: Reverse> {
    recorder: NonNull<Recorder<S>>,
    pub(crate) numbers: Numbers,
}

// SAFETY: an `OwnedTape` owns its recorder like a box.
unsafe impl<S: Reverse> Send for OwnedTape<S> {}
// SAFETY: through a shared reference only such references can be had to the state, which has no cells, to the tape, and
// to external functions, launches, arrays and what is noted of records, which are `Sync`.
unsafe impl<S: Reverse<Tape: Sync>> Sync for OwnedTape<S> {}

impl<S: Reverse> OwnedTape<S> {
    /// Makes a tape that has recorded nothing yet.
    #[must_use]
    pub fn new(tape: S::Tape) -> Self {
        let header = Header::new(TypeId::of::<S>());
        let recorder = Box::leak(Box::new(Recorder::<S> { header, tape, externals: Externals::default() }));
        Self { recorder: recorder.into(), numbers: Numbers::default() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn all(&self) -> (&State, &S::Tape, &Externals<S::Value>) {
        // SAFETY: the recorder is in no list, so `self` owns it alone.
        unsafe {
            let recorder = self.recorder.as_ref();
            (&*recorder.header.state.get(), &recorder.tape, &recorder.externals)
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn all_mut(&mut self) -> (&mut State, &mut S::Tape, &mut Externals<S::Value>) {
        // SAFETY: as in `all`, and `self` is borrowed exclusively.
        let recorder = unsafe { self.recorder.as_mut() };
        (recorder.header.state.get_mut(), &mut recorder.tape, &mut recorder.externals)
    }

    /// Runs `f` with this tape as the innermost recording of the thread.
    #[inline(always)]
    pub(crate) fn during<R>(&mut self, f: impl FnOnce(RecordingId) -> R) -> R {
        let number = self.list();
        let _listed = Listed(self.header());
        f(number)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn list(&mut self) -> RecordingId {
        let outer_guards = guards_here();
        let state = self.all_mut().0;
        let (number, guarded) = (state.number, state.guarded);
        state.unguarded |= !guarded;
        if guarded {
            announce(number, true);
        }
        let header = self.recorder.as_ptr().cast::<Header>().cast_const();
        // SAFETY: it is the beginning of the recorder.
        unsafe {
            (*header).guards.set(guarded | outer_guards);
            (*header).outer.set(INNERMOST.replace(header));
        }
        number
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn header(&self) -> &Header {
        // SAFETY: the recorder lives as long as `self`, and listed headers are only reached by such references.
        unsafe { &(*self.recorder.as_ptr()).header }
    }
}

impl<S: Reverse> Drop for OwnedTape<S> {
    fn drop(&mut self) {
        self.numbers.give_back(TypeId::of::<S>());
        // SAFETY: the pointer came from `Box::leak`, and nobody else owns or lists it.
        drop(unsafe { Box::from_raw(self.recorder.as_ptr()) });
    }
}

/// A recording in progress that owns its tape.
///
/// If the guard is leaked, the tape is leaked with it and stays active on this thread: nothing dangles.
pub struct Running<S: Reverse> {
    tape: Option<OwnedTape<S>>,
    pub(crate) number: RecordingId,
    here: PhantomData<*const ()>,
}

impl<S: Reverse> Running<S> {
    /// Starts recording on this tape.
    pub(crate) fn of(mut tape: OwnedTape<S>) -> Self {
        Self { number: tape.list(), tape: Some(tape), here: PhantomData }
    }

    /// Ends the recording and returns the tape; leaks it, still listed, if it is in use.
    pub(crate) fn end(&mut self) -> Option<OwnedTape<S>> {
        let tape = self.tape.take()?;
        if tape.header().lent.get() {
            forget(tape);
            return None;
        }
        drop(Listed(tape.header()));
        Some(tape)
    }
}
