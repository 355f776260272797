//! Statements that name their arguments.
#![allow(clippy::eq_op, reason = "a partial that cancels is what is tested")]

use tapewright::external::Named;
use tapewright::prelude::*;
use tapewright::{preaccumulate, statement};
use tapewright_kit_tests::panics::{panic_of, panics};
use tapewright_kit_tests::{all_close, close, float, for_each_mechanism};

/// An expression that uses each of its arguments several times, one with a partial that cancels.
fn plain<S: Taping>(u: &Real<S>, v: &Real<S>, w: &Real<S>) -> Real<S> {
    let repeated = u * (v - u) + (u * v).sin() / w - (w - w) * v + v;
    (repeated * 2.0 + u).into()
}

fn named<S: Taping>(u: &Real<S>, v: &Real<S>, w: &Real<S>) -> Real<S> {
    statement([u, v, w], |[u, v, w]| (u * (v - u) + (u * v).sin() / w - (w - w) * v + v) * 2.0 + u)
}

fn the_gradient_is_that_of_the_plain_expression<S: Reverse>() {
    let at = [0.7, -1.3, 2.1].map(float::<S::Value>);
    let (mut tape, mut by_name) = (Tape::<S>::new(), vec![float(0.0); 3]);
    let mut expected = vec![float(0.0); 3];
    for _ in 0..2 {
        let value = tape.gradient(|x| named(&x[0], &x[1], &x[2]), &at, &mut by_name).expect("three numbers");
        let plainly = tape.gradient(|x| plain(&x[0], &x[1], &x[2]), &at, &mut expected).expect("three numbers");
        assert_eq!(value, plainly);
        all_close(&by_name, &expected, 20);
    }
}

fn passive_arguments_are_constants<S: Reverse>() {
    let at = [0.7, 2.1].map(float::<S::Value>);
    let constant = || Real::<S>::constant(float(-1.3));
    let mut tape = Tape::<S>::new();
    let (mut by_name, mut expected) = (vec![float(0.0); 2], vec![float(0.0); 2]);
    tape.gradient(|x| named(&x[0], &constant(), &x[1]), &at, &mut by_name).expect("two numbers");
    tape.gradient(|x| plain(&x[0], &constant(), &x[1]), &at, &mut expected).expect("two numbers");
    all_close(&by_name, &expected, 20);
    let nothing = named(&constant(), &constant(), &constant());
    assert_eq!(nothing.value(), plain(&constant(), &constant(), &constant()).value());
    tape.record(|_| named(&constant(), &constant(), &constant()));
    assert_eq!(tape.memory().statements, 0);
}

for_each_mechanism!(the_gradient_is_that_of_the_plain_expression, passive_arguments_are_constants);

#[test]
fn the_same_argument_may_be_named_twice() {
    type S = PrimalValue;
    let mut tape = Tape::<S>::new();
    let mut found = [0.0];
    tape.gradient(|x| statement([&x[0], &x[0]], |[a, b]| a * b * b), &[3.0], &mut found).expect("one number");
    assert_eq!(found[0], 27.0);
}

