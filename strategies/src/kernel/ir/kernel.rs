//! The trait of kernels: how the results of a body are used, and the facts about a kernel known before a launch.

use super::access::{AccessSummary, LEAVES, Needs, OPERANDS, OUTPUTS, OperandBits};
use super::body::Body;
use super::expression::Node;
use super::grid::{Grid, IndexRange};
use super::instruction::{CONSTANTS, Op, RULES};
use super::listing::{Listing, StaticListing};
use super::program::{List, Programs, along, gather, numbers};
use crate::number::simd::Sealed;
use crate::number::simd::rule::Rule;
use core::marker::PhantomData;

const _: () = assert!(OUTPUTS == 6 && OPERANDS == 12 && LEAVES == 32, "`each!` has as many numbers");

/// List of written operands as a type, in the order of the expressions.
pub trait Written: Copy + Send + Sync + 'static {
    /// Indices of the operands.
    const OPERANDS: &'static [usize];
}

/// A kernel: one or more expressions and the use of their results. Sealed like [`Node`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a kernel returns",
    note = "a kernel returns a tuple with one expression for each operand that is written (`&mut`), in their order; a \
            single one needs a comma too: `(expression,)`"
)]
pub trait Kernel: Copy + Send + Sync + Sealed + 'static {
    /// True if the expressions are written to operands, false if they are reduced to one value.
    const WRITES: bool;
    /// The computation that a replay repeats.
    #[doc(hidden)]
    const LOOP: LoopKind;
    /// Instructions of all expressions.
    #[doc(hidden)]
    const FOREST: Body;
    /// Instruction lists of values, tangents and partial derivatives.
    #[doc(hidden)]
    const SCRIPTS: &'static Programs = &Programs::of(&Self::FOREST);
    /// Facts about the kernel that launches use.
    const PLAN: &'static KernelInfo = &KernelInfo::of(&Self::FOREST, Self::SCRIPTS, Self::WRITES);
    /// Passes the captured constants to `put`, in the order of the instructions that use them.
    fn constants(&self, put: &mut impl FnMut(f64));
}

/// Computation that a replay of a launch repeats.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// All values, written to the outputs again.
    Values,
    /// Sum of each expression.
    Sum,
    /// The largest or smallest value.
    Extremum,
    /// Nothing: no launch has a kernel of this kind.
    Nothing,
}

/// Facts about a kernel that launches need.
#[derive(Clone, Copy, Debug)]
pub struct KernelInfo {
    /// Instruction lists of values, tangents and partial derivatives.
    pub(crate) scripts: &'static Programs,
    /// Number of expressions.
    pub expressions: usize,
    /// True if the expressions are written to operands, false if they are reduced to one value.
    pub writes: bool,
    /// Operands that the expressions are written to, in order.
    pub written: &'static [usize],
    /// True if there is one expression for each written operand, and each [`New`](crate::kernel::ir::New) value is read
    /// only by later expressions than the one that writes it. A kernel for which this is false cannot run.
    pub in_order: bool,
    /// Number of captured constants.
    pub constants: usize,
    /// True if the kernel calls scalar rules. A rule must not be called for elements that are masked out, where it need
    /// not be defined.
    pub(crate) calls_rules: bool,
    /// Summary of the accesses with a partial derivative.
    pub partials: AccessSummary,
    /// Summary of the accesses whose values the partial derivatives need.
    pub kept: AccessSummary,
    /// Summary of the accesses whose values the gather reads.
    pub(crate) gathered: AccessSummary,
    /// Summary of all accesses.
    pub leaves: AccessSummary,
    /// Values that the partial derivatives for each operand need.
    needs: [Needs; OPERANDS],
}

impl KernelInfo {
    /// Operands that are uniform scalars with a partial derivative, in order.
    pub(crate) fn scalars(&self) -> impl Iterator<Item = usize> + use<> {
        let numbers = self.partials.numbers;
        (0..OPERANDS).filter(move |k| AccessSummary::has(numbers, *k))
    }

