//! Sweeps from many outputs, one after the other, each over as many records as it depends on.
//!
//! An output gets a lane when the sweep comes to its record. Outputs whose records are passed before all adjoints have
//! arrived at inputs get the lanes beside it, since they may depend on the same records; when no lane is left, the
//! sweep comes back to the next one. So a Jacobian matrix of many small functions costs one sweep, however full its
//! columns.

use super::vector::{KNOWN, LaneSweep, NOTES, Reached};
use crate::contract::AtExternal;
use crate::rows::{DoneRows, IsUntouched, RowGroup, RowGroups, RowSweep, untouched};
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::read::cursor::{Cursor, Values};
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError};
use core::ops::Range;

/// The outputs that are being swept from, by their index in the list.
struct Group {
    outputs: Range<usize>,
    /// The place and the number behind the first output that got no lane, to which the sweep comes back.
    left_out: Option<((usize, usize), usize)>,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from these outputs; see [`Reverse::reverse_rows`](crate::Reverse::reverse_rows).
    pub(crate) fn reverse_rows(&self, adjoints: &mut [V], rows: RowSweep<'_, V>) -> Result<Option<usize>, SweepError> {
        match rows.lanes {
            1 => self.reverse_rows_in::<1>(adjoints, rows),
            2 => self.reverse_rows_in::<2>(adjoints, rows),
            4 => self.reverse_rows_in::<4>(adjoints, rows),
            8 => self.reverse_rows_in::<8>(adjoints, rows),
            lanes => unreachable!("{lanes} lanes"),
        }
    }

    fn reverse_rows_in<const W: usize>(
        &self,
        adjoints: &mut [V],
        mut rows: RowSweep<'_, V>,
    ) -> Result<Option<usize>, SweepError> {
        let inputs = usize_of(self.inputs);
        // Numbers of records must be slots, and inputs that are asked for must come before all records.
        if M::REUSES || rows.inputs_end > inputs {
            return Ok(None);
        }
        self.check_length(adjoints.len() / W);
        let at: &mut AtExternal<'_, V> = &mut |external, _, _: &mut [V]| Err(SweepError::left_out(external));
        let (mut values, mut touched) = (self.walked_values(), Scratch::<usize>::new());
        let mut sweep = LaneSweep::new(W, adjoints, 0, at);
        let (mut cursor, mut most, mut overlap) = (Cursor::new(self), 0, false);
        if let RowGroups::Known(groups, is_untouched) = &mut rows.groups {
            let (groups, is_untouched) = (*groups, &mut **is_untouched);
            let rest = (rows.outputs, &mut *rows.done);
            return self.reverse_known::<W>((&mut cursor, &mut values), (groups, is_untouched), rest, &mut sweep);
        }
        touched.resize(inputs, 0);
        sweep.to.reached = Some(Reached::new(&mut touched));
        let mut group = Group { outputs: 0..0, left_out: None };
        while group.outputs.end < rows.outputs.len() && rows.outputs[group.outputs.end] >= inputs {
            cursor.skip_to(rows.outputs[group.outputs.end] + 1)?;
            Self::reverse_group::<W>((&mut cursor, &mut values), &mut group, &mut rows, &mut sweep)?;
            if rows.limit == 0 {
                return Ok(None);
            }
            most = most.max(group.outputs.len());
            let Some(reached) = &mut sweep.to.reached else { unreachable!("it was set above") };
            reached.finish(|touched| (rows.done)(group.outputs.clone(), sweep.to.all, touched));
            if let RowGroups::Unknown(found) = &mut rows.groups {
                found.push(RowGroup { outputs: group.outputs.clone(), lowest: cursor.next() });
            }
            group.outputs.start = group.outputs.end;
            if let Some((place, next)) = group.left_out.take() {
                overlap = true;
                cursor.go_to_place(place, next);
            }
        }
        for output in group.outputs.end..rows.outputs.len() {
            let slot = rows.outputs[output];
            sweep.to.all[slot * W] = V::ONE;
            (rows.done)(output..output + 1, sweep.to.all, &[slot]);
        }
        if let RowGroups::Unknown(found) = rows.groups
            && (overlap || V::PARTS > 1 || V::VARIABLE)
        {
            found.clear();
        }
        Ok(Some(most))
    }

