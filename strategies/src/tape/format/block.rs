//! Statements over blocks of scenarios: the functions by which programs compute a type of statement.

use super::kind::misreported;
use crate::compound::{InRegisters, SideBySide};
use crate::contract::{Load, SEEDS, Sink, Statement, Twin};
use crate::number::simd::dispatch::{Registers, SimdFunction};
use crate::number::simd::planes::planes;
use crate::number::simd::vector::SimdVector;
use crate::policy::Strict;
use crate::rules::{Function, Operator};
use crate::shape::Shape;
use crate::storage::LINE;
use crate::{Expression, Nary, Number, Taping, Ternary};
use core::marker::PhantomData;

/// What an operand does with contributions to its adjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// Nothing: it has no derivative.
    Nothing,
    /// It stores them: nothing has been written to the adjoint yet.
    First,
    /// It adds them.
    Sum,
    /// It adds them to a total over all scenarios: for each part a line of sums, of every eighth scenario (`f64`) or
    /// every sixteenth (`f32`).
    Total,
}

/// An operand of a statement in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    /// The offset of its values, in bytes; if it is the same for all scenarios, among such numbers.
    pub(crate) value: usize,
    /// The offset of its adjoints, or of its total among totals.
    pub(crate) adjoint: usize,
    pub(crate) is_uniform: bool,
    pub(crate) receiver: Receiver,
}

/// A statement in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The index of its first leaf among all operands; the other leaves and the constants follow.
    pub(crate) operands: usize,
    /// The offset of the values of its result, and of their adjoints.
    pub(crate) value: usize,
    pub(crate) adjoint: usize,
    /// The offset of the results that it keeps for its derivatives.
    pub(crate) kept: usize,
}

/// The memory of a block of scenarios.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) operands: *const Operand,
    /// Numbers that are the same for all scenarios.
    pub(crate) uniform: *const u8,
    /// Lines of values, and of adjoints.
    pub(crate) values: *mut u8,
    pub(crate) adjoints: *mut u8,
    pub(crate) totals: *mut u8,
    /// Bytes of one part of a variable in all scenarios, a multiple of a line. The next part follows.
    pub(crate) bytes: usize,
    /// The second output from which adjoints are swept, if there are two.
    pub(crate) second: Option<Second>,
}

/// The offsets of the adjoints and totals of the second output from those of the first, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    pub(crate) adjoints: usize,
    pub(crate) totals: usize,
}

/// A statement, and the memory in which it is computed.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) task: *const Task,
    pub(crate) memory: *const Memory,
}

/// Computes the values of a statement in all scenarios of a block, or adds contributions to the adjoints of its leaves.
///
/// # Safety
///
/// Task and memory lie at the pointers. There are as many operands as the statement has leaves and constants. The
/// numbers, lines and totals of operands, result and kept results are in the memory, which nobody else uses meanwhile;
/// of each part of a variable there are `bytes` bytes of lines, and adjoints and totals also lie at the offsets of a
/// second output.
pub(crate) type BlockFn = unsafe fn(block: Block);

/// The functions that compute statements of one type over blocks.
#[derive(Clone, Copy)]
pub(crate) struct BlockFunctions {
    /// Number of results that statements keep for their derivatives, each as long as their values.
    pub(crate) kept: usize,
    /// True if the value of a statement is the last of these results.
    pub(crate) keeps_value: bool,
    /// Number of leaves and constants.
    pub(crate) operands: usize,
    /// Return the functions for the current instruction set, if it has registers of several numbers.
    pub(crate) forward: fn() -> Option<BlockFn>,
    pub(crate) reverse: fn() -> Option<BlockFn>,
}

impl BlockFunctions {
    /// The functions of statements whose twin is `B`; `None` if it has no tree over registers.
    pub(crate) const fn of<S: Taping<Value = V>, B: Twin<S>, V: InRegisters>() -> Option<Self> {
        if !<B::Over<Computed<V>> as Twin<Computed<V>>>::REPLAYS {
            return None;
        }
        Some(Self {
            kept: B::Over::<Computed<V>>::KEPT,
            keeps_value: B::Over::<Computed<V>>::KEPT > 0 && B::Over::<Computed<V>>::KEEPS_VALUE,
            operands: B::Shape::LEAVES + B::CONSTANTS,
            forward: <V::Part as Registers>::compiled::<Forward<S, B>>,
            reverse: <V::Part as Registers>::compiled::<Backward<S, B>>,
        })
    }
}

