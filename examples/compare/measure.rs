//! Bytes and times of one workload under each strategy.

use crate::check;
use crate::cli::Request;
use cpu_time::ThreadTime;
use std::hint::black_box;
use tapewright::{Continuation, Jacobian, MemoryReport, Passive, PrimalValue, Real, Reverse, Tape};
use tapewright_problems::{Checksums, Problem, total};

/// A strategy by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    Jacobian,
    PrimalValue,
    Continuation,
}

impl Strategy {
    pub(crate) const ALL: [Self; 3] = [Self::Jacobian, Self::PrimalValue, Self::Continuation];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Jacobian => "jacobian",
            Self::PrimalValue => "primal_value",
            Self::Continuation => "continuation",
        }
    }
}

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
    /// Seconds.
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
    for &strategy in &request.strategies {
        say(strategy.name());
        let (row, found) = match strategy {
            Strategy::Jacobian => under::<Jacobian, P>(problem, strategy, request.repetitions),
            Strategy::PrimalValue => under::<PrimalValue, P>(problem, strategy, request.repetitions),
            Strategy::Continuation => under::<Continuation, P>(problem, strategy, request.repetitions),
        };
        failures.extend(check::checksums(problem, &Checksums::of(found.0, &found.1)));
        failures.extend(check::same(problem, strategy.name(), (value, &gradient), (found.0, &found.1)));
        rows.push(row);
    }
    say("central differences");
    let (differences, failure) = check::central_differences(problem, &gradient);
    failures.extend(failure);
    say("primal");
    let mut scratch = gradient.clone();
    let primal = repeat(problem, request.repetitions, |k, x| {
        black_box(problem.plain(k, black_box(x)));
    });
    let passive = passive_ratio(problem, request.repetitions);
    let by_hand = repeat(problem, request.repetitions, |k, x| {
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
fn under<S: Reverse<Value = f64>, P: Problem>(
    problem: &P,
    strategy: Strategy,
    repetitions: usize,
) -> (Row, (f64, Vec<f64>)) {
    let mut tape = Tape::<S>::new();
    let found = total(problem, |k, x, gradient| {
        tape.gradient(|x: &[Real<S>]| problem.eval(k, x), x, gradient).unwrap_or_else(|error| panic!("{error}"))
    });
    let mut gradient = found.1.clone();
    let (record, reverse) = if problem.evaluations() == 1 {
        one_by_one(problem, &mut tape, repetitions)
    } else {
        let mut variables = Vec::new();
        let record = repeat(problem, repetitions, |k, x| {
            tape.record(|scope| {
                scope.inputs_into(x, &mut variables);
                black_box(problem.eval(k, &variables));
            });
        });
        let both = repeat(problem, repetitions, |k, x| {
            let swept = tape.gradient(|x: &[Real<S>]| problem.eval(k, x), x, &mut gradient);
            black_box((swept.is_ok(), &gradient));
        });
        (record, (both - record).max(0.0))
    };
    (Row { strategy, memory: tape.memory(), record, reverse }, found)
}

/// Seconds of recording and of sweeping, medians, each by its own clock.
fn one_by_one<S: Reverse<Value = f64>, P: Problem>(problem: &P, tape: &mut Tape<S>, repetitions: usize) -> (f64, f64) {
    let x = problem.inputs(0);
    let mut variables = Vec::new();
    let (mut records, mut sweeps) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        let clock = ThreadTime::now();
        let output = tape.record(|scope| {
            scope.inputs_into(&x, &mut variables);
            problem.eval(0, &variables)
        });
        records.push(clock.elapsed().as_secs_f64());
        let clock = ThreadTime::now();
        black_box(tape.sweep(&[(&output, 1.0)]).is_ok());
        sweeps.push(clock.elapsed().as_secs_f64());
    }
    (median(records), median(sweeps))
}

/// The median time of `run` in seconds of thread time, over all evaluations and for one of them.
fn repeat<P: Problem>(problem: &P, repetitions: usize, mut run: impl FnMut(usize, &[f64])) -> f64 {
    let mut x = problem.inputs(0);
    let times = (0..repetitions).map(|_| {
        let clock = ThreadTime::now();
        for k in 0..problem.evaluations() {
            problem.inputs_into(k, &mut x);
            run(k, &x);
        }
        clock.elapsed().as_secs_f64()
    });
    median(times.collect()) / problem.evaluations() as f64
}

/// Times the plain function and the one under `Passive` in turns; the median ratio.
fn passive_ratio<P: Problem>(problem: &P, repetitions: usize) -> f64 {
    let pair = |_| {
        let plain = repeat(problem, 1, |k, x| {
            black_box(problem.plain(k, black_box(x)));
        });
        let passive = repeat(problem, 1, |k, x| {
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
