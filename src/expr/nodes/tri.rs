//! The node of a function of three arguments.

use super::descend::{descend, descend_singular, looks, silence_below};
use super::in_lanes::is_singular_of_three;
use super::node::Compound;
use core::marker::PhantomData;
use core::ops::Add;
use tapewright_strategies::contract::{Load, Sink, Store, Tree, Twin};
use tapewright_strategies::policy::Policy;
use tapewright_strategies::rules::Curvature;
use tapewright_strategies::shape::{Both, Scaled, Scaling, Shape, mix};
use tapewright_strategies::typenum::{Sum, Unsigned};
use tapewright_strategies::{Expression, Number, Taping, Ternary};

/// A function of three arguments.
pub struct Tri<S: Taping, R, A, B, C> {
    first: A,
    second: B,
    third: C,
    value: S::Value,
    rule: PhantomData<R>,
}

impl<S: Taping, R, A, B, C> Compound for Tri<S, R, A, B, C> {}

impl<S: Taping, R, A: Clone, B: Clone, C: Clone> Clone for Tri<S, R, A, B, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        let (first, second, third) = (self.first.clone(), self.second.clone(), self.third.clone());
        Self { first, second, third, value: self.value, rule: PhantomData }
    }
}
impl<S: Taping, R, A: Copy, B: Copy, C: Copy> Copy for Tri<S, R, A, B, C> {}

impl<S: Taping, R: Ternary, A: Expression<S>, B: Expression<S>, C: Expression<S>> Tri<S, R, A, B, C> {
    #[inline(always)]
    pub(crate) fn new(first: A, second: B, third: C) -> Self {
        let mut node = Self { first, second, third, value: S::Value::ZERO, rule: PhantomData };
        node.value = node.first.value().ternary::<R>(node.second.value(), node.third.value());
        node
    }

    /// Passes `seed` to the child that is argument number `K`.
    #[inline(always)]
    fn down<N: Expression<S>, const K: usize>(&self, child: &N, seed: S::Value, sink: &mut impl Sink<S>) {
        if const { N::Shape::LEAVES == 0 } {
            return;
        }
        let (arguments, value) = ([self.first.value(), self.second.value(), self.third.value()], self.value);
        let partial = S::Value::partial_of_three::<R, K>(arguments, value);
        if const { !looks::<S>() }
            || !S::Policy::looking(|| {
                let singular = |k| is_singular_of_three::<S, R>(partial, arguments, value, k);
                descend_singular::<S, R, Scaling, N>(child, (seed, partial), singular, sink)
            })
        {
            descend::<S, Scaling, N>(child, seed * partial, sink);
        }
    }
}

impl<S: Taping, R: Ternary, A: Expression<S>, B: Expression<S>, C: Expression<S>> Expression<S> for Tri<S, R, A, B, C> {
    type Shape = Both<Both<Scaled<A::Shape>, Scaled<B::Shape>>, Scaled<C::Shape>>;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.value
    }
    #[inline(always)]
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        self.down::<A, 0>(&self.first, seed, sink);
        self.down::<B, 1>(&self.second, seed, sink);
        self.down::<C, 2>(&self.third, seed, sink);
    }
    #[inline(always)]
    fn silence(&self, sink: &mut impl Sink<S>) {
        silence_below::<S, Scaling, A>(&self.first, sink);
        silence_below::<S, Scaling, B>(&self.second, sink);
        silence_below::<S, Scaling, C>(&self.third, sink);
    }
}

impl<S: Taping, R: Ternary, A: Tree<S>, B: Tree<S>, C: Tree<S>> Tree<S> for Tri<S, R, A, B, C>
where
    A::Args: Add<B::Args, Output: Add<C::Args, Output: Unsigned>>,
    A::Constants: Add<B::Constants, Output: Add<C::Constants, Output: Unsigned>>,
{
    type Args = Sum<Sum<A::Args, B::Args>, C::Args>;
    type Constants = Sum<Sum<A::Constants, B::Constants>, C::Constants>;
    type Back = Tri<S, R, A::Back, B::Back, C::Back>;
    #[inline(always)]
    fn store(&self, store: &mut impl Store<S>) {
        self.first.store(store);
        self.second.store(store);
        self.third.store(store);
    }
}

impl<S: Taping, R: Ternary, A: Twin<S>, B: Twin<S>, C: Twin<S>> Twin<S> for Tri<S, R, A, B, C> {
    const HASH: u32 = mix(mix(mix(A::HASH, B::HASH), C::HASH), R::HASH);
    const CONSTANTS: usize = A::CONSTANTS + B::CONSTANTS + C::CONSTANTS;
    const CURVATURE: Curvature = Curvature::all(A::Shape::LEAVES + B::Shape::LEAVES + C::Shape::LEAVES);
    type Over<T: Taping> = Tri<T, R, A::Over<T>, B::Over<T>, C::Over<T>>;
    const KEPT: usize = A::KEPT + B::KEPT + C::KEPT + 1;
    const KEEPS_VALUE: bool = true;
    #[inline(always)]
    fn load(source: &mut impl Load<S>) -> Self {
        let (first, second, third) = (A::load(source), B::load(source), C::load(source));
        let value = source.ternary::<R>([first.value(), second.value(), third.value()]);
        Self { first, second, third, value, rule: PhantomData }
    }
    #[inline(always)]
    fn evaluate(source: &mut impl Load<S>) -> S::Value {
        let (first, second, third) = (A::evaluate(source), B::evaluate(source), C::evaluate(source));
        source.ternary::<R>([first, second, third])
    }
}
