//! Kernels as values: what is the same for all kernels works on these, and is compiled once.

use super::blocks::{each_block, sum_of_blocks};
use super::code::{Op, RULES, does};
use super::extremum::find;
use super::forward::fill;
use super::gather::{GatherAll, singles};
use super::grid::{Grid, Region};
use super::keys::{LEAVES, OPERANDS, OUTPUTS, each};
use super::memory::{ALL, Captured, Memory, Place, Seeds};
use super::program::{Again, Plan, Program};
use super::reverse::Gather;
use super::rule::Rule;
use super::script::{Script, Steps, result};
use super::scripts::{List, gather as gather_of, numbers as numbers_of};
use super::steps::{Results, execute};
use super::sums::{Terms, What, number, sum_of_terms, total};
use crate::Float;
use core::marker::PhantomData;
use core::ops::Range;
use smallvec::SmallVec;

/// The captured numbers of a kernel.
pub(super) type Constants<V> = SmallVec<[V; 6]>;

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Kernel<V: 'static> {
    /// `None` before it is set.
    compiled: Option<&'static Compiled<V>>,
    pub(super) constants: Constants<V>,
}

impl<V> Default for Kernel<V> {
    fn default() -> Self {
        Self { compiled: None, constants: Constants::new() }
    }
}

type SinglesOf<V> = unsafe fn(&Gather<'_, V>, [isize; 3], Range<isize>);
type NumbersOf<V> = unsafe fn(&Gather<'_, V>) -> [V; OPERANDS];
type Linear<V> = fn(&[V], V) -> [V; LEAVES];

type FindIn<V> = unsafe fn(&Kernel<V>, &Grid, &Memory<V>, bool) -> Option<(V, usize)>;

/// The loops of launches.
#[derive(Clone, Copy, Debug)]
enum Recompute<V: 'static> {
    Values(unsafe fn(&Kernel<V>, &Grid, &Memory<V>, bool)),
    Sum(unsafe fn(&Kernel<V>, &Grid, &Memory<V>) -> V),
    Extremum(FindIn<V>),
    Nothing,
}

/// What is compiled for each kernel for sweeps, and of its launch for replays.
#[derive(Debug)]
struct Compiled<V: 'static> {
    plan: &'static Plan,
    /// Computes the values again.
    again: Recompute<V>,
    /// Gathers the adjoints of some elements.
    gather: unsafe fn(&Gather<'_, V>, &Region),
    /// The same for part of a row, of kernels whose operands are read at the point only.
    singles: Option<SinglesOf<V>>,
    /// The adjoints of the numbers that all points share, by operand, if there are any.
    numbers: Option<NumbersOf<V>>,
    /// The partials of a linear kernel, times a seed, by leaf.
    linear: Option<Linear<V>>,
}

impl<V: Float> Kernel<V> {
    #[inline(always)]
    pub(super) fn of<P: Program>(program: &P) -> Self {
        let mut kernel = Self::default();
        kernel.set(program);
        kernel
    }

    /// Makes it this one.
    #[inline(always)]
    pub(super) fn set<P: Program>(&mut self, program: &P) {
        self.compiled = Some(const { &Compiled::<V>::of::<P>() });
        self.constants.clear();
        program.constants(&mut |number| self.constants.push(V::from_f64(number)));
    }

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
    /// The operands in memory have been checked for this kernel and this grid and are still there, and nobody else uses what is written.
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

impl<V: Float> Compiled<V> {
    const fn of<P: Program>() -> Self {
        let numbers: Option<NumbersOf<V>> = if P::PLAN.partials.numbers != 0 { Some(numbers::<V, P>) } else { None };
        let linear: Option<Linear<V>> = if P::PLAN.is_linear() { Some(linear::<V, P>) } else { None };
        let one_by_one = P::PLAN.is_local() && !P::PLAN.leaves.borders;
        let singles = if one_by_one { Some(singles::<V, P> as SinglesOf<V>) } else { None };
        let again = match P::AGAIN {
            Again::Values => Recompute::Values(fill::<V, P>),
            Again::Sum => Recompute::Sum(total::<V, P>),
            Again::Extremum => Recompute::Extremum(find::<V, P>),
            Again::Nothing => Recompute::Nothing,
        };
        Self { plan: P::PLAN, again, gather: gather::<V, P>, singles, numbers, linear }
    }
}

fn linear<V: Float, P: Program>(constants: &[V], seed: V) -> [V; LEAVES] {
    let mut slopes = [V::zero(); LEAVES];
    each!(32: N => {
        if let Some(partial) = const { linear_partial::<V, P, N>() } {
            slopes[N] = partial(constants, seed);
        }
    });
    slopes
}

/// The partial of leaf `N`, if there is such a leaf.
const fn linear_partial<V: Float, P: Program, const N: usize>() -> Option<fn(&[V], V) -> V> {
    if N < P::SCRIPTS.used.len() {
        Some(|constants, seed| {
            alone::<V, PartialOf<P, N>>(&Captured::of::<PartialOf<P, N>>(constants), [V::zero(); 2], seed)
        })
    } else {
        None
    }
}

/// What steps that read nothing make of the numbers 0 and 1, and of a seed.
#[inline(always)]
pub(super) fn alone<V: Float, C: Steps>(captured: &Captured<V>, numbers: [V; 2], seed: V) -> V {
    assert!(const { reads_nothing::<C>() }, "these steps read something");
    let mut memory = Memory::nowhere();
    [memory.numbers[0], memory.numbers[1]] = numbers;
    let seeds = Seeds { uniform: [seed; OUTPUTS], ..Seeds::NONE };
    let mut results = Results::new();
    // SAFETY: the steps read nothing from memory, and have a result.
    let found: V::Single = unsafe {
        execute::<Uniform<C>, V::Single, ALL>(&Place::inside(&memory, &seeds, captured, 0), &mut results);
        results.number(const { result::<C>(0).expect("there is a result") })
    };
    number(found)
}

const fn reads_nothing<C: Steps>() -> bool {
    let mut k = 0;
    while k < C::OPS.len() {
        if matches!(C::OPS[k].what, does::READ | does::NEW) {
            return false;
        }
        k += 1;
    }
    true
}

/// # Safety
///
/// As [`Kernel::gather`].
unsafe fn gather<V: Float, P: Program>(gather: &Gather<'_, V>, part: &Region) {
    // SAFETY: promised by the caller.
    unsafe { V::at_level(GatherAll::<V, P> { gather, part, program: PhantomData }) }
}

/// # Safety
///
/// As [`Kernel::numbers`].
unsafe fn numbers<V: Float, P: Program>(gather: &Gather<'_, V>) -> [V; OPERANDS] {
    let terms = Terms::<V, NumbersOfKernel<P>, OPERANDS> {
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

/// The values of a kernel.
pub(super) struct ValuesOf<P>(PhantomData<P>);
impl<P: Program> Steps for ValuesOf<P> {
    const OPS: &'static [Op] = P::SCRIPTS.list(List::Values);
    const RESULTS: &'static [u16] = &P::SCRIPTS.values;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = false;
}

/// The gather of a kernel.
pub(super) struct GatherOf<P>(PhantomData<P>);
impl<P: Program> GatherOf<P> {
    const SCRIPT: &'static Script = &gather_of(P::SCRIPTS);
}
impl<P: Program> Steps for GatherOf<P> {
    const OPS: &'static [Op] = Self::SCRIPT.ops.split_at(Self::SCRIPT.len).0;
    const RESULTS: &'static [u16] = &Self::SCRIPT.results;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
}

/// The partials of the numbers of a kernel that all points share.
pub(super) struct NumbersOfKernel<P>(PhantomData<P>);
impl<P: Program> NumbersOfKernel<P> {
    const SCRIPT: &'static Script = &numbers_of(P::SCRIPTS);
}
impl<P: Program> Steps for NumbersOfKernel<P> {
    const OPS: &'static [Op] = Self::SCRIPT.ops.split_at(Self::SCRIPT.len).0;
    const RESULTS: &'static [u16] = &Self::SCRIPT.results;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
}

/// The partial of leaf `N` of a kernel.
pub(super) struct PartialOf<P, const N: usize>(PhantomData<P>);
impl<P: Program, const N: usize> Steps for PartialOf<P, N> {
    const OPS: &'static [Op] = P::SCRIPTS.list(List::Partial(N));
    const RESULTS: &'static [u16] = &[P::SCRIPTS.partials[N]];
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
}

/// Steps with the same adjoints everywhere.
struct Uniform<C>(PhantomData<C>);
impl<C: Steps> Steps for Uniform<C> {
    const OPS: &'static [Op] = C::OPS;
    const RESULTS: &'static [u16] = C::RESULTS;
    const RULES: &'static [Option<&'static Rule>; RULES] = C::RULES;
    const CONSTANTS: usize = C::CONSTANTS;
    const ALL_DENSE: bool = false;
}
