//! Instruction lists, as values and as constants of types.

use super::access::{LEAVES, OPERANDS, OUTPUTS};
use super::instruction::{Op, RULES};
use crate::number::simd::rule::Rule;

/// The largest number of operations in a list.
pub(crate) const STEPS: usize = 2048;
/// No result.
pub(crate) const NOTHING: u16 = u16::MAX;

/// Machine operations: the operations of a [`Body`](super::body::Body) without the ones that stand for several,
/// and with adjoints and tangents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    pub(crate) ops: [Op; STEPS],
    pub(crate) len: usize,
    /// What is asked for, or [`NOTHING`].
    pub(crate) results: [u16; LEAVES],
}
const _: () = assert!(LEAVES >= OUTPUTS && LEAVES >= OPERANDS, "a script has a place for each result");

/// A list as a type: operations that are known when a kernel is compiled.
pub(crate) trait StaticListing {
    /// The operations.
    const OPS: &'static [Op];
    /// Where the results stand that are asked for, or [`NOTHING`].
    const RESULTS: &'static [u16];
    /// The rules that the operations call.
    const RULES: &'static [Option<&'static Rule>; RULES];
    /// The number of captured numbers.
    const CONSTANTS: usize;
    /// Whether the adjoints of all outputs are arrays.
    const ALL_DENSE: bool;
}

/// Where result `k` of a script stands, if there is one.
pub(crate) const fn result<C: StaticListing>(k: usize) -> Option<usize> {
    if k < C::RESULTS.len() && C::RESULTS[k] != NOTHING { Some(C::RESULTS[k] as usize) } else { None }
}
