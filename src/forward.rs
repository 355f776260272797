//! Forward mode: derivatives along directions, and variables that carry them.

use crate::error::{Error, same_length};
use crate::expr::Real;
use tapewright_strategies::policy::Policy;
use tapewright_strategies::{Directions, Forward, Number, Tangent};

/// Variables of forward mode, for code that sets and reads derivatives itself.
///
/// A variable belongs to the evaluation in which it is made: to the innermost forward driver that is running on the
/// thread, or, outside all drivers, to one evaluation that such variables share. Statements of variables of two
/// evaluations panic.
///
/// ```
/// use tapewright::prelude::*;
///
/// let x = Real::<Tangent<2>>::with_tangent(3.0, [1.0, 0.0]);
/// let y = Real::<Tangent<2>>::with_tangent(5.0, [0.0, 1.0]);
/// let z: Real<_> = (x * x * y).into();
/// assert_eq!((z.value(), z.tangent()), (45.0, [30.0, 9.0]));
/// ```
impl<const N: usize, V: Number, P: Policy> Real<Tangent<N, V, P>> {
    /// A variable with this value and these derivatives, one for each direction.
    #[inline(always)]
    pub fn with_tangent(value: V, tangent: [V; N]) -> Self {
        Self::from_parts(value, Directions::from(tangent))
    }

    /// The derivatives, one for each direction.
    #[inline(always)]
    pub fn tangent(&self) -> [V; N] {
        *self.id().as_array()
    }
}

/// A variable with this value, whose derivative along direction `k` is `derivative(k)`.
#[inline(always)]
fn moving<S: Forward>(value: S::Value, derivative: impl FnMut(usize) -> S::Value) -> Real<S> {
    const { assert!(S::DIRECTIONS > 0, "forward drivers need a strategy with at least one direction") };
    Real::from_parts(value, S::directions(derivative))
}

/// 1 where the condition holds, else 0.
fn indicator<V: Number>(condition: bool) -> V {
    if condition { V::ONE } else { V::ZERO }
}

/// The derivative of a function of one variable, by forward mode.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn f<S: Strategy>(x: Real<S>) -> Real<S> { (x.sin() * x).into() }
/// assert_eq!(derivative::<Tangent>(f, 0.5), 0.5_f64.cos() * 0.5 + 0.5_f64.sin());
/// ```
///
/// # Panics
///
/// When `f` does.
pub fn derivative<S: Forward>(f: impl FnOnce(Real<S>) -> Real<S>, x: S::Value) -> S::Value {
    value_and_derivative(f, x).1
}

/// The value and the derivative of a function of one variable, by forward mode.
///
/// # Panics
///
/// When [`derivative`] does.
pub fn value_and_derivative<S: Forward>(f: impl FnOnce(Real<S>) -> Real<S>, x: S::Value) -> (S::Value, S::Value) {
    S::evaluate(|| {
        let y = f(moving(x, |k| indicator(k == 0)));
        (y.value(), S::derivative(y.id(), 0))
    })
}

