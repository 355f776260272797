//! Tapes whose records go to disk: the same gradients, bit for bit, within the budgets.

use super::{MEMORY, SLAB};
use tapewright::prelude::*;
use tapewright::storage::{SpillOptions, SpillUsage, StorageError};
use tapewright::strategies::Spills;
use tapewright::tape::AdjointVector;
use tapewright::{Error, Spilled, logsumexp, sum};
use tapewright_test_support::skipped;

mod faults;
mod stores;

/// Strategies whose records go to disk.
trait Spilling: Spills<Value = f64, Variable: Send + Sync, Id: Send + Sync, Tape: Sync> {}
impl<S: Spills<Value = f64, Variable: Send + Sync, Id: Send + Sync, Tape: Sync>> Spilling for S {}

/// Runs `$f::<strategy in memory, the same with a file>($arguments)`.
macro_rules! each {
    ($f:ident $(, $argument:expr)*) => {
        $f::<Jacobian, Jacobian<f64, Linear, Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<Jacobian<f64, Reuse>, Jacobian<f64, Reuse, Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<PrimalValue, PrimalValue<f64, Linear, Spilled>>($($argument),*);
        $f::<PrimalValue<f64, Reuse>, PrimalValue<f64, Reuse, Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<Hybrid, Hybrid<f64, Linear, Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<Hybrid<f64, Reuse>, Hybrid<f64, Reuse, Spilled>>($($argument),*);
    };
}
pub(crate) use each;
/// The same for the strategies with a file alone.
macro_rules! each_spilled {
    ($f:ident $(, $argument:expr)*) => {
        $f::<Jacobian<f64, Linear, tapewright::Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<Jacobian<f64, Reuse, tapewright::Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<PrimalValue<f64, Linear, tapewright::Spilled>>($($argument),*);
        $f::<PrimalValue<f64, Reuse, tapewright::Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<Hybrid<f64, Linear, tapewright::Spilled>>($($argument),*);
        #[cfg(feature = "wide")]
        $f::<Hybrid<f64, Reuse, tapewright::Spilled>>($($argument),*);
    };
}
pub(crate) use each_spilled;

/// A slab as the allocator gives it, at most.
const TAKEN: usize = SLAB + 4096;

fn options() -> SpillOptions {
    SpillOptions::default().slab(SLAB).memory(MEMORY)
}

/// `n` statements, some of them with passive arguments, and every now and then one of `wide` arguments.
fn steps<S: Taping>(x: &[Real<S>], n: usize, wide: u32) -> Vec<Real<S>> {
    let mut y = x.to_vec();
    let passive = Real::from(0.5);
    for k in 0..n {
        let (i, j) = (k % 3, (k + 1) % 3);
        y[i] = if k % 5 == 0 {
            (y[i].cos() * &passive + &y[j] * 0.25).into()
        } else {
            (y[i].sin() * &y[j] + &x[i] * 0.25).into()
        };
        if wide > 0 && k % 97 == 0 {
            let many: Vec<_> = y.iter().cycle().take(wide as usize).cloned().collect();
            y[j] = (logsumexp(&many) - (f64::from(wide)).ln() + sum(&many) / (4.0 * f64::from(wide))).into();
        }
    }
    y
}

fn on_disk(usage: SpillUsage) -> usize {
    usize::try_from(usage.on_disk).expect("small")
}

const AT: [f64; 3] = [0.3, 0.7, 1.1];

fn recorded<S: Reverse<Value = f64>>(tape: &mut Tape<S>, n: usize, wide: u32) -> (Vec<Real<S>>, Vec<Real<S>>) {
    tape.record(|scope| {
        let x = scope.inputs(&AT);
        let y = steps(&x, n, wide);
        (x, y)
    })
}

/// The gradients of all outputs, as bits.
fn gradients<S: Reverse<Value = f64>>(tape: &mut Tape<S>, x: &[Real<S>], y: &[Real<S>]) -> Vec<Vec<u64>> {
    let of = |y| tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(x)).expect("readable");
    y.iter().map(of).map(|gradient| gradient.into_iter().map(f64::to_bits).collect()).collect()
}

fn gradients_in_memory<M: Reverse<Value = f64>>(n: usize, wide: u32) -> Vec<Vec<u64>> {
    let mut tape = Tape::<M>::new();
    let (x, y) = recorded(&mut tape, n, wide);
    gradients(&mut tape, &x, &y)
}

fn same_gradient<M: Reverse<Value = f64>, S: Spilling>(n: usize) {
    let expected = gradients_in_memory::<M>(n, 0);
    assert!(expected.iter().flatten().any(|bits| f64::from_bits(*bits) != 0.0));
    let mut tape = Tape::<S>::spilled(options()).expect("a temporary directory");
    let usage = tape.spill_usage();
    assert!(usage.on_disk == 0 && usage.peak_resident <= TAKEN, "a slab to begin with: {usage:?}");
    let (x, y) = recorded(&mut tape, n, 0);
    let usage = tape.spill_usage();
    let records =
        tape.memory().total().used - tape.memory().usage("adjoints").used - tape.memory().usage("values").used;
    assert!(records > 2 * MEMORY && on_disk(usage) + usage.resident + SLAB >= records - 8192, "{usage:?}");
    assert!(on_disk(usage) > records - MEMORY - SLAB, "{usage:?} for {records} bytes");
    for _ in 0..2 {
        assert_eq!(gradients(&mut tape, &x, &y), expected);
    }
    let usage = tape.spill_usage();
    assert!(usage.read > 0 && usage.written > 0 && usage.file_bytes >= usage.on_disk, "{usage:?}");
    assert!(usage.peak_resident <= MEMORY + TAKEN + usage.in_flight_limit, "{usage:?}");
    assert!(usage.in_flight_limit <= 4 * TAKEN, "{usage:?}");
}

