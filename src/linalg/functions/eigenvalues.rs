//! Eigenvalues of general matrices.

use super::record::{add, epsilon, filled, record, values};
use super::svd::scaled;
use crate::closed::Closed;
use crate::linalg::backend::{Backend, Block, Factors};
use crate::linalg::element::{At, Element, Plain, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::error::finite;
use crate::linalg::matrix::{Matrix, Operand, square};
use crate::linalg::multiply::times;
use tapewright_strategies::Number;

/// The eigenvalues of a square matrix, as pairs of real and imaginary part, as one entry; ascending in their real
/// parts. Those of a conjugate pair follow each other, first the one below the real axis. The rule keeps left and
/// right eigenvectors.
///
/// For a symmetric matrix take [`symmetric_eigenvalues`](crate::linalg::symmetric_eigenvalues).
///
/// # Eigenvalues that coincide
///
/// An eigenvalue has a derivative, uᴴ·Ȧ·v/uᴴ·v with its left and right eigenvectors (Magnus, Econometric Theory 1
/// (1985) 179–191), if no other one coincides with it. Those whose distance is at most √ε of the matrix, times the
/// condition of the eigenvalue |u|·|v|/|uᴴ·v|, count as one. A sweep is an error if it depends on one of them; forward
/// mode is an error, and so are duals if the matrix moves: [`LinalgError::EigenvalueNotSimple`].
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::eigenvalues, prelude::*};
///
/// let first = |x: &[Real<Jacobian>]| {
///     let a = DMatrix::from_row_slice(2, 2, Closed::wrap_slice(x));
///     eigenvalues(&a).expect("finite").remove(0).0.open()
/// };
/// // The smaller one of ⎡2 1⎤ moves by −x.
/// //                    ⎣x 3⎦
/// assert!((gradient(first, &[2.0, 1.0, 0.0, 3.0])[2] + 1.0).abs() < 1e-14);
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is empty, not square or not finite, or the iteration does not converge.
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
#[allow(clippy::type_complexity, reason = "the types say what is returned")]
pub fn eigenvalues<M: Matrix>(matrix: &M) -> Result<Vec<(Closed<M::Strategy>, Closed<M::Strategy>)>, LinalgError> {
    filled(matrix)?;
    let n = square(matrix)?;
    let mut real = record::<_, M>(Eigenvalues { n }, &Operand::matrix(matrix))?;
    let imaginary = real.split_off(n);
    Ok(real.into_iter().zip(imaginary).collect())
}

/// A·V = V·Λ and L·A = Λ·L with L·V = 1. Found are the real and imaginary parts of Λ, V, and L.
struct Eigenvalues {
    n: usize,
}

/// A complex matrix.
type Complex<V> = [Vec<V>; 2];

fn blocks<V>(n: usize, matrix: &Complex<V>) -> [Block<'_, V>; 2] {
    [Block::new(&matrix[0], n), Block::new(&matrix[1], n)]
}

fn product<V: Element, B: Backend<V::Scalar>>(n: usize, left: &Complex<V>, right: &Complex<V>) -> Complex<V> {
    let ([a, b], [c, d]) = (blocks(n, left), blocks(n, right));
    let (mut real, mut imaginary) = (times::<V, B>(a, c), times::<V, B>(a, d));
    V::multiply::<B>(-1.0, b, d, &mut real);
    V::multiply::<B>(1.0, b, c, &mut imaginary);
    [real, imaginary]
}

impl Eigenvalues {
    /// Λ, V and L.
    fn parts<V: Copy>(&self, found: &[V]) -> [Complex<V>; 3] {
        let n = self.n;
        let pair = |from: usize, size: usize| [found[from..][..size].to_vec(), found[from + size..][..size].to_vec()];
        [pair(0, n), pair(2 * n, n * n), pair(2 * n + 2 * n * n, n * n)]
    }

