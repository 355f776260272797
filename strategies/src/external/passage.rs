//! The passage of a reverse sweep through the entries of a recording.

use super::entry::Entry;
use crate::kernel::ir::grid::Grid;
use crate::kernel::launch::Launch;
use crate::kernel::memory::Shadows;
use crate::{Number, SweepError};
use core::ops::Range;
use smallvec::SmallVec;

/// Maximum number of launches in one parallel region.
const LAUNCHES: usize = 16;
/// Maximum number of arrays that they use. Large arrays all begin at the same offset in a page of memory, and the first
/// cache of a processor has room for the contents of one offset in eight pages, or in twelve.
const ARRAYS: usize = 8;

/// An array that a launch uses in a reverse sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Used {
    /// Kept values, by their address.
    Kept(usize),
    /// Adjoints, by the slot of their view.
    Adjoints(usize),
}

/// The entries that a reverse sweep passes. Launches that can share a parallel region wait until the sweep comes to
/// another entry, or ends: they use the adjoints of views only, on which no statement depends.
pub(crate) struct Passage<'a, V: Number> {
    /// The adjoints of views, for each adjoint vector.
    arrays: &'a mut [Shadows<V>],
    /// Launches that the sweep has come to, in its order.
    waiting: SmallVec<[&'a dyn Launch<V>; 4]>,
    /// Arrays that they use.
    used: SmallVec<[Used; ARRAYS]>,
    /// Their points and adjoint vectors.
    region: Option<(&'a Grid, Range<usize>)>,
}

impl<'a, V: Number> Passage<'a, V> {
    pub(crate) fn new(arrays: &'a mut [Shadows<V>]) -> Self {
        Self { arrays, waiting: SmallVec::new(), used: SmallVec::new(), region: None }
    }

    /// Reverses an entry in these adjoint vectors, or lets it wait.
    #[inline(always)]
    pub(crate) fn reverse(
        &mut self,
        entry: &'a Entry<V>,
        lanes: Range<usize>,
        adjoints: &mut [V],
    ) -> Result<(), SweepError> {
        if let Some((launch, grid)) = entry.shared_region() {
            return self.wait(launch, grid, lanes);
        }
        self.finish()?;
        entry.reverse(lanes.len(), adjoints, self.arrays.get_mut(lanes).unwrap_or_default())
    }

    /// Lets a launch wait, and reverses those that have waited if it cannot be swept together with them.
    #[inline(never)]
    fn wait(&mut self, launch: &'a dyn Launch<V>, grid: &'a Grid, lanes: Range<usize>) -> Result<(), SweepError> {
        let is_there = self.region.as_ref().is_some_and(|(shared, of)| *shared == grid && *of == lanes);
        if !is_there || !self.add_arrays(launch) {
            self.finish()?;
            self.add_arrays(launch);
        }
        self.waiting.push(launch);
        self.region.get_or_insert((grid, lanes));
        Ok(())
    }

    /// Adds the arrays that a launch uses to those of the launches that wait. Returns true if it can join
    /// them: it uses some of their arrays, and all together are not too many.
    fn add_arrays(&mut self, launch: &dyn Launch<V>) -> bool {
        let (before, mut meets) = (self.used.len(), false);
        let mut add = |array: Used| match self.used.iter().position(|used| *used == array) {
            Some(at) => meets |= at < before,
            None => self.used.push(array),
        };
        launch.arrays(&mut |address, _| add(Used::Kept(address)));
        for view in launch.views() {
            let slots = [Some(view.before), view.after].into_iter().flatten();
            slots.filter(|slot| *slot != 0).for_each(|slot| add(Used::Adjoints(slot)));
        }
        meets && self.used.len() <= ARRAYS && self.waiting.len() < LAUNCHES
    }

    /// Reverses the launches that wait.
    #[inline(always)]
    pub(crate) fn finish(&mut self) -> Result<(), SweepError> {
        match self.region.take() {
            Some((_, lanes)) => self.run(lanes),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn run(&mut self, lanes: Range<usize>) -> Result<(), SweepError> {
        let waiting = core::mem::take(&mut self.waiting);
        self.used.clear();
        let arrays = self.arrays.get_mut(lanes).unwrap_or_default();
        arrays.iter_mut().try_for_each(|arrays| waiting[0].reverse_together(&waiting, arrays))?;
        arrays.iter_mut().take(1).for_each(Shadows::end_launch);
        Ok(())
    }
}
