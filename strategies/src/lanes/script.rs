//! Lists of machine operations, as values and as types.

use super::code::Op;
use super::keys::{LEAVES, OPERANDS, OUTPUTS};

/// The largest number of operations in a list.
pub(super) const STEPS: usize = 2048;
/// No result.
pub(super) const NOTHING: u16 = u16::MAX;

/// Machine operations: those of a [`Forest`](super::forest::Forest) without the ones that stand for several, and with adjoints and tangents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    pub(super) ops: [Op; STEPS],
    pub(super) len: usize,
    /// What is asked for, or [`NOTHING`].
    pub(super) results: [u16; LEAVES],
}
const _: () = assert!(LEAVES >= OUTPUTS && LEAVES >= OPERANDS, "a script has a place for each result");
