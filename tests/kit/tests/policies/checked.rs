//! What `Checked` keeps of a recording, when it forgets it, and how each driver says so.

use crate::{panic_of, refusal};
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::kernels::{View, parallel_for, parallel_scan};
use tapewright::policy::{self, Policy};
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::{
    Checked, Closed, Subgradient, logsumexp, pause, preaccumulate, preaccumulate_by_reverse, statement,
    value_and_derivative, with_partials,
};

type S = Checked<Jacobian>;
type Later = Checked<PrimalValue>;

/// Whether, and with which function and line, a recording of `f` at 0 is refused.
fn refused<S: Reverse<Value = f64>>(f: impl FnOnce(&Real<S>) -> Real<S>) -> Option<(String, u32)> {
    refusal(Tape::<S>::new().gradient(|x| f(&x[0]), &[0.0], &mut [0.0]))
}

#[test]
fn the_line_is_that_of_the_statement_however_it_is_made() {
    assert_eq!(refused::<S>(|x| x.sqrt().into()), Some(("Sqrt".into(), line!())));
    assert_eq!(refused::<S>(|x| x.sqrt().eval()), Some(("Sqrt".into(), line!())));
    assert_eq!(refused::<S>(|x| Real::from(1.0 / x.abs())), Some(("Over".into(), line!())));
    let mut line = 0;
    let found = refused::<S>(|x| {
        let mut y = *x;
        y.assign(x.exp());
        line = line!() + 1;
        y += x.cbrt();
        y
    });
    assert_eq!(found, Some(("Cbrt".into(), line)));
    let found = refused::<Later>(|x| {
        line = line!() + 1;
        Closed::from(*x).sqrt().into()
    });
    assert_eq!(found, Some(("Sqrt".into(), line)));
}

/// A root of a sum counts whichever of its arguments moves, and a root of passive ones does not count.
#[test]
fn a_singular_function_counts_where_one_of_its_arguments_moves() {
    fn check<S: Reverse<Value = f64>>() {
        let zero = Real::<S>::constant;
        let sqrt = || Some(String::from("Sqrt"));
        let function = |found: Option<(String, u32)>| found.map(|(function, _)| function);
        assert_eq!(function(refused::<S>(|x| (x + zero(0.0)).sqrt().into())), sqrt());
        assert_eq!(function(refused::<S>(|x| (zero(0.0) + x).sqrt().into())), sqrt());
        assert_eq!(function(refused::<S>(|x| (zero(0.0) + zero(0.0) + x + zero(0.0)).sqrt().into())), sqrt());
        assert_eq!(function(refused::<S>(|x| ((zero(0.0) + zero(0.0)).sqrt() + x).into())), None);
    }
    check::<S>();
    check::<Later>();
}

#[test]
fn the_first_offence_is_kept() {
    let mut line = 0;
    let found = refused::<S>(|x| {
        line = line!() + 1;
        let root = x.sqrt().eval();
        let y = x.ln().eval();
        (root + y).into()
    });
    assert_eq!(found, Some(("Sqrt".into(), line)));
}

#[test]
fn the_message_names_function_and_line() {
    let found = Tape::<S>::new().gradient(|x| x[0].hypot(x[0]).into(), &[0.0], &mut [0.0]);
    let message = found.expect_err("it is singular").to_string();
    let line = line!() - 2;
    let expected = format!("the statement at {}:{line} has no derivative: Hypot is singular at its arguments", file!());
    assert_eq!(message, expected);
}

#[test]
fn a_new_recording_and_a_reset_forget_it() {
    let mut tape = Tape::<S>::new();
    let mut gradient = [0.0];
    assert!(tape.gradient(|x| x[0].sqrt().into(), &[0.0], &mut gradient).is_err());
    assert_eq!((tape.gradient(|x| x[0].sqrt().into(), &[4.0], &mut gradient), gradient), (Ok(2.0), [0.25]));
    assert!(tape.gradient(|x| x[0].sqrt().into(), &[0.0], &mut gradient).is_err());
    tape.reset();
    assert_eq!(refusal(tape.sweep(&[])), None);
}

#[test]
fn it_is_kept_when_the_recording_is_resumed_and_cut_with_what_lay_behind_a_position() {
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| scope.input(0.0));
    let regular = tape.position();
    let resume = |tape: &mut Tape<S>, singular: bool| {
        tape.resume(|scope| {
            let x = scope.renew(&x).expect("of this recording");
            if singular { x.sqrt().eval() } else { x.exp().eval() }
        })
    };
    let y = resume(&mut tape, false);
    assert_eq!(refusal(tape.sweep(&[(&y, 1.0)])), None);
    let behind = tape.position();
    let root = resume(&mut tape, true);
    assert!(refusal(tape.sweep(&[(&root, 1.0)])).is_some());
    let y = resume(&mut tape, false);
    assert!(refusal(tape.sweep(&[(&y, 1.0)])).is_some(), "an earlier part has it");
    tape.reset_to(&behind).expect("a position where it was resumed");
    assert_eq!(refusal(tape.sweep(&[])), None);
    resume(&mut tape, true);
    assert!(refusal(tape.sweep(&[])).is_some());
    tape.reset_to(&regular).expect("a position where it was resumed");
    assert_eq!(tape.sweep(&[(&x, 1.0)]).and_then(|found| found.of(&x)), Ok(1.0));
}

