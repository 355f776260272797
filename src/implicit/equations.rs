//! Equations, with their residual and their Jacobian at a solution.

use super::error::ImplicitError;
use crate::expr::Real;
use crate::forward::{jacobian_forward, jvp};
use tapewright_strategies::{Float, Number, Strategy, Tangent, Taping};

/// Equations F(x, p) = 0 of unknowns and parameters, generic over the strategy: the rules evaluate them in forward
/// mode, and record them.
///
/// Equations that are implemented for every `V: Number` may be used with duals and packs, too: for second derivatives,
/// and for many evaluations at once.
pub trait Equations<V: Number = f64>: Send + Sync + 'static {
    /// Evaluates F at these unknowns and parameters: as many values as unknowns. For a fixed point x = G(x, p) it
    /// evaluates G.
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>>;

    /// Returns the Jacobian ∂F/∂x, column after column, if you have it; for `None` the library computes it by forward
    /// mode.
    ///
    /// The given Jacobian is compared with forward mode along one direction. For duals it has to have the right
    /// tangents, which it has if it is computed in `V`.
    fn jacobian(&self, x: &[V], p: &[V]) -> Option<Vec<V>> {
        let _ = (x, p);
        None
    }

    /// Largest distance from the solution of the values that are given as one: a step of Newton's method must not be
    /// longer than this times 1 + the largest unknown, in any lane. The relative error of the derivative is of this
    /// order. √ε by default.
    fn tolerance(&self) -> f64 {
        epsilon::<V>().sqrt()
    }
}

/// Equations that know how to be solved, so that replays and [programs](crate::programs) can solve them again.
pub trait Solver<V: Number = f64>: Equations<V> {
    /// Returns a solution for these parameters, by any method, from this start; `None` if there is none. The result has
    /// to depend on the arguments alone.
    fn solve(&self, start: &[V], p: &[V]) -> Option<Vec<V>>;
}

/// The equations x − G(x, p).
#[cfg(feature = "nalgebra")]
pub(super) struct FixedPoint<G>(pub(super) G);

#[cfg(feature = "nalgebra")]
impl<V: Number, G: Equations<V>> Equations<V> for FixedPoint<G> {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        let image = self.0.evaluate(x, p);
        // If there are too many equations, there stay too many, and they are refused.
        let differences = image.iter().enumerate().map(|(k, image)| x.get(k).map_or(*image, |x| (*x - *image).eval()));
        differences.collect()
    }

    fn jacobian(&self, x: &[V], p: &[V]) -> Option<Vec<V>> {
        let slopes = self.0.jacobian(x, p)?;
        let unit = |k: usize| if k.is_multiple_of(x.len() + 1) { V::ONE } else { V::ZERO };
        Some(slopes.into_iter().enumerate().map(|(k, slope)| unit(k) - slope).collect())
    }

    fn tolerance(&self) -> f64 {
        self.0.tolerance()
    }
}

/// F and ∂F/∂x, column after column, at a solution.
pub(super) struct Solved<V> {
    pub(super) residual: Vec<V>,
    pub(super) slopes: Vec<V>,
}

/// Values as passive variables.
pub(super) fn constants<S: Taping>(numbers: &[S::Value]) -> Vec<Real<S>> {
    numbers.iter().map(|number| Real::constant(*number)).collect()
}

pub(super) fn solved<V: Number>(equations: &impl Equations<V>, x: &[V], p: &[V]) -> Result<Solved<V>, ImplicitError> {
    let solved = match equations.jacobian(x, p) {
        Some(slopes) => given(equations, slopes, x, p)?,
        None => by_tangents(equations, x, p)?,
    };
    let bad = |numbers: &[V]| numbers.iter().position(|number| !is_finite(*number)).map(|k| k % x.len().max(1));
    match bad(&solved.residual).or_else(|| bad(&solved.slopes)) {
        Some(equation) => Err(ImplicitError::NotFinite { equation }),
        None => Ok(solved),
    }
}

/// The Jacobian by forward mode, 8 columns at a time.
fn by_tangents<V: Number>(equations: &impl Equations<V>, x: &[V], p: &[V]) -> Result<Solved<V>, ImplicitError> {
    let n = x.len();
    let (residual, rows) = jacobian_forward::<Tangent<8, V>>(|x| equations.evaluate(x, &constants(p)), x);
    count(residual.len(), n)?;
    let slopes = (0..n * n).map(|k| rows[k % n][k / n]).collect();
    Ok(Solved { residual, slopes })
}

/// The Jacobian that was given, after it has been compared with forward mode along one direction.
fn given<V: Number>(
    equations: &impl Equations<V>,
    slopes: Vec<V>,
    x: &[V],
    p: &[V],
) -> Result<Solved<V>, ImplicitError> {
    let n = x.len();
    let direction: Vec<V> = (0..n).map(|k| V::from_f64([1.0, -0.75, 0.5, 0.875, -0.625][k % 5])).collect();
    let found = jvp::<Tangent<1, V>>(|x| equations.evaluate(x, &constants(p)), x, &direction);
    let (residual, expected) = found.expect("a direction has as many entries as unknowns");
    count(residual.len(), n)?;
    count(slopes.len(), n * n)?;
    for (i, expected) in expected.iter().enumerate() {
        let terms: Vec<V> = (0..n).map(|j| slopes[j * n + i] * direction[j]).collect();
        if (0..V::LANES).any(|lane| !agree(lane, &terms, *expected)) {
            return Err(ImplicitError::WrongJacobian { equation: i });
        }
    }
    Ok(Solved { residual, slopes })
}

/// Returns true if these terms have this sum in a lane, part by part, up to √ε of the terms of the part and to rounding
/// errors of the largest part. Of variables of a recording only the values are compared, because their other parts are
/// their identity.
fn agree<V: Number>(lane: usize, terms: &[V], sum: V) -> bool {
    let parts = if V::VARIABLE { 1 } else { V::Lane::PARTS };
    let part = |number: &V, k: usize| number.lane(lane).part(k);
    let size = |k: usize| terms.iter().fold(part(&sum, k).abs(), |size, term| size + part(term, k).abs());
    let off = |k: usize| terms.iter().fold(-part(&sum, k), |off, term| off + part(term, k)).abs();
    let rounding = 64.0 * epsilon::<V>() * (0..parts).map(size).fold(0.0, f64::max);
    (0..parts).all(|k| off(k) <= epsilon::<V>().sqrt() * size(k) + rounding)
}

/// ε of the floats that a value consists of.
fn epsilon<V: Number>() -> f64 {
    V::Lane::epsilon().as_f64()
}

/// Returns true if the values in all lanes are finite.
fn is_finite<V: Number>(number: V) -> bool {
    (0..V::LANES).all(|lane| number.lane(lane).is_finite())
}

fn count(equations: usize, unknowns: usize) -> Result<(), ImplicitError> {
    if equations == unknowns { Ok(()) } else { Err(ImplicitError::Count { equations, unknowns }) }
}
