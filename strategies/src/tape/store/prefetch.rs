//! Hints to the processor's caches about memory that will be written or read soon.
//!
//! Hardware recognizes that a tape is written and read in one direction, but stops at each page of 4 KiB. A hint for
//! the next page keeps it going where recordings are larger than the caches.

/// Distance of a hint in bytes: one page.
pub(crate) const AHEAD: usize = 4096;

/// Recordings with this number of bytes of records exceed the caches; for smaller ones a hint for each record costs
/// more than it saves.
const LARGE: usize = 12 << 20;

/// Returns true if sweeps over this many bytes of records prefetch them.
pub(crate) const fn is_large(bytes: usize) -> bool {
    bytes > LARGE
}

/// Bytes of a line of the caches.
pub(crate) const LINE: usize = 64;
