//! Points without a derivative, and replays.

use super::{c, three, unchecked};
use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use tapewright::prelude::*;
use tapewright::rotations::{self, RotationScalar};
use tapewright::{Checked, Closed, Dual, Error, Subgradient, SweepError};
use tapewright_linalg_tests::assert_close;

fn turn_of<T: RotationScalar + Copy>(x: &[T]) -> T {
    rotations::log(&unchecked(x)).x
}

fn squared<T: RotationScalar + Copy>(x: &[T]) -> T {
    rotations::squared_angle(&unchecked(x))
}

fn angle<T: RotationScalar + Copy>(x: &[T]) -> T {
    rotations::angle(&unchecked(x))
}

/// The roll of a rotation about the axis y by a right angle, whose matrix is exact.
fn roll<T: RotationScalar + Copy>(x: &[T]) -> T {
    let [a, b, d, e] = [x[0], x[1], x[2], x[3]];
    let zero = T::zero();
    let locked = nalgebra::Matrix3::new(a, zero, d, zero, e, zero, -d, zero, b);
    rotations::euler_angles(&Rotation3::from_matrix_unchecked(locked))[0]
}

/// Asserts what each policy makes of a point without a derivative.
macro_rules! at {
    ($f:ident, $x:expr, $value:expr) => {{
        let x: [f64; 4] = $x;
        assert_eq!($f::<f64>(&x), $value);
        let strict = gradient::<Jacobian>(|x| $f(Closed::wrap_slice(x)).open(), &x);
        assert!(strict.iter().all(|slope| slope.is_nan()), "{strict:?}");
        let primal = gradient::<PrimalValue>(|x| $f(Closed::wrap_slice(x)).open(), &x);
        assert!(primal.iter().all(|slope| slope.is_nan()), "{primal:?}");
        let zero = gradient::<Subgradient<Jacobian>>(|x| $f(Closed::wrap_slice(x)).open(), &x);
        assert_eq!(zero, [0.0; 4]);
        let mut tape = Tape::<Checked<Jacobian>>::new();
        let found = tape.gradient(|x| $f(Closed::wrap_slice(x)).open(), &x, &mut [0.0; 4]);
        let Err(Error::Sweep(SweepError::Singular { .. })) = &found else { panic!("{found:?}") };
        assert!(found.unwrap_err().to_string().contains("singular.rs"), "it names the line");
        let dual = |k: usize| Closed::<Passive<Dual<f64, 1>>>::constant(Dual { value: x[k], tangents: [1.0] });
        assert!($f(&[dual(0), dual(1), dual(2), dual(3)]).value().tangents[0].is_nan());
    }};
}

#[test]
fn policies_decide_where_there_is_no_derivative() {
    use core::f64::consts::{FRAC_PI_2, PI};
    at!(turn_of, [1.0, 0.0, 0.0, 0.0], PI);
    at!(turn_of, [1.0, 0.0, 0.0, -0.0], PI);
    at!(squared, [0.0, 0.0, -1.0, 0.0], PI * PI);
    at!(angle, [0.0, 0.0, -1.0, 0.0], PI);
    at!(angle, [0.0, 0.0, 0.0, 1.0], 0.0);
    at!(angle, [0.0, 0.0, 0.0, -1.0], 0.0);
    assert_eq!(FRAC_PI_2, rotations::euler_angles(&Rotation3::from_matrix_unchecked(lock()))[1]);
    at!(roll, [0.0, 0.0, 1.0, 1.0], 0.0);
}

/// A right angle about y.
fn lock() -> nalgebra::Matrix3<f64> {
    nalgebra::Matrix3::new(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0)
}

/// At the lock the angles still make the rotation.
#[test]
fn euler_angles_at_the_lock_make_the_rotation() {
    for sign in [1.0, -1.0] {
        for [c, s] in [[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6]] {
            // A right angle about y, after a turn about x with this cosine and sine.
            let matrix = nalgebra::Matrix3::new(0.0, sign * s, sign * c, 0.0, c, -s, -sign, 0.0, 0.0);
            let [roll, pitch, yaw] = rotations::euler_angles(&Rotation3::from_matrix_unchecked(matrix));
            let again = Rotation3::from_euler_angles(roll, pitch, yaw);
            assert!((again.matrix() - matrix).norm() < 8.0 * f64::EPSILON, "{matrix} and {again}");
        }
    }
}

