//! Which strategy for *this* function?
#![allow(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^53")]

mod calibration;
mod chart;
mod comparison;
mod contest;
mod entrant;
mod forecast;
mod names;
mod program;
mod rounds;
mod table;
mod units;

pub use comparison::{Comparison, Row};
pub use contest::{Contest, compare};
pub use forecast::{Forecast, Prediction, forecast};
pub use program::Program;
pub use tapewright_strategies::{Counted, Counting, Counts};
