//! Programs at work: the blocks of one chunk of scenarios.

use super::calls::{Calls, Leaf, Lent};
use super::lanes::{Lanes, turn};
use super::listing::{Listing, Step};
use super::lower::{Called, Instruction, Keeps, Output, Program, Question, Work};
use super::scalar::Scalars;
use super::spare::{Numbers, SpareLines};
use crate::number::simd::dispatch::prefetch;
use crate::number::simd::planes::planes;
use crate::storage::{LINE, Line};
use crate::tape::format::block::{Block, BlockFn, Memory, Operand, Receiver, Second};
use crate::tape::read::steps::{compute, reverse};
use crate::{InRegisters, Number, Scratch, SweepError, counts};
use smallvec::SmallVec;

/// Number of outputs from which one sweep starts: partials are computed once for all of them.
const SEEDS: usize = 2;
const _: () = assert!(SEEDS == 2, "`Second` is for one more output");

/// The values of a program's uniform variables, for one set of parameters.
pub struct Uniform<V: Number> {
    /// By identifier.
    values: Numbers<V>,
    calls: Lent<V>,
}

/// Memory for the blocks of one thread.
pub struct Room<V: Number> {
    calls: Lent<V>,
    uniform: Vec<V>,
    values: Vec<Line>,
    /// Adjoints of the outputs from which one sweep starts, output by output.
    adjoints: Vec<Line>,
    /// Partial derivatives of a statement by each of its operands, in turn.
    partials: Vec<Line>,
    /// Where lines go when the room is dropped.
    spare: SpareLines,
    /// A line for each part of each total of each output.
    totals: Vec<V::Part>,
    /// Values of variables in one scenario, by identifier; none if all statements have functions over blocks.
    one: Numbers<V>,
    contributions: Vec<V>,
    seeds: Vec<V>,
    /// Data of a block, column by column, if they are not written to their place.
    columns: Vec<V>,
    /// True for the scenarios of the block that take the recorded branches.
    follows: Vec<bool>,
    /// Number of lanes in use: the scenarios of the block, and as many as fill the last line.
    lanes: usize,
}

impl<V: Number> Drop for Room<V> {
    fn drop(&mut self) {
        self.spare.give_back([&mut self.values, &mut self.adjoints, &mut self.partials].map(core::mem::take));
    }
}

/// What a chunk of scenarios gave.
#[derive(Clone, Debug)]
pub struct Found<V> {
    /// Values of each output in each scenario, output by output.
    pub values: Vec<V>,
    /// For each output the totals of adjoints over scenarios.
    pub totals: Vec<V>,
    /// Scenarios that take other branches, and the index of the first comparison that came out otherwise, or of the
    /// external function that failed.
    pub others: Vec<(usize, usize)>,
    /// True if all derivatives by data are known to be finite.
    pub is_finite: bool,
}

impl<V: InRegisters> Program<V> {
    /// Computes what is the same for all scenarios; `None` where these parameters take other branches than recorded.
    pub(crate) fn uniform(&self, listing: &Listing<V>, mut calls: Lent<V>, parameters: &[V]) -> Option<Uniform<V>> {
        let mut values = listing.take_values();
        values[self.question.parameters.clone()].copy_from_slice(parameters);
        self.uniform.compute(listing, &mut calls.calls, &mut values).ok()?;
        Some(Uniform { values, calls })
    }

    /// Passes adjoints from the uniform variables to the parameters. `totals` are the totals that runs have found,
    /// `count` the number of scenarios, each of which has the seed 1 for this output.
    pub(crate) fn finish(
        &self,
        listing: &Listing<V>,
        uniform: &Uniform<V>,
        (output, count): (usize, usize),
        totals: &[V],
    ) -> Result<Vec<V>, SweepError> {
        let mut adjoints = self.take_adjoints(listing);
        self.totals.iter().zip(totals).for_each(|(id, total)| adjoints[*id] = *total);
        if let Output::Uniform(id) = self.outputs[output] {
            #[allow(clippy::cast_precision_loss, reason = "fewer than 2⁵³ scenarios")]
            let seeds = V::from_f64(count as f64);
            adjoints[id] += seeds;
        }
        self.uniform.reverse(listing, &uniform.calls.calls, (&uniform.values, &mut adjoints), &mut Vec::new())?;
        let parameters = &mut adjoints[self.question.parameters.clone()];
        let slopes = parameters.iter_mut().map(|slope| core::mem::replace(slope, V::ZERO)).collect();
        // Only now: a sweep that fails, or panics, leaves adjoints.
        self.adjoints.give_back(adjoints);
        Ok(slopes)
    }

