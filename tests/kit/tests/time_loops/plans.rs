//! Schedules of any kind, and a loop to reverse.

use crate::everywhere::float;
use tapewright::Error;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Action, Equidistant, FullTape, Mixed, Multistage, Online, Revolve, Schedule, SlotCounts};

/// A schedule of the library, as a type of the user's own.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Equidistant(Equidistant),
    FullTape(FullTape),
    Revolve(Revolve),
    Multistage(Multistage),
    Online(Online),
    Mixed(Mixed),
}

macro_rules! each {
    ($plan:expr, $schedule:ident => $call:expr) => {
        match $plan {
            Plan::Equidistant($schedule) => $call,
            Plan::FullTape($schedule) => $call,
            Plan::Revolve($schedule) => $call,
            Plan::Multistage($schedule) => $call,
            Plan::Online($schedule) => $call,
            Plan::Mixed($schedule) => $call,
        }
    };
}

impl Schedule for Plan {
    fn next_action(&mut self) -> Option<Action> {
        each!(self, schedule => schedule.next_action())
    }
    fn refused(&mut self) {
        each!(self, schedule => schedule.refused());
    }
    fn indispensable(&self) -> bool {
        each!(self, schedule => schedule.indispensable())
    }
    fn end(&mut self, steps: usize) {
        each!(self, schedule => schedule.end(steps));
    }
    fn steps(&self) -> Option<usize> {
        each!(self, schedule => schedule.steps())
    }
    fn capacity(&self) -> SlotCounts {
        each!(self, schedule => schedule.capacity())
    }
}

/// Schedules of every kind for so many steps, with few snapshots.
pub(crate) fn plans(steps: usize) -> [Plan; 8] {
    [
        Plan::FullTape(FullTape::new(steps)),
        Plan::Equidistant(Equidistant::new(steps, 4)),
        Plan::Revolve(Revolve::new(steps, 1)),
        Plan::Revolve(Revolve::new(steps, 3)),
        Plan::Multistage(Multistage::new(steps, 1, 2)),
        Plan::Multistage(Multistage::new(steps, 0, 3)),
        Plan::Online(Online::new(3)),
        Plan::Mixed(Mixed::new(steps, 4)),
    ]
}

/// A step that depends on time, a parameter and the state.
pub(crate) fn step<T: Taping>(t: usize, k: &Real<T>, u: &[Real<T>]) -> Vec<Real<T>> {
    let n = u.len();
    let slow = 1.0 + 0.01 * f64::from(u32::try_from(t).expect("few steps"));
    (0..n).map(|i| (&u[i] + k * u[(i + 1) % n].sin() * slow).eval()).collect()
}

/// Σ i·uᵢ.
pub(crate) fn weigh<T: Taping>(u: &[Real<T>]) -> Real<T> {
    let weights: Vec<f64> = (0..u32::try_from(u.len()).expect("few")).map(|i| 1.0 + f64::from(i)).collect();
    tapewright::linear_combination(&weights, u)
}

pub(crate) const K: f64 = 0.125;
pub(crate) const START: [f64; 3] = [0.5, -0.25, 1.0];

/// The loop from these variables, whose first is the parameter: by a schedule that may or may not know the number of
/// steps.
pub(crate) fn by_loop<S: Reverse>(time_loop: TimeLoop<S>, steps: usize, x: &[Real<S>]) -> Result<Vec<Real<S>>, Error> {
    time_loop.run_while(
        &x[0],
        &x[1..].to_vec(),
        move |t, _| t < steps,
        |t, k, u| step(t, k, u),
        |t, k, u| step(t, k, u),
    )
}

/// The parameter and the state.
pub(crate) fn inputs<V: tapewright::Number>() -> Vec<V> {
    std::iter::once(K).chain(START).map(float).collect()
}

/// Value and gradient of the weighed final state, with all steps on the tape.
pub(crate) fn reference<S: Reverse>(steps: usize) -> (S::Value, Vec<S::Value>) {
    value_and_gradient::<S>(|x| weigh(&(0..steps).fold(x[1..].to_vec(), |u, t| step(t, &x[0], &u))), &inputs())
}
