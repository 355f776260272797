//! Implementations of `Variables` by hand that contradict themselves: a panic that names the type, or the right
//! derivative.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::checkpoint::{Stage, TimeLoop, closure_stage};
use tapewright::prelude::*;
use tapewright::schedule::{Multistage, Revolve};
use tapewright::variables::Variables;
use tapewright::{Error, preaccumulate, preaccumulate_by_reverse};

/// What is wrong with a collection.
const RIGHT: u8 = 0;
const MAP_LOSES_ONE: u8 = 1;
const MAP_TAKES_THE_SECOND_FIRST: u8 = 2;
const MAP_TAKES_ONE_MORE: u8 = 3;
const MAP_TAKES_THE_FIRST_TWICE: u8 = 4;
const VISIT_LOSES_ONE: u8 = 5;
const VISIT_REPEATS_ONE: u8 = 6;
/// `visit` alone goes wrong, and only from a number of calls on.
const VISIT_CHANGES: u8 = 7;

thread_local! {
    /// Calls of `visit` until it changes.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone)]
struct Pair<S: Taping, const WRONG: u8> {
    a: Real<S>,
    b: Real<S>,
}

impl<S: Taping, const WRONG: u8> Variables<S> for Pair<S, WRONG> {
    type With<T: Taping<Value = S::Value>> = Pair<T, WRONG>;

    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        f(std::slice::from_ref(&self.a));
        LEFT.set(LEFT.get().saturating_sub(1));
        if WRONG == VISIT_LOSES_ONE || WRONG == VISIT_CHANGES && LEFT.get() == 0 {
            return;
        }
        f(std::slice::from_ref(&self.b));
        if WRONG == VISIT_REPEATS_ONE {
            f(std::slice::from_ref(&self.b));
        }
    }

    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Pair<T, WRONG> {
        match WRONG {
            MAP_LOSES_ONE => Pair { a: f(&self.a), b: Real::constant(self.b.value()) },
            MAP_TAKES_THE_SECOND_FIRST => {
                let b = f(&self.b);
                Pair { a: f(&self.a), b }
            }
            MAP_TAKES_ONE_MORE => {
                f(&self.a);
                Pair { a: f(&self.a), b: f(&self.b) }
            }
            MAP_TAKES_THE_FIRST_TWICE => Pair { a: f(&self.a), b: f(&self.a) },
            _ => Pair { a: f(&self.a), b: f(&self.b) },
        }
    }
}

fn step<S: Strategy<Value = f64>, const WRONG: u8>(u: &Pair<S, WRONG>) -> Pair<S, WRONG> {
    Pair { a: (u.a * u.b).sin().eval(), b: (u.b + 0.5 * u.a).eval() }
}

type Number = Real<Jacobian>;

fn pair<const WRONG: u8>(x: &[Number]) -> Pair<Jacobian, WRONG> {
    Pair { a: x[0], b: x[1] }
}

/// Three steps of a loop, compared or not.
fn looped<const WRONG: u8>(
    schedule: impl tapewright::schedule::Schedule + Clone + Send + Sync + 'static,
    checked: bool,
    x: &[Number],
) -> Result<Pair<Jacobian, WRONG>, Error> {
    let time_loop = TimeLoop::<Jacobian>::new(schedule).checked(checked);
    time_loop.run(&(), &pair(x), |_, (), u| step(u), |_, (), u| step(u))
}

/// A loop whose parameters are wrong.
fn moved<const WRONG: u8>(x: &[Number]) -> Result<Pair<Jacobian, RIGHT>, Error> {
    fn pull<S: Strategy<Value = f64>, const WRONG: u8>(p: &Pair<S, WRONG>, u: &Pair<S, RIGHT>) -> Pair<S, RIGHT> {
        Pair { a: (u.a * p.b).sin().eval(), b: (u.b + p.a * u.a).eval() }
    }
    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(3, 1));
    time_loop.run(&pair::<WRONG>(x), &pair(x), |_, p, u| pull(p, u), |_, p, u| pull(p, u))
}

const PLACES: usize = 11;

