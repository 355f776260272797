//! A time loop of many steps within a budget of memory.

use crate::{Options, bytes, gradient_on, mb, seconds};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright::Error;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Revolve, Schedule};
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Burgers, Fields, Problem};
use tapewright_test_support::median;

/// What a loop did, at the latest.
#[derive(Default)]
pub(super) struct Counts {
    /// Steps that were computed without or with recording.
    pub(super) evaluations: AtomicUsize,
    /// Snapshots in memory, at the most.
    pub(super) snapshots: AtomicUsize,
}

/// A loop that counts, and is reversed by this schedule.
pub(super) fn counting(
    schedule: impl Schedule + Clone + Send + Sync + 'static,
    counts: &Arc<Counts>,
) -> TimeLoop<Jacobian> {
    let counts = Arc::clone(counts);
    TimeLoop::new(schedule).named("burgers2d").progress(move |progress| {
        counts.evaluations.store(progress.advanced + progress.recorded, Ordering::Relaxed);
        counts.snapshots.fetch_max(progress.snapshots, Ordering::Relaxed);
        ControlFlow::Continue(())
    })
}

/// Bytes of a snapshot.
pub(super) const fn state_bytes(grid: usize) -> usize {
    2 * grid * grid * size_of::<f64>()
}

/// Processor time of one gradient within a budget.
fn within(
    tape: &mut Tape<Jacobian>,
    problem: Burgers,
    schedule: &Revolve,
    counts: &Arc<Counts>,
    gradient: &mut [f64],
) -> f64 {
    let run = |x: &[Real<Jacobian>]| problem.reversed_by(counting(schedule.clone(), counts), x);
    gradient_on(tape, |x| run(x).unwrap_or_else(|error| panic!("{error}")), &problem.inputs(0), gradient)
}

/// Seconds to record and sweep a step, once for each of so many steps, on one warm tape: steps at a time of `block`.
fn each_step_once(problem: Burgers, block: usize) -> Result<f64, Error> {
    let blocks = (256 / block).max(4);
    let mut tape = Tape::<Jacobian>::new();
    let mut adjoints = vec![1.0; problem.inputs(0).len()];
    let mut at = problem.inputs(0);
    let mut once = |tape: &mut Tape<Jacobian>| -> Result<(), Error> {
        let (x, end) = tape.record(|scope| {
            let x = scope.inputs(&at);
            let end = (0..block).fold(Fields::new(&x), |fields, _| problem.step(&fields));
            let end: Vec<Real<Jacobian>> = end.u.into_iter().chain(end.v).collect();
            (x, end)
        });
        at.clear();
        at.extend(end.iter().map(Real::value));
        let found = tape.sweep_all(&end, &adjoints)?.of_all(&x)?;
        adjoints = found;
        Ok(())
    };
    once(&mut tape)?; // warms up
    let (taken, done) = seconds(|| (0..blocks).try_for_each(|_| once(&mut tape)));
    done?;
    Ok(taken / (blocks * block) as f64)
}

/// Most bytes that the process has had in memory so far.
fn peak_resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kilobytes| 1024 * kilobytes)
}

/// Bytes of a tape that holds one step.
fn bytes_of_a_step(problem: Burgers) -> usize {
    let mut tape = Tape::<Jacobian>::new();
    let step = Burgers::new(problem.grid(), 1).expect("a possible size");
    let mut gradient = vec![0.0; problem.inputs(0).len()];
    gradient_on(&mut tape, |x| step.eval(0, x), &problem.inputs(0), &mut gradient);
    tape.memory().total().reserved
}

