//! Derivatives of a variable along directions, for forward mode.

use crate::Number;
use crate::level::{self, PASSIVE};
use core::ops::Index;

/// Derivatives along `N` directions, the identifier of a variable of [`Tangent`](crate::Tangent).
#[derive(Clone, Copy, Debug)]
pub struct Directions<V, const N: usize> {
    pub(crate) derivatives: [V; N],
    /// The level of the evaluation that the derivatives belong to.
    pub(crate) level: u64,
}

impl<V, const N: usize> Directions<V, N> {
    /// The derivatives, in the order of the directions.
    #[inline(always)]
    #[must_use]
    pub const fn as_array(&self) -> &[V; N] {
        &self.derivatives
    }

    /// A copy by the registers in which tangents are computed.
    #[inline(always)]
    pub(crate) fn copied(&self) -> Self
    where
        V: Number,
    {
        Self { derivatives: V::copied(&self.derivatives), level: self.level }
    }
}

/// Compares the derivatives only, not the evaluation that they belong to.
impl<V: PartialEq, const N: usize> PartialEq for Directions<V, N> {
    fn eq(&self, other: &Self) -> bool {
        self.derivatives == other.derivatives
    }
}

/// Makes the directions of a variable of the evaluation that runs on this thread.
impl<V, const N: usize> From<[V; N]> for Directions<V, N> {
    #[inline(always)]
    fn from(derivatives: [V; N]) -> Self {
        Self { derivatives, level: level::present() }
    }
}

impl<V, const N: usize> From<Directions<V, N>> for [V; N] {
    #[inline(always)]
    fn from(directions: Directions<V, N>) -> Self {
        directions.derivatives
    }
}

impl<V: Number, const N: usize> Default for Directions<V, N> {
    /// Returns zeros, for a passive variable.
    #[inline(always)]
    fn default() -> Self {
        Self { derivatives: [V::ZERO; N], level: PASSIVE }
    }
}

impl<V, const N: usize> Index<usize> for Directions<V, N> {
    type Output = V;
    #[inline(always)]
    fn index(&self, direction: usize) -> &V {
        &self.derivatives[direction]
    }
}
