//! Runs whose length becomes known when they are over.

use crate::interpreter::{Ending, run};
use crate::oracle;
use tapewright::schedule::{Action, Online, Schedule};

fn never(_: usize, _: tapewright::schedule::Level) -> bool {
    false
}

#[test]
fn x20_online_is_right_and_within_its_bound_wherever_the_run_ends() {
    let bound = oracle::advances(10, 200);
    for (s, bound) in bound.iter().enumerate().skip(1) {
        for (n, &bound) in bound.iter().enumerate() {
            for ending in [Ending::Early, Ending::Late] {
                let report = run(Online::new(s), n, ending, never);
                assert_eq!((report.forward, report.records), (n, n));
                assert!(report.backward <= bound, "{} > {bound}: {n} steps, {s}", report.backward);
            }
        }
    }
}

#[test]
fn x20_online_is_near_the_best_places_in_hindsight() {
    let (slots, steps) = (8, 700);
    let best = oracle::hindsight(&oracle::advances(slots, steps));
    for (s, best) in best.iter().enumerate().skip(1) {
        let (mut all, mut least) = (0, 0);
        for (n, &best) in best.iter().enumerate().skip(1) {
            let report = run(Online::new(s), n, Ending::Early, never);
            let (evaluations, hindsight) = (report.evaluations(), 2 * n + best);
            assert!(evaluations >= hindsight, "the oracle is wrong");
            assert!(10 * evaluations <= 13 * hindsight, "{evaluations} against {hindsight}: {n} steps, {s} snapshots");
            all += evaluations;
            least += hindsight;
        }
        assert!(100 * all <= 106 * least, "{all} against {least} on average, {s} snapshots");
    }
}

#[test]
fn x20_online_stores_far_fewer_states_than_there_are_steps() {
    let report = run(Online::new(10), 10_000, Ending::Early, never);
    assert!(report.stores < 6000, "{} stores", report.stores);
    let mut schedule = Online::new(10);
    let (mut stores, mut at) = (0, 0);
    while at < 10_000 {
        match schedule.next_action().expect("the run goes on") {
            Action::Store { .. } => stores += 1,
            Action::Advance { to, .. } => at = to,
            _ => {}
        }
    }
    assert!(stores < 100, "{stores} stores in the forward run");
}

#[test]
#[should_panic(expected = "end(5) of a run that has ended already")]
fn x20_a_run_ends_once() {
    let mut schedule = Online::new(3);
    schedule.end(0);
    schedule.end(5);
}

#[test]
#[should_panic(expected = "end(4) of a run of which no fewer than 0 and no more than 1 steps have been computed")]
fn x20_a_run_cannot_end_where_it_has_not_been() {
    let mut schedule = Online::new(3);
    while !matches!(schedule.next_action(), Some(Action::Advance { .. })) {}
    schedule.end(4);
}
