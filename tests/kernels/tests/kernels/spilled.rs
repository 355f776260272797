//! Arrays that launches keep and that go to disk: the same derivatives, bit for bit, within the budgets.

#[cfg(target_os = "linux")]
mod files;

use super::{bits, numbers};
use tapewright::kernels::{View, parallel_for, parallel_max, parallel_row_sums, parallel_scan, parallel_sum};
use tapewright::prelude::*;
use tapewright::storage::{SpillDefaults, SpillOptions, SpillUsage, StorageError};
use tapewright::strategies::Spills;
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Error, Spilled};

/// Strategies whose recordings go to disk.
trait Spilling: Spills<Value = f64, Variable: Send + Sync, Id: Send + Sync, Tape: Sync> {}
impl<S: Spills<Value = f64, Variable: Send + Sync, Id: Send + Sync, Tape: Sync>> Spilling for S {}

type OnDisk = Jacobian<f64, Linear, Spilled>;

/// Elements of a view: a whole page.
const N: usize = 512;
/// Bytes of a view on disk, and in memory, where lanes may read beyond it.
const BYTES: usize = 8 * N;
const IN_MEMORY: usize = BYTES + 512;
/// Room for one slab, as the allocator gives it, and for ten arrays.
const MEMORY: usize = 2 * 4096 + 10 * IN_MEMORY;
/// What the recordings here need of arrays in memory while a launch runs: what views hold, and what the launch keeps.
const WORKING_SET: usize = 6 * IN_MEMORY;

fn options() -> SpillOptions {
    SpillOptions::default().slab(4096).memory(MEMORY)
}

/// Steps that are not linear, in place and beside the points, with launches that keep the same arrays.
fn march<S: Taping<Value = f64>>(x: &View<S, 1>, k: &Real<S>, steps: usize) -> Real<S> {
    let (mut u, mut v) = (x.clone(), View::filled(x.shape(), 0.25));
    let mut total = Real::constant(0.0);
    for step in 0..steps {
        parallel_for(u.all(), (&u, &mut v, k), |(u, v, k)| {
            (0.5 * v.at::<0>() * u.periodic::<1>() + k * u.at::<0>().sin(),)
        });
        parallel_for(1..N - 1, (&mut u, &v), |(u, v)| {
            (0.8 * u.at::<0>() + 0.2 * v.at::<0>() * u.at::<-1>() * u.at::<1>(),)
        });
        if step % 8 == 5 {
            let mut w = parallel_scan(&u, |a, b| 0.5 * a * b + b);
            parallel_for(w.all(), (&mut w, &mut v), |(w, v)| (w.at::<0>() * v.at::<0>(), w.new() * v.at::<0>().cos()));
            let grid = u.reshape([16, N / 16]);
            let rows: View<S, 1> = parallel_row_sums(grid.all(), &grid, |grid| grid.at::<0, 0>().square());
            total = (total + parallel_sum(rows.all(), &rows, |rows| 0.25 * rows.at::<0>())).into();
            total = (total + parallel_max(w.all(), (&w, &u), |(w, u)| w.at::<0>() * u.at::<0>())).into();
        }
    }
    (total + parallel_sum(u.all(), (&u, &v), |(u, v)| u.at::<0>().square() * v.at::<0>())).into()
}

/// Steps of the recordings here.
const STEPS: usize = 40;

/// A recording of `march`, of which most arrays are on disk if they may be.
fn marched<S: Reverse<Value = f64>>(tape: &mut Tape<S>, seed: usize) -> (View<S, 1>, Real<S>, Real<S>) {
    tape.try_record(|scope| {
        let (x, k) = (scope.view([N], &numbers(N, seed)), scope.input(0.75));
        let y = march(&x, &k, STEPS);
        (x, k, y)
    })
    .expect("room on disk")
}

/// The bits of both derivatives.
fn slopes<S: Reverse<Value = f64>>(tape: &mut Tape<S>, (x, k, y): &(View<S, 1>, Real<S>, Real<S>)) -> Vec<u64> {
    let adjoints = tape.sweep(&[(y, 1.5)]).expect("swept");
    let mut all = adjoints.of_view(x).expect("x").to_vec();
    all.push(adjoints.of(k).expect("k"));
    bits(&all)
}

