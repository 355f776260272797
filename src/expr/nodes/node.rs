//! The nodes of expression trees. Each caches its value, and knows its rule as a [`Tree`].

use super::descend::{descend, descend_singular, looks, silence_below};
use super::in_lanes::{InLanes, is_singular_of_one, is_singular_of_two};
use bytemuck::TransparentWrapper;
use core::marker::PhantomData;
use core::ops::Add;
use tapewright_strategies::contract::{Load, Sink, Store, Tree, Twin, Variable};
use tapewright_strategies::policy::Policy;
use tapewright_strategies::rules::{Curvature, Function, Operator};
use tapewright_strategies::shape::{Both, Edge, Nothing, Pattern, Shape, Unit, mix};
use tapewright_strategies::typenum::{Sum, U0, U1, Unsigned};
use tapewright_strategies::{Expression, Number, Strategy, Taping};

/// A variable, owned by the expression.
#[derive(TransparentWrapper)]
#[repr(transparent)]
#[transparent(S::Variable)]
pub struct Leaf<S: Taping>(pub(crate) S::Variable);

/// A variable, borrowed by the expression.
pub struct RefLeaf<'a, S: Taping>(pub(crate) &'a Leaf<S>);

/// A variable's value and identifier without ownership: in rebuilt statements, and where a statement reads the variable
/// that the statement assigns to.
pub struct BackLeaf<S: Taping> {
    value: S::Value,
    raw: S::Raw,
}

/// An `f64` operand, rounded to the value type.
pub struct Literal<S: Taping>(pub(crate) S::Value);

/// A function of one argument.
pub struct Un<S: Taping, O, A> {
    argument: A,
    value: S::Value,
    companion: S::Value,
    rule: PhantomData<O>,
}

/// A function of two arguments.
pub struct Bin<S: Taping, O, A, B> {
    left: A,
    right: B,
    value: S::Value,
    rule: PhantomData<O>,
}

/// Nodes that expressions own and that are not variables, which `.into()` records.
pub trait Compound {}
impl<S: Taping> Compound for BackLeaf<S> {}
impl<S: Taping, O, A> Compound for Un<S, O, A> {}
impl<S: Taping, O, A, B> Compound for Bin<S, O, A, B> {}

impl<S: Taping> Clone for Leaf<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
impl<S: Strategy> Copy for Leaf<S> {}

impl<S: Taping> Clone for RefLeaf<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Taping> Copy for RefLeaf<'_, S> {}

impl<S: Taping> Clone for Literal<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Taping> Copy for Literal<S> {}

impl<S: Taping, O, A: Clone> Clone for Un<S, O, A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self { argument: self.argument.clone(), value: self.value, companion: self.companion, rule: PhantomData }
    }
}
impl<S: Taping, O, A: Copy> Copy for Un<S, O, A> {}

impl<S: Taping, O, A: Clone, B: Clone> Clone for Bin<S, O, A, B> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self { left: self.left.clone(), right: self.right.clone(), value: self.value, rule: PhantomData }
    }
}
impl<S: Taping, O, A: Copy, B: Copy> Copy for Bin<S, O, A, B> {}

/// Implements a leaf: its value, its identifier, and its form in rebuilt statements.
macro_rules! leaf {
    ($(<$($l:lifetime)?> $t:ident, |$s:ident| $value:expr, $raw:expr;)*) => { $(
        impl<S: Taping> Expression<S> for $t<$($l,)? S> {
            type Shape = Unit;
            #[inline(always)]
            fn value(&self) -> S::Value {
                let $s = self;
                $value
            }
            #[inline(always)]
            fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
                let $s = self;
                sink.leaf(seed, $raw);
            }
            #[inline(always)]
            fn silence(&self, sink: &mut impl Sink<S>) {
                let $s = self;
                sink.leaf(S::Value::ZERO, $raw);
            }
        }

        impl<S: Taping> Tree<S> for $t<$($l,)? S> {
            type Args = U1;
            type Constants = U0;
            type Back = BackLeaf<S>;
            #[inline(always)]
            fn store(&self, store: &mut impl Store<S>) {
                let $s = self;
                store.leaf($value, $raw);
            }
        }
    )* };
}
leaf! {
    <> Leaf, |s| s.0.value(), S::raw(s.0.id());
    <'_> RefLeaf, |s| s.0.0.value(), S::raw(s.0.0.id());
    <> BackLeaf, |s| s.value, s.raw;
}

