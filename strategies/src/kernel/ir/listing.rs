//! Lists of instructions, as values and as constants of types.

use super::access::{LEAVES, OPERANDS, OUTPUTS};
use super::instruction::{Op, RULES};
use crate::number::simd::rule::Rule;

/// Maximum number of instructions in a list.
pub(crate) const STEPS: usize = 2048;
/// Marker for a missing result.
pub(crate) const NOTHING: u16 = u16::MAX;

/// List of executable instructions. Aliases of a [`Body`](super::body::Body) are resolved, and squares, maxima and
/// minima expanded; adjoints and tangents are added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    pub(crate) ops: [Op; STEPS],
    pub(crate) len: usize,
    /// Indices of the instructions that compute the results, or [`NOTHING`].
    pub(crate) results: [u16; LEAVES],
}
const _: () = assert!(LEAVES >= OUTPUTS && LEAVES >= OPERANDS, "a script has a place for each result");

/// List of instructions as a type, known when a kernel is compiled.
pub(crate) trait StaticListing {
    /// The instructions.
    const OPS: &'static [Op];
    /// Indices of the instructions that compute the results, or [`NOTHING`].
    const RESULTS: &'static [u16];
    /// Scalar rules that the instructions call.
    const RULES: &'static [Option<&'static Rule>; RULES];
    /// Number of captured constants.
    const CONSTANTS: usize;
    /// True if the adjoints of all outputs are arrays.
    const ALL_DENSE: bool;
    /// True if groups may read around the ends of the views.
    const WRAPS: bool;
}

/// Returns true if a program has an instruction with this opcode.
pub(crate) const fn has_opcode<C: StaticListing>(what: u8) -> bool {
    let mut k = 0;
    while k < C::OPS.len() {
        if C::OPS[k].what == what {
            return true;
        }
        k += 1;
    }
    false
}

/// Returns true if a program has result `k`.
pub(crate) const fn has_result<C: StaticListing>(k: usize) -> bool {
    k < C::RESULTS.len() && C::RESULTS[k] != NOTHING
}

/// Returns the index of the instruction that computes result `k`; 0 if there is no such result. Compiled loops ask
/// [`has_result`] in a `const` condition first, so that nothing is compiled for results that a program does not have.
pub(crate) const fn result<C: StaticListing>(k: usize) -> usize {
    if has_result::<C>(k) { C::RESULTS[k] as usize } else { 0 }
}
