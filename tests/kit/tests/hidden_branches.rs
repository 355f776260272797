//! Comparisons that may hide a derivative: which ones are reported, by whom, and to which recordings.

use tapewright::prelude::*;
use tapewright::trace::HiddenBranches;
use tapewright::{Checked, Closed, Complex, Error, SweepError, Traced, hidden_branches, pause};
use tapewright_kit_tests::panics::{panic_of, panics};

type Check = Checked<Jacobian>;
type Active = Closed<Jacobian>;
type Comparing = fn(Active, Active) -> bool;

/// What is reported of comparisons of x and y, both active, with one another and with literals.
fn reported(x: f64, y: f64, compare: Comparing) -> u64 {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| compare(scope.input(x).into(), scope.input(y).into()));
    tape.hidden_branches().count()
}

#[test]
fn a_comparison_counts_where_an_active_number_equals_a_passive_one_or_is_found_small() {
    let rows: &[(f64, f64, Comparing, u64)] = &[
        // Equal to a passive number, whatever the operator and the side.
        (0.0, 1.0, |x, _| x == 0.0, 1),
        (-0.0, 1.0, |x, _| x != 0.0, 1),
        (2.5, 1.0, |x, _| x < 2.5, 1),
        (2.5, 1.0, |x, _| 2.5 >= x, 1),
        (0.0, 1.0, |x, _| x.partial_cmp(&0.0).is_some(), 1),
        (3.0, 1.0, |x, _| x == Closed::from(3.0), 1),
        (0.0, 1.0, |x, _| tapewright::strategies::num_traits::Zero::is_zero(&x), 1),
        // Not equal.
        (1e-300, 1.0, |x, _| x == 0.0, 0),
        (1e-12, 1.0, |x, _| x > 0.0, 0),
        (2.0, 1.0, |x, _| x > 1.0, 0),
        // Small beside a passive threshold, and not small beside it.
        (1e-17, 1.0, |x, _| x <= 1e-16, 1),
        (-1e-17, 1.0, |x, _| 1e-16 > x, 1),
        (1e-15, 1.0, |x, _| x <= 1e-16, 0),
        (1e-3, 1.0, |x, _| x <= 1e-2, 0),
        // Active numbers that tie, and ones that differ.
        (0.0, 0.0, |x, y| x > y, 0),
        (2.0, 2.0, |x, y| x == y, 0),
        (2.0, 2.5, |x, y| x > y, 0),
        // Small beside a small multiple of another active number.
        (1e-18, 1.0, |x, y| x <= y * f64::EPSILON, 1),
        (1e-3, 1.0, |x, y| x <= y * f64::EPSILON, 0),
        // Equal but for rounding.
        (1.0 + 2.0 * f64::EPSILON, 1.0, |x, _| x >= 1.0, 1),
        (1.0 - 1e-14, 1.0, |x, _| x >= 1.0, 0),
        // Small active numbers that differ, in units in which all are small.
        (1e-12, 3e-12, |x, y| x > y, 0),
        (0.0, 1.0, |x, _| x < -1e-12, 0),
        // Questions that ask for 0, too.
        (0.0, 1.0, |x, _| tapewright::strategies::num_traits::Float::is_normal(x), 1),
        (0.5, 1.0, |x, _| tapewright::strategies::num_traits::Float::is_normal(x), 0),
        // What rounding may have left of 0, squared.
        (1e-32, 1.0, |x, _| x == 0.0, 1),
        (-1e-32, 1.0, |x, _| 0.0 != x, 1),
        (1e-32, 1.0, |x, _| x == Closed::from(0.0), 1),
        (1e-32, 1.0, |x, _| x > 0.0, 0),
        (1e-24, 1.0, |x, _| x == 0.0, 0),
        (1e-200, 1.0, |x, _| x == 0.0, 0),
        (1e-32, 0.0, |x, y| x == y, 1), // different and small
        // Infinite ones, and passive ones.
        (f64::INFINITY, 1.0, |x, _| x == f64::INFINITY, 0),
        (0.0, 1.0, |x, _| Active::constant(x.value()) == 0.0, 0),
    ];
    for (k, (x, y, compare, count)) in rows.iter().enumerate() {
        assert_eq!(reported(*x, *y, *compare), *count, "row {k}: {x} and {y}");
    }
}

