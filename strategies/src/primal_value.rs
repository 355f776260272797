//! Partials later.

use crate::arena::{self, Layout, Records};
use crate::{
    Capacity, Float, IndexType, LinearId, MemoryReport, Nary, Policy, Reverse, Statement, Strict, TapeNumber, Taped,
    Taping,
};
use core::marker::PhantomData;

/// Primal-value taping: the tape keeps the value of every variable once, and a record keeps which variables and `f64`
/// operands its statement used; the sweep rebuilds the statement and recomputes its partials.
///
/// A statement with `a` arguments of which `p` are passive and `c` `f64` operands takes exactly **9 + 4a + 8c + 8p
/// bytes** (`f64` values, `u32` identifiers), 8 of them for its value, where passive arguments count in `a` too. A
/// function of slices takes 13 + 4a, plus 8a if it has constants; if some of its arguments are passive, 9 + 12a for its `a`
/// active ones, 13 + 12a when a > 27, and 13 + 4a if it is a sum. Should one tape ever meet more than 208 different statement types, the
/// further ones take 8 bytes more.
///
/// `V` is the value type, `I` the width of identifiers, `P` what derivatives are at singular points.
#[derive(Clone, Copy, Debug)]
pub struct PrimalValue<V = f64, I = u32, P = Strict>(PhantomData<(V, I, P)>);

impl<V: Float, I: IndexType, P: Policy> Taping for PrimalValue<V, I, P> {
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
        let layout = const { &Layout::replay::<Self, N::Back, I>() };
        arena::append::<Self, V, I, N, true>(layout, statement)
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], value: V) -> LinearId<I> {
        arena::append_nary::<Self, R, V, I, true>(arguments, constants, value)
    }
}

impl<V: Float, I: IndexType, P: Policy> Reverse for PrimalValue<V, I, P> {
    type Tape = Records<V, I, true>;
    arena::reverse_by_records!();
}
