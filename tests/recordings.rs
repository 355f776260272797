//! Which tape a statement is recorded on, and what happens when there is none: nested, leaked, ended, moved, foreign and
//! exhausted recordings.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Barrier, Once};
use tapewright::prelude::*;
use tapewright::{Error, Recording};

/// Runs each scenario under every strategy, and under 64-bit identifiers.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod jacobian { $( #[test] fn $name() { super::$name::<tapewright::Jacobian>(); } )* }
        mod primal_value { $( #[test] fn $name() { super::$name::<tapewright::PrimalValue>(); } )* }
        mod jacobian_u64 { $( #[test] fn $name() { super::$name::<tapewright::Jacobian<f64, tapewright::Linear<u64>>>(); } )* }
        mod primal_value_u64 { $( #[test] fn $name() { super::$name::<tapewright::PrimalValue<f64, tapewright::Linear<u64>>>(); } )* }
    };
}
scenarios! {
    statements_of_an_outer_recording_go_to_the_outer_tape
    a_leaked_recording_leaks_its_tape_and_nothing_else
    recordings_may_end_in_any_order
    a_dropped_recording_is_over
    a_panic_ends_the_recordings_it_leaves
    a_panic_in_the_inner_recording_leaves_the_outer_one_going
    variables_of_another_thread_are_refused
    variables_of_a_finished_recording_are_refused
    variables_of_an_earlier_recording_of_the_same_tape_are_refused
    variables_of_two_recordings_in_one_statement_are_refused
    a_bigger_earlier_recording_gives_no_access_to_a_smaller_later_one
    sweeping_from_a_foreign_variable_is_an_error
    tapes_may_change_threads_between_recordings
    eight_threads_record_on_their_own_tapes
    a_drop_may_record
    recordings_have_numbers_of_their_own
    panics_name_the_line_of_the_statement
    passive_statements_need_no_recording
    a_refused_statement_leaves_the_recording_as_it_was
}

/// Strategies with linear `f64` variables.
trait Copying: Reverse<Value = f64, Variable: Send + Sync> + Strategy {}
impl<S: Reverse<Value = f64, Variable: Send + Sync> + Strategy> Copying for S {}

/// x·y + y at (3, 5), and its variables.
fn record_small<S: Copying>(tape: &mut Tape<S>) -> (Vec<Real<S>>, Real<S>) {
    tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let z = (x[0] * x[1] + x[1]).into();
        (x, z)
    })
}

fn assert_small<S: Copying>(tape: &mut Tape<S>, (x, z): &(Vec<Real<S>>, Real<S>)) {
    let adjoints = tape.sweep(&[(z, 1.0)]).expect("the variables are the tape's");
    assert_eq!(adjoints.of_all(x), Ok(vec![5.0, 4.0]));
}

fn works<S: Copying>(tape: &mut Tape<S>) {
    let made = record_small(tape);
    assert_small(tape, &made);
}

/// What a panic said, and where.
struct Caught {
    message: String,
    file: String,
    line: u32,
}

thread_local! {
    /// The place of this thread's latest panic.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
    /// How many panics this thread is ready to catch.
    static EXPECTED: Cell<u32> = const { Cell::new(0) };
}

/// Makes every panic leave its place, and those that are expected no message.
fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PLACE.set(info.location().map(|place| (place.file().to_owned(), place.line())));
            if EXPECTED.get() == 0 {
                before(info);
            }
        }));
    });
}

/// Runs `f`, which must panic.
fn panic_of<R>(f: impl FnOnce() -> R) -> Caught {
    install_hook();
    EXPECTED.set(EXPECTED.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(f));
    EXPECTED.set(EXPECTED.get() - 1);
    let Err(payload) = outcome else { panic!("this should have panicked") };
    let message = payload.downcast::<String>().map(|s| *s).or_else(|p| p.downcast::<&str>().map(|s| (*s).to_owned()));
    let (file, line) = PLACE.take().expect("the hook has run");
    Caught { message: message.expect("panics carry text"), file, line }
}

