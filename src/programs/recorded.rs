//! The function of a program, recorded at some inputs.

use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use core::ops::Range;
use tapewright_strategies::program::{Calls, Pattern, Slopes, SpareLines};
use tapewright_strategies::{InRegisters, Instructions, Reverse, SweepError};

/// A variable of a function that becomes a [`Program`](super::Program).
pub type ProgramReal<V = f64> = Real<Instructions<V>>;

pub(super) type Function<'f, V> =
    dyn Fn(&[ProgramReal<V>], &[ProgramReal<V>]) -> Vec<ProgramReal<V>> + Send + Sync + 'f;

impl<V: InRegisters> Tape<Instructions<V>> {
    /// Takes the external functions out of the recording.
    fn take_calls(&mut self) -> Calls<V> {
        Calls::of(self.owned_mut())
    }
}

/// Bytes of values that the blocks of a program should not exceed.
const MOST_BYTES: usize = 16 << 20;

/// The function, recorded at some inputs.
pub(super) struct Recorded<'t, V: InRegisters> {
    tape: &'t mut Tape<Instructions<V>>,
    inputs: [Vec<ProgramReal<V>>; 2],
    outputs: Vec<ProgramReal<V>>,
}

impl<'t, V: InRegisters> Recorded<'t, V> {
    pub(super) fn on(
        tape: &'t mut Tape<Instructions<V>>,
        function: &Function<'_, V>,
        parameters: &[V],
        data: &[V],
    ) -> Result<Self, Error> {
        let (inputs, outputs) = tape.try_record(|scope| {
            let inputs = [scope.inputs(parameters), scope.inputs(data)];
            let outputs = function(&inputs[0], &inputs[1]);
            (inputs, outputs)
        })?;
        Ok(Self { tape, inputs, outputs })
    }

    /// The recording as a program.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when it has something that is no instruction.
    pub(super) fn pattern(self, width: Option<usize>, lines: &SpareLines) -> Result<Pattern<V>, Error> {
        if let Some(what) = self.tape.constants() {
            return Err(Error::Sweep(SweepError::Unsupported { what: what.into() }));
        }
        let range = |inputs: &[ProgramReal<V>]| -> Result<Range<usize>, Error> {
            let first = inputs.first().map_or(Ok(None), |input| self.tape.slot(input))?.unwrap_or(0);
            Ok(first..first + inputs.len())
        };
        let output = |output: &ProgramReal<V>| Ok::<_, Error>((self.tape.slot(output)?.unwrap_or(0), output.peek()));
        let outputs = self.outputs.iter().map(output).collect::<Result<Vec<_>, _>>()?;
        let inputs = (range(&self.inputs[0])?, range(&self.inputs[1])?);
        let calls = self.tape.take_calls();
        let tape = self.tape.records();
        let most = MOST_BYTES / size_of::<V>() / Instructions::<V>::identifiers(tape);
        let widest = 8 * Pattern::<V>::LEAST_WIDTH;
        let width =
            width.unwrap_or_else(|| widest.min((most + 1).next_power_of_two() / 2).max(Pattern::<V>::LEAST_WIDTH));
        Ok(Pattern::new((tape, calls), inputs, outputs, (width, lines))?)
    }

    /// The external functions of the recording.
    pub(super) fn calls(self) -> Calls<V> {
        self.tape.take_calls()
    }

    /// The values and derivatives at the inputs of the recording, by this many of its data.
    pub(super) fn alone(&mut self, slopes: Slopes, active: usize) -> Result<Alone<V>, Error> {
        let values = self.outputs.iter().map(Real::peek).collect();
        let mut found = Alone { values, by_parameters: Vec::new(), by_data: Vec::new() };
        if slopes == Slopes::Nothing {
            return Ok(found);
        }
        for output in &self.outputs {
            let adjoints = self.tape.sweep(&[(output, V::ONE)])?;
            found.by_parameters.push(adjoints.of_all(&self.inputs[0])?);
            if slopes == Slopes::All {
                found.by_data.push(adjoints.of_all(&self.inputs[1][..active.min(self.inputs[1].len())])?);
            }
        }
        Ok(found)
    }
}

/// Results of one scenario: values of outputs, and gradients of each, empty if they were not asked for.
pub(crate) struct Alone<V> {
    pub(crate) values: Vec<V>,
    pub(super) by_parameters: Vec<Vec<V>>,
    pub(crate) by_data: Vec<Vec<V>>,
}
