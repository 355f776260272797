//! Levels of forward mode: which evaluation a tangent belongs to.
//!
//! A tangent belongs to the evaluation that chose its direction. Where one derivative is computed inside another, the
//! tangents of the two must not meet in one sum (*perturbation confusion*). So each evaluation has a number of its own,
//! its level, and every variable that moves carries it. Variables that are made outside all evaluations have the ground
//! level.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The level of passive variables.
pub(crate) const PASSIVE: u64 = 0;
/// The level of variables that are made outside all evaluations.
const GROUND: u64 = 1;

/// Levels are drawn in blocks, because an atomic operation for each evaluation would cost more than a tiny derivative.
const BLOCK: u64 = 1 << 10;
static NEXT: AtomicU64 = AtomicU64::new(GROUND + 1);

thread_local! {
    static PRESENT: Cell<u64> = const { Cell::new(GROUND) };
    /// All levels up to this one are paused on this thread.
    static PAUSED: Cell<u64> = const { Cell::new(PASSIVE) };
    /// The level of what runs in a pause, outside the evaluations that it starts.
    static RESTING: Cell<u64> = const { Cell::new(PASSIVE) };
    /// The next level of this thread's block, and the end of the block.
    static DRAWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The level of the evaluation that runs on this thread.
#[inline(always)]
pub(crate) fn present() -> u64 {
    PRESENT.get()
}

/// The level up to which all are paused on this thread: tangents of these levels count as 0.
#[inline(always)]
pub(crate) fn paused() -> u64 {
    PAUSED.get()
}

/// A level that no other evaluation of the process has.
fn fresh() -> u64 {
    let (mut next, mut end) = DRAWN.get();
    if next == end {
        next = NEXT.fetch_add(BLOCK, Relaxed);
        end = next + BLOCK;
    }
    DRAWN.set((next + 1, end));
    next
}

/// Puts a thread-local value back.
struct Back(&'static std::thread::LocalKey<Cell<u64>>, u64);
impl Drop for Back {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

fn replace(cell: &'static std::thread::LocalKey<Cell<u64>>, value: u64) -> Back {
    Back(cell, cell.replace(value))
}

/// Runs `f` at a level of its own.
pub(crate) fn evaluate<R>(f: impl FnOnce() -> R) -> R {
    let _back = replace(&PRESENT, fresh());
    f()
}

/// Runs `f` with all existing levels paused; the levels of evaluations that `f` starts are not.
pub(crate) fn pause<R>(f: impl FnOnce() -> R) -> R {
    // What is left of this thread's block lies below the levels of other threads, and would be paused, too.
    DRAWN.set((0, 0));
    let _paused = replace(&PAUSED, NEXT.load(Relaxed) - 1);
    let level = fresh();
    let _resting = replace(&RESTING, level);
    let _back = replace(&PRESENT, level);
    f()
}

/// The level of the evaluation that runs, which is the level of everything that takes part, unless that is passive.
///
/// # Panics
///
/// When it is another one.
#[track_caller]
pub(crate) fn joined(level: u64) -> u64 {
    let present = present();
    if level != PASSIVE && level != present {
        two_levels(level, present);
    }
    present
}

/// Whether an evaluation runs on this thread that is not paused.
pub(crate) fn runs() -> bool {
    PRESENT.get() != RESTING.get()
}

/// The level that the tangents of one statement have in common.
#[derive(Clone, Copy)]
pub(crate) struct Common {
    any: u64,
    /// The bits that the levels of all active variables have in common.
    all: u64,
}

impl Common {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { any: PASSIVE, all: u64::MAX }
    }

    #[inline(always)]
    pub(crate) const fn add(&mut self, level: u64) {
        self.any |= level;
        self.all &= if level == PASSIVE { u64::MAX } else { level };
    }

    /// Whether all variables are passive.
    #[inline(always)]
    pub(crate) const fn is_passive(self) -> bool {
        self.any == PASSIVE
    }

    /// The level, if it is one, and not paused.
    #[inline(always)]
    pub(crate) fn get(self) -> Option<u64> {
        (self.any == self.all && self.any > paused()).then_some(self.any)
    }
}

#[cold]
#[track_caller]
pub(crate) fn two_levels(a: u64, b: u64) -> ! {
    panic!(
        "this statement has variables of two evaluations in forward mode, at levels {a} and {b}: a function that is being \
         differentiated uses a variable of another evaluation, and the two derivatives would be confused (use \
          the variable's value \
         to treat it as a constant, or make it an input)"
    )
}

/// Panics unless a variable belongs to the evaluation that runs on this thread, or is passive.
#[inline]
#[track_caller]
pub(crate) fn assert_present(level: u64) {
    if level != PASSIVE && level != present() {
        not_present(level);
    }
}

#[cold]
#[track_caller]
fn not_present(level: u64) -> ! {
    let present = present();
    panic!(
        "a function that is differentiated in forward mode at level {present} returned a variable of another evaluation, at level \
         {level}: its derivative is not one along the directions of this evaluation (return its value as a constant)"
    )
}
