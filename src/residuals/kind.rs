//! Kinds of residual blocks behind pointers. The code in this file is compiled for each kind; the rest of the module
//! once.

use super::residual::{Residual, datum};
use crate::expr::Real;
use core::array::from_fn;
use tapewright_strategies::{Jacobian, Passive, Strategy};

/// Number type of the observations that are computed together.
#[cfg(feature = "packs")]
pub(super) type Several = tapewright_strategies::Pack<8>;
/// Number type of the observations that are computed together: one at a time without the feature `packs`.
#[cfg(not(feature = "packs"))]
pub(super) type Several = f64;

/// A function that runs under a strategy: the parameters of all its blocks lie one after the other.
pub(super) trait Run<S: Strategy> {
    /// Computes residuals and appends them.
    fn run(&self, parameters: &[Real<S>], data: &[S::Value], residuals: &mut Vec<Real<S>>);
}

/// A kind of residual block, under all strategies in which the module evaluates it.
pub(super) trait Kind:
    Run<Passive> + Run<Jacobian> + Run<Passive<Several>> + Run<Jacobian<Several>> + Send + Sync
{
}

/// A kind with its numbers of blocks, data and residuals.
pub(super) struct Typed<K, const B: usize, const D: usize, const M: usize>(pub(super) K);

impl<K: Residual<B, D, M>, S: Strategy, const B: usize, const D: usize, const M: usize> Run<S> for Typed<K, B, D, M> {
    fn run(&self, parameters: &[Real<S>], values: &[S::Value], residuals: &mut Vec<Real<S>>) {
        let (sizes, mut rest) = (self.0.sizes(), parameters);
        let blocks = from_fn(|k| {
            let (block, others) = rest.split_at(sizes[k]);
            rest = others;
            block
        });
        residuals.extend(self.0.residuals(blocks, from_fn(|k| datum(values[k]))));
    }
}

impl<K: Residual<B, D, M>, const B: usize, const D: usize, const M: usize> Kind for Typed<K, B, D, M> {}
