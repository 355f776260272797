//! Launches of kernels: functions that compute expressions over ranges.

use super::expression::term::Term;
use super::operands::{Body, Modes, Operands, Reads, Writes};
use super::start::Start;
use super::views::view::{Points, View};
use crate::expr::Real;
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::ir::{Assign, Element, Extreme, Kernel, Node, Number, Reduce, Written};
use tapewright_strategies::kernel::targets::{BoundKernel, Space};

/// Computes expressions at every point of a range, and writes them to the operands that are given as `&mut`, in their
/// order.
///
/// Operands are `&view`, which is read; `&mut view`, which is written and may be read; `&variable`, a number that all
/// points share; and a view of lower rank, as [`x.along::<1>()`](View::along). The closure is called once, with a token
/// for each operand, and returns a tuple with an expression for each operand that is written. Reads see the values from
/// before the launch, also of views that are written: `y = y·y` and stencils in place are right, and an operand that is
/// read and written is named once. Elements outside the range stay unchanged.
///
/// The launch is recorded if an operand is active, as one entry whatever the number of points.
///
/// A helper in a kernel is a function of `impl Field1` to `impl Field4` (tokens) and `Term<impl Node>` (expressions).
/// It cannot be a closure, whose arguments have a single type each: tokens and expressions have types of their own.
///
/// If a rule of yours panics, nothing has been recorded, and a view that was being written in place is marked: see
/// [`View`](View#after-a-panic).
///
/// ```
/// use tapewright::{kernels::{View, parallel_for}, prelude::*};
///
/// // A step of the heat equation, in place.
/// let mut t = View::<Passive, 2>::new([3, 3], &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
/// parallel_for(t.interior(1), &mut t, |t| {
///     let c = t.at::<0, 0>();
///     (c + 0.1 * (t.at::<1, 0>() + t.at::<-1, 0>() + t.at::<0, 1>() + t.at::<0, -1>() - 4.0 * c),)
/// });
/// assert_eq!(t.values()[4], 0.6);
/// ```
///
/// # Panics
///
/// When the views have different shapes, or one of lower rank has other lengths than the dimensions that it lies along,
/// or is not read; when the range goes beyond the views, or a read without a border rule does; when operands belong to
/// two recordings, or to one that is not active on this thread; when an operand is active and the strategy's policy is
/// not `Strict`; when a half-written view is read, or is not written everywhere.
#[track_caller]
pub fn parallel_for<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, B: Body>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> B,
) where
    Assign<O::Written, B::Nodes>: Kernel,
{
    const { check_expressions::<O::Written, B, Assign<O::Written, B::Nodes>>() }
    let program = Assign::<O::Written, _>::new(kernel(O::tokens()).nodes());
    Start::new(&program, &range.into(), operands.slots().as_mut()).write(&mut BoundKernel::of(&program));
}

/// Fails to compile unless there are as many expressions as operands are written, in an order in which they can run.
#[track_caller]
pub(super) const fn check_expressions<W: Written, B: Body, P: Kernel>() {
    let (expressions, written) = (B::COUNT, W::OPERANDS.len());
    assert!(
        expressions >= written,
        "a kernel returns an expression for each operand that is written (`&mut`): some are missing"
    );
    assert!(
        expressions <= written,
        "a kernel returns an expression for each operand that is written (`&mut`): there are too many"
    );
    assert!(
        P::PLAN.in_order,
        "an expression uses `y.new()`, and that for `y` does not stand before it: give `y` an earlier place among the \
         operands, and its expression the same place in the tuple"
    );
}

/// The sum of an expression over every point of a range. It has the same bits with every instruction set and for any
/// number of threads: points are added in fixed groups.
///
/// ```
/// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
///
/// fn unevenness<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let x = View::of_variables([x.len()], x);
///     parallel_sum(1..x.len(), &x, |x| (x.at::<0>() - x.at::<-1>()).square())
/// }
/// assert_eq!(unevenness::<Passive>(&[1.0.into(), 2.0.into(), 4.0.into()]).value(), 5.0);
/// assert_eq!(gradient::<Jacobian>(|x| unevenness(x), &[1.0, 2.0, 4.0]), [-2.0, -2.0, 4.0]);
/// ```
/// # Panics
///
/// When [`parallel_for`] does.
#[track_caller]
pub fn parallel_sum<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Real<S> {
    let program = Reduce((kernel(O::tokens()).0,));
    let mut slots = operands.slots();
    let launch = Start::new(&program, &range.into(), slots.as_mut());
    let mut sum = Real::undefined();
    launch.sum(&mut BoundKernel::of(&program), core::slice::from_mut(&mut sum));
    sum
}

