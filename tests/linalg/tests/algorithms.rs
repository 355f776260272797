//! nalgebra's own algorithms over closed variables: each row is code that is generic over nalgebra's numbers. It runs
//! on `f64`, for the value and differences, and on closed variables of strategies of every kind.

#[path = "algorithms/guards.rs"]
mod guards;
#[path = "algorithms/limits.rs"]
mod limits;
#[path = "algorithms/numbers.rs"]
mod numbers;
#[path = "algorithms/table.rs"]
mod table;

use nalgebra::{
    DMatrix, DVector, Isometry3, Matrix2, Matrix3, Matrix4, Point3, RealField, Rotation2, Rotation3, Similarity3,
    Translation3, Unit, UnitComplex, UnitQuaternion, Vector3, Vector4,
};
use tapewright::prelude::*;
use tapewright::{Closed, Error};
use tapewright_linalg_tests::{assert_close, differences, scattered};

/// The gradient by reverse mode.
pub(crate) fn reverse<S: Reverse<Value = f64>>(
    f: impl FnOnce(&[Closed<S>]) -> Closed<S>,
    x: &[f64],
) -> (f64, Vec<f64>) {
    value_and_gradient::<S>(|x| f(Closed::wrap_slice(x)).open(), x)
}

/// The gradient by forward mode.
fn forward(f: impl Fn(&[Closed<Tangent<4>>]) -> Closed<Tangent<4>>, x: &[f64]) -> Vec<f64> {
    jacobian_forward::<Tangent<4>>(|x| vec![f(Closed::wrap_slice(x)).open()], x).1.remove(0)
}

/// By one of the strategies whose variables are not copied, swept for two adjoint vectors at once.
fn in_lanes(f: impl Fn(&[Closed<Owned>]) -> Closed<Owned>, x: &[f64]) -> Result<Vec<f64>, Error> {
    let mut tape = Tape::<Owned>::new();
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(x);
        let y = f(Closed::wrap_slice(&inputs)).open();
        (inputs, y)
    });
    let adjoints = tape.sweep_lanes(&[(&y, [2.0, 1.0])])?;
    inputs.iter().map(|x| adjoints.of(x).map(|[twice, once]| twice - once)).collect()
}

type Owned = Jacobian<f64, Reuse>;

/// Each row is a test of the function `|x| body` of `T: RealField` at this many inputs. The row `norm 4 |x| body;`
/// becomes a module `norm` with the function `body::<T>`, and the test `norm::agrees`.
macro_rules! algorithms {
    ($($name:ident $n:literal |$x:ident| $body:expr;)*) => {
        /// The names of all rows.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
        mod $name {
            use super::*;

            fn body<T: RealField>($x: &[T]) -> T {
                $body
            }

            #[test]
            fn agrees() -> Result<(), Error> {
                let name = stringify!($name);
                let x = scattered($n);
                let expected = differences(body::<f64>, &x);
                let (value, gradient) = reverse::<Jacobian>(body, &x);
                assert_close(name, &[value], &[body::<f64>(&x)], 1e-13);
                assert_close(name, &gradient, &expected, 1e-7);
                assert!(gradient.iter().any(|slope| slope.abs() > 1e-3), "{name} moves");
                assert_close(name, &reverse::<PrimalValue>(body, &x).1, &gradient, 1e-12);
                assert_close(name, &forward(body, &x), &gradient, 1e-11);
                assert_close(name, &in_lanes(body, &x)?, &gradient, 1e-12);
                if cfg!(feature = "wide") {
                    assert_close(name, &reverse::<Hybrid>(body, &x).1, &gradient, 1e-12);
                    assert_close(name, &reverse::<Continuation>(body, &x).1, &gradient, 1e-12);
                    assert_close(name, &reverse::<PrimalValue<f64, Reuse>>(body, &x).1, &gradient, 1e-12);
                }
                Ok(())
            }
        }
        )*
    };
}

/// A number.
fn c<T: RealField>(value: f64) -> T {
    nalgebra::convert(value)
}

