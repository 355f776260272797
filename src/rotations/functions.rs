//! Functions of rotations that are no exponentials.

use super::formula::{Formula, RotationScalar};
use super::formulas::{
    Angle, Between, Direction, EulerAngles, QuaternionExp, QuaternionLn, QuaternionOf, SquaredAngle,
};
use nalgebra::{Quaternion, Rotation3, Unit, UnitQuaternion, Vector3};

/// The coordinates of a quaternion, the scalar last.
pub(super) fn coordinates<T: RotationScalar>(q: &Quaternion<T>) -> [&T; 4] {
    [&q.coords.x, &q.coords.y, &q.coords.z, &q.coords.w]
}

/// A quaternion by a formula.
#[track_caller]
fn quaternion<F: Formula<N>, T: RotationScalar, const N: usize>(x: &[&T; N]) -> Quaternion<T> {
    let w = T::result::<F, N, 3>(x);
    Quaternion::new(w, T::result::<F, N, 0>(x), T::result::<F, N, 1>(x), T::result::<F, N, 2>(x))
}

/// The angle of a rotation, between 0 and π: 2·atan2(|v|, |w|), as accurate near 0 as near π.
///
/// The angle has no derivative at 0, like |x|, nor at π: the [policy](crate::policy::Policy) decides. Take
/// [`squared_angle`] for residuals.
#[must_use]
#[track_caller]
pub fn angle<T: RotationScalar>(rotation: &UnitQuaternion<T>) -> T {
    T::result::<Angle, 4, 0>(&coordinates(rotation))
}

/// The square of the angle of a rotation, |log q|². It is smooth except at π. At the identity its Hessian with respect
/// to ω is 2·I.
///
/// ```
/// use nalgebra::Vector3;
/// use tapewright::{Closed, Dual, hessian, prelude::*, rotations};
///
/// let squared = |x: &[Real<Jacobian<Dual<f64, 3>>>]| {
///     let turn = Vector3::from_column_slice(Closed::wrap_slice(x));
///     rotations::squared_angle(&rotations::exp(&turn)).open()
/// };
/// let (_, gradient, rows) = hessian(squared, &[0.0; 3]);
/// assert_eq!(gradient, [0.0; 3]);
/// assert_eq!(rows, [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]);
/// ```
///
/// For the angle between two rotations write `squared_angle(&a.rotation_to(&b))`.
#[must_use]
#[track_caller]
pub fn squared_angle<T: RotationScalar>(rotation: &UnitQuaternion<T>) -> T {
    T::result::<SquaredAngle, 4, 0>(&coordinates(rotation))
}

/// The smallest rotation that takes the direction of `from` to that of `to`, also where both are the same. `None` if
/// they are opposite, where the axis is not defined, or if one of them has no direction.
///
/// With unit vectors u, v and the one between them, h, the quaternion is (u·h, u×h): no two close numbers are
/// subtracted until the vectors are nearly opposite.
///
/// The only branch is whether there is a result. A recording that keeps guards notes it.
///
/// ```
/// use nalgebra::Vector3;
/// use tapewright::rotations::rotation_between;
///
/// let (x, y) = (Vector3::new(2.0, 0.0, 0.0), Vector3::new(0.0, 0.5, 0.0));
/// let rotation = rotation_between(&x, &y).expect("not opposite");
/// assert!((rotation * x - y * 4.0).norm() < 1e-15);
/// assert_eq!(rotation_between(&x, &-x), None);
/// ```
#[must_use]
#[track_caller]
pub fn rotation_between<T: RotationScalar>(from: &Vector3<T>, to: &Vector3<T>) -> Option<UnitQuaternion<T>> {
    let x = [&from.x, &from.y, &from.z, &to.x, &to.y, &to.z];
    let exists = T::result::<Between, 6, 4>(&x) > T::zero();
    if exists { Some(Unit::new_unchecked(quaternion::<Between, T, 6>(&x))) } else { None }
}

/// The vector divided by its norm, also where the squares of its entries over- or underflow. NaN for 0.
#[must_use]
#[track_caller]
pub fn unit_vector<T: RotationScalar>(vector: &Vector3<T>) -> Unit<Vector3<T>> {
    let x = [&vector.x, &vector.y, &vector.z];
    Unit::new_unchecked(Vector3::new(
        T::result::<Direction, 3, 0>(&x),
        T::result::<Direction, 3, 1>(&x),
        T::result::<Direction, 3, 2>(&x),
    ))
}

