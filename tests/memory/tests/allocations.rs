//! What the library says about its memory, against what the allocator says.

use std::hint::black_box;
use tapewright::dense::{DenseJacobian, Way};
use tapewright::prelude::*;
use tapewright::strategies::storage::SlabStack;
use tapewright::{dot, jacobian_forward_into, linear_combination, program, sum};
use tapewright_test_support::counting::{Counting, LIVE, allocations, live_since};
use tapewright_test_support::skipped;

#[global_allocator]
static COUNTING: Counting = Counting;

/// A computation of any size, in `f64` and over any strategy.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// Six small statements.
    Small,
    /// This many statements of two and three arguments.
    Long(usize),
    /// Sums and products over slices of this length.
    Wide(usize),
    /// This many statements with passive arguments.
    Mixed(usize),
}

const LOADS: [Load; 8] = [
    Load::Small,
    Load::Long(1_000),
    Load::Long(300_000),
    Load::Wide(20),
    Load::Wide(100),
    Load::Wide(200_000),
    Load::Mixed(1_000),
    Load::Mixed(200_000),
];

fn run<S: Taping<Value = f64>>(load: Load, x: &[Real<S>], slice: &mut Vec<Real<S>>, ones: &[f64]) -> Real<S> {
    let mut y = x[0].clone();
    match load {
        Load::Small => (0..3).for_each(|_| {
            y += &x[1] * &x[0];
            y = (&y * 0.5).into();
        }),
        Load::Long(n) => (0..n / 2).for_each(|_| {
            y = (&y * 0.25 + &x[0] * &x[1]).into();
            y -= &x[1];
        }),
        Load::Wide(n) => {
            slice.clear();
            slice.resize(n, x[1].clone());
            y += &sum(slice);
            y += dot(slice, slice) + linear_combination(&ones[..n], slice);
            slice[0] = Real::from(1.0);
            y += dot(slice, slice) + linear_combination(&ones[..n], slice) + sum(slice);
        }
        Load::Mixed(n) => {
            let passive = Real::from(0.5);
            for _ in 0..n / 2 {
                y = (&y * &passive + &x[1] * 0.5).into();
                y = (&passive * &x[0] + &passive * &y).into();
            }
        }
    }
    y
}

/// Makes the process and this thread allocate what they keep for a strategy: a tape's first recording draws a block of
/// numbers, and the lists of the blocks that were drawn and that came back stay.
fn draw_numbers<S: Reverse>() {
    drop(Tape::<S>::new().start());
}

/// One gradient of this load.
fn gradient_of<S: Reverse<Value = f64>>(
    tape: &mut Tape<S>,
    load: Load,
    slice: &mut Vec<Real<S>>,
    ones: &[f64],
) -> [f64; 2] {
    let mut gradient = [0.0; 2];
    tape.gradient(|x| run(load, x, slice, ones), &[0.5, 0.25], &mut gradient).expect("lengths agree");
    gradient
}

fn assert_second_gradient_allocates_nothing<S: Reverse<Value = f64>>() {
    for load in LOADS {
        let ones = vec![1.0; 200_000];
        let (mut tape, mut slice) = (Tape::<S>::new(), Vec::new());
        let (first, cold) = allocations(|| gradient_of(&mut tape, load, &mut slice, &ones));
        assert!(cold > 0, "{load:?}");
        for _ in 0..3 {
            let (again, warm) = allocations(|| gradient_of(&mut tape, load, &mut slice, &ones));
            assert_eq!((again, warm), (first, 0), "{load:?}");
        }
    }
}

#[test]
fn a_second_jacobian_gradient_allocates_nothing() {
    assert_second_gradient_allocates_nothing::<Jacobian>();
}

#[test]
fn a_second_continuation_gradient_allocates_nothing() {
    assert_second_gradient_allocates_nothing::<Continuation>();
}

#[test]
fn a_second_primal_value_gradient_allocates_nothing() {
    assert_second_gradient_allocates_nothing::<PrimalValue>();
}

