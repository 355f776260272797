//! Solutions of equations: x with F(x, p) = 0 as a function of p.
//!
//! Any solver may find x, on plain floats: bisection, Newton's method, one of a library. The solver is not recorded.
//! The derivative needs the solution alone: by the implicit function theorem it is −(∂F/∂x)⁻¹·∂F/∂p. So the entry on
//! the tape is one system of linear equations, however many iterations it took to find x, and it is exact where the
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
//! An entry of [`root`] or [`solution`] cannot be replayed at new inputs, and says so: only the solution is known, and
//! not the solver. [`find_root`] and [`find_solution`] take equations that are a [`Solver`], and can.
//!
//! # Duals and packs
//!
//! Equations that are written over every number give second derivatives, and many solutions in one recording. The
//! solver is still one for floats, called in each lane. Whatever tangents x has at first, it gets the right ones, and
//! keeps its value: by a step of Newton's method for each level of tangents, with the factors that have been computed.
//! Over duals this is done for passive parameters, too, since they may have tangents.
//!
//! ```
//! use tapewright::implicit::{self, Equations};
//! use tapewright::{Dual, Number, hvp, prelude::*};
//!
//! /// x² = p.
//! struct Square;
//! impl<V: Number> Equations<V> for Square {
//!     fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
//!         vec![(x[0] * x[0] - p[0]).into()]
//!     }
//! }
//!
//! fn root<S: Taping>(p: &[Real<S>]) -> Real<S> {
//!     let x = S::Value::from_lanes(|lane| Number::from_f64(p[0].value().lane(lane).as_f64().sqrt()));
//!     implicit::root(Square, x, p).expect("a solution")
//! }
//!
//! let (x, first, second) = hvp::<Jacobian<Dual<f64, 1>>>(root, &[4.0], &[1.0]);
//! assert_eq!((x, first[0], second[0]), (2.0, 1.0 / 4.0, -1.0 / 32.0)); // 1/(2·√p) and −1/(4·p·√p)
//! ```

mod equations;
mod error;
mod rule;

#[cfg(feature = "nalgebra")]
use equations::FixedPoint;
pub use equations::{Equations, Solver};
pub use error::ImplicitError;

use crate::expr::Real;
use crate::external::external;
#[cfg(feature = "nalgebra")]
use crate::linalg::Plain;
#[cfg(any(feature = "nalgebra", feature = "faer"))]
use crate::linalg::{Backend, Dense, Element, LinalgError};
use equations::{Solved, constants};
#[cfg(any(feature = "nalgebra", feature = "faer"))]
use rule::Factors;
use rule::{Again, AtSolution, Inverse, Slope, Solution};
#[cfg(any(feature = "nalgebra", feature = "faer"))]
use std::sync::Arc;
use tapewright_strategies::{Number, Taping};

/// The unknown of one equation as a function of its parameters, given the root that a solver has found at their values.
///
/// Tangents of the root are computed: the root may be given with any.
///
/// # Errors
///
/// See [`ImplicitError`]. The slope ∂F/∂x must not be 0.
///
/// # Panics
///
/// When [`external`](crate::external()) does, and when the equation does.
#[track_caller]
pub fn root<S: Taping>(
    equation: impl Equations<S::Value>,
    root: S::Value,
    parameters: &[Real<S>],
) -> Result<Real<S>, ImplicitError> {
    let at: AtSolution<_, _, _> = |equation, x, p| at_solution(equation, x, p, slope);
    let results = record(equation, &[root], None, parameters, at)?;
    Ok(results.into_iter().next().expect("one unknown"))
}

