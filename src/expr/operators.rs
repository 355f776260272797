//! `+ − × ÷ %` and negation, by value and by reference, with `f64` or `&f64` on either side.

use super::nodes::node::{Bin, Leaf, Literal, RefLeaf, Un};
use super::{Ex, Operand, Real, ex};
use core::ops::{Add, Div, Mul, Neg, Rem, Sub};
use tapewright_strategies::rules::arithmetic::{Minus, Modulo, Negative, Over, Plus, Times};
use tapewright_strategies::{Expression, Taping};

/// Implements one operator for every form of operands. For `Add add Plus`, the first impl reads
/// `impl Add<Ex<S, B>> for Ex<S, A> { type Output = Ex<S, Bin<S, Plus, A, B>>; … }`.
macro_rules! binary_operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        binary_operators! { @ $trait $method $op
            [A: Expression<S>, B: Expression<S>] Ex<S, A>, Ex<S, B> => A, B;
            [A: Expression<S>] Ex<S, A>, f64 => A, Literal<S>;
            [B: Expression<S>] f64, Ex<S, B> => Literal<S>, B;
            ['a, A: Expression<S>] Ex<S, A>, &'a Real<S> => A, RefLeaf<'a, S>;
            ['a, B: Expression<S>] &'a Real<S>, Ex<S, B> => RefLeaf<'a, S>, B;
            ['a, 'b] &'a Real<S>, &'b Real<S> => RefLeaf<'a, S>, RefLeaf<'b, S>;
            ['a] &'a Real<S>, f64 => RefLeaf<'a, S>, Literal<S>;
            ['b] f64, &'b Real<S> => Literal<S>, RefLeaf<'b, S>;
            ['b, A: Expression<S>] Ex<S, A>, &'b f64 => A, Literal<S>;
            ['a, B: Expression<S>] &'a f64, Ex<S, B> => Literal<S>, B;
            ['a, 'b] &'a Real<S>, &'b f64 => RefLeaf<'a, S>, Literal<S>;
            ['a, 'b] &'a f64, &'b Real<S> => Literal<S>, RefLeaf<'b, S>;
        }
    )* };
    (@ $trait:ident $method:ident $op:ident $([$($g:tt)*] $l:ty, $r:ty => $a:ty, $b:ty;)*) => { $(
        impl<$($g)*, S: Taping> $trait<$r> for $l {
            type Output = Ex<S, Bin<S, $op, $a, $b>>;
            #[inline(always)]
            fn $method(self, right: $r) -> Self::Output {
                ex(Bin::new(Operand::<S>::into_node(self), Operand::<S>::into_node(right)))
            }
        }
    )* };
}

binary_operators! {
    Add add Plus;
    Sub sub Minus;
    Mul mul Times;
    Div div Over;
    Rem rem Modulo;
}

impl<S: Taping, A: Expression<S>> Neg for Ex<S, A> {
    type Output = Ex<S, Un<S, Negative, A>>;
    #[inline(always)]
    fn neg(self) -> Self::Output {
        ex(Un::new(self.0))
    }
}

impl<'a, S: Taping> Neg for &'a Ex<S, Leaf<S>> {
    type Output = Ex<S, Un<S, Negative, RefLeaf<'a, S>>>;
    #[inline(always)]
    fn neg(self) -> Self::Output {
        ex(Un::new(RefLeaf(&self.0)))
    }
}
