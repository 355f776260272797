//! Exponentials and logarithms.

use super::formula::{Formula, RotationScalar};
use super::formulas::{PlanarScrew, PlanarScrewOf, Screw, ScrewOf, Turn, TurnOf};
use super::functions::{coordinates, quaternion_of};
use core::ops::Mul;
use nalgebra::{
    Isometry, Isometry2, Isometry3, IsometryMatrix2, IsometryMatrix3, Matrix3, Quaternion, Rotation2, Rotation3,
    Translation2, Translation3, UnitComplex, UnitQuaternion, Vector2, Vector3, Vector6,
};

/// Rotations and rigid motions: the types of nalgebra that [`exp`] makes of their *tangents*.
///
/// | group | types | tangent |
/// |---|---|---|
/// | SO(2) | `UnitComplex`, `Rotation2` | the angle, in radians |
/// | SO(3) | `UnitQuaternion`, `Rotation3` | axis times angle, `Vector3` |
/// | SE(2) | `Isometry2`, `IsometryMatrix2` | (ρ₁, ρ₂, θ), `Vector3` |
/// | SE(3) | `Isometry3`, `IsometryMatrix3` | (ρ₁, ρ₂, ρ₃, ω₁, ω₂, ω₃), `Vector6` |
///
/// In a tangent of a rigid motion the translation comes first, as in the paper. It is not the vector by which the
/// motion translates, except without rotation: the motion is that of a screw.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no rotation or rigid motion of nalgebra 0.35 over `f64`, `f32` or `Closed<S>`",
    note = "another version of nalgebra has other types: take version 0.35, and see what `cargo tree -d` says"
)]
pub trait LieGroup: Clone + Mul<Output = Self> + Sized {
    /// The numbers that an element is made of.
    type Scalar: RotationScalar;
    /// Vectors of the tangent space at the identity.
    type Tangent: Clone + Mul<Self::Scalar, Output = Self::Tangent>;

    /// See [`exp`].
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    fn from_tangent(tangent: &Self::Tangent) -> Self;
    /// See [`log`].
    #[doc(hidden)]
    #[track_caller]
    fn to_tangent(&self) -> Self::Tangent;
    /// The inverse element.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    fn undone(&self) -> Self;
}

/// The rotation or the motion with this tangent: the exponential.
///
/// Rotations: by quaternions (Appendix B); motions: Appendix C and equation (172). For a rotation about an axis by an
/// angle take `&(axis * angle)`. It is smooth everywhere.
///
/// ```
/// use core::f64::consts::FRAC_PI_2;
/// use nalgebra::{Isometry3, Point3, Vector6};
/// use tapewright::rotations;
///
/// // A quarter turn about z.
/// let motion: Isometry3<f64> = rotations::exp(&Vector6::new(0.0, 0.0, 2.0, 0.0, 0.0, FRAC_PI_2));
/// let moved = motion * Point3::new(1.0, 0.0, 0.0);
/// assert!((moved - Point3::new(0.0, 1.0, 2.0)).norm() < 1e-15);
/// ```
#[must_use]
#[track_caller]
pub fn exp<G: LieGroup>(tangent: &G::Tangent) -> G {
    G::from_tangent(tangent)
}

/// The tangent of a rotation or a motion: the logarithm, with an angle of at most π.
///
/// Rotations: equation (133), by quaternions, of which both signs give the same; motions: Appendix C and (173). It is
/// smooth where the angle is less than π. At π in three dimensions, where it jumps, it is one of two values, and
/// has no derivative: the [policy](crate::policy::Policy) decides. Planar angles, which jump from π to −π, have the
/// same derivative on both sides.
///
/// Towards π it is as accurate as the rotation says: an angle of π − δ is right to some 10⁻¹⁶, and so is δ if the
/// quaternion is.
///
/// ```
/// use nalgebra::{UnitQuaternion, Vector3};
/// use tapewright::rotations;
///
/// let turn = Vector3::new(1e-9, 0.0, 2e-9);
/// let rotation: UnitQuaternion<f64> = rotations::exp(&turn);
/// assert!((rotations::log(&rotation) - turn).norm() < 1e-24);
/// ```
#[must_use]
#[track_caller]
pub fn log<G: LieGroup>(element: &G) -> G::Tangent {
    element.to_tangent()
}

