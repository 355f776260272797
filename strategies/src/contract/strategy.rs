//! Strategies whose variables are `Copy`.

use super::taping::Taping;

/// A [`Taping`] strategy whose variables are `Copy`, so that generic code may write `x * y`.
///
/// Implemented for every strategy that qualifies; nobody implements it by hand.
pub trait Strategy: Taping<Id: Copy, Variable: Copy> {}
impl<S: Taping<Id: Copy, Variable: Copy>> Strategy for S {}
