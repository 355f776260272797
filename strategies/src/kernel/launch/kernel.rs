//! Recorded launch of a kernel: kept operands, sweeps and replay.

use super::dependencies::{Dependencies, OperandView, Source};
use super::entry::{Inspection, Launch};
use super::ready::{Outside, OutsideAdjoints, Ready, Seeds, check};
use super::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::ir::access::{Access, AccessKind, AccessSummary, Boundary, Needs, OUTPUTS, OperandBits};
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::shared::{NewArray, SharedArray};
use crate::kernel::memory::version::Version;
use crate::kernel::targets::bindings::Bindings;
use crate::kernel::targets::blocks::SHARED_ABOVE;
use crate::kernel::targets::jobs::{Accumulation, Destination, Evaluation, Propagation};
use crate::kernel::targets::kernel::{BoundKernel, Gather, How};
use crate::kernel::targets::operands::{KeptOperand, KeptScalar, Operand, check_needs};
use crate::kernel::targets::rows::Rows;
use crate::kernel::targets::target::Target;
use crate::number::simd::planes::Place;
use crate::rules::Curvature;
use crate::{Number, SweepError};
use core::any::Any;
use core::ops::Range;
use smallvec::SmallVec;

/// Recorded launch of a kernel.
#[derive(Debug)]
pub struct KernelLaunch<V: Number> {
    pub(crate) kernel: BoundKernel<V>,
    /// Target that the launch ran on, and sweeps and replays run on; `None` until it is set.
    target: Option<&'static dyn Target<V>>,
    pub(crate) grid: Grid,
    pub(crate) operands: SmallVec<[KeptOperand<V>; 2]>,
}

impl<V: Number> Default for KernelLaunch<V> {
    /// Returns a launch that must be [set](Self::set) before use.
    fn default() -> Self {
        Self { kernel: BoundKernel::default(), target: None, grid: Grid::default(), operands: SmallVec::new() }
    }
}

impl<V: Number> KernelLaunch<V> {
    /// Replaces this launch by one without operands, which are [kept](Self::keep) afterwards.
    #[inline]
    pub fn set(&mut self, kernel: BoundKernel<V>, target: &'static dyn Target<V>, grid: &Grid) {
        (self.kernel, self.target, self.grid) = (kernel, Some(target), *grid);
        self.operands.clear();
    }

    /// Adds the next operand.
    #[inline]
    pub fn keep(&mut self, operand: KeptOperand<V>) {
        self.operands.push(operand);
    }

    pub(crate) fn plan(&self) -> &'static KernelInfo {
        self.kernel.plan()
    }

    /// The active uniform scalars among the operands.
    fn scalars(&self) -> OperandBits {
        let is_active = |kept: &KeptOperand<V>| kept.number.is_some_and(|scalar| scalar.active);
        let bits = self.operands.iter().enumerate().map(|(k, kept)| OperandBits::from(is_active(kept)) << k);
        bits.fold(0, |all, bit| all | bit)
    }

    pub(crate) fn target(&self) -> &'static dyn Target<V> {
        self.target.expect("a launch has been set")
    }

    /// Versions of arrays that partial derivatives need.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Version<V>> {
        self.operands.iter().flat_map(|kept| kept.values.iter().chain(&kept.new))
    }
}

