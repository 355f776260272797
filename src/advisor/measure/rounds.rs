//! Timing in turns.
//!
//! A machine is not equally fast at all times: a processor may run at half its speed for seconds, or for an instant at
//! twice its speed. So all that is compared takes turns: in each round each entrant does one pass, and the next round
//! begins with another entrant. What counts are ratios within a round, and of these the median.
//! Only the first entrant's seconds, with which ratios are multiplied in the end, are the least of all.

use super::entrant::{Entrant, Work};
use crate::error::Error;
use std::time::Instant;

/// Seconds that a pass takes at least.
const LEAST: f64 = 5e-4;
/// Rounds that there are at least, and at most.
const FEWEST: usize = 2;
const MOST: usize = 201;

/// One evaluation of an entrant, as a multiple of one of the first entrant in the same round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) record: f64,
    pub(crate) total: f64,
}

/// What rounds have shown.
pub(crate) struct Rounds {
    /// The least seconds of the first entrant.
    pub(crate) first: f64,
    /// For each other one its times, round by round.
    pub(crate) others: Vec<Vec<Times>>,
}

/// Times all of these, in rounds that take this many seconds together, or as long as the fewest rounds take.
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

/// The middle of some times.
pub(crate) fn middle(times: &[Times]) -> Times {
    let of = |part: fn(&Times) -> f64| median(times.iter().map(part).collect());
    Times { record: of(|times| times.record), total: of(|times| times.total) }
}

/// The middle one of some numbers, or the mean of the two in the middle.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => f64::NAN,
        (length, half) if length % 2 == 1 => numbers[half],
        (_, half) => 0.5 * (numbers[half - 1] + numbers[half]),
    }
}

/// How many evaluations an entrant does in a pass.
fn count(entrant: &mut dyn Entrant) -> Result<usize, Error> {
    let mut count = 1;
    entrant.pass(Work::Gradient, 1)?;
    while entrant.pass(Work::Gradient, count)? < LEAST {
        count *= 2;
    }
    Ok(count)
}
