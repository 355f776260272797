//! Folds and scans by a user's rule.

use super::expression::term::Term;
use super::note::{make_room_for_kernel, note};
use super::views::view::View;
use crate::expr::Real;
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::ir::{Node, Number};
use tapewright_strategies::kernel::launch::{FoldKernel, FoldLaunch};
use tapewright_strategies::kernel::targets::Space;

/// First argument of the rule of a fold or scan.
type Left = Term<Number<0>>;
/// Second argument of the rule of a fold or scan.
type Right = Term<Number<1>>;

/// Result of the rule of a fold or scan: an expression, which is applied to one element after the other, or an
/// [`Associative`] one.
pub trait Combines: sealed::Sealed {
    /// Node of the expression.
    type Node: Node;
    /// True if elements may be combined in groups.
    #[doc(hidden)]
    const IS_ASSOCIATIVE: bool;
    /// Returns the node.
    #[doc(hidden)]
    fn node(self) -> Self::Node;
}

mod sealed {
    pub trait Sealed {}
    impl<A> Sealed for super::Term<A> {}
    impl<A> Sealed for super::Associative<A> {}
}

impl<A: Node> Combines for Term<A> {
    type Node = A;
    const IS_ASSOCIATIVE: bool = false;
    fn node(self) -> A {
        self.0
    }
}

/// An expression whose rule has been declared [`associative`].
#[derive(Clone, Copy, Debug)]
pub struct Associative<A>(Term<A>);

impl<A: Node> Combines for Associative<A> {
    type Node = A;
    const IS_ASSOCIATIVE: bool = true;
    fn node(self) -> A {
        self.0.0
    }
}

/// Declares a rule associative: (a ∘ b) ∘ c is a ∘ (b ∘ c), but for rounding. Folds and scans then combine elements in
/// groups, several groups side by side, and with the feature `rayon` on several threads. The groups depend only on the
/// number of elements: values and derivatives have the same bits for any number of threads.
///
/// Sums, products, `max` and `min` are associative. Derivatives are those of what has been computed, even if the rule
/// is not associative.
///
/// ```
/// use tapewright::{kernels::{View, associative, parallel_fold, parallel_scan}, prelude::*};
///
/// let x = View::<Passive, 1>::new([4], &[3.0, 1.0, 4.0, 2.0]);
/// assert_eq!(parallel_scan(&x, associative(|a, b| a * b)).values(), [3.0, 3.0, 12.0, 24.0]);
/// assert_eq!(parallel_fold(&x, associative(|a, b| a.max(b))).value(), 4.0);
///
/// let product = |x: &[Real<Jacobian>]| parallel_fold(&View::of_variables([3], x), associative(|a, b| a * b));
/// assert_eq!(gradient::<Jacobian>(product, &[2.0, 3.0, 5.0]), [15.0, 10.0, 6.0]);
/// ```
pub fn associative<A: Node>(
    rule: impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> Term<A>,
) -> impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> Associative<A> {
    move |a, b| Associative(rule(a, b))
}

#[track_caller]
fn kernel<C: Combines>(rule: impl FnOnce(Left, Right) -> C) -> FoldKernel<C::Node> {
    FoldKernel::new(rule(Term(Number), Term(Number)).node(), C::IS_ASSOCIATIVE)
}

/// Combines all elements by a rule of two arguments, in the order of [`View::values`]: ((x₀ ∘ x₁) ∘ x₂) ∘ … . This runs
/// on the host, which copies the elements of a view on a device.
///
/// The rule is differentiated like every kernel, so it may be any expression of its two arguments. It runs on the
/// calling thread, one element after the other, unless it is declared [`associative`]. For sums,
/// [`parallel_sum`](super::parallel_sum) is faster.
///
/// ```
/// use tapewright::{kernels::{View, associative, parallel_fold}, prelude::*};
///
/// let product = |x: &View<Jacobian, 1>| parallel_fold(x, associative(|a, b| a * b));
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = scope.view([3], &[2.0, 3.0, 5.0]);
///     let y = product(&x);
///     (x, y)
/// });
/// assert_eq!(y.value(), 30.0);
/// assert_eq!(*tape.sweep(&[(&y, 1.0)])?.of_view(&x)?, [15.0, 10.0, 6.0]);
///
/// // The order counts: a continued fraction from the outside in.
/// let x = View::<Passive, 1>::new([3], &[1.0, 2.0, 4.0]);
/// assert_eq!(parallel_fold(&x, |a, b| b + 1.0 / a).value(), 4.0 + 1.0 / 3.0);
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Panics
///
/// When the rule uses something that was made elsewhere, as statements do, when the view is active and the strategy's
/// policy is not `Strict`, and when the view is half written. If a rule of yours panics, nothing has been recorded.
#[track_caller]
pub fn parallel_fold<S: Taping, const R: usize, M: Space<S::Value>, C: Combines>(
    x: &View<S, R, M>,
    rule: impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> C,
) -> Real<S> {
    x.assert_whole();
    let rule = kernel(rule);
    let value = rule.fold(&x.values).expect("a view has elements");
    let flow = S::flow(&[&x.dependence], &[]);
    make_room_for_kernel::<S>(flow);
    let (mut result, launch) = (Real::constant(value), FoldLaunch::fold(rule, x.read(), &x.values));
    let mut each = |value, id| result = Real::from_parts(value, id);
    note::<S>(flow, launch, &[&x.dependence], &[], &[value], &mut each);
    result
}

