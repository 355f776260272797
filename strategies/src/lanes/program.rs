//! Whole kernels: what is done with the expressions of a body.

use super::keys::{Facts, Key, Keys, OPERANDS};
use super::lane::{Lane, sealed::Sealed};
use super::tree::{Leaf, Node, Order, Signed, Source};
use core::marker::PhantomData;

/// The largest number of outputs of a launch.
pub const OUTPUTS: usize = 4;

/// Which operands are written, in the order of the expressions.
pub trait Written: Copy + Send + Sync + 'static {
    /// The operands.
    const OPERANDS: &'static [usize];
}

/// A kernel: some expressions, and where they go. Sealed as [`Node`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a kernel returns",
    note = "a kernel returns a tuple with one expression for each operand that is written (`&mut`), in their order; a single one \
            needs a comma too: `(expression,)`"
)]
pub trait Program: Copy + Send + Sync + Sealed + 'static {
    /// The number of expressions.
    const EXPRESSIONS: usize;
    /// Whether the expressions are written to operands, not added up.
    const WRITES: bool;
    /// Whether there is one expression for each operand that is written, and none uses the [`New`](super::tree::New) value of an output
    /// that does not stand before it. Otherwise the program cannot run.
    const IN_ORDER: bool = true;
    /// The leaves with a partial.
    const USED: Keys;
    /// The leaves whose values the partials need.
    const NEEDS: Keys;
    /// All leaves.
    const READS: Keys;
    /// What is to be known of [`USED`](Self::USED).
    const PARTIALS: Facts = Facts::of(&Self::USED);
    /// What is to be known of [`NEEDS`](Self::NEEDS).
    const KEPT: Facts = Facts::of(&Self::NEEDS);
    /// What is to be known of [`READS`](Self::READS).
    const LEAVES: Facts = Facts::of(&Self::READS);

    /// The operand that expression `k` is written to.
    fn written(k: usize) -> usize;
    /// Hands each expression's value to `put`, in order. What is written earlier can be read as [`New`](super::tree::New).
    fn each<L: Lane, S: Source<L>>(&self, source: S, put: &mut impl FnMut(usize, L));
    /// Σ seedₖ·∂expressionₖ/∂(leaf `N` of [`USED`](Self::USED)), with the partial apart from the seed if `CARE`: zero times anything
    /// is zero then.
    fn partial<const N: usize, const CARE: bool, L: Lane, S: Source<L>>(
        &self,
        source: S,
        seeds: &[L; OUTPUTS],
    ) -> Signed<L>;
}

/// The order of a program's leaves.
pub(super) struct Leaves<P>(PhantomData<P>);
impl<P: Program> Order for Leaves<P> {
    const KEYS: Keys = P::USED;
}

/// seed·∂node/∂leaf.
#[inline(always)]
fn contribution<const N: usize, const CARE: bool, O: Order, A: Node, L: Lane, S: Source<L>>(
    node: &A,
    source: S,
    seed: L,
) -> Signed<L> {
    let values = node.run::<L, S>(source);
    if CARE {
        Signed::of(seed.times(node.partial::<N, O, L, S>(source, &values, L::one()).number()))
    } else {
        node.partial::<N, O, L, S>(source, &values, seed)
    }
}

/// A source in which some outputs of the point are known.
#[derive(Clone, Copy)]
struct Known<S, L>(S, [L; OPERANDS]);
impl<L: Lane, S: Source<L>> Source<L> for Known<S, L> {
    #[inline(always)]
    fn read<K: Leaf>(self) -> L {
        self.0.read::<K>()
    }
    #[inline(always)]
    fn number(self, operand: usize) -> L {
        self.0.number(operand)
    }
    #[inline(always)]
    fn new<K: Leaf>(self) -> L {
        self.1[K::KEY.operand()]
    }
    #[inline(always)]
    fn local(self, k: usize) -> L {
        self.0.local(k)
    }
}

/// Expressions that are written to operands.
pub struct Assign<W, T>(T, PhantomData<W>);
impl<W, T: Copy> Clone for Assign<W, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W, T: Copy> Copy for Assign<W, T> {}
impl<W, T> Assign<W, T> {
    /// These expressions.
    #[inline(always)]
    pub const fn new(expressions: T) -> Self {
        Self(expressions, PhantomData)
    }
}
impl<W, T> Sealed for Assign<W, T> {}

/// The leaf that is the new value of operand `A` of an order of one leaf.
struct OnlyNew<W, const K: usize>(PhantomData<W>);
impl<W: Written, const K: usize> Order for OnlyNew<W, K> {
    const KEYS: Keys = Keys::of(Key::new(output::<W>(K)));
}

/// The operand that expression `k` is written to; any, if there are fewer that are written.
const fn output<W: Written>(k: usize) -> usize {
    if k < W::OPERANDS.len() { W::OPERANDS[k] } else { 0 }
}

