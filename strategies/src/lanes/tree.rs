//! The bodies of kernels as trees. A tree is a type; its value holds the numbers that were captured, and nothing else.

use super::keys::{Border, Key, Keys, Kind};
use super::lane::{Lane, sealed::Sealed};
use crate::Float;
use core::marker::PhantomData;

/// What the leaves of a tree stand for at one point, or at several.
pub trait Source<L: Lane>: Copy {
    /// An element of an operand.
    fn read<K: Leaf>(self) -> L;
    /// A number that all points share.
    fn number(self, operand: usize) -> L;
    /// What the launch itself writes to an operand.
    #[allow(clippy::new_ret_no_self, clippy::wrong_self_convention, reason = "it is the new value")]
    fn new<K: Leaf>(self) -> L;
    /// A temporary.
    fn local(self, k: usize) -> L;
}

/// A leaf of trees.
pub trait Leaf {
    /// Which one.
    const KEY: Key;
}

/// The order in which the partials of a kernel are numbered.
pub trait Order {
    /// The leaves with a partial.
    const KEYS: Keys;
}

/// A contribution to an adjoint, whose sign is known when a kernel is compiled: it costs nothing as long as it is passed on, and
/// becomes an addition or a subtraction in the end.
#[derive(Clone, Copy, Debug)]
pub struct Signed<L> {
    value: L,
    minus: bool,
}

impl<L: Lane> Signed<L> {
    /// This contribution.
    #[inline(always)]
    pub(super) const fn of(value: L) -> Self {
        Self { value, minus: false }
    }
    /// What it is as a number.
    #[inline(always)]
    pub(super) fn number(self) -> L {
        if self.minus { -self.value } else { self.value }
    }
    /// sum + self.
    #[inline(always)]
    pub(super) fn added_to(self, sum: L) -> L {
        if self.minus { sum - self.value } else { sum + self.value }
    }
    #[inline(always)]
    fn negated(self) -> Self {
        Self { value: self.value, minus: !self.minus }
    }
    /// self + other, as one contribution.
    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        match (self.minus, other.minus) {
            (false, _) => Self::of(other.added_to(self.value)),
            (true, false) => Self::of(other.value - self.value),
            (true, true) => Self { value: self.value + other.value, minus: true },
        }
    }
    /// The number that a mask chooses.
    #[inline(always)]
    fn select(mask: L::Mask, yes: Self, no: Self) -> Self {
        if yes.minus == no.minus {
            return Self { value: L::select(mask, yes.value, no.value), minus: yes.minus };
        }
        Self::of(L::select(mask, yes.number(), no.number()))
    }
    /// What it is where a mask says so, else 0.
    #[inline(always)]
    fn only(self, mask: L::Mask) -> Self {
        Self { value: L::select(mask, self.value, L::zero()), minus: self.minus }
    }
    /// What it is where a mask does not say so, else 0.
    #[inline(always)]
    fn unless(self, mask: L::Mask) -> Self {
        Self { value: L::select(mask, L::zero(), self.value), minus: self.minus }
    }
}

/// An expression of a kernel.
///
/// Sealed: what a launch may read without a check follows from the constants here.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an expression of a kernel",
    note = "a kernel is made of what its operands' tokens return (`x.at::<0>()`), of numbers (`2.0`, not `2`) and of functions"
)]
pub trait Node: Copy + Send + Sync + Sealed + 'static {
    /// The leaves that have a partial.
    const USED: Keys;
    /// The leaves whose values some partial needs.
    const NEEDS: Keys;
    /// The leaves that the value is made of.
    const READS: Keys;
    /// A bit for each temporary that is bound inside.
    const BINDS: u32;
    /// The values of all parts, kept while partials are computed.
    type Values<L: Lane>: Copy;

    /// Computes the values.
    fn run<L: Lane, S: Source<L>>(&self, source: S) -> Self::Values<L>;
    /// The value of this node among them.
    fn value<L: Lane>(values: &Self::Values<L>) -> L;
    /// seed·∂/∂(leaf `N` of `O`), for a leaf that is among [`USED`](Self::USED).
    fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(
        &self,
        source: S,
        values: &Self::Values<L>,
        seed: L,
    ) -> Signed<L>;
}

/// Whether leaf `n` of this order has a partial in `A`.
const fn has<A: Node, O: Order>(n: usize) -> bool {
    A::USED.has(O::KEYS.get(n))
}

