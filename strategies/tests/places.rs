//! Places in a recording, pauses, hidden recordings and external functions, on recordings small enough for an
//! interpreter that checks memory accesses.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::{Linear, Lit, Plus, Times, Var, eval, input};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright_strategies::external::{Mark, TapeCache};
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording::{self, OwnedTape, Place};
use tapewright_strategies::storage::Layer;
use tapewright_strategies::tape::{Content, Records};
use tapewright_strategies::{Continuation, External, Hybrid, IndexManager, Jacobian, PrimalValue, Reverse, SweepError};

/// Runs tests under every strategy.
macro_rules! everywhere {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use super::*;
            #[test] fn jacobian() { super::$name::<Jacobian>() }
            #[test] fn primal_value() { super::$name::<PrimalValue>() }
            #[test] fn hybrid() { super::$name::<Hybrid>() }
            #[test] fn continuation() { super::$name::<Continuation>() }
        }
    )*};
}

fn fresh<S: Reverse>() -> OwnedTape<S> {
    OwnedTape::new(S::Tape::default())
}

/// The adjoints of `inputs` for seed 1 at `output`, through the external functions.
fn adjoints<S: Linear>(tape: &OwnedTape<S>, output: Var, inputs: &[Var]) -> Vec<f64> {
    let slot = |x: Var| S::locate(&x.0.id).map_or(0, |(_, slot)| slot);
    let mut adjoints = vec![0.0; S::identifiers(tape.tape())];
    adjoints[slot(output)] = 1.0;
    tape.reverse(&mut adjoints, &mut Shadows::new()).expect("records in memory");
    inputs.iter().map(|x| adjoints[slot(*x)]).collect()
}

/// The text of a panic.
fn panics<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("a panic");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).expect("a text")
}

/// The product of two numbers, with what a rule may do on the way.
struct Product {
    x: [f64; 2],
    drops: Arc<AtomicUsize>,
    /// Fails, panics, or records on a tape of its own.
    trick: Arc<AtomicUsize>,
}

impl Drop for Product {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

impl External<f64> for Product {
    fn name(&self) -> String {
        String::from("a product")
    }

    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        match self.trick.load(Ordering::Relaxed) {
            1 => return Err(SweepError::rule("a product", "on purpose")),
            2 => panic!("on purpose"),
            3 => {
                let mut inner = fresh::<Jacobian>();
                let (x, y) = inner.record(|number| {
                    let x = self.x.map(|x| input::<Jacobian>(number, x));
                    (x, eval::<Jacobian, _>(&Times(x[0], x[1])))
                });
                let found = adjoints(&inner, y, &x);
                inputs.iter_mut().zip(found).for_each(|(input, slope)| *input += outputs[0] * slope);
                return Ok(());
            }
            _ => {}
        }
        inputs[0] += outputs[0] * self.x[1];
        inputs[1] += outputs[0] * self.x[0];
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        1000
    }
}

#[derive(Clone, Default)]
struct Counters {
    drops: Arc<AtomicUsize>,
    trick: Arc<AtomicUsize>,
}

impl Counters {
    fn drops(&self) -> usize {
        self.drops.load(Ordering::Relaxed)
    }

    /// a·b by an external function.
    fn product<S: Linear>(&self, number: RecordingId, a: Var, b: Var) -> Var {
        let x = [a.0.value, b.0.value];
        let rule = Product { x, drops: Arc::clone(&self.drops), trick: Arc::clone(&self.trick) };
        let mut result = Vec::new();
        let inputs = [(a.0.value, &a.0.id), (b.0.value, &b.0.id)];
        recording::record_external::<S>(number, &inputs, &[x[0] * x[1]], Box::new(rule), &mut |value, id| {
            result.push(Var::new(value, id));
        });
        result[0]
    }
}

/// x₀²·x₁·(x₁ + 3), with external functions among the statements.
fn record<S: Linear>(number: RecordingId, counters: &Counters) -> ([Var; 2], Var) {
    let x = [input::<S>(number, 2.0), input::<S>(number, 5.0)];
    let a = counters.product::<S>(number, x[0], x[0]);
    let b = eval::<S, _>(&Times(a, x[1]));
    let c = eval::<S, _>(&Plus(x[1], Lit(3.0)));
    (x, counters.product::<S>(number, b, c))
}

const SLOPES: [f64; 2] = [2.0 * 2.0 * 5.0 * 8.0, 4.0 * (2.0 * 5.0 + 3.0)];

fn external_functions_among_statements<S: Linear>() {
    let counters = Counters::default();
    let mut tape = fresh::<S>();
    for round in 0..3 {
        let (x, y) = tape.record(|number| record::<S>(number, &counters));
        assert_eq!(counters.drops(), 2 * round, "those of the recording before");
        for trick in [0, 3, 0] {
            counters.trick.store(trick, Ordering::Relaxed);
            assert_eq!(adjoints(&tape, y, &x), SLOPES);
        }
        let (functions, _) = tape.external_bytes();
        assert!(functions.used > 2000 && functions.used <= functions.reserved, "{functions:?}");
    }
    drop(tape);
    assert_eq!(counters.drops(), 6);
}

