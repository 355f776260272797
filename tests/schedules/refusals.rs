//! Stores that are not carried out.

use crate::interpreter::{Ending, run};
use crate::{STEPS, sizes};
use tapewright::schedule::{Equidistant, Level, Mixed, Multistage, Online, Revolve};

/// Pseudo-random numbers (xorshift).
struct Dice(u64);

impl Dice {
    /// True once in `sides` times, about.
    fn falls(&mut self, sides: u64) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.is_multiple_of(sides)
    }
}

#[test]
fn x20_plans_are_right_whichever_stores_are_refused() {
    let mut refusals = 0;
    for (n, s) in sizes() {
        for sides in [1, 2, 3, 5, 10] {
            let mut dice = Dice(1 + (n * 1000 + s) as u64 * 10 + sides);
            let mut refuse = |_, _| dice.falls(sides);
            refusals += run(Revolve::new(n, s), n, Ending::Early, &mut refuse).refusals;
            refusals += run(Equidistant::new(n, s), n, Ending::Early, |_, _| dice.falls(sides)).refusals;
            refusals += run(Multistage::new(n, s / 2, s - s / 2), n, Ending::Early, |_, _| dice.falls(sides)).refusals;
            refusals += run(Mixed::new(n, s), n, Ending::Early, |_, _| dice.falls(sides)).refusals;
            refusals += run(Online::new(s), n, Ending::Early, |_, _| dice.falls(sides)).refusals;
            refusals += run(Online::new(s), n, Ending::Late, |_, _| dice.falls(sides)).refusals;
        }
    }
    assert!(refusals > 10_000, "only {refusals} refusals were tried");
}

#[test]
fn x20_with_the_first_state_alone_plans_cost_what_one_slot_costs() {
    for (n, s) in sizes() {
        let refuse = |step, _| step > 0;
        let report = run(Revolve::new(n, s), n, Ending::Early, refuse);
        assert_eq!(report.advances(), Revolve::advances(n, 1), "{n} steps, {s} snapshots");
        let report = run(Online::new(s), n, Ending::Early, refuse);
        assert_eq!(report.backward, Revolve::advances(n, 1), "{n} steps, {s} snapshots");
    }
}

/// Whether one cost is at least another and at most so many per cent of it.
fn within(cost: usize, least: usize, per_cent: usize) -> bool {
    cost >= least && 100 * cost <= per_cent * least
}

#[test]
fn x20_a_full_disk_costs_no_more_than_no_disk_in_long_runs() {
    // In short runs, snapshots are stored in memory before the disk is found to be full, where more of them would have
    // been best.
    for (n, per_cent) in (2..=STEPS).map(|n| (n, 250)).chain((100..=500).step_by(20).map(|n| (n, 100))) {
        for (s, disk) in (2..=8).flat_map(|s| (1..s).map(move |disk| (s, disk))) {
            let full = |_, level| level == Level::Disk;
            let report = run(Multistage::new(n, s - disk, disk), n, Ending::Early, full);
            let (cost, without) = (report.advances(), Revolve::advances(n, s - disk));
            assert_eq!(report.accesses[1], 0);
            assert!(within(cost, without, per_cent), "{cost} against {without}: {n} steps, {disk} of {s} on disk");
        }
    }
}

#[test]
fn x20_one_refusal_costs_little() {
    for n in 3..=STEPS {
        for s in 2..=8.min(n - 1) {
            let without = Revolve::advances(n, s - 1);
            for refused in 0..s {
                let mut stores = 0;
                let refuse = |_, _| {
                    stores += 1;
                    stores == refused + 1
                };
                let report = run(Revolve::new(n, s), n, Ending::Early, refuse);
                let cost = report.advances();
                assert_eq!(report.refusals, 1);
                assert!(100 * cost <= 140 * without, "{cost} against {without}: {n} steps, {s} snapshots, {refused}");
            }
        }
    }
}