/// A power, exp(t·log g): the rotation about the same axis by `exponent` times the angle, or a part of a motion.
///
/// The exponent may be a variable. It is smooth where [`log`] is.
#[must_use]
#[track_caller]
pub fn power<G: LieGroup>(element: &G, exponent: G::Scalar) -> G {
    exp(&(log(element) * exponent))
}

/// The element between `start` (`t` = 0) and `end` (`t` = 1), on the shortest way: start·(start⁻¹·end)ᵗ.
///
/// For rotations it is the *slerp*, the great arc between quaternions (K. Shoemake, *Animating rotation with quaternion
/// curves*, 1985); for motions a screw. It is smooth in all three arguments, also where start and end coincide, unless
/// they are opposite, see [`log`].
///
/// ```
/// use nalgebra::UnitQuaternion;
/// use tapewright::rotations;
///
/// let [start, end] = [0.2_f64, 0.8].map(|yaw| UnitQuaternion::from_euler_angles(0.0, 0.0, yaw));
/// assert!((rotations::interpolate(&start, &end, 0.5).euler_angles().2 - 0.5).abs() < 1e-15);
/// ```
#[must_use]
#[track_caller]
pub fn interpolate<G: LieGroup>(start: &G, end: &G, t: G::Scalar) -> G {
    let way = start.undone() * end.clone();
    start.clone() * power(&way, t)
}

impl<T: RotationScalar> LieGroup for UnitComplex<T> {
    type Scalar = T;
    type Tangent = T;
    #[track_caller]
    fn from_tangent(angle: &T) -> Self {
        Self::new(angle.clone())
    }
    #[track_caller]
    fn to_tangent(&self) -> T {
        self.im.clone().atan2(self.re.clone())
    }
    fn undone(&self) -> Self {
        self.inverse()
    }
}

impl<T: RotationScalar> LieGroup for Rotation2<T> {
    type Scalar = T;
    type Tangent = T;
    #[track_caller]
    fn from_tangent(angle: &T) -> Self {
        Self::new(angle.clone())
    }
    #[track_caller]
    fn to_tangent(&self) -> T {
        self[(1, 0)].clone().atan2(self[(0, 0)].clone())
    }
    fn undone(&self) -> Self {
        self.inverse()
    }
}

impl<T: RotationScalar> LieGroup for UnitQuaternion<T> {
    type Scalar = T;
    type Tangent = Vector3<T>;
    #[track_caller]
    fn from_tangent(turn: &Vector3<T>) -> Self {
        let [x, y, z] = [&turn.x, &turn.y, &turn.z];
        Self::new_unchecked(Quaternion::new(
            T::result::<Turn, 3, 3>(&[x, y, z]),
            T::result::<Turn, 3, 0>(&[x, y, z]),
            T::result::<Turn, 3, 1>(&[x, y, z]),
            T::result::<Turn, 3, 2>(&[x, y, z]),
        ))
    }
    #[track_caller]
    fn to_tangent(&self) -> Vector3<T> {
        let q = coordinates(self);
        Vector3::new(T::result::<TurnOf, 4, 0>(&q), T::result::<TurnOf, 4, 1>(&q), T::result::<TurnOf, 4, 2>(&q))
    }
    #[track_caller]
    fn undone(&self) -> Self {
        self.inverse()
    }
}

impl<T: RotationScalar> LieGroup for Rotation3<T> {
    type Scalar = T;
    type Tangent = Vector3<T>;
    #[track_caller]
    fn from_tangent(turn: &Vector3<T>) -> Self {
        UnitQuaternion::from_tangent(turn).to_rotation_matrix()
    }
    #[track_caller]
    fn to_tangent(&self) -> Vector3<T> {
        quaternion_of(self).to_tangent()
    }
    fn undone(&self) -> Self {
        self.inverse()
    }
}

