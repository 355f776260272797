//! What the arena knows about one type of statement, and the functions that read its records.

use super::append::misreported;
use super::patterns;
use super::records::usize_of;
use crate::scratch::Scratch;
use crate::shape::Scatter;
use crate::{Float, IndexType, LinearId, Load, Nary, Shape, Sink, Taping, Twin};
use core::mem::MaybeUninit;
use core::ptr;
use smallvec::SmallVec;

/// What the functions that reverse records share during a sweep.
pub(super) struct Sweep<'a, V> {
    pub(super) adjoints: &'a mut [V],
    /// The values of variables, if the tape keeps them. A pointer, because the sweep restores those that were overwritten.
    pub(super) values: *mut V,
    /// How many there are.
    pub(super) known: usize,
    /// Written at each call site of a [`ReverseFn`], so that the compiler keeps the sites apart.
    pub(super) site: usize,
}

/// Reads a record and adds seed·∂/∂argument to the adjoint of each argument. The seed is finite: with another, zero partials
/// have to be left out.
///
/// # Safety
///
/// * `record` points to a record that was written for the layout that holds this function.
/// * The record's identifiers are below the number of adjoints and, where the function reads them, of values.
pub(super) type ReverseFn<V> = unsafe fn(record: *const u8, seed: V, sweep: &mut Sweep<'_, V>);

/// Rebuilds a statement, writes ∂/∂argument for each argument unless `partials` is null, and returns its value.
///
/// # Safety
///
/// * `record` points to a record that was written for the layout that holds this function.
/// * The record's identifiers are below the number of `values`.
/// * There is room for a partial for each argument, or `partials` is null.
pub(super) type RerunFn<V> = unsafe fn(record: *const u8, values: (*const V, usize), partials: *mut V) -> V;

/// What a function of a slice needs to be reversed: values and constants in, partials out.
pub(super) type NaryFn<V> = fn(arguments: &[V], constants: &[V], partials: &mut [V]);

/// The value of a function of a slice at these arguments and constants.
pub(super) type NaryValueFn<V> = fn(arguments: &[V], constants: &[V]) -> V;

/// One type of statement. Compared by address only to save table entries: equal addresses mean equal contents, and
/// two addresses for one type cost an entry, not a result.
pub(crate) struct Layout<V> {
    pub(super) reverse: ReverseFn<V>,
    /// For records of which the statement can be rebuilt.
    pub(super) rerun: Option<RerunFn<V>>,
    pub(super) nary: Option<NaryFn<V>>,
    pub(super) nary_value: Option<NaryValueFn<V>>,
    /// Values of type `V` in front of the identifiers; for n-ary layouts, constants per argument.
    pub(super) payload: usize,
    /// Identifiers; 0 for n-ary layouts, whose records say it.
    pub(super) arguments: usize,
    /// Bytes of a record without passive arguments, and without what it says of the variable that it assigns to.
    pub(super) bytes: usize,
    /// Whether the payload are factors of partials, and not constants.
    pub(super) partials: bool,
    /// Whether the tape takes records of partials and others alike, so that the smaller can be written.
    pub(super) hybrid: bool,
    pub(super) hash: usize,
    /// The code of its records on every tape, or 0 if each tape assigns one.
    pub(super) code: u8,
}

/// Slots of the hash table that finds the code of a layout.
pub(super) const HASH_SLOTS: usize = 1 << 12;

const fn slot(hash: u32) -> usize {
    (crate::shape::mix(hash, 0x5EED) >> 20) as usize % HASH_SLOTS
}

impl<V: Float> Layout<V> {
    /// Jacobian records of this shape.
    pub(crate) const fn scatter<H: Shape, I: IndexType>() -> Self {
        let code = patterns::code(H::PATTERN);
        Self {
            code,
            reverse: scatter::<H, V, I>,
            rerun: None,
            nary: None,
            nary_value: None,
            partials: true,
            hybrid: false,
            payload: H::FACTORS,
            arguments: H::LEAVES,
            bytes: H::FACTORS * size_of::<V>() + H::LEAVES * size_of::<I>(),
            hash: slot(H::HASH),
        }
    }

    /// Primal-value records of statements whose twin is `B`.
    pub(crate) const fn replay<S, B, I>() -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
        I: IndexType,
    {
        Self {
            code: 0,
            reverse: replay::<S, B, I>,
            rerun: Some(rerun::<S, B, I>),
            nary: None,
            nary_value: None,
            partials: false,
            hybrid: false,
            payload: B::CONSTANTS,
            arguments: B::Shape::LEAVES,
            bytes: B::CONSTANTS * size_of::<V>() + B::Shape::LEAVES * size_of::<I>(),
            hash: slot(B::HASH),
        }
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
    pub(super) const fn nary<R: Nary<V>>() -> Self {
        Self {
            code: 0,
            reverse: unreachable_reverse,
            rerun: None,
            nary: Some(R::partials),
            nary_value: Some(R::value),
            partials: false,
            hybrid: false,
            payload: R::CONSTANTS,
            arguments: 0,
            bytes: 0,
            hash: slot(0xA11),
        }
    }

    /// Gives `f` the partials of a function of a slice at these arguments.
    pub(super) fn partials_at<R>(
        &self,
        arguments: impl ExactSizeIterator<Item = V>,
        constants: impl Iterator<Item = V>,
        f: impl FnOnce(&[V]) -> R,
    ) -> R {
        let partials_of = self.nary.expect("the layout of an n-ary record has the rule");
        let n = arguments.len();
        let mut scratch = Scratch::<V>::new();
        scratch.extend(arguments.chain(constants));
        let constants = scratch.len() - n;
        scratch.resize(2 * n + constants, V::zero());
        let (arguments, rest) = scratch.split_at_mut(n);
        let (constants, partials) = rest.split_at_mut(constants);
        partials_of(arguments, constants, partials);
        f(partials)
    }

    /// The values of the arguments of a typed record: those of passive ones, whose identifier is 0, are stored in it.
    pub(super) fn values_at(
        &self,
        ids: impl Iterator<Item = usize>,
        mut passives: impl Iterator<Item = V>,
        values: &[V],
    ) -> impl Iterator<Item = V> {
        let value_of = move |id: usize| match id {
            _ if self.partials => Some(V::zero()), // not needed
            0 => passives.next(),
            _ => values.get(id).copied(),
        };
        ids.map(value_of).map(|value| value.expect("every argument has a value"))
    }

    /// The value of a typed statement whose record would have this payload and arguments of these values.
    pub(super) fn value_at<I: IndexType>(&self, payload: &[V], values: &[V]) -> V {
        let rerun = self.rerun.expect("the layout is that of records that are rebuilt");
        let record = self.local::<I>(payload, values);
        // SAFETY: the record is one of this layout, with identifiers below the number of values.
        unsafe { rerun(record.as_ptr(), (values.as_ptr(), values.len()), ptr::null_mut()) }
    }

    /// A record with this payload and arguments 0, 1, 2, ….
    fn local<I: IndexType>(&self, payload: &[V], values: &[V]) -> SmallVec<[u8; 2048]> {
        assert_eq!(values.len(), self.arguments, "a statement has as many arguments as its layout says");
        let mut record = SmallVec::from_elem(0, self.bytes);
        // SAFETY: `record` is as long as this layout's records.
        unsafe { self.write_local::<I>(record.as_mut_ptr(), payload.iter().copied()) }
        record
    }

    /// Writes a record with this payload, which is as long as the layout says, and arguments 0, 1, 2, ….
    ///
    /// # Safety
    ///
    /// There is room for a record of this layout.
    unsafe fn write_local<I: IndexType>(&self, at: *mut u8, payload: impl Iterator<Item = V>) {
        let ids = at.wrapping_add(self.payload * size_of::<V>()).cast::<I>();
        let mut written = 0;
        // SAFETY: promised by the caller; no more is written than such a record has.
        unsafe {
            for value in payload.take(self.payload) {
                at.cast::<V>().add(written).write_unaligned(value);
                written += 1;
            }
            assert_eq!(written, self.payload, "a statement's payload is as long as its layout says");
            (0..self.arguments).for_each(|k| ids.add(k).write_unaligned(I::narrow(k as u64)));
        }
    }

    /// The partial for each argument of a typed statement, whose record would have this payload and arguments of these values.
    pub(super) fn expand<I: IndexType>(&self, payload: &[V], values: &[V]) -> Partials<V> {
        let record = self.local::<I>(payload, values);
        let mut partials = Partials::from_elem(V::zero(), self.arguments);
        let (values, known) = (values.as_ptr().cast_mut(), values.len()); // not written to
        let mut sweep = Sweep { adjoints: &mut partials, values, known, site: 0 };
        // SAFETY: the record is one of this layout, with identifiers below the lengths of `values` and `partials`.
        unsafe { (self.reverse)(record.as_ptr(), V::one(), &mut sweep) }
        partials
    }
}

/// The partials of one statement.
pub(super) type Partials<V> = SmallVec<[V; 128]>;

/// The most arguments, and the most constants, of a statement that is reversed on the stack.
const FEW: usize = 16;

impl<V: Float> Layout<V> {
    /// Reverses a statement with this payload and arguments of these values, and gives `each` what it contributes to the adjoint of each of them.
    /// Returns `false`, and does nothing, if it has too many of them.
    pub(super) fn reverse_few<I: IndexType>(
        &self,
        seed: V,
        payload: impl Iterator<Item = V>,
        values: impl Iterator<Item = V>,
        mut each: impl FnMut(V),
    ) -> bool {
        if self.arguments > FEW || self.payload > FEW {
            return false;
        }
        // An identifier takes as much as two values at most.
        let mut record = MaybeUninit::<[[V; FEW]; 3]>::uninit();
        let record = record.as_mut_ptr().cast::<u8>();
        // −0 is what leaves a number as it is when it is added to it.
        let (mut arguments, mut adjoints) = ([V::zero(); FEW], [-V::zero(); FEW]);
        arguments.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        let mut sweep = Sweep { adjoints: &mut adjoints, values: arguments.as_mut_ptr(), known: FEW, site: 0 };
        // SAFETY: there is room for `FEW` values and as many identifiers; the record is one of this layout, with identifiers below
        // `FEW`.
        unsafe {
            self.write_local::<I>(record, payload);
            (self.reverse)(record, seed, &mut sweep);
        }
        adjoints[..self.arguments].iter().for_each(|contribution| each(*contribution));
        true
    }
}

/// Adds to the adjoints of a record's arguments, one after the other.
pub(super) struct Arguments<'a, V, I> {
    pub(super) ids: *const I,
    pub(super) adjoints: &'a mut [V],
}

impl<V: Float, I: IndexType> Arguments<'_, V, I> {
    /// # Safety
    ///
    /// This is called at most once for each identifier of the record, and all of them are below the number of adjoints.
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, contribution: V) {
        // SAFETY: promised by the caller.
        unsafe {
            let id = usize_of(self.ids.read_unaligned().widen());
            self.ids = self.ids.add(1);
            debug_assert!(id < self.adjoints.len(), "identifiers are below the recording's length");
            *self.adjoints.get_unchecked_mut(id) += contribution;
        }
    }
}