/// Towards π the logarithm is as accurate as the quaternion: the angle that is missing is right to its last digits.
#[test]
fn logarithms_towards_a_half_turn() {
    for missing in [1e-3_f64, 1e-6, 1e-9, 1e-12, 1e-100] {
        let q = [0.6 * (0.5 * missing).cos(), 0.0, 0.8 * (0.5 * missing).cos(), (0.5 * missing).sin()];
        let angle = core::f64::consts::PI - missing;
        let (value, slope) = value_and_gradient::<Jacobian>(|x| turn_of(Closed::wrap_slice(x)).open(), &q);
        assert_close("value", &[value], &[0.6 * angle], 4.0 * f64::EPSILON);
        // θ·v/|v|: by w it is −2·v/|v|, by v it is θ·(I − n·nᵀ)/|v| + 2·w·n·nᵀ with n = v/|v|.
        let (side, w) = (angle / (0.5 * missing).cos(), q[3]);
        let right = [side * 0.64 + 2.0 * w * 0.36, 0.0, -side * 0.48 + 2.0 * w * 0.48, -1.2 * (0.5 * missing).cos()];
        assert_close("slope", &slope, &right, 8.0 * f64::EPSILON);
    }
}

#[test]
fn angles_of_the_smallest_turns() {
    let x = [3e-300, 0.0, 4e-300, 1.0];
    let (value, slope) = value_and_gradient::<Jacobian>(|x| angle(Closed::wrap_slice(x)).open(), &x);
    assert_close("angle", &[value], &[1e-299], 4.0 * f64::EPSILON);
    assert_close("slope", &slope, &[1.2, 0.0, 1.6, -1e-299], 4.0 * f64::EPSILON);
}

#[test]
fn opposite_vectors_have_no_rotation() {
    let x = Vector3::new(0.1, -0.7, 0.3);
    assert_eq!(rotations::rotation_between(&x, &(x * -2.0)), None);
    assert_eq!(rotations::rotation_between(&x, &Vector3::zeros()), None);
    assert_eq!(rotations::rotation_between(&x, &Vector3::repeat(f64::NAN)), None);
    let parallel = rotations::rotation_between(&x, &(x * 1e-200)).expect("the same direction");
    assert!((parallel.coords - UnitQuaternion::identity().coords).norm() < 4.0 * f64::EPSILON);
}

/// No branch is recorded: a recording at the identity is right at every other turn.
#[test]
fn replays_leave_the_identity() -> Result<(), Error> {
    fn f<T: RotationScalar + Copy>(x: &[T]) -> T {
        let rotation = rotations::exp::<UnitQuaternion<T>>(&three(x));
        let matrix = rotations::exp::<Rotation3<T>>(&(three(x) * c::<T>(1.5)));
        let back = rotations::log(&matrix);
        let between = rotations::interpolate(&rotation, &rotations::quaternion_of(&matrix), x[3]);
        back.x + between.i * c(2.0) - between.w + rotations::squared_angle(&rotation)
    }
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(&[0.0; 4]);
        let y = f(Closed::wrap_slice(&inputs)).open();
        (inputs, y)
    });
    for x in [[1e-20, 0.0, 0.0, 0.3], [0.4, -0.2, 0.9, 0.7], [-1.1, 1.2, 0.8, 0.1], [0.0, 0.0, 2.0, 1.0]] {
        tape.replay(&inputs.iter().zip(x).collect::<Vec<_>>())?;
        let found = tape.sweep(&[(&y, 1.0)])?.of_all(&inputs)?;
        let fresh = gradient::<PrimalValue>(|x| f(Closed::wrap_slice(x)).open(), &x);
        assert_eq!(found, fresh, "at {x:?}");
    }
    Ok(())
}
