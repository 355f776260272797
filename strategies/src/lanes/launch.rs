//! What a recording keeps of a launch, and how a sweep goes through it.

use super::buffer::Buffer;
use super::fetched::Fetched;
use super::grid::Grid;
use super::kernel::{Gather, How, Kernel};
use super::keys::{Facts, Kind, OPERANDS, OUTPUTS};
use super::memory::Memory;
use super::operands::{Kept, check_needs};
use super::points::{constant_slope, tangent};
use super::program::{Plan, Program};
use super::replay::{Replayed, Versions};
use super::reverse::reaches_all;
use super::shadow::{Shadow, Shadows};
use super::version::Version;
use crate::{Float, SweepError};
use core::ptr;
use smallvec::SmallVec;

/// A launch in a recording. The order of a recording's launches and statements is the order in which they ran.
pub trait Launch<V>: Send + Sync + 'static {
    /// Moves the adjoints of what was written to what was read. `outputs` and `inputs` are the adjoints of variables, as for an
    /// [external function](crate::External::reverse).
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError>;

    /// The views among its operands, by operand; numbers that all points share have none.
    fn views(&self) -> SmallVec<[Used; 4]>;

    /// Computes the tangents of what was written from those of what was read: `views` are those of the operands before
    /// the launch, `None` where they are 0, and `results` are written, one for each view that is. They may hold
    /// anything at first. `fetched` is for kept arrays that are not in memory.
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [Buffer<V>],
        fetched: &mut Fetched<V>,
    ) -> Result<(), SweepError>;

    /// Whether it can be computed again: whether it is known how, and passive operands have been kept.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if it cannot.
    fn can_be_replayed(&self) -> Result<(), SweepError> {
        Err(SweepError::Unsupported {
            what:
                "a recording with a stage or loop over views cannot be replayed: what it computed inside was not kept"
                    .into(),
        })
    }

    /// Computes it again: `inputs` are the values of all variables that it reads, `outputs` its results, the old ones at first, and
    /// `versions` has the present values of views that are not passive. Returns what [`accept`](Self::accept) will be given.
    ///
    /// # Errors
    ///
    /// As [`can_be_replayed`](Self::can_be_replayed).
    fn replay(&self, inputs: &[V], outputs: &mut [V], versions: &mut Versions<V>) -> Result<Replayed<V>, SweepError> {
        let _ = (inputs, outputs, versions);
        self.can_be_replayed().map(|()| Replayed::default())
    }

    /// Keeps what later sweeps need of what a replay has computed.
    fn accept(&mut self, replayed: Replayed<V>) {
        drop(replayed);
    }

    /// Hands over the versions of arrays that it keeps, so that they become ones that may leave memory.
    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        let _ = each;
    }

    /// Hands over the addresses of the arrays that it keeps, which other launches may keep, too, and their bytes.
    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        let _ = each;
    }

    /// Bytes of everything else, without those of itself.
    fn bytes(&self) -> usize;

    /// Elements that are read at several different shifts, so that a scatter would need atomic updates, by operand; and the
    /// numbers of kernels that a reverse sweep runs, and of atomic updates that it issues.
    fn inspect(&self) -> Inspection;
}

/// A launch as a recording keeps it: of a kernel, in memory that is used again, or of anything else.
pub struct Launched<V: 'static> {
    kernel: Option<Box<Recorded<V>>>,
    other: Option<Box<dyn Launch<V>>>,
}

impl<V: Float> Default for Launched<V> {
    /// A launch that is still to be written.
    fn default() -> Self {
        Self { kernel: None, other: None }
    }
}

impl<V: Float> Launched<V> {
    /// A launch that is still to be written, in this memory if it is one of a kernel.
    pub(crate) const fn within(kernel: Option<Box<Recorded<V>>>) -> Self {
        Self { kernel, other: None }
    }

    /// Makes it a launch of something else than a kernel.
    pub fn set_other(&mut self, other: impl Launch<V>) {
        self.other = Some(Box::new(other));
    }

