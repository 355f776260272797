//! Statements whose result takes the place of a variable: `y += x`, `y.assign(x)`.

use super::{One, Reusing, each, slot, slots, swept};
use std::any::Any;
use std::cell::{Cell, RefCell};
use tapewright::{Float, Unary, prelude::*, unary};
use tapewright_kit_tests::panics::panics;

#[test]
fn a_variable_that_is_assigned_to_keeps_its_identifier() {
    fn holds<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[0.5, 1.5]);
            let mut y = (&x[0] * &x[1]).eval();
            let own = slot(&y);
            // Each of these types is met for the first time in the first round, and has a code in the others.
            for _ in 0..3 {
                y += &x[0];
                y -= &x[1] * 2.0;
                y *= &x[1] + 1.0;
                y /= 2.0;
                y %= 3.0;
                y.assign(x[0].sin() * &x[1]);
                y += Real::constant(2.0) * &x[0]; // passive among its arguments
                let others = [2.0, 3.0].map(Real::<S>::constant);
                y += &others[0] * &others[1];
                assert_eq!(slot(&y), own);
            }
            (x, y)
        });
        let gradient = swept(&mut tape, &y, &x);
        assert!((gradient[0] - (0.5_f64.cos() * 1.5 + 2.0)).abs() < 1e-14, "{gradient:?}");
        assert!((gradient[1] - 0.5_f64.sin()).abs() < 1e-14, "{gradient:?}");
        assert_eq!(slots(&tape), 4, "slot 0, the inputs, and one variable");
        assert_eq!(tape.memory().statements, 1 + 3 * 8);
    }
    each!(holds);
}

#[test]
fn a_statement_that_is_refused_leaves_the_variable_and_its_identifier() {
    fn holds<S: Reusing>() {
        let mut other = Tape::<S>::new();
        let foreign = other.record(|scope| (scope.input(1.0) * 2.0).eval());
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let mut y = (&x * &x).eval();
            let own = slot(&y);
            for _ in 0..3 {
                assert!(panics(&mut || y += &foreign), "of another recording");
                assert!(panics(&mut || y.assign(&foreign * &x)), "of another recording");
            }
            assert_eq!((slot(&y), y.value()), (own, 4.0));
            // If the identifier were free, one of these would have it.
            let others: Vec<_> = (0..5).map(|k| (&x * f64::from(k)).eval()).collect();
            assert!(others.iter().all(|z| slot(z) != own));
            y *= &others[3];
            (x, y)
        });
        assert_eq!(swept(&mut tape, &y, &[x]), [36.0], "(3x³)′");
        assert!(slots(&tape) <= 8);
    }
    each!(holds);
}

#[test]
fn a_variable_of_an_outer_recording_can_be_assigned_to_in_an_inner_one() {
    type S = One;
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    let (x, y) = outer.record(|scope| {
        let x = scope.input(2.0);
        let mut y = (&x * 3.0).eval();
        let (u, v) = inner.record(|scope| {
            let u = scope.input(5.0);
            let mut v = (&u * &u).eval();
            y *= &x; // recorded outside
            v += &u;
            let mut late = (&x * 1.0).eval(); // a variable of the outer recording …
            late.assign(&u * 4.0); // … gives way to one of the inner one
            v += &late;
            (u, v)
        });
        assert_eq!(swept(&mut inner, &v, &[u]), [15.0]);
        y += &x;
        (x, y)
    });
    assert_eq!(swept(&mut outer, &y, &[x]), [13.0], "(3x² + x)′");
    assert!(slots(&outer) <= 5, "{}", slots(&outer));
}

#[test]
fn a_passive_result_gives_the_identifier_back() {
    type S = One;
    let mut tape = Tape::<S>::new();
    tape.record(|scope| {
        let x = scope.input(2.0);
        let mut y = (&x * 3.0).eval();
        let own = slot(&y);
        y.assign(Real::constant(1.0) * 2.0);
        assert!(S::locate(y.id()).is_none());
        let first = (&x + 1.0).eval();
        assert_eq!(slot(&first), own);
        y += &x;
        let second = (&x + 2.0).eval();
        assert!(![slot(&first), slot(&y)].contains(&slot(&second)));
    });
}

std::thread_local! {
    /// What a rule drops or makes before it panics.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
}

/// x², whose rule, once armed, drops a variable, makes another one from what is left, and panics.
struct Panics;
impl Unary for Panics {
    fn value<V: Float>(x: V) -> V {
        x * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        if IS_ARMED.replace(false) {
            let dropped = KEPT.with_borrow_mut(Vec::pop);
            drop(dropped);
            let made = KEPT.with_borrow(|kept| {
                let outer = kept.first()?.downcast_ref::<Real<Hybrid<f64, Reuse>>>()?;
                Some(Box::new((outer * 100.0).eval()) as Box<dyn Any>)
            });
            KEPT.with_borrow_mut(|kept| kept.extend(made));
            panic!("a rule panics");
        }
        x + x
    }
}

#[test]
fn a_rule_that_panics_leaves_the_variable_and_its_identifier() {
    fn holds<S: Reusing<Variable: 'static>>() {
        for which in 0..4 {
            let mut tape = Tape::<S>::new();
            let (x, y) = tape.record(|scope| {
                let (x, passive) = (scope.input(2.0), Real::<S>::constant(3.0));
                KEPT.with_borrow_mut(|kept| kept.push(Box::new((&x * 7.0).eval())));
                let mut y = (&x * 3.0).eval();
                IS_ARMED.set(true);
                let panicked = panics(&mut || match which {
                    0 => y.assign(unary::<_, Panics, _>(&x) * &passive),
                    1 => y.assign(unary::<_, Panics, _>(&x * &passive)),
                    2 => y *= unary::<_, Panics, _>(&passive),
                    _ => y += unary::<_, Panics, _>(&x) * &passive,
                });
                IS_ARMED.set(false);
                KEPT.with_borrow_mut(Vec::clear);
                let others: Vec<_> = (0..5).map(|k| (&x * f64::from(k)).eval()).collect();
                if panicked {
                    assert_eq!(y.value(), 6.0);
                } else {
                    y.assign(&x * 3.0); // partials of this strategy are computed in sweeps
                }
                assert!(others.iter().all(|other| slot(other) != slot(&y)));
                (x, y)
            });
            assert_eq!(swept(&mut tape, &y, &[x]), [3.0]);
        }
    }
    each!(holds);
    holds::<Continuation<f64, Reuse>>();
}

#[test]
fn a_rule_that_records_on_an_outer_tape_and_panics_gets_another_identifier() {
    type S = Hybrid<f64, Reuse>;
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    let (x, y, made) = outer.record(|scope| {
        let x = scope.input(2.0);
        let mut y = (&x * 3.0).eval();
        KEPT.with_borrow_mut(|kept| kept.extend([Box::new(x.clone()) as Box<dyn Any>, Box::new(())]));
        inner.record(|scope| {
            let (u, passive) = (scope.input(5.0), Real::<S>::constant(3.0));
            IS_ARMED.set(true);
            assert!(panics(&mut || y.assign(unary::<_, Panics, _>(&u) * &passive)));
        });
        let made = KEPT.with_borrow_mut(Vec::pop).and_then(|made| made.downcast::<Real<S>>().ok());
        KEPT.with_borrow_mut(Vec::clear);
        (x, y, *made.expect("the rule has made one"))
    });
    assert_eq!(swept(&mut outer, &y, std::slice::from_ref(&x)), [3.0]);
    assert_eq!(swept(&mut outer, &made, &[x]), [100.0]);
}
