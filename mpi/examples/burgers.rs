//! The 2-D Burgers equations in strips of rows, one on each rank, which exchange their borders in each step.
//!
//! ```sh
//! mpirun -n 4 target/release/examples/burgers
//! ```
//!
//! It fails unless the gradient is that of one rank, to 10⁻¹³ of its norm.
#![allow(clippy::cast_precision_loss, reason = "grids are small")]

use core::ops::Range;
use std::error::Error;
use std::time::Duration;
use tapewright::kernels::{View, parallel_sum};
use tapewright::prelude::*;
use tapewright_mpi::{Communicator, Ranks, Reduction};
use tapewright_problems::{Burgers, Checksums, Problem, kernels};

const N: usize = 128;
const STEPS: usize = 32;

/// The part of the grid that a rank has: its own rows, and those beside them that its neighbors have.
struct Strip {
    all: Communicator,
    /// Rows of the grid, from the first to behind the last.
    own: Range<usize>,
    with_borders: Range<usize>,
}

impl Strip {
    fn new(all: Communicator) -> Self {
        let first = |rank: usize| rank * N / all.size();
        let own = first(all.rank())..first(all.rank() + 1);
        let with_borders = own.start.saturating_sub(1)..(own.end + 1).min(N);
        Self { all, own, with_borders }
    }

    /// The rank above, and the place of the row that it has; and that below.
    fn neighbors(&self) -> [Option<(usize, usize)>; 2] {
        let (rank, rows) = (self.all.rank(), self.with_borders.len());
        [rank.checked_sub(1).map(|above| (above, 0)), (rank + 1 < self.all.size()).then_some((rank + 1, rows - 1))]
    }

    /// Sends the rows at the borders to the neighbors, and puts theirs beside them.
    fn exchange<S: Taping<Value = f64>>(&self, u: &mut View<S, 2>, v: &mut View<S, 2>) {
        let shapes = [u.slice([0..1, 0..N]), v.slice([0..1, 0..N])].map(|view| View::zeros(view.shape()));
        for (rank, border) in self.neighbors().into_iter().flatten() {
            let mine = if border == 0 { 1..2 } else { border - 1..border };
            self.all.send(&[u.slice([mine.clone(), 0..N]), v.slice([mine, 0..N])], rank);
        }
        for (rank, border) in self.neighbors().into_iter().flatten() {
            let rows = self.all.receive(&shapes, rank);
            u.set([border..border + 1, 0..N], &rows[0]);
            v.set([border..border + 1, 0..N], &rows[1]);
        }
    }

    /// Σ u² + v² over all rows of all ranks after the last step, which rank 0 has.
    fn energy<S: Taping<Value = f64>>(&self, mut u: View<S, 2>, mut v: View<S, 2>) -> Option<Real<S>> {
        let dx = 1.0 / (N as f64 - 1.0);
        let coefficients = (1e-3 / dx, 1e-3 / (1000.0 * dx * dx));
        for _ in 0..STEPS {
            self.exchange(&mut u, &mut v);
            kernels::burgers_step(&mut u, &mut v, coefficients);
        }
        let own = self.own.start - self.with_borders.start..self.own.end - self.with_borders.start;
        let mine = parallel_sum([own, 0..N], (&u, &v), |(u, v)| u.at::<0, 0>().square() + v.at::<0, 0>().square());
        self.all.reduce(&[mine], Reduction::Sum, 0).pop()
    }

    /// The elements of the whole grid that are this rank's own, without its neighbors' rows.
    fn of_grid<'x>(&self, x: &'x [f64]) -> &'x [f64] {
        &x[self.own.start * N..self.own.end * N]
    }

    /// A view of the strip. The rows beside it are received, not inputs: the gradient belongs to their owner.
    fn view(&self, scope: &mut tapewright::Scope<Jacobian>, x: &[f64]) -> (View<Jacobian, 2>, View<Jacobian, 2>) {
        let own = scope.view([self.own.len(), N], self.of_grid(x));
        let mut wide = View::zeros([self.with_borders.len(), N]);
        let first = self.own.start - self.with_borders.start;
        wide.set([first..first + self.own.len(), 0..N], &own);
        (own, wide)
    }
}

/// The value on rank 0, and this rank's part of the gradient, by u, then by v.
fn gradient(strip: &Strip, x: &[f64], tape: &mut Tape<Jacobian>) -> Result<(Option<f64>, Vec<f64>), tapewright::Error> {
    let (of_u, of_v) = x.split_at(N * N);
    let ([u, v], energy) = tape.record(|scope| {
        let ((u, wide_u), (v, wide_v)) = (strip.view(scope, of_u), strip.view(scope, of_v));
        ([u, v], strip.energy(wide_u, wide_v))
    });
    let seeds: Vec<_> = energy.iter().map(|energy| (energy, 1.0)).collect();
    let adjoints = tape.sweep(&seeds)?;
    let mut part = adjoints.of_view(&u)?.to_vec();
    part.extend_from_slice(&adjoints.of_view(&v)?);
    Ok((energy.map(|energy| energy.value()), part))
}

/// All parts of the gradient, on rank 0.
fn collect(all: Communicator, part: &[f64]) -> Vec<f64> {
    if all.rank() > 0 {
        all.send(Real::<Passive>::wrap_slice(part), 0);
        return Vec::new();
    }
    let mut gradient = [Vec::new(), Vec::new()];
    for rank in 0..all.size() {
        let rows = rank * N / all.size()..(rank + 1) * N / all.size();
        let shape = vec![Real::<Passive>::constant(0.0); 2 * rows.len() * N];
        let received = if rank == 0 { part.to_vec() } else { Real::floats(&all.receive(&shape, rank)).to_vec() };
        let (u, v) = received.split_at(received.len() / 2);
        gradient[0].extend_from_slice(u);
        gradient[1].extend_from_slice(v);
    }
    gradient.concat()
}

fn main() -> Result<(), Box<dyn Error>> {
    let universe = mpi::initialize().ok_or("MPI is initialized once")?;
    let ranks = Ranks::new(&universe, Duration::from_mins(1));
    let (all, problem) = (ranks.all(), Burgers::new(N, STEPS)?);
    let x = problem.inputs(0);
    let (value, part) = gradient(&Strip::new(all), &x, &mut Tape::new())?;
    let found = collect(all, &part);
    let counts = all.counts();
    println!("rank {} has sent {:?} of values, {:?} of adjoints", all.rank(), counts.values, counts.adjoints);
    let Some(value) = value else { return Ok(()) };

    let mut tape = Tape::<Jacobian>::new();
    let (input, energy) = tape.record(|scope| {
        let input = scope.view([x.len()], &x);
        let energy = problem.eval_by_kernels(&input);
        (input, energy)
    });
    let expected = tape.sweep(&[(&energy, 1.0)])?.of_view(&input)?.to_vec();
    let distance = found.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let norm = Checksums::of(value, &expected).norm;
    let checksums = problem.checksums().ok_or("there are checksums for this size")?;
    let from_checksums = Checksums::of(value, &found).difference(&checksums);
    println!("{} ranks, {}: value {value}", all.size(), problem.size());
    println!("  gradient: {:.1e} of its norm from that of one rank; checksums: {from_checksums:.1e}", distance / norm);
    if distance > 1e-13 * norm || from_checksums.is_nan() || from_checksums > 1e-10 {
        return Err("the gradient is wrong".into());
    }
    Ok(())
}
