//! Grids: the shape of a launch's views, and the range of points it covers.

use core::fmt;
use core::ops::Range;
use smallvec::SmallVec;

/// A box of points in views of one shape. A shape of fewer than four dimensions is padded with leading dimensions of
/// length 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    shape: [isize; 4],
    /// Number of dimensions of the views; they are the last ones of `shape`.
    rank: usize,
    elements: usize,
    pub(crate) range: IndexRange,
}

/// Half-open box of points: from `lo` to below `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexRange {
    pub(crate) lo: [isize; 4],
    pub(crate) hi: [isize; 4],
}

impl IndexRange {
    /// An empty range.
    pub(crate) const NONE: Self = Self { lo: [0; 4], hi: [0; 4] };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        (0..4).any(|d| self.lo[d] >= self.hi[d])
    }

    /// Returns true if the range is part of one row, not empty, and so short that preparing a SIMD loop costs more than
    /// its points.
    #[inline]
    pub(crate) fn is_short_row(&self) -> bool {
        (1..=8).contains(&(self.hi[3] - self.lo[3])) && (0..3).all(|d| self.hi[d] - self.lo[d] == 1)
    }

    /// Returns true if the first three coordinates of a row are in the range.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_row(&self, row: [isize; 3]) -> bool {
        (0..3).all(|d| row[d] >= self.lo[d] && row[d] < self.hi[d])
    }

    /// Returns true if the point is in the range.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has(&self, [a, b, c, i]: [isize; 4]) -> bool {
        self.has_row([a, b, c]) && i >= self.lo[3] && i < self.hi[3]
    }

    #[inline]
    pub(crate) fn points(&self) -> usize {
        (0..4).map(|d| (self.hi[d] - self.lo[d]).max(0).unsigned_abs()).product()
    }
}

/// Loops over the rows of a range: `each_row!(region, row => { … })` with each row's first three coordinates. A macro,
/// because a closure need not be inlined, and SIMD code must be part of the function that is compiled for the
/// instruction set.
macro_rules! each_row {
    ($region:expr, $row:ident => $body:block) => {{
        let region: &IndexRange = $region;
        for a in region.lo[0]..region.hi[0] {
            for b in region.lo[1]..region.hi[1] {
                for c in region.lo[2]..region.hi[2] {
                    let $row = [a, b, c];
                    $body
                }
            }
        }
    }};
}
pub(crate) use each_row;

/// Reason why a range cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadRange {
    /// The range has another number of dimensions than the views.
    Rank {
        /// Number of dimensions of the range.
        range: usize,
        /// Number of dimensions of the views.
        views: usize,
    },
    /// The range ends outside the views.
    Beyond {
        /// The dimension.
        dimension: usize,
        /// The range along this dimension.
        range: Range<usize>,
        /// Length of the views along this dimension.
        length: usize,
    },
    /// The range starts after its end.
    Backwards {
        /// The dimension.
        dimension: usize,
        /// The range along this dimension.
        range: Range<usize>,
    },
}

impl fmt::Display for BadRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank { range, views } => write!(f, "a range of rank {range} is none of views of rank {views}"),
            Self::Beyond { dimension, range, length } => {
                write!(
                    f,
                    "the range {range:?} along dimension {dimension} goes beyond the views, whose length there is \
                     {length}"
                )
            }
            Self::Backwards { dimension, range } => {
                write!(f, "the range {range:?} along dimension {dimension} begins behind its end")
            }
        }
    }
}

impl core::error::Error for BadRange {}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<Range<isize>> = (4 - self.rank..4).map(|d| self.range.lo[d]..self.range.hi[d]).collect();
        write!(f, "{ranges:?} of shape {:?}", self.of_views(self.shape))
    }
}

impl Default for Grid {
    /// Returns a grid without points.
    fn default() -> Self {
        Self { shape: [1; 4], rank: 1, elements: 1, range: IndexRange::NONE }
    }
}

impl Grid {
    /// Returns a range of points in views of this shape.
    ///
    /// # Errors
    ///
    /// When the range does not lie inside the shape.
    ///
    /// # Panics
    ///
    /// When the shape has more than four dimensions, or more elements than the address space.
    #[inline]
    pub fn new(shape: &[usize], range: &[Range<usize>]) -> Result<Self, BadRange> {
        assert!(shape.len() <= 4, "views have one to four dimensions");
        if range.len() != shape.len() {
            return Err(BadRange::Rank { range: range.len(), views: shape.len() });
        }
        let elements = shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
        let elements = elements.filter(|n| *n < isize::MAX.unsigned_abs() / 16);
        let elements = elements.expect("there cannot be as many elements");
        let signed = |n: usize| n.cast_signed();
        let mut grid =
            Self { shape: [1; 4], rank: shape.len(), elements, range: IndexRange { lo: [0; 4], hi: [1; 4] } };
        let first = 4 - shape.len();
        for (dimension, (length, range)) in shape.iter().zip(range).enumerate() {
            if range.start > range.end {
                return Err(BadRange::Backwards { dimension, range: range.clone() });
            }
            if range.end > *length {
                return Err(BadRange::Beyond { dimension, range: range.clone(), length: *length });
            }
            grid.shape[first + dimension] = signed(*length);
            grid.range.lo[first + dimension] = signed(range.start);
            grid.range.hi[first + dimension] = signed(range.end);
        }
        Ok(grid)
    }