/// Weights for results that are vectors and matrices.
fn weighed<'a, T: RealField>(entries: impl IntoIterator<Item = &'a T>) -> T {
    let weight = |k: usize| c::<T>(scattered(k + 1)[k] + 1.5);
    entries.into_iter().enumerate().fold(T::zero(), |sum, (k, entry)| sum + entry.clone() * weight(k))
}

fn matrix<T: RealField>(x: &[T], n: usize) -> DMatrix<T> {
    DMatrix::from_column_slice(n, n, &x[..n * n])
}

/// A regular matrix.
fn regular<T: RealField>(x: &[T], n: usize) -> DMatrix<T> {
    matrix(x, n) + DMatrix::identity(n, n) * c::<T>(2.0)
}

/// A positive definite matrix.
fn positive<T: RealField>(x: &[T], n: usize) -> DMatrix<T> {
    let a = matrix(x, n);
    &a * a.transpose() + DMatrix::identity(n, n)
}

fn symmetric<T: RealField>(x: &[T], n: usize) -> DMatrix<T> {
    let a = matrix(x, n);
    &a + a.transpose()
}

fn vector<T: RealField>(x: &[T]) -> DVector<T> {
    DVector::from_column_slice(x)
}

fn three<T: RealField>(x: &[T]) -> Vector3<T> {
    Vector3::from_column_slice(&x[..3])
}

fn quaternion<T: RealField>(x: &[T]) -> UnitQuaternion<T> {
    UnitQuaternion::from_scaled_axis(three(x))
}

