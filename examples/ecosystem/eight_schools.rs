//! nuts-rs: how much does coaching help in each of eight schools? A hierarchical model, sampled by the No-U-Turn
//! sampler.
//!
//! The sampler asks for the logarithm of the density and its gradient: each time a recording and a sweep on a kept
//! tape. Data and model are those of Gelman et al., *Bayesian Data Analysis*, section 5.5. A school has measured an
//! effect y with the standard error σ. Its true effect is θ = μ + τ·η, where η is standard normal, and μ and τ are the
//! same for all. The results are compared with integrals over τ.
//!
//! `cargo run --release -p tapewright-ecosystem --example eight_schools`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use nuts_rs::rand::{Rng, SeedableRng, rngs::StdRng};
use nuts_rs::{Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use tapewright::prelude::*;

const SCHOOLS: usize = 8;
const EFFECTS: [f64; SCHOOLS] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const ERRORS: [f64; SCHOOLS] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
/// μ, ln τ, and η of each school.
const UNKNOWNS: usize = 2 + SCHOOLS;
/// The scale of the priors: μ is normal, τ half a Cauchy distribution.
const SCALE: f64 = 5.0;

/// The logarithm of the posterior density, up to a constant.
fn log_density<S: Strategy>(unknowns: &[Real<S>]) -> Real<S> {
    let (mu, log_tau, etas) = (unknowns[0], unknowns[1], &unknowns[2..]);
    let tau = log_tau.exp().eval();
    // The last term is the logarithm of dτ/d ln τ.
    let prior = -0.5 * (mu / SCALE).powi(2) - (tau / SCALE).powi(2).ln_1p() + log_tau;
    let mut sum = prior.eval();
    for ((eta, effect), error) in etas.iter().zip(EFFECTS).zip(ERRORS) {
        sum -= 0.5 * eta.powi(2) + 0.5 * ((mu + tau * *eta - effect) / error).powi(2);
    }
    sum
}

/// What the sampler samples from.
struct Posterior {
    tape: Tape<Jacobian>,
}

#[derive(Debug)]
struct Failed(tapewright::Error);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Failed {}

impl LogpError for Failed {
    fn is_recoverable(&self) -> bool {
        false
    }
}

impl HasDims for Posterior {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_owned(), UNKNOWNS as u64)])
    }
}

impl CpuLogpFunc for Posterior {
    type LogpError = Failed;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        UNKNOWNS
    }

    fn logp(&mut self, unknowns: &[f64], gradient: &mut [f64]) -> Result<f64, Failed> {
        self.tape.gradient(log_density, unknowns, gradient).map_err(Failed)
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _: &mut R, unknowns: &[f64]) -> Result<Vec<f64>, CpuMathError> {
        Ok(unknowns.to_vec())
    }
}

/// What is reported: μ, τ, and θ of each school.
type Report = [f64; UNKNOWNS];

const CHAINS: u64 = 4;
const TUNING: usize = 500;
const DRAWS: usize = 2000;

/// The draws of a chain, and how many gradients they took.
fn chain(seed: u64) -> Result<(Vec<Report>, u64), Box<dyn Error>> {
    let settings = DiagNutsSettings { num_tune: TUNING as u64, num_draws: DRAWS as u64, ..Default::default() };
    let posterior = Posterior { tape: Tape::new() };
    let mut random = StdRng::seed_from_u64(seed);
    let mut chain = settings.new_chain(seed, CpuMath::new(posterior), &mut random)?;
    chain.set_position(&[0.0; UNKNOWNS])?;
    let (mut draws, mut gradients) = (Vec::new(), 0);
    for k in 0..TUNING + DRAWS {
        let (at, progress) = chain.draw()?;
        gradients += progress.num_gradients;
        let (mu, tau) = (at[0], at[1].exp());
        if k >= TUNING {
            draws.push(core::array::from_fn(|k| [mu, tau].get(k).copied().unwrap_or_else(|| mu + tau * at[k])));
        }
    }
    Ok((draws, gradients))
}

