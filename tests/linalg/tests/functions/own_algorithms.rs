//! nalgebra's own algorithms over closed variables at special matrices: which are right there, and which are not.

use super::rows::weight;
use nalgebra::{Matrix3, Rotation3, UnitQuaternion, Vector3};
use tapewright::Closed;
use tapewright::linalg;
use tapewright::prelude::*;
use tapewright_linalg_tests::scattered;

type C = Closed<Jacobian>;
type M = Matrix3<C>;

/// The special matrices, and one in no order.
fn matrices() -> [(&'static str, Matrix3<f64>); 8] {
    [
        ("identity", Matrix3::identity()),
        ("diag(1, 2, 3)", Matrix3::from_diagonal(&[1.0, 2.0, 3.0].into())),
        ("120°", Matrix3::new(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
        ("I + 11ᵀ", Matrix3::identity() + Matrix3::repeat(1.0)),
        ("zero column", Matrix3::new(1.0, 0.0, 2.0, -1.0, 0.0, 1.0, 3.0, 0.0, 1.0)),
        ("diag(1, 1, 0)", Matrix3::from_diagonal(&[1.0, 1.0, 0.0].into())),
        ("triangle", Matrix3::new(2.0, 1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 5.0)),
        ("no order", Matrix3::from_column_slice(&scattered(9)) + Matrix3::identity() * 2.0),
    ]
}

fn weighed<'a>(entries: impl IntoIterator<Item = &'a C>) -> C {
    entries.into_iter().enumerate().fold(C::default(), |sum, (k, entry)| sum + *entry * weight(k))
}

fn right() -> Vector3<C> {
    Vector3::new(1.0, -2.0, 0.5).map(C::from)
}

fn dense(m: &M) -> nalgebra::DMatrix<C> {
    nalgebra::DMatrix::from_column_slice(3, 3, m.as_slice())
}

/// A function of a matrix, and the same by what is known to be right; `None` where it has no derivative.
type Pair = (fn(M) -> Option<C>, fn(M) -> Option<C>);

#[allow(clippy::unnecessary_wraps, reason = "as the others of a pair")]
fn itself(m: M) -> Option<C> {
    Some(weighed(&m))
}

fn symmetric_itself(m: M) -> Option<C> {
    itself((m + m.transpose()) * C::from(0.5))
}

fn symmetric(m: M) -> M {
    (m + m.transpose()) * C::from(0.5)
}

fn solved(m: M) -> Option<C> {
    Some(weighed(&linalg::solve(&dense(&m), &nalgebra::DVector::from_column_slice(right().as_slice())).ok()?))
}

fn symmetric_solved(m: M) -> Option<C> {
    solved(symmetric(m))
}

fn pseudo_inverse(m: M) -> Option<C> {
    Some(weighed(&linalg::pseudo_inverse(&dense(&m), 1e-12).ok()?))
}

fn least_squares(m: M) -> Option<C> {
    let right = nalgebra::DVector::from_column_slice(right().as_slice());
    Some(weighed(&linalg::least_squares(&dense(&m), &right, 1e-12).ok()?))
}

fn orthogonal(m: M) -> Option<C> {
    Some(weighed(&linalg::nearest_orthogonal(&dense(&m), 1e-12).ok()?))
}

fn rotation(m: M) -> Option<C> {
    Some(weighed(&linalg::nearest_rotation(&dense(&m), 1e-12).ok()?))
}

fn determinant(m: M) -> Option<C> {
    linalg::determinant(&dense(&m)).ok()
}

fn sum_of_singular_values(m: M) -> Option<C> {
    Some(linalg::singular_values(&dense(&m)).ok()?.into_iter().fold(C::default(), |sum, value| sum + value))
}

/// Σ λ³, which is tr A³.
#[allow(clippy::unnecessary_wraps, reason = "as the others of a pair")]
fn cubes(m: M) -> Option<C> {
    Some((m * m * m).trace())
}

/// For each algorithm, + where it is right at these matrices, in their order, − where it is wrong, and · where it has no
/// result or no derivative.
const ALGORITHMS: &[(&str, Pair, &str)] = &[
    ("determinant", (|m| Some(m.determinant()), determinant), "++++++++"),
    ("lu().determinant", (|m| Some(m.lu().determinant()), determinant), "++++−+++"),
    ("full_piv_lu().determinant", (|m| Some(m.full_piv_lu().determinant()), determinant), "++++−−++"),
    ("lu().solve", (|m| Some(weighed(&m.lu().solve(&right())?)), solved), "++++··++"),
    ("full_piv_lu().solve", (|m| Some(weighed(&m.full_piv_lu().solve(&right())?)), solved), "++++··++"),
    ("qr().solve", (|m| Some(weighed(&m.qr().solve(&right())?)), solved), "++++··++"),
    ("col_piv_qr().solve", (|m| Some(weighed(&m.col_piv_qr().solve(&right())?)), solved), "++++··++"),
    (
        "q·r of qr",
        (
            |m| {
                let qr = m.qr();
                itself(qr.q() * qr.r())
            },
            itself,
        ),
        "++++−+++",
    ),
    ("cholesky().solve", (|m| Some(weighed(&symmetric(m).cholesky()?.solve(&right()))), symmetric_solved), "++·+··++"),
    ("try_inverse", (|m| Some(weighed(&m.try_inverse()?)), pseudo_inverse), "++++··++"),
    (
        "svd().solve",
        (|m| Some(weighed(&m.svd(true, true).solve(&right(), C::from(1e-12)).ok()?)), least_squares),
        "−−−−−−−+",
    ),
    ("pseudo_inverse", (|m| Some(weighed(&m.pseudo_inverse(C::from(1e-12)).ok()?)), pseudo_inverse), "−−−−−−−+"),
    (
        "u·vᵀ of svd",
        (
            |m| {
                let svd = m.svd(true, true);
                itself(svd.u? * svd.v_t?)
            },
            orthogonal,
        ),
        "−−−−··−+",
    ),
    ("u·s·vᵀ of svd", (|m| itself(m.svd(true, true).recompose().ok()?), itself), "−−−−−−−+"),
    ("sum of singular_values", (|m| Some(m.singular_values().sum()), sum_of_singular_values), "++++··++"),
    (
        "u·d·vᵀ of bidiagonalize",
        (
            |m| {
                let (u, d, v) = m.bidiagonalize().unpack();
                itself(u * d * v)
            },
            itself,
        ),
        "−−−++−−+",
    ),
    (
        "q·h·qᵀ of hessenberg",
        (
            |m| {
                let (q, h) = m.hessenberg().unpack();
                itself(q * h * q.transpose())
            },
            itself,
        ),
        "−−+++−−+",
    ),
    (
        "q·t·qᵀ of schur",
        (
            |m| {
                let (q, t) = m.schur().unpack();
                itself(q * t * q.transpose())
            },
            itself,
        ),
        "−−−−+−−+",
    ),
    (
        "q·t·qᵀ of symmetric_tridiagonalize",
        (|m| itself(symmetric(m).symmetric_tridiagonalize().recompose()), symmetric_itself),
        "−−+++−−+",
    ),
    (
        "v·λ·vᵀ of symmetric_eigen",
        (|m| itself(symmetric(m).symmetric_eigen().recompose()), symmetric_itself),
        "−−−−+−−+",
    ),
    (
        "λ of symmetric_eigen",
        (|m| Some(symmetric(m).symmetric_eigen().eigenvalues.map(|v| v * v * v).sum()), |m| cubes(symmetric(m))),
        "++++++++",
    ),
    (
        "complex_eigenvalues",
        (
            |m| {
                Some(
                    m.complex_eigenvalues()
                        .iter()
                        .fold(C::default(), |sum, v| sum + v.re * v.re * v.re - v.re * v.im * v.im * 3.0),
                )
            },
            cubes,
        ),
        "++−+++−+",
    ),
    ("Rotation3::from_matrix", (|m| itself(*Rotation3::from_matrix(&m).matrix()), rotation), "−−−−+−++"),
    (
        "UnitQuaternion::from_matrix",
        (|m| itself(*UnitQuaternion::from_matrix(&m).to_rotation_matrix().matrix()), rotation),
        "−−−−+−++",
    ),
];

fn slopes(f: fn(M) -> Option<C>, at: &Matrix3<f64>) -> Option<Vec<f64>> {
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(at.as_slice());
        let y = f(Matrix3::from_column_slice(Closed::wrap_slice(&inputs)));
        (inputs, y)
    });
    let y = y?;
    tape.sweep(&[(y.as_real(), 1.0)]).ok()?.of_all(&inputs).ok()
}

#[test]
fn where_they_are_right() {
    let mut wrong = Vec::new();
    for (name, (theirs, known), expected) in ALGORITHMS {
        let sign = |at: &Matrix3<f64>| {
            let (Some(known), Some(found)) = (slopes(*known, at), slopes(*theirs, at)) else { return '·' };
            if super::off(&found, &known) < 1e-9 { '+' } else { '−' }
        };
        let found: String = matrices().iter().map(|(_, at)| sign(at)).collect();
        if found != *expected {
            wrong.push(format!("{name}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The book has the same table.
#[test]
fn the_book_says_so() {
    let chapter = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/equations.md");
    let chapter = std::fs::read_to_string(chapter).expect("the chapter can be read");
    for (name, _, signs) in ALGORITHMS {
        let row = chapter.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap_or_default();
        let cells: String = row.split('|').skip(2).take(signs.chars().count()).map(str::trim).collect();
        assert_eq!(cells, *signs, "{name}: {row}");
    }
}
