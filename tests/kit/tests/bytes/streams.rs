//! Streams of values and adjoints, and tapes of steps.

use tapewright::checkpoint::{TapePool, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::Revolve;

#[test]
fn a_value_is_stored_once_however_often_it_is_used() {
    let mut tape = Tape::<PrimalValue>::new();
    tape.record(|scope| {
        let a = (scope.input(0.5) * 1.0).eval();
        [(a + a).eval(), (a * a).eval(), a.sin().eval(), a.cos().eval()]
    });
    let report = tape.memory();
    // Slot 0, the input, and one value for each of five statements, although a is used six times.
    assert_eq!(report.usage("values").used, 8 * (2 + 5));
    assert_eq!((report.arguments, report.usage("arguments").used), (1 + 6, 4 * 7));
    assert_eq!(report.usage("constants").used, 8, "the literal 1");
}

/// With reused identifiers values are as many as variables at once.
#[test]
fn values_of_a_chain_are_those_before_and_after_a_statement() {
    let mut tape = Tape::<PrimalValue<f64, Reuse>>::new();
    tape.record(|scope| {
        let x = scope.input(1.0);
        (0..100_000).fold(x.clone(), |y, _| (y * &x).into())
    });
    assert_eq!(tape.memory().usage("values").used, 8 * 4, "slot 0, the input, the old and the new value");
}

/// The adjoint vector has an entry for each identifier, and slot 0 for passive arguments; a value lies at the identifier
/// of its adjoint.
#[test]
fn values_and_adjoints_are_found_by_one_identifier() {
    fn slots<S: Reverse<Value = f64>>() -> [usize; 2] {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[3.0, 4.0]);
            let y = (&x[0] * &x[1]).eval();
            (x, y)
        });
        assert_eq!([&x[0], &x[1], &y].map(|x| S::locate(x.id()).map(|(_, slot)| slot)), [1, 2, 3].map(Some));
        let swept = tape.sweep(&[(&y, 0.5), (&y, 1.5)]).and_then(|adjoints| adjoints.of_all(&x));
        assert_eq!(swept, Ok(vec![8.0, 6.0]), "seeds add up");
        ["adjoints", "values"].map(|stream| tape.memory().usage(stream).used / 8)
    }
    assert_eq!(slots::<Jacobian>(), [4, 0]);
    assert_eq!(slots::<PrimalValue>(), [4, 4]);
    assert_eq!(slots::<Hybrid<f64, Reuse>>(), [4, 4]);
    assert_eq!(slots::<Continuation>(), [4, 0]);
}

/// A loop stops at its turn with the last step recorded: on a tape that begins with little memory.
#[test]
fn the_tape_of_a_recorded_step_is_small_if_the_step_is() {
    fn check<S: Reverse<Value = f64>>(bytes: usize) {
        let recorded = |loops: usize| {
            let mut tape = Tape::<S>::new();
            tape.record(|scope| {
                let mut x = scope.input(0.5);
                for _ in 0..loops {
                    let one = TimeLoop::<S>::new(Revolve::new(1, 1));
                    x = one.run(&(), &x, |_, (), x| x.sin().eval(), |_, (), x| x.sin().eval()).expect("in memory");
                }
            });
            tape.memory().usage("externals").reserved
        };
        let pool = TapePool::<S>::new();
        let tables = pool.with(|tape| {
            tape.record(|scope| scope.input(0.5).sin().eval());
            tape.memory().usage("tables").reserved
        });
        assert_eq!(pool.reserved(), tables + bytes, "{}", std::any::type_name::<S>());
        let each = recorded(5) - recorded(4);
        assert_eq!(
            each,
            pool.reserved() + 1256,
            "the entry has its state, its schedule, its steps, its settings and a count"
        );
    }
    check::<PrimalValue>(8192 + 4096); // records, and 512 values
    // 64 KiB of a shared tape are its own.
    #[cfg(feature = "wide")]
    check::<Jacobian<f64, Linear, Shared>>(80_496 - 10_864);
}