/// The sums of up to six expressions over every point of a range, in one pass and one entry of the recording: Kokkos'
/// joint reduction. Each sum has the bits of a [`parallel_sum`] of its own.
///
/// ```
/// use tapewright::{kernels::{View, parallel_sums}, prelude::*};
///
/// let x = View::<Passive, 1>::new([4], &[1.0, 2.0, 3.0, 6.0]);
/// let [sum, squares] = parallel_sums(x.all(), &x, |x| (x.at::<0>(), x.at::<0>().square()));
/// assert_eq!((sum.value(), squares.value()), (12.0, 50.0));
///
/// // The variance, and its gradient.
/// let variance = |x: &[Real<Jacobian>]| -> Real<Jacobian> {
///     let x = View::of_variables([x.len()], x);
///     let [sum, squares] = parallel_sums(x.all(), &x, |x| (x.at::<0>(), x.at::<0>().square()));
///     (squares / 4.0 - (sum / 4.0).square()).into()
/// };
/// assert_eq!(gradient::<Jacobian>(variance, &[1.0, 2.0, 3.0, 6.0]), [-1.0, -0.5, 0.0, 1.5]);
/// ```
///
/// # Panics
///
/// When [`parallel_for`] does.
#[must_use]
#[track_caller]
pub fn parallel_sums<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, B: Body>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> B,
) -> B::Results<Real<S>>
where
    Reduce<B::Nodes>: Kernel,
{
    let program = Reduce(kernel(O::tokens()).nodes());
    let mut slots = operands.slots();
    let launch = Start::new(&program, &range.into(), slots.as_mut());
    let mut sums = B::results(Real::undefined);
    launch.sum(&mut BoundKernel::of(&program), sums.as_mut());
    sums
}

/// The sums of an expression along the last dimension of a range: a view with one dimension less, which has an element
/// for each row. Rows are shared out among threads, and added up in the order of [`parallel_sum`]: parallel loops
/// inside a parallel loop.
///
/// ```
/// use tapewright::{kernels::{View, parallel_row_sums}, prelude::*};
///
/// // The norms of the rows of a matrix, squared.
/// let a = View::<Passive, 2>::new([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// let norms: View<Passive, 1> = parallel_row_sums(a.all(), &a, |a| a.at::<0, 0>().square());
/// assert_eq!(norms.values(), [14.0, 77.0]);
///
/// // The gradient of the second one.
/// let second = |a: &[Real<Jacobian>]| {
///     let a = View::of_variables([2, 3], a);
///     let norms: View<_, 1> = parallel_row_sums(a.all(), &a, |a| a.at::<0, 0>().square());
///     norms.variable([1])
/// };
/// assert_eq!(gradient::<Jacobian>(second, &a.values()), [0.0, 0.0, 0.0, 8.0, 10.0, 12.0]);
/// ```
///
/// # Panics
///
/// When the range has no rows, and in the cases listed at [`parallel_for`]. A call compiles only if the result has one
/// dimension less.
#[must_use]
#[track_caller]
pub fn parallel_row_sums<
    S: Taping,
    const R: usize,
    const Q: usize,
    M: Space<S::Value>,
    O: Operands<S, R, M>,
    A: Node,
>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> View<S, Q, M> {
    const { assert!(Q + 1 == R, "sums along the last dimension have one dimension less than what is added up") };
    let program = Reduce((kernel(O::tokens()).0,));
    let range = range.into();
    let mut slots = operands.slots();
    Start::new(&program, &range, slots.as_mut())
        .sum_rows(&mut BoundKernel::of(&program), core::array::from_fn(|d| range.0[d].len()))
}

