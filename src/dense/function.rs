//! Functions with several outputs that can be run under any strategy.

use crate::expr::Real;
use crate::nary::sum;
use tapewright_strategies::{Strategy, Taping};

/// A function with several outputs, generic over the strategy.
///
/// A closure is not generic, so a function is passed as a type with a generic method. For a function without data of
/// its own [`program!`](crate::program) writes the type. A function with data takes a few lines:
///
/// ```
/// use tapewright::{dense::{Function, dense_jacobian}, prelude::*};
///
/// struct Decay { times: Vec<f64> }
///
/// impl Function for Decay {
///     fn outputs<S: Strategy<Value = f64>>(&self, p: &[Real<S>]) -> impl AsRef<[Real<S>]> {
///         self.times.iter().map(|t| (p[0] * (p[1] * *t).exp()).eval()).collect::<Vec<_>>()
///     }
/// }
///
/// let decay = Decay { times: vec![0.0, 1.0, 2.0] };
/// let (values, rows) = dense_jacobian::<Tangent<2>, Jacobian>(&decay, &[3.0, 0.0]);
/// assert_eq!((values, rows), (vec![3.0; 3], vec![vec![1.0, 0.0], vec![1.0, 3.0], vec![1.0, 6.0]]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function that can run under several strategies",
    label = "a driver that chooses between strategies needs a `Function` here",
    note = "write `program!(f)` for a generic function `f`, or implement `Function` for a type with data"
)]
pub trait Function {
    /// Runs the function and returns its outputs, as an array, a `Vec`, or any other list. Every call must compute the
    /// same, whatever the strategy.
    fn outputs<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> impl AsRef<[Real<S>]>;
}

/// Return types of functions that [`program!`](crate::program) takes.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`program!` takes a function that returns `Real<S>`, an array of these or a `Vec`, not `{Self}`",
    label = "this function returns something else",
    note = "write a function that returns its outputs as a `Vec<Real<S>>`"
)]
pub trait Returned<S: Taping> {
    /// The outputs, as a list.
    type Listed: AsRef<[Real<S>]>;
    /// Returns the outputs as a list.
    fn listed(self) -> Self::Listed;
}

impl<S: Taping> Returned<S> for Real<S> {
    type Listed = [Self; 1];
    #[inline(always)]
    fn listed(self) -> [Self; 1] {
        [self]
    }
}

impl<S: Taping, const M: usize> Returned<S> for [Real<S>; M] {
    type Listed = Self;
    #[inline(always)]
    fn listed(self) -> Self {
        self
    }
}

impl<S: Taping> Returned<S> for Vec<Real<S>> {
    type Listed = Self;
    #[inline(always)]
    fn listed(self) -> Self {
        self
    }
}

/// Returns the outputs of a function as a list.
#[doc(hidden)]
#[inline(always)]
pub fn listed<S: Taping, R: Returned<S>>(outputs: R) -> R::Listed {
    outputs.listed()
}

/// Returns the sum of several outputs, or the only one.
#[doc(hidden)]
#[inline(always)]
pub fn total<S: Taping>(outputs: &[Real<S>]) -> Real<S> {
    match outputs {
        [output] => output.clone(),
        outputs => sum(outputs),
    }
}
