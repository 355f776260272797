//! Derivatives that would be 0 without anybody noticing: adjoints of what is no input, zero times infinity, and
//! contributions that cancel.

use tapewright::kernels::{View, parallel_sum};
use tapewright::prelude::*;
use tapewright::tape::LaneVector;
use tapewright::{Checked, Dual, Error, Subgradient, SweepError};

/// Asserts that the adjoint of a variable is refused by all sweeps of the whole recording.
fn assert_refused<S: Reverse<Value = f64>>(tape: &mut Tape<S>, y: &Real<S>, variable: &Real<S>) {
    let refused = |found: Result<f64, Error>| assert!(matches!(found, Err(Error::NotAnInput { .. })), "{found:?}");
    refused(tape.sweep(&[(y, 1.0)]).expect("its output").of(variable));
    refused(tape.sweep_lanes(&[(y, [1.0, 2.0])]).expect("its output").of(variable).map(|lanes| lanes[0]));
    let mut lanes = LaneVector::new(1);
    refused(tape.sweep_lanes_with(&mut lanes, &[(y, &[1.0])]).expect("its output").of(variable).map(|lanes| lanes[0]));
    let found = tape.sweep(&[(y, 1.0)]).expect("its output").of(variable).expect_err("no input").to_string();
    assert!(found.contains("not an input of recording") && found.contains("input.clone()"), "{found}");
}

fn overwritten_inputs<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (copy, v, late, between, y) = tape.record(|scope| {
        let mut v = scope.input(3.0);
        let copy = v.clone();
        v *= 5.0;
        let between = v.sin().eval();
        // Inputs that are registered later leave variables between them that are none.
        let late = scope.inputs(&[2.0, 4.0]);
        let y = (&between + &v * &late[1] + &late[0]).eval();
        (copy, v, late, between, y)
    });
    for variable in [&v, &between, &y] {
        assert_refused(&mut tape, &y, variable);
    }
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("its output");
    assert_eq!(adjoints.of(&copy), Ok(5.0 * (15.0_f64.cos() + 4.0)));
    assert_eq!(adjoints.of_all(&late), Ok(vec![1.0, 15.0]));
    assert!(adjoints.of_all(&[copy.clone(), v.clone()]).is_err());
    // A passive variable has the adjoint 0, and an input that is an output its seed.
    assert_eq!(adjoints.of(&Real::from(5.0)), Ok(0.0));
    assert_eq!(tape.sweep(&[(&copy, 2.0)]).expect("an input").of(&copy), Ok(2.0));
}

#[test]
fn the_adjoint_of_an_overwritten_input_is_an_error() {
    overwritten_inputs::<Jacobian>();
    overwritten_inputs::<PrimalValue>();
    overwritten_inputs::<Continuation>();
    overwritten_inputs::<Jacobian<f64, Reuse>>();
    overwritten_inputs::<Hybrid<f64, Reuse>>();
}

/// Sweeps that end at a position have the adjoints of variables that there were at this place, and inputs that are
/// forgotten with a part of a recording are none any more.
#[test]
fn positions_keep_their_adjoints() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, half) = tape.record(|scope| {
        let x = scope.input(3.0);
        (x, (x * x).eval())
    });
    let middle = tape.position();
    let y = tape.resume(|scope| {
        let half = scope.renew(&half).expect("its own");
        (half * scope.input(2.0)).eval()
    });
    let mut vector = tapewright::tape::AdjointVector::new();
    tape.seed(&mut vector, &[(&y, 1.0)]).expect("its own");
    let adjoints = tape.sweep_between(&mut vector, &tape.position(), &middle).expect("positions");
    assert_eq!(adjoints.of(&half), Ok(2.0));
    tape.reset_to(&middle).expect("a position");
    let again = tape.resume(|scope| (scope.renew(&half).expect("its own") * 7.0).eval());
    assert_refused(&mut tape, &again, &again);
    assert_refused(&mut tape, &again, &half);
    assert_eq!(tape.sweep(&[(&again, 1.0)]).expect("its own").of(&x), Ok(42.0));
}

/// (√x)², in two statements.
fn square_of_root<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let root = x[0].sqrt().eval();
    (root * root).into()
}

