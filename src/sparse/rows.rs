//! Sparse Jacobian matrices row by row, each row by the records that it depends on.

use super::matrix::SparseMatrix;
use crate::error::Error;
use crate::expr::Real;
use crate::pattern::Pattern;
use crate::tape::{LaneVector, Tape};
use core::cmp::Reverse as Descending;
use core::ops::Range;
use tapewright_strategies::{Float, Number, Reverse, RowGroup, RowGroups, RowSweep, untouched};

/// The way to find rows one after the other, in the order of the recording.
///
/// Rows that share columns cannot have a color in common, but they may share few records, as in a sum over many small
/// functions of the same parameters: then a sweep from one of them passes few records.
#[derive(Clone, Debug)]
pub(super) struct RowByRow<V> {
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
    groups: Groups,
    /// The adjoints of sweeps over known groups.
    vectors: Option<LaneVector<V>>,
}

/// The groups of outputs that the latest sweep found, for the next one, which need not note where adjoints arrive then.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// Empty if they are not known.
    list: Vec<RowGroup>,
    /// For each row, true if the next one has the same columns.
    alike: Vec<bool>,
    /// What came of them so far.
    tried: Tried,
}

/// What came of known groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tried {
    #[default]
    Not,
    /// They were right.
    Right,
    /// They were wrong the first time: recordings differ, and groups are not kept.
    Wrong,
}

impl Groups {
    /// Forgets the groups, and returns the list for new ones.
    fn begin(&mut self, pattern: &Pattern) -> &mut Vec<RowGroup> {
        if self.alike.is_empty() {
            self.alike.extend((1..pattern.rows()).map(|row| pattern.row(row - 1) == pattern.row(row)));
        }
        self.list.clear();
        &mut self.list
    }

    fn are_known(&self) -> bool {
        self.tried != Tried::Wrong && !self.list.is_empty()
    }

    fn tried(&mut self, right: bool) {
        self.tried = match (right, self.tried) {
            (true, _) => Tried::Right,
            (false, Tried::Right) => Tried::Not,
            (false, _) => Tried::Wrong,
        };
    }

    /// Returns true if these rows are neighbors with the same columns.
    fn are_alike(&self, rows: &[usize]) -> bool {
        rows.windows(2).all(|pair| pair[0].abs_diff(pair[1]) == 1 && self.alike[pair[0].min(pair[1])])
    }
}

/// Takes the entries of a row from the adjoints in one lane, and sets those to 0; to −0 if `KNOWN`.
fn take_row<V: Number, const KNOWN: bool>(adjoints: &mut [V], (places, lane): (&[usize], usize), values: &mut [V]) {
    for (place, value) in places.iter().zip(values) {
        let adjoint = core::mem::replace(&mut adjoints[place + lane], if KNOWN { -V::ZERO } else { V::ZERO });
        // Adjoints arrive at passive variables, too.
        *value = if *place == 0 {
            V::ZERO
        } else if KNOWN {
            adjoint + V::ZERO
        } else {
            adjoint
        };
    }
}

/// The largest number of lanes.
const WIDTH: usize = 8;

impl<V> Default for RowByRow<V> {
    fn default() -> Self {
        let [slots, columns, outputs, rows, places] = [const { Vec::new() }; 5];
        Self {
            lanes: WIDTH,
            slots,
            places: (places, 0),
            columns,
            outputs,
            rows,
            groups: Groups::default(),
            vectors: None,
        }
    }
}

impl<V: Float> RowByRow<V> {
    /// Computes the matrix, unless it would take more records than this many sweeps of the recording, or strategy and
    /// recording do not allow it; returns true if it has done so.
    ///
    /// # Errors
    ///
    /// The errors of [`SparseJacobian::evaluate`](super::SparseJacobian::evaluate).
    pub(super) fn evaluate<S: Reverse<Value = V>>(
        &mut self,
        (tape, passes): (&mut Tape<S>, usize),
        inputs: &[Real<S>],
        outputs: &[Real<S>],
        matrix: &mut SparseMatrix<V>,
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
        let passive = self.outputs.iter().rev().take_while(|slot| **slot == 0).count();
        for row in &self.rows[self.rows.len() - passive..] {
            values[pattern.starts()[*row]..][..pattern.row(*row).len()].fill(V::ZERO);
        }
        let most = if self.groups.are_known() && self.columns.len() == self.slots.len() {
            match self.lanes {
                1 => self.by_groups::<S, 1>(tape, matrix)?,
                2 => self.by_groups::<S, 2>(tape, matrix)?,
                4 => self.by_groups::<S, 4>(tape, matrix)?,
                _ => self.by_groups::<S, WIDTH>(tape, matrix)?,
            }
        } else {
            None
        };
        let most = if most.is_some() { most } else { self.by_notes((tape, passes), matrix)? };
        self.lanes = most.map_or(0, |most| most.max(1).next_power_of_two());
        Ok(most.is_some())
    }

