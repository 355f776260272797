//! Statements that name their arguments: each argument counts once, however often the expression uses it.

use crate::expr::{BackLeaf, Ex, Real, Singular, ex, given};
use crate::external::with_partials;
use core::cell::Cell;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};
use tapewright_strategies::contract::{Sink, Taped};
use tapewright_strategies::policy::{Policy, Strict};
use tapewright_strategies::singular::{refuses_singular, singular_function};
use tapewright_strategies::{Expression, Nary, Number, Statement, Taping};

/// An argument inside [`statement`], on a tape of strategy `S`: an expression that may be used several times.
pub type Named<S> = Ex<Inside<S>, BackLeaf<Inside<S>>>;
/// The strategy inside a statement on a tape of strategy `S`.
type Inside<S> = ByName<<S as Taping>::Value, <S as Taping>::Policy>;

/// The strategy of the expressions inside [`statement`]: their variables are the arguments, and nothing is recorded.
/// `P` is the policy of the tape.
#[derive(Clone, Copy, Debug)]
pub struct ByName<V, P = Strict>(PhantomData<(V, P)>);

/// The identifier of a value that is not an argument.
const PASSIVE: u64 = u64::MAX;

impl<V: Number, P: Policy> Taping for ByName<V, P> {
    type Value = V;
    type Id = u64;
    type Raw = u64;
    type Variable = Taped<V, u64>;
    type Policy = P;

    #[inline(always)]
    fn passive() -> u64 {
        PASSIVE
    }
    #[inline(always)]
    fn raw(id: &u64) -> u64 {
        *id
    }
    #[track_caller]
    fn record<N: Statement<Self>>(_: &N) -> u64 {
        panic!("inside `statement` there is one expression: leave out `.eval()` and `.into()`, or use `preaccumulate`")
    }
    #[track_caller]
    fn record_nary<R: Nary<V>>(_: &[&[Taped<V, u64>]], _: &[V], _: V) -> u64 {
        panic!("inside `statement` there is one expression, without functions of slices: use `preaccumulate`")
    }
}

/// Identifiers reserved for the arguments of one statement, consecutive.
const EACH: u64 = 1 << 8;
/// Identifiers that a thread uses before it draws another range.
const THREAD: u64 = 1 << 40;
static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The identifier of the first argument of the next statement; 0 before the first statement of a thread.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Draws the identifier of the first argument of a statement, at least [`EACH`] away from all other statements' on any
/// thread.
#[inline(always)]
fn first() -> u64 {
    let mut first = NEXT.get();
    if first.is_multiple_of(THREAD) {
        first = THREADS.fetch_add(1, Ordering::Relaxed) * THREAD + EACH;
    }
    NEXT.set(first + EACH);
    first
}

/// Sink that adds partials up, argument by argument.
struct Merge<V, const N: usize> {
    first: u64,
    partials: [V; N],
}

impl<V: Number, P: Policy, const N: usize> Sink<ByName<V, P>> for Merge<V, N> {
    #[inline(always)]
    fn factor(&mut self, _: V) {}
    #[inline(always)]
    fn leaf(&mut self, partial: V, id: u64) {
        match usize::try_from(id.wrapping_sub(self.first)).ok().and_then(|k| self.partials.get_mut(k)) {
            Some(sum) => *sum += partial,
            None => assert!(id == PASSIVE, "an argument of another `statement` is used: its derivative would be lost"),
        }
    }
}

/// Records one statement of these arguments, in which each argument counts once, however often the expression uses it.
///
/// The partials of the expression are added up in registers, argument by argument, so the record has one partial and
/// one identifier for each argument. Worth it where an expression uses its arguments several times, as a step of a
/// stencil does: the record is smaller than the plain expression's, and the sweep is shorter. Partials of ±1 are stored
/// like all others.
///
/// Inside, arguments are expressions of a strategy of their own, so other variables of the tape cannot get in. Both
/// branches of an `if` may be the same expression of different arguments. For several statements there is
/// [`preaccumulate`](crate::preaccumulate).
///
/// ```
/// use tapewright::{prelude::*, statement};
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = [scope.input(2.0), scope.input(3.0)];
///     (x, statement([&x[0], &x[1]], |[u, v]| u * (u - v) + (u * v).sin() / v))
/// });
/// // 1 byte, two partials, two identifiers.
/// assert_eq!(tape.memory().arguments, 2);
/// let found = tape.sweep(&[(&y, 1.0)])?.of_all(&x)?;
/// let expected = gradient::<Jacobian>(|x| (x[0] * (x[0] - x[1]) + (x[0] * x[1]).sin() / x[1]).into(), &[2.0, 3.0]);
/// assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs()));
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Panics
///
/// When [`eval`](Ex::eval) does, and when the expression is made of arguments of another statement. There are at most
/// 256 arguments.
#[inline(always)]
#[track_caller]
pub fn statement<S, E, const N: usize>(
    arguments: [&Real<S>; N],
    expression: impl FnOnce([Named<S>; N]) -> Ex<ByName<S::Value, S::Policy>, E>,
) -> Real<S>
where
    S: Taping,
    E: Expression<ByName<S::Value, S::Policy>>,
{
    const { assert!(N as u64 <= EACH, "a statement names at most 256 arguments") }
    let first = first();
    let named = core::array::from_fn(|k| ex(BackLeaf::new(arguments[k].peek(), first + k as u64)));
    let result = expression(named);
    let mut merge = Merge { first, partials: [S::Value::ZERO; N] };
    result.0.backward(S::Value::ONE, &mut merge);
    let mut singular = [None; N];
    if refuses_singular::<S>() {
        singular = core::array::from_fn(|k| singular_function(&result.0, |id| *id == first + k as u64));
    }
    if let Some(result) = given(&arguments, result.peek(), &merge.partials, &singular) {
        return result;
    }
    if refuses_singular::<S>() {
        refuse(&arguments, &singular);
    }
    with_partials(&arguments.map(Clone::clone), result.peek(), &merge.partials)
}

/// Reports a statement that is singular: records a statement of each argument that has no finite partial.
#[cold]
#[track_caller]
fn refuse<S: Taping, const N: usize>(arguments: &[&Real<S>; N], singular: &Singular<N>) {
    for (argument, function) in arguments.iter().zip(singular) {
        if function.is_some() {
            given(&[*argument], argument.peek(), &[S::Value::ZERO], &[*function]);
        }
    }
}