    /// Memory for adjoints by identifier: 0 for all active variables, anything for others.
    fn take_adjoints(&self, listing: &Listing<V>) -> Vec<V> {
        self.adjoints.take().unwrap_or_else(|| vec![V::ZERO; listing.known])
    }

    /// Memory for values by identifier in one scenario, with what is the same for all scenarios.
    fn one(&self, listing: &Listing<V>, uniform: &Uniform<V>) -> Numbers<V> {
        let mut one = listing.take_values();
        let same = self.uniform.results(listing).chain(self.question.parameters.clone());
        same.for_each(|id| one[id] = uniform.values[id]);
        one
    }

    /// Returns memory for blocks, with the numbers that are the same for all scenarios.
    pub(crate) fn room(&self, listing: &Listing<V>, calls: Lent<V>, uniform: &Uniform<V>) -> Room<V> {
        let number = |number: &Leaf<V>| match number {
            Leaf::Variable(id) => uniform.values[*id],
            Leaf::Passive(value) => *value,
        };
        let (operands, width) = (self.operands_alone(), self.question.width);
        let alone = |count: usize| if operands.is_some() { count } else { 0 };
        let is_one = self.is_one_by_one() || operands.is_some();
        let counts = [self.value_lines, self.adjoint_lines * self.at_once(), self.partial_lines()];
        // What is read of the lanes in use was written before, so it does not matter what is there.
        let [values, adjoints, partials] = self.lines.take(counts);
        Room {
            calls,
            uniform: self.numbers.iter().map(number).collect(),
            values,
            adjoints,
            partials,
            spare: self.lines.clone(),
            totals: vec![V::Part::ZERO; self.outputs.len() * self.totals_of_output()],
            one: if is_one { self.one(listing, uniform) } else { Numbers::none() },
            contributions: Vec::with_capacity(operands.unwrap_or(0)),
            seeds: vec![V::ZERO; alone(width)],
            columns: vec![V::ZERO; self.columns()],
            follows: vec![true; width],
            lanes: width,
        }
    }

    /// Bytes of a [`room`](Self::room): in all, and for each scenario of a block.
    pub(crate) fn bytes(&self, listing: &Listing<V>) -> (usize, usize) {
        let (width, operands) = (self.question.width, self.operands_alone());
        let alone = usize::from(operands.is_some());
        let each = (self.value_lines + self.adjoint_lines * self.at_once() + self.partial_lines()) * LINE / width
            + (self.columns() / width + alone) * size_of::<V>()
            + size_of::<bool>();
        let totals = self.outputs.len() * self.totals_of_output() * size_of::<V::Part>();
        let lines = if self.is_one_by_one() { 2 } else { alone };
        let numbers = self.numbers.len() + lines * listing.known + operands.unwrap_or(0);
        (width * each + totals + numbers * size_of::<V>(), each)
    }

    /// True if scenarios call external functions.
    pub(crate) fn has_calls(&self) -> bool {
        let is_call = |instruction: &Instruction| matches!(instruction.work, Work::Call(_));
        self.each.has_calls || self.instructions.iter().any(is_call)
    }

    /// True if scenarios are computed one by one.
    const fn is_one_by_one(&self) -> bool {
        self.question.width == 1 && self.question.data.start < self.question.data.end
    }

    /// The largest number of operands of a statement that is computed scenario by scenario, if there is one.
    fn operands_alone(&self) -> Option<usize> {
        let alone = self.instructions.iter().filter(|instruction| matches!(instruction.work, Work::Each(_)));
        alone.map(|instruction| instruction.task.count).max()
    }

    /// Lines for the partial derivatives of a statement that is computed for all scenarios of a block at once.
    fn partial_lines(&self) -> usize {
        let is_block = |instruction: &&Instruction| matches!(instruction.work, Work::Block { .. });
        let reversed = self.instructions.iter().filter(|instruction| instruction.reverses).filter(is_block);
        reversed.map(|instruction| instruction.task.count).max().unwrap_or(0) * self.question.array() / LINE
    }