    /// The memory that was given, if it is no launch of a kernel.
    pub(crate) fn unused(&mut self) -> Option<Box<Recorded<V>>> {
        if self.other.is_some() { self.kernel.take() } else { None }
    }

    /// The launch of a kernel, to be set.
    #[inline]
    pub fn kernel(&mut self) -> &mut Recorded<V> {
        self.other = None;
        self.kernel.get_or_insert_default()
    }

    /// The launch.
    ///
    /// # Panics
    ///
    /// When it has not been written.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> &dyn Launch<V> {
        match (&self.other, &self.kernel) {
            (Some(launch), _) => &**launch,
            (None, Some(launch)) => &**launch,
            (None, None) => panic!("a launch that has not been written"),
        }
    }

    /// The launch.
    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut dyn Launch<V> {
        match (&mut self.other, &mut self.kernel) {
            (Some(launch), _) => &mut **launch,
            (None, Some(launch)) => &mut **launch,
            (None, None) => panic!("a launch that has not been written"),
        }
    }

    /// The memory for the launch of a kernel, without what it kept.
    pub(crate) fn into_memory(self) -> Option<Box<Recorded<V>>> {
        let mut kernel = self.kernel?;
        kernel.operands.clear();
        Some(kernel)
    }

    /// Bytes outside the recording's list, without the arrays.
    pub(crate) fn bytes(&self) -> usize {
        let kernel = self.kernel.as_ref().map_or(0, |launch| size_of::<Recorded<V>>() + launch.bytes());
        kernel + self.other.as_ref().map_or(0, |launch| size_of_val(&**launch) + launch.bytes())
    }
}

/// A view among the operands of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Its slot before the launch; 0 if it is passive, or no view.
    pub before: usize,
    /// Its slot afterwards, if it is written.
    pub after: Option<usize>,
    /// Its number of elements.
    pub length: usize,
}

/// Moves tangents through a launch.
pub(crate) fn flow<V: Float>(
    launch: &dyn Launch<V>,
    inputs: &[V],
    outputs: &mut [V],
    shadows: &mut Shadows<V>,
) -> Result<(), SweepError> {
    let used = launch.views();
    let written = || used.iter().filter_map(|view| view.after);
    let moves = |view: &Used| !matches!(shadows.get(view.before), Shadow::Unset);
    if !used.iter().any(moves) && inputs.iter().all(|tangent| *tangent == V::zero()) {
        written().for_each(|after| shadows.put(after, Shadow::Unset));
        return Ok(());
    }
    let mut results: SmallVec<[Buffer<V>; OUTPUTS]> = SmallVec::new();
    let mut filled: SmallVec<[Option<Buffer<V>>; OPERANDS]> = SmallVec::new();
    for view in &used {
        let uniform = match shadows.get(view.before) {
            Shadow::Uniform(tangent) => Some(*tangent),
            _ => None,
        };
        filled.push(uniform.map(|tangent| shadows.filled(view.length, tangent)));
        results.extend(view.after.map(|_| shadows.any(view.length)));
    }
    let mut views: SmallVec<[Option<&Buffer<V>>; OPERANDS]> = SmallVec::new();
    let (list, fetched) = shadows.parts();
    for (view, filled) in used.iter().zip(&filled) {
        views.push(match list.get(view.before) {
            Some(Shadow::Dense(tangents)) => Some(tangents),
            _ => filled.as_ref(),
        });
    }
    launch.forward(inputs, outputs, &views, &mut results, fetched)?;
    drop(views);
    shadows.end_launch();
    filled.into_iter().flatten().for_each(|buffer| shadows.recycle(Shadow::Dense(buffer)));
    for (after, result) in written().zip(results) {
        shadows.put(after, Shadow::Dense(result));
    }
    Ok(())
}