    /// The eigenvalue next to number `k`, if the two coincide.
    fn twin(&self, lambda: [&[f64]; 2], size: f64, condition: f64, k: usize) -> Option<usize> {
        let gap = |j: usize| (lambda[0][j] - lambda[0][k]).hypot(lambda[1][j] - lambda[1][k]);
        let next = (0..self.n).filter(|j| *j != k).min_by(|i, j| gap(*i).total_cmp(&gap(*j)))?;
        // A condition that is not finite is that of a matrix with too few eigenvectors.
        let apart = gap(next) > size * condition;
        (!apart).then_some(next)
    }

    /// Refuses eigenvalues that are asked for and not simple.
    fn simple<V: Element>(&self, at: At<'_, V>, asked: impl Fn(usize, usize) -> bool) -> Result<(), LinalgError> {
        let [lambda, v, l] = self.parts(at.found);
        for lane in 0..V::LANES {
            let norm = |numbers: &[V]| values(numbers, lane).iter().fold(0.0_f64, |norm, x| norm.hypot(*x));
            let rows = |matrix: &[V], k: usize| (0..self.n).map(|j| matrix[j * self.n + k]).collect::<Vec<_>>();
            let column = |matrix: &[V], k: usize| norm(&matrix[k * self.n..][..self.n]);
            let size = epsilon::<V>().sqrt() * norm(at.matrix);
            let lambda = [&*values(&lambda[0], lane), &*values(&lambda[1], lane)];
            for k in (0..self.n).filter(|k| asked(lane, *k)) {
                let right = column(&v[0], k).hypot(column(&v[1], k));
                let left = norm(&rows(&l[0], k)).hypot(norm(&rows(&l[1], k)));
                if let Some(other) = self.twin(lambda, size, left * right, k) {
                    return Err(LinalgError::EigenvalueNotSimple { index: k, other });
                }
            }
        }
        Ok(())
    }
}

impl Smooth for Eigenvalues {
    const NAME: &'static str = "eigenvalues";

    fn results(&self) -> usize {
        2 * self.n
    }

