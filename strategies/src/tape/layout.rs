//! What is known of the records of one kind: how long they are, and the functions that read them.

use super::codes;
use super::usize_of;
use super::write::misreported;
use crate::scratch::Scratch;
use crate::shape::Scatter;
use crate::{Float, IndexType, LinearId, Load, Nary, Shape, Sink, Taping, Twin};
use core::marker::PhantomData;
use core::slice;

/// What the functions that reverse records share during a sweep.
pub(super) struct Sweep<'a, V> {
    pub(super) adjoints: &'a mut [V],
    /// The values of variables, if the tape keeps them. A pointer, because the sweep restores those that were overwritten.
    pub(super) values: *mut V,
    /// How many there are.
    pub(super) known: usize,
}

impl<V> Sweep<'_, V> {
    /// The values of variables; none if there are none.
    ///
    /// # Safety
    ///
    /// Nobody writes to them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn values(&self) -> &[V] {
        // SAFETY: so many values lie there; the caller promises the rest.
        unsafe { values_of(self.values, self.known) }
    }
}

/// So many values; none if there are none.
///
/// # Safety
///
/// They lie there, and nobody writes to them meanwhile.
#[inline(always)]
pub(super) unsafe fn values_of<'a, V>(values: *const V, known: usize) -> &'a [V] {
    // SAFETY: promised by the caller.
    if known == 0 { &[] } else { unsafe { slice::from_raw_parts(values, known) } }
}

/// Adds seed·∂/∂argument to the adjoint of each of the `n` arguments of the record whose identifiers end at `ids_end`, and returns where
/// its data begin, but for the values of passive arguments. The seed is finite: with another, zero partials have to be left
/// out.
///
/// A function that was compiled for a type of statement returns its argument less a constant. So a processor that has predicted the
/// call knows where the record before this one ends, and need not wait until it has read this one.
///
/// # Safety
///
/// * A record with so many arguments that was written for the layout that holds this function has its identifiers there.
/// * They are below the number of adjoints and, where the function reads them, of values.
pub(super) type ReverseFn<V> = unsafe fn(ids_end: *const u8, n: usize, seed: V, sweep: &mut Sweep<'_, V>) -> *const u8;

/// Appends seed·∂/∂argument for each argument, passive ones included, whose entries mean nothing.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(super) type ContributionsFn<V> =
    unsafe fn(ids_end: *const u8, n: usize, seed: V, values: &[V], contributions: &mut Vec<V>);

/// The value of a statement at these values of variables.
///
/// # Safety
///
/// As [`ReverseFn`], with these values.
pub(super) type ValueFn<V> = unsafe fn(ids_end: *const u8, n: usize, values: &[V]) -> V;

/// How the data of a record are laid out; identifiers come last but for counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Payload and identifiers, as many as the layout says.
    Fixed,
    /// The same behind the values of passive arguments, last first, whose identifiers are 0.
    Passives,
    /// Payload for each argument, identifiers, and how many of them there are (`u32`).
    Counted,
    /// What aligns the object, an object of so many bytes, identifiers, bytes in front of the object and number of
    /// identifiers (`u32` each).
    Object(usize),
    /// An independent variable: nothing.
    Input,
    /// Several of them: how many (`u32`).
    Inputs,
}

/// The records of one kind. Compared by address only to save entries of a table: equal addresses mean equal contents, and
/// two addresses for one kind cost an entry, not a result.
pub(crate) struct Layout<V: 'static> {
    pub(super) reverse: ReverseFn<V>,
    pub(super) contributions: ContributionsFn<V>,
    /// For records from which the statement can be computed.
    pub(super) value: Option<ValueFn<V>>,
    pub(super) form: Form,
    /// Numbers in front of the identifiers; for each argument if these are counted.
    pub(super) payload: usize,
    /// Identifiers, unless they are counted.
    pub(super) arguments: usize,
    /// Bytes of data of a record without passive arguments; [`VARYING`](Self::VARYING) if they are counted.
    pub(super) bytes: usize,
    /// Whether the payload are factors of partials, and not constants.
    pub(super) partials: bool,
    /// Whether the tape takes records of partials and others alike, so that the smaller can be written.
    pub(super) hybrid: bool,
    /// Whether what it contributes is, up to rounding, but not bit for bit, the seed times what it contributes for seed 1.
    pub(super) foreign: bool,
    /// For records whose passive arguments have to be told.
    pub(super) with_passives: Option<&'static Self>,
    pub(super) hash: usize,
    /// The code of its records on every tape, or 0 if each tape assigns one.
    pub(super) code: u8,
}

