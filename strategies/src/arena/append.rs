//! Writing records.
//!
//! The fast path is inlined into each statement: it checks that every argument belongs to the innermost recording, that
//! the statement's type has a code, and that there is room; then it stores. Everything else is in functions over slices
//! that do not depend on the statement's type.

use super::Layout;
use super::layers::Layer;
use super::prefetch::{self, prefetch};
use super::records::{Records, Refusal, usize_of};
use super::table::{CLASSIC_MAX, EXPLICIT, Kind, ONES, Table, WIDE, classic};
use crate::active::{self, Header, Recorder};
use crate::scratch::Scratch;
use crate::{
    Float, IndexManager, IndexType, LinearId, Nary, Reverse, Sink, Statement, Store, TapeNumber, Taped, Taping,
};
use core::any::TypeId;
use core::mem::MaybeUninit;
use core::slice;
use generic_array::GenericArray;
use generic_array::typenum::Unsigned;

/// Records a typed statement; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record), and when `statement` does not report what its types say.
#[inline(always)]
#[track_caller]
pub(crate) fn append<S, V, M, L, N, const VALUES: bool>(layout: &'static Layout<V>, statement: &N) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, VALUES>, Value = V, Raw = LinearId<M::Index>>,
    V: Float,
    M: IndexManager,
    L: Layer,
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
    let coded = |table: &Table<V>| {
        let code = if layout.code == 0 { table.codes[layout.hash] } else { layout.code };
        (layout.code != 0 || core::ptr::eq(table.layouts[code as usize], layout)).then_some(code)
    };
    if let Some(place) = place::<S, V, M, L, VALUES>(layout.bytes, coded) {
        let (from, each) = (payload.as_ptr().cast::<V>(), ids.as_ptr().cast::<LinearId<M::Index>>());
        // SAFETY: as many identifiers have been collected as there are arguments.
        if (0..N::Args::USIZE).all(|k| unsafe { *each.add(k) }.within(place.number, place.known)) {
            // SAFETY: `place` has just found this tape, with room; the arrays are as long as the layout says, `bytes` is what
            // they take, and the identifiers are below `known`.
            let id = unsafe {
                commit(&place, layout.bytes, value, |data| {
                    core::ptr::copy_nonoverlapping(from.cast::<u8>(), data, layout.payload * size_of::<V>());
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
    append_slowly::<S, V, M, L, VALUES>(layout, leaves, payload.as_ptr().cast(), value)
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn misreported() -> ! {
    panic!("a statement must report as many leaves, constants and partials as its types say")
}

/// The innermost tape, with room for a statement.
struct Place<V: 'static, M: IndexManager, L: Layer, const VALUES: bool> {
    header: *const Header,
    tape: *mut Records<V, M, L, VALUES>,
    number: TapeNumber,
    next: u64,
    /// The identifiers below this are those of variables of the recording.
    known: u64,
    /// The identifier of the statement's result.
    id: u64,
    code: u8,
}

/// The innermost tape, if it is of this strategy and not lent out, knows a code, and has room for a record with so many bytes of
/// data.
#[inline(always)]
fn place<S, V, M, L, const VALUES: bool>(
    bytes: usize,
    coded: impl FnOnce(&Table<V>) -> Option<u8>,
) -> Option<Place<V, M, L, VALUES>>
where
    S: Reverse<Tape = Records<V, M, L, VALUES>>,
    V: Float,
    M: IndexManager,
    L: Layer,
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
        let next = (*tape).next;
        let code = coded(&(*tape).table)?;
        let code_at = (*tape).codes.wrapping_sub(usize_of(next));
        if (*tape).data.addr() + bytes + Records::<V, M, L, VALUES>::TAIL > code_at.addr() {
            return None;
        }
        let (known, limit) = (if M::REUSES { (*tape).fresh } else { next }, (*tape).limit);
        let id = if M::REUSES {
            (*header).pool.with(|pool| pool.next(known, limit).map(u64::from))?
        } else if next < limit {
            next
        } else {
            return None;
        };
        Some(Place { header, tape, number, next, known, id, code })
    }
}

/// Makes the data that `fill` writes a record of the recording, unless it returns `false`.
///
/// # Safety
///
/// `place` has just been found for this many bytes of data; `fill` writes them and no more, as the code says, with identifiers
/// below `place.known` if it returns `true`, and runs no code of users.
#[inline(always)]
unsafe fn commit<V: Float, M: IndexManager, L: Layer, const VALUES: bool>(
    place: &Place<V, M, L, VALUES>,
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
        if M::REUSES {
            (*place.header).pool.with(|pool| pool.take(id, &mut (*tape).fresh));
        }
        (*tape).write_tail(data.add(bytes), id, value);
        (*tape).codes.wrapping_sub(usize_of(place.next)).write(place.code);
        (*tape).data = data.wrapping_add(bytes + Records::<V, M, L, VALUES>::TAIL);
        (*tape).next = place.next + 1;
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

/// Records a statement that the fast path did not; returns passive if no argument is active.
///
/// Takes pointers, so that the fast path has no slices to make; `layout` says how long they are.
#[cold]
#[inline(never)]
#[track_caller]
fn append_slowly<S, V, M, L, const VALUES: bool>(
    layout: &'static Layout<V>,
    (ids, numbers): (*const LinearId<M::Index>, *const V),
    payload: *const V,
    value: V,
) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, VALUES>>,
    V: Float,
    M: IndexManager,
    L: Layer,
{
    // SAFETY: `append`, the only caller, has written so many.
    let (ids, numbers, payload) = unsafe {
        let (ids, numbers) =
            (slice::from_raw_parts(ids, layout.arguments), slice::from_raw_parts(numbers, layout.arguments));
        (ids, numbers, slice::from_raw_parts(payload, layout.payload))
    };
    if let Some(id) = append_among_passive::<S, V, M, L, VALUES>(layout, (ids, numbers), payload, value) {
        return M::adopt(id);
    }
    where_they_belong::<S, M>(ids.iter().copied(), |tape| tape.append(layout, (ids, numbers), payload, value))
}

/// Records a statement that has active and passive arguments on the innermost tape, if that can be done at once.
#[inline(always)]
fn append_among_passive<S, V, M, L, const VALUES: bool>(
    layout: &'static Layout<V>,
    (ids, numbers): (&[LinearId<M::Index>], &[V]),
    payload: &[V],
    value: V,
) -> Option<LinearId<M::Index>>
where
    S: Reverse<Tape = Records<V, M, L, VALUES>>,
    V: Float,
    M: IndexManager,
    L: Layer,
{
    let mut active = 0;
    for id in ids {
        active += usize::from(id.is_active());
    }
    if active == 0 || active == ids.len() || active > CLASSIC_MAX || layout.hybrid {
        return None;
    }
    let passive = ids.len() - active;
    let both = size_of::<V>() + size_of::<M::Index>();
    let bytes = if layout.partials { active * both } else { layout.bytes + passive * size_of::<V>() };
    let coded = |table: &Table<V>| if layout.partials { Some(classic(active)) } else { table.mixed(layout) };
    let place = place::<S, V, M, L, VALUES>(bytes, coded)?;
    // SAFETY: `place` has just found this tape. Partials, with their identifiers, are those of active arguments; or the values of the
    // others, the payload and all identifiers take so many bytes.
    unsafe {
        commit(&place, bytes, value, |data| {
            let (mut numbers_at, kept) =
                (data.cast::<V>(), if layout.partials { active } else { passive + payload.len() });
            let mut ids_at = numbers_at.add(kept).cast::<M::Index>();
            let mut mine = true;
            for (id, number) in ids.iter().zip(numbers) {
                let is_active = id.is_active();
                mine &= !is_active || id.within(place.number, place.known);
                if is_active == layout.partials {
                    numbers_at.write_unaligned(*number);
                    numbers_at = numbers_at.add(1);
                }
                if is_active || !layout.partials {
                    ids_at.write_unaligned(narrow::<M>(id.index()));
                    ids_at = ids_at.add(1);
                }
            }
            if !layout.partials {
                core::ptr::copy_nonoverlapping(payload.as_ptr().cast::<u8>(), numbers_at.cast(), size_of_val(payload));
            }
            mine
        })
    }
}

/// Records a function of slices; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record).
#[track_caller]
pub(crate) fn append_nary<S, R, V, M, L, const VALUES: bool>(
    arguments: &[&[Taped<V, M::Id>]],
    constants: &[V],
    value: V,
) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, VALUES>>,
    R: Nary<V>,
    V: Float,
    M: IndexManager,
    L: Layer,
{
    let ids = arguments.iter().copied().flatten().map(|x| M::raw(&x.id));
    check_constants::<R, V>(ids.clone().count(), constants.len());
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

/// Checks the number of constants of a function of slices.
#[track_caller]
pub(super) fn check_constants<R: Nary<V>, V: Float>(arguments: usize, constants: usize) {
    assert!(
        Some(constants) == R::CONSTANTS.checked_mul(arguments),
        "a function of slices with {} constants for each argument got {constants}",
        R::CONSTANTS
    );
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Records a statement of this recording, at least one of whose arguments is active: their identifiers, and their partials,
    /// or their values where partials are recomputed.
    fn append(
        &mut self,
        layout: &'static Layout<V>,
        (ids, numbers): (&[LinearId<M::Index>], &[V]),
        payload: &[V],
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let passives = ids.iter().filter(|id| !id.is_active()).count();
        // Partials of passive arguments may be written to no purpose; their values must be, if partials are recomputed.
        let kept = if layout.partials { 0 } else { passives };
        let kind = if kept == 0 { Kind::Typed } else { Kind::Mixed };
        let typed = layout.bytes + kept * size_of::<V>();
        let listed = (ids.len() - passives) * (size_of::<V>() + size_of::<M::Index>());
        let list = passives > 0 && if layout.hybrid { listed < typed } else { layout.partials };
        let code = if list { None } else { self.table.code(layout, kind) };
        let in_full = layout.hybrid && typed + size_of::<u32>() < listed;
        if list || layout.partials && code.is_none() && !in_full {
            let expanded = if layout.partials { None } else { Some(layout.expand::<M::Index>(payload, numbers)) };
            let partials = expanded.as_deref().unwrap_or(numbers);
            return self.push_partials(ids.iter().copied().zip(partials.iter().copied()), value);
        }
        let number = if code.is_none() { Some(self.table.number(layout)) } else { None };
        let bytes = typed + number.map_or(0, |_| size_of::<u32>());
        self.push(code.unwrap_or(EXPLICIT), value, bytes, |record| {
            let passive = ids.iter().zip(numbers).filter(|(id, _)| !id.is_active());
            passive.take(kept).for_each(|(_, value)| record.put(*value));
            payload.iter().for_each(|constant| record.put(*constant));
            ids.iter().for_each(|id| record.put(narrow::<M>(id.index())));
            number.into_iter().for_each(|number| record.put(number));
        })
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
        if VALUES
            && !passive
            && let Some(code) = self.table.code(const { &Layout::nary::<R>() }, Kind::Nary)
        {
            let bytes = size_of_val(constants) + n * size_of::<M::Index>() + 4;
            if !R::REPLAYS {
                self.keeps_partials();
            }
            return self.push(code, value, bytes, |record| {
                constants.iter().for_each(|constant| record.put(*constant));
                all().for_each(|x| record.put(narrow::<M>(M::raw(&x.id).index())));
                record.put(count);
            });
        }
        if VALUES {
            self.keeps_partials();
        }
        if R::UNIT {
            let active = || all().filter(|x| M::raw(&x.id).is_active());
            let n = active().count();
            let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
            return self.push(ONES, value, n * size_of::<M::Index>() + 4, |record| {
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

    /// Records the active arguments with their partials.
    fn push_partials(
        &mut self,
        arguments: impl Iterator<Item = (LinearId<M::Index>, V)> + Clone,
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let active = || arguments.clone().filter(|(id, _)| id.is_active());
        let n = active().count();
        let bytes = n * (size_of::<V>() + size_of::<M::Index>());
        let wide = n > CLASSIC_MAX;
        let code = if wide { WIDE } else { classic(n) };
        self.push(code, value, bytes + if wide { 4 } else { 0 }, |record| {
            active().for_each(|(_, partial)| record.put(partial));
            active().for_each(|(id, _)| record.put(narrow::<M>(id.index())));
            if wide {
                record.put(u32::try_from(n).expect("a statement has fewer than 2^32 arguments"));
            }
        })
    }
}

/// An identifier as records hold it.
fn narrow<M: IndexManager>(index: u64) -> M::Index {
    M::Index::narrow(index)
}
