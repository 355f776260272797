//! Least-squares problems as the crates `levenberg-marquardt` and `argmin` take them.
//!
//! Their solvers add steps to vectors of parameters, so they get the parameters of the free blocks, in order. Blocks on
//! manifolds do not move so, and are refused.

use argmin::core::{CostFunction, Gradient, Hessian};
use argmin_math::ArgminDot;
use core::fmt;
use levenberg_marquardt::LeastSquaresProblem;
use nalgebra_0_34::{DMatrix, DVector, Dyn, storage::Owned};
use std::cell::RefCell;
use std::rc::Rc;
use tapewright::residuals::{Linearization, Problem, ResidualError};
use tapewright::sparse::SparseMatrix;

/// A problem that an adaptor cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdaptorError {
    /// A free parameter block on a manifold.
    Manifold {
        /// Index of the parameter block.
        block: usize,
    },
    /// A residual block with a loss function, of which `levenberg-marquardt` does not know.
    Loss,
    /// A problem that cannot be evaluated.
    Residual(ResidualError),
}

impl fmt::Display for AdaptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifold { block } => write!(
                f,
                "parameter block {block} is on a manifold, and the solver adds steps to it: parametrize it without \
                 one, or minimize by steps of `Problem::plus`"
            ),
            Self::Loss => f.write_str(
                "the problem has a loss function, and levenberg-marquardt minimizes the sum of squares: use argmin, \
                 or `Trivial`",
            ),
            Self::Residual(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AdaptorError {}

impl From<ResidualError> for AdaptorError {
    fn from(error: ResidualError) -> Self {
        Self::Residual(error)
    }
}

/// Positions of the parameters of free blocks in the vector of all.
fn free_parameters(problem: &Problem) -> Result<Vec<usize>, AdaptorError> {
    let mut free = Vec::new();
    for block in (0..problem.parameter_blocks()).filter(|block| !problem.is_constant(*block)) {
        if problem.manifold(block).is_some() {
            return Err(AdaptorError::Manifold { block });
        }
        free.extend(problem.parameters(block));
    }
    Ok(free)
}

/// Writes the parameters of free blocks into the vector of all.
fn write(free: &[usize], parameters: &[f64], x: &mut [f64]) {
    free.iter().zip(parameters).for_each(|(k, parameter)| x[*k] = *parameter);
}

/// A problem without loss functions for `levenberg_marquardt::LevenbergMarquardt`. Its Jacobian matrices are dense.
pub struct ForLevenbergMarquardt<'p> {
    free: Vec<usize>,
    x: Vec<f64>,
    at: Linearization<'p>,
    /// Outcome of the evaluation at the current parameters.
    outcome: Result<(), ResidualError>,
}

impl<'p> ForLevenbergMarquardt<'p> {
    /// The problem, at its start values.
    ///
    /// # Errors
    ///
    /// [`AdaptorError`], also when the problem cannot be evaluated at its start values.
    pub fn new(problem: &'p Problem) -> Result<Self, AdaptorError> {
        if problem.has_losses() {
            return Err(AdaptorError::Loss);
        }
        let mut at = Linearization::new(problem)?;
        at.evaluate(problem.start())?;
        Ok(Self { free: free_parameters(problem)?, x: problem.start().to_vec(), at, outcome: Ok(()) })
    }

    /// The parameters of all blocks.
    #[must_use]
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The outcome of the evaluation at the current parameters: when it failed, the solver ends with
    /// `TerminationReason::User`.
    ///
    /// # Errors
    ///
    /// Those of `Linearization::evaluate`.
    pub fn outcome(&self) -> Result<(), ResidualError> {
        self.outcome.clone()
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for ForLevenbergMarquardt<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        write(&self.free, parameters.as_slice(), &mut self.x);
        self.outcome = self.at.evaluate(&self.x);
    }

    fn params(&self) -> DVector<f64> {
        DVector::from_iterator(self.free.len(), self.free.iter().map(|k| self.x[*k]))
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.outcome.is_ok().then(|| DVector::from_column_slice(self.at.residuals()))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        self.outcome.as_ref().ok()?;
        let jacobian = self.at.jacobian();
        let mut dense = DMatrix::zeros(self.at.residuals().len(), self.free.len());
        jacobian.iter().for_each(|(row, column, entry)| dense[(row, column)] = entry);
        Some(dense)
    }
}

/// A problem for solvers of `argmin`: the cost with its loss functions, its gradient, and Gauss and Newton's
/// approximation of its second derivatives.
pub struct ForArgmin<'p> {
    problem: &'p Problem,
    free: Vec<usize>,
    at: RefCell<Linearization<'p>>,
}

impl<'p> ForArgmin<'p> {
    /// The problem.
    ///
    /// # Errors
    ///
    /// [`AdaptorError`], but not for loss functions.
    pub fn new(problem: &'p Problem) -> Result<Self, AdaptorError> {
        let at = RefCell::new(Linearization::new(problem)?);
        Ok(Self { problem, free: free_parameters(problem)?, at })
    }

    /// The start values of the parameters of free blocks.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        self.free.iter().map(|k| self.problem.start()[*k]).collect()
    }

    /// The parameters of all blocks, from those of free ones.
    #[must_use]
    pub fn x(&self, parameters: &[f64]) -> Vec<f64> {
        let mut x = self.problem.start().to_vec();
        write(&self.free, parameters, &mut x);
        x
    }
}

impl CostFunction for ForArgmin<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(self.problem.cost(&self.x(parameters))?)
    }
}

impl Gradient for ForArgmin<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let mut at = self.at.borrow_mut();
        at.evaluate(&self.x(parameters))?;
        Ok(at.gradient())
    }
}

impl Hessian for ForArgmin<'_> {
    type Param = Vec<f64>;
    type Hessian = GaussNewton;

    fn hessian(&self, parameters: &Vec<f64>) -> Result<GaussNewton, argmin::core::Error> {
        let mut at = self.at.borrow_mut();
        at.evaluate(&self.x(parameters))?;
        Ok(GaussNewton(Rc::new(at.jacobian().clone())))
    }
}

/// The matrix `JᵀJ` as something that can be multiplied by vectors, as `Steihaug` does.
#[derive(Clone, Debug)]
pub struct GaussNewton(Rc<SparseMatrix<f64>>);

impl ArgminDot<Vec<f64>, Vec<f64>> for GaussNewton {
    fn dot(&self, v: &Vec<f64>) -> Vec<f64> {
        self.0.transpose_times(&self.0.times(v))
    }
}
