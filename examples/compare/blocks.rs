//! Workloads of small blocks, each of which is one statement.

use crate::cli::Request;
use crate::strategies::Strategy;
use crate::taped::{Contender, Form, Taped};
use tapewright::{Error, Jacobian, Real, Reverse, Tape};
use tapewright_problems::Problem;

impl Strategy {
    /// `Jacobian`, with a statement for each block.
    pub(crate) const BLOCKS: Self = Self { records: "jacobian", indices: "linear", layer: "blocks" };

    pub(crate) fn is_blocks(self) -> bool {
        self == Self::BLOCKS
    }
}

struct Blocks;
impl Form for Blocks {
    #[inline(always)]
    fn eval<S: Reverse<Value = f64>, P: Problem>(problem: &P, k: usize, x: &[Real<S>]) -> Real<S> {
        problem.eval_in_blocks(k, x)
    }
}

/// Puts a workload that has blocks on a tape.
pub(crate) fn run<'p, P: Problem>(problem: &'p P, _: &Request) -> Result<Box<dyn Contender + 'p>, Error> {
    Ok(Box::new(Taped::<Jacobian, P, Blocks>::new(problem, Tape::new())?))
}
