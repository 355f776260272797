//! From a listing to a program: what is needed, what differs between scenarios, and where it lies in memory.

use super::calls::{Call, Leaf};
use super::listing::{Guard, Listing, Statement, Step};
use super::scalar::Scalars;
use super::spare::{Spare, SpareLines};
use crate::number::parts::bits;
use crate::number::simd::planes::planes;
use crate::storage::LINE;
use crate::tape::format::block::{BlockFn, Operand, Receiver, Task, contributing};
use crate::{InRegisters, Number};
use core::ops::Range;
use smallvec::SmallVec;

/// The inputs of a recording, by identifiers, and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Question<V> {
    pub(crate) parameters: Range<usize>,
    pub(crate) data: Range<usize>,
    /// Derivatives by parameters are needed.
    pub(crate) by_parameters: bool,
    /// Number of data by which derivatives are needed, from the first one.
    pub(crate) by_data: usize,
    /// Identifiers of the outputs, 0 for those that depend on no input, and their recorded values.
    pub(crate) outputs: Vec<(usize, V)>,
    /// Number of scenarios in a block.
    pub(crate) width: usize,
}

impl<V> Question<V> {
    /// Bytes of a variable that differs between scenarios.
    pub(crate) const fn array(&self) -> usize {
        self.width * size_of::<V>()
    }
}

/// How an instruction is computed.
pub(crate) enum Work {
    /// For all scenarios of a block at once.
    Block { forward: BlockFn, partials: BlockFn },
    /// Scenario by scenario, by the functions of the step with this index.
    Each(usize),
    /// Scenario by scenario, by an external function. Behind a pointer, so that instructions stay small.
    Call(Box<Called>),
    /// The comparison of the step with this index.
    Guard(usize),
}

/// A call of an external function in a program.
pub(crate) struct Called {
    /// Its index among the calls, and that of its step in the listing.
    pub(crate) index: usize,
    pub(crate) step: usize,
    /// The place of its results in the program's list of operands.
    pub(crate) results: Range<usize>,
    pub(crate) keeps: Keeps,
}

/// Partial derivatives of a call that are kept for each scenario of a block, at most.
const MOST_PARTIALS: usize = 1024;

/// What a call of an external function keeps for the reverse sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Nothing: nobody needs derivatives.
    Nothing,
    /// The partial derivatives of its result.
    Partials,
    /// Its inputs, for which it is called again.
    Inputs,
}

/// One step of a program, for all scenarios of a block.
pub(crate) struct Instruction {
    pub(crate) work: Work,
    pub(crate) task: Task,
    /// True if adjoints pass through it.
    pub(crate) reverses: bool,
}

impl Instruction {
    /// The place of its operands in the program's list.
    pub(crate) const fn operands(&self) -> Range<usize> {
        self.task.operands..self.task.operands + self.task.count
    }
}

/// A recording as a list of instructions over blocks of scenarios.
pub(crate) struct Program<V: Number> {
    /// What is the same for all scenarios.
    pub(crate) uniform: Scalars<V>,
    /// What differs between scenarios, if the width is 1.
    pub(crate) each: Scalars<V>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) operands: Vec<Operand>,
    /// The numbers that are the same for all scenarios and are used by instructions.
    pub(crate) numbers: Vec<Leaf<V>>,
    /// The operands of the data, by index; `None` for data that nobody needs.
    pub(crate) data: Vec<Option<Operand>>,
    pub(crate) outputs: Vec<Output<V>>,
    /// Identifiers of the uniform variables that have totals of adjoints.
    pub(crate) totals: Vec<usize>,
    /// Number of lines of values, and of adjoints.
    pub(crate) value_lines: usize,
    pub(crate) adjoint_lines: usize,
    pub(crate) lines: SpareLines,
    /// Adjoints by identifier that no thread uses: 0 for all active variables, anything for others.
    pub(super) adjoints: Spare<Vec<V>>,
    /// Adds contributions to adjoints.
    pub(crate) contribute: Option<BlockFn>,
    pub(crate) question: Question<V>,
}

/// The place of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output<V> {
    /// A constant.
    Constant(V),
    /// The uniform variable with this identifier.
    Uniform(usize),
    /// An operand that differs between scenarios.
    Varying(Operand),
}

/// A fact about each identifier.
struct Facts {
    is_needed: Vec<bool>,
    varies: Vec<bool>,
    is_active: Vec<bool>,
}

