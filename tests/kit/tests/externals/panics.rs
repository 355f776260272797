//! After a caught panic: entries of a recording that call code of a user, with a panic at each of these calls. What was
//! recorded is as if nobody had made the entry; a sweep, or a replay, that panics is as if there had been none.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tapewright::checkpoint::{Stage, TapePool, TimeLoop};
use tapewright::external::{ByFiniteDifferences, ByTangents};
use tapewright::implicit::{self, Equations};
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::strategies::Nary;
use tapewright::{
    Binary, Float, Forward, Number, Reuse, Rules, Unary, binary, external, nary, preaccumulate,
    preaccumulate_by_reverse, unary,
};

thread_local! {
    /// Calls of a user's code that are still to succeed before one panics; 0 if none is to.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// A call of a user's code.
fn call() {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    if left == 1 {
        // Without a message in the output of the tests.
        resume_unwind(Box::new("a user's code"));
    }
}

/// Runs `f` with a panic at call `k`, and says whether it came to that.
fn panics_at(k: usize, f: impl FnOnce()) -> bool {
    LEFT.set(k);
    let outcome = catch_unwind(AssertUnwindSafe(f));
    LEFT.set(0);
    if let Err(panic) = &outcome {
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a user's code"), "another panic at call {k}");
    }
    outcome.is_err()
}

/// x³ − x.
#[derive(Clone, Copy, Debug)]
struct Cubic;
impl Unary for Cubic {
    fn value<V: Float>(x: V) -> V {
        call();
        x * x * x - x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        call();
        (V::ONE + V::ONE + V::ONE) * x * x - V::ONE
    }
}

/// x²·y.
#[derive(Clone, Copy, Debug)]
struct Product;
impl Binary for Product {
    fn value<V: Float>(x: V, y: V) -> V {
        call();
        x * x * y
    }
    fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
        call();
        (V::ONE + V::ONE) * x * y
    }
    fn partial_right<V: Float>(x: V, _: V, _: V) -> V {
        call();
        x * x
    }
}

/// Σ xᵢ².
#[derive(Clone, Copy, Debug)]
struct Squares;
impl<V: Number> Nary<V> for Squares {
    fn value(arguments: &[V], _: &[V]) -> V {
        call();
        arguments.iter().fold(V::ZERO, |sum, x| sum + *x * *x)
    }
    fn partials(arguments: &[V], _: &[V], partials: &mut [V]) {
        call();
        partials.iter_mut().zip(arguments).for_each(|(partial, x)| *partial = *x + *x);
    }
}

/// x³ − p₀·p₁ = 0.
struct Root;
impl<V: Number> Equations<V> for Root {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        call();
        vec![(x[0] * x[0] * x[0] - p[0] * p[1]).into()]
    }
}

/// What entries with a function of a user's own have in it.
fn inner<S: Taping>(x: &[Real<S>]) -> Real<S> {
    call();
    let y: Real<S> = unary::<S, Cubic, _>(&x[0]).into();
    binary::<S, Product, _, _>(&y, &x[1]).into()
}

/// What the entries work on.
struct World<S: Taping> {
    x: [Real<S>; 2],
    s: Real<S>,
}

