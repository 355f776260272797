//! Elementwise changes of arrays on a device, and elements that are moved from one to another.

use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::memory::device::{Change, Precision, Region};
use crate::kernel::targets::transfers::selection::Selection;
use crate::kernel::text::Dialect;
use bytemuck::{Pod, Zeroable};

/// Name of the function that changes elements in boxes.
pub(super) const CHANGE: &str = "tw_change";
/// Names of the functions that change all elements.
const FILL: &str = "tw_fill";
const ADD: &str = "tw_add";
const ADD_NUMBER: &str = "tw_add_number";
/// Name of the function that moves elements of a range.
pub(super) const MOVE: &str = "tw_move";
/// Name of the function that reads elements at a list of places.
pub(super) const TAKE: &str = "tw_take";
/// Name of the function that writes elements at a list of places.
pub(super) const PUT: &str = "tw_put";

/// Boxes of an array's elements that are changed. Work items number their elements consecutively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Boxes {
    shape: [i64; 4],
    lo: [[i64; 4]; 8],
    extent: [[i64; 4]; 8],
    /// Number of elements of all boxes up to each one.
    end: [i64; 8],
}

impl Boxes {
    /// The elements in a region of an array.
    pub(super) fn of(region: Region<'_>, length: usize) -> Self {
        let length = i64::try_from(length).expect("an array in memory");
        let (grid, inside) = match region {
            Region::All => {
                let mut all = Self { shape: [1, 1, 1, length], ..Self::default() };
                all.push([0; 4], all.shape);
                return all;
            }
            Region::Inside(grid) => (grid, true),
            Region::Outside(grid) => (grid, false),
        };
        let wide = |numbers: [isize; 4]| numbers.map(|number| i64::try_from(number).expect("at most 64 bits"));
        let (shape, IndexRange { lo, hi }) = (wide(grid.shape()), grid.range);
        let (lo, hi) = (wide(lo), wide(hi));
        let is_empty = (0..4).any(|d| hi[d] <= lo[d]);
        let mut boxes = Self { shape, ..Self::default() };
        if inside {
            boxes.push(lo, if is_empty { [0; 4] } else { core::array::from_fn(|d| hi[d] - lo[d]) });
        } else if is_empty {
            boxes.push([0; 4], shape);
        } else {
            // Before and behind the range along the first dimension; what is left, along the next one, and so on.
            let (mut first, mut extent) = ([0; 4], shape);
            for d in 0..4 {
                for (from, to) in [(0, lo[d]), (hi[d], shape[d])] {
                    (first[d], extent[d]) = (from, to - from);
                    boxes.push(first, extent);
                }
                (first[d], extent[d]) = (lo[d], hi[d] - lo[d]);
            }
        }
        boxes
    }

    /// Adds a box, unless it is empty.
    fn push(&mut self, lo: [i64; 4], extent: [i64; 4]) {
        let count: i64 = extent.iter().product();
        let at = (0..7).find(|k| count == 0 || self.extent[*k] == [0; 4]).unwrap_or(7);
        if count > 0 {
            let end = self.count() + count;
            (self.lo[at], self.extent[at]) = (lo, extent);
            self.end[at..].fill(end);
        }
    }

    /// Number of rows of the first box.
    pub(super) fn rows(&self) -> usize {
        self.extent[0][..3].iter().map(|extent| usize::try_from(*extent).expect("a length of an array")).product()
    }

    /// Number of elements.
    pub(super) const fn count(&self) -> i64 {
        self.end[7]
    }
}

/// Code of a change in the source, and its number.
pub(super) fn code_of(change: Change<'_>) -> (i32, f64) {
    match change {
        Change::Fill(number) => (0, number),
        Change::Copy(_) => (1, 0.0),
        Change::Add(_) => (2, 0.0),
        Change::AddNumber(number) => (3, number),
        Change::Rows(_) => (4, 0.0),
    }
}

/// How all elements of an array are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The driver sets them to 0.
    Clear,
    /// The driver copies another array.
    Copy,
    /// This function of the source.
    Function(&'static str),
}