impl Facts {
    fn of<V: InRegisters>(listing: &Listing<V>, question: &Question<V>) -> Self {
        let none = || vec![false; listing.known];
        let mut facts = Self { is_needed: none(), varies: Vec::new(), is_active: Vec::new() };
        question.outputs.iter().for_each(|(id, _)| facts.is_needed[*id] = true);
        for step in listing.steps.iter().rev() {
            // Comparisons, and functions that may fail, decide what is computed, also where nobody uses their results.
            if let Step::Statement(statement) = step
                && !facts.is_needed[statement.result]
            {
                continue;
            }
            listing.for_each_operand(step, |id| facts.is_needed[id] = true);
            step.results().iter().for_each(|id| facts.is_needed[*id] = true);
        }
        let (parameters, data) = (question.parameters.clone(), question.data.clone());
        let by_parameters = parameters.filter(|_| question.by_parameters);
        let is_active = listing.dependents(by_parameters.chain(data.clone().take(question.by_data)));
        Self { varies: listing.dependents(data), is_active, ..facts }
    }
}

/// Memory that is given to variables.
struct Lines<V> {
    /// Bytes of a variable that differs between scenarios.
    each: usize,
    /// Bytes that have been given.
    values: usize,
    /// Bytes for results that no derivative needs: their offset, and their number.
    scratch: (usize, usize),
    /// The offset of the values of each variable that varies, and of each uniform number.
    value_of: Vec<usize>,
    numbers: Vec<Leaf<V>>,
}

const NOWHERE: usize = usize::MAX;

/// Number of places among which a constant is searched. Loops repeat their constants soon, and a place takes less than
/// any statement does.
const LATEST: usize = 16;

impl<V: Number> Lines<V> {
    fn take(&mut self, bytes: usize) -> usize {
        self.values += bytes;
        self.values - bytes
    }

    /// Returns memory for results that no derivative needs.
    fn scratch(&mut self, bytes: usize) -> usize {
        if bytes > self.scratch.1 {
            self.scratch = (self.take(bytes), bytes);
        }
        self.scratch.0
    }

    fn number(&mut self, number: Leaf<V>) -> usize {
        self.numbers.push(number);
        (self.numbers.len() - 1) * size_of::<V>()
    }

    /// Returns a uniform variable as an operand.
    fn uniform(&mut self, id: usize) -> Operand {
        if self.value_of[id] == NOWHERE {
            self.value_of[id] = self.number(Leaf::Variable(id));
        }
        Operand::uniform(self.value_of[id])
    }

    /// Returns a constant as an operand. It shares the place of an equal one among the latest numbers, if there is one.
    fn constant(&mut self, value: V) -> Operand {
        let is_same = |number: &Leaf<V>| match number {
            Leaf::Passive(other) => (0..V::PARTS).all(|k| bits(value.part(k)) == bits(other.part(k))),
            Leaf::Variable(_) => false,
        };
        let first = self.numbers.len().saturating_sub(LATEST);
        let found = self.numbers[first..].iter().rposition(is_same);
        Operand::uniform(match found {
            Some(k) => (first + k) * size_of::<V>(),
            None => self.number(Leaf::Passive(value)),
        })
    }
}

impl<V: InRegisters> Program<V> {
    /// Makes a program of a listing.
    pub(crate) fn new(listing: &Listing<V>, question: Question<V>, spare: &SpareLines) -> Self {
        let facts = Facts::of(listing, &question);
        let (each, is_scalar) = (question.array(), question.width == 1);
        let mut lines =
            Lines { each, values: 0, scratch: (0, 0), value_of: vec![NOWHERE; listing.known], numbers: Vec::new() };
        let mut program = Self {
            uniform: Scalars::default(),
            each: Scalars::default(),
            instructions: Vec::with_capacity(if is_scalar { 0 } else { listing.steps.len() }),
            operands: Vec::new(),
            numbers: Vec::new(),
            data: Vec::new(),
            outputs: Vec::new(),
            totals: Vec::new(),
            value_lines: 0,
            adjoint_lines: 0,
            lines: spare.clone(),
            adjoints: Spare::default(),
            contribute: contributing::<V>(),
            question,
        };
        if !is_scalar {
            program.place_data(&facts, &mut lines);
        }
        let mut origins = Origins::default();
        for (index, step) in listing.steps.iter().enumerate() {
            let (is_needed, varies, is_active) = match (step, step.results()) {
                (Step::Guard(guard), _) => (true, guard.operands.iter().any(|id| facts.varies[*id]), false),
                (_, [id, ..]) => (facts.is_needed[*id], facts.varies[*id], facts.is_active[*id]),
                (_, []) => continue,
            };
            match step {
                _ if !is_needed => {}
                _ if !varies => program.uniform.push(listing, index, is_active),
                _ if is_scalar => program.each.push(listing, index, is_active),
                Step::Statement(statement) => {
                    program.place_statement(listing, (index, statement), &facts, &mut lines, &mut origins);
                }
                Step::Call(call) => {
                    program.place_call((index, call), &facts, &mut lines, &mut origins);
                }
                Step::Guard(guard) => program.place_guard(index, guard, &facts, &mut lines, &mut origins),
            }
        }
        program.place_outputs(&facts, &lines);
        if is_scalar {
            program.totals = Self::totals_of_scalars(listing, &facts);
        } else {
            program.place_adjoints(listing, &facts, &origins);
        }
        Self { numbers: lines.numbers, value_lines: lines.values / LINE, ..program }
    }

