//! The functions as methods and as functions of expressions; their derivative rules are in
//! [`tapewright_strategies::rules`].

mod methods;

pub use methods::{smooth_max, smooth_min};