#[test]
fn a_sweep_that_does_not_pass_the_statement_is_refused_too() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.0);
        let y = x.exp().eval();
        let _ = x.sqrt().eval();
        (x, y)
    });
    assert!(refusal(tape.sweep(&[(&y, 1.0)])).is_some());
    assert!(refusal(tape.sweep(&[(&x, 1.0)])).is_some());
    let passive = |x: &Real<S>| {
        let _ = x.sqrt().eval();
        Real::from(1.0)
    };
    assert!(refused::<S>(passive).is_some());
}

#[test]
fn statements_that_are_not_recorded_are_not_refused() {
    assert_eq!(refused::<S>(|x| ((Real::<S>::from(0.0).sqrt() + 1.0).eval() * x.exp()).into()), None);
    assert_eq!(refused::<S>(|x| pause(|| x.sqrt().eval())), None);
    let constant = value_and_derivative::<Checked<Tangent>>(|x| pause(|| x.sqrt().eval()), 0.0);
    assert_eq!(constant, (0.0, 0.0));
}

#[test]
fn a_nested_recording_keeps_its_own() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    let (x, found) = outer.record(|scope| {
        let x = scope.input(0.0);
        (x, inner.gradient(|x| x[0].sqrt().into(), &[0.0], &mut [0.0]))
    });
    assert!(refusal(found).is_some());
    assert_eq!(outer.sweep(&[(&x, 1.0)]).and_then(|found| found.of(&x)), Ok(1.0));
    // A statement of variables of the outer recording belongs to that, also while the inner one runs.
    outer.record(|scope| {
        let x = scope.input(0.0);
        inner.record(|_| x.sqrt().eval());
    });
    assert_eq!((refusal(outer.sweep(&[])).is_some(), refusal(inner.sweep(&[]))), (true, None));
}

#[test]
fn drivers_return_the_error_or_panic_with_it() {
    fn one<S: Taping>(x: &[Real<S>]) -> Real<S> {
        x[0].sqrt().into()
    }
    fn many<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![one(x)]
    }
    assert!(refusal(vjp::<S>(many, &[0.0], &[1.0])).is_some());
    assert!(panic_of(|| gradient::<S>(one, &[0.0])).contains("Sqrt is singular"));
    assert!(panic_of(|| value_and_gradient::<Later>(one, &[0.0])).contains("Sqrt is singular"));
    assert!(panic_of(|| jacobian::<S>(many, &[0.0])).contains("Sqrt is singular"));
    assert!(panic_of(|| derivative::<Checked<Tangent>>(|x| x.sqrt().into(), 0.0)).contains("Sqrt is singular"));
    assert!(panic_of(|| jvp::<Checked<Tangent>>(many, &[0.0], &[1.0])).contains("Sqrt is singular"));
}

#[test]
fn several_threads_can_sweep_and_all_are_refused() {
    let mut tape = Tape::<S>::new();
    let y = tape.record(|scope| scope.input(0.0).sqrt().eval());
    let sweep = || refusal(tape.sweep_with(&mut tapewright::tape::AdjointVector::new(), &[(&y, 1.0)]));
    std::thread::scope(|threads| {
        let sweeps = [(); 3].map(|()| threads.spawn(sweep));
        assert!(sweeps.into_iter().all(|sweep| sweep.join().expect("no panic").is_some()));
    });
}

#[test]
fn a_stage_is_refused_in_the_sweep_that_records_it() {
    let mut line = 0;
    let found = refused::<S>(|x| {
        line = line!() + 1;
        let root = Stage::<S>::new().run(x, |x: &Real<Passive>| x.sqrt().eval(), |x: &Real<S>| x.sqrt().eval());
        (root + 1.0).eval()
    });
    assert_eq!(found, Some(("Sqrt".into(), line)));
}

#[test]
fn a_time_loop_is_refused_in_the_sweep_that_records_the_step() {
    fn step<S: Strategy>(n: usize, x: &Real<S>) -> Real<S> {
        if n == 1 { x.sqrt().eval() } else { (x * 1.0).eval() }
    }
    let steps = TimeLoop::<S>::new(Revolve::new(4, 2));
    let found = refused::<S>(|x| {
        let end = steps.run(x, x, |n, _, x| step::<Passive>(n, x), |n, _, x| step::<S>(n, x));
        end.expect("nothing goes to disk")
    });
    assert_eq!(found.map(|(function, _)| function), Some("Sqrt".into()));
}

