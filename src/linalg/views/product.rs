//! Products of views of rank 2, and of these with views of rank 1.

use crate::kernels::View;
use crate::kernels::library::entry::apply;
use crate::linalg::backend::Block;
use crate::linalg::element::{Element, Plain};
use crate::variables::ViewRef;
use core::ops::Range;
use tapewright_strategies::kernel::launch::{ArrayRule, KeptArrays, are_finite, contribution};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::rules::Curvature;
use tapewright_strategies::{Number, Taping};

/// The transpose of a view, as a factor of [`matmul`]. Nothing is copied.
///
/// ```
/// use tapewright::{kernels::View, linalg::{Transposed, matmul}, prelude::*};
///
/// let a = View::<Passive, 2>::new([2, 2], &[1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(matmul(Transposed(&a), &a).values(), [10.0, 14.0, 14.0, 20.0]);
///
/// // Aᵀ·A, above the diagonal: Σᵢ aᵢ₀·aᵢ₁.
/// let above = |a: &[Real<Jacobian>]| {
///     let a = View::of_variables([2, 2], a);
///     matmul(Transposed(&a), &a).variable([0, 1])
/// };
/// assert_eq!(gradient::<Jacobian>(above, &[1.0, 2.0, 3.0, 4.0]), [2.0, 1.0, 4.0, 3.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Transposed<'a, S: Taping, M: Space<S::Value>>(pub &'a View<S, 2, M>);

/// A matrix in a product: a reference to a view of rank 2, or the [`Transposed`] one.
///
/// The trait is sealed.
pub trait Factor<'a, S: Taping, M: Space<S::Value>>: RightFactor<'a, S, M> {}

/// The right factor of a product: a matrix, or a reference to a view of rank 1, which is a column.
///
/// The trait is sealed.
pub trait RightFactor<'a, S: Taping, M: Space<S::Value>> {
    /// Type of the product of a matrix with this factor.
    type Product;

    /// The factor as a matrix.
    #[doc(hidden)]
    fn matrix(self) -> StoredMatrix<'a, S::Value>;

    /// Records the product of a left factor with this one.
    #[doc(hidden)]
    #[track_caller]
    fn product(left: StoredMatrix<'a, S::Value>, right: StoredMatrix<'a, S::Value>) -> Self::Product;
}

/// A view as a matrix, row after row.
#[derive(Debug)]
pub struct StoredMatrix<'a, V: 'static> {
    view: ViewRef<'a, V>,
    stored: [usize; 2],
    transposed: bool,
}

impl<V> StoredMatrix<'_, V> {
    /// Rows and columns.
    fn shape(&self) -> [usize; 2] {
        let [rows, columns] = self.stored;
        if self.transposed { [columns, rows] } else { [rows, columns] }
    }
}

impl<'a, S: Taping<Value: Element>, M: Space<S::Value>> RightFactor<'a, S, M> for &'a View<S, 2, M> {
    type Product = View<S, 2, M>;

    #[track_caller]
    fn matrix(self) -> StoredMatrix<'a, S::Value> {
        StoredMatrix { view: self.as_leaf(), stored: self.shape(), transposed: false }
    }

    fn product(left: StoredMatrix<'a, S::Value>, right: StoredMatrix<'a, S::Value>) -> View<S, 2, M> {
        let shape = [left.shape()[0], right.shape()[1]];
        multiplied(&left, &right, shape)
    }
}

impl<'a, S: Taping<Value: Element>, M: Space<S::Value>> RightFactor<'a, S, M> for Transposed<'a, S, M> {
    type Product = View<S, 2, M>;

    #[track_caller]
    fn matrix(self) -> StoredMatrix<'a, S::Value> {
        StoredMatrix { transposed: true, ..self.0.matrix() }
    }

    fn product(left: StoredMatrix<'a, S::Value>, right: StoredMatrix<'a, S::Value>) -> View<S, 2, M> {
        <&View<S, 2, M>>::product(left, right)
    }
}

impl<'a, S: Taping<Value: Element>, M: Space<S::Value>> RightFactor<'a, S, M> for &'a View<S, 1, M> {
    type Product = View<S, 1, M>;

    #[track_caller]
    fn matrix(self) -> StoredMatrix<'a, S::Value> {
        StoredMatrix { view: self.as_leaf(), stored: [self.len(), 1], transposed: false }
    }

    fn product(left: StoredMatrix<'a, S::Value>, right: StoredMatrix<'a, S::Value>) -> View<S, 1, M> {
        let shape = [left.shape()[0]];
        multiplied(&left, &right, shape)
    }
}

