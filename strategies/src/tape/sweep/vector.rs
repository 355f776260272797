//! Sweeps with several adjoint vectors (vector mode): the adjoints of one variable, a *lane* for each vector, are
//! adjacent in memory.
//!
//! Each lane gets, bit for bit, the result of a sweep with its vector alone: the same operations in the same order, and
//! none where its seed is 0. The inner loops are compiled for 1, 2, 4, 8 and 16 lanes, for which they become vector
//! instructions, and once for any number (`W` = 0).

use super::forward::ROW;
use crate::contract::AtExternal;
use crate::external::Mark;
use crate::identifier::IndexType;
use crate::outline::{Outline, Touched};
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::format::entry_points::AnyData;
use crate::tape::read::cursor::{Cursor, Met};
use crate::tape::read::record::Record;
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError, counts};

/// The maximum number of lanes for which loops are compiled specially.
const WIDEST: usize = 16;

/// What a sweep is for: sums over all outputs with seeds, whose number may be any.
pub(super) const SUMS: u8 = 0;
/// For rows, noting what adjoints come to.
pub(super) const NOTES: u8 = 1;
/// For rows, without notes: adjoints are −0 where nothing has been added.
pub(super) const KNOWN: u8 = 2;

/// The adjoint of a variable to which nothing has been added.
#[inline(always)]
pub(super) fn blank<const FOR: u8, V: Number>() -> V {
    if FOR == KNOWN { -V::ZERO } else { V::ZERO }
}

/// The adjoints, and the other data of a sweep.
pub(super) struct LaneSweep<'a, V: 'static> {
    pub(super) to: LaneAdjoints<'a, V>,
    at: &'a mut AtExternal<'a, V>,
    /// Contributions of the statement that is being reversed, for seed 1.
    row: [V; ROW],
    /// Contributions of a statement with more arguments, or of another kind.
    partials: Scratch<V>,
}

/// The adjoints of all variables.
pub(super) struct LaneAdjoints<'a, V: 'static> {
    lanes: usize,
    pub(super) all: &'a mut [V],
    /// The variables to which adjoints have come, if that is asked for.
    pub(super) reached: Option<Reached<'a>>,
    /// Seeds of the statement that is being reversed, if their number is not a constant (`W` = 0).
    seeds: Scratch<V>,
}

impl<'a, V: Number> LaneSweep<'a, V> {
    pub(super) fn new(lanes: usize, adjoints: &'a mut [V], seeds: usize, at: &'a mut AtExternal<'a, V>) -> Self {
        // Taken in the opposite order of their drops, so that each gets its own vector back in the next sweep.
        let (partials, mut list) = (Scratch::new(), Scratch::<V>::new());
        list.resize(seeds, V::ZERO);
        let to = LaneAdjoints { lanes, all: adjoints, reached: None, seeds: list };
        Self { to, at, row: [V::ZERO; ROW], partials }
    }
}

impl<V: Number> LaneAdjoints<'_, V> {
    /// Reverses a statement that has assigned to this variable; lists its partials if there are seeds. `FOR` says what
    /// the sweep is for.
    #[inline(always)]
    fn reverse<const W: usize, const FOR: u8, T: Iterator<Item = (usize, V)>>(
        &mut self,
        id: usize,
        terms: impl FnOnce() -> T,
    ) {
        if W == 0 {
            let own = lanes_of::<W, V>(self.all, id, self.lanes);
            self.seeds.copy_from_slice(own);
            own.fill(blank::<FOR, V>());
            if Seeds::of(&self.seeds) != Seeds::Zero {
                add_with_care::<W, V>((self.all, self.lanes), &self.seeds, terms(), self.reached.as_mut());
            }
            return;
        }
        // Copied as a whole: what is stored in pieces and read in one has to wait.
        let own = adjoints_of(self.all, id);
        let seeds: [V; W] = V::copied(own);
        *own = [blank::<FOR, V>(); W];
        let taken = Seeds::of_array(&seeds);
        if taken == Seeds::Zero {
            return;
        }
        if taken == Seeds::Care {
            return add_with_care::<W, V>((self.all, self.lanes), &seeds, terms(), self.reached.as_mut());
        }
        let mut note = |id: usize, adjoints: &[V; W]| {
            if FOR == NOTES
                && let Some(reached) = &mut self.reached
            {
                reached.add(id, adjoints);
            }
        };
        // Written twice, so that the loop that is nearly always taken has no branch.
        if taken == Seeds::All {
            for (id, partial) in terms() {
                let to = adjoints_of(self.all, id);
                note(id, to);
                add_product_of(to, &seeds, partial, true);
            }
        } else {
            for (id, partial) in terms() {
                let to = adjoints_of(self.all, id);
                note(id, to);
                add_product_of(to, &seeds, partial, false);
            }
        }
    }

    /// Notes that adjoints will come to these variables.
    fn note<const W: usize>(&mut self, ids: impl Iterator<Item = usize>) {
        if let Some(reached) = &mut self.reached {
            ids.for_each(|id| reached.add(id, lanes_of::<W, V>(self.all, id, self.lanes)));
        }
    }
}

