//! Storage of tapes: where records are, what they cost, which of them are read back, and what happens where they go to
//! disk. `strategies/tests` tests the containers that tapes rest on.

#[path = "storage/elements.rs"]
mod elements;
#[path = "storage/spilling.rs"]
mod spilling;

use tapewright::Spilled;
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::strategies::Spills;
use tapewright::tape::{AdjointVector, Position};
use tapewright_test_support::counting::{Counting, allocations};
use tapewright_test_support::skipped;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Statements from `y` on, one argument each.
fn chain<S: Taping<Value = f64>>(y: &Real<S>, statements: usize) -> Real<S> {
    (0..statements).fold(y.clone(), |y, _| (&y * 1.5).into())
}

/// What a tape allocates for so many statements; the number of statements is kept.
fn allocations_of<S: Reverse<Value = f64>>(tape: &mut Tape<S>, statements: usize) -> usize {
    let count = || {
        tape.record(|scope| {
            let x = scope.input(1.0);
            let _ = chain(&x, statements);
        });
    };
    allocations(count).1
}

/// Makes the process and this thread allocate what they keep for a strategy, and not for a tape.
fn warm_up<S: Reverse<Value = f64>>() {
    let _ = allocations_of(&mut Tape::<S>::new(), 1);
}

#[test]
fn sixty_four_statements_on_a_fresh_tape_allocate_nothing() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let ((x, y), calls) = allocations(|| {
            tape.record(|scope| {
                let x = [2.0, 3.0, 5.0, 7.0].map(|x| scope.input(x));
                let mut y = x[0].clone();
                for _ in 0..16 {
                    y = (&y * 0.5).into();
                    y = (&y + &x[1]).into();
                    y = (&x[2] * &x[3] + &y).into();
                    y = (&y * &x[1] + &x[2] * &x[3]).into();
                }
                (x, y)
            })
        });
        let strategy = std::any::type_name::<S>();
        assert_eq!((calls, tape.memory().statements), (0, 64), "{strategy}");
        // The step is y → 1.5 y + 9 + 4 · 35 at the inputs.
        let found = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x[0])).expect("its own");
        assert_eq!(found, 1.5_f64.powi(16), "{strategy}");
    }
    // A thread of its own, which has recorded nothing yet.
    fn check<S: Reverse<Value = f64>>() {
        std::thread::spawn(holds::<S>).join().expect("it holds");
    }
    check::<Jacobian>();
    check::<Jacobian<f64, Reuse>>();
    check::<Jacobian<f64, Linear, Shared>>();
    check::<Jacobian<f64, Linear, Spilled>>();
    check::<PrimalValue>();
    check::<PrimalValue<f64, Reuse>>();
    check::<Continuation>();
}

/// How often lists that double have grown.
fn doublings(n: usize) -> usize {
    usize::try_from(n.ilog2()).expect("small") + 1
}

#[test]
fn a_statement_costs_as_many_allocations_at_every_length() {
    fn holds<S: Reverse<Value = f64>>(lists: usize) {
        warm_up::<S>();
        for exponent in 2..=if std::env::var_os("TAPEWRIGHT_BIG").is_some() { 8 } else { 6 } {
            let statements = 10_usize.pow(exponent);
            let mut tape = Tape::<S>::new();
            let found = allocations_of(&mut tape, statements);
            let segments = tape.memory().total().used.div_ceil(1 << 20);
            // Each segment takes at most two, and beside them there are lists that double.
            let most = 8 + 2 * segments + lists * doublings(statements);
            assert!(found <= most, "{found} allocations for {statements} statements in {segments} segments");
        }
    }
    if std::env::var_os("TAPEWRIGHT_BIG").is_none() {
        skipped("up to a million statements; set TAPEWRIGHT_BIG=1 for a hundred million");
    }
    holds::<Jacobian>(1);
    holds::<PrimalValue<f64, Reuse>>(2);
}

#[test]
fn what_is_forgotten_is_used_again_without_an_allocation() {
    fn holds<S: Reverse<Value = f64>>() {
        const STATEMENTS: usize = 300_000;
        let mut tape = Tape::<S>::new();
        let x = tape.record(|scope| scope.input(1.0));
        let start = tape.position();
        let again = |tape: &mut Tape<S>| {
            let more = allocations(|| tape.resume(|scope| chain(&scope.renew(&x).expect("its input"), STATEMENTS))).1;
            let less = allocations(|| tape.reset_to(&start).expect("in memory")).1;
            (more, less)
        };
        let (first, _) = again(&mut tape);
        assert!(first > 2, "{first}");
        let reserved = tape.memory().total().reserved;
        for _ in 0..5 {
            let (more, less) = again(&mut tape);
            assert_eq!((more, tape.memory().total().reserved), (0, reserved));
            assert!(less <= 1, "{less}: values before what is forgotten are put together aside");
        }
    }
    holds::<Jacobian>();
    holds::<Jacobian<f64, Reuse>>();
    holds::<PrimalValue>();
    holds::<PrimalValue<f64, Reuse>>();
    holds::<Hybrid<f64, Reuse>>();
    holds::<Continuation>();
}

