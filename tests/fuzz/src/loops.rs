//! Bodies as steps of time loops.

use crate::host::run_body;
use crate::program::{Body, Plan};
use crate::subject::Subject;
use std::sync::Arc;
use tapewright::checkpoint::TimeLoop;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Online, Revolve};
use tapewright::{Passive, Real};

/// What a loop's parameters and state are, under some strategy.
type Variables<S> = Vec<Real<S>>;

/// A step: the body's outputs replace the first variables of the state. The parameter is the last input of the body.
fn step<S: Subject>(body: &Body, parameters: &[Real<S>], state: &[Real<S>]) -> Variables<S> {
    let inputs: Variables<S> = state.iter().chain(parameters).take(body.inputs).cloned().collect();
    let mut next = run_body(body, &inputs);
    next.truncate(state.len());
    next.extend_from_slice(&state[next.len()..]);
    next
}

/// Runs a body as a loop. The last input is a parameter, the others are the state; a body of one input has no
/// parameters.
pub(crate) fn time_loop<S: Subject>(plan: Plan, body: &Arc<Body>, inputs: &[Real<S>], _: f64) -> Variables<S> {
    let (state, parameters) = inputs.split_at((inputs.len() - 1).max(1));
    let (state, parameters) = (state.to_vec(), parameters.to_vec());
    let (plainly, taped) = (Arc::clone(body), Arc::clone(body));
    let plain =
        move |_: usize, c: &Variables<Passive<S::Value>>, x: &Variables<Passive<S::Value>>| step(&plainly, c, x);
    let taped = move |_: usize, c: &Variables<S::Inner>, x: &Variables<S::Inner>| step(&taped, c, x);
    let Plan { schedule, steps, budget } = plan;
    let (n, few) = (steps, budget.max(1));
    let scheduled = match schedule % 6 {
        0 => TimeLoop::<S::Inner>::new(FullTape::new(n)),
        1 => TimeLoop::new(Equidistant::new(n, few)),
        2 => TimeLoop::new(Revolve::new(n, few)),
        3 => TimeLoop::new(Multistage::new(n, few, 1)),
        4 => TimeLoop::new(Mixed::new(n, few)),
        _ => TimeLoop::new(Online::new(few)),
    };
    scheduled
        .run_while(&parameters, &state, move |step, _| step < steps, plain, taped)
        .expect("a loop with a schedule of the library")
}
