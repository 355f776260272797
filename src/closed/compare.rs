//! Comparisons of closed variables, which are told of branches that may hide a derivative.

use super::Closed;
use crate::expr::{Ex, Literal, comparisons, note_branch};
use core::cmp::Ordering;
use tapewright_strategies::{Comparison, Expression, Number, Taping, Tree, agreed};

comparisons! {
    true [] Closed<S>, Closed<S>, |x, y| x.0.0, y.0.0;
    true [] Closed<S>, f64, |x, y| x.0.0, Literal::<S>(S::Value::from_f64(*y));
    true [] f64, Closed<S>, |x, y| Literal::<S>(S::Value::from_f64(*x)), y.0.0;
}

/// Compares a measure of closed variables with another one, as `<=` does.
#[cfg(feature = "nalgebra")]
#[inline]
#[track_caller]
pub(super) fn at_most<S: Taping, A: Tree<S>, B: Tree<S>>(left: &Ex<S, A>, right: &Ex<S, B>) -> bool {
    if const { !<S::Policy as tapewright_strategies::Policy>::WATCHES } {
        note_branch::<true, S, _, _>(&left.0, &right.0);
    }
    left <= right
}
