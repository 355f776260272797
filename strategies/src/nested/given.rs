//! Statements whose partial derivatives are given, for numbers that are variables: no rule runs when they are recorded,
//! nor in sweeps over them.

use crate::contract::{Load, Opaque, Sink, Store, Taped, Tree, Twin};
use crate::identifier::LinearId;
use crate::shape::{Both, Each, Minus, Shape, Unit};
use crate::{Expression, Nests, Number, Taping};
use core::marker::PhantomData;
use generic_array::ArrayLength;
use generic_array::typenum::{U1, U2, U3, Unsigned};

/// Kind of a statement, i.e. of its partial derivatives.
pub(crate) trait Kind: 'static {
    type Shape: Shape;
    /// Number of arguments.
    type Arguments: ArrayLength;
    /// Number of constants: the stored partial derivatives, and the value.
    type Constants: ArrayLength;
    /// True if the partial derivative for the last argument is −1, when none are stored; all other partial derivatives
    /// are 1.
    const MINUS: bool = false;
    const HASH: u32;
}

macro_rules! kinds {
    (
        $($(#[$doc:meta])* $name:ident: $shape:ty, $arguments:ident, $constants:ident, $minus:literal, $hash:literal;)*
    ) => { $(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Kind for $name {
            type Shape = $shape;
            type Arguments = $arguments;
            type Constants = $constants;
            const MINUS: bool = $minus;
            const HASH: u32 = $hash;
        }
    )* };
}
kinds! {
    /// x.
    Same: Unit, U1, U1, false, 0x71;
    /// −x.
    Negative: Minus<Unit>, U1, U1, true, 0x72;
    /// x + y.
    Sum: Both<Unit, Unit>, U2, U1, false, 0x73;
    /// x − y.
    Difference: Both<Unit, Minus<Unit>>, U2, U1, true, 0x74;
    /// A function of one argument.
    One: Each<1>, U1, U2, false, 0x75;
    /// A function of two arguments.
    Two: Each<2>, U2, U3, false, 0x76;
}

/// Maximum number of arguments.
const MOST: usize = 2;

/// A statement with given partial derivatives, and the same statement as read back from a record, where the values of
/// the arguments are missing. It can be differentiated, but not recomputed.
pub(crate) struct Given<S: Nests, K> {
    arguments: [(S::Value, LinearId); MOST],
    value: S::Value,
    partials: [S::Value; MOST],
    kind: PhantomData<K>,
}

impl<S: Nests, K> Clone for Given<S, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Nests, K> Copy for Given<S, K> {}

impl<S: Nests, K: Kind> Given<S, K> {
    /// Makes a statement of these arguments with this value. `partials` are those that the kind does not determine.
    #[inline(always)]
    pub(crate) fn new<const N: usize, const P: usize>(
        arguments: [Taped<S::Value, LinearId>; N],
        value: S::Value,
        partials: [S::Value; P],
    ) -> Self {
        const { assert!(N == K::Arguments::USIZE && P == K::Shape::FACTORS && K::Constants::USIZE == P + 1) };
        let mut given = Self {
            arguments: [(S::Value::ZERO, LinearId::PASSIVE); MOST],
            value,
            partials: [S::Value::ZERO; MOST],
            kind: PhantomData,
        };
        given.arguments.iter_mut().zip(arguments).for_each(|(to, x)| *to = (x.value, x.id));
        given.partials.iter_mut().zip(partials).for_each(|(to, partial)| *to = partial);
        given
    }

    /// Records the statement and returns its result. Compiled once for each kind, and not for each operator of a
    /// program.
    #[inline(never)]
    #[track_caller]
    pub(crate) fn record(self) -> Taped<S::Value, LinearId> {
        Taped { value: self.value, id: S::record(&self) }
    }

    #[inline(always)]
    fn report(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        for (k, (_, id)) in self.arguments.iter().enumerate().take(K::Arguments::USIZE) {
            if K::Shape::FACTORS > 0 {
                let partial = seed * self.partials[k];
                sink.factor(partial);
                sink.leaf(partial, *id);
            } else {
                let minus = K::MINUS && k + 1 == K::Arguments::USIZE;
                sink.leaf(if minus { -seed } else { seed }, *id);
            }
        }
    }
}

impl<S: Nests, K: Kind> Expression<S> for Given<S, K> {
    type Shape = K::Shape;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.value
    }
    #[inline(always)]
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        self.report(seed, sink);
    }
    #[inline(always)]
    fn silence(&self, sink: &mut impl Sink<S>) {
        self.report(S::Value::ZERO, sink);
    }
}

impl<S: Nests, K: Kind> Tree<S> for Given<S, K> {
    type Args = K::Arguments;
    type Constants = K::Constants;
    type Back = Self;
    #[inline(always)]
    fn store(&self, store: &mut impl Store<S>) {
        self.arguments.iter().take(K::Arguments::USIZE).for_each(|(value, id)| store.leaf(*value, *id));
        self.partials.iter().take(K::Shape::FACTORS).for_each(|partial| store.constant(*partial));
        store.constant(self.value);
    }
}

impl<S: Nests, K: Kind> Twin<S> for Given<S, K> {
    const HASH: u32 = K::HASH;
    const CONSTANTS: usize = K::Constants::USIZE;
    const REPLAYS: bool = false;
    type Over<T: Taping> = Opaque;

    #[inline(always)]
    fn load(source: &mut impl Load<S>) -> Self {
        let mut given = Self {
            arguments: [(S::Value::ZERO, LinearId::PASSIVE); MOST],
            value: S::Value::ZERO,
            partials: [S::Value::ZERO; MOST],
            kind: PhantomData,
        };
        given.arguments.iter_mut().take(K::Arguments::USIZE).for_each(|to| *to = source.leaf());
        given.partials.iter_mut().take(K::Shape::FACTORS).for_each(|to| *to = source.constant());
        given.value = source.constant();
        given
    }
}
