//! What a recording keeps of a launch, and how a sweep goes through it.

use super::buffer::Buffer;
use super::fetched::Fetched;
use super::grid::Grid;
use super::kernel::Kernel;
use super::keys::{Facts, Kind, OPERANDS};
use super::memory::Memory;
use super::points::{constant_slope, tangent};
use super::program::{OUTPUTS, Plan, Program};
use super::reverse::{Gather, How, check_needs, reaches_all};
use super::shadow::{Shadow, Shadows, copy_outside};
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

/// A launch as a recording keeps it.
#[allow(clippy::large_enum_variant, reason = "a launch is written where it is kept, without memory of its own")]
pub enum Launched<V: 'static> {
    /// Of a kernel, in the recording's own list.
    Kernel(Recorded<V>),
    /// Of anything else, in memory of its own.
    Other(Box<dyn Launch<V>>),
}

impl<V: Float> Default for Launched<V> {
    /// A launch that is still to be written.
    fn default() -> Self {
        Self::Kernel(Recorded::default())
    }
}

impl<V: Float> Launched<V> {
    /// The launch of a kernel, to be set.
    #[inline]
    pub fn kernel(&mut self) -> &mut Recorded<V> {
        if matches!(self, Self::Other(_)) {
            *self = Self::default();
        }
        match self {
            Self::Kernel(launch) => launch,
            Self::Other(_) => unreachable!("it has just been made one"),
        }
    }

    /// The launch.
    #[inline]
    #[must_use]
    pub fn get(&self) -> &dyn Launch<V> {
        match self {
            Self::Kernel(launch) => launch,
            Self::Other(launch) => &**launch,
        }
    }

    /// The launch, to be changed.
    pub(crate) fn get_mut(&mut self) -> &mut dyn Launch<V> {
        match self {
            Self::Kernel(launch) => launch,
            Self::Other(launch) => &mut **launch,
        }
    }

    /// Bytes outside the recording's list, without the arrays.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Kernel(launch) => launch.bytes(),
            Self::Other(launch) => size_of_val(&**launch) + launch.bytes(),
        }
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

/// One operand of a recorded launch.
#[derive(Debug)]
pub struct Kept<V> {
    /// The slot of the view before the launch; 0 if it is passive, or no view.
    pub before: usize,
    /// The slot of the view afterwards, if it is written.
    pub after: Option<usize>,
    /// The values before the launch, if partials need them.
    pub values: Option<Version<V>>,
    /// The values afterwards, if partials need them.
    pub new: Option<Version<V>>,
    /// The value of a number that all points share, and which input of the launch it is.
    pub number: Option<(V, usize)>,
}

/// A launch of a kernel.
#[derive(Debug)]
pub struct Recorded<V: 'static> {
    pub(super) kernel: Kernel<V>,
    pub(super) grid: Grid,
    pub(super) operands: SmallVec<[Kept<V>; 2]>,
}

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

    fn plan(&self) -> &'static Plan {
        self.kernel.plan()
    }

    /// The arrays that partials need.
    fn versions(&self) -> impl Iterator<Item = &Version<V>> {
        self.operands.iter().flat_map(|kept| kept.values.iter().chain(&kept.new))
    }

    /// Takes the adjoints of the outputs out of their shadows; for a reduction its result's adjoint. `false` if all are 0.
    fn take_seeds(&self, seeds: &mut [Shadow<V>; OUTPUTS], outputs: &[V], shadows: &mut Shadows<V>) -> bool {
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
                Some(tangents) => copy_outside(&self.grid, tangents, result),
                None => self.grid.outside(|piece| result[piece].fill(V::zero())),
            }
        }
        let sum = self.tangent_over(&self.grid, inputs, views, results, fetched)?;
        if !self.plan().writes {
            outputs[0] += sum;
        }
        Ok(())
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
        let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "a number for each element");
        for (a, kept) in self.operands.iter().enumerate() {
            views[a].into_iter().for_each(fits);
            if let Some(values) = &kept.values {
                let values = fetched.get(values)?;
                fits(values);
                memory.values[a] = values.start();
            }
            if let Some(new) = &kept.new {
                let new = fetched.get(new)?;
                fits(new);
                memory.new[a] = new.start().cast_mut();
            }
            memory.numbers[a] = kept.number.map_or_else(V::zero, |(number, _)| number);
            tangents.values[a] = views[a].map_or(ptr::null(), Buffer::start);
            tangents.numbers[a] = kept.number.map_or_else(V::zero, |(_, input)| inputs[input]);
        }
        check_needs(self.plan(), &memory);
        Ok(tangent(&self.kernel, grid, &memory, &tangents, results))
    }

    /// Moves these adjoints of what was written to what was read.
    pub(super) fn reverse_from(
        &self,
        mut seeds: [Shadow<V>; OUTPUTS],
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
        for (a, kept) in self.operands.iter().enumerate() {
            gather.read(a, kept, shadows.fetched())?;
            if kept.before != 0 && Facts::has(self.plan().partials.views, a) {
                let how = self.prepare(a, &mut seeds, shadows);
                gather.add_to(a, how, shadows.make_dense(kept.before, self.grid.elements()));
            }
        }
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
        self.finish(seeds, shadows);
        Ok(())
    }
}

impl<V: Float> Recorded<V> {
    /// Makes the shadow ready to which the contributions for operand `a` go, and says how they do. Views that are written get a buffer
    /// beside the one with the adjoints of what is written, unless an element's adjoint depends on that element's alone: then the seed
    /// becomes the shadow.
    fn prepare(&self, a: usize, seeds: &mut [Shadow<V>; OUTPUTS], shadows: &mut Shadows<V>) -> How {
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
            match &seeds[k] {
                Shadow::Unset => self.grid.outside(|piece| buffer[piece].fill(V::zero())),
                Shadow::Uniform(seed) => self.grid.outside(|piece| buffer[piece].fill(*seed)),
                Shadow::Dense(seed) => copy_outside(&self.grid, seed, &mut buffer),
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

    /// Puts back what is left of the seeds: adjoints outside the range.
    fn finish(&self, seeds: [Shadow<V>; OUTPUTS], shadows: &mut Shadows<V>) {
        let length = self.grid.elements();
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
            } else if forked {
                let mut rest = shadows.dense(seed, length);
                self.grid.inside(|piece| rest[piece].fill(V::zero()));
                shadows.add(kept.before, &rest);
                shadows.recycle(Shadow::Dense(rest));
            } else if !matches!(seed, Shadow::Unset) {
                let mut rest = shadows.dense(seed, length);
                self.grid.inside(|piece| rest[piece].fill(V::zero()));
                shadows.put(kept.before, Shadow::Dense(rest));
            }
        }
    }
}
