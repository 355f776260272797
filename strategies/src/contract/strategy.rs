//! Strategies whose variables are `Copy`.

use super::taping::Taping;

/// A [`Taping`] strategy whose variables are `Copy`, so that generic code may write `x * y`.
///
/// Implemented for every strategy that qualifies; nobody implements it by hand.
#[diagnostic::on_unimplemented(
    message = "the variables of `{Self}` are not `Copy`, which code over `S: Strategy` needs",
    label = "a strategy with `Linear` indices is needed here",
    note = "write the function over `S: Taping`, with references such as `&x * &y`: it then runs under every strategy"
)]
pub trait Strategy: Taping<Id: Copy, Variable: Copy> {}
#[diagnostic::do_not_recommend]
impl<S: Taping<Id: Copy, Variable: Copy>> Strategy for S {}
