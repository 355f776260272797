//! Which columns of a matrix can be found together.
//!
//! A. H. Gebremedhin, F. Manne and A. Pothen, *What color is your Jacobian? Graph coloring for computing derivatives*,
//! SIAM Review 47 (2005), 629–705, has the problems and the greedy algorithms.

use super::pattern::Pattern;

/// A color for each column of a matrix, or for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloring {
    colors: Vec<u32>,
    count: usize,
}

/// The color of what has none yet.
pub(super) const NONE: u32 = u32::MAX;

impl Coloring {
    pub(super) fn new(colors: Vec<u32>) -> Self {
        let count = colors.iter().max().map_or(0, |most| *most as usize + 1);
        Self { colors, count }
    }

    /// Colors columns so that no two of one color have entries in one row: the sum of the columns of a color holds all
    /// of their entries. (A *partial distance-2 coloring* of the bipartite graph of rows and columns.)
    ///
    /// Greedy, in the order of the columns. No coloring has fewer colors than the fullest row has entries. First this
    /// number of colors is tried: each column takes the next allowed one behind the color of the column before it. That
    /// colors most stencils on grids with the fewest colors possible. If it takes more, the same is tried with one
    /// color more, and then with the first color that is allowed. The time is proportional to the sum over all rows of
    /// the number of entries squared.
    ///
    /// ```
    /// use tapewright::sparse::{Coloring, Pattern};
    ///
    /// let bidiagonal = Pattern::from_rows(5, (0..4).map(|row| [row, row + 1]));
    /// let coloring = Coloring::of_columns(&bidiagonal);
    /// assert_eq!((coloring.count(), coloring.colors()), (2, &[0, 1, 0, 1, 0][..]));
    /// ```
    #[must_use]
    pub fn of_columns(pattern: &Pattern) -> Self {
        Self::of_columns_with(pattern, &pattern.transposed())
    }

    /// The same of rows: no two of one color have entries in one column.
    #[must_use]
    pub fn of_rows(pattern: &Pattern) -> Self {
        Self::of_columns_with(&pattern.transposed(), pattern)
    }

    pub(super) fn of_columns_with(pattern: &Pattern, transposed: &Pattern) -> Self {
        let fullest = (0..pattern.rows()).map(|row| pattern.row(row).len()).max().unwrap_or(0);
        let mut best = greedy(pattern, transposed, fullest);
        for (colors, good) in [(fullest + 1, fullest + 1), (0, fullest + 2)] {
            if best.count > good {
                let other = greedy(pattern, transposed, colors);
                if other.count < best.count {
                    best = other;
                }
            }
        }
        best
    }

    /// The color of each column, or row, from 0 on.
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

/// Gives each column in turn a color that no column has with which it shares a row: of the first `colors`, the next one
/// behind the color of the column before it, if one is allowed, and the first one behind these otherwise.
fn greedy(pattern: &Pattern, transposed: &Pattern, colors: usize) -> Coloring {
    let mut found = vec![NONE; pattern.columns()];
    let mut forbidden = Forbidden::default();
    let mut last = NONE;
    for column in 0..pattern.columns() {
        forbidden.begin(column);
        for row in transposed.row(column) {
            pattern.row(*row).iter().for_each(|other| forbidden.forbid(found[*other]));
        }
        last = forbidden.next_allowed(last, colors);
        found[column] = last;
    }
    Coloring::new(found)
}

/// The colors that one vertex must not have.
#[derive(Debug, Default)]
pub(super) struct Forbidden {
    /// For each color, the last vertex that must not have it, plus 1.
    of: Vec<usize>,
    vertex: usize,
}

impl Forbidden {
    pub(super) fn begin(&mut self, vertex: usize) {
        self.vertex = vertex + 1;
    }

    /// Nothing is done for vertices without a color.
    pub(super) fn forbid(&mut self, color: u32) {
        if color != NONE {
            let color = color as usize;
            if color >= self.of.len() {
                self.of.resize(color + 1, 0);
            }
            self.of[color] = self.vertex;
        }
    }

    fn allows(&self, color: usize) -> bool {
        self.of.get(color) != Some(&self.vertex)
    }

    /// The first color from this one on that is allowed.
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer colors than vertices that fit in memory")]
    pub(super) fn first_allowed(&self, from: usize) -> u32 {
        (from..=self.of.len().max(from)).find(|color| self.allows(*color)).unwrap_or(from) as u32
    }

    /// Of this many colors, the next one behind `last` that is allowed, or the first one behind all of them.
    #[allow(clippy::cast_possible_truncation, reason = "as above")]
    fn next_allowed(&self, last: u32, colors: usize) -> u32 {
        let next = last.wrapping_add(1) as usize;
        let behind = (next..colors).chain(0..next.min(colors));
        { behind }.find(|color| self.allows(*color)).map_or_else(|| self.first_allowed(colors), |k| k as u32)
    }
}
