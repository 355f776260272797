//! Strategies whose variables can be the number type of another strategy.

use super::taping::Taping;
use super::variable::Taped;
use crate::Whole;
use crate::identifier::LinearId;

/// A strategy whose variables can be the number type of another strategy, by [`Nested<S>`](crate::Nested).
///
/// `Jacobian`, `PrimalValue`, `Hybrid` and `Continuation` implement it for tapes in memory, with `Linear` indices of 32
/// bits, under the policy `Strict`, over `f64`, over [`Dual`](crate::Dual)s of `f64`, or over nested numbers again.
/// Variables under `Reuse` are excluded since they are not `Copy`, which numbers must be; with other index and value
/// types, variables would have padding bytes between value and identifier.
///
/// The trait is sealed: arithmetic of numbers must not run code of users.
#[diagnostic::on_unimplemented(
    message = "the variables of `{Self}` cannot be numbers of another strategy",
    label = "a strategy in memory over `f64`, with `Linear` indices of 32 bits and the policy `Strict`, is needed here",
    note = "`Nested<Jacobian>` are the variables of `Jacobian` as numbers"
)]
pub trait Nests:
    sealed::Sealed
    + Taping<Value: Whole, Id = LinearId, Raw = LinearId, Variable = Taped<<Self as Taping>::Value, LinearId>>
{
}

pub(crate) mod sealed {
    use crate::Reverse;

    pub trait Sealed: Reverse {
        /// Makes replays of the present recording return an error.
        fn forbid_replays(tape: &mut Self::Tape);
    }
}