/// Reverses a Jacobian record: factors, then identifiers.
///
/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::scatter::<H, I>`.
unsafe fn scatter<H: Shape, V: Float, I: IndexType>(record: *const u8, seed: V, sweep: &mut Sweep<'_, V>) {
    let ids = record.wrapping_add(H::FACTORS * size_of::<V>()).cast::<I>();
    let arguments = Arguments { ids, adjoints: sweep.adjoints };
    H::scatter(seed, seed, &mut Factored { factors: record.cast(), arguments });
}

/// The factors and arguments of a Jacobian record.
struct Factored<'a, V, I> {
    factors: *const V,
    arguments: Arguments<'a, V, I>,
}

impl<V: Float, I: IndexType> Scatter<V> for Factored<'_, V, I> {
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
        unsafe { self.arguments.add(contribution) }
    }
}

/// Reverses a primal-value record: constants, then identifiers. Rebuilds the statement and asks it for its partials, which are
/// multiplied by the seed as those of a Jacobian record are: both strategies give the same bits.
///
/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::replay::<S, B, I>`.
unsafe fn replay<S, B, I>(record: *const u8, seed: S::Value, sweep: &mut Sweep<'_, S::Value>)
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let mut source = Source::of::<S, B>(record, (sweep.values, sweep.known));
    let ids = source.ids;
    let statement = B::load(&mut source);
    let arguments = Arguments { ids, adjoints: sweep.adjoints };
    statement.backward(S::Value::from_f64(1.0), &mut Contributions { seed, arguments, left: B::Shape::LEAVES });
}

