//! Second derivatives, by recordings of duals: values with tangents.

use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::tape::Tape;
use tapewright_strategies::{Dual, Number, Reverse, Scratch, Taping};

mod sealed {
    /// Implemented for duals.
    pub trait Sealed {}
    impl<V: tapewright_strategies::Number, const N: usize> Sealed for tapewright_strategies::Dual<V, N> {}
}

/// Numbers with tangents, for second derivatives: [`Dual`]s of any number. No other type can implement it.
#[diagnostic::on_unimplemented(
    message = "second derivatives need a strategy over `Dual<f64, N>`, found one over `{Self}`",
    label = "numbers without tangents",
    note = "name the numbers: `hessian::<Jacobian<Dual<f64, 8>>>(f, &x)`, `hvp::<Jacobian<Dual<f64, 1>>>(f, &x, &v)`"
)]
pub trait WithTangents: Number + sealed::Sealed {
    /// The numbers of values and of tangents.
    type Plain: Number;
    /// The number of tangents.
    const TANGENTS: usize;

    /// A number with this value, and tangent `k` from `tangent(k)`.
    #[must_use]
    fn from_tangents(value: Self::Plain, tangent: impl Fn(usize) -> Self::Plain) -> Self;

    /// Returns the value.
    #[must_use]
    fn value(&self) -> Self::Plain;

    /// Returns the tangents.
    #[must_use]
    fn tangents(&self) -> &[Self::Plain];
}

#[diagnostic::do_not_recommend]
impl<V: Number, const N: usize> WithTangents for Dual<V, N> {
    type Plain = V;
    const TANGENTS: usize = N;

    fn from_tangents(value: V, tangent: impl Fn(usize) -> V) -> Self {
        Self { value, tangents: core::array::from_fn(tangent) }
    }

    fn value(&self) -> V {
        self.value
    }

    fn tangents(&self) -> &[V] {
        &self.tangents
    }
}

/// The numbers that values of the numbers of a strategy are made of: `f64` for `Jacobian<Dual<f64, 8>>`.
pub(crate) type PlainOf<S> = <<S as Taping>::Value as WithTangents>::Plain;

/// The value of `f` at `x`, its gradient, and its Hessian matrix times `v`.
///
/// One recording over duals is made and swept once; one tangent is enough. A larger Hessian matrix takes no more
/// memory, because the matrix itself is never formed. For many products keep a tape and call [`Tape::hessian_times`].
///
/// # Panics
///
/// When `v` is not as long as `x`, and in the cases listed at [`gradient`](crate::gradient).
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Dual, hvp};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0] * x[0] * x[1]).into() }
/// let (value, gradient, product) = hvp::<Jacobian<Dual<f64, 1>>>(f, &[3.0, 5.0], &[1.0, 0.0]);
/// assert_eq!((value, gradient, product), (45.0, vec![30.0, 9.0], vec![10.0, 6.0]));
/// ```
#[allow(clippy::type_complexity, reason = "a number and two vectors")]
#[track_caller]
pub fn hvp<S: Reverse<Value: WithTangents>>(
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
    x: &[PlainOf<S>],
    v: &[PlainOf<S>],
) -> (PlainOf<S>, Vec<PlainOf<S>>, Vec<PlainOf<S>>) {
    const { assert!(S::Value::TANGENTS > 0, "a product needs numbers with a tangent") };
    let (mut gradient, mut product) = (vec![PlainOf::<S>::ZERO; x.len()], vec![PlainOf::<S>::ZERO; x.len()]);
    let value = same_length(("inputs", x.len()), ("entries of directions", v.len())).and_then(|()| {
        let direction = |i: usize, k: usize| if k == 0 { v[i] } else { PlainOf::<S>::ZERO };
        let take = |i: usize, adjoint: &S::Value| (gradient[i], product[i]) = (adjoint.value(), adjoint.tangents()[0]);
        swept(&mut Tape::<S>::new(), f, x, direction, take)
    });
    (value.unwrap_or_else(|error| panic!("{error}")), gradient, product)
}

