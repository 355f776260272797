//! Statement boundaries: how an expression becomes a variable.

use super::nodes::node::{BackLeaf, Bin, Compound, Literal, RefLeaf};
use super::{Ex, Real, ex};
use core::iter::{Product, Sum};
use core::ops::{AddAssign, DivAssign, MulAssign, RemAssign, SubAssign};
use tapewright_strategies::rules::arithmetic::{Minus, Modulo, Over, Plus, Times};
use tapewright_strategies::{Nested, Nests, Number as _, Statement, Taping};

/// Records a statement and makes its variable. Inlined by force only without debug assertions: with them, all
/// statements of one type share this function.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn fold<S: Taping, N: Statement<S>>(statement: &N) -> Real<S> {
    let value = statement.value();
    Real::from_parts(value, S::record(statement))
}

/// Records a statement and puts its variable in the place of this one; like [`fold`] a function of its own with debug
/// assertions.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn overwrite<S: Taping, N: Statement<S>>(variable: &mut Real<S>, statement: &N) {
    S::assign(&mut variable.0.0, statement);
}

impl<S: Taping, N: Statement<S> + Compound> From<Ex<S, N>> for Real<S> {
    #[inline(always)]
    #[track_caller]
    fn from(expression: Ex<S, N>) -> Self {
        fold(&expression.0)
    }
}

impl<S: Taping> From<f64> for Real<S> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self::constant(S::Value::from_f64(value))
    }
}

/// A literal, such as a `Datum`, as a variable that depends on no input.
impl<S: Taping> From<Ex<S, Literal<S>>> for Real<S> {
    #[inline(always)]
    fn from(literal: Ex<S, Literal<S>>) -> Self {
        Self::constant(literal.value())
    }
}

impl<S: Taping, N: Statement<S> + Compound> Ex<S, N> {
    /// Records this expression as one statement and returns its variable. It does the same as `.into()`, and also works
    /// where the compiler does not know the type:
    ///
    /// ```compile_fail,E0282
    /// # use tapewright::prelude::*;
    /// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    ///     let y = (x[0] * x[1]).into(); // .eval()
    ///     (y * x[0]).into()
    /// }
    /// ```
    ///
    /// A variable has no `eval`; nor have the results of functions that return variables, such as
    /// [`sum`](crate::sum): use them as they are.
    ///
    /// # Panics
    ///
    /// When variables of two recordings, or of one that is not active on this thread, occur in the expression, or when
    /// the tape is out of identifiers.
    #[inline(always)]
    #[track_caller]
    pub fn eval(self) -> Real<S> {
        fold(&self.0)
    }
}

/// Values that can be [assigned](Real::assign) to a variable: an expression, a variable, an `f64`, a
/// [`Closed`](crate::Closed) variable, or a [`Nested`] number. Types of your own need no more than an empty `impl`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be assigned to a variable of strategy `{S}`",
    note = "expressions, variables and `f64` can; implement `Assignable` for types of your own"
)]
pub trait Assignable<S: Taping>: Into<Real<S>> {
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn assign_to(self, variable: &mut Real<S>) {
        *variable = self.into();
    }
}

impl<S: Taping> Assignable<S> for f64 {}
impl<S: Taping> Assignable<S> for Real<S> {}
impl<S: Taping> Assignable<S> for Ex<S, Literal<S>> {}
impl<S: Nests> Assignable<S> for Nested<S> {}
impl<S: Taping, N: Statement<S> + Compound> Assignable<S> for Ex<S, N> {
    #[inline(always)]
    #[track_caller]
    fn assign_to(self, variable: &mut Real<S>) {
        overwrite(variable, &self.0);
    }
}

impl<S: Taping> Real<S> {
    /// Assigns an expression, a variable or an `f64`.
    ///
    /// `y.assign(a * b)` does the same as `y = (a * b).into()`. With [`Reuse`](crate::Reuse) indices `y` keeps its
    /// identifier, as with `y += a`, if `y` is of the innermost recording, is not an input, and has never been copied;
    /// that is faster than to release one identifier and to take another.
    ///
    /// # Panics
    ///
    /// When [`eval`](Ex::eval) does.
    #[inline(always)]
    #[track_caller]
    pub fn assign(&mut self, right: impl Assignable<S>) {
        right.assign_to(self);
    }
}

/// Implements one compound assignment for expressions, borrowed variables and `f64`.
macro_rules! assign_operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        impl<S: Taping, N: Statement<S>> $trait<Ex<S, N>> for Real<S>
        where
            Bin<S, $op, BackLeaf<S>, N>: Statement<S>,
        {
            #[inline(always)]
            #[track_caller]
            fn $method(&mut self, right: Ex<S, N>) {
                let statement = Bin::<S, $op, _, _>::new(BackLeaf::of(&self.0.0), right.0);
                overwrite(self, &statement);
            }
        }

        impl<S: Taping> $trait<&Self> for Real<S> {
            #[inline(always)]
            #[track_caller]
            fn $method(&mut self, right: &Self) {
                let statement = Bin::<S, $op, _, _>::new(BackLeaf::of(&self.0.0), RefLeaf(&right.0));
                overwrite(self, &statement);
            }
        }

        impl<S: Taping> $trait<f64> for Real<S> {
            #[inline(always)]
            #[track_caller]
            fn $method(&mut self, right: f64) {
                let right = Literal(S::Value::from_f64(right));
                let statement = Bin::<S, $op, _, _>::new(BackLeaf::of(&self.0.0), right);
                overwrite(self, &statement);
            }
        }

        impl<S: Taping> $trait<&f64> for Real<S> {
            #[inline(always)]
            #[track_caller]
            fn $method(&mut self, right: &f64) {
                self.$method(*right);
            }
        }
    )* };
}

assign_operators! {
    AddAssign add_assign Plus;
    SubAssign sub_assign Minus;
    MulAssign mul_assign Times;
    DivAssign div_assign Over;
    RemAssign rem_assign Modulo;
}

/// Folds an iterator, a statement for each item; see [`sum`](crate::sum) for one statement over a slice.
macro_rules! iterator_folds {
    ($($trait:ident $method:ident $assign:ident $op:ident $unit:literal;)*) => { $(
        impl<S: Taping, N: Statement<S>> $trait<Ex<S, N>> for Real<S>
        where
            Bin<S, $op, BackLeaf<S>, N>: Statement<S>,
        {
            #[inline]
            fn $method<I: Iterator<Item = Ex<S, N>>>(mut items: I) -> Self {
                let Some(first) = items.next() else { return Self::from($unit) };
                items.fold(fold(&first.0), |mut total, item| {
                    total.$assign(item);
                    total
                })
            }
        }

        impl<'a, S: Taping> $trait<&'a Self> for Real<S> {
            #[inline]
            fn $method<I: Iterator<Item = &'a Self>>(mut items: I) -> Self {
                let Some(first) = items.next() else { return Self::from($unit) };
                items.fold(first.clone(), |mut total, item| {
                    total.$assign(ex::<S, _>(RefLeaf(&item.0)));
                    total
                })
            }
        }
    )* };
}

iterator_folds! {
    Sum sum add_assign Plus 0.0;
    Product product mul_assign Times 1.0;
}