/// Rebuilds the statement of a primal-value record, for its value and its partials.
///
/// # Safety
///
/// As [`RerunFn`], for records of `Layout::replay::<S, B, I>`.
unsafe fn rerun<S, B, I>(record: *const u8, values: (*const S::Value, usize), partials: *mut S::Value) -> S::Value
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let statement = B::load(&mut Source::of::<S, B>(record, values));
    if !partials.is_null() {
        statement.backward(S::Value::from_f64(1.0), &mut Written { next: partials, left: B::Shape::LEAVES });
    }
    statement.value()
}

/// Writes the partials that a rebuilt statement reports.
struct Written<V> {
    next: *mut V,
    left: usize,
}

impl<S, I> Sink<S> for Written<S::Value>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
{
    #[inline(always)]
    fn factor(&mut self, _: S::Value) {}

    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, _: LinearId<I>) {
        if self.left == 0 {
            misreported();
        }
        self.left -= 1;
        // SAFETY: there is a place for each leaf.
        unsafe { self.next.write(partial) }
        self.next = self.next.wrapping_add(1);
    }
}

/// Reads back what a statement stored. It counts, because rules may be written by users; inlined, the counts are
/// known to the compiler.
struct Source<V, I> {
    ids: *const I,
    constants: *const V,
    leaves_left: usize,
    constants_left: usize,
    /// The values of variables; null if none are needed.
    values: *const V,
    known: usize,
}

