//! Solutions of equations: x with F(x, p) = 0 as a function of p.
//!
//! Any solver may find x, on plain numbers: bisection, Newton's method, one of a library. It is not recorded. The
//! derivative needs the solution alone: by the implicit function theorem it is −(∂F/∂x)⁻¹·∂F/∂p. So the entry on the
//! tape is one system of linear equations, however many iterations it took to find x, and it is exact where the
//! derivative of the iterations is not.
//!
//! ```
//! use tapewright::implicit::{self, Equations};
//! use tapewright::prelude::*;
//!
//! /// Kepler's equation: E − e·sin E = M.
//! struct Kepler;
//! impl Equations for Kepler {
//!     fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
//!         vec![(x[0] - p[0] * x[0].sin() - p[1]).into()]
//!     }
//! }
//!
//! /// By bisection; M between 0 and π.
//! fn anomaly<S: Taping<Value = f64>>(p: &[Real<S>]) -> Real<S> {
//!     let (e, m) = (p[0].value(), p[1].value());
//!     let (mut low, mut high) = (0.0, std::f64::consts::PI);
//!     while high - low > 1e-15 {
//!         let middle = 0.5 * (low + high);
//!         if middle <= low || middle >= high { break }
//!         if middle - e * middle.sin() < m { low = middle } else { high = middle }
//!     }
//!     implicit::root(Kepler, low, p).expect("a solution")
//! }
//!
//! let (x, slope) = value_and_gradient::<Jacobian>(anomaly, &[0.4, 1.0]);
//! let by_hand = 1.0 / (1.0 - 0.4 * x.cos()); // ∂E/∂M, and sin E times that is ∂E/∂e
//! assert!((slope[1] - by_hand).abs() < 1e-14 && (slope[0] - x.sin() * by_hand).abs() < 1e-14);
//! ```
//!
//! Everything that x depends on must be among the parameters. If none of them moves, nothing is computed or checked.
//! An entry cannot be replayed at new inputs, and says so.

mod equations;
mod error;
mod rule;

pub use equations::Equations;
#[cfg(feature = "nalgebra")]
use equations::FixedPoint;
pub use error::ImplicitError;

use crate::expr::Real;
use crate::external::external;
#[cfg(feature = "nalgebra")]
use crate::linalg::{Dense, LinalgError, Nalgebra};
use equations::Solved;
use rule::{Inverse, Solution};
use tapewright_strategies::num_traits::Zero;
use tapewright_strategies::{Float, Number as _, Taping};

/// The unknown of one equation as a function of its parameters, given the root that a solver has found at their values.
///
/// # Errors
///
/// See [`ImplicitError`]. The slope ∂F/∂x must not be 0.
///
/// # Panics
///
/// As [`external`](crate::external), and when the equation does.
#[track_caller]
pub fn root<S: Taping<Value: Float>>(
    equation: impl Equations<S::Value>,
    root: S::Value,
    parameters: &[Real<S>],
) -> Result<Real<S>, ImplicitError> {
    let results = record(equation, &[root], parameters, |slopes| {
        let slope = slopes[0];
        if slope.is_nought() { Err(ImplicitError::Singular { pivot: 0 }) } else { Ok(rule::Slope(slope)) }
    })?;
    Ok(results.into_iter().next().expect("one unknown"))
}

/// The unknowns of as many equations F(x, p) = 0 as functions of their parameters p, given the solution x that a solver
/// has found at their values.
///
/// The Jacobian ∂F/∂x is factorised once, when this is called: by nalgebra, in the feature of that name.
///
/// ```
/// use tapewright::implicit::{self, Equations};
/// use tapewright::prelude::*;
///
/// /// A circle of radius p₀ and a line of slope p₁ through the origin.
/// struct Meeting;
/// impl Equations for Meeting {
///     fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
///         vec![(x[0].powi(2) + x[1].powi(2) - p[0].powi(2)).into(), (x[1] - p[1] * x[0]).into()]
///     }
/// }
///
/// let f = |p: &[Real<Jacobian>]| implicit::solution(Meeting, &[3.0, 4.0], p).expect("they meet there")[0];
/// let slope = gradient(f, &[5.0, 4.0 / 3.0]);
/// assert!((slope[0] - 3.0 / 5.0).abs() < 1e-15 && (slope[1] + 36.0 / 25.0).abs() < 1e-15);
/// ```
///
/// # Errors
///
/// See [`ImplicitError`].
///
/// # Panics
///
/// As [`external`](crate::external), and when the equations do.
#[cfg(feature = "nalgebra")]
#[track_caller]
pub fn solution<S: Taping<Value: Float + ::nalgebra::RealField>>(
    equations: impl Equations<S::Value>,
    solution: &[S::Value],
    parameters: &[Real<S>],
) -> Result<Vec<Real<S>>, ImplicitError> {
    record(equations, solution, parameters, |slopes| {
        Dense::<_, Nalgebra>::full(solution.len(), slopes).map_err(|error| match error {
            LinalgError::Singular { pivot: Some(pivot) } => ImplicitError::Singular { pivot },
            error => unreachable!("a square matrix of finite numbers is regular or not: {error}"),
        })
    })
}

/// The fixed point x = G(x, p) as a function of p, given the x at which an iteration has arrived.
///
/// The [`Equations`] are G: as [`solution`] of x − G(x, p) = 0.
///
/// # Errors
///
/// See [`ImplicitError`].
///
/// # Panics
///
/// As [`solution`].
#[cfg(feature = "nalgebra")]
#[track_caller]
pub fn fixed_point<S: Taping<Value: Float + ::nalgebra::RealField>>(
    map: impl Equations<S::Value>,
    point: &[S::Value],
    parameters: &[Real<S>],
) -> Result<Vec<Real<S>>, ImplicitError> {
    solution(FixedPoint(map), point, parameters)
}

/// Records x(p), with the inverse of ∂F/∂x that `invert` makes of its columns.
#[track_caller]
fn record<S: Taping<Value: Float>, E: Equations<S::Value>, K: Inverse<S::Value>>(
    equations: E,
    x: &[S::Value],
    parameters: &[Real<S>],
    invert: impl FnOnce(Vec<S::Value>) -> Result<K, ImplicitError>,
) -> Result<Vec<Real<S>>, ImplicitError> {
    const { assert!(S::Value::PARTS == 1, "implicit functions are over `f64` and `f32`: their rule has first derivatives") };
    let arguments: Vec<_> = parameters.iter().map(|p| (p.value(), p.id())).collect();
    if !S::is_active(&arguments) {
        return Ok(x.iter().map(|x| Real::constant(*x)).collect());
    }
    let p: Vec<S::Value> = parameters.iter().map(Real::value).collect();
    let Solved { mut residual, slopes } = equations::solved(&equations, x, &p)?;
    let inverse = invert(slopes)?;
    inverse.solve(&mut residual);
    let largest = |numbers: &[S::Value]| numbers.iter().fold(S::Value::zero(), |most, number| most.max(number.abs()));
    let (step, size) = (largest(&residual), largest(x));
    // Not `step > …`: a step that is NaN is not small, either.
    if residual.iter().any(|step| !step.is_finite()) || step > equations.tolerance() * (size + S::Value::from_f64(1.0))
    {
        return Err(ImplicitError::NotASolution { step: step.as_f64(), size: size.as_f64() });
    }
    Ok(external(parameters, x, Solution { equations, x: x.to_vec(), p, inverse }))
}
