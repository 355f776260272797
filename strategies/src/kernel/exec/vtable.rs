//! Kernels as values: what is the same for all kernels works on these, and is compiled once.

use super::bindings::{Bindings, Seeds};
use super::parallel::each_block;
use crate::Number;
use crate::kernel::ir::access::{LEAVES, OPERANDS};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::ir::kernel::KernelInfo;
use core::ops::Range;
use smallvec::SmallVec;

/// The captured numbers of a kernel.
pub(crate) type Constants<V> = SmallVec<[V; 6]>;

/// A kernel.
#[derive(Clone, Debug)]
pub(crate) struct BoundKernel<V: 'static> {
    /// `None` before it is set.
    pub(crate) compiled: Option<&'static KernelTable<V>>,
    pub(crate) constants: Constants<V>,
}

impl<V> Default for BoundKernel<V> {
    fn default() -> Self {
        Self { compiled: None, constants: Constants::new() }
    }
}

pub(crate) type SinglesOf<V> = unsafe fn(&Gather<'_, V>, [isize; 3], Range<isize>);
pub(crate) type NumbersOf<V> = unsafe fn(&Gather<'_, V>) -> [V; OPERANDS];
pub(crate) type Linear<V> = fn(&[V], V) -> [V; LEAVES];

type FindIn<V> = unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>, bool) -> Option<(V, usize)>;

/// The loops of launches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recompute<V: 'static> {
    Values(unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>, bool)),
    Sum(unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>) -> V),
    Extremum(FindIn<V>),
    Nothing,
}

/// What is compiled for each kernel for sweeps, and of its launch for replays.
#[derive(Debug)]
pub(crate) struct KernelTable<V: 'static> {
    pub(crate) plan: &'static KernelInfo,
    /// Computes the values again.
    pub(crate) again: Recompute<V>,
    /// Gathers the adjoints of some elements.
    pub(crate) gather: unsafe fn(&Gather<'_, V>, &IndexRange),
    /// The same for part of a row, of kernels whose operands are read at the point only.
    pub(crate) singles: Option<SinglesOf<V>>,
    /// The adjoints of the numbers that all points share, by operand, if there are any.
    pub(crate) numbers: Option<NumbersOf<V>>,
    /// The partials of a linear kernel, times a seed, by leaf.
    pub(crate) linear: Option<Linear<V>>,
}

impl<V: Number> BoundKernel<V> {
    #[inline(always)]
    fn compiled(&self) -> &'static KernelTable<V> {
        self.compiled.expect("a kernel has been set")
    }

    #[inline(always)]
    pub(crate) fn plan(&self) -> &'static KernelInfo {
        self.compiled().plan
    }

    /// The partials of a linear kernel, which need no values, times a seed.
    pub(crate) fn linear(&self, seed: V) -> Option<[V; LEAVES]> {
        self.compiled().linear.map(|linear| linear(&self.constants, seed))
    }

    /// Gathers the adjoints of these elements.
    ///
    /// # Safety
    ///
    /// `gather` has been checked, and is one of this kernel.
    pub(crate) unsafe fn gather(&self, gather: &Gather<'_, V>, reached: &IndexRange) {
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
    pub(crate) unsafe fn compute(&self, grid: &Grid, memory: &Bindings<V>, in_place: bool) -> Option<V> {
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
    pub(crate) unsafe fn find(&self, grid: &Grid, memory: &Bindings<V>, largest: bool) -> Option<(V, usize)> {
        match self.compiled().again {
            // SAFETY: promised by the caller.
            Recompute::Extremum(find) => unsafe { find(self, grid, memory, largest) },
            _ => unreachable!("its launches look for no extremum"),
        }
    }

    /// Whether its launches look for an extremum.
    pub(crate) fn is_extreme(&self) -> bool {
        matches!(self.compiled().again, Recompute::Extremum(_))
    }

    /// The adjoints of the numbers that all points share, by operand, if there are any.
    ///
    /// # Safety
    ///
    /// As [`gather`](Self::gather).
    pub(crate) unsafe fn numbers(&self, gather: &Gather<'_, V>) -> Option<[V; OPERANDS]> {
        // SAFETY: promised by the caller.
        self.compiled().numbers.map(|numbers| unsafe { numbers(gather) })
    }
}

/// What the loops that gather need.
#[derive(Clone, Copy)]
pub(crate) struct Gather<'a, V: 'static> {
    pub(crate) kernel: &'a BoundKernel<V>,
    /// Whether zero may meet infinity or NaN where adjoints are finite.
    pub(crate) is_delicate: bool,
    pub(crate) memory: Bindings<V>,
    pub(crate) range: IndexRange,
    /// Whether all seeds are 0 outside the range.
    pub(crate) is_clean: bool,
    /// The number of elements of its arrays.
    pub(crate) length: usize,
    pub(crate) seeds: Seeds<V>,
    pub(crate) to: [*mut V; OPERANDS],
    pub(crate) how: [How; OPERANDS],
}

// SAFETY: these are addresses, and numbers. Whoever runs the loops says that they may be used.
unsafe impl<V: Number> Sync for Gather<'_, V> {}

/// How contributions reach the adjoints of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
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
