//! How long a comparison takes: the estimate at its start, and the countdown.

use crate::check;
use crate::cli::Request;
use indicatif::{ProgressBar, ProgressStyle};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tapewright_problems::Problem;

/// A gradient, and its recording alone, take this many times as long as the function, as a rule.
const GRADIENT: f64 = 3.0;
/// Seconds of the passes of an entrant in a round, at least.
const PASSES: f64 = 1.5e-3;
/// Gradients before the rounds, of which the last are those of each new tape unless they take long; and rounds, at least.
const FIRST: f64 = 1.0;
const TAPES: f64 = 3.0;
const LONG: f64 = 0.05;
const FEWEST: f64 = 3.0;

/// Seconds that a workload takes under this many strategies, roughly, from one evaluation.
pub(crate) fn seconds<P: Problem>(problem: &P, strategies: usize, request: &Request) -> f64 {
    let x = problem.inputs(0);
    let start = Instant::now();
    black_box(problem.plain(0, &x));
    let (plain, evaluations) = (start.elapsed().as_secs_f64(), problem.evaluations() as f64);
    let gradients = (strategies + 1) as f64 * GRADIENT * plain;
    let round = gradients.max((strategies + 3) as f64 * PASSES);
    let rounds = request.repetitions.map_or((FEWEST * round).max(request.seconds), |rounds| rounds as f64 * round);
    let first = if GRADIENT * plain > LONG { FIRST } else { FIRST + TAPES };
    rounds + (first + evaluations) * gradients + check::evaluations(x.len()) as f64 * evaluations * plain
}

/// Says on a terminal which workload is measured, and how long the rest takes.
pub(crate) struct Countdown {
    bar: ProgressBar,
    /// Seconds of each workload, as they were estimated.
    estimates: Vec<f64>,
    start: Instant,
}

impl Countdown {
    pub(crate) fn new(estimates: Vec<f64>) -> Result<Self, String> {
        let style = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}").map_err(|error| error.to_string())?;
        let bar = ProgressBar::new(estimates.len() as u64).with_style(style);
        bar.enable_steady_tick(Duration::from_secs(1));
        Ok(Self { bar, estimates, start: Instant::now() })
    }

    /// Says which workload is measured. The rest is what was estimated, corrected by what others took.
    pub(crate) fn say(&self, done: usize, workload: &str) {
        let [past, rest] = [&self.estimates[..done], &self.estimates[done..]].map(|part| part.iter().sum::<f64>());
        let slower = if done == 0 { 1.0 } else { self.start.elapsed().as_secs_f64() / past };
        self.bar.set_message(format!("{workload}, about {} left", in_words(slower * rest)));
    }

    /// A workload is finished, and this is its text.
    pub(crate) fn finish_one(&self, text: &str) {
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
