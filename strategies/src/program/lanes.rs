//! Numbers of variables in the scenarios of a block: side by side, and as rows of scenarios.

use crate::number::simd::dispatch::{Registers, SimdTask};
use crate::number::simd::planes::{parts, parts_mut, planes};
use crate::number::simd::vector::{MOST, SimdVector, transpose};
use crate::{InRegisters, Number};
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

/// Writes columns into rows, one for each lane, and returns true if all numbers of the rows are finite. Each column has
/// its place in the rows, and places ascend; `row` is the length of a row.
pub(crate) fn turn<V: InRegisters>(columns: &[(usize, Lanes<&[V::Part]>)], rows: &mut [V], row: usize) -> bool {
    if planes::<V>() == 1 {
        // A number of one part is that part.
        // SAFETY: this task has no conditions.
        return unsafe { V::Part::dispatch(ToRows { columns, rows: bytemuck::cast_slice_mut(rows), row }) };
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

/// The task of [`turn`] for numbers of one part: as many lanes at once as a register has elements, so that rows are
/// written one behind the other.
struct ToRows<'a, T> {
    columns: &'a [(usize, Lanes<&'a [T]>)],
    rows: &'a mut [T],
    row: usize,
}

impl<T: Number> SimdTask<T> for ToRows<'_, T> {
    type Output = bool;
    #[allow(clippy::needless_range_loop, reason = "loops over elements index several arrays")]
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = T>>(self) -> bool {
        let Self { columns, rows, row } = self;
        let fits = |(place, column): &(usize, Lanes<&[T]>)| *place < row && column.parts.len() * row >= rows.len();
        assert!(columns.iter().all(fits), "columns have a place in rows, and a number for each");
        // Sums of products with 0, which are not 0 if a number is not finite.
        let (mut sums, mut sum) = ([L::zero(); MOST], T::ZERO);
        let mut first = 0;
        for rows in rows.chunks_mut((L::N * row).max(1)) {
            let is_whole = rows.len() == L::N * row;
            let mut left = columns;
            while let [(place, column), rest @ ..] = left {
                // Neighbors at once.
                if let Some((group, others)) = left.split_at_checked(L::N)
                    && is_whole
                    && group[L::N - 1].0 == place + L::N - 1
                {
                    let mut tile = [L::zero(); MOST];
                    for k in 0..L::N {
                        // SAFETY: `first` and the lanes behind it are rows, and columns have a number for each.
                        tile[k] = unsafe { L::load(group[k].1.parts.as_ptr().add(first)) };
                        sums[k] = sums[k] + tile[k] * L::zero();
                    }
                    transpose(&mut tile);
                    for k in 0..L::N {
                        // SAFETY: there are `N` rows, and the last place of the group is in a row.
                        unsafe { tile[k].store(rows.as_mut_ptr().add(k * row + place)) }
                    }
                    left = others;
                } else {
                    for (row, number) in rows.chunks_exact_mut(row).zip(&column.parts[first..]) {
                        row[*place] = *number;
                        sum += *number * T::ZERO;
                    }
                    left = rest;
                }
            }
            first += L::N;
        }
        sum == T::ZERO && !sums.into_iter().any(L::any_part)
    }
}

/// Writes rows of one length into columns, from lane `first` on: each number of a row has a column of this width, one
/// behind the other.
///
/// # Panics
///
/// When rows and columns do not fit, or there are more lanes than the width.
pub fn into_columns<V: InRegisters>(rows: &[&[V]], columns: &mut [V], (first, width): (usize, usize)) {
    let fits = |row: &&[V]| row.len() * width == columns.len();
    assert!(rows.iter().all(fits) && first + rows.len() <= width, "rows have a number for each column, and a lane");
    // SAFETY: the condition of the task has just been checked.
    unsafe { V::Part::dispatch(ToColumns { rows, columns, first, width }) }
}

/// The task of [`into_columns`]: as many rows at once as a register has elements, if numbers have one part.
///
/// Rows have a number for each column, and there are `width` numbers in a column, the lanes of all rows from `first` on
/// among them.
struct ToColumns<'a, V> {
    rows: &'a [&'a [V]],
    columns: &'a mut [V],
    first: usize,
    width: usize,
}

