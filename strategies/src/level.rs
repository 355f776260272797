//! Levels of forward mode, which tell the tangents of different evaluations apart.
//!
//! A tangent belongs to the evaluation that chose its direction. Where one derivative is computed inside another,
//! tangents of the two must not be added to one another (*perturbation confusion*). Each evaluation therefore has a
//! number of its own, its level, and every variable with tangents carries the level. Variables that are made outside
//! all evaluations have the ground level.
//!
//! Levels are coded so that a statement can ask about all of its variables at once: no level has all the bits of
//! another one. So if the bits of several levels, taken together, are among those of the running evaluation's level,
//! each of them is that level, or that of passive variables, which has no bits.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The level of passive variables.
pub(crate) const PASSIVE: u64 = 0;
/// The level of variables that are made outside all evaluations.
const GROUND: u64 = coded(1);
/// Bits of a level below its number.
const COUNT: u32 = 6;

/// Returns the level with this number: the number, followed by the number of its zeros (a Berger code). A number that
/// has all the bits of another one and more has fewer zeros, and a smaller count lacks a bit of a larger one. Levels
/// are in the order of their numbers.
const fn coded(number: u64) -> u64 {
    let zeros = u64::BITS - COUNT - number.count_ones();
    number << COUNT | zeros as u64
}

/// Returns the number of a level.
const fn number(level: u64) -> u64 {
    level >> COUNT
}

/// Number of levels in a block. Levels are drawn in blocks, because an atomic operation for each evaluation would cost
/// more than a tiny derivative.
const BLOCK: u64 = 1 << 10;
static NEXT: AtomicU64 = AtomicU64::new(number(GROUND) + 1);

thread_local! {
    static PRESENT: Cell<u64> = const { Cell::new(GROUND) };
    /// The largest level that is paused on this thread; all levels up to it are.
    static PAUSED: Cell<u64> = const { Cell::new(PASSIVE) };
    /// The level of code that runs in a pause, outside the evaluations that it starts.
    static RESTING: Cell<u64> = const { Cell::new(PASSIVE) };
    /// The number of the next level of this thread's block, and the end of the block.
    static DRAWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Returns the level of the evaluation that runs on this thread.
#[inline(always)]
pub(crate) fn present() -> u64 {
    PRESENT.get()
}

/// Returns the largest paused level of this thread: tangents of levels up to it count as 0.
#[inline(always)]
pub(crate) fn paused() -> u64 {
    PAUSED.get()
}

/// Returns a level that no other evaluation of the process has.
fn fresh() -> u64 {
    let (mut next, mut end) = DRAWN.get();
    if next == end {
        next = NEXT.fetch_add(BLOCK, Relaxed);
        end = next + BLOCK;
    }
    DRAWN.set((next + 1, end));
    coded(next)
}

/// Restores a thread-local value when dropped.
struct Back(&'static std::thread::LocalKey<Cell<u64>>, u64);
impl Drop for Back {
    #[inline]
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

#[inline]
fn replace(cell: &'static std::thread::LocalKey<Cell<u64>>, value: u64) -> Back {
    Back(cell, cell.replace(value))
}

/// Runs `f` as an evaluation with a level of its own.
#[inline]
pub(crate) fn evaluate<R>(f: impl FnOnce() -> R) -> R {
    let _back = replace(&PRESENT, fresh());
    f()
}

/// Runs `f` with all existing levels paused. Levels of evaluations that `f` starts are not paused.
pub(crate) fn pause<R>(f: impl FnOnce() -> R) -> R {
    // The remaining levels of this thread's block are below the levels of other threads, and would be paused, too.
    DRAWN.set((0, 0));
    let _paused = replace(&PAUSED, coded(NEXT.load(Relaxed)) - 1);
    let level = fresh();
    let _resting = replace(&RESTING, level);
    let _back = replace(&PRESENT, level);
    f()
}

/// Returns the level of the running evaluation, and checks that `level` is the same or that of passive variables.
///
/// # Panics
///
/// When `level` is another one.
#[track_caller]
pub(crate) fn joined(level: u64) -> u64 {
    let present = present();
    if level != PASSIVE && level != present {
        two_levels(level, present);
    }
    present
}

/// Returns true if all of these levels, whose bits are given together, are that of the running evaluation or that of
/// passive variables. None of them is paused then.
#[inline(always)]
pub(crate) fn are_present(together: u64) -> bool {
    together & !present() == 0
}

/// Returns true if an evaluation that is not paused runs on this thread.
pub(crate) fn runs() -> bool {
    PRESENT.get() != RESTING.get()
}

/// The level that variables have in common. Passive variables and variables of paused levels do not count.
#[derive(Clone, Copy)]
pub(crate) struct Common {
    lowest: u64,
    highest: u64,
    paused: u64,
}

impl Common {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { lowest: u64::MAX, highest: PASSIVE, paused: paused() }
    }

    /// Adds a variable of this level, and returns true if it counts.
    #[inline(always)]
    pub(crate) fn meet(&mut self, level: u64) -> bool {
        let counts = level > self.paused;
        if counts {
            self.lowest = self.lowest.min(level);
            self.highest = self.highest.max(level);
        }
        counts
    }

    /// Returns the level; [`PASSIVE`] if no variable counts.
    ///
    /// # Panics
    ///
    /// When variables of two levels were added.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get(self) -> u64 {
        if self.lowest < self.highest {
            two_levels(self.lowest, self.highest);
        }
        self.highest
    }
}

#[cold]
#[track_caller]
pub(crate) fn two_levels(a: u64, b: u64) -> ! {
    let (a, b) = (number(a), number(b));
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
    let (present, level) = (number(present()), number(level));
    panic!(
        "a function that is differentiated in forward mode at level {present} returned a variable of another evaluation, at level \
         {level}: its derivative is not one along the directions of this evaluation (return its value as a constant)"
    )
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, GROUND, PASSIVE, coded, number};

    #[test]
    fn no_level_has_all_the_bits_of_another_one() {
        let numbers = (1..2 * BLOCK).chain([1 << 40, (1 << 40) + 1, (1 << 58) - 1]);
        let levels: Vec<u64> = numbers.clone().map(coded).collect();
        assert!(levels.is_sorted() && levels[0] == GROUND && GROUND > PASSIVE);
        assert!(levels.iter().copied().map(number).eq(numbers));
        for a in &levels {
            assert_eq!(levels.iter().filter(|b| **b & !a == 0).count(), 1, "{a:b} has its own bits only");
        }
    }
}
