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
const FEWEST: usize = 2;
const MOST: usize = 201;

/// Time of one evaluation of an entrant, as a multiple of the first entrant's in the same round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) record: f64,
    pub(crate) total: f64,
}

/// Results of the rounds.
pub(crate) struct Rounds {
    /// Least seconds of the first entrant.
    pub(crate) first: f64,
    /// Times of each further entrant, round by round.
    pub(crate) others: Vec<Vec<Times>>,
}

/// Times all entrants, in rounds that take this many seconds together, or longer if the least number of rounds does.
pub(crate) fn rounds(entrants: &mut [Box<dyn Entrant + '_>], seconds: f64) -> Result<Rounds, Error> {
    let counts = entrants.iter_mut().map(|entrant| count(&mut **entrant)).collect::<Result<Vec<_>, Error>>()?;
    let mut found = Rounds { first: f64::INFINITY, others: vec![Vec::new(); entrants.len().saturating_sub(1)] };
    let (start, mut times) = (Instant::now(), vec![Times { record: 0.0, total: 0.0 }; entrants.len()]);
    for round in 0..MOST {
        if round >= FEWEST && start.elapsed().as_secs_f64() >= seconds {
            break;
        }
        for turn in 0..entrants.len() {
            let at = (turn + round) % entrants.len();
            let (entrant, count) = (&mut entrants[at], counts[at]);
            let mut pass = |work| Ok::<f64, Error>(entrant.pass(work, count)? / count as f64);
            let record = pass(Work::Record)?;
            times[at] = Times { record, total: pass(Work::Gradient)? };
        }
        let first = times[0].total;
        found.first = found.first.min(first);
        for (all, Times { record, total }) in found.others.iter_mut().zip(&times[1..]) {
            all.push(Times { record: record.min(*total) / first, total: total / first });
        }
    }
    Ok(found)
}

/// Median of some times.
pub(crate) fn middle(times: &[Times]) -> Times {
    let of = |part: fn(&Times) -> f64| median(times.iter().map(part).collect());
    Times { record: of(|times| times.record), total: of(|times| times.total) }
}

/// Median of some values: the middle value, or the mean of the two in the middle.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => f64::NAN,
        (length, half) if length % 2 == 1 => numbers[half],
        (_, half) => 0.5 * (numbers[half - 1] + numbers[half]),
    }
}

/// Number of evaluations that an entrant does in a pass.
fn count(entrant: &mut dyn Entrant) -> Result<usize, Error> {
    let mut count = 1;
    entrant.pass(Work::Gradient, 1)?;
    while entrant.pass(Work::Gradient, count)? < LEAST {
        count *= 2;
    }
    Ok(count)
}
