//! Memory of views and of their adjoints: it does not grow with the number of recordings, whatever the lengths.

use tapewright::Spilled;
use tapewright::kernels::{parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::tape::LaneVector;
use tapewright_test_support::Random;
use tapewright_test_support::counting::{Counting, LIVE, allocations, live_since, peak};

#[global_allocator]
static COUNTING: Counting = Counting;

/// The largest view.
const LONGEST: usize = 2_000;

/// The lengths of some views: long and short ones, one of them or several.
fn lengths(random: &mut Random) -> Vec<usize> {
    let scale = *random.pick(&[40, 300, LONGEST]);
    (0..=random.below(6)).map(|_| random.within(1, scale)).collect()
}

/// A sum over views of these lengths, each of which is written twice, with reads beyond its borders; some are gone
/// before the next comes.
fn record<S: Reverse<Value = f64>>(tape: &mut Tape<S>, lengths: &[usize], numbers: &[f64]) -> (Real<S>, Real<S>) {
    tape.record(|scope| {
        let k = scope.input(0.5);
        let (mut sum, mut last) = (Real::from(0.0), None);
        for length in lengths {
            let x = scope.view([*length], &numbers[..*length]);
            let mut y = x.clone();
            parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>(),));
            parallel_for(y.all(), (&mut y, &k), |(y, k)| (y.at::<0>() * k + y.or_zero::<1>() - y.nearest::<-2>(),));
            sum += parallel_sum(y.all(), (&x, &y), |(x, y)| y.at::<0>().square() * x.at::<0>());
            if length % 3 > 0 {
                last = Some(y);
            }
        }
        drop(last);
        (k, sum)
    })
}

/// Which sweeps follow.
#[derive(Clone, Copy, Debug)]
enum Sweeps {
    One,
    Lanes,
    /// Lanes of the caller, kept from recording to recording.
    Own,
}

/// One recording and its sweeps; the derivative.
fn run<S: Reverse<Value = f64>>(
    tape: &mut Tape<S>,
    lanes: &mut LaneVector<f64>,
    (lengths, numbers): (&[usize], &[f64]),
    sweeps: Sweeps,
) -> f64 {
    let (k, sum) = record(tape, lengths, numbers);
    let derivative = match sweeps {
        Sweeps::One => tape.sweep(&[(&sum, 1.0)]).expect("swept").of(&k),
        Sweeps::Lanes => {
            tape.sweep_lanes(&[(&sum, [1.0, 2.0, 3.0, 4.0])]).expect("swept").of(&k).map(|slopes| slopes[0])
        }
        Sweeps::Own => tape
            .sweep_lanes_with(lanes, &[(&sum, &[1.0, 2.0, 3.0, 4.0])])
            .expect("swept")
            .of(&k)
            .map(|slopes| slopes[0]),
    };
    derivative.expect("an input")
}

/// 3,000 recordings of random lengths on one tape: at no time is there more than twice what the largest one takes on a
/// tape of its own.
fn is_bounded<S: Reverse<Value = f64>>(recordings: usize, sweeps: Sweeps) {
    let numbers: Vec<f64> = (0..LONGEST).map(|k| f64::from(u32::try_from(k % 97).expect("small")) * 0.01).collect();
    let mut random = Random::new(7);
    // What a thread keeps is there already.
    run(&mut Tape::<S>::new(), &mut LaneVector::new(4), (&[LONGEST; 3], &numbers), sweeps);
    let (before, mut largest, mut most) = (LIVE.get(), 0, 0);
    let (mut tape, mut lanes) = (Tape::<S>::new(), LaneVector::new(4));
    for recording in 0..recordings {
        let lengths = lengths(&mut random);
        let what = (&lengths[..], &numbers[..]);
        let (expected, alone) = peak(|| run(&mut Tape::<S>::new(), &mut LaneVector::new(4), what, sweeps));
        largest = largest.max(alone);
        let own = size_of_val(&lengths[..]);
        let there = live_since(before) - own;
        let (found, more) = peak(|| run(&mut tape, &mut lanes, what, sweeps));
        assert_eq!(found.to_bits(), expected.to_bits(), "{lengths:?}");
        most = most.max(there + more);
        assert!(most <= 2 * largest, "recording {recording}, {sweeps:?}: {most} bytes, and {largest} for the largest");
        let reserved = tape.memory().total().reserved;
        assert!(reserved <= live_since(before) - own, "{reserved} bytes are said to be reserved");
    }
    drop((tape, lanes));
    assert_eq!(live_since(before), 0, "all is freed");
    // Last: what is printed may be kept by the thread.
    println!("{}, {sweeps:?}: {most} bytes for {largest}", core::any::type_name::<S>());
}

#[test]
fn memory_is_at_most_twice_that_of_the_largest_recording() {
    // The bound is tested after each recording.
    let recordings = if std::env::var_os("TAPEWRIGHT_BIG").is_some() { 3_000 } else { 200 };
    is_bounded::<Jacobian>(recordings, Sweeps::One);
    is_bounded::<Jacobian>(recordings, Sweeps::Lanes);
    is_bounded::<PrimalValue>(200, Sweeps::Own);
}

#[test]
fn what_goes_to_disk_leaves_no_more_memory_behind() {
    is_bounded::<Jacobian<f64, Linear, Spilled>>(60, Sweeps::One);
    is_bounded::<Jacobian<f64, Linear, Spilled>>(60, Sweeps::Lanes);
}

#[test]
fn the_second_of_two_equal_recordings_allocates_nothing() {
    let numbers = vec![0.5; LONGEST];
    for sweeps in [Sweeps::One, Sweeps::Lanes, Sweeps::Own] {
        let (mut tape, mut lanes, mut random) = (Tape::<Jacobian>::new(), LaneVector::new(4), Random::new(3));
        for _ in 0..20 {
            let lengths = lengths(&mut random);
            let mut again = || run(&mut tape, &mut lanes, (&lengths, &numbers), sweeps);
            again();
            let (_, calls) = allocations(again);
            assert_eq!(calls, 0, "{sweeps:?}, {lengths:?}");
        }
    }
}

#[test]
fn a_reset_keeps_the_memory_for_other_lengths() {
    let numbers = vec![0.5; LONGEST];
    let (mut tape, mut lanes) = (Tape::<Jacobian>::new(), LaneVector::new(4));
    run(&mut tape, &mut lanes, (&[LONGEST; 3], &numbers), Sweeps::One);
    let before = tape.memory();
    tape.reset();
    let after = tape.memory();
    assert_eq!(after.usage("array adjoints").used, 0);
    assert!(after.total().reserved >= before.usage("arrays").reserved, "{before:?}, {after:?}");
    let (_, calls) = allocations(|| run(&mut tape, &mut lanes, (&[LONGEST - 1, LONGEST - 70], &numbers), Sweeps::One));
    assert_eq!(calls, 0, "shorter views find longer ones");
}
