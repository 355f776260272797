//! Sweeps with several adjoint vectors (vector mode): the adjoints of one variable, a *lane* for each vector, are
//! adjacent in memory.
//!
//! Each lane gets, bit for bit, the result of a sweep with its vector alone: the same operations in the same order, and
//! none where its seed is 0. The inner loops are compiled for 1, 2, 4, 8 and 16 lanes, for which they become vector
//! instructions, and once for any number (`W` = 0).

use crate::contract::AtExternal;
use crate::external::Mark;
use crate::identifier::IndexType;
use crate::outline::{Outline, Touched};
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::read::cursor::{Cursor, Values};
use crate::tape::read::record::Record;
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError, counts};

/// The maximum number of lanes for which loops are compiled specially.
const WIDEST: usize = 16;

/// The adjoints, and the other data of a sweep.
struct LaneSweep<'a, V: 'static> {
    lanes: usize,
    adjoints: &'a mut [V],
    at: &'a mut AtExternal<'a, V>,
    /// Contributions of the statement that is being reversed, for seed 1.
    partials: Scratch<V>,
    /// Seeds of the statement that is being reversed, if their number is not a constant (`W` = 0).
    seeds: Scratch<V>,
    /// The last field, because it is taken first: each of the three vectors gets its own memory back in the next sweep.
    values: Values<'a, V>,
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

/// Moves the adjoints of one variable to `seeds`, sets them to 0, and classifies the seeds.
#[inline(always)]
fn take<V: Number>(adjoints: &mut [V], seeds: &mut [V]) -> Seeds {
    let (mut any, mut all) = (false, true);
    for (adjoint, seed) in adjoints.iter_mut().zip(&mut *seeds) {
        *seed = core::mem::replace(adjoint, V::ZERO);
        any |= !seed.is_nought();
        all &= seed.is_ordinary();
    }
    match (any, all) {
        (true, true) => Seeds::All,
        (true, false) if seeds.iter().all(|seed| seed.is_plain()) => Seeds::Some,
        (true, false) => Seeds::Care,
        (false, _) => Seeds::Zero,
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
        let (values, mut seeds) = (self.walked_values(), Scratch::<V>::new());
        seeds.resize(if W == 0 { lanes } else { 0 }, V::ZERO);
        let mut sweep = LaneSweep { lanes, adjoints, at, partials: Scratch::new(), seeds, values };
        let mut cursor = Cursor::new(self);
        let down = |cursor: &mut Cursor<'_, V, M, L, K>, to, sweep: &mut LaneSweep<'_, V>| {
            cursor.try_down(to, |record, number| Self::reverse_record_lanes::<W>(record, number, sweep))
        };
        match stretch {
            Stretch::Between(from, to) => {
                if let Some(from) = from {
                    cursor.go_to(from, &mut sweep.values)?;
                }
                down(&mut cursor, usize_of(to.map_or(1, |to| to.numbers()[0])), &mut sweep)?;
                Ok(Touched::below(self.len()))
            }
            Stretch::Outlined(outline, seeded) => outline.sweep(seeded, |chunk| {
                if !chunk.launches && !Self::has_adjoint(outline, chunk, (lanes, sweep.adjoints)) {
                    return Ok(false);
                }
                cursor.go_to_chunk(chunk);
                down(&mut cursor, chunk.numbers.start, &mut sweep).map(|()| true)
            }),
        }
    }

    /// Reverses the record with this number.
    #[inline(always)]
    fn reverse_record_lanes<const W: usize>(
        record: &Record<'_, V, M::Index>,
        number: usize,
        LaneSweep { lanes, adjoints, values, at, partials, seeds }: &mut LaneSweep<'_, V>,
    ) -> Result<(), SweepError> {
        if !record.is_statement() {
            return record.external.map_or(Ok(()), |external| at(external, 0..*lanes, adjoints));
        }
        let mut array = [V::ZERO; WIDEST];
        let seeds = if W == 0 { &mut seeds[..] } else { &mut array[..W] };
        let id = Self::undo(record, number, values);
        let taken = take(lanes_of::<W, V>(adjoints, id, *lanes), seeds);
        if taken == Seeds::Zero {
            return Ok(());
        }
        partials.clear();
        if record.layout.foreign {
            call_lanes::<W, V, M::Index>(record, (seeds, *lanes), values, adjoints, partials);
            return Ok(());
        }
        record.contributions(V::ONE, values, partials);
        for (id, partial) in record.ids().zip(&**partials) {
            let to = lanes_of::<W, V>(adjoints, id, *lanes);
            if W == 0 || taken == Seeds::Care {
                add_product(to, seeds, *partial);
            } else if let (Ok(to), Ok(seeds)) = (<&mut [V; W]>::try_from(to), <&[V; W]>::try_from(&*seeds)) {
                add_product_of::<W, V>(to, seeds, *partial, taken == Seeds::All);
            }
        }
        Ok(())
    }
}

/// Calls a user's closure for each seed that is not 0.
#[cold]
fn call_lanes<const W: usize, V: Number, I: IndexType>(
    record: &Record<'_, V, I>,
    (seeds, lanes): (&[V], usize),
    values: &[V],
    adjoints: &mut [V],
    contributions: &mut Vec<V>,
) {
    for (lane, seed) in seeds.iter().enumerate().filter(|(_, seed)| !seed.is_nought()) {
        contributions.clear();
        let (asked, factor) = if V::PARTS == 1 && seed.is_plain() { (*seed, V::ONE) } else { (V::ONE, *seed) };
        record.contributions(asked, values, contributions);
        for (id, found) in record.ids().zip(&*contributions) {
            add_product(&mut lanes_of::<W, V>(adjoints, id, lanes)[lane..=lane], &[factor], *found);
        }
    }
}