fn a_rule_that_fails_or_panics_leaves_the_tape_as_it_was<S: Linear>() {
    let counters = Counters::default();
    let mut tape = fresh::<S>();
    let (x, y) = tape.record(|number| record::<S>(number, &counters));
    let slot = S::locate(&y.0.id).expect("active").1;
    for _ in 0..2 {
        let sweep = || {
            let mut vector = vec![0.0; S::identifiers(tape.tape())];
            vector[slot] = 1.0;
            tape.reverse(&mut vector, &mut Shadows::new())
        };
        counters.trick.store(1, Ordering::Relaxed);
        assert_eq!(sweep(), Err(SweepError::rule("a product", "on purpose")));
        counters.trick.store(2, Ordering::Relaxed);
        assert_eq!(panics(sweep), "on purpose");
        counters.trick.store(0, Ordering::Relaxed);
        assert_eq!(adjoints(&tape, y, &x), SLOPES);
    }
    assert_eq!(counters.drops(), 0);
}

/// Adjoints between two places, from a seed of 1 at a variable.
fn between<S: Linear>(tape: &OwnedTape<S>, y: Var, from: Option<Place>, to: Option<Place>) -> Vec<f64> {
    let mut vector = vec![0.0; S::identifiers(tape.tape())];
    vector[S::locate(&y.0.id).expect("active").1] = 1.0;
    tape.reverse_between(from, to, &mut vector, &mut Shadows::new()).expect("records in memory");
    vector
}

/// Sweeps that begin and end directly before and behind an external function, and behind the last of several at one
/// place.
fn sweeps_end_at_external_functions<S: Linear>() {
    let counters = Counters::default();
    let mut tape = fresh::<S>();
    let mut places = Vec::new();
    let (x, a) = tape.record(|number| {
        let x = input::<S>(number, 2.0);
        places.push(recording::place::<S>(number));
        (x, counters.product::<S>(number, x, x))
    });
    places.push(tape.place());
    let renewed = |number, x: Var| Var::new(x.0.value, recording::with::<S, _>(number, |tape| S::renew(tape, &x.0.id)));
    let y = tape.resume(|number| {
        let b = counters.product::<S>(number, renewed(number, a), renewed(number, x));
        places.push(recording::place::<S>(number));
        let y = eval::<S, _>(&Times(b, Lit(10.0)));
        places.push(recording::place::<S>(number));
        y
    });
    let of = |vector: &[f64], v: Var| vector[S::locate(&v.0.id).expect("active").1];
    for place in &places {
        assert!(tape.has(*place) && place.is_before(tape.place()));
    }
    assert!(places.windows(2).all(|pair| pair[0].is_before(pair[1]) && !pair[1].is_before(pair[0])));
    // Down to the place between the two: the second has been called, the first has not.
    let half = between(&tape, y, None, Some(places[1]));
    assert_eq!((of(&half, a), of(&half, x)), (20.0, 40.0));
    let mut rest = half;
    tape.reverse_between(Some(places[1]), Some(places[0]), &mut rest, &mut Shadows::new()).expect("records in memory");
    assert_eq!((of(&rest, a), of(&rest, x)), (0.0, 120.0));
    // Where nothing lies between, nothing is done.
    let nothing = between(&tape, a, Some(places[1]), Some(places[1]));
    assert_eq!((of(&nothing, a), of(&nothing, x)), (1.0, 0.0));
    let first = between(&tape, a, Some(places[1]), None);
    assert_eq!(of(&first, x), 4.0);
    assert!(panics(|| between(&tape, a, Some(places[0]), Some(places[1]))).contains("to an earlier one"));

    // Forgetting ends between the functions, too.
    tape.truncate(places[1]).expect("records in memory");
    assert_eq!(counters.drops(), 1);
    assert!(!tape.has(places[2]) && tape.external_bytes().0.used < 2000);
    assert_eq!(of(&between(&tape, a, None, None), x), 4.0);
    let end = tape.place();
    let z = tape.resume(|number| counters.product::<S>(number, renewed(number, a), renewed(number, a)));
    assert_eq!(of(&between(&tape, z, None, None), x), 32.0);
    tape.truncate(end).expect("records in memory");
    assert_eq!(counters.drops(), 2);
    drop(tape);
    assert_eq!(counters.drops(), 3);
}

fn misuse_of_external_functions_panics<S: Linear>() {
    let counters = Counters::default();
    let mut tape = fresh::<S>();
    let mut other = fresh::<S>();
    let foreign = other.record(|number| input::<S>(number, 1.0));
    let (x, y) = tape.record(|number| {
        let made = record::<S>(number, &counters);
        let refused = panics(|| counters.product::<S>(number, made.0[0], foreign));
        assert!(refused.contains("two recordings"), "{refused}");
        let refused = panics(|| counters.product::<S>(foreign_number::<S>(foreign), foreign, foreign));
        assert!(refused.contains("not active on this thread"), "{refused}");
        // A number that no variable has.
        let forged = LinearId::new(number, 1_000_000).expect("in range");
        let refused = panics(|| counters.product::<S>(number, Var::new(1.0, forged), made.0[0]));
        assert!(refused.contains("never made"), "{refused}");
        let refused = recording::pause(|| panics(|| counters.product::<S>(number, made.0[0], made.0[0])));
        assert!(refused.contains("is paused"), "{refused}");
        assert_eq!(counters.drops(), 4, "the rules that were refused");
        made
    });
    assert_eq!(adjoints(&tape, y, &x), SLOPES);
}

