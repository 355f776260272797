//! The fast path of statements.
//!
//! The fast path is inlined into each statement: it checks that every argument belongs to the innermost recording, that
//! the statement's type has a code, and that there is memory; then it stores the record. All other cases are in
//! functions over slices that do not depend on the statement's type.

use super::emit::Assigned;
use super::slow::{AtOnce, Leaves, narrow, where_they_belong};
use crate::contract::{Sink, Store, Taped};
use crate::identifier::{IndexType, LinearId, RecordingId};
use crate::recording::{self, State};
use crate::storage::Layer;
use crate::tape::format::code::EXPLICIT;
use crate::tape::format::kind::{misreported, prefetch};
use crate::tape::format::layout::{Form, Layout, LayoutOf};
use crate::tape::store::prefetch;
use crate::tape::store::recording::{Content, Records, SLACK};
use crate::{IndexManager, Number, Reverse, Statement, Taping};
use core::mem::MaybeUninit;
use core::{ptr, slice};
use generic_array::GenericArray;
use generic_array::typenum::Unsigned;

/// Records a typed statement and returns the identifier of its result, passive if no argument is active. If the result
/// replaces a variable, `of` is the identifier of that variable; `None` is returned if `of` has been changed already,
/// or need not be.
///
/// # Panics
///
/// In the cases listed at [`Taping::record`](crate::Taping::record), and when `statement` does not report as many items
/// as its types give.
#[inline(always)]
#[track_caller]
pub(crate) fn append<S, V, M, L, K, N>(mut of: Option<&mut M::Id>, statement: &N) -> Option<M::Id>
where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V, Raw = LinearId<M::Index>> + LayoutOf<N>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    N: Statement<S>,
{
    let layout = S::LAYOUT;
    if const { S::LAYOUT.arguments != N::Args::USIZE || S::LAYOUT.payload > N::Args::USIZE + N::Constants::USIZE } {
        misreported();
    }
    // Partials and identifiers are first collected here, where the compiler keeps them in registers, and written in one
    // go when no rule can run any more: rules are written by users, who might record, or end recordings, in them.
    let mut payload = MaybeUninit::<(GenericArray<V, N::Args>, GenericArray<V, N::Constants>)>::uninit();
    let mut ids = MaybeUninit::<GenericArray<LinearId<M::Index>, N::Args>>::uninit();
    let mut numbers = MaybeUninit::<GenericArray<V, N::Args>>::uninit();
    let value = statement.value();
    let mut collect = Collect {
        payload: payload.as_mut_ptr().cast::<V>(),
        ids: ids.as_mut_ptr().cast::<LinearId<M::Index>>(),
        numbers: numbers.as_mut_ptr().cast::<V>(),
        payload_left: layout.payload,
        leaves_left: layout.arguments,
    };
    S::hold(statement, &mut collect);
    if collect.payload_left != 0 || collect.leaves_left != 0 {
        misreported();
    }
    let own = match &mut of {
        Some(id) => M::own(id),
        None => None,
    };
    // SAFETY: as many values and identifiers have been collected as the layout gives.
    let at_once =
        unsafe { Records::append_at_once::<S>(layout, own, payload.as_ptr().cast(), ids.as_ptr().cast(), value) };
    if let Some((id, kept)) = at_once {
        return if kept { None } else { Some(M::adopt(id)) };
    }
    // Copies: if the arrays themselves were passed to a function by reference, they could not stay in registers above.
    let payload = payload;
    let ids = ids;
    let numbers = numbers;
    let (leaves, payload) = ((ids.as_ptr().cast(), numbers.as_ptr().cast()), payload.as_ptr().cast());
    match of {
        Some(id) if const { M::REUSES } => Records::replace_slowly::<S>(id, layout, leaves, payload, value),
        _ => Some(Records::append_slowly::<S>(layout, leaves, payload, value)),
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Writes a record on the innermost tape, if all arguments are variables of its recording and no slow case applies.
    /// Returns the identifier of its result, and true if that is `own`.
    ///
    /// # Safety
    ///
    /// There are as many values at `payload` and identifiers at `ids` as the layout gives.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn append_at_once<S: Reverse<Tape = Self>>(
        layout: &'static Layout<V>,
        own: Option<LinearId<M::Index>>,
        payload: *const V,
        ids: *const LinearId<M::Index>,
        value: V,
    ) -> Option<(LinearId<M::Index>, bool)> {
        if layout.arguments == 0 {
            return None; // it is passive
        }
        let place = Self::place::<S, false>(layout, layout.bytes, own)?;
        // SAFETY: promised by the caller.
        if !(0..layout.arguments).all(|k| unsafe { *ids.add(k) }.within(place.number, place.known)) {
            return None;
        }
        // SAFETY: `place` has just found this tape, with memory; values and identifiers take `layout.bytes` bytes, and
        // the latter are below `known`.
        let id = unsafe {
            if K::VALUES && layout.forbids_replays() {
                (*place.tape).keeps_partials();
            }
            commit(&place, layout, layout.bytes, value, |data| {
                ptr::copy_nonoverlapping(payload.cast::<u8>(), data, layout.payload * size_of::<V>());
                let to = data.add(layout.payload * size_of::<V>()).cast::<M::Index>();
                for k in 0..layout.arguments {
                    to.add(k).write_unaligned(narrow::<M>((*ids.add(k)).index()));
                }
            })
        };
        Some((id, place.kept))
    }

    /// Returns true if all arguments are variables of the innermost recording, and its tape has room for a list of
    /// partials.
    pub(crate) fn has_room_for_partials<S: Reverse<Tape = Self>>(
        layout: &'static Layout<V>,
        arguments: &[&[Taped<V, M::Id>]],
    ) -> bool {
        let n: usize = arguments.iter().map(|piece| piece.len()).sum();
        let place =
            Self::place::<S, false>(layout, n * (size_of::<V>() + size_of::<M::Index>()) + size_of::<u32>(), None);
        let known = |id: LinearId<M::Index>| place.as_ref().is_some_and(|place| id.within(place.number, place.known));
        n > 0 && arguments.iter().copied().flatten().all(|argument| known(M::raw(&argument.id)))
    }

    /// Writes a record of a function of slices on the innermost tape, with these numbers in front of the identifiers,
    /// if all arguments are variables of its recording and no slow case applies; calls `before` with the tape then.
    #[inline(always)]
    pub(crate) fn append_slices_at_once<S: Reverse<Tape = Self>>(
        layout: &'static Layout<V>,
        numbers: impl ExactSizeIterator<Item = V>,
        arguments: &[&[Taped<V, M::Id>]],
        value: V,
        before: impl FnOnce(&mut Self),
    ) -> Option<LinearId<M::Index>> {
        let (n, payload) = (arguments.iter().map(|piece| piece.len()).sum(), numbers.len());
        let counted = layout.form == Form::Counted;
        let expected = if counted { (layout.payload * n, n) } else { (layout.payload, layout.arguments) };
        let count = u32::try_from(n).ok().filter(|count| *count > 0 && (payload, n) == expected)?;
        let bytes = payload * size_of::<V>() + n * size_of::<M::Index>() + if counted { size_of::<u32>() } else { 0 };
        let place = Self::place::<S, false>(layout, bytes, None)?;
        // SAFETY: `place` has just found this tape, with memory for so many bytes behind its records; the iterators
        // of this crate return as many numbers as they say. The bytes become a record only if all identifiers are below
        // `known`.
        unsafe {
            let (mut at, mut beyond) = ((*place.tape).data, 0);
            numbers.for_each(|number| put(&mut at, number));
            for piece in arguments {
                for argument in *piece {
                    let id = M::raw(&argument.id);
                    beyond |= id.beyond(place.number, place.known);
                    put(&mut at, narrow::<M>(id.index()));
                }
            }
            if counted {
                put(&mut at, count);
            }
            if beyond >> 63 != 0 || at.addr() - (*place.tape).data.addr() != bytes {
                return None;
            }
            before(&mut *place.tape);
            Some(commit(&place, layout, bytes, value, |_| {}))
        }
    }

    /// Records a statement that the fast path did not record; returns passive if no argument is active.
    ///
    /// Takes pointers, so that the fast path need not make slices; `layout` gives their lengths.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn append_slowly<S: Reverse<Tape = Self>>(
        layout: &'static Layout<V>,
        leaves: (*const LinearId<M::Index>, *const V),
        payload: *const V,
        value: V,
    ) -> M::Id {
        Self::append_slowly_as::<S>(None, layout, leaves, payload, value)
    }

    /// Records as [`append_slowly`](Self::append_slowly) does, where the result replaces the variable with identifier
    /// `id`. Changes `id` itself, and returns `None`.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn replace_slowly<S: Reverse<Tape = Self>>(
        id: &mut M::Id,
        layout: &'static Layout<V>,
        leaves: (*const LinearId<M::Index>, *const V),
        payload: *const V,
        value: V,
    ) -> Option<M::Id> {
        let own = M::own(id);
        let new = Self::append_slowly_as::<S>(own, layout, leaves, payload, value);
        M::put(id, new);
        None
    }

    /// Records a statement that the fast path did not record, whose result may have the identifier
    /// [`own`](IndexManager::own); returns passive if no argument is active.
    #[inline(always)]
    #[track_caller]
    fn append_slowly_as<S: Reverse<Tape = Self>>(
        own: Option<LinearId<M::Index>>,
        layout: &'static Layout<V>,
        (ids, numbers): (*const LinearId<M::Index>, *const V),
        payload: *const V,
        value: V,
    ) -> M::Id {
        // SAFETY: `append`, the only caller, has written as many elements to the pointers as the layout gives.
        let (leaves, payload) = unsafe {
            let ids = slice::from_raw_parts(ids, layout.arguments);
            ((ids, slice::from_raw_parts(numbers, layout.arguments)), slice::from_raw_parts(payload, layout.payload))
        };
        if let Some(id) = Self::append_unusual::<S>(layout, own, leaves, payload, value) {
            return M::adopt(id);
        }
        Self::append_elsewhere::<S>(layout, leaves, payload, (value, own))
    }

    /// Records a statement in the recording of its arguments; returns passive if no argument is active.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn append_elsewhere<S: Reverse<Tape = Self>>(
        layout: &'static Layout<V>,
        leaves: Leaves<'_, V, M::Index>,
        payload: &[V],
        assigned: Assigned<V, M::Index>,
    ) -> M::Id {
        recording::admit::<S>();
        where_they_belong::<S, M>(leaves.0.iter().copied(), |tape| tape.append(layout, leaves, payload, assigned))
    }

    /// Records a statement on the innermost tape, if no other recording, segment or rule is needed: some of its
    /// arguments are passive, or it is compiled in two places, or no code is left for it.
    #[inline(always)]
    fn append_unusual<S: Reverse<Tape = Self>>(
        layout: &'static Layout<V>,
        own: Option<LinearId<M::Index>>,
        (ids, numbers): Leaves<'_, V, M::Index>,
        payload: &[V],
        value: V,
    ) -> Option<LinearId<M::Index>> {
        let active = ids.iter().map(alone::<V, _>).filter(|id| id.is_active()).count();
        // SAFETY: the innermost recording is of strategy `S`, and nobody uses it.
        let code = || recording::innermost_parts::<S>().and_then(|(_, tape)| unsafe { (*tape).codes.any(layout) });
        let AtOnce { layout, bytes, lists, passives } =
            AtOnce::of::<M, K>(layout, active, ids.len(), || code() != Some(EXPLICIT))?;
        let place = Self::place::<S, true>(layout, bytes, own)?;
        if !ids.iter().all(|id| !id.is_active() || id.within(place.number, place.known)) {
            return None;
        }
        // SAFETY: `place` has just found this tape, and the identifiers are below `known`. Partials with their
        // identifiers belong to active arguments; or the values of passive arguments, the payload and all identifiers
        // take `bytes` bytes.
        let id = unsafe {
            commit(&place, layout, bytes, value, |mut data| {
                let all = ids.iter().zip(numbers);
                if lists {
                    all.clone().filter(|(id, _)| id.is_active()).for_each(|(_, partial)| put(&mut data, *partial));
                } else {
                    let passive = all.clone().rev().filter(|(id, _)| !id.is_active());
                    passive.take(passives).for_each(|(_, value)| put(&mut data, *value));
                    payload.iter().for_each(|number| put(&mut data, *number));
                }
                let kept = ids.iter().map(alone::<V, _>).filter(|id| !lists || id.is_active());
                kept.for_each(|id| put(&mut data, narrow::<M>(id.index())));
            })
        };
        Some(id)
    }

    /// Returns the innermost tape, if it is of this strategy and not lent out, has a code for a layout, and has memory
    /// for a record with this many bytes of data. If `ANYHOW`, [any](crate::tape::format::code_table::Codes::any) code
    /// is accepted, otherwise only the one that is found first.
    #[inline(always)]
    #[allow(clippy::question_mark, reason = "it would take the compiler longer, for each statement of a program")]
    fn place<S: Reverse<Tape = Self>, const ANYHOW: bool>(
        layout: &'static Layout<V>,
        bytes: usize,
        own: Option<LinearId<M::Index>>,
    ) -> Option<Place<V, M, L, K>> {
        let Some((state, tape)) = recording::innermost_parts::<S>() else { return None };
        // SAFETY: the innermost recording is of strategy `S`, and nobody uses it. Asking the pool runs no code of
        // users.
        unsafe {
            let codes = &mut (*tape).codes;
            let code = if const { K::BY_ADDRESS } {
                Some(0)
            } else if const { ANYHOW } {
                codes.any(layout)
            } else {
                codes.find(layout)
            };
            let Some(code) = code else { return None };
            let explicit = ANYHOW && code == EXPLICIT;
            let address = if explicit { size_of::<&Layout<V>>() } else { 0 };
            let bytes = bytes + Self::TAIL + address + Self::CODE;
            let data = (*tape).data.addr();
            if data > (*tape).last.addr() || bytes > SLACK && bytes > (*tape).segment_end.addr() - data {
                return None;
            }
            let number = (*state).number;
            let identifier = (*tape).identifier_of(number, &(*state).pool, own);
            let Some((known, id, kept)) = identifier else { return None };
            Some(Place { state, tape, number, known, id, kept, code, explicit })
        }
    }
}

