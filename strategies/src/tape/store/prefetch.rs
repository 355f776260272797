//! Hints to the processor's caches about memory that will be written or read soon.
//!
//! Hardware recognises that a tape is written and read in one direction, but stops at each page of 4 KiB. A hint for
//! the next page keeps it going where recordings are larger than the caches.

use crate::storage::Segment;

/// Distance of a hint in bytes: one page.
pub(crate) const AHEAD: usize = 4096;

/// Recordings with this number of bytes of records exceed the caches; for smaller ones a hint for each record costs
/// more than it saves.
const LARGE: usize = 12 << 20;

/// Returns true if sweeps prefetch records, when there are `full` segments before the last, and `last` bytes in that
/// one.
pub(crate) const fn is_large(full: usize, last: usize) -> bool {
    full >= LARGE / Segment::BYTES || last > LARGE
}
