//! Singular functions in statements: how strategies find them.

use crate::number::all_finite;
use crate::{Expression, Float, Nary, Number, Policy, SingularSlope, Sink, Taping, is_singular};

/// Whether singular partials of this strategy are errors.
#[must_use]
#[inline(always)]
pub const fn refuses_singular<S: Taping>() -> bool {
    matches!(S::Policy::SLOPE, SingularSlope::Refused)
}

/// The name of the first function in a statement that is singular in something which depends on an active argument.
///
/// For strategies that take [`Checked`](crate::Checked); none is found under other policies.
pub fn singular_function<S: Taping>(
    statement: &impl Expression<S>,
    is_active: impl Fn(&S::Raw) -> bool,
) -> Option<&'static str> {
    let mut watch = Watch { is_active, suspect: None, found: None };
    statement.backward(S::Value::ONE, &mut watch);
    watch.found
}

/// Looks for active arguments below a singular function.
struct Watch<F> {
    is_active: F,
    /// A singular function, and how many leaves are still to come that its partial is a factor of.
    suspect: Option<(&'static str, usize)>,
    found: Option<&'static str>,
}

impl<S: Taping, F: Fn(&S::Raw) -> bool> Sink<S> for Watch<F> {
    fn factor(&mut self, _: S::Value) {}

    fn leaf(&mut self, _: S::Value, id: S::Raw) {
        let Some((function, leaves)) = self.suspect.take() else { return };
        self.suspect = (leaves > 1).then_some((function, leaves - 1));
        if (self.is_active)(&id) {
            self.found = self.found.or(Some(function));
        }
    }

    fn singular(&mut self, function: &'static str, leaves: usize) {
        self.suspect = self.suspect.or(Some((function, leaves)));
    }
}

/// [`Nary::partials`] under a policy. Returns whether one of them is singular, of an argument for which `is_active`
/// says `true`, and the policy is [`Checked`](crate::Checked).
#[inline]
pub fn partials_of_slice<P: Policy, R: Nary<V>, V: Number>(
    arguments: &[V],
    constants: &[V],
    partials: &mut [V],
    is_active: impl IntoIterator<Item = bool>,
) -> bool {
    R::partials(arguments, constants, partials);
    if matches!(P::SLOPE, SingularSlope::Limit) || partials.iter().all(|partial| all_finite(*partial)) {
        return false;
    }
    let value = R::value(arguments, constants);
    let singular = |partial: V, k: usize| {
        arguments.iter().all(|argument| argument.lane(k).is_finite())
            && is_singular::<P, V::Lane>(partial.lane(k), &[], value.lane(k), || {
                R::singular(&everywhere(arguments, k), &everywhere(constants, k))
            })
    };
    if matches!(P::SLOPE, SingularSlope::Zero) {
        for partial in partials.iter_mut().filter(|partial| !all_finite(**partial)) {
            let slope = |k: usize| if singular(*partial, k) { V::Lane::ZERO } else { partial.lane(k) };
            *partial = V::from_lanes(slope);
        }
        return false;
    }
    let some = |partial: V| (0..V::LANES).any(|k| singular(partial, k));
    partials.iter().zip(is_active).any(|(partial, is_active)| is_active && some(*partial))
}

/// Numbers whose lanes all have the values of one lane.
fn everywhere<V: Number>(numbers: &[V], lane: usize) -> Vec<V> {
    numbers.iter().map(|number| V::from_f64(number.lane(lane).as_f64())).collect()
}