impl<'a, S: Taping<Value: Element>, M: Space<S::Value>> Factor<'a, S, M> for &'a View<S, 2, M> {}
impl<'a, S: Taping<Value: Element>, M: Space<S::Value>> Factor<'a, S, M> for Transposed<'a, S, M> {}

/// The product A·B of two matrices, or A·x of a matrix and a vector, whose elements are views, as one entry.
///
/// A factor is `&view`, or `Transposed(&view)`. The library of the enabled feature multiplies: `faer` if there are
/// both, on as many threads as its global setting says. So the last digits of products depend on features, and on the
/// instruction set of the machine.
///
/// The entry keeps the array of A if B is active, and that of B if A is; both are shared with the views, not copied.
/// The adjoints are products, Ā += C̄·Bᵀ and B̄ += Aᵀ·C̄, added to the adjoints that are there. Zero times anything is
/// zero, between adjoints and elements.
///
/// ```
/// use tapewright::{kernels::{View, parallel_sum}, linalg::{Transposed, matmul}, prelude::*};
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (a, x, sum) = tape.record(|scope| {
///     let (a, x) = (scope.view([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), scope.view([2], &[1.0, -1.0]));
///     let y = matmul(Transposed(&a), &x);
///     assert_eq!(y.values(), [-3.0, -3.0, -3.0]);
///     let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
///     (a, x, sum)
/// });
/// let adjoints = tape.sweep(&[(&sum, 1.0)])?;
/// assert_eq!(*adjoints.of_view(&x)?, [6.0, 15.0]);
/// assert_eq!(*adjoints.of_view(&a)?, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]);
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Panics
///
/// When A has not as many columns as B has rows, when a view is half written, and in the cases listed at
/// [`Ex::eval`](crate::Ex::eval).
#[must_use]
#[track_caller]
pub fn matmul<'a, S: Taping<Value: Element>, M: Space<S::Value>, B: RightFactor<'a, S, M>>(
    a: impl Factor<'a, S, M>,
    b: B,
) -> B::Product {
    let (left, right) = (a.matrix(), b.matrix());
    let ([m, k], [rows, n]) = (left.shape(), right.shape());
    assert!(
        k == rows,
        "a matrix of {m} rows and {k} columns cannot be multiplied with one of {rows} rows and {n} columns: the one \
         on the right must have {k} rows, and `Transposed(&x)` is the transpose of a view x"
    );
    B::product(left, right)
}

#[track_caller]
fn multiplied<S: Taping<Value: Element>, M: Space<S::Value>, const R: usize>(
    left: &StoredMatrix<'_, S::Value>,
    right: &StoredMatrix<'_, S::Value>,
    shape: [usize; R],
) -> View<S, R, M> {
    let transposed = [left.transposed, right.transposed];
    let rule = Products { count: 1, shape: left.shape(), columns: right.shape()[1], transposed };
    apply(rule, &[left.view, right.view], shape)
}

/// The products of one or several matrices, which lie one after another, with one matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Products {
    /// Number of matrices on the left.
    pub(super) count: usize,
    /// Rows and columns of each of them.
    pub(super) shape: [usize; 2],
    /// Columns of the matrix on the right.
    pub(super) columns: usize,
    /// True for each side of which the transpose is stored.
    pub(super) transposed: [bool; 2],
}

impl Products {
    /// The transpose of a left matrix, column after column.
    fn left<V>(self, numbers: &[V]) -> Block<'_, V> {
        block(numbers, self.shape[0], self.shape[1], self.transposed[0])
    }

    /// The transpose of the right matrix, column after column.
    fn right<V>(self, numbers: &[V]) -> Block<'_, V> {
        block(numbers, self.shape[1], self.columns, self.transposed[1])
    }

    /// The transpose of a product, column after column.
    fn product<V>(self, numbers: &[V]) -> Block<'_, V> {
        block(numbers, self.shape[0], self.columns, false)
    }

    /// Number of elements of a left matrix, and of a product.
    const fn sizes(self) -> [usize; 2] {
        let [rows, columns] = self.shape;
        [rows * columns, rows * self.columns]
    }

    /// Places of each left matrix, and of its product.
    fn places(self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let [size, results] = self.sizes();
        (0..self.count).map(move |k| (k * size..(k + 1) * size, k * results..(k + 1) * results))
    }
}

