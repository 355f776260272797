//! Closures on a stack.

use crate::arena::{self, Continuations};
use crate::{
    Capacity, Float, IndexType, LinearId, MemoryReport, Nary, Policy, Reverse, Statement, Strict, TapeNumber, Taped,
    Taping,
};
use core::marker::PhantomData;

/// Continuation taping: each statement leaves behind a closure, and the sweep calls the closures, last first.
///
/// A closure is a function together with what it captured: the distinct partials of its statement, the identifiers of
/// its arguments, and the identifier of its result. The captures lie in an arena that is kept and reused; a stack beside
/// them has a pointer for each closure, to what is known of its type: its function and its length. So every statement is
/// reversed by a function that was compiled for it, and a function of your own takes part as a closure of any type, by
/// [`record_closure`](Self::record_closure) or by `tapewright::continuation`.
///
/// A statement with `a` arguments whose partials are `d` distinct numbers other than ±1 takes exactly
/// **8 + 8d + 4(a + 1) bytes, rounded up to a multiple of 8** (`f64` values, `u32` identifiers; d ≤ a follows from the
/// operators, see [`Shape`](crate::Shape)); 8 of them are on the stack. Passive arguments count in `a` and `d` as the
/// others do. A function of slices takes 8 + 12a + 8 for its `a` active arguments, a sum 8 + 4a + 8, both rounded up in the
/// same way. An input takes nothing.
///
/// That is more than [`Jacobian`](crate::Jacobian) takes for the same statement, and the sweep calls a function for
/// each statement. Prefer `Jacobian`, unless you need closures of your own on the tape.
///
/// `V` is the value type, `I` the width of identifiers, `P` what derivatives are at singular points.
#[derive(Clone, Copy, Debug)]
pub struct Continuation<V = f64, I = u32, P = Strict>(PhantomData<(V, I, P)>);

impl<V: Float, I: IndexType, P: Policy> Continuation<V, I, P> {
    /// Records a statement that `reverse` reverses, and returns the identifier of its result; passive if no argument is
    /// active, and `reverse` is then dropped.
    ///
    /// In each sweep that reaches the statement with an adjoint other than 0, `reverse` is called once with that adjoint and
    /// a slice of zeros, one for each argument, in which it leaves adjoint·∂result/∂argument. Entries of passive
    /// arguments are ignored; those of an argument that is given twice add up. It is called by reference, any number of
    /// times, perhaps by several threads at once.
    ///
    /// `reverse` is moved into the tape, whatever its size and alignment. It is dropped once: when the next recording
    /// begins, when the tape is reset, or when it is dropped. A leaked tape drops nothing. If destructors panic, the others
    /// run all the same, and then one of the panics goes on.
    ///
    /// The statement takes the bytes of `reverse`, `4(a + 3)` bytes for its `a` arguments (`u32` identifiers), each of both
    /// rounded up to a multiple of 8, 8 on the stack, 16 more if `reverse` has a destructor, and what it takes to align it. What
    /// `reverse` itself has allocated is not counted.
    ///
    /// # Panics
    ///
    /// As [`Taping::record`]; nothing has been recorded then, and `reverse` is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use tapewright_strategies::{active::{self, OwnedTape}, Continuation, Continuations, Reverse};
    /// type S = Continuation;
    ///
    /// let mut tape = OwnedTape::<S>::new(Continuations::default());
    /// let (x, y) = tape.record(|number| {
    ///     let x = active::with::<S, _>(number, |tape| S::input(tape, 3.0));
    ///     let slope = 2.0 * 3.0;
    ///     (x, S::record_closure(&[x], move |adjoint, x: &mut [f64]| x[0] = adjoint * slope))
    /// });
    /// let slot = |id| S::locate(id).map_or(0, |(_, slot)| slot);
    /// let mut adjoints = [0.0; 3];
    /// adjoints[slot(&y)] = 1.0;
    /// S::reverse(tape.tape(), &mut adjoints);
    /// assert_eq!(adjoints[slot(&x)], 6.0);
    /// ```
    #[track_caller]
    pub fn record_closure<F>(arguments: &[LinearId<I>], reverse: F) -> LinearId<I>
    where
        F: Fn(V, &mut [V]) + Send + Sync + 'static,
    {
        arena::append_user_closure::<Self, V, I, F>(arguments, reverse)
    }
}

impl<V: Float, I: IndexType, P: Policy> Taping for Continuation<V, I, P> {
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
        arena::append_closure::<Self, V, I, N>(statement)
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], _: V) -> LinearId<I> {
        arena::append_nary_closure::<Self, R, V, I>(arguments, constants)
    }
}

impl<V: Float, I: IndexType, P: Policy> Reverse for Continuation<V, I, P> {
    type Tape = Continuations<V, I>;

    #[inline(always)]
    fn begin(tape: &mut Self::Tape, number: TapeNumber) {
        tape.begin(number);
    }

    #[inline]
    #[track_caller]
    fn input(tape: &mut Self::Tape, _: V) -> LinearId<I> {
        match tape.input() {
            Ok(id) => id,
            Err(exhausted) => exhausted.raise(),
        }
    }

    #[inline]
    #[track_caller]
    fn inputs(tape: &mut Self::Tape, values: &[V], each: impl FnMut(V, LinearId<I>)) {
        if let Err(exhausted) = tape.inputs(values, each) {
            exhausted.raise();
        }
    }

    #[inline(always)]
    fn locate(id: &LinearId<I>) -> Option<(TapeNumber, usize)> {
        id.is_active().then(|| (id.number(), arena::usize_of(id.index())))
    }

    #[inline(always)]
    fn identifiers(tape: &Self::Tape) -> usize {
        tape.len()
    }

    fn reverse(tape: &Self::Tape, adjoints: &mut [V]) {
        tape.reverse(adjoints);
    }

    fn reserve(tape: &mut Self::Tape, capacity: Capacity) {
        tape.reserve(capacity);
    }

    fn memory(tape: &Self::Tape) -> MemoryReport {
        tape.memory()
    }
}
