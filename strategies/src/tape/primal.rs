//! Records of what partials are recomputed from: how they are read.

use super::functions::{Arguments, Sweep, Target, misreported, parts};
use super::usize_of;
use crate::{IndexType, LinearId, Load, Number, Passed, Shape, Sink, TapeNumber, Taping, Twin, singular_function};

/// Reverses a primal-value record: rebuilds the statement and asks it for its partials, which are multiplied by the
/// seed as the factors of a Jacobian record are: both strategies give the same bits.
///
/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::replay::<S, B, I>`.
pub(super) unsafe fn replay<S, B, I>(
    ids_end: *const u8,
    _: usize,
    seed: <S::Value as Number>::Passed,
    sweep: &mut Sweep<'_, S::Value>,
) -> *const u8
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let seed = seed.number();
    let mut source = Source::of::<S, B>(ids_end, (sweep.values, sweep.known));
    let (ids, constants) = (source.ids, source.constants);
    if !seed.is_nought() {
        let statement = B::load(&mut source);
        let to = Arguments { ids, adjoints: sweep.adjoints };
        statement.backward(S::Value::ONE, &mut Reported { seed, to, left: B::Shape::LEAVES });
    }
    constants.cast()
}

/// # Safety
///
/// As [`RerunFn`], for records of `Layout::replay::<S, B, I>`.
///
/// [`RerunFn`]: super::functions::RerunFn
pub(super) unsafe fn rerun<S, B, I>(
    ids_end: *const u8,
    _: usize,
    seed: S::Value,
    values: &[S::Value],
    list: Option<&mut Vec<S::Value>>,
) -> Option<S::Value>
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let statement = B::load(&mut Source::of::<S, B>(ids_end, (values.as_ptr(), values.len())));
    let Some(list) = list else { return Some(statement.value()) };
    let mut reported = Reported { seed, to: list, left: B::Shape::LEAVES };
    statement.backward(S::Value::ONE, &mut reported);
    if reported.left != 0 {
        misreported();
    }
    None
}

/// # Safety
///
/// As [`SingularFn`], for records of `Layout::replay::<S, B, I>`.
pub(super) unsafe fn singular<S, B, I>(ids_end: *const u8, _: usize, values: &[S::Value]) -> Option<&'static str>
where
    S: Taping<Raw = LinearId<I>>,
    B: Twin<S>,
    I: IndexType,
{
    let statement = B::load(&mut Telling(Source::of::<S, B>(ids_end, (values.as_ptr(), values.len()))));
    singular_function(&statement, |id| id.is_active())
}

/// Loads a statement whose active leaves have identifiers, which serve no other purpose.
struct Telling<V, I>(Source<V, I>);

impl<S: Taping<Raw = LinearId<I>>, I: IndexType> Load<S> for Telling<S::Value, I> {
    fn leaf(&mut self) -> (S::Value, LinearId<I>) {
        let ids = self.0.ids;
        let (value, _) = Load::<S>::leaf(&mut self.0);
        // SAFETY: `leaf` has read this identifier.
        let id = unsafe { ids.read_unaligned().widen() };
        (value, LinearId::new(TapeNumber(1), id).unwrap_or(LinearId::passive()))
    }
    fn constant(&mut self) -> S::Value {
        Load::<S>::constant(&mut self.0)
    }
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

impl<V: Number, I: IndexType> Source<V, I> {
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
        // SAFETY: the record has this many identifiers, all below the number of values, and the value of an argument
        // for each identifier that is 0.
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
        unsafe { self.to.take(self.seed.contribution(partial)) }
    }
}
