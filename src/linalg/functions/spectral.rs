//! Functions of symmetric matrices.

use super::divided::{Derivatives, Divided, derivatives};
use super::record::{add, epsilon, filled, record, tangents_alone, three, turned, values};
use super::svd::{is_right, scaled};
use crate::linalg::backend::{Backend, Block};
use crate::linalg::element::{At, Element, Plain, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::matrix::{Matrix, Operand, square};
use crate::linalg::multiply::times;
use crate::linalg::system::{fold_lower, spread_lower};
use tapewright_strategies::{Float, Unary};

/// f(A) for a symmetric matrix A and a scalar function f, as one entry: V·f(Λ)·Vᵀ with the eigenvalues Λ and the
/// eigenvectors V.
///
/// The function is a rule, as for a [custom function](tapewright_strategies::Unary), and must be smooth at the
/// eigenvalues. Its derivative is V·(f\[λᵢ, λⱼ\]∘(Vᵀ·Ȧ·V))·Vᵀ with divided differences (Daleckii and Krein; Higham,
/// Functions of Matrices, theorem 3.11), which are accurate however close eigenvalues come: the derivative is right
/// where eigenvalues coincide, too. A projection to the space of some eigenvectors is the function that is 1 at their
/// eigenvalues and 0 at the others.
///
/// Only the lower triangle is read, and only its variables are inputs, as with [`Cholesky`](crate::linalg::Cholesky).
/// Derivatives up to the third are found; those of higher order are NaN.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, Float, Unary, linalg::symmetric_function, prelude::*};
///
/// /// x³.
/// struct Cube;
/// impl Unary for Cube {
///     fn value<V: Float>(x: V) -> V { x * x * x }
///     fn derivative<V: Float>(x: V, _: V) -> V { V::from_f64(3.0) * x * x }
/// }
///
/// fn corner<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let a = DMatrix::from_column_slice(2, 2, Closed::wrap_slice(x));
///     symmetric_function::<Cube, _>(&a).expect("finite")[(1, 0)].clone().open()
/// }
///
/// // At the identity A³ moves by 3·Ȧ.
/// let slopes = gradient::<Jacobian>(corner, &[1.0, 0.0, 0.0, 1.0]);
/// assert!(slopes.iter().zip([0.0, 3.0, 0.0, 0.0]).all(|(found, right)| (found - right).abs() < 1e-14));
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is empty, not square, or has an infinite or NaN entry in its lower triangle; when f is not finite at
/// an eigenvalue, or if the matrix moves and f has no derivative there, or one that rounding of the eigenvalue (n·ε of
/// the largest) changes by half: [`LinalgError::NotSmooth`].
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn symmetric_function<R: Unary, M: Matrix>(matrix: &M) -> Result<M, LinalgError> {
    filled(matrix)?;
    let n = square(matrix)?;
    let function = Spectral { n, derivatives: derivatives::<R> };
    Ok(M::from_entries(n, n, record::<_, M>(function, &Operand::lower(matrix))?))
}

/// The rule of each of these functions, and the function.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $rule:ident |$a:ident| $value:expr, |$x:ident, $y:ident| $slope:expr;)*) => { $(
        struct $rule;
        impl Unary for $rule {
            fn value<V: Float>($a: V) -> V {
                $value
            }
            fn derivative<V: Float>($x: V, $y: V) -> V {
                $slope
            }
        }

        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// As [`symmetric_function`].
        ///
        /// # Panics
        ///
        /// As [`external`](crate::external()).
        #[track_caller]
        pub fn $name<M: Matrix>(matrix: &M) -> Result<M, LinalgError> {
            symmetric_function::<$rule, M>(matrix)
        }
    )* };
}

