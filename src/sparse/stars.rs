//! Star colorings: columns of a symmetric matrix that can be computed together.
//!
//! A. H. Gebremedhin, A. Tarafdar, F. Manne and A. Pothen, *New acyclic and star coloring algorithms with application
//! to computing Hessians*, SIAM Journal on Scientific Computing 29 (2007), 1042–1072: the greedy algorithm for star
//! colorings that keeps track of the stars of two colors.

use super::coloring::{Coloring, Forbidden, NONE};
use crate::pattern::Pattern;
use std::collections::HashMap;

/// A graph whose edges are the entries off the diagonal, and the stars that the edges of two colors form.
struct Stars<'a> {
    pattern: &'a Pattern,
    colors: Vec<u32>,
    forbidden: Forbidden,
    /// Star of each edge, for both of its entries.
    star: Vec<usize>,
    /// Vertex in the middle of each star; `None` for a single edge.
    hub: Vec<Option<usize>>,
    /// For each color, the latest vertex that has met a neighbor of that color: vertex, neighbor, entry.
    first: Vec<(usize, usize, usize)>,
    /// For each vertex, the latest vertex for which its neighbors' colors were forbidden.
    treated: Vec<usize>,
    /// For each vertex, the hubs of the stars that it is a tip of.
    hubs: Vec<Vec<usize>>,
    /// For a vertex with many neighbors and a color, the entry of an edge from that vertex to a neighbor of that color.
    edges: HashMap<(usize, u32), usize>,
    /// True if two neighbors of a vertex without a color must have different colors.
    apart: bool,
    /// Number of colors from which on a coloring is useless.
    most: usize,
    /// For each entry, the index of its mirror image.
    mirror: Vec<usize>,
}

/// Colors the columns of a symmetric pattern so that each entry of a symmetric matrix, or its mirror image, is alone in
/// its row among the columns of a color: a *star coloring*. Neighbors have different colors, and every path over four
/// vertices has at least three.
///
/// Two colorings are tried: with the neighbors of an uncolored vertex kept apart, and without. The first is right for a
/// few vertices that are neighbors of all others, the second often takes fewer colors.
pub(super) fn star_coloring(pattern: &Pattern) -> Coloring {
    let apart = Stars::color_all(pattern, true, usize::MAX);
    let apart = apart.expect("as many colors as it takes");
    Stars::color_all(pattern, false, apart.count().saturating_sub(1)).unwrap_or(apart)
}

/// For each entry (i, j), the index of (j, i).
fn mirrors(pattern: &Pattern) -> Vec<usize> {
    let mut next = pattern.starts().to_vec();
    let mut mirror = Vec::with_capacity(pattern.entries());
    // Row by row, the entries of a column come in the order in which they stand in the row that mirrors it.
    for column in pattern.indices() {
        mirror.push(next[*column]);
        next[*column] += 1;
    }
    mirror
}