type Entry<S> = (&'static str, fn(&mut World<S>));

/// The entries; those that work for floats alone are not among them.
fn for_every_number<S: Taping>() -> Vec<Entry<S>> {
    vec![
        ("a statement", |w| w.s = unary::<S, Cubic, _>(&w.x[0]).into()),
        ("an update", |w| w.s += binary::<S, Product, _, _>(&w.x[0], &w.x[1])),
        ("an update in place", |w| {
            let s = w.s.clone();
            w.s *= binary::<S, Product, _, _>(&s, &w.x[1]);
        }),
        ("a function of slices", |w| w.s = nary::<S, Squares>(&[&w.x], &[])),
        ("a block", |w| w.s = preaccumulate(&w.x, |x| inner(x))),
        ("a block by reverse", |w| w.s = preaccumulate_by_reverse::<Jacobian<S::Value>, S, _, _>(&w.x, |x| inner(x))),
        ("a stage", |w| w.s = Stage::<Jacobian<S::Value>>::new().run(&w.x, |x| inner(x), |x| inner(x))),
        ("a time loop", |w| {
            let run = TimeLoop::<Jacobian<S::Value>>::new(Revolve::new(3, 2)).run(
                &w.x[0],
                &w.x,
                |_, k, x| [*k, inner(x)],
                |_, k, x| [*k, inner(x)],
            );
            w.s = run.expect("run")[1].clone();
        }),
        ("a root", |w| {
            let product = w.x[0].value() * w.x[1].value();
            let root = S::Value::from_lanes(|lane| Number::from_f64(product.lane(lane).as_f64().cbrt()));
            w.s = implicit::root(Root, root, &w.x).expect("it is one");
        }),
        ("rules", |w| {
            let [a, b] = [0, 1].map(|k| w.x[k].value());
            let rules = Rules::new("a product", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
                inputs[0] += outputs[0] * b;
                call();
                inputs[1] += outputs[0] * a;
                Ok(())
            });
            let rules = rules.forward(move |inputs, outputs| {
                call();
                outputs[0] = inputs[0] * b + inputs[1] * a;
                Ok(())
            });
            let rules = rules.replay(|inputs, outputs| {
                call();
                outputs[0] = inputs[0] * inputs[1];
                Ok(())
            });
            w.s = external(&w.x, &[a * b], rules).remove(0);
        }),
        ("a function by tangents", |w| {
            let at = w.x.each_ref().map(Real::value);
            let value = inner(&at.map(Real::<Passive<S::Value>>::constant)).value();
            w.s = external(&w.x, &[value], ByTangents::new(|x| vec![inner(x)], &at)).remove(0);
        }),
    ]
}

/// All of them.
fn entries<S: Taping<Value = f64>>() -> Vec<Entry<S>> {
    let mut entries = for_every_number::<S>();
    entries.push(("a function by differences", |w| {
        let f = |x: &[f64]| vec![inner(&[0, 1].map(|k| Real::<Passive>::constant(x[k]))).value()];
        let at = w.x.each_ref().map(Real::value);
        w.s = external(&w.x, &f(&at), ByFiniteDifferences::new(f, &at, 1e-6)).remove(0);
    }));
    entries
}

/// An entry between others, which panics at a call or is left out, and a value that depends on all that there is;
/// whether it has panicked.
fn program<S: Taping>(x: &[Real<S>], entry: Option<fn(&mut World<S>)>, k: usize) -> (Real<S>, bool) {
    let mut w = World { x: [x[0].clone(), x[1].clone()], s: (&x[0] + 2.0).into() };
    let values = [&w.x[0], &w.x[1], &w.s].map(Real::value);
    let panicked = entry.is_some_and(|entry| panics_at(k, || entry(&mut w)));
    if panicked {
        assert_eq!([&w.x[0], &w.x[1], &w.s].map(Real::value), values, "variables keep their values");
    }
    ((&w.s * &w.s * &x[0] + &x[1] * &w.x[1]).into(), panicked)
}

const AT: [f64; 2] = [0.7, 1.3];

fn bits<V: Number>(numbers: impl IntoIterator<Item = V>) -> Vec<u64> {
    numbers.into_iter().flat_map(|x| (0..V::LANES).map(move |lane| x.lane(lane).as_f64().to_bits())).collect()
}

/// A recording, and what was found.
struct Recorded<S: Reverse> {
    tape: Tape<S>,
    x: Vec<Real<S>>,
    y: Real<S>,
    panicked: bool,
}

fn record<S: Reverse>(entry: Option<fn(&mut World<S>)>, k: usize) -> Recorded<S> {
    let mut tape = Tape::<S>::new();
    let (x, y, panicked) = tape.record(|scope| {
        let x = scope.inputs(&AT.map(Number::from_f64));
        let (y, panicked) = program(&x, entry, k);
        (x, y, panicked)
    });
    Recorded { tape, x, y, panicked }
}