/// Runs a one-line closure that must panic with a message that contains `part`, and name the line of this very call.
#[track_caller]
fn refused_here<R>(part: &str, f: impl FnOnce() -> R) {
    let caught = panic_of(f);
    assert!(caught.message.contains(part), "{part:?} is not in {:?}", caught.message);
    let here = Location::caller();
    assert_eq!((caught.file.as_str(), caught.line), (here.file(), here.line()), "place of {:?}", caught.message);
}

const NOT_ACTIVE: &str = "which is not active on this thread";
const TWO: &str = "variables of two recordings";

fn statements_of_an_outer_recording_go_to_the_outer_tape<S: Copying>() {
    nested::<S, S>();
    nested::<S, Jacobian>();
    nested::<S, PrimalValue>();
    nested::<S, Jacobian<f64, Linear<u64>>>();
    nested::<S, PrimalValue<f64, Linear<u64>>>();
}

fn nested<S: Copying, T: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<T>::new());
    let (x, y, made) = outer.record(|scope| {
        let x = scope.input(2.0);
        let (made, mut y) = inner.record(|inside| {
            let u = inside.inputs(&[3.0, 5.0]);
            let square: Real<S> = (x * x).into();
            let z: Real<T> = (u[0] * u[1] + u[1]).into();
            let late = scope.input(7.0);
            ((u, z), Real::<S>::from(square * x + late * 0.0))
        });
        y *= x;
        (x, y, made)
    });
    assert_small(&mut inner, &made);
    assert_eq!((inner.memory().statements, outer.memory().statements), (1, 3));
    let adjoints = outer.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
    assert_eq!((y.value(), adjoints.of(&x)), (16.0, Ok(32.0)));
}

fn a_leaked_recording_leaks_its_tape_and_nothing_else<S: Copying>() {
    std::thread::spawn(|| {
        let mut leaked = Tape::<S>::new().start();
        let x = leaked.scope().input(2.0);
        std::mem::forget(leaked);
        works(&mut Tape::<S>::new());
        works(&mut Tape::<Jacobian>::new());
        works(&mut Tape::<PrimalValue>::new());
        let still_recorded: Real<S> = (x * x).into();
        assert_eq!(still_recorded.value(), 4.0);
        let mut tape = Tape::<S>::new();
        tape.record(|scope| {
            let y = scope.input(1.0);
            refused_here(TWO, || (x * y).eval());
        });
    })
    .join()
    .expect("the thread ends well");
}

/// Records the small function on a running recording.
fn add_small<S: Copying>(recording: &mut Recording<S>) -> (Vec<Real<S>>, Real<S>) {
    let x = recording.scope().inputs(&[3.0, 5.0]);
    let z = (x[0] * x[1] + x[1]).into();
    (x, z)
}

fn recordings_may_end_in_any_order<S: Copying>() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut running: Vec<_> = (0..3).map(|_| Some(Tape::<S>::new().start())).collect();
        let mut made = Vec::new();
        for recording in running.iter_mut().flatten() {
            made.push(add_small(recording));
        }
        for k in order {
            let (x, z) = &mut made[k];
            let late: Real<S> = (*z + x[0] * 0.0).into();
            *z = late;
            let mut tape = running[k].take().expect("each ends once").finish();
            assert_small(&mut tape, &made[k]);
            refused_here(NOT_ACTIVE, || (made[k].1 + 1.0).eval());
        }
    }
}

fn a_dropped_recording_is_over<S: Copying>() {
    let mut first = Tape::<S>::new().start();
    let mut second = Tape::<PrimalValue>::new().start();
    let (a, b) = (add_small(&mut first), add_small(&mut second));
    drop(first);
    refused_here(NOT_ACTIVE, || (a.1 * 2.0).eval());
    assert_small(&mut second.finish(), &b);
}

fn a_panic_ends_the_recordings_it_leaves<S: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<Jacobian>::new());
    let mut kept = None;
    let caught = panic_of(|| {
        outer.record(|scope| {
            kept = Some(scope.input(1.0));
            let guard = Tape::<PrimalValue>::new().start();
            inner.record(|_| panic!("midway in {}", guard.finish().memory().statements));
        });
    });
    assert_eq!(caught.message, "midway in 0");
    let x = kept.expect("the outer recording has begun");
    refused_here("no recording is active on this thread", || (x + 1.0).eval());
    works(&mut outer);
    works(&mut inner);
}

