//! The loops of reverse sweeps: each adjoint element gathers what the points that read it contribute.
//!
//! No two points write to one element, so there is nothing to lock, and an element's adjoint is the same sum in the same order
//! however the elements are shared out.

use super::buffer::Buffer;
use super::grid::{Grid, Region};
use super::kernel::Kernel;
use super::keys::{Facts, Kind, OPERANDS};
use super::memory::{Memory, Seeds, check_reads};
use super::points::{careful_slope, is_delicate};
use super::program::{OUTPUTS, Plan};
use crate::Float;
use core::ptr;

/// The adjoints of an operand.
#[derive(Debug)]
pub(super) enum Adjoint<'a, V> {
    /// Nobody asks for them.
    None,
    /// Contributions are added to what is there.
    Add(&'a mut Buffer<V>),
    /// Contributions are all there is: what is there is not read, and every element that can be reached is written. The others
    /// stay as they are.
    Store(&'a mut Buffer<V>),
    /// As `Store` in the range of the launch, which writes the view there, and as `Add` outside.
    Replace(&'a mut Buffer<V>),
}

/// One operand of a launch in a reverse sweep.
#[derive(Debug)]
pub(super) struct BackOperand<'a, V> {
    /// The values that the launch has read, if the partials need them.
    pub(super) values: Option<&'a Buffer<V>>,
    /// The values that it has written, if the partials need them.
    pub(super) new: Option<&'a Buffer<V>>,
    /// The number that all points share.
    pub(super) number: V,
    /// Where contributions go.
    pub(super) adjoint: Adjoint<'a, V>,
}

/// The adjoint of an output.
#[derive(Debug)]
pub(super) enum Seed<'a, V> {
    /// The same at all points.
    Uniform(V),
    /// An element for each.
    Dense(&'a Buffer<V>),
    /// Those that the operand's contributions will replace, in the same buffer: for programs that read at the point itself only.
    InPlace,
}

/// What the loops need.
#[derive(Clone, Copy)]
pub(super) struct Gather<'a, V: 'static> {
    pub(super) kernel: &'a Kernel<V>,
    /// Whether zero may meet infinity or NaN where adjoints are finite.
    pub(super) is_delicate: bool,
    pub(super) memory: Memory<V>,
    pub(super) range: Region,
    pub(super) seeds: Seeds<V>,
    pub(super) to: [*mut V; OPERANDS],
    pub(super) how: [How; OPERANDS],
}

// SAFETY: these are addresses, and numbers. Whoever runs the loops says that they may be used.
unsafe impl<V: Float> Sync for Gather<'_, V> {}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Add,
    Store,
    Replace,
}

/// The elements whose adjoints get contributions.
fn reached(plan: &Plan, grid: &Grid) -> Region {
    let mut region = grid.range;
    let shape = grid.shape();
    let repeats = plan.partials.repeats;
    for d in 0..4 {
        let (least, most) = plan.partials.shifts[d];
        // Reads that wrap around can reach the other side.
        let whole = repeats && (least, most) != (0, 0);
        region.lo[d] = if whole { 0 } else { (region.lo[d] + least).max(0) };
        region.hi[d] = if whole { shape[d] } else { (region.hi[d] + most).min(shape[d]) };
    }
    region
}

/// Whether contributions of this kernel can reach every element of views. Without points they reach nothing.
pub(super) fn reaches_all(plan: &Plan, grid: &Grid) -> bool {
    if grid.range.is_empty() {
        return false;
    }
    let region = reached(plan, grid);
    (0..4).all(|d| region.lo[d] == 0 && region.hi[d] == grid.shape()[d])
}

