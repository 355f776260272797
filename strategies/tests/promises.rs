//! What happens when the nodes of a user do not keep their promises, or panic.

#[allow(dead_code, reason = "this test needs less of it than others")]
mod common;

use common::Var;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::contract::{Load, Sink, Store, Tree, Twin};
use tapewright_strategies::identifier::LinearId;
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::shape::{Both, Scaled, Unit};
use tapewright_strategies::typenum::{U0, U1, U2};
use tapewright_strategies::{Checked, Expression, Jacobian, PrimalValue, Reuse, Reverse, SweepError, Taping};

/// A function whose partial panics.
#[derive(Clone, Copy)]
struct Panicking(Var);

/// A function of two arguments that reports this many leaves when it has been rebuilt, and its two when it is recorded.
#[derive(Clone, Copy)]
struct Forgetful<const LEAVES: usize>([Var; 2], bool);

impl<S: Taping<Value = f64, Raw = LinearId>> Expression<S> for Panicking {
    type Shape = Scaled<Unit>;
    fn value(&self) -> f64 {
        2.0
    }
    fn backward(&self, _: f64, _: &mut impl Sink<S>) {
        panic!("this has no partial");
    }
    fn silence(&self, _: &mut impl Sink<S>) {}
}

impl<S: Taping<Value = f64, Raw = LinearId>> Tree<S> for Panicking {
    type Args = U1;
    type Constants = U0;
    type Back = Self;
    fn store(&self, store: &mut impl Store<S>) {
        Tree::<S>::store(&self.0, store);
    }
}

impl<S: Taping<Value = f64, Raw = LinearId>> Twin<S> for Panicking {
    const HASH: u32 = 71;
    const CONSTANTS: usize = 0;
    fn load(source: &mut impl Load<S>) -> Self {
        Self(Twin::<S>::load(source))
    }
}

impl<const LEAVES: usize, S: Taping<Value = f64, Raw = LinearId>> Expression<S> for Forgetful<LEAVES> {
    type Shape = Both<Scaled<Unit>, Scaled<Unit>>;
    fn value(&self) -> f64 {
        3.0
    }
    fn backward(&self, seed: f64, sink: &mut impl Sink<S>) {
        let leaves = if self.1 { LEAVES } else { 2 };
        for k in 0..leaves {
            sink.factor(seed);
            Expression::<S>::backward(&self.0[k % 2], seed, sink);
        }
    }
    fn silence(&self, sink: &mut impl Sink<S>) {
        Expression::<S>::backward(self, 0.0, sink);
    }
}

impl<const LEAVES: usize, S: Taping<Value = f64, Raw = LinearId>> Tree<S> for Forgetful<LEAVES> {
    type Args = U2;
    type Constants = U0;
    type Back = Self;
    fn store(&self, store: &mut impl Store<S>) {
        self.0.iter().for_each(|x| Tree::<S>::store(x, store));
    }
}

impl<const LEAVES: usize, S: Taping<Value = f64, Raw = LinearId>> Twin<S> for Forgetful<LEAVES> {
    const HASH: u32 = 72;
    const CONSTANTS: usize = 0;
    fn load(source: &mut impl Load<S>) -> Self {
        Self([Twin::<S>::load(source), Twin::<S>::load(source)], true)
    }
}

#[test]
fn a_panic_behind_a_statement_returns_its_identifier() {
    type S = Checked<PrimalValue<f64, Reuse>>;
    let mut tape = OwnedTape::<S>::new(<S as Reverse>::Tape::default());
    tape.record(|number| {
        let x = recording::with::<S, _>(number, |tape| S::input(tape, 1.0));
        for _ in 0..10 {
            let statement = Panicking(Var::new(1.0, S::raw(&x)));
            catch_unwind(AssertUnwindSafe(|| S::record(&statement))).expect_err("its partial is asked for");
        }
    });
    assert_eq!(S::identifiers(tape.tape()), 3, "that of passive variables, the input's, and one of statements");
}

/// Whether sweeps, whichever they are, panic over a statement that reports so many leaves.
fn panics<S: Reverse<Value = f64, Raw = LinearId>, const LEAVES: usize>() -> [bool; 3]
where
    S::Tape: Default,
{
    let mut tape = OwnedTape::<S>::new(S::Tape::default());
    tape.record(|number| {
        let x = [2.0, 3.0].map(|x| Var::new(x, S::raw(&recording::with::<S, _>(number, |tape| S::input(tape, x)))));
        S::record(&Forgetful::<LEAVES>(x, false));
    });
    let tape = tape.tape();
    let sweeps: [&dyn Fn() -> Result<(), SweepError>; 3] = [
        &|| S::reverse(tape, &mut [0.0, 0.0, 0.0, 1.0]),
        &|| S::reverse_lanes_through(tape, 2, &mut [1.0; 8], (None, None), &mut |_, _, _| Ok(())),
        &|| S::forward_through(tape, &mut [0.0, 1.0, 1.0, 0.0], &mut |_, _, _| Ok(())),
    ];
    sweeps.map(|sweep| catch_unwind(AssertUnwindSafe(|| sweep().expect("a recording in memory"))).is_err())
}

#[test]
fn no_sweep_takes_a_rebuilt_statement_with_too_few_or_too_many_leaves() {
    assert_eq!(panics::<PrimalValue, 2>(), [false; 3]);
    for found in [panics::<PrimalValue, 0>(), panics::<PrimalValue, 1>(), panics::<PrimalValue, 3>()] {
        assert_eq!(found, [true; 3]);
    }
    assert_eq!(panics::<Jacobian, 1>(), [false; 3], "nothing is rebuilt");
}
