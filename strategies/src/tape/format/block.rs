//! Statements over blocks of scenarios: the functions by which programs compute a type of statement.
//!
//! In reverse a statement is passed in two steps. Its type stores its partial derivatives, a line for each leaf, in
//! memory that all statements use in turn ([`Differentiate`]). Then [`Contribute`], one function for all types, adds
//! seed × partial to the adjoint of each operand.

use super::kind::misreported;
use crate::compound::{InRegisters, SideBySide};
use crate::contract::{Load, Sink, Statement, Twin};
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
#[repr(usize)]
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

/// An operand of a statement in a program: two words, since programs read them as often as values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    value: usize,
    adjoint: usize,
}

impl Operand {
    /// Offsets have zeros in these bits, since they are multiples of the size of a number.
    const UNIFORM: usize = 1;
    const RECEIVER: usize = 3;

    /// An operand that differs between scenarios. `value` is the offset of its values, in bytes.
    pub(crate) const fn varying(value: usize) -> Self {
        Self { value, adjoint: Receiver::Nothing as usize }
    }

    /// An operand that is the same for all scenarios. `value` is its offset among such numbers.
    pub(crate) const fn uniform(value: usize) -> Self {
        Self { value: value | Self::UNIFORM, ..Self::varying(0) }
    }

    /// This operand with an adjoint: the offset of its adjoints, or of its total among totals.
    pub(crate) const fn with_adjoint(self, adjoint: usize, receiver: Receiver) -> Self {
        Self { adjoint: adjoint | receiver as usize, ..self }
    }

    #[inline(always)]
    pub(crate) const fn is_uniform(self) -> bool {
        self.value & Self::UNIFORM != 0
    }

    #[inline(always)]
    pub(crate) const fn value(self) -> usize {
        self.value & !Self::UNIFORM
    }

    #[inline(always)]
    pub(crate) const fn adjoint(self) -> usize {
        self.adjoint & !Self::RECEIVER
    }

    #[inline(always)]
    pub(crate) const fn receiver(self) -> Receiver {
        match self.adjoint & Self::RECEIVER {
            0 => Receiver::Nothing,
            1 => Receiver::First,
            2 => Receiver::Sum,
            _ => Receiver::Total,
        }
    }
}

/// A statement in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The index of its first leaf among all operands; the other leaves and the constants follow.
    pub(crate) operands: usize,
    /// Number of its leaves and constants.
    pub(crate) count: usize,
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
    /// Lines for the partial derivatives of one statement.
    pub(crate) partials: *mut u8,
    /// Bytes of one part of a variable in all scenarios, a multiple of a line. The next part follows.
    pub(crate) bytes: usize,
    /// Bytes of one part in the scenarios that are computed, from the first one on, a multiple of a line.
    pub(crate) used: usize,
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

/// Computes the values of a statement in the scenarios of a block that are in use, or its partial derivatives, or adds
/// contributions to the adjoints of its leaves, given these.
///
/// # Safety
///
/// Task and memory lie at the pointers. There are as many operands as the statement has leaves and constants. The
/// numbers, lines and totals of operands, result and kept results are in the memory, which nobody else uses meanwhile;
/// of each part of a variable there are `bytes` bytes of lines, and of each partial derivative by an operand; `used` is
/// not more. Adjoints and totals also lie at the offsets of a second output. The adjoints of the result are not those
/// of an operand.
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
    pub(crate) partials: fn() -> Option<BlockFn>,
}

