//! Sweeping with several adjoint vectors at once: the adjoints of one variable, a *lane* for each vector, lie side by
//! side.
//!
//! Each lane gets, bit for bit, what a sweep of its own would give it: the same operations in the same order, and none
//! where its seed is 0. The inner loops are compiled for 1, 2, 4, 8 and 16 lanes, in which they become vector
//! instructions, and once for any number (`W` = 0).

use super::functions::Sweep;
use super::read::{Cursor, Record};
use super::records::{Content, Records};
use super::usize_of;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::{AtExternal, IndexManager, Mark, Number, SweepError, counts};
use core::slice;

/// The most lanes whose loops are compiled for their number.
const WIDEST: usize = 16;

/// The adjoints, and what a sweep needs beside them.
struct LaneSweep<'a, V: 'static> {
    lanes: usize,
    sweep: Sweep<'a, V>,
    /// What the statement that is being reversed contributes for seed 1.
    partials: &'a mut Vec<V>,
    /// Seeds of the statement that is being reversed, where their number is not known when this is compiled.
    seeds: &'a mut Vec<V>,
}

/// What the seeds of a statement are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seeds {
    /// All 0.
    Zero,
    /// Finite, and none is 0.
    All,
    /// Finite, and some are 0.
    Some,
    /// Not all are finite.
    Care,
}

/// The adjoints of one variable.
///
/// # Safety
///
/// `id` is below the number of adjoints divided by the number of lanes.
#[inline(always)]
unsafe fn lanes_of<const W: usize, V>(adjoints: &mut [V], id: usize, lanes: usize) -> &mut [V] {
    let lanes = if W == 0 { lanes } else { W };
    debug_assert!((id + 1) * lanes <= adjoints.len(), "identifiers are below the recording's length");
    // SAFETY: promised by the caller.
    unsafe { slice::from_raw_parts_mut(adjoints.as_mut_ptr().add(id * lanes), lanes) }
}

/// Moves the adjoints of one variable to `seeds` and makes them 0.
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

/// Adds seed·partial, lane by lane, where the seed, which is finite, is not 0. All adjoints are read before one is
/// written, or the compiler would have to assume that seeds are among them and could not use vector instructions.
///
/// # Safety
///
/// `W` adjoints lie there.
#[inline(always)]
unsafe fn add_product_of<const W: usize, V: Number>(to: *mut V, seeds: &[V; W], partial: V, all: bool) {
    // SAFETY: promised by the caller; an array is aligned as its elements are.
    unsafe {
        let to = to.cast::<[V; W]>();
        let old = to.read();
        let mut new = old;
        for lane in 0..W {
            let sum = old[lane] + seeds[lane].contribution(partial);
            new[lane] = if all || !seeds[lane].is_nought() { sum } else { old[lane] };
        }
        to.write(new);
    }
}

/// Adds seed·partial, lane by lane, where it counts.
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
        match lanes {
            1 => self.reverse_lanes::<1>(lanes, adjoints, ends, at),
            2 => self.reverse_lanes::<2>(lanes, adjoints, ends, at),
            4 => self.reverse_lanes::<4>(lanes, adjoints, ends, at),
            8 => self.reverse_lanes::<8>(lanes, adjoints, ends, at),
            WIDEST => self.reverse_lanes::<WIDEST>(lanes, adjoints, ends, at),
            _ => self.reverse_lanes::<0>(lanes, adjoints, ends, at),
        }
    }

    fn reverse_lanes<const W: usize>(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        (from, to): (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, V>,
    ) -> Result<(), SweepError> {
        assert!(lanes > 0, "a sweep has at least one adjoint vector");
        self.check_length(adjoints.len() / lanes);
        let mut copy = self.values_to_restore();
        let sweep = self.sweep(adjoints, &mut copy, at);
        let (mut partials, mut seeds) = (Scratch::<V>::new(), Scratch::<V>::new());
        seeds.resize(if W == 0 { lanes } else { 0 }, V::ZERO);
        let mut sweep = LaneSweep { lanes, sweep, partials: &mut partials, seeds: &mut seeds };
        let mut cursor = Cursor::new(self);
        if let Some(from) = from {
            // SAFETY: there are as many values as the recording has identifiers, and they are a copy or not written to.
            unsafe { cursor.go_to(from, sweep.sweep.values)? }
        }
        cursor.try_down(usize_of(to.map_or(1, |to| to.numbers()[0])), |record, number| {
            // SAFETY: the cursor found the record, and there are as many adjoints as identifiers and lanes, and values
            // where records read them.
            unsafe { Self::reverse_record_lanes::<W>(record, number, &mut sweep) }
        })
    }

    /// Reverses a record.
    ///
    /// # Safety
    ///
    /// It still lies there, has this number, and `sweep` is one of its recording.
    #[inline(always)]
    unsafe fn reverse_record_lanes<const W: usize>(
        record: &Record<V>,
        number: usize,
        LaneSweep { lanes, sweep, partials, seeds }: &mut LaneSweep<'_, V>,
    ) -> Result<(), SweepError> {
        if !record.is_statement() {
            // SAFETY: promised by the caller.
            return unsafe { record.external() }.map_or(Ok(()), |external| sweep.meet(external, *lanes));
        }
        let mut array = [V::ZERO; WIDEST];
        let seeds = if W == 0 { &mut seeds[..] } else { &mut array[..W] };
        // SAFETY: promised by the caller; the result's identifier is below the recording's length.
        unsafe {
            let id = Self::undo(record, number, sweep.values);
            let taken = take(lanes_of::<W, V>(sweep.adjoints, id, *lanes), seeds);
            if taken == Seeds::Zero {
                return Ok(());
            }
            if record.layout.foreign {
                Self::call_lanes::<W>(record, seeds, *lanes, sweep, partials);
                return Ok(());
            }
            partials.clear();
            record.contributions(V::ONE, sweep.values(), partials);
            for (id, partial) in record.ids::<M::Index>().zip(&**partials) {
                let to = lanes_of::<W, V>(sweep.adjoints, id, *lanes);
                if W == 0 || taken == Seeds::Care {
                    add_product(to, seeds, *partial);
                } else if let Ok(seeds) = <&[V; W]>::try_from(&*seeds) {
                    add_product_of::<W, V>(to.as_mut_ptr(), seeds, *partial, taken == Seeds::All);
                }
            }
        }
        Ok(())
    }

    /// Calls a user's closure for each seed.
    ///
    /// # Safety
    ///
    /// As [`reverse_record_lanes`](Self::reverse_record_lanes).
    #[cold]
    unsafe fn call_lanes<const W: usize>(
        record: &Record<V>,
        seeds: &[V],
        lanes: usize,
        sweep: &mut Sweep<'_, V>,
        contributions: &mut Vec<V>,
    ) {
        for (lane, seed) in seeds.iter().enumerate().filter(|(_, seed)| !seed.is_nought()) {
            contributions.clear();
            let (asked, factor) = if V::PARTS == 1 && seed.is_plain() { (*seed, V::ONE) } else { (V::ONE, *seed) };
            // SAFETY: promised by the caller.
            unsafe {
                record.contributions(asked, sweep.values(), contributions);
                for (id, found) in record.ids::<M::Index>().zip(&*contributions) {
                    add_product(&mut lanes_of::<W, V>(sweep.adjoints, id, lanes)[lane..=lane], &[factor], *found);
                }
            }
        }
    }
}