/// Arrays and numbers that receive the tangents of a kernel's expressions.
pub(crate) enum Results<'r, 'b, V: Number> {
    /// A view for each expression.
    Views(&'r mut [&'b mut Buffer<V>]),
    /// A sum over all points for each expression.
    Sums(&'r mut [V]),
    /// A sum over each row of the range, in order, of the first expression.
    Rows(&'r mut Buffer<V>),
}

impl<V: Number> KernelLaunch<V> {
    /// Propagates tangents at all points to these results.
    pub(crate) fn tangent_to(
        &self,
        results: Results<'_, '_, V>,
        inputs: &[V],
        views: &[Option<&Buffer<V>>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        let (grid, device) = (&self.grid, self.target().memory());
        let (mut memory, mut tangents) = (Bindings::new(grid, device), Bindings::new(grid, device));
        for (a, kept) in self.operands.iter().enumerate() {
            let length = self.plan().elements(a, grid);
            let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), length, "a tangent for each element");
            views[a].into_iter().for_each(fits);
            memory.read(a, kept, length, fetched)?;
            tangents.values[a] = views[a].map_or(Place::NULL, |buffer| buffer.place(device));
            tangents.numbers[a] = kept.number.map_or(V::ZERO, |scalar| inputs[scalar.input]);
        }
        let moving = views.iter().enumerate().fold(0, |bits, (a, view)| bits | OperandBits::from(view.is_some()) << a);
        let needs = self.plan().needs_kept(moving | self.scalars());
        check_needs(needs, &memory);
        let spare = self.plan().needs_of(OperandBits::MAX).without(needs);
        let mut spare = (spare != Needs::NONE).then(|| fetched.array(grid.elements()));
        if let Some(spare) = &mut spare {
            // Slopes of what does not move are computed, too, and multiplied by zeros. If one is not finite, the
            // contributions at its point are added in another order: so nothing depends on what the array held.
            spare.place_new(device);
            spare.fill(V::from_f64(0.5));
            memory.fill_missing(spare.place_mut(device));
        }
        let to = match results {
            Results::Views(results) => {
                for (result, a) in results.iter_mut().zip(self.plan().written) {
                    assert_eq!(result.len(), grid.elements(), "a tangent for each element");
                    let writes_all = grid.is_all();
                    tangents.new[*a] = if writes_all { result.place_new(device) } else { result.place_mut(device) };
                }
                Destination::Views
            }
            Results::Sums(sums) => Destination::Sums(sums),
            Results::Rows(sums) => {
                assert_eq!(sums.len(), Rows::of(&grid.range).count(), "a sum for each row");
                tangents.new[0] = sums.place_new(device);
                Destination::Rows
            }
        };
        // SAFETY: operands have the lengths of the grid, and what the tangents need is bound; the arrays are borrowed,
        // those that are written exclusively, or stay in the cache until the launch ends.
        self.target().tangents(unsafe { Propagation::new((&self.kernel, grid), (&memory, &tangents), to) });
        Ok(())
    }
}

/// Current values of each operand before the launch; `None` for scalars, and for views that are overwritten completely
/// without being read.
type Present<V> = SmallVec<[Option<SharedArray<V>>; 4]>;

impl<V: Number> KernelLaunch<V> {
    /// Checks the operands for [`Launch::can_be_replayed`].
    pub(crate) fn has_what_replays_need(&self) -> Result<(), SweepError> {
        let replaced = self.plan().replaced(&self.grid);
        let is_there = |(a, kept): (usize, &KeptOperand<V>)| kept.is_known() || AccessSummary::has(replaced, a);
        let is_there = !self.kernel.is_extreme() && self.operands.iter().enumerate().all(is_there);
        if is_there { Ok(()) } else { Err(not_kept()) }
    }

    /// Operand `a` with these values, which is read.
    fn read<'v>(&self, a: usize, values: &'v Buffer<V>) -> Operand<'v, V> {
        let leaves = &self.plan().leaves;
        let is_whole = !AccessSummary::has(leaves.along, a);
        if is_whole { Operand::Read(values) } else { Operand::Along(values, leaves.dimensions[a]) }
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

    /// Recomputes the launch, for [`Launch::replay`].
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
                old.iter().for_each(|old| buffer.copy_outside(old, &self.grid));
                buffer
            }));
        }
        let operands = self.operands.iter().zip(&present).zip(&mut new);
        let operands = operands.enumerate().map(|(a, ((kept, old), new))| match (kept.number, old, new) {
            (Some(scalar), ..) => Operand::Number(inputs[scalar.input]),
            (None, Some(old), Some(new)) => Operand::Replace(old, new),
            (None, Some(old), None) => self.read(a, old),
            (None, None, Some(new)) => Operand::Update(new),
            (None, None, None) => unreachable!("the values of a view that is read are there"),
        });
        Evaluation::with((&self.kernel, &self.grid), self.target().memory(), operands, |job| {
            if self.plan().writes {
                self.target().values(job);
            } else {
                self.target().sums(job, &mut outputs[..self.plan().expressions]);
            }
        });
        let new: SmallVec<[_; OUTPUTS]> = new.into_iter().map(|new| new.map(NewArray::share)).collect();
        for (kept, new) in self.operands.iter().zip(&new) {
            kept.after.zip(new.clone()).into_iter().for_each(|(slot, new)| versions.put(slot, new));
        }
        Ok(ReplayResult { operands: self.kept_again(inputs, present, new.into_iter()), ..ReplayResult::default() })
    }

    /// Describes a reduction over this grid as a job, and passes it to `compute`. Returns the operands to keep.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when passive operands have not been kept.
    pub(crate) fn reduce_again(
        &self,
        grid: &Grid,
        inputs: &[V],
        versions: &ReplayState<V>,
        compute: impl FnOnce(Evaluation<'_, V>),
    ) -> Result<ReplayResult<V>, SweepError> {
        self.has_all_operands()?;
        let present = self.present(versions);
        let operands =
            self.operands.iter().zip(&present).enumerate().map(|(a, (kept, old))| match (kept.number, old) {
                (Some(scalar), _) => Operand::Number(inputs[scalar.input]),
                (None, old) => self.read(a, old.as_ref().expect("the values of a view that is read are there")),
            });
        Evaluation::with((&self.kernel, grid), self.target().memory(), operands, compute);
        let nothing_new = core::iter::repeat_with(|| None);
        Ok(ReplayResult { operands: self.kept_again(inputs, present, nothing_new), ..ReplayResult::default() })
    }

    /// Checks that each operand's values are known, for a launch that writes none of them.
    pub(crate) fn has_all_operands(&self) -> Result<(), SweepError> {
        if self.operands.iter().all(KeptOperand::is_known) { Ok(()) } else { Err(not_kept()) }
    }

    /// Returns the operands to keep when they have these values.
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
            number: kept.number.map(|scalar| KeptScalar { value: inputs[scalar.input], ..scalar }),
        });
        operands.collect()
    }
}

