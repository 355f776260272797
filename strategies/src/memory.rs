//! Memory reports: bytes, counted exactly.

use core::fmt;
use core::iter::Sum;

/// Bytes of one stream of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Bytes that hold recorded data.
    pub used: usize,
    /// Bytes that were obtained, `used` among them: from the allocator, or on disk where arrays have left memory.
    pub reserved: usize,
}

impl MemoryUsage {
    /// Returns the usage of a stream whose reserved bytes are all used.
    #[must_use]
    pub const fn exact(bytes: usize) -> Self {
        Self { used: bytes, reserved: bytes }
    }

    /// Returns the bytes of a vector's elements, used and reserved.
    #[must_use]
    pub const fn of_vec<T>(vec: &Vec<T>) -> Self {
        Self { used: vec.len() * size_of::<T>(), reserved: vec.capacity() * size_of::<T>() }
    }
}

impl Sum for MemoryUsage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages
            .fold(Self::default(), |sum, one| Self { used: sum.used + one.used, reserved: sum.reserved + one.reserved })
    }
}

/// Bytes of a recording, stream by stream.
///
/// Records, primal values and adjoints that grow with the recording are counted, and under `tables` the constant part
/// of a tape. The variables themselves, which the user owns, are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Number of recorded statements.
    pub statements: usize,
    /// Number of argument uses in the statements, including those passive arguments that a record had to keep.
    pub arguments: usize,
    streams: Vec<(&'static str, MemoryUsage)>,
}

impl MemoryReport {
    /// Makes a report without streams.
    #[must_use]
    pub const fn new(statements: usize, arguments: usize) -> Self {
        Self { statements, arguments, streams: Vec::new() }
    }

    /// Appends a stream to the report.
    #[must_use]
    pub fn stream(mut self, name: &'static str, usage: MemoryUsage) -> Self {
        self.streams.push((name, usage));
        self
    }

    /// Returns the streams by name, in the order in which they were added.
    #[must_use]
    pub fn streams(&self) -> &[(&'static str, MemoryUsage)] {
        &self.streams
    }

    /// Returns the usage of one stream; zero if there is no stream of this name.
    #[must_use]
    pub fn usage(&self, name: &str) -> MemoryUsage {
        self.streams.iter().find(|(n, _)| *n == name).map_or_else(MemoryUsage::default, |(_, usage)| *usage)
    }

    /// Returns the sum over all streams.
    #[must_use]
    pub fn total(&self) -> MemoryUsage {
        self.streams.iter().map(|(_, usage)| *usage).sum()
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} statements, {} arguments", self.statements, self.arguments)?;
        for (name, usage) in self.streams.iter().chain([&("total", self.total())]) {
            writeln!(f, "{name:<12} {:>14} bytes used {:>14} reserved", usage.used, usage.reserved)?;
        }
        Ok(())
    }
}
