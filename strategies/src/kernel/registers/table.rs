//! Table of the compiled loops of a kernel, for launches and sweeps.

use super::along::of_operand;
use super::cursor::Captures;
use super::extremum::find;
use super::gather::{GatherAll, is_at_points, singles};
use super::map::fill;
use super::program::alone;
use super::sum::{Summands, What, sum_of_terms, sum_part};
use crate::Number;
use crate::kernel::ir::access::{AccessKind, LEAVES, OPERANDS, OUTPUTS, each};
use crate::kernel::ir::grid::IndexRange;
use crate::kernel::ir::kernel::{Kernel, LoopKind, NumbersOfKernel, PartialOf};
use crate::kernel::targets::blocks::sum_of_blocks;
use crate::kernel::targets::kernel::{
    AlongIn, BoundKernel, Gather, GatherIn, KernelTable, LaunchLoop, Linear, NumbersOf, SinglesOf, SumIn,
};
use core::any::Any;
use core::marker::PhantomData;

impl<V: Number> BoundKernel<V> {
    /// Binds a kernel to its compiled loops and its constants.
    #[inline(always)]
    #[must_use]
    pub fn of<P: Kernel>(program: &P) -> Self {
        let mut kernel = Self::default();
        kernel.bind(const { &KernelTable::<V>::of::<P>() });
        program.constants(&mut |number| kernel.constants.push(V::from_f64(number)));
        kernel
    }
}

impl<V: Number> KernelTable<V> {
    const fn of<P: Kernel>() -> Self {
        if V::LANES > 1 {
            let (launch, lanes) = (LaunchLoop::Nothing, Some(lanes::<V::Lane, P> as fn() -> &'static dyn Any));
            return Self {
                plan: P::PLAN,
                launch,
                gather: None,
                singles: None,
                numbers: None,
                along: None,
                linear: None,
                lanes,
            };
        }
        let numbers: Option<NumbersOf<V>> = if P::PLAN.partials.numbers != 0 { Some(numbers::<V, P>) } else { None };
        let along: Option<AlongIn<V>> = if P::PLAN.partials.along != 0 { Some(along::<V, P>) } else { None };
        let linear: Option<Linear<V>> = if P::PLAN.is_linear() { Some(linear::<V, P>) } else { None };
        let singles = if is_at_points::<P>() { Some(singles::<V, P> as SinglesOf<V>) } else { None };
        let launch = match P::LOOP {
            LoopKind::Values => LaunchLoop::Values(fill::<V, P>),
            LoopKind::Sum => LaunchLoop::Sum(sum_of::<V, P>()),
            LoopKind::Extremum => LaunchLoop::Extremum(find::<V, P>),
            LoopKind::Nothing => LaunchLoop::Nothing,
        };
        let gather = Some(gather::<V, P> as GatherIn<V>);
        Self { plan: P::PLAN, launch, gather, singles, numbers, along, linear, lanes: None }
    }
}

/// Returns the loop that sums as many expressions as the kernel has; only this one is compiled.
const fn sum_of<V: Number, P: Kernel>() -> SumIn<V> {
    match P::PLAN.expressions {
        1 => sum_part::<V, P, 1>,
        2 => sum_part::<V, P, 2>,
        3 => sum_part::<V, P, 3>,
        4 => sum_part::<V, P, 4>,
        5 => sum_part::<V, P, 5>,
        _ => sum_part::<V, P, OUTPUTS>,
    }
}

fn lanes<V: Number, P: Kernel>() -> &'static dyn Any {
    const { &KernelTable::<V>::of::<P>() }
}

/// Partial derivative from the constants, the uniform scalars and a seed.
type Slope<V> = fn(&[V], &[V], V) -> V;

fn linear<V: Number, P: Kernel>(constants: &[V], numbers: &[V; OPERANDS], seed: V) -> [V; LEAVES] {
    let mut slopes = [V::ZERO; LEAVES];
    each!(32: N => {
        if let Some(partial) = const { linear_partial::<V, P, N>() } {
            slopes[N] = partial(constants, numbers, seed);
        }
    });
    slopes
}

/// Returns the function for the partial derivative of access `N` to an element; `None` if there is no such access.
const fn linear_partial<V: Number, P: Kernel, const N: usize>() -> Option<Slope<V>> {
    if N < P::SCRIPTS.used.len() && matches!(P::SCRIPTS.used.get(N).kind(), AccessKind::Read) {
        Some(|constants, numbers, seed| {
            alone::<V, PartialOf<P, N>>(&Captures::of::<PartialOf<P, N>>(constants), numbers, seed)
        })
    } else {
        None
    }
}

/// # Safety
///
/// The conditions of [`Accumulation::new`](crate::kernel::targets::jobs::Accumulation::new).
unsafe fn gather<V: Number, P: Kernel>(gather: &Gather<'_, V>, part: &IndexRange) {
    // SAFETY: promised by the caller.
    unsafe { V::dispatch(GatherAll::<V, P> { gather, part, program: PhantomData }) }
}

/// # Safety
///
/// The gather has been checked, its range is not empty, and nobody else uses the adjoints of operand `k`.
unsafe fn along<V: Number, P: Kernel>(gather: &Gather<'_, V>, k: usize) {
    each!(12: K => {
        if let Some(of_operand) = const { of_operand::<V, P, K>() }
            && k == K
        {
            // SAFETY: promised by the caller.
            unsafe { of_operand(gather) }
        }
    });
}

/// # Safety
///
/// The gather has been checked.
unsafe fn numbers<V: Number, P: Kernel>(gather: &Gather<'_, V>) -> [V; OPERANDS] {
    let terms = Summands::<V, NumbersOfKernel<P>, OPERANDS> {
        kernel: gather.kernel,
        memory: &gather.memory,
        seeds: &gather.seeds,
        range: &gather.range,
        what: What::Numbers,
        steps: PhantomData,
    };
    // SAFETY: promised by the caller.
    sum_of_blocks(&gather.range, |part| unsafe { sum_of_terms(&terms, part) })
}
