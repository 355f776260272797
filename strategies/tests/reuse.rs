//! Identifiers that are returned and reused, small enough for the interpreter.

#[allow(dead_code, reason = "this test needs less of it than others")]
mod common;

use common::{Lit, Plus, Times, Var};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::{Continuation, Hybrid, Jacobian, Linear, PrimalValue, Reuse, Reverse, Shared, Statement};

/// Strategies with `f64` values whose variables need not be `Copy`.
trait Counting: Reverse<Value = f64, Raw = LinearId, Id: Send> {}
impl<S: Reverse<Value = f64, Raw = LinearId, Id: Send>> Counting for S {}

/// A variable that owns its identifier.
struct Own<S: Counting>(f64, S::Id);

impl<S: Counting> Clone for Own<S> {
    fn clone(&self) -> Self {
        Self(self.0, self.1.clone())
    }
}

impl<S: Counting> Own<S> {
    fn input(number: RecordingId, value: f64) -> Self {
        Self(value, recording::with::<S, _>(number, |tape| S::input(tape, value)))
    }

    fn passive(value: f64) -> Self {
        Self(value, S::passive())
    }

    fn eval<N: Statement<S>>(statement: &N) -> Self {
        Self(statement.value(), S::record(statement))
    }

    fn leaf(&self) -> Var {
        Var::new(self.0, S::raw(&self.1))
    }

    fn slot(&self) -> usize {
        S::locate(&self.1).map_or(0, |(_, slot)| slot)
    }
}

fn tape<S: Counting>() -> OwnedTape<S> {
    OwnedTape::new(S::Tape::default())
}

fn adjoint<S: Counting>(tape: &OwnedTape<S>, output: &Own<S>, input: &Own<S>) -> f64 {
    let mut adjoints = vec![0.0; S::identifiers(tape.tape())];
    adjoints[output.slot()] = 1.0;
    S::reverse(tape.tape(), &mut adjoints).expect("records in memory");
    adjoints[input.slot()]
}

/// x ↦ 2ⁿ·x by n statements, each of which replaces the last variable.
fn double<S: Counting>(x: &Own<S>, n: usize) -> Own<S> {
    let mut y = x.clone();
    for k in 0..n {
        y = if k % 2 == 0 { Own::eval(&Plus(y.leaf(), y.leaf())) } else { Own::eval(&Times(y.leaf(), Lit(2.0))) };
    }
    y
}

fn overwritten_variables_return_identifiers<S: Counting>() {
    let mut tape = tape::<S>();
    for _ in 0..2 {
        let (x, y) = tape.record(|number| {
            let x = Own::<S>::input(number, 1.0);
            let y = double(&x, 40);
            (x, y)
        });
        assert!(S::identifiers(tape.tape()) <= 4, "one input and two results at a time");
        for _ in 0..2 {
            assert_eq!(adjoint(&tape, &y, &x), 1_099_511_627_776.0);
        }
    }
}

fn copies_keep_an_identifier<S: Counting>() {
    let mut tape = tape::<S>();
    let (x, y) = tape.record(|number| {
        let x = Own::<S>::input(number, 3.0);
        let square = Own::<S>::eval(&Times(x.leaf(), x.leaf()));
        let copy = square.clone();
        let again = copy.clone();
        drop(square);
        drop(double(&x, 7));
        drop(again);
        let other = double(&x, 3);
        assert_ne!(other.slot(), copy.slot());
        (x, Own::<S>::eval(&Times(copy.leaf(), other.leaf())))
    });
    assert_eq!(adjoint(&tape, &y, &x), 8.0 * 27.0, "8x³");
}

fn passive_arguments<S: Counting>() {
    let mut tape = tape::<S>();
    let (x, y) = tape.record(|number| {
        let (x, two) = (Own::<S>::input(number, 3.0), Own::<S>::passive(2.0));
        let mut y = x.clone();
        for _ in 0..5 {
            y = Own::eval(&Plus(Times(y.leaf(), two.leaf()), two.leaf()));
        }
        (x, y)
    });
    assert_eq!(adjoint(&tape, &y, &x), 32.0);
}

fn late_inputs<S: Counting>() {
    let mut tape = tape::<S>();
    let (x, late, y) = tape.record(|number| {
        let x = Own::<S>::input(number, 3.0);
        drop(double(&x, 9));
        let late = Own::<S>::input(number, 5.0);
        let y = Own::<S>::eval(&Times(double(&x, 2).leaf(), late.leaf()));
        (x, late, y)
    });
    assert_eq!((adjoint(&tape, &y, &x), adjoint(&tape, &y, &late)), (20.0, 12.0));
}