fn assert_second_sweep_in_lanes_allocates_nothing<S: Reverse<Value = f64>>() {
    for load in LOADS {
        let (mut tape, mut slice, ones) = (Tape::<S>::new(), Vec::new(), vec![1.0; 200_000]);
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[0.5, 0.25]);
            let y = run(load, &x, &mut slice, &ones);
            (x, y)
        });
        for seeds in [[1.0, 2.0, 0.0], [1.0, f64::INFINITY, 0.0]] {
            let mut sweep = || tape.sweep_lanes(&[(&y, seeds)]).and_then(|found| found.of(&x[0])).map(|of| of[0]);
            let first = sweep();
            assert_eq!(allocations(sweep), (first, 0), "{load:?}");
        }
    }
}

#[test]
fn a_second_sweep_in_lanes_allocates_nothing() {
    assert_second_sweep_in_lanes_allocates_nothing::<Jacobian>();
    assert_second_sweep_in_lanes_allocates_nothing::<PrimalValue>();
    assert_second_sweep_in_lanes_allocates_nothing::<Continuation>();
}

#[test]
fn statements_in_forward_mode_allocate_nothing() {
    for load in LOADS {
        let (mut slice, ones) = (Vec::new(), vec![1.0; 200_000]);
        let x = [0.5, 0.25].map(|x| Real::<Tangent<8>>::with_tangent(x, [1.0; 8]));
        // The first run makes room in the program's own slice and in the vectors that functions of slices keep.
        let first = run(load, &x, &mut slice, &ones);
        let (again, calls) = allocations(|| run(load, &x, &mut slice, &ones));
        assert_eq!((again.tangent(), calls), (first.tangent(), 0), "{load:?}");
    }
}

#[test]
fn a_second_gradient_with_closures_of_the_user_allocates_what_they_own() {
    let f = |x: &[Real<Continuation>]| {
        (0..10_000).fold(x[0], |y, k| {
            let (slope, boxed) = (0.5, Box::new(k));
            tapewright::continuation(&[&y, &x[1]], 0.5 * y.value(), move |adjoint, contributions| {
                contributions[0] = slope * adjoint + f64::from(*boxed - k);
            })
        })
    };
    let mut gradient = [0.0; 2];
    // The thread's scratch stays.
    Tape::<Continuation>::new().gradient(f, &[1.0, 2.0], &mut gradient).expect("lengths agree");
    let before = LIVE.get();
    let mut tape = Tape::<Continuation>::new();
    for round in 0..3 {
        let (value, calls) = allocations(|| tape.gradient(f, &[1.0, 2.0], &mut gradient));
        assert!(value.is_ok() && (round == 0 || calls == 10_000), "{calls} allocations");
    }
    drop(tape);
    assert_eq!(LIVE.get(), before, "the closures' boxes are freed once each");
}

#[test]
fn a_second_gradient_with_reused_identifiers_allocates_nothing() {
    assert_second_gradient_allocates_nothing::<Jacobian<f64, Reuse>>();
    assert_second_gradient_allocates_nothing::<PrimalValue<f64, Reuse>>();
    assert_second_gradient_allocates_nothing::<Hybrid<f64, Reuse>>();
}

fn assert_small_after_huge<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let mut all = Vec::with_capacity(1_000_000);
    let mut gradient = [0.0];
    for round in 0..2 {
        let (output, allocated) = allocations(|| {
            tape.record(|scope| {
                let x = scope.input(1.0);
                all.extend((0..1_000_000).map(|_| (&x * 1.5).eval()));
                all.pop()
            })
        });
        assert!((round == 0) == (allocated > 0), "{allocated} allocations in round {round}");
        tape.sweep(&[(&output.expect("a million"), 1.0)]).expect("the tape's");
        tape.gradient(|x| (&x[0] * &x[0]).into(), &[3.0], &mut gradient).expect("lengths agree");
        all.clear(); // dropped when their identifiers are those of others, if of anybody
        for _ in 0..100 {
            let small = allocations(|| tape.gradient(|x| (&x[0] * &x[0]).into(), &[3.0], &mut gradient));
            assert_eq!((small, gradient), ((Ok(9.0), 0), [6.0]));
            let used = tape.memory().total().used - tape.memory().usage("tables").used;
            assert!(used < 200, "{used} bytes after a statement");
            assert_eq!(allocations(|| tape.reset()).1, 0);
        }
    }
}