impl<S: Reverse> Recorded<S> {
    /// The value and the derivatives, by a sweep.
    fn bits(&mut self) -> Vec<u64> {
        let adjoints = self.tape.sweep(&[(&self.y, S::Value::ONE)]).expect("swept");
        bits(adjoints.of_all(&self.x).expect("inputs").into_iter().chain([self.y.value()]))
    }
}

/// Panics while entries are made, and in sweeps.
fn check<S: Reverse>(entries: &[Entry<S>]) {
    let without = record::<S>(None, 0).bits();
    for (name, entry) in entries {
        let (mut calls, mut in_sweeps) = (0, 0);
        let mut whole = loop {
            let mut found = record(Some(*entry), calls + 1);
            if !found.panicked {
                break found;
            }
            calls += 1;
            assert_eq!(found.bits(), without, "{name}, call {calls}");
        };
        let expected = whole.bits();
        assert_ne!(expected, without, "{name}: the entry makes a difference");
        while panics_at(in_sweeps + 1, || _ = whole.bits()) {
            in_sweeps += 1;
            assert_eq!(whole.bits(), expected, "{name}, call {in_sweeps} of the sweep");
        }
        assert!(calls + in_sweeps > 0, "{name} calls no code of a user");
    }
}

#[test]
fn entries_that_panic_were_never_made_and_sweeps_that_panic_leave_nothing() {
    check::<Hybrid<f64, Reuse>>(&entries());
    #[cfg(feature = "wide")]
    check::<Jacobian>(&entries());
    #[cfg(feature = "wide")]
    check::<Continuation>(&entries());
}

#[cfg(feature = "wide")]
#[test]
fn packs_keep_the_promise_of_floats() {
    check::<PrimalValue<tapewright::packs::Pack<2>>>(&for_every_number());
}

#[test]
fn entries_that_panic_were_never_made_in_forward_mode() {
    type S = Tangent<2>;
    let run = |entry: Option<fn(&mut World<S>)>, k: usize| {
        S::evaluate(|| {
            let x = [0, 1].map(|i| Real::<S>::with_tangent(AT[i], [[1.0, 0.0], [0.5, 1.0]][i]));
            let (y, panicked) = program(&x, entry, k);
            (bits(y.tangent().into_iter().chain([y.value()])), panicked)
        })
    };
    for (name, entry) in entries() {
        let mut calls = 0;
        while let (found, true) = run(Some(entry), calls + 1) {
            calls += 1;
            assert_eq!(found, run(None, 0).0, "{name}, call {calls}");
        }
        assert!(calls > 0, "{name} calls no code of a user");
    }
}

#[test]
fn replays_that_panic_leave_the_recording_as_it_was() {
    for (name, entry) in entries::<PrimalValue>() {
        let mut whole = record(Some(entry), 0);
        let (expected, mut calls) = (whole.bits(), 0);
        let replay = |whole: &mut Recorded<PrimalValue>| _ = whole.tape.replay(&[(&whole.x[0], 0.9)]);
        while panics_at(calls + 1, || replay(&mut whole)) {
            calls += 1;
            assert_eq!(whole.bits(), expected, "{name}, call {calls}");
            assert_eq!(whole.tape.value_of(&whole.y), Ok(whole.y.value()), "{name}, call {calls}");
        }
        assert!(calls > 0 || whole.tape.replay(&[]).is_err(), "{name} is replayed without a call");
    }
}

#[test]
fn a_nested_recording_whose_sweep_panics_has_no_adjoints() {
    let mut nested = TapePool::<PrimalValue>::new().nested();
    let x = nested.inputs(&AT);
    let y = inner(&x);
    assert!(panics_at(1, || nested.compute_adjoints(&[(&y, 1.0)]).expect("swept")));
    assert!(catch_unwind(AssertUnwindSafe(|| nested.adjoint(&x[0]))).is_err(), "they are half computed");
    nested.compute_adjoints(&[(&y, 1.0)]).expect("swept");
    // (x³ − x)²·y.
    let slope = 2.0 * (AT[0].powi(3) - AT[0]) * (3.0 * AT[0] * AT[0] - 1.0) * AT[1];
    assert!((nested.adjoint(&x[0]).expect("an input") - slope).abs() < 1e-15, "{slope}");
}
