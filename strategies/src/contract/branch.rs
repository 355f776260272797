//! Comparisons that may hide a derivative, as strategies hear of them.

use crate::{Float, Number, Taping};
use core::panic::Location;

/// A comparison of two expressions, on whose outcome the program may branch.
///
/// # When a branch hides a derivative
///
/// A program that asks whether an active number equals a passive one, and is told that it does, may go on with the
/// passive one, or leave out what would be multiplied by 0. The value is right, and the derivative is lost. The same
/// holds for a test whether an active number is negligible. A tie of active numbers, as between two equal pivots, hides
/// nothing: either choice has the derivative.
///
/// Therefore [`hides`](Self::hides) is true where one side is active, the other is passive, and both are equal; and
/// where both sides are small (10⁻¹⁰, in single precision 10⁻⁵) and the comparison may find that an active number is
/// negligible: beside a passive threshold that is at least as large, or beside another active number, as iterations
/// test whether an entry is small beside its neighbours.
pub struct Branch<'a, S: Taping> {
    /// The values of the two sides.
    pub values: [S::Value; 2],
    /// The identifiers in the two sides; none in a literal.
    pub leaves: [&'a [S::Raw]; 2],
    /// The line of the comparison.
    pub location: &'static Location<'static>,
}

impl<S: Taping> Branch<'_, S> {
    /// Returns true if the comparison may have hidden a derivative from a recording for which these sides are active.
    #[must_use]
    pub fn hides(&self, active: [bool; 2]) -> bool {
        let [x, y] = self.values;
        (0..S::Value::LANES).any(|k| hides(x.lane(k), y.lane(k), active))
    }

    /// The smallest distance between the two sides, over all lanes.
    #[must_use]
    pub fn margin(&self) -> f64 {
        let [x, y] = self.values;
        let distance = |k| (x.lane(k).as_f64() - y.lane(k).as_f64()).abs();
        (0..S::Value::LANES).map(distance).fold(f64::INFINITY, f64::min)
    }
}

fn hides<V: Float>(x: V, y: V, active: [bool; 2]) -> bool {
    if !is_suspect(x, y) || active == [false; 2] {
        return false;
    }
    let (x, y) = (x.as_f64().abs(), y.as_f64().abs());
    match active {
        [true, true] => x != y,
        [true, false] => x <= y,
        _ => y <= x,
    }
}

/// Returns true if the comparison of these numbers hides a derivative, should the right one of them be active: see
/// [`Branch`]. To be asked first, since it needs no look at identifiers.
#[inline(always)]
pub fn is_suspect<V: Float>(x: V, y: V) -> bool {
    let small = if V::epsilon().as_f64() < 1e-10 { 1e-10 } else { 1e-5 };
    let (x, y) = (x.as_f64(), y.as_f64());
    (x == y) & x.is_finite() | (x.abs() <= small) & (y.abs() <= small)
}
