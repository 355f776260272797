//! Sparse matrices of floats with their factors, by faer.

use super::System;
use crate::linalg::error::LinalgError;
use ::faer::MatMut;
use ::faer::dyn_stack::{MemBuffer, MemStack};
use ::faer::linalg::cholesky::llt::factor::LltRegularization;
use ::faer::linalg::solvers::LltError;
use ::faer::linalg::solvers::Solve;
use ::faer::sparse::linalg::LuError;
use ::faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use ::faer::sparse::linalg::solvers::{Lu, SymbolicLu};
use ::faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use ::faer::traits::RealField;
use ::faer::{Conj, Side, Spec, get_global_parallelism};
use core::fmt;
use std::sync::{Arc, OnceLock};
use tapewright_strategies::{Float, Number};

/// The positions of the entries of a sparse n×n matrix. A pattern is made once, and factorizations of matrices of this
/// pattern share its analysis: the order of elimination, and the positions of entries in the factors.
#[derive(Clone)]
pub struct SparsePattern(Arc<Pattern>);

struct Pattern {
    n: usize,
    /// Rows and columns, in the order of the values.
    places: Vec<(usize, usize)>,
    /// Index of each value in faer's order: column after column, rows ascending.
    order: Vec<usize>,
    columns: SymbolicSparseColMat<usize>,
    lu: OnceLock<Result<SymbolicLu<usize>, LinalgError>>,
    cholesky: OnceLock<Result<SymbolicCholesky<usize>, LinalgError>>,
}

impl SparsePattern {
    /// The pattern with entries at these rows and columns, counted from 0, in any order.
    ///
    /// # Errors
    ///
    /// When a position is outside the matrix, or occurs twice.
    pub fn new(n: usize, places: &[(usize, usize)]) -> Result<Self, LinalgError> {
        if let Some((row, column)) = places.iter().find(|(row, column)| *row >= n || *column >= n) {
            let what = format!("a matrix of {n} rows and columns has no entry ({row}, {column})");
            return Err(LinalgError::Pattern { what });
        }
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|k| (places[*k].1, places[*k].0));
        if let Some(pair) = order.windows(2).find(|pair| places[pair[0]] == places[pair[1]]) {
            let (row, column) = places[pair[0]];
            return Err(LinalgError::Pattern { what: format!("the entry ({row}, {column}) is there twice") });
        }
        let mut starts = vec![0; n + 1];
        places.iter().for_each(|(_, column)| starts[column + 1] += 1);
        (0..n).for_each(|column| starts[column + 1] += starts[column]);
        let rows = order.iter().map(|k| places[*k].0).collect();
        let columns = SymbolicSparseColMat::new_checked(n, n, starts, None, rows);
        let (lu, cholesky) = (OnceLock::new(), OnceLock::new());
        Ok(Self(Arc::new(Pattern { n, places: places.to_vec(), order, columns, lu, cholesky })))
    }

    /// Rows and columns of the entries, in the order of the values.
    #[must_use]
    pub fn places(&self) -> &[(usize, usize)] {
        &self.0.places
    }

    /// The number of rows, and of columns.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.0.n
    }
}

impl fmt::Debug for SparsePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pattern of {} entries in {} rows", self.0.places.len(), self.0.n)
    }
}

impl Pattern {
    /// The values in faer's order; an error unless there is one for each entry, and all are finite.
    fn sorted<V: Float>(&self, values: &[V]) -> Result<Vec<V>, LinalgError> {
        let (found, expected) = (values.len(), self.places.len());
        if found != expected {
            return Err(LinalgError::shape(format!("a pattern of {expected} entries was given {found} values")));
        }
        if let Some(k) = values.iter().position(|value| !value.is_finite()) {
            return Err(LinalgError::NotFinite { row: self.places[k].0, column: self.places[k].1 });
        }
        Ok(self.order.iter().map(|k| values[*k]).collect())
    }

    fn lu<V: Float + RealField>(&self, values: &[V]) -> Result<Numeric<V>, LinalgError> {
        let sorted = self.sorted(values)?;
        let analyze = || SymbolicLu::try_new(self.columns.as_ref()).map_err(|_| LinalgError::Memory);
        let symbolic = self.lu.get_or_init(analyze).clone()?;
        let matrix = SparseColMatRef::new(self.columns.as_ref(), &sorted);
        match Lu::try_new_with_symbolic(symbolic, matrix) {
            Ok(factors) => Ok(Numeric::Lu(Box::new(factors))),
            Err(LuError::SymbolicSingular { index }) => Err(LinalgError::Singular { pivot: Some(index) }),
            Err(LuError::Generic(_)) => Err(LinalgError::Memory),
        }
    }

    /// The analysis of matrices whose lower triangle has this pattern.
    fn analysis(&self) -> Result<&SymbolicCholesky<usize>, LinalgError> {
        let analyze = || {
            if let Some((row, column)) = self.places.iter().find(|(row, column)| row < column) {
                let what = format!("the entry ({row}, {column}) is above the diagonal: give the lower triangle alone");
                return Err(LinalgError::Pattern { what });
            }
            factorize_symbolic_cholesky(
                self.columns.as_ref(),
                Side::Lower,
                SymmetricOrdering::default(),
                CholeskySymbolicParams::default(),
            )
            .map_err(|_| LinalgError::Memory)
        };
        self.cholesky.get_or_init(analyze).as_ref().map_err(Clone::clone)
    }