/// ½n² with n = √(x² + y²), in two statements.
fn half_square_of_norm<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let norm = (x[0] * x[0] + x[1] * x[1]).sqrt().eval();
    (0.5 * norm * norm).into()
}

/// The price of the rule that zero times infinity is zero, as the book names it.
#[test]
fn finite_limits_may_come_out_as_zero_except_under_checked() {
    type Dual2 = Dual<f64, 2>;
    assert_eq!(gradient::<Jacobian>(square_of_root, &[0.0]), [0.0]);
    assert_eq!(gradient::<Subgradient<Jacobian>>(square_of_root, &[0.0]), [0.0]);
    let (_, _, second) = tapewright::hessian::<Jacobian<Dual2>>(half_square_of_norm, &[0.0; 2]);
    assert_eq!(second, [[0.0; 2]; 2]);
    let (_, _, second) = tapewright::hessian::<Subgradient<Jacobian<Dual2>>>(half_square_of_norm, &[0.0; 2]);
    assert_eq!(second, [[0.0; 2]; 2]);
}

/// Under `Checked` both are errors, at first and second order, in reverse and forward mode.
#[test]
fn checked_refuses_limits_that_would_come_out_as_zero() {
    fn refused<S: Reverse>(f: fn(&[Real<S>]) -> Real<S>, x: &[S::Value]) {
        let found = Tape::<S>::new().gradient(f, x, &mut vec![S::Value::default(); x.len()]);
        assert!(matches!(found, Err(Error::Sweep(SweepError::Singular { .. }))), "{found:?}");
    }
    type D = Dual<f64, 2>;
    let at_0 = |k: usize| D { value: 0.0, tangents: [0, 1].map(|i| f64::from(u8::from(i == k))) };
    for f in [square_of_root, half_square_of_norm] {
        refused::<Checked<Jacobian>>(f, &[0.0, 0.0]);
    }
    for f in [square_of_root, half_square_of_norm] {
        refused::<Checked<PrimalValue>>(f, &[0.0, 0.0]);
    }
    for f in [square_of_root, half_square_of_norm] {
        refused::<Checked<Jacobian<D>>>(f, &[at_0(0), at_0(1)]);
    }
    // Directions in which nothing moves, too.
    refused::<Checked<Jacobian<D>>>(square_of_root, &[D::constant(0.0)]);
    for f in [square_of_root, half_square_of_norm] {
        let run = || jacobian_forward::<Checked<Tangent<2>>>(|x| vec![f(x)], &[0.0, 0.0]);
        assert!(std::panic::catch_unwind(run).is_err(), "a derivative was found where there is none");
    }
}

#[test]
fn the_modes_differ_where_contributions_cancel() {
    fn cancelled<S: Strategy>(x: Real<S>) -> Real<S> {
        let root = x.sqrt().eval();
        (root - root).into()
    }
    fn root_of_zero<S: Strategy>(x: Real<S>) -> Real<S> {
        let zero = (x - x).eval();
        zero.sqrt().into()
    }
    assert_eq!(gradient::<Jacobian>(|x| cancelled(x[0]), &[0.0]), [0.0]);
    assert!(derivative::<Tangent>(cancelled, 0.0).is_nan());
    assert!(gradient::<Jacobian>(|x| root_of_zero(x[0]), &[1.0])[0].is_nan());
    assert_eq!(derivative::<Tangent>(root_of_zero, 1.0), 0.0);
}

/// A kernel has one partial derivative for all reads of an element, which is their sum; a statement has one for each.
#[test]
fn reads_that_cancel_are_merged_in_kernels_only() {
    for (seed, of_statement) in [(1.0, 0.0), (f64::INFINITY, f64::NAN), (f64::NAN, f64::NAN)] {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y): (View<_, 1>, _) = tape.record(|scope| {
            let x = scope.view([9], &[2.0; 9]);
            let y = parallel_sum(x.all(), &x, |x| x.at::<0>() / x.at::<0>());
            (x, y)
        });
        assert_eq!(&*tape.sweep(&[(&y, seed)]).expect("its output").of_view(&x).expect("an input"), &[0.0; 9]);
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            (x, (x / x).eval())
        });
        let found = tape.sweep(&[(&y, seed)]).expect("its output").of(&x).expect("an input");
        assert!(found == of_statement || found.is_nan() && of_statement.is_nan(), "{found}");
    }
}