/// The unknown of one equation as a function of its parameters, found by its [`Solver`] from this start.
///
/// Unlike [`root`] it can be computed again: in a [replay](crate::Tape::replay), and for each scenario of a
/// [program](crate::programs).
///
/// ```
/// use tapewright::implicit::{self, Equations, Solver};
/// use tapewright::prelude::*;
/// use tapewright::programs::Program;
///
/// /// x·eˣ = p, by Newton's method.
/// struct Lambert;
/// impl Equations for Lambert {
///     fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
///         vec![(x[0] * x[0].exp() - p[0]).into()]
///     }
/// }
/// impl Solver for Lambert {
///     fn solve(&self, start: &[f64], p: &[f64]) -> Option<Vec<f64>> {
///         let mut x = start[0];
///         for _ in 0..50 {
///             let step = (x - p[0] * (-x).exp()) / (1.0 + x);
///             x -= step;
///             if step.abs() <= 1e-15 * x.abs() { return Some(vec![x]) }
///         }
///         None
///     }
/// }
///
/// let program = Program::new(|_, d| [implicit::find_root(Lambert, 1.0, &d[..1]).expect("it is there")]);
/// let found = program.gradients(&[], &[[1.0_f64.exp()], [2.0 * 2.0_f64.exp()]])?;
/// assert!((found.values[0] - 1.0).abs() < 1e-15 && (found.values[1] - 2.0).abs() < 1e-15);
/// assert!((found.gradients[1][0] - (-2.0_f64).exp() / 3.0).abs() < 1e-15); // 1/((1 + x)·eˣ)
/// assert_eq!(found.branches().alone, 0);
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`root`], and [`ImplicitError::NotFound`].
///
/// # Panics
///
/// When [`root`] and the solver do.
#[track_caller]
pub fn find_root<S: Taping>(
    equation: impl Solver<S::Value>,
    start: S::Value,
    parameters: &[Real<S>],
) -> Result<Real<S>, ImplicitError> {
    let results = find(equation, &[start], parameters, |equation, x, p| at_solution(equation, x, p, slope))?;
    Ok(results.into_iter().next().expect("one unknown"))
}

/// The inverse of the slope of one equation.
fn slope<V: Number>(slopes: Vec<V>) -> Result<Slope<V>, ImplicitError> {
    let slope = slopes[0];
    let is_zero = |lane: usize| slope.lane(lane).as_f64() == 0.0;
    if (0..V::LANES).any(is_zero) { Err(ImplicitError::Singular { pivot: 0 }) } else { Ok(Slope(slope)) }
}

/// The unknowns x of equations F(x, p) = 0, as many as equations, as functions of their parameters p, given the
/// solution x that a solver has found at their values.
///
/// The Jacobian ∂F/∂x is factorized once, or once in each lane, when this is called: by nalgebra, in the feature of
/// that name; see [`solution_by`] for other libraries. Tangents of the solution are computed: the solution may be given
/// with any.
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
/// When [`external`](crate::external()) does, and when the equations do.
#[cfg(feature = "nalgebra")]
#[track_caller]
pub fn solution<S: Taping<Value: Element>>(
    equations: impl Equations<S::Value>,
    solution: &[S::Value],
    parameters: &[Real<S>],
) -> Result<Vec<Real<S>>, ImplicitError> {
    solution_by::<Library<S>, S>(equations, solution, parameters)
}

/// Records a [`solution`], with the Jacobian ∂F/∂x factorized by the library that you name: `Faer`, `Nalgebra`, or a
/// [`Backend`] of your own.
///
/// ```
/// use tapewright::implicit::{self, Equations};
/// use tapewright::prelude::*;
/// # #[cfg(feature = "faer")] {
/// use tapewright::linalg::Faer;
///
/// /// Two equations: 2·x₀ + x₁ = p₀ and x₀ = x₁·p₁.
/// struct Lines;
/// impl Equations for Lines {
///     fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
///         vec![(2.0 * x[0] + x[1] - p[0]).into(), (x[0] - x[1] * p[1]).into()]
///     }
/// }
///
/// let f = |p: &[Real<Jacobian>]| implicit::solution_by::<Faer, _>(Lines, &[2.0, 1.0], p).expect("they meet")[1];
/// let slope = gradient(f, &[5.0, 2.0]);
/// assert!((slope[0] - 1.0 / 5.0).abs() < 1e-15 && (slope[1] + 2.0 / 5.0).abs() < 1e-15);
/// # }
/// ```
///
/// # Errors
///
/// See [`ImplicitError`].
///
/// # Panics
///
/// When [`external`](crate::external()) does, and when the equations do.
#[cfg(any(feature = "nalgebra", feature = "faer"))]
#[track_caller]
pub fn solution_by<B: Backend<<S::Value as Element>::Scalar>, S: Taping<Value: Element>>(
    equations: impl Equations<S::Value>,
    solution: &[S::Value],
    parameters: &[Real<S>],
) -> Result<Vec<Real<S>>, ImplicitError> {
    record(equations, solution, None, parameters, |equations, x, p| {
        at_solution(equations, x, p, factors::<_, B>(x.len()))
    })
}

