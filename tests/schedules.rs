//! Checkpointing schedules: every plan is carried out on a toy loop, and its cost compared with what dynamic
//! programming finds.

use std::time::{Duration, Instant};
use tapewright::schedule::{Action, Equidistant, FullTape, Level, Mixed, Multistage, Online, Revolve, Schedule};

#[path = "schedules/interpreter.rs"]
mod interpreter;
#[path = "schedules/online.rs"]
mod online;
#[path = "schedules/oracle.rs"]
mod oracle;
#[path = "schedules/refusals.rs"]
mod refusals;

use interpreter::plain;

const STEPS: usize = 60;
const SLOTS: usize = 8;

/// All numbers of steps and slots that are tried with every schedule.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    (0..=STEPS).flat_map(|n| (1..=SLOTS).map(move |s| (n, s)))
}

#[test]
fn x20_equidistant_computes_each_step_twice_at_most() {
    for n in 0..=STEPS {
        for distance in 1..=n + 2 {
            let report = plain(Equidistant::new(n, distance), n);
            let stretches = n.div_ceil(distance);
            let before_the_last = stretches.saturating_sub(1) * distance;
            assert_eq!((report.forward, report.backward), (before_the_last, 0), "{n} steps, distance {distance}");
            assert_eq!((report.records, report.stores), (n, stretches.saturating_sub(1)));
        }
    }
}

#[test]
fn x20_full_tape_computes_each_step_once() {
    for n in 0..=STEPS {
        let report = plain(FullTape::new(n), n);
        assert_eq!((report.advances(), report.records, report.stores), (0, n, 0));
    }
}

#[test]
fn x20_revolve_is_optimal_in_advances_and_then_in_stores() {
    let advances = oracle::advances(SLOTS, STEPS);
    let stores = oracle::stores(&advances);
    for (n, s) in sizes() {
        let report = plain(Revolve::new(n, s), n);
        assert_eq!(report.advances(), advances[s][n], "{n} steps, {s} snapshots");
        assert_eq!(Revolve::advances(n, s), advances[s][n]);
        assert_eq!(report.records, n);
        assert_eq!(report.stores, usize::from(n > 1) + stores[s][n], "stores, {n} steps, {s} snapshots");
    }
}

#[test]
fn x20_revolve_has_the_published_costs() {
    for (n, s, published) in [(10, 3, 15), (100, 3, 490), (100, 10, 222), (1000, 5, 6284), (1000, 20, 2747)] {
        assert_eq!(Revolve::advances(n, s), published);
        let report = plain(Revolve::new(n, s), n);
        assert_eq!(report.advances(), published, "{n} steps, {s} snapshots");
    }
}

#[test]
fn x20_revolve_repeats_no_step_more_often_than_published() {
    for (n, s) in sizes().filter(|size| size.0 > 0) {
        // The smallest r with n ≤ C(s + r, s), by counting paths.
        let most = |r| (1..=r).fold(1, |value, k| value * (s + k) / k);
        let r = (0..=n).find(|&r| n <= most(r)).expect("some number is large enough");
        assert_eq!(plain(Revolve::new(n, s), n).repetitions, r, "{n} steps, {s} snapshots");
    }
}

#[test]
fn x20_multistage_advances_as_revolve_with_all_its_snapshots() {
    for (n, s) in sizes() {
        for disk in 0..=s {
            let report = plain(Multistage::new(n, s - disk, disk), n);
            assert_eq!(report.advances(), Revolve::advances(n, s));
        }
    }
}

/// How often each place of the stack of snapshots is written or read.
fn accesses(n: usize, snapshots: usize) -> Vec<usize> {
    let (mut counts, mut height) = (vec![0; snapshots], 0);
    for action in Revolve::new(n, snapshots).actions() {
        match action {
            Action::Store { .. } => {
                counts[height] += 1;
                height += 1;
            }
            Action::Restore { .. } => counts[height - 1] += 1,
            Action::Discard { .. } => height -= 1,
            _ => {}
        }
    }
    counts
}