/// Means and variances of all that is reported, given τ, and the density of ln τ up to a constant: given τ, all other
/// distributions are normal (Gelman et al., equations 5.17 to 5.21, with a normal prior of μ).
fn given(tau: f64) -> (Report, Report, f64) {
    let variances = ERRORS.map(|error| error * error + tau * tau);
    let precision = SCALE.powi(-2) + variances.iter().map(|v| 1.0 / v).sum::<f64>();
    let mean = EFFECTS.iter().zip(variances).map(|(y, v)| y / v).sum::<f64>() / precision;
    let squares: f64 = EFFECTS.iter().zip(variances).map(|(y, v)| y * y / v + v.ln()).sum();
    let log_density = 0.5 * (precision * mean * mean - squares - precision.ln()) - (tau / SCALE).powi(2).ln_1p();
    // How far the effect of a school depends on its own measurement.
    let own = |k: usize| tau * tau / variances[k - 2];
    let means = core::array::from_fn(|k| match k {
        0 => mean,
        1 => tau,
        _ => own(k) * EFFECTS[k - 2] + (1.0 - own(k)) * mean,
    });
    let variances = core::array::from_fn(|k| match k {
        0 => 1.0 / precision,
        1 => 0.0,
        _ => own(k) * ERRORS[k - 2].powi(2) + (1.0 - own(k)).powi(2) / precision,
    });
    (means, variances, tau * log_density.exp())
}

/// Means and variances of all that is reported, by the trapezoidal rule over ln τ.
fn exact() -> (Report, Report) {
    let (mut total, mut firsts, mut seconds) = (0.0, [0.0; UNKNOWNS], [0.0; UNKNOWNS]);
    for step in -3000..1500 {
        let (means, variances, density) = given((f64::from(step) * 0.005).exp());
        total += density;
        for k in 0..UNKNOWNS {
            firsts[k] += density * means[k];
            seconds[k] += density * (variances[k] + means[k] * means[k]);
        }
    }
    let means = firsts.map(|sum| sum / total);
    (means, core::array::from_fn(|k| seconds[k] / total - means[k] * means[k]))
}

/// The mean of a quantity over all draws, and the standard error of this mean, from means of batches of successive
/// draws.
fn estimate(chains: &[Vec<Report>], quantity: impl Fn(&Report) -> f64) -> (f64, f64) {
    let batches = chains.iter().flat_map(|draws| draws.chunks(DRAWS / 25));
    let means: Vec<f64> = batches.map(|draws| draws.iter().map(&quantity).sum::<f64>() / draws.len() as f64).collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (chains, gradients): (Vec<_>, Vec<_>) =
        (0..CHAINS).map(chain).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let (means, variances) = exact();
    println!("{CHAINS} chains of {DRAWS} draws, {} gradients", gradients.iter().sum::<u64>());
    println!("{:>9} {:>8} {:>18} {:>8} {:>8}", "", "mean", "sampled", "sd", "sampled");
    for k in 0..UNKNOWNS {
        let (mean, error) = estimate(&chains, |draw| draw[k]);
        let (variance, spread) = estimate(&chains, |draw| (draw[k] - means[k]).powi(2));
        let name = ["μ", "τ"].get(k).map_or_else(|| format!("school {}", k - 1), |name| (*name).to_owned());
        let sd = variances[k].sqrt();
        println!("{name:>9} {:>8.3} {mean:>8.3} ± {error:>7.3} {sd:>8.3} {:>8.3}", means[k], variance.sqrt());
        assert!((mean - means[k]).abs() < 5.0 * error, "the mean is wrong");
        assert!((variance - variances[k]).abs() < 5.0 * spread, "the variance is wrong");
        assert!(error < 0.05 * sd && spread < 0.25 * variances[k], "these are not enough draws to tell");
    }
    Ok(())
}
