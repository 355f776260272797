//! The statements of a recording, copied from its tape.

use super::calls::{Call, Calls, Leaf};
use super::spare::{Numbers, Spare};
use crate::contract::Comparison;
use crate::strategies::Instructions;
use crate::tape::format::entry_points::AnyData;
use crate::tape::format::layout::Layout;
use crate::tape::read::cursor::{Values, data_in, written};
use crate::tape::store::steps::Step as Place;
use crate::tape::usize_of;
use crate::{InRegisters, Number, Replay, Reverse, SweepError};
use core::ops::Range;
use core::panic::Location;

/// Identifiers of variables in records.
type Id = u32;

/// A statement: an operation in a listing.
pub(crate) struct Statement<V: Number> {
    pub(crate) layout: &'static Layout<V>,
    /// The place of its data among the bytes of the listing.
    bytes: Range<usize>,
    arguments: usize,
    /// The identifier of its result.
    pub(crate) result: usize,
}

/// A comparison that has to come out as recorded.
pub(crate) struct Guard {
    /// Identifiers of the two operands.
    pub(crate) operands: [usize; 2],
    pub(crate) comparison: Comparison,
    pub(crate) outcome: i8,
    pub(crate) location: &'static Location<'static>,
}

/// A step of a listing.
pub(crate) enum Step<V: Number> {
    Statement(Statement<V>),
    /// Behind a pointer, so that steps stay small.
    Call(Box<Call<V>>),
    Guard(Guard),
}

impl<V: Number> Step<V> {
    /// The identifiers of its results; comparisons have none.
    pub(crate) fn results(&self) -> &[usize] {
        match self {
            Self::Statement(statement) => core::slice::from_ref(&statement.result),
            Self::Call(call) => &call.results,
            Self::Guard(_) => &[],
        }
    }
}

/// The statements, calls and comparisons of a recording, in their order.
pub(crate) struct Listing<V: Number> {
    pub(crate) steps: Vec<Step<V>>,
    bytes: Vec<u8>,
    /// Recorded values by identifier: constants, if there is no statement and they are no inputs.
    pub(crate) values: Vec<V>,
    /// Values by identifier that no thread uses: constants as recorded, anything for inputs and results.
    spare: Spare<Vec<V>>,
    /// Exclusive upper bound of identifiers. The operands of comparisons have identifiers behind those of the
    /// recording.
    pub(crate) known: usize,
}

impl<V: InRegisters> Listing<V> {
    /// Copies a recording.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when the recording has something that cannot be computed again.
    pub(crate) fn of(tape: &<Instructions<V> as Reverse>::Tape, calls: &mut Calls<V>) -> Result<Self, SweepError> {
        if tape.can_be_replayed().is_err() {
            return Err(SweepError::Unsupported {
                what:
                    "statements of which only partials are known (`with_partials`, `preaccumulate`, `statement`) are \
                       no instructions"
                        .into(),
            });
        }
        let values = <Instructions<V> as Replay>::values(tape).to_vec();
        let mut listing =
            Self { steps: Vec::new(), bytes: Vec::new(), known: tape.len(), values, spare: Spare::default() };
        let mut guards = tape.guards.list.iter().peekable();
        tape.up(&mut Values::Lasting(&[]), |record, number, _| {
            while let Some(guard) = guards.next_if(|guard| usize_of(guard.number) <= number) {
                listing.push_guard(tape, guard);
            }
            if let Some(entry) = record.external {
                if let Some(call) = calls.listed(entry)? {
                    listing.steps.push(Step::Call(Box::new(call)));
                }
            } else if record.is_statement() && record.arguments() > 0 {
                // Others are constants.
                listing.push(record.layout, written(record), record.arguments(), number);
            }
            Ok(())
        })?;
        guards.for_each(|guard| listing.push_guard(tape, guard));
        listing.put_in_order()?;
        Ok(listing)
    }

    /// Calls `f` with the identifier of each operand of a step, 0 for constants.
    pub(crate) fn for_each_operand(&self, step: &Step<V>, f: impl FnMut(usize)) {
        match step {
            Step::Statement(statement) => self.arguments(statement).for_each(f),
            Step::Call(call) => call.ids().for_each(f),
            Step::Guard(guard) => guard.operands.into_iter().for_each(f),
        }
    }

    /// True if one of the operands of a step has this mark.
    fn has_any(&self, step: &Step<V>, marks: &[bool]) -> bool {
        let mut found = false;
        self.for_each_operand(step, |id| found |= marks[id]);
        found
    }

