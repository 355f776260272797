//! Smaller cases.

use crate::program::{Action, Body, Case, Kernel, Launch, Op, Plan, Recording, Seeds, Slice, StageKind, Step};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The smallest case found that still fails, within this time, given what is tried in place of a case.
pub(crate) fn shrink<C: Clone>(
    case: &C,
    limit: Duration,
    cases: impl Fn(&C) -> Vec<C>,
    fails: &dyn Fn(&C) -> bool,
) -> C {
    let start = Instant::now();
    let mut smallest = case.clone();
    'again: loop {
        for candidate in cases(&smallest) {
            if start.elapsed() > limit {
                return smallest;
            }
            if fails(&candidate) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

/// A list without some of its elements, or with one of them replaced.
pub(crate) fn lists<T: Clone>(list: &[T], least: usize, smaller: impl Fn(&T) -> Vec<Vec<T>>) -> Vec<Vec<T>> {
    let mut found = Vec::new();
    let mut length = list.len();
    while length > 0 {
        for start in (0..list.len()).step_by(length) {
            let end = (start + length).min(list.len());
            if list.len() - (end - start) >= least {
                found.push([&list[..start], &list[end..]].concat());
            }
        }
        length /= 2;
    }
    for (k, element) in list.iter().enumerate() {
        found.extend(smaller(element).into_iter().map(|new| [&list[..k], &new[..], &list[k + 1..]].concat()));
    }
    found
}

/// What is tried in place of a case.
pub(crate) fn cases(case: &Case) -> Vec<Case> {
    let one = |recording: &Recording| recordings(recording).into_iter().map(|new| vec![new]).collect();
    let found = lists(&case.recordings, 1, one);
    let mut found: Vec<Case> = found.into_iter().map(|recordings| Case { recordings, ..case.clone() }).collect();
    if case.single {
        found.push(Case { single: false, ..case.clone() });
    }
    found
}

fn recordings(old: &Recording) -> Vec<Recording> {
    let mut found = Vec::new();
    for actions in lists(&old.actions, 0, |action| actions(action).into_iter().map(|new| vec![new]).collect()) {
        found.push(Recording { actions, ..old.clone() });
    }
    for steps in lists(&old.steps, 0, steps) {
        found.push(Recording { steps, ..old.clone() });
    }
    if old.inputs.len() > old.early {
        found.push(Recording { inputs: old.inputs[..old.inputs.len() - 1].to_vec(), ..old.clone() });
    }
    if old.early > 1 {
        let early = old.early - 1;
        found.push(Recording {
            inputs: [&old.inputs[..early], &old.inputs[old.early..]].concat(),
            early,
            ..old.clone()
        });
    }
    found.extend(numbers(&old.inputs).into_iter().map(|inputs| Recording { inputs, ..old.clone() }));
    let flags = [
        Recording { aborts: false, ..old.clone() },
        Recording { drivers: false, ..old.clone() },
        Recording { guards: false, ..old.clone() },
    ];
    found.extend(flags.into_iter().filter(|new| new != old));
    found
}

/// The same with a number replaced by 1, or 2.
pub(crate) fn numbers(old: &[f64]) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    for (k, x) in old.iter().enumerate() {
        for simple in [1.0_f64, 2.0] {
            if x.to_bits() != simple.to_bits() && *x != 1.0 {
                let mut new = old.to_vec();
                new[k] = simple;
                found.push(new);
            }
        }
    }
    found
}

fn seeds(old: &Seeds) -> Vec<Seeds> {
    lists(old, 1, |(k, seed)| {
        let mut found: Vec<Seeds> = numbers(&[*seed]).into_iter().map(|new| vec![(*k, new[0])]).collect();
        if *k > 7 {
            found.push(vec![(*k % 8, *seed)]);
        }
        found
    })
}

fn actions(old: &Action) -> Vec<Action> {
    match old.clone() {
        Action::Sweep { how, seeds: old } => {
            seeds(&old).into_iter().map(|seeds| Action::Sweep { how, seeds }).collect()
        }
        Action::Lanes { own, seeds, width } => {
            let less =
                |(k, seeds): &(usize, Vec<f64>)| numbers(seeds).into_iter().map(|seeds| vec![(*k, seeds)]).collect();
            lists(&seeds, 1, less).into_iter().map(|seeds| Action::Lanes { own, seeds, width }).collect()
        }
        Action::Forward { own, tangents } => {
            numbers(&tangents).into_iter().map(|tangents| Action::Forward { own, tangents }).collect()
        }
        Action::Between { reset, seeds: old, stops, finish } => {
            let mut found: Vec<Action> =
                lists(&stops, 0, |(to, old)| seeds(old).into_iter().map(|seeds| vec![(*to, seeds)]).collect())
                    .into_iter()
                    .map(|stops| Action::Between { reset, seeds: old.clone(), stops, finish })
                    .collect();
            let fewer = |seeds| Action::Between { reset, seeds, stops: stops.clone(), finish };
            found.extend(seeds(&old).into_iter().map(fewer));
            found
        }
        Action::Resume { inputs, steps: old } => {
            lists(&old, 0, steps).into_iter().map(|steps| Action::Resume { inputs: inputs.clone(), steps }).collect()
        }
        Action::Replay(inputs) => numbers(&inputs).into_iter().map(Action::Replay).collect(),
        _ => Vec::new(),
    }
}

/// What one step can be replaced with.
pub(crate) fn steps(old: &Step) -> Vec<Vec<Step>> {
    let with = |op: Op| vec![Step { op, ..old.clone() }];
    let mut found: Vec<Vec<Step>> = Vec::new();
    match &old.op {
        Op::Pause(inner) => {
            found.push(inner.clone());
            found.extend(lists(inner, 0, steps).into_iter().map(|inner| with(Op::Pause(inner))));
        }
        Op::Repeat(times, inner) => {
            found.push(inner.clone());
            if *times > 1 {
                found.push(with(Op::Repeat(times - 1, inner.clone())));
            }
            found.extend(lists(inner, 0, steps).into_iter().map(|inner| with(Op::Repeat(*times, inner))));
        }
        Op::Branch(question, yes, no) => {
            found.extend([yes.clone(), no.clone()]);
            found.extend(lists(yes, 0, steps).into_iter().map(|yes| with(Op::Branch(*question, yes, no.clone()))));
            found.extend(lists(no, 0, steps).into_iter().map(|no| with(Op::Branch(*question, yes.clone(), no))));
        }
        Op::Slice(slice) if slice.length > 1 => {
            let shorter = |length| with(Op::Slice(Slice { length, ..*slice }));
            found.extend([shorter(slice.length / 2), shorter(slice.length - 1)]);
        }
        Op::Launch(Launch { kernel: Kernel::Map(row), arrays }) if *row > 0 => {
            found.push(with(Op::Launch(Launch { kernel: Kernel::Map(row - 1), arrays: *arrays })));
        }
        _ => found.extend(with_bodies(old)),
    }
    if old.c != 1.0 && old.c != 2.0 {
        found.extend([1.0, 2.0].map(|c| vec![Step { c, ..old.clone() }]));
    }
    found
}

fn bodies(old: &Arc<Body>) -> Vec<Arc<Body>> {
    let fewer = lists(&old.steps, 0, steps).into_iter().map(|steps| Body { steps, ..Body::clone(old) });
    let mut found: Vec<Body> = fewer.collect();
    if old.outputs > 1 {
        found.push(Body { outputs: old.outputs - 1, ..Body::clone(old) });
    }
    if old.inputs > 1 {
        found.push(Body { inputs: old.inputs - 1, ..Body::clone(old) });
    }
    found.into_iter().map(Arc::new).collect()
}

/// [`steps`] for steps with bodies.
fn with_bodies(old: &Step) -> Vec<Vec<Step>> {
    let with = |op: Op| vec![Step { op, ..old.clone() }];
    let (body, mut found): (_, Vec<Vec<Step>>) = match &old.op {
        Op::Stage(_, body) | Op::Block(_, body) | Op::Loop(_, body) => (body, vec![body.steps.clone()]),
        Op::Nested(_, body) => (body, Vec::new()),
        _ => return Vec::new(),
    };
    if let Op::Stage(StageKind::Outside | StageKind::Missing, body) = &old.op {
        found.push(with(Op::Stage(StageKind::Closure, Arc::clone(body))));
    }
    if let Op::Loop(plan, body) = &old.op
        && plan.steps > 1
    {
        found.push(with(Op::Loop(Plan { steps: plan.steps - 1, ..*plan }, Arc::clone(body))));
    }
    found.extend(bodies(body).into_iter().map(|body| match &old.op {
        Op::Stage(kind, _) => with(Op::Stage(*kind, body)),
        Op::Block(kind, _) => with(Op::Block(*kind, body)),
        Op::Loop(plan, _) => with(Op::Loop(*plan, body)),
        Op::Nested(kind, _) => with(Op::Nested(*kind, body)),
        _ => unreachable!("it has a body"),
    }));
    found
}
