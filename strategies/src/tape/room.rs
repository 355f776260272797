//! The place of the next record on the innermost tape.

use super::layout::Layout;
use super::prefetch::{self, prefetch};
use super::records::{Content, Records};
use crate::active::{self, State};
use crate::storage::Layer;
use crate::{IndexManager, LinearId, Number, Reverse, TapeNumber};

/// The innermost tape, with room for a statement.
pub(super) struct Place<V: Number, M: IndexManager, L: Layer, K: Content> {
    state: *mut State,
    tape: *mut Records<V, M, L, K>,
    pub(super) number: TapeNumber,
    /// The identifiers below this belong to variables of the recording.
    pub(super) known: u64,
    /// The identifier of the statement's result.
    id: u64,
    code: u8,
}

/// The innermost tape, if it is of this strategy and not lent out, knows the code of a layout, and has room for a
/// record with this many bytes of data.
#[inline(always)]
pub(super) fn place<S, V, M, L, K>(layout: &'static Layout<V>, bytes: usize) -> Option<Place<V, M, L, K>>
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let (state, tape) = active::innermost_parts::<S>()?;
    // SAFETY: the innermost recording is of strategy `S`, and nobody uses it. Asking the pool runs no code of users.
    unsafe {
        let code = if K::BY_ADDRESS { 0 } else { (*tape).codes.find(layout)? };
        if bytes + Records::<V, M, L, K>::TAIL + Records::<V, M, L, K>::CODE > (*tape).end.addr() - (*tape).data.addr()
        {
            return None;
        }
        let (next, limit) = ((*tape).next, (*tape).limit);
        let (known, id) = if M::REUSES {
            let known = (*tape).fresh;
            (known, (*state).pool.next(known, limit).map(u64::from)?)
        } else if K::VALUES && next >= limit {
            return None;
        } else {
            (next, next)
        };
        Some(Place { state, tape, number: (*state).number, known, id, code })
    }
}

/// Makes the data that `fill` writes a record of the recording.
///
/// # Safety
///
/// `place` has just been found for this layout and this many bytes of data; `fill` writes them and no more, as the
/// layout says, with identifiers below `place.known`, and runs no code of users.
#[inline(always)]
pub(super) unsafe fn commit<V: Number, M: IndexManager, L: Layer, K: Content>(
    place: &Place<V, M, L, K>,
    layout: &'static Layout<V>,
    bytes: usize,
    value: V,
    fill: impl FnOnce(*mut u8),
) -> LinearId<M::Index> {
    let tape = place.tape;
    // SAFETY: there is room for `bytes` of data, for the tail, for the code and, if values are kept, for the value: the
    // identifier is below `fresh`, or it is `fresh` and below `limit`, which is at most their capacity. Taking it
    // from the pool runs no code of users.
    unsafe {
        let (id, data) = (place.id, (*tape).data);
        prefetch(data.wrapping_add(prefetch::AHEAD));
        fill(data);
        if K::VALUES && layout.forbids_replays() {
            (*tape).keeps_partials();
        }
        if M::REUSES {
            (*place.state).pool.take(id, &mut (*tape).fresh);
        }
        let code_at = (*tape).write_tail(data.add(bytes), id, value);
        if K::BY_ADDRESS {
            code_at.cast::<&'static Layout<V>>().write_unaligned(layout);
        } else {
            code_at.write(place.code);
        }
        (*tape).data = data.wrapping_add(bytes + Records::<V, M, L, K>::TAIL + Records::<V, M, L, K>::CODE);
        (*tape).next += 1;
        LinearId::pack(place.number, id)
    }
}
