//! What a recording refuses: variables of other recordings, and more identifiers than there are. What it holds stays.

#[macro_use]
#[path = "common/recordings.rs"]
mod common;

use common::{Copying, NOT_ACTIVE, TWO, assert_small, panic_of, record_small, refused_here, works};
use tapewright::Error;
use tapewright::prelude::*;

scenarios! {
    variables_of_another_thread_are_refused
    variables_of_a_finished_recording_are_refused
    variables_of_an_earlier_recording_of_the_same_tape_are_refused
    variables_of_two_recordings_in_one_statement_are_refused
    a_bigger_earlier_recording_gives_no_access_to_a_smaller_later_one
    sweeping_from_a_foreign_variable_is_an_error
    panics_name_the_line_of_the_statement
    a_refused_statement_leaves_the_recording_as_it_was
}

fn variables_of_another_thread_are_refused<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let made = tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let from_here = &x;
        std::thread::scope(|threads| {
            threads.spawn(move || {
                refused_here("no recording is active on this thread", || (from_here[0] + 1.0).eval());
                let mut own = Tape::<S>::new();
                own.record(|scope| {
                    let y = scope.input(1.0);
                    refused_here("the innermost recording on this thread is #", || (from_here[0] + 1.0).eval());
                    refused_here(TWO, || (from_here[0] + y).eval());
                });
                works(&mut own);
            });
        });
        let z = (x[0] * x[1] + x[1]).into();
        (x, z)
    });
    assert_small(&mut tape, &made);
}

fn variables_of_a_finished_recording_are_refused<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let (x, z) = record_small(&mut tape);
    let number = format!("recording {}", tape.record(|scope| scope.number()));
    refused_here(NOT_ACTIVE, || (x[0] * z).eval());
    Tape::<S>::new().record(|_| refused_here(NOT_ACTIVE, || (x[0] * z).eval()));
    tape.record(|scope| {
        let caught = panic_of(|| (x[0] * z).eval());
        assert!(!caught.message.contains(&format!("{number},")), "the variable's recording, not the latest");
        assert!(caught.message.contains(&format!("innermost recording on this thread is {}", scope.number())));
    });
}

fn variables_of_an_earlier_recording_of_the_same_tape_are_refused<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let (x, _) = record_small(&mut tape);
    tape.record(|scope| {
        let y = scope.input(1.0);
        refused_here(NOT_ACTIVE, || (x[0] * 2.0).eval());
        refused_here(TWO, || (x[0] * y).eval());
    });
    tape.reset();
    refused_here(NOT_ACTIVE, || (x[0] * 2.0).eval());
    works(&mut tape);
}

fn variables_of_two_recordings_in_one_statement_are_refused<S: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    outer.record(|outside| {
        let x = outside.input(2.0);
        let (u, z) = inner.record(|inside| {
            let u = inside.inputs(&[3.0, 5.0]);
            refused_here(TWO, || (u[0] * x).eval());
            refused_here(TWO, || (x * u[0]).eval());
            refused_here(TWO, || (u[0] * u[1] + 2.0 * (u[0] - x)).eval());
            refused_here(TWO, || tapewright::sum(&[u[0], x, u[1]]));
            refused_here(TWO, || tapewright::dot(&u, &[u[0], x]));
            let z = (u[0] * u[1] + u[1]).into();
            (u, z)
        });
        assert_small(&mut inner, &(u, z));
    });
    assert_eq!(outer.memory().statements, 0);
}

fn a_bigger_earlier_recording_gives_no_access_to_a_smaller_later_one<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let late = tape.record(|scope| (0..100_000).map(|k| scope.input(f64::from(k))).last().expect("many"));
    let sum = tape.record(|scope| {
        let x = scope.input(1.0);
        refused_here(NOT_ACTIVE, || (late * late).eval());
        refused_here(NOT_ACTIVE, || tapewright::sum(&[late, late]));
        refused_here(TWO, || (x * late).eval());
        Real::<S>::from(x + 1.0)
    });
    assert!(matches!(tape.sweep(&[(&late, 1.0)]), Err(Error::ForeignVariable { .. })));
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("the variables are the tape's");
    assert!(adjoints.of(&late).is_err());
}

fn sweeping_from_a_foreign_variable_is_an_error<S: Copying>() {
    let (mut tape, mut other) = (Tape::<S>::new(), Tape::<S>::new());
    let (mine, foreign) = (record_small(&mut tape), record_small(&mut other));
    let error = tape.sweep(&[(&mine.1, 1.0), (&foreign.1, 1.0)]).expect_err("the second is foreign");
    let Error::ForeignVariable { variable, recording } = error.clone() else { panic!("{error}") };
    assert_ne!(variable, recording);
    assert!(
        error.to_string().contains(&format!("#{variable}")) && error.to_string().contains(&format!("#{recording}"))
    );
    assert_small(&mut tape, &mine);
    assert!(tape.sweep(&[]).expect("no outputs").of(&foreign.0[0]).is_err());
    let never = Tape::<S>::new().sweep(&[(&mine.1, 1.0)]).expect_err("nothing recorded");
    assert!(matches!(never, Error::ForeignVariable { recording: 0, .. }));
}

