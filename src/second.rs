//! Second derivatives, by recordings of duals: values with tangents.

use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::tape::Tape;
use tapewright_strategies::{Dual, Number, Reverse, Scratch};

/// The value of `f` at `x`, its gradient, and its Hessian matrix times `v`.
///
/// One recording over duals with one tangent is made and swept once. A larger Hessian matrix takes no more memory,
/// because the matrix itself is never formed. For many products keep a tape and call [`Tape::hessian_times`].
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
/// let (value, gradient, product) = hvp::<Jacobian<Dual<f64, 1>>, _>(f, &[3.0, 5.0], &[1.0, 0.0]);
/// assert_eq!((value, gradient, product), (45.0, vec![30.0, 9.0], vec![10.0, 6.0]));
/// ```
#[allow(clippy::type_complexity, reason = "a number and two vectors")]
#[track_caller]
pub fn hvp<S: Reverse<Value = Dual<V, 1>>, V: Number>(
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
    x: &[V],
    v: &[V],
) -> (V, Vec<V>, Vec<V>) {
    let directions: Vec<[V; 1]> = v.iter().map(|v| [*v]).collect();
    let (mut gradient, mut products) = (vec![V::ZERO; x.len()], vec![[V::ZERO]; x.len()]);
    let value = Tape::<S>::new()
        .hessian_times(f, x, &directions, &mut gradient, &mut products)
        .unwrap_or_else(|error| panic!("{error}"));
    (value, gradient, products.into_iter().flatten().collect())
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
/// let (_, _, rows) = hessian::<PrimalValue<Dual<f64, 2>>, _, 2>(f, &[3.0, 5.0]);
/// assert_eq!(rows, [[10.0, 6.0], [6.0, 0.0]]);
/// ```
#[allow(clippy::type_complexity, reason = "a number, a vector and a matrix by rows")]
#[track_caller]
pub fn hessian<S: Reverse<Value = Dual<V, N>>, V: Number, const N: usize>(
    f: impl Fn(&[Real<S>]) -> Real<S>,
    x: &[V],
) -> (V, Vec<V>, Vec<Vec<V>>) {
    const { assert!(N > 0, "a Hessian needs numbers with tangents") };
    let mut tape = Tape::<S>::new();
    let mut rows = vec![vec![V::ZERO; x.len()]; x.len()];
    let (mut gradient, mut products) = (vec![V::ZERO; x.len()], vec![[V::ZERO; N]; x.len()]);
    let mut value = None;
    for first in (0..x.len().max(1)).step_by(N) {
        let direction = |i: usize| core::array::from_fn(|k| if i == first + k { V::ONE } else { V::ZERO });
        let directions: Vec<[V; N]> = (0..x.len()).map(direction).collect();
        let found = tape.hessian_times(&f, x, &directions, &mut gradient, &mut products);
        value = Some(found.unwrap_or_else(|error| panic!("{error}")));
        for (row, product) in rows.iter_mut().zip(&products) {
            row[first..].iter_mut().zip(product).for_each(|(entry, found)| *entry = *found);
        }
    }
    (value.expect("`f` has been recorded at least once"), gradient, rows)
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
        let (mut inputs, mut adjoints) = (Scratch::<Dual<V, N>>::new(), Scratch::<Dual<V, N>>::new());
        inputs.extend(x.iter().zip(directions).map(|(value, tangents)| Dual { value: *value, tangents: *tangents }));
        adjoints.resize(x.len(), Dual::ZERO);
        let value = self.gradient(f, &inputs, &mut adjoints)?.value;
        for (adjoint, (slope, product)) in adjoints.iter().zip(gradient.iter_mut().zip(products)) {
            (*slope, *product) = (adjoint.value, adjoint.tangents);
        }
        Ok(value)
    }
}