impl<V: Number> Launch<V> for KernelLaunch<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let mut seeds = [const { Shadow::Unset }; OUTPUTS];
        if self.take_seeds(&mut seeds, outputs, shadows) {
            self.reverse_from(&mut seeds, None, inputs, shadows)?;
        }
        Ok(())
    }

    fn shared_region(&self) -> Option<&Grid> {
        // Within the complete views no adjoints are moved before or after the loop. Arrays that may be on disk are read
        // back for one launch at a time, and arrays on a device are brought up to date for one at a time.
        let (plan, is_in_memory) = (self.plan(), |version: &Version<V>| version.in_memory().is_some());
        let shares = self.grid.elements() > SHARED_ABOVE
            && plan.writes
            && plan.is_local()
            && plan.partials.along == 0
            && self.grid.is_all()
            && self.target().shares_regions()
            && self.target().memory().is_none()
            && self.versions().all(is_in_memory);
        shares.then_some(&self.grid)
    }

    fn reverse_together(&self, all: &[&dyn Launch<V>], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let (mut launches, mut ready) = (SmallVec::<[&Self; 4]>::new(), SmallVec::<[Ready<'_, V>; 4]>::new());
        for launch in all {
            let launch = (*launch as &dyn Any).downcast_ref::<Self>().expect("only these launches share regions");
            let mut seeds = [const { Shadow::Unset }; OUTPUTS];
            if launch.take_seeds(&mut seeds, &[], shadows) {
                launches.push(launch);
                let mut gather = Gather::new(&launch.kernel, &launch.grid, launch.target().memory());
                let mut outside = [const { Outside::Seed }; OUTPUTS];
                launch.give_operands(&mut gather, (&mut seeds, &mut outside), shadows)?;
                ready.push(Ready::new(gather, (seeds, outside), shadows));
            }
        }
        self.target().gather_several(Ready::jobs(&ready));
        for (launch, mut ready) in launches.into_iter().zip(ready) {
            launch.finish(&mut ready.seeds, &ready.outside, shadows);
        }
        Ok(())
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        let length = |a: usize| self.plan().elements(a, &self.grid);
        let view = |(a, kept): (usize, &KeptOperand<V>)| OperandView {
            before: kept.before,
            after: kept.after,
            length: length(a),
        };
        self.operands.iter().enumerate().map(view).collect()
    }

    fn clear(&mut self) -> bool {
        self.operands.clear();
        true
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        let goal = if self.plan().writes { Goal::Views } else { Goal::Variables };
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
        // Results are in the order of the written operands, like expressions.
        for (result, a) in results.iter_mut().zip(self.plan().written) {
            match views[*a] {
                Some(tangents) => result.copy_outside(tangents, &self.grid),
                None => result.fill_outside(V::ZERO, &self.grid),
            }
        }
        if self.plan().writes {
            return self.tangent_to(Results::Views(results), inputs, views, fetched);
        }
        let mut sums = [V::ZERO; OUTPUTS];
        self.tangent_to(Results::Sums(&mut sums[..self.plan().expressions]), inputs, views, fetched)?;
        outputs.iter_mut().zip(sums).for_each(|(output, sum)| *output += sum);
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
        Inspection { conflicting_reads: (0..self.operands.len()).map(conflicting).collect() }
    }
}

impl<V: Number> KernelLaunch<V> {
    /// Takes the adjoints of the outputs out of their shadows; for a reduction, those of its results. Returns
    /// false if all are zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_seeds(&self, seeds: &mut Seeds<V>, outputs: &[V], shadows: &mut Shadows<V>) -> bool {
        let plan = self.plan();
        if plan.writes {
            for (seed, a) in seeds.iter_mut().zip(plan.written) {
                *seed = shadows.take(self.operands[*a].after.expect("it is written"));
            }
        } else {
            for (to, seed) in seeds.iter_mut().zip(outputs) {
                *to = if seed.is_nought() { Shadow::Unset } else { Shadow::Uniform(*seed) };
            }
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

    /// Propagates these adjoints of the outputs, or of the sums of the rows, to the operands.
    pub(crate) fn reverse_from(
        &self,
        seeds: &mut Seeds<V>,
        rows: Option<&Buffer<V>>,
        inputs: &mut [V],
        shadows: &mut Shadows<V>,
    ) -> Result<(), SweepError> {
        if let ([operand], Shadow::Uniform(seed)) = (&*self.operands, &seeds[0])
            && !self.plan().writes
            && self.grid.is_all()
            && let Some(slope) = self.kernel.constant_slope(*seed)
        {
            shadows.add_everywhere(operand.before, slope);
            return Ok(());
        }
        let mut gather = Gather::new(&self.kernel, &self.grid, self.target().memory());
        let mut outside = [const { Outside::Seed }; OUTPUTS];
        self.give_operands(&mut gather, (&mut *seeds, &mut outside), shadows)?;
        rows.into_iter().for_each(|rows| gather.seed_rows(rows));
        let _spare = check(&mut gather, shadows);
        if !self.grid.range.is_empty() {
            self.run(&gather, inputs);
        }
        self.finish(seeds, &outside, shadows);
        Ok(())
    }

    /// Gives its operands to a gather, with the adjoints that it reads and accumulates.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn give_operands(
        &self,
        gather: &mut Gather<'_, V>,
        (seeds, outside): (&mut Seeds<V>, &mut OutsideAdjoints<V>),
        shadows: &mut Shadows<V>,
    ) -> Result<(), SweepError> {
        for (a, kept) in self.operands.iter().enumerate() {
            let length = self.plan().elements(a, &self.grid);
            gather.memory.read(a, kept, length, shadows.fetched())?;
            // First, because another operand of the same slot may store its adjoints only where there are none yet.
            if kept.before != 0 && AccessSummary::has(self.plan().partials.along, a) {
                gather.add_along(a, &self.grid, shadows.make_dense(kept.before, length));
            }
        }
        for (a, kept) in self.operands.iter().enumerate() {
            if kept.before != 0 && AccessSummary::has(self.plan().partials.views, a) {
                let how = self.prepare(a, (&mut *seeds, &mut *outside), shadows);
                gather.add_to(a, how, shadows.make_dense(kept.before, self.grid.elements()));
            }
        }
        gather.scalars = self.scalars();
        gather.is_clean = self.clean(seeds);
        for (k, seed) in seeds.iter().enumerate().take(self.plan().expressions) {
            gather.seed(k, seed);
        }
        Ok(())
    }

    /// Runs a gather that has been checked.
    fn run(&self, gather: &Gather<'_, V>, inputs: &mut [V]) {
        if self.plan().partials.numbers & gather.scalars != 0 {
            let scalars = self.target().scalars(gather);
            for (kept, scalar) in self.operands.iter().zip(scalars) {
                kept.number.filter(|kept| kept.active).into_iter().for_each(|kept| inputs[kept.input] += scalar);
            }
        }
        if gather.views != 0 {
            // SAFETY: the gather has been checked; the shadows, the seeds and the arrays read back stay unchanged and
            // alive during the call, and the other values are shared.
            self.target().gather(unsafe { Accumulation::new(gather, &self.grid) });
        }
    }

    /// Prepares the shadow that receives the contributions for operand `a`, and returns how they are combined with it.
    /// A view that is written gets a new buffer, unless copies of the view before the launch have contributed adjoints
    /// already. If each element's adjoint depends on its own seed only, the seed becomes the shadow of a view that is
    /// written in its own slot. Adjoints outside the range go from the seed to the new buffer; or, on the host, if the
    /// gather will overwrite all of that, to an array in `outside`, which [`finish`](Self::finish) adds.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn prepare(
        &self,
        a: usize,
        (seeds, outside): (&mut Seeds<V>, &mut OutsideAdjoints<V>),
        shadows: &mut Shadows<V>,
    ) -> How {
        let (kept, length) = (&self.operands[a], self.grid.elements());
        let slot = kept.before;
        let (is_own, is_first) = (kept.after == Some(slot), matches!(shadows.get(slot), Shadow::Unset));
        if let Some(k) = self.output(a)
            && (is_own || is_first)
        {
            if is_own && self.plan().is_local() && matches!(seeds[k], Shadow::Dense(_)) {
                shadows.put(slot, core::mem::take(&mut seeds[k]));
                return How::InPlace;
            }
            let mut buffer = shadows.any(length);
            let is_cleaned = is_own && self.target().memory().is_none();
            let is_written = is_cleaned && self.plan().reaches_all(&self.grid);
            outside[k] = Outside::Shadow;
            match &mut seeds[k] {
                Shadow::Dense(seed) if is_written => {
                    if !self.grid.is_all() {
                        let mut moved = shadows.any(length);
                        self.move_outside(seed, &mut moved);
                        outside[k] = Outside::Apart(moved);
                    }
                    shadows.put(slot, Shadow::Dense(buffer));
                    return How::Store;
                }
                Shadow::Unset => buffer.fill_outside(V::ZERO, &self.grid),
                Shadow::Uniform(seed) => buffer.fill_outside(*seed, &self.grid),
                Shadow::Dense(seed) if is_cleaned => self.move_outside(seed, &mut buffer),
                Shadow::Dense(seed) => buffer.copy_outside(seed, &self.grid),
            }
            shadows.put(slot, Shadow::Dense(buffer));
            return How::Replace;
        }
        if is_first && self.plan().reaches_all(&self.grid) {
            let buffer = shadows.any(length);
            shadows.put(slot, Shadow::Dense(buffer));
            return How::Store;
        }
        How::Add
    }

    /// Sets the seeds to 0 outside the range, and returns true if that was possible: seeds that are still needed there
    /// stay, and those on a device, whose code does not read them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn clean(&self, seeds: &mut Seeds<V>) -> bool {
        let plan = self.plan();
        if self.target().memory().is_some() {
            return false;
        }
        for (seed, a) in seeds.iter_mut().zip(plan.written) {
            let kept = &self.operands[*a];
            match seed {
                Shadow::Unset => {}
                // Elements outside the range are passive.
                Shadow::Dense(seed) if kept.before == 0 => seed.fill_outside(V::ZERO, &self.grid),
                // Adjoints outside the range have been moved to the view's shadow.
                Shadow::Dense(_) if kept.after == Some(kept.before) && AccessSummary::has(plan.partials.views, *a) => {}
                _ => return false,
            }
        }
        plan.writes
    }

    /// Returns adjoints outside the range to the shadows of the operands.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn finish(&self, seeds: &mut Seeds<V>, outside: &OutsideAdjoints<V>, shadows: &mut Shadows<V>) {
        let length = self.grid.elements();
        for (outside, a) in outside.iter().zip(self.plan().written) {
            if let Outside::Apart(moved) = outside {
                let sums = shadows.make_dense(self.operands[*a].before, length);
                sums.add_outside(moved, &self.grid);
            }
        }
        for ((seed, outside), a) in seeds.iter_mut().zip(outside).zip(self.plan().written) {
            let (seed, kept) = (core::mem::take(seed), &self.operands[*a]);
            // Elements outside the range are passive, or there are none, or their adjoints have been moved.
            let is_done = kept.before == 0 || self.grid.is_all() || !matches!(outside, Outside::Seed);
            if !is_done && !matches!(seed, Shadow::Unset) {
                let mut rest = shadows.dense(seed, length);
                rest.fill_inside(V::ZERO, &self.grid);
                shadows.give(kept.before, Shadow::Dense(rest));
            }
        }
    }

    /// Moves the elements outside the range, and leaves zeros.
    fn move_outside(&self, from: &mut Buffer<V>, to: &mut Buffer<V>) {
        to.copy_outside(from, &self.grid);
        from.fill_outside(V::ZERO, &self.grid);
    }

    /// Returns the index of the output that operand `a` is, or `None`.
    fn output(&self, a: usize) -> Option<usize> {
        self.plan().written.iter().position(|written| *written == a)
    }
}

