//! Positions: sweeps from one to another, forgetting what lies behind one, and going on there.

use tapewright::Error;
use tapewright::prelude::*;
use tapewright::tape::AdjointVector;
use tapewright_kit_tests::everywhere;
use tapewright_kit_tests::panics::panics;
use tapewright_strategies::MemoryReport;

/// n steps of a chain that uses x in every step.
fn chain<S: Taping<Value = f64>>(n: usize, x: &Real<S>, start: &Real<S>) -> Real<S> {
    let mut y = start.clone();
    for _ in 0..n {
        y = (&y * x).sin().into();
    }
    y
}

/// The derivatives of `chain` with respect to x and to the start, in plain numbers.
fn slopes(n: usize, x: f64, start: f64) -> (f64, f64, f64) {
    (0..n).fold((start, 0.0, 1.0), |(y, dx, ds), _| {
        let cos = (y * x).cos();
        ((y * x).sin(), cos * (y + x * dx), cos * x * ds)
    })
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-300), "{a} {b}");
}

const LONG: usize = 20_000; // several segments

fn a_sweep_may_stop_anywhere_and_go_on<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, middle, y, positions) = tape.record(|scope| {
        let x = scope.input(1.1);
        let mut positions = vec![scope.position()];
        let middle = chain(LONG, &x, &Real::constant(0.4));
        positions.push(scope.position());
        let y = chain(LONG, &x, &middle);
        positions.push(scope.position());
        (x, middle, y, positions)
    });
    let mut adjoints = AdjointVector::new();
    tape.seed(&mut adjoints, &[(&y, 2.0)]).expect("of this recording");
    let upper = slopes(LONG, 1.1, middle.value());
    let found = tape.sweep_between(&mut adjoints, &positions[2], &positions[1]).expect("its positions");
    close(found.of(&x).expect("of it"), 2.0 * upper.1);
    let at_middle = found.of(&middle).expect("of it");
    close(at_middle, 2.0 * upper.2);
    let lower = slopes(LONG, 1.1, 0.4);
    let found = tape.sweep_between(&mut adjoints, &positions[1], &positions[0]).expect("its positions");
    close(found.of(&x).expect("of it"), 2.0 * upper.1 + at_middle * lower.1);
    let whole = tape.sweep(&[(&y, 2.0)]).expect("of it").of(&x).expect("of it");
    assert_eq!(whole, tape_adjoint(&tape, &mut adjoints, &x, &positions[0]));
}

fn tape_adjoint<S: Reverse<Value = f64>>(
    tape: &Tape<S>,
    adjoints: &mut AdjointVector<f64>,
    x: &Real<S>,
    from: &tapewright::tape::Position,
) -> f64 {
    tape.sweep_from_position(adjoints, from).and_then(|a| a.of(x)).expect("of it")
}

fn a_sweep_from_the_middle_sees_the_values_there<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, middle, position) = tape.record(|scope| {
        let x = scope.input(1.1);
        let middle = chain(10, &x, &Real::constant(0.4));
        let position = scope.position();
        // Under reused identifiers, what follows overwrites values that the sweep below needs.
        let end = chain(LONG, &x, &middle);
        drop(end);
        (x, middle, position)
    });
    let mut adjoints = AdjointVector::new();
    tape.seed(&mut adjoints, &[(&middle, 1.0)]).expect("of it");
    close(tape_adjoint(&tape, &mut adjoints, &x, &position), slopes(10, 1.1, 0.4).1);
}

fn what_was_recorded_is_forgotten_and_recorded_again<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, start) = tape.record(|scope| {
        let x = scope.input(1.1);
        (x.clone(), chain(3 * LONG / 2, &x, &Real::constant(0.4)))
    });
    let position = tape.position();
    let first = slopes(3 * LONG / 2, 1.1, 0.4);
    let mut sizes: Vec<MemoryReport> = Vec::new();
    let mut stale: Option<Real<S>> = None;
    for round in 0..4 {
        let n = 1 + LONG * (round % 2);
        let y = tape.resume(|scope| {
            if let Some(stale) = &stale {
                assert!(matches!(scope.renew(stale), Err(Error::ForeignVariable { .. })));
            }
            chain(n, &scope.renew(&x).expect("earlier"), &scope.renew(&start).expect("earlier"))
        });
        let upper = slopes(n, 1.1, start.value());
        close(y.value(), upper.0);
        let found = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)).expect("of it");
        close(found, upper.1 + upper.2 * first.1);
        tape.reset_to(&position).expect("its position");
        assert_eq!(tape.sweep(&[(&y, 1.0)]).err().map(|e| matches!(e, Error::ForeignVariable { .. })), Some(true));
        stale = Some(y);
        // The earlier part is as it was.
        close(tape.sweep(&[(&start, 1.0)]).and_then(|a| a.of(&x)).expect("of it"), first.1);
        sizes.push(tape.memory());
    }
    let used = |report: &MemoryReport| (report.statements, report.arguments);
    assert!(sizes.windows(2).all(|pair| used(&pair[0]) == used(&pair[1])), "{sizes:?}");
}

fn stale_positions_are_errors<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let mut other = Tape::<S>::new();
    let old = tape.record(|scope| scope.position());
    let foreign = other.record(|scope| scope.position());
    let x = tape.record(|scope| scope.input(1.0));
    let mut adjoints = AdjointVector::new();
    for position in [old, foreign] {
        let swept = tape.sweep_from_position(&mut adjoints, &position).err();
        assert!(matches!(swept, Some(Error::StalePosition { .. })), "{swept:?}");
        assert!(matches!(tape.reset_to(&position), Err(Error::StalePosition { .. })));
    }
    let start = tape.position();
    let late = tape.resume(|scope| {
        let _ = chain(5, &scope.renew(&x).expect("its own"), &Real::constant(2.0));
        scope.position()
    });
    tape.reset_to(&start).expect("its own");
    assert!(matches!(tape.reset_to(&late), Err(Error::StalePosition { .. })));
    assert!(matches!(tape.sweep_from_position(&mut adjoints, &late), Err(Error::StalePosition { .. })));
}

everywhere!(
    a_sweep_may_stop_anywhere_and_go_on,
    a_sweep_from_the_middle_sees_the_values_there,
    what_was_recorded_is_forgotten_and_recorded_again,
    stale_positions_are_errors
);

#[test]
fn paused_statements_are_passive() {
    type S = Hybrid<f64, Reuse>;
    let mut tape = Tape::<S>::new();
    let (x, y, z) = tape.record(|scope| {
        let x = scope.input(1.5);
        let y = tapewright::pause(|| {
            let y: Real<S> = (&x * &x).into();
            // A recording within is not paused.
            let inner = gradient::<S>(|v| (&v[0] * &v[0]).into(), &[3.0]);
            assert_eq!(inner, [6.0]);
            tapewright::pause(|| chain(3, &x, &y));
            tapewright::sum(&[x.clone(), y.clone()]) - 1.5
        });
        let y: Real<S> = y.into();
        let z: Real<S> = (&x * &y).into();
        (x, y, z)
    });
    assert!(S::locate(y.id()).is_none() && y.value() == 2.25);
    assert_eq!(tape.sweep(&[(&z, 1.0)]).and_then(|a| a.of(&x)), Ok(2.25));
    tape.record(|scope| {
        let x = scope.input(1.0);
        assert!(panics(&mut || tapewright::pause(|| panic!("inside"))));
        assert!(S::locate((&x * 2.0).eval().id()).is_some(), "it goes on after a panic");
    });
}
