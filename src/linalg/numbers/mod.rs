//! The numbers that entries of matrices may be, each an [`Element`](super::Element).

mod duals;
mod floats;
#[cfg(feature = "packs")]
mod packs;
