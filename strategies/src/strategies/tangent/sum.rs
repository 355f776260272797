//! The tangent of a statement: a sum of tangents, each times a partial.
//!
//! ```text
//! statement ──partials──▶ Sum ──no question is answered by yes──▶ tangent
//!                          │
//!                          └──else──▶ list of Terms ──▶ listed_with_care ──▶ tangent
//! ```
//!
//! A statement is summed without looking at its arguments, and asks two questions at the end: has an argument another
//! level than the running evaluation, and may a product with zero have left a NaN? If so, one function for all
//! statements takes the sum again. It is given copies, made where it is called: if it were given the arguments
//! themselves, these would have to lie in memory before anybody knows whether it is called.

use super::directions::Directions;
use crate::Number;
use crate::level::{self, Common, PASSIVE};

/// An argument of a statement: its partial and its tangent.
#[derive(Clone, Copy)]
pub(crate) struct Term<V, const N: usize> {
    pub(crate) partial: V,
    pub(crate) tangent: Directions<V, N>,
}

impl<V: Number, const N: usize> Term<V, N> {
    /// A term of a passive argument.
    #[inline(always)]
    pub(crate) fn passive() -> Self {
        Self { partial: V::ZERO, tangent: Directions::default() }
    }
}

/// The sum Σ partial·tangent over the arguments of a statement; or, given room for them, a list of its terms. One type
/// does both, so that each node of a statement is compiled once.
pub(crate) struct Sum<'t, V, const N: usize> {
    derivatives: [V; N],
    /// The bits of all levels.
    levels: u64,
    /// Room for terms; empty for a sum.
    terms: &'t mut [Term<V, N>],
    listed: usize,
}

impl<'t, V: Number, const N: usize> Sum<'t, V, N> {
    /// Starts with −0, the additive identity, so that the first addition costs nothing.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self::listing(&mut [])
    }

    /// Starts a list of terms.
    #[inline(always)]
    pub(crate) fn listing(terms: &'t mut [Term<V, N>]) -> Self {
        Self { derivatives: [-V::ZERO; N], levels: PASSIVE, terms, listed: 0 }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
        if self.terms.is_empty() {
            self.levels |= tangent.level;
            V::add_contributions(&mut self.derivatives, partial, &tangent.derivatives);
        } else {
            self.terms[self.listed] = Term { partial, tangent: tangent.copied() };
            self.listed += 1;
        }
    }

    /// Returns the sum, unless it has to be taken [with care](with_care). `has_products` is false if all partials are 1
    /// or −1.
    #[inline(always)]
    pub(crate) fn done(self, has_products: bool) -> Option<Directions<V, N>> {
        let is_right = level::are_present(self.levels) & !(has_products && V::are_suspect(&self.derivatives));
        is_right.then_some(Directions { derivatives: self.derivatives, level: self.levels })
    }
}

/// Returns the sum Σ partial·tangent, where 0 times anything is 0, and passive and paused variables contribute nothing.
///
/// # Panics
///
/// When there are tangents of two levels.
#[track_caller]
pub(crate) fn with_care<'d, V: Number, const N: usize>(
    terms: impl Iterator<Item = (V, &'d Directions<V, N>)>,
) -> Directions<V, N> {
    let mut common = Common::new();
    let mut sum = [-V::ZERO; N];
    for (partial, tangent) in terms.filter(|(_, tangent)| common.meet(tangent.level)) {
        for (sum, tangent) in sum.iter_mut().zip(&tangent.derivatives) {
            let nothing = partial.is_nought() | tangent.is_nought();
            *sum += if nothing { V::ZERO } else { tangent.contribution(partial) };
        }
    }
    match common.get() {
        PASSIVE => Directions::default(),
        level => Directions { derivatives: sum, level },
    }
}

/// [`with_care`] for the terms of a statement.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn listed_with_care<V: Number, const N: usize>(terms: &[Term<V, N>]) -> Directions<V, N> {
    with_care(terms.iter().map(|term| (term.partial, &term.tangent)))
}