impl Whole {
    /// How a change of all elements is carried out; `None` if it is one of a box.
    pub(super) fn of(change: Change<'_>) -> Option<Self> {
        match change {
            Change::Fill(number) if number.to_bits() == 0 => Some(Self::Clear),
            Change::Copy(_) => Some(Self::Copy),
            Change::Fill(_) => Some(Self::Function(FILL)),
            Change::Add(_) => Some(Self::Function(ADD)),
            Change::AddNumber(_) => Some(Self::Function(ADD_NUMBER)),
            Change::Rows(_) => None,
        }
    }
}

/// Elements that are selected from an array or in it, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Moves {
    extent: [i64; 4],
    stride: [i64; 4],
    first: i64,
    count: i64,
    /// 1 if elements are taken from selected places, 0 if they are put there.
    takes: i32,
    /// 1 if elements are added.
    adds: i32,
    /// 1 if there is one number for all.
    is_uniform: i32,
    unused: i32,
}

impl Moves {
    pub(super) fn new(selection: &Selection, (takes, adds): (bool, bool), is_uniform: bool) -> Self {
        let (first, extents, strides) = selection.layout();
        let wide = |count: usize| i64::try_from(count).expect("an array in memory");
        Self {
            extent: extents.map(wide),
            stride: strides.map(|stride| i64::try_from(stride).expect("an array in memory")),
            first: wide(first),
            count: wide(selection.count()),
            takes: takes.into(),
            adds: adds.into(),
            is_uniform: is_uniform.into(),
            unused: 0,
        }
    }
}

/// Treatment of elements at a list of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Listed {
    /// Number of places.
    count: i64,
    /// 1 if elements are added.
    adds: i32,
    /// 1 if there is one number for all.
    is_uniform: i32,
}

impl Listed {
    pub(super) fn new(places: usize, adds: bool, is_uniform: bool) -> Self {
        let count = i64::try_from(places).expect("an array in memory");
        Self { count, adds: adds.into(), is_uniform: is_uniform.into() }
    }
}

/// Source of all functions.
pub(super) fn source(dialect: Dialect, precision: Precision) -> String {
    let extension = dialect.extension(precision);
    let (kernel, space, index, real) = (dialect.kernel(), dialect.space(), dialect.index(), precision.name());
    let id = match dialect {
        Dialect::Cuda => "(long long)blockIdx.x * blockDim.x + threadIdx.x",
        _ => "get_global_id(0)",
    };
    let whole = [(FILL, "number"), (ADD, "y[k] + x[k]"), (ADD_NUMBER, "y[k] + number")].map(|(name, result)| {
        format!(
            "{kernel} {name}({index} count, {real} number, {space}const {real} *x, {space}{real} *y) {{
    const {index} k = {id};
    if (k < count) y[k] = {result};
}}
"
        )
    });
    let whole = whole.concat();
    format!(
        "{extension}typedef struct {{ {index} shape[4], lo[8][4], extent[8][4], end[8]; }} tw_boxes;
typedef struct {{ {index} extent[4], stride[4], first, count; int takes, adds, is_uniform, unused; }} tw_moves;
typedef struct {{ {index} count; int adds, is_uniform; }} tw_listed;
{kernel} {CHANGE}(tw_boxes b, int kind, {real} number, {space}const {real} *x, {space}{real} *y) {{
    {index} k = {id};
    int n = 0;
    if (k >= b.end[7]) return;
    while (k >= b.end[n]) n++;
    if (n > 0) k -= b.end[n - 1];
    const {index} l = b.lo[n][3] + k % b.extent[n][3], rest = k / b.extent[n][3];
    const {index} i2 = b.lo[n][2] + rest % b.extent[n][2], more = rest / b.extent[n][2];
    const {index} i1 = b.lo[n][1] + more % b.extent[n][1], i0 = b.lo[n][0] + more / b.extent[n][1];
    const {index} at = ((i0 * b.shape[1] + i1) * b.shape[2] + i2) * b.shape[3] + l;
    y[at] = kind == 0 ? number : kind == 1 ? x[at] : kind == 4 ? x[rest] : y[at] + (kind == 2 ? x[at] : number);
}}
{whole}{kernel} {MOVE}(tw_moves m, {real} number, {space}const {real} *from, {space}{real} *to) {{
    const {index} k = {id};
    if (k >= m.count) return;
    const {index} i3 = k % m.extent[3], rest = k / m.extent[3], i2 = rest % m.extent[2], more = rest / m.extent[2];
    const {index} i1 = more % m.extent[1], i0 = more / m.extent[1];
    const {index} place = m.first + i0 * m.stride[0] + i1 * m.stride[1] + i2 * m.stride[2] + i3 * m.stride[3];
    const {index} there = m.takes ? place : k, here = m.takes ? k : place;
    const {real} x = m.is_uniform ? number : from[there];
    to[here] = m.adds ? to[here] + x : x;
}}
{kernel} {TAKE}(tw_listed m, {space}const unsigned *places, {space}const {real} *from, {space}{real} *to) {{
    const {index} k = {id};
    if (k >= m.count) return;
    const {real} x = from[places[k]];
    to[k] = m.adds ? to[k] + x : x;
}}
/* list: places; the end of the entries of each; entries, in order. One that does not add leaves the last value. */
{kernel} {PUT}(tw_listed m, {real} number, {space}const unsigned *list, {space}const {real} *from, {space}{real} *to) {{
    const {index} k = {id};
    if (k >= m.count) return;
    const {index} at = list[k], start = k > 0 ? list[m.count + k - 1] : 0, end = list[m.count + k];
    {real} y = to[at];
    for ({index} n = m.adds ? start : end - 1; n < end; n++) {{
        const {real} x = m.is_uniform ? number : from[list[2 * m.count + n]];
        y = m.adds ? y + x : x;
    }}
    to[at] = y;
}}
"
    )
}