impl<S: Taping> Clone for BackLeaf<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Taping> Copy for BackLeaf<S> {}

impl<S: Taping> BackLeaf<S> {
    #[inline(always)]
    pub(crate) const fn new(value: S::Value, raw: S::Raw) -> Self {
        Self { value, raw }
    }

    #[inline(always)]
    pub(crate) fn of(variable: &S::Variable) -> Self {
        Self { value: variable.value(), raw: S::raw(variable.id()) }
    }
}

impl<S: Taping> Twin<S> for BackLeaf<S> {
    const HASH: u32 = 0x11;
    const CURVATURE: Curvature = Curvature::LINEAR;
    const CONSTANTS: usize = 0;
    type Over<T: Taping> = BackLeaf<T>;
    #[inline(always)]
    fn load(source: &mut impl Load<S>) -> Self {
        let (value, raw) = source.leaf();
        Self { value, raw }
    }
}

impl<S: Taping> Expression<S> for Literal<S> {
    type Shape = Nothing;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.0
    }
    #[inline(always)]
    fn backward(&self, _: S::Value, _: &mut impl Sink<S>) {}
    #[inline(always)]
    fn silence(&self, _: &mut impl Sink<S>) {}
}

impl<S: Taping> Tree<S> for Literal<S> {
    type Args = U0;
    type Constants = U1;
    type Back = Self;
    #[inline(always)]
    fn store(&self, store: &mut impl Store<S>) {
        store.constant(self.0);
    }
}

impl<S: Taping> Twin<S> for Literal<S> {
    const HASH: u32 = 0x22;
    const CURVATURE: Curvature = Curvature::LINEAR;
    const CONSTANTS: usize = 1;
    type Over<T: Taping> = Literal<T>;
    #[inline(always)]
    fn load(source: &mut impl Load<S>) -> Self {
        Self(source.constant())
    }
}

impl<S: Taping, O: Function, A: Expression<S>> Un<S, O, A> {
    #[inline(always)]
    pub(crate) fn new(argument: A) -> Self {
        let mut node = Self { argument, value: S::Value::ZERO, companion: S::Value::ZERO, rule: PhantomData };
        (node.value, node.companion) = O::value_and_companion(node.argument.value());
        node
    }
}

impl<S: Taping, O: Function, A: Expression<S>> Expression<S> for Un<S, O, A> {
    type Shape = <O::Edge as Edge>::Of<A::Shape>;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.value
    }
    #[inline(always)]
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        if !A::Shape::IS_CONSTANT {
            if O::Edge::SCALES {
                let x = self.argument.value();
                let partial = O::derivative(x, self.value, self.companion);
                if const { !looks::<S>() }
                    || !S::Policy::looking(|| {
                        let singular = |k| is_singular_of_one::<S, O>(partial, x, self.value, k);
                        descend_singular::<S, O, O::Edge, A>(&self.argument, (seed, partial), singular, sink)
                    })
                {
                    descend::<S, O::Edge, A>(&self.argument, seed * partial, sink);
                }
            } else {
                descend::<S, O::Edge, A>(&self.argument, seed, sink);
            }
        }
    }
    #[inline(always)]
    fn silence(&self, sink: &mut impl Sink<S>) {
        silence_below::<S, O::Edge, A>(&self.argument, sink);
    }
}

impl<S: Taping, O: Function, A: Tree<S>> Tree<S> for Un<S, O, A> {
    type Args = A::Args;
    type Constants = A::Constants;
    type Back = Un<S, O, A::Back>;
    #[inline(always)]
    fn store(&self, store: &mut impl Store<S>) {
        self.argument.store(store);
    }
}

