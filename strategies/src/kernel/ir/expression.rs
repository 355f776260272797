//! Expressions of kernels as types. The instructions of an expression are a constant of its type; its value holds only
//! the captured constants.

use super::access::{Access, Boundary, DimensionBits};
use super::function::{BinaryFormula, Comparing, Comparison, KernelBinary, KernelTernary, KernelUnary, UnaryFormula};
use super::instruction::{Code, Op, opcode};
use crate::number::simd::Sealed;
use crate::number::simd::rule::Rule;
use core::marker::PhantomData;

/// An expression of a kernel.
///
/// Sealed: launches read without bounds checks what this trait's constant says will be read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an expression of a kernel",
    note = "a kernel is made of what its operands' tokens return (`x.at::<0>()`), of numbers (`2.0`, not `2`) and of \
            functions"
)]
pub trait Node: Copy + Send + Sync + Sealed + 'static {
    /// Instructions of the expression.
    const CODE: Code;
    /// Passes the captured constants to `put`, in the order of the instructions that use them.
    fn constants(&self, put: &mut impl FnMut(f64));
}

/// Defines an access as an expression.
macro_rules! leaves {
    ($($(#[$doc:meta])* $name:ident<$(const $p:ident: $t:ty),*> = $key:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name<$(const $p: $t),*>;
        impl<$(const $p: $t),*> Sealed for $name<$($p),*> {}
        impl<$(const $p: $t),*> Node for $name<$($p),*> {
            const CODE: Code = Code::leaf(Op::leaf($key));
            #[inline(always)]
            fn constants(&self, _: &mut impl FnMut(f64)) {}
        }
    )* };
}

/// Returns the boundary rule with this index.
const fn border(number: u8) -> Boundary {
    match number {
        0 => Boundary::Inside,
        1 => Boundary::Zero,
        2 => Boundary::Nearest,
        _ => Boundary::Periodic,
    }
}

/// Returns the first `rank` of these dimensions of a launch as bits, where the launch has `all` dimensions.
const fn dimensions(all: usize, rank: usize, named: [usize; 3]) -> DimensionBits {
    assert!(rank < all, "an operand that names the dimensions it lies along has fewer of them than the launch");
    let (mut bits, mut k) = (0, 0);
    while k < rank {
        assert!(named[k] < all, "an operand lies along dimensions that the launch has, counted from 0");
        assert!(k == 0 || named[k - 1] < named[k], "the dimensions that an operand lies along are named in order");
        bits |= 1 << (4 - all + named[k]);
        k += 1;
    }
    bits
}

leaves! {
    /// An element of operand `A`, at an offset along each of the four dimensions. `B` is the index of the boundary
    /// rule.
    Element<const A: usize, const B: u8, const I: isize, const J: isize, const K: isize, const M: isize> =
        Access::read(A, border(B), [I, J, K, M]);
    /// An element of operand `A`, of rank `Q`, in a launch of rank `R`: it lies along the first `Q` of the dimensions
    /// `D`, `E` and `F` of the launch, and is constant along the others.
    Along<const A: usize, const R: usize, const Q: usize, const D: usize, const E: usize, const F: usize> =
        Access::along(A, dimensions(R, Q, [D, E, F]));
    /// A uniform scalar: operand `A`, an active variable shared by all points.
    Number<const A: usize> = Access::number(A);
    /// Value that this launch writes to operand `A` at the point.
    New<const A: usize> = Access::new(A);
    /// Temporary with index `K`.
    Local<const K: usize> = Access::local(K);
}

/// The point's coordinate along dimension `D` of views of rank `R`, as a number. Tokens refuse a dimension beyond the
/// rank; here it is the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coordinate<const R: usize, const D: usize>;
impl<const R: usize, const D: usize> Sealed for Coordinate<R, D> {}
impl<const R: usize, const D: usize> Node for Coordinate<R, D> {
    const CODE: Code = Code::leaf(Op::coordinate(if D < R && R <= 4 { 4 - R + D } else { 3 }));
    #[inline(always)]
    fn constants(&self, _: &mut impl FnMut(f64)) {}
}

/// A captured constant.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub f64);
impl Sealed for Constant {}
impl Node for Constant {
    const CODE: Code = Code::leaf(Op::of(opcode::CONSTANT, 0, 0, 0));
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        put(self.0);
    }
}

