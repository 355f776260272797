//! Bytes, counted exactly.

use core::fmt;

/// Bytes of one stream of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Bytes that hold recorded data.
    pub used: usize,
    /// Bytes that were set aside, `used` among them: from the allocator, or on disk where arrays have left memory.
    pub reserved: usize,
}

impl MemoryUsage {
    /// A stream whose reserved bytes are all used.
    #[must_use]
    pub const fn exact(bytes: usize) -> Self {
        Self { used: bytes, reserved: bytes }
    }

    /// The bytes of a vector's elements.
    #[must_use]
    pub const fn of_vec<T>(vec: &Vec<T>) -> Self {
        Self { used: vec.len() * size_of::<T>(), reserved: vec.capacity() * size_of::<T>() }
    }
}

/// Bytes of a recording, stream by stream.
///
/// Counted are the records, primal values and adjoints that grow with the recording, and under `tables` the constant
/// part of a tape. Not counted: the variables themselves, which the user owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Statements recorded.
    pub statements: usize,
    /// Argument uses in them, passive ones that a record had to keep included.
    pub arguments: usize,
    streams: Vec<(&'static str, MemoryUsage)>,
}

impl MemoryReport {
    /// A report without streams yet.
    #[must_use]
    pub const fn new(statements: usize, arguments: usize) -> Self {
        Self { statements, arguments, streams: Vec::new() }
    }

    /// The report with one more stream.
    #[must_use]
    pub fn stream(mut self, name: &'static str, usage: MemoryUsage) -> Self {
        self.streams.push((name, usage));
        self
    }

    /// The streams by name, in the order in which they were added.
    #[must_use]
    pub fn streams(&self) -> &[(&'static str, MemoryUsage)] {
        &self.streams
    }

    /// One stream; zero if the strategy has none of this name.
    #[must_use]
    pub fn usage(&self, name: &str) -> MemoryUsage {
        self.streams.iter().find(|(n, _)| *n == name).map_or_else(MemoryUsage::default, |(_, usage)| *usage)
    }

    /// All streams together.
    #[must_use]
    pub fn total(&self) -> MemoryUsage {
        let sum = |f: fn(&MemoryUsage) -> usize| self.streams.iter().map(|(_, usage)| f(usage)).sum();
        MemoryUsage { used: sum(|u| u.used), reserved: sum(|u| u.reserved) }
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