    fn cholesky<V: Float + RealField>(&self, values: &[V]) -> Result<Numeric<V>, LinalgError> {
        let symbolic = self.analysis()?;
        let sorted = self.sorted(values)?;
        let mut numeric = vec![V::zero(); symbolic.len_val()];
        let par = get_global_parallelism();
        let mut memory = MemBuffer::new(symbolic.factorize_numeric_llt_scratch::<V>(par, Spec::default()));
        let factors = symbolic.factorize_numeric_llt(
            &mut numeric,
            SparseColMatRef::new(self.columns.as_ref(), &sorted),
            Side::Lower,
            LltRegularization::default(),
            par,
            MemStack::new(&mut memory),
            Spec::default(),
        );
        match factors {
            Ok(_) => Ok(Numeric::Llt(numeric)),
            Err(LltError::NonPositivePivot { .. }) => Err(LinalgError::NotPositiveDefinite),
        }
    }
}

/// The values of the factors.
enum Numeric<V> {
    Lu(Box<Lu<usize, V>>),
    Llt(Vec<V>),
}

/// Factorizations of sparse matrices of floats.
pub trait Factorize<V: Number>: System<V> + Sized {
    /// Factorizes a matrix of this pattern as L·U.
    fn lu(pattern: &SparsePattern, values: &[V]) -> Result<Self, LinalgError>;
    /// Factorizes a symmetric matrix, whose lower triangle has this pattern, as L·Lᵀ.
    fn cholesky(pattern: &SparsePattern, values: &[V]) -> Result<Self, LinalgError>;
}

impl<V: Float + RealField> Factorize<V> for Sparse<V> {
    fn lu(pattern: &SparsePattern, values: &[V]) -> Result<Self, LinalgError> {
        regular(Self { pattern: pattern.clone(), numeric: pattern.0.lu(values)? })
    }

    fn cholesky(pattern: &SparsePattern, values: &[V]) -> Result<Self, LinalgError> {
        regular(Self { pattern: pattern.clone(), numeric: pattern.0.cholesky(values)? })
    }
}

/// A sparse matrix of floats with its factors.
pub struct Sparse<V> {
    pattern: SparsePattern,
    numeric: Numeric<V>,
}

impl<V: Float + RealField> Sparse<V> {
    fn apply(&self, transposed: bool, right: &mut [V]) {
        let pattern = &self.pattern.0;
        let right = columns(pattern.n, right);
        match &self.numeric {
            Numeric::Lu(factors) if transposed => factors.solve_transpose_in_place(right),
            Numeric::Lu(factors) => factors.solve_in_place(right),
            Numeric::Llt(numeric) => {
                let Ok(symbolic) = pattern.analysis() else { unreachable!("the matrix has been factorized") };
                let par = get_global_parallelism();
                let mut memory = MemBuffer::new(symbolic.solve_in_place_scratch::<V>(right.ncols(), par));
                let stack = MemStack::new(&mut memory);
                LltRef::new(symbolic, numeric).solve_in_place_with_conj(Conj::No, right, par, stack);
            }
        }
    }

    /// Calls `f` with the index, row and column of each entry, and, if the matrix is symmetric, again with row and
    /// column exchanged for an entry below the diagonal.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let symmetric = matches!(self.numeric, Numeric::Llt(_));
        for (k, (row, column)) in self.pattern.places().iter().enumerate() {
            f(k, *row, *column);
            if symmetric && row != column {
                f(k, *column, *row);
            }
        }
    }
}

impl<V: Float + RealField> System<V> for Sparse<V> {
    fn of_other(&self, entries: &[V]) -> Result<Self, LinalgError> {
        match self.numeric {
            Numeric::Lu(_) => Self::lu(&self.pattern, entries),
            Numeric::Llt(_) => Self::cholesky(&self.pattern, entries),
        }
    }

    fn solve(&self, transposed: bool, right: &mut [V]) {
        self.apply(transposed, right);
    }

    fn rows(&self) -> usize {
        self.pattern.rows()
    }

    fn entries(&self) -> usize {
        self.pattern.places().len()
    }

    fn subtract_outer(&self, lambda: &[V], x: &[V], adjoints: &mut [V]) {
        let n = self.rows();
        for (lambda, x) in lambda.chunks_exact(n).zip(x.chunks_exact(n)) {
            self.each(|k, row, column| adjoints[k] -= lambda[row] * x[column]);
        }
    }

    fn subtract_product(&self, transposed: bool, entries: &[V], x: &[V], result: &mut [V]) {
        let n = self.rows();
        for (result, x) in result.chunks_exact_mut(n).zip(x.chunks_exact(n)) {
            self.each(|k, row, column| {
                let (to, from) = if transposed { (column, row) } else { (row, column) };
                result[to] -= entries[k] * x[from];
            });
        }
    }

    fn fold(&self, matrix: &[V]) -> Vec<V> {
        let mut adjoints = vec![V::ZERO; self.entries()];
        self.each(|k, row, column| adjoints[k] += matrix[column * self.rows() + row]);
        adjoints
    }

    /// Leaves out the factors of an LU decomposition, whose size faer does not tell.
    fn owned_bytes(&self) -> usize {
        match &self.numeric {
            Numeric::Lu(_) => 0,
            Numeric::Llt(numeric) => numeric.capacity() * size_of::<V>(),
        }
    }
}

/// A matrix of n rows.
pub(crate) fn columns<V>(n: usize, numbers: &mut [V]) -> MatMut<'_, V> {
    let columns = numbers.len().checked_div(n).unwrap_or(0);
    MatMut::from_column_major_slice_mut(numbers, n, columns)
}

/// Returns the system if its solutions are finite: a pivot that is 0 makes infinities or NaN of any right-hand side.
fn regular<V: Float + RealField>(system: Sparse<V>) -> Result<Sparse<V>, LinalgError> {
    let mut probe = vec![V::ONE; system.rows()];
    system.solve(false, &mut probe);
    if probe.iter().all(|x| x.is_finite()) { Ok(system) } else { Err(LinalgError::Singular { pivot: None }) }
}