    /// Computes a chunk of scenarios, given by their indices. `data(indices, columns)` writes the data of a block,
    /// column by column. `slopes` has room for derivatives of each output by each datum that has some, scenario by
    /// scenario, output by output.
    pub(crate) fn run(
        &self,
        listing: &Listing<V>,
        (room, uniform): (&mut Room<V>, &Uniform<V>),
        scenarios: &[usize],
        data: &mut dyn FnMut(&[usize], &mut [V]),
        slopes: &mut [V],
    ) -> Result<Found<V>, SweepError> {
        let (outputs, columns, width) = (self.outputs.len(), self.question.by_data, self.question.width);
        assert!(slopes.len() == outputs * scenarios.len() * columns, "room for all derivatives");
        let mut found = Found {
            values: vec![V::ZERO; outputs * scenarios.len()],
            totals: vec![V::ZERO; outputs * self.totals.len()],
            others: Vec::new(),
            is_finite: !self.is_one_by_one(),
        };
        if self.is_one_by_one() {
            self.run_one_by_one(listing, room, scenarios, data, (slopes, &mut found))?;
            return Ok(found);
        }
        let (mut done, derives) = (0, columns > 0 || self.question.by_parameters);
        let swept: SmallVec<[_; 8]> = (0..outputs).filter(|k| derives && self.seeded(*k).is_some()).collect();
        for part in scenarios.chunks(width) {
            room.lanes = part.len().next_multiple_of(in_line::<V>()).min(width);
            self.put(room, part, data);
            room.follows[..part.len()].fill(true);
            room.follows[part.len()..].fill(false);
            self.forward(listing, room, (part, &mut found.others));
            let follow = room.follows.contains(&true);
            for (k, output) in self.outputs.iter().enumerate() {
                let to = &mut found.values[k * scenarios.len() + done..][..part.len()];
                match output {
                    Output::Constant(value) => to.fill(*value),
                    Output::Uniform(id) => to.fill(uniform.values[*id]),
                    Output::Varying(operand) => {
                        self.lanes::<V>(&room.values, operand.value()).read(to.iter_mut());
                    }
                }
            }
            let row = outputs * columns;
            let to = &mut slopes[done * row..][..part.len() * row];
            let some = if follow { &swept[..] } else { &[] };
            if some.len() < outputs {
                to.fill(V::ZERO);
            }
            for outputs in some.chunks(SEEDS) {
                self.reverse(listing, room, outputs, to)?;
                found.is_finite &= columns == 0 || self.copy_slopes(room, outputs, to);
            }
            done += part.len();
        }
        // At the end of the chunk, so that the order of sums does not depend on the width of blocks.
        Self::collect(room, &mut found.totals);
        Ok(found)
    }

    /// Computes scenarios one by one, where the width is 1.
    fn run_one_by_one(
        &self,
        listing: &Listing<V>,
        room: &mut Room<V>,
        scenarios: &[usize],
        data: &mut dyn FnMut(&[usize], &mut [V]),
        (slopes, found): (&mut [V], &mut Found<V>),
    ) -> Result<(), SweepError> {
        let Room { calls: Lent { calls, .. }, one: values, columns: row, contributions, .. } = room;
        let mut adjoints = self.take_adjoints(listing);
        let (columns, outputs) = (self.question.by_data, self.outputs.len());
        let derives = columns > 0 || self.question.by_parameters;
        for (k, scenario) in scenarios.iter().enumerate() {
            data(&[*scenario], row);
            values[self.question.data.clone()].copy_from_slice(row);
            let slopes = &mut slopes[k * outputs * columns..][..outputs * columns];
            slopes.fill(V::ZERO);
            if let Err(step) = self.each.compute(listing, calls, values) {
                found.others.push((*scenario, step));
                continue;
            }
            for (output, (id, constant)) in self.question.outputs.iter().enumerate() {
                found.values[output * scenarios.len() + k] = if *id == 0 { *constant } else { values[*id] };
                if !derives || !matches!(self.outputs[output], Output::Varying(_)) {
                    continue;
                }
                adjoints[*id] = V::ONE;
                self.each.reverse(listing, calls, (values, &mut adjoints), contributions)?;
                let mut take = |id: usize| core::mem::replace(&mut adjoints[id], V::ZERO);
                let slopes = &mut slopes[output * columns..][..columns];
                slopes.iter_mut().zip(self.question.data.clone()).for_each(|(slope, id)| *slope = take(id));
                let totals = &mut found.totals[output * self.totals.len()..][..self.totals.len()];
                totals.iter_mut().zip(&self.totals).for_each(|(total, id)| *total += take(*id));
            }
        }
        // Only now: a sweep that fails, or panics, leaves adjoints.
        self.adjoints.give_back(adjoints);
        Ok(())
    }

