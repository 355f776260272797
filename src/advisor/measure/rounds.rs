//! Timing in turns.
//!
//! A machine is not equally fast at all times: a processor may run at half its speed for seconds, or for an instant at
//! twice its speed. So entrants take turns: in each round each entrant does one pass, and the next round begins with
//! another entrant. The result is the median of the ratios to the first entrant within a round. Only the first
//! entrant's seconds, with which ratios are multiplied in the end, are a minimum.

use super::entrant::{Entrant, Work};
use crate::error::Error;
use std::time::Instant;

/// Least seconds of a pass.
const LEAST: f64 = 5e-4;
/// Least and largest number of rounds.
const FEWEST: usize = 1;
const MOST: usize = 201;

/// End of the rounds.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// Rounds until this many seconds are over, and the least number of rounds in any case.
    Seconds(f64),
    /// This many rounds.
    Rounds(usize),
}

/// Time of one evaluation of an entrant, as a multiple of the first entrant's in the same round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) record: f64,
    pub(crate) total: f64,
    /// Seconds of `total`.
    pub(crate) seconds: f64,
}

/// Results of the rounds.
pub(crate) struct Rounds {
    /// Least seconds of the first entrant.
    pub(crate) first: f64,
    /// Times of each further entrant, round by round.
    pub(crate) others: Vec<Vec<Times>>,
}

/// Times all entrants, round by round.
pub(crate) fn rounds(entrants: &mut [Box<dyn Entrant + '_>], limit: Limit) -> Result<Rounds, Error> {
    let counts = entrants.iter_mut().map(|entrant| count(&mut **entrant)).collect::<Result<Vec<_>, Error>>()?;
    let mut found = Rounds { first: f64::INFINITY, others: vec![Vec::new(); entrants.len().saturating_sub(1)] };
    let (start, mut times) = (Instant::now(), vec![(0.0, 0.0); entrants.len()]);
    let goes_on = |round: usize| match limit {
        Limit::Seconds(seconds) => round < FEWEST || round < MOST && start.elapsed().as_secs_f64() < seconds,
        Limit::Rounds(rounds) => round < rounds,
    };
    for round in (0..).take_while(|round| goes_on(*round)) {
        for turn in 0..entrants.len() {
            let at = (turn + round) % entrants.len();
            let (entrant, count) = (&mut entrants[at], counts[at]);
            let total = entrant.pass(Work::Gradient, count)? / count as f64;
            let record = match entrant.recorded() {
                Some(record) => record,
                None => entrant.pass(Work::Record, count)? / count as f64,
            };
            times[at] = (record, total);
        }
        let first = times[0].1;
        found.first = found.first.min(first);
        for (all, &(record, total)) in found.others.iter_mut().zip(&times[1..]) {
            all.push(Times { record: record.min(total) / first, total: total / first, seconds: total });
        }
    }
    Ok(found)
}

/// Median and quartiles of values that were measured round by round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lower quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub high: f64,
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |k: usize| sorted.get(k).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        // Of an even number of values the median is the mean of the two in the middle.
        Self { low: at(last / 4), median: 0.5 * (at(last / 2) + at(last - last / 2)), high: at(last - last / 4) }
    }
}

/// Number of evaluations that an entrant does in a pass.
fn count(entrant: &mut dyn Entrant) -> Result<usize, Error> {
    let mut count = 1;
    // The first pass meets cold memory, so it is a measurement only where it is long.
    if entrant.pass(Work::Gradient, 1)? > 100.0 * LEAST {
        return Ok(1);
    }
    // The clock may be anybody's: one that stands still must not keep the contest from ending.
    while count < 1 << 24 && entrant.pass(Work::Gradient, count)? < LEAST {
        count *= 2;
    }
    Ok(count)
}