#[test]
fn preaccumulated_blocks_have_the_policy_of_the_tape() {
    fn block<S: Strategy>([x, y]: &[Real<S>; 2]) -> Real<S> {
        (x.sqrt() + y * y).eval()
    }
    fn gradient_of<P: Policy>() -> Vec<f64> {
        gradient::<Jacobian<f64, Linear, InMemory, P>>(|x| preaccumulate(&[x[0], x[1]], block), &[0.0, 1.0])
    }
    assert_eq!(gradient_of::<policy::Strict>(), [f64::INFINITY, 2.0]);
    assert_eq!(gradient_of::<policy::Subgradient>(), [0.0, 2.0]);
    assert!(panic_of(gradient_of::<policy::Checked>).contains("Sqrt is singular"));
    let by_reverse = || refused::<S>(|x| preaccumulate_by_reverse::<S, _, _, _>(&[*x, *x], block));
    assert!(panic_of(by_reverse).contains("Sqrt is singular"));
}

#[test]
fn a_statement_that_names_many_arguments_is_refused_too() {
    fn length<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let x: [&Real<S>; 14] = core::array::from_fn(|k| &x[k]);
        statement(x, |x| {
            let [first, second, ..] = x;
            first.hypot(second) + x[13]
        })
    }
    fn gradient_of<P: Policy>(x: &[f64; 14]) -> Result<Vec<f64>, (String, u32)> {
        let mut gradient = vec![0.0; 14];
        let found = Tape::<PrimalValue<f64, Reuse, InMemory, P>>::new().gradient(length, x, &mut gradient);
        refusal(found).map_or(Ok(gradient), Err)
    }
    let (origin, mut other) = ([0.0; 14], [0.0; 14]);
    other[0] = 1.0;
    assert_eq!(gradient_of::<policy::Checked>(&origin), Err(("Hypot".into(), line!() - 12)));
    let expected = |first: f64| (0..14).map(|k| if k == 0 { first } else { f64::from(u8::from(k == 13)) }).collect();
    assert_eq!(gradient_of::<policy::Checked>(&other), Ok(expected(1.0)));
    assert_eq!(gradient_of::<policy::Subgradient>(&origin), Ok(expected(0.0)));
}

#[test]
fn partials_that_are_given_are_as_they_are() {
    fn given<S: Taping>(x: &[Real<S>]) -> Real<S> {
        with_partials(x, S::Value::from_f64(0.0), &[S::Value::from_f64(f64::INFINITY)])
    }
    use tapewright::Number as _;
    assert_eq!(gradient::<S>(given, &[0.0]), [f64::INFINITY]);
    assert_eq!(gradient::<Later>(given, &[0.0]), [f64::INFINITY]);
    assert_eq!(gradient::<Subgradient<Jacobian>>(given, &[0.0]), [f64::INFINITY]);
}

#[test]
fn numbers_of_single_precision_have_policies() {
    type Narrow = Jacobian<f32>;
    fn root<S: Taping>(x: &[Real<S>]) -> Real<S> {
        (x[0].sqrt() + x[1].ln()).into()
    }
    assert_eq!(gradient::<Narrow>(root, &[0.0, 1e-40]), [f32::INFINITY; 2]);
    assert_eq!(gradient::<Subgradient<Narrow>>(root, &[0.0, 1e-40]), [0.0, f32::INFINITY], "the second is an overflow");
    let refused = refusal(Tape::<Checked<Narrow>>::new().gradient(root, &[0.0, 1e-40], &mut [0.0; 2]));
    assert_eq!(refused.map(|(function, _)| function), Some("Sqrt".into()));
}

#[test]
fn slices_of_regular_functions_are_not_refused() {
    assert_eq!(refused::<Later>(|x| logsumexp(&[*x, Real::from(f64::NEG_INFINITY)])), None);
}

#[test]
fn kernels_are_refused_unless_their_operands_are_constants() {
    fn squares<S: Reverse<Value = f64>>(active: bool) {
        Tape::<S>::new().record(|scope| {
            let mut x = if active { scope.view([2], &[1.0, 2.0]) } else { View::new([2], &[1.0, 2.0]) };
            parallel_for(x.all(), &mut x, |x| (x.at::<0>().sqrt(),));
        });
    }
    squares::<S>(false);
    squares::<Jacobian>(true);
    assert!(panic_of(|| squares::<S>(true)).contains("under the policy `Strict` only"));
    assert!(panic_of(|| squares::<Subgradient<PrimalValue>>(true)).contains("`Strict` only"));
    let scan = || {
        Tape::<S>::new().record(|scope| {
            let x = scope.view([2], &[1.0, 2.0]);
            parallel_scan(&x, |a, b| a * b)
        });
    };
    assert!(panic_of(scan).contains("under the policy `Strict` only"));
}
