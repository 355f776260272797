//! The price of a call option in Heston's model of a random volatility, by Monte Carlo, and how it depends on all seven
//! parameters of the model: one recording and one sweep for each path.
//!
//! The book has a page on it. `cargo run --release --example heston`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use num_complex::Complex64;
use std::error::Error;
use std::time::Instant;
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright_problems::random::SplitMix64;

/// The parameters of the model, which are the inputs, in this order.
const NAMES: [&str; 7] = ["spot", "variance", "rate", "reversion", "mean variance", "volatility of it", "correlation"];
const MODEL: [f64; 7] = [100.0, 0.04, 0.03, 1.5, 0.05, 0.4, -0.6];

/// A call option.
struct Call {
    strike: f64,
    /// In years.
    maturity: f64,
}
const CALL: Call = Call { strike: 105.0, maturity: 1.0 };

/// What a path pays at maturity, discounted. Two independent normal numbers move it in each time step.
///
/// The logarithm of the spot and its variance follow Euler's scheme. Where the variance becomes negative, it acts as 0
/// (full truncation, after Lord, Koekkoek and van Dijk, 2010).
fn payoff<S: Strategy<Value = f64>>(model: &[Real<S>], call: &Call, shocks: &[[f64; 2]]) -> Real<S> {
    let &[spot, variance, rate, reversion, mean, volatility, correlation] = model else {
        panic!("the model has {} parameters", NAMES.len())
    };
    let h = call.maturity / shocks.len() as f64;
    let other = (1.0 - correlation * correlation).sqrt().eval();
    let (mut log_spot, mut v) = (spot.ln().eval(), variance);
    for &[first, second] in shocks {
        let acting = v.max(0.0).eval();
        let root = (acting * h).sqrt().eval();
        log_spot += (rate - 0.5 * acting) * h + root * first;
        v += reversion * (mean - acting) * h + volatility * root * (correlation * first + other * second);
    }
    ((log_spot.exp() - call.strike).max(0.0) * (-rate * call.maturity).exp()).eval()
}

/// The shocks of a path, the same ones whenever they are asked for.
fn shocks(path: usize, steps: usize) -> Vec<[f64; 2]> {
    let mut random = SplitMix64::new(path as u64);
    (0..steps).map(|_| [random.normal(), random.normal()]).collect()
}

/// A mean over paths, its standard error, and the gradient of the mean.
struct Estimate {
    price: f64,
    error: f64,
    gradient: [f64; 7],
}

/// The mean over this many paths. One tape serves them all, so it takes the memory of one path.
fn estimate<S: Reverse<Value = f64> + Strategy>(
    tape: &mut Tape<S>,
    model: &[f64; 7],
    paths: usize,
    steps: usize,
) -> Result<Estimate, tapewright::Error> {
    let (mut sum, mut squares, mut gradient, mut of_path) = (0.0, 0.0, [0.0; 7], [0.0; 7]);
    for path in 0..paths {
        let shocks = shocks(path, steps);
        let value = tape.gradient(|x| payoff(x, &CALL, &shocks), model, &mut of_path)?;
        sum += value;
        squares += value * value;
        gradient.iter_mut().zip(of_path).for_each(|(sum, slope)| *sum += slope);
    }
    let n = paths as f64;
    let price = sum / n;
    let error = ((squares / n - price * price) / n).sqrt();
    Ok(Estimate { price, error, gradient: gradient.map(|sum| sum / n) })
}

/// The characteristic function of the logarithm of the spot at maturity (Heston 1993, in the form of Albrecher et al.
/// 2007, which has no jumps).
fn characteristic(u: Complex64, model: &[f64; 7], maturity: f64) -> Complex64 {
    let [spot, variance, rate, reversion, mean, volatility, correlation] = *model;
    let i = Complex64::i();
    let b = reversion - correlation * volatility * i * u;
    let d = (b * b + volatility * volatility * (i * u + u * u)).sqrt();
    let g = (b - d) / (b + d);
    let decay = (-d * maturity).exp();
    let drift = i * u * (spot.ln() + rate * maturity);
    let of_mean = (b - d) * maturity - 2.0 * ((1.0 - g * decay) / (1.0 - g)).ln();
    let of_variance = (b - d) * (1.0 - decay) / (1.0 - g * decay);
    (drift + (reversion * mean * of_mean + variance * of_variance) / (volatility * volatility)).exp()
}

/// The price without random numbers: two integrals over characteristic functions, by the midpoint rule.
fn exact_price(model: &[f64; 7], call: &Call) -> f64 {
    const WIDTH: f64 = 0.05;
    let i = Complex64::i();
    let discount = (-model[2] * call.maturity).exp();
    let strike = |u: f64| (-i * u * call.strike.ln()).exp() / (i * u);
    let in_the_money = |shift: Complex64| {
        let scale = characteristic(-shift, model, call.maturity);
        let at = |u: f64| (strike(u) * characteristic(u - shift, model, call.maturity) / scale).re;
        let sum: f64 = (0..4000).map(|k| at((f64::from(k) + 0.5) * WIDTH)).sum();
        0.5 + sum * WIDTH / std::f64::consts::PI
    };
    model[0] * in_the_money(i) - call.strike * discount * in_the_money(Complex64::ZERO)
}