/// The values of `f` at `x`, and J·`direction`: the derivative of each output along a direction, by forward mode.
///
/// `f` runs once, and no tape is made.
///
/// # Errors
///
/// [`Error::LengthMismatch`] when `direction` is not as long as `x`.
///
/// # Panics
///
/// When `f` does.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn polar<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
///     vec![(x[0] * x[1].cos()).into(), (x[0] * x[1].sin()).into()]
/// }
/// let (values, products) = jvp::<Tangent>(polar, &[2.0, 0.0], &[0.25, 0.5])?;
/// assert_eq!((values, products), (vec![2.0, 0.0], vec![0.25, 1.0]));
/// # Ok::<(), tapewright::Error>(())
/// ```
///
/// Variables of a strategy that records carry no tangents:
///
/// ```compile_fail,E0277
/// # use tapewright::prelude::*;
/// jvp::<Jacobian>(|x| vec![(x[0] * x[1]).into()], &[2.0, 0.0], &[0.25, 0.5]);
/// ```
#[allow(clippy::type_complexity, reason = "two vectors, or what is wrong")]
pub fn jvp<S: Forward>(
    f: impl FnOnce(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
    direction: &[S::Value],
) -> Result<(Vec<S::Value>, Vec<S::Value>), Error> {
    same_length(("inputs", x.len()), ("entries of the direction", direction.len()))?;
    let along = |(x, d): (&S::Value, &S::Value)| moving(*x, |k| if k == 0 { *d } else { S::Value::ZERO });
    Ok(S::evaluate(|| {
        let inputs: Vec<Real<S>> = x.iter().zip(direction).map(along).collect();
        f(&inputs).iter().map(|y| (y.value(), S::derivative(y.id(), 0))).unzip()
    }))
}

/// The values of `f` at `x`, and J·d for each of several directions d: `products[k][i]` is the derivative of output `i`
/// along `directions[k]`, by forward mode.
///
/// `f` runs once for every `N` directions under `Tangent<N>`, and once if there are no directions.
///
/// # Errors
///
/// [`Error::LengthMismatch`] when a direction is not as long as `x`.
///
/// # Panics
///
/// When `f` does, and when it returns a different number of outputs in another run.
#[allow(clippy::type_complexity, reason = "a vector and a matrix by rows, or what is wrong")]
pub fn jvps<S: Forward>(
    f: impl FnMut(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
    directions: &[impl AsRef<[S::Value]>],
) -> Result<(Vec<S::Value>, Vec<Vec<S::Value>>), Error> {
    for direction in directions {
        same_length(("inputs", x.len()), ("entries of a direction", direction.as_ref().len()))?;
    }
    let mut products = vec![Vec::new(); directions.len()];
    let entry = |k: usize, j: usize| directions[k].as_ref()[j];
    let values = sweeps(f, x, directions.len(), entry, |k, _, product| products[k].push(product));
    Ok((values, products))
}

/// The values of `f` at `x`, and its Jacobian matrix, by forward mode: `jacobian[i][j]` is ∂fᵢ/∂xⱼ, as from
/// [`jacobian`](crate::jacobian).
///
/// `f` runs once for every `N` inputs under `Tangent<N>`, and once if there are no inputs. Better than reverse mode
/// where there are fewer inputs than outputs, or few of both.
///
/// # Panics
///
/// When [`jvps`] does.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> { vec![(x[0] * x[1]).into(), x[1]] }
/// let (_, jacobian) = jacobian_forward::<Tangent<8>>(f, &[2.0, 3.0]);
/// assert_eq!(jacobian, [[3.0, 2.0], [0.0, 1.0]]);
/// ```
#[allow(clippy::type_complexity, reason = "a vector and a matrix by rows")]
pub fn jacobian_forward<S: Forward>(
    f: impl FnMut(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
) -> (Vec<S::Value>, Vec<Vec<S::Value>>) {
    let mut rows: Vec<Vec<S::Value>> = Vec::new();
    let values = sweeps(
        f,
        x,
        x.len(),
        |k, j| indicator(k == j),
        |_, i, partial| {
            if rows.len() == i {
                rows.push(Vec::with_capacity(x.len()));
            }
            rows[i].push(partial);
        },
    );
    rows.resize(values.len(), Vec::new()); // without inputs, no row has been begun
    (values, rows)
}

/// Runs `f` for `count` directions, as many in one run as `S` can carry. `entry(k, j)` is entry `j` of direction `k`;
/// `put(k, i, product)` takes the derivative of output `i` along direction `k`, directions and outputs in order.
/// Returns the values of the outputs.
fn sweeps<S: Forward>(
    mut f: impl FnMut(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
    count: usize,
    entry: impl Fn(usize, usize) -> S::Value,
    mut put: impl FnMut(usize, usize, S::Value),
) -> Vec<S::Value> {
    let mut inputs: Vec<Real<S>> = Vec::with_capacity(x.len());
    let mut run = |first: usize, used: usize| {
        let along =
            |(j, x): (usize, &S::Value)| moving(*x, |k| if k < used { entry(first + k, j) } else { S::Value::ZERO });
        inputs.clear();
        inputs.extend(x.iter().enumerate().map(along));
        f(&inputs)
    };
    let mut outputs = None;
    for first in (0..count).step_by(S::DIRECTIONS) {
        let used = S::DIRECTIONS.min(count - first);
        S::evaluate(|| {
            let now = run(first, used);
            let n = outputs.get_or_insert_with(|| now.iter().map(Real::value).collect::<Vec<_>>()).len();
            let found = now.len();
            assert_eq!(found, n, "a function to differentiate returned {n} outputs, and {found} in another run");
            for k in 0..used {
                now.iter().enumerate().for_each(|(i, y)| put(first + k, i, S::derivative(y.id(), k)));
            }
        });
    }
    outputs.unwrap_or_else(|| S::evaluate(|| run(0, 0).iter().map(Real::value).collect()))
}
