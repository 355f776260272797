//! Sweeps through a launch of a kernel.

use super::dependencies::{Dependencies, OperandView};
use super::entry::{Inspection, Launch};
use super::kernel::KernelLaunch;
use super::pointwise::Goal;
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::exec::operands::KeptOperand;
use crate::kernel::exec::points::constant_slope;
use crate::kernel::exec::vtable::{Gather, How};
use crate::kernel::ir::access::{AccessKind, AccessSummary, OUTPUTS};
use crate::kernel::loops::gather_setup::reaches_all;
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::{Buffer, NewArray};
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::{Number, SweepError};
use smallvec::SmallVec;

impl<V: Number> Launch<V> for KernelLaunch<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let mut seeds = [const { Shadow::Unset }; OUTPUTS];
        if self.take_seeds(&mut seeds, outputs, shadows) {
            self.reverse_from(seeds, inputs, shadows)?;
        }
        Ok(())
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        let length = self.grid.elements();
        self.operands.iter().map(|kept| OperandView { before: kept.before, after: kept.after, length }).collect()
    }

    fn clear(&mut self) -> bool {
        self.operands.clear();
        true
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        let goal = if self.plan().writes { Goal::Views } else { Goal::Variable };
        Ok(self.statements(goal))
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        // Results are in the order of the operands, as expressions are.
        for (result, a) in results.iter_mut().zip(self.plan().written) {
            match views[*a] {
                Some(tangents) => self.grid.copy_outside(tangents, result),
                None => self.grid.fill_outside(result, V::ZERO),
            }
        }
        let sum = self.tangent_over(&self.grid, inputs, views, results, fetched)?;
        if !self.plan().writes {
            outputs[0] += sum;
        }
        Ok(())
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        self.has_what_replays_need()
    }

    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        self.compute_again(inputs, outputs, versions)
    }

    fn accept(&mut self, replayed: ReplayResult<V>) {
        self.operands = replayed.operands;
    }

    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        self.operands.iter_mut().flat_map(|kept| kept.values.iter_mut().chain(&mut kept.new)).for_each(each);
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        for version in self.versions() {
            let (address, bytes) = version.address_and_bytes();
            each(address, bytes);
        }
    }

    fn bytes(&self) -> usize {
        let spilled = if self.operands.spilled() { self.operands.len() * size_of::<KeptOperand<V>>() } else { 0 };
        let constants = &self.kernel.constants;
        spilled + if constants.spilled() { constants.capacity() * size_of::<V>() } else { 0 }
    }

    fn inspect(&self) -> Inspection {
        let used = &self.plan().scripts.used;
        let keys = || (0..used.len()).map(|k| used.get(k));
        let reads = |a: usize| keys().filter(|key| key.kind() == AccessKind::Read && key.operand() == a).count();
        let conflicting = |a: usize| if reads(a) > 1 { reads(a) } else { 0 };
        let slopes = keys().filter(|key| key.kind() == AccessKind::Number).count();
        let gathers = usize::from((0..self.operands.len()).any(|a| reads(a) > 0));
        Inspection {
            conflicting_reads: (0..self.operands.len()).map(conflicting).collect(),
            reverse_kernels: gathers.max(usize::from(slopes > 0)),
            atomic_updates: 0,
        }
    }
}

/// The adjoints of outputs.
type Seeds<V> = [Shadow<V>; OUTPUTS];
/// Those outside the range, for outputs whose seeds are 0 there.
type Beside<V> = [Option<NewArray<V>>; OUTPUTS];

impl<V: Number> KernelLaunch<V> {
    /// Takes the adjoints of the outputs out of their shadows; for a reduction its result's adjoint. `false` if all are
    /// 0.
    fn take_seeds(&self, seeds: &mut Seeds<V>, outputs: &[V], shadows: &mut Shadows<V>) -> bool {
        let plan = self.plan();
        if plan.writes {
            for (seed, a) in seeds.iter_mut().zip(plan.written) {
                *seed = shadows.take(self.operands[*a].after.expect("it is written"));
            }
        } else {
            let seed = outputs.first().copied().unwrap_or(V::ZERO);
            seeds[0] = if seed.is_nought() { Shadow::Unset } else { Shadow::Uniform(seed) };
        }
        if seeds.iter().all(|seed| matches!(seed, Shadow::Unset)) {
            return false;
        }
        if plan.all_dense() {
            for seed in &mut seeds[..plan.expressions] {
                let dense = shadows.dense(core::mem::take(seed), self.grid.elements());
                *seed = Shadow::Dense(dense);
            }
        }
        true
    }

