//! Sparse Hessian matrices, several columns in one recording.

use super::coloring::{ByColor, Coloring};
use super::matrix::SparseMatrix;
use super::probe::{Sums, weight};
use super::stars::{sources, star_coloring};
use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::pattern::Pattern;
use crate::second::{PlainOf, WithTangents};
use crate::tape::Tape;
use tapewright_strategies::{Dual, Float, Reverse};

/// A Hessian matrix that is mostly zeros, with the data to compute it again for other inputs: its pattern, and a
/// coloring of its columns.
///
/// Its products with the sums of the columns of a color are computed by recordings over duals with `N` tangents, `N`
/// colors in each; the check of the pattern takes a tangent, too. So `N` = 1 + number of colors takes one recording.
/// Every entry, or its mirror image, stands alone in one of these products.
///
/// ```
/// use tapewright::Dual;
/// use tapewright::prelude::*;
/// use tapewright::sparse::SparseHessian;
///
/// /// The chained Rosenbrock function.
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     let mut sum = Real::from(0.0);
///     for x in x.windows(2) {
///         sum += 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
///     }
///     sum
/// }
///
/// type S = PrimalValue<Dual<f64, 4>>;
/// let x = [1.0; 1000];
/// let mut tape = Tape::<S>::new();
/// let mut hessian = SparseHessian::<f64, 4>::new(&mut tape, f, &x)?;
/// assert_eq!(hessian.coloring().count(), 3);
/// let mut gradient = vec![0.0; 1000];
/// let value = hessian.evaluate(&mut tape, f, &x, &mut gradient)?;
/// assert_eq!((value, hessian.matrix().get(1, 0), hessian.matrix().get(2, 0)), (0.0, Some(-400.0), None));
/// # Ok::<(), tapewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparseHessian<V, const N: usize> {
    matrix: SparseMatrix<V>,
    coloring: Coloring,
    /// The row and the index of each entry, by the color under which it is read.
    sources: ByColor<(usize, usize)>,
    directions: Vec<[V; N]>,
    products: Vec<[V; N]>,
    sums: Sums,
}

impl<V: Float, const N: usize> SparseHessian<V, N> {
    /// Records `f` at `x`, finds the pattern, see [`Tape::hessian_pattern`], and colors it.
    /// [`PrimalValue`](crate::PrimalValue) finds the smallest pattern.
    ///
    /// # Errors
    ///
    /// The errors of [`Tape::hessian_pattern`], and [`Error::Storage`] when records cannot be written to disk.
    ///
    /// # Panics
    ///
    /// When [`gradient`](crate::gradient) does.
    pub fn new<S: Reverse<Value = Dual<V, N>>>(
        tape: &mut Tape<S>,
        f: impl FnOnce(&[Real<S>]) -> Real<S>,
        x: &[V],
    ) -> Result<Self, Error> {
        Ok(Self::with_pattern(pattern_at(tape, f, x)?))
    }

    /// Takes a pattern that is known, and colors it: a few full rows, for instance of parameters that couple with all
    /// other inputs, cost no more colors than their number. The pattern may have more entries than necessary.
    ///
    /// # Panics
    ///
    /// When the pattern is not symmetric.
    #[must_use]
    #[track_caller]
    pub fn with_pattern(pattern: Pattern) -> Self {
        const { assert!(N > 0, "a Hessian needs numbers with tangents") };
        assert!(pattern.is_symmetric(), "the pattern of a Hessian is symmetric");
        let coloring = star_coloring(&pattern);
        let mut by_color = ByColor::default();
        let sources = sources(&pattern, &coloring);
        let color = |(entry, (row, color)): (usize, &(usize, u32))| (*color, (*row, entry));
        by_color.list(coloring.count(), sources.iter().enumerate().map(color));
        let n = pattern.rows();
        Self {
            matrix: SparseMatrix::zero(pattern),
            coloring,
            sources: by_color,
            directions: vec![[V::ZERO; N]; n],
            products: vec![[V::ZERO; N]; n],
            sums: Sums::default(),
        }
    }

    /// The matrix of the latest evaluation; zeros before that. It is symmetric to the last bit.
    #[must_use]
    pub const fn matrix(&self) -> &SparseMatrix<V> {
        &self.matrix
    }

    /// The matrix of the latest evaluation.
    #[must_use]
    pub fn into_matrix(self) -> SparseMatrix<V> {
        self.matrix
    }

    /// The coloring of columns.
    #[must_use]
    pub const fn coloring(&self) -> &Coloring {
        &self.coloring
    }