#[test]
fn values_say_that_a_branch_is_meant_and_questions_hide_nothing() {
    assert_eq!(reported(0.0, 0.0, |x, _| x.value() == 0.0), 0);
    assert_eq!(reported(0.0, 0.0, |x, _| tapewright::strategies::num_traits::Float::is_nan(x)), 0);
}

#[test]
fn a_function_at_a_vertical_tangent_is_reported_for_closed_variables() {
    assert_eq!(reported(0.0, 1.0, |x, _| x.sqrt().value() == 0.0), 1);
    assert_eq!(reported(1.0, 1.0, |x, _| x.sqrt().value() == 0.0), 0);
    assert_eq!(reported(0.0, 1.0, |x, _| x.abs().value() == 0.0), 0);
    assert_eq!(reported(0.0, 1.0, |x, _| x.powf(0.5).value() == 0.0), 1);
    assert_eq!(reported(0.0, 1.0, |x, _| x.powf(2.0).value() == 0.0), 0);
}

#[test]
fn a_function_of_two_arguments_without_a_derivative_is_reported_for_closed_variables() {
    fn is_nought(x: Active) -> bool {
        x.value() == 0.0
    }
    let rows: &[(f64, f64, Comparing, u64)] = &[
        (0.0, 0.0, |x, y| is_nought(x.hypot(y)), 1),
        (0.0, 0.0, |x, _| is_nought(x.hypot(0.0)), 1),
        (0.0, 0.0, |_, y| is_nought(Active::from(0.0).hypot(y)), 1),
        (0.0, 0.0, |_, _| is_nought(Active::from(0.0).hypot(0.0)), 0),
        (0.0, 1.0, |x, y| is_nought(x.hypot(y)), 0),
        (0.0, 0.0, |x, y| is_nought(x.atan2(y)), 1),
        (0.0, 1.0, |x, y| is_nought(x.atan2(y)), 0),
        (0.0, 0.0, |x, y| is_nought(x.max(y)), 0),
        (0.0, 0.0, |x, y| is_nought(Complex::new(x, y).sqrt().re), 1),
        (0.0, 1.0, |x, y| is_nought(Complex::new(x, y).sqrt().re), 0),
        (0.0, 0.0, |x, y| is_nought(Complex::new(x, y).exp().re), 0),
        (0.0, 0.0, |x, y| is_nought(Complex::new(x, y).powc(Complex::from(0.5)).re), 1),
        (0.0, 0.0, |x, y| is_nought(Complex::new(x, y).powc(Complex::from(2.0)).re), 0),
    ];
    for (k, (x, y, compare, count)) in rows.iter().enumerate() {
        assert_eq!(reported(*x, *y, *compare), *count, "row {k}: {x} and {y}");
    }
    let along = |x: &[Real<Tangent<1>>]| vec![Closed::from(x[0]).hypot(0.0).open()];
    assert_eq!(hidden_branches(|| jacobian_forward::<Tangent<1>>(along, &[0.0])).1.count(), 1);
}

/// A function whose branch hides x's derivative at 0.
fn hiding<S: Taping>(x: &Closed<S>) -> Closed<S> {
    if *x == 0.0 { Closed::from(1.0) } else { x.sin() / x }
}

fn assert_reports<S: Reverse<Value = f64>>() {
    let name = core::any::type_name::<S>();
    let mut tape = Tape::<S>::new();
    for (at, count) in [(0.0, 1), (0.5, 0), (0.0, 1)] {
        tape.record(|scope| hiding(&scope.input(at).into()).open());
        assert_eq!(tape.hidden_branches().count(), count, "{name} at {at}");
        let line = tape.hidden_branches().first().map(|line| line.file().ends_with("hidden_branches.rs"));
        assert_eq!(line, (count > 0).then_some(true), "{name}");
    }
    tape.reset();
    assert!(tape.hidden_branches().is_empty(), "{name}");
}

#[test]
fn every_strategy_with_a_tape_reports() {
    assert_reports::<Jacobian>();
    assert_reports::<Hybrid<f64, Reuse>>();
    assert_reports::<Continuation>();
    assert_reports::<Traced<Jacobian>>();
    assert_reports::<Check>();
}

