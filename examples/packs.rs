//! An Asian option by Monte Carlo, eight paths in one recording: what it pays depends on the mean of a stock's prices,
//! and we want its price and how that depends on spot, volatility and rate.
//!
//! Each lane gives what its path gives alone. `cargo run --release --example packs`; with `--features rayon` also on
//! several threads.
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use std::error::Error;
use std::time::Instant;
use tapewright::packs::{Evaluations, Lanes, Pack, in_packs};
use tapewright::prelude::*;
use tapewright_problems::random::SplitMix64;

/// The inputs.
const NAMES: [&str; 3] = ["spot", "volatility", "rate"];
const MODEL: [f64; 3] = [100.0, 0.25, 0.03];
const STRIKE: f64 = 102.0;
/// In years.
const MATURITY: f64 = 1.0;
const STEPS: usize = 52;
const PATHS: usize = 20_003;

/// What the mean is.
#[derive(Clone, Copy, PartialEq)]
enum Mean {
    Arithmetic,
    /// There is a formula for its price, which tests need.
    #[cfg(test)]
    Geometric,
}

/// What a path pays at maturity, discounted. `normal` gives the normal number of each step.
fn payoff<S: Strategy>(model: &[Real<S>], mean: Mean, normal: impl Fn(usize) -> S::Value) -> Real<S> {
    let &[spot, volatility, rate] = model else { panic!("the model has {} parameters", NAMES.len()) };
    let h = MATURITY / STEPS as f64;
    let drift = ((rate - 0.5 * volatility * volatility) * h).eval();
    let shock = (volatility * h.sqrt()).eval();
    let (mut log, mut sum) = (Real::from(0.0), Real::from(0.0));
    for step in 0..STEPS {
        log += drift + shock * Real::constant(normal(step));
        match mean {
            Mean::Arithmetic => sum += log.exp(),
            #[cfg(test)]
            Mean::Geometric => sum += log,
        }
    }
    let mean: Real<S> = match mean {
        Mean::Arithmetic => (spot * sum / STEPS as f64).into(),
        #[cfg(test)]
        Mean::Geometric => (spot * (sum / STEPS as f64).exp()).into(),
    };
    // Lane by lane: in one path the option pays, in the next it does not.
    ((mean - STRIKE).max(0.0) * (-rate * MATURITY).exp()).into()
}

/// The normal numbers of all paths: `STEPS` for each.
struct Normals(Vec<f64>);

impl Normals {
    fn new(paths: usize) -> Self {
        let mut random = SplitMix64::new(52);
        Self((0..paths * STEPS).map(|_| random.normal()).collect())
    }

    fn paths(&self) -> usize {
        self.0.len() / STEPS
    }

    fn of(&self, path: usize, step: usize) -> f64 {
        self.0[path * STEPS + step]
    }
}

/// Every path by itself, on one tape.
fn alone<S>(mean: Mean, normals: &Normals) -> Result<Evaluations<f64>, tapewright::Error>
where
    S: Reverse<Value = f64> + Strategy,
{
    let (mut tape, mut gradient) = (Tape::<S>::new(), [0.0; 3]);
    let mut found = Evaluations::new(Vec::new(), Vec::new());
    for path in 0..normals.paths() {
        found.values.push(tape.gradient(|x| payoff(x, mean, |step| normals.of(path, step)), &MODEL, &mut gradient)?);
        found.gradients.push(gradient.to_vec());
    }
    Ok(found)
}

/// The paths of a pack.
fn together<S, const N: usize>(x: &[Real<S>], lanes: Lanes<N>, mean: Mean, normals: &Normals) -> Real<S>
where
    S: Strategy<Value = Pack<N>>,
{
    payoff(x, mean, |step| lanes.pack(|path| normals.of(path, step)))
}