pub(super) fn measure(options: &Options) -> Vec<String> {
    let problem = Burgers::new(options.grid, options.steps).unwrap_or_else(|error| panic!("{error}"));
    let budget = 1_000_000 * options.budget;
    let (state, step) = (state_bytes(options.grid), bytes_of_a_step(problem));
    // Beside snapshots and the recorded step there is the tape around the loop, with a statement for each grid point,
    // the state before and after a step, the first and the last, and adjoints: less than two recorded steps.
    let snapshots = (budget.saturating_sub(3 * step) / state).clamp(1, options.steps);
    let schedule = Revolve::new(options.steps, snapshots);
    let counts = Arc::<Counts>::default();
    let mut gradient = vec![0.0; problem.inputs(0).len()];
    let mut tape = Tape::new();
    within(&mut tape, problem, &schedule, &counts, &mut gradient); // warms up
    let resident = peak_resident();
    let held = state * counts.snapshots.load(Ordering::Relaxed) + bytes(&tape.memory());
    println!("burgers2d, {} in a budget of {} MB", problem.size(), options.budget);
    println!(
        "  snapshots                            {snapshots:9} of {:.3} MB; a recorded step takes {:.2} MB",
        mb(state),
        mb(step)
    );
    println!("  snapshots and tapes                  {:9.1} MB", mb(held));
    assert!(held <= budget, "tape and snapshots are within the budget");
    match resident {
        Some(peak) => println!(
            "  most resident in the process         {:9.1} MB, {:.2} × the budget",
            mb(peak),
            peak as f64 / budget as f64
        ),
        None => println!("  most resident in the process           unknown here"),
    }
    let evaluations = counts.evaluations.load(Ordering::Relaxed);
    println!("  steps evaluated                      {:9.3} for each step", evaluations as f64 / options.steps as f64);
    let block = options.steps.min(32);
    let steps = options.steps as f64;
    let (mut in_budget, mut once, mut ratios) = (Vec::new(), [Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..options.rounds {
        let each = [1, block].map(|block| each_step_once(problem, block).unwrap_or_else(|error| panic!("{error}")));
        let taken = within(&mut tape, problem, &schedule, &counts, &mut gradient);
        in_budget.push(taken);
        for (k, each) in each.into_iter().enumerate() {
            once[k].push(steps * each);
            ratios[k].push(taken / (steps * each));
        }
    }
    let (in_budget, once, ratios) = (median(in_budget), once.map(median), ratios.map(median));
    println!("  one gradient                         {in_budget:9.3} s");
    for (k, size) in [1, block].into_iter().enumerate() {
        println!(
            "  record + sweep of every step once    {:9.3} s, {size} on the tape at a time: the gradient takes {:.3} × that",
            once[k], ratios[k]
        );
    }
    check_against_full_tape(options);
    check_along_directions(problem, &gradient);
    println!();
    vec![format!("burgers,{},revolve {snapshots},{held},{in_budget:e},{evaluations}\n", options.steps)]
}

/// The gradient of fewer steps is that of the full tape.
fn check_against_full_tape(options: &Options) {
    let steps = options.full_steps.min(options.steps);
    let problem = Burgers::new(options.grid, steps).unwrap_or_else(|error| panic!("{error}"));
    let x = problem.inputs(0);
    let mut full = vec![0.0; x.len()];
    gradient_on(&mut Tape::new(), |x| problem.eval(0, x), &x, &mut full);
    let mut found = full.clone();
    let schedule = Revolve::new(steps, (steps / 30).max(2));
    within(&mut Tape::new(), problem, &schedule, &Arc::default(), &mut found);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let off = norm(&mut found.iter().zip(&full).map(|(a, b)| a - b)) / norm(&mut full.iter().copied());
    println!("  at {steps} steps, off the full tape's gradient by {off:.1e} of its norm");
    assert!(off <= 1e-12, "the gradient is that of the full tape");
    check_along_directions(problem, &found);
}

/// The gradient along random directions is that of forward mode and of central differences.
///
/// After many steps the boundaries decide everything: what the interior was at first has next to no influence.
/// Differences cannot resolve that, forward mode can.
fn check_along_directions(problem: Burgers, gradient: &[f64]) {
    let (n, x) = (problem.grid(), problem.inputs(0));
    let mut random = SplitMix64::new(4);
    println!("  {}, along random directions: forward mode, and central differences", problem.size());
    for interior in [false, false, false, true, true, true] {
        let inside = |k: usize| (1..n - 1).contains(&(k % n)) && (1..n - 1).contains(&(k / n % n));
        let direction: Vec<f64> =
            (0..x.len()).map(|k| if !interior || inside(k) { random.symmetric() } else { 0.0 }).collect();
        let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let moving = x.iter().zip(&direction).map(|(x, d)| Real::<Tangent>::with_tangent(*x, [*d]));
        let [forward] = problem.eval(0, &moving.collect::<Vec<_>>()).tangent();
        let value = |step: f64| {
            let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            problem.plain(0, &moved)
        };
        let (differences, doubt) = derivative(value);
        let off = |other: f64| (found - other).abs() / found.abs();
        let differ = if doubt < 1e-3 * found.abs() {
            format!("{:.1e} off {differences:.9e}", off(differences))
        } else {
            format!("cannot resolve it, {differences:.1e} ± {doubt:.0e}")
        };
        println!(
            "    {:<10} {found:>16.9e}: {:.1e} off forward mode; {differ}",
            if interior { "interior" } else { "all points" },
            off(forward)
        );
        assert!(off(forward) <= 1e-9, "the gradient agrees with forward mode");
        let allowed = (1e-6 * found.abs()).max(10.0 * doubt);
        assert!((found - differences).abs() <= allowed, "the gradient agrees with central differences");
    }
}

/// The derivative of `f` at 0 and its estimated error: central differences, extrapolated once (Richardson), with the
/// step at which two extrapolations agree best.
fn derivative(f: impl Fn(f64) -> f64) -> (f64, f64) {
    let rounding = 4.0 * f64::EPSILON * f(0.0).abs();
    let differences: Vec<(f64, f64)> =
        (4..=20).map(|k| 0.5_f64.powi(k)).map(|h| (h, (f(h) - f(-h)) / (2.0 * h))).collect();
    let extrapolated: Vec<(f64, f64)> =
        differences.windows(2).map(|pair| (pair[1].0, (4.0 * pair[1].1 - pair[0].1) / 3.0)).collect();
    let candidates = extrapolated.windows(2).map(|pair| {
        let [(_, coarse), (h, fine)] = [pair[0], pair[1]];
        (fine, (coarse - fine).abs().max(rounding / h))
    });
    candidates.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are several steps")
}