    /// Moves steps behind the calls whose results they need: launches are computed where the last of those is that
    /// share views.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when a call needs what is computed of its results, and when a comparison would come
    /// behind a call that it may be there to prevent.
    fn put_in_order(&mut self) -> Result<(), SweepError> {
        if !self.steps.iter().any(|step| matches!(step, Step::Call(_))) {
            return Ok(());
        }
        let refusal = || SweepError::Unsupported {
            what: "launches are no instructions if what is computed of their results goes on into later launches over \
                   the same views, or decides about another function before those"
                .into(),
        };
        let mut is_open = vec![false; self.known];
        self.steps.iter().flat_map(Step::results).for_each(|id| is_open[*id] = true);
        let mut waiting = Vec::new();
        for step in core::mem::take(&mut self.steps) {
            if self.has_any(&step, &is_open) {
                waiting.push(step);
                continue;
            }
            let is_call = matches!(step, Step::Call(_));
            step.results().iter().for_each(|id| is_open[*id] = false);
            self.steps.push(step);
            if is_call && !waiting.is_empty() {
                for step in core::mem::take(&mut waiting) {
                    if self.has_any(&step, &is_open) {
                        waiting.push(step);
                    } else {
                        step.results().iter().for_each(|id| is_open[*id] = false);
                        self.steps.push(step);
                    }
                }
                if waiting.iter().any(|step| matches!(step, Step::Guard(_))) {
                    return Err(refusal());
                }
            }
        }
        if waiting.is_empty() { Ok(()) } else { Err(refusal()) }
    }

    /// For each identifier, whether it depends on one of these.
    pub(crate) fn dependents(&self, of: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut depends = vec![false; self.known];
        of.for_each(|id| depends[id] = true);
        for step in self.steps.iter().filter(|step| !matches!(step, Step::Guard(_))) {
            let of_any = self.has_any(step, &depends);
            step.results().iter().for_each(|id| depends[*id] = of_any);
        }
        depends
    }

    fn push(&mut self, layout: &'static Layout<V>, data: &[u8], arguments: usize, result: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(data);
        self.steps.push(Step::Statement(Statement { layout, bytes: start..self.bytes.len(), arguments, result }));
    }

    /// Lists the operands of a comparison as statements, and the comparison.
    fn push_guard(
        &mut self,
        tape: &<Instructions<V> as Reverse>::Tape,
        guard: &crate::tape::store::recording::Guard<V>,
    ) {
        let operands = guard.operands.map(|(layout, start, end)| {
            let result = self.known;
            self.known += 1;
            self.values.push(V::ZERO);
            self.push(layout, &tape.guards.bytes[start..end], layout.arguments, result);
            result
        });
        let (comparison, outcome, location) = (guard.comparison, guard.outcomes[0], guard.location);
        self.steps.push(Step::Guard(Guard { operands, comparison, outcome, location }));
    }

    /// A statement as a step of scalar computations, in the memory that begins at [`start`](Self::start).
    pub(crate) fn step(&self, statement: &Statement<V>) -> Place<V, Id> {
        Place::of(&self.data(statement), self.start(), statement.result)
    }

    /// The memory that has the data of statements.
    pub(crate) const fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// Memory for values by identifier: constants as recorded, anything for inputs and results.
    pub(super) fn take_values(&self) -> Numbers<V> {
        Numbers::take(&self.spare, || self.values.clone())
    }

    /// The recorded results of the call with this index.
    pub(crate) fn recorded_results(&self, step: usize) -> impl Iterator<Item = V> + '_ {
        self.steps[step].results().iter().map(|id| self.values[*id])
    }

    /// Panics unless there is one of these for each identifier.
    pub(crate) fn check(&self, of_variables: &[V]) {
        assert!(of_variables.len() >= self.known, "there is a number for each identifier");
    }

    /// File and line of the comparison with this index, or the name of the external function.
    pub(crate) fn place(&self, step: usize) -> (&str, Option<u32>) {
        match &self.steps[step] {
            Step::Guard(guard) => (guard.location.file(), Some(guard.location.line())),
            Step::Call(call) => (&call.name, None),
            Step::Statement(_) => unreachable!("scenarios leave at comparisons and external functions"),
        }
    }

    /// Decodes a statement, for scalar computations.
    pub(crate) fn data(&self, statement: &Statement<V>) -> AnyData<'_, V, Id> {
        data_in(statement.layout, &self.bytes[statement.bytes.clone()], statement.arguments, self.known)
    }

    /// The identifiers of the arguments of a statement, 0 for passive ones.
    fn arguments(&self, statement: &Statement<V>) -> impl Iterator<Item = usize> + '_ {
        let (_, ids) = self.numbers_and_ids(statement);
        ids.chunks_exact(size_of::<Id>()).map(|id| bytemuck::pod_read_unaligned::<Id>(id) as usize)
    }

    /// The arguments of a statement, and behind them its constants.
    pub(crate) fn operands(&self, statement: &Statement<V>) -> impl Iterator<Item = Leaf<V>> + '_ {
        let (numbers, _) = self.numbers_and_ids(statement);
        let number = |k| Leaf::Passive(bytemuck::pod_read_unaligned(&numbers[k * size_of::<V>()..][..size_of::<V>()]));
        // Values of passive arguments stand in front, last first.
        let passives = self.arguments(statement).filter(|id| *id == 0).count();
        let mut left = passives;
        let arguments = self.arguments(statement).map(move |id| {
            if id == 0 {
                left -= 1;
                number(left)
            } else {
                Leaf::Variable(id)
            }
        });
        arguments.chain((passives..numbers.len() / size_of::<V>()).map(number))
    }

    /// The data of a statement: numbers, and the identifiers of the arguments.
    fn numbers_and_ids(&self, statement: &Statement<V>) -> (&[u8], &[u8]) {
        let bytes = &self.bytes[statement.bytes.clone()];
        bytes.split_at(bytes.len() - statement.arguments * size_of::<Id>())
    }
}
