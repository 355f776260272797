//! Folds and scans by a user's rule.

use super::expression::term::Term;
use super::note::{make_room_for_kernel, note, noted};
use super::views::view::View;
use crate::expr::Real;
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::ir::{Node, Number};
use tapewright_strategies::kernel::launch::{FoldKernel, FoldLaunch};
use tapewright_strategies::kernel::targets::Space;

/// Combines all elements by a rule of two arguments, in the order of [`View::values`]: ((x₀ ∘ x₁) ∘ x₂) ∘ … .
///
/// The rule is differentiated like every kernel, so it may be any expression of its two arguments. It runs on the
/// calling thread, one element after the other: for sums, [`parallel_sum`](super::parallel_sum) is faster.
///
/// ```
/// use tapewright::{kernels::{View, parallel_fold}, prelude::*};
///
/// let product = |x: &View<Jacobian, 1>| parallel_fold(x, |a, b| a * b);
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = scope.view([3], &[2.0, 3.0, 5.0]);
///     let y = product(&x);
///     (x, y)
/// });
/// assert_eq!(y.value(), 30.0);
/// assert_eq!(*tape.sweep(&[(&y, 1.0)])?.of_view(&x)?, [15.0, 10.0, 6.0]);
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Panics
///
/// When the rule uses something that was made elsewhere, as statements do, when the view is active and the strategy's
/// policy is not `Strict`, and when the view is half written. If a rule of yours panics, nothing has been recorded.
#[track_caller]
pub fn parallel_fold<S: Taping, const R: usize, M: Space<S::Value>, A: Node>(
    x: &View<S, R, M>,
    rule: impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> Term<A>,
) -> Real<S> {
    x.assert_whole();
    let rule = FoldKernel::new(rule(Term(Number), Term(Number)).0);
    let value = rule.fold(&x.values).expect("a view has elements");
    let flow = S::flow(&[&x.dependence], &[]);
    make_room_for_kernel::<S>(flow);
    let (mut result, launch) = (Real::constant(value), FoldLaunch::fold(rule, x.read(), &x.values));
    let mut each = |value, id| result = Real::from_parts(value, id);
    note::<S>(flow, launch, &[&x.dependence], &[], &[value], &mut each);
    result
}

/// Combines the elements up to each position by a rule of two arguments, in the order of [`View::values`]: x₀, x₀ ∘ x₁,
/// (x₀ ∘ x₁) ∘ x₂, … ; see [`parallel_fold`].
///
/// ```
/// use tapewright::{kernels::{View, parallel_scan}, prelude::*};
///
/// let x = View::<Passive, 1>::new([4], &[3.0, 1.0, 4.0, 1.0]);
/// assert_eq!(parallel_scan(&x, |a, b| a + b).values(), [3.0, 4.0, 8.0, 9.0]);
/// assert_eq!(parallel_scan(&x, |a, b| a.max(b)).values(), [3.0, 3.0, 4.0, 4.0]);
/// ```
///
/// # Panics
///
/// When [`parallel_fold`] does.
#[must_use]
#[track_caller]
pub fn parallel_scan<S: Taping, const R: usize, M: Space<S::Value>, A: Node>(
    x: &View<S, R, M>,
    rule: impl FnOnce(Term<Number<0>>, Term<Number<1>>) -> Term<A>,
) -> View<S, R, M> {
    x.assert_whole();
    let rule = FoldKernel::new(rule(Term(Number), Term(Number)).0);
    let flow = S::flow(&[&x.dependence], &[]);
    make_room_for_kernel::<S>(flow);
    let mut buffer = View::<S, R, M>::empty(flow, x.len());
    rule.scan(&x.values, &mut buffer);
    let mut results = View::on(x.shape(), buffer.share());
    let (fresh, to) = results.written(flow, true);
    let launch = FoldLaunch::scan(rule, (x.read(), &x.values), (to, &results.values));
    let arrays = [&x.dependence, &results.dependence];
    results.set_dependence(noted::<S>(flow, launch, &arrays, &[], fresh));
    results
}