fn expected<M: Reverse<Value = f64>>(seed: usize) -> Vec<u64> {
    let mut tape = Tape::<M>::new();
    let all = marched(&mut tape, seed);
    slopes(&mut tape, &all)
}

fn spilled<S: Spilling>() -> Tape<S> {
    Tape::spilled(options()).expect("a directory for temporary files")
}

/// Runs `$f::<strategy in memory, the same with a file>()`.
macro_rules! each {
    ($f:ident) => {
        $f::<Jacobian, OnDisk>();
        $f::<PrimalValue<f64, Reuse>, PrimalValue<f64, Reuse, Spilled>>();
    };
}

#[test]
fn sweeps_of_a_loop_beyond_the_budget_have_the_bits_of_those_in_memory() {
    each!(same_sweeps);
}

fn same_sweeps<M: Reverse<Value = f64>, S: Spilling>() {
    let (mut memory, mut disk) = (Tape::<M>::new(), spilled::<S>());
    for seed in [1, 2] {
        let (here, there) = (marched(&mut memory, seed), marched(&mut disk, seed));
        assert_eq!(slopes(&mut memory, &here), slopes(&mut disk, &there), "the first sweep");
        let seeds = [1.0, -2.5, f64::INFINITY];
        let (mut lanes, mut others) = (LaneVector::new(3), LaneVector::new(3));
        let here_lanes = memory.sweep_lanes_with(&mut lanes, &[(&here.2, &seeds)]).expect("swept");
        let before = disk.spill_usage().read;
        let there_lanes = disk.sweep_lanes_with(&mut others, &[(&there.2, &seeds)]).expect("swept");
        for lane in 0..3 {
            let found = there_lanes.of_view(&there.0, lane).expect("x");
            assert_eq!(bits(&found), bits(&here_lanes.of_view(&here.0, lane).expect("x")), "lane {lane}");
        }
        // One array of a launch may be kept by the next but one, too, and is then read twice. All lanes read it once.
        let (read, stored) = (disk.spill_usage().read - before, disk.spill_usage().arrays_on_disk);
        assert!(read >= stored && read <= 2 * stored + (MEMORY as u64), "{read} bytes of {stored}");
        let found = disk.jvp(&[(&there.1, 1.25)], &[&there.2]).expect("swept forward");
        assert_eq!(bits(&found), bits(&memory.jvp(&[(&here.1, 1.25)], &[&here.2]).expect("swept forward")));
        assert_eq!(slopes(&mut memory, &here), slopes(&mut disk, &there), "the last sweep");
    }
}

#[test]
fn memory_stays_within_the_budget_and_the_report_says_what_is_on_disk() {
    each!(within_the_budget);
}

fn within_the_budget<M: Reverse<Value = f64>, S: Spilling>() {
    let (mut memory, mut disk) = (Tape::<M>::new(), spilled::<S>());
    assert_eq!(disk.spill_usage().arrays_on_disk, 0);
    marched(&mut memory, 1);
    let all = marched(&mut disk, 1);
    let arrays = memory.memory().usage("arrays").used / IN_MEMORY;
    assert!(arrays > 2 * STEPS, "{arrays}");
    let usage = disk.spill_usage();
    assert_eq!(usage.arrays_on_disk as usize / BYTES + usage.arrays_resident / IN_MEMORY, arrays, "{usage:?}");
    // Together with the slabs, whose budget it is, too.
    assert!(usage.peak_arrays_resident <= MEMORY - 4096 + WORKING_SET, "{usage:?}");
    assert!(usage.arrays_resident + usage.resident <= MEMORY + WORKING_SET, "{usage:?}");
    let report = disk.memory().usage("arrays");
    assert_eq!(report.used, usage.arrays_on_disk as usize + usage.arrays_resident);
    let spare = report.reserved - report.used;
    assert!(usage.arrays_resident + spare <= MEMORY + WORKING_SET, "{spare} bytes of buffers and {usage:?}");
    assert!(usage.file_bytes >= usage.arrays_on_disk && usage.written >= usage.arrays_on_disk);
    // A sweep needs buffers for what two launches keep, and no others when it is repeated. The list of them grows in
    // the second.
    (0..2).for_each(|_| _ = slopes(&mut disk, &all));
    let reserved = disk.memory().usage("array adjoints").reserved;
    assert!(reserved <= 24 * IN_MEMORY, "{reserved}");
    slopes(&mut disk, &all);
    assert_eq!(disk.memory().usage("array adjoints").reserved, reserved);
}

