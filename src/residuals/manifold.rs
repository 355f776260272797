//! Manifolds: parameter blocks that cannot move in every direction.

/// Points that are stored with more numbers than they have degrees of freedom, such as rotations as quaternions.
///
/// A step δ of a solver has a number for each degree of freedom. [`plus`](Self::plus) moves a point by a step, and
/// x ⊞ 0 = x.
pub trait Manifold: Send + Sync + 'static {
    /// Returns the number of numbers in a point.
    fn size(&self) -> usize;
    /// Returns the number of degrees of freedom.
    fn freedom(&self) -> usize;
    /// Writes the point x ⊞ δ.
    fn plus(&self, x: &[f64], step: &[f64], moved: &mut [f64]);
    /// Writes ∂(x ⊞ δ)/∂δ at δ = 0, row by row: a row for each number of the point, with a column for each degree of
    /// freedom.
    fn jacobian(&self, x: &[f64], jacobian: &mut [f64]);
}

/// Unit quaternions as (w, x, y, z), with the rotation vector of a turn in the rotated frame as a step:
/// q ⊞ δ = q·(cos ½|δ|, δ/|δ|·sin ½|δ|).
///
/// (J. Solà, J. Deray, D. Atchuthan, *A micro Lie theory for state estimation in robotics*, arXiv:1812.01537, equations
/// 25 and 101.)
///
/// ```
/// use tapewright::residuals::{Manifold, UnitQuaternion};
///
/// let mut q = [0.0; 4];
/// UnitQuaternion.plus(&[1.0, 0.0, 0.0, 0.0], &[0.0, 0.0, core::f64::consts::PI], &mut q);
/// assert!(q[0].abs() < 1e-16 && q[1..] == [0.0, 0.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitQuaternion;

impl Manifold for UnitQuaternion {
    fn size(&self) -> usize {
        4
    }

    fn freedom(&self) -> usize {
        3
    }

    fn plus(&self, q: &[f64], step: &[f64], moved: &mut [f64]) {
        let half = 0.5 * step.iter().map(|d| d * d).sum::<f64>().sqrt();
        // ½ is the limit of sin(½|δ|)/|δ|.
        let factor = if half == 0.0 { 0.5 } else { 0.5 * half.sin() / half };
        let (w, [x, y, z]) = (half.cos(), [0, 1, 2].map(|k| factor * step[k]));
        moved[0] = q[0] * w - q[1] * x - q[2] * y - q[3] * z;
        moved[1] = q[0] * x + q[1] * w + q[2] * z - q[3] * y;
        moved[2] = q[0] * y - q[1] * z + q[2] * w + q[3] * x;
        moved[3] = q[0] * z + q[1] * y - q[2] * x + q[3] * w;
        // Rounding must not add up over many steps.
        let norm = moved.iter().map(|c| c * c).sum::<f64>().sqrt();
        moved.iter_mut().for_each(|c| *c /= norm);
    }

    fn jacobian(&self, q: &[f64], jacobian: &mut [f64]) {
        let [w, x, y, z] = [0, 1, 2, 3].map(|k| 0.5 * q[k]);
        jacobian.copy_from_slice(&[-x, -y, -z, w, -z, y, z, w, -x, -y, x, w]);
    }
}

/// Points with this number of numbers, which move by adding a step: a part of a [`Product`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Euclidean(pub usize);

impl Manifold for Euclidean {
    fn size(&self) -> usize {
        self.0
    }

    fn freedom(&self) -> usize {
        self.0
    }

    fn plus(&self, x: &[f64], step: &[f64], moved: &mut [f64]) {
        moved.iter_mut().zip(x).zip(step).for_each(|((moved, x), step)| *moved = x + step);
    }

    fn jacobian(&self, _: &[f64], jacobian: &mut [f64]) {
        jacobian.fill(0.0);
        jacobian.iter_mut().step_by(self.0 + 1).for_each(|entry| *entry = 1.0);
    }
}

/// Points of which the first numbers are on one manifold, and the others on another. A step has the degrees of freedom
/// of the first, then those of the second.
///
/// A pose is a position and a rotation:
///
/// ```
/// use tapewright::residuals::{Euclidean, Manifold, Product, UnitQuaternion};
///
/// let poses = Product(Euclidean(3), UnitQuaternion);
/// assert_eq!((poses.size(), poses.freedom()), (7, 6));
/// let mut moved = [0.0; 7];
/// poses.plus(&[1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0], &[0.5, 0.0, 0.0, 0.0, 0.0, 0.0], &mut moved);
/// assert_eq!(moved, [1.5, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product<A, B>(pub A, pub B);

impl<A: Manifold, B: Manifold> Manifold for Product<A, B> {
    fn size(&self) -> usize {
        self.0.size() + self.1.size()
    }

    fn freedom(&self) -> usize {
        self.0.freedom() + self.1.freedom()
    }

    fn plus(&self, x: &[f64], step: &[f64], moved: &mut [f64]) {
        let (x, step) = (x.split_at(self.0.size()), step.split_at(self.0.freedom()));
        let moved = moved.split_at_mut(self.0.size());
        self.0.plus(x.0, step.0, moved.0);
        self.1.plus(x.1, step.1, moved.1);
    }

    fn jacobian(&self, x: &[f64], jacobian: &mut [f64]) {
        let ((first, second), width) = (x.split_at(self.0.size()), self.freedom());
        jacobian.fill(0.0);
        let (upper, lower) = jacobian.split_at_mut(self.0.size() * width);
        place(&self.0, first, 0, width, upper);
        place(&self.1, second, self.0.freedom(), width, lower);
    }
}

/// Writes the derivatives of a part of a point into rows of `width` numbers, from a column on.
fn place(part: &impl Manifold, x: &[f64], column: usize, width: usize, rows: &mut [f64]) {
    let freedom = part.freedom();
    let mut own = vec![0.0; part.size() * freedom];
    part.jacobian(x, &mut own);
    for (k, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
        row[column..column + freedom].copy_from_slice(&own[k * freedom..][..freedom]);
    }
}
