//! Forward mode: derivatives along directions, and variables that carry them.

use crate::error::{Error, same_length};
use crate::expr::Real;
use core::marker::PhantomData;
use core::ops::Range;
use smallvec::SmallVec;
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
        (y.peek(), S::derivative(y.id(), 0))
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
        f(&inputs).iter().map(|y| (y.peek(), S::derivative(y.id(), 0))).unzip()
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
    let mut values = Vec::new();
    let entry = |k: usize, j: usize| directions.get(k).map_or(S::Value::ZERO, |direction| direction.as_ref()[j]);
    sweeps(Call::of(f), x, directions.len(), entry, |run, outputs| {
        keep_values(&mut values, run.start, outputs);
        for (lane, k) in run.enumerate() {
            products[k] = outputs.iter().map(|y| S::derivative(y.id(), lane)).collect();
        }
    });
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
    rows_of(Call::of(f), x)
}

/// [`jacobian_forward`] of anything that runs.
#[allow(clippy::type_complexity, reason = "a vector and a matrix by rows")]
pub(crate) fn rows_of<S: Forward>(f: impl Run<S>, x: &[S::Value]) -> (Vec<S::Value>, Vec<Vec<S::Value>>) {
    let mut rows: Vec<Vec<S::Value>> = Vec::new();
    let mut values = Vec::new();
    sweeps(f, x, x.len(), unit, |run, outputs| {
        keep_values(&mut values, run.start, outputs);
        rows.resize_with(values.len(), || Vec::with_capacity(x.len()));
        for (row, y) in rows.iter_mut().zip(outputs) {
            row.resize(run.end, S::Value::ZERO);
            S::derivatives(y.id(), &mut row[run.clone()]);
        }
    });
    (values, rows)
}

/// [`jacobian_forward`] into memory of the caller: `values[i]` is output `i`, and `jacobian[i * x.len() + j]` is
/// ∂fᵢ/∂xⱼ.
///
/// For small functions that are differentiated often, as residuals: nothing is allocated for up to 16 inputs if `f`
/// returns an array. It costs least where `x` is an array with one input for each direction, and `f` and the functions
/// that it calls are `#[inline(always)]`: the compiler then leaves out the products with zeros of unit vectors.
///
/// # Errors
///
/// [`Error::LengthMismatch`] when `jacobian` has not `values.len() * x.len()` entries; `f` has not run then.
///
/// # Panics
///
/// When `f` does, and when it does not return as many outputs as there are `values`.
///
/// ```
/// use tapewright::{jacobian_forward_into, prelude::*};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 2] { [(x[0] * x[1]).into(), x[1]] }
/// let (mut values, mut jacobian) = ([0.0; 2], [0.0; 4]);
/// jacobian_forward_into::<Tangent<2>, _>(f, &[2.0, 3.0], &mut values, &mut jacobian)?;
/// assert_eq!((values, jacobian), ([6.0, 3.0], [3.0, 2.0, 0.0, 1.0]));
/// # Ok::<(), tapewright::Error>(())
/// ```
pub fn jacobian_forward_into<S: Forward, Y: AsRef<[Real<S>]>>(
    f: impl FnMut(&[Real<S>]) -> Y,
    x: &(impl Inputs<S::Value> + ?Sized),
    values: &mut [S::Value],
    jacobian: &mut [S::Value],
) -> Result<(), Error> {
    check_entries(x.as_ref(), values, jacobian)?;
    entries_at(Call::of(f), x, values, jacobian);
    Ok(())
}

/// Inputs of [`jacobian_forward_into`]: an array, whose length the compiler knows, a slice, or a vector.
pub trait Inputs<V>: AsRef<[V]> {
    /// The number of inputs, where the type says it.
    const LENGTH: Option<usize> = None;
}

impl<V, const N: usize> Inputs<V> for [V; N] {
    const LENGTH: Option<usize> = Some(N);
}
impl<V> Inputs<V> for [V] {}
impl<V> Inputs<V> for Vec<V> {}

/// Maximum number of inputs that are made as an array of known length: it lies on the stack.
const FEW: usize = 16;

/// [`entries_of`], by one run along the axes where the type says that there is an input for each direction. The choice
/// is made when the program is compiled: a function that is called in two places is not inlined.
#[cfg_attr(not(debug_assertions), inline(always))]
fn entries_at<S: Forward, X: Inputs<S::Value> + ?Sized>(
    mut f: impl Run<S>,
    x: &X,
    values: &mut [S::Value],
    jacobian: &mut [S::Value],
) {
    if const { matches!(X::LENGTH, Some(n) if n == S::DIRECTIONS && 0 < n && n <= FEW) } {
        S::evaluate(|| {
            let axes = S::axes(x.as_ref());
            let n = S::DIRECTIONS;
            f.run(Real::of_variables(axes.as_ref()), |outputs| write_entries((n, 0..n), outputs, values, jacobian));
        });
    } else {
        entries_of(f, x.as_ref(), values, jacobian);
    }
}