/// Products of 1 to 14 variables: more than there are types for are functions of slices.
#[test]
fn every_number_of_arguments_is_right() {
    type S = PrimalValue;
    macro_rules! each {
        ($tape:ident, $at:ident: $($n:literal)*) => { $(
            let mut found = [0.0; 14];
            $tape
                .gradient(
                    |x| statement::<S, _, $n>(core::array::from_fn(|k| &x[k]), |y| {
                        // Each argument twice: y₀·y₀ + y₀·y₁ + …
                        let last: [Named<S>; $n] = y;
                        last[0] * last[$n - 1] + last[$n - 1] * last[0] * 3.0
                    }),
                    &$at,
                    &mut found,
                )
                .expect("fourteen numbers");
            let (first, last) = (1.0, f64::from($n));
            if $n == 1 {
                assert_eq!(found[0], 4.0 * (first + last));
            } else {
                assert_eq!((found[0], found[$n - 1]), (4.0 * last, 4.0 * first));
                let others = found.iter().enumerate().filter(|(k, _)| *k != 0 && *k != $n - 1);
                assert!(others.map(|(_, x)| *x).all(|x| x == 0.0));
            }
        )* };
    }
    let mut tape = Tape::<S>::new();
    let at: Vec<f64> = (1..=14).map(f64::from).collect();
    each!(tape, at: 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}

/// Bytes and arguments of one statement.
fn bytes<S: Reverse<Value = f64>>(f: impl Fn(&[Real<S>]) -> Real<S>) -> (usize, usize) {
    let mut tape = Tape::<S>::new();
    let y = tape.record(|scope| f(&scope.inputs(&[0.5, 0.6, 0.7])));
    let report = tape.memory();
    drop(y);
    let streams = ["codes", "functions", "arguments", "partials", "constants", "closures", "results"];
    (streams.iter().map(|stream| report.usage(stream).used).sum(), report.arguments)
}

#[test]
fn a_record_has_a_partial_and_an_identifier_for_each_argument() {
    assert_eq!(bytes::<Jacobian>(|x| named(&x[0], &x[1], &x[2])), (1 + 12 * 3, 3));
    assert_eq!(bytes::<PrimalValue>(|x| named(&x[0], &x[1], &x[2])), (1 + 12 * 3, 3));
    assert_eq!(bytes::<Hybrid>(|x| named(&x[0], &x[1], &x[2])), (1 + 12 * 3, 3));
    assert_eq!(bytes::<Continuation>(|x| named(&x[0], &x[1], &x[2])), (8 + 12 * 3, 3));
    let block = |x: &[Real<Jacobian>]| preaccumulate(&[x[0], x[1], x[2]], |[u, v, w]| plain(u, v, w));
    assert_eq!(bytes::<Jacobian>(block), (1 + 12 * 3, 3));
    // As it stands, the expression has eleven arguments.
    assert_eq!(bytes::<Jacobian>(|x| plain(&x[0], &x[1], &x[2])).1, 11);
}

#[test]
fn branches_may_choose_arguments() {
    let upwind = |at: [f64; 3]| {
        gradient::<Jacobian>(
            |x| {
                statement([&x[0], &x[1], &x[2]], |[u, left, right]| {
                    let slope = if u >= 0.0 { u - left } else { right - u };
                    u * slope
                })
            },
            &at,
        )
    };
    assert_eq!(upwind([2.0, 5.0, 7.0]), [-1.0, -2.0, 0.0]);
    assert_eq!(upwind([-2.0, 5.0, 7.0]), [11.0, 0.0, -2.0]);
}

#[test]
fn forward_mode_has_them_too() {
    let moved = derivative::<Tangent>(|x| named(&x, &Real::from(-1.3), &Real::from(2.1)), 0.7);
    let expected = derivative::<Tangent>(|x| plain(&x, &Real::from(-1.3), &Real::from(2.1)), 0.7);
    close(moved, expected, 20);
}

/// The message of a panic in a recording.
fn refused(f: fn(&[Real<Jacobian>]) -> Real<Jacobian>) -> String {
    panic_of(&mut || _ = gradient::<Jacobian>(f, &[0.5, 0.6]))
}

#[test]
fn an_argument_of_another_statement_is_refused() {
    let message = refused(|x| {
        statement([&x[0]], |[a]| {
            let inner = statement([&x[1]], |[b]| b * a);
            a * inner.value()
        })
    });
    assert!(message.contains("an argument of another `statement` is used"), "{message}");
    let outlives = |x: &[Real<Jacobian>]| {
        let mut kept = None;
        let y = statement([&x[0]], |[a]| {
            kept = Some(a);
            a * 2.0
        });
        statement([&y], |[b]| b * kept.expect("the argument of the one before"))
    };
    assert!(panics(&mut || _ = gradient::<Jacobian>(outlives, &[0.5])));
}

#[test]
fn statements_inside_are_refused() {
    let message = refused(|x| statement([&x[0], &x[1]], |[a, b]| (a * b).eval() * a));
    assert!(message.contains("leave out `.eval()`"), "{message}");
}

#[test]
fn arguments_of_other_threads_are_refused() {
    let mut kept = None;
    gradient::<Jacobian>(
        |x| {
            statement([&x[0]], |[a]| {
                kept = Some(a);
                a * 2.0
            })
        },
        &[0.5],
    );
    let a = kept.expect("it ran");
    let there = std::thread::spawn(move || gradient::<Jacobian>(|x| statement([&x[0]], |[b]| a * b), &[0.5]));
    assert!(there.join().is_err());
}

#[test]
fn recordings_with_them_are_not_replayed() {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[0.7, -1.3, 2.1]);
        let y = named(&x[0], &x[1], &x[2]);
        (x, y)
    });
    assert!(tape.sweep(&[(&y, 1.0)]).is_ok());
    let refused = tape.replay(&[(&x[0], 0.8)]).expect_err("its value is not computed again");
    assert!(refused.to_string().contains("the record of variable 4 says"), "{refused}");
    let with_constant = tape.record(|scope| {
        let x = scope.inputs(&[0.7, 2.1]);
        named(&x[0], &Real::constant(1.0), &x[1]);
        x
    });
    assert!(tape.replay(&[(&with_constant[0], 0.8)]).is_err());
}

#[test]
fn infinite_partials_stay_where_they_belong() {
    // ∂/∂u of √u·v at u = 0 is infinite; that of v is 0.
    let found = gradient::<Jacobian>(|x| statement([&x[0], &x[1]], |[u, v]| u.sqrt() * v), &[0.0, 3.0]);
    assert_eq!(found, [f64::INFINITY, 0.0]);
}
