//! Search for singular functions in statements, for strategies that support [`Checked`](crate::Checked).

use crate::contract::{Given, Sink};
use crate::number::all_finite;
use crate::policy::{Policy, SingularSlope, is_singular};
use crate::{Expression, Float, Nary, Number, Taping};

/// Returns true if singular partials of this strategy are errors.
#[must_use]
#[inline(always)]
pub const fn refuses_singular<S: Taping>() -> bool {
    matches!(S::Policy::SLOPE, SingularSlope::Refused)
}

/// Returns the name of the first function in a statement that is singular and whose argument depends on an active
/// variable.
///
/// For strategies that support [`Checked`](crate::Checked); returns `None` under other policies.
pub fn singular_function<S: Taping>(
    statement: &impl Expression<S>,
    is_active: impl Fn(&S::Raw) -> bool,
) -> Option<&'static str> {
    let mut watch = Watch { is_active, suspect: None, found: None };
    statement.backward(S::Value::ONE, &mut watch);
    watch.found
}

/// A sink that looks for active arguments below a singular function.
struct Watch<F> {
    is_active: F,
    /// A singular function, and the number of leaves still to come whose partials have its partial as a factor.
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

/// Returns the numbers that are the partials, if the policy does not look at partials.
pub(crate) const fn given<P: Policy, R: Nary<V>, V: Number>() -> Given {
    if matches!(P::SLOPE, SingularSlope::Limit) { R::GIVEN } else { Given::Nowhere }
}

/// Computes [`Nary::partials`] under a policy. Returns true if the policy is [`Checked`](crate::Checked) and a partial
/// is singular whose argument is active, as `is_active` says for each argument.
#[inline]
pub fn partials_of_slice<P: Policy, R: Nary<V>, V: Number>(
    arguments: &[V],
    constants: &[V],
    partials: &mut [V],
    is_active: &[bool],
) -> bool {
    R::partials(arguments, constants, partials);
    if const { matches!(P::SLOPE, SingularSlope::Limit) } {
        return false;
    }
    if partials.iter().all(|partial| all_finite(*partial)) {
        return false;
    }
    let value = R::value(arguments, constants);
    let singular = |partial: V, k: usize| {
        arguments.iter().all(|argument| argument.lane(k).is_finite())
            && is_singular::<P, V::Lane>(partial.lane(k), &[], value.lane(k), || {
                R::singular(&everywhere(arguments, k), &everywhere(constants, k))
            })
    };
    if const { matches!(P::SLOPE, SingularSlope::Zero) } {
        for partial in partials.iter_mut().filter(|partial| !all_finite(**partial)) {
            let slope = |k: usize| if singular(*partial, k) { V::Lane::ZERO } else { partial.lane(k) };
            *partial = V::from_lanes(slope);
        }
        return false;
    }
    let some = |partial: V| (0..V::LANES).any(|k| singular(partial, k));
    partials.iter().zip(is_active).any(|(partial, is_active)| *is_active && some(*partial))
}

/// Returns values whose lanes all equal one lane of `numbers`.
fn everywhere<V: Number>(numbers: &[V], lane: usize) -> Vec<V> {
    numbers.iter().map(|number| V::from_f64(number.lane(lane).as_f64())).collect()
}
