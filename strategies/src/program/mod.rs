//! Recordings as programs: recorded once, and run for many scenarios.
//!
//! ```text
//! tape ──▶ listing ──▶ lower ──▶ run
//!          statements   what differs between scenarios,   blocks of scenarios, forward and in reverse,
//!                       and where it lies                  by the functions of each type of statement
//! ```
//!
//! Files, each importing from those before it only: `spare`, `launches`, `calls`, `listing`, `scalar`, `lower`,
//! `lanes`, `run`.
//! A statement is an instruction: its type has functions over blocks (`tape::format::block`), compiled where
//! [`Instructions`](crate::Instructions) records. The crate `tapewright` chooses scenarios, patterns of branches, and
//! threads.

mod calls;
mod lanes;
mod launches;
mod listing;
mod lower;
mod run;
mod scalar;
mod spare;

use crate::contract::Comparison;
use crate::storage::LINE;
use crate::strategies::Instructions;
use crate::{InRegisters, Number, Reverse, SweepError};
use core::fmt;
use core::ops::Range;
use listing::{Listing, Step};
use lower::{Program, Question};
use scalar::Scalars;
use spare::Spare;
use std::sync::OnceLock;

pub use calls::{Calls, Lent};
pub use lanes::into_columns;
pub use run::{Found, Room, Uniform};
pub use spare::SpareLines;

/// The derivatives that are asked of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slopes {
    /// None.
    Nothing,
    /// Those of means by parameters.
    Parameters,
    /// Those of each scenario by its data, too.
    All,
}

/// A recording as a program, for all scenarios that take the recorded branches.
pub struct Pattern<V: Number> {
    listing: Listing<V>,
    /// Number of calls of external functions, and those that are not in use.
    calls: usize,
    spare: Spare<Calls<V>>,
    lines: SpareLines,
    parameters: Range<usize>,
    data: Range<usize>,
    /// Number of data by which there are derivatives, from the first one.
    active: usize,
    outputs: Vec<(usize, V)>,
    width: usize,
    /// The programs for each [`Slopes`], made when they are first asked for.
    programs: [OnceLock<Program<V>>; 3],
    /// What decides if a scenario takes the recorded branches.
    comparisons: OnceLock<Scalars<V>>,
}

impl<V: InRegisters> Pattern<V> {
    /// Makes a program of the recording on a tape. Inputs and outputs are given by their identifiers, 0 for outputs
    /// that depend on no input; these have the given values. `width` is the number of scenarios in a block; if it is 1,
    /// all statements are computed by scalar functions, with the bits of replays. `calls` are those of the
    /// recording, `lines` those of the function.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when the recording has something that cannot be computed again.
    ///
    /// # Panics
    ///
    /// When the width is neither 1 nor a multiple of the numbers in 64 bytes.
    pub fn new(
        (tape, mut calls): (&<Instructions<V> as Reverse>::Tape, Calls<V>),
        (parameters, data): (Range<usize>, Range<usize>),
        outputs: Vec<(usize, V)>,
        (width, lines): (usize, &SpareLines),
    ) -> Result<Self, SweepError> {
        let least = Self::LEAST_WIDTH;
        let fits = width == 1 || width > 0 && width.is_multiple_of(least);
        assert!(fits, "a block has {width} scenarios: neither 1 nor a multiple of {least}");
        let (listing, active) = (Listing::of(tape, &mut calls)?, data.len());
        let (programs, comparisons) = ([const { OnceLock::new() }; 3], OnceLock::new());
        let (count, spare) = (calls.entries.len(), Spare::default());
        drop(Lent::of(calls, &spare));
        let lines = lines.clone();
        Ok(Self {
            listing,
            calls: count,
            spare,
            lines,
            parameters,
            data,
            active,
            outputs,
            width,
            programs,
            comparisons,
        })
    }

    /// Lends external functions to a thread. If all are in use, `again(parameters, data)` records them once more.
    ///
    /// # Errors
    ///
    /// Those of `again`.
    ///
    /// # Panics
    ///
    /// When another number of calls is recorded than before.
    pub fn lend<E>(&self, again: impl FnOnce(&[V], &[V]) -> Result<Calls<V>, E>) -> Result<Lent<V>, E> {
        let spare = self.spare.take();
        let [parameters, data] = [&self.parameters, &self.data].map(|inputs| &self.listing.values[inputs.clone()]);
        let calls = spare.map_or_else(|| again(parameters, data), Ok)?;
        let (expected, found) = (self.calls, calls.entries.len());
        assert!(expected == found, "the function of a program called {expected} external functions, and now {found}");
        Ok(Lent::of(calls, &self.spare))
    }

    /// Sets the number of data by which there are derivatives: the first ones. By default all data have some.
    #[must_use]
    pub fn by_first(self, active: usize) -> Self {
        Self { active: active.min(self.data.len()), ..self }
    }

    /// Number of scenarios in the smallest block that is computed in registers.
    pub const LEAST_WIDTH: usize = LINE / size_of::<V::Part>();

    fn program(&self, slopes: Slopes) -> &Program<V> {
        self.programs[slopes as usize].get_or_init(|| {
            let question = Question {
                parameters: self.parameters.clone(),
                data: self.data.clone(),
                by_parameters: slopes != Slopes::Nothing,
                by_data: if slopes == Slopes::All { self.active } else { 0 },
                outputs: self.outputs.clone(),
                width: self.width,
            };
            Program::new(&self.listing, question, &self.lines)
        })
    }