impl Stars<'_> {
    /// The neighbors of a vertex that have a color, with the entries of the edges.
    fn colored(&self, vertex: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let start = self.pattern.starts()[vertex];
        let neighbors = (start..).zip(self.pattern.row(vertex));
        neighbors
            .map(|(entry, other)| (*other, entry))
            .filter(move |(other, _)| *other != vertex && self.colors[*other] != NONE)
    }

    /// A coloring in the order of decreasing degrees; `None` if it takes more than `most` colors.
    fn color_all(pattern: &Pattern, apart: bool, most: usize) -> Option<Coloring> {
        let vertices = pattern.rows();
        let mut stars = Stars {
            pattern,
            colors: vec![NONE; vertices],
            forbidden: Forbidden::default(),
            star: vec![usize::MAX; pattern.entries()],
            hub: Vec::new(),
            first: Vec::new(),
            treated: vec![usize::MAX; vertices],
            hubs: vec![Vec::new(); vertices],
            edges: HashMap::new(),
            apart,
            most,
            mirror: mirrors(pattern),
        };
        let mut order: Vec<usize> = (0..vertices).collect();
        order.sort_by_key(|vertex| core::cmp::Reverse(pattern.row(*vertex).len()));
        order.into_iter().all(|vertex| stars.color(vertex)).then(|| Coloring::new(stars.colors))
    }

    /// Colors a vertex. Returns false if that takes more than `most` colors.
    fn color(&mut self, vertex: usize) -> bool {
        self.forbidden.begin(vertex);
        let start = self.pattern.starts()[vertex];
        for (entry, other) in (start..).zip(self.pattern.row(vertex)) {
            if *other == vertex {
                continue;
            }
            if self.colors[*other] != NONE {
                self.meet(vertex, *other, entry);
            } else if self.apart {
                self.pattern.row(*other).iter().for_each(|next| self.forbidden.forbid(self.colors[*next]));
            }
        }
        let color = self.forbidden.first_allowed(0);
        self.colors[vertex] = color;
        self.update_stars(vertex);
        (color as usize) < self.most
    }

    /// Forbids the colors that the vertex must not have because of a neighbor with a color.
    fn meet(&mut self, vertex: usize, neighbor: usize, entry: usize) {
        let color = self.colors[neighbor];
        self.forbidden.forbid(color);
        if color as usize >= self.first.len() {
            self.first.resize(color as usize + 1, (usize::MAX, 0, 0));
        }
        let (met, other, _) = self.first[color as usize];
        if met == vertex {
            // Two neighbors of one color: the vertex must be their hub, so no neighbor of theirs has its color.
            if self.treated[other] != vertex {
                self.treat(vertex, other);
            }
            self.treat(vertex, neighbor);
            return;
        }
        self.first[color as usize] = (vertex, neighbor, entry);
        for hub in &self.hubs[neighbor] {
            self.forbidden.forbid(self.colors[*hub]);
        }
    }

    /// Forbids the colors of all neighbors of a neighbor.
    fn treat(&mut self, vertex: usize, neighbor: usize) {
        for next in self.pattern.row(neighbor) {
            if *next != neighbor {
                self.forbidden.forbid(self.colors[*next]);
            }
        }
        self.treated[neighbor] = vertex;
    }

    /// Assigns the edges from a vertex, which has just got its color, to its colored neighbors to stars.
    fn update_stars(&mut self, vertex: usize) {
        let edges: Vec<(usize, usize)> = self.colored(vertex).collect();
        for (neighbor, entry) in edges {
            let star = if let Some(edge) = self.edge_to_another(neighbor, vertex) {
                self.join(edge, neighbor, vertex)
            } else {
                let (met, other, edge) = self.first[self.colors[neighbor] as usize];
                if met == vertex && other != neighbor {
                    self.join(edge, vertex, neighbor)
                } else {
                    self.hub.push(None);
                    self.hub.len() - 1
                }
            };
            self.star[entry] = star;
            self.star[self.mirror[entry]] = star;
            for (from, to, entry) in [(neighbor, vertex, self.mirror[entry]), (vertex, neighbor, entry)] {
                if self.is_wide(from) {
                    self.edges.entry((from, self.colors[to])).or_insert(entry);
                }
            }
        }
    }

    /// Returns true if the vertex has so many edges that they are found by a map and not by a search.
    fn is_wide(&self, vertex: usize) -> bool {
        self.pattern.row(vertex).len() > 16
    }

    /// An edge from a vertex to a neighbor, other than this one, that has this one's color.
    fn edge_to_another(&self, vertex: usize, neighbor: usize) -> Option<usize> {
        let color = self.colors[neighbor];
        if self.is_wide(vertex) {
            return self.edges.get(&(vertex, color)).copied();
        }
        let same = |(other, _): &(usize, usize)| *other != neighbor && self.colors[*other] == color;
        self.colored(vertex).find(same).map(|(_, entry)| entry)
    }

    /// Puts the edge from a hub to a tip into the star of an entry of the hub's row.
    fn join(&mut self, entry: usize, hub: usize, tip: usize) -> usize {
        let star = self.star[entry];
        if self.hub[star].replace(hub).is_none() {
            self.hubs[self.pattern.indices()[entry]].push(hub);
        }
        self.hubs[tip].push(hub);
        star
    }
}

