//! Kinds of residual blocks, as users write them.

use crate::expr::{Ex, Literal, Real, ex};
use tapewright_strategies::{Strategy, Taping};

/// A number of the data of a residual block: an operand of arithmetic with variables that is not a variable.
///
/// Under strategies over packs it has a value in each lane, those of the observations that are computed together. It
/// takes no record, as an `f64` would not.
pub type Datum<S> = Ex<S, Literal<S>>;

/// A kind of residual block: a function of `B` parameter blocks and of `D` numbers of data with `M` residuals.
///
/// It is written once, generic over the strategy, and runs over plain numbers and over packs of eight observations.
/// Comparisons, and the branches and loops that depend on them, may come out differently for different observations:
/// those that disagree with the first of their pack are computed one by one.
///
/// The bound is `S: Strategy` and not `Strategy<Value = f64>`, since the value of a variable is a pack there: a
/// residual block computes with variables, data and `f64` literals. For nalgebra, [`Closed`](crate::Closed) variables
/// can be made of all of them.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::residuals::{Datum, Residual};
///
/// /// y = a·exp(b·t), observed at one t.
/// struct Growth;
///
/// impl Residual<1, 2, 1> for Growth {
///     fn sizes(&self) -> [usize; 1] { [2] }
///     fn residuals<S: Strategy>(&self, [p]: [&[Real<S>]; 1], [t, y]: [Datum<S>; 2]) -> [Real<S>; 1] {
///         [(p[0] * (p[1] * t).exp() - y).into()]
///     }
/// }
/// ```
pub trait Residual<const B: usize, const D: usize, const M: usize>: Send + Sync + 'static {
    /// Returns the sizes of the parameter blocks that the function takes.
    fn sizes(&self) -> [usize; B];

    /// Computes the residuals of one observation, from its parameter blocks and its data.
    fn residuals<S: Strategy>(&self, parameters: [&[Real<S>]; B], data: [Datum<S>; D]) -> [Real<S>; M];
}

/// Makes data of a value, for calls of a [`Residual`] outside problems.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::residuals::datum;
///
/// assert_eq!(gradient::<Jacobian>(|x| (x[0] * datum(5.0) - datum(1.0)).into(), &[2.0]), [5.0]);
/// ```
#[inline(always)]
pub fn datum<S: Taping>(value: S::Value) -> Datum<S> {
    ex(Literal(value))
}