/// The strategy over which statements are computed in registers: it records nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computed<V>(PhantomData<V>);

impl<V: Number> Taping for Computed<V> {
    type Value = V;
    type Id = ();
    type Raw = ();
    type Variable = V;
    type Policy = Strict;

    fn passive() {}

    fn raw((): &()) {}

    fn record<N: Statement<Self>>(_: &N) {}

    fn record_nary<R: Nary<V>>(_: &[&[V]], _: &[V], _: V) {}
}

struct Forward<S, B>(PhantomData<(S, B)>);
struct Backward<S, B>(PhantomData<(S, B)>);

impl<S: Taping<Value = V>, B: Twin<S>, V: InRegisters> SimdFunction<V::Part> for Forward<S, B> {
    type Argument = Block;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V::Part>>(block: Block) {
        // SAFETY: promised by the caller.
        let (task, memory) = unsafe { (&*block.task, &*block.memory) };
        let mut at = 0;
        while at < memory.bytes {
            let mut source = Computing(Source::<V, L>::new::<S, B>(task, memory, at));
            let value = B::Over::<Computed<V::Over<L>>>::evaluate(&mut source);
            // SAFETY: the result has these lines.
            unsafe { value.store(memory.values.add(at + task.value).cast(), memory.bytes) }
            at += size_of::<L>();
        }
    }
}

impl<S: Taping<Value = V>, B: Twin<S>, V: InRegisters> SimdFunction<V::Part> for Backward<S, B> {
    type Argument = Block;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V::Part>>(block: Block) {
        // SAFETY: promised by the caller.
        let (task, memory) = unsafe { (&*block.task, &*block.memory) };
        // Compiled for each number of outputs: programs with one have no test for each leaf.
        match memory.second {
            // SAFETY: as above.
            None => unsafe { Self::sweep::<L, 1>(task, memory, Second { adjoints: 0, totals: 0 }) },
            // SAFETY: as above, and adjoints and totals also lie at these offsets.
            Some(second) => unsafe { Self::sweep::<L, 2>(task, memory, second) },
        }
    }
}

impl<S: Taping<Value = V>, B: Twin<S>, V: InRegisters> Backward<S, B> {
    /// Adds contributions to adjoints of one or two outputs.
    ///
    /// # Safety
    ///
    /// That of [`BlockFn`]; if `N` is 2, there are the adjoints and totals of a second output.
    #[inline(always)]
    unsafe fn sweep<L: SimdVector<Number = V::Part>, const N: usize>(task: &Task, memory: &Memory, second: Second) {
        let mut at = 0;
        while at < memory.bytes {
            let mut source = Rebuilding(Source::<V, L>::new::<S, B>(task, memory, at));
            let mut seeds = [V::Over::<L>::ZERO; SEEDS];
            // SAFETY: the result has these lines, for the second output, too.
            unsafe {
                let adjoints = memory.adjoints.add(at + task.adjoint);
                seeds[0] = V::Over::load(adjoints.cast(), memory.bytes);
                if N == 2 {
                    seeds[1] = V::Over::load(adjoints.add(second.adjoints).cast(), memory.bytes);
                }
            }
            let mut to = Contributions::<V, L, N> {
                operands: source.0.leaves,
                left: B::Shape::LEAVES,
                adjoints: memory.adjoints.wrapping_add(at),
                totals: memory.totals,
                at,
                seeds,
                bytes: memory.bytes,
                second,
            };
            B::Over::<Computed<V::Over<L>>>::load(&mut source).backward(V::Over::one(), &mut to);
            if to.left != 0 {
                misreported();
            }
            at += size_of::<L>();
        }
    }
}