const fn slot(hash: u32) -> usize {
    (crate::shape::mix(hash, 0x5EED) >> 20) as usize % codes::HASH_SLOTS
}

impl<V: Float> Layout<V> {
    /// The bytes of records that differ in length.
    pub(super) const VARYING: usize = usize::MAX;

    const fn counted(reverse: ReverseFn<V>, contributions: ContributionsFn<V>, payload: usize, hash: u32) -> Self {
        Self {
            reverse,
            contributions,
            value: None,
            form: Form::Counted,
            payload,
            arguments: 0,
            bytes: Self::VARYING,
            partials: true,
            hybrid: false,
            foreign: false,
            with_passives: None,
            hash: slot(hash),
            code: 0,
        }
    }

    const fn fixed<I>(self, payload: usize, arguments: usize) -> Self {
        let bytes = payload * size_of::<V>() + arguments * size_of::<I>();
        Self { form: Form::Fixed, payload, arguments, bytes, ..self }
    }

    const fn coded(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Partials and identifiers, counted.
    pub(super) const fn listed<I: IndexType>() -> Self {
        Self::counted(listed::<V, I>, contributions_listed::<V, I>, 1, 0xA12).coded(codes::LISTED)
    }

    /// Partials and identifiers of `n` arguments.
    pub(super) const fn classic<I: IndexType>(n: usize) -> Self {
        Self::listed::<I>().fixed::<I>(n, n).coded(codes::classic(n))
    }

    /// Identifiers of arguments whose partials are 1, counted.
    pub(super) const fn ones<I: IndexType>() -> Self {
        Self::counted(ones::<V, I>, contributions_ones::<V>, 0, 0xA11).coded(codes::ONES)
    }

    /// An independent variable.
    pub(super) const fn input<I: IndexType>() -> Self {
        Self { form: Form::Input, ..Self::ones::<I>() }.coded(codes::INPUT)
    }

    /// Several of them.
    pub(super) const fn inputs<I: IndexType>() -> Self {
        Self { form: Form::Inputs, ..Self::ones::<I>() }.coded(codes::INPUTS)
    }

    /// Jacobian records of this shape.
    pub(crate) const fn scatter<H: Shape, I: IndexType>() -> Self {
        Self::counted(scatter::<H, V, I>, contributions_scattered::<H, V, I>, 0, H::HASH)
            .fixed::<I>(H::FACTORS, H::LEAVES)
            .coded(codes::of_pattern(H::PATTERN))
    }

    /// Primal-value records of statements whose twin is `B`; Jacobian records if it cannot compute their values again.
    pub(crate) const fn replay<S, B, I>() -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        if !B::REPLAYS {
            return Self::scatter::<B::Shape, I>();
        }
        let records = Self {
            value: Some(value::<S, B, I>),
            partials: false,
            ..Self::counted(replay::<S, B, I>, contributions_replayed::<S, B, I>, 0, B::HASH)
        };
        Self {
            with_passives: Some(
                const {
                    &Self {
                        value: Some(value::<S, B, I>),
                        partials: false,
                        form: Form::Passives,
                        bytes: Self::VARYING,
                        ..Self::counted(replay::<S, B, I>, contributions_replayed::<S, B, I>, 0, !B::HASH)
                            .fixed::<I>(B::CONSTANTS, B::Shape::LEAVES)
                    }
                },
            ),
            ..records.fixed::<I>(B::CONSTANTS, B::Shape::LEAVES)
        }
    }

    /// Whether these are records of statements that a replay would have to compute again, and cannot.
    pub(super) const fn forbids_replays(&self) -> bool {
        self.value.is_none() && !self.hybrid
    }