/// The variables to which a sweep has brought adjoints.
pub(super) struct Reached<'a> {
    /// The exclusive upper bound of the slots of inputs.
    inputs: usize,
    /// The least number of a record to whose result an adjoint was added.
    pub(super) lowest: usize,
    /// Inputs to which adjoints were added, some several times, with room for as many as there are.
    touched: &'a mut [usize],
    /// How many these are. If there was no room for some, it is more than there is room for.
    count: usize,
}

impl<'a> Reached<'a> {
    /// Nothing yet; with room for this many inputs.
    pub(super) const fn new(touched: &'a mut [usize]) -> Self {
        Self { inputs: touched.len(), lowest: usize::MAX, touched, count: 0 }
    }

    /// Forgets all, after calling `f` with the inputs to which adjoints were added, some several times.
    pub(super) fn finish(&mut self, f: impl FnOnce(&[usize])) {
        if self.count > self.touched.len() {
            self.touched.iter_mut().enumerate().for_each(|(id, touched)| *touched = id);
        }
        f(&self.touched[..self.count.min(self.touched.len())]);
        (self.lowest, self.count) = (usize::MAX, 0);
    }

    /// Notes that adjoints will be added to these.
    #[inline(always)]
    fn add<V: Number>(&mut self, id: usize, adjoints: &[V]) {
        if id >= self.inputs {
            self.lowest = self.lowest.min(id);
        } else if adjoints.iter().fold(id > 0, |new, adjoint| new & adjoint.is_nought()) {
            // No vector: a call to make room, even if it never happens, would empty the registers of the loop.
            if let Some(place) = self.touched.get_mut(self.count) {
                *place = id;
            }
            self.count += 1;
        }
    }
}

/// The records of a sweep.
enum Stretch<'a> {
    /// Those between two positions: the end of the recording if the first is missing, its start if the second is.
    Between(Option<Mark>, Option<Mark>),
    /// Those to which the seeds in these slots come.
    Outlined(&'a Outline, &'a mut dyn Iterator<Item = usize>),
}

/// A classification of the seeds of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seeds {
    /// All 0.
    Zero,
    /// Finite, and none is 0.
    All,
    /// Finite, and some are 0.
    Some,
    /// Some are infinite or NaN.
    Care,
}

/// Returns the adjoints of one variable.
#[inline(always)]
fn lanes_of<const W: usize, V>(adjoints: &mut [V], id: usize, lanes: usize) -> &mut [V] {
    let lanes = if W == 0 { lanes } else { W };
    &mut adjoints[id * lanes..(id + 1) * lanes]
}

/// Returns the adjoints of one variable in a sweep with `W` lanes.
#[inline(always)]
fn adjoints_of<const W: usize, V>(adjoints: &mut [V], id: usize) -> &mut [V; W] {
    adjoints[id * W..].first_chunk_mut().expect("there is an adjoint for each identifier")
}

impl Seeds {
    /// Classifies the seeds of a sweep with `W` lanes, by registers.
    #[inline(always)]
    fn of_array<V: Number, const W: usize>(seeds: &[V; W]) -> Self {
        match () {
            () if W == 1 => Self::of(seeds), // without loops, single numbers take less
            () if V::all_ordinary(seeds) => Self::All,
            () if V::all_nought(seeds) => Self::Zero,
            () if V::all_plain(seeds) => Self::Some,
            () => Self::Care,
        }
    }

    /// Classifies these seeds.
    #[inline(always)]
    fn of<V: Number>(seeds: &[V]) -> Self {
        let (mut any, mut all) = (false, true);
        for seed in seeds {
            any |= !seed.is_nought();
            all &= seed.is_ordinary();
        }
        match (any, all) {
            (true, true) => Self::All,
            (true, false) if seeds.iter().all(|seed| seed.is_plain()) => Self::Some,
            (true, false) => Self::Care,
            (false, _) => Self::Zero,
        }
    }
}

