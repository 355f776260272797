//! Sweeping with several adjoint vectors at once: the adjoints of one variable, a *lane* for each vector, lie side by side.
//!
//! Each lane gets, bit for bit, what a sweep of its own would give it: the same operations in the same order, none where its
//! seed is 0. The inner loops are compiled for 1, 2, 4, 8 and 16 lanes, in which they become vector instructions, and once
//! for any number (`W` = 0).

use super::layers::Layer;
use super::layout::Partials;
use super::plans::{How, Leaf, Plan, Plans};
use super::records::{Records, usize_of};
use super::table::{ASSIGNED, Kind};
use super::walk::{Cursor, check_length, read, values_of};
use crate::{Float, IndexManager, IndexType, Mark, Stop, SweepError};
use core::slice;
use smallvec::SmallVec;

/// The most lanes whose loops are compiled for their number.
const WIDEST: usize = 16;

/// The adjoints, and what a sweep needs beside them.
struct LaneSweep<'a, V: 'static> {
    lanes: usize,
    adjoints: &'a mut [V],
    values: *mut V,
    known: usize,
    plans: Plans<V>,
    /// What a statement contributes to each lane of each of its arguments.
    contributions: Vec<V>,
    /// Seeds of the statement that is being reversed, where their number is not known when this is compiled.
    seeds: Vec<V>,
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

/// Moves the adjoints of one variable to `seeds` and makes them 0; returns whether any, and whether all, are other than 0.
#[inline(always)]
pub(super) fn take<V: Float>(adjoints: &mut [V], seeds: &mut [V]) -> (bool, bool) {
    let (mut any, mut all) = (false, true);
    for (adjoint, seed) in adjoints.iter_mut().zip(seeds) {
        *seed = core::mem::replace(adjoint, V::zero());
        any |= *seed != V::zero();
        all &= *seed != V::zero();
    }
    (any, all)
}

/// What a sweep with one vector leaves of adjoints that are 0 where there is no call for others: a −0 stays one.
#[inline(always)]
pub(super) fn keep_zeros<V: Float>(adjoints: &mut [V], seeds: &[V]) {
    adjoints.iter_mut().zip(seeds).for_each(|(a, s)| *a = if *s == V::zero() { *s } else { V::zero() });
}

/// [`add_product`] where the number of lanes is known: all adjoints are read before one is written, or the compiler would have to
/// assume that seeds are among them and could not use vector instructions.
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

/// Adds seed·partial, lane by lane, where the seed is not 0.
#[inline(always)]
pub(super) fn add_product<V: Float>(to: &mut [V], seeds: &[V], partial: V, all: bool) {
    if all {
        to.iter_mut().zip(seeds).for_each(|(to, seed)| *to += *seed * partial);
    } else {
        for (to, seed) in to.iter_mut().zip(seeds) {
            let sum = *to + *seed * partial;
            *to = if *seed == V::zero() { *to } else { sum };
        }
    }
}

/// Adds contributions, lane by lane, where the seed is not 0.
#[inline(always)]
fn add<V: Float>(to: &mut [V], seeds: &[V], contributions: &[V], all: bool) {
    if all {
        to.iter_mut().zip(contributions).for_each(|(to, contribution)| *to += *contribution);
    } else {
        for ((to, seed), contribution) in to.iter_mut().zip(seeds).zip(contributions) {
            let sum = *to + *contribution;
            *to = if *seed == V::zero() { *to } else { sum };
        }
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
        let (plans, contributions) = (Plans::new(), Vec::new());
        let mut sweep = LaneSweep { lanes, adjoints, values, known, plans, contributions, seeds };
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
                let (any, all) = take(adjoints, seeds);
                if code >= ASSIGNED && !all {
                    keep_zeros(adjoints, seeds);
                }
                if !any {
                    continue;
                }
                if plan.how == How::Partials {
                    let leaves = sweep.plans.leaves(plan);
                    if all {
                        scatter::<W, V, M::Index, true>(end, plan, leaves, seeds, sweep.adjoints);
                    } else {
                        scatter::<W, V, M::Index, false>(end, plan, leaves, seeds, sweep.adjoints);
                    }
                } else {
                    let layout = self.table.layout(code);
                    let rerun = layout.rerun.expect("records without partials are rebuilt");
                    let places = plan.leaves * seeds.len();
                    if places > sweep.contributions.len() {
                        sweep.contributions.resize(places, V::zero());
                    }
                    rerun(end, (sweep.values, sweep.known), seeds, sweep.contributions.as_mut_ptr());
                    let ids = read::<M::Index>(end.add(plan.payload), plan.leaves).map(|id| usize_of(id.widen()));
                    for (id, contributions) in ids.zip(sweep.contributions.chunks_exact(seeds.len())) {
                        add(lanes_of::<W, V>(sweep.adjoints, id, sweep.lanes), seeds, contributions, all);
                    }
                }
            }
        }
        end
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
        // SAFETY: promised by the caller; nothing writes to the values while they are borrowed below.
        let (special, id, values) = unsafe {
            let special = self.special(code, kind, end);
            let (id, _) = Self::undo(end, number, sweep.values);
            (special, id, values_of(sweep.values, sweep.known))
        };
        let lanes = sweep.lanes;
        let mut array = [V::zero(); WIDEST];
        let seeds = seeds!(W, array, sweep.seeds);
        let adjoints = &mut *sweep.adjoints;
        // SAFETY: the result's identifier is below the recording's length.
        let (any, all) = take(unsafe { lanes_of::<W, V>(adjoints, id, lanes) }, seeds);
        if !any {
            return special.record;
        }
        let mut add_to = |id: usize, partial: V| add_product(&mut adjoints[id * lanes..][..lanes], seeds, partial, all);
        // SAFETY: `special` describes the record.
        let (payload, ids) = unsafe { special.parts::<M::Index>() };
        match kind {
            Kind::Wide => ids.zip(payload).for_each(|(id, partial)| add_to(id, partial)),
            Kind::Ones => ids.for_each(|id| add_to(id, V::one())),
            Kind::Nary => {
                let layout = special.layout.expect("n-ary records have a layout");
                layout.partials_at(ids.clone().map(|id| values[id]), payload, |partials| {
                    ids.zip(partials).for_each(|(id, partial)| add_to(id, *partial));
                });
            }
            Kind::Mixed | Kind::Explicit => {
                let layout = special.layout.expect("typed records have a layout");
                let passive = special.payload - layout.payload;
                let payload: SmallVec<[V; 128]> = payload.collect();
                let values: Partials<V> = layout.values_at(ids.clone(), &payload[..passive], values);
                for (lane, seed) in seeds.iter().enumerate().filter(|(_, seed)| **seed != V::zero()) {
                    let contributions = layout.expand::<M::Index>(*seed, &payload[passive..], &values);
                    for (id, contribution) in ids.clone().zip(contributions).filter(|(id, _)| *id != 0) {
                        adjoints[id * lanes + lane] += contribution;
                    }
                }
            }
            Kind::Input | Kind::Classic(_) | Kind::Typed | Kind::Pattern => {
                unreachable!("inputs have no data, the others have plans")
            }
        }
        special.record
    }
}

/// Adds what a record of partials contributes to the adjoints of its arguments. `ALL` says that no seed is 0.
///
/// # Safety
///
/// A record of this plan begins there, and its identifiers are below the number of adjoints divided by that of seeds.
#[inline(always)]
unsafe fn scatter<const W: usize, V: Float, I: IndexType, const ALL: bool>(
    record: *const u8,
    plan: Plan,
    leaves: &[Leaf<V>],
    seeds: &[V],
    adjoints: &mut [V],
) {
    let ids = record.wrapping_add(plan.payload).cast::<I>();
    let one = V::one();
    // A copy, which nothing else can point to.
    let array: [V; W] = core::array::from_fn(|lane| seeds[lane]);
    for (k, leaf) in leaves.iter().enumerate() {
        // SAFETY: promised by the caller.
        unsafe {
            let id = usize_of(ids.add(k).read_unaligned().widen());
            let partial = leaf.partial(record, &one);
            let to = lanes_of::<W, V>(adjoints, id, seeds.len());
            if W == 0 {
                add_product(to, seeds, partial, ALL);
            } else {
                add_product_of::<W, V>(to.as_mut_ptr(), &array, partial, ALL);
            }
        }
    }
}
