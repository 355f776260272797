//! The first number that is not finite, and where it is.

use std::panic::Location;
use tapewright::kernels::{View, parallel_sum};
use tapewright::policy::{Strict, Traces, Tracing};
use tapewright::prelude::*;
use tapewright::strategies::WithPolicy;
use tapewright::tape::AdjointVector;
use tapewright::trace::{NonFinite, NonFiniteKind};
use tapewright::{Rules, Subgradient, Traced, checkpoint, external};

/// The line of the call of a driver.
const DRIVER: u32 = line!() + 8;

/// What is found after a recording at `x` and a sweep.
fn found<S: Reverse<Value = f64, Policy: Traces>>(
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
    x: &[f64],
) -> Option<NonFinite<f64>> {
    let mut tape = Tape::<S>::new();
    tape.gradient(f, x, &mut vec![0.0; x.len()]).expect("its own");
    tape.trace().expect("in memory").first_non_finite().cloned()
}

/// Panics unless this is found there, in this file.
#[track_caller]
fn assert_found(found: Option<NonFinite<f64>>, line: u32, text: &str) {
    let found = found.expect("something is not finite");
    let location = found.location.expect("it is known where");
    assert_eq!((location.file(), location.line()), (file!(), line));
    assert_eq!(found.to_string().strip_prefix(&format!("{location}: ")), Some(text));
}

const ROOT: u32 = line!() + 3;
fn root<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let sum = (&x[0] - &x[1]).eval();
    let root = (sum.sqrt() * 3.0 + &x[1]).eval();
    (root * &x[1]).eval()
}

const STEEP: u32 = line!() + 3;
fn steep<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let small = (&x[0] * 1e200).eval();
    let middle = (&small * 1e200 + &x[1]).eval();
    (&middle * 1e200).eval()
}

fn in_all<S: Reverse<Value = f64, Policy = Strict> + WithPolicy<Tracing, Strategy: Reverse>>() {
    let value = found::<Traced<S>>(root, &[1.0, 2.0]);
    assert_found(value, ROOT, "the value is NaN; arguments [-1.0, 2.0]; literals [3.0]");
    let partial = found::<Traced<S>>(root, &[2.0, 2.0]);
    assert_found(partial, ROOT, "the partial by argument 1 is inf; arguments [0.0, 2.0]; literals [3.0]");
    assert_eq!(found::<Traced<S>>(root, &[3.0, 2.0]), None);
    let adjoint = "the adjoint of argument 1 becomes inf; the result's adjoint is 1e200, the partial 1e200";
    assert_found(found::<Traced<S>>(steep, &[1e-300, 0.0]), STEEP, adjoint);
    let input = found::<Traced<S>>(root, &[3.0, f64::NAN]).expect("the input");
    assert_eq!((input.kind, input.number.is_nan(), &input.arguments), (NonFiniteKind::Value, true, &vec![]));
    assert_eq!(input.input, Some(1));
    assert!(input.to_string().ends_with(": the value of input [1] is NaN"), "{input}");
    assert_eq!(input.location.map(|here| (here.file(), here.line())), Some((file!(), DRIVER)), "not in the library");
}

#[test]
fn values_and_partials_are_found_where_they_are_recorded() {
    in_all::<Jacobian>();
    in_all::<PrimalValue<f64, Reuse>>();
    in_all::<Hybrid>();
    in_all::<Continuation>();
}

const RULE: u32 = line!() + 6;
fn nan_rule<S: Taping<Value = f64>>(x: &[Real<S>], adjoint: f64) -> Real<S> {
    let rules = Rules::new("a rule", move |outputs: &[f64], inputs: &mut [f64]| {
        inputs[0] += outputs[0] * adjoint;
        Ok(())
    });
    external(&x[..1], &[1.0 / x[0].value()], rules).remove(0)
}

