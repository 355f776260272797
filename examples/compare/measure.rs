//! Bytes and times of one workload under each strategy.

use crate::check;
use crate::cli::Request;
use crate::strategies::Strategy;
use cpu_time::ThreadTime;
use std::hint::black_box;
use std::time::Instant;
use tapewright::{Error, MemoryReport, Passive, Real, Reverse, Tape};
use tapewright_problems::{Checksums, Problem, total};

/// What was found out about one workload.
pub(crate) struct Outcome {
    pub(crate) workload: &'static str,
    pub(crate) size: String,
    pub(crate) inputs: usize,
    /// Gradients that make the workload; times and bytes are for one of them.
    pub(crate) evaluations: usize,
    pub(crate) checksums: Checksums,
    /// How well central differences agree: the largest relative difference of three directions.
    pub(crate) differences: f64,
    /// Seconds of the plain `f64` function and of the hand-written adjoint.
    pub(crate) primal: f64,
    pub(crate) by_hand: f64,
    /// The generic function under `Passive` as a multiple of the plain one: the median of interleaved pairs.
    pub(crate) passive: f64,
    pub(crate) rows: Vec<Row>,
    /// What was wrong, a sentence each.
    pub(crate) failures: Vec<String>,
}

/// One strategy's figures, for one evaluation.
pub(crate) struct Row {
    pub(crate) strategy: Strategy,
    pub(crate) memory: MemoryReport,
    /// Seconds, of processor time in memory, and by the clock on the wall where records are spilled.
    pub(crate) record: f64,
    pub(crate) reverse: f64,
}

impl Row {
    /// Bytes of records and primal values.
    pub(crate) fn tape_bytes(&self) -> usize {
        let counted = |name: &str| name != "adjoints" && name != "tables";
        self.memory.streams().iter().filter(|(name, _)| counted(name)).map(|(_, usage)| usage.used).sum()
    }

    pub(crate) fn adjoint_bytes(&self) -> usize {
        self.memory.usage("adjoints").used
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tape_bytes() + self.adjoint_bytes()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.record + self.reverse
    }
}

/// Checks and times a workload under every strategy of the request.
pub(crate) fn measure<P: Problem>(problem: &P, request: &Request, progress: &dyn Fn(&str)) -> Outcome {
    let say = |what: &str| progress(&format!("{}: {what}", problem.name()));
    say("hand-written adjoint");
    let (value, gradient) = total(problem, |k, x, g| problem.adjoint(k, x, g));
    let mut failures = Vec::new();
    let mut rows = Vec::new();
    for (strategy, run) in Strategy::runs::<P>().filter(|(strategy, _)| request.strategies.contains(strategy)) {
        let title = strategy.title();
        say(&title);
        match run(problem, strategy, request) {
            Ok((row, found)) => {
                failures.extend(check::checksums(problem, &title, &Checksums::of(found.0, &found.1)));
                failures.extend(check::same(problem, &title, (value, &gradient), (found.0, &found.1)));
                rows.push(row);
            }
            Err(error) => failures.push(format!("{} under {title}: {error}", problem.name())),
        }
    }
    failures.extend(check::bytes(problem.name(), gradient.len(), &rows));
    say("central differences");
    let (differences, failure) = check::central_differences(problem, &gradient);
    failures.extend(failure);
    say("primal");
    let mut scratch = gradient.clone();
    let primal = repeat(problem, CPU, request.repetitions, |k, x| {
        black_box(problem.plain(k, black_box(x)));
    });
    let passive = passive_ratio(problem, request.repetitions);
    let by_hand = repeat(problem, CPU, request.repetitions, |k, x| {
        black_box(problem.adjoint(k, black_box(x), &mut scratch));
    });
    Outcome {
        workload: problem.name(),
        size: problem.size(),
        inputs: gradient.len(),
        evaluations: problem.evaluations(),
        checksums: Checksums::of(value, &gradient),
        differences,
        primal,
        by_hand,
        passive,
        rows,
        failures,
    }
}