fn variables_outlive_recordings_tapes_and_threads<S: Counting>()
where
    Own<S>: Send + 'static,
{
    let mut first = tape::<S>();
    let (x, mut kept) = first.record(|number| {
        let x = Own::<S>::input(number, 1.0);
        let kept: Vec<_> = (1..6).map(|n| double(&x, n)).collect();
        (x, kept)
    });
    let copies = kept.clone();
    let y = first.record(|number| {
        let x = Own::<S>::input(number, 1.0);
        kept.truncate(3); // of a recording that is no more
        let elsewhere = double(&x, 3);
        let away = elsewhere.clone();
        // A copy that is made elsewhere is not counted, and neither is the drop.
        let away = std::thread::spawn(move || away.clone()).join().expect("no panic");
        drop(elsewhere);
        drop(double(&x, 5));
        (Own::<S>::eval(&Times(away.leaf(), double(&x, 4).leaf())), x)
    });
    assert_eq!(adjoint(&first, &y.0, &y.1), 256.0, "(2³x)(2⁴x) at 1");
    drop(first);
    drop((x, kept, copies));
    std::thread::spawn(move || drop(y)).join().expect("no panic");
}

fn nested_recordings<S: Counting>() {
    let (mut outer, mut inner) = (tape::<S>(), tape::<S>());
    let (x, y) = outer.record(|number| {
        let x = Own::<S>::input(number, 1.0);
        let a = double(&x, 1);
        let y = inner.record(|number| {
            let u = Own::<S>::input(number, 4.0);
            let inside = double(&u, 3);
            let more = double(&a, 2); // on the outer tape
            drop((a, u));
            let outside = double(&more, 1);
            drop(inside);
            outside
        });
        (x, y)
    });
    assert_eq!(adjoint(&outer, &y, &x), 16.0);
}

/// Users can reach the tapes of running recordings, and exchange them: identifiers of one must not be written to the
/// other.
fn exchanged_tapes_are_refused<S: Counting>() {
    let n = if cfg!(miri) { 600 } else { 5000 };
    let (mut outer, mut inner) = (tape::<S>(), tape::<S>());
    outer.record(|first| {
        let x = Own::<S>::input(first, 1.0);
        let _kept = double(&x, 1);
        inner.record(|second| {
            let u = Own::<S>::input(second, 1.0);
            let many: Vec<_> = (0..n).map(|_| double(&u, 1)).collect();
            drop(many);
            recording::with::<S, _>(first, |a| recording::with::<S, _>(second, |b| std::mem::swap(a, b)));
            // A panic, or identifiers within the tape that is there now.
            let slot = catch_unwind(AssertUnwindSafe(|| double(&u, 1).slot())).unwrap_or(0);
            assert!(recording::with::<S, _>(second, |tape| slot < S::identifiers(tape)));
        });
    });
}

macro_rules! scenarios {
    ($($module:ident $strategy:ty;)*) => { $(
        mod $module {
            use super::*;
            #[test]
            fn overwritten_variables_return_identifiers() { super::overwritten_variables_return_identifiers::<$strategy>(); }
            #[test]
            fn copies_keep_an_identifier() { super::copies_keep_an_identifier::<$strategy>(); }
            #[test]
            fn passive_arguments() { super::passive_arguments::<$strategy>(); }
            #[test]
            fn late_inputs() { super::late_inputs::<$strategy>(); }
            #[test]
            fn variables_outlive_recordings_tapes_and_threads() {
                super::variables_outlive_recordings_tapes_and_threads::<$strategy>();
            }
            #[test]
            fn exchanged_tapes_are_refused() { super::exchanged_tapes_are_refused::<$strategy>(); }
            #[test]
            fn nested_recordings() { super::nested_recordings::<$strategy>(); }
        }
    )* };
}
scenarios! {
    jacobian Jacobian<f64, Reuse>;
    primal_value PrimalValue<f64, Reuse>;
    hybrid Hybrid<f64, Reuse>;
    continuation Continuation<f64, Reuse>;
}

/// The `Shared` layer takes segments from a pool and returns them.
#[test]
fn shared_segments_return_to_the_pool() {
    type S = Jacobian<f64, Linear, Shared>;
    let mut large = tape::<S>();
    let (x, y) = large.record(|number| {
        let x = Own::<S>::input(number, 1.0);
        let y = double(&x, if cfg!(miri) { 4 } else { 200_000 });
        (x, y)
    });
    assert!(adjoint(&large, &y, &x) > 0.0);
    let before = Shared::idle_bytes();
    drop(large);
    assert!(cfg!(miri) || Shared::idle_bytes() > before);
    Shared::release_idle();
}
