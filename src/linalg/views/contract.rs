//! Sums of products along a dimension of each of two views.

use super::product::Products;
use crate::kernels::library::entry::apply;
use crate::kernels::library::lines::split;
use crate::kernels::{Indices, View, gather};
use crate::linalg::element::Element;
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::targets::Space;

/// Sums of products along dimension `d` of `a` and dimension `e` of `b`: a pair of equal indices in the notation of
/// Einstein, as of `einsum`.
///
/// The result has the remaining dimensions of `a`, then those of `b`, in order. So `contract(&a, 1, &b, 0)` of two
/// matrices is [`matmul`](super::matmul), and has its rules. Nothing is copied, unless `e` is neither the first
/// dimension of `b` nor the last one: then a [`gather`](crate::kernels::gather) makes it the last one.
///
/// ```
/// use tapewright::{kernels::View, linalg::contract, prelude::*};
///
/// let a = View::<Passive, 3>::new([2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
/// let x = View::new([2], &[1.0, 10.0]);
/// let y: View<Passive, 2> = contract(&a, 2, &x, 0); // Σₖ aᵢⱼₖ·xₖ
/// assert_eq!((y.shape(), y.values()), ([2, 1], &[21.0, 43.0][..]));
/// let z: View<Passive, 2> = contract(&a, 0, &x, 0); // Σᵢ aᵢⱼₖ·xᵢ
/// assert_eq!((z.shape(), z.values()), ([1, 2], &[31.0, 42.0][..]));
///
/// // The gradient of y₁ is the second matrix of a.
/// let second = |x: &[Real<Jacobian>]| {
///     let a = View::new([2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
///     let y: View<_, 2> = contract(&a, 2, &View::of_variables([2], x), 0);
///     y.variable([1, 0])
/// };
/// assert_eq!(gradient::<Jacobian>(second, &[1.0, 10.0]), [3.0, 4.0]);
/// ```
///
/// # Panics
///
/// When there are no such dimensions, when they have different lengths, when a view is half written, and in the cases
/// listed at [`Ex::eval`](crate::Ex::eval). A call compiles only if the result has two dimensions less than both views
/// together; for the sum over all of two vectors see [`dot`](crate::kernels::dot).
#[must_use]
#[track_caller]
pub fn contract<S, M, const P: usize, const Q: usize, const R: usize>(
    a: &View<S, P, M>,
    d: usize,
    b: &View<S, Q, M>,
    e: usize,
) -> View<S, R, M>
where
    S: Taping<Value: Element>,
    M: Space<S::Value>,
{
    const { assert!(R + 2 == P + Q, "a contraction has two dimensions less than both views together") };
    let (first, second) = (split(&a.shape(), d), split(&b.shape(), e));
    assert!(
        first[1] == second[1],
        "dimension {d} of a view of shape {:?} has {} elements, and dimension {e} of one of shape {:?} has {}: they \
         cannot be summed together",
        a.shape(),
        first[1],
        b.shape(),
        second[1]
    );
    let rest = |k: usize| without(a.shape(), d).chain(without(b.shape(), e)).nth(k).expect("counted above");
    let shape = core::array::from_fn(rest);
    let columns = second[0] * second[2];
    let last = (second[0] > 1 && second[2] > 1).then(|| gather(b, &exchanged(second)));
    let right = last.as_ref().map_or(b.as_leaf(), View::as_leaf);
    // A dimension in the middle leaves a matrix for each index before it, of which the transpose is stored.
    let (count, rows) = if first[2] == 1 { (1, first[0]) } else { (first[0], first[2]) };
    let rule = Products { count, shape: [rows, first[1]], columns, transposed: [first[2] != 1, second[0] > 1] };
    apply(rule, &[a.as_leaf(), right], shape)
}

fn without<const R: usize>(shape: [usize; R], d: usize) -> impl Iterator<Item = usize> {
    shape.into_iter().enumerate().filter(move |(k, _)| *k != d).map(|(_, length)| length)
}

/// Places of the elements of a view of rank 3, with its last two dimensions exchanged.
fn exchanged([before, along, behind]: [usize; 3]) -> Indices {
    let place = |to: usize| {
        let (block, j, i) = (to / (along * behind), to / along % behind, to % along);
        (block * along + i) * behind + j
    };
    Indices::new(&(0..before * along * behind).map(place).collect::<Vec<_>>())
}