#[test]
fn x20_no_other_levels_access_the_disk_less_than_multistage() {
    for (n, s) in sizes() {
        let counts = accesses(n, s);
        for disk in 0..=s {
            let of = |places: u32| (0..s).filter(|place| places >> place & 1 == 1).map(|place| counts[place]).sum();
            let choices = (0_u32..1 << s).filter(|places| places.count_ones() as usize == disk);
            let least: usize = choices.map(of).min().expect("there is a choice");
            let report = plain(Multistage::new(n, s - disk, disk), n);
            assert_eq!(report.accesses[1], least, "{n} steps, {disk} of {s} snapshots on disk");
            assert_eq!(report.accesses.iter().sum::<usize>(), counts.iter().sum());
        }
    }
}

#[test]
fn x20_mixed_attains_the_optimum_of_its_recurrence() {
    let evaluations = oracle::mixed(SLOTS, STEPS);
    for (n, s) in sizes() {
        let report = plain(Mixed::new(n, s), n);
        assert_eq!(report.evaluations(), evaluations[s][n], "{n} steps, {s} slots");
        assert_eq!(report.records, n);
        assert!(report.most_held <= s + 1, "{} of {s} + 1 slots", report.most_held);
    }
}

#[test]
fn x20_the_closed_form_of_mixed_is_its_recurrence() {
    let (slots, steps) = (40, 3000);
    let evaluations = oracle::mixed(slots, steps);
    for (s, evaluations) in evaluations.iter().enumerate().skip(1) {
        for (n, &least) in evaluations.iter().enumerate() {
            assert_eq!(Mixed::evaluations(n, s), least, "{n} steps, {s} slots");
        }
        for n in [100, 777, 1000, 2024, steps] {
            let report = plain(Mixed::new(n, s), n);
            assert_eq!(report.evaluations(), evaluations[n], "{n} steps, {s} slots");
        }
    }
}

#[test]
fn x20_mixed_has_the_published_cost() {
    let report = plain(Mixed::new(1000, 20), 1000);
    assert_eq!(report.evaluations(), 2823); // 2.82 evaluations of a step
    assert_eq!(plain(Revolve::new(1000, 20), 1000).evaluations(), 3747);
}

#[test]
fn x20_no_plan_whatever_is_better_than_revolve_and_mixed() {
    for n in 1..=7 {
        for s in 1..=3 {
            let slots = u32::try_from(s).expect("few");
            assert_eq!(oracle::exhaustive(n, slots, false), n + Revolve::advances(n, s), "{n}, {s}");
            assert_eq!(oracle::exhaustive(n, slots, true), Mixed::evaluations(n, s), "{n}, {s}");
        }
    }
}

/// The actions of a plan, and the steps that it evaluates.
fn count(schedule: impl Schedule) -> (usize, usize) {
    schedule.actions().fold((0, 0), |(actions, evaluations), action| match action {
        Action::Advance { from, to } => (actions + 1, evaluations + (to - from)),
        Action::Record { .. } => (actions + 1, evaluations + 1),
        _ => (actions + 1, evaluations),
    })
}

/// An online plan that is told its length. It has no fewer actions then than after that.
fn online(snapshots: usize, steps: usize) -> Online {
    let mut schedule = Online::new(snapshots);
    while schedule.steps().is_none() {
        if let Some(Action::Advance { to, .. }) = schedule.next_action()
            && to >= steps
        {
            schedule.end(steps);
        }
    }
    schedule
}

