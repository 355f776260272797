//! Selections: ranges with steps of a view's elements, and the order in which transfers move them.

use crate::kernel::ir::grid::{BadRange, Grid};
use core::ops::Range;

/// Elements of a view: a range with a step along each dimension, the last dimension running fastest.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Shape of the view, and a range that has all elements.
    grid: Grid,
    /// Distances between neighbors; 1 where there are none.
    steps: [isize; 4],
    /// Numbers of elements.
    extents: [usize; 4],
}

/// Indices of some elements of a selection: `length` of them, the first one and every `step`-th one behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) first: usize,
    pub(crate) length: usize,
    pub(crate) step: usize,
}

impl Piece {
    pub(crate) fn indices(self) -> impl Iterator<Item = usize> {
        (0..self.length).map(move |k| self.first + k * self.step)
    }
}

impl Selection {
    /// Selects every `steps[d]`-th element of the range along each dimension, beginning with the first one.
    ///
    /// # Errors
    ///
    /// When the range does not lie inside the shape.
    ///
    /// # Panics
    ///
    /// When a step is 0, when there are not as many steps as dimensions, and when [`Grid::new`] does.
    #[track_caller]
    pub fn new(shape: &[usize], range: &[Range<usize>], steps: &[usize]) -> Result<Self, BadRange> {
        assert!(
            steps.len() == shape.len() && !steps.contains(&0),
            "a selection has a step of 1 or more along each dimension of shape {shape:?}, not the steps {steps:?}"
        );
        let (grid, mut all) = (Grid::new(shape, range)?, [1; 4]);
        all[4 - steps.len()..].iter_mut().zip(steps).for_each(|(to, step)| *to = step.cast_signed());
        let mut selection = Self { grid, steps: all, extents: [0; 4] };
        for d in 0..4 {
            let extent = selection.below(d, grid.range.hi[d]);
            selection.extents[d] = extent;
            if extent == 1 {
                (selection.steps[d], selection.grid.range.hi[d]) = (1, grid.range.lo[d] + 1);
            }
        }
        Ok(selection)
    }