/// The same function, with a collection of this kind in this place.
fn function<const WRONG: u8>(place: usize, x: &[Number]) -> Result<Number, Error> {
    fn of<S: Strategy<Value = f64>, const WRONG: u8>((a, b): &(Real<S>, Real<S>)) -> Pair<S, WRONG> {
        step(&Pair { a: *a, b: *b })
    }
    fn as_tuple<S: Strategy<Value = f64>, const WRONG: u8>(u: &Pair<S, WRONG>) -> (Real<S>, Real<S>) {
        let Pair { a, b } = step(u);
        (a, b)
    }
    let (both, wrong) = ((x[0], x[1]), pair::<WRONG>(x));
    let sum = |(a, b): (Number, Number)| Ok((2.0 * a + b).eval());
    let parts = |u: Pair<Jacobian, WRONG>| sum((u.a, u.b));
    match place {
        0 => sum(Stage::<Jacobian>::new().run(&wrong, as_tuple, as_tuple)),
        1 => parts(Stage::<Jacobian>::new().run(&both, of::<Passive, WRONG>, of::<Jacobian, WRONG>)),
        2 => parts(looped(Revolve::new(3, 1), true, x)?),
        3 => parts(looped(Revolve::new(3, 1), false, x)?),
        4 => parts(looped(Multistage::new(3, 0, 2), false, x)?),
        5 => moved::<WRONG>(x).and_then(|u| sum((u.a, u.b))),
        6 => parts(preaccumulate(&[x[0], x[1]], |[a, b]| of(&(*a, *b)))),
        7 => sum(preaccumulate_by_reverse::<Jacobian, _, _, _>(&wrong, as_tuple)),
        8 => parts(preaccumulate_by_reverse::<Jacobian, _, _, _>(&both, of)),
        9 => sum(closure_stage(|u: &Pair<Jacobian, WRONG>| as_tuple(u), &wrong)),
        _ => parts(closure_stage(|u: &(Number, Number)| of(u), &both)),
    }
}

/// What comes of two sweeps: the gradients, or what was said instead.
fn outcome<const WRONG: u8>(place: usize, at: &[f64; 2], changes_after: u32) -> Result<Vec<f64>, String> {
    LEFT.set(changes_after);
    let swept = catch_unwind(AssertUnwindSafe(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(at);
            function::<WRONG>(place, &x).map(|y| (x, y))
        })?;
        let first = tape.sweep(&[(&y, 1.0)])?.of_all(&x)?;
        assert_eq!(tape.sweep(&[(&y, 1.0)])?.of_all(&x)?, first);
        Ok::<_, Error>([vec![y.value()], first].concat())
    }));
    match swept {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(panic.downcast_ref::<String>().expect("a text").clone()),
    }
}

fn never_a_wrong_number<const WRONG: u8>(at: &[f64; 2], must_be_noticed: bool) {
    for place in 0..PLACES {
        let right = outcome::<RIGHT>(place, at, u32::MAX).expect("nothing is wrong");
        match outcome::<WRONG>(place, at, u32::MAX) {
            Ok(found) => {
                assert_eq!(found, right, "place {place}, {WRONG}");
                assert!(!must_be_noticed, "place {place}, {WRONG}");
            }
            Err(text) => assert!(
                text.starts_with("`Variables` is not implemented correctly for ") && text.contains("Pair<"),
                "{text}"
            ),
        }
    }
}

#[test]
fn collections_that_contradict_themselves_are_named() {
    let at = [0.7, 1.2];
    never_a_wrong_number::<RIGHT>(&at, false);
    never_a_wrong_number::<MAP_LOSES_ONE>(&at, true);
    never_a_wrong_number::<MAP_TAKES_ONE_MORE>(&at, true);
    never_a_wrong_number::<VISIT_LOSES_ONE>(&at, true);
    never_a_wrong_number::<VISIT_REPEATS_ONE>(&at, true);
    // Some uses do not depend on these.
    never_a_wrong_number::<MAP_TAKES_THE_SECOND_FIRST>(&at, false);
    never_a_wrong_number::<MAP_TAKES_THE_FIRST_TWICE>(&at, false);
}

/// In a recording the variables themselves are compared, not their values alone.
#[test]
fn an_order_that_is_wrong_is_noticed_where_values_are_equal() {
    for place in [0, 2, 3, 4, 5, 7, 9] {
        let text = outcome::<MAP_TAKES_THE_SECOND_FIRST>(place, &[0.7, 0.7], u32::MAX).expect_err("the order is wrong");
        assert!(
            text.contains("Pair<") && text.contains("`map` does not put variables where `visit` finds them"),
            "{text}"
        );
    }
}

/// Collections that lose a variable under way.
#[test]
fn collections_whose_number_of_variables_changes_are_noticed() {
    let at = [0.7, 1.2];
    let mut noticed = 0;
    for place in 0..PLACES {
        let right = outcome::<RIGHT>(place, &at, u32::MAX).expect("nothing is wrong");
        for calls in 1..100 {
            match outcome::<VISIT_CHANGES>(place, &at, calls) {
                Ok(found) => assert_eq!(found, right, "place {place}, after {calls} calls"),
                Err(text) => {
                    let named =
                        text.contains("`Variables` is not implemented correctly for ") && text.contains("Pair<");
                    let others =
                        ["is not reproducible", "must have the same shape", "the shape of this loop's state changes"];
                    assert!(named || others.iter().any(|other| text.contains(other)), "{text}");
                    noticed += 1;
                }
            }
        }
    }
    assert!(noticed > 100, "{noticed}");
}