impl<V: InRegisters> SimdTask<V::Part> for ToColumns<'_, V> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V::Part>>(self) {
        let Self { rows, columns, mut first, width } = self;
        for rows in rows.chunks(L::N) {
            let mut done = 0;
            while rows.len() == L::N && done + L::N <= rows[0].len() && planes::<V>() == 1 {
                let mut tile = [L::zero(); MOST];
                for (register, row) in tile.iter_mut().zip(rows) {
                    // SAFETY: a number of one part is that part, and there are `N` of them from `done` on.
                    *register = unsafe { L::load(row.as_ptr().add(done).cast()) };
                }
                transpose(&mut tile);
                for (k, register) in tile.iter().enumerate().take(L::N) {
                    // SAFETY: promised by the caller.
                    unsafe { register.store(columns.as_mut_ptr().add((done + k) * width + first).cast()) }
                }
                done += L::N;
            }
            for (j, column) in columns.chunks_exact_mut(width).enumerate().skip(done) {
                column[first..].iter_mut().zip(rows).for_each(|(to, row)| *to = row[j]);
            }
            first += rows.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, into_columns, turn};
    use crate::number::simd::dispatch::{CHANGES, InstructionSet, Registers};
    use crate::{Float, InRegisters};

    /// Columns 0 to 16, 18 and 20 of rows of 22 numbers, in every number of lanes, with one number that is not finite or
    /// none.
    fn check<V: InRegisters + Float + Registers<Part = V>>() {
        const LANES: usize = 32;
        let places: Vec<usize> = (0..17).chain([18, 20]).collect();
        let number = |lane: usize, place: usize| V::from_f64(f64::from(u32::try_from(100 * lane + place).unwrap()));
        for rows in 0..=LANES {
            for (bad, nan) in [(None, 0.0), (Some((rows / 2, 3)), f64::NAN), (Some((rows, 18)), f64::INFINITY)] {
                let at = |lane, place| if bad == Some((lane, place)) { V::from_f64(nan) } else { number(lane, place) };
                let column = |place: usize| (0..LANES).map(|lane| at(lane, place)).collect::<Vec<_>>();
                let numbers: Vec<_> = places.iter().map(|place| column(*place)).collect();
                let lanes = |numbers| Lanes { parts: numbers, stride: LANES };
                let columns: Vec<_> = places.iter().zip(&numbers).map(|(k, of)| (*k, lanes(&of[..]))).collect();
                let mut found = vec![V::from_f64(-1.0); rows * 22];
                let is_finite = turn(&columns, &mut found, 22);
                assert_eq!(is_finite, bad.is_none_or(|(lane, _)| lane >= rows));
                for (lane, row) in found.chunks_exact(22).enumerate() {
                    for (place, found) in row.iter().enumerate() {
                        let expected = if places.contains(&place) { at(lane, place) } else { V::from_f64(-1.0) };
                        assert_eq!(found.as_f64().to_bits(), expected.as_f64().to_bits(), "{rows}: {lane}, {place}");
                    }
                }
            }
        }
    }

    /// Rows of up to 35 numbers, in up to 37 lanes of a block, and nothing else.
    fn check_columns<V: InRegisters + Float + Registers<Part = V>>() {
        const WIDTH: usize = 64;
        let number = |lane: usize, place: usize| V::from_f64((100 * lane + place) as f64);
        for length in [0, 1, 3, 4, 7, 8, 9, 16, 35] {
            for (first, lanes) in [(0, 0), (0, 1), (0, 8), (8, 7), (16, 37), (27, 37), (48, 16)] {
                let rows: Vec<Vec<V>> =
                    (0..lanes).map(|lane| (0..length).map(|place| number(lane, place)).collect()).collect();
                let rows: Vec<&[V]> = rows.iter().map(Vec::as_slice).collect();
                let mut columns = vec![V::from_f64(-1.0); length * WIDTH];
                into_columns(&rows, &mut columns, (first, WIDTH));
                for (k, found) in columns.iter().enumerate() {
                    let (place, lane) = (k / WIDTH, (k % WIDTH).wrapping_sub(first));
                    let expected = if lane < lanes { number(lane, place) } else { V::from_f64(-1.0) };
                    assert_eq!(
                        found.as_f64().to_bits(),
                        expected.as_f64().to_bits(),
                        "{length}, {first}: {lane}, {place}"
                    );
                }
            }
        }
    }

    #[test]
    fn columns_become_rows_on_every_instruction_set_and_rows_columns() {
        let _held = CHANGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for set in [InstructionSet::Baseline, InstructionSet::Middle, InstructionSet::Wide] {
            let _ = set.set();
            check::<f64>();
            check::<f32>();
            check_columns::<f64>();
            check_columns::<f32>();
        }
        let _ = InstructionSet::Wide.set();
    }
}