    const fn of(forest: &Body, scripts: &'static Programs, writes: bool) -> Self {
        // Checked here, so that the compiler reports the kernel once and names the launch.
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
            gathered: AccessSummary::of(&scripts.gathered),
            leaves: AccessSummary::of(&scripts.reads),
            needs: scripts.needs_by_operand(),
        }
    }

    /// Values that the partial derivatives for all operands need.
    pub(crate) const fn all_needs(&self) -> Needs {
        Needs { views: self.kept.views | self.kept.along, new: self.kept.new }
    }

    /// Returns the values that the partial derivatives for these operands need.
    #[must_use]
    pub const fn needs_of(&self, operands: OperandBits) -> Needs {
        let (mut needs, mut k) = (Needs::NONE, 0);
        while k < OPERANDS {
            if AccessSummary::has(operands, k) {
                needs.views |= self.needs[k].views;
                needs.new |= self.needs[k].new;
            }
            k += 1;
        }
        needs
    }

    /// Returns the values that a recording keeps for the derivatives of a launch with these active operands.
    ///
    /// All operands of one kind are differentiated by one list. Values that the list reads for passive operands only
    /// may be any: what it computes of them is discarded. But a rule must not be called with just any values, so a
    /// kernel with rules keeps what its lists read.
    #[must_use]
    #[inline]
    pub const fn needs_kept(&self, active: OperandBits) -> Needs {
        let (all, needs) = (self.partials.views | self.partials.along | self.partials.numbers, self.all_needs());
        if needs.views | needs.new == 0 || all & !active == 0 {
            return needs;
        }
        let mut operands = active;
        if self.calls_rules && active & self.partials.views != 0 {
            operands |= self.partials.views;
        }
        if self.calls_rules && active & self.partials.numbers != 0 {
            operands |= self.partials.numbers;
        }
        self.needs_of(operands)
    }

    /// Number of elements of operand `k` of a launch over this grid.
    pub(crate) fn elements(&self, k: usize, grid: &Grid) -> usize {
        if !AccessSummary::has(self.leaves.along, k) {
            return grid.elements();
        }
        let dimensions = self.leaves.dimensions[k];
        (0..4).filter(|d| dimensions >> d & 1 == 1).map(|d| grid.shape()[d].unsigned_abs()).product()
    }

    /// Returns the operand that expression `k` is written to; 0 if there is no such expression.
    pub(crate) const fn output(&self, k: usize) -> usize {
        if k < self.written.len() { self.written[k] } else { 0 }
    }

    /// Returns a bit for each operand that a launch over this grid overwrites completely without reading it.
    #[must_use]
    pub fn replaced(&self, grid: &Grid) -> OperandBits {
        let written = self.written.iter().filter(|_| grid.is_all()).fold(0, |all, k| all | 1 << k);
        written & !self.leaves.views
    }

    /// Returns the elements whose adjoints receive contributions.
    pub(crate) fn reached(&self, grid: &Grid) -> IndexRange {
        let mut region = grid.range;
        if self.partials.beside == 0 {
            return region;
        }
        let shape = grid.shape();
        for d in 0..4 {
            let (least, most) = self.partials.shifts[d];
            // Reads with a repeating boundary rule can reach the opposite side.
            let all = self.partials.repeats && (least, most) != (0, 0);
            region.lo[d] = if all { 0 } else { (region.lo[d] + least).max(0) };
            region.hi[d] = if all { shape[d] } else { (region.hi[d] + most).min(shape[d]) };
        }
        region
    }

    /// Returns true if contributions can reach every element of the views; false for a range without points.
    pub(crate) fn reaches_all(&self, grid: &Grid) -> bool {
        let region = self.reached(grid);
        !grid.range.is_empty() && (0..4).all(|d| region.lo[d] == 0 && region.hi[d] == grid.shape()[d])
    }

    /// Returns true if no access has a partial derivative.
    #[must_use]
    pub const fn is_constant(&self) -> bool {
        self.scripts.used.is_empty()
    }

    /// Returns true if the partial derivatives for elements do not depend on the point, but on constants and uniform
    /// scalars only: one value for each access.
    pub(crate) const fn is_linear(&self) -> bool {
        let needs = self.needs_of(self.partials.views);
        self.expressions == 1 && needs.views | needs.new == 0 && !self.scripts.needs_coordinates
    }

    /// Returns true if all partial derivatives belong to elements at the point itself, so that a view's adjoints can be
    /// replaced in place.
    pub(crate) const fn is_local(&self) -> bool {
        self.partials.beside == 0 && !self.partials.borders
    }

    /// Returns true if all partial derivatives belong to elements of the row of the point.
    pub(crate) fn is_within_rows(&self) -> bool {
        self.partials.shifts[..3].iter().all(|shifts| *shifts == (0, 0))
    }

    /// Returns true if SIMD groups may be masked. Inactive elements may then be read outside the views: no access
    /// repeats elements by a boundary rule, and no scalar rule would be called with such a value.
    pub(crate) const fn can_be_masked(&self) -> bool {
        !self.leaves.repeats && !self.calls_rules
    }

    /// Returns true if SIMD groups may read around the ends of the views, at points or for elements whose reads leave
    /// them: all boundary rules are periodic.
    pub(crate) const fn can_be_wrapped(&self) -> bool {
        self.leaves.wraps
    }

    /// Returns true if the adjoints of all outputs are materialized as arrays. With many reads a branch at each read
    /// costs more than filling an array once.
    pub(crate) const fn all_dense(&self) -> bool {
        self.writes && self.scripts.used.len() > 6
    }
}

