//! Columns of numbers turned into rows, and rows into columns, by as many at once as a register has elements.

use super::dispatch::{Registers, SimdTask};
use super::vector::{MOST, SimdVector, transpose};
use crate::Number;

/// Writes columns into rows, which lie one behind the other, and returns true if all numbers of the rows are finite.
/// Each column has its place in the rows, and places ascend; `row` is the length of a row.
///
/// # Panics
///
/// When a column has no place in rows of this length, or fewer numbers than there are rows.
pub(crate) fn columns_to_rows<T: Registers + Number>(columns: &[(usize, &[T])], rows: &mut [T], row: usize) -> bool {
    // SAFETY: this task has no conditions.
    unsafe { T::dispatch(ToRows { columns, rows, row }) }
}

/// The task of [`columns_to_rows`], lanes by lanes, so that rows are written one behind the other.
struct ToRows<'a, T> {
    columns: &'a [(usize, &'a [T])],
    rows: &'a mut [T],
    row: usize,
}

impl<T: Number> SimdTask<T> for ToRows<'_, T> {
    type Output = bool;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = T>>(self) -> bool {
        let Self { columns, rows, row } = self;
        let fits = |(place, column): &(usize, &[T])| *place < row && column.len() * row >= rows.len();
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
                        tile[k] = unsafe { L::load(group[k].1.as_ptr().add(first)) };
                        sums[k] = sums[k] + tile[k] * L::zero();
                    }
                    transpose(&mut tile);
                    for k in 0..L::N {
                        // SAFETY: there are `N` rows, and the last place of the group is in a row.
                        unsafe { tile[k].store(rows.as_mut_ptr().add(k * row + place)) }
                    }
                    left = others;
                } else {
                    for (row, number) in rows.chunks_exact_mut(row).zip(&column[first..]) {
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
pub(crate) fn rows_to_columns<T: Registers + Number>(rows: &[&[T]], columns: &mut [T], (first, width): (usize, usize)) {
    // SAFETY: this task has no conditions.
    unsafe { T::dispatch(ToColumns { rows, columns, first, width }) }
}

/// The task of [`rows_to_columns`], as many rows at once as a register has elements.
struct ToColumns<'a, T> {
    rows: &'a [&'a [T]],
    columns: &'a mut [T],
    first: usize,
    width: usize,
}

impl<T: Number> SimdTask<T> for ToColumns<'_, T> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = T>>(self) {
        let Self { rows, columns, mut first, width } = self;
        let fits = |row: &&[T]| row.len() * width == columns.len();
        assert!(rows.iter().all(fits) && first + rows.len() <= width, "rows have a number for each column, and a lane");
        for rows in rows.chunks(L::N) {
            let mut done = 0;
            while rows.len() == L::N && done + L::N <= rows[0].len() {
                let mut tile = [L::zero(); MOST];
                for k in 0..L::N {
                    // SAFETY: a row has `N` numbers from `done` on.
                    tile[k] = unsafe { L::load(rows[k].as_ptr().add(done)) };
                }
                transpose(&mut tile);
                for k in 0..L::N {
                    // SAFETY: there is a column for each number of a row, with `N` lanes from `first` on.
                    unsafe { tile[k].store(columns.as_mut_ptr().add((done + k) * width + first)) }
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
    use super::{columns_to_rows, rows_to_columns};
    use crate::Float;
    use crate::number::simd::dispatch::{CHANGES, InstructionSet, Registers};

    /// Columns 0 to 2, 5, 7 to 23, 26 and 28 of rows of 30 numbers, in every number of lanes, with one number that is
    /// not finite or none.
    fn check<V: Float + Registers>() {
        const LANES: usize = 32;
        let places: Vec<usize> = (0..3).chain([5]).chain(7..24).chain([26, 28]).collect();
        let number = |lane: usize, place: usize| V::from_f64(f64::from(u32::try_from(100 * lane + place).unwrap()));
        for rows in (0..=LANES).step_by(if cfg!(miri) { 16 } else { 1 }) {
            for (bad, nan) in [(None, 0.0), (Some((rows / 2, 5)), f64::NAN), (Some((rows, 18)), f64::INFINITY)] {
                let at = |lane, place| if bad == Some((lane, place)) { V::from_f64(nan) } else { number(lane, place) };
                let column = |place: usize| (0..LANES).map(|lane| at(lane, place)).collect::<Vec<_>>();
                let numbers: Vec<_> = places.iter().map(|place| column(*place)).collect();
                let columns: Vec<_> = places.iter().zip(&numbers).map(|(k, of)| (*k, &of[..])).collect();
                let mut found = vec![V::from_f64(-1.0); rows * 30];
                let is_finite = columns_to_rows(&columns, &mut found, 30);
                assert_eq!(is_finite, bad.is_none_or(|(lane, _)| lane >= rows));
                for (lane, row) in found.chunks_exact(30).enumerate() {
                    for (place, found) in row.iter().enumerate() {
                        let expected = if places.contains(&place) { at(lane, place) } else { V::from_f64(-1.0) };
                        assert_eq!(found.as_f64().to_bits(), expected.as_f64().to_bits(), "{rows}: {lane}, {place}");
                    }
                }
            }
        }
    }

    /// Rows of up to 35 numbers, in up to 37 lanes of a block, and nothing else.
    fn check_columns<V: Float + Registers>() {
        const WIDTH: usize = 64;
        let number = |lane: usize, place: usize| V::from_f64(f64::from(u32::try_from(100 * lane + place).unwrap()));
        // Few of them under miri.
        let (lengths, places) =
            ([0, 9, 17, 1, 3, 4, 7, 8, 16, 35], [(48, 16), (8, 7), (0, 0), (0, 1), (0, 8), (16, 37), (27, 37)]);
        let few = |all: usize, few: usize| if cfg!(miri) { few } else { all };
        for length in lengths.into_iter().take(few(10, 3)) {
            for (first, lanes) in places.into_iter().take(few(7, 2)) {
                let row = |lane: usize| (0..length).map(|place| number(lane, place)).collect::<Vec<V>>();
                let rows: Vec<Vec<V>> = (0..lanes).map(row).collect();
                let rows: Vec<&[V]> = rows.iter().map(Vec::as_slice).collect();
                let mut columns = vec![V::from_f64(-1.0); length * WIDTH];
                rows_to_columns(&rows, &mut columns, (first, WIDTH));
                for (k, found) in columns.iter().enumerate() {
                    let (place, lane) = (k / WIDTH, (k % WIDTH).wrapping_sub(first));
                    let expected = if lane < lanes { number(lane, place) } else { V::from_f64(-1.0) };
                    assert_eq!(found.as_f64(), expected.as_f64(), "{length}, {first}: {lane}, {place}");
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