#[test]
fn single_precision_has_a_larger_threshold() {
    let mut tape = Tape::<Jacobian<f32>>::new();
    tape.record(|scope| Closed::from(scope.input(1e-8)) <= Closed::from(1e-7));
    assert_eq!(tape.hidden_branches().count(), 1);
}

#[test]
fn one_lane_of_a_pack_is_enough() {
    let mut tape = Tape::<Jacobian<tapewright::packs::Pack<2>>>::new();
    tape.record(|scope| Closed::from(scope.input(tapewright::packs::Pack([1e-18, 1e-19]))) <= Closed::from(1e-17));
    assert_eq!(tape.hidden_branches().count(), 1);
}

#[test]
fn variables_of_another_recording_and_paused_ones_are_constants() {
    let mut outer = Tape::<Jacobian>::new();
    let inner = outer.record(|scope| {
        let x = Active::from(scope.input(0.0));
        let mut inner = Tape::<PrimalValue>::new();
        inner.record(|scope| {
            let y = Closed::from(scope.input(0.0));
            assert!(y == 0.0 && x == 0.0);
        });
        pause(|| assert!(x == 0.0));
        inner.hidden_branches().count()
    });
    assert_eq!((outer.hidden_branches().count(), inner), (1, 1));
}

#[test]
fn what_is_forgotten_of_a_recording_takes_its_branches_along() {
    let mut tape = Tape::<Jacobian>::new();
    let x = tape.record(|scope| {
        let x = Active::from(scope.input(0.0));
        assert!(x == 0.0);
        x.open()
    });
    let position = tape.position();
    let count = |tape: &Tape<Jacobian>| tape.hidden_branches().count();
    tape.resume(|scope| {
        let x = Active::from(scope.renew(&x).expect("it is the tape's"));
        assert!(x == 0.0 && x <= 0.0);
    });
    assert_eq!(count(&tape), 3);
    tape.reset_to(&position).expect("it is the tape's");
    assert_eq!(count(&tape), 1);
}

/// As [`hiding`], of a variable.
fn hiding_real<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    if x[0] == 0.0 { Real::from(1.0) } else { (x[0].sin() / x[0]).eval() }
}

#[test]
fn comparisons_of_variables_are_reported_under_checked_and_tracing_alone() {
    let count = |branches: HiddenBranches| branches.count();
    assert_eq!(count(hidden_branches(|| gradient::<Jacobian>(hiding_real, &[0.0])).1), 0);
    assert_eq!(count(hidden_branches(|| gradient::<Traced<Jacobian>>(hiding_real, &[0.0])).1), 1);

    let found = Tape::<Check>::new().gradient(hiding_real, &[0.0], &mut [0.0]);
    let Err(Error::Sweep(SweepError::HiddenBranch { file, line, statement: None })) = &found else {
        panic!("not refused: {found:?}")
    };
    assert!(file.ends_with("hidden_branches.rs") && *line > 0);
    assert!(found.unwrap_err().to_string().contains("compare `value()` if the branch is meant"));
    assert!(Tape::<Check>::new().gradient(hiding_real, &[0.5], &mut [0.0]).is_ok());

    let meant = |x: &[Real<Check>]| if x[0].value() == 0.0 { x[0] } else { (x[0] * x[0]).eval() };
    assert_eq!(Tape::<Check>::new().gradient(meant, &[0.0], &mut [0.0]), Ok(0.0));
}

#[test]
fn checked_panics_in_forward_mode() {
    let at = |x: f64| jacobian_forward::<Checked<Tangent>>(|x| vec![hiding_real(x)], &[x]).0[0];
    assert_eq!(at(0.5), 0.5_f64.sin() / 0.5);
    let message = panic_of(&mut || _ = at(0.0));
    assert!(message.contains("hidden_branches.rs") && message.contains("may hide a derivative"), "{message}");
}

/// x by way of a test of x², all of whose tangents are 0 at 0.
fn tests_the_square<S: Taping>(x: &Closed<S>) -> Closed<S> {
    if x.clone() * x <= 1e-20 { Closed::from(0.0) } else { x.clone() }
}

