//! The gradient of a Monte Carlo estimate whose paths are shared out over ranks: one broadcast, one reduction.
//!
//! ```sh
//! mpirun -n 4 target/release/examples/libor
//! ```
//!
//! Times are those of the best of five rounds, or of as many as the argument says.
//!
//! It fails unless the gradient is that of one rank, to 10⁻¹³ of its norm.
#![allow(clippy::cast_precision_loss, reason = "there are few paths")]

use cpu_time::ProcessTime;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use std::error::Error;
use std::time::Duration;
use tapewright::preaccumulate_by_reverse;
use tapewright::prelude::*;
use tapewright_mpi::{Communicator, Ranks, Reduction};
use tapewright_problems::{Checksums, Libor, Problem};

/// Without an argument.
const ROUNDS: usize = 5;

/// The sum over these paths. Each is recorded and swept by itself, and leaves its gradient on the tape.
fn sum_of_paths(problem: &Libor, paths: impl Iterator<Item = usize>, x: &Vec<Real<Jacobian>>) -> Real<Jacobian> {
    let values: Vec<Real<Jacobian>> = paths
        .map(|path| preaccumulate_by_reverse::<Jacobian, _, _, _>(x, |x: &Vec<Real<Jacobian>>| problem.eval(path, x)))
        .collect();
    tapewright::sum(&values)
}

/// Value and gradient on the root, and zeros on the other ranks.
fn over_ranks(
    all: Communicator,
    problem: &Libor,
    tape: &mut Tape<Jacobian>,
    gradient: &mut [f64],
) -> Result<f64, tapewright::Error> {
    let f = |x: &[Real<Jacobian>]| {
        let x = all.broadcast(x, 0);
        let mine = (all.rank()..problem.evaluations()).step_by(all.size());
        let sum = all.reduce(&[sum_of_paths(problem, mine, &x)], Reduction::Sum, 0);
        sum.into_iter().next().unwrap_or_default()
    };
    tape.gradient(f, &problem.inputs(0), gradient)
}

/// The same on one rank.
fn alone(problem: &Libor, tape: &mut Tape<Jacobian>, gradient: &mut [f64]) -> Result<f64, tapewright::Error> {
    let all_paths = |x: &[Real<Jacobian>]| sum_of_paths(problem, 0..problem.evaluations(), &x.to_vec());
    tape.gradient(all_paths, &problem.inputs(0), gradient)
}

/// The processor time of this process in `f`, and what it returns.
fn timed<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let since = ProcessTime::now();
    let result = f();
    (since.elapsed().as_secs_f64(), result)
}

/// What has been found on the root, in the best of several rounds.
#[derive(Default)]
struct Outcome {
    value: f64,
    found: Vec<f64>,
    /// On one rank.
    expected: Vec<f64>,
    /// Seconds of processor time, of all ranks together and of one rank.
    seconds: [f64; 2],
    /// Seconds on the clock in which the rank that waited longest did so.
    waited: f64,
}

fn rounds(all: Communicator, world: &SimpleCommunicator, problem: &Libor) -> Result<Outcome, Box<dyn Error>> {
    let zeros = vec![0.0; problem.inputs(0).len()];
    let mut outcome = Outcome { found: zeros.clone(), expected: zeros, ..Outcome::default() };
    let (mut tape, mut tape_alone) = (Tape::new(), Tape::new());
    outcome.seconds = [f64::INFINITY; 2];
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    for _ in 0..rounds {
        world.barrier();
        let before = all.counts().waited;
        let (mine, result) = timed(|| over_ranks(all, problem, &mut tape, &mut outcome.found));
        outcome.value = result?;
        let waited = all.counts().waited.saturating_sub(before).as_secs_f64();
        let mut together = 0.0;
        world.all_reduce_into(&mine, &mut together, SystemOperation::sum());
        world.all_reduce_into(&waited, &mut outcome.waited, SystemOperation::max());
        outcome.seconds[0] = outcome.seconds[0].min(together);
        if all.rank() == 0 {
            let (time, result) = timed(|| alone(problem, &mut tape_alone, &mut outcome.expected));
            result?;
            outcome.seconds[1] = outcome.seconds[1].min(time);
        }
    }
    Ok(outcome)
}

/// Prints what has been found, and fails if it is wrong.
fn report(all: Communicator, problem: &Libor, outcome: &Outcome) -> Result<(), Box<dyn Error>> {
    let Outcome { value, found, expected, seconds, waited } = outcome;
    let distance = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let norm = Checksums::of(*value, expected).norm;
    let checksums = problem.checksums().ok_or("there are checksums for the default size")?;
    let from_checksums = Checksums::of(*value, found).difference(&checksums);
    println!("{} ranks, {}: value {value}", all.size(), problem.size());
    println!("  gradient: {:.1e} of its norm from that of one rank; checksums: {from_checksums:.1e}", distance / norm);
    let per_path = seconds.map(|seconds| seconds / problem.evaluations() as f64 * 1e6);
    println!("  processor time a path: {:.2} us of all ranks, {:.2} us of one rank", per_path[0], per_path[1]);
    println!("  ratio {:.3}; waiting, on the clock: {waited:.4} s at most", per_path[0] / per_path[1]);
    let counts = all.counts();
    println!("  the root has sent {:?} of values, {:?} of adjoints", counts.values, counts.adjoints);
    if distance > 1e-13 * norm || from_checksums.is_nan() || from_checksums > 1e-10 {
        return Err("the gradient is wrong".into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let universe = mpi::initialize().ok_or("MPI is initialized once")?;
    let ranks = Ranks::new(&universe, Duration::from_mins(1));
    let (all, problem) = (ranks.all(), Libor::default());
    let outcome = rounds(all, &universe.world(), &problem)?;
    if all.rank() == 0 { report(all, &problem, &outcome) } else { Ok(()) }
}
