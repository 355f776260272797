//! Matrices of floats, for which a library computes.

use crate::linalg::backend::{Backend, Block};
use crate::linalg::element::{Element, Plain, Smooth};
use crate::linalg::error::{LinalgError, finite};
#[cfg(feature = "faer")]
use crate::linalg::system::Sparse;
use crate::linalg::system::{Dense, System, spread_lower};
use std::borrow::Cow;
use tapewright_strategies::{Float, Number};

/// Implements [`Element`] for floats, by calls of the library.
macro_rules! floats {
    ($($float:ident)*) => { $(
        impl Plain for $float {
            #[cfg(feature = "nalgebra")]
            type Nalgebra = crate::linalg::Nalgebra;
            #[cfg(feature = "faer")]
            type Faer = crate::linalg::Faer;
            #[cfg(feature = "faer")]
            type Sparse = Sparse<Self>;
            #[cfg(feature = "faer")]
            type Products = crate::linalg::Faer;
            #[cfg(not(feature = "faer"))]
            type Products = crate::linalg::Nalgebra;
        }

        impl Element for $float {
            type Scalar = Self;
            type System<K: System<Self>> = K;

            fn lift<K: System<Self>>(
                entries: Vec<Self>,
                factorize: &mut dyn FnMut(Vec<Self>) -> Result<K, LinalgError>,
            ) -> Result<K, LinalgError> {
                factorize(entries)
            }
            fn multiply<B: Backend<Self>>(scale: f64, left: Block<'_, Self>, right: Block<'_, Self>, sum: &mut [Self]) {
                B::multiply(Number::from_f64(scale), left, right, sum);
            }
            fn solve_lower<B: Backend<Self>>(n: usize, lower: &[Self], transposed: bool, right: &mut [Self]) {
                B::solve_lower(n, lower, transposed, right);
            }
            fn ln_det<B: Backend<Self>>(system: &Dense<Self, B>) -> (Self, Self) {
                system.ln_det()
            }
            fn lower<B: Backend<Self>>(system: &Dense<Self, B>) -> Cow<'_, [Self]> {
                Cow::Borrowed(system.factor())
            }
            fn through<F: Smooth, B: Backend<Self>>(function: &F, matrix: &[Self]) -> Result<Vec<Self>, LinalgError> {
                function.floats::<Self, B>(matrix)
            }
            fn eigen<B: Backend<Self>>(n: usize, triangle: &[Self]) -> Result<Vec<Self>, LinalgError> {
                sorted_eigen::<Self, B>(n, triangle)
            }
        }
    )* };
}
floats!(f64 f32);

/// The eigenvalues of a symmetric matrix of floats in ascending order, and after them their eigenvectors.
fn sorted_eigen<V: Float, B: Backend<V>>(n: usize, triangle: &[V]) -> Result<Vec<V>, LinalgError> {
    let matrix = spread_lower(n, triangle);
    finite(n, &matrix)?;
    let found = if n == 0 { Some(Default::default()) } else { B::eigen(n, matrix) };
    let (values, vectors): (Vec<V>, Vec<V>) = found.ok_or(LinalgError::NoConvergence)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| values[*i].partial_cmp(&values[*j]).expect("the matrix is finite"));
    let mut sorted: Vec<V> = order.iter().map(|k| values[*k]).collect();
    order.iter().for_each(|k| sorted.extend(upright(&vectors[k * n..][..n])));
    Ok(sorted)
}

/// The vector, with the sign that makes its entry of largest absolute value positive.
fn upright<V: Float>(vector: &[V]) -> impl Iterator<Item = V> {
    let top = vector.iter().fold(V::ZERO, |top, entry| if entry.abs() > top.abs() { *entry } else { top });
    let sign = if top < V::ZERO { -V::ONE } else { V::ONE };
    vector.iter().map(move |entry| sign * *entry)
}