/// Loads the operands of a statement for the scenarios of one register.
///
/// Trees may be written by users and may ask for more operands than there are, so every read is checked; inlined, the
/// counts are known to the compiler.
struct Source<V, L> {
    leaves: *const Operand,
    leaves_left: usize,
    constants: *const Operand,
    constants_left: usize,
    /// The place of the next result that is kept.
    kept: *mut u8,
    kept_left: usize,
    /// Bytes from one part to the next.
    bytes: usize,
    /// Values of the scenarios of the register.
    values: *const u8,
    uniform: *const u8,
    register: PhantomData<(V, L)>,
}

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Source<V, L> {
    #[inline(always)]
    fn new<S: Taping, B: Twin<S>>(task: &Task, memory: &Memory, at: usize) -> Self {
        let leaves = memory.operands.wrapping_add(task.operands);
        Self {
            leaves,
            leaves_left: B::Shape::LEAVES,
            constants: leaves.wrapping_add(B::Shape::LEAVES),
            constants_left: B::CONSTANTS,
            kept: memory.values.wrapping_add(at + task.kept),
            kept_left: B::Over::<Computed<V>>::KEPT,
            bytes: memory.bytes,
            values: memory.values.wrapping_add(at),
            uniform: memory.uniform,
            register: PhantomData,
        }
    }

    /// Returns the next leaf.
    #[inline(always)]
    fn leaf(&mut self) -> (V::Over<L>, ()) {
        if self.leaves_left == 0 {
            misreported();
        }
        self.leaves_left -= 1;
        let operand = self.leaves;
        self.leaves = operand.wrapping_add(1);
        // SAFETY: there was one left; the memory has the operand's numbers.
        let value = unsafe {
            if (*operand).is_uniform {
                (*self.uniform.add((*operand).value).cast::<V>()).splat()
            } else {
                V::Over::load(self.values.add((*operand).value).cast(), self.bytes)
            }
        };
        (value, ())
    }

    /// Returns the next constant.
    #[inline(always)]
    fn constant(&mut self) -> V::Over<L> {
        if self.constants_left == 0 {
            misreported();
        }
        self.constants_left -= 1;
        let operand = self.constants;
        self.constants = operand.wrapping_add(1);
        // SAFETY: there was one left, and constants are the same for all scenarios.
        unsafe { (*self.uniform.add((*operand).value).cast::<V>()).splat() }
    }

    /// Returns the place of the next result that the statement keeps; `None` if it keeps no more.
    #[inline(always)]
    fn place(&mut self) -> Option<*mut V::Part> {
        if self.kept_left == 0 {
            return None;
        }
        self.kept_left -= 1;
        let place = self.kept;
        self.kept = place.wrapping_add(self.bytes * planes::<V>());
        Some(place.cast())
    }
}

/// Computes a statement, and stores the results that it keeps.
struct Computing<V, L>(Source<V, L>);

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Computing<V, L> {
    /// Stores a result that the statement keeps.
    #[inline(always)]
    fn keep(&mut self, result: V::Over<L>) {
        if let Some(place) = self.0.place() {
            // SAFETY: the memory has lines for the result.
            unsafe { result.store(place, self.0.bytes) }
        }
    }
}

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Load<Computed<V::Over<L>>> for Computing<V, L> {
    #[inline(always)]
    fn leaf(&mut self) -> (V::Over<L>, ()) {
        self.0.leaf()
    }

    #[inline(always)]
    fn constant(&mut self) -> V::Over<L> {
        self.0.constant()
    }

    #[inline(always)]
    fn function<O: Function>(&mut self, x: V::Over<L>) -> (V::Over<L>, V::Over<L>) {
        let (value, companion) = O::value_and_companion(x);
        if O::KEPT > 0 {
            self.keep(value);
        }
        if O::KEPT > 1 {
            self.keep(companion);
        }
        (value, companion)
    }

    #[inline(always)]
    fn operator<O: Operator>(&mut self, x: V::Over<L>, y: V::Over<L>) -> V::Over<L> {
        let value = O::value(x, y);
        if O::KEPT > 0 {
            self.keep(value);
        }
        value
    }

    #[inline(always)]
    fn ternary<R: Ternary>(&mut self, [x, y, z]: [V::Over<L>; 3]) -> V::Over<L> {
        let value = x.ternary::<R>(y, z);
        self.keep(value);
        value
    }
}

