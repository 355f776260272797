//! Implementations of `Variables` by hand that contradict themselves: a panic that names the type, or the right
//! derivative.

use std::cell::Cell;
use tapewright::checkpoint::{Stage, TimeLoop, closure_stage};
use tapewright::prelude::*;
use tapewright::schedule::{Multistage, Revolve};
use tapewright::variables::Variables;
use tapewright::{Error, preaccumulate, preaccumulate_by_reverse};
use tapewright_kit_tests::panics::text_of_panic;

/// Faults of a collection.
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

thread_local! {
    /// Fault of collections.
    static WRONG: Cell<u8> = const { Cell::new(RIGHT) };
}

#[derive(Clone)]
struct Pair<S: Taping> {
    a: Real<S>,
    b: Real<S>,
    /// It is one of those with a fault.
    faulty: bool,
}

impl<S: Taping> Pair<S> {
    fn wrong(&self) -> u8 {
        if self.faulty { WRONG.get() } else { RIGHT }
    }
}

impl<S: Taping> Variables<S> for Pair<S> {
    type With<T: Taping<Value = S::Value>> = Pair<T>;

    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        f(std::slice::from_ref(&self.a));
        LEFT.set(LEFT.get().saturating_sub(1));
        let wrong = self.wrong();
        if wrong == VISIT_LOSES_ONE || wrong == VISIT_CHANGES && LEFT.get() == 0 {
            return;
        }
        f(std::slice::from_ref(&self.b));
        if wrong == VISIT_REPEATS_ONE {
            f(std::slice::from_ref(&self.b));
        }
    }

    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Pair<T> {
        let (a, b) = match self.wrong() {
            MAP_LOSES_ONE => (f(&self.a), Real::constant(self.b.value())),
            MAP_TAKES_THE_SECOND_FIRST => {
                let b = f(&self.b);
                (f(&self.a), b)
            }
            MAP_TAKES_ONE_MORE => {
                f(&self.a);
                (f(&self.a), f(&self.b))
            }
            MAP_TAKES_THE_FIRST_TWICE => (f(&self.a), f(&self.a)),
            _ => (f(&self.a), f(&self.b)),
        };
        Pair { a, b, faulty: self.faulty }
    }
}

fn step<S: Strategy<Value = f64>>(u: &Pair<S>) -> Pair<S> {
    Pair { a: (u.a * u.b).sin().eval(), b: (u.b + 0.5 * u.a).eval(), faulty: u.faulty }
}

type Number = Real<Jacobian>;

fn pair(x: &[Number], faulty: bool) -> Pair<Jacobian> {
    Pair { a: x[0], b: x[1], faulty }
}

/// Three steps of a loop.
fn looped(time_loop: TimeLoop<Jacobian>, x: &[Number]) -> Result<Pair<Jacobian>, Error> {
    time_loop.run(&(), &pair(x, true), |_, (), u| step(u), |_, (), u| step(u))
}

/// A loop whose parameters are wrong.
fn moved(x: &[Number]) -> Result<Pair<Jacobian>, Error> {
    fn pull<S: Strategy<Value = f64>>(p: &Pair<S>, u: &Pair<S>) -> Pair<S> {
        Pair { a: (u.a * p.b).sin().eval(), b: (u.b + p.a * u.a).eval(), faulty: u.faulty }
    }
    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(3, 1));
    time_loop.run(&pair(x, true), &pair(x, false), |_, p, u| pull(p, u), |_, p, u| pull(p, u))
}

const PLACES: usize = 11;