#[test]
fn small_recordings_after_a_huge_one_allocate_nothing() {
    assert_small_after_huge::<Jacobian>();
    assert_small_after_huge::<Jacobian<f64, Reuse>>();
    assert_small_after_huge::<PrimalValue<f64, Reuse>>();
    assert_small_after_huge::<Hybrid<f64, Reuse>>();
}

/// Bytes that are constant for a tape, or that its report leaves out, when its records lie in `segments` segments:
/// what the list of recordings knows of it (16 for the strategy, 8 for whom it is open to, 8 for what it is in use
/// for, 8 for the next tape, 16 for the number and its guards, 24 for the first statement that is singular, 24 for
/// branches that hide a derivative, 32 for identifiers that are free, 24 for earlier parts), 72 for the lists of
/// external functions, of memory for launches and of what is kept for them, 80 for arrays, 8 for where recordings
/// under the policy `Tracing` note what they do, and the list of segments, of which the first is in the tape.
fn bookkeeping(segments: usize) -> usize {
    let list: SlabStack<[usize; 5], 1, 16> = (0..segments).map(|_| [0; 5]).collect();
    320 + list.memory().reserved - size_of_val(&list)
}

/// Bytes of a list of `n` entries that lies in the tape while there are four at most.
const fn list_outside_the_tape(n: usize, entry: usize) -> usize {
    if n > 4 { entry * n.next_power_of_two() } else { 0 }
}

/// `list` says how many bytes a list by segments takes outside the tape.
fn assert_report_is_what_is_live<S: Reverse<Value = f64>>(list: fn(usize) -> usize) {
    for load in [Load::Small, Load::Long(1_000), Load::Long(4_000), Load::Mixed(1_000), Load::Long(300_000)] {
        let mut slice = Vec::new();
        let x = [0.5, 0.25];
        let mut inputs = Vec::with_capacity(2);
        // What a thread keeps for its sweeps.
        gradient_of(&mut Tape::<S>::new(), load, &mut slice, &[]);
        let before = LIVE.get();
        let mut tape = Tape::<S>::new();
        let y = tape.record(|scope| {
            scope.inputs_into(&x, &mut inputs);
            run(load, &inputs, &mut slice, &[])
        });
        black_box(tape.sweep(&[(&y, 1.0)]).expect("the variables are the tape's"));
        let live = live_since(before);
        let report = tape.memory();
        let total = report.total();
        // Segments: 64 KiB, then 1 MiB each.
        let records = total.used - ["values", "adjoints", "tables"].map(|s| report.usage(s).used).iter().sum::<usize>();
        let segments = 1 + records.saturating_sub(64 << 10).div_ceil(1 << 20);
        let spans = list(segments);
        assert_eq!(live, total.reserved + bookkeeping(segments) + spans, "{load:?}, {report}");
        assert!(report.streams().iter().all(|(_, usage)| usage.used <= usage.reserved), "{load:?}, {report}");
        drop((tape, report));
        assert_eq!(LIVE.get(), before, "{load:?}: a dropped tape returns everything");
    }
}

#[test]
fn the_jacobian_report_is_what_the_allocator_says() {
    assert_report_is_what_is_live::<Jacobian>(|segments| list_outside_the_tape(segments, 80));
}

#[test]
fn the_primal_value_report_is_what_the_allocator_says() {
    assert_report_is_what_is_live::<PrimalValue>(|segments| list_outside_the_tape(segments, 80));
}

#[test]
fn the_continuation_report_is_what_the_allocator_says() {
    assert_report_is_what_is_live::<Continuation>(|segments| list_outside_the_tape(segments, 80));
}

