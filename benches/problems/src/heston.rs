//! A call option in Heston's model.

use crate::random::SplitMix64;
use tapewright::{Real, Taping};

/// Discounted payoff of a call option on Monte-Carlo paths of Heston's model, by Euler's scheme with full truncation;
/// see `examples/heston.rs`. The inputs are spot, variance, rate, reversion, mean variance, volatility of the variance,
/// and correlation; two normal numbers move a path in each time step.
#[derive(Clone, Debug)]
pub struct Heston {
    steps: usize,
    /// `2 * steps` normal numbers a path.
    normals: Vec<f64>,
}

const STRIKE: f64 = 105.0;
/// In years.
const MATURITY: f64 = 1.0;

impl Heston {
    /// Usual values of the inputs.
    pub const MODEL: [f64; 7] = [100.0, 0.04, 0.03, 1.5, 0.05, 0.4, -0.6];

    /// `paths` paths of `steps` time steps.
    #[must_use]
    pub fn new(steps: usize, paths: usize) -> Self {
        let mut random = SplitMix64::new(1993);
        Self { steps, normals: (0..2 * steps * paths).map(|_| random.normal()).collect() }
    }

    /// The normal numbers of path `k`.
    #[must_use]
    pub fn path(&self, k: usize) -> &[f64] {
        &self.normals[2 * self.steps * k..][..2 * self.steps]
    }

    /// The payoff under normal numbers that are variables, too.
    pub fn eval_on<S: Taping>(&self, model: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        self.along(model, |k, path| {
            let [first, second] = [&normals[2 * k], &normals[2 * k + 1]];
            path.log_spot += &path.root * first;
            path.variance += &path.scaled * (path.correlation * first + &path.other * second);
        })
    }

    /// The payoff of one path, under normal numbers that are constants of its recording.
    pub fn eval<S: Taping>(&self, k: usize, model: &[Real<S>]) -> Real<S> {
        let normals = self.path(k);
        self.along(model, |k, path| {
            let [first, second] = [normals[2 * k], normals[2 * k + 1]];
            path.log_spot += &path.root * first;
            path.variance += &path.scaled * (path.correlation * first + &path.other * second);
        })
    }

    /// A path. `shake` adds what is random in a step, given its number.
    ///
    /// # Panics
    ///
    /// When the model does not have 7 inputs.
    pub fn along<S: Taping>(&self, model: &[Real<S>], shake: impl Fn(usize, &mut Path<'_, S>)) -> Real<S> {
        let [spot, variance, rate, reversion, mean, volatility, correlation] = model else {
            panic!("the model has 7 inputs, not {}", model.len())
        };
        let h = MATURITY / self.steps as f64;
        let mut path = Path {
            log_spot: spot.ln().eval(),
            variance: variance.clone(),
            root: Real::from(0.0),
            scaled: Real::from(0.0),
            correlation,
            other: (1.0 - correlation * correlation).sqrt().eval(),
        };
        for k in 0..self.steps {
            let acting = path.variance.max(0.0).eval();
            path.root = (&acting * h).sqrt().eval();
            path.scaled = (volatility * &path.root).eval();
            path.log_spot += (rate - 0.5 * &acting) * h;
            path.variance += reversion * (mean - &acting) * h;
            shake(k, &mut path);
        }
        ((path.log_spot.exp() - STRIKE).max(0.0) * (-rate * MATURITY).exp()).eval()
    }

    /// The payoff of one path over plain numbers.
    #[must_use]
    pub fn plain(&self, k: usize, model: &[f64; 7]) -> f64 {
        let [spot, mut v, rate, reversion, mean, volatility, correlation] = *model;
        let h = MATURITY / self.steps as f64;
        let other = (1.0 - correlation * correlation).sqrt();
        let mut log_spot = spot.ln();
        for step in self.path(k).chunks_exact(2) {
            let acting = v.max(0.0);
            let root = (acting * h).sqrt();
            log_spot += (rate - 0.5 * acting) * h + root * step[0];
            v += reversion * (mean - acting) * h + volatility * root * (correlation * step[0] + other * step[1]);
        }
        (log_spot.exp() - STRIKE).max(0.0) * (-rate * MATURITY).exp()
    }
}

/// A path at the begin of a step.
pub struct Path<'m, S: Taping> {
    /// The logarithm of the stock's price.
    pub log_spot: Real<S>,
    /// Its variance.
    pub variance: Real<S>,
    /// √(v·h).
    pub root: Real<S>,
    /// The same times the volatility of the variance.
    pub scaled: Real<S>,
    /// ρ.
    pub correlation: &'m Real<S>,
    /// √(1 − ρ²).
    pub other: Real<S>,
}