/// The unknowns of equations as functions of their parameters, found by their [`Solver`] from this start: what
/// [`find_root`] is to [`root`].
///
/// # Errors
///
/// Those of [`solution`], and [`ImplicitError::NotFound`].
///
/// # Panics
///
/// When [`solution`] and the solver do.
#[cfg(feature = "nalgebra")]
#[track_caller]
pub fn find_solution<S: Taping<Value: Element>>(
    equations: impl Solver<S::Value>,
    start: &[S::Value],
    parameters: &[Real<S>],
) -> Result<Vec<Real<S>>, ImplicitError> {
    find(equations, start, parameters, |equations, x, p| {
        at_solution(equations, x, p, factors::<_, Library<S>>(x.len()))
    })
}

/// The inverse of a Jacobian, factorized by a library.
#[cfg(any(feature = "nalgebra", feature = "faer"))]
type FactorsOf<V, B> = Factors<<V as Element>::System<Arc<Dense<<V as Element>::Scalar, B>>>>;

/// Makes the inverse of a Jacobian from its columns. Its values are the same for all orders of tangents, and so are
/// their factors.
#[cfg(any(feature = "nalgebra", feature = "faer"))]
fn factors<V: Element, B: Backend<V::Scalar>>(
    n: usize,
) -> impl FnMut(Vec<V>) -> Result<FactorsOf<V, B>, ImplicitError> {
    let mut kept = Vec::new();
    move |slopes| {
        let mut lanes = 0;
        let factorize = &mut |values| {
            lanes += 1;
            if kept.len() < lanes {
                kept.push(Arc::new(Dense::<_, B>::full(n, values)?));
            }
            Ok(Arc::clone(&kept[lanes - 1]))
        };
        V::lift(slopes, factorize).map(Factors).map_err(|error| match error.without_lane() {
            LinalgError::Singular { pivot: Some(pivot) } => ImplicitError::Singular { pivot },
            error => unreachable!("a square matrix of finite numbers is regular or not: {error}"),
        })
    }
}

/// Library that factorizes Jacobians.
#[cfg(feature = "nalgebra")]
type Library<S> = <<<S as Taping>::Value as Element>::Scalar as Plain>::Nalgebra;

/// The fixed point x = G(x, p) as a function of p, given the x at which an iteration has arrived.
///
/// The [`Equations`] are G: the result is the [`solution`] of x − G(x, p) = 0.
///
/// # Errors
///
/// See [`ImplicitError`].
///
/// # Panics
///
/// When [`solution`] does.
#[cfg(feature = "nalgebra")]
#[track_caller]
pub fn fixed_point<S: Taping<Value: Element>>(
    map: impl Equations<S::Value>,
    point: &[S::Value],
    parameters: &[Real<S>],
) -> Result<Vec<Real<S>>, ImplicitError> {
    solution(FixedPoint(map), point, parameters)
}

/// Finds x(p) from a start, and records it.
#[track_caller]
fn find<S: Taping, E: Solver<S::Value>, K: Inverse<S::Value>>(
    equations: E,
    start: &[S::Value],
    parameters: &[Real<S>],
    at: AtSolution<E, S::Value, K>,
) -> Result<Vec<Real<S>>, ImplicitError> {
    let p: Vec<S::Value> = parameters.iter().map(Real::peek).collect();
    let x = deciding(parameters, equations.solve(start, &p).ok_or(ImplicitError::NotFound))?;
    let again = Again { start: start.to_vec(), solve: E::solve, at };
    record(equations, &x, Some(again), parameters, at)
}