/// Implements a leaf.
macro_rules! leaves {
    ($($(#[$doc:meta])* $name:ident<$(const $p:ident: $t:ty),*> = $key:expr, |$source:ident| $value:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name<$(const $p: $t),*>;
        impl<$(const $p: $t),*> Sealed for $name<$($p),*> {}
        impl<$(const $p: $t),*> Leaf for $name<$($p),*> {
            const KEY: Key = $key;
        }
        impl<$(const $p: $t),*> Node for $name<$($p),*> {
            const USED: Keys = Keys::of($key);
            const NEEDS: Keys = Keys::NONE;
            const READS: Keys = Keys::of($key);
            const BINDS: u32 = 0;
            type Values<L: Lane> = L;
            #[inline(always)]
            fn run<L: Lane, S: Source<L>>(&self, $source: S) -> L { $value }
            #[inline(always)]
            fn value<L: Lane>(value: &L) -> L { *value }
            #[inline(always)]
            fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(&self, _: S, _: &L, seed: L) -> Signed<L> {
                Signed::of(seed)
            }
        }
    )* };
}

/// The border rule with this number.
const fn border(number: u8) -> Border {
    match number {
        0 => Border::Inside,
        1 => Border::Zero,
        2 => Border::Nearest,
        _ => Border::Periodic,
    }
}

leaves! {
    /// An element of operand `A`, shifted along the four dimensions. `B` is the number of its border rule.
    Element<const A: usize, const B: u8, const I: isize, const J: isize, const K: isize, const M: isize> =
        Key::read(A, border(B), [I, J, K, M]), |s| s.read::<Self>();
    /// A number that all points share: operand `A`, an active variable.
    Number<const A: usize> = Key::number(A), |s| s.number(A);
    /// What this launch writes to operand `A` at the point.
    New<const A: usize> = Key::new(A), |s| s.new::<Self>();
    /// The temporary with number `K`.
    Local<const K: usize> = Key::local(K), |s| s.local(K);
}

/// A number that was captured.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub f64);
impl Sealed for Constant {}
impl Node for Constant {
    const USED: Keys = Keys::NONE;
    const NEEDS: Keys = Keys::NONE;
    const READS: Keys = Keys::NONE;
    const BINDS: u32 = 0;
    type Values<L: Lane> = L;
    #[inline(always)]
    fn run<L: Lane, S: Source<L>>(&self, _: S) -> L {
        L::splat(L::Number::from_f64(self.0))
    }
    #[inline(always)]
    fn value<L: Lane>(value: &L) -> L {
        *value
    }
    #[inline(always)]
    fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(&self, _: S, _: &L, _: L) -> Signed<L> {
        Signed::of(L::nothing())
    }
}

/// How a function of lanes depends on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// The partial is 1.
    One,
    /// The partial is −1.
    MinusOne,
    /// The partial is computed, and does not depend on this argument, but on the other one.
    OfOther,
    /// The partial is computed, and may depend on all arguments.
    OfAll,
}

/// A function of one argument, over lanes.
pub trait LaneFunction: Copy + Send + Sync + 'static {
    /// How it depends on its argument: not [`Slope::OfOther`].
    const SLOPE: Slope;
    /// The value.
    fn value<L: Lane>(x: L) -> L;
    /// The derivative at `x`, where the value is `y`.
    fn derivative<L: Lane>(x: L, y: L) -> L;
}

/// A function of two arguments, over lanes.
pub trait LaneOperator: Copy + Send + Sync + 'static {
    /// How it depends on the left argument.
    const LEFT: Slope;
    /// How it depends on the right argument.
    const RIGHT: Slope;
    /// Whether it returns one of its arguments.
    const SELECTS: bool = false;
    /// The value.
    fn value<L: Lane>(x: L, y: L) -> L;
    /// The partial of the left argument, where `v` is the value.
    fn left<L: Lane>(x: L, y: L, v: L) -> L;
    /// The partial of the right argument.
    fn right<L: Lane>(x: L, y: L, v: L) -> L;
    /// Where it returns the left argument, if it returns one of them.
    fn takes_left<L: Lane>(x: L, _y: L) -> L::Mask {
        x.equal(x)
    }
}

