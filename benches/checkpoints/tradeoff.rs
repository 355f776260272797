//! Memory over recomputation: one time loop under schedules with more and more snapshots.

use crate::burgers::{Counts, counting, state_bytes};
use crate::{Options, bytes, chart, gradient_on, mb};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tapewright::checkpoint::TimeLoop;
use tapewright::schedule::{FullTape, Mixed, Revolve};
use tapewright::{Jacobian, Real, Tape};
use tapewright_problems::{Burgers, Problem};
use tapewright_test_support::median;

/// One schedule, measured.
pub(super) struct Point {
    pub(super) schedule: String,
    pub(super) bytes: usize,
    pub(super) seconds: f64,
    pub(super) evaluations: usize,
}

/// 2, 3, 5, 10, 20, 30, 50, … and the number of steps.
fn slots(steps: usize) -> Vec<usize> {
    let decades = (0..).map(|k| 10_usize.pow(k)).take_while(|decade| *decade < steps);
    let mut slots: Vec<usize> = decades.flat_map(|decade| [decade, 2 * decade, 3 * decade, 5 * decade]).collect();
    slots.retain(|slots| (2..steps).contains(slots));
    slots.push(steps);
    slots
}

pub(super) fn measure(options: &Options) -> Vec<String> {
    let &[grid, steps] = &options.series[..] else { unreachable!("the option takes two numbers") };
    let problem = Burgers::new(grid, steps).unwrap_or_else(|error| panic!("{error}"));
    let slots = slots(steps);
    let full = point(options, problem, "full tape", &|counts| counting(FullTape::new(steps), counts));
    let revolve = slots.iter().map(|slots| {
        let name = format!("revolve {slots}");
        point(options, problem, &name, &|counts| counting(Revolve::new(steps, *slots), counts))
    });
    let revolve: Vec<Point> = revolve.collect();
    // More slots than that hold recordings of most steps.
    let mixed = slots.iter().filter(|slots| **slots <= steps / 2).map(|slots| {
        let name = format!("mixed {slots}");
        point(options, problem, &name, &|counts| counting(Mixed::new(steps, *slots), counts))
    });
    let mixed: Vec<Point> = mixed.collect();
    println!("burgers2d, {}: memory over recomputation", problem.size());
    println!(
        "{:>14} {:>12} {:>10} {:>12} {:>12} {:>12}",
        "schedule", "memory", "of full", "steps a step", "time", "÷ full tape"
    );
    let all: Vec<&Point> = revolve.iter().chain(&mixed).chain([&full]).collect();
    for point in &all {
        println!(
            "{:>14} {:>9.2} MB {:>8.2} % {:>12.3} {:>10.1} ms {:>12.2}",
            point.schedule,
            mb(point.bytes),
            100.0 * point.bytes as f64 / full.bytes as f64,
            point.evaluations as f64 / steps as f64,
            1e3 * point.seconds,
            point.seconds / full.seconds
        );
    }
    if let Some(path) = &options.svg {
        chart::draw(path, &revolve, &mixed, &full).expect("a writable file for the chart");
    }
    let row = |p: &&Point| format!("tradeoff,{steps},{},{},{:e},{}\n", p.schedule, p.bytes, p.seconds, p.evaluations);
    all.iter().map(row).collect()
}

/// Measures one schedule, on a tape of its own.
fn point(
    options: &Options,
    problem: Burgers,
    schedule: &str,
    new: &dyn Fn(&Arc<Counts>) -> TimeLoop<Jacobian>,
) -> Point {
    let counts = Arc::<Counts>::default();
    let x = problem.inputs(0);
    let mut gradient = vec![0.0; x.len()];
    let mut tape = Tape::<Jacobian>::new();
    let run = |x: &[Real<Jacobian>]| problem.reversed_by(new(&counts), x).unwrap_or_else(|error| panic!("{error}"));
    let times: Vec<f64> = (0..=options.rounds).map(|_| gradient_on(&mut tape, run, &x, &mut gradient)).collect();
    let mut expected = gradient.clone();
    problem.adjoint(0, &x, &mut expected);
    let largest = expected.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    assert!(gradient.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-11 * largest), "the gradient is right");
    let snapshots = counts.snapshots.load(Ordering::Relaxed);
    Point {
        schedule: schedule.to_owned(),
        bytes: snapshots * state_bytes(problem.grid()) + bytes(&tape.memory()),
        seconds: median(times[1..].to_vec()),
        evaluations: counts.evaluations.load(Ordering::Relaxed),
    }
}
