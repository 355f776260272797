//! Lists of machine operations, as values and as types.

use super::code::{Op, RULES};
use super::keys::{LEAVES, OPERANDS, OUTPUTS};
use super::rule::Rule;

/// The largest number of operations in a list.
pub(super) const STEPS: usize = 2048;
/// No result.
pub(super) const NOTHING: u16 = u16::MAX;

/// Machine operations: the operations of a [`Forest`](super::forest::Forest) without the ones that stand for several,
/// and with adjoints and tangents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    pub(super) ops: [Op; STEPS],
    pub(super) len: usize,
    /// What is asked for, or [`NOTHING`].
    pub(super) results: [u16; LEAVES],
}
const _: () = assert!(LEAVES >= OUTPUTS && LEAVES >= OPERANDS, "a script has a place for each result");

/// A list as a type: operations that are known when a kernel is compiled.
pub(super) trait Steps {
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
pub(super) const fn result<C: Steps>(k: usize) -> Option<usize> {
    if k < C::RESULTS.len() && C::RESULTS[k] != NOTHING { Some(C::RESULTS[k] as usize) } else { None }
}