/// The largest value of an expression over a range. Its adjoint goes to the first point at which it is found; a NaN is
/// found only if there is nothing else. Long ranges are shared out among threads; the result does not depend on how
/// many there are. [`parallel_max_at`] returns the point, too.
///
/// ```
/// use tapewright::{kernels::{View, parallel_max}, prelude::*};
///
/// // The largest step.
/// fn step<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let x = View::of_variables([x.len()], x);
///     parallel_max(1..x.len(), &x, |x| x.at::<0>() - x.at::<-1>())
/// }
/// let x = [0.0, 1.0, 4.0, 2.0];
/// assert_eq!(step::<Passive>(&x.map(Real::from)).value(), 3.0);
/// assert_eq!(gradient::<Jacobian>(|x| step(x), &x), [0.0, -1.0, 1.0, 0.0]);
/// ```
/// # Panics
///
/// When the range is empty, and in the cases listed at [`parallel_for`].
#[track_caller]
pub fn parallel_max<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Real<S> {
    extreme(&range.into(), operands, kernel, true, false).0
}

/// The smallest value of an expression over a range, with the rules of [`parallel_max`].
///
/// ```
/// use tapewright::{kernels::{View, parallel_min}, prelude::*};
///
/// // The smallest step.
/// fn step<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let x = View::of_variables([x.len()], x);
///     parallel_min(1..x.len(), &x, |x| x.at::<0>() - x.at::<-1>())
/// }
/// let x = [0.0, 1.0, 4.0, 2.0];
/// assert_eq!(step::<Passive>(&x.map(Real::from)).value(), -2.0);
/// assert_eq!(gradient::<Jacobian>(|x| step(x), &x), [0.0, 0.0, -1.0, 1.0]);
/// ```
/// # Panics
///
/// When [`parallel_max`] does.
#[track_caller]
pub fn parallel_min<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Real<S> {
    extreme(&range.into(), operands, kernel, false, false).0
}

/// The largest value of an expression over a range, as [`parallel_max`] returns it, and the first point that has it.
///
/// ```
/// use tapewright::{kernels::{View, parallel_max_at}, prelude::*};
///
/// let x = View::<Passive, 2>::new([2, 3], &[1.0, -2.0, 3.0, -7.0, 5.0, 7.0]);
/// let (most, place) = parallel_max_at(x.all(), &x, |x| x.at::<0, 0>().abs());
/// assert_eq!((most.value(), place), (7.0, [1, 0]));
///
/// // The first of two has the derivative.
/// let most = |x: &[Real<Jacobian>]| {
///     let x = View::of_variables([3], x);
///     parallel_max_at(x.all(), &x, |x| x.at::<0>().abs()).0
/// };
/// assert_eq!(gradient::<Jacobian>(most, &[1.0, -7.0, 7.0]), [0.0, -1.0, 0.0]);
/// ```
///
/// # Panics
///
/// When [`parallel_max`] does.
#[track_caller]
pub fn parallel_max_at<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> (Real<S>, [usize; R]) {
    extreme(&range.into(), operands, kernel, true, true)
}

/// The smallest value of an expression over a range, and the first point that has it, with the rules of
/// [`parallel_max_at`].
///
/// ```
/// use tapewright::{kernels::{View, parallel_min_at}, prelude::*};
///
/// let nearest = |x: &[Real<Jacobian>]| {
///     let x = View::of_variables([4], x);
///     let (distance, place) = parallel_min_at(x.all(), &x, |x| (x.at::<0>() - 2.5).square());
///     assert_eq!((distance.value(), place), (0.25, [2]));
///     distance
/// };
/// assert_eq!(gradient::<Jacobian>(nearest, &[0.0, 1.0, 2.0, 3.0]), [0.0, 0.0, -1.0, 0.0]);
/// ```
/// # Panics
///
/// When [`parallel_max`] does.
#[track_caller]
pub fn parallel_min_at<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    range: impl Into<Points<R>>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> (Real<S>, [usize; R]) {
    extreme(&range.into(), operands, kernel, false, true)
}

