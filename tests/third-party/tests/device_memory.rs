//! Budgets of device memory. These tests have a program of their own, because a budget is that of a device.
#![cfg(feature = "opencl")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use tapewright::checkpoint::TimeLoop;
use tapewright::kernels::devices::{DeviceSpace, MemoryUse, OpenCl};
use tapewright::kernels::{Host, Space, View, parallel_for, parallel_sum};
use tapewright::policy::AllowedIn;
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, Multistage, Schedule};
use tapewright::{Linear, Reverse, Spilled};
use tapewright_strategies::storage::SpillOptions;

const POINTS: usize = 10_000;
/// Bytes of one state.
const STATE: usize = 8 * POINTS;

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> Vec<f64> {
    (0..POINTS).map(|k| f64::from(u32::try_from(k * 7919 % 1013).expect("small")) / 1024.0 - 0.4).collect()
}

/// Steps whose sweep needs every state; a mean square, and a mean product with the start.
fn steps<S: Taping<Value = f64>, M: Space<f64>>(x: &View<S, 1, M>, k: &Real<S>, count: usize) -> [Real<S>; 2] {
    let mut y = x.clone();
    for _ in 0..count {
        parallel_for(y.interior(1), (&mut y, k), |(y, k)| {
            let here = y.at::<0>();
            (here + 0.25 * k * (y.at::<-1>() * y.at::<1>() - here * here),)
        });
    }
    let squares = parallel_sum(y.all(), &y, |y| y.at::<0>().square());
    let products = parallel_sum(y.all(), (&y, x), |(y, x)| y.at::<0>() * x.at::<0>());
    [squares, products]
}

/// Bits of values and gradients.
fn swept<S, M: Space<f64>>(tape: &mut Tape<S>, count: usize) -> Result<Vec<u64>, tapewright::Error>
where
    S: Reverse<Value = f64, Policy: AllowedIn<M>>,
{
    let (x, k, z) = tape.try_record(|scope| {
        let (x, k) = (scope.view([POINTS], &start()).in_space::<M>(), scope.input(0.75));
        let z = steps(&x, &k, count);
        (x, k, z)
    })?;
    let mut found = vec![z[0].value().to_bits(), z[1].value().to_bits()];
    for seeds in [[(&z[0], 1.0), (&z[1], 0.0)], [(&z[0], -0.5), (&z[1], 2.0)]] {
        let adjoints = tape.sweep(&seeds)?;
        found.extend(adjoints.of_view(&x)?.iter().map(|slope| slope.to_bits()));
        found.push(adjoints.of(&k)?.to_bits());
    }
    Ok(found)
}

#[test]
fn versions_beyond_the_budget_move_to_the_host_and_back() {
    let _alone = alone();
    let host = swept::<_, Host>(&mut Tape::<Jacobian>::new(), 24).expect("the host");
    for states in [6, 12] {
        OpenCl::set_memory_budget(states * STATE).expect("a device");
        OpenCl::memory_use().expect("a device");
        let mut tape = Tape::<Jacobian>::new();
        assert_eq!(swept::<_, OpenCl>(&mut tape, 24).expect("moved"), host, "{states} states");
        let memory = OpenCl::memory_use().expect("a device");
        assert!(memory.peak <= states * STATE && memory.budget == states * STATE, "{memory:?}");
        assert!(memory.moved >= (24 - states) * STATE, "{memory:?}");
        drop(tape);
        let memory = OpenCl::memory_use().expect("a device");
        assert_eq!((memory.used, memory.moved), (0, 0));
    }
}

/// Versions go to the host, and from there to disk.
#[test]
fn both_budgets_may_be_small() {
    let _alone = alone();
    let host = swept::<_, Host>(&mut Tape::<Jacobian>::new(), 16).expect("the host");
    OpenCl::set_memory_budget(6 * STATE).expect("a device");
    let options = SpillOptions::default().slab(4096).memory(4 * STATE);
    let mut tape = Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options).expect("a file");
    assert_eq!(swept::<_, OpenCl>(&mut tape, 16).expect("written"), host);
}