    /// True if columns of data are their values.
    const fn is_in_place(&self) -> bool {
        planes::<V>() == 1 && self.question.width > 1
    }

    /// Number of data that are written elsewhere before they are put in their place.
    const fn columns(&self) -> usize {
        let Question { data, width, .. } = &self.question;
        if self.is_in_place() { 0 } else { (data.end - data.start) * *width }
    }

    /// Writes the data of a block; the last scenario fills at least the lanes in use that are left over.
    fn put(&self, room: &mut Room<V>, scenarios: &[usize], data: &mut dyn FnMut(&[usize], &mut [V])) {
        let (Room { values, columns: rows, lanes, .. }, width) = (room, self.question.width);
        if self.is_in_place() {
            // The columns of numbers of one part are their values, at the start of all.
            let parts: &mut [V::Part] = bytemuck::cast_slice_mut(values);
            let columns: &mut [V] = bytemuck::cast_slice_mut(&mut parts[..self.question.data.len() * width]);
            data(scenarios, columns);
            for column in columns.chunks_exact_mut(width) {
                let (numbers, rest) = column[..*lanes].split_at_mut(scenarios.len());
                rest.fill(numbers[numbers.len() - 1]);
            }
            return;
        }
        data(scenarios, rows);
        for (column, operand) in rows.chunks_exact(width).zip(&self.data) {
            if let Some(operand) = operand {
                self.lanes_mut::<V>(values, operand.value()).write(&column[..scenarios.len()]);
            }
        }
    }

    fn forward(&self, listing: &Listing<V>, room: &mut Room<V>, (part, others): (&[usize], &mut Vec<(usize, usize)>)) {
        let mut memory = self.memory(room, 0);
        for instruction in &self.instructions {
            match &instruction.work {
                // SAFETY: the program has given lines of the room to operands and result.
                Work::Block { forward, .. } => unsafe {
                    forward(Block { task: &raw const instruction.task, memory: &raw const memory });
                },
                Work::Each(step) => {
                    self.compute_each(listing, *step, instruction, room);
                    memory = self.memory(room, 0);
                }
                Work::Call(called) => {
                    self.call(listing, called, instruction, room, (part, others));
                    if !room.follows.contains(&true) {
                        return;
                    }
                    memory = self.memory(room, 0);
                }
                Work::Guard(step) => {
                    let Step::Guard(guard) = &listing.steps[*step] else { unreachable!("the step is a comparison") };
                    let [a, b] = [0, 1].map(|k| self.operands[instruction.operands().start + k]);
                    let mut copies = [SmallVec::new(), SmallVec::new()];
                    let [first, second] = &mut copies;
                    let left = self.column(room, a, part.len(), first);
                    let right = self.column(room, b, part.len(), second);
                    if guard.comparison.always(guard.outcome, left, right) {
                        continue;
                    }
                    let outcomes = left.iter().zip(right).map(|(a, b)| guard.comparison.outcome(*a, *b));
                    let follow: SmallVec<[bool; 64]> = outcomes.map(|outcome| outcome == guard.outcome).collect();
                    for (lane, scenario) in part.iter().enumerate() {
                        if !follow[lane] && room.follows[lane] {
                            room.follows[lane] = false;
                            others.push((*scenario, *step));
                        }
                    }
                    if !room.follows.contains(&true) {
                        return;
                    }
                    memory = self.memory(room, 0);
                }
            }
        }
    }

    /// The operand of an output that has derivatives.
    fn seeded(&self, output: usize) -> Option<Operand> {
        match self.outputs[output] {
            Output::Varying(operand) if operand.receiver() != Receiver::Nothing => Some(operand),
            _ => None,
        }
    }

    /// Number of outputs from which one sweep starts.
    fn at_once(&self) -> usize {
        (0..self.outputs.len()).filter(|k| self.seeded(*k).is_some()).count().min(SEEDS)
    }

    /// The offset of the adjoints of an output, by its index among those from which one sweep starts.
    const fn of_seed(&self, seed: usize) -> usize {
        seed * self.adjoint_lines * LINE
    }