    /// The uniform variables that get adjoints from statements that differ between scenarios.
    fn totals_of_scalars(listing: &Listing<V>, facts: &Facts) -> Vec<usize> {
        let (mut is_total, mut totals) = (vec![false; listing.known], Vec::new());
        for step in &listing.steps {
            let [result, ..] = step.results() else { continue };
            if facts.is_needed[*result] && facts.varies[*result] {
                listing.for_each_operand(step, |id| {
                    let is_of_uniform = facts.is_active[id] && !facts.varies[id];
                    if is_of_uniform && !core::mem::replace(&mut is_total[id], true) {
                        totals.push(id);
                    }
                });
            }
        }
        totals
    }

    fn place_data(&mut self, facts: &Facts, lines: &mut Lines<V>) {
        for id in self.question.data.clone() {
            // Side by side, also those that nobody needs: they are written there.
            lines.value_of[id] = lines.take(lines.each);
            self.data.push(facts.is_needed[id].then(|| Operand::varying(lines.value_of[id])));
        }
    }

    fn place_statement(
        &mut self,
        listing: &Listing<V>,
        (index, statement): (usize, &Statement<V>),
        facts: &Facts,
        lines: &mut Lines<V>,
        origins: &mut Origins,
    ) {
        let start = self.operands.len();
        self.place_leaves(listing.operands(statement), facts, lines, origins);
        let block = statement.layout.block;
        let (kept, keeps_value) = block.map_or((0, false), |functions| (functions.kept, functions.keeps_value));
        let is_active = facts.is_active[statement.result];
        // Results that derivatives need lie in front of the value, which may be the last of them.
        let own = if is_active { kept - usize::from(keeps_value) } else { 0 };
        let own = lines.take(own * lines.each);
        let value = lines.take(lines.each);
        lines.value_of[statement.result] = value;
        let kept = if is_active { own } else { lines.scratch(kept * lines.each) };
        origins.steps.push(index);
        let operands = self.operands.len() - start;
        let functions = block.and_then(|functions| {
            assert!(functions.operands == operands, "a statement has as many operands as its type");
            Some(Work::Block { forward: (functions.forward)()?, partials: (functions.partials)()? })
        });
        let work = functions.unwrap_or(Work::Each(index));
        let task = Task { operands: start, count: operands, value, adjoint: 0, kept };
        self.instructions.push(Instruction { work, task, reverses: false });
    }

    fn place_leaves(
        &mut self,
        leaves: impl Iterator<Item = Leaf<V>>,
        facts: &Facts,
        lines: &mut Lines<V>,
        origins: &mut Origins,
    ) {
        for leaf in leaves {
            let (operand, id) = match leaf {
                Leaf::Variable(id) if facts.varies[id] => (Operand::varying(lines.value_of[id]), id),
                Leaf::Variable(id) => (lines.uniform(id), id),
                Leaf::Passive(value) => (lines.constant(value), 0),
            };
            self.operands.push(operand);
            origins.operands.push(id);
        }
    }

    fn place_call(
        &mut self,
        (step, call): (usize, &Call<V>),
        facts: &Facts,
        lines: &mut Lines<V>,
        origins: &mut Origins,
    ) {
        let start = self.operands.len();
        self.place_leaves(call.inputs.iter().copied(), facts, lines, origins);
        let (operands, first) = (call.inputs.len(), self.operands.len());
        for id in &call.results {
            lines.value_of[*id] = lines.take(lines.each);
            self.operands.push(Operand::varying(lines.value_of[*id]));
            origins.operands.push(*id);
        }
        // Several results are asked together, as on a tape: adjoints of opposite signs may cancel inside of a function
        // whose partial derivatives are infinite, and all partial derivatives are a sweep for each result.
        let keeps = match call.results[..] {
            [result, ..] if !facts.is_active[result] => Keeps::Nothing,
            [_] if operands <= MOST_PARTIALS => Keeps::Partials,
            _ => Keeps::Inputs,
        };
        let partials = if keeps == Keeps::Partials { operands } else { 0 };
        let kept = lines.take(partials * lines.each);
        origins.steps.push(step);
        let results = first..self.operands.len();
        let work = Work::Call(Box::new(Called { index: call.index, step, results, keeps }));
        let task = Task { operands: start, count: operands, value: 0, adjoint: 0, kept };
        self.instructions.push(Instruction { work, task, reverses: false });
    }

