//! Blocks of statements that become one record for each output.

use crate::checkpoint::{TapePool, convert, in_place, plain_at, rebuild, record_stage, refuse_views, same_values};
use crate::exchange;
use crate::expr::{Real, given};
use crate::external::with_partials;
use crate::tape::Tape;
use crate::variables::Variables;
use core::panic::Location;
use tapewright_strategies::recording::on_behalf_of;
use tapewright_strategies::{Forward, Number as _, Passive, Reverse, Tangent, Taping};

/// Runs a small block by forward mode, in registers, and records one statement for each of its outputs, with its
/// partials with respect to the `N` inputs.
///
/// Worth it where a block has more statements than outputs: the tape then has fewer records, and every sweep is
/// shorter. The block is computed with `N` tangents beside each value, so keep `N` small, up to 8 or so; for more
/// inputs there is [`preaccumulate_by_reverse`].
///
/// The block sees its inputs as variables of forward mode, [`Tangent`]; a variable of the tape is of another type, so
/// one that is not declared as an input cannot get in. Where the outer strategy is `Tangent<N>` with the same `N`, as
/// in a block inside a block, the types are the same: a variable from outside that is used inside panics.
///
/// ```
/// use tapewright::{preaccumulate, prelude::*};
///
/// /// Ten statements, two inputs, one output.
/// fn block<S: Strategy>([x, y]: &[Real<S>; 2]) -> Real<S> {
///     (0..10).fold(*x, |x, _| (x.sin() * y).eval())
/// }
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, z) = tape.record(|scope| {
///     let x = [scope.input(0.5), scope.input(1.5)];
///     (x, preaccumulate(&x, block))
/// });
/// assert_eq!(tape.memory().statements, 1);
/// let found = tape.sweep(&[(&z, 1.0)])?.of_all(&x)?;
/// let expected = gradient::<Jacobian>(|x| block(&[x[0], x[1]]), &[0.5, 1.5]);
/// assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs()));
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// # Panics
///
/// When the inputs are of two recordings or of one that is not active on this thread, when the block uses or returns a
/// variable of forward mode that is not made of its inputs, and when the block does. Under the policy
/// [`Checked`](crate::Checked), which the block has if the outer strategy has it, at a statement of the block that is
/// singular.
#[track_caller]
pub fn preaccumulate<S, Y, const N: usize>(
    inputs: &[Real<S>; N],
    block: impl FnOnce(&[Real<Tangent<N, S::Value, S::Policy>>; N]) -> Y,
) -> Y::With<S>
where
    S: Taping,
    Y: Variables<Tangent<N, S::Value, S::Policy>>,
{
    type Block<const N: usize, S> = Tangent<N, <S as Taping>::Value, <S as Taping>::Policy>;
    let unit = |k: usize| core::array::from_fn(|i| if i == k { S::Value::ONE } else { S::Value::ZERO });
    let outputs = Block::<N, S>::evaluate(|| {
        let moving = core::array::from_fn(|k| Real::<Block<N, S>>::with_tangent(inputs[k].peek(), unit(k)));
        let run = || exchange::refused_in("a preaccumulated block", || block(&moving));
        let outputs = in_place::apart::<S, _>(|| in_place::read(inputs), in_place::is_empty, run);
        refuse_views("a preaccumulated block", &outputs);
        outputs.visit(&mut |slice| slice.iter().for_each(|y| Block::<N, S>::assert_present(y.id())));
        outputs
    });
    on_behalf_of::<S::Policy, _>(Location::caller(), || {
        convert(&outputs, |y| {
            let (value, partials) = (y.peek(), y.tangent());
            given(&inputs.each_ref(), value, &partials, &[None; N])
                .unwrap_or_else(|| with_partials(inputs, value, &partials))
        })
    })
}

/// Runs a block on a tape of its own, of strategy `T`, sweeps that tape once for each output, and records one statement
/// for each output, with its partials with respect to all inputs.
///
/// For blocks of many inputs and few outputs, with many more statements than inputs times outputs. The tape of the
/// block is wiped and used again. See [`preaccumulate`] for small blocks.
///
/// In a recording for a [program](crate::programs), or one that keeps [guards](crate::Tape::set_guards) for replays, a
/// block of the same strategy stays as it is recorded, because partials cannot be computed again.
///
/// If the block has the same strategy as the outer tape, a variable of the outer recording could get in without being
/// declared; that panics.
///
/// ```
/// use tapewright::{preaccumulate_by_reverse, prelude::*};
///
/// fn block<S: Strategy>(x: &Vec<Real<S>>) -> Real<S> {
///     (0..50).fold(x[0], |y, k| (y.sin() + x[k % 20]).eval())
/// }
///
/// let x: Vec<f64> = (0..20).map(|k| 0.1 * f64::from(k)).collect();
/// let found = gradient::<PrimalValue>(|x| preaccumulate_by_reverse::<Jacobian, _, _, _>(&x.to_vec(), block), &x);
/// let expected = gradient::<Jacobian>(|x| block(&x.to_vec()), &x);
/// assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs()));
/// ```
///
/// # Errors
///
/// None: a block on a strategy that spills panics when the disk fails.
///
/// # Panics
///
/// When the block uses a variable that is not among its inputs or returns one that is not its own, when the inputs are
/// of two recordings or of one that is not active on this thread, and when the block does.
#[track_caller]
pub fn preaccumulate_by_reverse<T, S, X, Y>(inputs: &X, block: impl FnOnce(&X::With<T>) -> Y) -> Y::With<S>
where
    S: Taping,
    T: Reverse<Value = S::Value>,
    X: Variables<S>,
    X::With<Passive<S::Value>>: Variables<Passive<S::Value>, With<T> = X::With<T>>,
    Y: Variables<T>,
{
    refuse_views("a preaccumulated block", inputs);
    let list: Vec<Real<S>> = inputs.list().into_iter().cloned().collect();
    let arguments = inputs.arguments();
    let at = plain_at(inputs, &arguments);
    let active = S::is_active(&arguments);
    let mut block = Some(block);
    let mut block = |x: &_| {
        let block = block.take().expect("a block is recorded once");
        exchange::refused_in("a preaccumulated block", || block(x))
    };
    if const { in_place::is_possible::<S, T>() }
        && let Some((y, recorded)) = in_place::record::<S, T, _, _>(inputs, &mut block)
    {
        refuse_views("a preaccumulated block", &y);
        return recorded.in_shape_of(&y);
    }
    let here = Location::caller();
    let pool = S::keep::<TapePool<T>>(&[], &arguments).unwrap_or_default();
    let mut run = |tape: &mut Tape<T>| {
        let (x, y) = record_stage(tape, &at, &mut block).unwrap_or_else(|error| panic!("{error}"));
        refuse_views("a preaccumulated block", &y);
        let outputs: Vec<Real<T>> = y.list().into_iter().cloned().collect();
        let mut entries = vec![S::Value::ZERO; if active { outputs.len() * x.len() } else { 0 }];
        if active {
            let swept = tape.rows(&x, &outputs, &mut entries);
            swept.unwrap_or_else(|error| panic!("a block cannot be preaccumulated: {error}"));
        }
        let result = |(i, output): (usize, &Real<T>)| match entries.get(i * x.len()..(i + 1) * x.len()) {
            Some(row) if active => with_partials(&list, output.peek(), row),
            _ => Real::constant(output.peek()),
        };
        let results: Vec<_> = on_behalf_of::<S::Policy, _>(here, || outputs.iter().enumerate().map(result).collect());
        rebuild(&y, &results, same_values)
    };
    in_place::apart::<S, _>(|| in_place::read(inputs), in_place::is_empty, || pool.with(&mut run))
}
