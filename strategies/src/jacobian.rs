//! Partials now.

use crate::arena::{self, Layout, Records};
use crate::{
    Capacity, Float, IndexType, LinearId, MemoryReport, Nary, Policy, Reverse, Statement, Strict, TapeNumber, Taped,
    Taping,
};
use core::marker::PhantomData;

/// Jacobian taping: a record keeps the partials of its statement, evaluated when the statement is; the sweep is
/// multiply-adds only.
///
/// A statement with `a` arguments whose partials are `d` distinct numbers other than ±1 takes exactly
/// **1 + 8d + 4a bytes** (`f64` values, `u32` identifiers; d ≤ a follows from the operators, see
/// [`Shape`](crate::Shape)). With passive arguments in it, it takes 1 + 12a for its `a` active ones, and 5 + 12a when
/// a > 27. A sum over a slice takes 5 + 4a for its active arguments, other functions of slices as many bytes as a statement
/// with passive arguments. Should one tape ever meet more than 208 different shapes that are not among the most frequent
/// ones, the further ones take 1 + 12a. Passive arguments cost nothing.
///
/// `V` is the value type, `I` the width of identifiers, `P` what derivatives are at singular points.
#[derive(Clone, Copy, Debug)]
pub struct Jacobian<V = f64, I = u32, P = Strict>(PhantomData<(V, I, P)>);

impl<V: Float, I: IndexType, P: Policy> Taping for Jacobian<V, I, P> {
    type Value = V;
    type Id = LinearId<I>;
    type Raw = LinearId<I>;
    type Variable = Taped<V, LinearId<I>>;
    type Policy = P;

    #[inline(always)]
    fn passive() -> LinearId<I> {
        LinearId::passive()
    }

    #[inline(always)]
    fn raw(id: &LinearId<I>) -> LinearId<I> {
        *id
    }

    #[inline(always)]
    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> LinearId<I> {
        let layout = const { &Layout::scatter::<N::Shape, I>() };
        arena::append::<Self, V, I, N, false>(layout, statement)
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], _: V) -> LinearId<I> {
        arena::append_nary::<Self, R, V, I, false>(arguments, constants, V::zero())
    }
}

impl<V: Float, I: IndexType, P: Policy> Reverse for Jacobian<V, I, P> {
    type Tape = Records<V, I, false>;
    arena::reverse_by_records!();
}