    /// The smaller of a Jacobian record and a primal-value record of the statement whose twin is `B`; the former if they are
    /// alike, because it is faster to reverse.
    pub(crate) const fn smaller<S, B, I>() -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        let (partials, constants) = (Self::scatter::<B::Shape, I>(), Self::replay::<S, B, I>());
        let smaller = if partials.bytes <= constants.bytes { partials } else { constants };
        Self { hybrid: true, ..smaller }
    }

    /// Primal-value records of a function of a slice.
    pub(super) const fn nary<R: Nary<V>, I: IndexType>() -> Self {
        Self {
            value: Some(value_of_slice::<R, V, I>),
            partials: false,
            ..Self::counted(reverse_slice::<R, V, I>, contributions_of_slice::<R, V, I>, R::CONSTANTS, 0xA13)
        }
    }

    /// Closures of users.
    pub(super) const fn closure<F: Fn(V, &mut [V]), I: IndexType>() -> Self {
        Self {
            form: Form::Object(size_of::<F>()),
            foreign: true,
            ..Self::counted(call::<F, V, I>, contributions_of_call::<F, V, I>, 0, 0xA14)
        }
    }
}

/// The identifiers of a record.
///
/// # Safety
///
/// `n` of them end there.
#[inline(always)]
pub(super) unsafe fn identifiers<I: IndexType>(
    ids_end: *const u8,
    n: usize,
) -> impl ExactSizeIterator<Item = usize> + Clone + use<I> {
    let first = ids_end.wrapping_sub(n * size_of::<I>()).cast::<I>();
    // SAFETY: promised by the caller.
    (0..n).map(move |k| unsafe { usize_of(first.add(k).read_unaligned().widen()) })
}

/// The numbers in front of the identifiers of a record.
///
/// # Safety
///
/// `n` identifiers end there, with so many numbers in front of them.
#[inline(always)]
pub(super) unsafe fn numbers<V: Copy, I>(
    ids_end: *const u8,
    n: usize,
    count: usize,
) -> impl ExactSizeIterator<Item = V> + Clone + use<V, I> {
    let first = ids_end.wrapping_sub(n * size_of::<I>() + count * size_of::<V>()).cast::<V>();
    // SAFETY: promised by the caller.
    (0..count).map(move |k| unsafe { first.add(k).read_unaligned() })
}

/// Adds to the adjoints of a record's arguments, one after the other.
struct Arguments<'a, V, I> {
    ids: *const I,
    adjoints: &'a mut [V],
}

impl<V: Float, I: IndexType> Arguments<'_, V, I> {
    /// # Safety
    ///
    /// This is called at most once for each identifier of the record, and all of them are below the number of adjoints.
    #[inline(always)]
    unsafe fn add(&mut self, contribution: V) {
        // SAFETY: promised by the caller.
        unsafe {
            let id = usize_of(self.ids.read_unaligned().widen());
            self.ids = self.ids.add(1);
            debug_assert!(id < self.adjoints.len(), "identifiers are below the recording's length");
            *self.adjoints.get_unchecked_mut(id) += contribution;
        }
    }
}

/// Where the identifiers of a record begin, and the numbers in front of them.
#[inline(always)]
const fn parts<V, I>(ids_end: *const u8, leaves: usize, payload: usize) -> (*const I, *const V) {
    let ids = ids_end.wrapping_sub(leaves * size_of::<I>());
    (ids.cast(), ids.wrapping_sub(payload * size_of::<V>()).cast())
}

