//! Numbers as plain bytes.

use super::number::Nested;
#[cfg(feature = "packs")]
use crate::Pack;
use crate::number::dual::Dual;
use crate::number::traits::Whole;
use crate::{LinearId, Nests, Taped};
use core::slice;

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

impl Whole for f64 {}
impl<V: Whole, const N: usize> Whole for Dual<V, N> {}
impl<S: Nests> Whole for Nested<S> {}

// SAFETY: of zeros alone a number can be made, and the identifier of passive variables is 0.
unsafe impl<S: Nests> bytemuck::Zeroable for Nested<S> {}
// SAFETY: it is a number of whole words and an identifier, which is one word, in this order: there is no padding
// between them nor behind the last. Bytes that `LinearId::new` would refuse are no identifier: `Nested::id`, the only
// way to it, returns that of passive variables for them.
unsafe impl<S: Nests> bytemuck::Pod for Nested<S> {}

impl<S: Nests> Nested<S> {
    /// Variables as numbers.
    pub(crate) fn cast(variables: &[Taped<S::Value, LinearId>]) -> &[Self] {
        // SAFETY: a number is laid out as the variable that it is, its only field.
        unsafe { slice::from_raw_parts(variables.as_ptr().cast(), variables.len()) }
    }
}
