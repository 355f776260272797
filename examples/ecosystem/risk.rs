//! rayon and indicatif: what two books are worth and how that depends on every parameter, from 100,000 paths each, with
//! standard errors and a bar that shows how far the computation is.
//!
//! Each book is a [program](tapewright::programs): its function is recorded once. Paths are computed in chunks, on all
//! threads, and the bar moves between them. The means of chunks are samples, too, from which standard errors follow.
//!
//! `cargo run --release -p tapewright-ecosystem --example risk`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::time::Instant;
use tapewright::prelude::*;
use tapewright::programs::{Program, ProgramReal, scenarios};
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Heston, Libor, Problem};

/// Paths that are computed before the bar moves.
const CHUNK: usize = 2000;

#[derive(Parser)]
struct Options {
    /// Paths of each book, a multiple of 2,000.
    #[arg(long, default_value_t = 100_000)]
    paths: usize,
}

/// A function of parameters and of the normal numbers of a path.
struct Book<'f> {
    name: &'static str,
    parameters: Vec<f64>,
    labels: Vec<String>,
    /// Normal numbers of a path.
    columns: usize,
    program: Program<'f>,
}

/// The price and all slopes of its mean, in this order, each with its standard error.
struct Estimates {
    means: Vec<f64>,
    errors: Vec<f64>,
}

/// Writes the normal numbers of a path: the same ones whenever they are asked for, on whichever thread.
fn normals(path: usize, to: &mut [f64]) {
    let mut random = SplitMix64::new(path as u64);
    to.fill_with(|| random.normal());
}

