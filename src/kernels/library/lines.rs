//! Lines of a view along one of its dimensions.

use core::ops::Range;
use smallvec::SmallVec;
use tapewright_strategies::Number;

/// The lines of a view along a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// Number of elements of a line.
    pub(super) length: usize,
    /// Distance between two elements of a line.
    stride: usize,
    /// Number of lines.
    pub(super) count: usize,
}

impl Lines {
    /// The lines along dimension `along` of a view of this shape.
    ///
    /// # Panics
    ///
    /// When there is no such dimension.
    #[track_caller]
    pub(super) fn of(shape: &[usize], along: usize) -> Self {
        let [before, length, stride] = split(shape, along);
        Self { length, stride, count: before * stride }
    }

    /// Index of the first element of a line.
    fn first(self, line: usize) -> usize {
        line / self.stride * self.length * self.stride + line % self.stride
    }

    /// The line that an element is in, and the place in it.
    pub(super) fn place(self, element: usize) -> (usize, usize) {
        let (block, rest) = (element / (self.length * self.stride), element % (self.length * self.stride));
        (block * self.stride + rest % self.stride, rest / self.stride)
    }

    /// Index of an element of a line.
    pub(super) fn element(self, line: usize, place: usize) -> usize {
        self.first(line) + place * self.stride
    }

    /// Elements of a line, if they are neighbors.
    fn adjacent(self, line: usize) -> Option<Range<usize>> {
        (self.stride == 1).then(|| line * self.length..(line + 1) * self.length)
    }

    /// The elements of a line; copied to `memory` unless they are neighbors.
    pub(super) fn read<'a, V: Number>(self, numbers: &'a [V], line: usize, memory: &'a mut LineMemory<V>) -> &'a [V] {
        if let Some(range) = self.adjacent(line) {
            return &numbers[range];
        }
        memory.clear();
        memory.extend((0..self.length).map(|place| numbers[self.element(line, place)]));
        memory
    }

    /// Lets `change` write a line.
    pub(super) fn write<V: Number>(
        self,
        numbers: &mut [V],
        line: usize,
        memory: &mut LineMemory<V>,
        change: impl FnOnce(&mut [V]),
    ) {
        if let Some(range) = self.adjacent(line) {
            return change(&mut numbers[range]);
        }
        memory.clear();
        memory.extend((0..self.length).map(|place| numbers[self.element(line, place)]));
        change(memory);
        memory.iter().enumerate().for_each(|(place, number)| numbers[self.element(line, place)] = *number);
    }
}

/// Numbers of elements before, along and behind a dimension of a view.
///
/// # Panics
///
/// When there is no such dimension.
#[track_caller]
pub(crate) fn split(shape: &[usize], d: usize) -> [usize; 3] {
    let rank = shape.len();
    assert!(d < rank, "a view of shape {shape:?} has dimensions 0 to {}, and no dimension {d}", rank - 1);
    [shape[..d].iter().product(), shape[d], shape[d + 1..].iter().product()]
}

/// Memory for the elements of a line that are not neighbors.
pub(super) type LineMemory<V> = SmallVec<[V; 8]>;
