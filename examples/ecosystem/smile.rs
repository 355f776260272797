//! argmin: a surface of implied volatilities that fits 25 quotes, five strikes for each of five maturities.
//!
//! The scenarios of a [program](tapewright::programs) need not be random: here they are the quotes. The function is
//! recorded once for the whole search; each step runs it again with other parameters, and gets the mean of the squares
//! and its gradient.
//!
//! `cargo run --release -p tapewright-ecosystem --example smile`

use argmin::core::{CostFunction, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use std::error::Error;
use tapewright::prelude::*;
use tapewright::programs::Program;

const NAMES: [&str; 5] = ["variance today", "variance later", "reversion", "skew", "volatility of it"];

/// A quote: logarithm of strike over forward, maturity in years, volatility.
type Quote = [f64; 3];

/// Parameters from unknowns, which are any numbers: three are positive, one is between −1 and 1.
fn parameters<S: Strategy>(u: &[Real<S>]) -> [Real<S>; 5] {
    [u[0].exp().eval(), u[1].exp().eval(), u[2].exp().eval(), u[3].tanh().eval(), u[4].exp().eval()]
}

/// The volatility by Gatheral's and Jacquier's surface (*Arbitrage-free SVI volatility surfaces*, 2014, equation 4.1)
/// for a variance that moves from one level to another.
fn volatility<S: Strategy>(u: &[Real<S>], strike: Real<S>, maturity: Real<S>) -> Real<S> {
    let [today, later, reversion, skew, wings] = parameters(u);
    let moved = (reversion * maturity).eval();
    let total = (later * maturity + (today - later) * (1.0 - (-moved).exp()) / reversion).eval();
    let k = (strike * wings / total.sqrt()).eval();
    let root = ((k + skew).square() + 1.0 - skew * skew).sqrt().eval();
    (total * 0.5 * (1.0 + skew * k + root) / maturity).sqrt().eval()
}

fn residual<S: Strategy>(u: &[Real<S>], quote: &[Real<S>]) -> Real<S> {
    // In percent, so that the squares are of a size that the search likes.
    (100.0 * (volatility(u, quote[0], quote[1]) - quote[2])).eval()
}

/// The search for the unknowns: a program whose scenarios are the quotes.
struct Search<'a> {
    squares: &'a Program<'a>,
    quotes: &'a [Quote],
}

impl CostFunction for Search<'_> {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, unknowns: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(self.squares.values(unknowns, self.quotes)?.mean(0))
    }
}

impl Gradient for Search<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, unknowns: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        Ok(self.squares.gradient(unknowns, self.quotes)?.mean_gradient(0))
    }
}

/// Quotes that these unknowns would give.
fn quotes_of(unknowns: &[f64]) -> Vec<Quote> {
    let quote = |maturity: f64, strike: f64| {
        let at = |x: f64| Real::<Passive>::from(x);
        let unknowns: Vec<_> = unknowns.iter().map(|u| at(*u)).collect();
        let strike = strike * maturity.sqrt();
        [strike, maturity, volatility(&unknowns, at(strike), at(maturity)).value()]
    };
    let strikes = [-0.4, -0.2, 0.0, 0.2, 0.4];
    [0.1, 0.25, 0.5, 1.0, 2.0].into_iter().flat_map(|t| strikes.map(|k| quote(t, k))).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let truth = [0.06_f64.ln(), 0.04_f64.ln(), 1.5_f64.ln(), (-0.6_f64).atanh(), 0.7_f64.ln()];
    let quotes = quotes_of(&truth);
    let squares = Program::new(|u, quote| [residual(u, quote).square().eval()]);
    let search = Search { squares: &squares, quotes: &quotes };

    let guess = vec![0.04_f64.ln(), 0.04_f64.ln(), 0.0, 0.0, 0.0];
    let start = search.cost(&guess)?;
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5).with_tolerance_grad(1e-9)?;
    let found = Executor::new(search, solver).configure(|state| state.param(guess).max_iters(300)).run()?;
    let best = found.state().get_best_param().ok_or("the search found nothing")?;
    let error = found.state().get_best_cost().sqrt();
    println!(
        "{} quotes: from {:.3} % off to {error:.1e} % in {} iterations",
        quotes.len(),
        start.sqrt(),
        found.state().get_iter()
    );
    let wrapped: Vec<_> = best.iter().map(|u| Real::<Passive>::from(*u)).collect();
    for (name, parameter) in NAMES.into_iter().zip(parameters(&wrapped)) {
        println!("  {name:<18} {:.6}", parameter.value());
    }
    for (found, truth) in best.iter().zip(truth) {
        assert!((found - truth).abs() < 1e-4, "{found}, but the quotes were made with {truth}");
    }

    // How a quote moves the model: slopes of each residual by the data, one row for each quote.
    let residuals = Program::new(|u, quote| [residual(u, quote)]);
    let slopes = residuals.gradients(best, &quotes[..])?.gradients;
    assert!(slopes.iter().all(|by| (by[2] + 100.0).abs() < 1e-12), "a residual is 100·(model − quote)");
    Ok(())
}
