//! Rows of ranges, and sums over each of them.

use super::blocks::{POINTS, each_block, sum_of_blocks};
use crate::Number;
use crate::kernel::ir::access::OUTPUTS;
use crate::kernel::ir::grid::{IndexRange, each_row};
use core::cell::Cell;

/// Sums each row of a range; `sum` sums the first expression over a part of the range. Threads share the rows, or the
/// points of each row if rows are very long.
pub(crate) fn sum_of_rows<V: Number>(
    range: &IndexRange,
    sums: &mut [V],
    sum: impl Fn(&IndexRange) -> [V; OUTPUTS] + Sync,
) {
    let rows = Rows::of(range);
    assert!(sums.len() == rows.count(), "a sum for each row");
    let sum = |row| sum_of_blocks(&rows.row(row), &sum)[0];
    if rows.length() > POINTS {
        each_row!(range, row => { sums[rows.number(row)] = sum(row) });
        return;
    }
    let sums = &Shared(Cell::from_mut(sums).as_slice_of_cells());
    each_block(range, 1, |part| {
        each_row!(part, row => {
            // SAFETY: parts consist of complete rows, which are no longer than a part may be, so nobody else uses this
            // sum.
            unsafe { sums.set(rows.number(row), sum(row)) }
        });
    });
}

/// Elements that several threads write, each its own.
struct Shared<'a, V>(&'a [Cell<V>]);

// SAFETY: the caller of `set` promises that nobody else uses the element.
unsafe impl<V: Number> Sync for Shared<'_, V> {}

impl<V: Number> Shared<'_, V> {
    /// # Safety
    ///
    /// Nobody else uses this element.
    unsafe fn set(&self, k: usize, value: V) {
        self.0[k].set(value);
    }
}

/// The rows of a range, in order.
pub(crate) struct Rows<'a>(&'a IndexRange);

impl<'a> Rows<'a> {
    pub(crate) const fn of(range: &'a IndexRange) -> Self {
        Self(range)
    }

    fn extent(&self, d: usize) -> isize {
        (self.0.hi[d] - self.0.lo[d]).max(0)
    }

    fn length(&self) -> isize {
        self.extent(3)
    }

    pub(crate) fn count(&self) -> usize {
        (0..3).map(|d| self.extent(d).unsigned_abs()).product()
    }

    pub(crate) fn number(&self, row: [isize; 3]) -> usize {
        (0..3).fold(0, |number, d| number * self.extent(d) + row[d] - self.0.lo[d]).unsigned_abs()
    }

    pub(crate) fn row(&self, row: [isize; 3]) -> IndexRange {
        let [a, b, c] = row;
        IndexRange { lo: [a, b, c, self.0.lo[3]], hi: [a + 1, b + 1, c + 1, self.0.hi[3]] }
    }
}
