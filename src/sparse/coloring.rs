//! Colorings: columns of a matrix that can be computed together.
//!
//! A. H. Gebremedhin, F. Manne and A. Pothen, *What color is your Jacobian? Graph coloring for computing derivatives*,
//! SIAM Review 47 (2005), 629–705, has the problems and the greedy algorithms.

use crate::pattern::Pattern;
use std::cell::LazyCell;

/// A color for each column of a matrix, or for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloring {
    colors: Vec<u32>,
    count: usize,
}

/// Members by color: what is computed together is found without a walk over all.
#[derive(Clone, Debug)]
pub(super) struct ByColor<T> {
    /// The start of each color, and the end of the last one, twice; empty until members are listed.
    starts: Vec<usize>,
    members: Vec<T>,
}

impl<T> Default for ByColor<T> {
    fn default() -> Self {
        Self { starts: Vec::new(), members: Vec::new() }
    }
}

impl<T: Copy> ByColor<T> {
    /// Lists these members, each with its color, below `count`, if that has not been done.
    pub(super) fn list(&mut self, count: usize, members: impl Iterator<Item = (u32, T)> + Clone) {
        if !self.starts.is_empty() {
            return;
        }
        self.starts.resize(count + 2, 0);
        members.clone().for_each(|(color, _)| self.starts[color as usize + 2] += 1);
        for color in 2..self.starts.len() {
            self.starts[color] += self.starts[color - 1];
        }
        let Some((_, any)) = members.clone().next() else { return };
        self.members.resize(self.starts[count + 1], any);
        for (color, member) in members {
            // Counted up to the start of the next color.
            let at = &mut self.starts[color as usize + 1];
            self.members[*at] = member;
            *at += 1;
        }
    }

    /// The members of up to this many colors, from one color on, each with the offset of its color.
    pub(super) fn from(&self, first: usize, width: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let colors = self.starts.windows(2).skip(first).take(width).enumerate();
        colors.flat_map(|(lane, ends)| self.members[ends[0]..ends[1]].iter().map(move |member| (lane, *member)))
    }
}

/// Color of a column that has none yet.
pub(super) const NONE: u32 = u32::MAX;

impl Coloring {
    pub(super) fn new(colors: Vec<u32>) -> Self {
        let count = colors.iter().max().map_or(0, |most| *most as usize + 1);
        Self { colors, count }
    }

    /// Colors columns so that no two of one color have entries in the same row: the sum of the columns of a color
    /// contains all of their entries. (A *partial distance-2 coloring* of the bipartite graph of rows and columns.)
    ///
    /// The algorithm is greedy, in the order of the columns. No coloring has fewer colors than the fullest row has
    /// entries. First this number of colors is tried: each column takes the next allowed color after the color of the
    /// column before it. That colors most stencils on grids with the fewest colors possible. If it takes more, the
    /// algorithm is tried with one color more, and then with the first color that is allowed. The time is proportional
    /// to the number of entries, and with more than 64 colors to the sum over all rows of the number of entries
    /// squared.
    ///
    /// ```
    /// use tapewright::sparse::{Coloring, Pattern};
    ///
    /// let bidiagonal = Pattern::from_rows(5, (0..4).map(|row| [row, row + 1]));
    /// let coloring = Coloring::of_columns(&bidiagonal);
    /// assert_eq!((coloring.count(), coloring.colors()), (2, &[0, 1, 0, 1, 0][..]));
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no memory for a list of all columns.
    #[must_use]
    #[track_caller]
    pub fn of_columns(pattern: &Pattern) -> Self {
        Self::of_rows(&pattern.transposed())
    }

    /// Colors rows: no two of one color have entries in the same column.
    ///
    /// # Panics
    ///
    /// When [`of_columns`](Self::of_columns) does.
    #[must_use]
    #[track_caller]
    pub fn of_rows(pattern: &Pattern) -> Self {
        let fullest = pattern.fullest_column();
        // The transposed pattern is made only if it is needed: most patterns are colored without it.
        let transposed = LazyCell::new(|| pattern.transposed());
        let mut best = greedy(pattern, &transposed, fullest);
        for (colors, good) in [(fullest + 1, fullest + 1), (0, fullest + 2)] {
            if best.count > good {
                let other = greedy(pattern, &transposed, colors);
                if other.count < best.count {
                    best = other;
                }
            }
        }
        best
    }

    /// Color of each column, or row, from 0 on.
    #[must_use]
    pub fn colors(&self) -> &[u32] {
        &self.colors
    }

    /// The number of colors.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }
}