/// Bits of a value and its gradient, over a loop of 24 steps that are computed again between snapshots, and the memory.
fn in_a_loop<M: Space<f64>>(schedule: impl Schedule + Clone + Send + Sync + 'static) -> (Vec<u64>, MemoryUse) {
    fn step<S: Taping<Value = f64>, M: Space<f64>>(k: &Real<S>, x: &View<S, 1, M>) -> View<S, 1, M> {
        let mut y = x.clone();
        parallel_for(y.interior(1), (&mut y, k), |(y, k)| {
            let here = y.at::<0>();
            (here + 0.25 * k * (y.at::<-1>() * y.at::<1>() - here * here),)
        });
        y
    }
    OpenCl::memory_use().expect("a device");
    let mut tape = Tape::<Jacobian>::new();
    let (x, k, z) = tape.record(|scope| {
        let (x, k) = (scope.view([POINTS], &start()).in_space::<M>(), scope.input(0.75));
        let steps = TimeLoop::<Jacobian>::new(schedule).disk(SpillOptions::default()).checked(false);
        let y = steps.run(&k, &x, |_, k, x| step(k, x), |_, k, x| step(k, x)).expect("the loop runs");
        let z = Real::from(parallel_sum(y.all(), &y, |y| y.at::<0>().square()));
        (x, k, z)
    });
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    let mut found = vec![z.value().to_bits(), adjoints.of(&k).expect("k").to_bits()];
    found.extend(adjoints.of_view(&x).expect("x").iter().map(|slope| slope.to_bits()));
    (found, OpenCl::memory_use().expect("a device"))
}

#[test]
fn snapshots_are_on_the_device_or_on_the_host_or_on_disk() {
    let _alone = alone();
    OpenCl::set_memory_budget(100 * STATE).expect("a device");
    let (host, _) = in_a_loop::<Host>(Equidistant::new(24, 8));
    let (there, full) = in_a_loop::<OpenCl>(Equidistant::new(24, 8));
    assert_eq!(there, host);
    assert!(full.peak >= 9 * STATE && full.moved == 0, "{full:?}");
    // More snapshots than the device has room for.
    OpenCl::set_memory_budget(6 * STATE).expect("a device");
    let (moved, memory) = in_a_loop::<OpenCl>(Equidistant::new(24, 8));
    assert_eq!(moved, host);
    assert!(memory.peak <= 6 * STATE, "{memory:?}");
    // One in memory, seven on disk.
    OpenCl::set_memory_budget(100 * STATE).expect("a device");
    let (host, _) = in_a_loop::<Host>(Multistage::new(24, 1, 7));
    let (on_disk, memory) = in_a_loop::<OpenCl>(Multistage::new(24, 1, 7));
    assert_eq!(on_disk, host);
    assert!(memory.peak + 3 * STATE <= full.peak, "{memory:?}, and {full:?}");
}

#[test]
fn a_budget_too_small_for_a_launch_is_an_error_and_nothing_is_lost() {
    let _alone = alone();
    let host = swept::<_, Host>(&mut Tape::<Jacobian>::new(), 3).expect("the host");
    OpenCl::set_memory_budget(STATE).expect("a device");
    let mut tape = Tape::<Jacobian>::new();
    let error = swept::<_, OpenCl>(&mut tape, 3).expect_err("a launch has two states").to_string();
    assert!(error.contains("set_memory_budget") && error.contains(&STATE.to_string()), "{error}");
    OpenCl::set_memory_budget(100 * STATE).expect("a device");
    assert_eq!(swept::<_, OpenCl>(&mut tape, 3).expect("room"), host);
    // In a sweep.
    let (x, z) = tape.record(|scope| {
        let x = scope.view([POINTS], &start()).in_space::<OpenCl>();
        let z = steps(&x, &Real::constant(0.75), 3);
        (x, z)
    });
    OpenCl::set_memory_budget(STATE / 2).expect("a device");
    let error = tape.sweep(&[(&z[0], 1.0)]).map(|_| ()).expect_err("no place for a state").to_string();
    assert!(error.contains("set_memory_budget"), "{error}");
    OpenCl::set_memory_budget(100 * STATE).expect("a device");
    let adjoints = tape.sweep(&[(&z[0], 1.0)]).expect("again");
    let found: Vec<u64> = adjoints.of_view(&x).expect("x").iter().map(|slope| slope.to_bits()).collect();
    assert_eq!(found, host[2..][..POINTS]);
}

#[test]
fn two_threads_share_a_budget() {
    let _alone = alone();
    let host = swept::<_, Host>(&mut Tape::<Jacobian>::new(), 12).expect("the host");
    OpenCl::set_memory_budget(9 * STATE).expect("a device");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(swept::<_, OpenCl>(&mut Tape::<Jacobian>::new(), 12).expect("moved"), host));
        }
    });
    assert!(OpenCl::memory_use().expect("a device").peak <= 9 * STATE);
}
