//! Writing records.
//!
//! The fast path is inlined into each statement: it checks that every argument belongs to the innermost recording, that
//! the statement's type has a code, and that there is room; then it stores. Everything else is in functions over slices
//! that do not depend on the statement's type.

use super::Layout;
use super::layout::Partials;
use super::records::{OutOfIdentifiers, Records, usize_of};
use super::table::{CLASSIC_MAX, EXPLICIT, Kind, ONES, WIDE, classic};
use crate::active::{self, Recorder};
use crate::{Float, IndexType, LinearId, Nary, Reverse, Taped};
use core::any::TypeId;
use generic_array::sequence::GenericSequence;
use generic_array::{ArrayLength, GenericArray};

/// Records a typed statement; returns passive if no argument is active. `argument_values` are needed only by tapes that
/// keep values.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record).
#[inline(always)]
#[track_caller]
pub(crate) fn append<S, V, I, A, P, const VALUES: bool>(
    layout: &'static Layout<V>,
    arguments: &GenericArray<LinearId<I>, A>,
    argument_values: &GenericArray<V, A>,
    payload: &GenericArray<V, P>,
    value: V,
) -> LinearId<I>
where
    S: Reverse<Tape = Records<V, I, VALUES>>,
    V: Float,
    I: IndexType,
    A: ArrayLength,
    P: ArrayLength,
{
    debug_assert_eq!(layout.arguments, A::USIZE);
    debug_assert!(layout.payload <= P::USIZE);
    if A::USIZE == 0 {
        return LinearId::passive();
    }
    let header = active::innermost();
    // SAFETY: the innermost header is valid on its own thread.
    let (kind, number) = unsafe { ((*header).kind, (*header).number.get()) };
    if kind == TypeId::of::<S>() && number != active::BORROWED {
        // SAFETY: `kind` says that this is a `Recorder<S::Tape>`, and nobody borrows it. No user code runs below.
        let tape = unsafe { &mut (*header.cast::<Recorder<Records<V, I, VALUES>>>().cast_mut()).tape };
        let next = tape.next;
        let mut mine = true;
        for id in arguments {
            mine &= id.within(number, next);
        }
        let code = tape.table.codes[layout.hash];
        let data = tape.data;
        let code_at = tape.codes.wrapping_sub(usize_of(next));
        if mine
            && core::ptr::eq(tape.table.layouts[code as usize], layout)
            && next < tape.limit
            && data.addr() + layout.bytes <= code_at.addr()
        {
            // SAFETY: there are `bytes` of room from `data` and a byte at `code_at` (checked above); a layout's records are
            // its payload and its identifiers, and the arrays have that many. If values are kept, `limit` is their
            // capacity at most.
            unsafe {
                let mut at = data.cast::<V>();
                for factor in &payload[..layout.payload] {
                    at.write_unaligned(*factor);
                    at = at.add(1);
                }
                let mut at = at.cast::<I>();
                for id in arguments {
                    at.write_unaligned(I::narrow(id.index()));
                    at = at.add(1);
                }
                code_at.write(code);
                if VALUES {
                    tape.values.add(usize_of(next)).write(value);
                }
            }
            tape.data = data.wrapping_add(layout.bytes);
            tape.next = next + 1;
            return LinearId::pack(number, next);
        }
    }
    // Copies, element by element, so that the arrays of the fast path stay in registers.
    append_slowly::<S, V, I, VALUES>(&Typed {
        layout,
        arguments: &copied(arguments, LinearId::passive()),
        argument_values: &copied(argument_values, V::zero())[..if VALUES { A::USIZE } else { 0 }],
        payload: &copied(payload, V::zero())[..layout.payload],
        value,
    })
}

#[inline(always)]
fn copied<T: Copy, N: ArrayLength>(from: &GenericArray<T, N>, filler: T) -> GenericArray<T, N> {
    let mut to = GenericArray::repeat(filler);
    for k in 0..N::USIZE {
        to[k] = from[k];
    }
    to
}

/// A statement as the slow path sees it.
struct Typed<'a, V: 'static, I: IndexType> {
    layout: &'static Layout<V>,
    arguments: &'a [LinearId<I>],
    argument_values: &'a [V],
    payload: &'a [V],
    value: V,
}

