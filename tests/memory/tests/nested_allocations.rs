//! What checkpointed stages and nested recordings take from the allocator: rows X3, X14 and the bytes of X19.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tapewright::SweepError;
use tapewright::checkpoint::{Stage, TapePool};
use tapewright::external::CallbackAdjoints;
use tapewright::prelude::*;
use tapewright_test_support::counting::{CALLS, Counting, LIVE, allocations, peak};

#[global_allocator]
static COUNTING: Counting = Counting;

fn repeated_sin<S: Taping<Value = f64>>(n: usize, x: &Real<S>) -> Real<S> {
    (0..n).fold(x.clone(), |x, _| x.sin().eval())
}

/// Runs the tests for these strategies, one after the other: the counts are those of a thread.
macro_rules! for_strategies {
    ($f:ident) => {
        $f::<Jacobian>();
        #[cfg(feature = "wide")]
        $f::<PrimalValue>();
        #[cfg(feature = "wide")]
        $f::<Hybrid>();
        $f::<Continuation>();
        #[cfg(feature = "wide")]
        $f::<Jacobian<f64, Reuse>>();
        $f::<PrimalValue<f64, Reuse>>();
        #[cfg(feature = "wide")]
        $f::<Hybrid<f64, Reuse>>();
        #[cfg(feature = "wide")]
        $f::<Continuation<f64, Reuse>>();
    };
}

const N: usize = 100_000;

/// n sines, with a stage for every `distance` of them.
fn in_stages<S: Reverse<Value = f64>>(n: usize, distance: usize, x: &Real<S>) -> Real<S> {
    (0..n).step_by(distance).fold(x.clone(), |x, i| {
        let m = distance.min(n - i);
        Stage::<S>::new().run(&x, |x| repeated_sin(m, x), move |x| repeated_sin(m, x))
    })
}

#[test]
fn x3_peak_memory_is_that_of_one_stage_and_the_checkpoints() {
    fn check<S: Reverse<Value = f64>>() {
        let gradient_of = |f: &dyn Fn(&Real<S>) -> Real<S>| {
            let mut gradient = [0.0];
            let (_, bytes) = peak(|| Tape::<S>::new().gradient(|x| f(&x[0]), &[0.7], &mut gradient));
            (gradient[0], bytes)
        };
        // What a thread keeps for sweeps is there already.
        let (slope, full) = gradient_of(&|x| repeated_sin(N, x));
        gradient_of(&|x| in_stages(N, 1000, x));
        // A tape that holds next to nothing: the outer one.
        let (_, empty) = gradient_of(&|x| repeated_sin(1, x));
        for distance in [100, 316, 1000, 25_000] {
            let checkpoints = N.div_ceil(distance);
            let (_, one) = gradient_of(&|x| repeated_sin(distance, x));
            let (found, bytes) = gradient_of(&|x| in_stages(N, distance, x));
            assert_eq!(found, slope);
            // A list that grows is there twice for a moment, and the tape of the stages lies in a list with places for
            // four, and begins with 8 kB.
            let bound = one + empty + 4 * size_of::<Tape<S>>() + 8192 + 640 * checkpoints;
            assert!(bytes <= bound, "{bytes} bytes for a distance of {distance}, {one} for one stage, {full} for all");
        }
        let (_, best) = gradient_of(&|x| in_stages(N, 316, x));
        assert!(full >= 4 * best, "{full} bytes for the full tape, {best} with checkpoints");
    }
    for_strategies!(check);
}

/// Calls of the allocator at the start of each stage.
static MARKS: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

fn assert_nothing_after_the_first_stage(sweep: impl FnOnce()) {
    sweep();
    // Stages are swept last to first.
    let [last, .., second, _] = MARKS.each_ref().map(|mark| mark.load(Ordering::Relaxed));
    assert_eq!(last - second, 0, "{MARKS:?}");
}

#[test]
fn x14_nothing_is_allocated_after_the_first_stage() {
    for_strategies!(assert_stages_allocate_nothing);
    for_strategies!(assert_callbacks_allocate_nothing);
}

fn assert_stages_allocate_nothing<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let armed = Arc::new(AtomicBool::new(false));
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[0.3, 0.7]);
        let [a, b] = (0..MARKS.len()).fold([x[0].clone(), x[1].clone()], |state, k| {
            let armed = Arc::clone(&armed);
            Stage::<S>::new().run(
                &state,
                |[a, b]| [repeated_sin(1000, a), (a * b).eval()],
                move |[a, b]| {
                    MARKS[k].store(CALLS.get(), Ordering::Relaxed);
                    let c = repeated_sin(1000, a);
                    if k == 3 && armed.load(Ordering::Relaxed) {
                        resume_unwind(Box::new(())); // without a message, for which the standard library allocates
                    }
                    [c, (a * b).eval()]
                },
            )
        });
        (x, (&a * &b).eval())
    });
    let mut first = [0.0; 2];
    assert_nothing_after_the_first_stage(|| {
        tape.sweep(&[(&y, 1.0)]).and_then(|a| a.write(&x, &mut first)).expect("its own");
    });
    let mut again = [0.0; 2];
    let sweep = |tape: &mut Tape<S>, again: &mut [f64; 2]| {
        tape.sweep(&[(&y, 1.0)]).and_then(|a| a.write(&x, again)).expect("its own");
    };
    assert_eq!((allocations(|| sweep(&mut tape, &mut again)).1, again), (0, first), "the second sweep");
    // A stage that panics leaves its memory to the others.
    armed.store(true, Ordering::Relaxed);
    let live = LIVE.get();
    drop(catch_unwind(AssertUnwindSafe(|| sweep(&mut tape, &mut [0.0; 2]))).expect_err("on purpose"));
    assert_eq!(LIVE.get(), live, "nothing is lost");
    armed.store(false, Ordering::Relaxed);
    assert_eq!((allocations(|| sweep(&mut tape, &mut again)).1, again), (0, first), "after a panic");
}