    /// Sweeps from outputs whose groups are known. Gives up if an adjoint arrives where it should not: each slot is
    /// looked at before the sweep comes to it, or at the end.
    fn reverse_known<const W: usize>(
        &self,
        (cursor, values): (&mut Cursor<'_, V, M, L, K>, &mut Values<'_, V>),
        (groups, is_untouched): (&[RowGroup], &mut IsUntouched<'_, V>),
        (outputs, done): (&[usize], &mut DoneRows<'_, V>),
        sweep: &mut LaneSweep<'_, V>,
    ) -> Result<Option<usize>, SweepError> {
        let (inputs, mut most, mut next) = (usize_of(self.inputs), 0, 0);
        // Slots from here on have been looked at.
        let mut above = self.len();
        for RowGroup { outputs: group, lowest } in groups {
            // There may be fewer outputs than before: constants have none.
            let Some(slots) = outputs.get(group.clone()) else { return Ok(None) };
            let lowest = (*lowest).max(inputs);
            let are_between = slots.iter().all(|slot| (lowest..above).contains(slot));
            let are_next = group.start == next && slots.len() <= W;
            if !are_between || !are_next || !untouched(&sweep.to.all[lowest * W..above * W]) {
                return Ok(None);
            }
            (next, above, most) = (group.end, lowest, most.max(slots.len()));
            let Some(last) = slots.first() else { return Ok(None) };
            if !is_untouched(group.clone(), sweep.to.all) {
                return Ok(None);
            }
            slots.iter().enumerate().for_each(|(lane, slot)| sweep.to.all[slot * W + lane] += V::ONE);
            if cursor.next() > last + 1 {
                cursor.skip_to(last + 1)?;
            }
            cursor.down_by_code(lowest, values, |met, (number, _), values| {
                Self::reverse_one_lanes::<W, KNOWN>(met, number, values, sweep).map(|()| true)
            })?;
            // Inputs among records may reach further down, to slots that have not been looked at.
            if cursor.next() < lowest {
                return Ok(None);
            }
            done(group.clone(), sweep.to.all, &[]);
        }
        for (output, slot) in outputs.iter().enumerate().skip(next) {
            if *slot >= inputs || !is_untouched(output..output + 1, sweep.to.all) {
                return Ok(None);
            }
            sweep.to.all[slot * W] = V::ONE;
            done(output..output + 1, sweep.to.all, &[]);
        }
        Ok(untouched(&sweep.to.all[W..above * W]).then_some(most))
    }

    /// Sweeps from the next outputs, as many as there are lanes, until all adjoints have arrived at inputs. The limit
    /// is 0 afterwards if it was reached.
    fn reverse_group<const W: usize>(
        (cursor, values): (&mut Cursor<'_, V, M, L, K>, &mut Values<'_, V>),
        group: &mut Group,
        rows: &mut RowSweep<'_, V>,
        sweep: &mut LaneSweep<'_, V>,
    ) -> Result<(), SweepError> {
        cursor.down_by_code(1, values, |met, (number, place), values| {
            while let Some(output) = rows.outputs.get(group.outputs.end).filter(|output| **output >= number) {
                let lane = group.outputs.len();
                if lane == W || group.left_out.is_some() {
                    group.left_out.get_or_insert((place, number + met.numbers()));
                    break;
                }
                // Those among several inputs are none of the inputs that are asked for.
                if met.numbers() == 1 {
                    sweep.to.all[*output * W + lane] += V::ONE;
                }
                group.outputs.end += 1;
            }
            Self::reverse_one_lanes::<W, NOTES>(met, number, values, sweep)?;
            rows.limit -= 1;
            let arrived = sweep.to.reached.as_ref().is_none_or(|reached| reached.lowest >= number);
            Ok(!arrived && rows.limit > 0)
        })
    }
}