impl<V: Float, I: IndexType> Source<V, I> {
    /// The ingredients of the statement in a primal-value record whose twin is `B`.
    #[inline(always)]
    fn of<S, B>(record: *const u8, (values, known): (*const V, usize)) -> Self
    where
        S: Taping<Value = V, Raw = LinearId<I>>,
        B: Twin<S>,
    {
        Self {
            ids: record.wrapping_add(B::CONSTANTS * size_of::<V>()).cast(),
            constants: record.cast(),
            leaves_left: B::Shape::LEAVES,
            constants_left: B::CONSTANTS,
            values,
            known,
        }
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
        // SAFETY: the record has this many identifiers, all below the number of values.
        let value = unsafe {
            let id = usize_of(self.ids.read_unaligned().widen());
            self.ids = self.ids.add(1);
            debug_assert!(id < self.known, "identifiers are below the recording's length");
            self.values.add(id).read()
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

/// Multiplies the partials that a rebuilt statement reports by a seed, and adds them to the adjoints of its arguments.
struct Contributions<'a, V, I> {
    seed: V,
    arguments: Arguments<'a, V, I>,
    left: usize,
}

impl<S, I> Sink<S> for Contributions<'_, S::Value, I>
where
    S: Taping<Raw = LinearId<I>>,
    I: IndexType,
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
        unsafe { self.arguments.add(self.seed * partial) }
    }
}

/// # Safety
///
/// None: n-ary records are reversed through [`Layout::nary`], never through this.
unsafe fn unreachable_reverse<V>(_: *const u8, _: V, _: &mut Sweep<'_, V>) {
    unreachable!("n-ary records have a function of their own")
}