/// Returns the function that adds contributions to adjoints, for the current instruction set, if it has registers of
/// several numbers.
pub(crate) fn contributing<V: InRegisters>() -> Option<BlockFn> {
    <V::Part as Registers>::compiled::<Contribute<V>>()
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
            partials: <V::Part as Registers>::compiled::<Differentiate<S, B>>,
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
struct Differentiate<S, B>(PhantomData<(S, B)>);

impl<S: Taping<Value = V>, B: Twin<S>, V: InRegisters> SimdFunction<V::Part> for Forward<S, B> {
    type Argument = Block;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V::Part>>(block: Block) {
        // SAFETY: promised by the caller.
        let (task, memory) = unsafe { (*block.task, *block.memory) };
        let mut at = 0;
        while at < memory.used {
            let mut source = Computing(Source::<V, L>::new::<S, B>(&task, &memory, at));
            let value = B::Over::<Computed<V::Over<L>>>::evaluate(&mut source);
            // SAFETY: the result has these lines.
            unsafe { value.store(memory.values.add(at + task.value).cast(), memory.bytes) }
            at += size_of::<L>();
        }
    }
}

impl<S: Taping<Value = V>, B: Twin<S>, V: InRegisters> SimdFunction<V::Part> for Differentiate<S, B> {
    type Argument = Block;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V::Part>>(block: Block) {
        // SAFETY: promised by the caller.
        let (task, memory) = unsafe { (*block.task, *block.memory) };
        let mut at = 0;
        while at < memory.used {
            let mut source = Rebuilding(Source::<V, L>::new::<S, B>(&task, &memory, at));
            let to = memory.partials.wrapping_add(at);
            let mut to = Partials::<V, L> { to, left: B::Shape::LEAVES, bytes: memory.bytes, lanes: None };
            B::Over::<Computed<V::Over<L>>>::load(&mut source).backward(V::Over::one(), &mut to);
            if to.left != 0 {
                misreported();
            }
            at += size_of::<L>();
        }
    }
}

/// Adds contributions of a statement to the adjoints of its operands, given its partial derivatives: one function for
/// all statements.
struct Contribute<V>(PhantomData<V>);

impl<V: InRegisters> SimdFunction<V::Part> for Contribute<V> {
    type Argument = Block;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V::Part>>(block: Block) {
        // SAFETY: promised by the caller.
        let (task, memory) = unsafe { (*block.task, *block.memory) };
        let Memory { operands, adjoints, totals, partials, bytes, used, .. } = memory;
        let seeds = adjoints.wrapping_add(task.adjoint);
        let mut to =
            Contributions::<V, L> { operands, adjoints, totals, partials, seeds, bytes, used, register: PhantomData };
        to.operands = to.operands.wrapping_add(task.operands);
        let mut second = memory.second;
        loop {
            // SAFETY: the memory has the lines and totals of all operands; those of the second output, too.
            unsafe { to.add(task.count) }
            let Some(Second { adjoints, totals }) = second.take() else { break };
            to.seeds = to.seeds.wrapping_add(adjoints);
            to.adjoints = to.adjoints.wrapping_add(adjoints);
            to.totals = to.totals.wrapping_add(totals);
        }
    }
}

/// What contributions to adjoints are computed from, for one output.
struct Contributions<V, L> {
    operands: *const Operand,
    adjoints: *mut u8,
    totals: *mut u8,
    /// The partial derivatives by each operand, in turn.
    partials: *const u8,
    /// The adjoints of the result.
    seeds: *const u8,
    /// Bytes from one part to the next, and of one part in the scenarios that are computed.
    bytes: usize,
    used: usize,
    register: PhantomData<(V, L)>,
}

/// Maximum number of registers in a line.
const IN_LINE: usize = 4;

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Contributions<V, L> {
    const REGISTERS: usize = LINE / size_of::<L>();

    /// Adds contributions to the adjoints of `count` operands.
    ///
    /// # Safety
    ///
    /// There are as many operands, with lines or totals; partial derivatives and seeds lie there.
    #[inline(always)]
    unsafe fn add(&self, count: usize) {
        let (mut operands, mut partials, mut left) = (self.operands, self.partials, count);
        while left > 0 {
            // SAFETY: promised by the caller.
            unsafe {
                let operand = *operands;
                match operand.receiver() {
                    Receiver::Nothing => {}
                    Receiver::First => self.to_lines::<true>(partials, operand.adjoint()),
                    Receiver::Sum => self.to_lines::<false>(partials, operand.adjoint()),
                    Receiver::Total => self.to_total(partials, operand.adjoint()),
                }
            }
            operands = operands.wrapping_add(1);
            partials = partials.wrapping_add(self.bytes * planes::<V>());
            left -= 1;
        }
    }

    /// The contributions in the scenarios of a register.
    ///
    /// # Safety
    ///
    /// As above.
    #[inline(always)]
    unsafe fn contribution(&self, partials: *const u8, at: usize) -> V::Over<L> {
        // SAFETY: promised by the caller.
        unsafe {
            let seed = V::Over::load(self.seeds.add(at).cast(), self.bytes);
            let partial = V::Over::load(partials.add(at).cast(), self.bytes);
            seed.contribution(partial)
        }
    }

    /// Adds contributions to adjoints, or stores the first ones.
    ///
    /// # Safety
    ///
    /// As above.
    #[inline(always)]
    unsafe fn to_lines<const IS_FIRST: bool>(&self, partials: *const u8, adjoint: usize) {
        let mut line = 0;
        while line < self.used {
            let mut k = 0;
            while k < Self::REGISTERS {
                let at = line + k * size_of::<L>();
                // SAFETY: promised by the caller.
                unsafe {
                    let (to, contribution) = (self.adjoints.add(adjoint + at).cast(), self.contribution(partials, at));
                    let sum = if IS_FIRST { contribution } else { V::Over::load(to, self.bytes) + contribution };
                    sum.store(to, self.bytes);
                }
                k += 1;
            }
            line += LINE;
        }
    }

    /// Adds contributions to a total.
    ///
    /// # Safety
    ///
    /// As above.
    #[inline(always)]
    unsafe fn to_total(&self, partials: *const u8, total: usize) {
        const { assert!(Self::REGISTERS <= IN_LINE) }
        let total = self.totals.wrapping_add(total);
        let mut sums = [V::Over::<L>::ZERO; IN_LINE];
        // SAFETY: promised by the caller.
        unsafe {
            let (mut k, mut line) = (0, 0);
            while k < Self::REGISTERS {
                sums[k] = V::Over::load(total.add(k * size_of::<L>()).cast(), LINE);
                k += 1;
            }
            while line < self.used {
                k = 0;
                while k < Self::REGISTERS {
                    sums[k] += self.contribution(partials, line + k * size_of::<L>());
                    k += 1;
                }
                line += LINE;
            }
            k = 0;
            while k < Self::REGISTERS {
                sums[k].store(total.add(k * size_of::<L>()).cast(), LINE);
                k += 1;
            }
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
            // Known bits are subtracted, which costs nothing in an address.
            let Operand { value, .. } = *operand;
            if value & Operand::UNIFORM != 0 {
                (*self.uniform.wrapping_add(value).wrapping_sub(Operand::UNIFORM).cast::<V>()).splat()
            } else {
                V::Over::load(self.values.add(value).cast(), self.bytes)
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
        unsafe { (*self.uniform.wrapping_add((*operand).value).wrapping_sub(Operand::UNIFORM).cast::<V>()).splat() }
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

/// Stores the partial derivatives of a statement by its leaves, for the scenarios of one register.
struct Partials<V: InRegisters, L: SimdVector<Number = V::Part>> {
    /// The place of the next one.
    to: *mut u8,
    left: usize,
    /// Bytes from one part to the next.
    bytes: usize,
    /// The lanes in which partial derivatives count, by 1 and 0; `None` for all lanes.
    lanes: Option<V::Over<L>>,
}

impl<V: InRegisters, L: SimdVector<Number = V::Part>> Sink<Computed<V::Over<L>>> for Partials<V, L> {
    #[inline(always)]
    fn factor(&mut self, _: V::Over<L>) {}

    #[inline(always)]
    fn lanes(&self) -> Option<Option<V::Over<L>>> {
        Some(self.lanes)
    }

    #[inline(always)]
    fn set_lanes(&mut self, lanes: Option<V::Over<L>>) {
        self.lanes = lanes;
    }

    #[inline(always)]
    fn leaf(&mut self, partial: V::Over<L>, (): ()) {
        if self.left == 0 {
            misreported();
        }
        self.left -= 1;
        let to = self.to;
        self.to = to.wrapping_add(self.bytes * planes::<V>());
        let partial = match self.lanes {
            Some(lanes) => lanes.contribution(partial),
            None => partial,
        };
        // SAFETY: there was one left, and the memory has lines for it.
        unsafe { partial.store(to.cast(), self.bytes) }
    }
}
