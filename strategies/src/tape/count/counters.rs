//! Counters of statements, from which the bytes of recordings are computed without recording.
//!
//! Each figure here comes from the code of the strategies themselves: the lengths of [layouts](Layout), the rule that
//! chooses between two forms of a record, and the constants of [`Records`](crate::tape::store::recording::Records).

use super::counts::{Counted, Counts};
use crate::contract::{Store, Taped, Twin};
use crate::error::Refusal;
use crate::identifier::{LinearId, RecordingId};
use crate::tape::format::code;
use crate::tape::format::layout::Layout;
use crate::tape::format::layout::Lengths;
use crate::tape::usize_of;
use crate::tape::write::slow::where_they_belong;
use crate::{IndexManager, Nary, Number, Reverse, Statement, Taping, recording};
use core::any::TypeId;
use core::hash::{BuildHasherDefault, Hasher};
use core::marker::PhantomData;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

/// A hasher for keys that are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(5) ^ number;
    }
}

type ByType<T> = HashMap<TypeId, T, BuildHasherDefault<Hashed>>;

/// The facts about a type of statements on which the bytes of its records depend.
#[derive(Clone, Copy)]
pub(crate) struct StatementType {
    id: TypeId,
    shape: TypeId,
    lengths: [Lengths; 4],
    factors: usize,
    constants: usize,
}

impl StatementType {
    /// The statements whose twin is `B`.
    pub(crate) const fn of<S, B, M>() -> Self
    where
        S: Taping<Raw = LinearId<M::Index>>,
        B: Twin<S>,
        M: IndexManager,
    {
        let lengths = const {
            let partials = Layout::<S::Value>::scatter::<B::Shape, M::Index>().lengths();
            let constants = Layout::replay::<S, B, M::Index>().lengths();
            [partials, constants, Layout::smaller::<S, B, M::Index>().lengths(), partials]
        };
        let factors = <B::Shape as crate::shape::Shape>::FACTORS;
        Self { id: TypeId::of::<B>(), shape: TypeId::of::<B::Shape>(), lengths, factors, constants: B::CONSTANTS }
    }
}

/// Counter of the statements of one type all of whose arguments are active.
struct Met {
    kind: StatementType,
    /// Bytes of one such statement.
    bytes: [usize; 4],
    times: usize,
}

/// The counters of a recording of [`Counting`](crate::Counting), which takes the place of a tape.
pub struct Counters<V, M> {
    number: RecordingId,
    /// The next identifier that has never been used.
    next: u64,
    /// Counts of everything that is not counted by kind.
    counts: Counts,
    kinds: ByType<Met>,
    /// The layouts that have a code on the tape of each strategy; true marks those with passive arguments.
    coded: [HashSet<(TypeId, bool), BuildHasherDefault<Hashed>>; 4],
    numbers: PhantomData<fn() -> (V, M)>,
}

impl<V: Number, M: IndexManager> Default for Counters<V, M> {
    fn default() -> Self {
        let counts = Counts { value: size_of::<V>(), ..Counts::default() };
        let (number, numbers) = (RecordingId::default(), PhantomData);
        Self { number, next: 1, counts, kinds: ByType::default(), coded: Default::default(), numbers }
    }
}

impl<V: Number, M: IndexManager> Counters<V, M> {
    /// Starts counting anew.
    pub(crate) fn begin(&mut self, number: RecordingId) {
        *self = Self { number, ..Self::default() };
    }

    /// Returns 1 + the largest identifier used.
    pub(crate) fn len(&self) -> usize {
        usize_of(self.next)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { identifiers: self.len(), kinds: self.kinds.len(), ..self.counts };
        for Met { kind, bytes, times } in self.kinds.values() {
            counts.statements += times;
            counts.active += times * kind.lengths[0].arguments;
            counts.factors += times * kind.factors;
            counts.constants += times * kind.constants;
            for (k, bytes) in bytes.iter().enumerate() {
                counts.records[k] += times * bytes;
                counts.recomputed[k] += if kind.lengths[k].partials { 0 } else { *times };
            }
        }
        counts
    }

    fn add(&mut self, bytes: impl Fn(Counted) -> usize) {
        Counted::ALL.into_iter().for_each(|strategy| self.counts.records[strategy as usize] += bytes(strategy));
    }