#[test]
fn eight_threads_record_on_shared_memory_and_lose_nothing() {
    let big = std::env::var_os("TAPEWRIGHT_BIG").is_some();
    let statements: usize = if big { 1_000_000 } else { 100_000 };
    let steps = |x: &[Real<Jacobian<f64, Linear, Shared>>]| (0..statements).fold(x[0], |y, _| (y + x[0] * 0.5).into());
    std::thread::scope(|threads| {
        for k in 1..=8 {
            threads.spawn(move || {
                let mut tape = Tape::<Jacobian<f64, Linear, Shared>>::new();
                let mut slope = [0.0];
                for _ in 0..2 {
                    tape.gradient(steps, &[f64::from(k)], &mut slope).expect("lengths agree");
                    // Multiples of a half, exact.
                    assert_eq!(slope, [1.0 + 0.5 * f64::from(u32::try_from(statements).expect("few"))]);
                    assert_eq!(tape.memory().statements, statements);
                }
            });
        }
    });
}

#[test]
fn a_tape_of_one_thread_is_not_larger_and_holds_no_lock() {
    // The lock of the shared layer is one of the process.
    assert_eq!(size_of::<Tape<Jacobian>>(), size_of::<Tape<Jacobian<f64, Linear, Shared>>>());
    warm_up::<Jacobian>();
    warm_up::<Jacobian<f64, Linear, Shared>>();
    let own = allocations_of(&mut Tape::<Jacobian>::new(), 1000);
    assert_eq!(own, allocations_of(&mut Tape::<Jacobian<f64, Linear, Shared>>::new(), 1000));
}

const SLAB: usize = 4096;
const MEMORY: usize = 8 * (SLAB + 4096);

/// A chain on a tape of few slabs, and the positions behind its parts.
fn in_parts<S: Spills<Value = f64>>(parts: usize) -> (Tape<S>, Vec<Position>, Vec<Real<S>>) {
    let options = SpillOptions::default().slab(SLAB).memory(MEMORY);
    let mut tape = Tape::<S>::spilled(options).expect("a temporary directory");
    let x = tape.record(|scope| scope.input(1.0));
    let (mut positions, mut ends) = (vec![tape.position()], vec![x]);
    for part in 1..=parts {
        let last = ends[part - 1].clone();
        ends.push(tape.resume(|scope| {
            let y = scope.renew(&last).expect("the end of the part before");
            (0..300).fold(y, |y, _| (&y * (1.0 + 1.0 / 1024.0)).into())
        }));
        positions.push(tape.position());
    }
    (tape, positions, ends)
}

#[test]
fn parts_of_a_spilled_tape_are_read_in_any_order_and_the_last_slabs_stay_in_memory() {
    const PARTS: usize = 60;
    let (tape, positions, ends) = in_parts::<Jacobian<f64, Linear, Spilled>>(PARTS);
    assert!(tape.spill_usage().on_disk > 2 * MEMORY as u64, "{:?}", tape.spill_usage());
    let factor = (1.0 + 1.0 / 1024.0_f64).powi(300);
    let slope_of = |part: usize| {
        let mut adjoints = AdjointVector::new();
        tape.seed(&mut adjoints, &[(&ends[part], 1.0)]).expect("of this recording");
        let swept = tape.sweep_between(&mut adjoints, &positions[part], &positions[part - 1]);
        let slope = swept.and_then(|found| found.of(&ends[part - 1])).expect("readable");
        assert!((slope - factor).abs() < 1e-11 * factor, "{slope} in part {part}");
    };
    // A multiplicative order of all parts.
    (1..=PARTS).for_each(|k| slope_of(k * 17 % 61));
    let before = tape.spill_usage();
    assert!(before.read > 0 && before.peak_resident <= MEMORY + SLAB + 4096 + before.in_flight_limit, "{before:?}");
    // Two parts have fewer bytes than three slabs.
    for k in 0..10 {
        slope_of(PARTS - k % 2);
    }
    assert_eq!(tape.spill_usage().read, before.read, "the last slabs are in memory");
}

#[test]
fn a_file_does_not_grow_when_parts_are_forgotten_and_recorded_again() {
    fn holds<S: Spills<Value = f64>>() {
        let (mut tape, positions, ends) = in_parts::<S>(20);
        let mut file = 0;
        for round in 0..30 {
            tape.resume(|scope| {
                let y = scope.renew(&ends[20]).expect("the end of the last part");
                (0..9000).fold(y, |y, _| (&y * (1.0 + 1.0 / 1024.0)).into())
            });
            tape.reset_to(&positions[20]).expect("readable");
            let now = tape.spill_usage().file_bytes;
            if round == 0 {
                file = now + 2 * SLAB as u64; // slabs that were still on their way, or not yet
            }
            assert!(now <= file, "{now} bytes in round {round}, {file} before");
        }
    }
    holds::<Jacobian<f64, Linear, Spilled>>();
    holds::<PrimalValue<f64, Reuse, Spilled>>();
}
