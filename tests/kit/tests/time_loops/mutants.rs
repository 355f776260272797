//! Every plan of the library with one action changed, and many with two.

use crate::faulty_schedules::{Replay, expected, fault, gradients, replay};
use tapewright::Error;
use tapewright::prelude::*;
use tapewright::schedule::{Action, Equidistant, FullTape, Level, Mixed, Multistage, Online, Revolve};
use tapewright_kit_tests::panics::panics;

/// The numbers of an action, and an action with others.
fn numbers(action: Action) -> Vec<usize> {
    match action {
        Action::Store { step, slot, .. } | Action::Restore { step, slot, .. } => vec![step, slot],
        Action::Discard { slot, .. } => vec![slot],
        Action::Advance { from, to } => vec![from, to],
        Action::Record { step, tape } | Action::Sweep { step, tape } => vec![step, tape],
        Action::Turn => vec![],
    }
}

fn with_numbers(action: Action, numbers: &[usize]) -> Action {
    match action {
        Action::Store { level, .. } => Action::Store { step: numbers[0], slot: numbers[1], level },
        Action::Restore { level, .. } => Action::Restore { step: numbers[0], slot: numbers[1], level },
        Action::Discard { level, .. } => Action::Discard { slot: numbers[0], level },
        Action::Advance { .. } => Action::Advance { from: numbers[0], to: numbers[1] },
        Action::Record { .. } => Action::Record { step: numbers[0], tape: numbers[1] },
        Action::Sweep { .. } => Action::Sweep { step: numbers[0], tape: numbers[1] },
        Action::Turn => Action::Turn,
    }
}

fn on_the_other_level(action: Action) -> Action {
    let other = |level| if level == Level::Memory { Level::Disk } else { Level::Memory };
    match action {
        Action::Store { step, slot, level } => Action::Store { step, slot, level: other(level) },
        Action::Restore { step, slot, level } => Action::Restore { step, slot, level: other(level) },
        Action::Discard { slot, level } => Action::Discard { slot, level: other(level) },
        action => action,
    }
}

/// Each list that differs from this one by a single change.
fn mutants(actions: &[Action]) -> Vec<Vec<Action>> {
    let mut mutants = Vec::new();
    let mut keep = |mutant: Vec<Action>| {
        if mutant != actions {
            mutants.push(mutant);
        }
    };
    for at in 0..actions.len() {
        let (before, after) = (&actions[..at], &actions[at + 1..]);
        let mut replace = |by: &[Action]| keep([before, by, after].concat());
        let action = actions[at];
        replace(&[]);
        replace(&[action, action]);
        replace(&[on_the_other_level(action)]);
        replace(&[Action::Turn]);
        for (field, number) in numbers(action).into_iter().enumerate() {
            for changed in [number.wrapping_sub(1), number.wrapping_add(1), number.wrapping_add(2), 0] {
                let mut numbers = numbers(action);
                numbers[field] = changed;
                replace(&[with_numbers(action, &numbers)]);
            }
        }
        keep(before.to_vec());
        let mut swapped = actions.to_vec();
        swapped.swap(at, (at + 1).min(actions.len() - 1));
        keep(swapped);
    }
    mutants
}

fn schedules(steps: usize) -> Vec<Replay> {
    vec![
        replay(FullTape::new(steps), steps),
        replay(Equidistant::new(steps, 2), steps),
        replay(Revolve::new(steps, 1), steps),
        replay(Revolve::new(steps, 2), steps),
        replay(Multistage::new(steps, 1, 1), steps),
        replay(Online::new(2), steps),
        replay(Mixed::new(steps, 2), steps),
    ]
}

/// How many changes of a schedule left the gradient right, and how many were errors.
#[derive(Default)]
struct Tally {
    right: usize,
    faults: usize,
}

/// The error names the action that stands at that place of the plan, or its end.
fn assert_named(schedule: &Replay, result: &Result<Vec<f64>, Error>) {
    let (named, why) = fault(result);
    assert!(!why.is_empty());
    let is_it =
        |place: usize| schedule.actions.get(place - 1).is_some_and(|it| *named == format!("action {place}, {it:?}"));
    let end = format!("its end, after action {}", schedule.actions.len());
    assert!(named == end || (1..=schedule.actions.len()).any(is_it), "{named}: {why}");
}

fn try_out(tape: &mut Tape<Jacobian>, schedule: &Replay, length: usize, right: &[f64], tally: &mut Tally) {
    let mut results = Vec::new();
    assert!(!panics(&mut || results.extend(gradients(tape, schedule, length))), "{schedule:?}");
    for result in results {
        match &result {
            Ok(found) => {
                assert_eq!(found, right, "{schedule:?}");
                tally.right += 1;
            }
            error => {
                assert_named(schedule, error);
                tally.faults += 1;
            }
        }
    }
}

#[test]
fn a_changed_plan_is_an_error_or_right() {
    let (mut tape, mut tally) = (Tape::<Jacobian>::new(), Tally::default());
    for steps in [0, 1, 2, 3, 5, 7] {
        let right = expected(steps);
        for schedule in schedules(steps) {
            let mut unchanged = Tally::default();
            try_out(&mut tape, &schedule, steps, &right, &mut unchanged);
            assert_eq!(unchanged.right, 2, "{schedule:?}");
            for actions in mutants(&schedule.actions) {
                try_out(&mut tape, &Replay { actions, ..schedule.clone() }, steps, &right, &mut tally);
            }
        }
    }
    // The tape that met all these errors is as good as before.
    let after = gradients(&mut tape, &schedules(7)[3], 7);
    assert_eq!(after, [Ok(expected(7)), Ok(expected(7))]);
    assert!(tally.right > 100 && tally.faults > 10 * tally.right, "{} right, {} faults", tally.right, tally.faults);
}

/// Two changes, where one may hide the other.
#[test]
fn two_changes_of_a_plan_are_an_error_or_right() {
    let (mut tape, mut tally) = (Tape::<Jacobian>::new(), Tally::default());
    let mut random = 1_u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).expect("31 bits") % n
    };
    for steps in [2, 3, 4, 6] {
        let right = expected(steps);
        for schedule in schedules(steps) {
            let once = mutants(&schedule.actions);
            for _ in 0..300 {
                let twice = mutants(&once[below(once.len())]);
                if twice.is_empty() {
                    continue;
                }
                let actions = twice[below(twice.len())].clone();
                try_out(&mut tape, &Replay { actions, ..schedule.clone() }, steps, &right, &mut tally);
            }
        }
    }
    assert!(tally.right > 10 && tally.faults > 1000, "{} right, {} faults", tally.right, tally.faults);
}
