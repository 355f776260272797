//! Branches of nalgebra and num-complex over closed variables that hide a derivative are reported, and branches that
//! hide none are not.

use nalgebra::{DMatrix, Isometry3, Matrix2, Matrix3, Matrix4, Point3, Quaternion, Rotation3, UnitQuaternion, Vector3};
use tapewright::prelude::*;
use tapewright::trace::HiddenBranches;
use tapewright::{Checked, Closed, Error, SweepError, Traced, hidden_branches};

type Forwards = Tangent<4>;

/// Strategies over double precision.
trait Double: Strategy<Value = f64> {}
impl<S: Strategy<Value = f64>> Double for S {}

/// What is reported in forward mode.
fn forwards(x: &[f64], f: fn(&[Closed<Forwards>]) -> Closed<Forwards>) -> HiddenBranches {
    hidden_branches(|| jacobian_forward::<Forwards>(|x| vec![f(Closed::wrap_slice(x)).open()], x)).1
}

/// The name, the point, and code of another crate.
type Row<C> = (&'static str, &'static [f64], fn(&[C]) -> C);

fn axis<S: Double>(x: &[Closed<S>]) -> Vector3<Closed<S>> {
    Vector3::new(x[0], x[1], x[2])
}

fn point<S: Double>() -> Vector3<Closed<S>> {
    Vector3::new(Closed::from(1.0), Closed::from(2.0), Closed::from(3.0))
}

fn matrix<S: Double>(x: &[Closed<S>]) -> DMatrix<Closed<S>> {
    let n = x.len().isqrt();
    DMatrix::from_column_slice(n, n, x)
}

const EYE: &[f64] = &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
const DIAGONAL: &[f64] = &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0];
const TURN: &[f64] = &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
const ONES: &[f64] = &[2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0];
const FULL: &[f64] = &[4.0, 1.0, -0.5, 1.0, 3.0, 0.25, -0.5, 0.25, 2.0];
/// Its pivots tie in both columns.
const TIED: &[f64] = &[2.0, 2.0, -2.0, 1.0, 3.0, 1.0, 0.5, 1.0, -2.0];

/// Its second column is the first one: a reflection leaves rounding in place of 0.
const COLLINEAR: &[f64] = &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0];

struct Rows<S>(S);