    /// Finds all rows by a sweep that notes where adjoints arrive. Returns the largest number of lanes in use; `None`
    /// if the sweep gave up.
    fn by_notes<S: Reverse<Value = V>>(
        &mut self,
        (tape, passes): (&mut Tape<S>, usize),
        matrix: &mut SparseMatrix<V>,
    ) -> Result<Option<usize>, Error> {
        let (pattern, values) = matrix.values_mut();
        let (lanes, limit) = (self.lanes, passes * tape.record_count());
        let (mut outside, starts): (Option<(usize, usize)>, _) = (None, pattern.starts());
        let Self { slots, columns, outputs, rows, places: (places, _), groups, .. } = &mut *self;
        let active = outputs.partition_point(|slot| *slot > 0);
        let mut take = |group: Range<usize>, adjoints: &mut [V], touched: &[usize]| {
            for (lane, row) in rows[group.clone()].iter().enumerate() {
                let entries = starts[*row]..starts[*row + 1];
                take_row::<_, false>(adjoints, (&places[entries.clone()], lane), &mut values[entries]);
            }
            // What is left belongs to inputs that nobody asks for, or to entries that the pattern lacks.
            for slot in touched {
                let left = &mut adjoints[slot * lanes..][..lanes];
                if left.iter().all(|adjoint| adjoint.is_nought()) {
                    continue;
                }
                let column = columns.binary_search_by_key(slot, |column| slots[*column]).map(|at| columns[at]);
                for (row, _) in rows[group.clone()].iter().zip(&*left).filter(|(_, left)| !left.is_nought()) {
                    let entry = column.map(|column| (*row, column)).ok();
                    outside = outside.into_iter().chain(entry).min();
                }
                left.fill(V::ZERO);
            }
        };
        let (outputs, inputs_end) = (&outputs[..active], 1 + slots.iter().max().unwrap_or(&0));
        let found = RowGroups::Unknown(groups.begin(pattern));
        let found =
            tape.sweep_rows(None, RowSweep { outputs, inputs_end, lanes, limit, groups: found, done: &mut take })?;
        if let Some((row, column)) = outside.filter(|_| found.is_some()) {
            return Err(Error::PatternChanged { row: Some(row), column: Some(column) });
        }
        Ok(found)
    }

    /// Finds all rows, group by group, as [`by_notes`](Self::by_notes) does; `None` if these are not the groups.
    fn by_groups<S: Reverse<Value = V>, const W: usize>(
        &mut self,
        tape: &mut Tape<S>,
        matrix: &mut SparseMatrix<V>,
    ) -> Result<Option<usize>, Error> {
        let (pattern, values) = matrix.values_mut();
        let Self { slots, outputs, rows, places: (places, _), groups, vectors, .. } = self;
        let vectors = vectors.get_or_insert_with(LaneVector::of_rows);
        let (active, starts) = (outputs.partition_point(|slot| *slot > 0), pattern.starts());
        let places_of = |row: usize| &places[starts[row]..starts[row + 1]];
        let mut is_untouched = |group: Range<usize>, adjoints: &[V]| {
            let rows = &rows[group];
            let rows = if groups.are_alike(rows) { &rows[..1] } else { rows };
            let at = |place: usize| adjoints[place..].first_chunk::<W>().expect("there are adjoints for each slot");
            rows.iter().all(|row| places_of(*row).iter().fold(true, |all, place| all & untouched(at(*place))))
        };
        let mut take = |group: Range<usize>, adjoints: &mut [V], _: &[usize]| {
            let rows = &rows[group];
            let entries = |row: usize| starts[row]..starts[row + 1];
            if rows.len() == W && groups.are_alike(rows) {
                let ranges = core::array::from_fn::<_, W, _>(|lane| entries(rows[lane]));
                let mut to = values.get_disjoint_mut(ranges).expect("rows are disjoint");
                for (k, place) in places_of(rows[0]).iter().enumerate() {
                    let at = adjoints[*place..].first_chunk_mut::<W>().expect("there are adjoints for each slot");
                    let found = core::mem::replace(at, [-V::ZERO; W]);
                    to.iter_mut().zip(found).for_each(|(to, found)| to[k] = found + V::ZERO);
                }
                return;
            }
            for (lane, row) in rows.iter().enumerate() {
                take_row::<_, true>(adjoints, (places_of(*row), lane), &mut values[entries(*row)]);
            }
        };
        let (outputs, inputs_end) = (&outputs[..active], 1 + slots.iter().max().unwrap_or(&0));
        let known = RowGroups::Known(&groups.list, &mut is_untouched);
        let sweep = RowSweep { outputs, inputs_end, lanes: W, limit: 1, groups: known, done: &mut take };
        let found = tape.sweep_rows(Some(vectors), sweep)?;
        self.groups.tried(found.is_some());
        Ok(found)
    }

    /// Lists the slots of columns and rows; returns false if a variable has several columns.
    fn list<S: Reverse<Value = V>>(
        &mut self,
        tape: &Tape<S>,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
    ) -> Result<bool, Error> {
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
