//! A portfolio of swaptions in the LIBOR market model.

use crate::random::SplitMix64;
use crate::{Checksums, Error, Problem};
use tapewright::{Number, Real, Taping};

/// Maturity in periods and swap rate of each swaption.
const SWAPTIONS: [(usize, f64); 15] = [
    (4, 0.045),
    (4, 0.05),
    (4, 0.055),
    (8, 0.045),
    (8, 0.05),
    (8, 0.055),
    (20, 0.045),
    (20, 0.05),
    (20, 0.055),
    (28, 0.045),
    (28, 0.05),
    (28, 0.055),
    (40, 0.045),
    (40, 0.05),
    (40, 0.055),
];
/// The shortest maturity among them.
const SHORTEST: usize = 4;
/// What a payoff is multiplied with.
const NOTIONAL: f64 = 100.0;

/// Discounted payoff on Monte Carlo paths (Giles and Glasserman 2006), one evaluation a path; the inputs are the period
/// δ, the volatilities λ and the initial forward rates.
#[derive(Clone, Debug)]
pub struct Libor {
    rates: usize,
    maturities: usize,
    paths: usize,
    /// `maturities` normal numbers a path.
    normals: Vec<f64>,
}

impl Default for Libor {
    /// 80 rates, 40 maturities, 1000 paths.
    fn default() -> Self {
        Self::draw(80, 40, 1000)
    }
}

impl Libor {
    /// `paths` paths of `maturities` steps with `rates` forward rates. Of 15 swaptions, those that mature within the
    /// rates that are left after the last step make the portfolio.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when there are no steps or no paths, when fewer than 4 rates are left after the last step, and
    /// when there are too many paths.
    pub fn new(rates: usize, maturities: usize, paths: usize) -> Result<Self, Error> {
        Error::unless_at_least("libor", "the number of maturities", maturities, 1)?;
        Error::unless_at_least("libor", "the number of paths", paths, 1)?;
        let least = maturities.saturating_add(SHORTEST);
        Error::unless_at_least("libor", "the number of rates, with these maturities,", rates, least)?;
        Error::product("libor", &[paths, maturities])?;
        Error::product("libor", &[maturities, rates])?;
        Ok(Self::draw(rates, maturities, paths))
    }

    fn draw(rates: usize, maturities: usize, paths: usize) -> Self {
        let mut random = SplitMix64::new(91_672_912);
        let normals = (0..paths * maturities).map(|_| random.normal()).collect();
        Self { rates, maturities, paths, normals }
    }

    /// The normal numbers of path `k`.
    #[must_use]
    pub fn path(&self, k: usize) -> &[f64] {
        &self.normals[k * self.maturities..][..self.maturities]
    }

    /// The swaptions that mature within the rates.
    fn swaptions(&self) -> impl Iterator<Item = (usize, f64)> {
        let longest = self.rates - self.maturities;
        SWAPTIONS.into_iter().filter(move |(maturity, _)| *maturity <= longest)
    }