fn foreign_number<S: Linear>(x: Var) -> RecordingId {
    S::locate(&x.0.id).expect("active").0
}

/// Tapes whose identifiers can be limited.
trait Limited {
    fn limit(&mut self, identifiers: u64);
}
impl<M: IndexManager, L: Layer, K: Content> Limited for Records<f64, M, L, K> {
    fn limit(&mut self, identifiers: u64) {
        self.limit_identifiers(identifiers);
    }
}
/// Out of identifiers in the middle of the outputs: the function is not recorded, its rule is dropped.
fn out_of_identifiers_among_outputs<S: Linear<Tape: Limited>>() {
    let counters = Counters::default();
    let mut tape = fresh::<S>();
    tape.tape_mut().limit(5);
    let (x, y) = tape.record(|number| {
        let x = [input::<S>(number, 2.0), input::<S>(number, 5.0)];
        let y = counters.product::<S>(number, x[0], x[1]);
        let rule = Product { x: [2.0, 5.0], drops: Arc::clone(&counters.drops), trick: Arc::default() };
        let inputs = [(2.0, &x[0].0.id), (5.0, &x[1].0.id)];
        let mut given = 0;
        let refused = panics(|| {
            recording::record_external::<S>(number, &inputs, &[1.0; 4], Box::new(rule), &mut |_, _| given += 1);
        });
        assert!(refused.contains("identifiers"), "{refused}");
        assert_eq!((given, counters.drops()), (0, 1));
        (x, y)
    });
    assert_eq!(adjoints(&tape, y, &x), [5.0, 2.0]);
    tape.tape_mut().limit(u64::MAX);
    let (x, y) = tape.record(|number| record::<S>(number, &counters));
    assert_eq!((adjoints(&tape, y, &x), counters.drops()), (SLOPES.to_vec(), 2));
}

fn pauses_nest_and_end_with_a_panic<S: Linear>() {
    let mut tape = fresh::<S>();
    let (x, y) = tape.record(|number| {
        let x = input::<S>(number, 3.0);
        let square = || eval::<S, _>(&Times(x, x));
        let paused = recording::pause(|| {
            let inner = recording::pause(square);
            assert!(!inner.0.id.is_active() && !square().0.id.is_active());
            panics(|| recording::pause(|| -> () { panic!("inside") }));
            // Recordings that are begun here record, and can be paused themselves.
            let mut own = fresh::<S>();
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
fn a_recording_may_end_in_a_pause<S: Linear>() {
    let running = fresh::<S>().start();
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

fn hidden_recordings_are_not_reached<S: Linear>() {
    let mut tape = fresh::<S>();
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
            let mut own = fresh::<S>();
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
        let running = recording::isolated(|| fresh::<S>().start());
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
fn a_hidden_recording_may_end<S: Linear>() {
    let running = fresh::<S>().start();
    let x = input::<S>(running.number(), 3.0);
    let y = eval::<S, _>(&Times(x, x));
    let mut outer = fresh::<S>();
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

fn companions_stay_from_recording_to_recording<S: Linear>() {
    let mut tape = fresh::<S>();
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

/// A mark's numbers can be anybody's.
fn forged_marks_reach_no_foreign_memory<S: Linear>() {
    let counters = Counters::default();
    let mut tape = fresh::<S>();
    let (x, y) = tape.record(|number| record::<S>(number, &counters));
    let own = S::mark(tape.tape()).numbers();
    for k in 0..4 {
        for number in [0, 1, 2, 5, own[k] / 2, own[k] + 1, u64::MAX] {
            let mut numbers = own;
            numbers[k] = number;
            let forged = Mark::new(numbers);
            if numbers != own {
                assert!(panics(|| S::truncate(tape.tape_mut(), forged)).contains("was not resumed"));
            }
            // Whatever such a sweep finds, it stays within the recording.
            let mut vector = vec![1.0; S::identifiers(tape.tape())];
            let ends = [(Some(forged), None), (None, Some(forged)), (Some(forged), Some(forged))];
            for ends in ends {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    S::reverse_through(tape.tape(), &mut vector, ends, &mut |_, _, _| Ok(()))
                }));
            }
        }
    }
    assert_eq!(adjoints(&tape, y, &x), SLOPES);
}

everywhere!(
    forged_marks_reach_no_foreign_memory,
    external_functions_among_statements,
    a_rule_that_fails_or_panics_leaves_the_tape_as_it_was,
    sweeps_end_at_external_functions,
    misuse_of_external_functions_panics,
    out_of_identifiers_among_outputs,
    pauses_nest_and_end_with_a_panic,
    a_recording_may_end_in_a_pause,
    hidden_recordings_are_not_reached,
    a_hidden_recording_may_end,
    companions_stay_from_recording_to_recording,
);