/// For each entry of a symmetric matrix, the row and the color under which its value stands alone in the product of the
/// matrix with the sums of columns of each color.
pub(super) fn sources(pattern: &Pattern, coloring: &Coloring) -> Vec<(usize, u32)> {
    let colors = coloring.colors();
    // For each color, the latest row in which it occurs, and how often it occurs there.
    let mut met = vec![(usize::MAX, 0_u32); coloring.count()];
    let mut sources = vec![(usize::MAX, NONE); pattern.entries()];
    let mirror = mirrors(pattern);
    for row in 0..pattern.rows() {
        for column in pattern.row(row) {
            let met = &mut met[colors[*column] as usize];
            *met = if met.0 == row { (row, met.1 + 1) } else { (row, 1) };
        }
        for (entry, column) in (pattern.starts()[row]..).zip(pattern.row(row)) {
            let color = colors[*column];
            if met[color as usize].1 == 1 && sources[entry].1 == NONE {
                sources[entry] = (row, color);
                sources[mirror[entry]] = (row, color);
            }
        }
    }
    debug_assert!(sources.iter().all(|(_, color)| *color != NONE), "one of two entries stands alone");
    sources
}

#[cfg(test)]
mod tests {
    use super::{sources, star_coloring};
    use crate::sparse::Pattern;

    /// A random symmetric pattern that lacks some entries of the diagonal.
    fn random(n: usize, edges: usize, seed: u64) -> Pattern {
        let mut state = seed;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let mut rows = vec![Vec::new(); n];
        for _ in 0..edges {
            let (i, j) = (next(n), next(n));
            rows[i].push(j);
            rows[j].push(i);
        }
        Pattern::from_rows(n, rows)
    }

    /// Checks the definition edge by edge: neighbors differ, and no path over four vertices has two colors.
    #[test]
    fn no_path_over_four_vertices_has_two_colors() {
        for seed in 0..400 {
            let n = 2 + usize::try_from(seed % 23).unwrap_or(0);
            let pattern = random(n, n * (1 + usize::try_from(seed % 5).unwrap_or(0)), seed);
            let coloring = star_coloring(&pattern);
            let colors = coloring.colors();
            let edges = |i: usize| pattern.row(i).iter().copied().filter(move |j| *j != i);
            for b in 0..n {
                for c in edges(b) {
                    assert_ne!(colors[b], colors[c], "seed {seed}");
                    for a in edges(b).filter(|a| *a != c && colors[*a] == colors[c]) {
                        for d in edges(c).filter(|d| *d != b && *d != a) {
                            assert_ne!(colors[d], colors[b], "seed {seed}: {a} {b} {c} {d}");
                        }
                    }
                }
            }
            assert!(sources(&pattern, &coloring).iter().all(|(row, _)| *row < n));
        }
    }

    /// An arrow: one full row and column, and the diagonal. Two colors are enough, and no quadratic time is.
    #[test]
    fn an_arrow_takes_two_colors() {
        let arrow =
            Pattern::from_rows(30_000, (0..30_000).map(|i| if i == 0 { (0..30_000).collect() } else { vec![0, i] }));
        assert_eq!(star_coloring(&arrow).count(), 2);
    }

    /// Two full rows and columns that share no entry, and the diagonal: three colors, in no quadratic time.
    #[test]
    fn two_parameters_that_couple_all_others_take_three_colors() {
        let n = 30_000;
        let row = |i: usize| match i {
            0 | 1 => core::iter::once(i).chain(2..n).collect(),
            _ => vec![0, 1, i],
        };
        assert_eq!(star_coloring(&Pattern::from_rows(n, (0..n).map(row))).count(), 3);
    }

    #[test]
    fn a_tridiagonal_matrix_takes_three_colors() {
        let rows = (0..100_usize).map(|i| i.saturating_sub(1)..(i + 2).min(100));
        assert_eq!(star_coloring(&Pattern::from_rows(100, rows)).count(), 3);
    }
}
