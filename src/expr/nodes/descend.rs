//! From a node to its children, when partials are asked for.

use super::in_lanes::InLanes;
use tapewright_strategies::shape::{Edge, Shape};
use tapewright_strategies::{Expression, Number, Policy, SingularSlope, Sink, Taping};

/// Goes down to a child whose seed, up to the sign, is `seed`.
#[inline(always)]
pub(crate) fn descend<S: Taping, E: Edge, A: Expression<S>>(child: &A, seed: S::Value, sink: &mut impl Sink<S>) {
    let seed = if E::NEGATES { -seed } else { seed };
    if E::SCALES && <A::Shape as Shape>::LINEAR {
        sink.factor(seed);
    }
    child.backward(seed, sink);
}

/// Whether the strategy looks for singular partials. In a constant block this keeps the compiler from reading what only
/// other policies than [`Strict`](tapewright_strategies::Strict) do.
pub(crate) const fn looks<S: Taping>() -> bool {
    !matches!(S::Policy::SLOPE, SingularSlope::Limit)
}

/// Goes down to a child whose seed is `seed`, that of its parent, times `partial`, that of the function `O`, if it is
/// singular in some lane and the policy is that this be told, or that such partials be 0. Returns whether it has gone
/// down.
#[inline(always)]
pub(crate) fn descend_singular<S: Taping, O, E: Edge, A: Expression<S>>(
    child: &A,
    (seed, partial): (S::Value, S::Value),
    singular: impl Fn(usize) -> bool,
    sink: &mut impl Sink<S>,
) -> bool {
    // A loop: an iterator with a function of its own would be compiled for each statement.
    let mut some = false;
    for k in 0..S::Value::LANES {
        some |= singular(k) && sink.counts(k);
    }
    if !some {
        return false;
    }
    if !matches!(S::Policy::SLOPE, SingularSlope::Zero) {
        sink.singular(core::any::type_name::<O>(), A::Shape::LEAVES);
        return false;
    }
    if const { S::Value::LANES == 1 } {
        silence_below::<S, E, A>(child, sink);
    } else {
        let mut sink = InLanes { sink, counts: &|k| !singular(k) };
        descend::<S, E, A>(child, seed * partial, &mut sink);
    }
    true
}

/// Silences a child and the edge above it.
#[inline(always)]
pub(crate) fn silence_below<S: Taping, E: Edge, A: Expression<S>>(child: &A, sink: &mut impl Sink<S>) {
    if E::SCALES && <A::Shape as Shape>::LINEAR {
        sink.factor(S::Value::ZERO);
    }
    child.silence(sink);
}
