//! Workloads as the advisor runs them: as programs, by hand, as kernels over arrays, in packs, and recorded once.

use cpu_time::ThreadTime;
use std::cell::Cell;
use std::hint::black_box;
#[cfg(feature = "opencl")]
use std::{sync::OnceLock, time::Instant};
use tapewright::advisor::{Entrant, Program, Work};
use tapewright::kernels::{Space, View, parallel_sum};
use tapewright::packs::Pack;
use tapewright::programs::{Program as Recorded, Rows, rows};
use tapewright::tape::MemoryReport;
use tapewright::{Error, Jacobian, Passive, Real, Strategy, Tape};
use tapewright_problems::{Libor, Problem, total};

/// Seconds of processor time of this thread.
pub(crate) fn cpu() -> f64 {
    ThreadTime::now().as_duration().as_secs_f64()
}

/// Seconds by the clock.
#[cfg(feature = "opencl")]
pub(crate) fn wall() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// A workload as a program: its evaluations, of which `k` is the current one.
pub(crate) struct Sequence<P> {
    pub(crate) problem: P,
    k: Cell<usize>,
}

impl<P: Problem> Sequence<P> {
    pub(crate) fn new(problem: P) -> Self {
        Self { problem, k: Cell::new(0) }
    }

    pub(crate) fn k(&self) -> usize {
        self.k.get()
    }
}

impl<P: Problem> Program for Sequence<P> {
    fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        self.problem.eval(self.k(), x)
    }

    fn evaluations(&self) -> usize {
        self.problem.evaluations()
    }

    fn prepare(&self, k: usize, x: &mut Vec<f64>) {
        self.k.set(k);
        self.problem.inputs_into(k, x);
    }
}

/// Code without a tape: the function over `f64`, or its adjoint, which are of `k`, of `x`, and write to an array.
pub(crate) struct ByHand<'p, P, F> {
    of: &'p Sequence<P>,
    run: F,
    x: Vec<f64>,
    gradient: Vec<f64>,
    next: usize,
}

impl<'p, P: Problem, F: Fn(usize, &[f64], &mut [f64]) -> f64> ByHand<'p, P, F> {
    pub(crate) fn new(of: &'p Sequence<P>, run: F) -> Self {
        let x = of.problem.inputs(0);
        Self { of, run, gradient: x.clone(), x, next: 0 }
    }
}

impl<P: Problem, F: Fn(usize, &[f64], &mut [f64]) -> f64> Entrant for ByHand<'_, P, F> {
    /// The result of the adjoint, in any case.
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        Ok(total(&self.of.problem, |k, x, gradient| self.of.problem.adjoint(k, x, gradient)))
    }

    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }

    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        if work == Work::Record {
            return Ok(0.0);
        }
        let start = cpu();
        for _ in 0..count {
            self.of.prepare(self.next, &mut self.x);
            black_box((self.run)(self.next, black_box(&self.x), &mut self.gradient));
            self.next = if self.next + 1 < self.of.evaluations() { self.next + 1 } else { 0 };
        }
        Ok(cpu() - start)
    }
}

/// A workload that is made of kernels, on a tape. The inputs are in the space of its views, and gradients stay there.
pub(crate) struct Launched<'p, P, M: Space<f64>> {
    problem: &'p P,
    clock: fn() -> f64,
    tape: Tape<Jacobian>,
    x: View<Passive, 1, M>,
}

impl<'p, P: Problem, M: Space<f64>> Launched<'p, P, M> {
    pub(crate) fn new(problem: &'p P, clock: fn() -> f64) -> Self {
        let x = problem.inputs(0);
        Self { problem, clock, tape: Tape::new(), x: View::new([x.len()], &x).in_space() }
    }

    fn record(&mut self) -> (View<Jacobian, 1, M>, Real<Jacobian>) {
        self.tape.record(|scope| {
            let x = scope.view_from(black_box(&self.x));
            let output = self.problem.eval_by_kernels(&x);
            (x, output)
        })
    }

    fn sweep(&mut self) -> Result<(f64, View<Passive, 1, M>), Error> {
        let (inputs, output) = self.record();
        let gradient = self.tape.sweep(&[(&output, 1.0)])?.view_of(&inputs)?;
        // Devices carry out launches in order: what follows waits for the gradient.
        #[allow(clippy::redundant_closure_for_method_calls, reason = "methods of several types have the name")]
        black_box(parallel_sum(0..1, &gradient, |g| g.at::<0>()).value());
        Ok((output.value(), gradient))
    }
}

impl<P: Problem, M: Space<f64>> Entrant for Launched<'_, P, M> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        let (value, gradient) = self.sweep()?;
        Ok((value, gradient.values().to_vec()))
    }

    fn memory(&self) -> MemoryReport {
        self.tape.memory()
    }

    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        let start = (self.clock)();
        for _ in 0..count {
            match work {
                Work::Record => _ = black_box(self.record()),
                Work::Gradient => _ = black_box(self.sweep()?),
            }
        }
        Ok((self.clock)() - start)
    }
}

