//! The trait of kernels: what is done with the results of a body, and what is known of a kernel before it runs.

use super::access::{AccessSummary, LEAVES, OPERANDS, OUTPUTS};
use super::body::Body;
use super::expression::Node;
use super::grid::Grid;
use super::instruction::{CONSTANTS, Op, RULES};
use super::listing::{Listing, StaticListing};
use super::program::{List, Programs, gather, numbers};
use crate::number::simd::Sealed;
use crate::number::simd::rule::Rule;
use core::marker::PhantomData;

const _: () = assert!(OUTPUTS == 4 && OPERANDS == 8 && LEAVES == 32, "`each!` has as many numbers");

/// Which operands are written, in the order of the expressions.
pub trait Written: Copy + Send + Sync + 'static {
    /// The operands.
    const OPERANDS: &'static [usize];
}

/// A kernel: some expressions, and where they go. Sealed as [`Node`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a kernel returns",
    note = "a kernel returns a tuple with one expression for each operand that is written (`&mut`), in their order; a \
            single one needs a comma too: `(expression,)`"
)]
pub trait Kernel: Copy + Send + Sync + Sealed + 'static {
    /// Whether the expressions are written to operands, not added up.
    const WRITES: bool;
    /// What a recording that can be replayed computes anew.
    #[doc(hidden)]
    const AGAIN: ReplayKind;
    /// All expressions.
    #[doc(hidden)]
    const FOREST: Body;
    /// Everything that is done with it.
    #[doc(hidden)]
    const SCRIPTS: &'static Programs = &Programs::of(&Self::FOREST);
    /// What is to be known of it.
    const PLAN: &'static KernelInfo = &KernelInfo::of(&Self::FOREST, Self::SCRIPTS, Self::WRITES);
    /// Hands over the captured numbers.
    fn constants(&self, put: &mut impl FnMut(f64));
}

/// What a replay computes of a kernel.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayKind {
    /// All values.
    Values,
    /// Their sum.
    Sum,
    /// The largest or smallest one.
    Extremum,
    /// Nothing: no launch has this kernel.
    Nothing,
}

/// What launches ask about a kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelInfo {
    /// Everything that is done with it.
    pub(crate) scripts: &'static Programs,
    /// The number of expressions.
    pub expressions: usize,
    /// Whether they are written to operands, not added up.
    pub writes: bool,
    /// The operands that they are written to.
    pub written: &'static [usize],
    /// Whether there is one expression for each operand that is written, and none uses the [`New`](crate::kernel::New)
    /// value of an output that does not stand before it. Otherwise the kernel cannot run.
    pub in_order: bool,
    /// The number of captured numbers.
    pub constants: usize,
    /// Whether there are functions that are computed number by number. They need not be defined where nothing is read.
    pub(crate) calls_rules: bool,
    /// What is to be known of the leaves with a partial.
    pub partials: AccessSummary,
    /// What is to be known of the leaves whose values the partials need.
    pub kept: AccessSummary,
    /// What is to be known of all leaves.
    pub leaves: AccessSummary,
}

impl KernelInfo {
    const fn of(forest: &Body, scripts: &'static Programs, writes: bool) -> Self {
        // Here, so that the compiler says it once, and for which launch.
        assert!(
            forest.tree.constants as usize <= CONSTANTS,
            "a kernel has at most 64 literals and captured numbers, each counted as often as it occurs: make two \
             kernels of it"
        );
        Self {
            scripts,
            expressions: forest.count,
            writes,
            written: forest.written,
            in_order: !writes || forest.in_order(),
            constants: forest.tree.constants as usize,
            calls_rules: forest.tree.rule_count > 0,
            partials: AccessSummary::of(&scripts.used),
            kept: AccessSummary::of(&scripts.needs),
            leaves: AccessSummary::of(&scripts.reads),
        }
    }

    /// The operand that expression `k` is written to; any, if there is no such expression.
    pub(crate) const fn output(&self, k: usize) -> usize {
        if k < self.written.len() { self.written[k] } else { 0 }
    }

    /// A bit for each operand that a launch over this grid writes everywhere, and does not read.
    #[must_use]
    pub fn replaced(&self, grid: &Grid) -> u8 {
        let written = self.written.iter().filter(|_| grid.is_all()).fold(0, |all, k| all | 1 << k);
        written & !self.leaves.views
    }

    /// Whether nothing has a partial.
    #[must_use]
    pub const fn is_constant(&self) -> bool {
        self.scripts.used.is_empty()
    }

