//! What the tests of recordings have in common: a small recording, and panics caught with their message and place.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;
use tapewright::prelude::*;

/// Runs each scenario under every strategy, and under 64-bit identifiers.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod jacobian { $( #[test] fn $name() { super::$name::<tapewright::Jacobian>(); } )* }
        mod primal_value { $( #[test] fn $name() { super::$name::<tapewright::PrimalValue>(); } )* }
        mod jacobian_u64 { $( #[test] fn $name() { super::$name::<tapewright::Jacobian<f64, tapewright::Linear<u64>>>(); } )* }
        mod primal_value_u64 { $( #[test] fn $name() { super::$name::<tapewright::PrimalValue<f64, tapewright::Linear<u64>>>(); } )* }
    };
}

/// Strategies with linear `f64` variables.
pub(crate) trait Copying: Reverse<Value = f64, Variable: Send + Sync> + Strategy {}
impl<S: Reverse<Value = f64, Variable: Send + Sync> + Strategy> Copying for S {}

/// x·y + y at (3, 5), and its variables.
pub(crate) fn record_small<S: Copying>(tape: &mut Tape<S>) -> (Vec<Real<S>>, Real<S>) {
    tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let z = (x[0] * x[1] + x[1]).into();
        (x, z)
    })
}

pub(crate) fn assert_small<S: Copying>(tape: &mut Tape<S>, (x, z): &(Vec<Real<S>>, Real<S>)) {
    let adjoints = tape.sweep(&[(z, 1.0)]).expect("the variables are the tape's");
    assert_eq!(adjoints.of_all(x), Ok(vec![5.0, 4.0]));
}

pub(crate) fn works<S: Copying>(tape: &mut Tape<S>) {
    let made = record_small(tape);
    assert_small(tape, &made);
}

/// What a panic said, and where.
pub(crate) struct Caught {
    pub(crate) message: String,
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
pub(crate) fn panic_of<R>(f: impl FnOnce() -> R) -> Caught {
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
pub(crate) fn refused_here<R>(part: &str, f: impl FnOnce() -> R) {
    let caught = panic_of(f);
    assert!(caught.message.contains(part), "{part:?} is not in {:?}", caught.message);
    let here = Location::caller();
    assert_eq!((caught.file.as_str(), caught.line), (here.file(), here.line()), "place of {:?}", caught.message);
}

pub(crate) const NOT_ACTIVE: &str = "which is not active on this thread";
pub(crate) const TWO: &str = "variables of two recordings";
