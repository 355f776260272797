//! A workload on the tape of one strategy.

use crate::rounds::{Parts, Pass, Split};
use std::hint::black_box;
use std::marker::PhantomData;
use tapewright::{Error, MemoryReport, Real, Reverse, Tape};
use tapewright_problems::{Problem, total};

/// A strategy that has computed the gradient and can be timed.
pub(crate) trait Contender {
    /// The value and the gradient, summed over all evaluations.
    fn found(&self) -> &(f64, Vec<f64>);

    /// The bytes of the last evaluation's recording.
    fn memory(&self) -> &MemoryReport;

    /// Times one pass.
    fn pass(&mut self, pass: &Pass) -> Result<Parts, Error>;
}

/// In which form a workload is recorded.
pub(crate) trait Form {
    /// Whether a sweep uses up what it needs to record anew.
    const STAGES: bool = false;

    fn eval<S: Reverse<Value = f64>, P: Problem>(problem: &P, k: usize, x: &[Real<S>]) -> Real<S>;
}

/// As a whole.
pub(crate) struct Whole;
impl Form for Whole {
    #[inline(always)]
    fn eval<S: Reverse<Value = f64>, P: Problem>(problem: &P, k: usize, x: &[Real<S>]) -> Real<S> {
        problem.eval(k, x)
    }
}

/// A problem and a tape.
pub(crate) struct Taped<'p, S: Reverse, P, F = Whole> {
    problem: &'p P,
    form: PhantomData<F>,
    tape: Tape<S>,
    found: (f64, Vec<f64>),
    memory: MemoryReport,
    x: Vec<f64>,
    variables: Vec<Real<S>>,
    gradient: Vec<f64>,
}

impl<'p, S: Reverse<Value = f64>, P: Problem, F: Form> Taped<'p, S, P, F> {
    /// Computes all gradients once.
    pub(crate) fn new(problem: &'p P, mut tape: Tape<S>) -> Result<Self, Error> {
        let mut failure = Ok(0.0);
        let found = total(problem, |k, x, gradient| {
            let value = tape.gradient(|x: &[Real<S>]| Self::eval(problem, k, x), x, gradient);
            value.unwrap_or_else(|error| {
                failure = Err(error);
                f64::NAN
            })
        });
        failure?;
        let (gradient, x) = (found.1.clone(), problem.inputs(0));
        if F::STAGES {
            // A sweep uses snapshots up.
            tape.record(|scope| Self::eval(problem, problem.evaluations() - 1, &scope.inputs(&x)));
        }
        let memory = tape.memory();
        Ok(Self { problem, form: PhantomData, tape, found, memory, x, variables: Vec::new(), gradient })
    }

    #[inline(always)]
    fn eval(problem: &P, k: usize, x: &[Real<S>]) -> Real<S> {
        F::eval(problem, k, x)
    }

    /// Records and sweeps; seconds of both, each by its own clock.
    fn by_clock(&mut self, pass: &Pass) -> Result<(f64, f64), Error> {
        let Self { problem, tape, x, variables, gradient, .. } = self;
        let (mut record, mut reverse) = (0.0, 0.0);
        for k in pass.evaluations(problem.evaluations()) {
            problem.inputs_into(k, x);
            let start = (pass.clock)();
            let output = tape.record(|scope| {
                scope.inputs_into(black_box(x), variables);
                Self::eval(problem, k, variables)
            });
            let recorded = (pass.clock)();
            tape.sweep(&[(&output, 1.0)])?.write(variables, gradient)?;
            black_box(gradient.as_slice());
            reverse += (pass.clock)() - recorded;
            record += recorded - start;
        }
        Ok((record, record + reverse))
    }

    /// Records all, then records and sweeps all; seconds of both.
    fn by_difference(&mut self, pass: &Pass) -> Result<(f64, f64), Error> {
        let Self { problem, tape, x, variables, gradient, .. } = self;
        let start = (pass.clock)();
        for k in pass.evaluations(problem.evaluations()) {
            problem.inputs_into(k, x);
            tape.record(|scope| {
                scope.inputs_into(black_box(x), variables);
                black_box(Self::eval(problem, k, variables));
            });
        }
        let recorded = (pass.clock)();
        for k in pass.evaluations(problem.evaluations()) {
            problem.inputs_into(k, x);
            tape.gradient(|x: &[Real<S>]| Self::eval(problem, k, x), black_box(x), gradient)?;
            black_box(gradient.as_slice());
        }
        Ok((recorded - start, (pass.clock)() - recorded))
    }
}

impl<S: Reverse<Value = f64>, P: Problem, F: Form> Contender for Taped<'_, S, P, F> {
    fn found(&self) -> &(f64, Vec<f64>) {
        &self.found
    }

    fn memory(&self) -> &MemoryReport {
        &self.memory
    }

    fn pass(&mut self, pass: &Pass) -> Result<Parts, Error> {
        let (record, total) = match pass.split {
            Split::Clock => self.by_clock(pass)?,
            Split::Difference => self.by_difference(pass)?,
        };
        let count = pass.count as f64;
        Ok(Parts { record: record / count, total: total / count })
    }
}