/// `N` paths in one recording.
fn packed<S, const N: usize>(mean: Mean, normals: &Normals) -> Result<Evaluations<f64>, tapewright::Error>
where
    S: Reverse<Value = Pack<N>> + Strategy,
{
    in_packs::<S, _, N>(normals.paths(), |_| &MODEL, |x, lanes| together(x, lanes, mean, normals))
}

/// The same on this many threads.
#[cfg(feature = "rayon")]
fn packed_on<S, const N: usize>(
    threads: usize,
    mean: Mean,
    normals: &Normals,
) -> Result<Evaluations<f64>, Box<dyn Error>>
where
    S: Reverse<Value = Pack<N>, Tape: Send> + Strategy,
{
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let run = || {
        tapewright::packs::par_in_packs::<S, _, N>(
            normals.paths(),
            |_| &MODEL,
            |x, lanes| together(x, lanes, mean, normals),
        )
    };
    Ok(pool.install(run)?)
}

/// The largest difference of two runs in values or slopes, as a part of the largest number of its kind.
fn difference(left: &Evaluations<f64>, right: &Evaluations<f64>) -> f64 {
    assert_eq!(left.values.len(), right.values.len());
    let slopes = |run: &Evaluations<f64>, k: usize| run.gradients.iter().map(|slopes| slopes[k]).collect::<Vec<_>>();
    let part = |left: &[f64], right: &[f64]| {
        let largest = left.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        left.iter().zip(right).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) / largest
    };
    (0..3).map(|k| part(&slopes(left, k), &slopes(right, k))).fold(part(&left.values, &right.values), f64::max)
}

/// A run, and its microseconds a path.
fn timed<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let clock = Instant::now();
    let found = run();
    (found, 1e6 * clock.elapsed().as_secs_f64() / PATHS as f64)
}