/// Seconds for some paths, and bytes of the tape of one, under a strategy.
fn trial<S: Reverse<Value = f64> + Strategy>(name: &str) -> Result<(), tapewright::Error> {
    let mut tape = Tape::<S>::new();
    estimate(&mut tape, &MODEL, 200, 100)?;
    let start = Instant::now();
    estimate(&mut tape, &MODEL, 2000, 100)?;
    let each = start.elapsed().as_secs_f64() / 2000.0;
    let used = bytes(&tape.memory());
    println!("{name:<14} {:6.1} kB {:8.1} µs a path", used as f64 / 1e3, 1e6 * each);
    Ok(())
}

/// Bytes of a recording: records and adjoints, without the constant part of a tape.
fn bytes(memory: &MemoryReport) -> usize {
    memory.total().used - memory.usage("tables").used
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("One path of 100 steps, recorded and swept:");
    trial::<Jacobian>("Jacobian")?;
    trial::<PrimalValue>("PrimalValue")?;
    trial::<Hybrid>("Hybrid")?;
    trial::<Continuation>("Continuation")?;

    let found = estimate(&mut Tape::<Jacobian>::new(), &MODEL, 20_000, 100)?;
    println!(
        "\nprice {:.4} ± {:.4}, by characteristic functions {:.4}",
        found.price,
        found.error,
        exact_price(&MODEL, &CALL)
    );
    println!("{:<18} {:>12} {:>12}", "slope by", "paths", "differences");
    for (k, name) in NAMES.into_iter().enumerate() {
        let moved = |by: f64| {
            let mut model = MODEL;
            model[k] += by;
            exact_price(&model, &CALL)
        };
        println!("{name:<18} {:>12.4} {:>12.4}", found.gradient[k], (moved(1e-4) - moved(-1e-4)) / 2e-4);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price_of_path(model: &[f64; 7], path: usize) -> f64 {
        payoff::<Passive>(Real::wrap_slice(model), &CALL, &shocks(path, 50)).value()
    }

    /// The step is small because the root of a variance near 0 is strongly curved.
    #[test]
    fn the_gradient_of_a_path_is_that_of_central_differences_under_every_strategy() {
        for path in 0..20 {
            let shocks = shocks(path, 50);
            let expected: Vec<f64> = (0..7)
                .map(|k| {
                    let moved = |by: f64| {
                        let mut model = MODEL;
                        model[k] += by;
                        price_of_path(&model, path)
                    };
                    (moved(1e-8) - moved(-1e-8)) / 2e-8
                })
                .collect();
            let jacobian = gradient::<Jacobian>(|x| payoff(x, &CALL, &shocks), &MODEL);
            let primal = gradient::<PrimalValue>(|x| payoff(x, &CALL, &shocks), &MODEL);
            let hybrid = gradient::<Hybrid>(|x| payoff(x, &CALL, &shocks), &MODEL);
            let continuation = gradient::<Continuation>(|x| payoff(x, &CALL, &shocks), &MODEL);
            let largest = expected.iter().fold(1.0_f64, |most, slope| most.max(slope.abs()));
            for k in 0..7 {
                let off = (jacobian[k] - expected[k]).abs();
                assert!(off <= 1e-5 * largest, "path {path}, {}: {} and {}", NAMES[k], jacobian[k], expected[k]);
                for other in [&primal, &hybrid, &continuation] {
                    assert!((jacobian[k] - other[k]).abs() <= 1e-11 * largest);
                }
            }
        }
    }

    #[test]
    fn price_and_delta_are_those_of_the_characteristic_function() {
        let found = estimate(&mut Tape::<Jacobian>::new(), &MODEL, 4000, 50).expect("tapes in memory do not fail");
        let exact = exact_price(&MODEL, &CALL);
        assert!((found.price - exact).abs() < 4.0 * found.error, "{} ± {}, not {exact}", found.price, found.error);
        let moved = |by: f64| exact_price(&[MODEL[0] + by, 0.04, 0.03, 1.5, 0.05, 0.4, -0.6], &CALL);
        let delta = (moved(1e-3) - moved(-1e-3)) / 2e-3;
        assert!((found.gradient[0] - delta).abs() < 0.03, "{} and {delta}", found.gradient[0]);
    }

    #[test]
    fn without_volatility_of_the_variance_the_price_is_that_of_black_and_scholes() {
        let model = [100.0, 0.04, 0.03, 1.5, 0.04, 1e-4, 0.0];
        let [spot, rate, volatility] = [100.0, 0.03, 0.2];
        let d1 = ((spot / CALL.strike).ln() + rate + 0.5 * volatility * volatility) / volatility;
        let cdf = |x: f64| Real::<Passive>::from(x).normal_cdf().value();
        let expected = spot * cdf(d1) - CALL.strike * (-rate).exp() * cdf(d1 - volatility);
        assert!((exact_price(&model, &CALL) - expected).abs() < 1e-3);
    }

    #[test]
    fn a_path_fits_into_a_cache() {
        let bytes = |memory: MemoryReport| bytes(&memory);
        let mut jacobian = Tape::<Jacobian>::new();
        let mut primal = Tape::<PrimalValue>::new();
        estimate(&mut jacobian, &MODEL, 1, 100).expect("tapes in memory do not fail");
        estimate(&mut primal, &MODEL, 1, 100).expect("tapes in memory do not fail");
        let (jacobian, primal) = (bytes(jacobian.memory()), bytes(primal.memory()));
        assert!(jacobian < 64_000 && primal < 64_000, "{jacobian} and {primal} bytes do not fit into a cache");
    }
}