/// The quaternion divided by its norm, also where the squares of its entries over- or underflow. NaN for 0.
#[must_use]
#[track_caller]
pub fn unit_quaternion<T: RotationScalar>(q: &Quaternion<T>) -> UnitQuaternion<T> {
    Unit::new_unchecked(quaternion::<Direction, T, 4>(&coordinates(q)))
}

/// The quaternion of a rotation matrix, with a scalar that is not negative.
///
/// Among four formulas that are exact for rotation matrices it takes the one with the largest divisor (S. W. Shepperd,
/// *Quaternion from rotation matrix*, 1978; F. L. Markley, *Unit quaternion from rotation matrix*, 2008). It is smooth
/// for all angles below π, and at π the sign of the quaternion changes. The matrix must be a rotation: for
/// the rotation next to another matrix take `linalg::nearest_rotation`.
///
/// ```
/// use nalgebra::Rotation3;
/// use tapewright::rotations::quaternion_of;
///
/// let matrix = Rotation3::from_euler_angles(0.3, -0.7, 3.0);
/// assert!((quaternion_of(&matrix).to_rotation_matrix().matrix() - matrix.matrix()).norm() < 1e-15);
/// ```
#[must_use]
#[track_caller]
pub fn quaternion_of<T: RotationScalar>(rotation: &Rotation3<T>) -> UnitQuaternion<T> {
    Unit::new_unchecked(quaternion::<QuaternionOf, T, 9>(&rows(rotation)))
}

/// The entries of a matrix, row by row.
fn rows<T: RotationScalar>(rotation: &Rotation3<T>) -> [&T; 9] {
    core::array::from_fn(|k| &rotation.matrix()[(k / 3, k % 3)])
}

/// Roll, pitch and yaw, in radians: the rotation is that about x by the roll, then about y by the pitch, then about z
/// by the yaw, as in `Rotation3::from_euler_angles` (G. Slabaugh, *Computing Euler angles from a rotation matrix*,
/// 1999).
///
/// The pitch is between −½π and ½π, by an arctangent, which is accurate at the ends, too. There, at the *gimbal lock*,
/// roll and yaw are turns about the same axis. Exactly there, where the first column has no entries but the last, the
/// yaw is 0, and none of the three has a derivative: the [policy](crate::policy::Policy) decides. Nearby, derivatives
/// grow as one over the distance.
///
/// ```
/// use nalgebra::Rotation3;
/// use tapewright::rotations::euler_angles;
///
/// let found: [f64; 3] = euler_angles(&Rotation3::from_euler_angles(0.3, -0.7, 3.0));
/// assert!(found.iter().zip([0.3, -0.7, 3.0]).all(|(found, right)| (found - right).abs() < 1e-15));
/// ```
#[must_use]
#[track_caller]
pub fn euler_angles<T: RotationScalar>(rotation: &Rotation3<T>) -> [T; 3] {
    let x = rows(rotation);
    [T::result::<EulerAngles, 9, 0>(&x), T::result::<EulerAngles, 9, 1>(&x), T::result::<EulerAngles, 9, 2>(&x)]
}

/// The exponential of any quaternion v + w, eʷ·(cos |v| + v·sin |v|/|v|), smooth everywhere.
#[must_use]
#[track_caller]
pub fn quaternion_exp<T: RotationScalar>(q: &Quaternion<T>) -> Quaternion<T> {
    quaternion::<QuaternionExp, T, 4>(&coordinates(q))
}

/// The logarithm of any quaternion v + w, ln |q| + v·atan2(|v|, w)/|v|. It is smooth except at real numbers that are
/// not positive, where it is NaN, because its vector part could have any direction.
///
/// For a rotation take [`log`](super::log), which knows that q and −q are the same and is twice the vector part.
#[must_use]
#[track_caller]
pub fn quaternion_ln<T: RotationScalar>(q: &Quaternion<T>) -> Quaternion<T> {
    quaternion::<QuaternionLn, T, 4>(&coordinates(q))
}

/// A power of any quaternion, exp(t·ln q).
#[must_use]
#[track_caller]
pub fn quaternion_powf<T: RotationScalar>(q: &Quaternion<T>, exponent: T) -> Quaternion<T> {
    quaternion_exp(&(quaternion_ln(q) * exponent))
}
