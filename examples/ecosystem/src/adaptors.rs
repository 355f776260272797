//! Least-squares problems as the crates `levenberg-marquardt` and `argmin` take them.
//!
//! Their solvers add steps to vectors of parameters, so they get the parameters of the free blocks, in order. Blocks on
//! manifolds do not move so, and are refused.

use crate::cholesky::factors;
use argmin::core::{CostFunction, Gradient, Hessian, Jacobian, Operator};
use argmin_math::{ArgminDot, ArgminInv, ArgminTranspose};
use core::fmt;
use faer::prelude::Solve;
use faer::sparse::linalg::solvers::Llt;
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
///
/// A step is tried by residuals alone; derivatives are computed when the solver asks for them.
pub struct ForLevenbergMarquardt<'p> {
    problem: &'p Problem,
    free: Vec<usize>,
    x: Vec<f64>,
    residuals: Vec<f64>,
    derivatives: RefCell<Derivatives<'p>>,
}

/// Derivatives at the current parameters.
struct Derivatives<'p> {
    at: Linearization<'p>,
    /// True if they are those of the current parameters, and not of earlier ones.
    are_current: bool,
    /// Outcome of the evaluations at the current parameters.
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
        let residuals = at.residuals().to_vec();
        let derivatives = RefCell::new(Derivatives { at, are_current: true, outcome: Ok(()) });
        Ok(Self { problem, free: free_parameters(problem)?, x: problem.start().to_vec(), residuals, derivatives })
    }

    /// The parameters of all blocks.
    #[must_use]
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The outcome of the evaluations at the current parameters: when one failed, the solver ends with
    /// `TerminationReason::User`.
    ///
    /// # Errors
    ///
    /// Those of `Problem::residuals` and `Linearization::evaluate`.
    pub fn outcome(&self) -> Result<(), ResidualError> {
        self.derivatives.borrow().outcome.clone()
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for ForLevenbergMarquardt<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        write(&self.free, parameters.as_slice(), &mut self.x);
        let derivatives = self.derivatives.get_mut();
        derivatives.are_current = false;
        derivatives.outcome = self.problem.residuals(&self.x, &mut self.residuals).map(|_| ());
    }

    fn params(&self) -> DVector<f64> {
        DVector::from_iterator(self.free.len(), self.free.iter().map(|k| self.x[*k]))
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.outcome().ok().map(|()| DVector::from_column_slice(&self.residuals))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let Derivatives { at, are_current, outcome } = &mut *self.derivatives.borrow_mut();
        outcome.as_ref().ok()?;
        if !*are_current {
            *outcome = at.evaluate(&self.x);
            outcome.as_ref().ok()?;
            *are_current = true;
        }
        let mut dense = DMatrix::zeros(self.residuals.len(), self.free.len());
        at.jacobian().iter().for_each(|(row, column, entry)| dense[(row, column)] = entry);
        Some(dense)
    }
}

/// A problem for solvers of `argmin`: the cost with its loss functions, its gradient, Gauss and Newton's approximation of
/// its second derivatives, and, for argmin's `GaussNewton`, residuals and their sparse Jacobian matrix.
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

impl Operator for ForArgmin<'_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let mut residuals = vec![0.0; self.problem.rows()];
        self.problem.residuals(&self.x(parameters), &mut residuals)?;
        Ok(residuals)
    }
}

impl Jacobian for ForArgmin<'_> {
    type Param = Vec<f64>;
    type Jacobian = SparseFactor;

    fn jacobian(&self, parameters: &Vec<f64>) -> Result<SparseFactor, argmin::core::Error> {
        let mut at = self.at.borrow_mut();
        at.evaluate(&self.x(parameters))?;
        let upper = at.normal_matrix().to_upper();
        Ok(SparseFactor::Rows(Rc::new(Matrices { rows: at.jacobian().clone(), upper })))
    }
}

/// A sparse Jacobian matrix J and what argmin's `GaussNewton` makes of it, as if it were dense: Jᵀ, `JᵀJ`, and the
/// inverse of that, which is a sparse Cholesky factorization of `faer`.
#[derive(Clone, Debug)]
pub enum SparseFactor {
    /// J.
    Rows(Rc<Matrices>),
    /// Jᵀ.
    Transposed(Rc<Matrices>),
    /// `JᵀJ`.
    Normal(Rc<Matrices>),
    /// The inverse of `JᵀJ`.
    Inverse(Rc<Llt<usize, f64>>),
}

/// A sparse Jacobian matrix, and the upper triangle of `JᵀJ`.
#[derive(Debug)]
pub struct Matrices {
    rows: SparseMatrix<f64>,
    upper: SparseMatrix<f64>,
}

impl ArgminTranspose<Self> for SparseFactor {
    fn t(self) -> Self {
        match self {
            Self::Rows(of) => Self::Transposed(of),
            Self::Transposed(of) => Self::Rows(of),
            symmetric => symmetric,
        }
    }
}

impl ArgminDot<Self, Self> for SparseFactor {
    /// # Panics
    ///
    /// For other products than `JᵀJ`.
    fn dot(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Transposed(left), Self::Rows(right)) if Rc::ptr_eq(left, right) => Self::Normal(left.clone()),
            _ => panic!("of the products of sparse Jacobian matrices only JᵀJ is formed"),
        }
    }
}

impl ArgminInv<Self> for SparseFactor {
    fn inv(&self) -> Result<Self, argmin::core::Error> {
        match self {
            Self::Normal(of) => Ok(Self::Inverse(Rc::new(factors(&mut None, &of.upper)?))),
            _ => Err(argmin::core::Error::msg("of sparse Jacobian matrices only JᵀJ is inverted")),
        }
    }
}

impl ArgminDot<Vec<f64>, Vec<f64>> for SparseFactor {
    fn dot(&self, v: &Vec<f64>) -> Vec<f64> {
        match self {
            Self::Rows(of) => of.rows.times(v),
            Self::Transposed(of) => of.rows.transpose_times(v),
            Self::Normal(of) => of.rows.transpose_times(&of.rows.times(v)),
            Self::Inverse(factors) => {
                let right = faer::Mat::from_fn(v.len(), 1, |row, _| v[row]);
                factors.solve(&right).col_as_slice(0).to_vec()
            }
        }
    }
}
