//! Advice on the choice of a strategy for a function: nobody can say in advance which is best, so the library counts
//! and measures.
//!
//! * [`forecast()`] counts what a program consists of, records nothing, and says how many bytes the tape of each
//!   strategy would take, exactly, and how long it would take, roughly.
//! * [`compare`] runs the program under several strategies, checks their gradients against one another, and measures
//!   bytes and times: a table for the terminal, CSV or SVG. [`Contest`] compares strategies of your choice.
//! * [`recommend`] is given a number of bytes, and names the strategy.
//!
//! A closure is not generic over the strategy, so a function is passed as a [`Program`], which
//! [`program!`](crate::program) writes.
//!
//! ```
//! use tapewright::{advisor, prelude::*, program};
//!
//! fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
//!     let t = (x[0].exp() * x[1]).eval();
//!     (t * x[1]).eval()
//! }
//!
//! let forecast = advisor::forecast(&program!(f), &[5.2, -3.9]);
//! let strategies: Vec<&str> = forecast.rows().iter().map(|row| row.strategy.as_str()).collect();
//! assert_eq!(strategies, ["Jacobian", "PrimalValue", "Hybrid", "Continuation", "Tangent<4>"]);
//!
//! let comparison = advisor::compare(&program!(f), &[5.2, -3.9])?;
//! assert!(comparison.wrong().next().is_none());
//! println!("{comparison}"); // a line for each strategy
//!
//! println!("{}", advisor::recommend(&program!(f), &[5.2, -3.9], 1 << 20)?);
//! # Ok::<(), tapewright::Error>(())
//! ```
//!
//! Measure in a program that is compiled with the optimization with which it will be used.
#![allow(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^53")]

pub(crate) mod forecast;
pub(crate) mod measure;
pub(crate) mod text;

mod program;

pub use forecast::prediction::{Forecast, Prediction, forecast};
pub use forecast::recommend::recommend;
pub use forecast::recommendation::{Budget, Recommendation};
pub use measure::comparison::{Comparison, Row};
pub use measure::contest::{Contest, compare};
pub use measure::entrant::{Entrant, Work};
pub use measure::rounds::Spread;
pub use program::Program;
pub use tapewright_strategies::Counting;
pub use tapewright_strategies::tape::{Counted, Counters, Counts};
#[doc(hidden)]
pub use text::units;