impl<S: Taping, O: Function, A: Twin<S>> Twin<S> for Un<S, O, A> {
    const HASH: u32 = mix(A::HASH, O::HASH);
    const CONSTANTS: usize = A::CONSTANTS;
    const CURVATURE: Curvature = if O::Edge::SCALES { Curvature::all(A::Shape::LEAVES) } else { A::CURVATURE };
    type Over<T: Taping> = Un<T, O, A::Over<T>>;
    const KEPT: usize = A::KEPT + O::KEPT;
    const KEEPS_VALUE: bool = O::KEPT == 1;
    #[inline(always)]
    fn load(source: &mut impl Load<S>) -> Self {
        let argument = A::load(source);
        let (value, companion) = source.function::<O>(argument.value());
        Self { argument, value, companion, rule: PhantomData }
    }
    #[inline(always)]
    fn evaluate(source: &mut impl Load<S>) -> S::Value {
        let x = A::evaluate(source);
        source.function::<O>(x).0
    }
}

impl<S: Taping, O: Operator, A: Expression<S>, B: Expression<S>> Bin<S, O, A, B> {
    #[inline(always)]
    pub(crate) fn new(left: A, right: B) -> Self {
        // The value is computed in place: arguments that are moved only once compile faster.
        let mut node = Self { left, right, value: S::Value::ZERO, rule: PhantomData };
        node.value = O::value(node.left.value(), node.right.value());
        node
    }
}

impl<S: Taping, O: Operator, A: Expression<S>, B: Expression<S>> Expression<S> for Bin<S, O, A, B> {
    type Shape = Both<<O::Left as Edge>::Of<A::Shape>, <O::Right as Edge>::Of<B::Shape>>;
    #[inline(always)]
    fn value(&self) -> S::Value {
        self.value
    }
    #[inline(always)]
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        let (x, y, value) = (self.left.value(), self.right.value(), self.value);
        if O::SELECTS
            && O::selecting(|| match sink.lanes() {
                Some(all) => self.backward_narrowed((seed, all), sink),
                None if const { S::Value::LANES > 1 && is_leaf::<A::Shape>() && is_leaf::<B::Shape>() } => {
                    self.backward_chosen(seed, sink);
                }
                None => self.backward_selected(seed, sink),
            })
        {
            return;
        }
        if !A::Shape::IS_CONSTANT {
            if O::Left::SCALES {
                let partial = O::partial_left(x, y, value);
                if const { !looks::<S>() }
                    || !S::Policy::looking(|| {
                        let singular = |k| is_singular_of_two::<S, O>(partial, (x, y), value, k);
                        descend_singular::<S, O, O::Left, A>(&self.left, (seed, partial), singular, sink)
                    })
                {
                    descend::<S, O::Left, A>(&self.left, seed * partial, sink);
                }
            } else {
                descend::<S, O::Left, A>(&self.left, seed, sink);
            }
        }
        if !B::Shape::IS_CONSTANT {
            if O::Right::SCALES {
                let partial = O::partial_right(x, y, value);
                if const { !looks::<S>() }
                    || !S::Policy::looking(|| {
                        let singular = |k| is_singular_of_two::<S, O>(partial, (x, y), value, k);
                        descend_singular::<S, O, O::Right, B>(&self.right, (seed, partial), singular, sink)
                    })
                {
                    descend::<S, O::Right, B>(&self.right, seed * partial, sink);
                }
            } else {
                descend::<S, O::Right, B>(&self.right, seed, sink);
            }
        }
    }
    #[inline(always)]
    fn silence(&self, sink: &mut impl Sink<S>) {
        silence_below::<S, O::Left, A>(&self.left, sink);
        silence_below::<S, O::Right, B>(&self.right, sink);
    }
}

impl<S: Taping, O: Operator, A: Expression<S>, B: Expression<S>> Bin<S, O, A, B> {
    /// [`Expression::backward`] for a function that returns one of its arguments, with a receiver that leaves out
    /// lanes: each argument gets the partials of the lanes in which it is returned.
    #[inline(always)]
    fn backward_narrowed(&self, (seed, all): (S::Value, Option<S::Value>), sink: &mut impl Sink<S>) {
        let (x, y, value) = (self.left.value(), self.right.value(), self.value);
        let left = S::Value::chosen::<O>([x, y], [S::Value::ONE, S::Value::ZERO], O::selects_left);
        sink.set_lanes(Some(narrowed(all, left)));
        descend::<S, O::Left, A>(&self.left, seed * O::partial_left(x, y, value), sink);
        sink.set_lanes(Some(narrowed(all, S::Value::ONE - left)));
        descend::<S, O::Right, B>(&self.right, seed * O::partial_right(x, y, value), sink);
        sink.set_lanes(all);
    }