/// Reverses a Jacobian record.
///
/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::scatter::<H, I>`.
#[inline(always)]
pub(super) unsafe fn scatter<H: Shape, V: Float, I: IndexType>(
    ids_end: *const u8,
    _: usize,
    seed: V,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let (ids, factors) = parts::<V, I>(ids_end, H::LEAVES, H::FACTORS);
    if seed != V::zero() {
        H::scatter(seed, seed, &mut Factored { factors, to: Arguments { ids, adjoints: sweep.adjoints } });
    }
    factors.cast()
}

/// # Safety
///
/// As [`ContributionsFn`], for records of `Layout::scatter::<H, I>`.
unsafe fn contributions_scattered<H: Shape, V: Float, I: IndexType>(
    ids_end: *const u8,
    _: usize,
    seed: V,
    _: &[V],
    contributions: &mut Vec<V>,
) {
    let (_, factors) = parts::<V, I>(ids_end, H::LEAVES, H::FACTORS);
    H::scatter(seed, seed, &mut Factored { factors, to: contributions });
}

/// Where contributions go.
trait Target<V> {
    /// # Safety
    ///
    /// As [`Arguments::add`].
    unsafe fn take(&mut self, contribution: V);
}

impl<V: Float, I: IndexType> Target<V> for Arguments<'_, V, I> {
    #[inline(always)]
    unsafe fn take(&mut self, contribution: V) {
        // SAFETY: promised by the caller.
        unsafe { self.add(contribution) }
    }
}

impl<V> Target<V> for &mut Vec<V> {
    #[inline(always)]
    unsafe fn take(&mut self, contribution: V) {
        self.push(contribution);
    }
}

/// The factors of a Jacobian record, and where what it contributes goes.
struct Factored<V, T> {
    factors: *const V,
    to: T,
}

impl<V: Float, T: Target<V>> Scatter<V> for Factored<V, T> {
    #[inline(always)]
    fn factor(&mut self) -> V {
        // SAFETY: the record has `FACTORS` factors, and a shape asks for as many (all shapes are this crate's).
        unsafe {
            self.factors = self.factors.add(1);
            self.factors.sub(1).read_unaligned()
        }
    }

    #[inline(always)]
    fn leaf(&mut self, contribution: V) {
        // SAFETY: the record has `LEAVES` identifiers, and a shape has as many leaves; the sweep vouches for them.
        unsafe { self.to.take(contribution) }
    }
}

/// Reverses a primal-value record: rebuilds the statement and asks it for its partials, which are multiplied by the seed as the
/// factors of a Jacobian record are: both strategies give the same bits.
///
/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::replay::<S, B, I>`.
unsafe fn replay<S, B, I>(ids_end: *const u8, _: usize, seed: S::Value, sweep: &mut Sweep<'_, S::Value>) -> *const u8
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let mut source = Source::of::<S, B>(ids_end, (sweep.values, sweep.known));
    let (ids, constants) = (source.ids, source.constants);
    if seed != S::Value::from_f64(0.0) {
        let statement = B::load(&mut source);
        let to = Arguments { ids, adjoints: sweep.adjoints };
        statement.backward(S::Value::from_f64(1.0), &mut Reported { seed, to, left: B::Shape::LEAVES });
    }
    constants.cast()
}

/// # Safety
///
/// As [`ContributionsFn`], for records of `Layout::replay::<S, B, I>`.
unsafe fn contributions_replayed<S, B, I>(
    ids_end: *const u8,
    _: usize,
    seed: S::Value,
    values: &[S::Value],
    contributions: &mut Vec<S::Value>,
) where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let statement = B::load(&mut Source::of::<S, B>(ids_end, (values.as_ptr(), values.len())));
    let mut reported = Reported { seed, to: contributions, left: B::Shape::LEAVES };
    statement.backward(S::Value::from_f64(1.0), &mut reported);
    if reported.left != 0 {
        misreported();
    }
}

/// # Safety
///
/// As [`ValueFn`], for records of `Layout::replay::<S, B, I>`.
unsafe fn value<S, B, I>(ids_end: *const u8, _: usize, values: &[S::Value]) -> S::Value
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    B::load(&mut Source::of::<S, B>(ids_end, (values.as_ptr(), values.len()))).value()
}

/// Reads back what a statement stored. It counts, because rules may be written by users; inlined, the counts are
/// known to the compiler.
struct Source<V, I> {
    ids: *const I,
    constants: *const V,
    /// The value of the next passive argument lies in front of this.
    passives: *const V,
    leaves_left: usize,
    constants_left: usize,
    /// The values of variables.
    values: *const V,
    known: usize,
}

impl<V: Float, I: IndexType> Source<V, I> {
    /// The ingredients of the statement in a primal-value record whose twin is `B`.
    #[inline(always)]
    fn of<S, B>(ids_end: *const u8, (values, known): (*const V, usize)) -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
    {
        let (ids, constants) = parts::<V, I>(ids_end, B::Shape::LEAVES, B::CONSTANTS);
        let (leaves_left, constants_left) = (B::Shape::LEAVES, B::CONSTANTS);
        Self { ids, constants, passives: constants, leaves_left, constants_left, values, known }
    }
}

