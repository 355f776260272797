//! Bodies as steps of time loops.

use crate::host::{run_body, run_body_with};
use crate::launches::{Both, Parts};
use crate::program::{Body, Plan};
use crate::subject::Subject;
use std::sync::Arc;
use tapewright::checkpoint::TimeLoop;
use tapewright::kernels::View;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Online, Revolve};
use tapewright::{Passive, Real, Reverse, Taping};

/// What a loop's parameters and state are, under some strategy.
type Variables<S> = Vec<Real<S>>;

/// The state and the parameters: the last input is a parameter, the others are the state; a body of one input has no
/// parameters.
fn split<S: Taping>(inputs: &[Real<S>]) -> (Variables<S>, Variables<S>) {
    let (state, parameters) = inputs.split_at((inputs.len() - 1).max(1));
    (state.to_vec(), parameters.to_vec())
}

/// The inputs of a step.
fn inputs<S: Taping>(body: &Body, parameters: &[Real<S>], state: &[Real<S>]) -> Variables<S> {
    state.iter().chain(parameters).take(body.inputs).cloned().collect()
}

/// A step: the body's outputs replace the first variables of the state.
fn next<S: Taping>(state: &[Real<S>], mut outputs: Variables<S>) -> Variables<S> {
    outputs.truncate(state.len());
    outputs.extend_from_slice(&state[outputs.len()..]);
    outputs
}

fn step<S: Subject>(body: &Body, parameters: &[Real<S>], state: &[Real<S>]) -> Variables<S> {
    next(state, run_body(body, &inputs(body, parameters, state)))
}

/// The loop of a plan.
fn planned<T: Reverse>(plan: Plan) -> TimeLoop<T> {
    let (n, few) = (plan.steps, plan.budget.max(1));
    match plan.schedule % 6 {
        0 => TimeLoop::new(FullTape::new(n)),
        1 => TimeLoop::new(Equidistant::new(n, few)),
        2 => TimeLoop::new(Revolve::new(n, few)),
        3 => TimeLoop::new(Multistage::new(n, few, 1)),
        4 => TimeLoop::new(Mixed::new(n, few)),
        _ => TimeLoop::new(Online::new(few)),
    }
}

impl Plan {
    /// Whether the loop is told its number of steps.
    pub(crate) const fn is_told(self) -> bool {
        self.known && self.schedule % 6 < 5
    }
}

/// Runs a body as a loop.
pub(crate) fn time_loop<S: Subject>(plan: Plan, body: &Arc<Body>, inputs: &[Real<S>]) -> Variables<S> {
    let (state, parameters) = split(inputs);
    let (plainly, taped) = (Arc::clone(body), Arc::clone(body));
    let plain =
        move |_: usize, c: &Variables<Passive<S::Value>>, x: &Variables<Passive<S::Value>>| step(&plainly, c, x);
    let taped = move |_: usize, c: &Variables<S::Inner>, x: &Variables<S::Inner>| step(&taped, c, x);
    let scheduled = planned::<S::Inner>(plan);
    if const { S::COUNTS } && plan.is_told() {
        return scheduled.run(&parameters, &state, plain, taped).expect("a loop with a schedule of the library");
    }
    scheduled
        .run_while(&parameters, &state, move |step, _| step < plan.steps, plain, taped)
        .expect("a loop with a schedule of the library")
}

/// Runs a body so often, with arrays.
pub(crate) fn steps<S: Taping>(
    count: usize,
    body: &Body,
    (variables, elements, views): Parts<S>,
    mut run: impl FnMut(&Parts<S>) -> Parts<S>,
) -> Parts<S> {
    let (state, parameters) = split(&variables);
    let mut all = (state, elements, views);
    for _ in 0..count {
        let (outputs, elements, views) = run(&(inputs(body, &parameters, &all.0), all.1, all.2));
        all = (next(&all.0, outputs), elements, views);
    }
    all
}

fn step_with_views<S: Subject>(body: &Body, parameters: &[Real<S>], (state, views): &Both<S>) -> Both<S> {
    let parts = (inputs(body, parameters, state), Vec::new(), views.clone());
    let ((outputs, _, views), _) = run_body_with(body, &parts, 1, !S::TAPED);
    (next(state, outputs), views)
}

/// Runs a body as a loop whose state has these views, which come back.
pub(crate) fn time_loop_with_views<S>(
    plan: Plan,
    body: &Arc<Body>,
    variables: &[Real<S>],
    views: Vec<View<S, 1>>,
) -> (Both<S>, Vec<View<S, 1>>)
where
    S: Subject<Inner = S> + Reverse,
{
    let (state, parameters) = split(variables);
    let (plainly, taped) = (Arc::clone(body), Arc::clone(body));
    let plain =
        move |_: usize, c: &Variables<Passive<S::Value>>, x: &Both<Passive<S::Value>>| step_with_views(&plainly, c, x);
    let taped = move |_: usize, c: &Variables<S>, x: &Both<S>| step_with_views(&taped, c, x);
    // Others are tried without views.
    let plan = Plan { schedule: plan.schedule % 5, ..plan };
    let state = (state, views);
    let end = planned::<S>(plan).run(&parameters, &state, plain, taped);
    (end.expect("a loop with a schedule of the library"), state.1)
}