#[test]
fn the_report_with_reused_identifiers_is_what_the_allocator_says() {
    assert_report_is_what_is_live::<Jacobian<f64, Reuse>>(|segments| list_outside_the_tape(segments, 80));
    assert_report_is_what_is_live::<PrimalValue<f64, Reuse>>(|segments| list_outside_the_tape(segments, 80));
    assert_report_is_what_is_live::<Hybrid<f64, Reuse>>(|segments| list_outside_the_tape(segments, 80));
}

fn assert_hint_suffices<S: Reverse<Value = f64>>() {
    draw_numbers::<S>();
    for n in [6, 1_000, 100_000] {
        let mut tape = Tape::<S>::with_capacity(Capacity { inputs: 2, statements: n, arguments: 5 * n });
        let mut inputs = Vec::with_capacity(2);
        let (y, recording) = allocations(|| {
            tape.record(|scope| {
                scope.inputs_into(&[0.5, 0.25], &mut inputs);
                run(Load::Long(n), &inputs, &mut Vec::new(), &[])
            })
        });
        assert_eq!((recording, tape.memory().statements), (0, n));
        let (adjoint, sweeping) = allocations(|| tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&inputs[0])));
        assert!(adjoint.is_ok_and(f64::is_finite) && sweeping == 0, "{n} statements: {sweeping} allocations");
    }
}

#[test]
fn a_recording_within_the_hint_allocates_nothing() {
    assert_hint_suffices::<Jacobian>();
    assert_hint_suffices::<PrimalValue>();
    assert_hint_suffices::<Continuation>();
}

/// Page faults of this thread so far that read nothing from disk, where the system says.
fn page_faults() -> Option<usize> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The second field is a name in parentheses; the tenth is the number.
    stat.rsplit(')').next()?.split_whitespace().nth(7)?.parse().ok()
}

fn assert_hint_touches<S: Reverse<Value = f64>>() {
    const STATEMENTS: usize = 1_000_000;
    let Some(_) = page_faults() else {
        skipped("this system does not say how many page faults a thread has met");
        return;
    };
    let mut tape = Tape::<S>::with_capacity(Capacity { inputs: 2, statements: STATEMENTS, arguments: 3 * STATEMENTS });
    let mut inputs = Vec::with_capacity(2);
    let before = page_faults();
    tape.record(|scope| {
        scope.inputs_into(&[0.5, 0.25], &mut inputs);
        run(Load::Long(STATEMENTS), &inputs, &mut Vec::new(), &[])
    });
    let met = page_faults().zip(before).map(|(after, before)| after - before).expect("it has said so before");
    let pages = tape.memory().total().used / 4096;
    assert!(pages > 1000 && met < pages / 20, "{met} page faults for {pages} pages");
}

#[test]
fn a_recording_within_the_hint_meets_no_page_faults() {
    assert_hint_touches::<Jacobian>();
    assert_hint_touches::<PrimalValue>();
    assert_hint_touches::<Jacobian<f64, Reuse>>();
    assert_hint_touches::<Continuation>();
}

fn assert_reset_empties_the_records<S: Reverse<Value = f64>>() {
    for load in [Load::Small, Load::Long(300_000), Load::Mixed(1_000)] {
        let mut tape = Tape::<S>::new();
        gradient_of(&mut tape, load, &mut Vec::new(), &[]);
        let before = tape.memory();
        assert!(before.total().used > before.usage("tables").used);
        tape.reset();
        let after = tape.memory();
        assert_eq!((after.statements, after.arguments), (0, 0));
        for (name, usage) in after.streams() {
            // Slot 0 of values and adjoints belongs to passive variables and stays.
            let slot = if matches!(*name, "values" | "adjoints") { 8 } else { 0 };
            assert!(*name == "tables" || usage.used <= slot, "{name} holds {usage:?} after a reset");
        }
        assert_eq!(after.total().reserved, before.total().reserved, "the memory is kept");
    }
}

#[test]
fn a_reset_empties_the_records_and_keeps_their_memory() {
    assert_reset_empties_the_records::<Jacobian>();
    assert_reset_empties_the_records::<PrimalValue>();
    assert_reset_empties_the_records::<Continuation>();
}

