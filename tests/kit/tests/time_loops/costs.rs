//! Steps are evaluated as often as the schedule says, and the hook hears of each.

use crate::plans::{Chain, Plan, STEPS, by_loop, plans, record};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use tapewright::checkpoint::{Progress, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::{Action, Mixed, Multistage, Online, Revolve, Schedule};

/// Steps advanced over before and after the turn, and recorded before and after it.
fn cost(mut plan: Plan, steps: usize) -> [(usize, usize); 2] {
    let mut counts = [(0, 0); 2];
    let mut phase = 0;
    while let Some(action) = plan.next_action() {
        match action {
            Action::Advance { from, to } => {
                let end = to.min(steps);
                counts[phase].0 += end - from;
                if plan.steps().is_none() && end < to {
                    plan.end(steps);
                }
            }
            Action::Record { .. } => counts[phase].1 += 1,
            Action::Turn => phase = 1,
            _ => {}
        }
    }
    counts
}

/// The steps of this thread since it had begun as many as these.
fn since(before: [usize; 2]) -> (usize, usize) {
    let now = STEPS.get();
    (now[0] - before[0], now[1] - before[1])
}

#[test]
fn evaluations_are_those_of_the_schedule() {
    for steps in [1, 5, 40] {
        for plan in plans(steps) {
            let [forward, backward] = cost(plan.clone(), steps);
            let heard: Arc<Mutex<Vec<Progress>>> = Arc::default();
            let ears = Arc::clone(&heard);
            let before = STEPS.get();
            let looped = TimeLoop::<Jacobian>::new(plan.clone()).named("a loop").progress(move |progress| {
                ears.lock().expect("no panic").push(*progress);
                ControlFlow::Continue(())
            });
            let mut recorded = record(looped, steps).expect("room for snapshots");
            assert_eq!(since(before), forward, "{plan:?}");
            check_progress(&heard, &plan, steps, forward, None);
            for sweep in 0..3 {
                let before = STEPS.get();
                recorded.swept(1.0).expect("its own");
                // The first sweep goes on where the loop was; later ones begin anew.
                let again = if sweep == 0 { (0, 0) } else { forward };
                let expected = (again.0 + backward.0, again.1 + backward.1);
                assert_eq!(since(before), expected, "{plan:?}");
                check_progress(&heard, &plan, steps, forward, Some(backward));
            }
        }
    }
}

/// The hook has heard of all steps since it was asked last.
fn check_progress(
    heard: &Mutex<Vec<Progress>>,
    plan: &Plan,
    steps: usize,
    forward: (usize, usize),
    backward: Option<(usize, usize)>,
) {
    let heard = std::mem::take(&mut *heard.lock().expect("no panic"));
    let last = heard.last().expect("at least one step");
    let counted = |p: &Progress| (p.advanced, p.recorded, p.swept);
    let total = |(a, b): (usize, usize), swept: usize| (a, b, swept);
    assert!(heard.iter().all(|p| p.step < steps), "{plan:?}");
    match backward {
        None => {
            assert!(heard.iter().all(|p| !p.reversing && p.swept == 0));
            assert_eq!(counted(last), total(forward, 0));
        }
        Some(backward) => {
            assert_eq!(counted(last), total((forward.0 + backward.0, forward.1 + backward.1), steps));
            assert_eq!((last.step, last.steps, last.reversing), (0, Some(steps), true));
        }
    }
    // Every call is one more of one kind.
    for pair in heard.windows(2) {
        let sum = |p: &Progress| p.advanced + p.recorded + p.swept;
        assert_eq!(sum(&pair[1]), sum(&pair[0]) + 1, "{plan:?}");
    }
    let capacity = plan.capacity();
    assert!(heard.iter().all(|p| p.snapshots <= capacity.memory), "{plan:?}");
    let on_disk = heard.iter().map(|p| p.disk_bytes).max().expect("some");
    assert!(on_disk <= 4096 * capacity.disk as u64 && (on_disk > 0) == (capacity.disk > 0 && steps > 1), "{plan:?}");
}

#[test]
fn the_published_numbers_are_those_of_real_loops() {
    fn evaluations(plan: Plan, steps: usize) -> (usize, usize) {
        let last = Arc::new(Mutex::new(None));
        let mark = Arc::clone(&last);
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(0.7);
            let looped = TimeLoop::new(plan).progress(move |progress| {
                *mark.lock().expect("no panic") = Some(*progress);
                ControlFlow::Continue(())
            });
            (x, Chain::Sine.by_loop(looped, x, &|t, _| t < steps))
        });
        let full = gradient::<Jacobian>(|x| (0..steps).fold(x[0], |u, _| Chain::Sine.step(&u)), &[0.7])[0];
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)), Ok(full));
        let last = last.lock().expect("no panic").expect("steps");
        (last.advanced, last.recorded)
    }
    for (steps, snapshots, advances) in [(10, 3, 15), (100, 3, 490), (100, 10, 222), (1000, 5, 6284), (1000, 20, 2747)]
    {
        assert_eq!(Revolve::advances(steps, snapshots), advances);
        assert_eq!(evaluations(Plan::Revolve(Revolve::new(steps, snapshots)), steps), (advances, steps));
        let multistage = Multistage::new(steps, snapshots / 2, snapshots - snapshots / 2);
        assert_eq!(evaluations(Plan::Multistage(multistage), steps), (advances, steps));
        let (online, _) = evaluations(Plan::Online(Online::new(snapshots)), steps);
        assert!(online <= advances + steps, "{online}");
    }
    let (advanced, recorded) = evaluations(Plan::Mixed(Mixed::new(1000, 20)), 1000);
    assert_eq!(advanced + recorded, Mixed::evaluations(1000, 20));
    assert!((2815..2825).contains(&(advanced + recorded)), "2.82 for each step");
}

/// What a loop reports of its memory is no more than its snapshots, tapes and digests.
#[test]
fn snapshots_are_in_the_memory_report() {
    let bytes = |plan: Plan| {
        let mut tape = Tape::<Jacobian>::new();
        tape.record(|scope| by_loop(TimeLoop::new(plan), 50, &scope.inputs(&vec![0.1; 1001])).expect("no disk"));
        tape.memory().usage("snapshots").used
    };
    let few = bytes(Plan::Revolve(Revolve::new(50, 2)));
    let many = bytes(Plan::Revolve(Revolve::new(50, 12)));
    assert_eq!(many - few, 10 * 8000);
}

/// Reserved bytes after a sweep are the peak: all snapshots, which are gone, and the tape of a step.
#[test]
fn reserved_bytes_after_a_sweep_are_the_peak() {
    let mut tape = Tape::<Jacobian>::new();
    let looped = TimeLoop::new(Plan::Revolve(Revolve::new(50, 12)));
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&vec![0.1; 1001]);
        let y = by_loop(looped, 50, &x).expect("no disk");
        (x, y)
    });
    let before = tape.memory();
    let held = before.usage("snapshots");
    assert_eq!((held.used, held.reserved), (12 * 8000, 12 * 8000), "{before}");
    tape.sweep(&[(&y[0], 1.0)]).and_then(|adjoints| adjoints.of(&x[0])).expect("a slope");
    let after = tape.memory();
    let (kept, nested) = (after.usage("snapshots"), after.usage("nested").reserved);
    assert_eq!((kept.used, kept.reserved), (0, 12 * 8000), "{after}");
    assert!(nested > 0 && after.total().reserved >= before.total().reserved, "{before}{after}");
}