/// One strategy: its figures, and the value and gradient it computes.
pub(crate) type Measured = (Row, (f64, Vec<f64>));

/// Repetitions where more would take too long.
const FEW: usize = 5;

/// Measures one strategy on this tape.
pub(crate) fn under<S: Reverse<Value = f64>, P: Problem>(
    problem: &P,
    strategy: Strategy,
    repetitions: usize,
    mut tape: Tape<S>,
) -> Result<Measured, Error> {
    let mut failure = Ok(0.0);
    let found = total(problem, |k, x, gradient| {
        let value = tape.gradient(|x: &[Real<S>]| problem.eval(k, x), x, gradient);
        value.unwrap_or_else(|error| {
            failure = Err(error);
            f64::NAN
        })
    });
    failure?;
    let (clock, repetitions) = if strategy.is_spilled() { (WALL, repetitions.min(FEW)) } else { (CPU, repetitions) };
    let mut gradient = found.1.clone();
    let (record, reverse) = if problem.evaluations() == 1 {
        one_by_one(problem, &mut tape, clock, repetitions)?
    } else {
        let mut variables = Vec::new();
        let record = repeat(problem, clock, repetitions, |k, x| {
            tape.record(|scope| {
                scope.inputs_into(x, &mut variables);
                black_box(problem.eval(k, &variables));
            });
        });
        let both = repeat(problem, clock, repetitions, |k, x| {
            let swept = tape.gradient(|x: &[Real<S>]| problem.eval(k, x), x, &mut gradient);
            black_box((swept.is_ok(), &gradient));
        });
        (record, (both - record).max(0.0))
    };
    Ok((Row { strategy, memory: tape.memory(), record, reverse }, found))
}

/// Starts a clock; the function that it returns reads it, in seconds.
type Clock = fn() -> Box<dyn Fn() -> f64>;

/// The processor time of this thread.
const CPU: Clock = || {
    let clock = ThreadTime::now();
    Box::new(move || clock.elapsed().as_secs_f64())
};

/// The time that passes, for what waits for disks and other threads.
const WALL: Clock = || {
    let clock = Instant::now();
    Box::new(move || clock.elapsed().as_secs_f64())
};

/// Seconds of recording and of sweeping, medians, each by its own clock.
fn one_by_one<S: Reverse<Value = f64>, P: Problem>(
    problem: &P,
    tape: &mut Tape<S>,
    clock: Clock,
    repetitions: usize,
) -> Result<(f64, f64), Error> {
    let x = problem.inputs(0);
    let mut variables = Vec::new();
    let (mut records, mut sweeps) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        let seconds = clock();
        let output = tape.record(|scope| {
            scope.inputs_into(&x, &mut variables);
            problem.eval(0, &variables)
        });
        records.push(seconds());
        let seconds = clock();
        black_box(tape.sweep(&[(&output, 1.0)])?);
        sweeps.push(seconds());
    }
    Ok((median(records), median(sweeps)))
}

/// The median time of `run` in seconds, over all evaluations and for one of them.
fn repeat<P: Problem>(problem: &P, clock: Clock, repetitions: usize, mut run: impl FnMut(usize, &[f64])) -> f64 {
    let mut x = problem.inputs(0);
    let times = (0..repetitions).map(|_| {
        let seconds = clock();
        for k in 0..problem.evaluations() {
            problem.inputs_into(k, &mut x);
            run(k, &x);
        }
        seconds()
    });
    median(times.collect()) / problem.evaluations() as f64
}

/// Times the plain function and the one under `Passive` in turns; the median ratio.
fn passive_ratio<P: Problem>(problem: &P, repetitions: usize) -> f64 {
    let pair = |_| {
        let plain = repeat(problem, CPU, 1, |k, x| {
            black_box(problem.plain(k, black_box(x)));
        });
        let passive = repeat(problem, CPU, 1, |k, x| {
            black_box(problem.eval::<Passive>(k, Real::wrap_slice(black_box(x))).value());
        });
        passive / plain
    };
    median((0..repetitions).map(pair).collect())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
