//! Statements that a closure of the user reverses.

use crate::expr::Real;
use smallvec::SmallVec;
use tapewright_strategies::policy::Policy;
use tapewright_strategies::{Continuation, IndexManager, Number};

/// Records a statement with this value that `reverse` reverses: a closure of yours on the tape.
///
/// In each sweep that reaches the statement with an adjoint other than 0, `reverse` is called once, with that adjoint
/// and a slice of zeros, one for each argument, in which `reverse` leaves adjoint·∂result/∂argument. Entries of passive
/// arguments are ignored; the entries of an argument that is given twice add up. If no argument is active, nothing is
/// recorded, the result is passive, and `reverse` is dropped immediately.
///
/// The closure may own whatever it needs. It is moved into the tape, and is dropped once: when the next recording
/// begins, when the tape is reset, or when the tape is dropped. A tape that is leaked drops nothing. If a destructor
/// panics, the other destructors still run, and then one of the panics is resumed.
///
/// Tapes can be sent to other threads, and a finished recording can be swept by several threads simultaneously, so the
/// closure must be `Send` and `Sync`.
///
/// # Panics
///
/// When [`Ex::eval`](crate::Ex::eval) does; nothing has been recorded then, and `reverse` is dropped.
///
/// # Examples
///
/// A matrix kept by the closure, x ↦ ½·xᵀAx:
///
/// ```
/// use tapewright::{continuation, prelude::*};
///
/// fn energy(a: &[[f64; 2]; 2], x: &[Real<Continuation>]) -> Real<Continuation> {
///     let at: Vec<f64> = x.iter().map(Real::peek).collect();
///     let slopes: Vec<f64> = a.iter().map(|row| row[0] * at[0] + row[1] * at[1]).collect();
///     let value = 0.5 * (at[0] * slopes[0] + at[1] * slopes[1]);
///     continuation(&[&x[0], &x[1]], value, move |adjoint, x| {
///         x.iter_mut().zip(&slopes).for_each(|(x, slope)| *x = adjoint * slope);
///     })
/// }
///
/// let a = [[2.0, 1.0], [1.0, 4.0]];
/// assert_eq!(gradient::<Continuation>(|x| (2.0 * energy(&a, x)).into(), &[1.0, 2.0]), [8.0, 18.0]);
/// ```
///
/// A value that is not `Sync` cannot be captured:
///
/// ```compile_fail,E0277
/// # use tapewright::{continuation, prelude::*};
/// # use std::cell::Cell;
/// fn counted(x: &Real<Continuation>) -> Real<Continuation> {
///     let calls = Cell::new(0);
///     continuation(&[x], x.peek(), move |adjoint, x| {
///         calls.set(calls.get() + 1); // use an atomic counter
///         x[0] = adjoint;
///     })
/// }
/// ```
#[track_caller]
pub fn continuation<V: Number, M: IndexManager, P: Policy>(
    arguments: &[&Real<Continuation<V, M, P>>],
    value: V,
    reverse: impl Fn(V, &mut [V]) + Send + Sync + 'static,
) -> Real<Continuation<V, M, P>> {
    let ids: SmallVec<[&M::Id; 8]> = arguments.iter().map(|x| x.id()).collect();
    Real::from_parts(value, Continuation::<V, M, P>::record_closure(&ids, reverse))
}