#[test]
fn a_variable_whose_tangents_are_all_0_is_active_and_a_constant_is_not() {
    let forward = |f: fn(&Closed<Tangent<2>>) -> Closed<Tangent<2>>, x: f64| {
        let run = |x: &[Real<Tangent<2>>]| vec![f(&Closed::from(x[0])).open()];
        hidden_branches(|| jacobian_forward::<Tangent<2>>(run, &[x])).1.count()
    };
    let reverse = |x: &[Real<Jacobian>]| tests_the_square(&Closed::from(x[0])).open();
    let (slopes, branches) = hidden_branches(|| gradient::<Jacobian>(reverse, &[0.0]));
    assert_eq!((slopes[0], branches.count()), (0.0, 1));
    assert_eq!(forward(tests_the_square, 0.0), 1);
    assert_eq!(forward(tests_the_square, 0.5), 0);
    // Nothing but the inputs, and what depends on them, is active.
    assert_eq!(forward(|_| tests_the_square(&Closed::from(0.0)), 0.0), 0);
    assert_eq!(forward(|x| tests_the_square(&Closed::constant(x.value())), 0.0), 0);
    assert_eq!(forward(|x| pause(|| tests_the_square(x)), 0.0), 0);
    // Ties hide nothing.
    assert_eq!(forward(|x| if *x * *x == *x * *x { *x } else { Closed::from(0.0) }, 0.0), 0);
    // So is an outer evaluation's variable inside an inner one.
    let outer = |x: &[Real<Tangent>]| {
        let inner = |y: Real<Tangent>| {
            assert!(tests_the_square(&Closed::from(x[0])) == 0.0);
            (y * y).into()
        };
        vec![Real::from(derivative::<Tangent>(inner, 1.0))]
    };
    assert_eq!(hidden_branches(|| jacobian_forward::<Tangent>(outer, &[0.0])).1.count(), 1);
}

#[test]
fn checked_panics_where_all_tangents_are_0() {
    type Checking = Checked<Tangent>;
    let square = |x: Real<Checking>| if (x * x).eval() <= 1e-20 { Real::from(0.0) } else { x };
    let at = |x: f64| derivative::<Checking>(square, x);
    assert_eq!(at(0.5), 1.0);
    let message = panic_of(&mut || _ = at(0.0));
    assert!(message.contains("hidden_branches.rs") && message.contains("may hide a derivative"), "{message}");
}

#[test]
fn what_a_call_hears_includes_forward_mode_and_goes_on_to_outer_calls() {
    let closed = |x: &[Real<Tangent<1>>]| vec![hiding(&Closed::from(x[0])).open()];
    let (inner, outer) = hidden_branches(|| {
        let (_, first) = hidden_branches(|| jacobian_forward::<Tangent<1>>(closed, &[0.0]));
        let (_, second) = hidden_branches(|| jacobian_forward::<Tangent<1>>(closed, &[0.5]));
        let unwound = panics(&mut || {
            hidden_branches(|| {
                if gradient_at_zero() == 0.0 {
                    panic!("on purpose")
                }
            });
        });
        assert!(unwound);
        (first.count(), second.count())
    });
    assert_eq!((inner, outer.count()), ((1, 0), 2));
}

fn gradient_at_zero() -> f64 {
    gradient::<Jacobian>(|x| hiding(&Closed::from(x[0])).open(), &[0.0])[0]
}

#[test]
fn tracing_knows_the_line_that_led_there_and_all_margins() {
    let mut tape = Tape::<Traced<Jacobian>>::new();
    tape.record(|scope| {
        let x = scope.inputs(&[0.5, 2.0]);
        let y = (x[0] - 0.5).eval();
        let statement = line!() - 1;
        for k in 0..4 {
            assert!(x[1] > f64::from(k) * 0.5 && (y == 0.0 || k < 0));
        }
        statement
    });
    let branches = tape.trace().expect("it can be traced").branches();
    let found: Vec<_> = branches.iter().map(|branch| (branch.count, branch.margin)).collect();
    assert_eq!(found, [(4, 0.5), (4, 0.0)]);
    let hidden = tape.hidden_branches();
    assert_eq!(hidden.count(), 4);
    let statement = hidden.statement().expect("statements have lines");
    assert!(statement.line() < hidden.first().expect("there is one").line());
    assert!(hidden.to_string().contains(", reached from "), "{hidden}");
}
