//! Numbers that may be entries of matrices, and operations on matrices of them.

use crate::linalg::backend::{Backend, Block};
use crate::linalg::error::LinalgError;
use crate::linalg::system::Dense;
use crate::linalg::system::System;
use std::borrow::Cow;
use tapewright_strategies::{Float, Number};

/// Floats that a library of linear algebra computes with: `f64` or `f32`.
pub trait Plain: Float {
    /// nalgebra, as the library for these floats.
    #[cfg(feature = "nalgebra")]
    type Nalgebra: Backend<Self>;
    /// The backend that calls faer for these floats.
    #[cfg(feature = "faer")]
    type Faer: Backend<Self>;
    /// The library that multiplies views: faer, if there are both.
    type Products: Backend<Self>;
    /// A sparse matrix of these floats with its factors.
    #[cfg(feature = "faer")]
    type Sparse: crate::linalg::system::Factorize<Self>;
}

/// A number that may be an entry of a matrix: `f64`, `f32`, a pack of them, or a dual of any of these, also of a dual.
///
/// Only floats are passed to a library. Its functions are lifted to the other numbers:
///
/// | number | factorizations of a matrix | a solution, beside the one with the values |
/// |---|---|---|
/// | [`Dual<V, N>`](tapewright_strategies::Dual) | as `V` | for each tangent a product, and a solution with the same factors: A·xₖ = bₖ − Aₖ·x |
/// | `Pack<N>` | one for each lane; one in all, if the lanes agree, bit for bit | one for each lane |
///
/// The tangents of other functions come from the forward formula of their rule, evaluated in `V`. So matrices of
/// floats have the same values, bit for bit, and rules are formulas that hold for every number. Values must be
/// finite, and matrices of values regular or definite; tangents that are not finite pass into the result.
///
/// Functions that use `linalg` with any of these numbers say `S: Taping<Value: Element>`:
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::linalg::{Element, Lu};
/// use tapewright::{Closed, Dual, hvp, prelude::*};
///
/// fn ln_det<S: Taping<Value: Element>>(x: &[Real<S>]) -> Real<S> {
///     let a = DMatrix::from_column_slice(2, 2, Closed::wrap_slice(x));
///     Lu::new(&a).expect("regular").ln_det().0.open()
/// }
///
/// let (value, gradient, product) =
///     hvp::<Jacobian<Dual<f64, 1>>>(ln_det, &[2.0, 0.0, 0.0, 4.0], &[1.0, 0.0, 0.0, 0.0]);
/// assert_eq!((value, gradient), (8.0_f64.ln(), vec![0.5, 0.0, 0.0, 0.25]));
/// assert_eq!(product, [-0.25, 0.0, 0.0, 0.0]); // ∂²ln(a·d)/∂a² = −1/a²
/// # }
/// ```
///
/// The trait is sealed, as [`Number`] is.
pub trait Element: Number {
    /// The floats that the number consists of.
    type Scalar: Plain;

    /// A factorized matrix of such numbers, given the factors `K` of a matrix of floats.
    #[doc(hidden)]
    type System<K: System<Self::Scalar>>: System<Self>;

    /// Factorizes a matrix of these entries. `factorize` is called with the values, once for each lane, or once for
    /// all.
    #[doc(hidden)]
    fn lift<K: System<Self::Scalar>>(
        entries: Vec<Self>,
        factorize: &mut dyn FnMut(Vec<Self::Scalar>) -> Result<K, LinalgError>,
    ) -> Result<Self::System<K>, LinalgError>;

    /// Adds `scale`·left·right to `sum`.
    #[doc(hidden)]
    fn multiply<B: Backend<Self::Scalar>>(scale: f64, left: Block<'_, Self>, right: Block<'_, Self>, sum: &mut [Self]);

    /// Replaces X by L⁻¹·X, or by L⁻ᵀ·X, for an n×n matrix L with zeros above its diagonal.
    #[doc(hidden)]
    fn solve_lower<B: Backend<Self::Scalar>>(n: usize, lower: &[Self], transposed: bool, right: &mut [Self]);

    /// Returns ln |det A|, and the sign of det A.
    #[doc(hidden)]
    fn ln_det<B: Backend<Self::Scalar>>(system: &Self::System<Dense<Self::Scalar, B>>) -> (Self, Self);

    /// Returns L with A = L·Lᵀ.
    #[doc(hidden)]
    fn lower<B: Backend<Self::Scalar>>(system: &Self::System<Dense<Self::Scalar, B>>) -> Cow<'_, [Self]>;

    /// Values that a smooth function computes for a matrix with these entries.
    #[doc(hidden)]
    fn through<F: Smooth, B: Backend<Self::Scalar>>(function: &F, matrix: &[Self]) -> Result<Vec<Self>, LinalgError>;

    /// The eigenvalues, followed by the eigenvectors, of the symmetric matrix with this lower triangle.
    #[doc(hidden)]
    fn eigen<B: Backend<Self::Scalar>>(n: usize, triangle: &[Self]) -> Result<Vec<Self>, LinalgError>;
}

/// A function of a matrix, computed for floats by a decomposition, and for all other numbers by the formula of its
/// derivative.
pub trait Smooth: Send + Sync + 'static {
    /// A name for messages.
    const NAME: &'static str;

    /// Number of results among the values that are computed; the further values are for the formulas.
    fn results(&self) -> usize;

    /// Computes the results for floats, followed by the values that the formulas need.
    fn floats<V: Plain + Element<Scalar = V>, B: Backend<V>>(&self, matrix: &[V]) -> Result<Vec<V>, LinalgError>;

    /// Refuses matrices with tangents at points at which the function has no derivative along any direction.
    fn differentiable<V: Element>(&self, _found: &[V]) -> Result<(), LinalgError> {
        Ok(())
    }

    /// Tangents of the results, or of all computed values if `whole` is true; 0 for constant values.
    fn moved<V: Element, B: Backend<V::Scalar>>(
        &self,
        at: At<'_, V>,
        along: &[V],
        whole: bool,
    ) -> Result<Vec<V>, LinalgError>;

    /// Adjoints of the entries of the matrix, given the adjoints of the results.
    fn adjoints<V: Element, B: Backend<V::Scalar>>(&self, at: At<'_, V>, seeds: &[V]) -> Result<Vec<V>, LinalgError>;
}

/// A matrix, and the values that a function has computed at it.
#[derive(Clone, Copy, Debug)]
pub struct At<'a, V> {
    /// The entries that are inputs.
    pub matrix: &'a [V],
    /// The results, and the values for formulas.
    pub found: &'a [V],
}