fn panics_name_the_line_of_the_statement<S: Copying>() {
    let (x, _) = record_small(&mut Tape::<S>::new());
    let mut y = x[1];
    refused_here(NOT_ACTIVE, || -> Real<S> { (x[0] * x[1]).into() });
    refused_here(NOT_ACTIVE, || Real::<S>::from(x[0] * x[1]));
    refused_here(NOT_ACTIVE, || (x[0] * x[1]).eval());
    refused_here(NOT_ACTIVE, || y.assign(x[0] * x[1]));
    refused_here(NOT_ACTIVE, || y += x[0]);
    refused_here(NOT_ACTIVE, || y += &x[0]);
    refused_here(NOT_ACTIVE, || y += 1.0);
    refused_here(NOT_ACTIVE, || y -= x[0] * x[1]);
    refused_here(NOT_ACTIVE, || y *= x[0].sin());
    refused_here(NOT_ACTIVE, || y /= 2.0);
    refused_here(NOT_ACTIVE, || y %= &x[0]);
    refused_here(NOT_ACTIVE, || tapewright::sum(&x));
    refused_here(NOT_ACTIVE, || tapewright::dot(&x, &x));
    refused_here(NOT_ACTIVE, || tapewright::linear_combination(&[1.0, 2.0], &x));
    refused_here(NOT_ACTIVE, || tapewright::logsumexp(&x));
    assert_eq!(y.value(), 5.0, "a refused assignment assigns nothing");
}

fn a_refused_statement_leaves_the_recording_as_it_was<S: Copying>() {
    let (stale, _) = record_small(&mut Tape::<S>::new());
    let mut tape = Tape::<S>::new();
    let made = tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let z: Real<S> = (x[0] * x[1] + x[1]).into();
        refused_here(TWO, || (z * stale[0]).eval());
        refused_here(NOT_ACTIVE, || (stale[1] * stale[0]).eval());
        (x, z)
    });
    let report = tape.memory();
    assert_eq!(report.statements, 1);
    assert_small(&mut tape, &made);
}

/// Fills a tape of seven identifiers, with two inputs, and returns what it holds: x·yᵏ, k = 1…5.
macro_rules! exhausts {
    ($($name:ident $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            let mut tape = Tape::<$strategy>::new();
            tape.tape_mut().limit_identifiers(7);
            let (x, z) = tape.record(|scope| {
                let x = scope.inputs(&[3.0, 2.0]);
                let mut z = x[0];
                (0..5).for_each(|_| z *= x[1]);
                let full = "out of identifiers: the recording has 7 inputs and statements";
                refused_here(full, || (z * 2.0).eval());
                refused_here(full, || z += x[0]);
                refused_here(full, || tapewright::sum(&x));
                refused_here(full, || tapewright::dot(&x, &x));
                assert!(panic_of(|| scope.input(1.0)).message.contains(full));
                assert!(panic_of(|| scope.inputs(&[1.0, 2.0])).message.contains(full));
                (x, z)
            });
            assert_eq!((z.value(), tape.memory().statements), (96.0, 5));
            let swept = tape.sweep(&[(&z, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
            assert_eq!(swept, Ok(vec![32.0, 240.0]));
            works(&mut tape);
            let mut gradient = [0.0; 8];
            let many = panic_of(|| tape.gradient(|x| x[0], &[1.0; 8], &mut gradient)).message;
            assert!(many.contains("7 inputs"), "{many}");
            works(&mut tape);
            tape.tape_mut().limit_identifiers(u64::MAX);
            tape.gradient(|x| tapewright::sum(x), &[1.0; 8], &mut gradient).expect("lengths agree");
            assert_eq!(gradient, [1.0; 8]);
        }
    )* };
}
exhausts! {
    running_out_of_identifiers_loses_nothing_jacobian Jacobian;
    running_out_of_identifiers_loses_nothing_primal_value PrimalValue;
    running_out_of_identifiers_loses_nothing_jacobian_u64 Jacobian<f64, Linear<u64>>;
    running_out_of_identifiers_loses_nothing_primal_value_u64 PrimalValue<f64, Linear<u64>>;
}

#[test]
fn inputs_beyond_the_limit_are_refused() {
    let mut tape = Tape::<Jacobian>::new();
    tape.tape_mut().limit_identifiers(1);
    tape.record(|scope| {
        scope.input(1.0);
        assert!(panic_of(|| scope.input(2.0)).message.contains("has 1 inputs and statements"));
        assert!(panic_of(|| scope.inputs(&[2.0])).message.contains("has 1 inputs and statements"));
    });
}
