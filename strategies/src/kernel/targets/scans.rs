//! Scans as jobs for devices.

use super::kernel::BoundKernel;
use crate::Number;
use crate::kernel::memory::buffer::Buffer;

/// A scan of an array in groups, by a rule that was declared associative; or a sweep through one. Element k of a group
/// is combined with those before it in the group, and, behind the first group, with the result before the group.
#[derive(Debug)]
#[cfg_attr(not(any(feature = "opencl", feature = "cuda")), allow(dead_code, reason = "devices carry it out"))]
pub struct Scan<'a, V: Number> {
    /// Rule, whose values are the uniform scalars 0 and 1.
    pub(crate) kernel: &'a BoundKernel<V>,
    /// Number of elements that are combined, at least one, and of those in a group.
    pub(crate) length: usize,
    pub(crate) group: usize,
    /// True if the first result is a value before the elements.
    pub(crate) is_exclusive: bool,
    pub(crate) step: ScanStep<'a, V>,
}

/// Part of a scan that is a job. Arrays of values are there if partial derivatives depend on them.
#[derive(Debug)]
#[cfg_attr(not(any(feature = "opencl", feature = "cuda")), allow(dead_code, reason = "devices carry it out"))]
pub(crate) enum ScanStep<'a, V: Number> {
    /// The results.
    Values { x: &'a Buffer<V>, start: V, results: &'a mut Buffer<V> },
    /// The adjoints of the elements, which are added or, if there are none yet, set; and that of the value before them.
    Adjoints {
        values: [Option<&'a Buffer<V>>; 2],
        seeds: &'a Buffer<V>,
        sums: &'a mut Buffer<V>,
        is_fresh: bool,
        of_start: &'a mut V,
    },
    /// The tangents of the results.
    Tangents { values: [Option<&'a Buffer<V>>; 2], of_start: V, tangents: &'a Buffer<V>, results: &'a mut Buffer<V> },
}
