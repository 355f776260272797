//! Writing records.
//!
//! The fast path is inlined into each statement: it checks that every argument belongs to the innermost recording, that
//! the statement's type has a code, and that there is room; then it stores. Everything else is in functions over slices
//! that do not depend on the statement's type.

use super::codes::CLASSIC_MAX;
use super::layout::{Common, Form, Layout};
use super::prefetch::{self, prefetch};
use super::records::{Content, Records, Writer};
use crate::active::{self, Header, Recorder};
use crate::refusal::Refusal;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::{
    Float, IndexManager, IndexType, LinearId, Nary, Reverse, Sink, Statement, Store, TapeNumber, Taped, Taping,
};
use core::any::TypeId;
use core::mem::MaybeUninit;
use core::{ptr, slice};
use generic_array::GenericArray;
use generic_array::typenum::Unsigned;
use smallvec::SmallVec;

/// Records a typed statement; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record), and when `statement` does not report what its types say.
#[inline(always)]
#[track_caller]
pub(crate) fn append<S, V, M, L, K, N>(layout: &'static Layout<V>, statement: &N) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V, Raw = LinearId<M::Index>>,
    V: Float,
    M: IndexManager,
    L: Layer,
    K: Content,
    N: Statement<S>,
{
    if layout.arguments != N::Args::USIZE || layout.payload > N::Args::USIZE + N::Constants::USIZE {
        misreported();
    }
    // Partials and identifiers are collected here first, where the compiler keeps them in registers, and written in one go
    // when no rule can run any more: rules are written by users, who might record, or end recordings, in them.
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
    if layout.partials {
        statement.backward(V::one(), &mut collect);
    } else {
        statement.store(&mut collect);
    }
    if collect.payload_left != 0 || collect.leaves_left != 0 {
        misreported();
    }
    if let Some(place) = place::<S, V, M, L, K>(layout, layout.bytes) {
        let (from, each) = (payload.as_ptr().cast::<V>(), ids.as_ptr().cast::<LinearId<M::Index>>());
        // SAFETY: as many identifiers have been collected as there are arguments.
        if (0..N::Args::USIZE).all(|k| unsafe { *each.add(k) }.within(place.number, place.known)) {
            // SAFETY: `place` has just found this tape, with room; the arrays are as long as the layout says, `bytes` is what
            // they take, and the identifiers are below `known`.
            let id = unsafe {
                commit(&place, layout, layout.bytes, value, |data| {
                    ptr::copy_nonoverlapping(from.cast::<u8>(), data, layout.payload * size_of::<V>());
                    let to = data.add(layout.payload * size_of::<V>()).cast::<M::Index>();
                    for k in 0..layout.arguments {
                        to.add(k).write_unaligned(narrow::<M>((*each.add(k)).index()));
                    }
                    true
                })
            };
            return M::adopt(id.expect("it stands"));
        }
    }
    // Copies: if the arrays themselves were lent to a function, they could not stay in registers above.
    let (payload, ids, numbers) = (payload, ids, numbers);
    let leaves = (ids.as_ptr().cast(), numbers.as_ptr().cast());
    append_slowly::<S, V, M, L, K>(layout, leaves, payload.as_ptr().cast(), value)
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn misreported() -> ! {
    panic!("a statement must report as many leaves, constants and partials as its types say")
}

/// The innermost tape, with room for a statement.
struct Place<V: 'static, M: IndexManager, L: Layer, K: Content> {
    header: *const Header,
    tape: *mut Records<V, M, L, K>,
    number: TapeNumber,
    /// The identifiers below this are those of variables of the recording.
    known: u64,
    /// The identifier of the statement's result.
    id: u64,
    code: u8,
}

/// The innermost tape, if it is of this strategy and not lent out, knows the code of a layout, and has room for a record with so
/// many bytes of data.
#[inline(always)]
fn place<S, V, M, L, K>(layout: &'static Layout<V>, bytes: usize) -> Option<Place<V, M, L, K>>
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Float,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let header = active::innermost();
    // SAFETY: the innermost header is valid on its own thread.
    let (kind, number, lent) = unsafe { ((*header).kind, (*header).number.get(), (*header).lent.get()) };
    if kind != TypeId::of::<S>() || lent {
        return None;
    }
    // SAFETY: `kind` says that this is a `Recorder<S>`, and nobody uses it. Asking the pool runs no code of users.
    unsafe {
        let tape = &raw mut (*header.cast::<Recorder<S>>().cast_mut()).tape;
        let code = if K::BY_ADDRESS { 0 } else { (*tape).codes.find(layout)? };
        if bytes + Records::<V, M, L, K>::TAIL + Records::<V, M, L, K>::CODE > (*tape).end.addr() - (*tape).data.addr()
        {
            return None;
        }
        let (next, limit) = ((*tape).next, (*tape).limit);
        let (known, id) = if M::REUSES {
            let known = (*tape).fresh;
            (known, (*header).pool.with(|pool| pool.next(known, limit).map(u64::from))?)
        } else if K::VALUES && next >= limit {
            return None;
        } else {
            (next, next)
        };
        Some(Place { header, tape, number, known, id, code })
    }
}

/// Makes the data that `fill` writes a record of the recording, unless it returns `false`.
///
/// # Safety
///
/// `place` has just been found for this layout and this many bytes of data; `fill` writes them and no more, as the layout says, with
/// identifiers below `place.known` if it returns `true`, and runs no code of users.
#[inline(always)]
unsafe fn commit<V: Float, M: IndexManager, L: Layer, K: Content>(
    place: &Place<V, M, L, K>,
    layout: &'static Layout<V>,
    bytes: usize,
    value: V,
    fill: impl FnOnce(*mut u8) -> bool,
) -> Option<LinearId<M::Index>> {
    let tape = place.tape;
    // SAFETY: there is room for `bytes` of data, for the tail, for the code and, if values are kept, for the value: the identifier is
    // below `fresh`, or it is `fresh` and below `limit`, which is at most their capacity. Taking it from the pool runs no code
    // of users.
    unsafe {
        let (id, data) = (place.id, (*tape).data);
        prefetch(data.wrapping_add(prefetch::AHEAD));
        if !fill(data) {
            return None;
        }
        if K::VALUES && layout.forbids_replays() {
            (*tape).keeps_partials();
        }
        if M::REUSES {
            (*place.header).pool.with(|pool| pool.take(id, &mut (*tape).fresh));
        }
        let code_at = (*tape).write_tail(data.add(bytes), id, value);
        if K::BY_ADDRESS {
            code_at.cast::<&'static Layout<V>>().write_unaligned(layout);
        } else {
            code_at.write(place.code);
        }
        (*tape).data = data.wrapping_add(bytes + Records::<V, M, L, K>::TAIL + Records::<V, M, L, K>::CODE);
        (*tape).next += 1;
        Some(LinearId::pack(place.number, id))
    }
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

impl<V: Float, I: IndexType> Collect<V, I> {
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

/// The leaves of a statement: their identifiers, and their partials, or their values where partials are recomputed.
type Leaves<'a, V, I> = (&'a [LinearId<I>], &'a [V]);

/// Records a statement that the fast path did not; returns passive if no argument is active.
///
/// Takes pointers, so that the fast path has no slices to make; `layout` says how long they are.
#[cold]
#[inline(never)]
#[track_caller]
fn append_slowly<S, V, M, L, K>(
    layout: &'static Layout<V>,
    (ids, numbers): (*const LinearId<M::Index>, *const V),
    payload: *const V,
    value: V,
) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Float,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    // SAFETY: `append`, the only caller, has written so many.
    let (leaves, payload) = unsafe {
        let ids = slice::from_raw_parts(ids, layout.arguments);
        ((ids, slice::from_raw_parts(numbers, layout.arguments)), slice::from_raw_parts(payload, layout.payload))
    };
    if let Some(id) = append_among_passive::<S, V, M, L, K>(layout, leaves, payload, value) {
        return M::adopt(id);
    }
    where_they_belong::<S, M>(leaves.0.iter().copied(), |tape| tape.append(layout, leaves, payload, value))
}

/// Records a statement that has active and passive arguments on the innermost tape, if that can be done at once.
#[inline(always)]
fn append_among_passive<S, V, M, L, K>(
    layout: &'static Layout<V>,
    (ids, numbers): Leaves<'_, V, M::Index>,
    payload: &[V],
    value: V,
) -> Option<LinearId<M::Index>>
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Float,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let active = ids.iter().filter(|id| id.is_active()).count();
    let at_once = active > 0 && active < ids.len() && active <= CLASSIC_MAX;
    if !at_once || layout.hybrid || K::VALUES && layout.forbids_replays() {
        return None;
    }
    let lists = layout.partials && !K::BY_ADDRESS;
    let passives = if layout.partials { 0 } else { ids.len() - active };
    let (layout, bytes) = match layout.with_passives {
        _ if lists => (Common::<V, M::Index>::partials(active), active * (size_of::<V>() + size_of::<M::Index>())),
        Some(other) => (other, layout.bytes + passives * size_of::<V>()),
        None => (layout, layout.bytes),
    };
    let place = place::<S, V, M, L, K>(layout, bytes)?;
    // SAFETY: `place` has just found this tape. Partials with their identifiers are those of active arguments; or the values of the
    // others, the payload and all identifiers take so many bytes.
    unsafe {
        commit(&place, layout, bytes, value, |data| {
            let mut writer = (data, true);
            let all = ids.iter().zip(numbers);
            if lists {
                all.clone().filter(|(id, _)| id.is_active()).for_each(|(_, partial)| put(&mut writer.0, *partial));
            } else {
                let passive = all.clone().rev().filter(|(id, _)| !id.is_active());
                passive.take(passives).for_each(|(_, value)| put(&mut writer.0, *value));
                payload.iter().for_each(|number| put(&mut writer.0, *number));
            }
            for id in ids {
                let is_active = id.is_active();
                writer.1 &= !is_active || id.within(place.number, place.known);
                if is_active || !lists {
                    put(&mut writer.0, narrow::<M>(id.index()));
                }
            }
            writer.1
        })
    }
}

/// Writes a value, and moves behind it.
///
/// # Safety
///
/// There is room for it.
#[inline(always)]
unsafe fn put<T>(at: &mut *mut u8, value: T) {
    // SAFETY: promised by the caller.
    unsafe {
        at.cast::<T>().write_unaligned(value);
        *at = at.add(size_of::<T>());
    }
}

/// Records a function of slices; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record), and when there are not as many constants as `R` says.
#[track_caller]
pub(crate) fn append_nary<S, R, V, M, L, K>(arguments: &[&[Taped<V, M::Id>]], constants: &[V], value: V) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    R: Nary<V>,
    V: Float,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let ids = arguments.iter().copied().flatten().map(|x| M::raw(&x.id));
    assert!(
        Some(constants.len()) == R::CONSTANTS.checked_mul(ids.clone().count()),
        "a function of slices with {} constants for each argument got {}",
        R::CONSTANTS,
        constants.len()
    );
    where_they_belong::<S, M>(ids, |tape| tape.append_nary::<R>(arguments, constants, value))
}

