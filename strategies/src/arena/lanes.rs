//! Sweeping with several adjoint vectors at once: the adjoints of one variable, a *lane* for each vector, lie side by side.
//!
//! Each lane gets, bit for bit, what a sweep of its own would give it: the same operations in the same order, and none where its
//! seed is 0. The inner loops are compiled for 1, 2, 4, 8 and 16 lanes, in which they become vector instructions, and once
//! for any number (`W` = 0).

use super::layers::Layer;
use super::plans::{How, Plan, Plans};
use super::records::{Records, usize_of};
use super::table::{ASSIGNED, Kind};
use super::walk::{Cursor, check_length, values_of};
use crate::{Float, IndexManager, IndexType, Mark, Stop, SweepError, counts};
use core::slice;

/// The most lanes whose loops are compiled for their number.
const WIDEST: usize = 16;

/// The adjoints, and what a sweep needs beside them.
struct LaneSweep<'a, V: 'static> {
    lanes: usize,
    adjoints: &'a mut [V],
    values: *mut V,
    known: usize,
    plans: Plans<V>,
    /// The partials of a statement that is rebuilt.
    partials: Vec<V>,
    /// The arguments and partials of a special record.
    list: Vec<(usize, V)>,
    /// Seeds of the statement that is being reversed, where their number is not known when this is compiled.
    seeds: Vec<V>,
}

/// What the seeds of a statement are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seeds {
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
pub(super) unsafe fn lanes_of<const W: usize, V>(adjoints: &mut [V], id: usize, lanes: usize) -> &mut [V] {
    let lanes = if W == 0 { lanes } else { W };
    debug_assert!((id + 1) * lanes <= adjoints.len(), "identifiers are below the recording's length");
    // SAFETY: promised by the caller.
    unsafe { slice::from_raw_parts_mut(adjoints.as_mut_ptr().add(id * lanes), lanes) }
}

/// Moves the adjoints of one variable to `seeds` and makes them 0.
#[inline(always)]
pub(super) fn take<V: Float>(adjoints: &mut [V], seeds: &mut [V]) -> Seeds {
    let (mut any, mut all) = (false, true);
    for (adjoint, seed) in adjoints.iter_mut().zip(&mut *seeds) {
        *seed = core::mem::replace(adjoint, V::zero());
        any |= *seed != V::zero();
        all &= seed.is_ordinary();
    }
    match (any, all) {
        (true, true) => Seeds::All,
        (true, false) if seeds.iter().all(|seed| seed.is_finite()) => Seeds::Some,
        (true, false) => Seeds::Care,
        (false, _) => Seeds::Zero,
    }
}

/// What a sweep with one vector leaves of adjoints that are 0 where there is no call for others: a −0 stays one.
#[inline(always)]
pub(super) fn keep_zeros<V: Float>(adjoints: &mut [V], seeds: &[V]) {
    adjoints.iter_mut().zip(seeds).for_each(|(a, s)| *a = if *s == V::zero() { *s } else { V::zero() });
}

/// Adds seed·partial, lane by lane, where the seed, which is finite, is not 0. All adjoints are read before one is written, or the
/// compiler would have to assume that seeds are among them and could not use vector instructions.
///
/// # Safety
///
/// `W` adjoints lie there.
#[inline(always)]
unsafe fn add_product_of<const W: usize, V: Float>(to: *mut V, seeds: &[V; W], partial: V, all: bool) {
    // SAFETY: promised by the caller; an array is aligned as its elements are.
    unsafe {
        let to = to.cast::<[V; W]>();
        let old = to.read();
        let mut new = old;
        for lane in 0..W {
            let sum = old[lane] + seeds[lane] * partial;
            new[lane] = if all || seeds[lane] != V::zero() { sum } else { old[lane] };
        }
        to.write(new);
    }
}

/// Adds seed·partial, lane by lane, where it counts.
#[inline(always)]
pub(super) fn add_product<V: Float>(to: &mut [V], seeds: &[V], partial: V, all: bool) {
    for (to, seed) in to.iter_mut().zip(seeds).filter(|(_, seed)| all || counts(**seed, partial)) {
        *to += *seed * partial;
    }
}