/// The value of `f` at `x`, its gradient, and its Hessian matrix by rows.
///
/// `f` is recorded and swept once for every `N` columns, over duals with `N` tangents. 8 is a good choice; with fewer
/// inputs, take their number. For a large Hessian that is mostly zeros,
/// [`sparse_hessian`](crate::sparse::sparse_hessian) is the better choice, and for one that is only multiplied by
/// vectors [`hvp`].
///
/// # Panics
///
/// When [`gradient`](crate::gradient) does.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::{Dual, hessian};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0] * x[0] * x[1]).into() }
/// let (_, _, rows) = hessian::<PrimalValue<Dual<f64, 2>>>(f, &[3.0, 5.0]);
/// assert_eq!(rows, [[10.0, 6.0], [6.0, 0.0]]);
/// ```
#[allow(clippy::type_complexity, reason = "a number, a vector and a matrix by rows")]
#[track_caller]
pub fn hessian<S: Reverse<Value: WithTangents>>(
    f: impl Fn(&[Real<S>]) -> Real<S>,
    x: &[PlainOf<S>],
) -> (PlainOf<S>, Vec<PlainOf<S>>, Vec<Vec<PlainOf<S>>>) {
    const { assert!(S::Value::TANGENTS > 0, "a Hessian needs numbers with tangents") };
    let mut tape = Tape::<S>::new();
    let (mut gradient, mut rows) =
        (vec![PlainOf::<S>::ZERO; x.len()], vec![vec![PlainOf::<S>::ZERO; x.len()]; x.len()]);
    let mut value = None;
    for first in (0..x.len().max(1)).step_by(S::Value::TANGENTS) {
        let unit = |i: usize, k: usize| if i == first + k { PlainOf::<S>::ONE } else { PlainOf::<S>::ZERO };
        let take = |i: usize, adjoint: &S::Value| {
            gradient[i] = adjoint.value();
            rows[i][first..].iter_mut().zip(adjoint.tangents()).for_each(|(entry, tangent)| *entry = *tangent);
        };
        value = Some(swept(&mut tape, &f, x, unit, take).unwrap_or_else(|error| panic!("{error}")));
    }
    (value.expect("`f` has been recorded at least once"), gradient, rows)
}

/// Records `f` at `x` with tangents `direction(input, tangent)`, sweeps, and calls `take` with each input's index and
/// adjoint. Returns the value.
#[track_caller]
fn swept<S: Reverse<Value: WithTangents>>(
    tape: &mut Tape<S>,
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
    x: &[PlainOf<S>],
    direction: impl Fn(usize, usize) -> PlainOf<S>,
    mut take: impl FnMut(usize, &S::Value),
) -> Result<PlainOf<S>, Error> {
    let (mut inputs, mut adjoints) = (Scratch::<S::Value>::new(), Scratch::<S::Value>::new());
    inputs.extend(x.iter().enumerate().map(|(i, x)| S::Value::from_tangents(*x, |k| direction(i, k))));
    adjoints.resize(x.len(), S::Value::ZERO);
    let value = tape.gradient(f, &inputs, &mut adjoints)?;
    adjoints.iter().enumerate().for_each(|(i, adjoint)| take(i, adjoint));
    Ok(value.value())
}

impl<V: Number, const N: usize, S: Reverse<Value = Dual<V, N>>> Tape<S> {
    /// Records `f` at `x` and sweeps; writes the gradient, and the Hessian matrix times `N` vectors, and returns the
    /// value. `directions[i]` are the entries of the vectors for input i, `products[i]` the entries of the products. A
    /// second call with the same function allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when `directions`, `gradient` or `products` is not as long as `x`, and as
    /// [`gradient`](Self::gradient).
    ///
    /// # Panics
    ///
    /// When [`gradient`](Self::gradient) does.
    #[track_caller]
    pub fn hessian_times(
        &mut self,
        f: impl FnOnce(&[Real<S>]) -> Real<S>,
        x: &[V],
        directions: &[[V; N]],
        gradient: &mut [V],
        products: &mut [[V; N]],
    ) -> Result<V, Error> {
        same_length(("inputs", x.len()), ("entries of directions", directions.len()))?;
        same_length(("inputs", x.len()), ("gradient entries", gradient.len()))?;
        same_length(("inputs", x.len()), ("entries of products", products.len()))?;
        let take = |i: usize, adjoint: &Dual<V, N>| (gradient[i], products[i]) = (adjoint.value, adjoint.tangents);
        swept(self, f, x, |i, k| directions[i][k], take)
    }
}
