//! Timing in turns.
//!
//! A machine is not equally fast at all times. So all that is compared takes turns: in each round each entrant does one
//! pass, and the next round begins with another entrant. What is reported are medians over the rounds.

use super::entrant::{Entrant, Work};
use crate::error::Error;
use std::time::Instant;

/// Seconds that a pass takes at least.
const LEAST: f64 = 2e-3;
/// Rounds that there are at least, and at most.
const FEWEST: usize = 3;
const MOST: usize = 51;

/// Seconds of one evaluation of an entrant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) record: f64,
    pub(super) total: f64,
}

/// Times all of these, in rounds that take so many seconds together, or as long as the fewest take.
pub(super) fn times(entrants: &mut [Box<dyn Entrant + '_>], seconds: f64) -> Result<Vec<Times>, Error> {
    let count = count(entrants)?;
    let mut rounds: Vec<Vec<Times>> = vec![Vec::new(); entrants.len()];
    let start = Instant::now();
    for round in 0..MOST {
        if round >= FEWEST && start.elapsed().as_secs_f64() >= seconds {
            break;
        }
        for turn in 0..entrants.len() {
            let at = (turn + round) % entrants.len();
            let entrant = &mut entrants[at];
            let mut pass = |work| Ok::<f64, Error>(entrant.pass(work, count)? / count as f64);
            let record = pass(Work::Record)?;
            rounds[at].push(Times { record, total: pass(Work::Gradient)? });
        }
    }
    let of = |rounds: &Vec<Times>, part: fn(&Times) -> f64| median(rounds.iter().map(part).collect());
    Ok(rounds.iter().map(|rounds| Times { record: of(rounds, |t| t.record), total: of(rounds, |t| t.total) }).collect())
}

/// How many evaluations the fastest entrant does in a pass.
fn count(entrants: &mut [Box<dyn Entrant + '_>]) -> Result<usize, Error> {
    let mut most = 1;
    for entrant in entrants {
        let mut count = 1;
        entrant.pass(Work::Gradient, 1)?;
        while entrant.pass(Work::Gradient, count)? < LEAST {
            count *= 2;
        }
        most = most.max(count);
    }
    Ok(most)
}

/// The middle one of some numbers, or the mean of the two in the middle.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => f64::NAN,
        (length, half) if length % 2 == 1 => numbers[half],
        (_, half) => 0.5 * (numbers[half - 1] + numbers[half]),
    }
}
