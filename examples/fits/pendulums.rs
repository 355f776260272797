//! A chain of pendulums, coupled by springs: how stiff are the springs, and how strong is the friction? Both are found
//! from the swinging of the last pendulum, by L-BFGS and the gradient of the misfit over 4000 time steps.
//!
//! The time loop is reversed by a Revolve schedule, so that its tape takes kilobytes. The book has a page on it.
//! `cargo run --release --example pendulums`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use argmin::core::{CostFunction, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::variables;

const PENDULUMS: usize = 12;
const STEPS: usize = 4000;
/// Seconds of a time step.
const H: f64 = 0.01;
/// Snapshots that the schedule keeps.
const SNAPSHOTS: usize = 40;
/// The stiffness and the friction that are to be found.
const TRUTH: [f64; 2] = [2.5, 0.08];

/// Angles from the vertical, their velocities, and how far the last angle was off so far: squares, divided by the
/// number of steps.
struct Chain<S: Taping> {
    angles: Vec<Real<S>>,
    speeds: Vec<Real<S>>,
    misfit: Real<S>,
}
variables!(Chain { angles, speeds, misfit });

/// At rest, and the first pendulum is held aside.
fn start<S: Taping<Value = f64>>() -> Chain<S> {
    let at = |angle: f64| (0..PENDULUMS).map(|k| Real::from(if k == 0 { angle } else { 0.0 })).collect();
    Chain { angles: at(1.2), speeds: at(0.0), misfit: 0.0.into() }
}

/// A step of the semi-implicit Euler scheme: velocities first, then angles with the new ones.
fn swing<S: Strategy<Value = f64>>([stiffness, friction]: &[Real<S>; 2], chain: &Chain<S>) -> Chain<S> {
    let Chain { angles, speeds, misfit } = chain;
    let speed = |k: usize| {
        // The ends have no neighbor on one side; they stand in for it themselves, so that nothing pulls there.
        let (left, here, right) = (angles[k.saturating_sub(1)], angles[k], angles[(k + 1).min(PENDULUMS - 1)]);
        let pull = *stiffness * (left + right - 2.0 * here) - here.sin() - *friction * speeds[k];
        (speeds[k] + H * pull).eval()
    };
    let speeds: Vec<Real<S>> = (0..PENDULUMS).map(speed).collect();
    let angles = angles.iter().zip(&speeds).map(|(angle, speed)| (*angle + H * *speed).eval()).collect();
    Chain { angles, speeds, misfit: *misfit }
}

/// A step, and how far it is from what was measured.
fn step<S: Strategy<Value = f64>>(parameters: &[Real<S>; 2], chain: &Chain<S>, measured: f64) -> Chain<S> {
    let Chain { angles, speeds, misfit } = swing(parameters, chain);
    let off = (angles[PENDULUMS - 1] - measured).eval();
    Chain { misfit: (misfit + off * off / STEPS as f64).eval(), angles, speeds }
}

/// The last angle after each step.
fn measure(parameters: [f64; 2]) -> Arc<[f64]> {
    let parameters = parameters.map(Real::<Passive>::from);
    let mut chain = start();
    let next = |_| {
        chain = swing(&parameters, &chain);
        chain.angles[PENDULUMS - 1].value()
    };
    (0..STEPS).map(next).collect()
}

/// The misfit without a tape.
fn misfit(parameters: [f64; 2], measured: &[f64]) -> f64 {
    let parameters = parameters.map(Real::<Passive>::from);
    measured.iter().fold(start(), |chain, measured| step(&parameters, &chain, *measured)).misfit.value()
}

/// A gradient, and the bytes that it took at the most.
struct Slope {
    gradient: Vec<f64>,
    bytes: usize,
}

/// The gradient of the misfit, by a time loop.
fn slope(parameters: &[f64], measured: &Arc<[f64]>) -> Result<Slope, tapewright::Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (plain, taped) = (Arc::clone(measured), Arc::clone(measured));
    let (inputs, end) = tape.record(|scope| {
        let inputs = [scope.input(parameters[0]), scope.input(parameters[1])];
        let steps = TimeLoop::<Jacobian>::new(Revolve::new(STEPS, SNAPSHOTS)).named("the chain");
        let end = steps.run(
            &inputs,
            &start(),
            move |time, inputs, chain| step(inputs, chain, plain[time]),
            move |time, inputs, chain| step(inputs, chain, taped[time]),
        )?;
        Ok::<_, tapewright::Error>((inputs, end.misfit))
    })?;
    let recorded = tape.memory();
    let gradient = tape.sweep(&[(&end, 1.0)])?.of_all(&inputs)?;
    let bytes = recorded.total().used.max(tape.memory().total().used) + tape.memory().usage("nested").reserved;
    Ok(Slope { gradient, bytes: bytes - recorded.usage("tables").used })
}