    /// [`Expression::backward`] for a function that returns one of its arguments, if these are variables or constants:
    /// each gets the seed in the lanes in which it is returned.
    #[inline(always)]
    fn backward_chosen(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        let (x, y, value) = (self.left.value(), self.right.value(), self.value);
        let chosen = |left, right| S::Value::chosen::<O>([x, y], [left, right], O::selects_left);
        let (to_left, to_right) = (seed * O::partial_left(x, y, value), seed * O::partial_right(x, y, value));
        descend::<S, O::Left, A>(&self.left, chosen(to_left, S::Value::ZERO), sink);
        descend::<S, O::Right, B>(&self.right, chosen(S::Value::ZERO, to_right), sink);
    }

    /// [`Expression::backward`] for a function that returns one of its arguments.
    fn backward_selected(&self, seed: S::Value, sink: &mut impl Sink<S>) {
        let (x, y, value) = (self.left.value(), self.right.value(), self.value);
        if const { S::Value::LANES > 1 } {
            let left = |k| O::selects_left(x.lane(k), y.lane(k));
            let (to_left, to_right) = (seed * O::partial_left(x, y, value), seed * O::partial_right(x, y, value));
            descend::<S, O::Left, A>(&self.left, to_left, &mut InLanes { sink, counts: &left });
            descend::<S, O::Right, B>(&self.right, to_right, &mut InLanes { sink, counts: &|k| !left(k) });
        } else if O::selects_left(x.lane(0), y.lane(0)) {
            descend::<S, O::Left, A>(&self.left, seed * O::partial_left(x, y, value), sink);
            silence_below::<S, O::Right, B>(&self.right, sink);
        } else {
            silence_below::<S, O::Left, A>(&self.left, sink);
            descend::<S, O::Right, B>(&self.right, seed * O::partial_right(x, y, value), sink);
        }
    }
}

/// Returns true for the shape of a variable, and of a constant.
const fn is_leaf<H: Shape>() -> bool {
    H::IS_CONSTANT || matches!(H::PATTERN, Pattern { leaves: 1, digits: 0 })
}

/// The lanes that are among all of these and among others.
#[inline(always)]
fn narrowed<V: Number>(all: Option<V>, lanes: V) -> V {
    all.map_or(lanes, |all| all * lanes)
}

impl<S: Taping, O: Operator, A: Tree<S>, B: Tree<S>> Tree<S> for Bin<S, O, A, B>
where
    A::Args: Add<B::Args, Output: Unsigned>,
    A::Constants: Add<B::Constants, Output: Unsigned>,
{
    type Args = Sum<A::Args, B::Args>;
    type Constants = Sum<A::Constants, B::Constants>;
    type Back = Bin<S, O, A::Back, B::Back>;
    #[inline(always)]
    fn store(&self, store: &mut impl Store<S>) {
        self.left.store(store);
        self.right.store(store);
    }
}

impl<S: Taping, O: Operator, A: Twin<S>, B: Twin<S>> Twin<S> for Bin<S, O, A, B> {
    const HASH: u32 = mix(mix(A::HASH, B::HASH), O::HASH);
    const CONSTANTS: usize = A::CONSTANTS + B::CONSTANTS;
    const CURVATURE: Curvature = O::BEND.of((A::CURVATURE, A::Shape::LEAVES), (B::CURVATURE, B::Shape::LEAVES));
    type Over<T: Taping> = Bin<T, O, A::Over<T>, B::Over<T>>;
    const KEPT: usize = A::KEPT + B::KEPT + O::KEPT;
    const KEEPS_VALUE: bool = O::KEPT == 1;
    #[inline(always)]
    fn load(source: &mut impl Load<S>) -> Self {
        // Without `new`, which has to drop its arguments if a rule panics: this compiles faster.
        let (left, right) = (A::load(source), B::load(source));
        let value = source.operator::<O>(left.value(), right.value());
        Self { left, right, value, rule: PhantomData }
    }
    #[inline(always)]
    fn evaluate(source: &mut impl Load<S>) -> S::Value {
        let (left, right) = (A::evaluate(source), B::evaluate(source));
        source.operator::<O>(left, right)
    }
}
