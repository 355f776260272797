//! A handful of expression nodes, written against the contract alone, and what tests do with them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::contract::{Load, Opaque, Sink, Store, Taped, Tree, Twin};
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::shape::{Both, Nothing, Scaled, Shape, Unit, mix};
use tapewright_strategies::storage::Layer;
use tapewright_strategies::tape::{Content, Records};
use tapewright_strategies::typenum::Unsigned;
use tapewright_strategies::typenum::{Sum, U0, U1};
use tapewright_strategies::{Expression, IndexManager, Nary, Reverse, Statement, Taping};

/// Strategies with `f64` values and 32-bit linear identifiers.
pub(crate) trait Linear:
    Reverse<Value = f64, Id = LinearId, Raw = LinearId, Variable = Taped<f64, LinearId>>
{
}
impl<S: Reverse<Value = f64, Id = LinearId, Raw = LinearId, Variable = Taped<f64, LinearId>>> Linear for S {}

/// A variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Var(pub(crate) Taped<f64, LinearId>);

/// An `f64` operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lit(pub(crate) f64);

/// A + B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plus<A, B>(pub(crate) A, pub(crate) B);

/// A·B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<A, B>(pub(crate) A, pub(crate) B);

impl Var {
    pub(crate) const fn new(value: f64, id: LinearId) -> Self {
        Self(Taped { value, id })
    }

