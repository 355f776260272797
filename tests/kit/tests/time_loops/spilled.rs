//! Loops whose recorded steps, and whose snapshots, leave memory.

use crate::plans::Plan;
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::{Multistage, Revolve};
use tapewright::storage::{SpillDefaults, SpillOptions};
use tapewright::strategies::Spills;
use tapewright::{Error, Spilled};
use tapewright_kit_tests::{FewPages, SecondBuffer};

const STEPS: usize = 12;
const VARIABLES: usize = 40;

/// 4000 statements, more than the memory of the layers here has room for.
fn step<S: Taping<Value = f64>>(state: &[Real<S>]) -> Vec<Real<S>> {
    let mut state = state.to_vec();
    for k in 0..100 * VARIABLES {
        let (i, j) = (k % VARIABLES, (k + 7) % VARIABLES);
        state[i] = (&state[i] + 1e-4 * state[i].sin() * &state[j]).into();
    }
    state
}

fn start() -> Vec<f64> {
    (0..40_u8).map(|k| 1.0 / f64::from(k + 2)).collect()
}

/// The bits of a gradient with as many inputs as there are variables.
fn gradient_of<S: Reverse<Value = f64>>(f: impl Fn(&Vec<Real<S>>) -> Result<Vec<Real<S>>, Error>) -> Vec<u64> {
    let mut tape = Tape::<S>::new();
    let recorded = tape.record(|scope| {
        let x = scope.inputs(&start());
        f(&x).map(|end| (x, end))
    });
    let (x, end) = recorded.expect("room for all of it");
    let adjoints = tape.sweep(&[(&end[0], 1.0), (&end[5], 0.5)]).expect("swept");
    adjoints.of_all(&x).expect("inputs").into_iter().map(f64::to_bits).collect()
}

fn by_schedule<S: Reverse<Value = f64>>(schedule: Plan, disk: &SpillOptions) -> Vec<u64> {
    gradient_of::<S>(|x| {
        let time_loop = TimeLoop::<S>::new(schedule.clone()).disk(disk.clone());
        time_loop.run(&(), x, |_, (), x| step(x), |_, (), x| step(x))
    })
}

/// With steps, and snapshots of the loop, that leave memory as these options say.
fn is_the_gradient_of_memory<S: Spills<Value = f64>>(options: &SpillOptions) {
    let all_at_once = gradient_of::<Jacobian>(|x| Ok((0..STEPS).fold(x.clone(), |x, _| step(&x))));
    assert!(all_at_once.iter().all(|slope| f64::from_bits(*slope) != 0.0));
    let mut one = Tape::<S>::new();
    let _end = one.record(|scope| step(&scope.inputs(&start())));
    assert!(one.spill_usage().on_disk > 0, "a step leaves memory");
    assert_eq!(by_schedule::<S>(Plan::Revolve(Revolve::new(STEPS, 3)), options), all_at_once);
    assert_eq!(by_schedule::<S>(Plan::Multistage(Multistage::new(STEPS, 1, 3)), options), all_at_once);
    let of_stages = gradient_of::<S>(|x| {
        let stage = |x: Vec<_>| Stage::<S>::new().run(&x, |x| step(x), |x| step(x));
        Ok((0..STEPS).fold(x.clone(), |x, _| stage(x)))
    });
    assert_eq!(of_stages, all_at_once);
}

#[test]
fn loops_and_stages_on_a_spilled_layer_give_the_gradient_of_memory() {
    is_the_gradient_of_memory::<PrimalValue<f64, Reuse, Spilled<FewPages>>>(&FewPages::options());
}

#[test]
fn loops_and_stages_on_a_second_buffer_give_the_gradient_of_memory() {
    is_the_gradient_of_memory::<Jacobian<f64, Linear, Spilled<SecondBuffer>>>(&SecondBuffer::options());
}