impl UnaryFormula {
    /// Returns the instruction, and the rule it calls, if any.
    const fn op(self) -> (Op, Option<&'static Rule>) {
        let (what, rule) = match self {
            Self::Negative => (opcode::NEG, None),
            Self::Absolute => (opcode::ABS, None),
            Self::Root => (opcode::SQRT, None),
            Self::Square => (opcode::SQUARE, None),
            Self::Rule(rule) => (opcode::RULE1, Some(rule)),
        };
        (Op::of(what, 0, 0, 0), rule)
    }
}

impl BinaryFormula {
    /// Returns the instruction, and the rule it calls, if any.
    const fn op(self) -> (Op, Option<&'static Rule>) {
        let (what, rule) = match self {
            Self::Sum => (opcode::ADD, None),
            Self::Difference => (opcode::SUB, None),
            Self::Product => (opcode::MUL, None),
            Self::Quotient => (opcode::DIV, None),
            Self::Larger => (opcode::MAX, None),
            Self::Smaller => (opcode::MIN, None),
            Self::Rule(rule) => (opcode::RULE2, Some(rule)),
        };
        (Op::of(what, 0, 0, 0), rule)
    }
}

/// A function of one argument.
#[derive(Clone, Copy, Debug)]
pub struct UnaryNode<F, A>(PhantomData<F>, A);
impl<F, A> UnaryNode<F, A> {
    /// Applies the function to an argument.
    #[inline(always)]
    pub const fn of(argument: A) -> Self {
        Self(PhantomData, argument)
    }
}
impl<F, A> Sealed for UnaryNode<F, A> {}
impl<F: KernelUnary, A: Node> Node for UnaryNode<F, A> {
    const CODE: Code = {
        let (mut code, (mut op, rule)) = (A::CODE, F::FORMULA.op());
        op.a = code.result;
        if let Some(rule) = rule {
            op.operand = code.rule(rule);
        }
        code.push(op);
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.1.constants(put);
    }
}

/// A function of two arguments.
#[derive(Clone, Copy, Debug)]
pub struct BinaryNode<F, A, B>(PhantomData<F>, A, B);
impl<F, A, B> BinaryNode<F, A, B> {
    /// Applies the function to its arguments.
    #[inline(always)]
    pub const fn of(left: A, right: B) -> Self {
        Self(PhantomData, left, right)
    }
}
impl<F, A, B> Sealed for BinaryNode<F, A, B> {}
impl<F: KernelBinary, A: Node, B: Node> Node for BinaryNode<F, A, B> {
    const CODE: Code = {
        let (mut code, (mut op, rule)) = (A::CODE, F::FORMULA.op());
        op.a = code.result;
        op.b = code.append(&B::CODE, None);
        if let Some(rule) = rule {
            op.operand = code.rule(rule);
        }
        code.push(op);
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.1.constants(put);
        self.2.constants(put);
    }
}

/// A function of three arguments.
#[derive(Clone, Copy, Debug)]
pub struct TernaryNode<F, A, B, C>(PhantomData<F>, A, B, C);
impl<F, A, B, C> TernaryNode<F, A, B, C> {
    /// Applies the function to its arguments.
    #[inline(always)]
    pub const fn of(first: A, second: B, third: C) -> Self {
        Self(PhantomData, first, second, third)
    }
}
impl<F, A, B, C> Sealed for TernaryNode<F, A, B, C> {}
impl<F: KernelTernary, A: Node, B: Node, C: Node> Node for TernaryNode<F, A, B, C> {
    const CODE: Code = {
        let (mut code, mut op) = (A::CODE, Op::of(opcode::RULE3, 0, 0, 0));
        op.a = code.result;
        op.b = code.append(&B::CODE, None);
        op.c = code.append(&C::CODE, None);
        op.operand = code.rule(F::RULE);
        code.push(op);
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.1.constants(put);
        self.2.constants(put);
        self.3.constants(put);
    }
}

/// A comparison of two expressions.
#[derive(Clone, Copy, Debug)]
pub struct Compared<C, A, B>(PhantomData<C>, A, B);
impl<C, A, B> Compared<C, A, B> {
    /// Compares two expressions.
    #[inline(always)]
    pub const fn of(left: A, right: B) -> Self {
        Self(PhantomData, left, right)
    }
}