#[test]
fn an_array_that_many_launches_keep_is_counted_and_written_once() {
    let record = |tape: &mut Tape<OnDisk>| {
        let recorded = tape.try_record(|scope| {
            let x = scope.view([N], &numbers(N, 3));
            let mut total = Real::constant(0.0);
            {
                let mut u = x.clone();
                parallel_for(u.all(), &mut u, |u| (u.at::<0>().sin(),));
                for _ in 0..100 {
                    total = (total + parallel_sum(u.all(), &u, |u| u.at::<0>().square())).into();
                }
            }
            // Others push it out.
            Real::<OnDisk>::from(total + march(&x, &scope.input(0.5), 20))
        });
        recorded.expect("room on disk")
    };
    let mut tape = spilled::<OnDisk>();
    record(&mut tape);
    let usage = tape.spill_usage();
    let arrays = usage.arrays_on_disk as usize / BYTES + usage.arrays_resident / IN_MEMORY;
    assert!(arrays < 80, "{arrays} of which one is kept by 100 launches");
    assert_eq!(usage.written, usage.arrays_on_disk, "each is written once");
}

#[test]
fn threads_sweep_one_recording_on_disk() {
    let mut tape = spilled::<OnDisk>();
    let (x, k, y) = marched(&mut tape, 4);
    let expected = expected::<Jacobian>(4);
    std::thread::scope(|threads| {
        let sweeps = (0..2).map(|_| {
            threads.spawn(|| {
                let mut vector = AdjointVector::new();
                for _ in 0..5 {
                    let adjoints = tape.sweep_with(&mut vector, &[(&y, 1.5)]).expect("swept");
                    assert_eq!(bits(&adjoints.of_view(&x).expect("x")), expected[..N]);
                    assert_eq!(adjoints.of(&k).expect("k").to_bits(), expected[N]);
                }
            })
        });
        sweeps.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

#[test]
fn a_sweep_in_two_parts_has_the_bits_of_one() {
    let mut tape = spilled::<OnDisk>();
    let recorded = tape.try_record(|scope| {
        let (x, k) = (scope.view([N], &numbers(N, 1)), scope.input(0.75));
        let mut u = x.clone();
        for _ in 0..30 {
            parallel_for(u.all(), (&mut u, &k), |(u, k)| (u.at::<0>() * u.or_zero::<1>() + k,));
        }
        let middle = scope.position();
        let y = march(&u, &k, 30);
        (x, y, middle)
    });
    let (x, y, middle) = recorded.expect("room on disk");
    let expected = bits(&tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x"));
    let mut vector = AdjointVector::new();
    for _ in 0..2 {
        vector.reset();
        tape.seed(&mut vector, &[(&y, 1.0)]).expect("seeded");
        tape.sweep_between(&mut vector, &tape.position(), &middle).expect("swept");
        let adjoints = tape.sweep_from_position(&mut vector, &middle).expect("swept");
        assert_eq!(bits(&adjoints.of_view(&x).expect("x")), expected);
    }
}

/// Bytes on disk and in memory, of arrays, and the size of the files.
fn taken(usage: SpillUsage) -> (u64, usize, u64) {
    (usage.arrays_on_disk, usage.arrays_resident, usage.file_bytes)
}

#[test]
fn what_is_forgotten_gives_its_place_on_disk_to_what_comes_after() {
    let mut tape = spilled::<OnDisk>();
    let (x, k, _) = marched(&mut tape, 1);
    let (start, before) = (tape.position(), tape.spill_usage().arrays_on_disk);
    let mut first = None;
    for _ in 0..4 {
        let (x, y) = tape.resume(|scope| {
            let (x, k) = (scope.renew_view(&x).expect("earlier"), scope.renew(&k).expect("earlier"));
            let y = march(&x, &k, STEPS);
            (x, y)
        });
        let found = bits(&tape.sweep(&[(&y, 1.5)]).expect("swept").of_view(&x).expect("x"));
        assert_eq!(found, expected::<Jacobian>(1)[..N]);
        let size = tape.spill_usage().file_bytes;
        assert_eq!(*first.get_or_insert(size), size, "no round takes more than the first");
        tape.reset_to(&start).expect("the end of a part");
        assert!(tape.spill_usage().arrays_on_disk <= before + MEMORY as u64);
    }
    for seed in [1, 5] {
        let all = marched(&mut tape, seed);
        assert_eq!(slopes(&mut tape, &all), expected::<Jacobian>(seed));
        assert_eq!(Some(tape.spill_usage().file_bytes), first);
    }
    tape.reset();
    assert_eq!(taken(tape.spill_usage()), (0, 0, first.expect("four rounds")));
}

#[test]
fn a_full_disk_is_an_error_that_loses_nothing_and_changes_nothing() {
    let mut tape = Tape::<OnDisk>::spilled(options().disk(20 * BYTES as u64)).expect("a directory");
    let mut kept = None;
    let error = tape.try_record(|scope| {
        let x = scope.view([N], &numbers(N, 1));
        let mut u = x.clone();
        for step in 0.. {
            let y = parallel_sum(u.all(), &u, |u| u.at::<0>());
            let (values, at) = (u.to_vec(), std::panic::AssertUnwindSafe(&mut u));
            let launch = std::panic::catch_unwind(move || {
                let at = at;
                parallel_for(at.0.all(), &mut *at.0, |u| (u.at::<0>() * u.at::<0>() + 0.25 * u.or_zero::<1>(),));
            });
            kept = Some((x.clone(), y, step));
            if let Err(panic) = launch {
                assert_eq!(u.values(), values, "the launch has not run");
                std::panic::resume_unwind(panic);
            }
        }
    });
    let error = error.expect_err("a disk that is soon full");
    let Error::Storage(StorageError::DiskBudget { budget, needed, .. }) = error else { panic!("{error}") };
    assert!(budget == 20 * BYTES as u64 && needed > budget && needed <= budget + BYTES as u64, "{needed}");
    let usage = tape.spill_usage();
    assert!(usage.arrays_on_disk <= budget && usage.file_bytes <= budget, "{usage:?}");
    let (x, y, steps) = kept.expect("some launches");
    assert!(steps > 20, "{steps}");
    let found = bits(&tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x"));
    let mut memory = Tape::<Jacobian>::new();
    let (x, y) = memory.record(|scope| {
        let x = scope.view([N], &numbers(N, 1));
        let mut u = x.clone();
        for _ in 0..steps {
            parallel_for(u.all(), &mut u, |u| (u.at::<0>() * u.at::<0>() + 0.25 * u.or_zero::<1>(),));
        }
        (x, parallel_sum(u.all(), &u, |u| u.at::<0>()))
    });
    assert_eq!(found, bits(&memory.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x")));
}

#[test]
fn a_directory_that_does_not_exist_is_an_error_that_names_it() {
    struct Nowhere;
    impl SpillDefaults for Nowhere {
        fn options() -> SpillOptions {
            options().directory("/nowhere/at all")
        }
    }
    let mut tape = Tape::<Jacobian<f64, Linear, Spilled<Nowhere>>>::new();
    let recorded = tape.try_record(|scope| {
        let x = scope.view([N], &numbers(N, 1));
        march(&x, &scope.input(0.5), STEPS)
    });
    let error = recorded.expect_err("there is no such directory");
    assert!(matches!(&error, Error::Storage(StorageError::Io { operation: "create the file", .. })), "{error:?}");
    assert!(error.to_string().contains("/nowhere/at all"), "{error}");
    // What needs no file works.
    let few = tape.try_record(|scope| {
        let x = scope.view([N], &numbers(N, 1));
        let y = march(&x, &scope.input(0.5), 1);
        (x, y)
    });
    let (x, y) = few.expect("it fits into memory");
    assert!(tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).is_ok());
}