/// (ω, ρ) mapped by a formula.
#[track_caller]
fn by<F: Formula<6>, T: RotationScalar>(turn: &Vector3<T>, shift: &Vector3<T>) -> Vector3<T> {
    let x = [&turn.x, &turn.y, &turn.z, &shift.x, &shift.y, &shift.z];
    Vector3::new(T::result::<F, 6, 0>(&x), T::result::<F, 6, 1>(&x), T::result::<F, 6, 2>(&x))
}

/// (θ, ρ) mapped by a formula.
#[track_caller]
fn planar_by<F: Formula<3>, T: RotationScalar>(angle: &T, shift: &Vector2<T>) -> Vector2<T> {
    let x = [angle, &shift.x, &shift.y];
    Vector2::new(T::result::<F, 3, 0>(&x), T::result::<F, 3, 1>(&x))
}

macro_rules! motions {
    ($($motion:ident)* | $($planar:ident)*) => {
        $(impl<T: RotationScalar> LieGroup for $motion<T> {
            type Scalar = T;
            type Tangent = Vector6<T>;
            #[track_caller]
            fn from_tangent(tangent: &Vector6<T>) -> Self {
                let (shift, turn) = (tangent.fixed_rows::<3>(0).into_owned(), tangent.fixed_rows::<3>(3).into_owned());
                Isometry::from_parts(Translation3::from(by::<Screw, T>(&turn, &shift)), exp(&turn))
            }
            #[track_caller]
            fn to_tangent(&self) -> Vector6<T> {
                let turn = log(&self.rotation);
                let [[a, b, c]] = by::<ScrewOf, T>(&turn, &self.translation.vector).data.0;
                let [[d, e, f]] = turn.data.0;
                Vector6::new(a, b, c, d, e, f)
            }
            #[track_caller]
            fn undone(&self) -> Self {
                self.inverse()
            }
        })*
        $(impl<T: RotationScalar> LieGroup for $planar<T> {
            type Scalar = T;
            type Tangent = Vector3<T>;
            #[track_caller]
            fn from_tangent(tangent: &Vector3<T>) -> Self {
                let shift = tangent.fixed_rows::<2>(0).into_owned();
                let shift = planar_by::<PlanarScrew, T>(&tangent.z, &shift);
                Isometry::from_parts(Translation2::from(shift), exp(&tangent.z))
            }
            #[track_caller]
            fn to_tangent(&self) -> Vector3<T> {
                let angle = log(&self.rotation);
                let [[a, b]] = planar_by::<PlanarScrewOf, T>(&angle, &self.translation.vector).data.0;
                Vector3::new(a, b, angle)
            }
            #[track_caller]
            fn undone(&self) -> Self {
                self.inverse()
            }
        })*
    };
}
motions! { Isometry3 IsometryMatrix3 | Isometry2 IsometryMatrix2 }

/// The left Jacobian of SO(3), by which exp(ω + δ) is exp(J·δ)·exp(ω) to first order: equation (145). The right one,
/// (143), is its transpose.
///
/// ```
/// use nalgebra::{Matrix3, Vector3};
/// use tapewright::rotations::left_jacobian;
///
/// assert_eq!(left_jacobian(&Vector3::<f64>::zeros()), Matrix3::identity());
/// ```
#[must_use]
#[track_caller]
pub fn left_jacobian<T: RotationScalar>(turn: &Vector3<T>) -> Matrix3<T> {
    columns::<Screw, T>(turn)
}

/// The inverse of [`left_jacobian`], for turns of less than 2π: equation (146). That of the right one, (144), is its
/// transpose.
#[must_use]
#[track_caller]
pub fn left_jacobian_inverse<T: RotationScalar>(turn: &Vector3<T>) -> Matrix3<T> {
    columns::<ScrewOf, T>(turn)
}

/// The matrix whose columns a formula makes of the unit vectors.
#[track_caller]
fn columns<F: Formula<6>, T: RotationScalar>(turn: &Vector3<T>) -> Matrix3<T> {
    let unit = [Vector3::x(), Vector3::y(), Vector3::z()];
    Matrix3::from_columns(&[by::<F, T>(turn, &unit[0]), by::<F, T>(turn, &unit[1]), by::<F, T>(turn, &unit[2])])
}
