//! Steps of cameras and points. Points are eliminated first, because each depends on cameras only: what remains is a
//! system of the cameras, the Schur complement, which is factorized by `faer`.

use faer::Side;
use faer::prelude::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{Argsort, Pair, SparseColMat, SymbolicSparseColMat};
use nalgebra::{Matrix3, SMatrix, Vector3};
use std::collections::BTreeMap;
use std::error::Error;
use tapewright::residuals::NormalMatrix;

type Camera = SMatrix<f64, 9, 9>;
/// The rows of a camera, and the columns of a point.
type Coupling = SMatrix<f64, 9, 3>;
type Step = SMatrix<f64, 9, 1>;

/// The structure of the systems of one problem.
pub(crate) struct Schur {
    cameras: usize,
    /// For each point the cameras that see it, in order.
    seen_by: Vec<Vec<usize>>,
    /// Numbers of the blocks of pairs of cameras that see a point together, the smaller index first.
    pairs: BTreeMap<[usize; 2], usize>,
    structure: SymbolicSparseColMat<usize>,
    /// Order of the entries of all blocks in the matrix.
    order: Argsort<usize>,
    factors: SymbolicLlt<usize>,
}

impl Schur {
    /// The structure for cameras, which are the first parameter blocks, and the points that follow; `seen` has pairs of
    /// a camera and a point.
    pub(crate) fn new(
        cameras: usize,
        points: usize,
        seen: impl Iterator<Item = [usize; 2]>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut seen_by = vec![Vec::new(); points];
        seen.for_each(|[camera, point]| seen_by[point].push(camera));
        let mut pairs: BTreeMap<_, _> = (0..cameras).map(|camera| ([camera; 2], 0)).collect();
        for cameras in &mut seen_by {
            cameras.sort_unstable();
            cameras.dedup();
            each_pair(cameras, |left, right| _ = pairs.insert([cameras[left], cameras[right]], 0));
        }
        pairs.values_mut().enumerate().for_each(|(k, number)| *number = k);
        // The lower triangle, as blocks whose columns are those of the smaller index.
        let entry = |[left, right]: &[usize; 2]| {
            let (row, column) = (9 * right, 9 * left);
            (0..81).map(move |k| Pair { row: row + k % 9, col: column + k / 9 }).collect::<Vec<_>>()
        };
        let entries: Vec<_> = pairs.keys().flat_map(entry).collect();
        let (structure, order) = SymbolicSparseColMat::try_new_from_indices(9 * cameras, 9 * cameras, &entries)?;
        let factors = SymbolicLlt::try_new(structure.as_ref(), Side::Lower)?;
        Ok(Self { cameras, seen_by, pairs, structure, order, factors })
    }

    /// The step δ with `(JᵀJ + D)·δ = −g`, for a matrix that has the damping D already.
    pub(crate) fn step(&self, matrix: &NormalMatrix, gradient: &[f64]) -> Result<Vec<f64>, Box<dyn Error>> {
        let (of_cameras, of_points) = gradient.split_at(9 * self.cameras);
        let block = |row, column| matrix.block(row, column).ok_or("these parameter blocks share no residual block");
        let mut blocks = vec![Camera::zeros(); self.pairs.len()];
        for camera in 0..self.cameras {
            blocks[self.pairs[&[camera; 2]]] = Camera::from_row_slice(block(camera, camera)?);
        }
        let mut right: Vec<Step> = of_cameras.chunks_exact(9).map(|g| -Step::from_row_slice(g)).collect();
        let mut points = Vec::new();
        for ((point, cameras), g) in (self.cameras..).zip(&self.seen_by).zip(of_points.chunks_exact(3)) {
            let own = Matrix3::from_row_slice(block(point, point)?);
            let inverse = own.cholesky().ok_or("a point cannot be placed")?.inverse();
            let couplings: Result<Vec<_>, &str> =
                cameras.iter().map(|camera| block(*camera, point).map(Coupling::from_row_slice)).collect();
            let (couplings, g) = (couplings?, Vector3::from_row_slice(g));
            let solved: Vec<Coupling> = couplings.iter().map(|coupling| coupling * inverse).collect();
            each_pair(cameras, |left, right| {
                blocks[self.pairs[&[cameras[left], cameras[right]]]] -= solved[left] * couplings[right].transpose();
            });
            cameras.iter().zip(&solved).for_each(|(camera, solved)| right[*camera] += solved * g);
            points.push((inverse, g, couplings));
        }
        let mut delta = self.solve(&blocks, &right)?;
        for ((inverse, g, couplings), cameras) in points.iter().zip(&self.seen_by) {
            let mut right = -g;
            for (coupling, camera) in couplings.iter().zip(cameras) {
                right -= coupling.tr_mul(&Step::from_row_slice(&delta[9 * camera..][..9]));
            }
            delta.extend((inverse * right).iter());
        }
        Ok(delta)
    }

    /// Solves the system of the cameras.
    fn solve(&self, blocks: &[Camera], right: &[Step]) -> Result<Vec<f64>, Box<dyn Error>> {
        // Row by row in the upper triangle, which is column by column in the lower one.
        let row_by_row = |block: &Camera| block.transpose().data.0.into_iter().flatten();
        let entries: Vec<f64> = blocks.iter().flat_map(row_by_row).collect();
        let matrix = SparseColMat::new_from_argsort(self.structure.clone(), &self.order, &entries)
            .map_err(|error| format!("{error:?}"))?;
        let factors = Llt::try_new_with_symbolic(self.factors.clone(), matrix.as_ref(), Side::Lower)
            .map_err(|error| format!("the system of the cameras is not positive definite: {error:?}"))?;
        let right = faer::Mat::from_fn(9 * self.cameras, 1, |row, _| right[row / 9][row % 9]);
        Ok(factors.solve(&right).col_as_slice(0).to_vec())
    }
}

/// Calls `f` with each pair of places in a list, the smaller one first, and with equal ones.
fn each_pair<T>(list: &[T], mut f: impl FnMut(usize, usize)) {
    (0..list.len()).for_each(|left| (left..list.len()).for_each(|right| f(left, right)));
}
