//! The structure of a statement's partials, as a type.
//!
//! In `x + y·z` the partial with respect to `x` is exactly 1 and need not be stored; in `a·(x + y)` the partials with
//! respect to `x` and `y` are equal. A [`Shape`] says which leaves share a *factor* and with which sign, so that a
//! record stores each factor once. Shapes follow from the operators alone, never from values.

use crate::Number;
use core::marker::PhantomData;

/// The way in which the leaves of a tree get their partials from the stored factors.
///
/// Factors are numbered in the order in which [`Expression::backward`](crate::Expression::backward) reports them.
pub trait Shape: sealed::Sealed + 'static {
    /// Number of leaves.
    const LEAVES: usize;
    /// True if there are no leaves. A constant of each shape costs the compiler less than a comparison in each node.
    const IS_CONSTANT: bool = Self::LEAVES == 0;
    /// Number of stored factors of a statement with this shape.
    const FACTORS: usize;
    /// True if a leaf's partial is the seed itself, up to sign, so that a seed that is a new factor must be stored.
    const LINEAR: bool;
    /// A hash that tells most shapes apart.
    const HASH: u32;
    /// The pattern of the partials, if it is simple.
    const PATTERN: Pattern;

    /// Reports the adjoint contribution of each leaf, left to right. `root` is the statement's adjoint, `seed` the
    /// adjoint that arrives at this node.
    fn scatter<V: Number>(root: V, seed: V, record: &mut impl Scatter<V>);
}

/// The pattern of a shape in which each leaf has the seed, the negated seed, or a factor of its own as its partial: the
/// number of leaves and a digit for each, 0, 1 or 2, the first leaf's the most significant. Statements with few leaves
/// of this kind are frequent enough to be reversed without a function of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The number of leaves, or [`Pattern::OTHER`].
    pub leaves: u32,
    /// The digits in base 3.
    pub digits: u32,
}

impl Pattern {
    /// The number of leaves of a pattern that is not simple, or has more than [`LONGEST`](Self::LONGEST) leaves.
    pub const OTHER: u32 = u32::MAX;
    /// The maximum number of leaves of a pattern.
    pub const LONGEST: u32 = 12;
    /// The digit of a leaf whose partial is a factor of its own.
    pub const FACTOR: u32 = 2;

    const fn other() -> Self {
        Self { leaves: Self::OTHER, digits: 0 }
    }

    const fn of(digit: u32) -> Self {
        Self { leaves: 1, digits: digit }
    }

    const fn then(self, next: Self) -> Self {
        if self.leaves == Self::OTHER || next.leaves == Self::OTHER || self.leaves + next.leaves > Self::LONGEST {
            return Self::other();
        }
        Self { leaves: self.leaves + next.leaves, digits: self.digits * 3_u32.pow(next.leaves) + next.digits }
    }

    /// Returns the pattern with the seed negated: digits 0 and 1 are exchanged.
    const fn negated(self) -> Self {
        if self.leaves == Self::OTHER {
            return self;
        }
        let (mut rest, mut place, mut digits) = (self.digits, 1, 0);
        while rest > 0 || place < 3_u32.pow(self.leaves) {
            let digit = if rest % 3 == Self::FACTOR { Self::FACTOR } else { 1 - rest % 3 };
            digits += digit * place;
            rest /= 3;
            place *= 3;
        }
        Self { leaves: self.leaves, digits }
    }
}

/// A reader of a record that is being reversed.
pub trait Scatter<V: Number> {
    /// Returns the next stored factor.
    fn factor(&mut self) -> V;
    /// Adds the contribution of the next leaf to the adjoint of its argument.
    fn leaf(&mut self, contribution: V);
}

/// `N` leaves, each with a factor of its own.
#[derive(Debug)]
pub struct Each<const N: usize>;
#[allow(clippy::cast_possible_truncation, reason = "a statement has few arguments")]
impl<const N: usize> Shape for Each<N> {
    const LEAVES: usize = N;
    const FACTORS: usize = N;
    const LINEAR: bool = false;
    const HASH: u32 = mix(N as u32, 9);
    const PATTERN: Pattern = match N {
        0..=12 => Pattern { leaves: N as u32, digits: 3_u32.pow(N as u32) - 1 },
        _ => Pattern::other(),
    };
    #[inline(always)]
    fn scatter<V: Number>(root: V, _: V, record: &mut impl Scatter<V>) {
        for _ in 0..N {
            let contribution = root.contribution(record.factor());
            record.leaf(contribution);
        }
    }
}

/// Seals `Shape`: the code that reads records relies on the constants of shapes.
mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Unit {}
    impl Sealed for super::Nothing {}
    impl<const N: usize> Sealed for super::Each<N> {}
    impl<A, B> Sealed for super::Both<A, B> {}
    impl<A> Sealed for super::Minus<A> {}
    impl<A> Sealed for super::Scaled<A> {}
}