/// Drops the new values of all written operands.
const fn without_new(mut keys: Keys, written: &[usize]) -> Keys {
    let mut k = 0;
    while k < written.len() {
        keys = keys.without(Key::new(written[k]));
        k += 1;
    }
    keys
}

/// Implements [`Program`] for tuples of expressions. `later` lists, for each expression, those after it, which may read it.
macro_rules! programs {
    ($($count:literal: $($name:ident $k:tt ($($later:ident $l:tt)*))*;)*) => { $(
        impl<W: Written, $($name: Node),*> Program for Assign<W, ($($name,)*)> {
            const EXPRESSIONS: usize = $count;
            const IN_ORDER: bool = {
                let mut in_order = W::OPERANDS.len() == $count;
                $(
                    let own = $name::READS;
                    in_order &= !own.has(Key::new(output::<W>($k))) $(&& !own.has(Key::new(output::<W>($l))))*;
                )*
                in_order
            };
            const WRITES: bool = true;
            const USED: Keys = without_new(Keys::NONE$(.and($name::USED))*, W::OPERANDS);
            const NEEDS: Keys = Keys::NONE$(.and($name::NEEDS))*;
            const READS: Keys = without_new(Keys::NONE$(.and($name::READS))*, W::OPERANDS);

            #[inline(always)]
            fn written(k: usize) -> usize {
                output::<W>(k)
            }

            #[inline(always)]
            fn each<L: Lane, S: Source<L>>(&self, source: S, put: &mut impl FnMut(usize, L)) {
                let mut known = Known(source, [L::zero(); OPERANDS]);
                $(
                    let value = $name::value::<L>(&self.0.$k.run::<L, Known<S, L>>(known));
                    known.1[const { output::<W>($k) }] = value;
                )*
                // All reads come before all writes.
                $( put($k, known.1[const { output::<W>($k) }]); )*
            }

            #[inline(always)]
            fn partial<const N: usize, const CARE: bool, L: Lane, S: Source<L>>(
                &self,
                source: S,
                seeds: &[L; OUTPUTS],
            ) -> Signed<L> {
                // An output's adjoint gets what later expressions that use it contribute, the last expression first.
                #[allow(unused_mut, reason = "one expression alone has no later ones")]
                let mut seeds = *seeds;
                programs! { @adjoints self, W, source, seeds, CARE, $($name $k ($($later $l)*))* }
                // No closures: a call that stays would pass registers through memory.
                let (mut sum, mut any) = (Signed::of(L::nothing()), false);
                $(
                    if const { $name::USED.has(<Self as Program>::USED.get(N)) } {
                        let next = contribution::<N, CARE, Leaves<Self>, $name, L, S>(&self.0.$k, source, seeds[$k]);
                        sum = if any { sum.and(next) } else { next };
                        any = true;
                    }
                )*
                _ = any;
                sum
            }
        }
    )* };
    (@adjoints $self:ident, $w:ident, $source:ident, $seeds:ident, $care:ident,) => {};
    (@adjoints $self:ident, $w:ident, $source:ident, $seeds:ident, $care:ident,
        $name:ident $k:tt ($($later:ident $l:tt)*) $($rest:tt)*) => {
        programs! { @adjoints $self, $w, $source, $seeds, $care, $($rest)* }
        $(
            if const { $later::USED.has(Key::new(output::<$w>($k))) } {
                let later = contribution::<0, $care, OnlyNew<$w, $k>, $later, L, S>(&$self.0.$l, $source, $seeds[$l]);
                $seeds[$k] = later.added_to($seeds[$k]);
            }
        )*
    };
}
programs! {
    1: A 0 ();
    2: A 0 (B 1) B 1 ();
    3: A 0 (B 1 C 2) B 1 (C 2) C 2 ();
    4: A 0 (B 1 C 2 D 3) B 1 (C 2 D 3) C 2 (D 3) D 3 ();
}

/// One expression that is reduced to a number: added up, or compared.
#[derive(Clone, Copy, Debug)]
pub struct Reduce<A>(pub A);
impl<A> Sealed for Reduce<A> {}
impl<A: Node> Program for Reduce<A> {
    const EXPRESSIONS: usize = 1;
    const WRITES: bool = false;
    const USED: Keys = A::USED;
    const NEEDS: Keys = A::NEEDS;
    const READS: Keys = A::READS;
    #[inline(always)]
    fn written(_: usize) -> usize {
        0
    }
    #[inline(always)]
    fn each<L: Lane, S: Source<L>>(&self, source: S, put: &mut impl FnMut(usize, L)) {
        put(0, A::value::<L>(&self.0.run::<L, S>(source)));
    }
    #[inline(always)]
    fn partial<const N: usize, const CARE: bool, L: Lane, S: Source<L>>(
        &self,
        source: S,
        seeds: &[L; OUTPUTS],
    ) -> Signed<L> {
        contribution::<N, CARE, Leaves<Self>, A, L, S>(&self.0, source, seeds[0])
    }
}