/// Writes the values of the outputs, and the derivatives along the directions of a run: those with respect to these
/// inputs of so many.
#[inline(always)]
fn write_entries<S: Forward>(
    (inputs, run): (usize, Range<usize>),
    outputs: &[Real<S>],
    values: &mut [S::Value],
    jacobian: &mut [S::Value],
) {
    assert_outputs(outputs.len(), values.len());
    for (i, y) in outputs.iter().enumerate() {
        values[i] = y.peek();
        S::derivatives(y.id(), &mut jacobian[i * inputs..][run.clone()]);
    }
}

/// [`jacobian_forward_into`] of anything that runs, where there are as many entries as there must be.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn entries_of<S: Forward>(
    f: impl Run<S>,
    x: &[S::Value],
    values: &mut [S::Value],
    jacobian: &mut [S::Value],
) {
    sweeps(f, x, x.len(), unit, |run, outputs| write_entries((x.len(), run), outputs, values, jacobian));
}

/// A function that forward mode runs. Its outputs may borrow its inputs, which a closure's type could not say.
pub(crate) trait Run<S: Forward> {
    /// Runs the function and passes on its outputs.
    fn run(&mut self, x: &[Real<S>], take: impl FnOnce(&[Real<S>]));
}

/// A closure that returns outputs of type `Y`.
struct Call<F, Y>(F, PhantomData<Y>);

impl<F, Y> Call<F, Y> {
    const fn of(f: F) -> Self {
        Self(f, PhantomData)
    }
}

impl<S: Forward, Y: AsRef<[Real<S>]>, F: FnMut(&[Real<S>]) -> Y> Run<S> for Call<F, Y> {
    #[inline(always)]
    fn run(&mut self, x: &[Real<S>], take: impl FnOnce(&[Real<S>])) {
        take((self.0)(x).as_ref());
    }
}

/// Checks that the Jacobian matrix has an entry for each pair of an output and an input.
pub(crate) fn check_entries<V>(x: &[V], values: &[V], jacobian: &[V]) -> Result<(), Error> {
    let entries = values.len() * x.len();
    same_length(("outputs times inputs", entries), ("entries of the Jacobian matrix", jacobian.len()))
}

/// Panics unless a function returned as many outputs as there is memory for.
#[track_caller]
pub(crate) fn assert_outputs(found: usize, n: usize) {
    assert_eq!(found, n, "a function to differentiate returned {found} outputs, and there is memory for {n}");
}

/// The inputs of a run. They begin where a cache line does, and with them is aligned what the compiler keeps on the
/// stack beside them: registers that are stored across two lines take twice as long.
#[repr(align(64))]
struct Seeded<S: Forward>(SmallVec<[Real<S>; 16]>);

/// Entry `j` of the unit vector `k`.
fn unit<V: Number>(k: usize, j: usize) -> V {
    indicator(k == j)
}

/// Keeps the values of the outputs of the run that begins with direction `first`.
///
/// # Panics
///
/// When a run has another number of outputs than the first one.
fn keep_values<S: Forward>(values: &mut Vec<S::Value>, first: usize, outputs: &[Real<S>]) {
    if first == 0 {
        values.extend(outputs.iter().map(Real::peek));
    }
    let (n, found) = (values.len(), outputs.len());
    assert_eq!(found, n, "a function to differentiate returned {n} outputs, and {found} in another run");
}

/// Runs `f` for `count` directions, as many in one run as `S` can carry, and once if there are none. `entry(k, j)` is
/// entry `j` of direction `k`, 0 for k ≥ `count`; `each` takes the directions of a run and its outputs, whose
/// derivatives are in the same order.
fn sweeps<S: Forward>(
    mut f: impl Run<S>,
    x: &[S::Value],
    count: usize,
    entry: impl Fn(usize, usize) -> S::Value,
    mut each: impl FnMut(Range<usize>, &[Real<S>]),
) {
    let mut inputs = Seeded::<S>(SmallVec::new());
    let inputs = &mut inputs.0;
    let mut first = 0;
    loop {
        let run = first..count.min(first + S::DIRECTIONS);
        S::evaluate(|| {
            inputs.clear();
            for (j, x) in x.iter().enumerate() {
                inputs.push(moving(*x, |lane| entry(first + lane, j)));
            }
            f.run(inputs, |outputs| each(run.clone(), outputs));
        });
        first = run.end;
        if first == count {
            return;
        }
    }
}