fn a_panic_in_the_inner_recording_leaves_the_outer_one_going<S: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    let made = outer.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        assert_eq!(panic_of(|| inner.record(|_| panic!("inside"))).message, "inside");
        let z = (x[0] * x[1] + x[1]).into();
        (x, z)
    });
    assert_small(&mut outer, &made);
    works(&mut inner);
}

fn variables_of_another_thread_are_refused<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let made = tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let from_here = &x;
        std::thread::scope(|threads| {
            threads.spawn(move || {
                refused_here("no recording is active on this thread", || (from_here[0] + 1.0).eval());
                let mut own = Tape::<S>::new();
                own.record(|scope| {
                    let y = scope.input(1.0);
                    refused_here("the innermost recording on this thread is #", || (from_here[0] + 1.0).eval());
                    refused_here(TWO, || (from_here[0] + y).eval());
                });
                works(&mut own);
            });
        });
        let z = (x[0] * x[1] + x[1]).into();
        (x, z)
    });
    assert_small(&mut tape, &made);
}

fn variables_of_a_finished_recording_are_refused<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let (x, z) = record_small(&mut tape);
    let number = format!("recording {}", tape.record(|scope| scope.number()));
    refused_here(NOT_ACTIVE, || (x[0] * z).eval());
    Tape::<S>::new().record(|_| refused_here(NOT_ACTIVE, || (x[0] * z).eval()));
    tape.record(|scope| {
        let caught = panic_of(|| (x[0] * z).eval());
        assert!(!caught.message.contains(&format!("{number},")), "the variable's recording, not the latest");
        assert!(caught.message.contains(&format!("innermost recording on this thread is {}", scope.number())));
    });
}

fn variables_of_an_earlier_recording_of_the_same_tape_are_refused<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let (x, _) = record_small(&mut tape);
    tape.record(|scope| {
        let y = scope.input(1.0);
        refused_here(NOT_ACTIVE, || (x[0] * 2.0).eval());
        refused_here(TWO, || (x[0] * y).eval());
    });
    tape.reset();
    refused_here(NOT_ACTIVE, || (x[0] * 2.0).eval());
    works(&mut tape);
}

fn variables_of_two_recordings_in_one_statement_are_refused<S: Copying>() {
    let (mut outer, mut inner) = (Tape::<S>::new(), Tape::<S>::new());
    outer.record(|outside| {
        let x = outside.input(2.0);
        let (u, z) = inner.record(|inside| {
            let u = inside.inputs(&[3.0, 5.0]);
            refused_here(TWO, || (u[0] * x).eval());
            refused_here(TWO, || (x * u[0]).eval());
            refused_here(TWO, || (u[0] * u[1] + 2.0 * (u[0] - x)).eval());
            refused_here(TWO, || tapewright::sum(&[u[0], x, u[1]]));
            refused_here(TWO, || tapewright::dot(&u, &[u[0], x]));
            let z = (u[0] * u[1] + u[1]).into();
            (u, z)
        });
        assert_small(&mut inner, &(u, z));
    });
    assert_eq!(outer.memory().statements, 0);
}

fn a_bigger_earlier_recording_gives_no_access_to_a_smaller_later_one<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let late = tape.record(|scope| (0..100_000).map(|k| scope.input(f64::from(k))).last().expect("many"));
    let sum = tape.record(|scope| {
        let x = scope.input(1.0);
        refused_here(NOT_ACTIVE, || (late * late).eval());
        refused_here(NOT_ACTIVE, || tapewright::sum(&[late, late]));
        refused_here(TWO, || (x * late).eval());
        Real::<S>::from(x + 1.0)
    });
    assert!(matches!(tape.sweep(&[(&late, 1.0)]), Err(Error::ForeignVariable { .. })));
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("the variables are the tape's");
    assert!(adjoints.of(&late).is_err());
}