/// The same function, with a faulty collection in this place.
fn function(place: usize, x: &[Number]) -> Result<Number, Error> {
    fn of<S: Strategy<Value = f64>>((a, b): &(Real<S>, Real<S>)) -> Pair<S> {
        step(&Pair { a: *a, b: *b, faulty: true })
    }
    fn as_tuple<S: Strategy<Value = f64>>(u: &Pair<S>) -> (Real<S>, Real<S>) {
        let Pair { a, b, .. } = step(u);
        (a, b)
    }
    let (both, wrong) = ((x[0], x[1]), pair(x, true));
    let sum = |(a, b): (Number, Number)| Ok((2.0 * a + b).eval());
    let parts = |u: Pair<Jacobian>| sum((u.a, u.b));
    match place {
        0 => sum(Stage::<Jacobian>::new().run(&wrong, as_tuple, as_tuple)),
        1 => parts(Stage::<Jacobian>::new().run(&both, of::<Passive>, of::<Jacobian>)),
        2 => parts(looped(TimeLoop::new(Revolve::new(3, 1)), x)?),
        3 => parts(looped(TimeLoop::new(Revolve::new(3, 1)).checked(false), x)?),
        4 => parts(looped(TimeLoop::new(Multistage::new(3, 0, 2)).checked(false), x)?),
        5 => moved(x).and_then(parts),
        6 => parts(preaccumulate(&[x[0], x[1]], |[a, b]| of(&(*a, *b)))),
        7 => sum(preaccumulate_by_reverse::<Jacobian, _, _, _>(&wrong, as_tuple)),
        8 => parts(preaccumulate_by_reverse::<Jacobian, _, _, _>(&both, of)),
        9 => sum(closure_stage(as_tuple::<Jacobian>, &wrong)),
        _ => parts(closure_stage(of::<Jacobian>, &both)),
    }
}

/// What comes of two sweeps: the gradients, or what was said instead.
fn outcome(wrong: u8, place: usize, at: &[f64; 2], changes_after: u32) -> Result<Vec<f64>, String> {
    LEFT.set(changes_after);
    WRONG.set(wrong);
    let mut found = Ok(vec![]);
    let run = || {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(at);
            function(place, &x).map(|y| (x, y))
        })?;
        let first = tape.sweep(&[(&y, 1.0)])?.of_all(&x)?;
        assert_eq!(tape.sweep(&[(&y, 1.0)])?.of_all(&x)?, first);
        Ok::<_, Error>([vec![y.value()], first].concat())
    };
    let text = text_of_panic(&mut || found = run().map_err(|error| error.to_string()));
    text.map_or(found, Err)
}

fn never_a_wrong_number(wrong: u8, at: &[f64; 2], must_be_noticed: bool) {
    for place in 0..PLACES {
        let right = outcome(RIGHT, place, at, u32::MAX).expect("nothing is wrong");
        match outcome(wrong, place, at, u32::MAX) {
            Ok(found) => {
                assert_eq!(found, right, "place {place}, {wrong}");
                assert!(!must_be_noticed, "place {place}, {wrong}");
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
    never_a_wrong_number(RIGHT, &at, false);
    never_a_wrong_number(MAP_LOSES_ONE, &at, true);
    never_a_wrong_number(MAP_TAKES_ONE_MORE, &at, true);
    never_a_wrong_number(VISIT_LOSES_ONE, &at, true);
    never_a_wrong_number(VISIT_REPEATS_ONE, &at, true);
    // Some uses do not depend on these.
    never_a_wrong_number(MAP_TAKES_THE_SECOND_FIRST, &at, false);
    never_a_wrong_number(MAP_TAKES_THE_FIRST_TWICE, &at, false);
}

/// In a recording the variables themselves are compared, not their values alone.
#[test]
fn an_order_that_is_wrong_is_noticed_where_values_are_equal() {
    for place in [0, 2, 3, 4, 5, 7, 9] {
        let text = outcome(MAP_TAKES_THE_SECOND_FIRST, place, &[0.7, 0.7], u32::MAX).expect_err("the order is wrong");
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
        let right = outcome(RIGHT, place, &at, u32::MAX).expect("nothing is wrong");
        for calls in 1..100 {
            match outcome(VISIT_CHANGES, place, &at, calls) {
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
