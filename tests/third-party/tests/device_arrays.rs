//! Arrays on a device, whatever becomes of the recordings that have them: random launches with random budgets of device
//! memory, and panics in the middle. These tests have a program of their own, because a budget is that of a device.
#![cfg(feature = "opencl")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tapewright::checkpoint::{TimeLoop, closure_stage};
use tapewright::kernels::devices::{DeviceSpace, OpenCl};
use tapewright::kernels::{Host, Indices, Space, View, fill, gather, parallel_for, parallel_sum, scatter_add};
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::{Error, SweepError};
use tapewright_strategies::storage::StorageError;
use tapewright_test_support::Random;

const POINTS: usize = 1000;
/// Bytes of one view.
const STATE: usize = 8 * POINTS;
/// A budget that all tests keep within.
const ENOUGH: usize = 1000 * STATE;

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..POINTS).map(|_| random.symmetric()).collect()
}

fn set_budget(bytes: usize) {
    OpenCl::set_memory_budget(bytes).expect("a device");
}

/// Bytes of arrays on the device, and of those that have moved to the host.
fn bytes() -> (usize, usize) {
    let memory = OpenCl::memory_use().expect("a device");
    (memory.used, memory.moved)
}

/// Bits of numbers.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Inputs and outputs of a recording.
type Recorded<M> = ([View<Jacobian, 1, M>; 2], Real<Jacobian>, Real<Jacobian>);

/// Records random operations of a few views, whose elements stay between −2 and 2. Calls `between` in front of each.
fn recorded<M: Space<f64>>(
    tape: &mut Tape<Jacobian>,
    seed: u64,
    mut between: impl FnMut(),
) -> Result<Recorded<M>, Error> {
    tape.try_record(|scope| {
        let mut random = Random::new(seed);
        let inputs = [1, 2].map(|k| scope.view([POINTS], &start(seed + k)).in_space::<M>());
        let scalar = scope.input(0.75);
        let (mut views, mut k) = (inputs.to_vec(), scalar);
        for _ in 0..random.within(5, 30) {
            between();
            let (i, j) = (random.below(views.len()), random.below(views.len()));
            let other = views[j].clone();
            let list: Vec<usize> = (0..POINTS).map(|_| random.below(POINTS)).collect();
            let (first, last) = (random.below(400), random.within(500, POINTS));
            match random.below(10) {
                0 | 1 => parallel_for(first..last, (&mut views[i], &other, &k), |(y, x, k)| {
                    (0.5 * y.or_zero::<-1>() + 0.25 * k * x.nearest::<1>() * y.at::<0>(),)
                }),
                2 => {
                    let (mut y, mut x) = (views[i].clone(), other.clone());
                    parallel_for(1..POINTS, (&mut y, &mut x), |(y, x)| {
                        (
                            y.at::<0>() * x.at::<-1>() * 0.5,
                            y.at::<-1>().ge(x.at::<0>()).select(0.5 * x.at::<0>(), y.at::<0>()),
                        )
                    });
                    views.extend([x, y]);
                }
                3 => k = (parallel_sum(first..last, &other, |x| x.at::<0>().square()) * (0.2 / POINTS as f64)).into(),
                4 => views[i] = gather(&other, &Indices::new(&list)),
                5 => {
                    let mut y = View::zeros([POINTS]).in_space::<M>();
                    list[..3].iter().for_each(|place| {
                        scatter_add(&other.slice(first..first + 1), &Indices::new(&[*place]), &mut y);
                    });
                    parallel_for(y.all(), &mut y, |y| (y.at::<0>() / 3.0,));
                    views.push(y);
                }
                6 => {
                    let mut y = other.in_space::<Host>();
                    parallel_for(first..last, &mut y, |y| (-y.at::<0>(),));
                    views[i] = y.in_space::<M>();
                }
                7 if views.len() > 2 => _ = views.swap_remove(i),
                7 | 8 => views[i].set(first..last, &other.slice(first..last)),
                _ => {
                    k = (0.5 * other.variable([first])).into();
                    fill(&k, &mut views[i]);
                }
            }
        }
        let sum = |sum: Real<Jacobian>, view: &View<Jacobian, 1, M>| {
            Real::from(sum + parallel_sum(view.all(), view, |x| x.at::<0>().square()))
        };
        let z = views.iter().fold(Real::from(k.square()), sum);
        (inputs, scalar, z)
    })
}