/// Dependencies of one expression of a kernel.
pub(crate) struct Expression {
    pub(crate) leaves: SmallVec<[Access; 8]>,
    curvature: Curvature,
}

impl Expression {
    /// Describes all expressions of a kernel.
    pub(crate) fn of(plan: &KernelInfo) -> SmallVec<[Self; 1]> {
        let used = &plan.scripts.used;
        let needs: SmallVec<[_; 8]> = (0..used.len()).map(|leaf| plan.scripts.needs_of(leaf)).collect();
        let expression = |k: usize| {
            let leaves: SmallVec<[usize; 8]> = (0..used.len()).filter(|leaf| needs[*leaf].0 >> k & 1 == 1).collect();
            // A second derivative can be non-zero only if the partial derivative for each access needs the other
            // access.
            let meet = |a: usize, b: usize| needs[a].1 >> b & needs[b].1 >> a & 1 == 1;
            let mut curvature = Curvature::LINEAR;
            for (row, a) in leaves.iter().enumerate() {
                for (column, b) in leaves.iter().enumerate().skip(row) {
                    if meet(*a, *b) {
                        curvature = curvature.and((row, row + 1), (column, column + 1));
                    }
                }
            }
            Self { leaves: leaves.iter().map(|leaf| used.get(*leaf)).collect(), curvature }
        };
        (0..plan.expressions).map(expression).collect()
    }