    /// Passes adjoints from outputs to data and totals. Meanwhile memory to which derivatives are written next is
    /// fetched.
    fn reverse(
        &self,
        listing: &Listing<V>,
        room: &mut Room<V>,
        outputs: &[usize],
        next: &[V],
    ) -> Result<(), SweepError> {
        for (seed, output) in outputs.iter().enumerate() {
            for operand in (0..self.outputs.len()).filter_map(|k| self.seeded(k)) {
                self.lanes_mut::<V>(&mut room.adjoints, self.of_seed(seed) + operand.adjoint()).clear();
            }
            let operand = self.seeded(*output).expect("the output has derivatives");
            let mut seeds = self.lanes_mut::<V>(&mut room.adjoints, self.of_seed(seed) + operand.adjoint());
            seeds.write(&[V::ONE]);
            let others = room.follows.iter().enumerate().filter(|(_, follows)| !**follows);
            others.for_each(|(lane, _)| seeds.set(lane, V::ZERO));
        }
        let second = outputs.get(1).map(|second| Second {
            adjoints: self.of_seed(1),
            totals: (second - outputs[0]) * self.totals_of_output() * size_of::<V::Part>(),
        });
        let again = |room: &mut Room<V>| Memory { second, ..self.memory(room, outputs[0]) };
        let mut memory = again(room);
        let each = next.len().div_ceil(self.instructions.len().max(1)).max(1);
        let mut next = next.chunks(each);
        let nothing: BlockFn = |_| unreachable!("there are no functions over blocks");
        let contribute = self.contribute.unwrap_or(nothing);
        for instruction in self.instructions.iter().rev().filter(|instruction| instruction.reverses) {
            prefetch(next.next().unwrap_or_default());
            match &instruction.work {
                // SAFETY: as in `forward`. There are lines for the partial derivatives of the statement with the most
                // operands, and the adjoints of the result lie apart from those of operands: its slot is free only
                // behind the statement.
                Work::Block { partials, .. } => unsafe {
                    let block = Block { task: &raw const instruction.task, memory: &raw const memory };
                    partials(block);
                    contribute(block);
                },
                Work::Each(step) => {
                    for (seed, output) in outputs.iter().enumerate() {
                        self.reverse_each(listing, *step, (seed, *output), instruction, room);
                    }
                    memory = again(room);
                }
                Work::Call(called) => {
                    if called.keeps == Keeps::Inputs {
                        self.reverse_again(listing, outputs, called, instruction, room)?;
                    } else {
                        for (seed, output) in outputs.iter().enumerate() {
                            self.reverse_call((seed, *output), called, instruction, room);
                        }
                    }
                    memory = again(room);
                }
                Work::Guard(_) => {}
            }
        }
        Ok(())
    }

    /// The room as functions over blocks take it, with the totals of one output.
    fn memory(&self, room: &mut Room<V>, output: usize) -> Memory {
        Memory {
            operands: self.operands.as_ptr(),
            uniform: room.uniform.as_ptr().cast(),
            values: room.values.as_mut_ptr().cast(),
            adjoints: room.adjoints.as_mut_ptr().cast(),
            totals: room.totals[output * self.totals_of_output()..].as_mut_ptr().cast(),
            partials: room.partials.as_mut_ptr().cast(),
            bytes: self.question.width * size_of::<V::Part>(),
            used: room.lanes * size_of::<V::Part>(),
            second: None,
        }
    }

    /// Number of parts in the lines of totals of one output.
    fn totals_of_output(&self) -> usize {
        self.totals.len() * planes::<V>() * in_line::<V>()
    }

