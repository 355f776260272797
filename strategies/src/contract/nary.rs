//! Functions of slices, with a number of arguments known at run time.

use crate::Number;
use crate::rules::Curvature;

/// A function of a number of arguments known at run time, such as a sum over a slice.
///
/// The partials may depend on values and constants only, so that a primal-value record can recompute them.
pub trait Nary<V: Number>: 'static {
    /// True if every partial is exactly 1, so that strategies need not store the partials.
    const UNIT: bool = false;
    /// Number of constants per argument: 0 or 1.
    const CONSTANTS: usize = 0;
    /// True if a replay may call [`value`](Self::value) again at other arguments.
    const REPLAYS: bool = true;
    /// The pairs of arguments in which the function is not linear. Superfluous pairs make sparsity patterns of Hessian
    /// matrices larger; missing pairs make them wrong. Where some arguments are passive, a pattern contains all pairs
    /// of the active arguments, or none of them if the function is linear in the active arguments.
    const CURVATURE: Curvature = Curvature::Everywhere;
    /// The partials, if they need not be computed.
    #[doc(hidden)]
    const GIVEN: Given = Given::Nowhere;
    /// Returns the value at these arguments.
    fn value(arguments: &[V], constants: &[V]) -> V;
    /// Writes the partial with respect to each argument. `partials` is as long as `arguments`.
    fn partials(arguments: &[V], constants: &[V], partials: &mut [V]);
    /// Returns true if infinite partials at these arguments come from a pole or a vertical tangent, and not from an
    /// overflow; see [`Policy`](crate::policy::Policy).
    fn singular(arguments: &[V], constants: &[V]) -> bool {
        let _ = (arguments, constants);
        false
    }
}

/// The numbers that are the partials of a function of slices.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// None: partials are computed.
    Nowhere,
    /// The constants.
    Constants,
    /// The values of the arguments: those of the second half are the partials with respect to the first half, and those
    /// of the first half the partials with respect to the second half.
    OtherHalf,
}