    fn floats<V: Plain + Element<Scalar = V>, B: Backend<V>>(&self, matrix: &[V]) -> Result<Vec<V>, LinalgError> {
        let n = self.n;
        finite(n, matrix)?;
        let (matrix, unit) = scaled(matrix);
        let mut lambda = B::eigenvalues(n, matrix.clone()).ok_or(LinalgError::NoConvergence)?;
        let key = |(re, im): &(V, V)| [re.as_f64(), im.as_f64().abs(), im.as_f64()];
        lambda.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(core::cmp::Ordering::Equal));
        let mut vectors = [const { Vec::new() }; 4];
        for value in &lambda {
            let parts = vectors_of::<V, B>(n, &matrix, *value).ok_or(LinalgError::NoConvergence)?;
            vectors.iter_mut().zip(parts).for_each(|(all, part)| all.extend(part));
        }
        let mut found: Vec<V> = lambda.iter().map(|value| value.0 * unit).collect();
        found.extend(lambda.iter().map(|value| value.1 * unit));
        let [right_real, right_imaginary, left_real, left_imaginary] = vectors;
        found.extend(right_real);
        found.extend(right_imaginary);
        found.extend(super::record::turned(n, &left_real));
        found.extend(super::record::turned(n, &left_imaginary));
        Ok(found)
    }

    /// Λ̇ = diag M, V̇ = V·(F∘M) and L̇ = −(F∘M)·L with M = L·Ȧ·V and Fᵢⱼ = 1/(λⱼ − λᵢ).
    fn moved<V: Element, B: Backend<V::Scalar>>(
        &self,
        at: At<'_, V>,
        along: &[V],
        whole: bool,
    ) -> Result<Vec<V>, LinalgError> {
        self.simple(at, |_, _| true)?;
        let (n, [lambda, v, l]) = (self.n, self.parts(at.found));
        let along = [along.to_vec(), vec![V::ZERO; n * n]];
        let mut m = product::<V, B>(n, &l, &product::<V, B>(n, &along, &v));
        let mut moved: Vec<V> = m.iter().flat_map(|part| (0..n).map(|k| part[k * n + k])).collect();
        if whole {
            let [real, imaginary] = &mut m;
            for (k, (re, im)) in real.iter_mut().zip(imaginary).enumerate() {
                let (i, j) = (k % n, k / n);
                let gap = [lambda[0][j] - lambda[0][i], lambda[1][j] - lambda[1][i]];
                [*re, *im] = if i == j { [V::ZERO; 2] } else { quotient([*re, *im], gap) };
            }
            moved.extend(product::<V, B>(n, &v, &m).concat());
            moved.extend(product::<V, B>(n, &m, &l).concat().iter().map(|entry| -*entry));
        }
        Ok(moved)
    }

    /// Ā = Re Lᵀ·(Vᵣ·D + Vᵢ·E)ᵀ + Im Lᵀ·(Vᵣ·E − Vᵢ·D)ᵀ with the adjoints D and E of real and imaginary parts.
    fn adjoints<V: Element, B: Backend<V::Scalar>>(&self, at: At<'_, V>, seeds: &[V]) -> Result<Vec<V>, LinalgError> {
        let (n, [_, v, l]) = (self.n, self.parts(at.found));
        let (real, imaginary) = seeds.split_at(n);
        let asked = |lane: usize, k: usize| !(real[k].lane(lane).is_nought() && imaginary[k].lane(lane).is_nought());
        self.simple(at, asked)?;
        let scaled = |matrix: &[V], by: &[V]| -> Vec<V> {
            let product = |(k, entry): (usize, &V)| if by[k / n].is_nought() { V::ZERO } else { *entry * by[k / n] };
            matrix.iter().enumerate().map(product).collect()
        };
        let (mut first, mut second) = (scaled(&v[0], real), scaled(&v[0], imaginary));
        add(&mut first, 1.0, &scaled(&v[1], imaginary));
        add(&mut second, -1.0, &scaled(&v[1], real));
        let mut adjoints = times::<V, B>(Block::new(&l[0], n).t(), Block::new(&first, n).t());
        V::multiply::<B>(1.0, Block::new(&l[1], n).t(), Block::new(&second, n).t(), &mut adjoints);
        Ok(adjoints)
    }
}

/// A complex quotient, whose divisor may be so large or small that its square is no number: the larger one of its parts
/// is taken out in each lane.
fn quotient<V: Element>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    let size = |lane: usize| c.lane(lane).as_f64().abs().max(d.lane(lane).as_f64().abs());
    let unit = V::from_lanes(|lane| V::Lane::from_f64(size(lane)));
    let (c, d) = (c / unit, d / unit);
    let square = c * c + d * d;
    [(a * c + b * d) / square / unit, (b * c - a * d) / square / unit]
}

/// A − λ for a complex λ, as a matrix of real and imaginary parts.
fn shifted<V: Plain>(n: usize, matrix: &[V], (real, imaginary): (V, V)) -> Vec<V> {
    let mut all = vec![V::ZERO; 4 * n * n];
    for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
        let entry = matrix[j * n + i] - if i == j { real } else { V::ZERO };
        all[j * 2 * n + i] = entry;
        all[(j + n) * 2 * n + i + n] = entry;
    }
    for k in 0..n {
        all[(k + n) * 2 * n + k] = imaginary;
        all[k * 2 * n + k + n] = -imaginary;
    }
    all
}

/// A real vector to begin an iteration with, followed by an imaginary part of 0.
fn start<V: Plain>(n: usize, by: f64) -> Vec<V> {
    let real = (0..n).map(|k| V::from_f64(by.mul_add(f64::from(u32::try_from(k % 7).unwrap_or(0)), 1.0)));
    real.chain((0..n).map(|_| V::ZERO)).collect()
}