/// Finds the tape of these arguments, checks them against it, and lets `push` record there; returns passive if no argument is
/// active.
#[track_caller]
pub(super) fn where_they_belong<S, M>(
    arguments: impl Iterator<Item = LinearId<M::Index>> + Clone,
    push: impl FnOnce(&mut S::Tape) -> Result<LinearId<M::Index>, Refusal>,
) -> M::Id
where
    S: Reverse,
    M: IndexManager,
{
    let Some(number) = active::common_number(arguments.clone()) else {
        return M::passive();
    };
    let pushed = active::with::<S, _>(number, |tape| {
        let end = S::identifiers(tape) as u64;
        let known = |id: LinearId<M::Index>| !id.is_active() || id.within(number, end);
        if arguments.clone().all(known) { Some(push(tape)) } else { None }
    });
    match pushed {
        Some(Ok(id)) => M::adopt(id),
        Some(Err(refusal)) => refusal.raise(),
        None => panic!(
            "this statement has a variable that recording {number} never made: an identifier was forged, or recording \
             numbers wrapped around"
        ),
    }
}

impl<V: Float, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Records a statement of this recording, at least one of whose arguments is active.
    fn append(
        &mut self,
        layout: &'static Layout<V>,
        (ids, numbers): Leaves<'_, V, M::Index>,
        payload: &[V],
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        if K::VALUES && layout.forbids_replays() {
            self.keeps_partials();
        }
        let passives = ids.iter().filter(|id| !id.is_active()).count();
        // Partials of passive arguments may be written to no purpose; their values must be, if partials are recomputed.
        let kept = if layout.partials { 0 } else { passives };
        let full = layout.with_passives.filter(|_| kept > 0).unwrap_or(layout);
        let bytes = layout.bytes + kept * size_of::<V>();
        let listed = (ids.len() - passives) * (size_of::<V>() + size_of::<M::Index>());
        let list = !K::BY_ADDRESS
            && if passives > 0 {
                if layout.hybrid { listed < bytes } else { layout.partials }
            } else {
                // Without a code, partials are listed unless an address takes less.
                let coded = bytes + size_of::<&Layout<V>>();
                layout.partials && (!layout.hybrid || listed <= coded) && self.codes.code(layout).is_none()
            };
        if list && layout.partials {
            return self.push_partials(ids.iter().copied().zip(numbers.iter().copied()), value);
        }
        let fill = |record: &mut Writer<'_>| {
            let passive = ids.iter().zip(numbers).rev().filter(|(id, _)| !id.is_active());
            passive.take(kept).for_each(|(_, value)| record.put(*value));
            payload.iter().for_each(|constant| record.put(*constant));
            ids.iter().for_each(|id| record.put(narrow::<M>(id.index())));
        };
        if list {
            let mut data = SmallVec::<[u8; 512]>::from_elem(0, bytes);
            fill(&mut Writer::on(&mut data));
            let mut partials = Scratch::<V>::new();
            // SAFETY: these are the data of a record of this layout, whose identifiers are those of variables.
            unsafe {
                (full.contributions)(data.as_ptr_range().end, ids.len(), V::one(), self.values(), &mut partials);
            }
            return self.push_partials(ids.iter().copied().zip(partials.iter().copied()), value);
        }
        self.push(full, value, bytes, fill)
    }

    /// Records a function of slices, at least one of whose arguments is active.
    fn append_nary<R: Nary<V>>(
        &mut self,
        arguments: &[&[Taped<V, M::Id>]],
        constants: &[V],
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let all = || arguments.iter().copied().flatten();
        let n = all().count();
        let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
        let passive = all().any(|x| !M::raw(&x.id).is_active());
        if K::VALUES
            && !passive
            && let Some(layout) = self.coded(const { &Layout::nary::<R, M::Index>() })
        {
            let bytes = size_of_val(constants) + n * size_of::<M::Index>() + size_of::<u32>();
            if !R::REPLAYS {
                self.keeps_partials();
            }
            return self.push(layout, value, bytes, |record| {
                constants.iter().for_each(|constant| record.put(*constant));
                all().for_each(|x| record.put(narrow::<M>(M::raw(&x.id).index())));
                record.put(count);
            });
        }
        if K::VALUES {
            self.keeps_partials();
        }
        if R::UNIT {
            let active = || all().filter(|x| M::raw(&x.id).is_active());
            let n = active().count();
            let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
            let bytes = n * size_of::<M::Index>() + size_of::<u32>();
            return self.push(Common::<V, M::Index>::ONES, value, bytes, |record| {
                active().for_each(|x| record.put(narrow::<M>(M::raw(&x.id).index())));
                record.put(count);
            });
        }
        let mut scratch = Scratch::<V>::new();
        scratch.extend(all().map(|x| x.value));
        scratch.resize(2 * n, V::zero());
        let (values, partials) = scratch.split_at_mut(n);
        R::partials(values, constants, partials);
        self.push_partials(all().map(|x| M::raw(&x.id)).zip(partials.iter().copied()), value)
    }

    /// This layout, if its records have a code here.
    fn coded(&mut self, layout: &'static Layout<V>) -> Option<&'static Layout<V>> {
        self.codes.code(layout).map(|_| layout)
    }

    /// Records the active arguments with their partials.
    pub(super) fn push_partials(
        &mut self,
        arguments: impl Iterator<Item = (LinearId<M::Index>, V)> + Clone,
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let active = || arguments.clone().filter(|(id, _)| id.is_active());
        let n = active().count();
        let layout = Common::<V, M::Index>::partials(n);
        let count = if layout.form == Form::Counted { size_of::<u32>() } else { 0 };
        let bytes = n * (size_of::<V>() + size_of::<M::Index>());
        self.push(layout, value, bytes + count, |record| {
            active().for_each(|(_, partial)| record.put(partial));
            active().for_each(|(id, _)| record.put(narrow::<M>(id.index())));
            if count > 0 {
                record.put(u32::try_from(n).expect("a statement has fewer than 2^32 arguments"));
            }
        })
    }
}

/// An identifier as records hold it.
pub(super) fn narrow<M: IndexManager>(index: u64) -> M::Index {
    M::Index::narrow(index)
}
