//! Schedules of the user's own that are wrong: a loop returns an error that names the action, or the right gradient,
//! and nothing else.

use crate::plans::{by_loop, inputs, on_one_tape};
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Action, FullTape, Level, Schedule, SlotCounts};
use tapewright::{Error, SweepError};
use tapewright_kit_tests::all_close;
use tapewright_kit_tests::panics::panic_of;

/// A schedule that replays a list of actions.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) actions: Vec<Action>,
    pub(crate) next: usize,
    pub(crate) steps: Option<usize>,
    /// The action before which it says, whatever it was told, that there are two steps.
    pub(crate) fickle: Option<usize>,
    pub(crate) capacity: SlotCounts,
}

impl Schedule for Replay {
    fn next_action(&mut self) -> Option<Action> {
        let action = self.actions.get(self.next).copied();
        self.next += 1;
        action
    }
    fn refused(&mut self) {}
    fn indispensable(&self) -> bool {
        false
    }
    fn end(&mut self, steps: usize) {
        self.steps = Some(steps);
    }
    fn steps(&self) -> Option<usize> {
        self.fickle.map_or(self.steps, |from| (self.next >= from).then_some(2))
    }
    fn capacity(&self) -> SlotCounts {
        self.capacity
    }
}

/// What this schedule does in a loop of this length.
pub(crate) fn replay(mut schedule: impl Schedule, steps: usize) -> Replay {
    let (known, capacity) = (schedule.steps(), schedule.capacity());
    let mut actions = Vec::new();
    while let Some(action) = schedule.next_action() {
        actions.push(action);
        if let Action::Advance { to, .. } = action
            && schedule.steps().is_none()
            && to > steps
        {
            schedule.end(steps);
        }
    }
    Replay { actions, next: 0, steps: known, fickle: None, capacity }
}

/// Inputs of a recording, and the final state of a loop.
type Recorded = (Vec<Real<Jacobian>>, Vec<Real<Jacobian>>);

/// Records a loop of this length.
fn record(tape: &mut Tape<Jacobian>, schedule: &Replay, length: usize) -> Result<Recorded, Error> {
    tape.record(|scope| {
        let x = scope.inputs(&inputs());
        let end = by_loop(TimeLoop::new(schedule.clone()).named("the weather"), length, &x)?;
        Ok((x, end))
    })
}

/// The gradients of two sweeps of a loop with this schedule.
pub(crate) fn gradients(tape: &mut Tape<Jacobian>, schedule: &Replay, length: usize) -> [Result<Vec<f64>, Error>; 2] {
    let (x, y) = match record(tape, schedule, length) {
        Ok(recorded) => recorded,
        Err(error) => return [Err(error.clone()), Err(error)],
    };
    [(), ()].map(|()| tape.sweep(&[(&y[0], 1.0), (&y[1], 0.5)])?.of_all(&x))
}

/// The right gradient. Parameters add up step after step, the last one first, whatever the schedule.
pub(crate) fn expected(steps: usize) -> Vec<f64> {
    let [first, _] = gradients(&mut Tape::<Jacobian>::new(), &replay(FullTape::new(steps), steps), steps);
    let found = first.expect("a right schedule");
    let plain = gradient::<Jacobian>(
        |x| {
            let u = on_one_tape(steps, x);
            (u[0] + 0.5 * u[1]).eval()
        },
        &inputs(),
    );
    // Sums of few terms, which are added in another order here.
    all_close(&found, &plain, 45);
    found
}

/// What the error says of the action and why it is wrong.
pub(crate) fn fault(result: &Result<Vec<f64>, Error>) -> (&str, &str) {
    let Err(Error::Sweep(SweepError::FaultySchedule { time_loop, action, why })) = result else { panic!("{result:?}") };
    assert_eq!(time_loop, "the weather");
    (action, why)
}

const FORWARD: [Action; 2] = [Action::Record { step: 0, tape: 0 }, Action::Record { step: 1, tape: 1 }];

/// A plan for two steps that goes on like this, with plenty of slots.
fn plan(actions: &[Action]) -> Replay {
    let capacity = SlotCounts { memory: 9, disk: 9, tapes: 9 };
    Replay { actions: actions.to_vec(), next: 0, steps: Some(2), fickle: None, capacity }
}

fn first_fault(schedule: &Replay) -> (String, String) {
    let [first, second] = gradients(&mut Tape::<Jacobian>::new(), schedule, 2);
    let (action, why) = fault(&first);
    assert_eq!(fault(&second), (action, why), "a second sweep finds the same");
    (action.to_owned(), why.to_owned())
}

