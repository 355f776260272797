//! Comparisons of values; `f64` operands are rounded to the value type, as in arithmetic. They are not recorded: a
//! branch belongs to the recording that took it. Strategies that can replay a recording are told of every comparison:
//! see [`Taping::compare`]; and all strategies are told of comparisons that may hide a derivative, see [`note_branch`].
//! In the macro, `true` stands for closed variables.

use super::branch::note_branch;
use super::{Ex, Literal};
use core::cmp::Ordering;
use tapewright_strategies::contract::{Comparison, Tree};
use tapewright_strategies::{Expression, Number, Taping, agreed};

/// Compares two forms of operands by their values. Each comparison operator is forwarded separately: comparisons that
/// were made of `partial_cmp` cost a branch more, and loops that contained them did not vectorize.
macro_rules! comparisons {
    ($($closed:literal [$($g:tt)*] $left:ty, $right:ty, |$x:ident, $y:ident| $a:expr, $b:expr;)*) => { $(
        impl<S: Taping, $($g)*> PartialEq<$right> for $left {
            comparisons! { @ $closed $right, |$x, $y| $a, $b, eq == Equal, ne != Equal }
        }
        impl<S: Taping, $($g)*> PartialOrd<$right> for $left {
            #[inline(always)]
            #[track_caller]
            fn partial_cmp(&self, $y: &$right) -> Option<Ordering> {
                let $x = self;
                let (left, right) = (&$a, &$b);
                S::compare(left, right, Comparison::Order);
                note_branch::<$closed, S, _, _>(left, right, Comparison::Order);
                let (x, y) = (Expression::<S>::value(left), Expression::<S>::value(right));
                agreed::<S::Value, _>(|k| x.lane(k).partial_cmp(&y.lane(k)))
            }
            comparisons! { @ $closed $right, |$x, $y| $a, $b,
                lt < Less, le <= LessOrEqual, gt > Greater, ge >= GreaterOrEqual
            }
        }
    )* };
    (
        @ $closed:literal $right:ty, |$x:ident, $y:ident| $a:expr, $b:expr,
        $($method:ident $operator:tt $comparison:ident),*
    ) => { $(
        #[allow(clippy::partialeq_ne_impl, reason = "the default would give its own place as the caller's")]
        #[inline(always)]
        #[track_caller]
        fn $method(&self, $y: &$right) -> bool {
            let $x = self;
            let (left, right) = (&$a, &$b);
            S::compare(left, right, Comparison::$comparison);
            note_branch::<$closed, S, _, _>(left, right, Comparison::$comparison);
            let (x, y) = (Expression::<S>::value(left), Expression::<S>::value(right));
            agreed::<S::Value, _>(|k| x.lane(k).as_f64() $operator y.lane(k).as_f64())
        }
    )* };
}

pub(crate) use comparisons;

comparisons! {
    false [A: Tree<S>, B: Tree<S>] Ex<S, A>, Ex<S, B>, |x, y| x.0, y.0;
    false [A: Tree<S>] Ex<S, A>, f64, |x, y| x.0, Literal::<S>(S::Value::from_f64(*y));
    false [B: Tree<S>] f64, Ex<S, B>, |x, y| Literal::<S>(S::Value::from_f64(*x)), y.0;
}
