//! Traced strategies, whose recordings know their source locations.

use super::continuation::Continuation;
use super::hybrid::Hybrid;
use super::jacobian::Jacobian;
use super::primal_value::PrimalValue;
use crate::storage::LayerOf;
use crate::{IndexManager, Number, Policy, Reverse, Traces, Tracing};

/// Strategy `S` with recordings that note where they were made: line and column of each statement, input, external
/// function and launch, and the first value that is not finite. The type is `S` with another policy, [`Tracing`]:
/// records, values and derivatives are the same as under `S`, bit for bit.
///
/// `tapewright::Tape::trace` shows the notes.
///
/// A recording takes 8 bytes more for each statement, listed as `trace` in its memory report, and about twice the time:
/// the value and the partials of each statement are checked when it is recorded. Strategies that are not traced pay
/// nothing.
///
/// ```
/// use core::any::TypeId;
/// use tapewright_strategies::{InMemory, Jacobian, Linear, PrimalValue, Reuse, Strict, Traced, Tracing};
///
/// assert_eq!(TypeId::of::<Traced<Jacobian>>(), TypeId::of::<Jacobian<f64, Linear, InMemory, Tracing<Strict>>>());
/// assert_eq!(
///     TypeId::of::<Traced<PrimalValue<f32, Reuse>>>(),
///     TypeId::of::<PrimalValue<f32, Reuse, InMemory, Tracing>>()
/// );
/// ```
pub type Traced<S> = <S as Traceable>::Traced;

/// A strategy that can be [`Traced`].
#[diagnostic::on_unimplemented(
    message = "recordings of `{Self}` cannot be traced",
    label = "a strategy whose recordings can be traced is needed here",
    note = "`Jacobian`, `PrimalValue`, `Hybrid` and `Continuation` can, with any numbers, indices, layer and policy"
)]
pub trait Traceable: Reverse {
    /// Strategy `Self`, with recordings that are traced.
    type Traced: Reverse<Value = Self::Value, Policy: Traces>;
}

/// Implements `Traceable` for strategies with a policy as their last parameter.
macro_rules! traceable {
    ($($strategy:ident<$($parameter:ident: $bound:path),*>;)*) => { $(
        impl<$($parameter: $bound,)* P: Policy> Traceable for $strategy<$($parameter,)* P> {
            type Traced = $strategy<$($parameter,)* Tracing<P>>;
        }
    )* };
}
traceable! {
    Jacobian<V: Number, M: IndexManager, L: LayerOf<V>>;
    PrimalValue<V: Number, M: IndexManager, L: LayerOf<V>>;
    Hybrid<V: Number, M: IndexManager, L: LayerOf<V>>;
    Continuation<V: Number, M: IndexManager>;
}
