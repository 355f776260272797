//! Sparse systems, by faer.

use super::element::{Element, Plain};
use super::error::LinalgError;
use super::matrix::{Matrix, Operand, Unused};
use super::solution;
use super::system::{Factorize, SparsePattern};
use crate::expr::Real;
use std::sync::Arc;
use tapewright_strategies::Taping;

/// A sparse matrix of the values of a strategy, with its factors.
type Lifted<S> = <Value<S> as Element>::System<<<Value<S> as Element>::Scalar as Plain>::Sparse>;
type Value<S> = <S as Taping>::Value;

/// A sparse square matrix with its factors.
macro_rules! solvers {
    ($($(#[$doc:meta])* $name:ident $factorize:ident $errors:literal;)*) => { $(
        $(#[$doc])*
        pub struct $name<'a, S: Taping<Value: Element>> {
            values: Operand<'a, S>,
            unused: Unused<S>,
            system: Arc<Lifted<S>>,
        }

        impl<'a, S: Taping<Value: Element>> $name<'a, S> {
            /// Factorizes the matrix of these values, in the order in which the pattern was given.
            ///
            /// # Errors
            ///
            /// When there are not as many values as entries, when one is infinite or NaN, and
            #[doc = $errors]
            #[track_caller]
            pub fn new(pattern: &SparsePattern, values: &'a [Real<S>]) -> Result<Self, LinalgError> {
                let values = Operand::slice(values);
                let system = S::Value::lift(values.values(), &mut |values| Factorize::$factorize(pattern, &values));
                let system = Arc::new(values.deciding(system)?);
                Ok(Self { unused: Unused::new(&values), values, system })
            }

            /// X with A·X = B, one entry. B may be a vector, or have several columns, of any library.
            ///
            /// # Errors
            ///
            /// When B has another number of rows than A.
            ///
            /// # Panics
            ///
            /// When [`external`](crate::external()) does.
            #[track_caller]
            pub fn solve<M: Matrix<Strategy = S>>(&self, b: &M) -> Result<M, LinalgError> {
                self.unused.use_it();
                solution::record(&self.system, &self.values, b)
            }
        }
    )* };
}

solvers! {
    /// A sparse square matrix with its factors L·U: it is factorized once.
    ///
    /// ```
    /// use faer::Col;
    /// use tapewright::linalg::{SparseLu, SparsePattern};
    /// use tapewright::{Closed, prelude::*};
    ///
    /// let pattern = SparsePattern::new(2, &[(0, 0), (1, 0), (1, 1)])?;
    /// let first = |x: &[Real<Jacobian>]| {
    ///     let b = Col::from_fn(2, |i| Closed::from(x[3 + i]));
    ///     let solver = SparseLu::new(&pattern, &x[..3]).expect("regular");
    ///     solver.solve(&b).expect("two rows")[1].open()
    /// };
    /// // 2·x = 6 and x + 4·y = 11: y = (11 − 6/2)/4
    /// let slope = gradient(first, &[2.0, 1.0, 4.0, 6.0, 11.0]);
    /// assert_eq!(slope, [6.0 / 16.0, -3.0 / 4.0, -2.0 / 4.0, -1.0 / 8.0, 1.0 / 4.0]);
    /// # Ok::<(), tapewright::linalg::LinalgError>(())
    /// ```
    SparseLu lu "when the matrix is singular.";
    /// A sparse symmetric positive definite matrix with its factors L·Lᵀ: it is factorized once.
    ///
    /// The pattern is that of the lower triangle, and so are the values, as with [`Cholesky`](super::Cholesky).
    SparseCholesky cholesky "when the matrix is not positive definite, or the pattern has an entry above the diagonal.";
}