impl<S: Double> Rows<S> {
    const HIDING: &'static [Row<Closed<S>>] = &[
        ("UnitQuaternion::from_scaled_axis", &[0.0; 3], |x| (UnitQuaternion::from_scaled_axis(axis(x)) * point()).x),
        ("one of a tiny angle", &[1e-17; 3], |x| (UnitQuaternion::from_scaled_axis(axis(x)) * point()).x),
        ("Rotation3::new", &[0.0; 3], |x| (Rotation3::new(axis(x)) * point()).y),
        ("Isometry3::new", &[0.0; 3], |x| (Isometry3::new(point(), axis(x)) * Point3::from(point())).z),
        ("exp of a quaternion", &[0.0; 3], |x| Quaternion::from_imag(axis(x)).exp().i),
        ("scaled_axis", &[0.0; 3], |x| UnitQuaternion::from_euler_angles(x[0], x[1], x[2]).scaled_axis().x),
        ("angle", &[0.0; 3], |x| UnitQuaternion::from_euler_angles(x[0], x[1], x[2]).angle()),
        ("powf", &[0.0; 3], |x| UnitQuaternion::from_euler_angles(x[0], x[1], x[2]).powf(Closed::from(0.5)).i),
        ("rotation_between", &[1.0, 2.0, 3.0], |x| UnitQuaternion::rotation_between(&axis(x), &point()).unwrap().i),
        ("slerp", &[0.0; 3], |x| {
            let q = UnitQuaternion::from_euler_angles(x[0], x[1], x[2]);
            UnitQuaternion::identity().slerp(&q, Closed::from(0.5)).i
        }),
        ("slerp of a rotation to itself", &[1.16, 0.288, -0.236], |x| {
            let here = UnitQuaternion::from_euler_angles(Closed::from(1.16), Closed::from(0.288), Closed::from(-0.236));
            here.slerp(&UnitQuaternion::from_euler_angles(x[0], x[1], x[2]), Closed::from(0.5)).i
        }),
        ("Rotation3::from_matrix", EYE, |x| Rotation3::from_matrix(&Matrix3::from_column_slice(x))[(0, 1)]),
        ("the same at a turn of 120°", TURN, |x| Rotation3::from_matrix(&Matrix3::from_column_slice(x))[(0, 1)]),
        ("SVD of the identity", EYE, |x| matrix(x).svd(true, true).recompose().unwrap()[(0, 1)]),
        ("SVD of a diagonal matrix", DIAGONAL, |x| matrix(x).svd(true, true).recompose().unwrap()[(0, 1)]),
        ("SVD of a permutation", TURN, |x| matrix(x).svd(true, true).recompose().unwrap()[(0, 1)]),
        ("SVD of I + 11ᵀ", ONES, |x| matrix(x).svd(true, true).recompose().unwrap()[(0, 1)]),
        ("eigenvectors of a diagonal matrix", DIAGONAL, |x| matrix(x).symmetric_eigen().recompose()[(1, 0)]),
        ("eigenvectors of I + 11ᵀ", ONES, |x| matrix(x).symmetric_eigen().recompose()[(1, 0)]),
        ("pseudo-inverse of a diagonal matrix", DIAGONAL, |x| {
            matrix(x).pseudo_inverse(Closed::from(1e-12)).unwrap()[(0, 1)]
        }),
        ("Hessenberg form", DIAGONAL, |x| matrix(x).hessenberg().h()[(2, 0)]),
        ("tridiagonal form", DIAGONAL, |x| matrix(x).symmetric_tridiagonalize().recompose()[(2, 0)]),
        ("bidiagonal form", DIAGONAL, |x| matrix(x).bidiagonalize().u()[(2, 0)]),
        ("Schur form", DIAGONAL, |x| matrix(x).schur().unpack().1[(2, 0)]),
        ("QR of collinear columns", COLLINEAR, |x| {
            let found = matrix(x).qr();
            (found.q() * found.r())[(0, 1)]
        }),
        ("Schur form of a matrix of rank 2", &[0.0, 2.0, 2.0, -1.0, 2.0, 2.0, 0.0, 0.0, 0.0], |x| {
            let (q, t) = matrix(x).schur().unpack();
            (q.clone() * t * q.transpose())[(0, 2)]
        }),
        ("eigenvectors of 11ᵀ − I", &[0.0, 1.5, 1.5, 1.5, 0.0, 1.5, 1.5, 1.5, 0.0], |x| {
            matrix(x).symmetric_eigen().recompose()[(1, 0)]
        }),
        ("hypot of nought", &[0.0, 0.0], |x| x[0].hypot(x[1]).powi(2)),
        ("the library's own angle at the identity", &[0.0; 3], |x| {
            tapewright::rotations::angle(&UnitQuaternion::from_euler_angles(x[0], x[1], x[2])).powi(2)
        }),
        ("full pivoting of a singular matrix", &[0.0, 0.0, 0.0, 1.0], |x| {
            Matrix2::from_row_slice(x).full_piv_lu().determinant()
        }),
        ("eigenvalues of a triangular matrix", &[2.0, 1.0, 0.0, 3.0], |x| {
            Matrix2::from_row_slice(x).complex_eigenvalues()[0].re
        }),
    ];

    const HARMLESS: &'static [Row<Closed<S>>] = &[
        ("a rotation by an ordinary angle", &[0.3, -0.2, 0.1], |x| (Rotation3::new(axis(x)) * point()).x),
        ("a rotation by a small angle", &[1e-3; 3], |x| (UnitQuaternion::from_scaled_axis(axis(x)) * point()).x),
        ("LU", FULL, |x| matrix(x).lu().solve(&DMatrix::from_element(3, 1, Closed::from(1.0))).unwrap()[0]),
        ("LU with pivots that tie", TIED, |x| matrix(x).lu().determinant()),
        ("LU of I + 11ᵀ", ONES, |x| matrix(x).lu().determinant()),
        ("LU of tiny numbers", &[1e-12, 2e-12, 3e-12, 4e-12], |x| {
            matrix(x).lu().solve(&DMatrix::from_element(2, 1, Closed::from(1.0))).unwrap()[0]
        }),
        ("LU of numbers of 10⁻²⁰⁰", &[1e-200, 2e-200, 3e-200, 4e-200], |x| {
            matrix(x).lu().solve(&DMatrix::from_element(2, 1, Closed::from(1e-200))).unwrap()[0]
        }),
        ("full pivoting of numbers of 10⁻²⁰⁰", &[1e-200, 2e-200, 3e-200, 5e-200], |x| {
            matrix(x).full_piv_lu().u()[(1, 1)]
        }),
        ("QR of tiny numbers", &[1e-12, 2e-12, 3e-12, 4e-12], |x| matrix(x).qr().r()[(0, 1)]),
        ("the library's own logarithm at the identity", &[0.0; 3], |x| {
            tapewright::rotations::log(&UnitQuaternion::from_euler_angles(x[0], x[1], x[2])).x
        }),
        ("LU of the identity", EYE, |x| {
            matrix(x).lu().solve(&DMatrix::from_element(3, 1, Closed::from(1.0))).unwrap()[0]
        }),
        ("full pivoting", TIED, |x| matrix(x).full_piv_lu().determinant()),
        ("QR", FULL, |x| matrix(x).qr().r()[(0, 1)]),
        ("QR whose first entry is 0", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.5, 2.0, 0.5, 1.0], |x| matrix(x).qr().r()[(0, 1)]),
        ("Cholesky", FULL, |x| matrix(x).cholesky().unwrap().l()[(2, 1)]),
        ("the inverse", FULL, |x| matrix(x).try_inverse().unwrap()[(0, 2)]),
        (
            "the determinant of a 4×4 matrix",
            &[4.0, 1.0, 0.5, 0.2, 1.0, 3.0, 0.3, 0.1, 0.5, 0.3, 2.0, 0.4, 0.2, 0.1, 0.4, 1.0],
            |x| Matrix4::from_row_slice(x).determinant(),
        ),
    ];
}