    /// Number of elements of a view.
    #[must_use]
    pub const fn elements(&self) -> usize {
        self.elements
    }

    /// Lengths of the views along four dimensions; those that the views do not have are the first ones, of length 1.
    #[must_use]
    pub const fn lengths(&self) -> [isize; 4] {
        self.shape
    }

    /// Range of the points along four dimensions.
    #[must_use]
    pub fn ranges(&self) -> [Range<isize>; 4] {
        core::array::from_fn(|d| self.range.lo[d]..self.range.hi[d])
    }

    /// Number of points of the range.
    #[must_use]
    pub fn points(&self) -> usize {
        self.range.points()
    }

    /// Returns true if the range covers the complete views.
    #[must_use]
    #[inline]
    pub fn is_all(&self) -> bool {
        (0..4).all(|d| self.range.lo[d] == 0 && self.range.hi[d] == self.shape[d])
    }

    /// Returns a grid of the same views with one point, given by its position among the elements.
    ///
    /// # Panics
    ///
    /// When there is no such element.
    #[must_use]
    pub fn at(&self, element: usize) -> Self {
        assert!(element < self.elements(), "element {element} is none of the view");
        let mut rest = element.cast_signed();
        let mut range = IndexRange { lo: [0; 4], hi: [0; 4] };
        for d in (0..4).rev() {
            range.lo[d] = rest % self.shape[d];
            range.hi[d] = range.lo[d] + 1;
            rest /= self.shape[d];
        }
        Self { range, ..*self }
    }

    /// Returns the first point of the range, with a coordinate for each of the `R` dimensions of the views.
    ///
    /// # Panics
    ///
    /// When the views have another number of dimensions.
    #[must_use]
    pub fn first<const R: usize>(&self) -> [usize; R] {
        assert!(R == self.rank, "a point of views of rank {} has as many coordinates, not {R}", self.rank);
        core::array::from_fn(|d| self.range.lo[4 - R + d].unsigned_abs())
    }

    /// Returns a grid of the same views with another range.
    pub(crate) const fn with(&self, range: IndexRange) -> Self {
        Self { range, ..*self }
    }

    /// Returns the last entries of `all`, one for each dimension of the views.
    pub(crate) fn of_views(&self, all: [isize; 4]) -> SmallVec<[isize; 4]> {
        SmallVec::from_slice(&all[4 - self.rank..])
    }

    pub(crate) const fn shape(&self) -> [isize; 4] {
        self.shape
    }

    pub(crate) const fn strides(&self) -> [isize; 4] {
        let s = &self.shape;
        [s[1] * s[2] * s[3], s[2] * s[3], s[3], 1]
    }

    /// Calls `f` with each piece of consecutive elements that lies outside the range.
    pub fn outside(&self, mut f: impl FnMut(Range<usize>)) {
        let mut from = 0;
        self.inside(|row| {
            if from < row.start {
                f(from..row.start);
            }
            from = row.end;
        });
        if from < self.elements() {
            f(from..self.elements());
        }
    }

    /// Calls `f` with each piece of consecutive elements that lies in the range.
    pub fn inside(&self, mut f: impl FnMut(Range<usize>)) {
        if self.range.is_empty() {
            return;
        }
        if self.is_all() {
            return f(0..self.elements());
        }
        let strides = self.strides();
        each_row!(&self.range, row => {
            let start: isize = row.iter().zip(strides).map(|(i, stride)| i * stride).sum();
            f((start + self.range.lo[3]).unsigned_abs()..(start + self.range.hi[3]).unsigned_abs());
        });
    }

    /// Returns the coordinates of a point of the range, by its number.
    pub(crate) fn point(&self, mut number: usize) -> [isize; 4] {
        let mut point = self.range.lo;
        for d in (0..4).rev() {
            let length = (self.range.hi[d] - self.range.lo[d]).unsigned_abs();
            point[d] += (number % length).cast_signed();
            number /= length;
        }
        point
    }

    /// Returns the position of a point among the elements.
    pub(crate) fn element(&self, point: [isize; 4]) -> usize {
        (0..4).map(|d| point[d] * self.strides()[d]).sum::<isize>().unsigned_abs()
    }
}
