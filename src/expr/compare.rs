//! Comparisons of values; `f64` operands are rounded to the value type, as in arithmetic. They are not recorded: a branch belongs to the recording that took it.

use super::Ex;
use crate::closed::Closed;
use core::cmp::Ordering;
use tapewright_strategies::{Float, Rule, Taping};

/// Compares two forms of operands by their values. Each comparison is forwarded by itself: made of `partial_cmp` they
/// cost a branch more, and loops that contain them do not vectorise.
macro_rules! comparisons {
    ($([$($g:tt)*] $left:ty, $right:ty, |$x:ident, $y:ident| $a:expr, $b:expr;)*) => { $(
        impl<S: Taping, $($g)*> PartialEq<$right> for $left {
            #[inline(always)]
            fn eq(&self, $y: &$right) -> bool { let $x = self; $a == $b }
        }
        impl<S: Taping, $($g)*> PartialOrd<$right> for $left {
            #[inline(always)]
            fn partial_cmp(&self, $y: &$right) -> Option<Ordering> { let $x = self; $a.partial_cmp(&$b) }
            #[inline(always)]
            fn lt(&self, $y: &$right) -> bool { let $x = self; $a < $b }
            #[inline(always)]
            fn le(&self, $y: &$right) -> bool { let $x = self; $a <= $b }
            #[inline(always)]
            fn gt(&self, $y: &$right) -> bool { let $x = self; $a > $b }
            #[inline(always)]
            fn ge(&self, $y: &$right) -> bool { let $x = self; $a >= $b }
        }
    )* };
}

comparisons! {
    [A: Rule<S>, B: Rule<S>] Ex<S, A>, Ex<S, B>, |x, y| x.value(), y.value();
    [A: Rule<S>] Ex<S, A>, f64, |x, y| x.value(), S::Value::from_f64(*y);
    [B: Rule<S>] f64, Ex<S, B>, |x, y| S::Value::from_f64(*x), y.value();
    [] Closed<S>, Closed<S>, |x, y| x.value(), y.value();
    [] Closed<S>, f64, |x, y| x.value(), S::Value::from_f64(*y);
    [] f64, Closed<S>, |x, y| S::Value::from_f64(*x), y.value();
}