    /// Counts inputs that are registered in one call, and gives them consecutive identifiers.
    pub(crate) fn inputs(
        &mut self,
        values: &[V],
    ) -> Result<impl Iterator<Item = LinearId<M::Index>> + use<V, M>, Refusal> {
        let count = values.len();
        let (first, end) = (self.next, self.next + count as u64);
        self.check(end)?;
        let written = !self.kinds.is_empty() || self.counts.records[0] > 0;
        self.next = end;
        if !M::REUSES && written && count > 0 {
            let counted = if count == 1 { 0 } else { size_of::<u32>() };
            self.add(|strategy| counted + strategy.code_and_tail::<V, M>().0);
        }
        let number = self.number;
        Ok((first..end).map(move |k| LinearId::pack(number, k)))
    }

    fn check(&self, end: u64) -> Result<(), Refusal> {
        let refusal = Refusal::OutOfIdentifiers { used: self.next - 1, limit: M::LARGEST, reused: M::REUSES };
        if end > M::LARGEST + 1 { Err(refusal) } else { Ok(()) }
    }

    /// Takes the identifier of the next statement's result, which may be [`own`](IndexManager::own).
    fn identifier(&mut self, own: Option<LinearId<M::Index>>) -> Result<LinearId<M::Index>, Refusal> {
        if let Some(own) = own.filter(|own| own.within(self.number, self.next)) {
            return Ok(own);
        }
        if M::REUSES {
            let id = recording::take_identifier(self.number, &mut self.next, M::LARGEST)?;
            return Ok(LinearId::pack(self.number, id));
        }
        self.check(self.next + 1)?;
        self.next += 1;
        Ok(LinearId::pack(self.number, self.next - 1))
    }

    /// Returns true if a layout has a code on the tape of this strategy, and assigns one if possible.
    fn code(&mut self, strategy: Counted, assigned: bool, layout: (TypeId, bool)) -> bool {
        let coded = &mut self.coded[strategy as usize];
        let free = coded.len() < 256 - code::ASSIGNED as usize;
        !assigned || coded.contains(&layout) || free && coded.insert(layout)
    }

    /// Bytes of data of a record of a statement with this many passive arguments, without tail and code.
    fn data(&mut self, strategy: Counted, kind: &StatementType, passives: usize) -> usize {
        let lengths = kind.lengths[strategy as usize];
        let kept = if lengths.partials { 0 } else { passives };
        let bytes = lengths.bytes + kept * size_of::<V>();
        if strategy.is_by_address() {
            return bytes;
        }
        let type_of = if strategy == Counted::Jacobian { kind.shape } else { kind.id };
        let lists =
            lengths.lists::<V, M::Index>(passives, bytes, || self.code(strategy, lengths.assigned, (type_of, false)));
        if lists {
            return Lengths::of_partials::<V, M::Index>(lengths.arguments - passives);
        }
        let with_passives = kept > 0;
        let coded = self.code(strategy, lengths.assigned || with_passives, (type_of, with_passives));
        bytes + if coded { 0 } else { size_of::<&Layout<V>>() }
    }

    fn bytes(&mut self, kind: &StatementType, passives: usize) -> [usize; 4] {
        Counted::ALL.map(|strategy| {
            let (code, tail) = strategy.code_and_tail::<V, M>();
            self.data(strategy, kind, passives) + tail + code
        })
    }

    /// Counts a statement with this many passive arguments, whose result may have the identifier
    /// [`own`](IndexManager::own).
    fn statement(
        &mut self,
        kind: &StatementType,
        passives: usize,
        own: Option<LinearId<M::Index>>,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let id = self.identifier(own)?;
        if passives == 0 {
            if let Entry::Occupied(mut met) = self.kinds.entry(kind.id) {
                met.get_mut().times += 1;
                return Ok(id);
            }
            let bytes = self.bytes(kind, 0);
            self.kinds.insert(kind.id, Met { kind: *kind, bytes, times: 1 });
            return Ok(id);
        }
        let bytes = self.bytes(kind, passives);
        self.add(|strategy| bytes[strategy as usize]);
        let counts = &mut self.counts;
        counts.statements += 1;
        counts.active += kind.lengths[0].arguments - passives;
        counts.passive += passives;
        counts.factors += kind.factors;
        counts.constants += kind.constants;
        for (recomputed, lengths) in counts.recomputed.iter_mut().zip(&kind.lengths) {
            *recomputed += usize::from(!lengths.partials);
        }
        Ok(id)
    }