/// Bits of the value and of the gradient for a seed.
fn swept<M: Space<f64>>(tape: &mut Tape<Jacobian>, ([x, y], k, z): &Recorded<M>, seed: f64) -> Result<Vec<u64>, Error> {
    let adjoints = tape.sweep(&[(z, seed)])?;
    let numbers = [z.value(), adjoints.of(k)?];
    Ok([bits(&numbers), bits(&adjoints.of_view(x)?), bits(&adjoints.of_view(y)?)].concat())
}

/// Checks that an operation had too small a budget, and gives it a larger one.
fn allow_more(error: &Error) {
    let is_storage = matches!(
        error,
        Error::Storage(StorageError::Device { .. }) | Error::Sweep(SweepError::Storage(StorageError::Device { .. }))
    );
    assert!(is_storage && error.to_string().contains("set_memory_budget"), "{error}");
    set_budget(ENOUGH);
}

#[test]
fn random_launches_have_the_bits_of_the_host_with_any_budget() {
    let _alone = alone();
    let (mut moved, mut refused, mut allowed) = (0, [0, 0], 0);
    for seed in (0..150).map(|k| 1000 * k) {
        let mut tape = Tape::<Jacobian>::new();
        let host = recorded::<Host>(&mut tape, seed, || {}).expect("the host");
        let expected = [1.0, -0.5].map(|seed| swept(&mut tape, &host, seed).expect("the host"));
        assert!(expected.iter().flatten().all(|number| f64::from_bits(*number).is_finite()));
        // Budgets from one launch's arrays on, which change while it is recorded and swept.
        let mut random = Random::new(!seed);
        let mut tape = Tape::<Jacobian>::new();
        let change = |random: &mut Random| set_budget(random.within(2 * STATE, 14 * STATE));
        change(&mut random);
        let there = recorded::<OpenCl>(&mut tape, seed, || {
            moved += usize::from(bytes().1 > 0);
            if random.chance(30) {
                change(&mut random);
            }
        });
        let there = there.unwrap_or_else(|error| {
            refused[0] += 1;
            allow_more(&error);
            recorded(&mut tape, seed, || {}).expect("a budget that is large enough")
        });
        for (seed, expected) in [1.0, -0.5].into_iter().zip(&expected) {
            change(&mut random);
            let found = swept(&mut tape, &there, seed).inspect(|_| allowed += 1).unwrap_or_else(|error| {
                refused[1] += 1;
                allow_more(&error);
                swept(&mut tape, &there, seed).expect("a budget that is large enough")
            });
            assert_eq!(found, *expected);
        }
        drop((there, tape));
        assert_eq!(bytes(), (0, 0));
    }
    set_budget(ENOUGH);
    let all_happened = moved > 50 && allowed > 50 && refused[0] > 5 && refused[1] > 5;
    assert!(all_happened, "{moved} times something had moved, {refused:?} refused, {allowed} sweeps allowed");
}

/// Calls of [`call`] that are still to return before one panics; 0 if none is to.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// A place where a program may panic.
fn call() {
    let count = |left: usize| left.checked_sub(1);
    if LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) == Ok(1) {
        // Without a message in the output of the tests.
        resume_unwind(Box::new("a panic"));
    }
}

/// One step, which may panic before its launch, while its kernel is made, and behind it.
fn step<S: Taping<Value = f64>, M: Space<f64>>(k: &Real<S>, x: &View<S, 1, M>) -> View<S, 1, M> {
    let mut y = x.clone();
    call();
    parallel_for(y.interior(1), (&mut y, k), |(y, k)| {
        call();
        (0.5 * y.at::<0>() + 0.25 * k * y.at::<-1>() * y.at::<1>(),)
    });
    call();
    y
}