fn sweeping_from_a_foreign_variable_is_an_error<S: Copying>() {
    let (mut tape, mut other) = (Tape::<S>::new(), Tape::<S>::new());
    let (mine, foreign) = (record_small(&mut tape), record_small(&mut other));
    let error = tape.sweep(&[(&mine.1, 1.0), (&foreign.1, 1.0)]).expect_err("the second is foreign");
    let Error::ForeignVariable { variable, recording } = error.clone() else { panic!("{error}") };
    assert_ne!(variable, recording);
    assert!(
        error.to_string().contains(&format!("#{variable}")) && error.to_string().contains(&format!("#{recording}"))
    );
    assert_small(&mut tape, &mine);
    assert!(tape.sweep(&[]).expect("no outputs").of(&foreign.0[0]).is_err());
    let never = Tape::<S>::new().sweep(&[(&mine.1, 1.0)]).expect_err("nothing recorded");
    assert!(matches!(never, Error::ForeignVariable { recording: 0, .. }));
}

fn tapes_may_change_threads_between_recordings<S: Copying>() {
    let mut tape = Tape::<S>::new();
    let first = record_small(&mut tape);
    let (mut tape, second) = std::thread::spawn(move || {
        assert_small(&mut tape, &first);
        let second = record_small(&mut tape);
        (tape, second)
    })
    .join()
    .expect("the thread ends well");
    assert_small(&mut tape, &second);
    works(&mut tape);
}

fn eight_threads_record_on_their_own_tapes<S: Copying>() {
    let start = Barrier::new(8);
    std::thread::scope(|threads| {
        let start = &start;
        for thread in 1..=8 {
            threads.spawn(move || {
                let mut tape = Tape::<S>::new();
                start.wait();
                for n in 1..50 {
                    let mut gradient = [0.0];
                    let power = |x: &[Real<S>]| (0..n).fold(Real::from(1.0), |y, _| (y * x[0]).into());
                    let x = f64::from(thread) / 8.0;
                    tape.gradient(power, &[x], &mut gradient).expect("lengths agree");
                    let expected = f64::from(n) * x.powi(n - 1);
                    assert!((gradient[0] - expected).abs() <= 1e-12 * expected, "thread {thread}, n = {n}");
                }
            });
        }
    });
}

/// Records when it is dropped: on the recording of its variable, and on a tape of its own.
struct Parting<'a, S: Copying>(Real<S>, &'a Cell<Real<S>>);
impl<S: Copying> Drop for Parting<'_, S> {
    fn drop(&mut self) {
        works(&mut Tape::<S>::new());
        self.1.set((self.0 * self.0).into());
    }
}

fn a_drop_may_record<S: Copying>() {
    let result = Cell::new(Real::<S>::default());
    let mut tape = Tape::<S>::new();
    let x = tape.record(|scope| {
        let x = scope.input(3.0);
        drop(Parting(x, &result));
        x
    });
    assert_eq!(tape.sweep(&[(&result.get(), 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(6.0));
    let caught = panic_of(|| {
        tape.record(|scope| {
            let _parting = Parting(scope.input(3.0), &result);
            panic!("leaving")
        })
    });
    assert_eq!(caught.message, "leaving");
    assert_eq!((result.get().value(), tape.memory().statements), (9.0, 1));
}

fn recordings_have_numbers_of_their_own<S: Copying>() {
    let numbers = || {
        let mut tape = Tape::<S>::new();
        (0..10_000).map(|_| tape.record(|scope| scope.number().get())).collect::<Vec<_>>()
    };
    let other = std::thread::spawn(numbers);
    let mut all = numbers();
    all.extend(other.join().expect("the thread ends well"));
    let guard = Tape::<S>::new().start();
    all.push(Tape::<Jacobian>::new().record(|scope| scope.number().get()));
    drop(guard);
    assert!(!all.contains(&0), "0 means passive");
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

fn panics_name_the_line_of_the_statement<S: Copying>() {
    let (x, _) = record_small(&mut Tape::<S>::new());
    let mut y = x[1];
    refused_here(NOT_ACTIVE, || -> Real<S> { (x[0] * x[1]).into() });
    refused_here(NOT_ACTIVE, || Real::<S>::from(x[0] * x[1]));
    refused_here(NOT_ACTIVE, || (x[0] * x[1]).eval());
    refused_here(NOT_ACTIVE, || y.assign(x[0] * x[1]));
    refused_here(NOT_ACTIVE, || y += x[0]);
    refused_here(NOT_ACTIVE, || y += &x[0]);
    refused_here(NOT_ACTIVE, || y += 1.0);
    refused_here(NOT_ACTIVE, || y -= x[0] * x[1]);
    refused_here(NOT_ACTIVE, || y *= x[0].sin());
    refused_here(NOT_ACTIVE, || y /= 2.0);
    refused_here(NOT_ACTIVE, || y %= &x[0]);
    refused_here(NOT_ACTIVE, || tapewright::sum(&x));
    refused_here(NOT_ACTIVE, || tapewright::dot(&x, &x));
    refused_here(NOT_ACTIVE, || tapewright::linear_combination(&[1.0, 2.0], &x));
    refused_here(NOT_ACTIVE, || tapewright::logsumexp(&x));
    assert_eq!(y.value(), 5.0, "a refused assignment assigns nothing");
}

fn passive_statements_need_no_recording<S: Copying>() {
    let x = Real::<S>::from(3.0);
    let mut y: Real<S> = (x * x + 1.0).into();
    y += tapewright::sum(&[x, y]);
    assert_eq!(y.value(), 23.0);
    let mut tape = Tape::<S>::new();
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.0));
}

fn a_refused_statement_leaves_the_recording_as_it_was<S: Copying>() {
    let (stale, _) = record_small(&mut Tape::<S>::new());
    let mut tape = Tape::<S>::new();
    let made = tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let z: Real<S> = (x[0] * x[1] + x[1]).into();
        refused_here(TWO, || (z * stale[0]).eval());
        refused_here(NOT_ACTIVE, || (stale[1] * stale[0]).eval());
        (x, z)
    });
    let report = tape.memory();
    assert_eq!(report.statements, 1);
    assert_small(&mut tape, &made);
}

