//! Kind of records of partials, with each distinct factor once.

use super::kind::{Data, Kind, Row, Target};
use crate::Number;
use crate::identifier::IndexType;
use crate::shape::{Scatter, Shape};
use core::marker::PhantomData;

/// Jacobian records of statements of this shape.
pub(crate) struct Scattered<H>(PhantomData<H>);

impl<H: Shape, V: Number, I: IndexType> Kind<V, I> for Scattered<H> {
    const ARGUMENTS: Option<usize> = Some(H::LEAVES);
    const NUMBERS: usize = H::FACTORS;
    type Object = ();

    #[inline(always)]
    fn reverse(data: Data<'_, Self, V, I>, seed: V, to: &mut impl Target<V>) {
        H::scatter(seed, seed, &mut Factored { factors: data.numbers(), to });
    }
}

/// The factors of a Jacobian record, and the target of its contributions.
pub(crate) struct Factored<'t, V, T> {
    pub(crate) factors: Row<'t, V>,
    pub(crate) to: &'t mut T,
}

impl<V: Number, T: Target<V>> Scatter<V> for Factored<'_, V, T> {
    #[inline(always)]
    fn factor(&mut self) -> V {
        self.factors.read()
    }

    #[inline(always)]
    fn leaf(&mut self, contribution: V) {
        self.to.take(contribution);
    }
}