    /// The numbers of a variable in the scenarios of a block.
    fn lanes<'a, W: Number>(&self, lines: &'a [Line], offset: usize) -> Lanes<&'a [W::Part]> {
        let (first, stride) = (offset / size_of::<W::Part>(), self.question.width);
        Lanes { parts: &bytemuck::cast_slice(lines)[first..][..stride * planes::<W>()], stride }
    }

    fn lanes_mut<'a, W: Number>(&self, lines: &'a mut [Line], offset: usize) -> Lanes<&'a mut [W::Part]> {
        let (first, stride) = (offset / size_of::<W::Part>(), self.question.width);
        Lanes { parts: &mut bytemuck::cast_slice_mut(lines)[first..][..stride * planes::<W>()], stride }
    }

    /// The number of an operand in a scenario.
    fn value_of(&self, room: &Room<V>, operand: Operand, lane: usize) -> V {
        if operand.is_uniform() {
            room.uniform[operand.value() / size_of::<V>()]
        } else {
            self.lanes::<V>(&room.values, operand.value()).get(lane)
        }
    }

    /// The numbers of an operand in the first scenarios of a block: where they lie, or copied.
    fn column<'a>(
        &self,
        room: &'a Room<V>,
        operand: Operand,
        scenarios: usize,
        copy: &'a mut SmallVec<[V; 64]>,
    ) -> &'a [V] {
        if operand.is_uniform() {
            copy.resize(scenarios, self.value_of(room, operand, 0));
            return copy;
        }
        let lanes = self.lanes::<V>(&room.values, operand.value());
        if planes::<V>() == 1 {
            return bytemuck::cast_slice(&lanes.parts[..scenarios]);
        }
        copy.extend((0..scenarios).map(|lane| lanes.get::<V>(lane)));
        copy
    }

    /// Computes a statement scenario by scenario.
    fn compute_each(&self, listing: &Listing<V>, step: usize, instruction: &Instruction, room: &mut Room<V>) {
        let Step::Statement(statement) = &listing.steps[step] else { unreachable!("the step is a statement") };
        let (data, operands) = (listing.data(statement), &self.operands[instruction.operands()]);
        for lane in 0..room.lanes {
            for (id, operand) in data.ids().zip(operands) {
                room.one[id] = self.value_of(room, *operand, lane);
            }
            let value = data.value(&room.one).expect("what can be replayed says how");
            self.lanes_mut::<V>(&mut room.values, instruction.task.value).set(lane, value);
        }
    }

    /// Adds contributions of a statement scenario by scenario, for an output and its index among those from which the
    /// sweep starts.
    fn reverse_each(
        &self,
        listing: &Listing<V>,
        step: usize,
        (seed, output): (usize, usize),
        instruction: &Instruction,
        room: &mut Room<V>,
    ) {
        let Step::Statement(statement) = &listing.steps[step] else { unreachable!("the step is a statement") };
        let (data, operands) = (listing.data(statement), &self.operands[instruction.operands()]);
        let offset = self.of_seed(seed);
        let seeds = self.lanes::<V>(&room.adjoints, offset + instruction.task.adjoint);
        room.seeds[..room.lanes].iter_mut().enumerate().for_each(|(lane, seed)| *seed = seeds.get(lane));
        self.clear_new(room, offset, operands);
        for lane in 0..room.lanes {
            let seed = room.seeds[lane];
            if seed.is_nought() {
                continue;
            }
            for (id, operand) in data.ids().zip(operands) {
                room.one[id] = self.value_of(room, *operand, lane);
            }
            let mut contributions = core::mem::take(&mut room.contributions);
            contributions.clear();
            data.contributions(V::ONE, &room.one, &mut contributions);
            for (operand, partial) in operands.iter().zip(&contributions) {
                if operand.receiver() != Receiver::Nothing && counts(seed, *partial) {
                    self.add(room, (offset, output), lane, operand, seed.contribution(*partial));
                }
            }
            room.contributions = contributions;
        }
    }

    /// Sets adjoints to 0 to which nobody has added yet.
    fn clear_new(&self, room: &mut Room<V>, offset: usize, operands: &[Operand]) {
        let new = operands.iter().filter(|operand| operand.receiver() == Receiver::First);
        new.for_each(|operand| self.lanes_mut::<V>(&mut room.adjoints, offset + operand.adjoint()).clear());
    }

    /// Adds to the adjoint of an operand in a scenario.
    fn add(
        &self,
        room: &mut Room<V>,
        (offset, output): (usize, usize),
        lane: usize,
        operand: &Operand,
        contribution: V,
    ) {
        if operand.receiver() == Receiver::Total {
            let first = output * self.totals_of_output() + operand.adjoint() / size_of::<V::Part>();
            let mut to = Lanes { parts: &mut room.totals[first..], stride: in_line::<V>() };
            to.add(lane % in_line::<V>(), contribution);
        } else {
            self.lanes_mut::<V>(&mut room.adjoints, offset + operand.adjoint()).add(lane, contribution);
        }
    }

    /// Calls an external function for the scenarios that take the recorded branches, and keeps its partial derivatives
    /// if they are needed. A scenario in which it fails is one of the `others`: nobody reads what is there for it.
    fn call(
        &self,
        listing: &Listing<V>,
        called: &Called,
        instruction: &Instruction,
        room: &mut Room<V>,
        (part, others): (&[usize], &mut Vec<(usize, usize)>),
    ) {
        let (operands, results) = (&self.operands[instruction.operands()], &self.operands[called.results.clone()]);
        let (mut inputs, mut outputs, mut partials) = (Scratch::<V>::new(), Scratch::<V>::new(), Scratch::<V>::new());
        partials.resize(operands.len(), V::ZERO);
        for (lane, scenario) in part.iter().enumerate() {
            if !room.follows[lane] {
                continue;
            }
            inputs.clear();
            inputs.extend(operands.iter().map(|operand| self.value_of(room, *operand, lane)));
            outputs.clear();
            outputs.extend(listing.recorded_results(called.step));
            let call = &mut room.calls.calls.entries[called.index];
            let mut done = call.function().expect("calls are functions").replay(&inputs, &mut outputs);
            if called.keeps == Keeps::Partials {
                done = done.and_then(|()| call.contributions(&[V::ONE], &mut partials));
            }
            if done.is_err() {
                room.follows[lane] = false;
                others.push((*scenario, called.step));
                continue;
            }
            for (operand, value) in results.iter().zip(&*outputs) {
                self.lanes_mut::<V>(&mut room.values, operand.value()).set(lane, *value);
            }
            for (k, partial) in partials.iter().enumerate().filter(|_| called.keeps == Keeps::Partials) {
                let place = instruction.task.kept + k * self.question.array();
                self.lanes_mut::<V>(&mut room.values, place).set(lane, *partial);
            }
        }
    }

    /// Copies the adjoints of the results of a call, result by result, and sets to 0 what is new among those of its
    /// inputs.
    fn take_seeds(&self, offset: usize, called: &Called, instruction: &Instruction, room: &mut Room<V>) -> Scratch<V> {
        let mut seeds = Scratch::<V>::new();
        for operand in &self.operands[called.results.clone()] {
            let column = self.lanes::<V>(&room.adjoints, offset + operand.adjoint());
            let is_there = operand.receiver() != Receiver::Nothing;
            seeds.extend((0..room.lanes).map(|lane| if is_there { column.get(lane) } else { V::ZERO }));
        }
        self.clear_new(room, offset, &self.operands[instruction.operands()]);
        seeds
    }

    /// Adds contributions of an external function with one result, whose partial derivatives are kept, for an output
    /// and its index among those from which the sweep starts.
    fn reverse_call(
        &self,
        (seed, output): (usize, usize),
        called: &Called,
        instruction: &Instruction,
        room: &mut Room<V>,
    ) {
        let (operands, offset) = (&self.operands[instruction.operands()], self.of_seed(seed));
        let seeds = self.take_seeds(offset, called, instruction, room);
        for (j, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.receiver() != Receiver::Nothing) {
            let place = instruction.task.kept + j * self.question.array();
            for (lane, seed) in seeds.iter().enumerate() {
                let partial = self.lanes::<V>(&room.values, place).get(lane);
                if !seed.is_nought() && counts(*seed, partial) {
                    self.add(room, (offset, output), lane, operand, seed.contribution(partial));
                }
            }
        }
    }

    /// Calls an external function again for each scenario, and adds its contributions for the outputs from which the
    /// sweep starts.
    fn reverse_again(
        &self,
        listing: &Listing<V>,
        sweep: &[usize],
        called: &Called,
        instruction: &Instruction,
        room: &mut Room<V>,
    ) -> Result<(), SweepError> {
        let operands = &self.operands[instruction.operands()];
        let all = (0..sweep.len()).map(|seed| self.take_seeds(self.of_seed(seed), called, instruction, room));
        let all: SmallVec<[_; SEEDS]> = all.collect();
        let (mut inputs, mut outputs, mut seeds) = (Scratch::<V>::new(), Scratch::<V>::new(), Scratch::<V>::new());
        for lane in 0..room.lanes {
            let mut is_called = false;
            for (seed, output) in sweep.iter().enumerate() {
                seeds.clear();
                seeds.extend(all[seed].iter().skip(lane).step_by(room.lanes));
                if seeds.iter().all(|seed| seed.is_nought()) {
                    continue;
                }
                if !core::mem::replace(&mut is_called, true) {
                    inputs.clear();
                    inputs.extend(operands.iter().map(|operand| self.value_of(room, *operand, lane)));
                    outputs.clear();
                    outputs.extend(listing.recorded_results(called.step));
                    let call = &mut room.calls.calls.entries[called.index];
                    call.function().expect("calls are functions").replay(&inputs, &mut outputs)?;
                }
                room.calls.calls.entries[called.index].contributions(&seeds, &mut inputs)?;
                for (operand, contribution) in operands.iter().zip(&*inputs) {
                    if operand.receiver() != Receiver::Nothing {
                        self.add(room, (self.of_seed(seed), *output), lane, operand, *contribution);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds up the totals of a chunk, and sets them to 0.
    fn collect(room: &mut Room<V>, totals: &mut [V]) {
        let stride = in_line::<V>();
        for (total, parts) in totals.iter_mut().zip(room.totals.chunks_exact_mut(stride * planes::<V>())) {
            let mut lanes = Lanes { parts, stride };
            *total = (0..stride).fold(V::ZERO, |sum, lane| sum + lanes.get(lane));
            lanes.clear();
        }
    }

    /// Writes the derivatives by data of the outputs of a sweep into the rows of scenarios; 0 where there are none.
    /// Returns true if all are finite.
    fn copy_slopes(&self, room: &Room<V>, outputs: &[usize], to: &mut [V]) -> bool {
        let (columns, row) = (self.question.by_data, self.outputs.len() * self.question.by_data);
        let mut found = SmallVec::<[_; 32]>::new();
        for (seed, output) in outputs.iter().enumerate() {
            for (column, operand) in self.data[..columns].iter().enumerate() {
                let place = output * columns + column;
                match operand {
                    Some(operand) if operand.receiver() != Receiver::Nothing => {
                        let lanes = self.lanes::<V>(&room.adjoints, self.of_seed(seed) + operand.adjoint());
                        found.push((place, lanes.parts));
                    }
                    _ => to[place..].iter_mut().step_by(row).for_each(|to| *to = V::ZERO),
                }
            }
        }
        turn(&found, self.question.width, to, row)
    }
}

impl<V: InRegisters> Scalars<V> {
    /// Computes the values of these statements, given those of all variables in front of them.
    ///
    /// # Errors
    ///
    /// The index of the first comparison that comes out otherwise than recorded, or call that fails.
    pub(crate) fn compute(&self, listing: &Listing<V>, calls: &mut Calls<V>, values: &mut [V]) -> Result<(), usize> {
        listing.check(values);
        let mut done = 0;
        for (at, index) in &self.stops {
            // SAFETY: the steps are those of the listing, and there is a value for each of its identifiers.
            unsafe { compute(&self.steps[done..*at], listing.start(), values) };
            done = *at;
            match &listing.steps[*index] {
                Step::Guard(guard) => {
                    let [left, right] = guard.operands.map(|id| values[id]);
                    if guard.comparison.outcome(left, right) != guard.outcome {
                        return Err(*index);
                    }
                }
                Step::Call(call) => calls.compute(call.index, &listing.values, values).map_err(|_| *index)?,
                Step::Statement(_) => unreachable!("statements are no stops"),
            }
        }
        // SAFETY: as above.
        unsafe { compute(&self.steps[done..], listing.start(), values) };
        Ok(())
    }

    /// Passes adjoints from the results of these statements to their arguments, and sets those of results to 0.
    pub(crate) fn reverse(
        &self,
        listing: &Listing<V>,
        calls: &Calls<V>,
        (values, adjoints): (&[V], &mut [V]),
        contributions: &mut Vec<V>,
    ) -> Result<(), SweepError> {
        listing.check(values);
        listing.check(adjoints);
        let mut end = self.reverse.len();
        for (at, index) in self.reverse_stops.iter().rev() {
            // SAFETY: as above, and there is an adjoint for each identifier.
            unsafe { reverse(&self.reverse[*at..end], listing.start(), (values, adjoints), contributions) };
            end = *at;
            let Step::Call(call) = &listing.steps[*index] else { unreachable!("the step is a call") };
            calls.reverse(call.index, adjoints)?;
        }
        // SAFETY: as above.
        unsafe { reverse(&self.reverse[..end], listing.start(), (values, adjoints), contributions) };
        Ok(())
    }
}

/// Number of parts in a line.
const fn in_line<V: Number>() -> usize {
    LINE / size_of::<V::Part>()
}
