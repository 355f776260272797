//! The largest and the smallest value over a range.

use super::forward::{Operand, Term, Value, memory};
use super::grid::{Grid, Region, each_row};
use super::lane::Vector;
use super::level::Task;
use super::memory::{Memory, inner};
use super::program::Program;
use crate::Float;

/// The smallest value of a program's expression over the grid, or the largest, and its place among the elements: at a tie the first.
/// A NaN is passed over unless there is nothing else. `None` for an empty range.
///
/// # Panics
///
/// As [`run`](super::run).
#[track_caller]
pub fn extremum<'m, V: Float, P: Program>(
    program: &P,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
    largest: bool,
) -> Option<(V, usize)> {
    assert!(!P::WRITES, "a reduction has one expression, which is not written");
    let (memory, _) = memory::<V, P>(grid, operands);
    if grid.range.is_empty() {
        return None;
    }
    let term = Value(program);
    let inner = inner(&P::LEAVES, memory.shape, &grid.range);
    let search = Search { term: &term, memory: &memory, inner: &inner, range: &grid.range };
    // SAFETY: checked above.
    let found = unsafe {
        let best = V::at_level(Best { search, largest });
        V::at_level(First { search, best })
    };
    // Nothing but NaN.
    found.or_else(|| {
        let first = [grid.range.lo[0], grid.range.lo[1], grid.range.lo[2]];
        let element = memory.at(first, grid.range.lo[3]).unsigned_abs();
        Some((term.single(&memory, grid.range.lo), element))
    })
}

/// Where to look.
///
/// Reads are safe if `memory` is fit for the range, and at the points of `inner` all reads are inside the views.
struct Search<'a, V, T> {
    term: &'a T,
    memory: &'a Memory<V>,
    inner: &'a Region,
    range: &'a Region,
}
impl<V, T> Clone for Search<'_, V, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V, T> Copy for Search<'_, V, T> {}

impl<V: Float, T: Term<V>> Search<'_, V, T> {
    /// The points of a row that can be read in groups.
    #[inline(always)]
    fn groups<L: Vector<Number = V>>(&self, row: [isize; 3]) -> (isize, isize) {
        let inside = (0..3).all(|d| row[d] >= self.inner.lo[d] && row[d] < self.inner.hi[d]);
        let (from, end) = (self.inner.lo[3].max(self.range.lo[3]), self.inner.hi[3].min(self.range.hi[3]));
        let groups = if inside { (end - from).max(0) / L::N.cast_signed() } else { 0 };
        (from, from + groups * L::N.cast_signed())
    }
}

/// Looks for the best value; infinite if there is none but NaN, or none better than infinity.
struct Best<'a, V, T> {
    search: Search<'a, V, T>,
    largest: bool,
}

impl<V: Float, T: Term<V>> Task<V> for Best<'_, V, T> {
    type Output = V;
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) -> V {
        let Self { search, largest } = self;
        let (memory, range) = (search.memory, search.range);
        let mut single = if largest { V::neg_infinity() } else { V::infinity() };
        let mut best = L::splat(single);
        each_row!(range, row => {
            let start = memory.at(row, 0);
            let (from, to) = search.groups::<L>(row);
            let mut i = from;
            while i < to {
                // SAFETY: promised by the caller.
                let value = unsafe { search.term.lanes::<L>(memory, start + i) };
                let better = if largest { best.less(value) } else { value.less(best) };
                best = L::select(better, value, best);
                i += L::N.cast_signed();
            }
            for i in (range.lo[3]..range.hi[3]).filter(|i| *i < from || *i >= to) {
                let value = search.term.single(memory, [row[0], row[1], row[2], i]);
                if if largest { value > single } else { value < single } {
                    single = value;
                }
            }
        });
        let mut all = [V::zero(); 16];
        // SAFETY: no register has more numbers.
        unsafe { best.store(all.as_mut_ptr()) };
        for value in all.into_iter().take(L::N) {
            if if largest { value > single } else { value < single } {
                single = value;
            }
        }
        single
    }
}

/// Looks for the first point with this value.
struct First<'a, V, T> {
    search: Search<'a, V, T>,
    best: V,
}

impl<V: Float, T: Term<V>> Task<V> for First<'_, V, T> {
    type Output = Option<(V, usize)>;
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) -> Option<(V, usize)> {
        let Self { search, best } = self;
        let (memory, range, wanted) = (search.memory, search.range, L::splat(best));
        each_row!(range, row => {
            let start = memory.at(row, 0);
            let (from, to) = search.groups::<L>(row);
            let mut i = range.lo[3];
            while i < range.hi[3] {
                let mut end = i + 1;
                if i >= from && i < to {
                    end = i + L::N.cast_signed();
                    // SAFETY: promised by the caller; what lies between `from` and `to` is made of whole groups.
                    let values = unsafe { search.term.lanes::<L>(memory, start + i) };
                    if !L::any(values.equal(wanted)) {
                        i = end;
                        continue;
                    }
                }
                for k in i..end {
                    let value: V = search.term.single(memory, [row[0], row[1], row[2], k]);
                    if value == best {
                        return Some((value, (start + k).unsigned_abs()));
                    }
                }
                i = end;
            }
        });
        None
    }
}