    /// Appends the arguments at a point, given by `of` for each access, and returns the curvature.
    pub(crate) fn link(&self, arguments: &mut Vec<Source>, of: impl FnMut(Access) -> Source) -> Curvature {
        arguments.extend(self.leaves.iter().copied().map(of));
        self.curvature
    }
}

/// Destination of a kernel's values.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// The views that are written.
    Views,
    /// A variable for each expression, the sum of its values.
    Variables,
    /// A view with one element for each row.
    Rows(OperandView),
}

/// A launch of a kernel as scalar statements. If values are summed, or may overwrite elements that other points read,
/// the values at all points come first, as intermediate values.
struct OfKernel<'l, V: Number> {
    launch: &'l KernelLaunch<V>,
    grid: &'l Grid,
    expressions: SmallVec<[Expression; 1]>,
    goal: Goal,
    /// Number of intermediate values.
    values: usize,
    /// For each destination, the range of its statements, after the intermediate values.
    goals: SmallVec<[Range<usize>; 4]>,
}

impl<V: Number> KernelLaunch<V> {
    /// Describes the launch as scalar statements.
    pub(crate) fn statements(&self, goal: Goal) -> Box<dyn Dependencies + '_> {
        let (grid, expressions) = (&self.grid, Expression::of(self.plan()));
        let values = if self.is_apart(goal) { 0 } else { grid.points() * expressions.len() };
        let mut end = values;
        let mut next = |count: usize| {
            end += count;
            end - count..end
        };
        let goals = match goal {
            Goal::Views => self.plan().written.iter().map(|a| next(self.moved(*a))).collect(),
            Goal::Variables => (0..expressions.len()).map(|_| next(1)).collect(),
            Goal::Rows(to) => SmallVec::from_iter([next(to.length)]),
        };
        Box::new(OfKernel { launch: self, grid, expressions, goal, values, goals })
    }

    /// Returns true if the values go to views whose new slots the launch does not read, so that no intermediate values
    /// are needed.
    fn is_apart(&self, goal: Goal) -> bool {
        let is_read = |slot: usize| self.operands.iter().any(|operand| operand.before == slot);
        let goes_apart = |a: &usize| self.operands[*a].after.is_some_and(|slot| !is_read(slot));
        matches!(goal, Goal::Views) && self.plan().written.iter().all(goes_apart)
    }

    /// Number of statements for a written view: one for each point, or one for each element if the view gets a new
    /// slot.
    fn moved(&self, a: usize) -> usize {
        let kept = &self.operands[a];
        if kept.after == Some(kept.before) { self.grid.points() } else { self.grid.elements() }
    }
}