#[test]
fn the_error_names_the_action_its_place_and_what_was_expected() {
    let [first, second] = FORWARD;
    let sweep = |step: usize, tape: usize| Action::Sweep { step, tape };
    let error = gradients(&mut Tape::<Jacobian>::new(), &plan(&[first, second, Action::Turn, sweep(0, 0)]), 2);
    let [Err(error), _] = error else { panic!("{error:?}") };
    assert_eq!(
        error.to_string(),
        "the schedule of the weather is faulty at action 4, Sweep { step: 0, tape: 0 }: the step to be swept now is 1"
    );
    let said = |actions: &[Action]| first_fault(&plan(actions)).1;
    assert_eq!(said(&[first, second, Action::Turn, sweep(1, 0)]), "the tape holds step 0");
    assert_eq!(said(&[first, second, Action::Turn, sweep(1, 2)]), "the tape is empty");
    assert_eq!(said(&[first, second, Action::Turn, sweep(1, 1)]), "step 0 has not been swept");
    assert_eq!(said(&[first, second, sweep(1, 1)]), "the turn has not been");
    assert_eq!(said(&[first, first]), "the present state is that before step 1");
    assert_eq!(said(&[first, Action::Record { step: 1, tape: 0 }]), "the tape holds step 0");
    assert_eq!(said(&[first, Action::Turn]), "the present state is that before step 1, of 2 steps");
    assert_eq!(said(&[first, Action::Advance { from: 1, to: 0 }]), "it goes backwards");
    assert_eq!(said(&[first, second, Action::Turn, Action::Turn]), "the turn was before");
    let (slot, level) = (7, Level::Memory);
    let store = |step: usize| Action::Store { step, slot, level };
    let (restore, discard) = (Action::Restore { step: 0, slot, level }, Action::Discard { slot, level });
    assert_eq!(said(&[restore]), "the slot is empty");
    assert_eq!(said(&[discard]), "the slot is empty");
    assert_eq!(said(&[store(0), discard, discard]), "the slot is empty");
    assert_eq!(said(&[store(0), first, store(1)]), "the slot holds the state before step 0");
    assert_eq!(said(&[first, store(1), restore]), "the slot holds the state before step 1");
    // Plans that would be right, and leave something behind.
    let whole = [store(0), first, second, Action::Turn, sweep(1, 1), sweep(0, 0)];
    assert_eq!(said(&whole), "snapshots that have not been discarded: 1");
    let again = [store(0), first, second, Action::Turn, restore, discard, Action::Record { step: 0, tape: 2 }];
    let twice = [&again[..], &[sweep(1, 1), sweep(0, 0)]].concat();
    assert_eq!(said(&twice), "recorded steps that have not been swept: 1");
    assert_eq!(first_fault(&plan(&[first])), (String::from("its end, after action 1"), "the turn has not been".into()));
}

/// A schedule that says one thing and does another.
#[test]
fn lies_of_a_schedule_are_noticed() {
    let [first, second] = FORWARD;
    let right =
        plan(&[first, second, Action::Turn, Action::Sweep { step: 1, tape: 1 }, Action::Sweep { step: 0, tape: 0 }]);
    let [found, again] = gradients(&mut Tape::<Jacobian>::new(), &right, 2);
    assert_eq!((found, again), (Ok(expected(2)), Ok(expected(2))));
    // The number of steps.
    for steps in [1, 3] {
        let (action, why) = first_fault(&Replay { steps: Some(steps), ..right.clone() });
        assert!(
            action.contains(if steps == 1 { "action 2" } else { "Turn" }) && why.contains("step"),
            "{action} {why}"
        );
    }
    let (_, why) = first_fault(&Replay { steps: None, ..right.clone() });
    assert_eq!(why, "the number of steps is not known");
    // The number of tapes.
    let capacity = SlotCounts { tapes: 1, ..right.capacity };
    assert_eq!(first_fault(&Replay { capacity, ..right.clone() }).1, "`capacity().tapes` is 1");
}

/// The number of steps changes under way, or is not what `end` said.
#[test]
fn the_number_of_steps_is_compared_with_what_it_was() {
    let fault = |from: usize, actions: &[Action]| first_fault(&Replay { fickle: Some(from), ..plan(actions) });
    let (action, why) = fault(2, &FORWARD);
    assert_eq!(action, "action 2, Record { step: 1, tape: 1 }");
    assert_eq!(why, "`steps()` is Some(2), and has to be None");
    let (action, why) = fault(9, &[Action::Advance { from: 0, to: 5 }]);
    assert_eq!(action, "action 1, Advance { from: 0, to: 5 }");
    assert_eq!(why, "`steps()` is None after `end(2)`");
}