    fn place_guard(&mut self, index: usize, guard: &Guard, facts: &Facts, lines: &mut Lines<V>, origins: &mut Origins) {
        let start = self.operands.len();
        self.place_leaves(guard.operands.into_iter().map(Leaf::Variable), facts, lines, origins);
        origins.steps.push(index);
        let count = self.operands.len() - start;
        let task = Task { operands: start, count, value: 0, adjoint: 0, kept: 0 };
        self.instructions.push(Instruction { work: Work::Guard(index), task, reverses: false });
    }

    fn place_outputs(&mut self, facts: &Facts, lines: &Lines<V>) {
        let output = |(id, value): &(usize, V)| match *id {
            0 => Output::Constant(*value),
            id if facts.varies[id] => Output::Varying(Operand::varying(lines.value_of[id])),
            id => Output::Uniform(id),
        };
        self.outputs = self.question.outputs.iter().map(output).collect();
    }

    /// Gives places to adjoints. A variable that differs between scenarios has one from its last use, which a sweep
    /// meets first, to its statement; sums over scenarios have one for good.
    fn place_adjoints(&mut self, listing: &Listing<V>, facts: &Facts, origins: &Origins) {
        let each = self.question.array();
        let mut slots = Slots { of: vec![NOWHERE; facts.varies.len()], free: Vec::new(), number: 0, each };
        let outputs = self.outputs.iter_mut().zip(&self.question.outputs);
        for (output, (id, _)) in outputs {
            if let Output::Varying(operand) = output
                && facts.is_active[*id]
            {
                *operand = operand.with_adjoint(slots.of(*id).0, Receiver::Sum);
            }
        }
        let mut total_of = vec![NOWHERE; facts.varies.len()];
        for (instruction, step) in self.instructions.iter_mut().zip(&origins.steps).rev() {
            let results = listing.steps[*step].results();
            let of_results = results.iter().map(|id| slots.of[*id]).filter(|slot| *slot != NOWHERE);
            let of_results: SmallVec<[usize; 1]> = of_results.collect();
            let Some(slot) = of_results.first() else { continue };
            instruction.reverses = true;
            instruction.task.adjoint = *slot;
            if let Work::Call(called) = &instruction.work {
                for (operand, id) in self.operands[called.results.clone()].iter_mut().zip(results) {
                    if slots.of[*id] != NOWHERE {
                        *operand = operand.with_adjoint(slots.of[*id], Receiver::Sum);
                    }
                }
            }
            for at in instruction.operands() {
                let (operand, id) = (&mut self.operands[at], origins.operands[at]);
                if facts.is_active[id] && facts.varies[id] {
                    let (slot, receiver) = slots.of(id);
                    *operand = operand.with_adjoint(slot, receiver);
                } else if facts.is_active[id] {
                    if total_of[id] == NOWHERE {
                        total_of[id] = self.totals.len() * LINE * planes::<V>();
                        self.totals.push(id);
                    }
                    *operand = operand.with_adjoint(total_of[id], Receiver::Total);
                }
            }
            // Adjoints of results are read while those of operands are written.
            slots.free.extend(of_results);
        }
        for (operand, id) in self.data.iter_mut().zip(self.question.data.clone()) {
            if let Some(operand) = operand
                && slots.of[id] != NOWHERE
            {
                *operand = operand.with_adjoint(slots.of[id], Receiver::Sum);
            }
        }
        self.adjoint_lines = slots.number * each / LINE;
    }
}

/// Slots for the adjoints of variables that differ between scenarios.
struct Slots {
    /// The offset of each variable's adjoints.
    of: Vec<usize>,
    free: Vec<usize>,
    number: usize,
    /// Bytes of a slot.
    each: usize,
}

impl Slots {
    /// Returns the slot of a variable, and says if it is new.
    fn of(&mut self, id: usize) -> (usize, Receiver) {
        if self.of[id] != NOWHERE {
            return (self.of[id], Receiver::Sum);
        }
        self.of[id] = self.free.pop().unwrap_or_else(|| {
            self.number += 1;
            (self.number - 1) * self.each
        });
        (self.of[id], Receiver::First)
    }
}

/// Where instructions and operands come from.
#[derive(Default)]
struct Origins {
    /// The index of each instruction's step.
    steps: Vec<usize>,
    /// The identifier of each operand; 0 for constants.
    operands: Vec<usize>,
}
