//! Functions of complete arrays with derivatives of their own: products, softmax, convolutions.
//!
//! `rule` says what is computed, `launch` is an application of a rule in a recording.

mod launch;
mod rule;

pub use launch::{RuleLaunch, ViewValues};
pub use rule::{ArrayRule, KeptArrays, are_finite, contribution};