impl<S, I> Load<S> for Source<S::Value, I>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
{
    #[inline(always)]
    fn leaf(&mut self) -> (S::Value, LinearId<I>) {
        if self.leaves_left == 0 {
            misreported();
        }
        self.leaves_left -= 1;
        // SAFETY: the record has this many identifiers, all below the number of values, and the value of an argument for each
        // identifier that is 0.
        let value = unsafe {
            let id = usize_of(self.ids.read_unaligned().widen());
            self.ids = self.ids.add(1);
            if id == 0 {
                self.passives = self.passives.sub(1);
                self.passives.read_unaligned()
            } else {
                debug_assert!(id < self.known, "identifiers are below the recording's length");
                self.values.add(id).read()
            }
        };
        (value, LinearId::passive())
    }

    #[inline(always)]
    fn constant(&mut self) -> S::Value {
        if self.constants_left == 0 {
            misreported();
        }
        self.constants_left -= 1;
        // SAFETY: the record has this many constants.
        unsafe {
            self.constants = self.constants.add(1);
            self.constants.sub(1).read_unaligned()
        }
    }
}

/// Multiplies the partials that a rebuilt statement reports by a seed.
struct Reported<V, T> {
    seed: V,
    to: T,
    left: usize,
}

impl<S, I, T> Sink<S> for Reported<S::Value, T>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
    T: Target<S::Value>,
{
    #[inline(always)]
    fn factor(&mut self, _: S::Value) {}

    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, _: LinearId<I>) {
        if self.left == 0 {
            misreported();
        }
        self.left -= 1;
        // SAFETY: the record has as many identifiers, and whoever reverses it vouches for them.
        unsafe { self.to.take(self.seed * partial) }
    }
}

/// # Safety
///
/// As [`ReverseFn`], for records of partials.
pub(super) unsafe fn listed<V: Float, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    // SAFETY: promised by the caller.
    let (ids, partials) = unsafe { (identifiers::<I>(ids_end, n), numbers::<V, I>(ids_end, n, n)) };
    if seed != V::zero() {
        ids.zip(partials).for_each(|(id, partial)| sweep.adjoints[id] += seed * partial);
    }
    parts::<V, I>(ids_end, n, n).1.cast()
}

/// # Safety
///
/// As [`ContributionsFn`], for records of partials.
unsafe fn contributions_listed<V: Float, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    _: &[V],
    contributions: &mut Vec<V>,
) {
    // SAFETY: promised by the caller.
    let partials = unsafe { numbers::<V, I>(ids_end, n, n) };
    contributions.extend(partials.map(|partial| seed * partial));
}

/// # Safety
///
/// As [`ReverseFn`], for sums.
unsafe fn ones<V: Float, I: IndexType>(ids_end: *const u8, n: usize, seed: V, sweep: &mut Sweep<'_, V>) -> *const u8 {
    // SAFETY: promised by the caller.
    let ids = unsafe { identifiers::<I>(ids_end, n) };
    if seed != V::zero() {
        ids.for_each(|id| sweep.adjoints[id] += seed);
    }
    parts::<V, I>(ids_end, n, 0).1.cast()
}

/// # Safety
///
/// As [`ContributionsFn`], for sums.
unsafe fn contributions_ones<V: Float>(_: *const u8, n: usize, seed: V, _: &[V], contributions: &mut Vec<V>) {
    contributions.resize(contributions.len() + n, seed);
}

/// The values of the arguments of a function of a slice, and its constants behind them.
///
/// # Safety
///
/// As [`ValueFn`], for records of `Layout::nary::<R, I>`.
unsafe fn ingredients<R: Nary<V>, V: Float, I: IndexType>(ids_end: *const u8, n: usize, values: &[V]) -> Scratch<V> {
    // SAFETY: promised by the caller.
    let (ids, constants) = unsafe { (identifiers::<I>(ids_end, n), numbers::<V, I>(ids_end, n, n * R::CONSTANTS)) };
    Scratch::of(ids.map(|id| values[id]).chain(constants))
}

