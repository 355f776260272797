//! Comparisons of closed variables, which report branches that may hide a derivative.

use super::Closed;
use crate::expr::{Literal, comparisons, note_branch};
use core::cmp::Ordering;
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::{Expression, Number, Taping, agreed};

comparisons! {
    true [] Closed<S>, Closed<S>, |x, y| x.0.0, y.0.0;
    true [] Closed<S>, f64, |x, y| x.0.0, Literal::<S>(S::Value::from_f64(*y));
    true [] f64, Closed<S>, |x, y| Literal::<S>(S::Value::from_f64(*x)), y.0.0;
}