    /// Whether the partials are numbers that all points share, one for each leaf.
    pub(crate) const fn is_linear(&self) -> bool {
        self.expressions == 1 && self.scripts.needs.is_empty()
    }

    /// Whether all partials are for elements at the point itself, so that a view's adjoints can be replaced in place.
    pub(crate) const fn is_local(&self) -> bool {
        self.partials.beside == 0 && !self.partials.borders
    }

    /// Whether a group of lanes may contain places where nothing is to be computed, and what it reads may lie beside
    /// the views: it is 0 there or does not matter, and no rule is called with it.
    pub(crate) const fn can_be_masked(&self) -> bool {
        !self.leaves.repeats && !self.calls_rules
    }

    /// Whether seeds are always arrays: a branch for each of many reads would cost more than filling one.
    pub(crate) const fn all_dense(&self) -> bool {
        self.writes && self.scripts.used.len() > 6
    }
}

/// Expressions that are written to operands.
pub struct Assign<W, T>(T, PhantomData<W>);
impl<W, T: Copy> Clone for Assign<W, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W, T: Copy> Copy for Assign<W, T> {}
impl<W, T> Assign<W, T> {
    /// These expressions.
    #[inline(always)]
    pub const fn new(expressions: T) -> Self {
        Self(expressions, PhantomData)
    }
}
impl<W, T> Sealed for Assign<W, T> {}

/// Implements [`Kernel`] for tuples of expressions.
macro_rules! programs {
    ($($($name:ident $k:tt)*;)*) => { $(
        impl<W: Written, $($name: Node),*> Kernel for Assign<W, ($($name,)*)> {
            const WRITES: bool = true;
            const AGAIN: ReplayKind = ReplayKind::Values;
            const FOREST: Body = Body::new(W::OPERANDS)$(.with(&$name::CODE))*;
            #[inline(always)]
            fn constants(&self, put: &mut impl FnMut(f64)) {
                $( self.0.$k.constants(put); )*
            }
        }
    )* };
}
programs! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
}

/// Defines programs of one expression that is not written, from what a replay computes of it.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $again:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<A>(pub A);
        impl<A> Sealed for $name<A> {}
        impl<A: Node> Kernel for $name<A> {
            const WRITES: bool = false;
            const AGAIN: ReplayKind = ReplayKind::$again;
            const FOREST: Body = Body::new(&[]).with(&A::CODE);
            #[inline(always)]
            fn constants(&self, put: &mut impl FnMut(f64)) {
                self.0.constants(put);
            }
        }
    )* };
}
reductions! {
    /// One expression that is added up.
    Reduce: Sum;
    /// One expression whose largest or smallest value is looked for.
    Extreme: Extremum;
    /// One expression that combines two numbers.
    Combination: Nothing;
}

/// The values of a kernel.
pub(crate) struct ValuesOf<P>(PhantomData<P>);
impl<P: Kernel> StaticListing for ValuesOf<P> {
    const OPS: &'static [Op] = P::SCRIPTS.list(List::Values);
    const RESULTS: &'static [u16] = &P::SCRIPTS.values;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = false;
}

/// The gather of a kernel.
pub(crate) struct GatherOf<P>(PhantomData<P>);
impl<P: Kernel> GatherOf<P> {
    const SCRIPT: &'static Listing = &gather(P::SCRIPTS);
}
impl<P: Kernel> StaticListing for GatherOf<P> {
    const OPS: &'static [Op] = Self::SCRIPT.ops.split_at(Self::SCRIPT.len).0;
    const RESULTS: &'static [u16] = &Self::SCRIPT.results;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
}

/// The partials of the numbers of a kernel that all points share.
pub(crate) struct NumbersOfKernel<P>(PhantomData<P>);
impl<P: Kernel> NumbersOfKernel<P> {
    const SCRIPT: &'static Listing = &numbers(P::SCRIPTS);
}
impl<P: Kernel> StaticListing for NumbersOfKernel<P> {
    const OPS: &'static [Op] = Self::SCRIPT.ops.split_at(Self::SCRIPT.len).0;
    const RESULTS: &'static [u16] = &Self::SCRIPT.results;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
}

/// The partial of leaf `N` of a kernel.
pub(crate) struct PartialOf<P, const N: usize>(PhantomData<P>);
impl<P: Kernel, const N: usize> StaticListing for PartialOf<P, N> {
    const OPS: &'static [Op] = P::SCRIPTS.list(List::Partial(N));
    const RESULTS: &'static [u16] = &[P::SCRIPTS.partials[N]];
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
}
