//! Kernels as values: what is the same for all kernels works on these, and is compiled once.

use super::blocks::each_block;
use super::grid::{Grid, Region};
use super::keys::{LEAVES, OPERANDS};
use super::memory::{Memory, Seeds};
use super::program::Plan;
use crate::Number;
use core::ops::Range;
use smallvec::SmallVec;

/// The captured numbers of a kernel.
pub(super) type Constants<V> = SmallVec<[V; 6]>;

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Kernel<V: 'static> {
    /// `None` before it is set.
    pub(super) compiled: Option<&'static Compiled<V>>,
    pub(super) constants: Constants<V>,
}

impl<V> Default for Kernel<V> {
    fn default() -> Self {
        Self { compiled: None, constants: Constants::new() }
    }
}

pub(super) type SinglesOf<V> = unsafe fn(&Gather<'_, V>, [isize; 3], Range<isize>);
pub(super) type NumbersOf<V> = unsafe fn(&Gather<'_, V>) -> [V; OPERANDS];
pub(super) type Linear<V> = fn(&[V], V) -> [V; LEAVES];

type FindIn<V> = unsafe fn(&Kernel<V>, &Grid, &Memory<V>, bool) -> Option<(V, usize)>;

/// The loops of launches.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recompute<V: 'static> {
    Values(unsafe fn(&Kernel<V>, &Grid, &Memory<V>, bool)),
    Sum(unsafe fn(&Kernel<V>, &Grid, &Memory<V>) -> V),
    Extremum(FindIn<V>),
    Nothing,
}

/// What is compiled for each kernel for sweeps, and of its launch for replays.
#[derive(Debug)]
pub(super) struct Compiled<V: 'static> {
    pub(super) plan: &'static Plan,
    /// Computes the values again.
    pub(super) again: Recompute<V>,
    /// Gathers the adjoints of some elements.
    pub(super) gather: unsafe fn(&Gather<'_, V>, &Region),
    /// The same for part of a row, of kernels whose operands are read at the point only.
    pub(super) singles: Option<SinglesOf<V>>,
    /// The adjoints of the numbers that all points share, by operand, if there are any.
    pub(super) numbers: Option<NumbersOf<V>>,
    /// The partials of a linear kernel, times a seed, by leaf.
    pub(super) linear: Option<Linear<V>>,
}

impl<V: Number> Kernel<V> {
    #[inline(always)]
    fn compiled(&self) -> &'static Compiled<V> {
        self.compiled.expect("a kernel has been set")
    }

    #[inline(always)]
    pub(super) fn plan(&self) -> &'static Plan {
        self.compiled().plan
    }

    /// The partials of a linear kernel, which need no values, times a seed.
    pub(super) fn linear(&self, seed: V) -> Option<[V; LEAVES]> {
        self.compiled().linear.map(|linear| linear(&self.constants, seed))
    }

    /// Gathers the adjoints of these elements.
    ///
    /// # Safety
    ///
    /// `gather` has been checked, and is one of this kernel.
    pub(super) unsafe fn gather(&self, gather: &Gather<'_, V>, reached: &Region) {
        if let Some(singles) = self.compiled().singles
            && reached.is_short_row()
        {
            let [a, b, c, first] = reached.lo;
            // SAFETY: promised by the caller.
            unsafe { singles(gather, [a, b, c], first..reached.hi[3]) }
            return;
        }
        // SAFETY: promised by the caller. Parts are disjoint, and each element's adjoint is written for itself.
        each_block(reached, |part| unsafe { (self.compiled().gather)(gather, part) });
    }

    /// Computes the values of a launch, some perhaps in place, or their sum, which is returned.
    ///
    /// # Safety
    ///
    /// The operands in memory have been checked for this kernel and this grid and are still there, and nobody else uses
    /// what is written.
    pub(super) unsafe fn compute(&self, grid: &Grid, memory: &Memory<V>, in_place: bool) -> Option<V> {
        // SAFETY: promised by the caller.
        unsafe {
            match self.compiled().again {
                Recompute::Values(fill) => fill(self, grid, memory, in_place),
                Recompute::Sum(sum) => return Some(sum(self, grid, memory)),
                Recompute::Extremum(_) | Recompute::Nothing => unreachable!("its launches compute neither"),
            }
        }
        None
    }

    /// Finds the largest value, or the smallest, and its place among the elements; `None` without points.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute).
    pub(super) unsafe fn find(&self, grid: &Grid, memory: &Memory<V>, largest: bool) -> Option<(V, usize)> {
        match self.compiled().again {
            // SAFETY: promised by the caller.
            Recompute::Extremum(find) => unsafe { find(self, grid, memory, largest) },
            _ => unreachable!("its launches look for no extremum"),
        }
    }

    /// Whether its launches look for an extremum.
    pub(super) fn is_extreme(&self) -> bool {
        matches!(self.compiled().again, Recompute::Extremum(_))
    }

    /// The adjoints of the numbers that all points share, by operand, if there are any.
    ///
    /// # Safety
    ///
    /// As [`gather`](Self::gather).
    pub(super) unsafe fn numbers(&self, gather: &Gather<'_, V>) -> Option<[V; OPERANDS]> {
        // SAFETY: promised by the caller.
        self.compiled().numbers.map(|numbers| unsafe { numbers(gather) })
    }
}

/// What the loops that gather need.
#[derive(Clone, Copy)]
pub(super) struct Gather<'a, V: 'static> {
    pub(super) kernel: &'a Kernel<V>,
    /// Whether zero may meet infinity or NaN where adjoints are finite.
    pub(super) is_delicate: bool,
    pub(super) memory: Memory<V>,
    pub(super) range: Region,
    /// Whether all seeds are 0 outside the range.
    pub(super) is_clean: bool,
    /// The number of elements of its arrays.
    pub(super) length: usize,
    pub(super) seeds: Seeds<V>,
    pub(super) to: [*mut V; OPERANDS],
    pub(super) how: [How; OPERANDS],
}

// SAFETY: these are addresses, and numbers. Whoever runs the loops says that they may be used.
unsafe impl<V: Number> Sync for Gather<'_, V> {}

/// How contributions reach the adjoints of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// They are added to what is there.
    Add,
    /// They are all there is: what is there is not read, and every element that can be reached is written. The others
    /// stay as they are.
    Store,
    /// As `Store` in the range of the launch, which writes the view there, and as `Add` outside.
    Replace,
    /// As `Replace`, and what is there is the seed.
    InPlace,
}
