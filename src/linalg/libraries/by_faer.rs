//! faer as a library of linear algebra.

use crate::closed::Closed;
use crate::linalg::backend::{Backend, Block, Factors};
use crate::linalg::element::{Element, Plain};
use crate::linalg::matrix::Matrix;
use crate::linalg::system::columns;
use ::faer::dyn_stack::{MemBuffer, MemStack};
use ::faer::linalg::lu::partial_pivoting::{factor, solve};
use ::faer::linalg::{matmul, triangular_solve};
use ::faer::perm::PermRef;
use ::faer::traits::RealField;
use ::faer::{Accum, Col, ColRef, Conj, Mat, MatMut, MatRef, Side, Spec, get_global_parallelism};
use tapewright_strategies::{Float, Taping};

/// Linear algebra by the crate `faer`, with as many threads as faer's global setting says.
#[derive(Clone, Copy, Debug)]
pub struct Faer;

fn view<V>(block: Block<'_, V>) -> MatRef<'_, V> {
    let stored = MatRef::from_column_major_slice(block.numbers, block.rows, block.columns);
    if block.transposed { stored.transpose() } else { stored }
}

/// The entries of a matrix, column after column.
fn numbers<V: Copy>(matrix: MatRef<'_, V>) -> Vec<V> {
    matrix.col_iter().flat_map(|column| column.iter().copied()).collect()
}

/// L and U in one matrix, and the permutation with its inverse.
pub struct Packed<V> {
    n: usize,
    both: Vec<V>,
    rows: Vec<usize>,
    inverse: Vec<usize>,
}

impl<V: Float + RealField> Packed<V> {
    fn both(&self) -> MatRef<'_, V> {
        view(Block::new(&self.both, self.n))
    }

    fn permutation(&self) -> PermRef<'_, usize> {
        PermRef::new_checked(&self.rows, &self.inverse, self.n)
    }

    /// Memory for a permutation of right-hand sides.
    fn scratch(&self, right: &[V]) -> MemBuffer {
        let columns = right.len().checked_div(self.n).unwrap_or(0);
        MemBuffer::new(solve::solve_in_place_scratch::<usize, V>(self.n, columns, get_global_parallelism()))
    }
}

impl<V: Float + RealField> Factors<V> for Packed<V> {
    fn pivots(&self) -> Vec<V> {
        self.both.iter().step_by(self.n + 1).copied().collect()
    }

    fn is_odd(&self) -> bool {
        let mut seen = vec![false; self.n];
        let mut odd = false;
        for start in 0..self.n {
            let mut k = start;
            while !core::mem::replace(&mut seen[k], true) {
                k = self.rows[k];
                odd ^= k != start;
            }
        }
        odd
    }

    fn solve(&self, right: &mut [V]) {
        let (par, mut memory) = (get_global_parallelism(), self.scratch(right));
        let (right, stack) = (columns(self.n, right), MemStack::new(&mut memory));
        solve::solve_in_place_with_conj(self.both(), self.both(), self.permutation(), Conj::No, right, par, stack);
    }

    fn solve_transposed(&self, right: &mut [V]) {
        let (par, mut memory) = (get_global_parallelism(), self.scratch(right));
        let (right, stack) = (columns(self.n, right), MemStack::new(&mut memory));
        let both = self.both();
        solve::solve_transpose_in_place_with_conj(both, both, self.permutation(), Conj::No, right, par, stack);
    }

    fn owned_bytes(&self) -> usize {
        let indices = self.rows.capacity() + self.inverse.capacity();
        self.both.capacity() * size_of::<V>() + indices * size_of::<usize>()
    }
}

impl<V: Float + RealField> Backend<V> for Faer {
    type Factors = Packed<V>;