/// Rebuilds a statement, and loads the results that it has kept.
struct Rebuilding<V, L>(Source<V, L>);

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Rebuilding<V, L> {
    /// Loads a result that the statement has kept.
    #[inline(always)]
    fn kept(&mut self) -> V::Over<L> {
        match self.0.place() {
            // SAFETY: the memory has lines for the result.
            Some(place) => unsafe { V::Over::load(place, self.0.bytes) },
            None => misreported(),
        }
    }
}

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Load<Computed<V::Over<L>>> for Rebuilding<V, L> {
    #[inline(always)]
    fn leaf(&mut self) -> (V::Over<L>, ()) {
        self.0.leaf()
    }

    #[inline(always)]
    fn constant(&mut self) -> V::Over<L> {
        self.0.constant()
    }

    #[inline(always)]
    fn function<O: Function>(&mut self, x: V::Over<L>) -> (V::Over<L>, V::Over<L>) {
        if const { O::KEPT == 0 } {
            return O::value_and_companion(x);
        }
        (self.kept(), if const { O::KEPT > 1 } { self.kept() } else { V::Over::ZERO })
    }

    #[inline(always)]
    fn operator<O: Operator>(&mut self, x: V::Over<L>, y: V::Over<L>) -> V::Over<L> {
        if const { O::KEPT == 0 } { O::value(x, y) } else { self.kept() }
    }

    #[inline(always)]
    fn ternary<R: Ternary>(&mut self, _: [V::Over<L>; 3]) -> V::Over<L> {
        self.kept()
    }
}

/// Adds the contributions of a statement to the adjoints of its leaves, for the scenarios of one register and `N`
/// outputs.
struct Contributions<V: InRegisters, L: SimdVector<Number = V::Part>, const N: usize> {
    operands: *const Operand,
    left: usize,
    /// Adjoints of the scenarios of the register.
    adjoints: *mut u8,
    totals: *mut u8,
    at: usize,
    /// Adjoints of the result; if there is one output, those of the second mean nothing.
    seeds: [V::Over<L>; SEEDS],
    /// Bytes from one part to the next.
    bytes: usize,
    second: Second,
}

impl<V: InRegisters, L: SimdVector<Number = V::Part>, const N: usize> Contributions<V, L, N> {
    /// Adds a contribution to adjoints, or stores the first one.
    ///
    /// # Safety
    ///
    /// There are lines for it.
    #[inline(always)]
    unsafe fn add(contribution: V::Over<L>, is_first: bool, to: *mut V::Part, stride: usize) {
        // SAFETY: promised by the caller.
        unsafe {
            let sum = if is_first { contribution } else { V::Over::load(to, stride) + contribution };
            sum.store(to, stride);
        }
    }
}

impl<V: InRegisters, L: SimdVector<Number = V::Part>, const N: usize> Sink<Computed<V::Over<L>>>
    for Contributions<V, L, N>
{
    #[inline(always)]
    fn factor(&mut self, _: V::Over<L>) {}

    #[inline(always)]
    fn seeds(&self) -> Option<[V::Over<L>; SEEDS]> {
        Some(self.seeds)
    }

    #[inline(always)]
    fn set_seeds(&mut self, seeds: [V::Over<L>; SEEDS]) {
        self.seeds = seeds;
    }

    #[inline(always)]
    fn leaf(&mut self, partial: V::Over<L>, (): ()) {
        if self.left == 0 {
            misreported();
        }
        self.left -= 1;
        // SAFETY: there was one left.
        let operand = unsafe { &*self.operands };
        self.operands = self.operands.wrapping_add(1);
        if operand.receiver == Receiver::Nothing {
            return;
        }
        let (is_first, is_total) = (operand.receiver == Receiver::First, operand.receiver == Receiver::Total);
        let (to, stride) = if is_total {
            (self.totals.wrapping_add(operand.adjoint + self.at % LINE), LINE)
        } else {
            (self.adjoints.wrapping_add(operand.adjoint), self.bytes)
        };
        // SAFETY: the memory has the operand's lines, or its total.
        unsafe { Self::add(self.seeds[0].contribution(partial), is_first, to.cast(), stride) }
        if N == 2 {
            let to = to.wrapping_add(if is_total { self.second.totals } else { self.second.adjoints });
            // SAFETY: the memory has those of the second output, too.
            unsafe { Self::add(self.seeds[1].contribution(partial), is_first, to.cast(), stride) }
        }
    }
}