/// What a recorded launch does in a reverse sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// For each operand, how many of its elements each point reads if they are more than one: updates that a reverse sweep which
    /// scatters would have to make atomic.
    pub conflicting_reads: Vec<usize>,
    /// Loops over points in a reverse sweep.
    pub reverse_kernels: usize,
    /// Atomic updates in a reverse sweep: each element gathers, so there are none.
    pub atomic_updates: usize,
}

/// A launch of a kernel.
#[derive(Debug)]
pub struct Recorded<V: 'static> {
    pub(super) kernel: Kernel<V>,
    pub(super) grid: Grid,
    pub(super) operands: SmallVec<[Kept<V>; 2]>,
}

/// The adjoints of outputs.
type Seeds<V> = [Shadow<V>; OUTPUTS];
/// Those outside the range, for outputs whose seeds are 0 there.
type Beside<V> = [Option<Buffer<V>>; OUTPUTS];

impl<V> Default for Recorded<V> {
    /// A launch that is still to be set.
    fn default() -> Self {
        Self { kernel: Kernel::default(), grid: Grid::default(), operands: SmallVec::new() }
    }
}

impl<V: Float> Recorded<V> {
    /// Makes it the launch of this program with these operands.
    #[inline(always)]
    pub fn set<P: Program>(&mut self, program: &P, grid: &Grid, operands: impl Iterator<Item = Kept<V>>) {
        self.kernel.set(program);
        self.grid = *grid;
        self.operands.clear();
        for kept in operands {
            self.operands.push(kept);
        }
    }