impl<'f> Book<'f> {
    fn new(
        (name, columns): (&'static str, usize),
        (parameters, labels): (Vec<f64>, Vec<String>),
        payoff: impl Fn(&[ProgramReal], &[ProgramReal]) -> ProgramReal + Send + Sync + 'f,
    ) -> Self {
        let program = Program::new(move |p, z| [payoff(p, z)]).in_parallel();
        Self { name, parameters, labels, columns, program }
    }

    /// Price and slopes, as means over some paths from `first` on.
    fn chunk(&self, first: usize, count: usize) -> Result<Vec<f64>, tapewright::Error> {
        let paths = scenarios(count, self.columns, |k, z| normals(first + k, z));
        let found = self.program.gradient(&self.parameters, paths)?;
        Ok(core::iter::once(found.mean(0)).chain(found.mean_gradient(0)).collect())
    }

    fn estimate(&self, paths: usize) -> Result<Estimates, Box<dyn Error>> {
        let style = ProgressStyle::with_template("{msg:<8} {wide_bar} {human_pos}/{human_len} paths, {eta} left")?;
        let bar = ProgressBar::new(paths as u64).with_style(style).with_message(self.name);
        let mut chunks = Vec::new();
        for first in (0..paths).step_by(CHUNK) {
            chunks.push(self.chunk(first, CHUNK)?);
            bar.inc(CHUNK as u64);
        }
        bar.finish_and_clear();
        let n = chunks.len() as f64;
        let mean = |k: usize| chunks.iter().map(|chunk| chunk[k]).sum::<f64>() / n;
        let means: Vec<f64> = (0..=self.parameters.len()).map(mean).collect();
        let error = |(k, mean): (usize, &f64)| {
            let squares: f64 = chunks.iter().map(|chunk| (chunk[k] - mean).powi(2)).sum();
            (squares / (n - 1.0) / n).sqrt()
        };
        Ok(Estimates { errors: means.iter().enumerate().map(error).collect(), means })
    }

    fn print(&self, paths: usize, shown: &[usize]) -> Result<Estimates, Box<dyn Error>> {
        let clock = Instant::now();
        let found = self.estimate(paths)?;
        let seconds = clock.elapsed().as_secs_f64();
        println!("{}: {} slopes from {paths} paths in {seconds:.2} s", self.name, self.parameters.len());
        let line = |name: &str, k: usize| println!("  {name:<24} {:>12.5} ± {:.5}", found.means[k], found.errors[k]);
        line("price", 0);
        shown.iter().for_each(|k| line(&self.labels[*k], k + 1));
        Ok(found)
    }
}

/// Fails unless a chunk has the mean of tapes that are recorded for each path, to 12 digits.
fn check<S: Reverse<Value = f64> + Strategy>(
    book: &Book<'_>,
    payoff: impl Fn(&[Real<S>], &[Real<S>]) -> Real<S>,
) -> Result<(), tapewright::Error> {
    const PATHS: usize = 100;
    let (mut tape, mut sums) = (Tape::<S>::new(), vec![0.0; 1 + book.parameters.len()]);
    let (mut z, mut gradient) = (vec![0.0; book.columns], vec![0.0; book.parameters.len()]);
    for path in 0..PATHS {
        normals(path, &mut z);
        let constants: Vec<Real<S>> = z.iter().map(|z| Real::from(*z)).collect();
        sums[0] += tape.gradient(|p| payoff(p, &constants), &book.parameters, &mut gradient)?;
        sums[1..].iter_mut().zip(&gradient).for_each(|(sum, slope)| *sum += slope);
    }
    let largest = sums.iter().fold(0.0_f64, |most, sum| most.max(sum.abs()));
    for (found, sum) in book.chunk(0, PATHS)?.iter().zip(sums) {
        assert!((found * PATHS as f64 - sum).abs() <= 1e-12 * largest, "{found}, by tapes {}", sum / PATHS as f64);
    }
    Ok(())
}

/// A call option; its price and slopes are known from characteristic functions, see `examples/heston.rs`.
fn heston(paths: usize) -> Result<(), Box<dyn Error>> {
    const STEPS: usize = 100;
    const EXACT: [f64; 8] = [6.86718, 0.56717, 48.12025, 49.84960, 0.48590, 48.99531, -2.62060, 0.64776];
    let model = Heston::new(STEPS, 0);
    let names = ["spot", "variance", "rate", "reversion", "mean variance", "volatility of it", "correlation"];
    let parameters = (Heston::MODEL.to_vec(), names.map(str::to_owned).to_vec());
    let book = Book::new(("Heston", 2 * STEPS), parameters, |p, z| model.eval_on(p, z));
    check::<Jacobian>(&book, |p, z| model.eval_on(p, z))?;
    let found = book.print(paths, &[0, 1, 2, 3, 4, 5, 6])?;
    for (k, exact) in EXACT.into_iter().enumerate() {
        // Euler's scheme is off by a few thousandths.
        let bound = 5.0 * found.errors[k] + 0.01 * exact.abs();
        assert!((found.means[k] - exact).abs() < bound, "{} ± {}, not {exact}", found.means[k], found.errors[k]);
    }
    Ok(())
}

/// Fifteen swaptions on 80 rates, with 161 slopes.
fn libor(paths: usize) -> Result<(), Box<dyn Error>> {
    const RATES: usize = 80;
    const MATURITIES: usize = 40;
    let model = Libor::new(RATES, MATURITIES, 1)?;
    let each = |what: &str| (1..=RATES).map(|k| format!("{what} {k}")).collect::<Vec<_>>();
    let labels = [vec!["period".to_owned()], each("volatility"), each("rate")].concat();
    let book = Book::new(("libor", MATURITIES), (model.inputs(0), labels), |p, z| model.eval_on(p, z));
    check::<Jacobian>(&book, |p, z| model.eval_on(p, z))?;
    let found = book.print(paths, &[0, 1, 40, 81, 120, 160])?;
    assert!(found.means.iter().chain(&found.errors).all(|x| x.is_finite()));

    let on_one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let alone = on_one_thread.install(|| book.chunk(0, 5000))?;
    assert_eq!(alone, book.chunk(0, 5000)?, "the number of threads changes no bit");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let Options { paths } = Options::parse();
    assert!(paths >= 2 * CHUNK && paths.is_multiple_of(CHUNK), "{paths} paths are not two chunks of {CHUNK} or more");
    heston(paths)?;
    libor(paths)
}