    /// δ, λ and the rates.
    fn split<'x, T>(&self, x: &'x [T]) -> (&'x T, &'x [T], &'x [T]) {
        (&x[0], &x[1..=self.rates], &x[1 + self.rates..])
    }

    /// A path under these normal numbers, one for each step. They are of the number type: the lanes of a pack may be
    /// paths.
    pub fn eval_under<S: Taping>(&self, x: &[Real<S>], normal: impl Fn(usize) -> S::Value) -> Real<S> {
        self.along(x, S::Value::LANES > 1, |delta, n| (delta.sqrt() * &Real::constant(normal(n))).into())
    }

    /// A path under these normal numbers, one for each step, which are variables, too. It does not branch, so that one
    /// recording serves all paths.
    pub fn eval_on<S: Taping>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        self.along(x, true, |delta, n| (delta.sqrt() * &normals[n]).into())
    }

    /// A path. `shock` makes √δ times a normal number, of δ and the number of the step. `serves_many` says that the
    /// recording is for several paths.
    fn along<S: Taping>(
        &self,
        x: &[Real<S>],
        serves_many: bool,
        shock: impl Fn(&Real<S>, usize) -> Real<S>,
    ) -> Real<S> {
        let (delta, lambda, initial) = self.split(x);
        let mut rates = initial.to_vec();
        for n in 0..self.maturities {
            evolve(delta, lambda, &shock(delta, n), &mut rates[n + 1..]);
        }
        self.portfolio(delta, &rates, serves_many)
    }

    fn portfolio<S: Taping>(&self, delta: &Real<S>, rates: &[Real<S>], serves_many: bool) -> Real<S> {
        let (mut bond, mut annuity) = (Real::from(1.0), Real::from(0.0));
        let mut swaps = Vec::with_capacity(self.rates - self.maturities);
        for rate in &rates[self.maturities..] {
            bond /= 1.0 + delta * rate;
            annuity += delta * &bond;
            swaps.push((bond.clone(), annuity.clone()));
        }
        let mut payoff = Real::from(0.0);
        for (maturity, strike) in self.swaptions() {
            let (bond, annuity) = &swaps[maturity - 1];
            let swap: Real<S> = (bond + strike * annuity - 1.0).into();
            // Paths choose for themselves; one alone branches, which costs no record.
            if serves_many {
                payoff += -NOTIONAL * swap.min(0.0);
            } else if swap < 0.0 {
                payoff += -NOTIONAL * &swap;
            }
        }
        for rate in &rates[..self.maturities] {
            payoff /= 1.0 + delta * rate;
        }
        payoff
    }

    fn portfolio_plain(&self, delta: f64, rates: &[f64]) -> f64 {
        let (mut bond, mut annuity) = (1.0, 0.0);
        let mut swaps = Vec::with_capacity(self.rates - self.maturities);
        for rate in &rates[self.maturities..] {
            bond /= 1.0 + delta * rate;
            annuity += delta * bond;
            swaps.push((bond, annuity));
        }
        let mut payoff = 0.0;
        for (maturity, strike) in self.swaptions() {
            let (bond, annuity) = swaps[maturity - 1];
            let swap = bond + strike * annuity - 1.0;
            if swap < 0.0 {
                payoff += -NOTIONAL * swap;
            }
        }
        for rate in &rates[..self.maturities] {
            payoff /= 1.0 + delta * rate;
        }
        payoff
    }

    /// Value of the portfolio, and its adjoints of δ (returned) and the rates (written).
    fn portfolio_adjoint(&self, delta: f64, rates: &[f64], to_rates: &mut [f64]) -> (f64, f64) {
        let (early, late) = rates.split_at(self.maturities);
        let (to_early, to_late) = to_rates.split_at_mut(self.maturities);
        let mut swaps = Vec::with_capacity(late.len());
        let (mut bond, mut annuity) = (1.0, 0.0);
        for rate in late {
            bond /= 1.0 + delta * rate;
            annuity += delta * bond;
            swaps.push((bond, annuity));
        }
        let discount = early.iter().fold(1.0, |discount, rate| discount / (1.0 + delta * rate));
        let (mut payoff, mut to_delta) = (0.0, 0.0);
        let mut to_swaps = vec![(0.0, 0.0); late.len()];
        for (maturity, strike) in self.swaptions() {
            let (bond, annuity) = swaps[maturity - 1];
            let swap = bond + strike * annuity - 1.0;
            if swap < 0.0 {
                payoff += -NOTIONAL * swap;
                to_swaps[maturity - 1].0 -= NOTIONAL * discount;
                to_swaps[maturity - 1].1 -= NOTIONAL * discount * strike;
            }
        }
        let value = payoff * discount;
        let (mut to_bond, mut to_annuity) = (0.0, 0.0);
        for i in (0..late.len()).rev() {
            to_annuity += to_swaps[i].1;
            to_bond += to_swaps[i].0 + to_annuity * delta;
            let growth = 1.0 + delta * late[i];
            let to_growth = -to_bond * swaps[i].0 / growth;
            to_delta += to_annuity * swaps[i].0 + to_growth * late[i];
            to_late[i] = to_growth * delta;
            to_bond /= growth;
        }
        for (rate, to_rate) in early.iter().zip(to_early) {
            let to_growth = -value / (1.0 + delta * rate);
            to_delta += to_growth * rate;
            *to_rate = to_growth * delta;
        }
        (value, to_delta)
    }
}

/// One step of the rates that are still to be fixed. The `shock` is √δ times a normal number.
#[inline(never)]
fn evolve<S: Taping>(delta: &Real<S>, lambda: &[Real<S>], shock: &Real<S>, rates: &mut [Real<S>]) {
    let mut drift = Real::from(0.0);
    for (rate, lambda) in rates.iter_mut().zip(lambda) {
        let vol: Real<S> = (delta * lambda).into();
        drift += &vol * &*rate / (1.0 + delta * &*rate);
        *rate *= (&vol * &drift + lambda * (shock - 0.5 * &vol)).exp();
    }
}

/// [`evolve`] over `f64`, under the normal number `z`.
#[inline(never)]
fn evolve_plain(delta: f64, lambda: &[f64], z: f64, rates: &mut [f64]) {
    let shock = delta.sqrt() * z;
    let mut drift = 0.0;
    for (rate, lambda) in rates.iter_mut().zip(lambda) {
        let vol = delta * lambda;
        drift += vol * *rate / (1.0 + delta * *rate);
        *rate *= (vol * drift + lambda * (shock - 0.5 * vol)).exp();
    }
}

