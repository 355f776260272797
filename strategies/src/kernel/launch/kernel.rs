//! A recorded launch of a kernel: the operands that it keeps, and its replay.

use super::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::exec::bindings::Bindings;
use crate::kernel::exec::operands::{KeptOperand, Operand, check_needs, memory};
use crate::kernel::exec::points::tangent;
use crate::kernel::exec::vtable::BoundKernel;
use crate::kernel::ir::access::{AccessSummary, OUTPUTS};
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::{Kernel, KernelInfo};
use crate::kernel::memory::buffer::{Buffer, NewArray, SharedArray};
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::{Number, SweepError};
use core::ptr;
use smallvec::SmallVec;

/// A launch of a kernel.
#[derive(Debug)]
pub struct KernelLaunch<V: 'static> {
    pub(crate) kernel: BoundKernel<V>,
    pub(crate) grid: Grid,
    pub(crate) operands: SmallVec<[KeptOperand<V>; 2]>,
}

impl<V> Default for KernelLaunch<V> {
    /// A launch that is still to be set.
    fn default() -> Self {
        Self { kernel: BoundKernel::default(), grid: Grid::default(), operands: SmallVec::new() }
    }
}

impl<V: Number> KernelLaunch<V> {
    /// Makes it the launch of this program with these operands.
    #[inline(always)]
    pub fn set<P: Kernel>(&mut self, program: &P, grid: &Grid, operands: impl Iterator<Item = KeptOperand<V>>) {
        self.kernel.set(program);
        self.grid = *grid;
        self.operands.clear();
        for kept in operands {
            self.operands.push(kept);
        }
    }

    pub(crate) fn plan(&self) -> &'static KernelInfo {
        self.kernel.plan()
    }

    /// The arrays that partials need.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Version<V>> {
        self.operands.iter().flat_map(|kept| kept.values.iter().chain(&kept.new))
    }
}

impl<V: Number> KernelLaunch<V> {
    /// Tangents of what is written at some points of the grid to the results, or their sum.
    pub(crate) fn tangent_over(
        &self,
        grid: &Grid,
        inputs: &[V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<V, SweepError> {
        let (mut memory, mut tangents) = (Bindings::new(grid), Bindings::new(grid));
        let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "a tangent for each element");
        for (a, kept) in self.operands.iter().enumerate() {
            views[a].into_iter().for_each(fits);
            memory.read(a, kept, grid.elements(), fetched)?;
            tangents.values[a] = views[a].map_or(ptr::null(), Buffer::start);
            tangents.numbers[a] = kept.number.map_or(V::ZERO, |(_, input)| inputs[input]);
        }
        check_needs(self.plan(), &memory);
        Ok(tangent(&self.kernel, grid, &memory, &tangents, results))
    }
}

/// What each operand holds before the launch; `None` for numbers, and for views that are neither read nor left as they
/// are anywhere.
type Present<V> = SmallVec<[Option<SharedArray<V>>; 4]>;

impl<V: Number> KernelLaunch<V> {
    /// [`Launch::can_be_replayed`](crate::kernel::Launch::can_be_replayed).
    pub(crate) fn has_what_replays_need(&self) -> Result<(), SweepError> {
        let replaced = self.plan().replaced(&self.grid);
        let is_there = |(a, kept): (usize, &KeptOperand<V>)| kept.is_known() || AccessSummary::has(replaced, a);
        let is_there = !self.kernel.is_extreme() && self.operands.iter().enumerate().all(is_there);
        if is_there { Ok(()) } else { Err(not_kept()) }
    }

    fn present(&self, versions: &ReplayState<V>) -> Present<V> {
        let replaced = self.plan().replaced(&self.grid);
        let present = self.operands.iter().enumerate().map(|(a, kept)| match kept.before {
            _ if kept.number.is_some() || AccessSummary::has(replaced, a) && kept.values.is_none() => None,
            0 => kept.values.as_ref().and_then(Version::in_memory).cloned(),
            slot => Some(versions.get(slot)),
        });
        present.collect()
    }

