//! The numbers that may be entries of matrices, each an [`Element`](super::Element).

mod duals;
mod floats;
#[cfg(feature = "packs")]
mod packs;
