//! Functions whose derivatives the user supplies.

mod callback;
mod named;
mod rules;

pub use callback::{Callback, CallbackAdjoints};
pub use named::{ByName, Named, statement};
pub use rules::{ByFiniteDifferences, ByTangents, Rules};

use crate::expr::Real;
use smallvec::SmallVec;
use tapewright_strategies::{External, Nary, Number, Taping};

/// Puts a function on the tape: `outputs` are the values that the function has computed at the values of `inputs`,
/// `rule` says how derivatives pass through it. Returns a variable for each output.
///
/// The function may be anything: a solver from another library, a table look-up, a simulation. However much it
/// computes, it is one entry on the tape; in addition only data that `rule` owns are kept. The rule is moved into the
/// tape and dropped once: when the next recording begins, when the tape is reset to a position before the entry, or
/// when the tape is dropped.
///
/// If all inputs are passive (or the recording is [paused](crate::pause)), nothing is recorded, the outputs are
/// passive, and the rule is dropped immediately, as under `Passive`; under `Tangent` the rule's
/// [`forward`](External::forward) is called immediately, and a rule that has none panics.
///
/// Everything that the outputs depend on must be among the inputs. An output may be the unchanged value of an input.
///
/// # Panics
///
/// When inputs belong to two recordings, or to one that is not active on this thread, when the tape is out of
/// identifiers, and when the rule is for another number of inputs or outputs: see [`External::check`].
///
/// # Examples
///
/// y = A·x with a matrix that the rule owns; the reverse rule adds Aᵀ·ȳ to x̄:
///
/// ```
/// use tapewright::{External, SweepError, external, prelude::*};
///
/// struct Product([[f64; 2]; 2]);
/// impl External<f64> for Product {
///     fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
///         for (row, adjoint) in self.0.iter().zip(outputs) {
///             inputs.iter_mut().zip(row).for_each(|(x, a)| *x += a * adjoint);
///         }
///         Ok(())
///     }
/// }
///
/// fn product<S: Taping<Value = f64>>(a: [[f64; 2]; 2], x: &[Real<S>]) -> Vec<Real<S>> {
///     let values = a.map(|row| row[0] * x[0].peek() + row[1] * x[1].peek());
///     external(x, &values, Product(a))
/// }
///
/// let a = [[1.0, 2.0], [3.0, 4.0]];
/// let g = gradient::<Jacobian>(|x| { let y = product(a, x); (y[0] * y[1]).into() }, &[5.0, 6.0]);
/// assert_eq!(g, [1.0 * 39.0 + 17.0 * 3.0, 2.0 * 39.0 + 17.0 * 4.0]);
/// ```
#[track_caller]
pub fn external<S: Taping>(inputs: &[Real<S>], outputs: &[S::Value], rule: impl External<S::Value>) -> Vec<Real<S>> {
    if let Err(why) = rule.check(inputs.len(), outputs.len()) {
        panic!("{} cannot be recorded as an external function: {why}", rule.name());
    }
    let arguments: Arguments<'_, S> = inputs.iter().map(|x| (x.peek(), x.id())).collect();
    if S::is_active(&arguments) {
        record(&arguments, outputs, Box::new(rule))
    } else {
        outputs.iter().map(|value| Real::constant(*value)).collect()
    }
}

pub(crate) type Arguments<'x, S> = SmallVec<[(<S as Taping>::Value, &'x <S as Taping>::Id); 8]>;

/// Records a function of active variables.
#[track_caller]
pub(crate) fn record<S: Taping>(
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    rule: Box<dyn External<S::Value>>,
) -> Vec<Real<S>> {
    let mut results = Vec::with_capacity(outputs.len());
    S::record_external(inputs, outputs, rule, &mut |value, id| results.push(Real::from_parts(value, id)));
    all_of::<S>(results, outputs.len())
}

/// [`record`] of one list of active variables that is given in pieces.
#[track_caller]
#[cfg(any(feature = "nalgebra", feature = "faer"))]
pub(crate) fn record_pieces<S: Taping>(
    pieces: &[&[S::Variable]],
    outputs: &[S::Value],
    rule: impl External<S::Value>,
) -> Vec<Real<S>> {
    let mut results = Vec::with_capacity(outputs.len());
    let mut each = |value, id| results.push(Real::from_parts(value, id));
    S::record_external_of(pieces, outputs, Box::new(rule), &mut each);
    all_of::<S>(results, outputs.len())
}

/// Returns the variables that a strategy has made of the outputs, and checks their number.
#[track_caller]
fn all_of<S: Taping>(results: Vec<Real<S>>, expected: usize) -> Vec<Real<S>> {
    let found = results.len();
    assert!(
        found == expected,
        "{} made {found} variables of {expected} outputs of an external function",
        core::any::type_name::<S>()
    );
    results
}

/// Rule of a statement whose partials are given as constants.
struct Given;

impl<V: Number> Nary<V> for Given {
    const CONSTANTS: usize = 1;
    const REPLAYS: bool = false;
    /// Never called: the caller has the value.
    fn value(_: &[V], _: &[V]) -> V {
        V::from_f64(f64::NAN)
    }
    fn partials(_: &[V], constants: &[V], partials: &mut [V]) {
        partials.copy_from_slice(constants);
    }
}

/// Records one statement with this value and these partials, ∂result/∂argument, one for each argument: for functions
/// whose derivatives are known as values.
///
/// Arguments may be passive; the partials of an argument that occurs twice add up. The record takes as many bytes as a
/// function of slices under the strategy, and works in forward mode, too.
///
/// ```
/// use tapewright::{prelude::*, with_partials};
///
/// let g = gradient::<Jacobian>(|x| {
///     let r = x[0].peek().hypot(x[1].peek());
///     with_partials(&[x[0], x[1]], r, &[x[0].peek() / r, x[1].peek() / r])
/// }, &[3.0, 4.0]);
/// assert_eq!(g, [0.6, 0.8]);
/// ```
///
/// # Panics
///
/// When there are not as many partials as arguments, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
#[track_caller]
pub fn with_partials<S: Taping>(arguments: &[Real<S>], value: S::Value, partials: &[S::Value]) -> Real<S> {
    assert!(
        arguments.len() == partials.len(),
        "a statement with {} arguments was given {} partials",
        arguments.len(),
        partials.len()
    );
    Real::from_parts(value, S::record_nary::<Given>(&[Real::peel(arguments)], partials, value))
}
