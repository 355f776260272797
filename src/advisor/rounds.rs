//! Timing in turns.
//!
//! A machine is not equally fast at all times. So all that is compared takes turns: in each round each entrant does one
//! pass, and the next round begins with another entrant. What is reported is the least over the rounds: whatever else
//! the machine does only adds to it.

use super::entrant::{Entrant, Work};
use crate::error::Error;
use std::time::Instant;

/// Seconds that a pass takes at least.
const LEAST: f64 = 5e-4;
/// Rounds that there are at least, and at most.
const FEWEST: usize = 3;
const MOST: usize = 201;

/// Seconds of one evaluation of an entrant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) record: f64,
    pub(super) total: f64,
}

/// Times all of these, in rounds that take this many seconds together, or as long as the fewest rounds take.
pub(super) fn times(entrants: &mut [Box<dyn Entrant + '_>], seconds: f64) -> Result<Vec<Times>, Error> {
    let counts = entrants.iter_mut().map(|entrant| count(&mut **entrant)).collect::<Result<Vec<_>, Error>>()?;
    let mut rounds: Vec<Vec<Times>> = vec![Vec::new(); entrants.len()];
    let start = Instant::now();
    for round in 0..MOST {
        if round >= FEWEST && start.elapsed().as_secs_f64() >= seconds {
            break;
        }
        for turn in 0..entrants.len() {
            let at = (turn + round) % entrants.len();
            let (entrant, count) = (&mut entrants[at], counts[at]);
            let mut pass = |work| Ok::<f64, Error>(entrant.pass(work, count)? / count as f64);
            let record = pass(Work::Record)?;
            rounds[at].push(Times { record, total: pass(Work::Gradient)? });
        }
    }
    let least = |rounds: &[Times], part: fn(&Times) -> f64| rounds.iter().map(part).fold(f64::INFINITY, f64::min);
    let of = |rounds: Vec<Times>| {
        let total = least(&rounds, |times| times.total);
        Times { record: least(&rounds, |times| times.record).min(total), total }
    };
    Ok(rounds.into_iter().map(of).collect())
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