    pub(super) fn plan(&self) -> &'static Plan {
        self.kernel.plan()
    }

    /// The arrays that partials need.
    fn versions(&self) -> impl Iterator<Item = &Version<V>> {
        self.operands.iter().flat_map(|kept| kept.values.iter().chain(&kept.new))
    }

    /// Takes the adjoints of the outputs out of their shadows; for a reduction its result's adjoint. `false` if all are 0.
    fn take_seeds(&self, seeds: &mut Seeds<V>, outputs: &[V], shadows: &mut Shadows<V>) -> bool {
        let plan = self.plan();
        if plan.writes {
            for (seed, a) in seeds.iter_mut().zip(plan.written) {
                *seed = shadows.take(self.operands[*a].after.expect("it is written"));
            }
        } else {
            let seed = outputs.first().copied().unwrap_or_else(V::zero);
            seeds[0] = if seed == V::zero() { Shadow::Unset } else { Shadow::Uniform(seed) };
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

    /// Which output operand `a` is.
    fn output(&self, a: usize) -> Option<usize> {
        self.plan().written.iter().position(|written| *written == a)
    }
}

impl<V: Float> Launch<V> for Recorded<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let mut seeds = [const { Shadow::Unset }; OUTPUTS];
        if self.take_seeds(&mut seeds, outputs, shadows) {
            self.reverse_from(seeds, inputs, shadows)?;
        }
        Ok(())
    }

    fn views(&self) -> SmallVec<[Used; 4]> {
        let length = self.grid.elements();
        self.operands.iter().map(|kept| Used { before: kept.before, after: kept.after, length }).collect()
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [Buffer<V>],
        fetched: &mut Fetched<V>,
    ) -> Result<(), SweepError> {
        // Results are in the order of the operands, as expressions are.
        for (result, a) in results.iter_mut().zip(self.plan().written) {
            match views[*a] {
                Some(tangents) => self.grid.copy_outside(tangents, result),
                None => self.grid.fill_outside(result, V::zero()),
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

    fn replay(&self, inputs: &[V], outputs: &mut [V], versions: &mut Versions<V>) -> Result<Replayed<V>, SweepError> {
        self.compute_again(inputs, outputs, versions)
    }

    fn accept(&mut self, replayed: Replayed<V>) {
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
        let spilled = if self.operands.spilled() { self.operands.len() * size_of::<Kept<V>>() } else { 0 };
        let constants = &self.kernel.constants;
        spilled + if constants.spilled() { constants.capacity() * size_of::<V>() } else { 0 }
    }

    fn inspect(&self) -> Inspection {
        let used = &self.plan().scripts.used;
        let keys = || (0..used.len()).map(|k| used.get(k));
        let reads = |a: usize| keys().filter(|key| key.kind() == Kind::Read && key.operand() == a).count();
        let conflicting = |a: usize| if reads(a) > 1 { reads(a) } else { 0 };
        let slopes = keys().filter(|key| key.kind() == Kind::Number).count();
        let gathers = usize::from((0..self.operands.len()).any(|a| reads(a) > 0));
        Inspection {
            conflicting_reads: (0..self.operands.len()).map(conflicting).collect(),
            reverse_kernels: gathers.max(usize::from(slopes > 0)),
            atomic_updates: 0,
        }
    }
}

impl<V: Float> Recorded<V> {
    /// Tangents of what is written at some points of the grid to the results, or their sum.
    pub(super) fn tangent_over(
        &self,
        grid: &Grid,
        inputs: &[V],
        views: &[Option<&Buffer<V>>],
        results: &mut [Buffer<V>],
        fetched: &mut Fetched<V>,
    ) -> Result<V, SweepError> {
        let (mut memory, mut tangents) = (Memory::new(grid), Memory::new(grid));
        let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "a tangent for each element");
        for (a, kept) in self.operands.iter().enumerate() {
            views[a].into_iter().for_each(fits);
            memory.read(a, kept, grid.elements(), fetched)?;
            tangents.values[a] = views[a].map_or(ptr::null(), Buffer::start);
            tangents.numbers[a] = kept.number.map_or_else(V::zero, |(_, input)| inputs[input]);
        }
        check_needs(self.plan(), &memory);
        Ok(tangent(&self.kernel, grid, &memory, &tangents, results))
    }

    /// Moves these adjoints of what was written to what was read.
    pub(super) fn reverse_from(
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
            if kept.before != 0 && Facts::has(self.plan().partials.views, a) {
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
}

impl<V: Float> Recorded<V> {
    /// Makes the shadow ready to which the contributions for operand `a` go, and says how they do. Views that are written get a buffer
    /// beside the one with the adjoints of what is written, unless an element's adjoint depends on that element's alone: then the seed
    /// becomes the shadow. What lies beside the range is moved from the seed to that buffer; or, if all of the buffer will be written, to
    /// one `beside` it, which is added in the end.
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
                    self.grid.move_outside(seed, &mut outside, V::zero());
                    beside[k] = Some(outside);
                    shadows.put(slot, Shadow::Dense(buffer));
                    return How::Store;
                }
                Shadow::Unset => self.grid.fill_outside(&mut buffer, V::zero()),
                Shadow::Uniform(seed) => self.grid.fill_outside(&mut buffer, *seed),
                Shadow::Dense(seed) => self.grid.move_outside(seed, &mut buffer, V::zero()),
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
                Shadow::Dense(seed) if kept.before == 0 => self.grid.fill_outside(seed, V::zero()),
                // It has been moved to the view's shadow.
                Shadow::Dense(_) if kept.after == Some(kept.before) && Facts::has(plan.partials.views, *a) => {}
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
                shadows.recycle(Shadow::Dense(outside));
            }
        }
        for (k, seed) in seeds.into_iter().enumerate() {
            let Some(a) = self.plan().written.get(k).copied() else {
                shadows.recycle(seed);
                continue;
            };
            let kept = &self.operands[a];
            let forked = kept.after != Some(kept.before);
            if kept.before == 0 || self.grid.is_all() || !forked && Facts::has(self.plan().partials.views, a) {
                // What lies outside the range is passive, or there is nothing, or it has been copied.
                shadows.recycle(seed);
            } else if !matches!(seed, Shadow::Unset) {
                let mut rest = shadows.dense(seed, length);
                self.grid.inside(|piece| rest[piece].fill(V::zero()));
                shadows.give(kept.before, Shadow::Dense(rest));
            }
        }
    }
}