/// Gives each row in turn a color that no row has with which it shares a column: among the first `colors` colors, the
/// next one after the color of the row before it, if one is allowed, and the first allowed color otherwise.
fn greedy<F: FnOnce() -> Pattern>(pattern: &Pattern, transposed: &LazyCell<Pattern, F>, colors: usize) -> Coloring {
    let mut found = vec![NONE; pattern.rows()];
    // For each column, a bit for each of the first colors that a row with an entry there has so far.
    let mut taken: Vec<u64> = pattern.list_of_columns(0);
    let mut forbidden = Forbidden::default();
    let (mut last, mut more) = (NONE, false);
    for row in 0..pattern.rows() {
        let columns = pattern.row(row);
        forbidden.begin(row);
        columns.iter().for_each(|column| forbidden.first |= taken[*column]);
        // Further colors have no bits: once there are any, they are looked up through the transposed pattern.
        if more {
            let others = columns.iter().flat_map(|column| transposed.row(*column));
            others.for_each(|other| forbidden.forbid(found[*other]));
        }
        last = forbidden.next_allowed(last, colors);
        found[row] = last;
        if last >= FIRST {
            more = true;
        } else {
            columns.iter().for_each(|column| taken[*column] |= 1 << last);
        }
    }
    Coloring::new(found)
}

/// Number of colors that have a bit.
const FIRST: u32 = u64::BITS;

/// Colors that one vertex must not have.
#[derive(Debug, Default)]
pub(super) struct Forbidden {
    /// Mask of the first colors, with a bit for each forbidden one.
    first: u64,
    /// For each further color, the last vertex that must not have it, plus 1.
    of: Vec<usize>,
    vertex: usize,
}

impl Forbidden {
    pub(super) fn begin(&mut self, vertex: usize) {
        (self.first, self.vertex) = (0, vertex + 1);
    }

    /// Forbids a color; ignores the color of vertices that have none yet.
    pub(super) fn forbid(&mut self, color: u32) {
        if color < FIRST {
            self.first |= 1 << color;
        } else if color != NONE {
            let color = (color - FIRST) as usize;
            if color >= self.of.len() {
                self.of.resize(color + 1, 0);
            }
            self.of[color] = self.vertex;
        }
    }

    /// The first allowed color that is not below `from`.
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer colors than vertices that fit in memory")]
    pub(super) fn first_allowed(&self, from: usize) -> u32 {
        let bits = FIRST as usize;
        if from < bits {
            let color = from as u32 + (self.first >> from).trailing_ones();
            if color < FIRST {
                return color;
            }
        }
        let from = from.max(bits);
        let allows = |color: &usize| self.of.get(*color - bits) != Some(&self.vertex);
        { from..=from.max(bits + self.of.len()) }.find(allows).unwrap_or(from) as u32
    }

    /// The next allowed color after `last`, if it is one of the first `colors`, and the first allowed color otherwise.
    fn next_allowed(&self, last: u32, colors: usize) -> u32 {
        let next = self.first_allowed(last.wrapping_add(1) as usize);
        if (next as usize) < colors { next } else { self.first_allowed(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::{ByColor, Coloring, Pattern};

    #[test]
    fn members_of_some_colors_come_with_the_offsets_of_their_colors() {
        let colors = [2, 0, 2, 1, 4];
        let mut by_color = ByColor::default();
        by_color.list(5, colors.into_iter().zip('a'..));
        let of = |first, width| by_color.from(first, width).collect::<Vec<_>>();
        assert_eq!(of(0, 2), [(0, 'b'), (1, 'd')]);
        assert_eq!(of(2, 2), [(0, 'a'), (0, 'c')]);
        assert_eq!(of(4, 8), [(0, 'e')]);
        assert_eq!(of(5, 8), []);
        let mut none = ByColor::<usize>::default();
        none.list(0, core::iter::empty());
        assert_eq!(none.from(0, 8).count(), 0);
    }

    #[test]
    fn there_may_be_more_columns_than_fit_in_memory() {
        let wide = Pattern::from_rows(usize::MAX, [[0, usize::MAX - 1]]);
        for color in [Coloring::of_columns, Coloring::of_rows] {
            let message = std::panic::catch_unwind(|| color(&wide)).expect_err("there is no such memory");
            let message = message.downcast_ref::<String>().expect("a message");
            assert!(message.ends_with(&format!("an entry for each of {} columns", usize::MAX)), "{message}");
        }
    }

    /// Tests colorings in which some colors have bits, and some have not.
    #[test]
    fn many_colors_are_good_ones() {
        // Row k has entries in a hundred columns from k on, and shares each with up to 99 rows before it.
        let band = Pattern::from_rows(399, (0..300).map(|row| row..row + 100));
        let coloring = Coloring::of_rows(&band);
        assert_eq!(coloring.count(), 100);
        assert!((0..300).all(|row| coloring.colors()[row] as usize == row % 100));
        // The first rows occur again after all others, when all of their colors are behind the last one.
        let rows = (0..300).chain(0..50).map(|row| row..row + 100);
        let coloring = Coloring::of_rows(&Pattern::from_rows(399, rows));
        for (k, color) in (300..).zip(&coloring.colors()[300..]) {
            let first = k - 300;
            assert!((0..first + 100).all(|row| coloring.colors()[row] != *color), "row {k}");
            assert!((300..k).all(|row| coloring.colors()[row] != *color), "row {k}");
        }
    }
}
