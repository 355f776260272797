//! Residuals of measured motions, as `g2o` defines them: the motion that is left when the measured one is undone, times
//! a root of the information matrix. A graph has the same χ² there.
//!
//! All that a measurement does to them is linear, so it is multiplied with the root beforehand: the data of a residual
//! block are one matrix and one vector.

use crate::graph::Edge;
use nalgebra::{Cholesky, Matrix3, Quaternion, SMatrix, SVector, UnitQuaternion, Vector3};
use tapewright::prelude::*;
use tapewright::residuals::Residual;

/// The upper triangular root U of the information matrix `UᵀU`; `None` if it is not positive definite.
pub(crate) fn root<const N: usize>(information: &[f64]) -> Option<SMatrix<f64, N, N>> {
    let mut entries = information.iter();
    let mut matrix = SMatrix::<f64, N, N>::zeros();
    for row in 0..N {
        for column in row..N {
            let entry = *entries.next()?;
            (matrix[(row, column)], matrix[(column, row)]) = (entry, entry);
        }
    }
    let root = Cholesky::new(matrix)?.l().transpose();
    root.iter().all(|entry| entry.is_finite()).then_some(root)
}

/// The residuals of a motion in the plane: along x and y, and the angle.
pub(crate) struct MotionInPlane;

/// Data of [`MotionInPlane`]: the measured motion, then a matrix of 3 × 3, row by row.
pub(crate) fn plane_data(edge: &Edge) -> [f64; 12] {
    let [x, y, angle] = [0, 1, 2].map(|k| edge.motion[k]);
    let (sin, cos) = angle.sin_cos();
    let undone = Matrix3::new(cos, sin, 0.0, -sin, cos, 0.0, 0.0, 0.0, 1.0);
    let matrix = (root::<3>(&edge.information).expect("it was checked") * undone).transpose();
    let mut data = [x, y, angle].into_iter().chain(matrix.iter().copied());
    core::array::from_fn(|_| data.next().unwrap_or_default())
}

impl Residual<2, 12, 3> for MotionInPlane {
    fn sizes(&self) -> [usize; 2] {
        [3, 3]
    }

    fn residuals<S: Strategy>(&self, [a, b]: [&[Real<S>]; 2], data: [Real<S>; 12]) -> [Real<S>; 3] {
        let [measured_x, measured_y, angle, matrix @ ..] = data;
        let (cos, sin) = (a[2].cos().eval(), a[2].sin().eval());
        let (x, y) = ((b[0] - a[0]).eval(), (b[1] - a[1]).eval());
        let along: Real<S> = (cos * x + sin * y - measured_x).into();
        let across: Real<S> = (cos * y - sin * x - measured_y).into();
        // Between −π and π, for angles of any number of turns.
        let turn = (b[2] - a[2] - angle).eval();
        let turn: Real<S> = turn.sin().atan2(turn.cos()).into();
        [0, 3, 6].map(|k| (matrix[k] * along + matrix[k + 1] * across + matrix[k + 2] * turn).into())
    }
}

/// The residuals of a motion in space: along x, y and z, and the imaginary parts of the quaternion of the turn.
pub(crate) struct MotionInSpace;

/// Data of [`MotionInSpace`]: the quaternion of the measured motion, a matrix of 6 × 7, row by row, and a vector.
pub(crate) fn space_data(edge: &Edge) -> [f64; 52] {
    let shift = Vector3::from_column_slice(&edge.motion[..3]);
    let [w, x, y, z] = [3, 4, 5, 6].map(|k| edge.motion[k]);
    // Undoes the measured motion: turns the shift back, and multiplies with the conjugate quaternion from the left.
    let mut undone = SMatrix::<f64, 6, 7>::zeros();
    let back = UnitQuaternion::new_unchecked(Quaternion::new(w, x, y, z)).inverse().to_rotation_matrix();
    undone.fixed_view_mut::<3, 3>(0, 0).copy_from(back.matrix());
    let imaginary = SMatrix::<f64, 3, 4>::new(-x, w, z, -y, -y, -z, w, x, -z, y, -x, w);
    undone.fixed_view_mut::<3, 4>(3, 3).copy_from(&imaginary);
    let matrix = root::<6>(&edge.information).expect("it was checked") * undone;
    let vector: SVector<f64, 6> = matrix.fixed_columns::<3>(0) * shift;
    let rows = matrix.transpose();
    let mut data = [w, x, y, z].into_iter().chain(rows.iter().copied()).chain(vector.iter().copied());
    core::array::from_fn(|_| data.next().unwrap_or_default())
}

impl Residual<2, 52, 6> for MotionInSpace {
    fn sizes(&self) -> [usize; 2] {
        [7, 7]
    }

    fn residuals<S: Strategy>(&self, [a, b]: [&[Real<S>]; 2], data: [Real<S>; 52]) -> [Real<S>; 6] {
        let (measured, matrix, vector) = (&data[..4], &data[4..46], &data[46..]);
        let (shift, turn) = between(a, b);
        let w: Real<S> =
            (measured[0] * turn[0] + measured[1] * turn[1] + measured[2] * turn[2] + measured[3] * turn[3]).into();
        // Quaternions q and −q are one rotation: the one with w ≥ 0 counts.
        let sign = w.less(0.0).select(&Real::from(-1.0), &Real::from(1.0));
        let [p, q, r, s] = turn.map(|part| (part * sign).eval());
        let [x, y, z] = shift;
        core::array::from_fn(|k| {
            let row = &matrix[7 * k..];
            let moved = row[0] * x + row[1] * y + row[2] * z - vector[k];
            (moved + row[3] * p + row[4] * q + row[5] * r + row[6] * s).into()
        })
    }
}

/// Pose b as pose a sees it: the shift R(a)ᵀ·(b − a), and the quaternion of the turn, the product of a's conjugate
/// quaternion and b's.
fn between<S: Strategy>(a: &[Real<S>], b: &[Real<S>]) -> ([Real<S>; 3], [Real<S>; 4]) {
    let [w, x, y, z] = [3, 4, 5, 6].map(|k| a[k]);
    let [p, q, r, s] = [3, 4, 5, 6].map(|k| b[k]);
    let turn = [
        (w * p + x * q + y * r + z * s).into(),
        (w * q - x * p - y * s + z * r).into(),
        (w * r - y * p - z * q + x * s).into(),
        (w * s - z * p - x * r + y * q).into(),
    ];
    let d: [Real<S>; 3] = [0, 1, 2].map(|k| (b[k] - a[k]).into());
    // With u = (x, y, z): d − 2w·(u × d) + 2u × (u × d).
    let c = cross([x, y, z], d);
    let e = cross([x, y, z], c);
    let shift = [0, 1, 2].map(|k| (d[k] + 2.0 * (e[k] - w * c[k])).into());
    (shift, turn)
}

fn cross<S: Strategy>(a: [Real<S>; 3], b: [Real<S>; 3]) -> [Real<S>; 3] {
    [(a[1] * b[2] - a[2] * b[1]).into(), (a[2] * b[0] - a[0] * b[2]).into(), (a[0] * b[1] - a[1] * b[0]).into()]
}