/// Adds Σ seed·∂output/∂element to the adjoints of each operand, and returns the adjoints of the numbers that all points share, 0
/// for the other operands. Zero times anything is zero.
///
/// # Panics
///
/// When operands do not fit the grid, when values that the partials need are missing, and when adjoints are to be replaced in place
/// though the program reads beside the point.
#[track_caller]
pub(super) fn reverse<'m, V: Float>(
    kernel: &Kernel<V>,
    grid: &Grid,
    operands: impl Iterator<Item = BackOperand<'m, V>>,
    seeds: impl Iterator<Item = Seed<'m, V>>,
) -> [V; OPERANDS] {
    let plan = kernel.plan();
    let mut gather = Gather {
        kernel,
        is_delicate: is_delicate(kernel),
        memory: Memory::new(grid),
        range: grid.range,
        seeds: Seeds { dense: [ptr::null(); OUTPUTS], uniform: [V::zero(); OUTPUTS] },
        to: [ptr::null_mut(); OPERANDS],
        how: [How::Add; OPERANDS],
    };
    let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "all views of a launch have one shape");
    for (k, operand) in operands.enumerate() {
        operand.values.into_iter().chain(operand.new).for_each(fits);
        gather.memory.values[k] = operand.values.map_or(ptr::null(), Buffer::start);
        gather.memory.new[k] = operand.new.map_or(ptr::null_mut(), |new| new.start().cast_mut());
        gather.memory.numbers[k] = operand.number;
        let (how, buffer) = match operand.adjoint {
            Adjoint::None => continue,
            Adjoint::Add(buffer) => (How::Add, buffer),
            Adjoint::Store(buffer) => (How::Store, buffer),
            Adjoint::Replace(buffer) => (How::Replace, buffer),
        };
        fits(buffer);
        (gather.how[k], gather.to[k]) = (how, buffer.start_mut());
    }
    let mut count = 0;
    for (k, seed) in seeds.enumerate() {
        count += 1;
        assert!(k < plan.expressions, "one seed for each output");
        match seed {
            Seed::Uniform(seed) => {
                assert!(!plan.all_dense(), "the seeds of this kernel are arrays");
                gather.seeds.uniform[k] = seed;
            }
            Seed::Dense(buffer) => {
                fits(buffer);
                gather.seeds.dense[k] = buffer.start();
            }
            Seed::InPlace => {
                let to = plan.written[k];
                assert!(plan.is_local(), "adjoints are replaced in place where all reads are at the point");
                assert!(gather.how[to] == How::Replace, "operand {to} has no adjoints to be replaced");
                gather.seeds.dense[k] = gather.to[to];
            }
        }
    }
    assert!(count == plan.expressions, "one seed for each output");
    check_needs(plan, &gather.memory);
    check_reads(plan, grid);
    let mut numbers = [V::zero(); OPERANDS];
    if !grid.range.is_empty() {
        // SAFETY: checked above: all that is read or written has as many elements as the grid, and what is written is borrowed
        // exclusively.
        unsafe {
            numbers = slopes(&gather);
            if plan.partials.views != 0 {
                kernel.gather(&gather, &reached(plan, grid));
            }
        }
    }
    numbers
}

/// Checks that the values that partials need are there, and lets what they do not need be read as anything.
#[track_caller]
pub(super) fn check_needs<V: Float>(plan: &Plan, memory: &Memory<V>) {
    for operand in 0..OPERANDS {
        let there = !Facts::has(plan.kept.views, operand) || !memory.values[operand].is_null();
        let there = there && (!Facts::has(plan.kept.new, operand) || !memory.new[operand].is_null());
        assert!(there, "the values of operand {operand} are needed, and were not kept");
    }
}

/// The adjoints of the numbers that all points share.
///
/// # Safety
///
/// `gather` has been checked.
unsafe fn slopes<V: Float>(gather: &Gather<'_, V>) -> [V; OPERANDS] {
    let (mut numbers, used) = ([V::zero(); OPERANDS], &gather.kernel.plan().scripts.used);
    for n in (0..used.len()).filter(|n| used.get(*n).kind() == Kind::Number) {
        // SAFETY: promised by the caller.
        let sum = unsafe { gather.kernel.slope(gather, n) };
        numbers[used.get(n).operand()] = if sum.is_finite() { sum } else { careful_slope(gather, n) };
    }
    numbers
}