functions! {
    /// The square root of a symmetric positive definite matrix, itself symmetric and positive definite, as
    /// [`symmetric_function`]. Eigenvalues that are 0 within rounding are refused if the matrix moves.
    ///
    /// ```
    /// # #[cfg(feature = "nalgebra")] {
    /// use nalgebra::DMatrix;
    /// use tapewright::{Closed, linalg::symmetric_sqrt, prelude::*};
    ///
    /// let corner = |x: &[Real<Jacobian>]| {
    ///     let a = DMatrix::from_column_slice(2, 2, Closed::wrap_slice(x));
    ///     symmetric_sqrt(&a).expect("positive definite")[(1, 0)].open()
    /// };
    /// // 1/(√4 + √9).
    /// let slope = gradient(corner, &[4.0, 0.0, 0.0, 9.0]);
    /// assert!((slope[1] - 0.2).abs() < 1e-15);
    /// # }
    /// ```
    symmetric_sqrt SquareRoot |x| x.sqrt(), |_x, y| V::from_f64(0.5) / y;
    /// The inverse square root of a symmetric positive definite matrix; see [`symmetric_function`].
    symmetric_inverse_sqrt InverseSquareRoot |x| V::ONE / x.sqrt(), |x, y| V::from_f64(-0.5) * y / x;
    /// The logarithm of a symmetric positive definite matrix; see [`symmetric_function`].
    symmetric_ln Logarithm |x| x.ln(), |x, _y| V::ONE / x;
    /// The exponential of a symmetric matrix; see [`symmetric_function`].
    symmetric_exp Exponential |x| x.exp(), |_x, y| y;
}

/// f(A). The inputs are the lower triangle of A; found are f(A), V, and Λ in ascending order.
struct Spectral {
    n: usize,
    derivatives: Derivatives,
}

impl Spectral {
    /// V and Λ.
    fn frame<'a, V>(&self, found: &'a [V]) -> (Block<'a, V>, &'a [V]) {
        let (vectors, eigenvalues) = found[self.n * self.n..].split_at(self.n * self.n);
        (Block::new(vectors, self.n), eigenvalues)
    }

    /// The derivative of f at A along a symmetric matrix. It is symmetric, too.
    fn along<V: Element, B: Backend<V::Scalar>>(&self, At { matrix, found }: At<'_, V>, direction: &[V]) -> Vec<V> {
        let (n, (v, eigenvalues)) = (self.n, self.frame(found));
        let turn = |matrix: &[V]| three::<V, B>(v.t(), Block::new(matrix, n), v);
        let inner = turn(direction);
        // What moves the matrix over duals.
        let nil = if V::ORDER == 0 { Vec::new() } else { tangents_alone(&turn(&spread_lower(n, matrix))) };
        let lane = |lane: usize| {
            let part = |numbers: &[V]| numbers.iter().map(|number| number.lane(lane)).collect::<Vec<_>>();
            let points = values(eigenvalues, lane);
            Chains { n, divided: Divided::new(&points, self.derivatives) }.sum(&part(&nil), &part(&inner))
        };
        let lanes: Vec<Vec<V::Lane>> = (0..V::LANES).map(lane).collect();
        let core: Vec<V> = (0..n * n).map(|k| V::from_lanes(|lane| lanes[lane][k])).collect();
        let mut moved = three::<V, B>(v, Block::new(&core, n), v.t());
        symmetrise(n, &mut moved);
        moved
    }
}

/// Copies the lower triangle to the upper one.
fn symmetrise<V: Copy>(n: usize, matrix: &mut [V]) {
    (0..n).for_each(|j| (0..j).for_each(|i| matrix[j * n + i] = matrix[i * n + j]));
}

/// The sums of products along chains of indices, each with the divided difference of its points.
struct Chains<'a> {
    n: usize,
    divided: Divided<'a>,
}

impl Chains<'_> {
    /// Σ f\[λᵢ, …, λⱼ\]·Nᵢₖ·…·Eₗₘ·…·Nₚⱼ over all chains with one factor E and so many N as are not always 0.
    fn sum<L: Float>(&self, nil: &[L], direction: &[L]) -> Vec<L> {
        let mut sum = vec![L::ZERO; self.n * self.n];
        for order in 0..=L::ORDER {
            for place in 0..=order {
                let factors: Vec<&[L]> = (0..=order).map(|k| if k == place { direction } else { nil }).collect();
                (0..self.n).for_each(|first| self.extend(&mut vec![first], L::ONE, &factors, &mut sum));
            }
        }
        sum
    }

    fn extend<L: Float>(&self, chain: &mut Vec<usize>, product: L, factors: &[&[L]], sum: &mut [L]) {
        let last = chain[chain.len() - 1];
        let Some((factor, rest)) = factors.split_first() else {
            sum[last * self.n + chain[0]] += product * L::from_f64(self.divided.of(chain));
            return;
        };
        for next in 0..self.n {
            let factor = factor[next * self.n + last];
            if !factor.is_nought() {
                chain.push(next);
                self.extend(chain, product * factor, rest, sum);
                chain.pop();
            }
        }
    }
}