impl<V: Number> OfKernel<'_, V> {
    /// Returns the value that an access reads at a point.
    fn leaf(&self, point: [isize; 4], key: Access) -> Source {
        let kept = &self.launch.operands[key.operand()];
        match key.kind() {
            AccessKind::Read => {
                let element = self.grid.element_beside(point, key);
                element.map_or(Source::Nothing, |element| Source::Element(kept.before, element))
            }
            AccessKind::Along => Source::Element(kept.before, self.grid.element_along(point, key)),
            _ => kept.number.map_or(Source::Nothing, |scalar| Source::Input(scalar.input)),
        }
    }

    /// Describes the statement for an element of the view that output `k` is written to.
    fn element(&self, k: usize, at: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let kept = &self.launch.operands[self.launch.plan().written[k]];
        let (count, after) = (self.expressions.len(), kept.after.unwrap_or(0));
        let is_forked = kept.after != Some(kept.before);
        let (element, point) = if is_forked {
            (at, self.grid.number(self.grid.coordinates(at)))
        } else {
            (self.grid.element(self.grid.point(at)), Some(at))
        };
        let result = Source::Element(after, element);
        arguments.push(match point {
            Some(number) if self.values == 0 => {
                let point = self.grid.point(number);
                return (result, self.expressions[k].link(arguments, |key| self.leaf(point, key)));
            }
            Some(point) => Source::Own(point * count + k),
            None => Source::Element(kept.before, element),
        });
        (result, Curvature::LINEAR)
    }
}

