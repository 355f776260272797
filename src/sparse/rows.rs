//! Sparse Jacobian matrices row by row, each row by the records that it depends on.

use super::matrix::SparseMatrix;
use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use core::cmp::Reverse as Descending;
use core::ops::Range;
use tapewright_strategies::{Float, Number, Reverse, RowSweep};

/// The way to find rows one after the other, in the order of the recording.
///
/// Rows that share columns cannot have a color in common, but they may share few records, as in a sum over many small
/// functions of the same parameters: then a sweep from one of them passes few records.
#[derive(Clone, Debug)]
pub(super) struct RowByRow {
    /// Number of lanes in a sweep; 0 if sweeps in colors cost less.
    lanes: usize,
    /// The slot of each column, 0 if it is passive.
    slots: Vec<usize>,
    /// For each entry, the index of the first adjoint of its column, and for how many lanes.
    places: (Vec<usize>, usize),
    /// The columns in the order of their slots.
    columns: Vec<usize>,
    /// The slots of outputs, 0 for passive ones, in descending order, and the row of each.
    outputs: Vec<usize>,
    rows: Vec<usize>,
}

/// The largest number of lanes.
const WIDTH: usize = 8;

impl Default for RowByRow {
    fn default() -> Self {
        let [slots, columns, outputs, rows, places] = [const { Vec::new() }; 5];
        Self { lanes: WIDTH, slots, places: (places, 0), columns, outputs, rows }
    }
}

impl RowByRow {
    /// Computes the matrix, unless it would take more records than this many sweeps of the recording, or strategy and
    /// recording do not allow it; returns true if it has done so.
    ///
    /// # Errors
    ///
    /// The errors of [`SparseJacobian::evaluate`](super::SparseJacobian::evaluate).
    pub(super) fn evaluate<S: Reverse<Value: Float>>(
        &mut self,
        (tape, passes): (&mut Tape<S>, usize),
        inputs: &[Real<S>],
        outputs: &[Real<S>],
        matrix: &mut SparseMatrix<S::Value>,
    ) -> Result<bool, Error> {
        if self.lanes == 0 {
            return Ok(false);
        }
        if !self.list(tape, inputs, outputs)? {
            return Ok(false);
        }
        let (pattern, values) = matrix.values_mut();
        if self.places.1 != self.lanes {
            self.places.0.clear();
            self.places.0.extend(pattern.indices().iter().map(|column| self.slots[*column] * self.lanes));
            self.places.1 = self.lanes;
        }
        let (lanes, limit) = (self.lanes, passes * tape.record_count());
        let (mut outside, starts): (Option<(usize, usize)>, _) = (None, pattern.starts());
        let Self { slots, columns, outputs, rows, places: (places, _), .. } = &*self;
        let passive = outputs.iter().rev().take_while(|slot| **slot == 0).count();
        let (active, without) = rows.split_at(rows.len() - passive);
        for row in without {
            values[pattern.starts()[*row]..][..pattern.row(*row).len()].fill(S::Value::ZERO);
        }
        let mut take = |group: Range<usize>, adjoints: &mut [S::Value], touched: &[usize]| {
            for (lane, row) in active[group.clone()].iter().enumerate() {
                let entries = starts[*row]..starts[*row + 1];
                for (place, value) in places[entries.clone()].iter().zip(&mut values[entries]) {
                    // Adjoints arrive at passive variables, too.
                    let adjoint = core::mem::replace(&mut adjoints[place + lane], S::Value::ZERO);
                    *value = if *place == 0 { S::Value::ZERO } else { adjoint };
                }
            }
            // What is left belongs to inputs that nobody asks for, or to entries that the pattern lacks.
            for slot in touched {
                let left = &mut adjoints[slot * lanes..][..lanes];
                if left.iter().all(|adjoint| adjoint.is_nought()) {
                    continue;
                }
                let column = columns.binary_search_by_key(slot, |column| slots[*column]).map(|at| columns[at]);
                for (row, _) in active[group.clone()].iter().zip(&*left).filter(|(_, left)| !left.is_nought()) {
                    let entry = column.map(|column| (*row, column)).ok();
                    outside = outside.into_iter().chain(entry).min();
                }
                left.fill(S::Value::ZERO);
            }
        };
        let (outputs, inputs_end) = (&outputs[..active.len()], 1 + slots.iter().max().unwrap_or(&0));
        let found = tape.sweep_rows(RowSweep { outputs, inputs_end, lanes, limit, done: &mut take })?;
        let Some(most) = found else {
            self.lanes = 0;
            return Ok(false);
        };
        if let Some((row, column)) = outside {
            return Err(Error::PatternChanged { row: Some(row), column: Some(column) });
        }
        self.lanes = most.max(1).next_power_of_two();
        Ok(true)
    }

    /// Lists the slots of columns and rows; returns false if a variable has several columns.
    fn list<S: Reverse>(&mut self, tape: &Tape<S>, inputs: &[Real<S>], outputs: &[Real<S>]) -> Result<bool, Error> {
        self.slots.resize(inputs.len(), 0);
        for (slot, input) in self.slots.iter_mut().zip(inputs) {
            let found = tape.slot(input)?.unwrap_or(0);
            if core::mem::replace(slot, found) != found {
                self.places.1 = 0;
            }
        }
        self.columns.clear();
        self.columns.extend((0..inputs.len()).filter(|column| self.slots[*column] > 0));
        self.columns.sort_unstable_by_key(|column| self.slots[*column]);
        self.outputs.clear();
        for output in outputs {
            self.outputs.push(tape.slot(output)?.unwrap_or(0));
        }
        self.rows.clear();
        // Mostly in order already.
        self.rows.extend((0..outputs.len()).rev());
        self.rows.sort_unstable_by_key(|row| Descending(self.outputs[*row]));
        self.outputs.sort_unstable_by_key(|slot| Descending(*slot));
        Ok(self.columns.windows(2).all(|pair| self.slots[pair[0]] < self.slots[pair[1]]))
    }
}