/// Reads one of several identifiers that have just been written, one by one under packs: a register of several of them
/// would have to wait until all have reached the cache.
#[inline(always)]
fn alone<V: Number, T: Copy>(id: &T) -> T {
    if const { V::LANES == 1 } {
        return *id;
    }
    // SAFETY: it is a reference.
    unsafe { ptr::read_volatile(id) }
}

/// Writes a value, and moves the pointer behind it.
///
/// # Safety
///
/// There is memory for the value at the pointer.
#[inline(always)]
unsafe fn put<T>(at: &mut *mut u8, value: T) {
    // SAFETY: promised by the caller.
    unsafe {
        at.cast::<T>().write_unaligned(value);
        *at = at.add(size_of::<T>());
    }
}

/// The innermost tape, with room for a statement.
struct Place<V: Number, M: IndexManager, L: Layer, K: Content> {
    state: *mut State,
    tape: *mut Records<V, M, L, K>,
    number: RecordingId,
    /// Exclusive upper bound of the identifiers of variables of the recording.
    known: u64,
    /// The identifier of the statement's result; `kept` is true if a variable has it already.
    id: u64,
    kept: bool,
    code: u8,
    /// True if the code is [`EXPLICIT`], and there is memory for the address of the layout, too.
    explicit: bool,
}

