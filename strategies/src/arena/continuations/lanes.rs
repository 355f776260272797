//! Calling the closures with several adjoints at once.

use super::super::lanes::{Seeds, add_product, keep_zeros, lanes_of, seeds, take};
use super::super::walk::check_length;
use super::Continuations;
use super::closure::{Vtable, arguments, result};
use super::sweep::Cursor;
use crate::{Float, IndexManager, Mark, Stop, SweepError};

/// The adjoints, and what a sweep needs beside them.
struct LaneSweep<'a, V> {
    lanes: usize,
    adjoints: &'a mut [V],
    seeds: Vec<V>,
    contributions: Vec<V>,
}

impl<V: Float, M: IndexManager> Continuations<V, M> {
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
            8 => self.reverse_lanes::<8>(lanes, adjoints, ends, stops, at),
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
        let Some(mut cursor) = Cursor::new(self) else {
            return stops.map(|_| ()).try_for_each(|()| at(adjoints));
        };
        if let Some(from) = from {
            cursor.go_to(from);
        }
        let mut sweep = LaneSweep { lanes, adjoints, seeds: vec![V::zero(); lanes], contributions: Vec::new() };
        for stop in stops {
            cursor.move_to(Some(stop), |vtable, end| Self::call_lanes::<W>(vtable, end, &mut sweep));
            at(sweep.adjoints)?;
        }
        cursor.move_to(to, |vtable, end| Self::call_lanes::<W>(vtable, end, &mut sweep));
        Ok(())
    }

    /// Calls the closure of this type that ends there; returns how many bytes were captured.
    fn call_lanes<const W: usize>(vtable: &Vtable<V>, end: *const u8, sweep: &mut LaneSweep<'_, V>) -> usize {
        let LaneSweep { lanes, adjoints, seeds, contributions } = sweep;
        let mut array = [V::zero(); 8];
        let seeds = seeds!(W, array, seeds);
        // SAFETY: the cursor found the closure; its identifiers are below the length of the recording, and there are as many
        // adjoints in each lane.
        unsafe {
            let bytes = if vtable.bytes != 0 { vtable.bytes } else { (vtable.extent)(end).bytes };
            let found = lanes_of::<W, V>(adjoints, result::<M::Index>(end), *lanes);
            let taken = take(found, seeds);
            if taken != Seeds::All {
                keep_zeros(found, seeds);
            }
            if taken == Seeds::Zero {
                return bytes;
            }
            let slots = || arguments::<V, M::Index>(vtable, end);
            if vtable.foreign {
                for (lane, seed) in seeds.iter().enumerate().filter(|(_, seed)| **seed != V::zero()) {
                    contributions.clear();
                    let (asked, factor) = if seed.is_finite() { (*seed, V::one()) } else { (V::one(), *seed) };
                    (vtable.list)(end, asked, contributions);
                    for (slot, found) in slots().zip(&*contributions) {
                        let to = &mut lanes_of::<W, V>(adjoints, slot, *lanes)[lane..=lane];
                        add_product(to, &[factor], *found, false);
                    }
                }
            } else {
                contributions.clear();
                (vtable.list)(end, V::one(), contributions);
                for (slot, partial) in slots().zip(&*contributions) {
                    add_product(lanes_of::<W, V>(adjoints, slot, *lanes), seeds, *partial, taken == Seeds::All);
                }
            }
            bytes
        }
    }
}
