//! Timing in turns.
//!
//! A machine is not equally fast at all times: a processor may run at half its speed for seconds, or for an instant at
//! twice its speed. So entrants take turns: in each round each entrant does one pass, and the next round begins with
//! another entrant. The result is the median of the ratios to the first entrant within a round. Only the first
//! entrant's seconds, with which ratios are multiplied in the end, are a minimum.

use super::entrant::{Entrant, Work};
use crate::error::Error;
use std::time::Instant;

/// Least seconds of a pass, and seconds of one evaluation from which a pass has no more.
const LEAST: f64 = 5e-4;
const LONG: f64 = 100.0 * LEAST;
/// Largest number of rounds.
const MOST: usize = 201;

/// End of the rounds.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// Rounds until this many seconds are over, and one in any case; all rounds of a contest, if one alone takes longer
    /// than this many seconds for each of them.
    Seconds { seconds: f64, all: usize },
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
    /// True if these are all rounds of a contest.
    pub(crate) are_all: bool,
}

/// Times all entrants, round by round. `ran` says how many seconds an evaluation of each has just taken, if any has.
pub(crate) fn rounds(entrants: &mut [Box<dyn Entrant + '_>], ran: &[f64], limit: Limit) -> Result<Rounds, Error> {
    let ran = ran.iter().copied().chain(core::iter::repeat(0.0));
    let counts =
        entrants.iter_mut().zip(ran).map(|(entrant, ran)| if ran > LONG { Ok(1) } else { count(&mut **entrant) });
    let counts = counts.collect::<Result<Vec<_>, Error>>()?;
    let others = vec![Vec::new(); entrants.len().saturating_sub(1)];
    let mut found = Rounds { first: f64::INFINITY, others, are_all: false };
    let (start, mut times) = (Instant::now(), vec![(0.0, 0.0); entrants.len()]);
    let goes_on = |round: usize, are_all: &mut bool| match limit {
        Limit::Seconds { seconds, all } => {
            let elapsed = start.elapsed().as_secs_f64();
            *are_all |= round == 1 && elapsed > seconds * all as f64;
            round < if *are_all { all } else { 1 } || round < MOST && elapsed < seconds
        }
        Limit::Rounds(rounds) => round < rounds,
    };
    for round in (0..).take_while(|round| goes_on(*round, &mut found.are_all)) {
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
    if entrant.pass(Work::Gradient, 1)? > LONG {
        return Ok(1);
    }
    // The clock may be anybody's: one that stands still must not keep the contest from ending.
    while count < 1 << 24 && entrant.pass(Work::Gradient, count)? < LEAST {
        count *= 2;
    }
    Ok(count)
}
