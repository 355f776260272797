//! Writing statements that are not written at once.

use super::codes::CLASSIC_MAX;
use super::common::Common;
use super::layout::{Form, Layout};
use super::records::{Content, Records};
use super::room::{commit, place};
use super::writer::Writer;
use crate::active;
use crate::refusal::Refusal;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::{IndexManager, IndexType, LinearId, Number, Reverse};
use core::any::TypeId;
use core::slice;
use smallvec::SmallVec;

/// The leaves of a statement: their identifiers, and their partials, or their values where partials are recomputed.
type Leaves<'a, V, I> = (&'a [LinearId<I>], &'a [V]);

/// Records a statement that the fast path did not; returns passive if no argument is active.
///
/// Takes pointers, so that the fast path has no slices to make; `layout` says how long they are.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn append_slowly<S, V, M, L, K>(
    layout: &'static Layout<V>,
    (ids, numbers): (*const LinearId<M::Index>, *const V),
    payload: *const V,
    value: V,
) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    // SAFETY: `append`, the only caller, has written as many as the layout says.
    let (leaves, payload) = unsafe {
        let ids = slice::from_raw_parts(ids, layout.arguments);
        ((ids, slice::from_raw_parts(numbers, layout.arguments)), slice::from_raw_parts(payload, layout.payload))
    };
    active::admit(const { &TypeId::of::<S>() });
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
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let active = ids.iter().filter(|id| id.is_active()).count();
    let Among { layout, bytes, lists, passives } = Among::of::<M, K>(layout, active, ids.len())?;
    let place = place::<S, V, M, L, K>(layout, bytes)?;
    if !ids.iter().all(|id| !id.is_active() || id.within(place.number, place.known)) {
        return None;
    }
    // SAFETY: `place` has just found this tape, and the identifiers are below `known`. Partials with their identifiers
    // belong to active arguments; or the values of the others, the payload and all identifiers take `bytes` bytes.
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
            let kept = ids.iter().filter(|id| !lists || id.is_active());
            kept.for_each(|id| put(&mut data, narrow::<M>(id.index())));
        })
    };
    Some(id)
}

/// A record of a statement that has active and passive arguments.
struct Among<V: Number> {
    layout: &'static Layout<V>,
    bytes: usize,
    /// Whether it lists the partials of active arguments.
    lists: bool,
    /// How many values of passive arguments it has.
    passives: usize,
}

impl<V: Number> Among<V> {
    /// The record of a statement with this layout, if it can be written at once.
    #[inline(always)]
    fn of<M: IndexManager, K: Content>(layout: &'static Layout<V>, active: usize, arguments: usize) -> Option<Self> {
        let at_once = active > 0 && active < arguments && active <= CLASSIC_MAX;
        if !at_once || layout.hybrid || K::VALUES && layout.forbids_replays() {
            return None;
        }
        let lists = layout.partials && !K::BY_ADDRESS;
        let passives = if layout.partials { 0 } else { arguments - active };
        let (layout, bytes) = match layout.with_passives {
            _ if lists => (Common::<V, M::Index>::partials(active), active * (size_of::<V>() + size_of::<M::Index>())),
            Some(other) => (other, layout.bytes + passives * size_of::<V>()),
            None => (layout, layout.bytes),
        };
        Some(Self { layout, bytes, lists, passives })
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

/// Finds the tape of these arguments, checks them against it, and lets `push` record there; returns passive if no
/// argument is active.
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

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
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
        let list = self.lists(layout, passives, bytes);
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
            // SAFETY: these are the data of a record of this layout, whose identifiers belong to variables.
            unsafe {
                let end = data.as_ptr_range().end;
                (full.rerun)(end, ids.len(), V::ONE, self.values(), Some(&mut partials));
            }
            return self.push_partials(ids.iter().copied().zip(partials.iter().copied()), value);
        }
        self.push(full, value, bytes, fill)
    }

    /// Whether a statement with this many passive arguments is written as a list of partials, and not as its layout
    /// says, in `bytes` bytes.
    fn lists(&mut self, layout: &'static Layout<V>, passives: usize, bytes: usize) -> bool {
        !K::BY_ADDRESS && layout.lengths().lists::<V, M::Index>(passives, bytes, || self.codes.code(layout).is_some())
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
