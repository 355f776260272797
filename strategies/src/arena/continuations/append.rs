//! Making closures.
//!
//! As for records, users' rules run before anything is looked up or written: a rule may record, or end recordings.

use super::super::append::{check_constants, misreported, where_they_belong};
use super::closure::{Vtable, WORD, slices_bytes, user_tail_bytes, whole_words};
use super::{Continuations, Destructor};
use crate::active::{self, Recorder};
use crate::arena::prefetch::{self, prefetch};
use crate::arena::records::Refusal;
use crate::scratch::Scratch;
use crate::{Float, IndexManager, IndexType, LinearId, Nary, Reverse, Shape, Sink, Statement, Taped, Taping};
use core::any::TypeId;
use core::mem::{MaybeUninit, needs_drop};
use core::{ptr, slice};
use generic_array::typenum::Unsigned;
use generic_array::{ArrayLength, GenericArray};

/// Records a typed statement; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`], and when `statement` does not report what its types say.
#[inline(always)]
#[track_caller]
pub(crate) fn append_closure<S, V, M, N>(statement: &N) -> M::Id
where
    S: Reverse<Tape = Continuations<V, M>, Value = V, Raw = LinearId<M::Index>>,
    V: Float,
    M: IndexManager,
    N: Statement<S>,
{
    let vtable = const { &Vtable::typed::<N::Shape, M::Index>() };
    let (factors, leaves) = (N::Shape::FACTORS, N::Shape::LEAVES);
    if leaves != N::Args::USIZE || factors > N::Args::USIZE {
        misreported();
    }
    let mut capture = Capture::<V, M::Index, N::Args> {
        factors: GenericArray::uninit(),
        ids: GenericArray::uninit(),
        left: (factors, leaves),
        done: (0, 0),
    };
    statement.backward(V::one(), &mut capture);
    if capture.left != (0, 0) {
        misreported();
    }
    let header = active::innermost();
    // SAFETY: the innermost header is valid on its own thread; `kind` says what it is the header of, and a tape that is not
    // lent out is used by nobody. `capture` is complete, and the identifiers are below `next`.
    unsafe {
        if (*header).kind == TypeId::of::<S>() && !(*header).lent.get() {
            let number = (*header).number.get();
            let tape = &mut (*header.cast::<Recorder<S>>().cast_mut()).tape;
            let ids = capture.ids.as_ptr().cast::<LinearId<M::Index>>();
            let mine = (0..leaves).fold(true, |mine, k| mine & (*ids.add(k)).within(number, tape.next));
            if mine
                && tape.has_room(vtable.bytes)
                && let Ok(result) = tape.fresh_identifier()
            {
                tape.write_typed(vtable, (capture.factors.as_ptr().cast(), factors), (ids, leaves), result);
                return M::adopt(LinearId::pack(number, result));
            }
        }
    }
    // A copy: if the arrays themselves were lent to a function, they could not stay in registers above.
    let (kept, ids) = (capture.factors, capture.ids);
    append_slowly::<S, V, M>(vtable, (kept.as_ptr().cast(), factors), (ids.as_ptr().cast(), leaves))
}

/// Collects partials and identifiers as they are reported, never more than there should be.
struct Capture<V, I: IndexType, A: ArrayLength> {
    factors: GenericArray<MaybeUninit<V>, A>,
    ids: GenericArray<MaybeUninit<LinearId<I>>, A>,
    /// Factors and identifiers that are to come.
    left: (usize, usize),
    /// Factors and identifiers that are there.
    done: (usize, usize),
}

impl<S: Taping<Raw = LinearId<I>>, I: IndexType, A: ArrayLength> Sink<S> for Capture<S::Value, I, A> {
    #[inline(always)]
    fn factor(&mut self, factor: S::Value) {
        if self.left.0 == 0 {
            misreported();
        }
        self.factors[self.done.0].write(factor);
        self.left.0 -= 1;
        self.done.0 += 1;
    }
    #[inline(always)]
    fn leaf(&mut self, _: S::Value, id: LinearId<I>) {
        if self.left.1 == 0 {
            misreported();
        }
        self.ids[self.done.1].write(id);
        self.left.1 -= 1;
        self.done.1 += 1;
    }
}

