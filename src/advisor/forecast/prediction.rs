//! Predictions of bytes and times, without recording.

use super::calibration::{self, Calibration};
use crate::advisor::measure::{entrant, forward, names};
use crate::advisor::program::Program;
use crate::advisor::text::table::{self, Line};
use crate::expr::Real;
use crate::tape::{Scope, Tape};
use core::fmt;
use tapewright_strategies::tape::{Counted, Counts};
use tapewright_strategies::{Continuation, Counting, Hybrid, IndexManager, Jacobian, Linear, PrimalValue, Reuse};

/// Seconds for which the function is timed on plain floats, and in forward mode, unless a few evaluations take longer.
const PLAIN: f64 = 1e-2;

/// Bytes of a program's tape under each strategy, exact, and times of recording and sweep, estimated; made by
/// [`forecast()`].
#[derive(Clone, Debug)]
pub struct Forecast {
    linear: Counts,
    reusing: Option<Counts>,
    rows: Vec<Prediction>,
}

/// The forecast for one strategy, with its tape in memory. On the other layers it takes the same number of bytes: see
/// [storage](crate::Spilled). Forward mode has no tape, so its bytes are 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The strategy's type, in the form in which it is written after `use tapewright::prelude::*`.
    pub strategy: String,
    /// Bytes of records, of values that are kept, and of data that external functions keep.
    pub tape: usize,
    /// Bytes of the adjoint vector.
    pub adjoints: usize,
    /// Seconds of one gradient: of recording and one sweep, on a tape that has been used before, or of the runs of
    /// forward mode.
    pub seconds: f64,
}

impl Prediction {
    /// Bytes of tape and adjoints together. The allocator gives more: records lie in segments of 64 KiB, then of 1 MiB,
    /// and vectors grow by doubling. So a tape of some hundred kilobytes reserves over a megabyte, and a large tape up
    /// to twice its bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.tape + self.adjoints
    }
}

impl Forecast {
    /// Contents of the recording under strategies with linear indices.
    #[must_use]
    pub const fn linear(&self) -> &Counts {
        &self.linear
    }

    /// Contents of the recording under strategies that reuse indices; `None` if the program cannot be run under these.
    #[must_use]
    pub const fn reusing(&self) -> Option<&Counts> {
        self.reusing.as_ref()
    }

    /// A row for each strategy in memory, and one for forward mode if there are at most 32 inputs.
    #[must_use]
    pub fn rows(&self) -> &[Prediction] {
        &self.rows
    }

    /// The row of the strategy with this name, in the form of [`Prediction::strategy`].
    #[must_use]
    pub fn row(&self, strategy: &str) -> Option<&Prediction> {
        self.rows.iter().find(|row| row.strategy == strategy)
    }
}

/// Prints the table: a line for each strategy, of at most 100 columns, and further strategies to try.
impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (counts, rows) = (&self.linear, self.rows.iter());
        writeln!(f, "{} statements with {} active arguments", counts.statements, counts.active)?;
        let lines = rows.map(|row| Line {
            strategy: &row.strategy,
            sizes: vec![row.tape, row.adjoints, row.bytes()],
            seconds: vec![row.seconds],
        });
        table::write(f, &["tape", "adjoints", "together", "about"], &lines.collect::<Vec<_>>())?;
        table::advise(f, self.reusing.is_none())
    }
}

/// Runs a program at `x` under [`Counting`], which records nothing, and predicts the bytes of the tape under each
/// strategy: the bytes that [`Tape::memory`] reports as used after a sweep, without the constant part of a tape.
///
/// The bytes are exact, with these exceptions. Tapes that meet more than 208 types of statements: see [`Counting`].
/// Arrays of [kernels](crate::kernels): their adjoints are not counted. Stages and time loops: the records that they
/// make when a sweep reaches them are not counted.
///
/// Seconds are an estimate. The function is timed on plain floats, and the time that statements and arguments add was
/// measured on small programs when this function was called for the first time, which takes a second. On the workloads
/// of this library half of the estimates are within 15 % of the measurement; some are off by up to 71 %.
/// [`compare`](crate::advisor::compare) measures. Forward mode needs no memory, so its time is measured here, too, if
/// there are at most 32 inputs. It has no row if an external function has no forward rule.
///
/// # Panics
///
/// When the program does, or runs out of identifiers.
///
/// ```
/// use tapewright::{advisor, prelude::*, program};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0] * x[1] * x[2]).into() }
///
/// let forecast = advisor::forecast(&program!(f), &[1.0, 2.0, 3.0]);
/// let bytes = |strategy| forecast.row(strategy).map(|row| row.tape);
/// assert_eq!(bytes("Jacobian"), Some(1 + 8 * 3 + 4 * 3));
/// assert_eq!(bytes("PrimalValue"), Some(9 + 4 * 3 + 8 * 4)); // the values of inputs and of slot 0 are kept, too
/// ```
pub fn forecast<P: Program>(program: &P, x: &[f64]) -> Forecast {
    let calibration = Calibration::get();
    let plain = calibration::in_units(entrant::plain(program, x, entrant::wall), PLAIN).unwrap_or((f64::NAN, f64::NAN));
    let (counts, beside) = counted(x, |x: &[Real<Counting>]| Some(program.run(x))).expect("the program ran");
    let mut rows = rows::<Linear>(counts, beside, calibration, plain).to_vec();
    let reusing = counted(x, |x: &[Real<Counting<f64, Reuse>>]| program.run_reusing(x));
    if let Some((counts, beside)) = reusing {
        rows.extend(self::rows::<Reuse>(counts, beside, calibration, plain));
    }
    rows.extend(in_forward_mode(program, x));
    Forecast { linear: counts, reusing: reusing.map(|(counts, _)| counts), rows }
}

/// The row of forward mode; `None` if there are too many inputs or a rule is missing.
fn in_forward_mode<P: Program>(program: &P, x: &[f64]) -> Option<Prediction> {
    let (strategy, start) = forward::usual(program, x)?;
    let (units, unit) = calibration::in_units(start(entrant::wall).ok()??, PLAIN).ok()?;
    let seconds = units * unit;
    Some(Prediction { strategy, tape: 0, adjoints: 0, seconds })
}

/// The counts of a recording, and the bytes that it needs outside its records; `None` if there is no output.
fn counted<M: IndexManager>(
    x: &[f64],
    run: impl FnOnce(&[Real<Counting<f64, M>>]) -> Option<Real<Counting<f64, M>>>,
) -> Option<(Counts, usize)> {
    let mut tape = Tape::<Counting<f64, M>>::new();
    let output = tape.record(|scope: &mut Scope<'_, _>| run(&scope.inputs(x)));
    let report = tape.memory();
    let beside = report.total().used - report.usage("tables").used + report.usage("nested").reserved;
    output.map(|_| (tape.tape_mut().counts(), beside))
}

/// A row for each strategy with this index management.
fn rows<M: IndexManager>(
    counts: Counts,
    beside: usize,
    calibration: &Calibration,
    plain: (f64, f64),
) -> [Prediction; 4] {
    Counted::ALL.map(|strategy| {
        let name = match strategy {
            Counted::Jacobian => names::of::<Jacobian<f64, M>>(),
            Counted::PrimalValue => names::of::<PrimalValue<f64, M>>(),
            Counted::Hybrid => names::of::<Hybrid<f64, M>>(),
            Counted::Continuation => names::of::<Continuation<f64, M>>(),
        };
        Prediction {
            tape: counts.tape(strategy) + beside,
            adjoints: counts.adjoints(),
            seconds: calibration.seconds(&name, &counts, plain),
            strategy: name,
        }
    })
}
