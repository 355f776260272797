//! Functions that undo one another, with what follows for their derivatives, at every turn.

use super::{D1, c, three};
use nalgebra::{Isometry3, IsometryMatrix2, Rotation2, Rotation3, UnitComplex, UnitQuaternion, Vector6};
use tapewright::prelude::*;
use tapewright::rotations::{self, RotationScalar};
use tapewright::{Closed, hvp};
use tapewright_linalg_tests::assert_close;

const THETAS: [f64; 11] = [
    0.0,
    1e-300,
    1e-160,
    1e-20,
    1e-8,
    1e-4,
    1e-3,
    0.1,
    core::f64::consts::FRAC_PI_2,
    3.0,
    core::f64::consts::PI - 1e-6,
];
const AXES: [[f64; 3]; 4] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.48, -0.6, 0.64], [-0.6, 0.64, 0.48]];

type Map<S> = fn(&[Closed<S>]) -> Vec<Closed<S>>;

/// A map whose results are its inputs, or numbers that do not depend on them.
struct Identity {
    name: &'static str,
    map: Map<Jacobian>,
    second: Map<Jacobian<D1>>,
    /// Results that equal inputs; the others are constants.
    moving: usize,
}

fn round_trip<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let turn = rotations::log(&rotations::exp::<UnitQuaternion<T>>(&three(x)));
    turn.iter().copied().collect()
}

fn by_matrices<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let turn = rotations::log(&rotations::exp::<Rotation3<T>>(&three(x)));
    turn.iter().copied().collect()
}

fn motions<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let tangent = Vector6::new(x[0], x[1], x[2], c::<T>(0.5) * x[1], c::<T>(-1.5) + x[0], x[2]);
    let motion = rotations::exp::<Isometry3<T>>(&Vector6::new(
        tangent[3], tangent[4], tangent[5], tangent[0], tangent[1], tangent[2],
    ));
    let back = rotations::log(&motion);
    let (turn, shift) = (back.fixed_rows::<3>(3), back.fixed_rows::<3>(0));
    let mut all: Vec<T> = turn.iter().copied().collect();
    all.extend([shift[0] - x[1] * c(0.5), shift[1] - x[0], shift[2] - x[2]]);
    all
}

fn powers<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let rotation = rotations::exp::<UnitQuaternion<T>>(&three(x));
    let half = rotations::power(&rotation, c(0.5));
    rotations::log(&(half * half)).iter().copied().collect()
}

fn jacobians<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let product = rotations::left_jacobian(&three(x)) * rotations::left_jacobian_inverse(&three(x));
    product.iter().copied().collect()
}

fn undone<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let rotation = rotations::exp::<Rotation3<T>>(&three(x));
    let quaternion = rotations::quaternion_of(&rotation);
    let rest = quaternion.inverse() * rotations::exp::<UnitQuaternion<T>>(&three(x));
    rest.coords.iter().copied().collect()
}

fn planar<T: RotationScalar + Copy>(x: &[T]) -> Vec<T> {
    let turned = [
        rotations::log(&rotations::exp::<UnitComplex<T>>(&x[0])),
        rotations::log(&rotations::exp::<Rotation2<T>>(&x[1])),
    ];
    let motion = rotations::log(&rotations::exp::<IsometryMatrix2<T>>(&nalgebra::Vector3::new(c(2.0), x[1], x[2])));
    vec![turned[0], turned[1], motion.z, motion.x, motion.y - x[1]]
}

const IDENTITIES: &[Identity] = &[
    Identity { name: "log of exp", map: round_trip, second: round_trip, moving: 3 },
    Identity { name: "by matrices", map: by_matrices, second: by_matrices, moving: 3 },
    Identity { name: "motions", map: motions, second: motions, moving: 3 },
    Identity { name: "powers", map: powers, second: powers, moving: 3 },
    Identity { name: "Jacobians", map: jacobians, second: jacobians, moving: 0 },
    Identity { name: "quaternion of a matrix", map: undone, second: undone, moving: 0 },
    Identity { name: "planar", map: planar, second: planar, moving: 3 },
];

/// Some forty roundings, among numbers of up to 10.
const TOLERANCE: f64 = 400.0 * f64::EPSILON;