#[test]
fn x20_a_million_steps_are_planned_in_a_moment() {
    let n = 1_000_000;
    let at_most = |name: &str, plan: &dyn Fn() -> (usize, usize), evaluations: usize| {
        let start = Instant::now();
        let (actions, evaluated) = plan();
        let time = start.elapsed();
        println!("{name}: {actions} actions, {evaluated} evaluations planned in {time:?}");
        assert!(evaluated <= evaluations, "{name}: {evaluated} evaluations");
        assert!(actions <= 6 * n, "{name}: {actions} actions");
        // A second is what it may take; others use this machine too.
        assert!(time < Duration::from_secs(5), "{name} took {time:?}");
    };
    let binomial = n + Revolve::advances(n, 20);
    at_most("full tape", &|| count(FullTape::new(n)), n);
    at_most("equidistant", &|| count(Equidistant::new(n, 1000)), 2 * n);
    at_most("revolve", &|| count(Revolve::new(n, 20)), binomial);
    at_most("multistage", &|| count(Multistage::new(n, 5, 15)), binomial);
    at_most("online", &|| count(online(20, n)), binomial);
    at_most("mixed", &|| count(Mixed::new(n, 20)), Mixed::evaluations(n, 20));
    for few in [1, 2, 3] {
        let n = if few == 1 { 2000 } else { 100_000 };
        assert_eq!(count(Revolve::new(n, few)).1, n + Revolve::advances(n, few));
        assert_eq!(count(Mixed::new(n, few)).1, Mixed::evaluations(n, few));
    }
}

#[test]
fn x20_slots_beyond_the_steps_are_not_used() {
    for n in 0..=5 {
        for s in [n + 1, 100, usize::MAX] {
            assert_eq!(plain(Revolve::new(n, s), n).advances(), n.saturating_sub(1));
            assert_eq!(plain(Multistage::new(n, s, s), n).accesses[1], 0);
            assert_eq!(plain(Mixed::new(n, s), n).evaluations(), n);
            assert_eq!(Mixed::evaluations(n, s), n);
            assert!(plain(Online::new(s), n).backward <= n.saturating_sub(1));
        }
    }
    assert_eq!(Revolve::new(10, usize::MAX).capacity().memory, 9);
}

#[test]
fn x20_costs_beyond_the_range_are_capped() {
    assert_eq!(Revolve::advances(usize::MAX, 1), usize::MAX);
    assert_eq!(Mixed::evaluations(usize::MAX, 1), usize::MAX);
    assert_eq!(Revolve::advances(usize::MAX, usize::MAX), usize::MAX - 1);
}

#[test]
#[should_panic(expected = "needs one snapshot at least")]
fn x20_revolve_without_snapshots_is_refused() {
    let _ = Revolve::new(10, 0);
}

#[test]
#[should_panic(expected = "needs one snapshot at least")]
fn x20_multistage_without_snapshots_is_refused() {
    let _ = Multistage::new(10, 0, 0);
}

#[test]
#[should_panic(expected = "needs one snapshot at least")]
fn x20_online_without_snapshots_is_refused() {
    let _ = Online::new(0);
}

#[test]
#[should_panic(expected = "needs one slot at least")]
fn x20_mixed_without_slots_is_refused() {
    let _ = Mixed::new(10, 0);
}

#[test]
#[should_panic(expected = "distance of two snapshots")]
fn x20_a_distance_of_no_steps_is_refused() {
    let _ = Equidistant::new(10, 0);
}

#[test]
#[should_panic(expected = "end(3) of a run whose number of steps, 10, is known")]
fn x20_a_known_length_cannot_be_changed() {
    Revolve::new(10, 2).end(3);
}

#[test]
#[should_panic(expected = "after an action that is no Store")]
fn x20_only_stores_can_be_refused() {
    let mut schedule = Revolve::new(10, 2);
    assert!(matches!(schedule.next_action(), Some(Action::Store { step: 0, level: Level::Memory, .. })));
    assert!(matches!(schedule.next_action(), Some(Action::Advance { from: 0, .. })));
    schedule.refused();
}

#[test]
#[should_panic(expected = "the run cannot be reversed")]
fn x20_the_first_state_cannot_be_refused_for_good() {
    let mut schedule = Mixed::new(10, 1);
    schedule.next_action();
    assert!(schedule.indispensable());
    schedule.refused();
}
