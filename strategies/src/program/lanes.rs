//! Numbers of variables in the scenarios of a block: side by side, and as rows of scenarios.

use crate::number::simd::planes::{parts, parts_mut, planes};
use crate::number::simd::turn::{columns_to_rows, rows_to_columns};
use crate::{InRegisters, Number};
use core::ops::Deref;
use smallvec::SmallVec;

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

/// Writes columns into rows, one for each lane, and returns true if all numbers are finite. Each column has its place
/// in the rows, and places ascend; `row` is the length of a row, `stride` that of the [`Lanes`].
pub(crate) fn turn<V: InRegisters>(columns: &[(usize, &[V::Part])], stride: usize, rows: &mut [V], row: usize) -> bool {
    if planes::<V>() == 1 {
        // A number of one part is that part.
        return columns_to_rows(columns, bytemuck::cast_slice_mut(rows), row);
    }
    for (place, parts) in columns {
        Lanes { parts: *parts, stride }.read(rows[*place..].iter_mut().step_by(row));
    }
    let lanes = rows.len() / row.max(1);
    columns.iter().all(|(_, parts)| parts.chunks_exact(stride).all(|part| are_finite(&part[..lanes])))
}

/// Returns true if no number is infinite or NaN: products with 0 are ±0.
fn are_finite<T: Number>(numbers: &[T]) -> bool {
    numbers.iter().fold(T::ZERO, |sum, number| sum + *number * T::ZERO) == T::ZERO
}

/// Writes rows of one length into columns, from lane `first` on: each number of a row has a column of this width, one
/// behind the other.
///
/// # Panics
///
/// When rows and columns do not fit, or there are more lanes than the width.
pub fn into_columns<V: InRegisters>(rows: &[&[V]], columns: &mut [V], (first, width): (usize, usize)) {
    if planes::<V>() == 1 {
        // A number of one part is that part.
        let rows: SmallVec<[&[V::Part]; 64]> = rows.iter().map(|row| bytemuck::cast_slice(row)).collect();
        return rows_to_columns(&rows, bytemuck::cast_slice_mut(columns), (first, width));
    }
    for (j, column) in columns.chunks_exact_mut(width.max(1)).enumerate() {
        column[first..].iter_mut().zip(rows).for_each(|(to, row)| *to = row[j]);
    }
}
