//! The slow path of statements: other recordings, new codes, new segments.

use super::emit::{Assigned, Writer};
use crate::error::Refusal;
use crate::identifier::{IndexType, LinearId};
use crate::policy::Policy;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::format::code::CLASSIC_MAX;
use crate::tape::format::layout::{Common, Form, Layout, Lengths};
use crate::tape::read::cursor::data_in;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Number, Reverse, recording};
use core::panic::Location;
use smallvec::SmallVec;

/// The leaves of a statement: their identifiers, and their partials, or their values where partials are recomputed.
pub(crate) type Leaves<'a, V, I> = (&'a [LinearId<I>], &'a [V]);

/// The form in which a statement with passive arguments, or without a code, is written on the innermost tape.
pub(crate) struct AtOnce<V: Number> {
    pub(crate) layout: &'static Layout<V>,
    pub(crate) bytes: usize,
    /// True if the record lists the partials of active arguments.
    pub(crate) lists: bool,
    /// Number of values of passive arguments in the record.
    pub(crate) passives: usize,
}

impl<V: Number> AtOnce<V> {
    /// Returns the form of a statement with this layout, or `None` if it has to take the slow path. `coded` returns
    /// true if the layout has a code, or gets one.
    #[inline(always)]
    pub(crate) fn of<M: IndexManager, K: Content>(
        layout: &'static Layout<V>,
        active: usize,
        arguments: usize,
        coded: impl FnOnce() -> bool,
    ) -> Option<Self> {
        let at_once = active > 0 && active <= CLASSIC_MAX;
        if !at_once || K::VALUES && layout.forbids_replays() {
            return None;
        }
        let passives = if layout.partials { 0 } else { arguments - active };
        let bytes = layout.bytes + passives * size_of::<V>();
        let lists = !K::BY_ADDRESS && layout.lengths().lists::<V, M::Index>(arguments - active, bytes, coded);
        if !lists {
            let full = layout.with_passives.filter(|_| passives > 0).unwrap_or(layout);
            return Some(Self { layout: full, bytes, lists, passives });
        }
        // In records of other layouts, the partials would have to be computed first.
        layout.partials.then(|| {
            let bytes = Lengths::of_partials::<V, M::Index>(active);
            Self { layout: Common::<V, M::Index>::partials(active), bytes, lists, passives }
        })
    }
}

/// Finds the tape of these arguments, checks the arguments against it, and lets `push` record there; returns passive if
/// no argument is active.
#[track_caller]
pub(crate) fn where_they_belong<S, M>(
    arguments: impl Iterator<Item = LinearId<M::Index>> + Clone,
    push: impl FnOnce(&mut S::Tape) -> Result<LinearId<M::Index>, Refusal>,
) -> M::Id
where
    S: Reverse,
    M: IndexManager,
{
    let Some(number) = recording::common_number(arguments.clone()) else {
        return M::passive();
    };
    let pushed = recording::with::<S, _>(number, |tape| {
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
    /// Records a statement of this recording with at least one active argument. Rules of users may run before the
    /// record is written.
    pub(crate) fn append(
        &mut self,
        layout: &'static Layout<V>,
        (ids, numbers): Leaves<'_, V, M::Index>,
        payload: &[V],
        assigned: Assigned<V, M::Index>,
    ) -> Result<LinearId<M::Index>, Refusal> {
        if K::VALUES && layout.forbids_replays() {
            self.keeps_partials();
        }
        let passives = ids.iter().filter(|id| !id.is_active()).count();
        // Partials of passive arguments may be written although they have no effect; values of passive arguments must
        // be, if partials are recomputed.
        let kept = if layout.partials { 0 } else { passives };
        let full = layout.with_passives.filter(|_| kept > 0).unwrap_or(layout);
        let bytes = layout.bytes + kept * size_of::<V>();
        let list = self.lists(layout, passives, bytes);
        if list && layout.partials {
            return self.push_partials((ids, numbers), None, assigned);
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
            let values = self.values();
            data_in::<V, M::Index>(layout, &data, layout.arguments, values.len()).contributions(
                V::ONE,
                values,
                &mut partials,
            );
            return self.push_partials((ids, &partials), None, assigned);
        }
        self.push(full, assigned, bytes, fill)
    }

    /// Returns true if a statement with this many passive arguments is written as a list of partials, and not in
    /// `bytes` bytes in its layout.
    fn lists(&mut self, layout: &'static Layout<V>, passives: usize, bytes: usize) -> bool {
        !K::BY_ADDRESS && layout.lengths().lists::<V, M::Index>(passives, bytes, || self.codes.code(layout).is_some())
    }

    /// Records a statement without arguments: a constant that is a variable.
    pub(crate) fn constant(&mut self, value: V) -> Result<LinearId<M::Index>, Refusal> {
        self.push_partials((&[], &[]), None, (value, None))
    }

    /// Records the active arguments with their partials, in the layout `linear` for a function that is linear in them
    /// if there is one.
    pub(crate) fn push_partials(
        &mut self,
        (ids, partials): (&[LinearId<M::Index>], &[V]),
        linear: Option<&'static Layout<V>>,
        assigned: Assigned<V, M::Index>,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let n = ids.iter().filter(|id| id.is_active()).count();
        let layout = if let Some(layout) = linear { layout } else { Common::<V, M::Index>::partials(n) };
        let count = if layout.form == Form::Counted { size_of::<u32>() } else { 0 };
        let bytes = n * (size_of::<V>() + size_of::<M::Index>());
        self.push(layout, assigned, bytes + count, |record| {
            for (id, partial) in ids.iter().zip(partials) {
                if id.is_active() {
                    record.put(*partial);
                }
            }
            for id in ids {
                if id.is_active() {
                    record.put(narrow::<M>(id.index()));
                }
            }
            if count > 0 {
                record.put(u32::try_from(n).expect("a statement has fewer than 2^32 arguments"));
            }
        })
    }
}

/// Converts an index to the width in which records hold it.
pub(crate) fn narrow<M: IndexManager>(index: u64) -> M::Index {
    M::Index::narrow(index)
}

/// Records a statement that a user's closure reverses; returns passive, and drops the closure, if no argument is
/// active.
///
/// # Panics
///
/// In the cases listed at [`Taping::record`](crate::Taping::record).
#[track_caller]
pub(crate) fn append_closure<S, V, M, L, K, F>(arguments: &[LinearId<M::Index>], reverse: F) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    F: Fn(V, &mut [V]) + Send + Sync + 'static,
{
    // A refused closure is dropped when the tape is no longer lent out, since its destructor may record.
    let mut reverse = Some(reverse);
    let id = where_they_belong::<S, M>(arguments.iter().copied(), |tape| tape.push_closure(arguments, &mut reverse));
    let here = Location::caller();
    S::Policy::tracing(|| {
        let raw = M::raw(&id);
        if raw.is_active() {
            recording::note::<S>(raw.number(), here);
        }
    });
    id
}
