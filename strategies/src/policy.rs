//! Policies for derivatives at singular points.

use crate::Float;
use core::marker::PhantomData;

/// The derivative of a function where it has none: a type parameter of strategies.
///
/// A partial of a function is *singular* where all arguments are finite and the value is not NaN, but the partial is
/// NaN, or infinite because the function has a pole or a vertical tangent there, as its rule says. √ at 0, ln at 0 and
/// `hypot` at (0, 0) are singular. An overflow is not singular: the slope of eˣ at 1000 is ∞ under every policy. Nor is
/// a point outside the domain, where value and slope are NaN.
///
/// ```
/// use tapewright_strategies::policy::{Checked, Policy, SingularSlope, Strict, Subgradient};
///
/// assert_eq!(Strict::SLOPE, SingularSlope::Limit);
/// assert_eq!(Subgradient::SLOPE, SingularSlope::Zero);
/// assert_eq!(Checked::SLOPE, SingularSlope::Refused);
/// ```
pub trait Policy: AllowedIn<Host> + AllowedIn<Nowhere> + 'static {
    /// The value of a singular partial.
    const SLOPE: SingularSlope;

    /// True if statements are examined when they have been recorded.
    #[doc(hidden)]
    const WATCHES: bool = matches!(Self::SLOPE, SingularSlope::Refused);

    /// Runs `does` under policies that look for singular partials. Under [`Strict`], `does` is not compiled, and the
    /// default is returned.
    #[doc(hidden)]
    #[inline(always)]
    fn looking<R: Default>(does: impl FnOnce() -> R) -> R {
        does()
    }

    /// Runs `does` under [`Tracing`]. Under other policies, `does` is not compiled.
    #[doc(hidden)]
    #[inline(always)]
    #[allow(clippy::must_use_candidate, reason = "what it does may be all that is wanted")]
    fn tracing<R>(_: impl FnOnce() -> R) -> Option<R> {
        None
    }

    /// Runs its argument under [`Tracing`], inlined, which a closure need not be.
    #[doc(hidden)]
    #[inline(always)]
    fn tracing_inline(_: impl Inline) {}
}

/// A callback that is inlined.
#[doc(hidden)]
pub trait Inline {
    /// Calls the callback.
    fn call(self);
}

/// The value of a singular partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingularSlope {
    /// The limit according to IEEE 754, as the function's rule computes it: ±∞, or NaN where there is none.
    Limit,
    /// 0. The partials with respect to everything in the argument of the function, in the same statement, are 0 too.
    Zero,
    /// The limit, and an error: every sweep over the recording fails.
    Refused,
}

/// Singular partials are the IEEE limit: √ has slope +∞ at 0. The default.
#[derive(Clone, Copy, Debug)]
pub struct Strict;
impl<M> AllowedIn<M> for Strict {}
impl Policy for Strict {
    const SLOPE: SingularSlope = SingularSlope::Limit;
    #[inline(always)]
    fn looking<R: Default>(_: impl FnOnce() -> R) -> R {
        R::default()
    }
}

/// Singular partials are 0: √ has slope 0 at 0.
#[derive(Clone, Copy, Debug)]
pub struct Subgradient;
impl AllowedIn<Host> for Subgradient {}
#[diagnostic::do_not_recommend]
impl AllowedIn<Nowhere> for Subgradient {}
impl Policy for Subgradient {
    const SLOPE: SingularSlope = SingularSlope::Zero;
}

/// Singular partials are errors: sweeps over a recording with a singular partial return the first one as
/// [`SweepError::Singular`](crate::SweepError::Singular), with the line of its statement. In forward mode the statement
/// panics.
///
/// Each statement computes its partials once more when it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Checked;
impl AllowedIn<Host> for Checked {}
#[diagnostic::do_not_recommend]
impl AllowedIn<Nowhere> for Checked {}
impl Policy for Checked {
    const SLOPE: SingularSlope = SingularSlope::Refused;
}

/// Derivatives are the same as under `P`, and recordings note source locations: the line and the column of each
/// statement and launch, and the first value that is not finite.
///
/// [`Traced<S>`](crate::Traced) is strategy `S` with this policy. In forward mode there is no recording, so nothing is
/// noted.
#[derive(Clone, Copy, Debug)]
pub struct Tracing<P = Strict>(PhantomData<P>);
impl<P: AllowedIn<M>, M> AllowedIn<M> for Tracing<P> {}
impl<P: Policy> Policy for Tracing<P> {
    const SLOPE: SingularSlope = P::SLOPE;
    const WATCHES: bool = true;
    #[inline(always)]
    fn looking<R: Default>(does: impl FnOnce() -> R) -> R {
        P::looking(does)
    }
    #[inline(always)]
    fn tracing<R>(does: impl FnOnce() -> R) -> Option<R> {
        Some(does())
    }
    #[inline(always)]
    fn tracing_inline(does: impl Inline) {
        does.call();
    }
}

/// A policy under which recordings note source locations: [`Tracing`].
#[diagnostic::on_unimplemented(
    message = "recordings under the policy `{Self}` are not traced",
    label = "a strategy whose recordings are traced is needed here",
    note = "record under `Traced<S>` in place of `S`, such as `Traced<Jacobian>`"
)]
pub trait Traces: Policy {}
impl<P: Policy> Traces for Tracing<P> {}

/// The memory of the host, and [`Registers`](crate::kernel::Registers).
#[derive(Clone, Copy, Debug)]
pub struct Host;

/// A type that is no space, and that every policy allows. If [`Host`] were all that a policy is known to allow, the
/// compiler would infer that a view is there, and call a view on a device a mismatch of types.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Nowhere {}

/// A policy whose strategies may have views in the space `M`. Every policy allows [`Host`];
/// [`Strict`] and [`Tracing`] over it allow all spaces. Under other
/// policies, singular partials are looked for one by one, which devices do not do.
///
/// Code that is generic over strategy and space says so where it brings views to a space:
///
/// ```
/// use tapewright_strategies::Taping;
/// use tapewright_strategies::kernel::targets::Space;
/// use tapewright_strategies::policy::AllowedIn;
///
/// fn in_both_spaces<S: Taping<Value = f64, Policy: AllowedIn<M>>, M: Space<f64>>() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "views of strategies under the policy `{Self}` cannot be in the space `{M}`",
    label = "a strategy under the policy `Strict` or `Tracing` is needed here",
    note = "devices do not look for singular partials; record under `Jacobian`, say, in place of `Checked<Jacobian>`, \
            or keep the views in the space `Host`",
    note = "generic code names the bound: `S: Taping<Policy: AllowedIn<M>>`"
)]
pub trait AllowedIn<M> {}

/// Returns true if a partial is singular in a lane, and the policy is not [`Strict`]. `is_pole` returns true if the
/// function has a pole or a vertical tangent at these arguments.
#[inline(always)]
pub fn is_singular<P: Policy, V: Float>(partial: V, arguments: &[V], value: V, is_pole: impl FnOnce() -> bool) -> bool {
    !matches!(P::SLOPE, SingularSlope::Limit)
        && !partial.is_finite()
        && !value.is_nan()
        && arguments.iter().all(|argument| argument.is_finite())
        && (partial.is_nan() || is_pole())
}
