//! Errors of implicit functions.

use core::fmt;

/// Reason why values cannot be recorded as the solution of equations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ImplicitError {
    /// There are not as many equations as unknowns.
    Count {
        /// Number of equations that were evaluated.
        equations: usize,
        /// Number of unknowns that were given.
        unknowns: usize,
    },
    /// An equation, or one of its derivatives, is infinite or NaN.
    NotFinite {
        /// Index of the equation, counted from 0.
        equation: usize,
    },
    /// ∂F/∂x is singular: the solution is not a function of the parameters there, or has no derivative.
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
    /// The Jacobian that was given is not that of the equations.
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
                write!(f, "equation {equation}, or a derivative of it, is not finite there")
            }
            Self::Singular { pivot } => {
                write!(
                    f,
                    "the equations have a singular Jacobian there (pivot {pivot} is 0), so the solution has no derivative"
                )
            }
            Self::NotASolution { step, size } => write!(
                f,
                "this is no solution of the equations: the largest unknown is {size:e}, and a step of Newton's method from \
                 there is {step:e}"
            ),
            Self::WrongJacobian { equation } => {
                write!(f, "the Jacobian that was given is not that of equation {equation}")
            }
        }
    }
}

impl core::error::Error for ImplicitError {}