    /// Number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.extents.iter().product()
    }

    /// Number of elements of the view.
    pub(crate) const fn elements(&self) -> usize {
        self.grid.elements()
    }

    /// Returns true if these are all elements of the view.
    pub(crate) fn is_all(&self) -> bool {
        self.count() == self.elements()
    }

    /// Returns the index of an element, by its number.
    pub(crate) fn get(&self, number: usize) -> usize {
        self.element(self.place(number)).unsigned_abs()
    }

    #[cfg(any(feature = "opencl", feature = "cuda"))]
    /// Index of the first element; numbers of elements, and distances between their indices, along each dimension.
    pub(crate) fn layout(&self) -> (usize, [usize; 4], [isize; 4]) {
        let strides = self.grid.strides();
        (self.get(0), self.extents, core::array::from_fn(|d| self.steps[d] * strides[d]))
    }

    /// Number of coordinates along a dimension that are below this one.
    fn below(&self, d: usize, coordinate: isize) -> usize {
        let (lo, step) = (self.grid.range.lo[d], self.steps[d]);
        ((coordinate - lo).max(0) + step - 1).unsigned_abs() / step.unsigned_abs()
    }

    /// Returns the place of an element along each dimension, counted from the first selected one.
    fn place(&self, mut number: usize) -> [usize; 4] {
        let mut place = [0; 4];
        for d in (0..4).rev() {
            place[d] = number % self.extents[d];
            number /= self.extents[d];
        }
        place
    }

    /// Returns the index of the element at a place.
    fn element(&self, place: [usize; 4]) -> isize {
        let (lo, strides) = (self.grid.range.lo, self.grid.strides());
        (0..4).map(|d| (lo[d] + place[d].cast_signed() * self.steps[d]) * strides[d]).sum()
    }

    /// Returns the number of selected elements that come before the element with this index.
    pub(crate) fn count_before(&self, index: usize) -> usize {
        if index == 0 || index >= self.elements() {
            return if index == 0 { 0 } else { self.count() };
        }
        let (at, range) = (self.grid.at(index).range.lo, &self.grid.range);
        let (mut inside, mut before) = (self.count(), 0);
        for d in 0..4 {
            inside /= self.extents[d].max(1);
            before += self.below(d, at[d].min(range.hi[d])) * inside;
            if at[d] < range.lo[d] || at[d] >= range.hi[d] || (at[d] - range.lo[d]) % self.steps[d] != 0 {
                break;
            }
        }
        before
    }

    /// Returns the first of the last dimensions along which neighbors have the same distance, and the number of
    /// elements along these dimensions.
    fn run(&self) -> (usize, usize) {
        let (mut inner, mut run) = (3, self.extents[3]);
        while inner > 0 && self.steps[inner - 1] == 1 && self.extents[inner].cast_signed() == self.grid.shape()[inner] {
            inner -= 1;
            run *= self.extents[inner];
        }
        (inner, run)
    }

    /// Calls `f` with the indices of the elements with these numbers, piece by piece, and with the number of the first
    /// element of each piece.
    pub(crate) fn pieces(&self, numbers: Range<usize>, mut f: impl FnMut(usize, Piece)) {
        if numbers.is_empty() {
            return;
        }
        let ((inner, run), strides, step) = (self.run(), self.grid.strides(), self.steps[3].unsigned_abs());
        let mut number = numbers.start;
        let mut skipped = number % run;
        let mut place = self.place(number - skipped);
        let mut start = self.element(place);
        loop {
            let length = (run - skipped).min(numbers.end - number);
            f(number, Piece { first: start.unsigned_abs() + skipped * step, length, step });
            number += length;
            skipped = 0;
            if number == numbers.end {
                return;
            }
            for d in (0..inner).rev() {
                let distance = strides[d] * self.steps[d];
                place[d] += 1;
                start += distance;
                if place[d] < self.extents[d] {
                    break;
                }
                start -= distance * place[d].cast_signed();
                place[d] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;
    use core::ops::Range;

    /// Indices of the selected elements, found by asking of each element whether it is one.
    fn selected(shape: &[usize], range: &[Range<usize>], steps: &[usize]) -> Vec<usize> {
        let is_one = |index: &usize| {
            let mut rest = *index;
            (0..shape.len()).rev().all(|d| {
                let at = rest % shape[d];
                rest /= shape[d];
                range[d].contains(&at) && (at - range[d].start).is_multiple_of(steps[d])
            })
        };
        (0..shape.iter().product()).filter(is_one).collect()
    }

    #[test]
    fn pieces_of_any_elements_have_their_indices_in_order() {
        for (shape, range) in [
            (vec![7], core::iter::once(2..6).collect()),
            (vec![3, 4], vec![1..3, 0..4]),
            (vec![5, 1], vec![1..4, 0..1]),
            (vec![3, 4, 5], vec![0..3, 1..3, 0..5]),
            (vec![2, 3, 4, 3], vec![1..2, 0..3, 1..3, 1..3]),
            (vec![2, 2, 3, 2], vec![0..2, 0..2, 0..3, 0..2]),
            (vec![4, 4], vec![2..2, 0..4]),
        ] {
            for steps in [[1, 1, 1, 1], [1, 1, 1, 2], [1, 2, 3, 1], [3, 1, 2, 2], [9, 2, 1, 1]] {
                let steps = &steps[4 - shape.len()..];
                let selection = Selection::new(&shape, &range, steps).expect("a range");
                let all = selected(&shape, &range, steps);
                assert_eq!(selection.count(), all.len(), "{selection:?}");
                assert_eq!((0..all.len()).map(|k| selection.get(k)).collect::<Vec<_>>(), all, "{selection:?}");
                for first in 0..=all.len() {
                    for end in first..=all.len() {
                        let mut found = vec![];
                        selection.pieces(first..end, |number, piece| {
                            assert_eq!(number, first + found.len());
                            found.extend(piece.indices());
                        });
                        assert_eq!(found, all[first..end], "{first}..{end} of {selection:?}");
                    }
                }
                for index in 0..=selection.elements() {
                    let before = all.iter().filter(|place| **place < index).count();
                    assert_eq!(selection.count_before(index), before, "{index} of {selection:?}");
                }
            }
        }
    }
}