/// A function of one argument.
#[derive(Clone, Copy, Debug)]
pub struct Apply<F, A>(PhantomData<F>, A);
impl<F, A> Apply<F, A> {
    /// This function of that argument.
    #[inline(always)]
    pub const fn of(argument: A) -> Self {
        Self(PhantomData, argument)
    }
}
impl<F, A> Sealed for Apply<F, A> {}
impl<F: LaneFunction, A: Node> Node for Apply<F, A> {
    const USED: Keys = A::USED;
    const NEEDS: Keys = A::NEEDS.and(A::READS.when(!A::USED.is_empty() && matches!(F::SLOPE, Slope::OfAll)));
    const READS: Keys = A::READS;
    const BINDS: u32 = A::BINDS;
    type Values<L: Lane> = (A::Values<L>, L);
    #[inline(always)]
    fn run<L: Lane, S: Source<L>>(&self, source: S) -> Self::Values<L> {
        let argument = self.1.run::<L, S>(source);
        (argument, F::value(A::value::<L>(&argument)))
    }
    #[inline(always)]
    fn value<L: Lane>(values: &Self::Values<L>) -> L {
        values.1
    }
    #[inline(always)]
    fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(
        &self,
        source: S,
        values: &Self::Values<L>,
        seed: L,
    ) -> Signed<L> {
        let partial = through(F::SLOPE, seed, F::derivative(A::value::<L>(&values.0), values.1));
        with_sign(F::SLOPE, self.1.partial::<N, O, L, S>(source, &values.0, partial))
    }
}

/// A function of two arguments.
#[derive(Clone, Copy, Debug)]
pub struct Apply2<F, A, B>(PhantomData<F>, A, B);
impl<F, A, B> Apply2<F, A, B> {
    /// This function of those arguments.
    #[inline(always)]
    pub const fn of(left: A, right: B) -> Self {
        Self(PhantomData, left, right)
    }
}
impl<F, A, B> Sealed for Apply2<F, A, B> {}

/// What a partial with this slope needs, where `own` and `other` are the leaves of the argument and of the other one.
const fn needed(slope: Slope, used: bool, own: Keys, other: Keys) -> Keys {
    match slope {
        Slope::One | Slope::MinusOne => Keys::NONE,
        Slope::OfOther => other.when(used),
        Slope::OfAll => own.and(other).when(used),
    }
}

/// seed·partial, but for the sign of a partial of −1.
#[inline(always)]
fn through<L: Lane>(slope: Slope, seed: L, partial: L) -> L {
    match slope {
        Slope::One | Slope::MinusOne => seed,
        _ => seed * partial,
    }
}

/// The sign of a partial of −1.
#[inline(always)]
fn with_sign<L: Lane>(slope: Slope, contribution: Signed<L>) -> Signed<L> {
    if matches!(slope, Slope::MinusOne) { contribution.negated() } else { contribution }
}

impl<F: LaneOperator, A: Node, B: Node> Node for Apply2<F, A, B> {
    const USED: Keys = A::USED.and(B::USED);
    const NEEDS: Keys = {
        let (left, right) = (!A::USED.is_empty(), !B::USED.is_empty());
        let both = A::READS.and(B::READS).when(F::SELECTS && (left || right));
        let partials = needed(F::LEFT, left, A::READS, B::READS).and(needed(F::RIGHT, right, B::READS, A::READS));
        A::NEEDS.and(B::NEEDS).and(both).and(partials)
    };
    const READS: Keys = A::READS.and(B::READS);
    const BINDS: u32 = A::BINDS | B::BINDS;
    type Values<L: Lane> = (A::Values<L>, B::Values<L>, L);
    #[inline(always)]
    fn run<L: Lane, S: Source<L>>(&self, source: S) -> Self::Values<L> {
        let (left, right) = (self.1.run::<L, S>(source), self.2.run::<L, S>(source));
        (left, right, F::value(A::value::<L>(&left), B::value::<L>(&right)))
    }
    #[inline(always)]
    fn value<L: Lane>(values: &Self::Values<L>) -> L {
        values.2
    }
    #[inline(always)]
    fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(
        &self,
        source: S,
        values: &Self::Values<L>,
        seed: L,
    ) -> Signed<L> {
        let (x, y, v) = (A::value::<L>(&values.0), B::value::<L>(&values.1), values.2);
        // Not closures: a call of one that stays would pass registers through memory.
        macro_rules! left {
            () => {{
                let seed = through(F::LEFT, seed, F::left(x, y, v));
                with_sign(F::LEFT, self.1.partial::<N, O, L, S>(source, &values.0, seed))
            }};
        }
        macro_rules! right {
            () => {{
                let seed = through(F::RIGHT, seed, F::right(x, y, v));
                with_sign(F::RIGHT, self.2.partial::<N, O, L, S>(source, &values.1, seed))
            }};
        }
        if F::SELECTS {
            let takes_left = F::takes_left(x, y);
            return match const { (has::<A, O>(N), has::<B, O>(N)) } {
                (true, true) => Signed::select(takes_left, left!(), right!()),
                (true, false) => left!().only(takes_left),
                _ => right!().unless(takes_left),
            };
        }
        match const { (has::<A, O>(N), has::<B, O>(N)) } {
            (true, true) => left!().and(right!()),
            (true, false) => left!(),
            _ => right!(),
        }
    }
}

