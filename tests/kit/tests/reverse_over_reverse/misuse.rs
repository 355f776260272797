//! Numbers that cannot be recorded: nothing is lost, and both recordings can be used.

use super::assert_close;
use super::strategies::{AT, energy, expected};
use tapewright::checkpoint::closure_stage;
use tapewright::kernels::{parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::strategies::Nests;
use tapewright::{Nested, Number};
use tapewright_kit_tests::panics::{panic_of, panics};

type Base = Jacobian;
type Twice = Jacobian<Nested<Base>>;

/// The first row of the Hessian by tapes that may have been through something.
fn row<S: Reverse<Value = Nested<Base>>>(base: &mut Tape<Base>, tape: &mut Tape<S>) -> Vec<f64> {
    let (inputs, slope) = base.record(|scope| {
        let inputs = scope.inputs(&AT);
        let mut slopes = [Nested::default(); 3];
        tape.gradient(energy, Real::numbers(&inputs), &mut slopes).expect("lengths agree");
        (inputs, slopes[0])
    });
    base.sweep(&[(&slope.into(), 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs)).expect("its own")
}

#[track_caller]
fn works<S: Reverse<Value = Nested<Base>>>(base: &mut Tape<Base>, tape: &mut Tape<S>) {
    assert_close(&row(base, tape), &expected().2[0]);
}

/// The same tapes again and again: what one recording has left in adjoint vectors is no variable of the next.
#[test]
fn tapes_are_used_again() {
    fn holds<S: Reverse<Value = Nested<Base>>>() {
        let (mut base, mut tape) = (Tape::<Base>::new(), Tape::<S>::new());
        (0..3).for_each(|_| works(&mut base, &mut tape));
    }
    holds::<Twice>();
    holds::<Hybrid<Nested<Base>, Reuse>>();
}

/// Numbers of identifiers between those at which the base is stopped.
const STEP: usize = if cfg!(miri) { 61 } else { 7 };

/// The base is out of identifiers after `k` of them, wherever that is: in a statement, in a sweep. Neither tape is
/// lost.
#[test]
fn running_out_loses_nothing() {
    let (mut base, mut tape) = (Tape::<Base>::new(), Tape::<Hybrid<Nested<Base>, Reuse>>::new());
    works(&mut base, &mut tape);
    let statements = base.memory().statements;
    let mut refused = 0;
    for k in (3..statements + 4).step_by(STEP) {
        base.tape_mut().limit_identifiers(k as u64);
        refused += usize::from(panics(&mut || drop(row(&mut base, &mut tape))));
        base.tape_mut().limit_identifiers(u64::MAX);
        works(&mut base, &mut tape);
    }
    assert!(refused + 1 >= statements / STEP, "{refused} of {statements}");
}

/// The recording of the base is over: its variables are refused, in statements and in sweeps.
#[test]
fn stale_variables_are_refused() {
    let (mut base, mut tape) = (Tape::<Base>::new(), Tape::<Twice>::new());
    let (x, y, stale) = base.record(|scope| {
        let inputs = scope.inputs(&AT);
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(Real::numbers(&inputs));
            let y = energy(&x);
            (x, y)
        });
        (x, y, Nested::from(inputs[0]))
    });
    let none = "which is not active on this thread";
    assert!(panic_of(&mut || _ = stale * stale).contains(none));
    assert!(panic_of(&mut || _ = tape.sweep(&[(&y, Nested::ONE)]).map(|adjoints| adjoints.of(&x[0]))).contains(none));
    // Another recording of the same tape is another recording.
    base.record(|scope| {
        let fresh = Nested::from(scope.input(1.0));
        assert!(panic_of(&mut || _ = stale * stale).contains(none));
        assert!(panic_of(&mut || _ = stale + fresh).contains("two recordings"));
        assert!(
            panic_of(&mut || _ = tape.sweep(&[(&y, fresh)]).map(|adjoints| adjoints.of(&x[0]))).contains("recording")
        );
    });
    works(&mut base, &mut tape);
}

/// A sweep on another thread, while the base records on this one.
#[test]
fn other_threads_are_refused() {
    let (mut base, mut tape) = (Tape::<Base>::new(), Tape::<Twice>::new());
    base.record(|scope| {
        let inputs = scope.inputs(&AT);
        let y = tape.record(|scope| energy(&scope.inputs(Real::numbers(&inputs))));
        let message = std::thread::scope(|threads| {
            let sweep = threads.spawn(|| panic_of(&mut || _ = tape.sweep(&[(&y, Nested::ONE)])));
            sweep.join().expect("it catches")
        });
        assert!(message.contains("not active on this thread"), "{message}");
    });
    works(&mut base, &mut tape);
}

