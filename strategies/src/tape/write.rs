//! Writing records.
//!
//! The fast path is inlined into each statement: it checks that every argument belongs to the innermost recording, that
//! the statement's type has a code, and that there is room; then it stores. Everything else is in functions over slices
//! that do not depend on the statement's type.

use super::data::misreported;
use super::layout::Layout;
use super::records::{Content, Records};
use super::room::{commit, place};
use super::write_slowly::{append_slowly, narrow};
use crate::storage::Layer;
use crate::{IndexManager, IndexType, LinearId, Number, Reverse, Sink, Statement, Store, Taping};
use core::mem::MaybeUninit;
use core::ptr;
use generic_array::GenericArray;
use generic_array::typenum::Unsigned;

/// Records a typed statement; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record), and when `statement` does not report what its types say.
#[inline(always)]
#[track_caller]
pub(super) fn append<S, V, M, L, K, N>(layout: &'static Layout<V>, statement: &N) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V, Raw = LinearId<M::Index>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    N: Statement<S>,
{
    if layout.arguments != N::Args::USIZE || layout.payload > N::Args::USIZE + N::Constants::USIZE {
        misreported();
    }
    // Partials and identifiers are collected here first, where the compiler keeps them in registers, and written in one
    // go when no rule can run any more: rules are written by users, who might record, or end recordings, in them.
    let mut payload = MaybeUninit::<(GenericArray<V, N::Args>, GenericArray<V, N::Constants>)>::uninit();
    let mut ids = MaybeUninit::<GenericArray<LinearId<M::Index>, N::Args>>::uninit();
    let mut numbers = MaybeUninit::<GenericArray<V, N::Args>>::uninit();
    let value = statement.value();
    let collect = Collect {
        payload: payload.as_mut_ptr().cast::<V>(),
        ids: ids.as_mut_ptr().cast::<LinearId<M::Index>>(),
        numbers: numbers.as_mut_ptr().cast::<V>(),
        payload_left: layout.payload,
        leaves_left: layout.arguments,
    };
    collect.all::<S, K>(layout, statement);
    let (from, each) = (payload.as_ptr().cast(), ids.as_ptr().cast());
    // SAFETY: as many numbers and identifiers have been collected as the layout says.
    let at_once = unsafe { append_at_once::<S, V, M, L, K>(layout, from, each, value) };
    if let Some(id) = at_once {
        return M::adopt(id);
    }
    // Copies: if the arrays themselves were lent to a function, they could not stay in registers above.
    let (payload, ids, numbers) = (payload, ids, numbers);
    let leaves = (ids.as_ptr().cast(), numbers.as_ptr().cast());
    append_slowly::<S, V, M, L, K>(layout, leaves, payload.as_ptr().cast(), value)
}

/// Writes a record on the innermost tape, if all arguments are variables of it and nothing else is in the way.
///
/// # Safety
///
/// There are as many numbers and identifiers as the layout says.
#[inline(always)]
unsafe fn append_at_once<S, V, M, L, K>(
    layout: &'static Layout<V>,
    payload: *const V,
    ids: *const LinearId<M::Index>,
    value: V,
) -> Option<LinearId<M::Index>>
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    if layout.arguments == 0 {
        return None; // it is passive
    }
    let place = place::<S, V, M, L, K>(layout, layout.bytes)?;
    // SAFETY: promised by the caller.
    if !(0..layout.arguments).all(|k| unsafe { *ids.add(k) }.within(place.number, place.known)) {
        return None;
    }
    // SAFETY: `place` has just found this tape, with room; numbers and identifiers take `layout.bytes` bytes, and the
    // latter are below `known`.
    let id = unsafe {
        commit(&place, layout, layout.bytes, value, |data| {
            ptr::copy_nonoverlapping(payload.cast::<u8>(), data, layout.payload * size_of::<V>());
            let to = data.add(layout.payload * size_of::<V>()).cast::<M::Index>();
            for k in 0..layout.arguments {
                to.add(k).write_unaligned(narrow::<M>((*ids.add(k)).index()));
            }
        })
    };
    Some(id)
}

/// Collects payload and leaves as they are reported, never more than there is room for.
struct Collect<V, I: IndexType> {
    payload: *mut V,
    ids: *mut LinearId<I>,
    /// The leaves' partials, or their values where partials are recomputed.
    numbers: *mut V,
    payload_left: usize,
    leaves_left: usize,
}

impl<V: Number, I: IndexType> Collect<V, I> {
    /// Collects all that records of this layout hold.
    #[inline(always)]
    fn all<S, K>(mut self, layout: &'static Layout<V>, statement: &impl Statement<S>)
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        K: Content,
    {
        // Where no tape keeps values, `store` is not even compiled.
        if const { !K::VALUES } || layout.partials {
            statement.backward(V::ONE, &mut self);
        } else {
            statement.store(&mut self);
        }
        if self.payload_left != 0 || self.leaves_left != 0 {
            misreported();
        }
    }

    #[inline(always)]
    fn payload(&mut self, value: V) {
        if self.payload_left == 0 {
            misreported();
        }
        self.payload_left -= 1;
        // SAFETY: there is room for this many values.
        unsafe {
            self.payload.write(value);
            self.payload = self.payload.add(1);
        }
    }

    #[inline(always)]
    fn any_leaf(&mut self, number: V, id: LinearId<I>) {
        if self.leaves_left == 0 {
            misreported();
        }
        self.leaves_left -= 1;
        // SAFETY: there is room for this many leaves.
        unsafe {
            self.ids.write(id);
            self.ids = self.ids.add(1);
            self.numbers.write(number);
            self.numbers = self.numbers.add(1);
        }
    }
}

impl<S: Taping<Raw = LinearId<I>>, I: IndexType> Sink<S> for Collect<S::Value, I> {
    #[inline(always)]
    fn factor(&mut self, factor: S::Value) {
        self.payload(factor);
    }
    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, id: LinearId<I>) {
        self.any_leaf(partial, id);
    }
}

impl<S: Taping<Raw = LinearId<I>>, I: IndexType> Store<S> for Collect<S::Value, I> {
    #[inline(always)]
    fn leaf(&mut self, value: S::Value, id: LinearId<I>) {
        self.any_leaf(value, id);
    }
    #[inline(always)]
    fn constant(&mut self, constant: S::Value) {
        self.payload(constant);
    }
}