/// The gradient of the misfit on one tape.
fn slope_on_one_tape<S: Reverse<Value = f64> + Strategy>(parameters: &[f64], measured: &[f64]) -> Slope {
    let mut tape = Tape::<S>::new();
    let mut gradient = vec![0.0; 2];
    let misfit = |x: &[Real<S>]| measured.iter().fold(start(), |c, m| step(&[x[0], x[1]], &c, *m)).misfit;
    tape.gradient(misfit, parameters, &mut gradient).expect("two inputs have two slopes");
    Slope { gradient, bytes: tape.memory().total().used - tape.memory().usage("tables").used }
}

/// The search for the parameters.
struct Search {
    measured: Arc<[f64]>,
}

impl CostFunction for Search {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(misfit([parameters[0], parameters[1]], &self.measured))
    }
}

impl Gradient for Search {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        Ok(slope(parameters, &self.measured)?.gradient)
    }
}

/// Stiffness and friction that explain what was measured.
fn search(measured: &Arc<[f64]>, from: [f64; 2]) -> Result<(Vec<f64>, u64), Box<dyn Error>> {
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5).with_tolerance_grad(1e-9)?;
    let problem = Search { measured: Arc::clone(measured) };
    let found = Executor::new(problem, solver).configure(|state| state.param(from.to_vec()).max_iters(60)).run()?;
    let best = found.state().get_best_param().ok_or("the search found nothing")?.clone();
    Ok((best, found.state().get_iter()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let measured = measure(TRUTH);
    let guess = [2.4, 0.1];
    println!("{PENDULUMS} pendulums, {STEPS} steps; the gradient of the misfit at {guess:?}:");
    let show = |name: &str, slope: Slope, start: Instant| {
        let (kilobytes, milliseconds) = (slope.bytes as f64 / 1e3, 1e3 * start.elapsed().as_secs_f64());
        println!("{name:<22} {kilobytes:10.1} kB {milliseconds:8.1} ms   {:?}", slope.gradient);
    };
    let now = Instant::now();
    show("Jacobian", slope_on_one_tape::<Jacobian>(&guess, &measured), now);
    let now = Instant::now();
    show("PrimalValue", slope_on_one_tape::<PrimalValue>(&guess, &measured), now);
    let now = Instant::now();
    show("Continuation", slope_on_one_tape::<Continuation>(&guess, &measured), now);
    let now = Instant::now();
    show("Jacobian, time loop", slope(&guess, &measured)?, now);

    let (found, iterations) = search(&measured, guess)?;
    println!("found after {iterations} iterations: stiffness {:.6}, friction {:.6}", found[0], found[1]);
    assert!(found.iter().zip(TRUTH).all(|(found, truth)| (found - truth).abs() < 1e-4), "the search has failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUESS: [f64; 2] = [2.4, 0.1];

    #[test]
    fn the_gradient_is_that_of_central_differences() {
        let measured = measure(TRUTH);
        let found = slope_on_one_tape::<Jacobian>(&GUESS, &measured).gradient;
        for k in 0..2 {
            let moved = |by: f64| {
                let mut parameters = GUESS;
                parameters[k] += by;
                misfit(parameters, &measured)
            };
            let central = |h: f64| (moved(h) - moved(-h)) / (2.0 * h);
            let expected = (4.0 * central(5e-5) - central(1e-4)) / 3.0;
            assert!((found[k] - expected).abs() < 1e-7 * expected.abs(), "{} and {expected}", found[k]);
        }
    }

    #[test]
    fn the_time_loop_changes_bytes_and_not_the_gradient() {
        let measured = measure(TRUTH);
        let whole = slope_on_one_tape::<Jacobian>(&GUESS, &measured);
        let revolve = slope(&GUESS, &measured).expect("nothing can fail in memory");
        for (a, b) in whole.gradient.iter().zip(&revolve.gradient) {
            assert!((a - b).abs() <= 1e-12 * a.abs(), "{a} and {b}");
        }
        assert!(20 * revolve.bytes < whole.bytes, "{} and {} bytes", revolve.bytes, whole.bytes);
    }

    #[test]
    fn without_friction_the_energy_stays() {
        let parameters = [TRUTH[0], 0.0].map(Real::<Passive>::from);
        let energy = |chain: &Chain<Passive>| -> f64 {
            let own = chain.angles.iter().zip(&chain.speeds);
            let own: f64 = own.map(|(a, s)| 0.5 * s.value().powi(2) + 1.0 - a.value().cos()).sum();
            own + chain.angles.windows(2).map(|a| 0.5 * TRUTH[0] * (a[1].value() - a[0].value()).powi(2)).sum::<f64>()
        };
        let first = energy(&start());
        let last = energy(&(0..STEPS).fold(start(), |chain, _| swing(&parameters, &chain)));
        assert!((last / first - 1.0).abs() < 1e-2, "{first} and {last}");
    }
}