#[test]
fn tapes_return_everything_also_after_panics_and_hints() {
    draw_numbers::<Jacobian>();
    draw_numbers::<PrimalValue>();
    let before = LIVE.get();
    for hint in [0, 10, 1_000_000] {
        let mut tape = Tape::<PrimalValue>::with_capacity(Capacity { inputs: hint, statements: hint, arguments: hint });
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tape.record(|scope| {
                let x = scope.input(1.0);
                let _ = (0..10_000).fold(x, |y, _| (y * x).eval());
                std::panic::resume_unwind(Box::new(()));
            });
        }));
        drop(caught.expect_err("the recording panics"));
        drop(tape);
        drop(Tape::<Jacobian>::with_capacity(Capacity { inputs: hint, ..Capacity::default() }).start());
        assert_eq!(LIVE.get(), before);
    }
}

#[test]
fn a_leaked_recording_leaks_one_tape() {
    draw_numbers::<Jacobian>();
    draw_numbers::<PrimalValue>();
    let tape_bytes = || {
        let before = LIVE.get();
        let mut recording = Tape::<Jacobian>::new().start();
        recording.scope().input(1.0);
        (recording, live_since(before))
    };
    let (recording, bytes) = tape_bytes();
    let before = LIVE.get() - isize::try_from(bytes).expect("small");
    drop(recording);
    assert_eq!(LIVE.get(), before);
    std::mem::forget(tape_bytes().0);
    let leaked = LIVE.get();
    assert_eq!(live_since(before), bytes);
    for load in [Load::Small, Load::Long(10_000)] {
        gradient_of(&mut Tape::<PrimalValue>::new(), load, &mut Vec::new(), &[]);
        assert_eq!(LIVE.get(), leaked, "later tapes return everything");
    }
}

#[test]
fn x20_schedules_of_a_million_steps_keep_their_snapshots_only() {
    use tapewright::schedule::{Action, Mixed, Multistage, Online, Revolve, Schedule};
    const STEPS: usize = 1_000_000;
    fn bytes(make: impl FnOnce() -> Box<dyn Schedule>) -> usize {
        let before = LIVE.get();
        let mut schedule = make();
        let mut most = 0;
        while let Some(action) = schedule.next_action() {
            if schedule.steps().is_none() && matches!(action, Action::Advance { to, .. } if to >= STEPS) {
                schedule.end(STEPS);
            }
            most = most.max(live_since(before));
        }
        assert_eq!(schedule.steps(), Some(STEPS));
        most
    }
    for (name, held) in [
        ("revolve", bytes(|| Box::new(Revolve::new(STEPS, 20)))),
        ("multistage", bytes(|| Box::new(Multistage::new(STEPS, 5, 15)))),
        ("online", bytes(|| Box::new(Online::new(20)))),
        ("mixed", bytes(|| Box::new(Mixed::new(STEPS, 20)))),
    ] {
        // 20 snapshots of three words each, their free slots, and some room in each vector.
        assert!(held <= 4096, "{name} holds {held} bytes");
    }
}

#[test]
fn launches_recorded_again_allocate_nothing() {
    use tapewright::kernels::{parallel_for, parallel_sum};
    let (n, steps) = (1_000, 20);
    let numbers = [0.25; 1_000];
    // The first half of the launches keeps a version of the view each, the second half, which is linear, none.
    let mut tape = Tape::<Jacobian>::new();
    let mut run = || {
        let (x, y) = tape.record(|scope| {
            let (x, k) = (scope.view([n], &numbers), scope.input(0.5));
            let mut u = x.clone();
            for _ in 0..steps {
                parallel_for(u.interior(1), (&mut u, &k), |(u, k)| (u.at::<0>() * k + u.at::<1>() * u.at::<-1>(),));
            }
            for _ in 0..steps {
                parallel_for(u.all(), &mut u, |u| (0.5 * u.at::<0>(),));
            }
            let y: Real<_> = parallel_sum(u.all(), &u, |u| u.at::<0>().square());
            (x, y)
        });
        let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
        black_box(adjoints.of_view(&x).expect("x").len());
    };
    (0..2).for_each(|_| run());
    let before = LIVE.with(std::cell::Cell::get);
    let ((), calls) = allocations(&mut run);
    assert_eq!(calls, 0);
    assert_eq!(live_since(before), 0);
}