/// Returns an outcome. An error follows from the values of the parameters, which are read where a recording notes it:
/// the recording is used again where they are the same.
fn deciding<S: Taping, T>(p: &[Real<S>], outcome: Result<T, ImplicitError>) -> Result<T, ImplicitError> {
    if outcome.is_err() {
        p.iter().for_each(|p| _ = p.value());
    }
    outcome
}

/// Records x(p) with these values, and how to solve for others if that is known.
#[track_caller]
fn record<S: Taping, E: Equations<S::Value>, K: Inverse<S::Value>>(
    equations: E,
    x: &[S::Value],
    again: Option<Again<E, S::Value, K>>,
    parameters: &[Real<S>],
    at: AtSolution<E, S::Value, K>,
) -> Result<Vec<Real<S>>, ImplicitError> {
    let arguments: Vec<_> = parameters.iter().map(|p| (p.peek(), p.id())).collect();
    let active = S::is_active(&arguments);
    if !active && S::Value::ORDER == 0 {
        return Ok(constants(x));
    }
    let p: Vec<S::Value> = parameters.iter().map(Real::peek).collect();
    let (x, inverse) = deciding(parameters, at(&equations, x, &p))?;
    if !active {
        return Ok(constants(&x));
    }
    Ok(external(parameters, &x.clone(), Solution { equations, x, p, inverse, again }))
}

/// The solution with its tangents, and (∂F/∂x)⁻¹ there.
///
/// Newton's method finds tangents, since they are nilpotent: a step with (∂F/∂x)⁻¹ at the same values makes one order
/// of them right. Tangents that were given are left out: the values, which stay unchanged, need not be exact, and the
/// error would be multiplied by the tangents.
fn at_solution<V: Number, K: Inverse<V>>(
    equations: &impl Equations<V>,
    x: &[V],
    p: &[V],
    mut invert: impl FnMut(Vec<V>) -> Result<K, ImplicitError>,
) -> Result<(Vec<V>, K), ImplicitError> {
    let mut x: Vec<V> = x.iter().map(|x| with_value(V::ZERO, *x)).collect();
    let Solved { residual: mut step, slopes } = equations::solved(equations, &x, p)?;
    let mut inverse = invert(slopes)?;
    inverse.solve(false, &mut step);
    (0..V::LANES).try_for_each(|lane| is_solution(lane, &step, &x, equations.tolerance()))?;
    for order in (0..V::ORDER).rev() {
        x.iter_mut().zip(&step).for_each(|(x, step)| *x = with_value(*x - *step, *x));
        let Solved { residual, slopes } = equations::solved(equations, &x, p)?;
        if order == 0 {
            inverse = invert(slopes)?;
        } else {
            step = residual;
            inverse.solve(false, &mut step);
        }
    }
    Ok((x, inverse))
}

/// A number with the tangents of one number, and the value of another.
fn with_value<V: Number>(tangents: V, value: V) -> V {
    // The first parts of a number are the values, one for each lane.
    V::from_parts(|k| if k < V::LANES { value.part(k) } else { tangents.part(k) })
}

/// Checks that a step of Newton's method from a solution is short enough in a lane.
fn is_solution<V: Number>(lane: usize, step: &[V], x: &[V], tolerance: f64) -> Result<(), ImplicitError> {
    let value = |number: &V| number.lane(lane).as_f64().abs();
    let largest = |numbers: &[V]| numbers.iter().map(value).fold(0.0, f64::max);
    let (length, size) = (largest(step), largest(x));
    // A step that is NaN is not small, either.
    if step.iter().all(|step| value(step).is_finite()) && length <= tolerance * (size + 1.0) {
        return Ok(());
    }
    Err(ImplicitError::NotASolution { step: length, size })
}