/// The vectors that a nearly singular matrix and its transpose take to almost nothing, by inverse iteration. Some shift
/// keeps its factors regular.
fn iterated<V: Plain, B: Backend<V>>(n: usize, matrix: impl Fn(V) -> Vec<V>) -> Option<[Vec<V>; 2]> {
    // Where eigenvalues coincide, it takes the root of ε.
    let far = 8.0 / V::epsilon().as_f64().sqrt();
    let mut factors = [8.0, -12.0, 40.0, far].into_iter().map(|by| B::factorize(2 * n, matrix(V::from_f64(by))));
    let factors = factors.find(|found| found.pivots().iter().all(|pivot| !pivot.is_nought() && pivot.is_finite()))?;
    // Of three steps the one that grew most: what is left of A·v − λ·v is the reciprocal of its growth.
    let iterate = |by: f64, transposed: bool| {
        let (mut x, mut best) = (start::<V>(n, by), (V::ZERO, Vec::new()));
        for _ in 0..3 {
            if transposed {
                factors.solve_transposed(&mut x);
            } else {
                factors.solve(&mut x);
            }
            let growth = normalize(&mut x);
            if growth > best.0 {
                best = (growth, x.clone());
            }
        }
        (!best.1.is_empty()).then_some(best.1)
    };
    Some([iterate(0.3, false)?, iterate(-0.17, true)?])
}

/// The right eigenvector v of length 1 and the left one u with uᴴ·v = 1, as real and imaginary part of v and of uᴴ, by
/// inverse iteration; `None` if it is no eigenvalue.
fn vectors_of<V: Plain + Element<Scalar = V>, B: Backend<V>>(
    n: usize,
    matrix: &[V],
    lambda: (V, V),
) -> Option<[Vec<V>; 4]> {
    let mut size = top(matrix);
    if size.is_nought() {
        size = V::ONE;
    }
    let [v, u] = iterated::<V, B>(n, |by| shifted(n, matrix, (lambda.0 - V::epsilon() * size * by, lambda.1)))?;
    let rest = times::<V, B>(Block::new(&shifted(n, matrix, lambda), 2 * n), Block::new(&v, 2 * n));
    #[allow(clippy::cast_precision_loss, reason = "sizes are small")]
    let near = 1e4 * (n * n) as f64 * V::epsilon().as_f64() * size.as_f64();
    // Not finite is not near.
    let within = |near: f64| values(&rest, 0).iter().all(|rest| rest.abs() <= near);
    if !within(near) {
        // One of several that coincide may be found to some of its digits only: it has no vectors then.
        let (none, zero) = (vec![V::nan(); n], vec![V::ZERO; n]);
        let coarse = V::epsilon().as_f64().cbrt() * size.as_f64();
        return within(coarse).then(|| [none.clone(), none, zero.clone(), zero]);
    }
    let dot = |a: &[V], b: &[V]| a.iter().zip(b).fold(V::ZERO, |sum, (a, b)| sum + *a * *b);
    let ((vr, vi), (ur, ui)) = (v.split_at(n), u.split_at(n));
    let product = [dot(ur, vr) + dot(ui, vi), dot(ur, vi) - dot(ui, vr)];
    let left: Vec<[V; 2]> = ur.iter().zip(ui).map(|(r, i)| quotient([*r, -*i], product)).collect();
    Some([vr.to_vec(), vi.to_vec(), left.iter().map(|x| x[0]).collect(), left.iter().map(|x| x[1]).collect()])
}

/// The largest absolute value.
fn top<V: Plain>(numbers: &[V]) -> V {
    numbers.iter().fold(V::ZERO, |most, x| if Number::abs(*x) > most { Number::abs(*x) } else { most })
}

/// Scales a vector to the length 1, and returns the length that it had.
fn normalize<V: Plain>(x: &mut [V]) -> V {
    let top = top(x);
    x.iter_mut().for_each(|x| *x = *x / top);
    let norm = Number::sqrt(x.iter().fold(V::ZERO, |sum, x| sum + *x * *x));
    x.iter_mut().for_each(|x| *x = *x / norm);
    top * norm
}