/// Records a statement that the fast path did not.
#[cold]
#[inline(never)]
#[track_caller]
fn append_slowly<S, V, I, const VALUES: bool>(statement: &Typed<'_, V, I>) -> LinearId<I>
where
    S: Reverse<Tape = Records<V, I, VALUES>>,
    V: Float,
    I: IndexType,
{
    where_they_belong::<S, V, I, VALUES>(statement.arguments.iter().copied(), |tape| tape.append(statement))
}

/// Records a function of slices; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record).
#[track_caller]
pub(crate) fn append_nary<S, R, V, I, const VALUES: bool>(
    arguments: &[&[Taped<V, LinearId<I>>]],
    constants: &[V],
    value: V,
) -> LinearId<I>
where
    S: Reverse<Tape = Records<V, I, VALUES>>,
    R: Nary<V>,
    V: Float,
    I: IndexType,
{
    let ids = arguments.iter().copied().flatten().map(|x| x.id);
    where_they_belong::<S, V, I, VALUES>(ids, |tape| tape.append_nary::<R>(arguments, constants, value))
}

/// Finds the tape of these arguments, checks them against it, and lets `push` record there.
#[track_caller]
fn where_they_belong<S, V, I, const VALUES: bool>(
    arguments: impl Iterator<Item = LinearId<I>> + Clone,
    push: impl FnOnce(&mut Records<V, I, VALUES>) -> Result<LinearId<I>, OutOfIdentifiers>,
) -> LinearId<I>
where
    S: Reverse<Tape = Records<V, I, VALUES>>,
    V: Float,
    I: IndexType,
{
    let Some(number) = active::common_number(arguments.clone()) else {
        return LinearId::passive();
    };
    let pushed = active::with::<S, _>(number, |tape| {
        let known = |id: LinearId<I>| !id.is_active() || id.within(number, tape.next);
        if arguments.clone().all(known) { Some(push(tape)) } else { None }
    });
    match pushed {
        Some(Ok(id)) => id,
        Some(Err(exhausted)) => exhausted.raise(),
        None => panic!(
            "this statement has a variable that recording {number} never made: an identifier was forged, or recording \
             numbers wrapped around"
        ),
    }
}

impl<V: Float, I: IndexType, const VALUES: bool> Records<V, I, VALUES> {
    /// Records a statement of this recording, at least one of whose arguments is active.
    fn append(&mut self, s: &Typed<'_, V, I>) -> Result<LinearId<I>, OutOfIdentifiers> {
        let passive = s.arguments.iter().filter(|id| !id.is_active()).count();
        let kind = if passive == 0 { Kind::Typed } else { Kind::Mixed };
        let code = if VALUES || passive == 0 { self.table.code(s.layout, kind) } else { None };
        if !VALUES && code.is_none() {
            let partials =
                s.layout.expand::<I>(V::one(), s.payload, &Partials::from_elem(V::zero(), s.arguments.len()));
            return self.push_partials(s.arguments.iter().copied().zip(partials.iter().copied()), s.value);
        }
        let handle = if code.is_some() { 0 } else { size_of::<&Layout<V>>() };
        let bytes = s.layout.bytes + passive * size_of::<V>() + handle;
        self.push(code.unwrap_or(EXPLICIT), s.value, bytes, |record| {
            let values = s.arguments.iter().zip(s.argument_values);
            values.filter(|(id, _)| !id.is_active()).for_each(|(_, value)| record.put(*value));
            s.payload.iter().for_each(|constant| record.put(*constant));
            s.arguments.iter().for_each(|id| record.put(I::narrow(id.index())));
            if code.is_none() {
                record.put(s.layout);
            }
        })
    }

    /// Records a function of slices, at least one of whose arguments is active.
    fn append_nary<R: Nary<V>>(
        &mut self,
        arguments: &[&[Taped<V, LinearId<I>>]],
        constants: &[V],
        value: V,
    ) -> Result<LinearId<I>, OutOfIdentifiers> {
        let all = || arguments.iter().copied().flatten();
        let n = all().count();
        let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
        let passive = all().any(|x| !x.id.is_active());
        if VALUES && !passive {
            if let Some(code) = self.table.code(const { &Layout::nary::<R>() }, Kind::Nary) {
                let bytes = size_of_val(constants) + n * size_of::<I>() + 4;
                return self.push(code, value, bytes, |record| {
                    constants.iter().for_each(|constant| record.put(*constant));
                    all().for_each(|x| record.put(I::narrow(x.id.index())));
                    record.put(count);
                });
            }
        }
        if R::UNIT && !passive {
            return self.push(ONES, value, n * size_of::<I>() + 4, |record| {
                all().for_each(|x| record.put(I::narrow(x.id.index())));
                record.put(count);
            });
        }
        let mut scratch = core::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(all().map(|x| x.value));
        scratch.resize(2 * n, V::zero());
        let (values, partials) = scratch.split_at_mut(n);
        R::partials(values, constants, partials);
        let pushed = self.push_partials(all().map(|x| x.id).zip(partials.iter().copied()), value);
        self.scratch = scratch;
        pushed
    }

    /// Records the active arguments with their partials.
    fn push_partials(
        &mut self,
        arguments: impl Iterator<Item = (LinearId<I>, V)> + Clone,
        value: V,
    ) -> Result<LinearId<I>, OutOfIdentifiers> {
        let active = || arguments.clone().filter(|(id, _)| id.is_active());
        let n = active().count();
        let bytes = n * (size_of::<V>() + size_of::<I>());
        let wide = n > CLASSIC_MAX;
        let code = if wide { WIDE } else { classic(n) };
        self.push(code, value, bytes + if wide { 4 } else { 0 }, |record| {
            active().for_each(|(_, partial)| record.put(partial));
            active().for_each(|(id, _)| record.put(I::narrow(id.index())));
            if wide {
                record.put(u32::try_from(n).expect("a statement has fewer than 2^32 arguments"));
            }
        })
    }
}
