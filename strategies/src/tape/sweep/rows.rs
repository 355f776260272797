//! Sweeps from many outputs, one after the other, each over as many records as it depends on.
//!
//! An output gets a lane when the sweep comes to its record. Outputs whose records are passed before all adjoints have
//! arrived at inputs get the lanes beside it, since they may depend on the same records; when no lane is left, the
//! sweep comes back to the next one. So a Jacobian matrix of many small functions costs one sweep, however full its
//! columns.

use super::vector::{LaneSweep, Reached};
use crate::contract::AtExternal;
use crate::rows::RowSweep;
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
        touched.resize(inputs, 0);
        let mut sweep = LaneSweep::new(W, adjoints, 0, at);
        sweep.to.reached = Some(Reached::new(&mut touched));
        let (mut cursor, mut most) = (Cursor::new(self), 0);
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
            group.outputs.start = group.outputs.end;
            if let Some((place, next)) = group.left_out.take() {
                cursor.go_to_place(place, next);
            }
        }
        for output in group.outputs.end..rows.outputs.len() {
            let slot = rows.outputs[output];
            sweep.to.all[slot * W] = V::ONE;
            (rows.done)(output..output + 1, sweep.to.all, &[slot]);
        }
        Ok(Some(most))
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
            Self::reverse_one_lanes::<W, true>(met, number, values, sweep)?;
            rows.limit -= 1;
            let arrived = sweep.to.reached.as_ref().is_none_or(|reached| reached.lowest >= number);
            Ok(!arrived && rows.limit > 0)
        })
    }
}
