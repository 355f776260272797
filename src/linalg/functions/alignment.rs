//! The motion that brings points next to others.

use super::polar::nearest_rotation;
use super::record::{filled, transpose};
use super::svd::units;
use crate::closed::Closed;
use crate::linalg::error::LinalgError;
use crate::linalg::matrix::{Matrix, Number};
use crate::linalg::product::product;
use tapewright_strategies::Number as _;

/// A rotation R, a scale c and a translation t, for y = c·R·x + t.
#[derive(Clone, Debug)]
pub struct Alignment<M: Matrix> {
    /// R, a matrix of as many rows and columns as points have coordinates.
    pub rotation: M,
    /// c, which is 1 if no scale was asked for.
    pub scale: Closed<M::Strategy>,
    /// t, one entry for each coordinate.
    pub translation: Vec<Closed<M::Strategy>>,
}

/// The rotation, translation and, if `scaled`, scale that bring points next to others, in the sense of least squares:
/// the alignment of Kabsch (Acta Cryst. A 32 (1976) 922–923), or, with a scale, of Umeyama (IEEE Trans. PAMI 13 (1991)
/// 376–380). The columns of both matrices are points that belong together.
///
/// The alignment is made of products and [`nearest_rotation`], to which the tolerance goes. So points may lie in a
/// plane, and singular values of their covariance may coincide.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::align, prelude::*};
///
/// // A square, and the same turned by a quarter and moved by 3.
/// let angle = |y: &[Real<Jacobian>]| {
///     let square = DMatrix::from_column_slice(2, 4, &[1, 0, 0, 1, -1, 0, 0, -1].map(Closed::from));
///     let moved = DMatrix::from_column_slice(2, 4, Closed::wrap_slice(y));
///     let found = align(&square, &moved, false, 1e-12).expect("in a plane");
///     found.rotation[(1, 0)].atan2(found.rotation[(0, 0)]).open()
/// };
/// let (value, slope) = value_and_gradient(angle, &[3.0, 1.0, 2.0, 0.0, 3.0, -1.0, 4.0, 0.0]);
/// assert!((value - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
/// assert!((slope[0] + 0.25).abs() < 1e-15); // the first point moves across, at the distance 1, as one of four
/// # }
/// ```
///
/// # Errors
///
/// As [`nearest_rotation`], when the matrices have not the same shape, and with a scale when all points are one.
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn align<M: Matrix>(from: &M, to: &M, scaled: bool, tolerance: f64) -> Result<Alignment<M>, LinalgError> {
    let (rows, columns) = filled(from)?;
    if to.shape() != (rows, columns) {
        let (other, count) = to.shape();
        let what = format!("{columns} points of {rows} coordinates cannot be aligned with {count} of {other}");
        return Err(LinalgError::shape(what));
    }
    let (x, y) = (Centered::new(from), Centered::new(to));
    let covariance = product(&y.points, &transpose(&x.points))?;
    let rotation = nearest_rotation(&covariance, tolerance)?;
    let mut scale = Closed::from(1.0);
    if scaled {
        let in_units = self::scale(&rotation, &covariance, &x.points)?;
        scale = (in_units.as_real() * y.unit.as_real() * x.inverse.as_real()).into();
    }
    let mean = M::from_entries(rows, rows, spread(rows, &x.mean));
    let turned: Vec<Closed<M::Strategy>> = product(&rotation, &mean)?.entries().take(rows).cloned().collect();
    let translation = y.mean.into_iter().zip(turned).map(|(y, x)| y - scale.clone() * x).collect();
    Ok(Alignment { rotation, scale, translation })
}

/// A square matrix with this first column, since not every type of matrix can be a vector.
fn spread<T: Clone + Default>(rows: usize, column: &[T]) -> Vec<T> {
    (0..rows * rows).map(|k| if k < rows { column[k].clone() } else { T::default() }).collect()
}

/// Points less their mean, times the inverse of a unit: a power of two, so that no product of them over- or underflows.
struct Centered<M: Matrix> {
    points: M,
    mean: Vec<Closed<M::Strategy>>,
    unit: Closed<M::Strategy>,
    inverse: Closed<M::Strategy>,
}

impl<M: Matrix> Centered<M> {
    fn new(points: &M) -> Self {
        let (rows, columns) = points.shape();
        let mut sums = vec![Closed::<M::Strategy>::default(); rows];
        points.entries().enumerate().for_each(|(k, x)| sums[k % rows] = sums[k % rows].clone() + x.clone());
        #[allow(clippy::cast_precision_loss, reason = "there are fewer points")]
        let mean: Vec<Closed<M::Strategy>> = sums.into_iter().map(|sum| sum / columns as f64).collect();
        let off: Vec<_> = points.entries().enumerate().map(|(k, x)| x.as_real() - mean[k % rows].as_real()).collect();
        let largest = |lane| off.iter().fold(0.0, |most: f64, off| most.max(off.value().lane(lane).as_f64().abs()));
        let [unit, inverse] = [0, 1].map(|k| Closed::constant(Number::<M>::from_lanes(|lane| units(largest(lane))[k])));
        let entries = off.into_iter().map(|off| (off * inverse.as_real()).into()).collect();
        Self { points: M::from_entries(rows, columns, entries), mean, unit, inverse }
    }
}

/// tr(Rᵀ·C)/Σ|x|².
fn scale<M: Matrix>(rotation: &M, covariance: &M, points: &M) -> Result<Closed<M::Strategy>, LinalgError> {
    let dot = |a: &M, b: &M| {
        let sum = Closed::<M::Strategy>::default();
        a.entries().zip(b.entries()).fold(sum, |sum, (a, b)| sum + a.clone() * b.clone())
    };
    let spread = dot(points, points);
    if spread.as_real().value().is_nought() {
        return Err(LinalgError::Rank { found: 0, needed: 1 });
    }
    Ok(dot(rotation, covariance) / spread)
}