#[test]
fn external_functions_and_launches_have_values_and_adjoints() {
    fn all<S: Reverse<Value = f64, Policy = Strict> + WithPolicy<Tracing, Strategy: Reverse>>() {
        let value = found::<Traced<S>>(|x| (&nan_rule(x, 1.0) * &x[0]).eval(), &[0.0]).expect("1 / 0");
        let at = value.location.map(|location| (location.file(), location.line()));
        assert_eq!(
            (value.kind, value.number, value.arguments.as_slice()),
            (NonFiniteKind::Value, f64::INFINITY, &[0.0][..])
        );
        assert_eq!(at, Some((file!(), RULE)));
        let adjoint = found::<Traced<S>>(|x| (&nan_rule(x, f64::NAN) * &x[0]).eval(), &[1.0]).expect("a bad rule");
        assert_eq!((adjoint.kind, adjoint.argument, adjoint.factors), (NonFiniteKind::Adjoint, Some(0), None));
        let launch = found::<Traced<S>>(
            |x| {
                let view: View<Traced<S>, 1> = View::new([2], &[f64::MAX, f64::MAX]);
                parallel_sum(view.all(), (&view, &x[0]), |(v, x)| v.at::<0>() * x)
            },
            &[2.0],
        );
        assert_eq!(launch.map(|found| (found.kind, found.number)), Some((NonFiniteKind::Value, f64::INFINITY)));
    }
    all::<Jacobian>();
    all::<Continuation>();
    all::<PrimalValue<f64, Reuse>>();
}

#[test]
fn a_stage_is_found_where_it_was_called() {
    let line = line!() + 1;
    let f = |x: &[Real<Traced<Jacobian>>]| checkpoint!(Traced<Jacobian>, &x[0], |x| (x.ln() * 2.0).eval());
    assert_found(found(f, &[0.0]), line, "the value is -inf; arguments [0.0]");
    let steep = "the adjoint of argument 1 becomes inf";
    let line = line!() + 1;
    let f = |x: &[Real<Traced<Jacobian>>]| checkpoint!(Traced<Jacobian>, &x[0], |x| (x.ln() * 2.0).eval());
    assert_found(found(f, &[1e-310]), line, steep);
}

/// Slices, whose partials a rule gives, and policies below.
#[test]
fn slices_and_policies() {
    type Below = Subgradient<Jacobian>;
    let line = line!() + 1;
    let slice = |x: &[Real<Traced<Jacobian>>]| tapewright::with_partials(x, 1.0, &[1.0, f64::INFINITY]);
    assert_found(
        found(slice, &[2.0, 3.0]),
        line,
        "the partial by argument 2 is inf; arguments [2.0, 3.0]; literals [1.0, inf]",
    );
    assert_eq!(found::<Traced<Below>>(root, &[2.0, 2.0]), None, "the slope of the root is 0");
    let constant = |x: &[Real<Traced<Jacobian>>]| (Real::constant(0.0).sqrt() * x[0]).eval();
    assert_eq!(found(constant, &[2.0]), None, "by a constant it is no partial");
}

#[test]
fn the_first_in_the_program_is_kept_and_forgotten() {
    let mut tape = Tape::<Traced<Jacobian>>::new();
    let kinds =
        |tape: &Tape<Traced<Jacobian>>| tape.trace().expect("in memory").first_non_finite().map(|found| found.kind);
    let (x, mut y) = tape.record(|scope| {
        let x = scope.inputs(&[1e-300, 0.0]);
        let y = steep(&x);
        (x, y)
    });
    assert_eq!(kinds(&tape), None);
    let _ = tape.sweep(&[(&y, 1e-300)]).expect("its own");
    assert_eq!(kinds(&tape), None, "with this seed all are finite");
    let _ = tape.sweep_lanes(&[(&y, [1e-300, 1.0])]).expect("its own");
    assert_eq!(kinds(&tape), Some(NonFiniteKind::Adjoint));
    let place = tape.position();
    tape.resume(|scope| {
        y = scope.renew(&x[1]).expect("of an earlier part").sqrt().eval();
    });
    assert_eq!(kinds(&tape), Some(NonFiniteKind::Partial));
    assert_eq!(tape.trace().expect("in memory").lines().len(), 4);
    tape.reset_to(&place).expect("in memory");
    assert_eq!(kinds(&tape), None);
    assert_eq!(tape.trace().expect("in memory").lines().len(), 3);
    tape.record(|scope| scope.input(0.0).sqrt().eval());
    assert_eq!(kinds(&tape), Some(NonFiniteKind::Partial));
    tape.record(|scope| scope.input(1.0).sqrt().eval());
    assert_eq!((kinds(&tape), tape.trace().expect("in memory").lines().len()), (None, 1));
}

