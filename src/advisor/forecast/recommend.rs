//! Choice of a strategy for a memory budget.

use super::plans::{in_steps, nothing, on_disk};
use super::prediction::{Forecast, Prediction, forecast};
use crate::advisor::measure::comparison::{Comparison, Row};
use crate::advisor::measure::contest::Contest;
use crate::advisor::measure::forward::directions;
use crate::advisor::program::Program;
use crate::advisor::text::table;
use crate::advisor::text::units::{bytes, seconds};
use crate::error::Error;
use core::fmt;

/// Largest ratio of the expected time to the least expected time at which a strategy is still timed, because estimates
/// may be wrong by as much.
const DOUBT: f64 = 2.5;
/// Factor below which a difference of two times counts as none, and bytes decide.
const NOISE: f64 = 1.03;

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
    let least = measured.fastest().map_or(f64::INFINITY, |row| row.total);
    let best = measured.rows.iter().filter(|row| row.total <= NOISE * least).min_by_key(|row| row.bytes());
    let Row { strategy, total, .. } = best.expect("what is expected to be the fastest is measured");
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

/// Memory that there is, and properties of the program; made of a number of bytes, or by [`Budget::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub(crate) bytes: usize,
    /// Number of steps, and of variables in a state.
    pub(crate) time_loop: Option<(usize, usize)>,
}

impl Budget {
    /// A budget of this many bytes for tape and adjoints together, counted as by
    /// [`Prediction::bytes`](crate::advisor::Prediction::bytes).
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, time_loop: None }
    }

    /// Adds that the program is a loop of this many steps, alike in their records, whose state has this many variables.
    /// Such a program can be reversed from snapshots of its state.
    #[must_use]
    pub const fn time_loop(mut self, steps: usize, state: usize) -> Self {
        self.time_loop = Some((steps, state));
        self
    }
}

impl From<usize> for Budget {
    fn from(bytes: usize) -> Self {
        Self::new(bytes)
    }
}

/// Answer of [`recommend`](crate::advisor::recommend()).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recommendation {
    /// True if the recommendation takes no more memory than there is. If false, nothing fits, and this recommendation
    /// takes the least.
    pub fits: bool,
    /// The strategy's type, in the form in which it is written after `use tapewright::prelude::*`.
    pub strategy: String,
    /// An expression that makes the tape, or the time loop, for programs that also
    /// `use tapewright::{SpillOptions, Spilled, TimeLoop, schedule::Revolve}`. For forward mode, a call that finds the
    /// value and the gradient of the function `f`.
    pub code: String,
    /// Bytes of memory that the recommendation takes: exact for tapes in memory, an upper estimate for the others.
    pub bytes: usize,
    /// The reason, in one sentence.
    pub reason: String,
    /// True if other tapes could be recommended if the program ran with reused indices.
    pub(crate) lacks_reuse: bool,
}

/// Prints the expression, the reason, and further strategies to try.
impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.code, self.reason)?;
        if self.lacks_reuse { write!(f, "\n{}", table::ADVICE) } else { Ok(()) }
    }
}
