//! The tapes that are recording on this thread.
//!
//! Rust has no generic statics, so there is no "current tape of strategy `S`". Instead one thread-local pointer names
//! the innermost recording, whatever its strategy; the recordings of a thread form a list, innermost first, and every
//! variable carries the number of the recording that made it. A statement of variables of an outer recording is
//! recorded there; a statement of variables of two recordings, or of none that is active on this thread, panics.
//!
//! The files of this module are among those that contain unsafe code. Its invariants:
//!
//! * Every pointer in the list comes from `Box::into_raw` of a whole `Recorder<S>` and stays valid while it is listed:
//!   whoever owns the box removes it from the list before freeing it, and one that is leaked is never freed.
//! * `kind` is `TypeId::of::<S>()` exactly when the recorder is a `Recorder<S>`.
//! * `lent` is true while [`with`] has lent the tape, or while `pauses` is not 0. It is lent to no other caller
//!   meanwhile, no fast path uses it, and a [`Running`] that is ended while its tape is lent leaves it listed and
//!   leaks it.
//! * A barrier in the list lies on the stack of [`isolated`], which takes it out before it returns.
//! * Lists are touched by their own thread only: a listed tape cannot be moved to another thread.

mod common;
mod dependences;
mod external;
mod hidden;
mod identifiers;
mod messages;
mod numbers;
mod owned;
mod replay;
mod singular;
mod sweeps;
mod trace;
mod watch;

pub use common::{common_number, flow_of, innermost_flow, note_singular, recording_of};
pub use dependences::Numbering;
pub(crate) use external::{are_active, record_external_of};
pub use external::{keep_input, make_room, place, record_external, record_launch, with_arrays, with_companion};
pub use hidden::{isolated, pause};
pub(crate) use identifiers::{release, release_unshared, share, take_identifier, with_pool};
#[doc(hidden)]
pub use numbers::pretend_drawn;
pub use owned::{OwnedTape, Place, Running};
pub(crate) use singular::refuse_singular;
pub(crate) use trace::note;
pub use trace::{Call, note_nary, note_statement, on_behalf_of, with_inputs};

use crate::external::Externals;
use crate::pool::Pool;
use crate::{Reverse, TapeNumber};
use core::any::TypeId;
use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use messages::{in_use, paused, stale_comparison, two_recordings, undeclared};
use singular::Singular;
use std::sync::{Mutex, PoisonError};

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
    /// Whether a part of it did not.
    unguarded: Cell<bool>,
    outer: Cell<*const Header>,
    /// The first statement that was refused a derivative; kept for strategies that are `Checked` only.
    singular: Cell<Option<Singular>>,
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
            unguarded: Cell::new(false),
            outer: Cell::new(ptr::null()),
            singular: Cell::new(None),
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
}

/// The header of the innermost recording, or of the end of the list; always valid to read on this thread.
#[inline(always)]
pub(crate) fn innermost() -> *const Header {
    INNERMOST.get()
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
    // SAFETY: `header` is valid (above) and stays so: a tape that is lent is never unlisted or freed. Its `kind` says
    // that it heads a `Recorder<S>`, and `lent` that nobody uses it. The list holds the pointer to the whole
    // recorder.
    unsafe {
        let _lent = Lent::new(header);
        let recorder = &mut *header.cast::<Recorder<S>>().cast_mut();
        f(&mut recorder.tape, &mut recorder.externals)
    }
}

/// The recordings of all threads that keep guards and have not ended.
static GUARDED: Mutex<Vec<TapeNumber>> = Mutex::new(Vec::new());
/// How many there are.
static GUARDING: AtomicUsize = AtomicUsize::new(0);

/// Makes a recording that keeps guards known to other threads, or forgets it.
#[cold]
fn announce(number: TapeNumber, begins: bool) {
    let mut guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
    guarded.retain(|known| *known != number);
    if begins {
        guarded.push(number);
    }
    GUARDING.store(guarded.len(), Ordering::Relaxed);
}

/// Whether a recording keeps guards, on this thread or on another one.
#[inline(always)]
pub(crate) fn guards() -> bool {
    // SAFETY: the innermost header is valid on its own thread.
    (unsafe { (*innermost()).guards.get() }) | (GUARDING.load(Ordering::Relaxed) != 0)
}

/// Whether the recording with this number keeps guards, and is one of this thread.
#[inline(always)]
pub(crate) fn keeps_guards(number: TapeNumber) -> bool {
    // SAFETY: the innermost header is valid on its own thread.
    let some = unsafe { (*innermost()).guards.get() };
    // SAFETY: listed headers are valid.
    some && unsafe { find(number).as_ref() }.is_some_and(|header| header.guarded.get())
}

/// Fails if a recording on another thread keeps guards, and a comparison on this one, where none does, has a variable
/// of it.
#[cold]
#[track_caller]
fn refuse_elsewhere(number: TapeNumber) {
    let guarded = || GUARDED.lock().unwrap_or_else(PoisonError::into_inner).contains(&number);
    if find(number).is_null() && guarded() {
        stale_comparison(number);
    }
}

/// Gives `f` the tape of strategy `S` that records under `number` on this thread, paused or not, if it keeps guards and
/// is not in use.
///
/// # Panics
///
/// When there is no such recording. `f` does not: it writes down a guard and runs no code of users.
#[track_caller]
pub(crate) fn with_guarded<S: Reverse>(number: TapeNumber, f: impl FnOnce(&mut S::Tape)) {
    // SAFETY: the innermost header is valid on its own thread.
    if !unsafe { (*innermost()).guards.get() } {
        return refuse_elsewhere(number);
    }
    let found = find_for_statement(number);
    // SAFETY: listed headers are valid.
    let Some(header) = (unsafe { found.as_ref() }) else { stale_comparison(number) };
    let in_use = header.lent.get() && header.pauses.get() == 0;
    if header.kind == TypeId::of::<S>() && header.guarded.get() && !in_use {
        let recorder = found.cast::<Recorder<S>>().cast_mut();
        // SAFETY: `kind` says that it heads a `Recorder<S>`, the list holds the pointer to the whole of it, and nobody
        // uses its tape, nor can begin to while `f` runs.
        f(unsafe { &mut (*recorder).tape });
    }
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

/// The same for a statement. What is not found on this side of a barrier must not be used: it lies behind the barrier,
/// or is not active any more when a stage is recorded during a sweep.
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
