//! The memory of a program, predicted.

use super::program::{Kept, Program, ROWS};
use crate::error::Error;
use core::fmt;
use tapewright_strategies::program::Slopes;
use tapewright_strategies::{InRegisters, SweepError};

/// The memory in which a thread runs a program, predicted by [`Program::footprint`]. Beside it are the results of each
/// call, and once for all threads the recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Number of scenarios in a block.
    pub scenarios: usize,
    /// Number of instructions for each block.
    pub instructions: usize,
    /// Number of statements that depend on parameters only, and are computed once for a call.
    pub once: usize,
    /// Memory for [`Program::values`].
    pub values: OfThread,
    /// Memory for [`Program::gradient`].
    pub gradient: OfThread,
    /// Memory for [`Program::gradients`].
    pub gradients: OfThread,
}

/// Bytes of memory of a thread that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfThread {
    /// All bytes.
    pub bytes: usize,
    /// Those for each scenario of a block, among them.
    pub bytes_of_scenario: usize,
}

impl<V: InRegisters> Program<'_, V> {
    /// Predicts, to the byte, in how much memory a thread computes scenarios that branch like the one with these data.
    /// The function is recorded for it, and the recording is not kept.
    ///
    /// # Errors
    ///
    /// [`Error::Sweep`] with [`SweepError::Unsupported`] when the recording has something that is no instruction, so
    /// that scenarios are recorded alone; and the errors of [`values`](Program::values).
    ///
    /// # Panics
    ///
    /// When `f` does.
    ///
    /// ```
    /// use tapewright::programs::Program;
    ///
    /// let program = Program::new(|p, d| [(p[0].exp() * d[0]).sin().eval()]);
    /// let footprint = program.footprint(&[1.0], &[2.0])?;
    /// assert_eq!((footprint.scenarios, footprint.instructions), (64, 1));
    /// println!("{footprint}");
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn footprint(&self, parameters: &[V], data: &[V]) -> Result<Footprint, Error> {
        let pattern = match self.record(parameters, data)? {
            Kept::Pattern(pattern) => pattern,
            Kept::Refused(why) => return Err(SweepError::Unsupported { what: why.to_string() }.into()),
        };
        let memory = |slopes| {
            let (bytes, bytes_of_scenario) = pattern.bytes(slopes);
            OfThread { bytes: bytes + ROWS * data.len() * size_of::<V>(), bytes_of_scenario }
        };
        let (instructions, once) = pattern.lengths(Slopes::All);
        Ok(Footprint {
            scenarios: pattern.width(),
            instructions,
            once,
            values: memory(Slopes::Nothing),
            gradient: memory(Slopes::Parameters),
            gradients: memory(Slopes::All),
        })
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenarios, instructions, once, values, gradient, gradients } = self;
        write!(
            f,
            "{instructions} instructions for blocks of {scenarios} scenarios, {once} statements once for a call"
        )?;
        [("values", values), ("gradient", gradient), ("gradients", gradients)].into_iter().try_for_each(|(name, of)| {
            let OfThread { bytes, bytes_of_scenario } = of;
            write!(f, "\n{name}: {bytes} bytes a thread, {bytes_of_scenario} for each scenario of a block")
        })
    }
}
