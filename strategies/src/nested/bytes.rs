//! Numbers as plain bytes: implementations of the traits of `bytemuck`.

use super::number::Nested;
use crate::Nests;
#[cfg(feature = "packs")]
use crate::Pack;
use crate::contract::Taped;
use crate::identifier::LinearId;
use crate::number::dual::Dual;
use crate::number::traits::Whole;
use core::slice;

// SAFETY: a number may consist of zero bytes, and so may a dual of such numbers.
unsafe impl<V: bytemuck::Zeroable, const N: usize> bytemuck::Zeroable for Dual<V, N> {}
// SAFETY: 1 + N numbers of one type, contiguous in memory, have no padding between them nor at the end, and any bytes
// are valid if they are for each number.
unsafe impl<V: bytemuck::Pod, const N: usize> bytemuck::Pod for Dual<V, N> {}

// SAFETY: each lane may consist of zero bytes.
#[cfg(feature = "packs")]
unsafe impl<const N: usize, V: bytemuck::Zeroable> bytemuck::Zeroable for Pack<N, V> {}
// SAFETY: a pack is an array, which has no padding between its elements nor at the end.
#[cfg(feature = "packs")]
unsafe impl<const N: usize, V: bytemuck::Pod> bytemuck::Pod for Pack<N, V> {}

impl Whole for f64 {}
impl<V: Whole, const N: usize> Whole for Dual<V, N> {}
impl<S: Nests> Whole for Nested<S> {}

// SAFETY: a value may consist of zero bytes, and the identifier of passive variables is 0.
unsafe impl<S: Nests> bytemuck::Zeroable for Nested<S> {}
// SAFETY: a nested number is a value of complete words and an identifier of one word, in this order: there is no
// padding between them nor at the end. Bytes that `LinearId::new` would refuse are not an identifier: `Nested::id`, the
// only access to it, returns the passive one for them.
unsafe impl<S: Nests> bytemuck::Pod for Nested<S> {}

impl<S: Nests> Nested<S> {
    /// Reinterprets variables as numbers.
    pub(crate) fn cast(variables: &[Taped<S::Value, LinearId>]) -> &[Self] {
        // SAFETY: `Nested` is a transparent wrapper of the variable.
        unsafe { slice::from_raw_parts(variables.as_ptr().cast(), variables.len()) }
    }
}
