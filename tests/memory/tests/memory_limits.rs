//! No memory, and capacities that nobody can have: panics that say what was needed, and tapes that go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::prelude::*;
use tapewright::tape::LaneVector;
use tapewright::{Capacity, Number, Shared, Spilled};

#[cfg(target_os = "linux")]
#[path = "memory_limits/children.rs"]
mod children;

/// Runs `$f::<strategy>()` for strategies of every kind of tape, index management and layer.
macro_rules! each {
    ($f:ident) => {
        $f::<tapewright::Jacobian>();
        #[cfg(feature = "wide")]
        $f::<tapewright::Jacobian<f64, tapewright::Reuse>>();
        #[cfg(feature = "wide")]
        $f::<tapewright::Jacobian<f64, tapewright::Linear<u64>>>();
        #[cfg(feature = "wide")]
        $f::<tapewright::Jacobian<f32, tapewright::Linear, tapewright::Shared>>();
        #[cfg(feature = "wide")]
        $f::<tapewright::PrimalValue>();
        $f::<tapewright::PrimalValue<f64, tapewright::Reuse>>();
        #[cfg(feature = "wide")]
        $f::<tapewright::PrimalValue<f64, tapewright::Linear<u64>, tapewright::Shared>>();
        #[cfg(feature = "wide")]
        $f::<tapewright::Hybrid>();
        #[cfg(feature = "wide")]
        $f::<tapewright::Hybrid<f64, tapewright::Reuse>>();
        #[cfg(feature = "wide")]
        $f::<tapewright::Continuation>();
        $f::<tapewright::Continuation<f64, tapewright::Reuse>>();
    };
}
pub(crate) use each;

/// What the panic of `f` says.
#[track_caller]
fn refused<R>(f: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else { panic!("there was memory") };
    panic.downcast_ref::<String>().expect("a text").clone()
}

/// The tape records and sweeps as ever.
#[track_caller]
fn assert_usable<S: Reverse>(tape: &mut Tape<S>) {
    let value = S::Value::from_f64;
    let mut slope = [value(0.0)];
    let found = tape.gradient(|x| (0..100).fold(x[0].clone(), |y, _| (y + &x[0]).into()), &[value(2.0)], &mut slope);
    assert_eq!((found, slope), (Ok(value(202.0)), [value(101.0)]));
}

fn capacities(of: usize) -> [Capacity; 4] {
    let none = Capacity::default();
    [
        Capacity { inputs: of, ..none },
        Capacity { statements: of, ..none },
        Capacity { arguments: of, ..none },
        Capacity { inputs: of, statements: of, arguments: of },
    ]
}

#[test]
fn a_capacity_of_more_bytes_than_there_can_be_is_refused_by_name() {
    fn holds<S: Reverse>() {
        for of in [usize::MAX, usize::MAX / 2 + 1] {
            for capacity in capacities(of) {
                let found = refused(|| Tape::<S>::with_capacity(capacity));
                assert!(found.starts_with(&format!("a capacity of {capacity} cannot be reserved")), "{found}");
                let mut tape = Tape::<S>::new();
                assert_usable(&mut tape);
                refused(|| tape.reserve(capacity));
                assert_usable(&mut tape);
            }
        }
    }
    each!(holds);
    holds::<Jacobian<f64, Linear, Spilled>>();
    holds::<Hybrid<f64, Reuse, Spilled>>();
}

/// As many bytes as there are addresses: no system promises them, whatever it does otherwise.
#[cfg(target_pointer_width = "64")]
#[test]
fn a_capacity_that_the_allocator_does_not_have_is_refused_with_its_bytes() {
    fn holds<S: Reverse>() {
        let mut tape = Tape::<S>::new();
        for capacity in capacities(1 << 47) {
            let found = refused(|| tape.reserve(capacity));
            assert!(found.starts_with("out of memory: the allocator has no "), "{found}");
            assert_usable(&mut tape);
        }
    }
    each!(holds);
    // What is spilled needs adjoints all the same.
    let mut tape = Tape::<Jacobian<f64, Linear, Spilled>>::new();
    let found = refused(|| tape.reserve(Capacity { inputs: 1 << 47, ..Capacity::default() }));
    assert!(found.contains("no 1125899906842632 bytes for the adjoints of 140737488355329 identifiers"), "{found}");
    assert_usable(&mut tape);
}

#[cfg(target_pointer_width = "64")]
#[test]
fn lanes_that_the_allocator_does_not_have_are_refused_with_their_bytes() {
    let found = refused(|| LaneVector::<f64>::new(1 << 47));
    assert!(
        found.contains("no 1125899906842624 bytes for the adjoints of 1 identifiers in 140737488355328 lanes"),
        "{found}"
    );
    refused(|| LaneVector::<f64>::new(usize::MAX));
}

/// The first segment of a tape is smaller than the others.
#[test]
fn shared_memory_is_reserved_in_full() {
    let capacity = Capacity { statements: 1 << 20, arguments: 1 << 21, inputs: 1 << 19 };
    let tape = Tape::<Jacobian<f64, Linear, Shared>>::with_capacity(capacity);
    let (bytes, found) = (capacity.bytes(1, 1, 12), tape.memory().usage("free").reserved);
    assert!(found >= bytes, "{found} of {bytes}");
}

#[cfg(not(target_os = "linux"))]
#[test]
fn what_needs_linux_is_not_tested() {
    tapewright_test_support::skipped("programs in too little memory, which need limits of the system");
}
