//! nalgebra as a library of linear algebra.

use crate::closed::Closed;
use crate::linalg::backend::{Backend, Block, Factors};
use crate::linalg::element::{Element, Plain};
use crate::linalg::matrix::Matrix;
use ::nalgebra::{
    self as na, Cholesky, DMatrix, DMatrixViewMut, Dim, Dyn, LU, MatrixView, OMatrix, RealField, SVD, Schur,
    SymmetricEigen, VecStorage,
};
use tapewright_strategies::{Float, Number, Taping};

/// Linear algebra by the crate `nalgebra`.
#[derive(Clone, Copy, Debug)]
pub struct Nalgebra;

/// A view of nalgebra with any strides, so that it may be a transpose.
type View<'a, V> = MatrixView<'a, V, Dyn, Dyn, Dyn, Dyn>;

fn view<V: Float + RealField>(block: Block<'_, V>) -> View<'_, V> {
    let (rows, columns) = block.shape();
    let (row, column) = if block.transposed { (block.rows, 1) } else { (1, block.rows) };
    View::from_slice_with_strides_generic(block.numbers, Dyn(rows), Dyn(columns), Dyn(row), Dyn(column))
}

/// A matrix of n rows.
fn columns<V: na::Scalar>(n: usize, numbers: &mut [V]) -> DMatrixViewMut<'_, V> {
    let columns = numbers.len().checked_div(n).unwrap_or(0);
    DMatrixViewMut::from_slice(numbers, n, columns)
}

impl<V: Float + RealField> Backend<V> for Nalgebra {
    type Factors = LU<V, Dyn, Dyn>;

    fn factorize(n: usize, matrix: Vec<V>) -> Self::Factors {
        LU::new(DMatrix::from_vec(n, n, matrix))
    }

    fn cholesky(n: usize, matrix: Vec<V>) -> Option<Vec<V>> {
        Cholesky::new(DMatrix::from_vec(n, n, matrix)).map(|factors| factors.unpack().data.into())
    }

    fn solve_lower(n: usize, lower: &[V], transposed: bool, right: &mut [V]) {
        let (lower, mut right) = (view(Block::new(lower, n)), columns(n, right));
        let solved = if transposed {
            lower.tr_solve_lower_triangular_mut(&mut right)
        } else {
            lower.solve_lower_triangular_mut(&mut right)
        };
        debug_assert!(solved, "factors are regular");
    }

    fn multiply(scale: V, left: Block<'_, V>, right: Block<'_, V>, sum: &mut [V]) {
        let mut sum = columns(left.shape().0, sum);
        if sum.is_empty() || left.numbers.is_empty() {
        } else if left.transposed {
            // `gemm` of nalgebra 0.35 reads beyond the bounds of small matrices whose columns are not contiguous.
            sum.gemm(scale, &view(left).into_owned(), &view(right), V::one());
        } else {
            sum.gemm(scale, &view(left), &view(right), V::one());
        }
    }

    fn eigen(n: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>)> {
        let eigen = SymmetricEigen::try_new(DMatrix::from_vec(n, n, matrix), V::epsilon(), 100 * (n + 1))?;
        Some((eigen.eigenvalues.data.into(), eigen.eigenvectors.data.into()))
    }

    fn svd(rows: usize, columns: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>, Vec<V>)> {
        let matrix = DMatrix::from_vec(rows, columns, matrix);
        let svd = SVD::try_new(matrix, true, true, V::epsilon() * Number::from_f64(5.0), 100 * (rows + columns))?;
        Some((svd.u?.data.into(), svd.singular_values.data.into(), svd.v_t?.transpose().data.into()))
    }

    fn eigenvalues(n: usize, matrix: Vec<V>) -> Option<Vec<(V, V)>> {
        let schur = Schur::try_new(DMatrix::from_vec(n, n, matrix), V::epsilon(), 100 * (n + 1))?;
        Some(schur.complex_eigenvalues().iter().map(|value| (value.re, value.im)).collect())
    }
}

impl<V: Float + RealField> Factors<V> for LU<V, Dyn, Dyn> {
    fn pivots(&self) -> Vec<V> {
        self.lu_internal().diagonal().data.into()
    }

    fn is_odd(&self) -> bool {
        self.p().determinant::<V>() < V::zero()
    }

    fn solve(&self, right: &mut [V]) {
        let solved = self.solve_mut(&mut columns(self.lu_internal().nrows(), right));
        debug_assert!(solved, "a singular matrix is an error before");
    }

    fn solve_transposed(&self, right: &mut [V]) {
        let mut right = columns(self.lu_internal().nrows(), right);
        let solved = self.lu_internal().tr_solve_upper_triangular_mut(&mut right);
        debug_assert!(solved, "a singular matrix is an error before");
        // Lᵀ has a diagonal of ones, which are not stored; the library solves with it where it is lower triangular
        // only.
        for mut column in right.column_iter_mut() {
            for i in (0..column.len()).rev() {
                let below = self.lu_internal().column(i);
                let sum = below.rows_range(i + 1..).dot(&column.rows_range(i + 1..));
                column[i] -= sum;
            }
        }
        self.p().inv_permute_rows(&mut right);
    }

    fn owned_bytes(&self) -> usize {
        let n = self.lu_internal().nrows();
        n * n * size_of::<V>() + n * size_of::<(usize, usize)>()
    }
}

impl<S: Taping<Value: Element>, C: Dim> Matrix for OMatrix<Closed<S>, Dyn, C>
where
    na::DefaultAllocator: na::allocator::Allocator<Dyn, C, Buffer<Closed<S>> = VecStorage<Closed<S>, Dyn, C>>,
{
    type Strategy = S;
    type Backend = <<S::Value as Element>::Scalar as Plain>::Nalgebra;

    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn entries(&self) -> impl Iterator<Item = &Closed<S>> {
        self.iter()
    }

    fn column_slices(&self) -> Option<Vec<&[Closed<S>]>> {
        Some(self.as_slice().chunks(self.nrows().max(1)).collect())
    }

    fn from_entries(rows: usize, columns: usize, entries: Vec<Closed<S>>) -> Self {
        Self::from_vec_generic(Dyn(rows), C::from_usize(columns), entries)
    }
}