/// Records a statement that the fast path did not; returns passive if no argument is active.
///
/// Takes pointers with lengths, so that the fast path has no slices to make.
#[cold]
#[inline(never)]
#[track_caller]
fn append_slowly<S, V, M>(
    vtable: &'static Vtable<V>,
    factors: (*const V, usize),
    ids: (*const LinearId<M::Index>, usize),
) -> M::Id
where
    S: Reverse<Tape = Continuations<V, M>>,
    V: Float,
    M: IndexManager,
{
    // SAFETY: `append_closure`, the only caller, has written so many.
    let arguments = unsafe { slice::from_raw_parts(ids.0, ids.1) };
    where_they_belong::<S, M>(arguments.iter().copied(), |tape| {
        tape.make_room(vtable.bytes);
        let result = tape.fresh_identifier()?;
        // SAFETY: there is room; `append_closure` has written so many factors and identifiers, and the latter belong to this
        // recording, so they are below `next`.
        unsafe { tape.write_typed(vtable, factors, ids, result) }
        Ok(LinearId::pack(tape.number, result))
    })
}

/// Records a function of slices; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`], and when there are not as many constants as `R` says.
#[track_caller]
pub(crate) fn append_nary_closure<S, R, V, M>(arguments: &[&[Taped<V, M::Id>]], constants: &[V]) -> M::Id
where
    S: Reverse<Tape = Continuations<V, M>>,
    R: Nary<V>,
    V: Float,
    M: IndexManager,
{
    let all = || arguments.iter().copied().flatten();
    let (ids, n) = (all().map(|x| M::raw(&x.id)), all().count());
    check_constants::<R, V>(n, constants.len());
    if active::common_number(ids.clone()).is_none() {
        return M::passive();
    }
    if R::UNIT {
        let vtable = const { &Vtable::slices::<true, M::Index>() };
        let active = ids.clone().filter(|id| id.is_active());
        return where_they_belong::<S, M>(ids, |tape| tape.append_slices(vtable, core::iter::empty(), active));
    }
    let mut scratch = Scratch::<V>::new();
    scratch.extend(all().map(|x| x.value));
    scratch.resize(2 * n, V::zero());
    let (values, partials) = scratch.split_at_mut(n);
    R::partials(values, constants, partials);
    let active = ids.clone().zip(&*partials).filter(|(id, _)| id.is_active());
    let (partials, active) = (active.clone().map(|(_, partial)| *partial), active.map(|(id, _)| id));
    let vtable = const { &Vtable::slices::<false, M::Index>() };
    where_they_belong::<S, M>(ids, |tape| tape.append_slices(vtable, partials, active))
}

/// Records a statement that a user's closure reverses; returns passive, and drops it, if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`].
#[track_caller]
pub(crate) fn append_user_closure<S, V, M, F>(arguments: &[LinearId<M::Index>], reverse: F) -> M::Id
where
    S: Reverse<Tape = Continuations<V, M>>,
    V: Float,
    M: IndexManager,
    F: Fn(V, &mut [V]) + Send + Sync + 'static,
{
    // If it is refused, it is dropped when the tape is not lent out any more: its destructor may record.
    let mut reverse = Some(reverse);
    where_they_belong::<S, M>(arguments.iter().copied(), |tape| tape.append_user(arguments, &mut reverse))
}

impl<V: Float, M: IndexManager> Continuations<V, M> {
    /// Makes sure that captures of so many bytes, and a pointer, have room.
    fn make_room(&mut self, bytes: usize) {
        if !self.has_room(bytes) {
            self.grow(bytes);
        }
    }

    /// Writes a typed closure.
    ///
    /// # Safety
    ///
    /// There is room for it, so many factors and identifiers as its type captures can be read, and all identifiers are below
    /// `next`.
    #[inline(always)]
    unsafe fn write_typed(
        &mut self,
        vtable: &'static Vtable<V>,
        (factors, factor_count): (*const V, usize),
        (ids, id_count): (*const LinearId<M::Index>, usize),
        result: u64,
    ) {
        // SAFETY: promised by the caller; captures are as long as factors, identifiers and the gap between them.
        unsafe {
            let end = self.data.add(vtable.bytes);
            prefetch(end.wrapping_add(prefetch::AHEAD));
            ptr::copy_nonoverlapping(factors, self.data.cast(), factor_count);
            write_tail((0..id_count).map(|k| *ids.add(k)), end.cast::<M::Index>().sub(id_count + 1), [result]);
            self.finish(vtable, end);
        }
    }