/// Combines the elements up to each position by a rule of two arguments, in the order of [`View::values`]: x₀, x₀ ∘ x₁,
/// (x₀ ∘ x₁) ∘ x₂, … ; see [`parallel_fold`]. A view on a device is scanned there if the rule is declared
/// [`associative`].
///
/// ```
/// use tapewright::{kernels::{View, associative, parallel_scan}, prelude::*};
///
/// let x = View::<Passive, 1>::new([4], &[3.0, 1.0, 4.0, 1.0]);
/// assert_eq!(parallel_scan(&x, |a, b| 0.5 * a + b).values(), [3.0, 2.5, 5.25, 3.625]);
/// assert_eq!(parallel_scan(&x, associative(|a, b| a + b)).values(), [3.0, 4.0, 8.0, 9.0]);
///
/// let second = |x: &[Real<Jacobian>]| parallel_scan(&View::of_variables([3], x), |a, b| a * b).variable([1]);
/// assert_eq!(gradient::<Jacobian>(second, &[2.0, 3.0, 5.0]), [3.0, 2.0, 0.0]);
/// ```
///
/// # Panics
///
/// When [`parallel_fold`] does.
#[must_use]
#[track_caller]
pub fn parallel_scan<S: Taping, const R: usize, M: Space<S::Value>, C: Combines>(
    x: &View<S, R, M>,
    rule: impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> C,
) -> View<S, R, M> {
    x.assert_whole();
    let rule = kernel(rule);
    let flow = S::flow(&[&x.dependence], &[]);
    make_room_for_kernel::<S>(flow);
    let mut buffer = View::<S, R, M>::empty(flow, x.len());
    rule.scan(M::target(), &x.values, &mut buffer);
    View::recorded(x.shape(), buffer, flow, &[&x.dependence], &[], |to, results| {
        FoldLaunch::scan((rule, M::target()), (x.read(), &x.values), (to, results))
    })
}

/// Combines `start` and the elements before each position by a rule of two arguments, in the order of
/// [`View::values`]: start, start ∘ x₀, (start ∘ x₀) ∘ x₁, … ; see [`parallel_fold`].
///
/// `start` is a number, or a variable, which has a derivative then.
///
/// ```
/// use tapewright::{kernels::{View, associative, parallel_exclusive_scan}, prelude::*};
///
/// // Where each of four pieces begins.
/// let lengths = View::<Passive, 1>::new([4], &[3.0, 1.0, 4.0, 1.0]);
/// let places = parallel_exclusive_scan(&lengths, 0.0, associative(|a, b| a + b));
/// assert_eq!(places.values(), [0.0, 3.0, 4.0, 8.0]);
///
/// // A balance after each year, from what there was at first.
/// let mut tape = Tape::<Jacobian>::new();
/// let (first, balances) = tape.record(|scope| {
///     let (first, payments) = (scope.input(100.0), scope.view([3], &[10.0, 20.0, 30.0]));
///     let balances = parallel_exclusive_scan(&payments, first, |balance, x| 1.5 * balance + x);
///     (first, balances)
/// });
/// assert_eq!(balances.values(), [100.0, 160.0, 260.0]);
/// assert_eq!(tape.sweep_view(&[], (&balances, &[0.0, 0.0, 1.0]))?.of(&first)?, 2.25);
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Panics
///
/// When [`parallel_fold`] does.
#[must_use]
#[track_caller]
pub fn parallel_exclusive_scan<S: Taping, const R: usize, M: Space<S::Value>, C: Combines>(
    x: &View<S, R, M>,
    start: impl Into<Real<S>>,
    rule: impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> C,
) -> View<S, R, M> {
    x.assert_whole();
    let (rule, start) = (kernel(rule), start.into());
    let inputs = [(start.peek(), start.id())];
    let flow = S::flow(&[&x.dependence], &inputs);
    make_room_for_kernel::<S>(flow);
    let mut buffer = View::<S, R, M>::empty(flow, x.len());
    rule.exclusive_scan(M::target(), start.peek(), &x.values, &mut buffer);
    // A replay at another start needs the elements even if they are constants.
    let kept = (flow.is_kept_for_replays() && !x.is_active()).then_some(&x.values);
    View::recorded(x.shape(), buffer, flow, &[&x.dependence], &inputs, |to, results| {
        FoldLaunch::exclusive_scan((rule, M::target()), (x.read(), &x.values), (to, results), kept)
    })
}