impl<V: Number> Dependencies for OfKernel<'_, V> {
    fn count(&self) -> usize {
        self.goals.last().map_or(0, |last| last.end)
    }

    fn own(&self) -> usize {
        self.values
    }

    fn link(&self, statement: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let count = self.expressions.len();
        let Some(k) = self.goals.iter().position(|goal| goal.contains(&statement)) else {
            let point = self.grid.point(statement / count);
            let curvature = self.expressions[statement % count].link(arguments, |key| self.leaf(point, key));
            return (Source::Own(statement), curvature);
        };
        let at = statement - self.goals[k].start;
        let result = match self.goal {
            Goal::Views => return self.element(k, at, arguments),
            Goal::Variables => {
                arguments.extend((0..self.grid.points()).map(|point| Source::Own(point * count + k)));
                Source::Output(k)
            }
            Goal::Rows(to) => {
                let length = self.grid.points() / to.length;
                arguments.extend((at * length..(at + 1) * length).map(Source::Own));
                Source::Element(to.after.unwrap_or(0), at)
            }
        };
        (result, Curvature::LINEAR)
    }
}

impl Grid {
    /// Returns the number of a point, or `None` if it is outside the range.
    fn number(&self, point: [isize; 4]) -> Option<usize> {
        let range = &self.range;
        let number = || (0..4).fold(0, |n, d| n * (range.hi[d] - range.lo[d]) + point[d] - range.lo[d]).unsigned_abs();
        range.has(point).then(number)
    }

    /// Returns the coordinates of an element.
    fn coordinates(&self, element: usize) -> [isize; 4] {
        self.at(element).range.lo
    }

    /// Returns the element of an operand of lower rank that is read at a point.
    fn element_along(&self, point: [isize; 4], key: Access) -> usize {
        let dimensions = (0..4).filter(|d| key.dimensions() >> d & 1 == 1);
        dimensions.fold(0, |element, d| element * self.shape()[d] + point[d]).unsigned_abs()
    }

    /// Returns the element that an access reads at a point; `None` if the read gives 0 there.
    fn element_beside(&self, mut point: [isize; 4], key: Access) -> Option<usize> {
        for d in 0..4 {
            let (at, length) = (point[d] + key.shift(d), self.shape()[d]);
            point[d] = match key.border() {
                _ if (0..length).contains(&at) => at,
                Boundary::Inside | Boundary::Zero => return None,
                Boundary::Nearest => at.clamp(0, length - 1),
                Boundary::Periodic => at.rem_euclid(length),
            };
        }
        Some(self.element(point))
    }
}