impl Smooth for Spectral {
    const NAME: &'static str = "function of a symmetric matrix";

    fn results(&self) -> usize {
        self.n * self.n
    }

    fn floats<V: Plain + Element<Scalar = V>, B: Backend<V>>(&self, triangle: &[V]) -> Result<Vec<V>, LinalgError> {
        let n = self.n;
        let (triangle, unit) = scaled(triangle);
        let mut eigenvalues = V::eigen::<B>(n, &triangle)?;
        let vectors = eigenvalues.split_off(n);
        if !is_right::<V, B>((n, n), &spread_lower(n, &triangle), &vectors, &eigenvalues, &vectors) {
            return Err(LinalgError::NoConvergence);
        }
        eigenvalues.iter_mut().for_each(|value| *value = *value * unit);
        let images: Vec<f64> = eigenvalues.iter().map(|value| (self.derivatives)(0, value.as_f64())).collect();
        if let Some(index) = images.iter().position(|image| !image.is_finite()) {
            return Err(not_smooth(index, eigenvalues[index].as_f64()));
        }
        let scaled: Vec<V> = (0..n * n).map(|k| vectors[k] * V::from_f64(images[k / n])).collect();
        let mut found = times::<V, B>(Block::new(&scaled, n), Block::new(&vectors, n).t());
        symmetrise(n, &mut found);
        found.extend(vectors);
        found.extend(eigenvalues);
        Ok(found)
    }

    fn differentiable<V: Element>(&self, found: &[V]) -> Result<(), LinalgError> {
        let eigenvalues = self.frame(found).1;
        (0..V::LANES).try_for_each(|lane| smooth_at(self.derivatives, &values(eigenvalues, lane), epsilon::<V>()))
    }

    fn moved<V: Element, B: Backend<V::Scalar>>(
        &self,
        at: At<'_, V>,
        along: &[V],
        whole: bool,
    ) -> Result<Vec<V>, LinalgError> {
        let mut moved = self.along::<V, B>(at, &spread_lower(self.n, along));
        if whole {
            moved.resize(at.found.len(), V::ZERO);
        }
        Ok(moved)
    }

    fn adjoints<V: Element, B: Backend<V::Scalar>>(&self, at: At<'_, V>, seeds: &[V]) -> Result<Vec<V>, LinalgError> {
        // The derivative is its own transpose, on symmetric matrices.
        let mut symmetric = turned(self.n, seeds);
        add(&mut symmetric, 1.0, seeds);
        let half = V::from_f64(0.5);
        symmetric.iter_mut().for_each(|entry| *entry = half * *entry);
        let full = self.along::<V, B>(at, &symmetric);
        let mut adjoints = vec![V::ZERO; at.matrix.len()];
        fold_lower(self.n, &full, &mut adjoints);
        Ok(adjoints)
    }
}

fn not_smooth(index: usize, eigenvalue: f64) -> LinalgError {
    LinalgError::NotSmooth { index, eigenvalue: eigenvalue.to_string() }
}

/// Refuses eigenvalues at which the slope of f, or f itself, is not the same within the rounding of eigenvalues.
fn smooth_at(derivatives: Derivatives, eigenvalues: &[f64], epsilon: f64) -> Result<(), LinalgError> {
    let f = |x: f64| derivatives(0, x);
    let slope = |x: f64| derivatives(1, x);
    let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(f64::abs).fold(0.0, f64::max);
    #[allow(clippy::cast_precision_loss, reason = "the size is small")]
    let near = eigenvalues.len() as f64 * epsilon * largest(&mut eigenvalues.iter().copied());
    let steepest = largest(&mut eigenvalues.iter().map(|x| slope(*x)));
    let rounding = 64.0 * epsilon * largest(&mut eigenvalues.iter().map(|x| f(*x)));
    for (index, x) in eigenvalues.iter().enumerate() {
        let [below, at, above] = [x - near, *x, x + near].map(slope);
        let top = below.abs().max(at.abs()).max(above.abs());
        let turns = (above - below).abs() > 0.5 * steepest;
        let jumps = (f(x + near) - f(x - near)).abs() > 4.0 * near * top + rounding;
        if !(below + at + above).is_finite() || turns || jumps {
            return Err(not_smooth(index, *x));
        }
    }
    Ok(())
}
