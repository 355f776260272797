//! Arguments of functions.

use super::Ex;
use super::nodes::node::{Leaf, Literal, RefLeaf};
use tapewright_strategies::{Expression, Number as _, Taping};

/// Second and third arguments of functions: an `f64` or a borrowed one, an expression, or a borrowed variable.
pub trait Operand<S: Taping> {
    /// Type of the node that the operand becomes.
    type Node: Expression<S>;
    /// Turns the operand into a node.
    fn into_node(self) -> Self::Node;
}

impl<S: Taping> Operand<S> for f64 {
    type Node = Literal<S>;
    #[inline(always)]
    fn into_node(self) -> Literal<S> {
        Literal(S::Value::from_f64(self))
    }
}

impl<S: Taping> Operand<S> for &f64 {
    type Node = Literal<S>;
    #[inline(always)]
    fn into_node(self) -> Literal<S> {
        Operand::<S>::into_node(*self)
    }
}

impl<S: Taping, N: Expression<S>> Operand<S> for Ex<S, N> {
    type Node = N;
    #[inline(always)]
    fn into_node(self) -> N {
        self.0
    }
}

impl<'a, S: Taping> Operand<S> for &'a Ex<S, Leaf<S>> {
    type Node = RefLeaf<'a, S>;
    #[inline(always)]
    fn into_node(self) -> RefLeaf<'a, S> {
        RefLeaf(&self.0)
    }
}
