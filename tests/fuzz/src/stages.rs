//! Bodies as stages, blocks, and evaluations inside.

use crate::host::{Inside, run_body};
use crate::launches::Both;
use crate::program::{BlockKind, Body, NestedKind, Question, StageKind};
use crate::subject::Subject;
use std::sync::Arc;
use tapewright::checkpoint::{Stage, TapePool, closure_stage};
use tapewright::external::ByTangents;
use tapewright::kernels::View;
use tapewright::{
    Closed, Number, Passive, Real, Reverse, Tangent, Tape, Taping, external, jacobian_forward, preaccumulate,
    preaccumulate_by_reverse,
};

/// Runs a body as a stage.
pub(crate) fn stage<S: Subject>(inside: Inside<S>, inputs: &[Real<S>]) -> Vec<Real<S>> {
    let (inputs, body, again) = (inputs.to_vec(), Arc::clone(&inside.body), Arc::clone(&inside.body));
    match inside.kind {
        StageKind::Closure | StageKind::Outside | StageKind::Missing => S::closure_stage(inside, &inputs),
        StageKind::Checkpoint => {
            let taped = move |x: &Vec<Real<S::Inner>>| run_body(&again, x);
            Stage::<S::Inner>::new().named("a stage").run(&inputs, |x| run_body(&body, x), taped)
        }
        // What programs have in place has the same code.
        StageKind::Tuple if const { !S::NESTS } => S::closure_stage(inside, &inputs),
        StageKind::Tuple => {
            let (first, rest) = inputs.split_first().expect("bodies have inputs");
            let taped = move |(x, rest): &(Real<S::Inner>, Vec<Real<S::Inner>>)| run_body(&again, &joined(x, rest));
            Stage::<S::Inner>::new().checked(false).run(
                &(first.clone(), rest.to_vec()),
                |(x, rest)| run_body(&body, &joined(x, rest)),
                taped,
            )
        }
    }
}

/// Runs a body as a stage with these views, which come back.
pub(crate) fn stage_with_views<S: Subject + Reverse>(
    inside: Inside<S>,
    variables: Vec<Real<S>>,
    views: Vec<View<S, 1>>,
) -> (Both<S>, Vec<View<S, 1>>) {
    let function = move |(variables, views): &Both<S>| {
        let (results, _, views) = inside.run_with(&(variables.clone(), Vec::new(), views.clone()));
        (results, views)
    };
    let inputs = (variables, views);
    (closure_stage(function, &inputs), inputs.1)
}

fn joined<S: Taping>(first: &Real<S>, rest: &[Real<S>]) -> Vec<Real<S>> {
    core::iter::once(first).chain(rest).cloned().collect()
}

/// Runs a body as a block.
pub(crate) fn block<S: Subject>(kind: BlockKind, body: &Arc<Body>, inputs: &[Real<S>]) -> Vec<Real<S>> {
    match (kind, inputs) {
        (BlockKind::Forward, [x]) if const { S::NESTS } => forward_block(body, &[x.clone(), Real::from(0.5)]),
        (BlockKind::Forward, [x, y]) if const { S::NESTS } => forward_block(body, &[x.clone(), y.clone()]),
        // By as many tangents as `ByTangents` has, so that one strategy fewer is compiled; the body uses the first three.
        (BlockKind::Forward, _) => {
            forward_block::<S, 8>(body, &core::array::from_fn(|k| inputs[k % inputs.len()].clone()))
        }
        (BlockKind::Tangents, _) => {
            let at: Vec<S::Value> = inputs.iter().map(Real::peek).collect();
            let plain: Vec<Real<Passive<S::Value>>> = at.iter().map(|x| Real::constant(*x)).collect();
            let values: Vec<S::Value> = run_body(body, &plain).iter().map(Real::peek).collect();
            let again = Arc::clone(body);
            let function = move |x: &[Real<Tangent<8, S::Value>>]| run_body(&again, x);
            external(inputs, &values, ByTangents::new(function, &at))
        }
        _ => preaccumulate_by_reverse::<S::Inner, S, Vec<Real<S>>, Vec<Real<S::Inner>>>(&inputs.to_vec(), |x| {
            run_body(body, x)
        }),
    }
}

fn forward_block<S: Subject, const N: usize>(body: &Body, inputs: &[Real<S>; N]) -> Vec<Real<S>> {
    preaccumulate(inputs, |x: &[Real<Tangent<N, S::Value>>; N]| run_body(body, &x[..body.inputs]))
}

/// The slopes of a body's first output, computed inside.
///
/// A slope of 0 has the sign that the order of additions gives it, and 1 / -0 is not 1 / 0, so it becomes +0.
pub(crate) fn nested<S: Subject>(kind: NestedKind, body: &Body, at: &[S::Value]) -> Vec<S::Value> {
    let slopes = match kind {
        NestedKind::Tape => {
            let mut slopes = vec![S::Value::ZERO; at.len()];
            let mut tape = Tape::<S::Inner>::new();
            tape.gradient(|x| run_body(body, x).swap_remove(0), at, &mut slopes).expect("its own output");
            slopes
        }
        NestedKind::Pool => {
            let mut nested = TapePool::<S::Inner>::new().nested();
            let inputs = nested.inputs(at);
            let output = run_body(body, &inputs).swap_remove(0);
            nested.compute_adjoints(&[(&output, S::Value::from_f64(1.0))]).expect("its own output");
            inputs.iter().map(|x| nested.adjoint(x).expect("its own input")).collect()
        }
        NestedKind::Forward => {
            let first = |x: &[Real<Tangent<2, S::Value>>]| vec![run_body(body, x).swap_remove(0)];
            jacobian_forward::<Tangent<2, S::Value>>(first, at).1.concat()
        }
    };
    slopes.into_iter().map(|slope| slope + S::Value::ZERO).collect()
}

/// A question to a closed variable.
pub(crate) fn closed_question<S: Taping>(question: Question, x: &Real<S>) -> bool {
    use tapewright::strategies::num_traits::{One, Zero};
    let x = Closed::from(x.clone());
    if question == Question::NotZero { !x.is_zero() } else { !x.is_one() }
}
