//! Panics that tests expect: their texts, and the lines that they name. Functions take references to closures, so that
//! they are compiled once and not for each panic.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Place of the latest panic of this thread.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
    /// Number of panics that this thread is ready to catch.
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

/// Returns true if `f` panics, and prints nothing then.
pub fn panics(f: &mut dyn FnMut()) -> bool {
    caught(f).is_err()
}

fn caught(f: &mut dyn FnMut()) -> Result<(), Box<dyn std::any::Any + Send>> {
    install_hook();
    EXPECTED.set(EXPECTED.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(f));
    EXPECTED.set(EXPECTED.get() - 1);
    outcome
}

/// Text of the panic of `f`, if it panics with one.
pub fn text_of_panic(f: &mut dyn FnMut()) -> Option<String> {
    let payload = caught(f).err()?;
    payload.downcast::<String>().map(|s| *s).or_else(|p| p.downcast::<&str>().map(|s| (*s).to_owned())).ok()
}

/// Text of the panic of `f`.
///
/// # Panics
///
/// If `f` does not, or not with a text.
#[track_caller]
pub fn panic_of(f: &mut dyn FnMut()) -> String {
    text_of_panic(f).expect("it panics, with a text")
}

/// Runs a one-line closure that must panic with a message that contains `part`, and name the line of this very call.
///
/// # Panics
///
/// If it does not.
#[track_caller]
pub fn refused_here(part: &str, f: &mut dyn FnMut()) {
    let message = panic_of(f);
    assert!(message.contains(part), "{part:?} is not in {message:?}");
    let (here, place) = (Location::caller(), PLACE.take().expect("the hook has run"));
    assert_eq!((place.0.as_str(), place.1), (here.file(), here.line()), "place of {message:?}");
}
