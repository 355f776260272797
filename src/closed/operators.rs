//! `+ − × ÷ %` and negation with closed variables and `f64` or `&f64`, each operation a statement.

use super::Closed;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};
use tapewright_strategies::Taping;

/// Implements one operator for every form of operands. All forms with two variables make the same statement, of
/// borrowed variables. For `Add add + AddAssign add_assign`, the first impl reads `impl Add<Closed<S>> for Closed<S> {
/// fn add(self, y) { (&self.0 + &y.0).into() } }`, and an assignment stores the operator's result.
macro_rules! binary_operators {
    ($($trait:ident $method:ident $op:tt $assign:ident $assign_method:ident;)*) => { $(
        binary_operators! { @ $trait $method $op
            Closed<S>, Closed<S>, |x, y| &x.0, &y.0;
            Closed<S>, &Closed<S>, |x, y| &x.0, &y.0;
            &Closed<S>, Closed<S>, |x, y| &x.0, &y.0;
            &Closed<S>, &Closed<S>, |x, y| &x.0, &y.0;
            Closed<S>, f64, |x, y| &x.0, y;
            &Closed<S>, f64, |x, y| &x.0, y;
            f64, Closed<S>, |x, y| x, &y.0;
            f64, &Closed<S>, |x, y| x, &y.0;
            Closed<S>, &f64, |x, y| &x.0, y;
            &Closed<S>, &f64, |x, y| &x.0, y;
            &f64, Closed<S>, |x, y| x, &y.0;
            &f64, &Closed<S>, |x, y| x, &y.0;
        }
        binary_operators! { = $assign $assign_method $op Self; &Self; f64; &f64; }
    )* };
    (@ $trait:ident $method:ident $op:tt $($l:ty, $r:ty, |$x:ident, $y:ident| $a:expr, $b:expr;)*) => { $(
        impl<S: Taping> $trait<$r> for $l {
            type Output = Closed<S>;
            #[inline]
            #[track_caller]
            fn $method(self, $y: $r) -> Closed<S> {
                let $x = self;
                ($a $op $b).into()
            }
        }
    )* };
    (= $trait:ident $method:ident $op:tt $($r:ty;)*) => { $(
        impl<S: Taping> $trait<$r> for Closed<S> {
            #[inline]
            #[track_caller]
            fn $method(&mut self, right: $r) { *self = &*self $op right; }
        }
    )* };
}

binary_operators! {
    Add add + AddAssign add_assign;
    Sub sub - SubAssign sub_assign;
    Mul mul * MulAssign mul_assign;
    Div div / DivAssign div_assign;
    Rem rem % RemAssign rem_assign;
}

impl<S: Taping> Neg for Closed<S> {
    type Output = Self;
    #[inline]
    #[track_caller]
    fn neg(self) -> Self {
        -&self
    }
}

impl<S: Taping> Neg for &Closed<S> {
    type Output = Closed<S>;
    #[inline]
    #[track_caller]
    fn neg(self) -> Closed<S> {
        (-&self.0).into()
    }
}

/// Folds an iterator: the first item unchanged, then a statement for each further item.
macro_rules! iterator_folds {
    ($($trait:ident $method:ident $op:tt $unit:literal;)*) => { $(
        impl<S: Taping> $trait for Closed<S> {
            #[inline]
            fn $method<I: Iterator<Item = Self>>(items: I) -> Self {
                items.reduce(|total, item| total $op item).unwrap_or_else(|| Self::from($unit))
            }
        }

        impl<'a, S: Taping> $trait<&'a Self> for Closed<S> {
            #[inline]
            fn $method<I: Iterator<Item = &'a Self>>(mut items: I) -> Self {
                let Some(first) = items.next() else { return Self::from($unit) };
                items.fold(first.clone(), |total, item| total $op item)
            }
        }
    )* };
}

iterator_folds! {
    Sum sum + 0.0;
    Product product * 1.0;
}
