//! Schedules of any kind, and a loop to reverse.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::Error;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Action, Equidistant, FullTape, Mixed, Multistage, Online, Revolve, Schedule, SlotCounts};
use tapewright_kit_tests::{all_close, float};

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

thread_local! {
    /// Steps that this thread has begun, without recording and with it.
    pub(crate) static STEPS: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
    /// The step of either kind that panics.
    pub(crate) static FAILS_AT: Cell<[usize; 2]> = const { Cell::new([usize::MAX; 2]) };
}

/// A step that is counted, as one without (0) or with a recording (1), and may panic at its end.
fn counted<T: Taping>(recorded: usize, t: usize, k: &Real<T>, u: &[Real<T>]) -> Vec<Real<T>> {
    let mut steps = STEPS.get();
    steps[recorded] += 1;
    STEPS.set(steps);
    let next = step(t, k, u);
    assert!(FAILS_AT.get()[recorded] != t, "the step that is to panic");
    next
}

/// The loop from these variables, whose first is the parameter: by a schedule that may or may not know the number of
/// steps.
pub(crate) fn by_loop<S: Reverse>(time_loop: TimeLoop<S>, steps: usize, x: &[Real<S>]) -> Result<Vec<Real<S>>, Error> {
    let go_on = move |t: usize, _: &Vec<Real<Passive<S::Value>>>| t < steps;
    time_loop.run_while(&x[0], &x[1..].to_vec(), go_on, |t, k, u| counted(0, t, k, u), |t, k, u| counted(1, t, k, u))
}

/// Records a loop of inputs.
pub(crate) fn record<S: Reverse>(time_loop: TimeLoop<S>, steps: usize) -> Result<Recorded<S>, Error> {
    let mut tape = Tape::new();
    let recorded = tape.record(|scope| {
        let x = scope.inputs(&inputs());
        by_loop(time_loop, steps, &x).map(|end| (x, weigh(&end)))
    });
    recorded.map(|(x, y)| Recorded { tape, x, y })
}

/// A tape, its inputs, and the weighed final state of a loop.
#[derive(Debug)]
pub(crate) struct Recorded<S: Reverse> {
    pub(crate) tape: Tape<S>,
    pub(crate) x: Vec<Real<S>>,
    pub(crate) y: Real<S>,
}

impl<S: Reverse> Recorded<S> {
    /// Sweeps from the output.
    pub(crate) fn swept(&mut self, seed: f64) -> Result<Vec<S::Value>, Error> {
        self.tape.sweep(&[(&self.y, float(seed))]).and_then(|adjoints| adjoints.of_all(&self.x))
    }

    /// Asserts that its gradient is that of the full tape.
    #[track_caller]
    pub(crate) fn assert_right(&mut self, steps: usize) {
        let (value, gradient) = reference::<S>(steps);
        assert_eq!(self.y.value(), value);
        // Seeds that are powers of 2 change no rounding.
        for seed in [1.0, -4.0] {
            let expected: Vec<S::Value> = gradient.iter().map(|slope| float::<S::Value>(seed) * *slope).collect();
            all_close(&self.swept(seed).expect("its own"), &expected, 500);
        }
    }
}

/// A state of one number, and no parameters.
#[derive(Clone)]
pub(crate) enum Chain {
    Sine,
    Double,
    /// NaN from the first step on.
    Root,
    /// A sine and ½, and from so many calls on a little more.
    Drift(Arc<AtomicUsize>, usize),
}

impl Chain {
    pub(crate) fn step<T: Taping>(&self, u: &Real<T>) -> Real<T> {
        match self {
            Self::Sine => (u * 0.75).sin().eval(),
            Self::Double => (u * 2.0).eval(),
            Self::Root => (u.sqrt() - 1.0).eval(),
            Self::Drift(calls, changes_at) => {
                let late = calls.fetch_add(1, Relaxed) >= *changes_at;
                (u.sin() + if late { 0.5 + 1e-14 } else { 0.5 }).eval()
            }
        }
    }

    /// The chain while `go_on` says so of a step and a state.
    pub(crate) fn by_loop(
        &self,
        time_loop: TimeLoop<Jacobian>,
        x: Real<Jacobian>,
        go_on: &dyn Fn(usize, f64) -> bool,
    ) -> Real<Jacobian> {
        let (plain, taped) = (self.clone(), self.clone());
        let go_on = |t: usize, u: &Real<Passive>| go_on(t, u.value());
        let end = time_loop.run_while(&(), &x, go_on, move |_, (), u| plain.step(u), move |_, (), u| taped.step(u));
        end.expect("room for snapshots")
    }
}

/// The parameter and the state.
pub(crate) fn inputs<V: tapewright::Number>() -> Vec<V> {
    std::iter::once(K).chain(START).map(float).collect()
}

/// Value and gradient of the weighed final state, with all steps on the tape.
pub(crate) fn reference<S: Reverse>(steps: usize) -> (S::Value, Vec<S::Value>) {
    value_and_gradient::<S>(|x| weigh(&on_one_tape(steps, x)), &inputs())
}

/// The final state, with all steps on the tape.
pub(crate) fn on_one_tape<T: Taping>(steps: usize, x: &[Real<T>]) -> Vec<Real<T>> {
    let mut u = x[1..].to_vec();
    for t in 0..steps {
        u = step(t, &x[0], &u);
    }
    u
}