/// Lets `fill` write the data of a record, and completes the record.
///
/// # Safety
///
/// `place` has just been found for this layout and this many bytes of data; `fill` writes them and no more, as the
/// layout gives, with identifiers below `place.known`, and runs no code of users.
#[inline(always)]
unsafe fn commit<V: Number, M: IndexManager, L: Layer, K: Content>(
    place: &Place<V, M, L, K>,
    layout: &'static Layout<V>,
    bytes: usize,
    value: V,
    fill: impl FnOnce(*mut u8),
) -> LinearId<M::Index> {
    let tape = place.tape;
    // SAFETY: there is memory for `bytes` of data, for the tail, for an address if one is written, for the code and, if
    // values are kept, for the value: the identifier is below `fresh`, or it is `fresh` and below `limit`, which is at
    // most their capacity. Taking it from the pool runs no code of users.
    unsafe {
        let (id, data) = (place.id, (*tape).data);
        prefetch(data.wrapping_add(prefetch::AHEAD));
        // Numbers as long as a line: records are several lines long, and hardware keeps up with one.
        if const { size_of::<V>() >= prefetch::LINE } {
            for line in (prefetch::LINE..bytes).step_by(prefetch::LINE) {
                prefetch(data.wrapping_add(prefetch::AHEAD + line));
            }
        }
        fill(data);
        if M::REUSES && !place.kept {
            (*place.state).pool.take(id, &mut (*tape).fresh);
        }
        let mut end = (*tape).write_tail(data.add(bytes), id, value);
        if K::BY_ADDRESS || place.explicit {
            put(&mut end, layout);
        }
        if !K::BY_ADDRESS {
            put(&mut end, place.code);
        }
        (*tape).data = end;
        (*tape).next += 1;
        LinearId::pack(place.number, id)
    }
}

/// Collects payload and leaves as they are reported, and panics when there are more than the layout gives.
struct Collect<V, I: IndexType> {
    payload: *mut V,
    ids: *mut LinearId<I>,
    /// The partials of the leaves, or their values where partials are recomputed.
    numbers: *mut V,
    payload_left: usize,
    leaves_left: usize,
}

impl<V: Number, I: IndexType> Collect<V, I> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn payload(&mut self, value: V) {
        if self.payload_left == 0 {
            misreported();
        }
        self.payload_left -= 1;
        // SAFETY: there is memory for this many values.
        unsafe {
            self.payload.write(value);
            self.payload = self.payload.add(1);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn any_leaf(&mut self, number: V, id: LinearId<I>) {
        if self.leaves_left == 0 {
            misreported();
        }
        self.leaves_left -= 1;
        // SAFETY: there is memory for this many leaves.
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
