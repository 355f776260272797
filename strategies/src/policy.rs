//! What derivatives are at singular points.

use crate::Float;
use core::marker::PhantomData;

/// What a derivative is where a function has none: a type parameter of strategies.
///
/// A partial of a function is *singular* where it is NaN, or where it is infinite because the function has a pole or a
/// vertical tangent, as its rule says; although all arguments are finite, and the value is not NaN. √ at 0, ln at 0 and
/// `hypot` at (0, 0) are singular. An overflow is not: the slope of eˣ at 1000 is ∞ under every policy. Nor is a point
/// outside the domain, where value and slope are NaN.
///
/// ```
/// use tapewright_strategies::{Checked, Policy, SingularSlope, Strict, Subgradient};
///
/// assert_eq!(Strict::SLOPE, SingularSlope::Limit);
/// assert_eq!(Subgradient::SLOPE, SingularSlope::Zero);
/// assert_eq!(Checked::SLOPE, SingularSlope::Refused);
/// ```
pub trait Policy: 'static {
    /// What a singular partial is.
    const SLOPE: SingularSlope;

    /// Whether statements are looked at when they have been recorded.
    #[doc(hidden)]
    const WATCHES: bool = matches!(Self::SLOPE, SingularSlope::Refused);

    /// Does what only policies do that look for singular partials: it is not compiled under [`Strict`], which does
    /// nothing and returns the default.
    #[doc(hidden)]
    #[inline(always)]
    fn looking<R: Default>(does: impl FnOnce() -> R) -> R {
        does()
    }

    /// Does what is done for [`Tracing`] only: it is not compiled under other policies.
    #[doc(hidden)]
    #[inline(always)]
    #[allow(clippy::must_use_candidate, reason = "what it does may be all that is wanted")]
    fn tracing<R>(_: impl FnOnce() -> R) -> Option<R> {
        None
    }

    /// The same for what has to be inlined, which closures need not be.
    #[doc(hidden)]
    #[inline(always)]
    fn tracing_inline(_: impl Inline) {}
}

/// Something to do that is inlined.
#[doc(hidden)]
pub trait Inline {
    /// Does it.
    fn call(self);
}

/// What a singular partial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingularSlope {
    /// What the rule says: the IEEE limit, which is ±∞, or NaN where there is none.
    Limit,
    /// 0, and so are the partials of whatever the argument is made of in the same statement.
    Zero,
    /// An offence: the partial is the limit, and every sweep over the recording fails.
    Refused,
}

/// The IEEE limit: √ has slope +∞ at 0. The default.
#[derive(Clone, Copy, Debug)]
pub struct Strict;
impl Policy for Strict {
    const SLOPE: SingularSlope = SingularSlope::Limit;
    #[inline(always)]
    fn looking<R: Default>(_: impl FnOnce() -> R) -> R {
        R::default()
    }
}

/// 0: √ has slope 0 at 0.
#[derive(Clone, Copy, Debug)]
pub struct Subgradient;
impl Policy for Subgradient {
    const SLOPE: SingularSlope = SingularSlope::Zero;
}

/// An error: sweeps over a recording in which a partial is singular return the first one as
/// [`SweepError::Singular`](crate::SweepError::Singular), with the line of its statement. In forward mode the statement
/// panics.
///
/// Each statement computes its partials once more when it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Checked;
impl Policy for Checked {
    const SLOPE: SingularSlope = SingularSlope::Refused;
}

/// Derivatives are the same as under `P`, and recordings note where they were made: a recording knows the line and the
/// column of each statement and launch, and the first number in it that is not finite.
///
/// [`Traced<S>`](crate::Traced) is strategy `S` with this policy. In forward mode there is no recording, so nothing is
/// noted.
#[derive(Clone, Copy, Debug)]
pub struct Tracing<P = Strict>(PhantomData<P>);
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

/// A policy under which recordings note where they were made: [`Tracing`].
#[diagnostic::on_unimplemented(
    message = "recordings under the policy `{Self}` are not traced",
    label = "a strategy whose recordings are traced is needed here",
    note = "record under `Traced<S>` in place of `S`, such as `Traced<Jacobian>`"
)]
pub trait Traces: Policy {}
impl<P: Policy> Traces for Tracing<P> {}

/// Whether a partial is singular in a lane, and the policy is another than [`Strict`]. `is_pole` says whether the
/// function has a pole or a vertical tangent at these arguments.
#[inline(always)]
pub fn is_singular<P: Policy, V: Float>(partial: V, arguments: &[V], value: V, is_pole: impl FnOnce() -> bool) -> bool {
    !matches!(P::SLOPE, SingularSlope::Limit)
        && !partial.is_finite()
        && !value.is_nan()
        && arguments.iter().all(|argument| argument.is_finite())
        && (partial.is_nan() || is_pole())
}
