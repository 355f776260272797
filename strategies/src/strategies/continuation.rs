//! Continuation taping: a closure for each statement.

use crate::contract::{AtExternal, SealedNests, Sink, Store, Taped};
use crate::external::Mark;
use crate::identifier::{LinearId, RecordingId};
use crate::policy::{Policy, Strict};
use crate::storage::InMemory;
use crate::tape::{self, Closures, Continuations, Layout, LayoutOf};
use crate::{
    Capacity, IndexManager, Linear, MemoryReport, Nary, Nests, Number, Reverse, Statement, SweepError, Taping, Whole,
};
use core::marker::PhantomData;
use smallvec::SmallVec;

/// Continuation taping: each statement leaves a closure on the tape, and the sweep calls the closures, last first.
///
/// A closure is a function together with its captures: the distinct partials of its statement and the identifiers of
/// its arguments. The captures lie on the tape, each set followed by a pointer to the description of the closure's
/// type: its function and its length. Every statement is therefore reversed by a function that was compiled for it. A
/// function of your own takes part as a closure of any type, by [`record_closure`](Self::record_closure) or by
/// `tapewright::continuation`.
///
/// A statement with `a` arguments whose partials are `d` distinct values other than ±1 takes exactly **8 + 8d + 4a
/// bytes** (`f64` values, `u32` identifiers; d ≤ a follows from the operators, see [`Shape`](crate::shape::Shape)); 8
/// of them are the pointer. Passive arguments count in `a` and `d` like active ones. A function of slices takes 8 + 12a
/// for its `a` active arguments, 12 + 12a if there are more than 27, a sum 12 + 4a. Inputs that are registered before
/// the first statement take nothing, with [`Linear`] indices later ones 8 bytes, several in one call 12. With
/// [`Reuse`](crate::Reuse) each statement takes 4 bytes more.
///
/// [`Jacobian`](crate::Jacobian) takes less memory for the same statement. Choose `Continuation` for closures of your
/// own on the tape, and for statements with passive arguments, which it records as fast as statements without.
///
/// `V` is the value type, `M` the index management ([`Linear`] or [`Reuse`](crate::Reuse)), `P` the policy for
/// derivatives at singular points.
#[derive(Clone, Copy, Debug)]
pub struct Continuation<V = f64, M = Linear, P = Strict>(PhantomData<(V, M, P)>);

impl<V: Number, M: IndexManager, P: Policy> Continuation<V, M, P> {
    /// Records a statement that the closure `reverse` reverses, and returns the identifier of its result. If no
    /// argument is active, the result is passive and `reverse` is dropped.
    ///
    /// In each sweep that reaches the statement with an adjoint other than 0, `reverse` is called once with that
    /// adjoint and a slice of zeros, one for each argument, into which it writes adjoint·∂result/∂argument. Entries of
    /// passive arguments are ignored; the entries of an argument that is given twice add up. The closure is called by
    /// reference, any number of times, possibly by several threads at the same time.
    ///
    /// `reverse` is moved into the tape, whatever its size and alignment. It is dropped once: when the next recording
    /// begins, when the tape is reset, or when the tape is dropped. A leaked tape drops no closures. If a destructor
    /// panics, the destructors of the other closures still run, and then one of the panics is resumed.
    ///
    /// The statement takes the bytes of `reverse`, 4a bytes for its `a` arguments (`u32` identifiers) and 16 more with
    /// [`Linear`] indices, 20 with [`Reuse`](crate::Reuse); 16 outside the records if `reverse` has a destructor, and
    /// the padding that aligns it. Memory that `reverse` itself has allocated is not counted.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`Taping::record`]; nothing has been recorded then, and `reverse` is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use tapewright_strategies::{Continuation, Reverse, recording::{self, OwnedTape}, tape::Continuations};
    /// type S = Continuation;
    ///
    /// let mut tape = OwnedTape::<S>::new(Continuations::default());
    /// let (x, y) = tape.record(|number| {
    ///     let x = recording::with::<S, _>(number, |tape| S::input(tape, 3.0));
    ///     let slope = 2.0 * 3.0;
    ///     (x, S::record_closure(&[&x], move |adjoint, x: &mut [f64]| x[0] = adjoint * slope))
    /// });
    /// let slot = |id| S::locate(id).map_or(0, |(_, slot)| slot);
    /// let mut adjoints = [0.0; 3];
    /// adjoints[slot(&y)] = 1.0;
    /// S::reverse(tape.tape(), &mut adjoints)?;
    /// assert_eq!(adjoints[slot(&x)], 6.0);
    /// # Ok::<(), tapewright_strategies::SweepError>(())
    /// ```
    #[track_caller]
    pub fn record_closure<F>(arguments: &[&M::Id], reverse: F) -> M::Id
    where
        F: Fn(V, &mut [V]) + Send + Sync + 'static,
    {
        let arguments: SmallVec<[LinearId<M::Index>; 8]> = arguments.iter().map(|id| M::raw(id)).collect();
        tape::append_closure::<Self, V, M, InMemory, Closures, F>(&arguments, reverse)
    }
}

impl<V: Number, M: IndexManager, P: Policy> Taping for Continuation<V, M, P> {
    tape::variables_by_manager!();

    #[inline(always)]
    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> M::Id {
        tape::append::<Self, V, M, _, _, N>(statement)
    }

    #[inline(always)]
    #[track_caller]
    fn assign<N: Statement<Self>>(variable: &mut Self::Variable, statement: &N) {
        tape::append_over::<Self, V, M, _, _, N>(variable, statement);
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], value: V) -> M::Id {
        tape::append_nary::<Self, R, V, M, _, _>(arguments, constants, value)
    }
}

impl<V: Number, M: IndexManager, P: Policy, N: Statement<Self>> LayoutOf<N> for Continuation<V, M, P> {
    const LAYOUT: &'static Layout<V> = &Layout::scatter::<N::Shape, M::Index>();

    #[inline(always)]
    fn hold(statement: &N, sink: &mut (impl Sink<Self> + Store<Self>)) {
        statement.backward(V::ONE, sink);
    }
}

impl<V: Number, M: IndexManager, P: Policy> Reverse for Continuation<V, M, P> {
    tape::reverse_by_records!(Continuations<V, M>);
}

impl<V: Whole> SealedNests for Continuation<V, Linear, Strict> {
    fn forbid_replays(tape: &mut Self::Tape) {
        tape.forbid_replays();
    }
}
impl<V: Whole> Nests for Continuation<V, Linear, Strict> {}