/// Bits of a value and its gradient: steps on the tape, as a stage, and in a loop whose states are computed again.
fn in_stages<M: Space<f64>>(tape: &mut Tape<Jacobian>) -> Vec<u64> {
    type Inputs<M> = (Real<Jacobian>, View<Jacobian, 1, M>);
    let (x, k, z) = tape.record(|scope| {
        let (x, k) = (scope.view([POINTS], &start(1)).in_space::<M>(), scope.input(0.75));
        let first = step(&k, &step(&k, &x));
        let inputs: Inputs<M> = (k, first);
        let second = closure_stage(|(k, x): &Inputs<M>| step(k, x), &inputs);
        let steps = TimeLoop::<Jacobian>::new(Revolve::new(6, 2)).checked(false);
        let last = steps.run(&k, &second, |_, k, x| step(k, x), |_, k, x| step(k, x)).expect("the loop runs");
        let z = Real::from(parallel_sum(last.all(), (&last, &x), |(y, x)| y.at::<0>() * x.at::<0>()));
        (x, k, z)
    });
    call();
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    call();
    let of_x = adjoints.view_of(&x).expect("x");
    call();
    [bits(&[z.value(), adjoints.of(&k).expect("k")]), bits(of_x.values())].concat()
}

#[test]
fn a_panic_anywhere_leaves_no_array_on_the_device_and_a_tape_that_can_be_used() {
    let _alone = alone();
    LEFT.store(0, Ordering::Relaxed);
    let expected = in_stages::<Host>(&mut Tape::new());
    // The first budget is large enough for all, the second for a launch.
    for budget in [ENOUGH, 8 * STATE] {
        set_budget(budget);
        let mut panics = 0;
        for k in 1.. {
            let mut tape = Tape::<Jacobian>::new();
            LEFT.store(k, Ordering::Relaxed);
            let found = catch_unwind(AssertUnwindSafe(|| in_stages::<OpenCl>(&mut tape)));
            LEFT.store(0, Ordering::Relaxed);
            if let Ok(found) = found {
                assert_eq!(found, expected);
                break;
            }
            panics += 1;
            if k % 2 == 0 {
                assert_eq!(in_stages::<OpenCl>(&mut tape), expected, "after a panic at call {k}");
            }
            drop(tape);
            assert_eq!(bytes(), (0, 0), "after a panic at call {k}");
        }
        assert!(panics > 40, "{panics} places");
    }
    set_budget(ENOUGH);
}

#[test]
fn views_outlive_tapes_and_scopes_and_take_their_arrays_along() {
    let _alone = alone();
    set_budget(6 * STATE);
    let mut kept = Vec::new();
    for seed in 0..4 {
        let mut tape = Tape::<Jacobian>::new();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            tape.record(|scope| {
                let x = scope.view([POINTS], &start(seed)).in_space::<OpenCl>();
                let mut y = x.clone();
                parallel_for(y.all(), &mut y, |y| (2.0 * y.at::<0>(),));
                // A passive view that leaves the recording, and its thread.
                kept.push(y.constant::<Passive>());
                resume_unwind(Box::new("a panic"));
            });
        }));
        assert!(panicked.is_err());
    }
    let (used, moved) = bytes();
    assert!(used + moved >= 4 * STATE && used <= 6 * STATE, "{used} and {moved} bytes");
    let read = |(seed, view): (u64, View<Passive, 1, OpenCl>)| {
        let expected: Vec<f64> = start(seed).iter().map(|x| 2.0 * x).collect();
        assert_eq!(*view.values(), *expected);
    };
    std::thread::spawn(move || (0..).zip(kept).for_each(read)).join().expect("no panic");
    assert_eq!(bytes(), (0, 0));
    set_budget(ENOUGH);
}