/// Evaluations in one recording.
const TOGETHER: usize = 8;

/// A workload of many evaluations, eight of them in one recording.
pub(crate) struct Packed<'p, P> {
    problem: &'p P,
    tape: Tape<Jacobian<Pack<TOGETHER>>>,
    variables: Vec<Real<Jacobian<Pack<TOGETHER>>>>,
    x: Vec<Pack<TOGETHER>>,
    /// The inputs of one evaluation.
    one: Vec<f64>,
    gradient: Vec<Pack<TOGETHER>>,
    /// The first of the next evaluations.
    first: usize,
}

impl<'p, P: Problem> Packed<'p, P> {
    pub(crate) fn new(problem: &'p P) -> Self {
        let one = problem.inputs(0);
        let x = vec![Pack::default(); one.len()];
        Self { problem, tape: Tape::new(), variables: Vec::new(), gradient: x.clone(), x, one, first: 0 }
    }

    /// Puts the inputs of the next evaluations into the lanes, and returns the number of the first.
    fn prepare(&mut self) -> usize {
        let (first, last) = (self.first, self.problem.evaluations() - 1);
        for lane in 0..TOGETHER {
            self.problem.inputs_into((first + lane).min(last), &mut self.one);
            self.x.iter_mut().zip(&self.one).for_each(|(pack, x)| pack.0[lane] = *x);
        }
        self.first = if first + TOGETHER > last { 0 } else { first + TOGETHER };
        first
    }

    fn sweep(&mut self, first: usize) -> Result<Pack<TOGETHER>, Error> {
        let run = |x: &[Real<_>]| self.problem.eval_in_lanes(first, x);
        self.tape.gradient(run, black_box(&self.x), &mut self.gradient)
    }
}

impl<P: Problem> Entrant for Packed<'_, P> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        self.first = 0;
        let (mut value, mut gradient) = (0.0, vec![0.0; self.x.len()]);
        for first in (0..self.problem.evaluations()).step_by(TOGETHER) {
            self.prepare();
            let values = self.sweep(first)?;
            for lane in 0..TOGETHER.min(self.problem.evaluations() - first) {
                value += values.0[lane];
                gradient.iter_mut().zip(&self.gradient).for_each(|(sum, slopes)| *sum += slopes.0[lane]);
            }
        }
        Ok((value, gradient))
    }

    fn memory(&self) -> MemoryReport {
        self.tape.memory()
    }

    /// Runs whole packs, and takes its part of their time.
    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        let packs = count.div_ceil(TOGETHER);
        let start = cpu();
        for _ in 0..packs {
            let first = self.prepare();
            match work {
                Work::Record => {
                    let Self { problem, tape, variables, x, .. } = self;
                    tape.record(|scope| {
                        scope.inputs_into(black_box(x), variables);
                        black_box(problem.eval_in_lanes(first, variables));
                    });
                }
                Work::Gradient => _ = black_box(self.sweep(first)?),
            }
        }
        Ok((cpu() - start) * count as f64 / (packs * TOGETHER) as f64)
    }
}

/// A block of the program below.
const BLOCK: usize = 64;

/// The Libor market model, recorded once for all paths.
pub(crate) struct RecordedOnce<'p> {
    problem: &'p Libor,
    program: Recorded<'p>,
    x: Vec<f64>,
    /// The normal numbers of all paths.
    normals: Vec<f64>,
}

impl<'p> RecordedOnce<'p> {
    pub(crate) fn new(problem: &'p Libor) -> Self {
        let normals = (0..problem.evaluations()).flat_map(|k| problem.path(k).iter().copied()).collect();
        let program = Recorded::new(|x, normals| [problem.eval_on(x, normals)]).in_blocks_of(BLOCK);
        Self { problem, program, x: problem.inputs(0), normals }
    }

    /// The first paths.
    fn paths(&self, count: usize) -> Rows<'_, f64> {
        let columns = self.problem.path(0).len();
        rows(&self.normals[..count * columns], columns)
    }
}

impl Entrant for RecordedOnce<'_> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        let count = self.problem.evaluations();
        let found = self.program.gradient(&self.x, self.paths(count))?;
        let sum = |mean: f64| mean * count as f64;
        Ok((sum(found.mean(0)), found.mean_gradient(0).into_iter().map(sum).collect()))
    }

    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }

    /// Runs complete blocks, and takes its part of their time: the values alone, or the gradient, too.
    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        let paths = count.next_multiple_of(BLOCK).min(self.problem.evaluations());
        let rounds = count.div_ceil(paths);
        let start = cpu();
        for _ in 0..rounds {
            let (x, paths) = (black_box(&self.x), self.paths(paths));
            _ = black_box(match work {
                Work::Record => self.program.values(x, paths)?,
                Work::Gradient => self.program.gradient(x, paths)?,
            });
        }
        Ok((cpu() - start) * count as f64 / (rounds * paths) as f64)
    }
}