#[test]
fn a_second_hessian_product_allocates_nothing() {
    fn holds<S: Reverse<Value = tapewright::Dual<f64, 2>>>() {
        let f = |x: &[Real<S>]| (0..10_000).fold(x[0].clone(), |y, _| (y.sin() * &x[1] + &x[0]).into());
        let mut tape = Tape::<S>::new();
        let (mut gradient, mut products) = ([0.0; 2], [[0.0; 2]; 2]);
        let directions = [[1.0, 0.0], [0.0, 1.0]];
        for round in 0..3 {
            let (value, calls) =
                allocations(|| tape.hessian_times(f, &[0.5, 0.9], &directions, &mut gradient, &mut products));
            assert!(value.is_ok() && (round == 0 || calls == 0), "{calls} allocations in round {round}");
        }
        assert!((products[0][1] - products[1][0]).abs() <= 1e-12 * products[0][1].abs());
    }
    holds::<Jacobian<tapewright::Dual<f64, 2>>>();
    holds::<PrimalValue<tapewright::Dual<f64, 2>>>();
    holds::<Jacobian<tapewright::Dual<f64, 2>, Reuse>>();
    holds::<Continuation<tapewright::Dual<f64, 2>>>();
}

#[test]
fn a_jacobian_matrix_in_memory_of_the_caller_takes_none() {
    let f = |x: &[Real<Tangent<8>>]| [(x[0] * x[1].sin()).eval(), (x[11] / x[0]).eval()];
    let (x, mut values, mut jacobian) = ([0.5; 12], [0.0; 2], [0.0; 24]);
    let (done, taken) = allocations(|| jacobian_forward_into(f, &x, &mut values, &mut jacobian));
    assert_eq!((done, taken), (Ok(()), 0));
    assert_eq!((values[1], jacobian[1], jacobian[12], jacobian[23]), (1.0, 0.5 * 0.5_f64.cos(), -2.0, 2.0));
    let f = |x: &[Real<Tangent<12>>]| [(x[0] * x[1].sin()).eval(), (x[11] / x[0]).eval()];
    let before = core::mem::replace(&mut jacobian, [0.0; 24]);
    let (done, taken) = allocations(|| jacobian_forward_into(f, &x, &mut values, &mut jacobian));
    assert_eq!((done, taken, jacobian), (Ok(()), 0, before));
}

#[test]
fn a_second_jacobian_matrix_of_a_kept_tape_takes_none() {
    fn f<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 40] {
        core::array::from_fn(|i| (x[i % x.len()] * x[0]).into())
    }
    // By rows, and by columns.
    for n in [12, 3] {
        let (mut tape, x, mut values, mut jacobian) =
            (Tape::<Jacobian>::new(), vec![0.5; n], [0.0; 40], vec![0.0; 40 * n]);
        for round in 0..4 {
            let (done, taken) = allocations(|| tape.jacobian(f, &x, &mut values, &mut jacobian));
            assert!(done.is_ok() && (round < 2 || taken == 0), "{n} inputs: {taken} allocations in round {round}");
        }
    }
}

#[test]
fn a_third_evaluation_of_a_driver_that_chooses_takes_none() {
    fn f<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 3] {
        core::array::from_fn(|i| (x[i] * x[x.len() - 1]).into())
    }
    let f = program!(f);
    for (n, way) in [(4, Way::Forward), (100, Way::Tape)] {
        let mut driver = DenseJacobian::<Tangent<8>, Jacobian>::new();
        let (x, mut values, mut jacobian) = (vec![0.5; n], [0.0; 3], vec![0.0; 3 * n]);
        for round in 0..4 {
            let (done, taken) = allocations(|| driver.evaluate(&f, &x, &mut values, &mut jacobian));
            assert!(done.is_ok() && (round < 2 || taken == 0), "{n} inputs: {taken} allocations in round {round}");
        }
        assert_eq!(driver.way(), Some(way));
    }
}
