//! Disks without room: an error, and nothing lost.

use super::{MEMORY, SLAB, Spilling, each_spilled, options, recorded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::Error;
use tapewright::prelude::*;
use tapewright::storage::StorageError;

/// Some variables of a chain, with the derivatives that they must have.
pub(super) type Kept<S> = Vec<(Real<S>, f64)>;

/// Each step changes the derivative by as much, so that none may be missing.
const SMALL: f64 = 1.0 / (1 << 20) as f64;

/// Records a chain of small steps until there is no room: the error, the input, and every hundredth variable.
pub(super) fn fill<S: Spilling>(tape: &mut Tape<S>) -> (Error, Real<S>, Kept<S>) {
    let mut input = Real::default();
    let mut kept = Kept::<S>::new();
    let result = tape.try_record(|scope| {
        input = scope.input(0.5);
        let (mut y, mut slope) = (input.clone(), 1.0);
        for k in 0..100_000_000 {
            let new: Real<S> = (&y + y.sin() * SMALL).into();
            slope *= 1.0 + y.value().cos() * SMALL;
            y = new;
            if k % 100 == 0 {
                kept.push((y.clone(), slope));
            }
        }
    });
    (result.expect_err("100 million statements found room"), input, kept)
}

/// Sweeps from the first, the last and some between.
pub(super) fn assert_all_is_there<S: Spilling>(tape: &mut Tape<S>, input: &Real<S>, kept: &Kept<S>) {
    assert!(kept.len() > 10);
    for at in [0, 1, kept.len() / 2, kept.len() - 2, kept.len() - 1] {
        let (y, slope) = &kept[at];
        let found = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of(input)).expect("readable");
        assert!((found - slope).abs() <= 1e-9 * slope.abs(), "{found} is not {slope}, at {at} of {}", kept.len());
    }
}

pub(super) fn assert_records_again<S: Spilling>(tape: &mut Tape<S>) {
    let (x, y) = recorded(tape, 200, 0);
    let expected = super::gradients_in_memory::<Jacobian>(200, 0);
    let found = super::gradients(tape, &x, &y);
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        let (found, expected) = (f64::from_bits(*found), f64::from_bits(*expected));
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-6), "{found} is not {expected}");
    }
}

#[test]
fn a_disk_budget_is_an_error_and_everything_before_it_can_be_swept() {
    fn holds<S: Spilling>() {
        let budget = 40 * SLAB as u64;
        let mut tape = Tape::<S>::spilled(options().disk(budget)).expect("a temporary directory");
        for _ in 0..2 {
            let (error, input, kept) = fill(&mut tape);
            let Error::Storage(StorageError::DiskBudget { budget: named, needed, path, .. }) = &error else {
                panic!("{error:?}")
            };
            assert!(*named == budget && *needed > budget && *path == std::env::temp_dir(), "{error:?}");
            assert!(error.to_string().contains("SpillOptions::disk"), "{error}");
            assert_all_is_there(&mut tape, &input, &kept);
            let usage = tape.spill_usage();
            assert!(usage.file_bytes <= budget && usage.on_disk > 0, "{usage:?}");
            assert!(usage.peak_resident <= MEMORY + SLAB + 4096 + usage.in_flight_limit, "{usage:?}");
            assert_records_again(&mut tape);
        }
    }
    each_spilled!(holds);
}

#[test]
fn a_refused_statement_leaves_room_for_smaller_ones_and_is_recorded_later() {
    fn holds<S: Spilling>() {
        // A statement that is larger than all memory allowed.
        let mut tape = Tape::<S>::spilled(options()).expect("a temporary directory");
        let (x, y) = tape.record(|scope| {
            let x = scope.input(0.5);
            let y = (&x * &x).eval();
            let many = vec![y.clone(); 100_000];
            let wide = AssertUnwindSafe(|| tapewright::sum(&many));
            let refused = catch_unwind(wide).expect_err("400 kB do not fit");
            let text = refused.downcast_ref::<String>().expect("a text");
            assert!(text.starts_with("a statement was not recorded: "), "{text}");
            assert!(text.contains("Everything recorded before it is intact"), "{text}");
            assert!(text.contains("SpillOptions::memory"), "{text}");
            let narrow = tapewright::sum(&many[..100]);
            (x, (&narrow * &y).eval())
        });
        // 100·x⁴.
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(400.0 * 0.125));
        assert_records_again(&mut tape);
    }
    each_spilled!(holds);
}

#[test]
fn drivers_return_the_storage_error() {
    fn holds<S: Spilling>() {
        let mut tape = Tape::<S>::spilled(options().disk(10 * SLAB as u64)).expect("a temporary directory");
        let endless = |x: &[Real<S>]| (0..1_000_000).fold(x[0].clone(), |y, _| y.sin().into());
        let mut gradient = [0.0];
        let error = tape.gradient(endless, &[0.5], &mut gradient).expect_err("ten slabs are not enough");
        assert!(matches!(error, Error::Storage(StorageError::DiskBudget { .. })), "{error:?}");
        let value = tape.gradient(|x| (&x[0] * &x[0]).into(), &[3.0], &mut gradient);
        assert_eq!((value, gradient), (Ok(9.0), [6.0]));
        let other = catch_unwind(AssertUnwindSafe(|| tape.try_record(|_| panic!("of another kind"))));
        assert!(other.is_err(), "other panics are not storage errors");
    }
    each_spilled!(holds);
}