/// Returns true if the grid has as many elements as an array of this length.
pub(super) fn fits(region: Region<'_>, length: usize) -> bool {
    match region {
        Region::All => true,
        Region::Inside(grid) | Region::Outside(grid) => Grid::elements(grid) == length,
    }
}

#[cfg(test)]
mod tests {
    use super::Boxes;
    use crate::kernel::ir::grid::Grid;
    use crate::kernel::memory::device::Region;

    /// The elements of the boxes, in order.
    fn elements(boxes: &Boxes) -> Vec<i64> {
        let mut found = Vec::new();
        for (lo, extent) in boxes.lo.iter().zip(&boxes.extent) {
            for k in 0..extent.iter().product::<i64>() {
                let i = [k / extent[3] / extent[2] / extent[1], k / extent[3] / extent[2] % extent[1]];
                let (j, l) = (k / extent[3] % extent[2], k % extent[3]);
                let at = [lo[0] + i[0], lo[1] + i[1], lo[2] + j, lo[3] + l];
                found.push(at.iter().zip(boxes.shape).fold(0, |sum, (i, n)| sum * n + i));
            }
        }
        assert_eq!(found.len(), usize::try_from(boxes.count()).expect("a count"));
        found.sort_unstable();
        found
    }

    #[test]
    fn boxes_hold_the_elements_inside_and_outside_of_ranges() {
        for (shape, ranges) in [
            ([3, 4, 5, 6], [1..2, 1..3, 0..5, 2..4]),
            ([1, 1, 4, 7], [0..1, 0..1, 0..4, 0..7]),
            ([1, 1, 4, 7], [0..1, 0..1, 1..3, 1..6]),
            ([1, 1, 1, 5], [0..1, 0..1, 0..1, 2..2]),
            ([2, 2, 2, 2], [1..2, 1..2, 1..2, 1..2]),
        ] {
            let grid = Grid::new(&shape, &ranges).expect("a range in the shape");
            let length = grid.elements();
            let (mut inside, mut outside) = (Vec::new(), Vec::new());
            grid.inside(|piece| inside.extend(piece.map(|k| i64::try_from(k).expect("small"))));
            grid.outside(|piece| outside.extend(piece.map(|k| i64::try_from(k).expect("small"))));
            assert_eq!(elements(&Boxes::of(Region::Inside(&grid), length)), inside);
            assert_eq!(elements(&Boxes::of(Region::Outside(&grid), length)), outside);
        }
        assert_eq!(elements(&Boxes::of(Region::All, 5)), [0, 1, 2, 3, 4]);
    }
}
