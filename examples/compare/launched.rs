//! Workloads as kernels over arrays, which are recorded as whole loops.

use crate::cli::Request;
use crate::rounds::{Parts, Pass};
use crate::strategies::Strategy;
use crate::taped::Contender;
use std::hint::black_box;
use tapewright::kernels::View;
use tapewright::{Error, Jacobian, MemoryReport, Real, Tape};
use tapewright_problems::Problem;

impl Strategy {
    /// `Jacobian`, with a record for each loop.
    pub(crate) const KERNELS: Self = Self { records: "jacobian", indices: "linear", layer: "kernels" };

    pub(crate) fn is_kernels(self) -> bool {
        self == Self::KERNELS
    }
}

/// A problem and a tape.
struct Launched<'p, P> {
    problem: &'p P,
    tape: Tape<Jacobian>,
    x: Vec<f64>,
    found: (f64, Vec<f64>),
    memory: MemoryReport,
}

/// Records the problem at `x`.
fn record<P: Problem>(problem: &P, tape: &mut Tape<Jacobian>, x: &[f64]) -> (View<Jacobian, 1>, Real<Jacobian>) {
    tape.record(|scope| {
        let x = scope.view([x.len()], x);
        let output = problem.eval_by_kernels(&x);
        (x, output)
    })
}

/// Puts a workload that is made of kernels on a tape.
pub(crate) fn run<'p, P: Problem>(problem: &'p P, _: &Request) -> Result<Box<dyn Contender + 'p>, Error> {
    let (mut tape, x) = (Tape::new(), problem.inputs(0));
    let (inputs, output) = record(problem, &mut tape, &x);
    let gradient = tape.sweep(&[(&output, 1.0)])?.of_view(&inputs)?.to_vec();
    let memory = tape.memory();
    Ok(Box::new(Launched { problem, tape, x, found: (output.value(), gradient), memory }))
}

impl<P: Problem> Contender for Launched<'_, P> {
    fn found(&self) -> &(f64, Vec<f64>) {
        &self.found
    }

    fn memory(&self) -> &MemoryReport {
        &self.memory
    }

    fn pass(&mut self, pass: &Pass) -> Result<Parts, Error> {
        let (mut recording, mut reverse) = (0.0, 0.0);
        for _ in 0..pass.count {
            let start = (pass.clock)();
            let (inputs, output) = record(self.problem, &mut self.tape, black_box(&self.x));
            let recorded = (pass.clock)();
            let adjoints = self.tape.sweep(&[(&output, 1.0)])?;
            self.found.1.copy_from_slice(&adjoints.of_view(&inputs)?);
            black_box(self.found.1.as_slice());
            recording += recorded - start;
            reverse += (pass.clock)() - recorded;
        }
        let count = pass.count as f64;
        Ok(Parts { record: recording / count, total: (recording + reverse) / count })
    }
}
