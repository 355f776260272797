//! Scenarios: parts that share the beginning of a recording, and are forgotten one after the other.

use super::{bits, numbers};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::tape::{AdjointVector, Position};

const N: usize = 100;

/// A scenario: a view of its own, registered first, and steps that make further views.
fn scenario<S: Reverse<Value = f64>>(tape: &mut Tape<S>, shared: &View<S, 1>, seed: usize) -> (View<S, 1>, Real<S>) {
    tape.resume(|scope| {
        let own = scope.view([N], &numbers(N, seed));
        let mut u = scope.renew_view(shared).expect("of this recording");
        for step in 0..=seed % 3 {
            let weight = 0.5 + step as f64;
            parallel_for(u.all(), (&mut u, &own), |(u, own)| (u.at::<0>() * (weight + own.periodic::<1>()),));
        }
        let y = parallel_sum(u.all(), (&u, &own), |(u, own)| u.at::<0>() * own.at::<0>());
        (own, y)
    })
}

/// What scenarios share.
fn beginning<S: Reverse<Value = f64>>(tape: &mut Tape<S>) -> (View<S, 1>, View<S, 1>, Position) {
    let (x, shared) = tape.record(|scope| {
        let x = scope.view([N], &numbers(N, 50));
        let mut shared = x.clone();
        parallel_for(x.all(), &mut shared, |x| (x.at::<0>().square(),));
        (x, shared)
    });
    (x, shared, tape.position())
}

/// ∂y/∂own and ∂y/∂x of a scenario alone.
fn alone<S: Reverse<Value = f64>>(seed: usize) -> [Vec<f64>; 2] {
    let mut tape = Tape::<S>::new();
    let (x, shared, _) = beginning(&mut tape);
    let (own, y) = scenario(&mut tape, &shared, seed);
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
    [&own, &x].map(|view| adjoints.of_view(view).expect("an input").into_owned())
}

fn sums<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, shared, start) = beginning(&mut tape);
    let (mut vector, mut rare) = (AdjointVector::new(), AdjointVector::new());
    let (mut total, mut of_rare) = (vec![0.0; N], vec![0.0; N]);
    let add = |total: &mut [f64], found: &[f64]| total.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
    for seed in 1..9 {
        let (own, y) = scenario(&mut tape, &shared, seed);
        let [expected, of_x] = alone::<S>(seed);
        // The second vector is used now and then only, so that it misses some of what is forgotten.
        for (vector, total) in [(&mut vector, &mut total), (&mut rare, &mut of_rare)].into_iter().take(1 + seed % 2) {
            tape.seed(vector, &[(&y, 1.0)]).expect("seeded");
            let adjoints = tape.sweep_between(vector, &tape.position(), &start).expect("swept");
            assert_eq!(bits(&adjoints.of_view(&own).expect("an input")), bits(&expected), "scenario {seed}");
            add(total, &of_x);
        }
        tape.reset_to(&start).expect("the end of a part");
    }
    for (vector, total) in [(&mut vector, &total), (&mut rare, &of_rare)] {
        let adjoints = tape.sweep_from_position(vector, &start).expect("swept");
        for (found, expected) in adjoints.of_view(&x).expect("an input").iter().zip(total) {
            // Sums of eight terms below 100 each.
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{found} and {expected}");
        }
    }
}

#[test]
fn adjoints_of_scenarios_add_up_at_what_they_share() {
    sums::<Jacobian>();
    sums::<PrimalValue>();
    sums::<Jacobian<f64, Reuse>>();
}

/// Bytes that a recording and its adjoints have after some scenarios.
fn bytes_after(rounds: usize, guarded: bool) -> (usize, usize) {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(guarded);
    let (_, shared, start) = beginning(&mut tape);
    for round in 0..rounds {
        let (_, y) = scenario(&mut tape, &shared, round);
        tape.sweep(&[(&y, 1.0)]).expect("swept");
        tape.reset_to(&start).expect("the end of a part");
    }
    (tape.memory().usage("arrays").used, tape.memory().total().reserved)
}

#[test]
fn scenarios_that_are_forgotten_leave_nothing_behind() {
    for guarded in [false, true] {
        assert_eq!(bytes_after(400, guarded), bytes_after(6, guarded), "guards: {guarded}");
    }
}
