//! Steps from a node to its children, when partials are asked for.

use super::in_lanes::InLanes;
use tapewright_strategies::contract::Sink;
use tapewright_strategies::policy::{Policy, SingularSlope};
use tapewright_strategies::shape::{Edge, Shape};
use tapewright_strategies::{Expression, Number, Taping};

/// Passes `seed`, up to the sign of the edge, to a child.
#[inline(always)]
pub(crate) fn descend<S: Taping, E: Edge, A: Expression<S>>(child: &A, seed: S::Value, sink: &mut impl Sink<S>) {
    let seed = E::signed(seed);
    if E::SCALES && <A::Shape as Shape>::LINEAR {
        sink.factor(seed);
    }
    child.backward(seed, sink);
}

/// Returns true if the strategy checks for singular partials. In a constant block this keeps the compiler from reading
/// values that only policies other than [`Strict`](tapewright_strategies::policy::Strict) need.
pub(crate) const fn looks<S: Taping>() -> bool {
    !matches!(S::Policy::SLOPE, SingularSlope::Limit)
}

/// Handles a partial of the function `O` that is singular in some lane, if the policy reports such partials or sets
/// them to 0. `seed` is the seed of the parent. Returns true if the child has been visited, so that the caller must not
/// visit it.
#[inline(always)]
pub(crate) fn descend_singular<S: Taping, O, E: Edge, A: Expression<S>>(
    child: &A,
    (seed, partial): (S::Value, S::Value),
    singular: impl Fn(usize) -> bool,
    sink: &mut impl Sink<S>,
) -> bool {
    // A loop and not an iterator, whose closure would be compiled for each statement.
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

/// Silences a child and the edge to the child.
#[inline(always)]
pub(crate) fn silence_below<S: Taping, E: Edge, A: Expression<S>>(child: &A, sink: &mut impl Sink<S>) {
    if E::SCALES && <A::Shape as Shape>::LINEAR {
        sink.factor(S::Value::ZERO);
    }
    child.silence(sink);
}