    /// Moves these adjoints of what was written to what was read.
    pub(crate) fn reverse_from(
        &self,
        mut seeds: Seeds<V>,
        inputs: &mut [V],
        shadows: &mut Shadows<V>,
    ) -> Result<(), SweepError> {
        if let ([operand], Shadow::Uniform(seed)) = (&*self.operands, &seeds[0])
            && !self.plan().writes
            && self.grid.is_all()
            && let Some(slope) = constant_slope(&self.kernel, *seed)
        {
            shadows.add_everywhere(operand.before, slope);
            return Ok(());
        }
        let mut gather = Gather::new(&self.kernel, &self.grid);
        let mut beside = [const { None }; OUTPUTS];
        for (a, kept) in self.operands.iter().enumerate() {
            gather.memory.read(a, kept, self.grid.elements(), shadows.fetched())?;
            if kept.before != 0 && AccessSummary::has(self.plan().partials.views, a) {
                let how = self.prepare(a, (&mut seeds, &mut beside), shadows);
                gather.add_to(a, how, shadows.make_dense(kept.before, self.grid.elements()));
            }
        }
        gather.is_clean = self.clean(&mut seeds);
        for (k, seed) in seeds.iter().enumerate().take(self.plan().expressions) {
            gather.seed(k, seed);
        }
        // SAFETY: the shadows, the seeds and what was fetched stay as they are meanwhile, and the other values are
        // shared.
        let numbers = unsafe { gather.run(&self.grid) };
        for (kept, number) in self.operands.iter().zip(numbers) {
            if let Some((_, input)) = kept.number {
                inputs[input] += number;
            }
        }
        self.finish(seeds, beside, shadows);
        Ok(())
    }

    /// Makes the shadow ready to which the contributions for operand `a` go, and says how they do. Views that are
    /// written get a buffer beside the one with the adjoints of what is written, unless an element's adjoint depends on
    /// that element's alone: then the seed becomes the shadow. What lies beside the range is moved from the seed to
    /// that buffer; or, if all of the buffer will be written, to one `beside` it, which is added in the end.
    fn prepare(&self, a: usize, (seeds, beside): (&mut Seeds<V>, &mut Beside<V>), shadows: &mut Shadows<V>) -> How {
        let (kept, length) = (&self.operands[a], self.grid.elements());
        let slot = kept.before;
        if let Some(k) = self.output(a)
            && kept.after == Some(slot)
        {
            if self.plan().is_local() && matches!(seeds[k], Shadow::Dense(_)) {
                shadows.put(slot, core::mem::take(&mut seeds[k]));
                return How::InPlace;
            }
            let mut buffer = shadows.any(length);
            let is_written = reaches_all(self.plan(), &self.grid);
            match &mut seeds[k] {
                Shadow::Dense(seed) if is_written => {
                    let mut outside = shadows.any(length);
                    self.grid.move_outside(seed, &mut outside, V::ZERO);
                    beside[k] = Some(outside);
                    shadows.put(slot, Shadow::Dense(buffer));
                    return How::Store;
                }
                Shadow::Unset => self.grid.fill_outside(&mut buffer, V::ZERO),
                Shadow::Uniform(seed) => self.grid.fill_outside(&mut buffer, *seed),
                Shadow::Dense(seed) => self.grid.move_outside(seed, &mut buffer, V::ZERO),
            }
            shadows.put(slot, Shadow::Dense(buffer));
            return How::Replace;
        }
        // Copies of a view from before the launch that writes it have adjoints of their own.
        let is_written = kept.after.is_some();
        if matches!(shadows.get(slot), Shadow::Unset) && !is_written && reaches_all(self.plan(), &self.grid) {
            let buffer = shadows.any(length);
            shadows.put(slot, Shadow::Dense(buffer));
            return How::Store;
        }
        How::Add
    }

    /// Makes the seeds 0 outside the range, and says whether they are: not where they are still needed.
    fn clean(&self, seeds: &mut Seeds<V>) -> bool {
        let plan = self.plan();
        for (seed, a) in seeds.iter_mut().zip(plan.written) {
            let kept = &self.operands[*a];
            match seed {
                Shadow::Unset => {}
                // What lies outside is passive.
                Shadow::Dense(seed) if kept.before == 0 => self.grid.fill_outside(seed, V::ZERO),
                // It has been moved to the view's shadow.
                Shadow::Dense(_) if kept.after == Some(kept.before) && AccessSummary::has(plan.partials.views, *a) => {}
                _ => return false,
            }
        }
        plan.writes
    }

    /// Puts back what is left of the seeds: adjoints outside the range.
    fn finish(&self, seeds: Seeds<V>, beside: Beside<V>, shadows: &mut Shadows<V>) {
        let length = self.grid.elements();
        for (outside, a) in beside.into_iter().zip(self.plan().written) {
            if let Some(outside) = outside {
                let sums = shadows.make_dense(self.operands[*a].before, length);
                let (sums, found) = (&mut **sums, &*outside);
                self.grid
                    .outside(|piece| sums[piece.clone()].iter_mut().zip(&found[piece]).for_each(|(sum, x)| *sum += *x));
            }
        }
        for (k, seed) in seeds.into_iter().enumerate() {
            let Some(a) = self.plan().written.get(k).copied() else { continue };
            let kept = &self.operands[a];
            let forked = kept.after != Some(kept.before);
            // What lies outside the range is passive, or there is nothing, or it has been copied.
            let is_done =
                kept.before == 0 || self.grid.is_all() || !forked && AccessSummary::has(self.plan().partials.views, a);
            if !is_done && !matches!(seed, Shadow::Unset) {
                let mut rest = shadows.dense(seed, length);
                self.grid.inside(|piece| rest[piece].fill(V::ZERO));
                shadows.give(kept.before, Shadow::Dense(rest));
            }
        }
    }

    /// Which output operand `a` is.
    fn output(&self, a: usize) -> Option<usize> {
        self.plan().written.iter().position(|written| *written == a)
    }
}