    /// Counts a function of this many active and this many passive variables.
    fn nary<R: Nary<V>>(&mut self, active: usize, passives: usize) -> Result<LinearId<M::Index>, Refusal> {
        let id = self.identifier(None)?;
        let layout = (TypeId::of::<R>(), false);
        let ids = active * size_of::<M::Index>() + size_of::<u32>();
        for strategy in Counted::ALL {
            let (code, tail) = strategy.code_and_tail::<V, M>();
            let recomputed = strategy.keeps_values() && passives == 0 && self.code(strategy, true, layout);
            let data = match () {
                () if recomputed => active * R::CONSTANTS * size_of::<V>() + ids,
                () if R::UNIT => ids,
                () => Lengths::of_partials::<V, M::Index>(active),
            };
            self.counts.records[strategy as usize] += data + tail + code;
            self.counts.recomputed[strategy as usize] += usize::from(recomputed);
        }
        self.counts.statements += 1;
        self.counts.slices += 1;
        self.counts.active += active;
        self.counts.passive += passives;
        self.counts.constants += (active + passives) * R::CONSTANTS;
        Ok(id)
    }

    /// Counts an external function or a launch.
    pub(crate) fn external(
        &mut self,
        _: u32,
        results: &[V],
        mut each: impl FnMut(LinearId<M::Index>),
    ) -> Result<(), Refusal> {
        let count = size_of::<u32>();
        self.add(|strategy| 2 * count + strategy.code_and_tail::<V, M>().0);
        for _ in results {
            each(self.identifier(None)?);
            if M::REUSES {
                let nothing = Lengths::of_partials::<V, M::Index>(0);
                let end = |strategy: Counted| strategy.code_and_tail::<V, M>();
                self.add(|strategy| nothing + end(strategy).0 + end(strategy).1);
                self.counts.statements += 1;
            }
        }
        if results.is_empty() && !M::REUSES {
            self.identifier(None)?;
        }
        Ok(())
    }
}

/// Collects the variables of a statement.
struct Leaves<I: crate::identifier::IndexType>(SmallVec<[LinearId<I>; 8]>);

impl<S: Taping<Raw = LinearId<I>>, I: crate::identifier::IndexType> Store<S> for Leaves<I> {
    #[inline]
    fn leaf(&mut self, _: S::Value, id: LinearId<I>) {
        self.0.push(id);
    }
    #[inline]
    fn constant(&mut self, _: S::Value) {}
}

/// Counts a statement; returns the identifier of its result, passive if no argument is active.
///
/// # Panics
///
/// In the cases listed at [`Taping::record`].
#[track_caller]
pub(crate) fn count<S, V, M, N>(kind: &StatementType, statement: &N) -> M::Id
where
    S: Reverse<Tape = Counters<V, M>, Value = V, Raw = LinearId<M::Index>>,
    V: Number,
    M: IndexManager,
    N: Statement<S>,
{
    count_as::<S, V, M, N>(kind, None, statement)
}

/// Counts a statement whose result replaces a variable.
///
/// # Panics
///
/// In the cases listed at [`count`]; the variable is then unchanged.
#[track_caller]
pub(crate) fn count_over<S, V, M, N>(kind: &StatementType, variable: &mut Taped<V, M::Id>, statement: &N)
where
    S: Reverse<Tape = Counters<V, M>, Value = V, Raw = LinearId<M::Index>>,
    V: Number,
    M: IndexManager,
    N: Statement<S>,
{
    let value = statement.value();
    let id = count_as::<S, V, M, N>(kind, M::own(&mut variable.id), statement);
    M::put(&mut variable.id, id);
    variable.value = value;
}

/// Counts a statement whose result may have the identifier [`own`](IndexManager::own).
#[track_caller]
fn count_as<S, V, M, N>(kind: &StatementType, own: Option<LinearId<M::Index>>, statement: &N) -> M::Id
where
    S: Reverse<Tape = Counters<V, M>, Value = V, Raw = LinearId<M::Index>>,
    V: Number,
    M: IndexManager,
    N: Statement<S>,
{
    let mut leaves = Leaves(SmallVec::new());
    statement.store(&mut leaves);
    let passives = leaves.0.iter().filter(|id| !id.is_active()).count();
    where_they_belong::<S, M>(leaves.0.iter().copied(), |tape| tape.statement(kind, passives, own))
}

/// Counts a function of slices; returns the identifier of its result, passive if no argument is active.
///
/// # Panics
///
/// In the cases listed at [`Taping::record_nary`].
#[track_caller]
pub(crate) fn count_nary<S, R, V, M>(arguments: &[&[Taped<V, M::Id>]]) -> M::Id
where
    S: Reverse<Tape = Counters<V, M>, Value = V>,
    R: Nary<V>,
    V: Number,
    M: IndexManager,
{
    let ids = arguments.iter().copied().flatten().map(|x| M::raw(&x.id));
    let active = ids.clone().filter(|id| id.is_active()).count();
    let passives = ids.clone().count() - active;
    where_they_belong::<S, M>(ids, |tape| tape.nary::<R>(active, passives))
}