/// The largest or the smallest value of an expression, and the first point that has it, which the caller reads or not.
#[track_caller]
fn extreme<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    range: &Points<R>,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
    largest: bool,
    reads_point: bool,
) -> (Real<S>, [usize; R]) {
    let program = Extreme(kernel(O::tokens()).0);
    let mut slots = operands.slots();
    let start = Start::new(&program, range, slots.as_mut());
    if reads_point {
        start.note_read();
    }
    start.select(&mut BoundKernel::of(&program), largest)
}

/// Copies all elements of a view to another one of the same shape.
///
/// ```
/// use tapewright::{kernels::{View, deep_copy, dot}, prelude::*};
///
/// let doubled = |x: &[Real<Jacobian>]| {
///     let (x, mut y) = (View::of_variables([2], x), View::zeros([2]));
///     deep_copy(&x, &mut y);
///     y *= 2.0;
///     assert_eq!(y.values(), [2.0, 6.0]);
///     dot(&x, &y)
/// };
/// assert_eq!(gradient::<Jacobian>(doubled, &[1.0, 3.0]), [4.0, 12.0]);
/// ```
/// # Panics
///
/// When [`parallel_for`] does.
#[track_caller]
pub fn deep_copy<S: Taping, const R: usize, M: Space<S::Value>>(from: &View<S, R, M>, to: &mut View<S, R, M>) {
    let program = Assign::<Modes<(Reads, Writes)>, _>::new((Element::<0, 0, 0, 0, 0, 0>,));
    Start::new(&program, &Points(to.all()), (from, to).slots().as_mut()).write(&mut BoundKernel::of(&program));
}

/// Writes a variable to all elements of a view.
///
/// ```
/// use tapewright::{kernels::{View, fill, norm_squared}, prelude::*};
///
/// let squares = |k: &[Real<Jacobian>]| {
///     let mut y = View::<_, 1>::zeros([3]);
///     fill(&k[0], &mut y);
///     assert_eq!(y.values(), [2.0; 3]);
///     norm_squared(&y)
/// };
/// assert_eq!(gradient::<Jacobian>(squares, &[2.0]), [12.0]);
/// ```
/// # Panics
///
/// When [`parallel_for`] does.
#[track_caller]
pub fn fill<S: Taping, const R: usize, M: Space<S::Value>>(from: &Real<S>, to: &mut View<S, R, M>) {
    let program = Assign::<Modes<(Reads, Writes)>, _>::new((Number::<0>,));
    Start::new(&program, &Points(to.all()), (from, to).slots().as_mut()).write(&mut BoundKernel::of(&program));
}

/// Σ xᵢ·yᵢ.
///
/// ```
/// use tapewright::{kernels::{View, dot}, prelude::*};
///
/// let weighted = |x: &[Real<Jacobian>]| {
///     let sum = dot(&View::of_variables([2], x), &View::new([2], &[3.0, 4.0]));
///     assert_eq!(sum.value(), 11.0);
///     sum
/// };
/// assert_eq!(gradient::<Jacobian>(weighted, &[1.0, 2.0]), [3.0, 4.0]);
/// ```
/// # Panics
///
/// When [`parallel_for`] does.
#[must_use]
#[track_caller]
pub fn dot<S: Taping, const R: usize, M: Space<S::Value>>(x: &View<S, R, M>, y: &View<S, R, M>) -> Real<S> {
    let product = Term(Element::<0, 0, 0, 0, 0, 0>) * Term(Element::<1, 0, 0, 0, 0, 0>);
    parallel_sum(x.all(), (x, y), |_| product)
}

/// Σ xᵢ².
///
/// ```
/// use tapewright::{kernels::{View, norm_squared}, prelude::*};
///
/// assert_eq!(norm_squared(&View::<Passive, 1>::new([2], &[1.0, 2.0])).value(), 5.0);
/// let squares = |x: &[Real<Jacobian>]| norm_squared(&View::of_variables([2], x));
/// assert_eq!(gradient::<Jacobian>(squares, &[1.0, 2.0]), [2.0, 4.0]);
/// ```
/// # Panics
///
/// When [`parallel_for`] does.
#[must_use]
#[track_caller]
pub fn norm_squared<S: Taping, const R: usize, M: Space<S::Value>>(x: &View<S, R, M>) -> Real<S> {
    parallel_sum(x.all(), x, |_| Term(Element::<0, 0, 0, 0, 0, 0>).square())
}