/// Mixes two hashes; the constants come from Knuth's multiplicative hashing and from FNV-1a.
#[must_use]
pub const fn mix(a: u32, b: u32) -> u32 {
    (a ^ b.rotate_left(15)).wrapping_mul(0x9E37_79B1) ^ (a >> 7).wrapping_add(b.wrapping_mul(0x0100_0193))
}

/// A leaf: its partial is the seed.
#[derive(Debug)]
pub struct Unit;
impl Shape for Unit {
    const LEAVES: usize = 1;
    const FACTORS: usize = 0;
    const LINEAR: bool = true;
    const HASH: u32 = 0x1F;
    const PATTERN: Pattern = Pattern::of(0);
    #[inline(always)]
    fn scatter<V: Number>(_: V, seed: V, record: &mut impl Scatter<V>) {
        record.leaf(seed);
    }
}

/// A constant: no leaf.
#[derive(Debug)]
pub struct Nothing;
impl Shape for Nothing {
    const LEAVES: usize = 0;
    const FACTORS: usize = 0;
    const LINEAR: bool = false;
    const HASH: u32 = 0x2E;
    const PATTERN: Pattern = Pattern { leaves: 0, digits: 0 };
    #[inline(always)]
    fn scatter<V: Number>(_: V, _: V, _: &mut impl Scatter<V>) {}
}

/// Two children, each behind an [`Edge`].
#[derive(Debug)]
pub struct Both<A, B>(PhantomData<(A, B)>);
impl<A: Shape, B: Shape> Shape for Both<A, B> {
    const LEAVES: usize = A::LEAVES + B::LEAVES;
    const FACTORS: usize = A::FACTORS + B::FACTORS;
    const LINEAR: bool = A::LINEAR || B::LINEAR;
    const HASH: u32 = mix(mix(A::HASH, B::HASH), 3);
    const PATTERN: Pattern = A::PATTERN.then(B::PATTERN);
    #[inline(always)]
    fn scatter<V: Number>(root: V, seed: V, record: &mut impl Scatter<V>) {
        A::scatter(root, seed, record);
        B::scatter(root, seed, record);
    }
}

/// A child whose seed is the negated seed.
#[derive(Debug)]
pub struct Minus<A>(PhantomData<A>);
impl<A: Shape> Shape for Minus<A> {
    const LEAVES: usize = A::LEAVES;
    const FACTORS: usize = A::FACTORS;
    const LINEAR: bool = A::LINEAR;
    const HASH: u32 = mix(A::HASH, 5);
    const PATTERN: Pattern = A::PATTERN.negated();
    #[inline(always)]
    fn scatter<V: Number>(root: V, seed: V, record: &mut impl Scatter<V>) {
        A::scatter(root, -seed, record);
    }
}

/// A child whose seed is a new factor, which is stored if any leaf below the child uses it.
#[derive(Debug)]
pub struct Scaled<A>(PhantomData<A>);
impl<A: Shape> Shape for Scaled<A> {
    const LEAVES: usize = A::LEAVES;
    const FACTORS: usize = A::FACTORS + A::LINEAR as usize;
    const LINEAR: bool = false;
    const HASH: u32 = mix(A::HASH, 7);
    const PATTERN: Pattern = match A::PATTERN {
        Pattern { leaves: 1, digits: 0 } => Pattern::of(Pattern::FACTOR),
        pattern if A::LINEAR && pattern.leaves != Pattern::OTHER => Pattern::other(),
        pattern => pattern,
    };
    #[inline(always)]
    fn scatter<V: Number>(root: V, seed: V, record: &mut impl Scatter<V>) {
        let seed = if A::LINEAR { root.contribution(record.factor()) } else { seed };
        A::scatter(root, seed, record);
    }
}

/// The relation of a child's seed to its parent's: the same, negated, or scaled by a partial.
pub trait Edge: 'static {
    /// The shape of a child below this edge.
    type Of<A: Shape>: Shape;
    /// True if the seed is scaled by a partial, and so is a new factor.
    const SCALES: bool;
    /// True if the seed is negated.
    const NEGATES: bool;
    /// Returns the seed with the sign of the edge.
    #[inline(always)]
    fn signed<V: Number>(seed: V) -> V {
        seed
    }
}

/// An edge whose partial is exactly 1, as in a sum.
#[derive(Clone, Copy, Debug)]
pub struct Same;
impl Edge for Same {
    type Of<A: Shape> = A;
    const SCALES: bool = false;
    const NEGATES: bool = false;
}

/// An edge whose partial is exactly −1, as for the right-hand side of a difference.
#[derive(Clone, Copy, Debug)]
pub struct Negated;
impl Edge for Negated {
    type Of<A: Shape> = Minus<A>;
    const SCALES: bool = false;
    const NEGATES: bool = true;
    #[inline(always)]
    fn signed<V: Number>(seed: V) -> V {
        -seed
    }
}

/// An edge whose partial depends on values or constants.
#[derive(Clone, Copy, Debug)]
pub struct Scaling;
impl Edge for Scaling {
    type Of<A: Shape> = Scaled<A>;
    const SCALES: bool = true;
    const NEGATES: bool = false;
}
