//! Programs: functions that are recorded once, and computed for many scenarios.
//!
//! A Monte-Carlo pricer, a calibration, an ensemble or a fit by mini-batches evaluates one function for many sets of
//! data. A tape records it each time. A [`Program`] records it once: each statement becomes an instruction that
//! computes a block of 64 scenarios in SIMD registers, forward and in reverse. What depends on parameters only is
//! computed once for all scenarios.
//!
//! ```
//! use tapewright::prelude::*;
//! use tapewright::programs::{Program, scenarios};
//!
//! /// A call option on one path: the parameters are spot, volatility, rate, strike and time, the datum is normal.
//! fn payoff<S: Strategy>(p: &[Real<S>], z: &[Real<S>]) -> Real<S> {
//!     let drift: Real<S> = ((p[2] - 0.5 * p[1] * p[1]) * p[4]).into();
//!     let spot: Real<S> = (p[0] * (drift + p[1] * p[4].sqrt() * z[0]).exp()).into();
//!     ((spot - p[3]).max(0.0) * (-p[2] * p[4]).exp()).into()
//! }
//!
//! let program = Program::new(|p, z| [payoff(p, z)]);
//! let quantile = |k: usize| Real::<Passive>::from((k as f64 + 0.5) / 1e4).normal_quantile().value();
//! let paths = scenarios(10_000, 1, |k, z| z[0] = quantile(k));
//! let found = program.gradient(&[100.0, 0.2, 0.03, 105.0, 1.0], paths)?;
//! assert!((found.mean(0) - 7.1).abs() < 0.1);
//! let greeks = found.mean_gradient(0);
//! assert!((greeks[0] - 0.50).abs() < 0.01 && (greeks[1] - 39.7).abs() < 0.5); // delta and vega
//! # Ok::<(), tapewright::Error>(())
//! ```
//!
//! # What a program can compute
//!
//! All functions and operators of variables, rules of your own, and functions of slices. Statements without a form for
//! registers are computed scenario by scenario. So are external functions that can be computed again
//! ([`External::is_instruction`](crate::External::is_instruction)), among them functions of matrices and solutions of
//! equations by a [`Solver`](crate::implicit::Solver), and launches of kernels: those that share views are one function
//! of the variables at their ends. A scenario in which a function fails is recorded by itself. What depends on
//! parameters only is computed once for a call. [Stages](crate::checkpoint::Stage), time loops and blocks that are
//! preaccumulated by reverse mode are recorded where they are called, if they are of this strategy and the recording
//! has up to a million numbers.
//!
//! A function cannot be recorded once if it contains
//!
//! * other external functions, such as [`implicit::root`](crate::implicit::root), or messages;
//! * stages and time loops that are larger, of another strategy, with a
//!   [`progress`](crate::checkpoint::TimeLoop::progress) closure, or run by
//!   [`run_while`](crate::checkpoint::TimeLoop::run_while);
//! * launches that read results of earlier launches over the same views through statements;
//! * elements of views that are read as numbers ([`values`](crate::kernels::View::values), the point of
//!   [`parallel_max_at`](crate::kernels::parallel_max_at));
//! * statements of which only partials are known ([`with_partials`](crate::with_partials),
//!   [`preaccumulate`](crate::preaccumulate), [`statement`](crate::statement));
//! * results of a [pause](crate::pause).
//!
//! Then its scenarios are recorded one by one, on threads if asked for, and [`Branches::refusal`] says why.
//!
//! Functions of `f64` and `f32` have formulas of their own, with the same bits with AVX2, AVX-512 and NEON. They are
//! off by one to four units in the last place; the book has a table. All other functions have the bits of a scalar
//! program.
//!
//! # Branches
//!
//! Comparisons of variables are noted when the function is recorded, and repeated for each scenario. Scenarios in which
//! they come out differently are computed by another recording, for all scenarios that branch alike; beyond
//! [`most_patterns`](Program::most_patterns) recordings, one by one. [`Evaluations::branches`] says how many, and at
//! which lines. `max`, `min`, `abs`, `clamp` and [`select`](crate::Ex::less) need no branch. A variable whose
//! [`value`](crate::Ex::value) is read must have the value that was recorded, since the function may branch on it or
//! make a constant of it: with data that take few values there are as many recordings, else scenarios are recorded one
//! by one.

mod evaluations;
mod footprint;
mod means;
mod program;
mod recorded;
mod scenarios;
mod second;

pub use evaluations::{Branches, Evaluations};
pub use footprint::{Footprint, OfThread};
pub use means::Means;
pub use program::Program;
pub(crate) use program::{Kept, Used};
pub(crate) use recorded::Alone;
pub use recorded::ProgramReal;
pub use scenarios::{FromFn, Rows, Scenarios, rows, scenarios};
