//! Statements, as strategies see them.

use super::curvature::Curvature;
use super::taping::Taping;
use crate::Shape;
use generic_array::{ArrayLength, typenum::Unsigned};

/// A differentiable expression at given values: what local reverse mode inside one statement needs.
///
/// Implemented by the nodes of the engine's expression trees; strategies only call it.
pub trait Rule<S: Taping> {
    /// The structure of the partials, shared by all statements that are linear in the same places.
    type Shape: Shape;

    /// The value, computed when the expression was built.
    fn value(&self) -> S::Value;

    /// Reports factors, and leaves from left to right, with `seed` = ∂(statement)/∂(this node).
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>);

    /// Like [`backward`](Self::backward) for a branch that was not selected: every partial is exactly 0.
    fn silence(&self, sink: &mut impl Sink<S>);

    /// Visits each leaf, left to right, with `seed`·∂/∂leaf.
    #[inline(always)]
    fn partials(&self, seed: S::Value, visit: &mut impl FnMut(S::Value, S::Raw)) {
        self.backward(seed, &mut Partials(visit));
    }
}

/// What a walk over a tree reports to: a type for each purpose, so that each type of node has one function.
pub trait Sink<S: Taping> {
    /// A distinct partial of the statement that is not ±1 by the operators; see [`Shape`].
    fn factor(&mut self, factor: S::Value);
    /// A leaf and its partial.
    fn leaf(&mut self, partial: S::Value, id: S::Raw);
    /// The next `leaves` leaves, at least one, have as a factor of their partials the singular partial of the function
    /// with this name. Called under [`Checked`](crate::Checked) only; see [`Policy`].
    #[inline(always)]
    fn singular(&mut self, function: &'static str, leaves: usize) {
        let _ = (function, leaves);
    }
    /// Whether the next partials count in this lane; they are 0 in the others.
    #[inline(always)]
    fn counts(&self, lane: usize) -> bool {
        let _ = lane;
        true
    }
}

struct Partials<'a, F>(&'a mut F);
impl<S: Taping, F: FnMut(S::Value, S::Raw)> Sink<S> for Partials<'_, F> {
    #[inline(always)]
    fn factor(&mut self, _: S::Value) {}
    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, id: S::Raw) {
        (self.0)(partial, id);
    }
}

/// A tree as it is stored: what it consists of, and what it is when rebuilt.
///
/// The nodes of the engine's expression trees are. Strategies and generic code ask for a [`Statement`].
pub trait Tree<S: Taping>: Rule<S> {
    /// The number of leaves (argument uses) as a typenum integer.
    type Args: Unsigned;
    /// The number of `f64` operands as a typenum integer.
    type Constants: Unsigned;
    /// The tree's owned twin, rebuilt from a record; by-value and by-reference forms share it.
    type Back: Twin<S>;

    /// Reports leaves and constants, each from left to right.
    fn store(&self, store: &mut impl Store<S>);
}

/// The right-hand side of an assignment, as a strategy sees it: a [`Tree`] whose counts can be lengths of arrays.
///
/// Implemented for every tree that qualifies. The bound on arrays stands here and not at each node: its proof is deep,
/// and a chain of a hundred operators would exceed the compiler's recursion limit.
pub trait Statement<S: Taping>: Tree<S, Args: ArrayLength, Constants: ArrayLength> {}
impl<S: Taping, N: Tree<S, Args: ArrayLength, Constants: ArrayLength>> Statement<S> for N {}

/// Where a statement's ingredients go.
pub trait Store<S: Taping> {
    /// The next leaf.
    fn leaf(&mut self, value: S::Value, id: S::Raw);
    /// The next constant.
    fn constant(&mut self, constant: S::Value);
}

/// A tree that owns its leaves and can be rebuilt from a record.
pub trait Twin<S: Taping>: Rule<S> + Sized + 'static {
    /// A number that tells most types apart; strategies hash with it and must not rely on it.
    const HASH: u32;
    /// The number of constants.
    const CONSTANTS: usize;
    /// Whether a rebuilt tree computes its value from its leaves; otherwise recordings with it cannot be replayed.
    const REPLAYS: bool = true;
    /// In which pairs of its leaves it is not linear.
    const CURVATURE: Curvature = Curvature::Everywhere;

    /// Rebuilds the tree, and its values, from the leaves and constants in the order of [`Tree::store`].
    fn load(source: &mut impl Load<S>) -> Self;
}

/// Where a statement's ingredients come from.
pub trait Load<S: Taping> {
    /// The next leaf.
    fn leaf(&mut self) -> (S::Value, S::Raw);
    /// The next constant.
    fn constant(&mut self) -> S::Value;
}
