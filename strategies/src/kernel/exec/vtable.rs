//! Kernels as values. Code that works on these is compiled once instead of once for each kernel.

use super::bindings::{Bindings, Seeds};
use super::parallel::each_block;
use crate::Number;
use crate::kernel::ir::access::{LEAVES, OPERANDS};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::ir::kernel::KernelInfo;
use core::ops::Range;
use smallvec::SmallVec;

/// Captured constants of a kernel.
pub(crate) type Constants<V> = SmallVec<[V; 6]>;

/// A kernel's compiled loops together with its captured constants.
#[derive(Clone, Debug)]
pub(crate) struct BoundKernel<V: 'static> {
    /// Compiled loops; `None` until they are set.
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

/// Compiled loops of a launch, by the kind of kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recompute<V: 'static> {
    Values(unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>, bool)),
    Sum(unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>) -> V),
    Extremum(FindIn<V>),
    Nothing,
}

/// Compiled code of a kernel: the loops of sweeps, and the loop of its launch for replays.
#[derive(Debug)]
pub(crate) struct KernelTable<V: 'static> {
    pub(crate) plan: &'static KernelInfo,
    /// Loop of the launch, for replays.
    pub(crate) again: Recompute<V>,
    /// Gathers the adjoints of the elements in a range.
    pub(crate) gather: unsafe fn(&Gather<'_, V>, &IndexRange),
    /// Gathers the adjoints of a part of a row, for kernels that read operands only at the point itself.
    pub(crate) singles: Option<SinglesOf<V>>,
    /// Sums the adjoints of uniform scalars, by operand, if the kernel has any.
    pub(crate) numbers: Option<NumbersOf<V>>,
    /// Partial derivatives of a linear kernel times a seed, by access.
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

    /// Returns the partial derivatives of a linear kernel, which need no values, times a seed; `None` if it is not
    /// linear.
    pub(crate) fn linear(&self, seed: V) -> Option<[V; LEAVES]> {
        self.compiled().linear.map(|linear| linear(&self.constants, seed))
    }

    /// Gathers the adjoints of the elements in `reached`.
    ///
    /// # Safety
    ///
    /// `gather` has been checked, and belongs to this kernel.
    pub(crate) unsafe fn gather(&self, gather: &Gather<'_, V>, reached: &IndexRange) {
        if let Some(singles) = self.compiled().singles
            && reached.is_short_row()
        {
            let [a, b, c, first] = reached.lo;
            // SAFETY: promised by the caller.
            unsafe { singles(gather, [a, b, c], first..reached.hi[3]) }
            return;
        }
        // SAFETY: promised by the caller. Parts are disjoint, and each element's adjoint is written once.
        each_block(reached, |part| unsafe { (self.compiled().gather)(gather, part) });
    }

    /// Computes the values of a launch, possibly in place, or returns their sum.
    ///
    /// # Safety
    ///
    /// The operands in memory have been checked for this kernel and this grid and are still alive, and nobody else uses
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

    /// Returns the largest or smallest value and its position among the elements; `None` without points.
    ///
    /// # Safety
    ///
    /// The conditions of [`compute`](Self::compute).
    pub(crate) unsafe fn find(&self, grid: &Grid, memory: &Bindings<V>, largest: bool) -> Option<(V, usize)> {
        match self.compiled().again {
            // SAFETY: promised by the caller.
            Recompute::Extremum(find) => unsafe { find(self, grid, memory, largest) },
            _ => unreachable!("its launches look for no extremum"),
        }
    }

    /// Returns true if launches of this kernel search for an extremum.
    pub(crate) fn is_extreme(&self) -> bool {
        matches!(self.compiled().again, Recompute::Extremum(_))
    }

    /// Sums the adjoints of uniform scalars, by operand; `None` if the kernel has none.
    ///
    /// # Safety
    ///
    /// The conditions of [`gather`](Self::gather).
    pub(crate) unsafe fn numbers(&self, gather: &Gather<'_, V>) -> Option<[V; OPERANDS]> {
        // SAFETY: promised by the caller.
        self.compiled().numbers.map(|numbers| unsafe { numbers(gather) })
    }
}

/// Arguments of the gather loops.
#[derive(Clone, Copy)]
pub(crate) struct Gather<'a, V: 'static> {
    pub(crate) kernel: &'a BoundKernel<V>,
    /// True if a zero seed may meet a non-finite partial derivative; see [`is_delicate`](super::points::is_delicate).
    pub(crate) is_delicate: bool,
    pub(crate) memory: Bindings<V>,
    pub(crate) range: IndexRange,
    /// True if all seeds are 0 outside the range.
    pub(crate) is_clean: bool,
    /// Number of elements of the arrays.
    pub(crate) length: usize,
    pub(crate) seeds: Seeds<V>,
    pub(crate) to: [*mut V; OPERANDS],
    pub(crate) how: [How; OPERANDS],
}

// SAFETY: these are addresses and values; whoever runs the loops promises that the addresses may be used.
unsafe impl<V: Number> Sync for Gather<'_, V> {}

/// Treatment of the adjoints that an operand has before the gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Contributions are added to the existing adjoints.
    Add,
    /// Contributions replace the adjoints without reading them. Every element that the gather reaches is written; the
    /// others keep their value.
    Store,
    /// `Store` inside the range of the launch, which overwrites the view there, and `Add` outside.
    Replace,
    /// `Replace`, where the existing adjoints are also the seeds.
    InPlace,
}
