//! Forgotten parts of a recording leave nothing behind.

use tapewright::prelude::*;
use tapewright::tape::AdjointVector;
use tapewright::{Error, Rules, continuation, external};
use tapewright_kit_tests::everywhere;
use tapewright_kit_tests::panics::panics;

fn adjoints_of_its_inputs_do_not_reach_what_comes_next<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| scope.input(3.0));
    let start = tape.position();
    let mut adjoints = AdjointVector::new();
    for scenario in 1..=4 {
        let (q, y) = tape.resume(|scope| {
            let x = scope.renew(&x).expect("earlier");
            // Another number of inputs and statements in front of q each time.
            let further: Vec<Real<S>> = (1..scenario).map(|k| scope.input(f64::from(k))).collect();
            let sum = further.iter().fold(Real::from(&x * 1.0), |sum: Real<S>, f| (&sum * f).into());
            let q = scope.input(2.0);
            let y: Real<S> = (&q * &q * &sum).into();
            (q, y)
        });
        tape.seed(&mut adjoints, &[(&y, 1.0)]).expect("of it");
        let found = tape.sweep_between(&mut adjoints, &tape.position(), &start).expect("its positions");
        let factor = f64::from((1..scenario).product::<i32>());
        assert_eq!(found.of(&q), Ok(4.0 * 3.0 * factor), "scenario {scenario}");
        tape.reset_to(&start).expect("its position");
    }
    let found = tape.sweep_from_position(&mut adjoints, &start).expect("its position");
    assert_eq!(found.of(&x), Ok(4.0 * (1.0 + 1.0 + 2.0 + 6.0)));
}

fn a_seed_behind_the_position_is_an_error<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y, z, middle) = tape.record(|scope| {
        let x = scope.input(3.0);
        let y: Real<S> = (&x * 2.0).into();
        let middle = scope.position();
        let z: Real<S> = (&y * &y).into();
        (x, y, z, middle)
    });
    let mut adjoints = AdjointVector::new();
    tape.seed(&mut adjoints, &[(&z, 1.0)]).expect("of it");
    let swept = tape.sweep_from_position(&mut adjoints, &middle).map(|_| ());
    assert!(matches!(swept, Err(Error::SeedBehind { .. })), "{swept:?}");
    // Once the sweep has come by, it goes on from there.
    let end = tape.position();
    tape.sweep_between(&mut adjoints, &end, &middle).expect("its positions");
    assert_eq!(tape.sweep_from_position(&mut adjoints, &middle).and_then(|a| a.of(&x)), Ok(24.0));
    // A vector of a whole sweep, or of another recording, is taken up empty.
    tape.sweep_with(&mut adjoints, &[(&y, 5.0)]).expect("of it");
    tape.seed(&mut adjoints, &[(&y, 1.0)]).expect("of it");
    assert_eq!(tape.sweep_from_position(&mut adjoints, &middle).and_then(|a| a.of(&x)), Ok(2.0));
    let mut other = Tape::<S>::new();
    let u = other.record(|scope| scope.input(1.0));
    other.seed(&mut adjoints, &[(&u, 7.0)]).expect("of it");
    tape.seed(&mut adjoints, &[(&y, 1.0)]).expect("of it");
    assert_eq!(tape.sweep_from_position(&mut adjoints, &middle).and_then(|a| a.of(&x)), Ok(2.0));
}

fn many_inputs_may_be_forgotten<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| scope.input(3.0));
    let start = tape.position();
    tape.resume(|scope| scope.inputs(&[0.0; 1000]));
    tape.reset_to(&start).expect("its position");
    let mut adjoints = AdjointVector::new();
    for _ in 0..3 {
        assert_eq!(tape.sweep(&[(&x, 1.0)]).and_then(|a| a.of(&x)), Ok(1.0));
        assert_eq!(tape.sweep_with(&mut adjoints, &[(&x, 1.0)]).and_then(|a| a.of(&x)), Ok(1.0));
    }
}

fn identifiers_come_back<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| scope.input(3.0));
    let start = tape.position();
    let mut sizes = Vec::new();
    for _ in 0..200 {
        // The variables are still alive when the part ends.
        let alive = tape.resume(|scope| {
            let x = scope.renew(&x).expect("earlier");
            (0..6).map(|k| Real::<S>::from(&x * f64::from(k))).collect::<Vec<_>>()
        });
        sizes.push(S::identifiers(tape.tape_mut()));
        tape.reset_to(&start).expect("its position");
        drop(alive);
    }
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
}

struct Loud;
impl Drop for Loud {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a destructor of the user's");
        }
    }
}

fn a_panicking_destructor_forgets_all_the_same<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| scope.input(3.0));
    let start = tape.position();
    let z = tape.resume(|scope| {
        let x = scope.renew(&x).expect("earlier");
        let loud = Loud;
        let rules = Rules::new("loud", move |outputs, inputs| {
            let _ = &loud;
            inputs[0] += outputs[0];
            Ok(())
        });
        external(&[x], &[3.0], rules).remove(0)
    });
    assert!(panics(&mut || _ = tape.reset_to(&start)));
    let y = tape.resume(|scope| Real::<S>::from(&scope.renew(&x).expect("earlier") * 100.0));
    assert!(matches!(tape.sweep(&[(&z, 1.0)]), Err(Error::ForeignVariable { .. })));
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)), Ok(100.0));
}

#[test]
fn a_closure_that_panics_when_it_is_forgotten_costs_no_identifier() {
    let mut tape = Tape::<Continuation<f64, Reuse>>::new();
    let x = tape.record(|scope| scope.input(3.0));
    let start = tape.position();
    tape.resume(|scope| {
        let (x, loud) = (scope.renew(&x).expect("earlier"), Loud);
        let y = continuation(&[&x], 3.0, move |adjoint, to| {
            let _ = &loud;
            to[0] = adjoint;
        });
        drop(Real::<Continuation<f64, Reuse>>::from(&y * 2.0));
    });
    assert!(panics(&mut || _ = tape.reset_to(&start)));
    // These get the identifiers of what was forgotten, and the product gets another one.
    let (u, z) = tape.resume(|scope| {
        let u = scope.inputs(&[5.0, 7.0]);
        let y: Real<Continuation<f64, Reuse>> = (&u[0] * &u[1]).into();
        let z: Real<Continuation<f64, Reuse>> = (&y * &u[0] * &u[1]).into();
        (u, z)
    });
    let found = tape.sweep(&[(&z, 1.0)]).expect("its own");
    assert_eq!((found.of(&u[0]), found.of(&u[1])), (Ok(2.0 * 5.0 * 49.0), Ok(2.0 * 25.0 * 7.0)));
}

fn positions_inside_a_part_are_refused_by_name<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let inside = tape.record(|scope| {
        let x = scope.input(3.0);
        let inside = scope.position();
        let _: Real<S> = (&x * 2.0).into();
        inside
    });
    let _ = tape.resume(|scope| scope.input(1.0));
    assert!(matches!(tape.reset_to(&inside), Err(Error::PositionInside { .. })));
}

everywhere!(
    adjoints_of_its_inputs_do_not_reach_what_comes_next,
    a_seed_behind_the_position_is_an_error,
    many_inputs_may_be_forgotten,
    identifiers_come_back,
    a_panicking_destructor_forgets_all_the_same,
    positions_inside_a_part_are_refused_by_name
);