/// What the reverse sweep needs of one rate in one step.
#[derive(Clone, Copy)]
struct Moved {
    rate: f64,
    drift: f64,
    factor: f64,
}

/// [`evolve_plain`] with a trace.
fn evolve_traced(delta: f64, lambda: &[f64], z: f64, rates: &mut [f64], trace: &mut Vec<Moved>) {
    let shock = delta.sqrt() * z;
    let mut drift = 0.0;
    for (rate, lambda) in rates.iter_mut().zip(lambda) {
        let vol = delta * lambda;
        drift += vol * *rate / (1.0 + delta * *rate);
        let factor = (vol * drift + lambda * (shock - 0.5 * vol)).exp();
        trace.push(Moved { rate: *rate, drift, factor });
        *rate *= factor;
    }
}

/// The reverse of one step: turns the adjoints of the new rates into those of the old, adds to those of λ, and returns
/// that of δ.
fn evolve_adjoint(
    (delta, lambda, z): (f64, &[f64], f64),
    trace: &[Moved],
    to_rates: &mut [f64],
    to_lambda: &mut [f64],
) -> f64 {
    let shock = delta.sqrt() * z;
    let (mut to_delta, mut to_drift, mut to_shock) = (0.0, 0.0, 0.0);
    for (((to_rate, moved), lambda), to_lambda) in to_rates.iter_mut().zip(trace).zip(lambda).zip(to_lambda).rev() {
        let vol = delta * lambda;
        let to_exponent = *to_rate * moved.rate * moved.factor;
        to_drift += to_exponent * vol;
        to_shock += to_exponent * lambda;
        let growth = 1.0 + delta * moved.rate;
        let share = moved.rate / growth;
        let to_vol = to_exponent * (moved.drift - 0.5 * lambda) + to_drift * share;
        *to_rate = *to_rate * moved.factor + to_drift * vol / (growth * growth);
        *to_lambda += to_exponent * (shock - 0.5 * vol) + to_vol * delta;
        to_delta += to_vol * lambda - to_drift * vol * share * share;
    }
    to_delta + to_shock * z * 0.5 / delta.sqrt()
}

impl Problem for Libor {
    fn name(&self) -> &'static str {
        "libor"
    }

    fn size(&self) -> String {
        format!("{} rates, {} maturities, {} paths", self.rates, self.maturities, self.paths)
    }

    fn evaluations(&self) -> usize {
        self.paths
    }

    fn inputs_into(&self, _: usize, x: &mut Vec<f64>) {
        x.clear();
        x.push(0.05);
        x.resize(1 + self.rates, 0.2);
        x.resize(1 + 2 * self.rates, 0.05);
    }

    fn eval<S: Taping>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.along(x, false, |delta, n| (delta.sqrt() * self.path(k)[n]).into())
    }

    fn eval_in_lanes<S: Taping>(&self, first: usize, x: &[Real<S>]) -> Real<S> {
        let path = |lane: usize| self.path((first + lane).min(self.paths - 1));
        self.eval_under(x, |step| S::Value::from_lanes(|lane| Number::from_f64(path(lane)[step])))
    }

    fn plain(&self, k: usize, x: &[f64]) -> f64 {
        let (delta, lambda, initial) = self.split(x);
        let mut rates = initial.to_vec();
        for (n, z) in self.path(k).iter().enumerate() {
            evolve_plain(*delta, lambda, *z, &mut rates[n + 1..]);
        }
        self.portfolio_plain(*delta, &rates)
    }

    fn adjoint(&self, k: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (delta, lambda, initial) = self.split(x);
        let mut rates = initial.to_vec();
        let mut trace = Vec::with_capacity(self.maturities * self.rates);
        for (n, z) in self.path(k).iter().enumerate() {
            evolve_traced(*delta, lambda, *z, &mut rates[n + 1..], &mut trace);
        }
        let (to_delta, rest) = gradient.split_at_mut(1);
        let (to_lambda, to_rates) = rest.split_at_mut(self.rates);
        let (value, to) = self.portfolio_adjoint(*delta, &rates, to_rates);
        to_delta[0] = to;
        to_lambda.fill(0.0);
        for (n, z) in self.path(k).iter().enumerate().rev() {
            let moved = self.rates - n - 1;
            let step = trace.len() - moved;
            let (lambda, to_lambda) = (&lambda[..moved], &mut to_lambda[..moved]);
            to_delta[0] += evolve_adjoint((*delta, lambda, *z), &trace[step..], &mut to_rates[n + 1..], to_lambda);
            trace.truncate(step);
        }
        value
    }

    fn checksums(&self) -> Option<Checksums> {
        ((self.rates, self.maturities, self.paths) == (80, 40, 1000)).then_some(Checksums {
            value: 8_093.900_592_230_856,
            sum: 959_644.129_551_304_2,
            norm: 251_710.341_919_674_74,
        })
    }
}
