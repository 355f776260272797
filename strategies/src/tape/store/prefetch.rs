//! Hints to the processor's caches: what will be written or read soon.
//!
//! Hardware recognises that a tape is written and read in one direction, but stops at each page of 4 KiB. A hint for
//! the page behind keeps it going where recordings are larger than the caches.

use crate::storage::Segment;

/// How many bytes ahead: a page.
pub(crate) const AHEAD: usize = 4096;

/// Recordings with this many bytes of records are beyond the caches; for smaller ones a hint for each record costs more
/// than it saves.
const LARGE: usize = 12 << 20;

/// Whether sweeps ask for records ahead, if there are `full` segments before the last, and `last` bytes in that one.
pub(crate) const fn is_large(full: usize, last: usize) -> bool {
    full >= LARGE / Segment::BYTES || last > LARGE
}
