//! Functions of slices.

use crate::Curvature;
use crate::Number;

/// A function of a number of arguments known at run time, such as a sum over a slice.
///
/// The partials may depend on values and constants only, so that a primal-value record can recompute them.
pub trait Nary<V: Number>: 'static {
    /// Whether every partial is exactly 1, so that strategies need not store them.
    const UNIT: bool = false;
    /// Constants per argument: 0 or 1.
    const CONSTANTS: usize = 0;
    /// Whether [`value`](Self::value) can be called again, at other arguments, when a recording is replayed.
    const REPLAYS: bool = true;
    /// The pairs of arguments in which the function is not linear; more pairs than necessary make patterns of Hessian
    /// matrices larger, and fewer make them wrong. Where some arguments are passive, patterns have either none of the
    /// pairs of the others, if it is linear in these, or all of them.
    const CURVATURE: Curvature = Curvature::Everywhere;
    /// The value at these arguments.
    fn value(arguments: &[V], constants: &[V]) -> V;
    /// Writes the partial for each argument; the slices are equally long.
    fn partials(arguments: &[V], constants: &[V], partials: &mut [V]);
    /// Whether infinite partials at these arguments come from a pole or a vertical tangent, and not from an overflow;
    /// see [`Policy`](crate::Policy).
    fn singular(arguments: &[V], constants: &[V]) -> bool {
        let _ = (arguments, constants);
        false
    }
}