    /// Records `f` at `x` and sweeps, once for every `N` of the colors and of one tangent more; computes the matrix,
    /// writes the gradient and returns the value. A second call with the same function allocates nothing.
    ///
    /// A function that branches may be another one at other inputs. One more tangent, along weights that belong to no
    /// entry, shows that: the product with the weights must equal the sums of the weighted entries, to half of the
    /// digits. An entry outside the pattern stays unnoticed if other entries are so much larger. Where the sums differ,
    /// and where they are not finite, `f` is recorded once more and the pattern of the recording decides, if it tells
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::PatternChanged`] when the matrix has entries outside the pattern: make a new `SparseHessian`. The
    /// entries of [`matrix`](Self::matrix) are then wrong. Otherwise as [`Tape::hessian_times`].
    ///
    /// # Panics
    ///
    /// When [`gradient`](crate::gradient) does.
    #[track_caller]
    pub fn evaluate<S: Reverse<Value = Dual<V, N>>>(
        &mut self,
        tape: &mut Tape<S>,
        f: impl Fn(&[Real<S>]) -> Real<S>,
        x: &[V],
        gradient: &mut [V],
    ) -> Result<V, Error> {
        same_length(("columns", self.matrix.pattern().columns()), ("inputs", x.len()))?;
        let colors = self.coloring.count();
        let mut value = V::ZERO;
        for first in (0..=colors).step_by(N) {
            for (column, directions) in self.directions.iter_mut().enumerate() {
                let color = self.coloring.colors()[column] as usize;
                *directions = core::array::from_fn(|lane| match first + lane {
                    along if along == color => V::ONE,
                    along if along == colors => weight(column),
                    _ => V::ZERO,
                });
            }
            value = tape.hessian_times(&f, x, &self.directions, gradient, &mut self.products)?;
            let values = self.matrix.values_mut().1;
            for (lane, (row, entry)) in self.sources.from(first, N) {
                values[entry] = self.products[row][lane];
            }
        }
        self.check(colors % N);
        if let Some(doubt) = self.sums.doubt() {
            doubt.settle(true, self.matrix.pattern(), pattern_at(tape, f, x))?;
        }
        Ok(value)
    }

    /// Compares the sums of the weighted entries with the product with the weights, which is in the last lane.
    fn check(&mut self, lane: usize) {
        self.sums.clear::<V>(self.products.len());
        for (row, column, value) in self.matrix.iter() {
            self.sums.add(row, weight(column), value);
        }
        self.products.iter().enumerate().for_each(|(row, product)| self.sums.check(row, product[lane]));
    }
}

/// The pattern of a recording of `f` at `x`.
fn pattern_at<S: Reverse<Value = Dual<V, N>>, V: Float, const N: usize>(
    tape: &mut Tape<S>,
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
    x: &[V],
) -> Result<Pattern, Error> {
    let (inputs, output) = tape.try_record(|scope| {
        let inputs: Vec<Real<S>> = x.iter().map(|x| scope.input(Dual { value: *x, tangents: [V::ZERO; N] })).collect();
        let output = f(&inputs);
        (inputs, output)
    })?;
    tape.hessian_pattern(&inputs, &output)
}

/// A value, a gradient and a sparse Hessian matrix, or an error.
type Found<V> = Result<(V, Vec<V>, SparseMatrix<V>), Error>;

/// Numbers with tangents over floats, which [`sparse_hessian`] computes with: [`Dual`]s of `f64` or `f32`.
#[diagnostic::on_unimplemented(
    message = "second derivatives need a strategy over `Dual<f64, N>`, found one over `{Self}`",
    label = "numbers without tangents",
    note = "name the numbers: `sparse_hessian::<PrimalValue<Dual<f64, 4>>>(f, &x)`"
)]
pub trait WithColumns: WithTangents<Plain: Float> {
    #[doc(hidden)]
    #[track_caller]
    fn sparse_hessian<S: Reverse<Value = Self>>(
        f: impl Fn(&[Real<S>]) -> Real<S>,
        x: &[Self::Plain],
    ) -> Found<Self::Plain>;
}

#[diagnostic::do_not_recommend]
impl<V: Float, const N: usize> WithColumns for Dual<V, N> {
    fn sparse_hessian<S: Reverse<Value = Self>>(f: impl Fn(&[Real<S>]) -> Real<S>, x: &[V]) -> Found<V> {
        let mut tape = Tape::<S>::new();
        let mut hessian = SparseHessian::new(&mut tape, &f, x)?;
        let mut gradient = vec![V::ZERO; x.len()];
        let value = hessian.evaluate(&mut tape, f, x, &mut gradient)?;
        Ok((value, gradient, hessian.into_matrix()))
    }
}

/// The value of `f` at `x`, its gradient, and its Hessian matrix, whose zeros are neither computed nor stored.
///
/// `f` is recorded once for the pattern, and then as by [`SparseHessian::evaluate`]. For a function that is evaluated
/// at many inputs keep a tape and a [`SparseHessian`]: pattern and coloring are then computed once.
///
/// # Errors
///
/// The errors of [`SparseHessian::new`] and [`SparseHessian::evaluate`].
///
/// # Panics
///
/// When [`gradient`](crate::gradient) does.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Dual, sparse::sparse_hessian};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0] * x[1] + x[2].exp()).into() }
/// let (value, gradient, matrix) = sparse_hessian::<PrimalValue<Dual<f64, 2>>>(f, &[3.0, 5.0, 0.0])?;
/// assert_eq!((value, gradient), (16.0, vec![5.0, 3.0, 1.0]));
/// assert_eq!(matrix.iter().collect::<Vec<_>>(), [(0, 1, 1.0), (1, 0, 1.0), (2, 2, 1.0)]);
/// # Ok::<(), tapewright::Error>(())
/// ```
#[allow(clippy::type_complexity, reason = "a number, a vector and a matrix, or what is wrong")]
#[track_caller]
pub fn sparse_hessian<S: Reverse<Value: WithColumns>>(
    f: impl Fn(&[Real<S>]) -> Real<S>,
    x: &[PlainOf<S>],
) -> Result<(PlainOf<S>, Vec<PlainOf<S>>, SparseMatrix<PlainOf<S>>), Error> {
    S::Value::sparse_hessian::<S>(f, x)
}
