//! The tapes that are recording on this thread.
//!
//! Rust has no generic statics, so there is no "current tape of strategy `S`". Instead one thread-local pointer names the
//! innermost recording, whatever its strategy; the recordings of a thread form a list, innermost first, and every
//! variable carries the number of the recording that made it. A statement of variables of an outer recording is recorded
//! there; a statement of variables of two recordings, or of none that is active on this thread, panics.
//!
//! This is one of the files that contain unsafe code. Its invariants:
//!
//! * Every pointer in the list comes from `Box::into_raw` of a whole `Recorder<S::Tape>` and stays valid while it is
//!   listed: whoever owns the box removes it from the list before freeing it, and one that is leaked is never freed.
//! * `kind` is `TypeId::of::<S>()` exactly when the recorder is a `Recorder<S::Tape>`.
//! * `lent` is true exactly while [`with`] gives the tape to somebody. Nobody else is given it meanwhile, no fast path
//!   uses it, and a [`Running`] that is ended then leaves its tape listed and leaks it.
//! * Lists are touched by their own thread only: a listed tape cannot be moved to another thread.

use crate::pool::Pool;
use crate::{LinearId, Reverse, TapeNumber};
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
    /// Whether the tape is in use by [`with`].
    pub(crate) lent: Cell<bool>,
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
    /// `f` does not come back here: it calls methods of the pool and nothing that runs code of users.
    #[inline(always)]
    pub(crate) unsafe fn with<R>(&self, f: impl FnOnce(&mut Pool) -> R) -> R {
        // SAFETY: headers are reached by one thread at a time, and `f` makes no second reference.
        f(unsafe { &mut *self.0.get() })
    }
}

/// A tape that can be found through the list. `header` comes first so that a pointer to one is a pointer to both.
#[repr(C)]
pub(crate) struct Recorder<T> {
    header: Header,
    pub(crate) tape: T,
}

struct NotRecording;

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

/// A tape that is not recording at the moment. Owned, `Send`, and freed on drop.
pub struct OwnedTape<S: Reverse> {
    recorder: NonNull<Recorder<S::Tape>>,
    owns: PhantomData<Recorder<S::Tape>>,
}

// SAFETY: an `OwnedTape` is in no thread's list (`record` borrows it while it is), so it owns its recorder like a box.
unsafe impl<S: Reverse> Send for OwnedTape<S> {}
// SAFETY: through a shared reference only `&S::Tape` can be had.
unsafe impl<S: Reverse<Tape: Sync>> Sync for OwnedTape<S> {}

impl<S: Reverse> OwnedTape<S> {
    /// A tape that records nothing yet.
    #[must_use]
    pub fn new(tape: S::Tape) -> Self {
        let recorder = Box::into_raw(Box::new(Recorder { header: Header::new(TypeId::of::<S>()), tape }));
        // SAFETY: `Box::into_raw` never returns null.
        Self { recorder: unsafe { NonNull::new_unchecked(recorder) }, owns: PhantomData }
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
        // SAFETY: clearing runs no code of users.
        unsafe { self.header().pool.with(Pool::clear) };
        S::begin(self.tape_mut(), number);
    }

    /// Bytes that the management of reused identifiers takes.
    #[must_use]
    pub fn pool_bytes(&self) -> usize {
        // SAFETY: `reserved` runs no code of users, and nobody changes the pool of a tape that is not listed.
        unsafe { self.header().pool.with(|pool| pool.reserved()) }
    }

    /// Forgets the recording: its variables are of a finished recording from now on. Memory is kept.
    pub fn reset(&mut self) {
        self.begin();
    }

    #[inline(always)]
    fn list(&self) {
        let header = self.recorder.as_ptr().cast::<Header>().cast_const();
        self.header().outer.set(INNERMOST.replace(header));
    }

    /// Takes this tape out of the thread's list, wherever in the list it is.
    #[inline(always)]
    fn unlist(&self) {
        let header = self.recorder.as_ptr().cast::<Header>().cast_const();
        let outer = self.header().outer.get();
        if INNERMOST.get() == header {
            INNERMOST.set(outer);
            return;
        }
        let mut at = INNERMOST.get();
        // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null.
        while let Some(inner) = unsafe { at.as_ref() } {
            if inner.outer.get() == header {
                inner.outer.set(outer);
                return;
            }
            at = inner.outer.get();
        }
    }

    /// Starts a new recording, runs `f` with this tape as the thread's innermost, and stops, also when `f` panics.
    #[inline]
    pub fn record<R>(&mut self, f: impl FnOnce(TapeNumber) -> R) -> R {
        struct Unlist<'a, S: Reverse>(&'a OwnedTape<S>);
        impl<S: Reverse> Drop for Unlist<'_, S> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.unlist();
            }
        }
        self.begin();
        self.list();
        let listed = Unlist(self);
        f(listed.0.number())
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
        assert!(
            !this.tape.header().lent.get(),
            "recording {} cannot be finished while its tape is in use",
            this.number
        );
        this.tape.unlist();
        // SAFETY: `this` is never used or dropped again.
        unsafe { ManuallyDrop::take(&mut this.tape) }
    }
}

impl<S: Reverse> Drop for Running<S> {
    /// Stops recording and frees the tape; leaks it, still listed, if it is in use.
    fn drop(&mut self) {
        if !self.tape.header().lent.get() {
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
    let mut header = innermost();
    // SAFETY: the innermost header is always valid on its own thread.
    if unsafe { (*header).number.get() } != number || number == TapeNumber(0) {
        header = find(number);
    }
    // SAFETY: listed headers are valid.
    if unsafe { header.as_ref() }.is_none_or(|h| h.kind != TypeId::of::<S>()) {
        not_active(number);
    }
    // SAFETY: as above.
    if unsafe { (*header).lent.get() } {
        in_use(number);
    }
    // SAFETY: `header` is valid (above) and stays so: a tape that is lent is never unlisted or freed. Its `kind` says that
    // it heads a `Recorder<S::Tape>`, and `lent` that nobody uses it. The list holds the pointer to the whole recorder.
    unsafe {
        let _lent = Lent::new(header);
        f(&mut (*header.cast::<Recorder<S::Tape>>().cast_mut()).tape)
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

/// The recording that all active identifiers belong to; `None` if all are passive.
///
/// # Panics
///
/// When they belong to two recordings.
#[track_caller]
pub fn common_number<I: crate::IndexType>(ids: impl IntoIterator<Item = LinearId<I>>) -> Option<TapeNumber> {
    let mut common = TapeNumber(0);
    for number in ids.into_iter().map(LinearId::number) {
        if number == TapeNumber(0) || number == common {
            continue;
        }
        if common != TapeNumber(0) {
            two_recordings(common, number);
        }
        common = number;
    }
    (common != TapeNumber(0)).then_some(common)
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
