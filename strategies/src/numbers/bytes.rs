//! Numbers as plain bytes.

use super::dual::Dual;
#[cfg(feature = "packs")]
use super::pack::Pack;

// SAFETY: of zeros alone a number can be made, and so can this of theirs.
unsafe impl<V: bytemuck::Zeroable, const N: usize> bytemuck::Zeroable for Dual<V, N> {}
// SAFETY: 1 + N numbers of one type, one behind the other in memory, have no padding between them nor behind the last,
// and any bytes are numbers if they are for each of them.
unsafe impl<V: bytemuck::Pod, const N: usize> bytemuck::Pod for Dual<V, N> {}

// SAFETY: of zeros alone each lane can be made.
#[cfg(feature = "packs")]
unsafe impl<const N: usize, V: bytemuck::Zeroable> bytemuck::Zeroable for Pack<N, V> {}
// SAFETY: it is an array, which has no padding between its elements nor behind the last.
#[cfg(feature = "packs")]
unsafe impl<const N: usize, V: bytemuck::Pod> bytemuck::Pod for Pack<N, V> {}
