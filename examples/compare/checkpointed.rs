//! Workloads in stages that are recorded one at a time when a sweep gets to them.

use crate::cli::Request;
use crate::strategies::Strategy;
use crate::taped::{Contender, Form, Taped};
use tapewright::{Error, Jacobian, Real, Reverse, Tape};
use tapewright_problems::Problem;

impl Strategy {
    /// `Jacobian`, in stages.
    pub(crate) const CHECKPOINTED: Self = Self { records: "jacobian", indices: "linear", layer: "checkpointed" };

    pub(crate) fn is_checkpointed(self) -> bool {
        self == Self::CHECKPOINTED
    }
}

struct Stages;
impl Form for Stages {
    const STAGES: bool = true;

    fn eval<S: Reverse<Value = f64>, P: Problem>(problem: &P, k: usize, x: &[Real<S>]) -> Real<S> {
        problem.eval_in_stages(k, x)
    }
}

/// Puts a workload that has stages on a tape.
pub(crate) fn run<'p, P: Problem>(problem: &'p P, _: &Request) -> Result<Box<dyn Contender + 'p>, Error> {
    Ok(Box::new(Taped::<Jacobian, P, Stages>::new(problem, Tape::new())?))
}