/// Times packs of eight and of four beside paths alone, in turns, and checks them. Returns the packs of eight.
fn trial<S1, S4, S8>(name: &str, normals: &Normals) -> Result<Evaluations<f64>, Box<dyn Error>>
where
    S1: Reverse<Value = f64> + Strategy,
    S4: Reverse<Value = Pack<4>> + Strategy,
    S8: Reverse<Value = Pack<8>> + Strategy,
{
    let mut least = [f64::INFINITY; 3];
    let mut found = None;
    for _ in 0..3 {
        let (one, of_one) = timed(|| alone::<S1>(Mean::Arithmetic, normals));
        let (four, of_four) = timed(|| packed::<S4, 4>(Mean::Arithmetic, normals));
        let (eight, of_eight) = timed(|| packed::<S8, 8>(Mean::Arithmetic, normals));
        least.iter_mut().zip([of_one, of_four, of_eight]).for_each(|(least, time)| *least = least.min(time));
        let (one, four, eight) = (one?, four?, eight?);
        let largest = difference(&one, &four).max(difference(&one, &eight));
        assert!(largest <= 1e-12, "packs differ from paths alone by {largest:e}");
        found = Some(eight);
    }
    let [one, four, eight] = least;
    println!("{name:<12} alone {one:6.2} µs a path, in packs of four {four:6.2}, of eight {eight:6.2}");
    Ok(found.expect("there are three rounds"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let normals = Normals::new(PATHS);
    println!("{PATHS} paths of {STEPS} steps; values and gradients agree to 1e-12");
    let found = trial::<Jacobian, Jacobian<Pack<4>>, Jacobian<Pack<8>>>("Jacobian", &normals)?;
    trial::<PrimalValue, PrimalValue<Pack<4>>, PrimalValue<Pack<8>>>("PrimalValue", &normals)?;

    #[cfg(feature = "rayon")]
    for threads in [1, 2, 4] {
        let (on, time) = timed(|| packed_on::<Jacobian<Pack<8>>, 8>(threads, Mean::Arithmetic, &normals));
        assert_eq!(on?, found, "the number of threads changes no bit");
        println!("Jacobian     in packs of eight on {threads} thread(s) {time:6.2} µs a path, the same bits");
    }

    let (sum, slopes) = found.sum();
    println!("price {:.4}", sum / PATHS as f64);
    for (name, slope) in NAMES.into_iter().zip(slopes) {
        println!("slope by {name:<12} {:9.4}", slope / PATHS as f64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The price of the option on the geometric mean, which is log-normal, and its slope by the spot.
    fn by_formula() -> (f64, f64) {
        let [spot, volatility, rate] = MODEL;
        let n = STEPS as f64;
        let time = 0.5 * MATURITY * (n + 1.0) / n;
        let variance = volatility * volatility * MATURITY * (n + 1.0) * (2.0 * n + 1.0) / (6.0 * n * n);
        let forward = spot * ((rate - 0.5 * volatility * volatility) * time + 0.5 * variance).exp();
        let d = ((forward / STRIKE).ln() + 0.5 * variance) / variance.sqrt();
        let cdf = |x: f64| Real::<Passive>::from(x).normal_cdf().value();
        let discount = (-rate * MATURITY).exp();
        let price = discount * (forward * cdf(d) - STRIKE * cdf(d - variance.sqrt()));
        (price, discount * forward / spot * cdf(d))
    }

    #[test]
    fn the_price_on_the_geometric_mean_is_that_of_the_formula() {
        let normals = Normals::new(PATHS);
        let found = packed::<Jacobian<Pack<8>>, 8>(Mean::Geometric, &normals).expect("tapes in memory do not fail");
        let (sum, slopes) = found.sum();
        let n = PATHS as f64;
        let mean = sum / n;
        let error = (found.values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n / n).sqrt();
        let (price, delta) = by_formula();
        assert!((mean - price).abs() < 4.0 * error, "{mean} ± {error}, by formula {price}");
        assert!((slopes[0] / n - delta).abs() < 0.02, "{} and {delta}", slopes[0] / n);
    }

    #[test]
    fn lanes_give_what_paths_give_alone_also_in_the_last_pack() {
        let normals = Normals::new(203);
        for mean in [Mean::Arithmetic, Mean::Geometric] {
            let one = alone::<Jacobian>(mean, &normals).expect("tapes in memory do not fail");
            for packs in [
                packed::<Jacobian<Pack<8>>, 8>(mean, &normals),
                packed::<PrimalValue<Pack<4>>, 4>(mean, &normals),
                packed::<Hybrid<Pack<2>>, 2>(mean, &normals),
            ] {
                let packs = packs.expect("tapes in memory do not fail");
                assert!(difference(&one, &packs) <= 1e-12, "{:e}", difference(&one, &packs));
            }
            let paid = one.values.iter().filter(|value| **value > 0.0).count();
            assert!((50..150).contains(&paid), "{paid} of 203 paths pay: in most packs lanes disagree");
        }
    }

    #[test]
    fn gradients_are_the_slopes_of_central_differences() {
        let normals = Normals::new(40);
        let found = packed::<Jacobian<Pack<8>>, 8>(Mean::Arithmetic, &normals).expect("tapes in memory do not fail");
        for (path, slopes) in found.gradients.iter().enumerate() {
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut model = MODEL;
                    model[k] += by;
                    let normal = |step| normals.of(path, step);
                    payoff::<Passive>(Real::wrap_slice(&model), Mean::Arithmetic, normal).value()
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slopes[k] - expected).abs() < 1e-5, "path {path}, {}: {} and {expected}", NAMES[k], slopes[k]);
            }
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn threads_change_no_bit() {
        let normals = Normals::new(1001);
        let one = packed::<Jacobian<Pack<8>>, 8>(Mean::Arithmetic, &normals).expect("tapes in memory do not fail");
        for threads in [1, 2, 4] {
            let on = packed_on::<Jacobian<Pack<8>>, 8>(threads, Mean::Arithmetic, &normals).expect("threads start");
            assert_eq!(on, one, "{threads} threads");
        }
    }
}
