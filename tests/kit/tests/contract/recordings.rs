//! Which recordings a thread can reach: those that are paused, hidden, or over are not written. The list of them knows
//! no strategy, so one is enough here.

use super::nodes::{self, Plus, Times, Var, adjoints, eval, input, panics};
use tapewright_strategies::external::TapeCache;
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::{Jacobian, Reverse};

type S = Jacobian;

#[test]
fn pauses_nest_and_end_with_a_panic() {
    let mut tape = nodes::tape::<S>();
    let (x, y) = tape.record(|number| {
        let x = input::<S>(number, 3.0);
        let square = || eval::<S, _>(&Times(x, x));
        let paused = recording::pause(|| {
            let inner = recording::pause(square);
            assert!(!inner.0.id.is_active() && !square().0.id.is_active());
            panics(|| recording::pause(|| -> () { panic!("inside") }));
            // Recordings that are begun here record, and can be paused themselves.
            let mut own = nodes::tape::<S>();
            let (z, w) = own.record(|number| {
                let z = input::<S>(number, 7.0);
                assert!(!recording::pause(|| eval::<S, _>(&Times(z, z))).0.id.is_active());
                (z, eval::<S, _>(&Times(z, square())))
            });
            assert_eq!(adjoints(&own, w, &[z]), [9.0]);
            assert!(panics(|| input::<S>(number, 1.0)).contains("is paused"));
            // One that outlives the pause.
            (square(), own.start())
        });
        let running = paused.1;
        let late = input::<S>(running.number(), 2.0);
        assert!(eval::<S, _>(&Times(late, late)).0.id.is_active());
        drop(running);
        (x, eval::<S, _>(&Plus(square(), paused.0)))
    });
    assert_eq!(adjoints(&tape, y, &[x]), [6.0]);
}

/// A recording that ends inside a pause, and whose tape records again there.
#[test]
fn a_recording_may_end_in_a_pause() {
    let running = nodes::tape::<S>().start();
    let x = input::<S>(running.number(), 3.0);
    let (tape, y) = recording::pause(move || {
        let tape = running.finish();
        assert!(panics(|| eval::<S, _>(&Times(x, x))).contains("not active"));
        let running = tape.start();
        let x = input::<S>(running.number(), 4.0);
        let y = eval::<S, _>(&Times(x, x));
        (running, (x, y))
    });
    let tape = tape.finish();
    assert_eq!(adjoints(&tape, y.1, &[y.0]), [8.0]);
}

#[test]
fn hidden_recordings_are_not_reached() {
    let mut tape = nodes::tape::<S>();
    let (x, y) = tape.record(|number| {
        let x = input::<S>(number, 3.0);
        let square = || eval::<S, _>(&Times(x, x));
        let refused = recording::isolated(|| panics(square));
        assert!(
            refused.contains(&format!("a variable of recording {number} that is not among its inputs")),
            "{refused}"
        );
        recording::isolated(|| {
            // Their numbers can be used, their pauses too, and recordings that are begun here record.
            assert!(!eval::<S, _>(&Times(Var::passive(x.0.value), Var::passive(2.0))).0.id.is_active());
            let mut own = nodes::tape::<S>();
            let (z, w) = own.record(|number| {
                let z = input::<S>(number, 7.0);
                assert!(panics(|| eval::<S, _>(&Times(z, x))).contains("not among its inputs"));
                assert!(panics(square).contains("not among its inputs"));
                recording::isolated(|| {
                    assert!(panics(|| eval::<S, _>(&Times(z, z))).contains("not among its inputs"));
                    assert!(panics(square).contains("not among its inputs"));
                });
                (z, eval::<S, _>(&Times(z, z)))
            });
            assert_eq!(adjoints(&own, w, &[z]), [14.0]);
        });
        // A panic takes the barrier away; a recording that outlives it does not put it back.
        panics(|| recording::isolated(|| -> () { panic!("inside") }));
        let running = recording::isolated(|| nodes::tape::<S>().start());
        let z = input::<S>(running.number(), 2.0);
        let w = eval::<S, _>(&Times(z, z));
        let first = square();
        let own = running.finish();
        assert_eq!(adjoints(&own, w, &[z]), [4.0]);
        (x, eval::<S, _>(&Plus(first, square())))
    });
    assert_eq!(adjoints(&tape, y, &[x]), [12.0]);
}

/// A recording that is ended out of sight.
#[test]
fn a_hidden_recording_may_end() {
    let running = nodes::tape::<S>().start();
    let x = input::<S>(running.number(), 3.0);
    let y = eval::<S, _>(&Times(x, x));
    let mut outer = nodes::tape::<S>();
    outer.record(|number| {
        let tape = recording::isolated(move || running.finish());
        assert_eq!(adjoints(&tape, y, &[x]), [6.0]);
        let z = input::<S>(number, 1.0);
        assert!(eval::<S, _>(&Times(z, z)).0.id.is_active());
    });
}

#[derive(Default)]
struct Kept(Vec<u8>);
impl TapeCache for Kept {
    fn reserved(&self) -> usize {
        self.0.capacity()
    }
}

#[derive(Default)]
struct Other;
impl TapeCache for Other {
    fn reserved(&self) -> usize {
        1
    }
}

#[test]
fn companions_stay_from_recording_to_recording() {
    let mut tape = nodes::tape::<S>();
    tape.record(|number| {
        recording::with_cache::<S, Kept, _>(number, |kept| kept.0.reserve_exact(100));
        recording::with_cache::<S, Other, _>(number, |_| ());
    });
    assert_eq!(tape.external_bytes().1, tape.cache::<Kept>().0.capacity() + 1);
    tape.record(|number| {
        let kept = recording::with_cache::<S, Kept, _>(number, |kept| kept.0.capacity());
        assert!(kept >= 100);
    });
    tape.reset();
    assert!(tape.cache::<Kept>().0.capacity() >= 100);
}

#[test]
fn a_sweep_goes_from_a_place_to_an_earlier_one_of_the_same_recording() {
    let places = |tape: &mut OwnedTape<S>| {
        let first = tape.record(|number| {
            let first = recording::place::<S>(number);
            let x = input::<S>(number, 3.0);
            eval::<S, _>(&Times(x, x));
            first
        });
        [first, tape.place()]
    };
    let (mut tape, mut other) = (nodes::tape::<S>(), nodes::tape::<S>());
    let ([first, last], [foreign, _]) = (places(&mut tape), places(&mut other));
    let sweep = |from, to| {
        let mut adjoints = vec![0.0; S::identifiers(tape.tape())];
        tape.reverse_between(Some(from), Some(to), &mut adjoints, &mut Shadows::new()).expect("records in memory");
    };
    sweep(last, first);
    assert!(panics(|| sweep(first, last)).contains("to an earlier one"));
    assert!(panics(|| sweep(last, foreign)).contains("is none of recording"));
}