    /// Returns true if a scenario takes the recorded branches, computed by itself. In registers functions may be
    /// rounded otherwise, and so may what is compared. `calls` are lent to it if it needs any.
    ///
    /// # Errors
    ///
    /// Those of `calls`.
    ///
    /// # Panics
    ///
    /// When there are not as many parameters and data as [`counts`](Self::counts) says.
    pub fn fits<E>(&self, parameters: &[V], data: &[V], calls: impl FnOnce() -> Result<Lent<V>, E>) -> Result<bool, E> {
        let comparisons = self.comparisons.get_or_init(|| Scalars::of_comparisons(&self.listing));
        if comparisons.is_empty() {
            return Ok(true);
        }
        let mut values = self.listing.take_values();
        for (inputs, numbers) in [(&self.parameters, parameters), (&self.data, data)] {
            values[inputs.clone()].copy_from_slice(numbers);
        }
        let mut calls = self.lent_if(comparisons.has_calls, calls)?;
        Ok(comparisons.compute(&self.listing, &mut calls.calls, &mut values).is_ok())
    }

    /// Computes what is the same for all scenarios. Returns `None` where a comparison of parameters comes out otherwise
    /// than recorded, or an external function fails.
    ///
    /// # Errors
    ///
    /// Those of `calls`.
    pub fn uniform<E>(
        &self,
        slopes: Slopes,
        calls: impl FnOnce() -> Result<Lent<V>, E>,
        parameters: &[V],
    ) -> Result<Option<Uniform<V>>, E> {
        let program = self.program(slopes);
        let calls = self.lent_if(program.uniform.has_calls, calls)?;
        Ok(program.uniform(&self.listing, calls, parameters))
    }

    fn lent_if<E>(&self, needs: bool, calls: impl FnOnce() -> Result<Lent<V>, E>) -> Result<Lent<V>, E> {
        if needs { calls() } else { Ok(Lent::of(Calls::default(), &self.spare)) }
    }

    /// Returns memory for one thread, filled with what is the same for all scenarios.
    ///
    /// # Errors
    ///
    /// Those of `calls`.
    pub fn room<E>(
        &self,
        slopes: Slopes,
        calls: impl FnOnce() -> Result<Lent<V>, E>,
        uniform: &Uniform<V>,
    ) -> Result<Room<V>, E> {
        let program = self.program(slopes);
        let calls = self.lent_if(program.has_calls(), calls)?;
        Ok(program.room(&self.listing, calls, uniform))
    }

    /// Computes some scenarios, given by their indices. `data(indices, columns)` writes the data of a block of them:
    /// all data have columns of one length, one behind the other, with a number for each scenario in front. `found`
    /// gets the derivatives of each output by each datum that has some: scenario by scenario, output by output.
    ///
    /// # Errors
    ///
    /// Those of external functions.
    ///
    /// # Panics
    ///
    /// When `found` does not have the length that [`slopes`](Self::slopes) says.
    pub fn run(
        &self,
        slopes: Slopes,
        memory: (&mut Room<V>, &Uniform<V>),
        scenarios: &[usize],
        data: &mut dyn FnMut(&[usize], &mut [V]),
        found: &mut [V],
    ) -> Result<Found<V>, SweepError> {
        self.program(slopes).run(&self.listing, memory, scenarios, data, found)
    }

    /// Number of derivatives of each scenario, by data.
    #[must_use]
    pub fn slopes(&self, slopes: Slopes) -> usize {
        self.outputs.len() * self.program(slopes).question.by_data
    }

    /// Returns the gradient by parameters of the sum of an output over `count` scenarios, given the sums that their
    /// runs found.
    ///
    /// # Errors
    ///
    /// Those of external functions.
    pub fn finish(
        &self,
        slopes: Slopes,
        uniform: &Uniform<V>,
        output: (usize, usize),
        sums: &[V],
    ) -> Result<Vec<V>, SweepError> {
        self.program(slopes).finish(&self.listing, uniform, output, sums)
    }

    /// Numbers of parameters, of data and of outputs.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.parameters.len(), self.data.len(), self.outputs.len())
    }

    /// File and line of the comparison with this index, as [`Found::others`] gives it, or the name of an external
    /// function that failed.
    #[must_use]
    pub fn place(&self, step: usize) -> (&str, Option<u32>) {
        self.listing.place(step)
    }

    /// Returns true if the comparison with this index is with a value that was read.
    #[must_use]
    pub fn is_read(&self, step: usize) -> bool {
        matches!(&self.listing.steps[step], Step::Guard(guard) if guard.comparison == Comparison::Read)
    }

    /// Number of instructions for each scenario, and of statements that are computed once for all of them.
    #[must_use]
    pub fn lengths(&self, slopes: Slopes) -> (usize, usize) {
        let program = self.program(slopes);
        (program.instructions.len() + program.each.len(), program.uniform.len())
    }

    /// Bytes of memory of a thread: in all, and for each scenario of a block.
    #[must_use]
    pub fn bytes(&self, slopes: Slopes) -> (usize, usize) {
        self.program(slopes).bytes(&self.listing)
    }

    /// Number of scenarios in a block.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }
}

impl<V: InRegisters> fmt::Debug for Pattern<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "A program of {} steps in blocks of {} scenarios", self.listing.steps.len(), self.width)
    }
}
