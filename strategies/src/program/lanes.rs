//! Numbers of variables in the scenarios of a block: side by side, and as rows of scenarios.

use crate::Number;
use crate::number::simd::dispatch::{Plain, dispatch_plain};
use crate::number::simd::planes::{parts, parts_mut, planes};
use core::ops::Deref;

/// Numbers side by side: all values, then all first tangents, and so on.
pub(crate) struct Lanes<P> {
    pub(crate) parts: P,
    /// Number of parts from one part of a number to the next.
    pub(crate) stride: usize,
}

impl<P: Deref<Target = [T]>, T: Number> Lanes<P> {
    /// Reads the numbers in lanes, from the first one on.
    #[inline]
    pub(crate) fn read<'t, V: Number<Part = T>>(&self, to: impl Iterator<Item = &'t mut V>) {
        if planes::<V>() == 1 {
            to.zip(&*self.parts).for_each(|(to, from)| parts_mut(to)[0] = *from);
        } else {
            to.enumerate().for_each(|(lane, to)| *to = self.get(lane));
        }
    }

    #[inline]
    pub(crate) fn get<V: Number<Part = T>>(&self, lane: usize) -> V {
        let mut number = V::ZERO;
        let of_lane = self.parts[lane..].iter().step_by(self.stride);
        parts_mut(&mut number).iter_mut().zip(of_lane).for_each(|(part, from)| *part = *from);
        number
    }
}

impl<T: Number> Lanes<&mut [T]> {
    /// Writes numbers to lanes, from the first one on; the last one fills the lanes that are left.
    #[inline]
    pub(crate) fn write<V: Number<Part = T>>(&mut self, numbers: &[V]) {
        for (k, plane) in self.parts.chunks_exact_mut(self.stride).enumerate() {
            let (to, rest) = plane.split_at_mut(numbers.len());
            to.iter_mut().zip(numbers).for_each(|(to, number)| *to = parts(number)[k]);
            rest.fill(to[numbers.len() - 1]);
        }
    }

    #[inline]
    pub(crate) fn set<V: Number<Part = T>>(&mut self, lane: usize, number: V) {
        let of_lane = self.parts[lane..].iter_mut().step_by(self.stride);
        of_lane.zip(parts(&number)).for_each(|(to, part)| *to = *part);
    }

    pub(crate) fn add<V: Number<Part = T>>(&mut self, lane: usize, number: V) {
        let sum: V = self.get(lane);
        self.set(lane, sum + number);
    }

    pub(crate) fn clear(&mut self) {
        self.parts.fill(T::ZERO);
    }
}

/// Number of lanes that are turned at once: as many as a line has of `f64`.
const TILE: usize = 8;

/// Writes columns into rows, one for each lane, and returns true if all numbers of the columns are finite. Each column
/// has its place in the rows; `row` is the length of a row.
pub(crate) fn turn<V: Number>(columns: &[(usize, Lanes<&[V::Part]>)], rows: &mut [V], row: usize) -> bool {
    if planes::<V>() == 1 {
        // A number of one part is that part.
        return dispatch_plain(Turn { columns, rows: bytemuck::cast_slice_mut(rows), row });
    }
    for (place, column) in columns {
        column.read(rows[*place..].iter_mut().step_by(row));
    }
    columns.iter().all(|(_, column)| are_finite(column.parts))
}

/// Returns true if no number is infinite or NaN: products with 0 are ±0.
fn are_finite<T: Number>(numbers: &[T]) -> bool {
    numbers.iter().fold(T::ZERO, |sum, number| sum + *number * T::ZERO) == T::ZERO
}

/// The task of [`turn`] for numbers of one part, lanes by lanes, so that rows are written one behind the other.
struct Turn<'a, T> {
    columns: &'a [(usize, Lanes<&'a [T]>)],
    rows: &'a mut [T],
    row: usize,
}

impl<T: Number> Plain for Turn<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let Self { mut columns, rows, row } = self;
        // Several sums, since none of them waits for another.
        let mut sums = [T::ZERO; 4 * TILE];
        for (_, column) in columns {
            let (numbers, rest) = column.parts.as_chunks::<{ 4 * TILE }>();
            for numbers in numbers {
                (0..4 * TILE).for_each(|k| sums[k] += numbers[k] * T::ZERO);
            }
            rest.iter().zip(&mut sums).for_each(|(number, sum)| *sum += *number * T::ZERO);
        }
        let mut tiles = rows.chunks_exact_mut((TILE * row).max(1));
        let mut first = 0;
        for rows in &mut tiles {
            let mut left = columns;
            while let [(place, a), rest @ ..] = left {
                // Neighbors at once, by fewer stores.
                if let [(_, b), (_, c), (last, d), others @ ..] = rest
                    && *last == place + 3
                {
                    let [a, b, c, d] = [tile(a, first), tile(b, first), tile(c, first), tile(d, first)];
                    for k in 0..TILE {
                        rows[k * row + place..][..4].copy_from_slice(&[a[k], b[k], c[k], d[k]]);
                    }
                    left = others;
                } else {
                    let a = tile(a, first);
                    (0..TILE).for_each(|k| rows[k * row + place] = a[k]);
                    left = rest;
                }
            }
            first += TILE;
        }
        let rows = tiles.into_remainder();
        while let [(place, column), rest @ ..] = columns {
            let to = rows.iter_mut().skip(*place).step_by(row);
            to.zip(&column.parts[first..]).for_each(|(to, from)| *to = *from);
            columns = rest;
        }
        sums == [T::ZERO; 4 * TILE]
    }
}

/// The numbers of a column in one tile.
#[inline(always)]
fn tile<'a, T: Number>(column: &Lanes<&'a [T]>, first: usize) -> &'a [T; TILE] {
    column.parts[first..].first_chunk().expect("blocks have whole lines")
}
