//! One strategy together with the program that it runs.

use crate::advisor::program::Program;
use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use std::hint::black_box;
use std::time::Instant;
use tapewright_strategies::{MemoryReport, Passive, Reverse};

/// Work that is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Recording.
    Record,
    /// Recording and a sweep.
    Gradient,
}

/// Participant in a comparison.
pub(crate) trait Entrant {
    /// Computes the value, and the gradient if the entrant has one.
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error>;

    /// Bytes of the latest recording.
    fn memory(&self) -> MemoryReport;

    /// Does the work this many times, and returns the seconds that it took.
    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error>;
}

/// A program under a strategy that has a tape.
pub(crate) struct Taped<'x, S: Reverse, F> {
    function: F,
    x: &'x [f64],
    tape: Tape<S>,
    variables: Vec<Real<S>>,
    gradient: Vec<f64>,
}

impl<'x, S: Reverse<Value = f64>, F: Fn(&[Real<S>]) -> Real<S>> Taped<'x, S, F> {
    pub(crate) fn new(function: F, x: &'x [f64]) -> Self {
        Self { function, x, tape: Tape::new(), variables: Vec::new(), gradient: vec![0.0; x.len()] }
    }

    fn record(&mut self) -> Result<(), Error> {
        let Self { function, x, tape, variables, .. } = self;
        let run = |scope: &mut crate::tape::Scope<'_, S>| {
            scope.inputs_into(black_box(x), variables);
            black_box(function(variables));
        };
        if S::SPILLS {
            return tape.try_record(run);
        }
        tape.record(run);
        Ok(())
    }
}

impl<S: Reverse<Value = f64>, F: Fn(&[Real<S>]) -> Real<S>> Entrant for Taped<'_, S, F> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        let value = self.tape.gradient(&self.function, self.x, &mut self.gradient)?;
        Ok((value, self.gradient.clone()))
    }

    fn memory(&self) -> MemoryReport {
        self.tape.memory()
    }

    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        let start = Instant::now();
        for _ in 0..count {
            match work {
                Work::Record => self.record()?,
                Work::Gradient => {
                    let Self { function, x, tape, gradient, .. } = self;
                    tape.gradient(&*function, black_box(x), gradient)?;
                    black_box(gradient.as_slice());
                }
            }
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The function itself, on plain floats.
pub(crate) struct Plain<'x, F>(pub(crate) F, pub(crate) &'x [f64]);

impl<F: Fn(&[f64]) -> f64> Entrant for Plain<'_, F> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        Ok(((self.0)(self.1), Vec::new()))
    }

    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }

    fn pass(&mut self, _: Work, count: usize) -> Result<f64, Error> {
        let start = Instant::now();
        for _ in 0..count {
            black_box((self.0)(black_box(self.1)));
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Makes the entrant of a strategy, if the program can be run under it.
pub(crate) type Start<'p> = Box<dyn Fn() -> Option<Box<dyn Entrant + 'p>> + 'p>;

/// A program on plain floats.
pub(crate) fn plain<'p, P: Program>(program: &'p P, x: &'p [f64]) -> Box<dyn Entrant + 'p> {
    Box::new(Plain(move |x: &[f64]| program.run::<Passive>(Real::wrap_slice(x)).value(), x))
}