    /// Makes what lies from `data` to `end` the captures of a closure of this type.
    ///
    /// # Safety
    ///
    /// They are, there is room for a pointer, and all identifiers are below `next`.
    #[inline(always)]
    unsafe fn finish(&mut self, vtable: &'static Vtable<V>, end: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe {
            self.top = self.top.sub(1);
            self.top.write(vtable);
        }
        self.data = end;
    }

    /// Makes a closure over slices, of these partials (none if all are 1) and active arguments of this recording.
    fn append_slices(
        &mut self,
        vtable: &'static Vtable<V>,
        partials: impl Iterator<Item = V> + Clone,
        arguments: impl Iterator<Item = LinearId<M::Index>> + Clone,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let (partial_count, count) = (partials.clone().count(), arguments.clone().count());
        let bytes = slices_bytes::<V, M::Index>(partial_count, count);
        self.make_room(bytes);
        let result = self.fresh_identifier()?;
        // SAFETY: there is room for `bytes`, which is what partials, identifiers, two numbers and a gap take.
        unsafe {
            let end = self.data.add(bytes);
            let at = self.data.cast::<V>();
            partials.zip(0..partial_count).for_each(|(partial, k)| at.add(k).write(partial));
            write_tail(
                arguments.take(count),
                end.cast::<M::Index>().sub(count + 2),
                [number::<M::Index>(count), result],
            );
            self.finish(vtable, end);
        }
        Ok(LinearId::pack(self.number, result))
    }

    /// Makes a closure of the user's, over arguments of this recording; takes it out of `reverse` then.
    fn append_user<F>(
        &mut self,
        arguments: &[LinearId<M::Index>],
        reverse: &mut Option<F>,
    ) -> Result<LinearId<M::Index>, Refusal>
    where
        F: Fn(V, &mut [V]) + Send + Sync + 'static,
    {
        let (object_bytes, tail_bytes) = (whole_words(size_of::<F>()), user_tail_bytes::<M::Index>(arguments.len()));
        self.make_room(align_of::<F>().saturating_sub(WORD) + object_bytes + tail_bytes);
        if self.destructors.try_reserve(usize::from(needs_drop::<F>())).is_err() {
            let bytes = 2 * self.destructors.len() * size_of::<Destructor>();
            return Err(Refusal::OutOfMemory { bytes, what: "the list of closures with destructors" });
        }
        let count = number::<M::Index>(arguments.len());
        let result = self.fresh_identifier()?;
        let skipped = self.data.addr().next_multiple_of(align_of::<F>()) - self.data.addr();
        let ids = arguments.iter().copied();
        // SAFETY: there is room for the object, aligned, and for identifiers, three numbers and a gap. The object is dropped by
        // `Continuations::destroy`, or never if that makes no difference.
        unsafe {
            let object = self.data.add(skipped);
            let end = object.add(object_bytes + tail_bytes);
            object.cast::<F>().write(reverse.take().expect("the closure is moved once"));
            write_tail(ids, end.cast::<M::Index>().sub(arguments.len() + 3), [skipped as u64, count, result]);
            self.finish(const { &Vtable::user::<F, M::Index>() }, end);
            if needs_drop::<F>() {
                self.destructors.push(Destructor { object, drop: drop_as::<F> });
            }
        }
        Ok(LinearId::pack(self.number, result))
    }
}

/// # Safety
///
/// An `F` lies there, and nobody uses it any more.
unsafe fn drop_as<F>(object: *mut u8) {
    // SAFETY: promised by the caller.
    unsafe { ptr::drop_in_place(object.cast::<F>()) }
}

/// A count of arguments, as it is captured.
fn number<I: IndexType>(count: usize) -> u64 {
    assert!(count as u64 <= I::LARGEST, "a statement has at most {} arguments", I::LARGEST);
    count as u64
}

/// Writes identifiers from `at` on, and the numbers behind them.
///
/// # Safety
///
/// There is room for them.
#[inline(always)]
unsafe fn write_tail<I: IndexType, const N: usize>(
    ids: impl Iterator<Item = LinearId<I>>,
    at: *mut I,
    numbers: [u64; N],
) {
    let all = ids.map(LinearId::index).chain(numbers);
    // SAFETY: promised by the caller.
    all.enumerate().for_each(|(k, number)| unsafe { at.add(k).write(I::narrow(number)) });
}
