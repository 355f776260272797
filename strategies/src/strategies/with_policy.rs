//! Strategies under another policy.

use super::continuation::Continuation;
use super::counting::Counting;
use super::hybrid::Hybrid;
use super::jacobian::Jacobian;
use super::primal_value::PrimalValue;
use super::tangent::Tangent;
use crate::policy::{self, Policy, Tracing};
use crate::storage::LayerOf;
use crate::{IndexManager, Number, Taping};

/// A strategy whose policy can be changed: [`Checked`], [`Subgradient`] and [`Traced`] do.
///
/// Generic code says `S: WithPolicy<policy::Checked, Strategy: Reverse>` if it wants to sweep tapes of `Checked<S>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no policy that could be changed to `{P}`",
    label = "a strategy with a policy is needed here",
    note = "`Jacobian`, `PrimalValue`, `Hybrid`, `Continuation` and `Tangent` have one, with any other parameters"
)]
pub trait WithPolicy<P: Policy>: Taping {
    /// Strategy `Self` under the policy `P`, with the same other parameters.
    type Strategy: Taping<Value = Self::Value, Policy = P>;
}

/// Strategy `S` under which a singular partial is an error: its policy is [`policy::Checked`], all else is as in `S`.
///
/// ```
/// use core::any::TypeId;
/// use tapewright_strategies::{Checked, InMemory, Jacobian, Linear, PrimalValue, Reuse, Tangent, policy};
///
/// assert_eq!(TypeId::of::<Checked<Jacobian>>(), TypeId::of::<Jacobian<f64, Linear, InMemory, policy::Checked>>());
/// assert_eq!(
///     TypeId::of::<Checked<PrimalValue<f32, Reuse>>>(),
///     TypeId::of::<PrimalValue<f32, Reuse, InMemory, policy::Checked>>()
/// );
/// assert_eq!(TypeId::of::<Checked<Tangent>>(), TypeId::of::<Tangent<1, f64, policy::Checked>>());
/// ```
pub type Checked<S> = <S as WithPolicy<policy::Checked>>::Strategy;

/// Strategy `S` under which a singular partial is 0: its policy is [`policy::Subgradient`], all else is as in `S`.
///
/// ```
/// use core::any::TypeId;
/// use tapewright_strategies::{InMemory, Jacobian, Linear, Subgradient, policy};
///
/// type Long = Jacobian<f64, Linear, InMemory, policy::Subgradient>;
/// assert_eq!(TypeId::of::<Subgradient<Jacobian>>(), TypeId::of::<Long>());
/// ```
pub type Subgradient<S> = <S as WithPolicy<policy::Subgradient>>::Strategy;

/// Strategy `S` with recordings that note where they were made: line and column of each statement, input, external
/// function and launch, and the first value that is not finite. The type is `S` with the policy [`Tracing`] of its own
/// policy: records, values and derivatives are the same as under `S`, bit for bit. `Traced<Checked<S>>` is both;
/// `Checked<Traced<S>>` is not, for it has the policy [`policy::Checked`] alone.
///
/// `tapewright::Tape::trace` shows the notes.
///
/// A recording takes 8 bytes more for each statement, listed as `trace` in its memory report, and about twice the time:
/// the value and the partials of each statement are checked when it is recorded. Strategies that are not traced pay
/// nothing.
///
/// ```
/// use core::any::TypeId;
/// use tapewright_strategies::policy::{Strict, Tracing};
/// use tapewright_strategies::{Checked, InMemory, Jacobian, Linear, Traced, policy};
///
/// assert_eq!(TypeId::of::<Traced<Jacobian>>(), TypeId::of::<Jacobian<f64, Linear, InMemory, Tracing<Strict>>>());
/// assert_eq!(
///     TypeId::of::<Traced<Checked<Jacobian>>>(),
///     TypeId::of::<Jacobian<f64, Linear, InMemory, Tracing<policy::Checked>>>()
/// );
/// ```
pub type Traced<S> = <S as WithPolicy<Tracing<<S as Taping>::Policy>>>::Strategy;

/// Implements `WithPolicy` for strategies with a policy as their last parameter.
macro_rules! with_policy {
    ($($strategy:ident<$($parameter:ident: $bound:path),*>;)*) => { $(
        impl<$($parameter: $bound,)* P: Policy, Q: Policy> WithPolicy<Q> for $strategy<$($parameter,)* P> {
            type Strategy = $strategy<$($parameter,)* Q>;
        }
    )* };
}
with_policy! {
    Jacobian<V: Number, M: IndexManager, L: LayerOf<V>>;
    PrimalValue<V: Number, M: IndexManager, L: LayerOf<V>>;
    Hybrid<V: Number, M: IndexManager, L: LayerOf<V>>;
    Continuation<V: Number, M: IndexManager>;
    Counting<V: Number, M: IndexManager>;
}
impl<const N: usize, V: Number, P: Policy, Q: Policy> WithPolicy<Q> for Tangent<N, V, P> {
    type Strategy = Tangent<N, V, Q>;
}
