//! Counts of loops over points, and of the parallel regions that they run in.

use core::cell::Cell;

/// Numbers of loops over the points of launches, and of parallel regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopCounts {
    /// Number of loops over points: one for each evaluation, sum or gather, and one for each row where threads share
    /// the points of a row that is summed. Copies and fills of whole arrays compute nothing, and are not counted.
    pub loops: usize,
    /// Number of parallel regions. All threads wait for one another at the end of a region. A loop that is too short
    /// for several threads counts as a region, too.
    pub regions: usize,
}

thread_local! {
    static COUNTS: Cell<LoopCounts> = const { Cell::new(LoopCounts { loops: 0, regions: 0 }) };
}

/// A parallel region while it runs.
#[must_use]
pub(crate) struct Region(LoopCounts);

impl Region {
    #[inline]
    pub(crate) fn begin() -> Self {
        Self(COUNTS.get())
    }

    /// Ends the region, in which one loop has run.
    #[inline]
    pub(crate) fn end(self) {
        self.end_of_several(1);
    }

    /// Ends the region, in which this many loops have run. Whatever the thread counted meanwhile is forgotten: regions
    /// inside this one, and work of others that it did while it waited.
    pub(crate) fn end_of_several(self, loops: usize) {
        let Self(before) = self;
        COUNTS.set(LoopCounts { loops: before.loops.wrapping_add(loops), regions: before.regions.wrapping_add(1) });
    }
}

/// Returns the result of `f`, and the numbers of loops and parallel regions that it started on the calling thread, such
/// as those of a recording, of a sweep with one or several adjoint vectors, or of a replay.
///
/// A sweep of a launch runs one loop for all views of the launch's rank together, one for all variables that points
/// share, and one for each operand of lower rank; those without adjoints take none. Each loop is a region of its own,
/// but loops of launches that stand next to each other may share one.
pub fn counted<R>(f: impl FnOnce() -> R) -> (R, LoopCounts) {
    let before = COUNTS.get();
    let result = f();
    let after = COUNTS.get();
    let counts = LoopCounts {
        loops: after.loops.wrapping_sub(before.loops),
        regions: after.regions.wrapping_sub(before.regions),
    };
    (result, counts)
}