    /// [`Launch::replay`](crate::kernel::Launch::replay).
    pub(crate) fn compute_again(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        self.has_what_replays_need()?;
        let present = self.present(versions);
        let mut new: SmallVec<[Option<NewArray<V>>; OUTPUTS]> = SmallVec::new();
        for (kept, old) in self.operands.iter().zip(&present) {
            new.push(kept.after.map(|_| {
                let mut buffer = versions.buffer(self.grid.elements());
                old.iter().for_each(|old| self.grid.copy_outside(old, &mut buffer));
                buffer
            }));
        }
        let operands = self.operands.iter().zip(&present).zip(&mut new);
        let operands = operands.map(|((kept, old), new)| match (kept.number, old, new) {
            (Some((_, input)), ..) => Operand::Number(inputs[input]),
            (None, Some(old), Some(new)) => Operand::Replace(old, new),
            (None, Some(old), None) => Operand::Read(old),
            (None, None, Some(new)) => Operand::Update(new),
            (None, None, None) => unreachable!("the values of a view that is read are there"),
        });
        let (memory, in_place) = memory(self.plan(), &self.grid, operands);
        // SAFETY: they have just been checked, `present` and `new` hold them, and the new ones are nobody else's.
        let sum = unsafe { self.kernel.compute(&self.grid, &memory, in_place) };
        sum.into_iter().for_each(|sum| outputs[0] = sum);
        let new: SmallVec<[_; OUTPUTS]> = new.into_iter().map(|new| new.map(NewArray::share)).collect();
        for (kept, new) in self.operands.iter().zip(&new) {
            kept.after.zip(new.clone()).into_iter().for_each(|(slot, new)| versions.put(slot, new));
        }
        Ok(ReplayResult { operands: self.kept_again(inputs, present, new.into_iter()), ..ReplayResult::default() })
    }

    /// Gives `compute` the operands of a reduction in memory, checked for all of this grid. Returns what is kept of
    /// them.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when passive operands have not been kept.
    pub(crate) fn compute_reduction(
        &self,
        grid: &Grid,
        inputs: &[V],
        versions: &ReplayState<V>,
        compute: impl FnOnce(&BoundKernel<V>, &Bindings<V>),
    ) -> Result<ReplayResult<V>, SweepError> {
        self.has_all_operands()?;
        let present = self.present(versions);
        let operands = self.operands.iter().zip(&present).map(|(kept, old)| match (kept.number, old) {
            (Some((_, input)), _) => Operand::Number(inputs[input]),
            (None, old) => Operand::Read(old.as_ref().expect("the values of a view that is read are there")),
        });
        let (memory, _) = memory(self.plan(), grid, operands);
        compute(&self.kernel, &memory);
        let nothing_new = core::iter::repeat_with(|| None);
        Ok(ReplayResult { operands: self.kept_again(inputs, present, nothing_new), ..ReplayResult::default() })
    }

    /// Whether each operand is known, for a launch that writes none of them.
    pub(crate) fn has_all_operands(&self) -> Result<(), SweepError> {
        if self.operands.iter().all(KeptOperand::is_known) { Ok(()) } else { Err(not_kept()) }
    }

    /// What is kept of the operands when they have these values.
    fn kept_again(
        &self,
        inputs: &[V],
        present: Present<V>,
        new: impl Iterator<Item = Option<SharedArray<V>>>,
    ) -> SmallVec<[KeptOperand<V>; 2]> {
        let operands = self.operands.iter().zip(present).zip(new).map(|((kept, old), new)| KeptOperand {
            before: kept.before,
            after: kept.after,
            values: old.filter(|_| kept.values.is_some()).map(Version::Memory),
            new: new.filter(|_| kept.new.is_some()).map(Version::Memory),
            number: kept.number.map(|(_, input)| (inputs[input], input)),
        });
        operands.collect()
    }
}
