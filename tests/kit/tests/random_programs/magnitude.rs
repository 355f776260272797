//! A strategy that bounds rounding errors.

use core::marker::PhantomData;
use tapewright::strategies::Statement;
use tapewright::strategies::contract::{Taped, Variable};
use tapewright::strategies::policy::Strict;
use tapewright::{Forward, Nary, Number, Taping};

/// Forward mode with absolute values: a variable carries, for each of `N` inputs, the sum of |product of partials| over
/// all ways from the input to it. The order in which a mode multiplies and adds moves a derivative by that times a few
/// units of rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Magnitude<V, const N: usize>(PhantomData<V>);

fn add<V: Number, const N: usize>(sums: &mut [V; N], partial: V, argument: &[V; N]) {
    for (sum, magnitude) in sums.iter_mut().zip(argument) {
        *sum += partial.abs() * *magnitude;
    }
}

impl<V: Number, const N: usize> Taping for Magnitude<V, N> {
    type Value = V;
    type Id = [V; N];
    type Raw = [V; N];
    type Variable = Taped<V, [V; N]>;
    type Policy = Strict;

    fn passive() -> [V; N] {
        [V::ZERO; N]
    }

    fn raw(id: &[V; N]) -> [V; N] {
        *id
    }

    fn record<S: Statement<Self>>(statement: &S) -> [V; N] {
        let mut sums = Self::passive();
        statement.partials(V::ONE, &mut |partial, id| add(&mut sums, partial, &id));
        sums
    }

    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], _: V) -> [V; N] {
        let all = || arguments.iter().copied().flatten();
        let values: Vec<V> = all().map(Variable::value).collect();
        let mut partials = vec![V::ZERO; values.len()];
        R::partials(&values, constants, &mut partials);
        let mut sums = Self::passive();
        all().zip(partials).for_each(|(x, partial)| add(&mut sums, partial, &x.id));
        sums
    }
}

impl<V: Number, const N: usize> Forward for Magnitude<V, N> {
    const DIRECTIONS: usize = N;

    fn directions(derivative: impl FnMut(usize) -> V) -> [V; N] {
        core::array::from_fn(derivative)
    }

    fn derivative(id: &[V; N], k: usize) -> V {
        id[k]
    }
}
