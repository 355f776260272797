//! What to take where memory is limited.

use super::comparison::{Comparison, Row};
use super::contest::Contest;
use super::forecast::{Forecast, Prediction, forecast};
use super::plans::{in_steps, nothing, on_disk};
use super::program::Program;
use super::recommendation::{Budget, Recommendation};
use super::units::{bytes, seconds};
use crate::error::Error;

/// A strategy is timed if it is expected to take at most this many times as long as the one that is expected to be the
/// fastest, for estimates may be wrong by as much.
const DOUBT: f64 = 2.5;
/// Times that differ by less than this factor are equal, and then bytes decide.
const NOISE: f64 = 1.03;

/// Names the strategy for a program at `x` with this much memory.
///
/// A [`forecast()`] says which strategies fit. Of these, the ones that may be the fastest are measured, in about a
/// second, and the fastest is named. Tapes that exist at the same time fit together. If none fits, it is a time loop
/// with as many snapshots as do, if the program is [said](Budget::time_loop) to be one; and a tape that is spilled to
/// disk otherwise.
///
/// # Errors
///
/// The errors of external functions of the program.
///
/// # Panics
///
/// When the program does, or returns a variable of another recording.
///
/// ```
/// use tapewright::{advisor::{Budget, recommend}, prelude::*, program};
///
/// fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
///     let mut y = x[0].clone();
///     for _ in 0..100_000 {
///         y = (&x[1] * y.sin()).into();
///     }
///     y
/// }
///
/// let f = program!(f: Taping);
/// println!("{}", recommend(&f, &[0.7, 1.1], 100 << 20)?); // what is the fastest here
/// assert!(recommend(&f, &[0.7, 1.1], 2_200_000)?.strategy.ends_with("<f64, Reuse>")); // only these fit
/// assert!(recommend(&f, &[0.7, 1.1], 1 << 20)?.strategy.ends_with("Spilled>"));
/// let loops = Budget::new(1 << 20).time_loop(100_000, 1);
/// assert!(recommend(&f, &[0.7, 1.1], loops)?.code.starts_with("TimeLoop::<"));
/// # Ok::<(), tapewright::Error>(())
/// ```
pub fn recommend<P: Program>(program: &P, x: &[f64], budget: impl Into<Budget>) -> Result<Recommendation, Error> {
    let budget = budget.into();
    let forecast = forecast(program, x);
    let fitting: Vec<&Prediction> = forecast.rows().iter().filter(|row| row.bytes() <= budget.bytes).collect();
    if fitting.is_empty() {
        let plan = in_steps(&forecast, budget).or_else(|| on_disk(&forecast, budget));
        return Ok(plan.unwrap_or_else(|| nothing(&forecast, budget)));
    }
    let expected = fitting.iter().fold(f64::INFINITY, |least, row| least.min(row.seconds));
    let may_win = |name: &str| fitting.iter().any(|row| row.strategy == name && row.seconds <= DOUBT * expected);
    if let [only] = fitting[..] {
        let reason = format!("it is the only one that fits into {}", bytes(budget.bytes));
        return Ok(in_memory(only, &format!("about {}", seconds(only.seconds)), &reason));
    }
    let all: usize = fitting.iter().filter(|row| may_win(&row.strategy)).map(|row| row.bytes()).sum();
    let measured = Contest::new(program, x).usual().only(may_win).apart(all > budget.bytes).run()?;
    Ok(fastest(&measured, &forecast, fitting.len(), budget.bytes))
}

/// The fastest of those that were measured.
fn fastest(measured: &Comparison, forecast: &Forecast, fitting: usize, budget: usize) -> Recommendation {
    let least = measured.fastest().map_or(f64::INFINITY, |row| row.total);
    let best = measured.rows.iter().filter(|row| row.total <= NOISE * least).min_by_key(|row| row.bytes());
    let Row { strategy, total, .. } = best.expect("what is expected to be the fastest is measured");
    let row = forecast.row(strategy).expect("all of them are forecast");
    let budget = bytes(budget);
    let reason = match fitting {
        some if some == forecast.rows().len() => format!("all strategies fit into {budget}, and it is the fastest"),
        some => format!("{some} strategies fit into {budget}, and it is the fastest of them"),
    };
    in_memory(row, &seconds(*total), &reason)
}

/// A tape in memory.
fn in_memory(row: &Prediction, takes: &str, reason: &str) -> Recommendation {
    let strategy = row.strategy.clone();
    Recommendation {
        fits: true,
        code: format!("Tape::<{strategy}>::new()"),
        bytes: row.bytes(),
        reason: format!("{strategy} takes {takes} and {}: {reason}.", bytes(row.bytes())),
        strategy,
    }
}
