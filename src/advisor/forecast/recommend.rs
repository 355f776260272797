//! Choice of a strategy for a memory budget.

use super::plans::{in_steps, nothing, on_disk};
use super::prediction::{Forecast, Prediction, forecast};
use super::recommendation::{Budget, Recommendation};
use crate::advisor::measure::comparison::{Comparison, Row};
use crate::advisor::measure::contest::Contest;
use crate::advisor::measure::forward::directions;
use crate::advisor::program::Program;
use crate::advisor::text::units::{bytes, seconds};
use crate::error::Error;

/// Largest ratio of the expected time to the least expected time at which a strategy is still timed, because estimates
/// may be wrong by as much.
const DOUBT: f64 = 2.5;

/// Names the strategy for a program at `x` with this much memory.
///
/// A [`forecast()`] says which strategies fit. Of these, the strategies that may be the fastest are measured, in about
/// a second, and the fastest is named. Tapes that exist simultaneously fit together. Forward mode always fits, because
/// it keeps no tape; it takes part if there are at most 32 inputs. If nothing fits, the recommendation is a time loop
/// with as many snapshots as fit, if the program is [said](Budget::time_loop) to be one; and a tape that is spilled to
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
///     for step in 0..100_000 {
///         y = (&x[1 + step % 99] * y.sin()).into();
///     }
///     y
/// }
///
/// let (f, x) = (program!(f: Taping), [1.1; 100]);
/// println!("{}", recommend(&f, &x, 100 << 20)?); // what is the fastest here
/// assert!(recommend(&f, &x, 2_200_000)?.strategy.ends_with("<f64, Reuse>")); // only these fit
/// assert!(recommend(&f, &x, 1 << 20)?.strategy.ends_with("Spilled>"));
/// let loops = Budget::new(1 << 20).time_loop(100_000, 1);
/// assert!(recommend(&f, &x, loops)?.code.starts_with("TimeLoop::<"));
///
/// fn few<S: Taping>(x: &[Real<S>]) -> Real<S> { (&x[0] * x[1].sin()).into() }
/// assert_eq!(recommend(&program!(few: Taping), &[0.7, 1.1], 10)?.strategy, "Tangent<4>"); // no tape fits
/// # Ok::<(), tapewright::Error>(())
/// ```
pub fn recommend<P: Program>(program: &P, x: &[f64], budget: impl Into<Budget>) -> Result<Recommendation, Error> {
    let budget = budget.into();
    let forecast = forecast(program, x);
    let fitting: Vec<&Prediction> = forecast.rows().iter().filter(|row| row.bytes() <= budget.bytes).collect();
    if fitting.is_empty() {
        let plan = in_steps(&forecast, budget).or_else(|| on_disk(&forecast, budget));
        return Ok(advised(plan.unwrap_or_else(|| nothing(&forecast, budget)), &forecast));
    }
    let expected = fitting.iter().fold(f64::INFINITY, |least, row| least.min(row.seconds));
    let may_win = |name: &str| fitting.iter().any(|row| row.strategy == name && row.seconds <= DOUBT * expected);
    if let [only] = fitting[..] {
        let reason = format!("it is the only one that fits into {}", bytes(budget.bytes));
        return Ok(named(only, &format!("about {}", seconds(only.seconds)), &reason, &forecast, x.len()));
    }
    let all: usize = fitting.iter().filter(|row| may_win(&row.strategy)).map(|row| row.bytes()).sum();
    let measured = Contest::new(program, x).usual().only(may_win).apart(all > budget.bytes).run()?;
    Ok(fastest(&measured, &forecast, fitting.len(), budget.bytes))
}

/// Recommends the fastest of the strategies that were measured.
fn fastest(measured: &Comparison, forecast: &Forecast, fitting: usize, budget: usize) -> Recommendation {
    let Row { strategy, total, .. } = measured.best().expect("what is expected to be the fastest is measured");
    let row = forecast.row(strategy).expect("all of them are forecast");
    let budget = bytes(budget);
    let reason = match fitting {
        some if some == forecast.rows().len() => format!("all strategies fit into {budget}, and it is the fastest"),
        some => format!("{some} strategies fit into {budget}, and it is the fastest of them"),
    };
    named(row, &seconds(*total), &reason, forecast, measured.inputs)
}

/// Recommends a tape in memory, or forward mode.
fn named(row: &Prediction, takes: &str, reason: &str, forecast: &Forecast, inputs: usize) -> Recommendation {
    let strategy = row.strategy.clone();
    let (code, takes) = if let Some(directions) = directions(inputs).filter(|_| row.bytes() == 0) {
        let runs = match inputs.div_ceil(directions) {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        };
        let inputs = if inputs == 1 { "1 input".to_owned() } else { format!("{inputs} inputs") };
        let code = format!("jacobian_forward::<{strategy}>(|x| vec![f(x)], &x)");
        (code, format!("{takes} and no tape ({runs} of the function for {inputs})"))
    } else {
        (format!("Tape::<{strategy}>::new()"), format!("{takes} and {}", bytes(row.bytes())))
    };
    let reason = format!("{strategy} takes {takes}: {reason}.");
    advised(Recommendation { fits: true, code, bytes: row.bytes(), reason, strategy, lacks_reuse: false }, forecast)
}

/// Marks a recommendation of a tape for the advice on reused indices, if the program cannot run with them.
fn advised(recommendation: Recommendation, forecast: &Forecast) -> Recommendation {
    let lacks_reuse = forecast.reusing().is_none() && !recommendation.code.starts_with("jacobian_forward");
    Recommendation { lacks_reuse, ..recommendation }
}