#[test]
fn spilled_gradients_are_those_in_memory_bit_for_bit() {
    each!(same_gradient, 10_000);
}

#[test]
fn a_recording_within_the_budget_stays_in_memory() {
    fn holds<S: Spilling>() {
        let mut tape = Tape::<S>::spilled(options()).expect("a temporary directory");
        let (x, y) = recorded(&mut tape, 100, 0);
        assert!(gradients(&mut tape, &x, &y).iter().flatten().any(|bits| f64::from_bits(*bits) != 0.0));
        assert_eq!((tape.spill_usage().on_disk, tape.spill_usage().written), (0, 0));
    }
    each_spilled!(holds);
}

fn same_when_swept_at_once<M: Reverse<Value = f64>, S: Spilling>() {
    let expected = gradients_in_memory::<M>(3000, 0);
    let mut tape = Tape::<S>::spilled(options()).expect("a temporary directory");
    let (x, y) = recorded(&mut tape, 3000, 0);
    let (tape, x, y, expected) = (&tape, &x, &y, &expected);
    std::thread::scope(|threads| {
        for k in 0..4 {
            threads.spawn(move || {
                let mut adjoints = AdjointVector::new();
                for at in [k % 3, (k + 1) % 3] {
                    let swept = tape.sweep_with(&mut adjoints, &[(&y[at], 1.0)]).and_then(|found| found.of_all(x));
                    let bits: Vec<u64> = swept.expect("readable").into_iter().map(f64::to_bits).collect();
                    assert_eq!(bits, expected[at], "thread {k}, output {at}");
                }
            });
        }
    });
    let usage = tape.spill_usage();
    assert!(usage.peak_resident <= MEMORY + 4 * TAKEN + usage.in_flight_limit, "{usage:?}");
    assert!(usage.in_flight_limit <= (2 + 2 * 4) * TAKEN, "{usage:?}");
}

#[test]
fn four_threads_may_sweep_one_spilled_recording() {
    each!(same_when_swept_at_once);
}

fn same_with_wide_statements<M: Reverse<Value = f64>, S: Spilling>() {
    // 8000 bytes of identifiers, or 24 000 with their partials, in slabs of 4096.
    let (n, wide) = (1000, 2000);
    let expected = gradients_in_memory::<M>(n, wide);
    let mut tape = Tape::<S>::spilled(options().memory(32 * TAKEN)).expect("a temporary directory");
    let (x, y) = recorded(&mut tape, n, wide);
    assert_eq!(gradients(&mut tape, &x, &y), expected);
    assert_eq!(gradients(&mut tape, &x, &y), expected);
    let usage = tape.spill_usage();
    let largest = 12 * wide as usize + 2 * TAKEN;
    assert!(usage.on_disk > 0 && usage.peak_resident <= 32 * TAKEN + largest + usage.in_flight_limit, "{usage:?}");
}

#[test]
fn statements_may_be_larger_than_a_slab() {
    each!(same_with_wide_statements);
}

#[test]
fn bad_options_are_found_when_the_tape_is_made() {
    fn holds<S: Spilling>() {
        let file = std::env::current_exe().expect("this program");
        let directory = file.join("below");
        let error = Tape::<S>::spilled(options().directory(&directory)).expect_err("a file is no directory");
        let Error::Storage(StorageError::Io { path, kind, .. }) = &error else { panic!("{error:?}") };
        assert_eq!((path, *kind), (&directory, std::io::ErrorKind::NotADirectory));
        assert!(error.to_string().contains(&directory.display().to_string()), "{error}");
        let error = Tape::<S>::spilled(options().memory(SLAB)).expect_err("one slab is too few");
        assert!(matches!(error, Error::Storage(StorageError::MemoryBudget { budget: SLAB, .. })), "{error:?}");
        assert!(error.to_string().contains("SpillOptions::memory"), "{error}");
    }
    each_spilled!(holds);
}

/// A statement of four arguments, each with a partial of its own.
fn chain<S: Taping>(x: &[Real<S>], n: usize) -> Real<S> {
    (0..n).fold(x[0].clone(), |y, _| (y.sin() * &x[1] + x[2].cos() * &y).into())
}

#[test]
fn a_tape_of_2_gb_spilled_to_an_eighth_gives_the_gradient_of_memory() {
    if std::env::var_os("TAPEWRIGHT_BIG").is_none() {
        skipped("writes 2 GB to disk and takes as much memory; set TAPEWRIGHT_BIG=1");
        return;
    }
    // 5 + 12·4 bytes each.
    let n = 41_000_000;
    let mut expected = [0.0; 3];
    let mut tape = Tape::<Jacobian<f64, Reuse>>::new();
    let value = tape.gradient(|x| chain(x, n), &AT, &mut expected).expect("lengths agree");
    let bytes = tape.memory().total().used;
    assert!(bytes >= 2 << 30, "{bytes}");
    drop(tape);
    let memory = bytes / 8;
    let options = SpillOptions::default().memory(memory);
    let mut tape = Tape::<Jacobian<f64, Reuse, Spilled>>::spilled(options).expect("a temporary directory");
    let mut gradient = [0.0; 3];
    assert_eq!(tape.gradient(|x| chain(x, n), &AT, &mut gradient).expect("room on disk"), value);
    assert_eq!(gradient.map(f64::to_bits), expected.map(f64::to_bits));
    let usage = tape.spill_usage();
    let slab = (1 << 20) + 4096;
    assert!(usage.peak_resident <= memory + slab + usage.in_flight_limit, "{usage:?}");
    assert!(on_disk(usage) > bytes - memory - slab, "{usage:?}");
}
