//! Statements whose partials are given: the records of preaccumulated blocks.

use super::Real;
use tapewright_strategies::contract::{Load, Opaque, Sink, Store, Tree, Twin};
use tapewright_strategies::shape::Each;
use tapewright_strategies::singular::refuses_singular;
use tapewright_strategies::{Expression, Number as _, Statement, Taping, typenum};

/// A statement of `N` arguments with these partials.
struct Given<'a, S: Taping, const N: usize> {
    arguments: &'a [&'a Real<S>; N],
    value: S::Value,
    partials: &'a [S::Value; N],
    singular: &'a Singular<N>,
}

/// For each argument a function in the block that is singular in the argument, under the policy
/// [`Checked`](crate::Checked).
pub(crate) type Singular<const N: usize> = [Option<&'static str>; N];

/// A rebuilt [`Given`]: it can be differentiated, but not recomputed.
struct GivenBack<S: Taping, const N: usize> {
    ids: [S::Raw; N],
    value: S::Value,
    partials: [S::Value; N],
}

#[inline(always)]
fn report<S: Taping>(seed: S::Value, partials: &[S::Value], id: impl Fn(usize) -> S::Raw, sink: &mut impl Sink<S>) {
    for (k, partial) in partials.iter().enumerate() {
        sink.factor(seed * *partial);
        sink.leaf(seed * *partial, id(k));
    }
}

impl<S: Taping, const N: usize> Expression<S> for Given<'_, S, N> {
    type Shape = Each<N>;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.value
    }
    #[inline(always)]
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        for (k, partial) in self.partials.iter().enumerate() {
            if refuses_singular::<S>()
                && let Some(function) = self.singular[k]
            {
                sink.singular(function, 1);
            }
            report(seed, core::slice::from_ref(partial), |_| S::raw(self.arguments[k].id()), sink);
        }
    }
    #[inline(always)]
    fn silence(&self, sink: &mut impl Sink<S>) {
        report(S::Value::ZERO, self.partials, |k| S::raw(self.arguments[k].id()), sink);
    }
}

impl<S: Taping, const N: usize> Clone for GivenBack<S, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Taping, const N: usize> Copy for GivenBack<S, N> {}

impl<S: Taping, const N: usize> Expression<S> for GivenBack<S, N> {
    type Shape = Each<N>;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.value
    }
    #[inline(always)]
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        report(seed, &self.partials, |k| self.ids[k], sink);
    }
    #[inline(always)]
    fn silence(&self, sink: &mut impl Sink<S>) {
        report(S::Value::ZERO, &self.partials, |k| self.ids[k], sink);
    }
}

impl<S: Taping, const N: usize> Twin<S> for GivenBack<S, N> {
    const HASH: u32 = 0x6E;
    const CONSTANTS: usize = N + 1;
    const REPLAYS: bool = false;
    type Over<T: Taping> = Opaque;

    fn load(source: &mut impl Load<S>) -> Self {
        let ids = core::array::from_fn(|_| source.leaf().1);
        Self { ids, partials: core::array::from_fn(|_| source.constant()), value: source.constant() }
    }
}

/// Implements [`Tree`] for these numbers of arguments, with one more constant than partials: the value.
macro_rules! given {
    ($($n:literal $args:ident $constants:ident;)*) => {
        $(
            impl<S: Taping> Tree<S> for Given<'_, S, $n> {
                type Args = typenum::$args;
                type Constants = typenum::$constants;
                type Back = GivenBack<S, $n>;
                #[inline(always)]
                fn store(&self, store: &mut impl Store<S>) {
                    self.arguments.iter().for_each(|x| store.leaf(x.value(), S::raw(x.id())));
                    self.partials.iter().for_each(|partial| store.constant(*partial));
                    store.constant(self.value);
                }
            }
        )*

        /// Records a statement with these partials, if there is a statement type for this number of arguments.
        #[inline(always)]
        #[track_caller]
        pub(crate) fn given<S: Taping, const N: usize>(
            arguments: &[&Real<S>; N],
            value: S::Value,
            partials: &[S::Value; N],
            singular: &Singular<N>,
        ) -> Option<Real<S>> {
            match N {
                $($n => Some(record(Given::<S, $n> {
                    arguments: arguments.first_chunk()?,
                    value,
                    partials: partials.first_chunk()?,
                    singular: singular.first_chunk()?,
                })),)*
                _ => None,
            }
        }
    };
}
given! {
    1 U1 U2;
    2 U2 U3;
    3 U3 U4;
    4 U4 U5;
    5 U5 U6;
    6 U6 U7;
    7 U7 U8;
    8 U8 U9;
    9 U9 U10;
    10 U10 U11;
    11 U11 U12;
    12 U12 U13;
}

#[inline(always)]
#[track_caller]
fn record<S: Taping>(statement: impl Statement<S>) -> Real<S> {
    Real::from_parts(statement.value(), S::record(&statement))
}