fn assert_callbacks_allocate_nothing<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let pool = TapePool::<S>::new();
    let early = Arc::new(AtomicBool::new(false));
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        let y = (0..MARKS.len()).fold(x.clone(), |x, k| {
            let at = x.value();
            let (pool, early) = (pool.clone(), Arc::clone(&early));
            let stage = move |adjoints: &mut CallbackAdjoints<f64>| {
                MARKS[k].store(CALLS.get(), Ordering::Relaxed);
                let mut nested = pool.nested();
                let x = nested.input(at);
                let y = repeated_sin(1000, &x);
                if k == 3 && early.load(Ordering::Relaxed) {
                    return Err(SweepError::Cancelled { what: String::new() });
                }
                nested.compute_adjoints(&[(&y, adjoints.get_and_reset_output(0))]).expect("its own");
                adjoints.increment_input(0, nested.adjoint(&x).expect("its own"));
                Ok(())
            };
            let end = repeated_sin(1000, &Real::<Passive>::constant(at)).value();
            scope.insert_callback(&[x], &[end], stage).remove(0)
        });
        (x, y)
    });
    let mut first = 0.0;
    let sweep = |tape: &mut Tape<S>| tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x));
    assert_nothing_after_the_first_stage(|| first = sweep(&mut tape).expect("its own"));
    assert_eq!(allocations(|| sweep(&mut tape)), (Ok(first), 0), "the second sweep");
    early.store(true, Ordering::Relaxed);
    let (ended, calls) = allocations(|| sweep(&mut tape));
    assert!(ended.is_err() && calls == 0, "an early return");
    early.store(false, Ordering::Relaxed);
    assert_eq!(allocations(|| sweep(&mut tape)), (Ok(first), 0), "after an early return");
}

/// A step of a state of many variables.
fn step<S: Taping<Value = f64>>(u: &[Real<S>]) -> Vec<Real<S>> {
    let n = u.len();
    (0..n).map(|i| (&u[i] + 0.001 * u[(i + 1) % n].sin()).eval()).collect()
}

fn steps<S: Taping<Value = f64>>(n: usize, u: &[Real<S>]) -> Vec<Real<S>> {
    (0..n).fold(u.to_vec(), |u, _| step(&u))
}

/// n steps as `width` stages, each of which is `width` stages, and so on.
#[allow(clippy::ptr_arg, reason = "stages take references to collections")]
fn levels<S: Reverse<Value = f64>>(width: usize, depth: usize, n: usize, u: &Vec<Real<S>>) -> Vec<Real<S>> {
    if depth == 0 {
        return steps(n, u);
    }
    (0..width).fold(u.clone(), |u, _| {
        let n = n / width;
        Stage::<S>::new().run(&u, |u| steps(n, u), move |u| levels(width, depth - 1, n, u))
    })
}

#[test]
fn x19_three_levels_keep_three_cube_roots_of_states() {
    fn check<S: Reverse<Value = f64>>() {
        // So few that each tape has one segment.
        const VARIABLES: usize = 100;
        const STATE: usize = 8 * VARIABLES;
        let x: Vec<f64> = (0..VARIABLES).map(|i| 0.01 * f64::from(u16::try_from(i).expect("small"))).collect();
        #[allow(clippy::type_complexity, reason = "a function of a vector")]
        let gradient_of = |f: &dyn Fn(&Vec<Real<S>>) -> Vec<Real<S>>| {
            let mut gradient = vec![0.0; VARIABLES];
            let f = |x: &[Real<S>]| tapewright::sum(&f(&x.to_vec()));
            let (result, bytes) = peak(|| Tape::<S>::new().gradient(f, &x, &mut gradient));
            result.expect("lengths agree");
            (gradient, bytes)
        };
        // A tape without a statement but the sum, and what a thread keeps for sweeps is there already.
        let (_, empty) = gradient_of(&|u| u.clone());
        let mut before = (0, 0);
        for width in [8, 16] {
            let steps_in_all = width * width * width;
            let (_, recorded) = gradient_of(&|u| steps(width, u));
            let (found, bytes) = gradient_of(&|u| levels(width, 2, steps_in_all, u));
            // `width` steps are recorded, and on each of two levels there are as many states, with their values,
            // fingerprints, variables and adjoints, on a tape. An entry takes up to 640 bytes beside them.
            let states = 2 * width * (4 * STATE + 640);
            // The tape of the stages of a level lies in a box, and begins with 8 kB.
            let tape = empty + size_of::<Tape<S>>() + 8192;
            let bound = recorded + 2 * tape + states;
            assert!(bytes <= bound, "{bytes} bytes, at most {bound}: {recorded} for {width} steps, {tape} for a tape");
            // Eight times the steps need twice the states, and no more tapes.
            let more = if before == (0, 0) { bound } else { recorded - before.1 + states / 2 };
            assert!(bytes <= before.0 + more, "{bytes} bytes, {before:?} for an eighth of the steps");
            before = (bytes, recorded);
            // The sum of the gradient is the derivative along (1, …, 1).
            let (_, slopes) = jvp::<Tangent>(|u| steps(steps_in_all, u), &x, &[1.0; VARIABLES]).expect("lengths agree");
            let (sum, slope): (f64, f64) = (found.iter().sum(), slopes.iter().sum());
            assert!((sum - slope).abs() <= 1e-9 * slope.abs(), "{sum} {slope}");
        }
    }
    check::<Jacobian>();
    check::<PrimalValue<f64, Reuse>>();
}