/// A loop that ends before a step that is to be recorded: a schedule that knows the number of steps cannot be for it,
/// and another one is told.
#[test]
fn a_loop_may_end_before_a_step_that_is_to_be_recorded() {
    let known = replay(FullTape::new(5), 5);
    let mut tape = Tape::<Jacobian>::new();
    let misuse = |run: &mut dyn FnMut()| {
        assert_eq!(panic_of(run), "the weather ends after 3 steps, and its schedule is for another number of steps, 5");
    };
    misuse(&mut || drop(record(&mut tape, &known, 3)));
    // So it is where nothing is recorded.
    misuse(&mut || {
        let time_loop = TimeLoop::<Jacobian>::new(known.clone()).named("the weather");
        let u = Real::<Passive>::constant(0.5);
        drop(time_loop.run_while(&(), &u, |t, _| t < 3, |_, (), u| u.sin().eval(), |_, (), u| u.sin().eval()));
    });
    // Recordings of two steps on a plan without an end, the third not carried out.
    let unknown = Replay {
        steps: None,
        actions: vec![
            Action::Record { step: 0, tape: 0 },
            Action::Record { step: 1, tape: 1 },
            Action::Record { step: 2, tape: 2 },
            Action::Turn,
            Action::Sweep { step: 1, tape: 1 },
            Action::Sweep { step: 0, tape: 0 },
        ],
        ..plan(&[])
    };
    let right = expected(2);
    assert_eq!(gradients(&mut tape, &unknown, 2), [Ok(right.clone()), Ok(right)]);
}

/// Numbers of slots are names: none is too large, if the capacity is.
#[test]
fn slots_of_any_number() {
    let most = usize::MAX;
    let (slot, level) = (most - 1, Level::Memory);
    let actions = |level| {
        vec![
            Action::Store { step: 0, slot, level },
            Action::Advance { from: 0, to: 1 },
            Action::Record { step: 1, tape: slot },
            Action::Turn,
            Action::Sweep { step: 1, tape: slot },
            Action::Restore { step: 0, slot, level },
            Action::Discard { slot, level },
            Action::Record { step: 0, tape: slot },
            Action::Sweep { step: 0, tape: slot },
        ]
    };
    let capacity = SlotCounts { memory: most, disk: most, tapes: most };
    let mut tape = Tape::<Jacobian>::new();
    let right = expected(2);
    let found = gradients(&mut tape, &Replay { capacity, ..plan(&actions(level)) }, 2);
    assert_eq!(found, [Ok(right.clone()), Ok(right)]);
    let [found, _] = gradients(&mut tape, &Replay { capacity, ..plan(&actions(Level::Disk)) }, 2);
    assert!(matches!(found, Err(Error::Storage(_))), "no file is that long: {found:?}");
    assert_eq!(first_fault(&plan(&actions(level))).1, "`capacity().memory` is 9");
    assert_eq!(first_fault(&plan(&actions(Level::Disk))).1, "`capacity().disk` is 9");
}

/// A schedule that restores what it was told is not stored.
#[test]
fn a_refused_store_is_not_there() {
    let store = Action::Store { step: 0, slot: 0, level: Level::Disk };
    let actions = [
        store,
        Action::Advance { from: 0, to: 1 },
        Action::Record { step: 1, tape: 0 },
        Action::Turn,
        Action::Sweep { step: 1, tape: 0 },
        Action::Restore { step: 0, slot: 0, level: Level::Disk },
    ];
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.5);
        let options = tapewright::storage::SpillOptions::default().disk(0);
        let time_loop = TimeLoop::<Jacobian>::new(plan(&actions)).give_way(true).disk(options).named("the weather");
        (x, time_loop.run(&(), &x, |_, (), u| u.sin().eval(), |_, (), u| u.sin().eval()).expect("it gives way"))
    });
    let found = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x).map(|x| vec![x]));
    assert_eq!(fault(&found), ("action 6, Restore { step: 0, slot: 0, level: Disk }", "the slot is empty"));
}

/// Tapes of steps that are recorded and not swept are there for the next loop.
#[test]
fn tapes_go_back_to_the_pool_after_an_error() {
    let reserved = |tape: &Tape<Jacobian>| tape.memory().usage("nested").reserved;
    let full = replay(FullTape::new(6), 6);
    let mut tape = Tape::<Jacobian>::new();
    assert!(gradients(&mut tape, &full, 6).iter().all(Result::is_ok));
    let six = reserved(&tape);
    // The adjoint vector of a swept tape has 8 slots: passive, four inputs, three outputs; a new tape has room for 2.
    let without_adjoints = |swept: usize| six - (6 - swept) * 6 * size_of::<f64>();
    // The plan goes wrong in the sweep, after one step of six; and when all six are recorded.
    for (wrong, swept) in [(8, 1), (6, 0)] {
        let mut faulty = full.clone();
        faulty.actions.remove(wrong);
        let mut tape = Tape::<Jacobian>::new();
        assert!(gradients(&mut tape, &faulty, 6).iter().all(Result::is_err));
        assert_eq!(reserved(&tape), without_adjoints(swept), "without action {wrong}");
        let right = expected(6);
        assert_eq!(gradients(&mut tape, &full, 6), [Ok(right.clone()), Ok(right)]);
        assert_eq!(reserved(&tape), six, "the same tapes");
    }
}