/// Kernel whose expressions are written to operands.
pub struct Assign<W, T>(T, PhantomData<W>);
impl<W, T: Copy> Clone for Assign<W, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W, T: Copy> Copy for Assign<W, T> {}
impl<W, T> Assign<W, T> {
    /// Builds the kernel from a tuple of expressions.
    #[inline(always)]
    pub const fn new(expressions: T) -> Self {
        Self(expressions, PhantomData)
    }
}
impl<W, T> Sealed for Assign<W, T> {}

/// Kernel that sums each expression of a tuple over all points.
#[derive(Clone, Copy, Debug)]
pub struct Reduce<T>(pub T);
impl<T> Sealed for Reduce<T> {}

/// Implements [`Kernel`] for tuples of expressions, which are written or summed.
macro_rules! programs {
    ($($($name:ident $k:tt)*;)*) => { $(
        impl<W: Written, $($name: Node),*> Kernel for Assign<W, ($($name,)*)> {
            const WRITES: bool = true;
            const LOOP: LoopKind = LoopKind::Values;
            const FOREST: Body = Body::new(W::OPERANDS)$(.with(&$name::CODE))*;
            #[inline(always)]
            fn constants(&self, put: &mut impl FnMut(f64)) {
                $( self.0.$k.constants(put); )*
            }
        }
        impl<$($name: Node),*> Kernel for Reduce<($($name,)*)> {
            const WRITES: bool = false;
            const LOOP: LoopKind = LoopKind::Sum;
            const FOREST: Body = Body::new(&[])$(.with(&$name::CODE))*;
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
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
}

/// Defines kernels of one expression that is reduced instead of written; each row names what a replay computes.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $kind:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<A>(pub A);
        impl<A> Sealed for $name<A> {}
        impl<A: Node> Kernel for $name<A> {
            const WRITES: bool = false;
            const LOOP: LoopKind = LoopKind::$kind;
            const FOREST: Body = Body::new(&[]).with(&A::CODE);
            #[inline(always)]
            fn constants(&self, put: &mut impl FnMut(f64)) {
                self.0.constants(put);
            }
        }
    )* };
}
reductions! {
    /// Kernel that searches for the largest or smallest value of one expression.
    Extreme: Extremum;
    /// Kernel that combines two values into one, for folds and scans.
    Combination: Nothing;
}

/// Instruction list of a kernel's values, as a type.
pub(crate) struct ValuesOf<P>(PhantomData<P>);
impl<P: Kernel> StaticListing for ValuesOf<P> {
    const OPS: &'static [Op] = P::SCRIPTS.list(List::Values);
    const RESULTS: &'static [u16] = &P::SCRIPTS.values;
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = false;
    const WRAPS: bool = P::PLAN.can_be_wrapped();
}

/// Instruction list of a kernel's adjoint gather, as a type.
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
    const WRAPS: bool = P::PLAN.can_be_wrapped();
}

/// Instruction list of the partial derivatives for a kernel's uniform scalars, as a type.
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
    const WRAPS: bool = P::PLAN.can_be_wrapped();
}

/// Instruction list of the partial derivative for operand `K` of lower rank, as a type. Result 0 is the derivative.
pub(crate) struct AlongOf<P, const K: usize>(PhantomData<P>);
impl<P: Kernel, const K: usize> AlongOf<P, K> {
    const SCRIPT: &'static Listing = &along(P::SCRIPTS, K);
}
impl<P: Kernel, const K: usize> StaticListing for AlongOf<P, K> {
    const OPS: &'static [Op] = Self::SCRIPT.ops.split_at(Self::SCRIPT.len).0;
    const RESULTS: &'static [u16] = &[Self::SCRIPT.results[K]];
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
    const WRAPS: bool = P::PLAN.can_be_wrapped();
}

/// Instruction list of the partial derivative for access `N` of a kernel, as a type.
pub(crate) struct PartialOf<P, const N: usize>(PhantomData<P>);
impl<P: Kernel, const N: usize> StaticListing for PartialOf<P, N> {
    const OPS: &'static [Op] = P::SCRIPTS.list(List::Partial(N));
    const RESULTS: &'static [u16] = &[P::SCRIPTS.partials[N]];
    const RULES: &'static [Option<&'static Rule>; RULES] = &P::SCRIPTS.rules;
    const CONSTANTS: usize = P::PLAN.constants;
    const ALL_DENSE: bool = P::PLAN.all_dense();
    const WRAPS: bool = P::PLAN.can_be_wrapped();
}