/// A statement of two bases is refused, and the tape records on.
#[test]
fn two_bases_are_refused() {
    let (mut base, mut other, mut tape) = (Tape::<Base>::new(), Tape::<Base>::new(), Tape::<Twice>::new());
    let (inputs, slope) = base.record(|scope| {
        let inputs = scope.inputs(&[2.0, 3.0]);
        let slope = other.record(|scope| {
            let foreign = scope.input(1.0);
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(Real::numbers(&inputs));
                let foreign = Real::<Twice>::constant(foreign.into());
                let y = (x[0] * x[1]).eval();
                let message = panic_of(&mut || _ = (y * foreign).eval());
                assert!(message.contains("two recordings"), "{message}");
                (x[0], (y * x[0]).eval())
            });
            tape.sweep(&[(&y, Nested::ONE)]).and_then(|adjoints| adjoints.of(&x)).expect("its own")
        });
        (inputs, slope)
    });
    // 2·x₀·x₁.
    let row = base.sweep(&[(&slope.into(), 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs)).expect("its own");
    assert_eq!((slope.value(), row), (12.0, vec![6.0, 4.0]));
}

/// The message with which the gradient of `f` panics when it is taken inside a recording.
fn refused(f: fn(&[Real<Twice>]) -> Real<Twice>) -> String {
    panic_of(&mut || _ = gradient::<Base>(|x| gradient::<Twice>(f, Real::numbers(x))[0].into(), &AT))
}

/// They run on several threads.
#[test]
fn kernels_are_refused() {
    let mut tape = Tape::<Twice>::new();
    let message = panic_of(&mut || {
        tape.record(|scope| {
            let u = scope.view([4], &[Nested::ONE; 4]);
            parallel_sum(u.all(), &u, |u| u.at::<0>().square())
        });
    });
    assert!(message.contains("array kernels cannot be computed over numbers that are variables"), "{message}");
    let message = panic_of(&mut || {
        tape.record(|scope| {
            let mut u = scope.view([4], &[Nested::ONE; 4]);
            parallel_for(u.all(), (&mut u,), |(u,)| (u.at::<0>() * 2.0,));
        });
    });
    assert!(message.contains("array kernels cannot be computed over numbers that are variables"), "{message}");
}

/// Identifiers that are none are passive, under whichever base: made of bytes, and back.
#[test]
fn bytes_that_are_no_variable_are_passive() {
    fn holds<B: Nests<Value = f64>>() {
        let mut tape = Tape::<B>::new();
        for live in [false, true] {
            let (x, other, y) = tape.record(|scope| {
                let (x, other) = (scope.input(2.0), scope.input(7.0));
                let number = Nested::<B>::from(x).id().number().get();
                let bits = if live { u64::from(number) << 32 } else { 2 };
                let made: Nested<B> = bytemuck::cast([1.5_f64.to_bits(), bits]);
                (x, other, (x * Real::from(made) * x).eval())
            });
            let adjoints = tape.sweep(&[(&y, 1.0)]).expect("its own");
            assert_eq!((y.value(), adjoints.of(&x), adjoints.of(&other)), (6.0, Ok(6.0), Ok(0.0)));
        }
    }
    holds::<Jacobian>();
    holds::<PrimalValue>();
}

/// A branch by numbers leaves no guard, so a recording that keeps guards and gives its variables away cannot be
/// replayed.
#[test]
fn a_base_with_guards_is_not_replayed() {
    type B = PrimalValue;
    fn relu<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        if x[0] > 0.0 { x[0] } else { Real::from(0.0) }
    }
    let mut tape = Tape::<B>::new();
    tape.set_guards(true);
    let slope = |numbers: &[Nested<B>]| Real::<B>::from(gradient::<PrimalValue<Nested<B>>>(relu, numbers)[0]);
    let by_one = |x: Real<B>| (x * slope(&[x.into()])).eval();
    let by_slice = |x: Real<B>| (x * slope(Real::numbers(&[x]))).eval();
    let by_numbers = |x: Real<B>| if Nested::from(x) > Nested::default() { (x * 2.0).eval() } else { x };
    let programs: [&dyn Fn(Real<B>) -> Real<B>; 3] = [&by_one, &by_slice, &by_numbers];
    for program in programs {
        let x = tape.record(|scope| {
            let x = scope.input(2.0);
            let _ = program(x);
            x
        });
        let outcome = tape.replay(&[(&x, -3.0)]).expect_err("a branch may have changed").to_string();
        assert!(outcome.contains("numbers of another recording"), "{outcome}");
    }
    let x = tape.record(|scope| scope.input(2.0));
    assert_eq!(tape.replay(&[(&x, -3.0)]), Ok(()));
}

/// A stage must not use variables that it was not given, and the numbers of its inputs are such.
#[test]
fn stages_are_refused() {
    let message = refused(|x| {
        let inputs = (x[0], x[1]);
        closure_stage(|(x, y): &(Real<Twice>, Real<Twice>)| -> Real<Twice> { (x * y).sin().into() }, &inputs)
    });
    assert!(message.contains("a stage uses a variable"), "{message}");
}
