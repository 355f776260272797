//! Workloads in stages that are recorded one at a time when a sweep gets to them.

use crate::cli::Request;
use crate::strategies::Strategy;
use crate::taped::{Contender, Taped};
use tapewright::{Error, Jacobian, Tape};
use tapewright_problems::Problem;

impl Strategy {
    /// `Jacobian`, in stages.
    pub(crate) const CHECKPOINTED: Self = Self { records: "jacobian", indices: "linear", layer: "checkpointed" };

    pub(crate) fn is_checkpointed(self) -> bool {
        self == Self::CHECKPOINTED
    }
}

/// Puts a workload that has stages on a tape.
pub(crate) fn run<'p, P: Problem>(problem: &'p P, _: &Request) -> Result<Box<dyn Contender + 'p>, Error> {
    Ok(Box::new(Taped::<Jacobian, P, true>::new(problem, Tape::new())?))
}