/// Adds seed·partial, lane by lane, where the seed is not 0; all seeds are finite. All adjoints are read before one is
/// written: otherwise the compiler would have to assume that seeds are among them, and could not use vector
/// instructions.
#[inline(always)]
fn add_product_of<const W: usize, V: Number>(to: &mut [V; W], seeds: &[V; W], partial: V, all: bool) {
    let old = *to;
    let mut new = old;
    for lane in 0..W {
        let sum = old[lane] + seeds[lane].contribution(partial);
        new[lane] = if all || !seeds[lane].is_nought() { sum } else { old[lane] };
    }
    *to = new;
}

/// Adds the products of any seeds and the partials of these arguments to their adjoints.
#[inline(never)]
fn add_with_care<const W: usize, V: Number>(
    (adjoints, lanes): (&mut [V], usize),
    seeds: &[V],
    terms: impl Iterator<Item = (usize, V)>,
    mut reached: Option<&mut Reached<'_>>,
) {
    for (id, partial) in terms {
        let to = lanes_of::<W, V>(adjoints, id, lanes);
        if let Some(reached) = &mut reached {
            reached.add(id, to);
        }
        add_product(to, seeds, partial);
    }
}

/// Adds seed·partial, lane by lane, where neither factor is 0.
fn add_product<V: Number>(to: &mut [V], seeds: &[V], partial: V) {
    for (to, seed) in to.iter_mut().zip(seeds).filter(|(_, seed)| counts(**seed, partial)) {
        *to += seed.contribution(partial);
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps with several adjoint vectors; see
    /// [`Reverse::reverse_lanes_through`](crate::Reverse::reverse_lanes_through).
    pub(crate) fn reverse_lanes_through(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        ends: (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, V>,
    ) -> Result<(), SweepError> {
        self.reverse_stretch(lanes, adjoints, Stretch::Between(ends.0, ends.1), at).map(drop)
    }

    /// Sweeps with several adjoint vectors over the chunks of the recording to which the seeds in these slots come.
    pub(crate) fn reverse_chunks_lanes(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        (outline, seeded): (&Outline, &mut dyn Iterator<Item = usize>),
        at: &mut AtExternal<'_, V>,
    ) -> Result<Touched, SweepError> {
        self.reverse_stretch(lanes, adjoints, Stretch::Outlined(outline, seeded), at)
    }

    fn reverse_stretch(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        stretch: Stretch<'_>,
        at: &mut AtExternal<'_, V>,
    ) -> Result<Touched, SweepError> {
        match lanes {
            1 => self.reverse_lanes::<1>(lanes, adjoints, stretch, at),
            2 => self.reverse_lanes::<2>(lanes, adjoints, stretch, at),
            4 => self.reverse_lanes::<4>(lanes, adjoints, stretch, at),
            8 => self.reverse_lanes::<8>(lanes, adjoints, stretch, at),
            WIDEST => self.reverse_lanes::<WIDEST>(lanes, adjoints, stretch, at),
            _ => self.reverse_lanes::<0>(lanes, adjoints, stretch, at),
        }
    }

    fn reverse_lanes<const W: usize>(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        stretch: Stretch<'_>,
        at: &mut AtExternal<'_, V>,
    ) -> Result<Touched, SweepError> {
        assert!(lanes > 0, "a sweep has at least one adjoint vector");
        self.check_length(adjoints.len() / lanes);
        let mut values = self.walked_values();
        let mut sweep = LaneSweep::new(lanes, adjoints, if W == 0 { lanes } else { 0 }, at);
        let mut cursor = Cursor::new(self);
        match stretch {
            Stretch::Between(from, to) => {
                if let Some(from) = from {
                    cursor.go_to(from, &mut values)?;
                }
                let to = usize_of(to.map_or(1, |to| to.numbers()[0]));
                cursor.down_by_code(to, &mut values, |met, (number, _), values| {
                    Self::reverse_one_lanes::<W, SUMS>(met, number, values, &mut sweep).map(|()| true)
                })?;
                Ok(Touched::below(self.len()))
            }
            Stretch::Outlined(outline, seeded) => outline.sweep(seeded, |chunk| {
                if !chunk.launches && !Self::has_adjoint(outline, chunk, (lanes, sweep.to.all)) {
                    return Ok(false);
                }
                cursor.go_to_chunk(chunk);
                let walked = cursor.down_by_code(chunk.numbers.start, &mut values, |met, (number, _), values| {
                    Self::reverse_one_lanes::<W, SUMS>(met, number, values, &mut sweep).map(|()| true)
                });
                walked.map(|()| true)
            }),
        }
    }

    /// Reverses the record with this number, given the values of variables before it. `FOR` says what the sweep is for.
    #[inline(always)]
    pub(super) fn reverse_one_lanes<const W: usize, const FOR: u8>(
        met: Met<'_, V, M::Index>,
        number: usize,
        values: &[V],
        sweep: &mut LaneSweep<'_, V>,
    ) -> Result<(), SweepError> {
        match met {
            Met::Terms(terms, id) => sweep.to.reverse::<W, FOR, _>(id, || terms),
            Met::Fixed(_, data, id) => Self::reverse_fixed_lanes::<W, FOR>(&data, id, values, sweep),
            Met::Other(record) => return Self::reverse_record_lanes::<W, FOR>(&record, number, values, sweep),
        }
        Ok(())
    }

    /// Reverses the statement that assigned to this variable, whose kind has records of one length.
    #[inline(always)]
    fn reverse_fixed_lanes<const W: usize, const FOR: u8>(
        data: &AnyData<'_, V, M::Index>,
        id: usize,
        values: &[V],
        sweep: &mut LaneSweep<'_, V>,
    ) {
        let LaneSweep { to, row, .. } = sweep;
        let Some(row) = row.get_mut(..data.arguments()) else {
            return Self::reverse_statement_lanes::<W, FOR>((data, false), id, values, sweep);
        };
        to.reverse::<W, FOR, _>(id, || {
            data.list(V::ONE, values, row);
            data.ids().zip(row.iter().copied())
        });
    }

    /// Reverses the record of any kind with this number.
    #[inline(never)]
    fn reverse_record_lanes<const W: usize, const FOR: u8>(
        record: &Record<'_, V, M::Index>,
        number: usize,
        values: &[V],
        sweep: &mut LaneSweep<'_, V>,
    ) -> Result<(), SweepError> {
        if record.is_statement() {
            let (data, id) = ((&record.data, record.layout.foreign), Self::result(record, number));
            Self::reverse_statement_lanes::<W, FOR>(data, id, values, sweep);
            return Ok(());
        }
        let LaneSweep { to: LaneAdjoints { lanes, all, .. }, at, .. } = sweep;
        if FOR != SUMS {
            all[number * *lanes..(number + record.numbers) * *lanes].fill(blank::<FOR, V>());
        }
        record.external.map_or(Ok(()), |external| at(external, 0..*lanes, all))
    }

    /// Reverses the statement that assigned to this variable; `foreign` is true if a closure of the user has to be
    /// called for each seed.
    #[inline(never)]
    fn reverse_statement_lanes<const W: usize, const FOR: u8>(
        (data, foreign): (&AnyData<'_, V, M::Index>, bool),
        id: usize,
        values: &[V],
        LaneSweep { to, partials, .. }: &mut LaneSweep<'_, V>,
    ) {
        partials.clear();
        if foreign {
            return call_lanes::<W, FOR, V, M::Index>(data, id, values, (to, partials));
        }
        to.reverse::<W, FOR, _>(id, || {
            data.contributions(V::ONE, values, partials);
            data.ids().zip(partials.iter().copied())
        });
    }
}

/// Reverses a statement of a user's closure, which is called for each seed that is not 0.
#[cold]
fn call_lanes<const W: usize, const FOR: u8, V: Number, I: IndexType>(
    data: &AnyData<'_, V, I>,
    id: usize,
    values: &[V],
    (to, contributions): (&mut LaneAdjoints<'_, V>, &mut Vec<V>),
) {
    let replaced = |seed: &mut V| core::mem::replace(seed, blank::<FOR, V>());
    let seeds = Scratch::of(lanes_of::<W, V>(to.all, id, to.lanes).iter_mut().map(replaced));
    if seeds.iter().all(|seed| seed.is_nought()) {
        return;
    }
    to.note::<W>(data.ids());
    for (lane, seed) in seeds.iter().enumerate().filter(|(_, seed)| !seed.is_nought()) {
        contributions.clear();
        let (asked, factor) = if V::PARTS == 1 && seed.is_plain() { (*seed, V::ONE) } else { (V::ONE, *seed) };
        data.contributions(asked, values, contributions);
        for (id, found) in data.ids().zip(&*contributions) {
            add_product(&mut lanes_of::<W, V>(to.all, id, to.lanes)[lane..=lane], &[factor], *found);
        }
    }
}
