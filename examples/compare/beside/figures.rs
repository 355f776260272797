//! What a program says about one workload.

use crate::cli::Request;
use crate::measure::{entrant, tape_bytes};
use crate::rounds::{Parts, Pass, Split};
use crate::strategies::Strategy;
use crate::workloads::Expected;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use tapewright::Error;
use tapewright_problems::{Checksums, Problem};

/// Repetitions at least, and seconds that they take together at least.
const REPETITIONS: usize = 7;
const SECONDS: f64 = 0.5;
/// Repetitions at most.
const MOST: usize = 101;
/// Repetitions before those that count.
const WARM: usize = 2;

/// Evaluations of fewer seconds are timed as a whole: to read the processor time takes up to 1 µs.
const LONG: f64 = 10e-6;

/// Checksums may differ by this much, relative.
const SAME: f64 = 1e-10;

/// Figures of one program and one workload: a line of JSON. Other keys are ignored.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Gradients that make the workload.
    #[serde(rename = "iters")]
    evaluations: usize,
    /// Seconds of the function over plain numbers, of all evaluations together.
    #[serde(rename = "t_primal_min")]
    primal: f64,
    /// Seconds of recording and sweep, of all evaluations together.
    #[serde(rename = "t_total_min")]
    total: f64,
    /// Bytes of records, primal values and adjoints of one evaluation.
    #[serde(rename = "tape_bytes")]
    bytes: usize,
    /// The value and the gradient's sum and norm, added up over all evaluations.
    #[serde(rename = "f")]
    value: f64,
    #[serde(rename = "gsum")]
    sum: f64,
    #[serde(rename = "gl2")]
    norm: f64,
}

impl Figures {
    /// The figures of one strategy, measured in this process, if the workload can run under it. No tape is in memory
    /// yet when the plain function is timed.
    pub(crate) fn of<P: Problem>(problem: &P, strategy: Strategy, request: &Request) -> Result<Option<Self>, Error> {
        let Some((_, run)) = Strategy::runs::<P>().find(|(found, _)| *found == strategy) else { return Ok(None) };
        let evaluations = problem.evaluations();
        let whole = |split| Pass::whole(evaluations, split);
        let mut plain = entrant(problem, |k, x| _ = black_box(problem.plain(k, x)));
        let primal = least(|| plain(&whole(Split::Difference)), evaluations)?;
        let mut contender = run(problem, request)?;
        let is_long = contender.pass(&whole(Split::Difference))?.total >= LONG;
        let split = if is_long { Split::Clock } else { Split::Difference };
        let total = least(|| contender.pass(&whole(split)), evaluations)?;
        let memory = contender.memory();
        let (value, gradient) = contender.found();
        let Checksums { value, sum, norm } = Checksums::of(*value, gradient);
        let bytes = tape_bytes(memory) + memory.usage("adjoints").used;
        Ok(Some(Self { evaluations, primal, total, bytes, value, sum, norm }))
    }

    /// Fails if these are not figures of the workload.
    pub(crate) fn check(&self, expected: &Expected) -> Result<(), String> {
        if self.evaluations != expected.evaluations {
            return Err(format!("WRONG: {} gradients, not {}", self.evaluations, expected.evaluations));
        }
        let found = Checksums { value: self.value, sum: self.sum, norm: self.norm };
        let off = found.difference(&expected.checksums);
        if off <= SAME { Ok(()) } else { Err(format!("WRONG: checksums off by a relative {off:.1e}")) }
    }

    /// The least time of each kind.
    pub(crate) fn least(self, other: &Self) -> Self {
        Self { primal: self.primal.min(other.primal), total: self.total.min(other.total), ..self }
    }

    /// Seconds of one gradient: recording and sweep.
    pub(crate) fn seconds(&self) -> f64 {
        self.total / self.evaluations as f64
    }

    /// Seconds of one evaluation over plain numbers.
    pub(crate) fn primal(&self) -> f64 {
        self.primal / self.evaluations as f64
    }

    /// Bytes of one recording, with adjoints.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Seconds of the fastest repetition, on warm memory.
fn least(mut pass: impl FnMut() -> Result<Parts, Error>, evaluations: usize) -> Result<f64, Error> {
    for _ in 0..WARM {
        pass()?;
    }
    let (mut least, mut sum, mut repetitions) = (f64::INFINITY, 0.0, 0);
    while repetitions < REPETITIONS || (sum < SECONDS && repetitions < MOST) {
        let seconds = pass()?.total * evaluations as f64;
        least = least.min(seconds);
        sum += seconds;
        repetitions += 1;
    }
    Ok(least)
}