#[test]
fn branches_that_hide_a_derivative_are_reported() {
    for (name, x, f) in Rows::<Jacobian>::HIDING {
        let (_, branches) = hidden_branches(|| gradient::<Jacobian>(|x| f(Closed::wrap_slice(x)).open(), x));
        assert!(!branches.is_empty(), "{name} at {x:?} is not reported");
    }
    for (name, x, f) in Rows::<Forwards>::HIDING {
        assert!(!forwards(x, *f).is_empty(), "{name} at {x:?} is not reported in forward mode");
    }
}

/// Iterations of nalgebra divide a matrix by its largest entry first.
#[test]
fn branches_that_iterations_hide_are_reported_of_tiny_matrices_too() {
    let of_matrices =
        |name: &str| ["SVD", "eigenvectors", "pseudo", "form", "QR"].iter().any(|part| name.contains(part));
    let rows = Rows::<Jacobian>::HIDING.iter().filter(|(name, ..)| of_matrices(name));
    assert!(rows.clone().count() >= 14);
    for (name, x, f) in rows {
        let x: Vec<f64> = x.iter().map(|x| x * 1e-200).collect();
        let (_, branches) = hidden_branches(|| gradient::<Jacobian>(|x| f(Closed::wrap_slice(x)).open(), &x));
        assert!(!branches.is_empty(), "{name} at {x:?} is not reported");
    }
}

#[test]
fn others_are_not() {
    for (name, x, f) in Rows::<Jacobian>::HARMLESS {
        let (_, branches) = hidden_branches(|| gradient::<Jacobian>(|x| f(Closed::wrap_slice(x)).open(), x));
        assert!(branches.is_empty(), "{name} at {x:?}: {branches}");
    }
    for (name, x, f) in Rows::<Forwards>::HARMLESS {
        let branches = forwards(x, *f);
        assert!(branches.is_empty(), "{name} at {x:?} in forward mode: {branches}");
    }
}

#[test]
fn checked_names_the_foreign_line_and_tracing_the_own_one() {
    type S = Traced<Checked<Jacobian>>;
    let mut own = 0;
    let found = Tape::<S>::new().gradient(
        |x| {
            let angles = [x[0], x[1], x[2]].map(|x| (x * 2.0).eval());
            own = line!() - 1;
            let axis = Vector3::from(angles.map(Closed::from));
            (UnitQuaternion::from_scaled_axis(axis) * Vector3::x()).y.open()
        },
        &[0.0; 3],
        &mut [0.0; 3],
    );
    let Err(Error::Sweep(SweepError::HiddenBranch { file, statement: Some(statement), .. })) = found else {
        panic!("not refused: {found:?}")
    };
    assert!(!file.ends_with("hidden_branches.rs"), "{file}");
    assert!(statement.ends_with(&format!("hidden_branches.rs:{own}")), "{statement}");
}