/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::nary::<R, I>`.
unsafe fn reverse_slice<R: Nary<V>, V: Float, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let mut contributions = Scratch::<V>::new();
    if seed != V::zero() {
        // SAFETY: promised by the caller; nothing writes to the values while they are read here.
        let ids = unsafe {
            contributions_of_slice::<R, V, I>(ids_end, n, seed, sweep.values(), &mut contributions);
            identifiers::<I>(ids_end, n)
        };
        ids.zip(&**contributions).for_each(|(id, contribution)| sweep.adjoints[id] += *contribution);
    }
    parts::<V, I>(ids_end, n, n * R::CONSTANTS).1.cast()
}

/// # Safety
///
/// As [`ContributionsFn`], for records of `Layout::nary::<R, I>`.
unsafe fn contributions_of_slice<R: Nary<V>, V: Float, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    values: &[V],
    contributions: &mut Vec<V>,
) {
    // SAFETY: promised by the caller.
    let all = unsafe { ingredients::<R, V, I>(ids_end, n, values) };
    let first = contributions.len();
    contributions.resize(first + n, V::zero());
    R::partials(&all[..n], &all[n..], &mut contributions[first..]);
    contributions[first..].iter_mut().for_each(|partial| *partial = seed * *partial);
}

/// # Safety
///
/// As [`ValueFn`], for records of `Layout::nary::<R, I>`.
unsafe fn value_of_slice<R: Nary<V>, V: Float, I: IndexType>(ids_end: *const u8, n: usize, values: &[V]) -> V {
    // SAFETY: promised by the caller.
    let all = unsafe { ingredients::<R, V, I>(ids_end, n, values) };
    R::value(&all[..n], &all[n..])
}

/// # Safety
///
/// As [`ReverseFn`], for closures of type `F`.
unsafe fn call<F: Fn(V, &mut [V]), V: Float, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let mut contributions = Scratch::<V>::new();
    if seed != V::zero() {
        // SAFETY: promised by the caller.
        let ids = unsafe {
            contributions_of_call::<F, V, I>(ids_end, n, seed, &[], &mut contributions);
            identifiers::<I>(ids_end, n)
        };
        ids.zip(&**contributions).for_each(|(id, contribution)| sweep.adjoints[id] += *contribution);
    }
    ids_end.wrapping_sub(n * size_of::<I>() + size_of::<F>())
}

/// # Safety
///
/// As [`ContributionsFn`], for closures of type `F`.
unsafe fn contributions_of_call<F: Fn(V, &mut [V]), V: Float, I: IndexType>(
    ids_end: *const u8,
    n: usize,
    seed: V,
    _: &[V],
    contributions: &mut Vec<V>,
) {
    let object = ids_end.wrapping_sub(n * size_of::<I>() + size_of::<F>()).cast::<F>();
    // SAFETY: the object was moved there, aligned; it is dropped only through an exclusive reference to the tape, and this sweep
    // holds a shared one.
    let function = unsafe { &*object };
    let first = contributions.len();
    contributions.resize(first + n, V::zero());
    function(seed, &mut contributions[first..]);
}

/// The layouts that have the same code on every tape.
pub(super) struct Common<V, I>(PhantomData<(V, I)>);

impl<V: Float, I: IndexType> Common<V, I> {
    pub(super) const INPUT: &Layout<V> = &Layout::input::<I>();
    pub(super) const INPUTS: &Layout<V> = &Layout::inputs::<I>();
    pub(super) const LISTED: &Layout<V> = &Layout::listed::<I>();
    pub(super) const ONES: &Layout<V> = &Layout::ones::<I>();
    /// Partials of so many arguments; none with 0.
    pub(super) const CLASSIC: &[Layout<V>; codes::CLASSIC_MAX + 1] = &{
        let mut all = [const { Layout::listed::<I>() }; codes::CLASSIC_MAX + 1];
        let mut n = 1;
        while n <= codes::CLASSIC_MAX {
            all[n] = Layout::classic::<I>(n);
            n += 1;
        }
        all
    };

    /// Partials and identifiers of `n` active arguments.
    pub(super) const fn partials(n: usize) -> &'static Layout<V> {
        if n == 0 || n > codes::CLASSIC_MAX { Self::LISTED } else { &Self::CLASSIC[n] }
    }
}