/// The seeds of a statement: an array where their number is known, else a slice of the sweep's.
macro_rules! seeds {
    ($width:ident, $array:ident, $kept:expr) => {
        if $width == 0 { &mut $kept[..] } else { &mut $array[..$width] }
    };
}
pub(super) use seeds;

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Sweeps with several adjoint vectors; see [`Reverse::reverse_lanes_through`](crate::Reverse::reverse_lanes_through).
    pub(crate) fn reverse_lanes_through(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        ends: (Option<Mark>, Option<Mark>),
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        match lanes {
            1 => self.reverse_lanes::<1>(lanes, adjoints, ends, stops, at),
            2 => self.reverse_lanes::<2>(lanes, adjoints, ends, stops, at),
            4 => self.reverse_lanes::<4>(lanes, adjoints, ends, stops, at),
            8 => self.reverse_lanes::<8>(lanes, adjoints, ends, stops, at),
            WIDEST => self.reverse_lanes::<WIDEST>(lanes, adjoints, ends, stops, at),
            _ => self.reverse_lanes::<0>(lanes, adjoints, ends, stops, at),
        }
    }

    fn reverse_lanes<const W: usize>(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        (from, to): (Option<Mark>, Option<Mark>),
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        assert!(lanes > 0, "a sweep has at least one adjoint vector");
        check_length(adjoints.len() / lanes, self.len());
        let mut copy = self.values_to_restore();
        let (values, known) = self.values_for_sweep(&mut copy);
        let seeds = vec![V::zero(); if W == 0 { lanes } else { 0 }];
        let (plans, partials, list) = (Plans::new(), Vec::new(), Vec::new());
        let mut sweep = LaneSweep { lanes, adjoints, values, known, plans, partials, list, seeds };
        let mut cursor = Cursor::new(self);
        if let Some(from) = from {
            // SAFETY: there are as many values as the recording has identifiers, and they are a copy or not written to.
            unsafe { cursor.go_to(from, values)? }
        }
        let mut down_to = |number: usize, sweep: &mut LaneSweep<'_, V>| {
            cursor.move_to(number, |at, start, numbers, end| {
                // SAFETY: the reader has the bytes as they were written, the data of these records end at `end`, and there are
                // as many adjoints as identifiers and lanes, and values where records read them.
                unsafe { self.reverse_span_lanes::<W>(at, start, numbers, end, sweep) }
            })
        };
        for stop in stops {
            down_to(usize_of(stop.numbers()[0]), &mut sweep)?;
            at(sweep.adjoints)?;
        }
        Ok(down_to(to.map_or(1, |to| usize_of(to.numbers()[0])), &mut sweep)?)
    }

    /// Sweeps over the records of span `at` with numbers below `next` and from `first` on. The segment lies at `start` now, the
    /// data of these records end at `end`. Returns where they begin.
    ///
    /// # Safety
    ///
    /// The segment's bytes are those that were written, `end` belongs to `next`, and `sweep` is fit for the recording.
    unsafe fn reverse_span_lanes<const W: usize>(
        &self,
        at: usize,
        start: *const u8,
        (first, next): (usize, usize),
        mut end: *const u8,
        sweep: &mut LaneSweep<'_, V>,
    ) -> *const u8 {
        let mut code_at = self.spans[at].codes_at(start).wrapping_sub(next.wrapping_sub(1));
        // The inputs that come before all statements have nothing to be reversed.
        let first = first.max(usize_of(self.inputs));
        let mut number = next;
        while number > first {
            number -= 1;
            // SAFETY: the code with this number is in this span, so it lies in the span's segment, in which codes follow one
            // another; it says how many bytes of data lie below `end`. Identifiers in a record are below the recording's length.
            unsafe {
                let code = *code_at;
                code_at = code_at.add(1);
                let plan = sweep.plans.get::<M::Index>(&self.table, code);
                if plan.how == How::Special {
                    end = self.reverse_special_lanes::<W>(code, end, number, sweep);
                    continue;
                }
                let (id, data_end) = Self::undo(end, number, sweep.values);
                end = data_end.sub(plan.bytes);
                let mut array = [V::zero(); WIDEST];
                let seeds = seeds!(W, array, sweep.seeds);
                let adjoints = lanes_of::<W, V>(sweep.adjoints, id, sweep.lanes);
                let taken = take(adjoints, seeds);
                if code >= ASSIGNED && taken != Seeds::All {
                    keep_zeros(adjoints, seeds);
                }
                match taken {
                    Seeds::Zero => {}
                    Seeds::All => self.add_to_lanes::<W, true>(code, end, plan, &array, sweep),
                    Seeds::Some => self.add_to_lanes::<W, false>(code, end, plan, &array, sweep),
                    Seeds::Care => self.add_with_care(code, end.add(plan.bytes + Self::TAIL), &array[..W], sweep),
                }
            }
        }
        end
    }

    /// Adds what a record contributes to the adjoints of its arguments. `ALL` says that no seed is 0; `array` has them if `W` is
    /// not 0.
    ///
    /// # Safety
    ///
    /// A record with this code and plan begins there, and `sweep` is fit for the recording.
    #[inline(always)]
    unsafe fn add_to_lanes<const W: usize, const ALL: bool>(
        &self,
        code: u8,
        record: *const u8,
        plan: Plan,
        array: &[V; WIDEST],
        sweep: &mut LaneSweep<'_, V>,
    ) {
        let one = V::one();
        if plan.how == How::Rerun {
            let rerun = self.table.layout(code).rerun.expect("records without partials are rebuilt");
            sweep.partials.resize(plan.leaves.max(sweep.partials.len()), V::zero());
            // SAFETY: promised by the caller; there is a place for each partial.
            unsafe { rerun(record, (sweep.values, sweep.known), sweep.partials.as_mut_ptr()) };
        }
        let LaneSweep { lanes, adjoints, plans, partials, seeds, .. } = sweep;
        // A copy, which nothing else can point to.
        let seeds_of_array: [V; W] = core::array::from_fn(|lane| array[lane]);
        let ids = record.wrapping_add(plan.payload).cast::<M::Index>();
        let mut add = |k: usize, partial: V| {
            // SAFETY: promised by the caller: there are so many identifiers, below the recording's length.
            unsafe {
                let id = usize_of(ids.add(k).read_unaligned().widen());
                let to = lanes_of::<W, V>(adjoints, id, *lanes);
                if W == 0 {
                    add_product(to, seeds, partial, ALL);
                } else {
                    add_product_of::<W, V>(to.as_mut_ptr(), &seeds_of_array, partial, ALL);
                }
            }
        };
        if plan.how == How::Rerun {
            partials[..plan.leaves].iter().enumerate().for_each(|(k, partial)| add(k, *partial));
        } else {
            let leaves = plans.leaves(plan).iter().enumerate();
            // SAFETY: promised by the caller.
            leaves.for_each(|(k, leaf)| add(k, unsafe { leaf.partial(record, &one) }));
        }
    }

    /// The same for the record that ends at `end`, whatever it is and whatever the seeds, which are those of the sweep if there are
    /// none here.
    ///
    /// # Safety
    ///
    /// A record with this code ends at `end`, and `sweep` is fit for the recording.
    #[cold]
    #[inline(never)]
    unsafe fn add_with_care(&self, code: u8, end: *const u8, seeds: &[V], sweep: &mut LaneSweep<'_, V>) {
        let mut list = core::mem::take(&mut sweep.list);
        list.clear();
        // SAFETY: promised by the caller.
        unsafe { self.list(code, end, values_of(sweep.values, sweep.known), &mut list) };
        let seeds = if seeds.is_empty() { &sweep.seeds } else { seeds };
        for (id, partial) in &list {
            add_product(&mut sweep.adjoints[id * sweep.lanes..][..sweep.lanes], seeds, *partial, false);
        }
        sweep.list = list;
    }

    /// Reverses the record that ends at `end` and returns where it starts.
    ///
    /// # Safety
    ///
    /// A record with this code and number ends at `end`, and `sweep` is fit for the recording.
    #[inline(never)]
    unsafe fn reverse_special_lanes<const W: usize>(
        &self,
        code: u8,
        end: *const u8,
        number: usize,
        sweep: &mut LaneSweep<'_, V>,
    ) -> *const u8 {
        let kind = self.table.kind(code);
        if kind == Kind::Input {
            return end;
        }
        let mut array = [V::zero(); WIDEST];
        let seeds = seeds!(W, array, sweep.seeds);
        // SAFETY: promised by the caller; the result's identifier is below the recording's length.
        unsafe {
            let record = self.special(code, kind, end).record;
            let (id, _) = Self::undo(end, number, sweep.values);
            if take(lanes_of::<W, V>(sweep.adjoints, id, sweep.lanes), seeds) != Seeds::Zero {
                self.add_with_care(code, end, &array[..W], sweep);
            }
            record
        }
    }
}
