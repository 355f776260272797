//! Records of partials, each factor once: how they are read.

use super::adjoints::{Kind, Reversal};
use super::data::{Extent, Target, misreported};
use crate::shape::Scatter;
use crate::{IndexType, Number, Shape};
use core::marker::PhantomData;

/// Jacobian records of statements of this shape.
pub(super) struct Scattered<H>(PhantomData<H>);

impl<H: Shape, V: Number, I: IndexType> Extent<V, I> for Scattered<H> {
    const ARGUMENTS: Option<usize> = Some(H::LEAVES);
    const NUMBERS: usize = H::FACTORS;
    type Object = ();
}

impl<H: Shape, V: Number, I: IndexType> Kind<V, I> for Scattered<H> {
    #[inline(always)]
    fn reverse(record: Reversal<'_, '_, Self, V, I>, seed: V) {
        let factors = record.data().numbers();
        H::scatter(seed, seed, &mut Factored { factors, to: record.adding() });
    }
}

/// The factors of a Jacobian record, and where what it contributes goes.
pub(super) struct Factored<F, T> {
    pub(super) factors: F,
    pub(super) to: T,
}

impl<V: Number, F: Iterator<Item = V>, T: Target<V>> Scatter<V> for Factored<F, T> {
    #[inline(always)]
    fn factor(&mut self) -> V {
        self.factors.next().unwrap_or_else(|| misreported())
    }

    #[inline(always)]
    fn leaf(&mut self, contribution: V) {
        if !self.to.take(contribution) {
            misreported();
        }
    }
}