/// A condition: true or false at each point.
pub trait Condition: Copy + Send + Sync + Sealed + 'static {
    /// Instructions of the condition; the result is a mask.
    const CODE: Code;
    /// Passes the captured constants to `put`, in the order of the instructions that use them.
    fn constants(&self, put: &mut impl FnMut(f64));
}

impl<C, A, B> Sealed for Compared<C, A, B> {}
impl<C: Comparing, A: Node, B: Node> Condition for Compared<C, A, B> {
    const CODE: Code = {
        let mut code = A::CODE;
        let x = code.result;
        let y = code.append(&B::CODE, None);
        code.push(match C::HOW {
            Comparison::Less => Op::of(opcode::LESS, x, y, 0),
            Comparison::AtMost => Op::of(opcode::AT_MOST, x, y, 0),
            Comparison::More => Op::of(opcode::LESS, y, x, 0),
            Comparison::AtLeast => Op::of(opcode::AT_MOST, y, x, 0),
            Comparison::Equal => Op::of(opcode::EQUAL, x, y, 0),
            Comparison::Different => Op::of(opcode::DIFFER, x, y, 0),
        });
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.1.constants(put);
        self.2.constants(put);
    }
}

/// Conjunction (`BOTH`) or disjunction of two conditions.
#[derive(Clone, Copy, Debug)]
pub struct Joined<const BOTH: bool, C, D>(pub C, pub D);
impl<const BOTH: bool, C, D> Sealed for Joined<BOTH, C, D> {}
impl<const BOTH: bool, C: Condition, D: Condition> Condition for Joined<BOTH, C, D> {
    const CODE: Code =
        Code::join(&C::CODE, &D::CODE, Op::of(if BOTH { opcode::BOTH } else { opcode::EITHER }, 0, 0, 0));
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.0.constants(put);
        self.1.constants(put);
    }
}

/// Negation of a condition.
#[derive(Clone, Copy, Debug)]
pub struct Negated<C>(pub C);
impl<C> Sealed for Negated<C> {}
impl<C: Condition> Condition for Negated<C> {
    const CODE: Code = {
        let mut code = C::CODE;
        let mask = code.result;
        code.push(Op::of(opcode::LITERAL, 0, 0, 0));
        let zero = code.result;
        code.push(Op::of(opcode::LITERAL, 0, 0, 2));
        let one = code.result;
        code.push(Op::of(opcode::SELECT, mask, zero, one));
        code.push(Op::of(opcode::EQUAL, code.result, one, 0));
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.0.constants(put);
    }
}

/// The first expression where a condition holds, else the second. Both are evaluated at every point; the one that is
/// not chosen contributes nothing to adjoints, even if it is infinite or NaN.
#[derive(Clone, Copy, Debug)]
pub struct Select<C, A, B>(pub C, pub A, pub B);
impl<C, A, B> Sealed for Select<C, A, B> {}
impl<C: Condition, A: Node, B: Node> Node for Select<C, A, B> {
    const CODE: Code = {
        let mut code = C::CODE;
        let mask = code.result;
        let yes = code.append(&A::CODE, None);
        let no = code.append(&B::CODE, None);
        code.push(Op::of(opcode::SELECT, mask, yes, no));
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.0.constants(put);
        self.1.constants(put);
        self.2.constants(put);
    }
}

/// Binds a temporary: expression `E`, evaluated once, is [`Local`] `K` in expression `B`.
#[derive(Clone, Copy, Debug)]
pub struct Let<const K: usize, E, B>(pub E, pub B);
impl<const K: usize, E, B> Sealed for Let<K, E, B> {}
impl<const K: usize, E: Node, B: Node> Node for Let<K, E, B> {
    const CODE: Code = {
        assert!(
            !E::CODE.has_local(K) && B::CODE.binds >> K & 1 == 0,
            "temporaries that are bound one inside the other have different numbers"
        );
        let mut code = E::CODE;
        let bound = code.result;
        code.append(&B::CODE, Some((K, bound)));
        code.binds |= 1 << K;
        code
    };
    #[inline(always)]
    fn constants(&self, put: &mut impl FnMut(f64)) {
        self.0.constants(put);
        self.1.constants(put);
    }
}