#[test]
fn compositions_are_the_identity_with_its_derivatives() {
    for Identity { name, map, second, moving } in IDENTITIES {
        for (theta, axis) in THETAS.iter().flat_map(|theta| AXES.map(|axis| (*theta, axis))) {
            let x = axis.map(|n| theta * n);
            let name = format!("{name} at {x:?}");
            let (values, rows) = jacobian::<Jacobian>(|x| open(map(Closed::wrap_slice(x))), &x);
            assert_close(&name, &values[..*moving], &x[..*moving], TOLERANCE);
            for (i, row) in rows.iter().enumerate() {
                for (j, found) in row.iter().enumerate() {
                    let right = if i == j && i < *moving { 1.0 } else { 0.0 };
                    assert!((found - right).abs() <= TOLERANCE, "{name}: ∂{i}/∂{j} is {found}");
                }
                let v = [0.7, -1.1, 0.4];
                let product = hvp::<Jacobian<D1>>(|x| second(Closed::wrap_slice(x)).swap_remove(i).open(), &x, &v).2;
                assert!(
                    product.iter().all(|bend| bend.abs() <= 2.0 * TOLERANCE),
                    "{name}: result {i} bends {product:?}"
                );
            }
        }
    }
}

fn open<S: Strategy>(x: Vec<Closed<S>>) -> Vec<Real<S>> {
    x.into_iter().map(Closed::open).collect()
}

/// Angles about coordinates are what the rotation was made of, and so are their derivatives, up to next to the lock.
#[test]
fn euler_angles_are_found_again() {
    for pitch in [0.0, -1e-20, 1e-3, -1.0, 1.5, 1.5706] {
        for [roll, yaw] in [[0.0, 0.0], [0.3, -3.0], [-2.5, 1e-8]] {
            let x = [roll, pitch, yaw];
            let angles = |x: &[Real<Jacobian>]| {
                let x = Closed::wrap_slice(x);
                open(rotations::euler_angles(&Rotation3::from_euler_angles(x[0], x[1], x[2])).to_vec())
            };
            let (values, rows) = jacobian::<Jacobian>(angles, &x);
            let distance = pitch.cos();
            assert_close("angles", &values, &x, TOLERANCE / distance);
            for (i, row) in rows.iter().enumerate() {
                for (j, found) in row.iter().enumerate() {
                    let right = if i == j { 1.0 } else { 0.0 };
                    assert!((found - right).abs() <= TOLERANCE / distance, "{x:?}: ∂{i}/∂{j} is {found}");
                }
            }
        }
    }
}

/// All four charts, where two, three or all of them are as good, are one function.
#[test]
fn quaternions_of_matrices_where_charts_meet() {
    let third = core::f64::consts::TAU / 3.0 / 3.0_f64.sqrt();
    let half = core::f64::consts::PI / 2.0_f64.sqrt() - 1e-3;
    for x in [[third, third, third], [third, -third, third], [half, half, 0.0], [0.0, -half, half], [2.0, 2.0, -0.1]] {
        let (values, rows) = jacobian::<Jacobian>(|x| open(undone(Closed::wrap_slice(x))), &x);
        assert_close("identity", &values, &[0.0, 0.0, 0.0, 1.0], TOLERANCE);
        assert!(rows.iter().flatten().all(|slope| slope.abs() <= TOLERANCE), "{x:?}: {rows:?}");
    }
    // A permutation of the axes that is a constant except for one entry: all four divisors are the same.
    let rest = |x: &[Real<Jacobian>]| {
        let turn = rotations::exp::<Rotation3<_>>(&three(Closed::wrap_slice(x)));
        let axes = Rotation3::from_matrix_unchecked(
            nalgebra::Matrix3::new(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0).cast::<Closed<Jacobian>>(),
        );
        let q = rotations::quaternion_of(&(turn * axes));
        open(q.coords.iter().copied().collect())
    };
    let (values, rows) = jacobian::<Jacobian>(rest, &[0.0; 3]);
    assert_close("permutation", &values, &[0.5; 4], TOLERANCE);
    // (½ω)·q with q = ½(1 + i + j + k).
    let right = [[0.25, 0.25, -0.25], [-0.25, 0.25, 0.25], [0.25, -0.25, 0.25], [-0.25; 3]];
    for (row, right) in rows.iter().zip(right) {
        assert_close("permutation", row, &right, TOLERANCE);
    }
}