    fn factorize(n: usize, mut both: Vec<V>) -> Packed<V> {
        let par = get_global_parallelism();
        let (mut rows, mut inverse) = (vec![0; n], vec![0; n]);
        let scratch = factor::lu_in_place_scratch::<usize, V>(n, n, par, Spec::default());
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        factor::lu_in_place(columns(n, &mut both), &mut rows, &mut inverse, par, stack, Spec::default());
        Packed { n, both, rows, inverse }
    }

    fn cholesky(n: usize, matrix: Vec<V>) -> Option<Vec<V>> {
        let factors = view(Block::new(&matrix, n)).llt(Side::Lower).ok()?;
        let lower = factors.L();
        Some((0..n * n).map(|k| if k % n < k / n { V::zero() } else { lower[(k % n, k / n)] }).collect())
    }

    fn solve_lower(n: usize, lower: &[V], transposed: bool, right: &mut [V]) {
        let (lower, right, par) = (view(Block::new(lower, n)), columns(n, right), get_global_parallelism());
        if transposed {
            triangular_solve::solve_upper_triangular_in_place(lower.transpose(), right, par);
        } else {
            triangular_solve::solve_lower_triangular_in_place(lower, right, par);
        }
    }

    fn multiply(scale: V, left: Block<'_, V>, right: Block<'_, V>, sum: &mut [V]) {
        let (left, right) = (view(left), view(right));
        let sum = MatMut::from_column_major_slice_mut(sum, left.nrows(), right.ncols());
        matmul::matmul(sum, Accum::Add, left, right, scale, get_global_parallelism());
    }

    fn eigen(n: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>)> {
        let eigen = view(Block::new(&matrix, n)).self_adjoint_eigen(Side::Lower).ok()?;
        let values = eigen.S().column_vector().iter().copied().collect();
        Some((values, numbers(eigen.U())))
    }

    fn svd(rows: usize, _: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>, Vec<V>)> {
        let svd = view(Block::new(&matrix, rows)).thin_svd().ok()?;
        let values = svd.S().column_vector().iter().copied().collect();
        Some((numbers(svd.U()), values, numbers(svd.V())))
    }

    fn eigenvalues(n: usize, matrix: Vec<V>) -> Option<Vec<(V, V)>> {
        let values = view(Block::new(&matrix, n)).eigenvalues().ok()?;
        Some(values.into_iter().map(|value| (value.re, value.im)).collect())
    }
}

impl<S: Taping<Value: Element>> Matrix for Mat<Closed<S>> {
    type Strategy = S;
    type Backend = <<S::Value as Element>::Scalar as Plain>::Faer;

    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    fn entries(&self) -> impl Iterator<Item = &Closed<S>> {
        self.col_iter().flat_map(ColRef::iter)
    }

    fn column_slices(&self) -> Option<Vec<&[Closed<S>]>> {
        self.col_iter().map(|column| column.try_as_col_major().map(ColRef::as_slice)).collect()
    }

    fn from_entries(rows: usize, columns: usize, entries: Vec<Closed<S>>) -> Self {
        // The matrix is filled column after column.
        let mut entries = entries.into_iter();
        let mut matrix = Self::with_capacity(rows, columns);
        matrix.resize_with(rows, columns, |_, _| entries.next().expect("an entry for each place"));
        matrix
    }
}

impl<S: Taping<Value: Element>> Matrix for Col<Closed<S>> {
    type Strategy = S;
    type Backend = <<S::Value as Element>::Scalar as Plain>::Faer;

    fn shape(&self) -> (usize, usize) {
        (self.nrows(), 1)
    }

    fn entries(&self) -> impl Iterator<Item = &Closed<S>> {
        self.iter()
    }

    fn column_slices(&self) -> Option<Vec<&[Closed<S>]>> {
        Some(vec![self.try_as_col_major()?.as_slice()])
    }

    fn from_entries(rows: usize, _: usize, entries: Vec<Closed<S>>) -> Self {
        let mut entries = entries.into_iter();
        Self::from_fn(rows, |_| entries.next().expect("an entry for each place"))
    }
}