    pub(crate) const fn passive(value: f64) -> Self {
        Self::new(value, LinearId::PASSIVE)
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Expression<S> for Var {
    type Shape = Unit;
    fn value(&self) -> f64 {
        self.0.value
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<S>) {
        sink.leaf(seed, self.0.id);
    }
    fn silence(&self, sink: &mut impl Sink<S>) {
        sink.leaf(0.0, self.0.id);
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Tree<S> for Var {
    type Args = U1;
    type Constants = U0;
    type Back = Self;
    fn store(&self, store: &mut impl Store<S>) {
        store.leaf(self.0.value, self.0.id);
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Twin<S> for Var {
    type Over<T: Taping> = Opaque;
    const HASH: u32 = 1;
    const CONSTANTS: usize = 0;
    fn load(source: &mut impl Load<S>) -> Self {
        let (value, id) = source.leaf();
        Self::new(value, id)
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Expression<S> for Lit {
    type Shape = Nothing;
    fn value(&self) -> f64 {
        self.0
    }
    fn backward(&self, _: f64, _: &mut impl Sink<S>) {}
    fn silence(&self, _: &mut impl Sink<S>) {}
}

impl<S: Taping<Value = f64, Raw = LinearId>> Tree<S> for Lit {
    type Args = U0;
    type Constants = U1;
    type Back = Self;
    fn store(&self, store: &mut impl Store<S>) {
        store.constant(self.0);
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Twin<S> for Lit {
    type Over<T: Taping> = Opaque;
    const HASH: u32 = 2;
    const CONSTANTS: usize = 1;
    fn load(source: &mut impl Load<S>) -> Self {
        Self(source.constant())
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>, A: Expression<S>, B: Expression<S>> Expression<S> for Plus<A, B> {
    type Shape = Both<A::Shape, B::Shape>;
    fn value(&self) -> f64 {
        self.0.value() + self.1.value()
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<S>) {
        self.0.backward(seed, sink);
        self.1.backward(seed, sink);
    }
    fn silence(&self, sink: &mut impl Sink<S>) {
        self.0.silence(sink);
        self.1.silence(sink);
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>, A: Expression<S>, B: Expression<S>> Expression<S> for Times<A, B> {
    type Shape = Both<Scaled<A::Shape>, Scaled<B::Shape>>;
    fn value(&self) -> f64 {
        self.0.value() * self.1.value()
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<S>) {
        let (for_left, for_right) = (seed * self.1.value(), seed * self.0.value());
        scaled::<S, A>(&self.0, for_left, sink);
        scaled::<S, B>(&self.1, for_right, sink);
    }
    fn silence(&self, sink: &mut impl Sink<S>) {
        scaled::<S, A>(&self.0, 0.0, sink);
        scaled::<S, B>(&self.1, 0.0, sink);
    }
}

fn scaled<S: Taping<Value = f64, Raw = LinearId>, A: Expression<S>>(child: &A, seed: f64, sink: &mut impl Sink<S>) {
    if A::Shape::LINEAR {
        sink.factor(seed);
    }
    child.backward(seed, sink);
}

macro_rules! pairs {
    ($($node:ident $hash:literal)*) => { $(
        impl<S: Taping<Value = f64, Raw = LinearId>, A: Tree<S>, B: Tree<S>> Tree<S> for $node<A, B>
        where
            A::Args: core::ops::Add<B::Args, Output: Unsigned>,
            A::Constants: core::ops::Add<B::Constants, Output: Unsigned>,
        {
            type Args = Sum<A::Args, B::Args>;
            type Constants = Sum<A::Constants, B::Constants>;
            type Back = $node<A::Back, B::Back>;
            fn store(&self, store: &mut impl Store<S>) {
                self.0.store(store);
                self.1.store(store);
            }
        }

        impl<S: Taping<Value = f64, Raw = LinearId>, A: Twin<S>, B: Twin<S>> Twin<S> for $node<A, B> {
        type Over<T: Taping> = Opaque;
            const HASH: u32 = mix(mix(A::HASH, B::HASH), $hash);
            const CONSTANTS: usize = A::CONSTANTS + B::CONSTANTS;
            fn load(source: &mut impl Load<S>) -> Self {
                let left = A::load(source);
                Self(left, B::load(source))
            }
        }
    )* };
}
pairs! { Plus 3 Times 4 }

/// Records a statement.
#[track_caller]
pub(crate) fn eval<S: Linear, N: Statement<S>>(statement: &N) -> Var {
    let id = S::record(statement);
    Var::new(statement.value(), id)
}

/// Registers an input in a recording of this thread.
#[track_caller]
pub(crate) fn input<S: Linear>(number: RecordingId, value: f64) -> Var {
    Var::new(value, recording::with::<S, _>(number, |tape| S::input(tape, value)))
}

/// Σ xᵢ.
pub(crate) struct Total;
impl Nary<f64> for Total {
    const UNIT: bool = true;
    fn value(x: &[f64], _: &[f64]) -> f64 {
        x.iter().sum()
    }
    fn partials(_: &[f64], _: &[f64], partials: &mut [f64]) {
        partials.fill(1.0);
    }
}

/// Σ cᵢ·xᵢ².
pub(crate) struct Squares;
impl Nary<f64> for Squares {
    const CONSTANTS: usize = 1;
    fn value(x: &[f64], c: &[f64]) -> f64 {
        x.iter().zip(c).map(|(x, c)| c * x * x).sum()
    }
    fn partials(x: &[f64], c: &[f64], partials: &mut [f64]) {
        partials.iter_mut().zip(x).zip(c).for_each(|((p, x), c)| *p = 2.0 * c * x);
    }
}

/// Records a function of slices, whose arguments are in two of them.
#[track_caller]
pub(crate) fn nary<S: Linear, R: Nary<f64>>(x: &[Var], constants: &[f64]) -> Var {
    let variables: Vec<_> = x.iter().map(|x| x.0).collect();
    let values: Vec<f64> = x.iter().map(|x| x.0.value).collect();
    let value = R::value(&values, constants);
    let (left, right) = variables.split_at(x.len() / 2);
    Var::new(value, S::record_nary::<R>(&[left, right], constants, value))
}

/// A tape that has never recorded.
pub(crate) fn tape<S: Reverse>() -> OwnedTape<S> {
    OwnedTape::new(S::Tape::default())
}

/// The slot of a variable in adjoint vectors.
pub(crate) fn slot<S: Linear>(x: Var) -> usize {
    S::locate(&x.0.id).map_or(0, |(_, slot)| slot)
}

/// The adjoints of `inputs` for seed 1 at `output`.
pub(crate) fn adjoints<S: Linear>(tape: &OwnedTape<S>, output: Var, inputs: &[Var]) -> Vec<f64> {
    let mut adjoints = vec![0.0; S::identifiers(tape.tape())];
    adjoints[slot::<S>(output)] = 1.0;
    tape.reverse(&mut adjoints, &mut Shadows::new()).expect("records in memory");
    inputs.iter().map(|x| adjoints[slot::<S>(*x)]).collect()
}

/// x·y + y at (3, 5), twice: the gradient of the second is (5, 4).
pub(crate) fn small<S: Linear>(number: RecordingId) -> (Vec<Var>, Var) {
    let (x, y) = (input::<S>(number, 3.0), input::<S>(number, 5.0));
    let _ = eval::<S, _>(&Plus(Times(x, y), y));
    (vec![x, y], eval::<S, _>(&Plus(Times(x, y), y)))
}

#[track_caller]
pub(crate) fn assert_small<S: Linear>(tape: &OwnedTape<S>, (x, z): &(Vec<Var>, Var)) {
    assert_eq!(adjoints(tape, *z, x), [5.0, 4.0]);
}

/// The tape can record and be swept.
#[track_caller]
pub(crate) fn works<S: Linear>(tape: &mut OwnedTape<S>) {
    let made = tape.record(small::<S>);
    assert_small(tape, &made);
}

/// Returns true if `f` panics.
pub(crate) fn refused<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

/// The text with which `f` panics.
#[track_caller]
pub(crate) fn panics<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("a panic");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).expect("a text")
}

/// Tapes whose identifiers can be limited.
pub(crate) trait Limited {
    fn limit(&mut self, identifiers: u64);
}
impl<M: IndexManager, L: Layer, K: Content> Limited for Records<f64, M, L, K> {
    fn limit(&mut self, identifiers: u64) {
        self.limit_identifiers(identifiers);
    }
}