/// The transpose of a matrix of so many rows and columns that is stored row after row, or of which the transpose is.
fn block<V>(numbers: &[V], rows: usize, columns: usize, transposed: bool) -> Block<'_, V> {
    if transposed { Block::new(numbers, rows).t() } else { Block::new(numbers, columns) }
}

/// Adds left·right to `sum`: by the library if the numbers are `usual`, else number by number, with `times` for the
/// product of two.
fn add<V: Element>(usual: bool, times: fn(V, V) -> V, left: Block<'_, V>, right: Block<'_, V>, sum: &mut [V]) {
    if usual {
        return V::multiply::<<V::Scalar as Plain>::Products>(1.0, left, right, sum);
    }
    let ((rows, inner), (_, columns)) = (left.shape(), right.shape());
    for (at, sum) in sum.iter_mut().enumerate().take(rows * columns) {
        for k in 0..inner {
            *sum += times(left.entry(at % rows, k), right.entry(k, at / rows));
        }
    }
}

/// [`contribution`] with the seed as the second factor.
fn contribution_to<V: Number>(partial: V, seed: V) -> V {
    contribution(seed, partial)
}

impl<V: Element> ArrayRule<V> for Products {
    fn values(&self, [a, b]: [&[V]; 2], result: &mut [V]) {
        result.fill(V::ZERO);
        // The library multiplies tangents of 0 with infinities, too.
        let usual = V::PARTS == V::LANES || are_finite(a) && are_finite(b);
        for (matrix, product) in self.places() {
            add(usual, |a, b| a * b, self.right(b), self.left(&a[matrix]), &mut result[product]);
        }
    }

    fn needs(&self, operand: usize) -> [bool; 2] {
        [operand == 1, operand == 0]
    }

    fn reverse(&self, operand: usize, [a, b]: KeptArrays<'_, V>, seeds: &[V], sums: &mut [V]) {
        let usual = are_finite(if operand == 0 { b } else { a }) && are_finite(seeds);
        for (matrix, product) in self.places() {
            let seeds = self.product(&seeds[product]);
            // Stored row after row, the adjoints are those of the transpose, column after column.
            match (operand, self.transposed[operand]) {
                (0, false) => add(usual, contribution_to, self.right(b).t(), seeds, &mut sums[matrix]),
                (0, true) => add(usual, contribution, seeds.t(), self.right(b), &mut sums[matrix]),
                (_, false) => add(usual, contribution, seeds, self.left(&a[matrix]).t(), sums),
                (_, true) => add(usual, contribution_to, self.left(&a[matrix]), seeds.t(), sums),
            }
        }
    }

    fn forward(&self, operand: usize, [a, b]: KeptArrays<'_, V>, tangents: &[V], sums: &mut [V]) {
        let usual = are_finite(if operand == 0 { b } else { a }) && are_finite(tangents);
        for (matrix, product) in self.places() {
            let sums = &mut sums[product];
            if operand == 0 {
                add(usual, contribution_to, self.right(b), self.left(&tangents[matrix]), sums);
            } else {
                add(usual, contribution, self.right(tangents), self.left(&a[matrix]), sums);
            }
        }
    }

    fn sources(&self, k: usize, each: &mut dyn FnMut(usize, usize)) {
        let ([rows, inner], [size, results]) = (self.shape, self.sizes());
        let (matrix, i, j) = (k / results, k % results / self.columns, k % self.columns);
        let place = |row, column, [rows, columns]: [usize; 2], transposed| {
            if transposed { column * rows + row } else { row * columns + column }
        };
        let [left, right] = self.transposed;
        (0..inner).for_each(|l| each(0, matrix * size + place(i, l, [rows, inner], left)));
        (0..inner).for_each(|l| each(1, place(l, j, [inner, self.columns], right)));
    }

    /// Element k of a row of A with element k of a column of B.
    fn curvature(&self) -> Curvature {
        Curvature::Halves
    }
}
