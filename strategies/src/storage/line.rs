//! Memory in cache lines.

use bytemuck::{Pod, Zeroable};

/// One cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; LINE]);

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;
