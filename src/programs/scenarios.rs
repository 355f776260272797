//! Data of scenarios.

use crate::error::{Error, same_length};
use core::fmt;
use tapewright_strategies::Number;

/// The data of many scenarios: a row of numbers for each.
///
/// Implemented for slices of arrays and of vectors; [`rows`] takes a flat slice, [`scenarios`] a closure.
pub trait Scenarios<V>: Sync {
    /// Number of scenarios.
    fn count(&self) -> usize;

    /// Number of data of each scenario.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when scenarios differ in it.
    fn columns(&self) -> Result<usize, Error>;

    /// Writes the data of a scenario.
    fn write(&self, scenario: usize, data: &mut [V]);
}

/// Implements [`Scenarios`] for these collections of arrays of `N` numbers.
macro_rules! arrays {
    ($(<$(const $count:ident)?> $rows:ty;)*) => { $(
        impl<V: Number, const N: usize $(, const $count: usize)?> Scenarios<V> for $rows {
            fn count(&self) -> usize {
                self.len()
            }
            fn columns(&self) -> Result<usize, Error> {
                Ok(N)
            }
            fn write(&self, scenario: usize, data: &mut [V]) {
                data.copy_from_slice(&self[scenario]);
            }
        }
    )* };
}
arrays! {
    <> &[[V; N]];
    <const COUNT> &[[V; N]; COUNT];
    <> &Vec<[V; N]>;
}

impl<V: Number> Scenarios<V> for &[Vec<V>] {
    fn count(&self) -> usize {
        self.len()
    }
    fn columns(&self) -> Result<usize, Error> {
        let columns = self.first().map_or(0, Vec::len);
        self.iter().try_for_each(|row| same_length(("data of scenario 0", columns), ("data of another", row.len())))?;
        Ok(columns)
    }
    fn write(&self, scenario: usize, data: &mut [V]) {
        data.copy_from_slice(&self[scenario]);
    }
}

/// The rows of a flat slice; made by [`rows`].
#[derive(Clone, Copy, Debug)]
pub struct Rows<'x, V> {
    numbers: &'x [V],
    columns: usize,
}

/// Scenarios that lie one behind the other, with this many data each.
///
/// # Panics
///
/// When `columns` is 0.
#[must_use]
#[track_caller]
pub fn rows<V>(numbers: &[V], columns: usize) -> Rows<'_, V> {
    assert!(columns > 0, "scenarios of a flat slice have at least one number each");
    Rows { numbers, columns }
}

impl<V: Number> Scenarios<V> for Rows<'_, V> {
    fn count(&self) -> usize {
        self.numbers.len() / self.columns
    }
    fn columns(&self) -> Result<usize, Error> {
        let complete = self.count() * self.columns;
        same_length(("numbers in complete rows", complete), ("in the slice", self.numbers.len()))?;
        Ok(self.columns)
    }
    fn write(&self, scenario: usize, data: &mut [V]) {
        data.copy_from_slice(&self.numbers[scenario * self.columns..][..self.columns]);
    }
}

/// Scenarios whose data a closure writes; made by [`scenarios`].
#[derive(Clone, Copy)]
pub struct FromFn<F> {
    count: usize,
    columns: usize,
    write: F,
}

/// `count` scenarios with `columns` data each, which `write(k, data)` writes for scenario k: a random stream that can
/// be asked for the numbers of any scenario, or a look-up. It may be asked more than once for a scenario.
pub fn scenarios<V, F: Fn(usize, &mut [V]) + Sync>(count: usize, columns: usize, write: F) -> FromFn<F> {
    FromFn { count, columns, write }
}

impl<V: Number, F: Fn(usize, &mut [V]) + Sync> Scenarios<V> for FromFn<F> {
    fn count(&self) -> usize {
        self.count
    }
    fn columns(&self) -> Result<usize, Error> {
        Ok(self.columns)
    }
    fn write(&self, scenario: usize, data: &mut [V]) {
        (self.write)(scenario, data);
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} scenarios of {} numbers", self.count, self.columns)
    }
}