#[test]
fn sweeps_of_other_threads_and_between_positions_are_looked_at() {
    let mut tape = Tape::<Traced<PrimalValue>>::new();
    let (y, half) = tape.record(|scope| {
        let x = scope.inputs(&[1e-300, 0.0]);
        let small = (x[0] * 1e200).eval();
        let half = scope.position();
        ((small * 1e200 * 1e200).eval(), half)
    });
    let mut vector = AdjointVector::new();
    tape.seed(&mut vector, &[(&y, 1.0)]).expect("its own");
    let (tape, end) = (&tape, tape.position());
    std::thread::scope(|threads| {
        threads.spawn(move || _ = tape.sweep_between(&mut vector, &end, &half).expect("its own"));
    });
    let trace = tape.trace().expect("in memory");
    assert_eq!(trace.first_non_finite().map(|found| found.kind), Some(NonFiniteKind::Partial), "1e200·1e200");
    let mut tape = Tape::<Traced<PrimalValue>>::new();
    let y = tape.record(|scope| steep(&scope.inputs(&[1e-300, 0.0])));
    let mut vectors = [AdjointVector::new(), AdjointVector::new()];
    std::thread::scope(|threads| {
        for vector in &mut vectors {
            threads.spawn(|| _ = tape.sweep_with(vector, &[(&y, 1.0)]).expect("its own"));
        }
    });
    let trace = tape.trace().expect("in memory");
    assert_eq!(trace.first_non_finite().and_then(|found| found.location).map(Location::line), Some(STEEP));
}

#[test]
fn a_replay_looks_again() {
    let mut tape = Tape::<Traced<PrimalValue>>::new();
    let x = tape.record(|scope| {
        let x = scope.inputs(&[3.0, 2.0]);
        root(&x);
        x
    });
    let text = |tape: &Tape<Traced<PrimalValue>>| tape.trace().expect("in memory").first_non_finite().cloned();
    assert_eq!(text(&tape), None);
    tape.replay(&[(&x[0], 2.0)]).expect("it can be replayed");
    assert_found(text(&tape), ROOT, "the partial by argument 1 is inf; arguments [0.0, 2.0]");
    tape.replay(&[(&x[0], 1.0)]).expect("it can be replayed");
    assert_found(text(&tape), ROOT, "the value is NaN; arguments [-1.0, 2.0]");
    tape.replay(&[(&x[0], 3.0)]).expect("it can be replayed");
    assert_eq!(text(&tape), None);
    tape.replay(&[(&x[0], f64::NAN)]).expect("it can be replayed");
    let found = text(&tape).map(|found| (found.kind, found.input, found.arguments));
    assert_eq!(found, Some((NonFiniteKind::Value, Some(0), vec![])));
    tape.replay(&[(&x[0], 3.0), (&x[1], f64::NAN)]).expect("it can be replayed");
    assert_eq!(text(&tape).and_then(|found| found.input), Some(1));
}

/// Calls that register inputs between statements, and parts that are forgotten, do not change which input it is.
#[test]
fn inputs_are_counted_over_all_calls() {
    fn all<S: Reverse<Value = f64, Policy = Strict> + WithPolicy<Tracing, Strategy: Reverse>>() {
        let mut tape = Tape::<Traced<S>>::new();
        let found = |tape: &Tape<Traced<S>>| {
            tape.trace().expect("in memory").first_non_finite().map(|found| (found.input, found.location.is_some()))
        };
        tape.record(|scope| {
            let x = scope.inputs(&[1.0, 2.0, 3.0]);
            let _ = (&x[0] * &x[1]).eval();
            let _ = scope.input(4.0);
        });
        assert_eq!(found(&tape), None);
        let place = tape.position();
        for behind in 0..2 {
            tape.resume(|scope| {
                let x = scope.input(5.0);
                let _ = (&x * &x).eval();
                let _ = scope.inputs(&[6.0, f64::INFINITY, f64::NAN][behind..]);
            });
            assert_eq!(found(&tape), Some((Some(6 - behind), true)));
            tape.reset_to(&place).expect("in memory");
            assert_eq!(found(&tape), None);
        }
    }
    all::<Jacobian>();
    all::<PrimalValue>();
    all::<Continuation>();
    all::<Hybrid<f64, Reuse>>();
}