algorithms! {
    norm 4 |x| vector(x).norm();
    norm_squared 4 |x| vector(x).norm_squared();
    normalize 4 |x| weighed(&vector(x).normalize());
    p_norm 4 |x| vector(x).lp_norm(3);
    distance 6 |x| three(x).metric_distance(&three(&x[3..]));
    angle 6 |x| three(x).angle(&three(&x[3..]));
    dot_and_cross 9 |x| three(x).cross(&three(&x[3..])).dot(&three(&x[6..]));
    product 18 |x| weighed(&(matrix(x, 3) * matrix(&x[9..], 3)));
    large_product 72 |x| weighed(&(matrix(x, 6) * matrix(&x[36..], 6)));
    kronecker 8 |x| weighed(&Matrix2::from_column_slice(&x[..4]).kronecker(&Matrix2::from_column_slice(&x[4..])));
    statistics 5 |x| vector(x).mean() + vector(x).variance();
    convolution 7 |x| weighed(&vector(&x[..4]).convolve_full(vector(&x[4..])));
    determinant_2 4 |x| Matrix2::from_column_slice(x).determinant();
    determinant_3 9 |x| Matrix3::from_column_slice(x).determinant();
    determinant_4 16 |x| Matrix4::from_column_slice(x).determinant();
    determinant_6 36 |x| regular(x, 6).determinant();
    inverse_3 9 |x| weighed(&Matrix3::from_column_slice(x).try_inverse().expect("regular"));
    inverse_4 16 |x| weighed(&Matrix4::from_column_slice(x).try_inverse().expect("regular"));
    inverse_5 25 |x| weighed(&regular(x, 5).try_inverse().expect("regular"));
    lu 30 |x| weighed(&matrix(x, 5).lu().solve(&vector(&x[25..])).expect("regular"));
    full_pivoting 20 |x| weighed(&matrix(x, 4).full_piv_lu().solve(&vector(&x[16..])).expect("regular"));
    cholesky 20 |x| weighed(&positive(x, 4).cholesky().expect("positive").solve(&vector(&x[16..])));
    cholesky_factor 16 |x| weighed(&positive(x, 4).cholesky().expect("positive").l());
    cholesky_ln_determinant 16 |x| positive(x, 4).cholesky().expect("positive").ln_determinant();
    udu 9 |x| weighed(&nalgebra::UDU::new(positive(x, 3)).expect("positive").u);
    qr 20 |x| weighed(&matrix(x, 4).qr().solve(&vector(&x[16..])).expect("regular"));
    qr_factors 9 |x| { let qr = matrix(x, 3).qr(); weighed(&qr.q()) + weighed(&qr.r()) };
    pivoted_qr 20 |x| weighed(&matrix(x, 4).col_piv_qr().solve(&vector(&x[16..])).expect("regular"));
    hessenberg 16 |x| weighed(&matrix(x, 4).hessenberg().h());
    tridiagonal 16 |x| weighed(&symmetric(x, 4).symmetric_tridiagonalize().diagonal());
    symmetric_eigenvalues 16 |x| { let v = symmetric(x, 4).symmetric_eigen().eigenvalues; v.map(|v| v.powi(3)).sum() };
    eigenvectors 9 |x| weighed(&symmetric(x, 3).symmetric_eigen().eigenvectors.map(|v| v.powi(2)));
    singular_values 12 |x| weighed(&DMatrix::from_column_slice(4, 3, x).singular_values());
    pseudo_inverse 12 |x| weighed(&DMatrix::from_column_slice(4, 3, x).pseudo_inverse(c(1e-12)).expect("full rank"));
    least_squares 16 |x| {
        let svd = DMatrix::from_column_slice(4, 3, &x[..12]).svd(true, true);
        weighed(&svd.solve(&vector(&x[12..]), c(1e-12)).expect("both sets of vectors"))
    };
    exponential 9 |x| weighed(&matrix(x, 3).exp());
    power 9 |x| weighed(&matrix(x, 3).pow(3));
    rotation_2 3 |x| weighed(&(Rotation2::new(x[0].clone()) * nalgebra::Vector2::new(x[1].clone(), x[2].clone())));
    unit_complex 2 |x| UnitComplex::new(x[0].clone()).slerp(&UnitComplex::new(x[1].clone()), c(0.3)).angle();
    axis_and_angle 7 |x| {
        let axis = Unit::new_normalize(three(x));
        weighed(&(Rotation3::from_axis_angle(&axis, x[3].clone()) * three(&x[4..])))
    };
    euler_angles 3 |x| {
        let (roll, pitch, yaw) = Rotation3::from_euler_angles(x[0].clone(), x[1].clone(), x[2].clone()).euler_angles();
        roll * c(2.0) - pitch * c(3.0) + yaw
    };
    scaled_axis 3 |x| weighed(&Rotation3::new(three(x)).scaled_axis());
    rotation_between 6 |x| Rotation3::rotation_between(&three(x), &three(&x[3..])).expect("not opposite").angle();
    look_at 6 |x| weighed(Rotation3::face_towards(&three(x), &three(&x[3..])).matrix());
    quaternion_rotates 6 |x| weighed(&(quaternion(x) * three(&x[3..])));
    quaternion_composes 6 |x| weighed(&(quaternion(x) * quaternion(&x[3..]).inverse()).coords);
    quaternion_angle 6 |x| quaternion(x).angle_to(&quaternion(&x[3..]));
    quaternion_slerp 6 |x| weighed(&quaternion(x).slerp(&quaternion(&x[3..]), c(0.4)).coords);
    quaternion_to_matrix 3 |x| weighed(quaternion(x).to_rotation_matrix().matrix());
    quaternion_from_matrix 3 |x| weighed(&UnitQuaternion::from_rotation_matrix(&Rotation3::new(three(x))).coords);
    quaternion_power 3 |x| weighed(&quaternion(x).powf(c(0.7)).coords);
    quaternion_normalizes 4 |x| {
        let q = nalgebra::Quaternion::from(Vector4::from_column_slice(x));
        weighed(&UnitQuaternion::from_quaternion(q).coords)
    };
    isometry 9 |x| {
        let motion = Isometry3::from_parts(Translation3::from(three(x)), quaternion(&x[3..]));
        weighed(&motion.inverse().transform_point(&Point3::from(three(&x[6..]))).coords)
    };
    similarity 10 |x| {
        let motion = Similarity3::new(three(x), three(&x[3..]), x[9].clone() + c(2.0));
        weighed(&motion.inverse_transform_vector(&three(&x[6..])))
    };
}
