//! Errors of implicit functions.

use core::fmt;

/// Reason why values cannot be recorded as the solution of equations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ImplicitError {
    /// There are not as many equations as unknowns.
    Count {
        /// Number of equations.
        equations: usize,
        /// Number of unknowns.
        unknowns: usize,
    },
    /// An equation, or one of its derivatives, is infinite or NaN.
    NotFinite {
        /// Index of the equation, counted from 0.
        equation: usize,
    },
    /// ∂F/∂x is singular at the solution, which is then not a function of the parameters, or has no derivative.
    Singular {
        /// Index of the pivot that is 0, counted from 0.
        pivot: usize,
    },
    /// A step of Newton's method from the given values is longer than the tolerance allows: see
    /// [`Equations::tolerance`](super::Equations::tolerance).
    NotASolution {
        /// The largest entry of the step.
        step: f64,
        /// The largest absolute value of an unknown.
        size: f64,
    },
    /// The solver has found no solution: see [`Solver`](super::Solver).
    NotFound,
    /// The given Jacobian does not have the derivatives of the equations.
    WrongJacobian {
        /// Index of the equation, counted from 0.
        equation: usize,
    },
}

impl fmt::Display for ImplicitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { equations, unknowns } => {
                write!(f, "{equations} equations do not determine {unknowns} unknowns")
            }
            Self::NotFinite { equation } => {
                write!(f, "equation {equation}, or one of its derivatives, is not finite at the given values")
            }
            Self::Singular { pivot } => {
                write!(
                    f,
                    "the Jacobian of the equations is singular at the solution (pivot {pivot} is 0), so the solution has no \
                     derivative"
                )
            }
            Self::NotASolution { step, size } => write!(
                f,
                "the given values do not solve the equations: the largest unknown is {size:e}, and a step of Newton's \
                 method changes one by {step:e}"
            ),
            Self::NotFound => f.write_str("the solver has found no solution of the equations"),
            Self::WrongJacobian { equation } => {
                write!(f, "the given Jacobian does not have the derivatives of equation {equation}")
            }
        }
    }
}

impl core::error::Error for ImplicitError {}
