//! Rotations and rigid motions of nalgebra that are right at the identity (feature `nalgebra`).
//!
//! nalgebra's own `from_scaled_axis`, `Rotation3::new`, `Isometry3::new`, `scaled_axis`, `angle`, `powf`, `slerp`,
//! `rotation_between`, `exp` and `ln` ask if an angle is small, and return a constant if it is. Over
//! [`Closed`](crate::Closed) variables that constant has the derivative 0: where an estimation of a pose starts, at the
//! identity, its gradient is 0. The functions here take and return the same types and are analytic there:
//!
//! ```
//! use nalgebra::{UnitQuaternion, Vector3};
//! use tapewright::{Closed, prelude::*, rotations};
//!
//! let height = |rotation: UnitQuaternion<Closed<Jacobian>>| {
//!     (rotation * Vector3::new(1.0, 2.0, 3.0).cast()).z.open() // p_z + ω_x·p_y − ω_y·p_x + …
//! };
//! let turn = |x: &[Real<Jacobian>]| Vector3::from_column_slice(Closed::wrap_slice(x));
//! assert_eq!(gradient(|x| height(rotations::exp(&turn(x))), &[0.0; 3]), [2.0, -1.0, 0.0]);
//! assert_eq!(gradient(|x| height(UnitQuaternion::from_scaled_axis(turn(x))), &[0.0; 3]), [0.0; 3]); // wrong
//! ```
//!
//! | nalgebra | here |
//! |---|---|
//! | `UnitQuaternion::from_scaled_axis`, `new`; `Rotation3::new`, `from_axis_angle`; `Isometry3::new` | [`exp`] |
//! | `scaled_axis`, `axis_angle`, `ln` of a unit quaternion | [`log`] |
//! | `powf` of rotations | [`power`] |
//! | `slerp` of rotations, `sclerp` of dual quaternions as motions | [`interpolate`] |
//! | `angle`, `angle_to` | [`angle`], [`squared_angle`] |
//! | `rotation_between` | [`rotation_between`] |
//! | `UnitQuaternion::from_rotation_matrix`, and `from_matrix` of a rotation matrix | [`quaternion_of`] |
//! | `euler_angles` | [`euler_angles`] |
//! | `Quaternion::exp`, `ln`, `powf` | [`quaternion_exp`], [`quaternion_ln`], [`quaternion_powf`] |
//! | `normalize` | [`unit_vector`], [`unit_quaternion`] |
//!
//! nalgebra's products, inverses, `to_rotation_matrix`, transformations of points and vectors, `UnitComplex::new` and
//! `Rotation2::new` are polynomials, sines and cosines, and right as they are.
//!
//! # How
//!
//! Each number of a result is one statement. Its formula is written in functions of |ω|² or of a cosine that are
//! analytic: Stumpff's functions, which are cos θ, sin θ/θ, (1 − cos θ)/θ² and so on, and φ/sin φ. They are accurate to
//! some 10⁻¹⁵, as are their derivatives of every order. A recording has no branch: it can be replayed at any other
//! inputs. Only [`rotation_between`] compares.
//!
//! # Where there is no derivative
//!
//! A turn by π can be undone in two directions: its logarithm jumps. Exactly there, where the scalar of a quaternion is
//! 0, [`log`], [`angle`] and [`squared_angle`] have a value and no derivative. The [policy](crate::policy::Policy) of
//! the strategy decides, as for √ at 0: each partial is NaN, or 0, or an error that names the line. The same holds for
//! the angle at the identity, for Euler angles at the gimbal lock, and for all that is made of them.
//!
//! # Source
//!
//! J. Solà, J. Deray, D. Atchuthan, *A micro Lie theory for state estimation in robotics*, arXiv:1812.01537:
//! the numbers of equations below are those of this paper.

mod formula;
mod formulas;
mod functions;
mod groups;
mod kernels;

pub use formula::RotationScalar;
pub use functions::{
    angle, euler_angles, quaternion_exp, quaternion_ln, quaternion_of, quaternion_powf, rotation_between,
    squared_angle, unit_quaternion, unit_vector,
};
pub use groups::{LieGroup, exp, interpolate, left_jacobian, left_jacobian_inverse, log, power};
