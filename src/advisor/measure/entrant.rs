//! One strategy together with the program that it runs.

use crate::advisor::program::Program;
use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;
use tapewright_strategies::{MemoryReport, Passive, Reverse};

/// Work that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Recording.
    Record,
    /// Recording and a sweep.
    Gradient,
}

/// Participant in a comparison: a program under one strategy, or any other code that computes the same gradient, such
/// as an adjoint that is written by hand; see [`Contest::enter`](crate::advisor::Contest::enter).
pub trait Entrant {
    /// Computes the value and the gradient, summed over all [evaluations](Program::evaluations).
    ///
    /// # Errors
    ///
    /// The errors of the program.
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error>;

    /// Bytes of the latest recording; the default of a [`MemoryReport`] if there is none.
    fn memory(&self) -> MemoryReport;

    /// Does the work for this many evaluations, the next ones each time, and returns the seconds that it took; 0 for
    /// recordings if nothing is recorded.
    ///
    /// # Errors
    ///
    /// The errors of the program.
    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error>;

    /// Seconds that the recording took in the latest pass, if that was one gradient and the entrant looked at the clock
    /// before its sweep. Otherwise recordings are timed in passes of their own, which long programs are better without.
    fn recorded(&self) -> Option<f64> {
        None
    }
}

/// Seconds since some time in the past.
pub(crate) type Clock = fn() -> f64;

/// The time that passes.
pub(crate) fn wall() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64()
}

/// Evaluations of a program, one after the other.
pub(crate) struct Evaluations<'p, P> {
    program: &'p P,
    x: Vec<f64>,
    clock: Clock,
    next: usize,
}

impl<'p, P: Program> Evaluations<'p, P> {
    pub(crate) fn new(program: &'p P, x: &[f64], clock: Clock) -> Self {
        Self { program, x: x.to_vec(), clock, next: 0 }
    }

    /// Runs the next evaluations, each at its inputs, and returns the seconds that they took.
    pub(crate) fn run(&mut self, count: usize, mut one: impl FnMut(&[f64]) -> Result<(), Error>) -> Result<f64, Error> {
        let start = (self.clock)();
        for _ in 0..count {
            self.program.prepare(self.next, &mut self.x);
            self.next = if self.next + 1 < self.program.evaluations() { self.next + 1 } else { 0 };
            one(black_box(&self.x))?;
        }
        Ok((self.clock)() - start)
    }

    /// Sums value and gradient over all evaluations.
    pub(crate) fn sum(
        &mut self,
        mut one: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), Error>,
    ) -> Result<(f64, Vec<f64>), Error> {
        let mut sum: Option<(f64, Vec<f64>)> = None;
        self.next = 0;
        self.run(self.program.evaluations(), |x| {
            let (value, gradient) = one(x)?;
            if let Some((values, gradients)) = &mut sum {
                *values += value;
                gradients.iter_mut().zip(&gradient).for_each(|(sum, entry)| *sum += entry);
            } else {
                sum = Some((value, gradient));
            }
            Ok(())
        })?;
        Ok(sum.expect("a program has an evaluation"))
    }
}

/// A program under a strategy that has a tape.
pub(crate) struct Taped<'p, S: Reverse, P, F> {
    evaluations: Evaluations<'p, P>,
    function: F,
    tape: Tape<S>,
    variables: Vec<Real<S>>,
    gradient: Vec<f64>,
    recorded: Option<f64>,
}

/// Computes a gradient, and its value. With a clock, returns the seconds until the sweep begins, too.
fn timed<S: Reverse<Value = f64>>(
    tape: &mut Tape<S>,
    function: impl Fn(&[Real<S>]) -> Real<S>,
    x: &[f64],
    gradient: &mut [f64],
    clock: Option<Clock>,
) -> Result<(f64, Option<f64>), Error> {
    let started = clock.map(|clock| (clock, clock()));
    let mut recorded = None;
    let run = |x: &[Real<S>]| {
        let y = function(x);
        recorded = started.map(|(clock, start)| clock() - start);
        y
    };
    let value = tape.gradient(run, x, gradient)?;
    Ok((value, recorded))
}

impl<'p, S: Reverse<Value = f64>, P: Program, F: Fn(&[Real<S>]) -> Real<S>> Taped<'p, S, P, F> {
    /// An entrant that is timed by this clock, or by the time that passes if the tape may have to wait for a disk.
    pub(crate) fn new(program: &'p P, x: &[f64], clock: Clock, tape: Tape<S>, function: F) -> Self {
        let evaluations = Evaluations::new(program, x, if S::SPILLS { wall } else { clock });
        Self { evaluations, function, tape, variables: Vec::new(), gradient: vec![0.0; x.len()], recorded: None }
    }
}

impl<S: Reverse<Value = f64>, P: Program, F: Fn(&[Real<S>]) -> Real<S>> Entrant for Taped<'_, S, P, F> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        let Self { evaluations, function, tape, gradient, .. } = self;
        evaluations.sum(|x| Ok((timed(tape, &*function, x, gradient, None)?.0, gradient.clone())))
    }

    fn memory(&self) -> MemoryReport {
        self.tape.memory()
    }

    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        let Self { evaluations, function, tape, variables, gradient, recorded } = self;
        let clock = (count == 1).then_some(evaluations.clock);
        *recorded = None;
        evaluations.run(count, |x| {
            let run = |scope: &mut crate::tape::Scope<'_, S>| {
                scope.inputs_into(x, variables);
                black_box(function(variables));
            };
            match work {
                Work::Record if S::SPILLS => tape.try_record(run)?,
                Work::Record => tape.record(run),
                Work::Gradient => {
                    *recorded = timed(tape, &*function, x, gradient, clock)?.1;
                    black_box(gradient.as_slice());
                }
            }
            Ok(())
        })
    }

    fn recorded(&self) -> Option<f64> {
        self.recorded
    }
}

/// The function itself, on plain floats.
pub(crate) struct Plain<'p, P, F>(Evaluations<'p, P>, F);

impl<P: Program, F: Fn(&[f64]) -> f64> Entrant for Plain<'_, P, F> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        self.0.sum(|x| Ok(((self.1)(x), Vec::new())))
    }

    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }

    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        if work == Work::Record {
            return Ok(0.0); // There is nothing to record.
        }
        self.0.run(count, |x| {
            black_box((self.1)(x));
            Ok(())
        })
    }
}

/// Makes the entrant of a strategy, if the program can be run under it, with a clock.
pub(crate) type Start<'p> = Box<dyn Fn(Clock) -> Result<Option<Box<dyn Entrant + 'p>>, Error> + 'p>;

/// A program on plain floats.
pub(crate) fn plain<'p, P: Program>(program: &'p P, x: &[f64], clock: Clock) -> Box<dyn Entrant + 'p> {
    let run = move |x: &[f64]| program.run::<Passive>(Real::wrap_slice(x)).peek();
    Box::new(Plain(Evaluations::new(program, x, clock), run))
}