/// How two numbers are compared.
pub trait Comparing: Copy + Send + Sync + 'static {
    /// Where the comparison holds.
    fn holds<L: Lane>(x: L, y: L) -> L::Mask;
}

/// A comparison of two expressions.
#[derive(Clone, Copy, Debug)]
pub struct Compared<C, A, B>(PhantomData<C>, A, B);
impl<C, A, B> Compared<C, A, B> {
    /// This comparison of those.
    #[inline(always)]
    pub const fn of(left: A, right: B) -> Self {
        Self(PhantomData, left, right)
    }
}

/// A yes or no at each point.
pub trait Condition: Copy + Send + Sync + Sealed + 'static {
    /// The leaves that it is made of.
    const READS: Keys;
    /// As [`Node::BINDS`].
    const BINDS: u32;
    /// Where it holds.
    fn holds<L: Lane, S: Source<L>>(&self, source: S) -> L::Mask;
}

impl<C, A, B> Sealed for Compared<C, A, B> {}
impl<C: Comparing, A: Node, B: Node> Condition for Compared<C, A, B> {
    const READS: Keys = A::READS.and(B::READS);
    const BINDS: u32 = A::BINDS | B::BINDS;
    #[inline(always)]
    fn holds<L: Lane, S: Source<L>>(&self, source: S) -> L::Mask {
        let (left, right) = (self.1.run::<L, S>(source), self.2.run::<L, S>(source));
        C::holds(A::value::<L>(&left), B::value::<L>(&right))
    }
}

/// Two conditions, both or one of which must hold.
#[derive(Clone, Copy, Debug)]
pub struct Joined<const BOTH: bool, C, D>(pub C, pub D);
impl<const BOTH: bool, C, D> Sealed for Joined<BOTH, C, D> {}
impl<const BOTH: bool, C: Condition, D: Condition> Condition for Joined<BOTH, C, D> {
    const READS: Keys = C::READS.and(D::READS);
    const BINDS: u32 = C::BINDS | D::BINDS;
    #[inline(always)]
    fn holds<L: Lane, S: Source<L>>(&self, source: S) -> L::Mask {
        let (c, d) = (self.0.holds::<L, S>(source), self.1.holds::<L, S>(source));
        if BOTH { L::both(c, d) } else { L::either(c, d) }
    }
}

/// The first expression where a condition holds, else the second. Both are computed everywhere; what is not chosen
/// contributes nothing to adjoints, also where it is infinite or NaN.
#[derive(Clone, Copy, Debug)]
pub struct Select<C, A, B>(pub C, pub A, pub B);
impl<C, A, B> Sealed for Select<C, A, B> {}
impl<C: Condition, A: Node, B: Node> Node for Select<C, A, B> {
    const USED: Keys = A::USED.and(B::USED);
    const NEEDS: Keys = A::NEEDS.and(B::NEEDS).and(C::READS.when(!Self::USED.is_empty()));
    const READS: Keys = A::READS.and(B::READS).and(C::READS);
    const BINDS: u32 = A::BINDS | B::BINDS | C::BINDS;
    type Values<L: Lane> = (L::Mask, A::Values<L>, B::Values<L>, L);
    #[inline(always)]
    fn run<L: Lane, S: Source<L>>(&self, source: S) -> Self::Values<L> {
        let mask = self.0.holds::<L, S>(source);
        let (yes, no) = (self.1.run::<L, S>(source), self.2.run::<L, S>(source));
        (mask, yes, no, L::select(mask, A::value::<L>(&yes), B::value::<L>(&no)))
    }
    #[inline(always)]
    fn value<L: Lane>(values: &Self::Values<L>) -> L {
        values.3
    }
    #[inline(always)]
    fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(
        &self,
        source: S,
        values: &Self::Values<L>,
        seed: L,
    ) -> Signed<L> {
        macro_rules! yes {
            () => {
                self.1.partial::<N, O, L, S>(source, &values.1, seed)
            };
        }
        macro_rules! no {
            () => {
                self.2.partial::<N, O, L, S>(source, &values.2, seed)
            };
        }
        match const { (has::<A, O>(N), has::<B, O>(N)) } {
            (true, true) => Signed::select(values.0, yes!(), no!()),
            (true, false) => yes!().only(values.0),
            _ => no!().unless(values.0),
        }
    }
}

