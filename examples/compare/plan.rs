//! How long a comparison takes: the estimate at its start, and the countdown.

use crate::check;
use crate::cli::Request;
use crate::measure::{FEW, entrant, wanted};
use crate::rounds::{LEAST, Pass, Split, WALL};
use crate::strategies::Strategy;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tapewright::Error;
use tapewright_problems::Problem;

/// The mean gradient of all strategies takes this many times as long as `Jacobian`'s.
const MEAN: f64 = 1.25;
/// The same for spilled tapes.
const SPILLED: f64 = 4.0;
/// The first recording touches fresh memory.
const FRESH: f64 = 1.5;

/// Seconds that a workload takes, roughly, from one gradient under the first strategy and one evaluation.
pub(crate) fn seconds<P: Problem>(problem: &P, request: &Request) -> Result<f64, Error> {
    let spilled = wanted::<P>(request).filter(|(strategy, _)| strategy.is_spilled()).count() as f64;
    let in_turns = wanted::<P>(request).filter(|(strategy, _)| !strategy.is_spilled()).count() as f64 + 1.0;
    let evaluations = problem.evaluations() as f64;
    let (_, run) = Strategy::runs::<P>().next().expect("there are strategies");
    let start = WALL();
    let mut contender = run(problem, request)?;
    let first = WALL() - start;
    let all = Pass::whole(problem.evaluations(), Split::Difference);
    let gradient = contender.pass(&all)?.total;
    let mut plain = entrant(problem, |k, x| _ = black_box(problem.plain(k, x)));
    let plain = plain(&all)?.total;
    let pass = (2.0 * LEAST).max(MEAN * gradient);
    let round = (in_turns + 3.0) * pass;
    let spilled_pass = (2.0 * LEAST).max(SPILLED * gradient);
    let checks = check::evaluations(problem.inputs(0).len()) as f64 * evaluations * plain;
    let first_gradients = MEAN * FRESH * first;
    Ok(in_turns * first_gradients
        + (1.0 + request.rounds.expected(round)) * round
        + spilled * (2.0 * first_gradients + (1 + FEW) as f64 * spilled_pass)
        + checks)
}

/// Says what is being done and how long the rest takes, on a terminal only.
pub(crate) struct Countdown {
    bar: ProgressBar,
    rest: Arc<Mutex<Rest>>,
}

/// What is left to do.
struct Rest {
    /// Seconds of each workload, as they were estimated.
    estimates: Vec<f64>,
    /// Workloads that are finished, and the seconds that they took.
    done: usize,
    taken: f64,
    /// When the current one began.
    began: Instant,
}

impl Rest {
    /// Seconds of the rest: estimates, corrected by what those that are finished took.
    fn seconds(&self) -> f64 {
        let estimated: f64 = self.estimates[..self.done].iter().sum();
        let slower = if self.done == 0 { 1.0 } else { self.taken / estimated };
        let mut rest = self.estimates[self.done..].iter().map(|seconds| slower * seconds);
        let current = rest.next().map_or(0.0, |current| current - self.began.elapsed().as_secs_f64());
        current.max(0.0) + rest.sum::<f64>()
    }
}

impl Countdown {
    pub(crate) fn new(estimates: Vec<f64>) -> Result<Self, String> {
        let len = estimates.len() as u64;
        let rest = Rest { estimates, done: 0, taken: 0.0, began: Instant::now() };
        let rest = Arc::new(Mutex::new(rest));
        let shown = Arc::clone(&rest);
        let left = move |_: &ProgressState, text: &mut dyn Write| {
            let seconds = shown.lock().unwrap_or_else(PoisonError::into_inner).seconds();
            let _ = write!(text, "about {seconds:.0} s left");
        };
        let style = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}, {left}").map_err(|e| e.to_string())?;
        let bar = ProgressBar::new(len).with_style(style.with_key("left", left));
        bar.enable_steady_tick(Duration::from_secs(1));
        Ok(Self { bar, rest })
    }

    /// Says what is being done.
    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// A workload is finished, and this is its text.
    pub(crate) fn finish_one(&self, text: &str) {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        rest.done += 1;
        rest.taken += rest.began.elapsed().as_secs_f64();
        rest.began = Instant::now();
        drop(rest);
        self.bar.inc(1);
        self.bar.suspend(|| print!("{text}"));
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Seconds in words, rounded up.
pub(crate) fn in_words(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{:.0} s", seconds.ceil()),
        ..90.0 => format!("{:.0} s", 5.0 * (seconds / 5.0).ceil()),
        _ => format!("{:.0} minutes", (seconds / 60.0).ceil()),
    }
}