/// Fills a tape of seven identifiers, with two inputs, and returns what it holds: x·yᵏ, k = 1…5.
macro_rules! exhausts {
    ($($name:ident $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            let mut tape = Tape::<$strategy>::new();
            tape.tape_mut().limit_identifiers(7);
            let (x, z) = tape.record(|scope| {
                let x = scope.inputs(&[3.0, 2.0]);
                let mut z = x[0];
                (0..5).for_each(|_| z *= x[1]);
                let full = "out of identifiers: the recording has 7 inputs and statements";
                refused_here(full, || (z * 2.0).eval());
                refused_here(full, || z += x[0]);
                refused_here(full, || tapewright::sum(&x));
                refused_here(full, || tapewright::dot(&x, &x));
                assert!(panic_of(|| scope.input(1.0)).message.contains(full));
                assert!(panic_of(|| scope.inputs(&[1.0, 2.0])).message.contains(full));
                (x, z)
            });
            assert_eq!((z.value(), tape.memory().statements), (96.0, 5));
            let swept = tape.sweep(&[(&z, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
            assert_eq!(swept, Ok(vec![32.0, 240.0]));
            works(&mut tape);
            let mut gradient = [0.0; 8];
            let many = panic_of(|| tape.gradient(|x| x[0], &[1.0; 8], &mut gradient)).message;
            assert!(many.contains("7 inputs"), "{many}");
            works(&mut tape);
            tape.tape_mut().limit_identifiers(u64::MAX);
            tape.gradient(|x| tapewright::sum(x), &[1.0; 8], &mut gradient).expect("lengths agree");
            assert_eq!(gradient, [1.0; 8]);
        }
    )* };
}
exhausts! {
    running_out_of_identifiers_loses_nothing_jacobian Jacobian;
    running_out_of_identifiers_loses_nothing_primal_value PrimalValue;
    running_out_of_identifiers_loses_nothing_jacobian_u64 Jacobian<f64, Linear<u64>>;
    running_out_of_identifiers_loses_nothing_primal_value_u64 PrimalValue<f64, Linear<u64>>;
}

#[test]
fn inputs_beyond_the_limit_are_refused() {
    let mut tape = Tape::<Jacobian>::new();
    tape.tape_mut().limit_identifiers(1);
    tape.record(|scope| {
        scope.input(1.0);
        assert!(panic_of(|| scope.input(2.0)).message.contains("has 1 inputs and statements"));
        assert!(panic_of(|| scope.inputs(&[2.0])).message.contains("has 1 inputs and statements"));
    });
}