/// A temporary: expression `E`, computed once, as [`Local`] number `K` of expression `B`.
#[derive(Clone, Copy, Debug)]
pub struct Let<const K: usize, E, B>(pub E, pub B);
impl<const K: usize, E, B> Sealed for Let<K, E, B> {}

/// A source with a temporary.
#[derive(Clone, Copy)]
struct With<const K: usize, S, L>(S, L);
impl<const K: usize, L: Lane, S: Source<L>> Source<L> for With<K, S, L> {
    #[inline(always)]
    fn read<Q: Leaf>(self) -> L {
        self.0.read::<Q>()
    }
    #[inline(always)]
    fn number(self, operand: usize) -> L {
        self.0.number(operand)
    }
    #[inline(always)]
    fn new<Q: Leaf>(self) -> L {
        self.0.new::<Q>()
    }
    #[inline(always)]
    fn local(self, k: usize) -> L {
        if k == K { self.1 } else { self.0.local(k) }
    }
}

/// The one leaf that is temporary `K`.
struct Only<const K: usize>;
impl<const K: usize> Order for Only<K> {
    const KEYS: Keys = Keys::of(Key::local(K));
}

impl<const K: usize, E: Node, B: Node> Let<K, E, B> {
    const USES: bool = B::USED.has(Key::local(K));
}

impl<const K: usize, E: Node, B: Node> Node for Let<K, E, B> {
    const USED: Keys = {
        assert!(
            !E::READS.has_kind(Kind::Local, K) && B::BINDS >> K & 1 == 0,
            "temporaries that are bound one inside the other have different numbers"
        );
        B::USED.without(Key::local(K)).and(E::USED.when(B::USED.has(Key::local(K))))
    };
    const NEEDS: Keys = {
        let own = E::READS.when(B::NEEDS.has(Key::local(K)));
        B::NEEDS.without(Key::local(K)).and(E::NEEDS.when(Self::USES)).and(own)
    };
    // A temporary is computed though nothing may use it.
    const READS: Keys = B::READS.without(Key::local(K)).and(E::READS);
    const BINDS: u32 = 1 << K | B::BINDS | E::BINDS;
    type Values<L: Lane> = (E::Values<L>, B::Values<L>);
    #[inline(always)]
    fn run<L: Lane, S: Source<L>>(&self, source: S) -> Self::Values<L> {
        let local = self.0.run::<L, S>(source);
        let source = With::<K, S, L>(source, E::value::<L>(&local));
        (local, self.1.run::<L, With<K, S, L>>(source))
    }
    #[inline(always)]
    fn value<L: Lane>(values: &Self::Values<L>) -> L {
        B::value::<L>(&values.1)
    }
    #[inline(always)]
    fn partial<const N: usize, O: Order, L: Lane, S: Source<L>>(
        &self,
        source: S,
        values: &Self::Values<L>,
        seed: L,
    ) -> Signed<L> {
        let inner = With::<K, S, L>(source, E::value::<L>(&values.0));
        macro_rules! beside {
            () => {
                self.1.partial::<N, O, L, With<K, S, L>>(inner, &values.1, seed)
            };
        }
        // By all uses of the temporary at once, so that many uses do not multiply the work.
        macro_rules! by_local {
            () => {{
                let seed = self.1.partial::<0, Only<K>, L, With<K, S, L>>(inner, &values.1, seed);
                let contribution = self.0.partial::<N, O, L, S>(source, &values.0, seed.value);
                if seed.minus { contribution.negated() } else { contribution }
            }};
        }
        match const { (Self::USES && has::<E, O>(N), has::<B, O>(N)) } {
            (true, true) => by_local!().and(beside!()),
            (true, false) => by_local!(),
            _ => beside!(),
        }
    }
}
