//! Functions with calls of external functions, for `programs`: a rule of the user, functions of matrices, an equation
//! that is solved in each scenario, and the launch of a kernel.

use super::turns::seconds;
use super::{Form, Mean, Model, Options};
use nalgebra::{DMatrix, DVector, SMatrix, SVector};
use std::hint::black_box;
use tapewright::implicit::{self, Equations, Solver};
use tapewright::kernels::{View, parallel_for};
use tapewright::linalg::{Cholesky, product};
use tapewright::programs::Program;
use tapewright::strategies::Instructions;
use tapewright::{
    Closed, External, Jacobian, Passive, PrimalValue, Real, Reverse, Strategy, SweepError, Tape, Taping, external, vjp,
};
use tapewright_problems::random::SplitMix64;

/// This many numbers for each of `count` scenarios.
fn draw(count: usize, each: usize, number: impl Fn(&mut SplitMix64) -> f64) -> Vec<f64> {
    let mut random = SplitMix64::new(42);
    (0..count * each).map(|_| number(&mut random)).collect()
}

fn normal_cdf(x: f64) -> f64 {
    Real::<Passive>::from(x).normal_cdf().value()
}

/// The price of a call with the strike 1 after a year, and its slopes by forward and volatility.
fn black(forward: f64, volatility: f64) -> (f64, [f64; 2]) {
    let up = forward.ln() / volatility + 0.5 * volatility;
    let (above, paid) = (normal_cdf(up), normal_cdf(up - volatility));
    let density = (-0.5 * up * up).exp() * (0.5 * std::f64::consts::FRAC_1_PI).sqrt();
    (forward * above - paid, [above, forward * density])
}

/// The slopes of `black` where it was computed last.
struct Black([f64; 2]);

impl External<f64> for Black {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs.iter_mut().zip(self.0).for_each(|(input, slope)| *input += outputs[0] * slope);
        Ok(())
    }
    fn replay(&mut self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        (outputs[0], self.0) = black(inputs[0], inputs[1]);
        Ok(())
    }
    fn is_instruction(&self) -> bool {
        true
    }
}

/// The mean price of calls on the dates of a path, by a rule of the user. The parameters are spot and volatility.
struct Dates(Vec<f64>);

impl Dates {
    const COUNT: usize = 8;

    fn new(scenarios: usize) -> Self {
        Self(draw(scenarios, Self::COUNT, SplitMix64::normal))
    }
}

impl Model for Dates {
    fn title(&self) -> String {
        format!("{} calls of a rule of the user, and as many steps of a path", Self::COUNT)
    }
    fn parameters(&self) -> Vec<f64> {
        vec![1.05, 0.2]
    }
    fn normals(&self, k: usize) -> &[f64] {
        &self.0[k * Self::COUNT..][..Self::COUNT]
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        let path = |k: usize| {
            let (mut spot, mut sum) = (x[0], 0.0);
            for z in self.normals(k) {
                spot *= (0.1 * x[1] * z - 0.005 * x[1] * x[1]).exp();
                sum += black(spot, x[1]).0;
            }
            sum
        };
        (0..count).map(path).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        let (mut spot, mut sum) = (x[0].clone(), Real::from(0.0));
        for z in normals {
            spot *= (0.1 * &x[1] * z - 0.005 * x[1].square()).exp();
            let (price, slopes) = black(spot.peek(), x[1].peek());
            sum += &external(&[spot.clone(), x[1].clone()], &[price], Black(slopes))[0];
        }
        sum
    }
}

/// Assets of a basket, and observations of a likelihood.
const SIZE: usize = 6;

/// A call on the mean of correlated assets. The parameters are their volatilities, and a correlation. The factor of the
/// covariance matrix is the same for all scenarios.
struct Basket(Vec<f64>);

impl Basket {
    fn new(scenarios: usize) -> Self {
        Self(draw(scenarios, SIZE, SplitMix64::normal))
    }

    fn factor<S: Taping<Value = f64>>(x: &[Real<S>]) -> DMatrix<Closed<S>> {
        let power = |n: usize| (0..n).fold(Real::from(1.0), |power, _| (power * &x[SIZE]).into());
        let powers: Vec<Real<S>> = (0..SIZE).map(power).collect();
        let covariance =
            DMatrix::from_fn(SIZE, SIZE, |i, j| Closed::from((&x[i] * &x[j] * &powers[i.abs_diff(j)]).eval()));
        Cholesky::new(&covariance).expect("definite").l()
    }

    fn payoff<S: Taping<Value = f64>>(factor: &DMatrix<Closed<S>>, normals: &[Real<S>]) -> Real<S> {
        let normals = DVector::from_iterator(SIZE, normals.iter().cloned().map(Closed::from));
        let mut sum = Real::from(0.0);
        for found in product(factor, &normals).expect("the lengths are right").iter() {
            sum += found.as_real().exp();
        }
        (sum * (1.0 / SIZE as f64) - 1.0).max(0.0).into()
    }

    /// The factor is recorded once, by hand: its adjoints are summed over tapes of scenarios.
    fn by_hand<S: Reverse<Value = f64>>(&self, name: &str, count: usize) -> Form<'_> {
        let entries = |x: &[Real<S>]| Self::factor(x).iter().map(|entry| entry.as_real().clone()).collect::<Vec<_>>();
        let (mut tape, x) = (Tape::<S>::new(), self.parameters());
        let run = move || {
            let (lower, _) = vjp(entries, black_box(&x), &[0.0; SIZE * SIZE]).expect("as many seeds as results");
            let (mut value, mut seeds, mut of_path) = (0.0, vec![0.0; SIZE * SIZE], vec![0.0; SIZE * SIZE]);
            for k in 0..count {
                let payoff = |lower: &[Real<S>]| {
                    let place = |k: usize| if k % SIZE < k / SIZE { Real::from(0.0) } else { lower[k].clone() };
                    let factor = DMatrix::from_fn(SIZE, SIZE, |i, j| Closed::from(place(j * SIZE + i)));
                    let normals: Vec<Real<S>> = self.normals(k).iter().map(|z| Real::constant(*z)).collect();
                    Self::payoff(&factor, &normals)
                };
                let found = tape.gradient(payoff, &lower, &mut of_path);
                value += found.expect("the output belongs to the recording") / count as f64;
                seeds.iter_mut().zip(&of_path).for_each(|(sum, slope)| *sum += slope / count as f64);
            }
            Mean { value, gradient: vjp(entries, &x, &seeds).expect("as many seeds as results").1 }
        };
        Form { name: format!("`{name}`, the factor once by hand"), run: Box::new(run) }
    }
}

impl Model for Basket {
    fn title(&self) -> String {
        format!("{SIZE} correlated assets, factor of the parameters")
    }
    fn parameters(&self) -> Vec<f64> {
        vec![0.2, 0.25, 0.15, 0.3, 0.22, 0.18, 0.6]
    }
    fn normals(&self, k: usize) -> &[f64] {
        &self.0[k * SIZE..][..SIZE]
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        let covariance = SMatrix::<f64, SIZE, SIZE>::from_fn(|i, j| {
            let power = i32::try_from(i.abs_diff(j)).expect("a small number");
            x[i] * x[j] * x[SIZE].powi(power)
        });
        let factor = covariance.cholesky().expect("definite").l();
        let path = |k: usize| {
            let returns = factor * SVector::<f64, SIZE>::from_column_slice(self.normals(k));
            (returns.iter().map(|x| x.exp()).sum::<f64>() / SIZE as f64 - 1.0).max(0.0)
        };
        (0..count).map(path).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        Self::payoff(&Self::factor(x), normals)
    }
}

/// Minus the logarithm of the likelihood of observations b with the covariance matrix diag(s²) + c·v·vᵀ. The parameters
/// are s and c, the data b and v: a factor in each scenario, for a solution and a determinant.
struct Likelihood(Vec<f64>);

impl Likelihood {
    fn new(scenarios: usize) -> Self {
        Self(draw(scenarios, 2 * SIZE, SplitMix64::normal))
    }
}

impl Model for Likelihood {
    fn title(&self) -> String {
        format!("likelihood of {SIZE} observations, factor in each scenario")
    }
    fn parameters(&self) -> Vec<f64> {
        vec![1.0, 1.25, 0.75, 0.5, 1.5, 1.125, 0.6]
    }
    fn normals(&self, k: usize) -> &[f64] {
        &self.0[2 * k * SIZE..][..2 * SIZE]
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        let one = |k: usize| {
            let (b, v) = self.normals(k).split_at(SIZE);
            let noise = |i: usize, j: usize| if i == j { x[i] * x[i] } else { 0.0 };
            let a = SMatrix::<f64, SIZE, SIZE>::from_fn(|i, j| noise(i, j) + x[SIZE] * v[i] * v[j]);
            let factor = a.cholesky().expect("definite");
            let b = SVector::<f64, SIZE>::from_column_slice(b);
            0.5 * b.dot(&factor.solve(&b)) + factor.l().diagonal().iter().map(|x| x.ln()).sum::<f64>()
        };
        (0..count).map(one).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], data: &[Real<S>]) -> Real<S> {
        Self::of(x, data).expect("definite")
    }
}

impl Likelihood {
    /// `None` where the matrix is not definite.
    fn of<S: Taping<Value = f64>>(x: &[Real<S>], data: &[Real<S>]) -> Option<Real<S>> {
        let (b, v) = data.split_at(SIZE);
        let entry = |i: usize, j: usize| -> Real<S> {
            let product = &x[SIZE] * &v[i] * &v[j];
            if i == j { (product + x[i].square()).into() } else { product.into() }
        };
        let a = DMatrix::from_fn(SIZE, SIZE, |i, j| Closed::from(if i < j { Real::from(0.0) } else { entry(i, j) }));
        let factor = Cholesky::new(&a).ok()?;
        let solution = factor.solve(&DVector::from_iterator(SIZE, b.iter().cloned().map(Closed::from)));
        let mut sum = (0.5 * factor.ln_det().open()).eval();
        for (b, x) in b.iter().zip(solution.expect("as many rows").iter()) {
            sum += 0.5 * b * x.as_real();
        }
        Some(sum)
    }
}

/// The volatility x at which a call with the strike 1 has the price p₁ at the forward p₀.
struct Implied;

impl Equations for Implied {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        let up: Real<S> = (p[0].ln() / x[0] + 0.5 * x[0]).into();
        vec![(p[0] * up.normal_cdf() - (up - x[0]).normal_cdf() - p[1]).into()]
    }
}

impl Solver for Implied {
    fn solve(&self, start: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        let mut x = start[0];
        for _ in 0..50 {
            let (price, [_, slope]) = black(p[0], x);
            let step = (price - p[1]) / slope;
            x -= step;
            if step.abs() <= 1e-14 * x {
                return Some(vec![x]);
            }
        }
        None
    }
}

/// Squared distance of implied volatilities from a line: the parameters are its value at the money, its slope, and a
/// factor of all forwards; the data are forwards and prices.
struct Smile(Vec<f64>);

impl Smile {
    fn new(scenarios: usize) -> Self {
        let numbers = draw(scenarios, 2, SplitMix64::u01);
        let quote = |u: &[f64]| {
            let forward = 0.8 + 0.4 * u[0];
            [forward, black(forward, 0.15 + 0.2 * u[1]).0]
        };
        Self(numbers.chunks_exact(2).flat_map(quote).collect())
    }
}

impl Model for Smile {
    fn title(&self) -> String {
        "an implied volatility, by Newton's method".to_owned()
    }
    fn parameters(&self) -> Vec<f64> {
        vec![0.2, -0.1, 1.0]
    }
    fn normals(&self, k: usize) -> &[f64] {
        &self.0[2 * k..][..2]
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        let one = |k: usize| {
            let [forward, price] = *self.normals(k) else { unreachable!("two numbers") };
            let forward = forward * x[2];
            let found = Implied.solve(&[0.2], &[forward, price]).expect("there is a solution")[0];
            (found - x[0] - x[1] * forward.ln()).powi(2)
        };
        (0..count).map(one).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], quote: &[Real<S>]) -> Real<S> {
        let forward = (&quote[0] * &x[2]).eval();
        let found = implicit::find_root(Implied, 0.2, &[forward.clone(), quote[1].clone()]).expect("a solution");
        (found - &x[0] - &x[1] * forward.ln()).square().into()
    }
}

/// Payments at rates that follow a path, discounted by a curve: a launch over its points, which depends on parameters
/// only. These are level, slope and hump of the curve, and a volatility.
struct Curve {
    normals: Vec<f64>,
    times: Vec<f64>,
}

impl Curve {
    const COUNT: usize = 32;

    fn new(scenarios: usize) -> Self {
        let times = (0..Self::COUNT).map(|k| 0.25 * (k + 1) as f64).collect();
        Self { normals: draw(scenarios, Self::COUNT, SplitMix64::normal), times }
    }
}

impl Model for Curve {
    fn title(&self) -> String {
        format!("a curve of {} points by a kernel over parameters, and as many steps of a path", Self::COUNT)
    }
    fn parameters(&self) -> Vec<f64> {
        vec![0.03, -0.01, 0.02, 0.2]
    }
    fn normals(&self, k: usize) -> &[f64] {
        &self.normals[k * Self::COUNT..][..Self::COUNT]
    }
    fn plain(&self, count: usize, x: &[f64]) -> f64 {
        let factor = |t: &f64| (-t * (x[0] + (x[1] + x[2] * t) * (-t).exp())).exp();
        let factors: Vec<f64> = self.times.iter().map(factor).collect();
        let path = |k: usize| {
            let (mut rate, mut sum) = (x[0], 0.0);
            for (z, factor) in self.normals(k).iter().zip(&factors) {
                rate *= (0.5 * x[3] * z - 0.125 * x[3] * x[3]).exp();
                sum += factor * (rate - 0.03).max(0.0);
            }
            sum
        };
        (0..count).map(path).sum()
    }
    fn any<S: Taping<Value = f64>>(&self, x: &[Real<S>], normals: &[Real<S>]) -> Real<S> {
        let times = View::new([Self::COUNT], &self.times);
        let mut factors = View::zeros([Self::COUNT]);
        parallel_for(times.all(), (&mut factors, &times, &x[0], &x[1], &x[2]), |(_, t, level, slope, hump)| {
            let t = || t.at::<0>();
            ((-t() * (level + (slope + hump * t()) * (-t()).exp())).exp(),)
        });
        let (mut rate, mut sum) = (x[0].clone(), Real::from(0.0));
        for (z, factor) in normals.iter().zip(&factors.to_variables()) {
            rate *= (0.5 * &x[3] * z - 0.125 * x[3].square()).exp();
            sum += factor * (&rate - 0.03).max(0.0);
        }
        sum
    }
}

/// Prints what a scenario costs in which a factorization fails, among nine in which it does not, in recordings of such a
/// scenario: at other parameters in each run, as in a fit.
fn compare_failing(options: &Options) {
    let (count, x) = (10_000, vec![1.0, 1.25, 0.75, 0.5, 1.5, 1.125, 0.6]);
    let fails = |k: usize| k % 10 == 3;
    let mut data = draw(count, 2 * SIZE + 1, SplitMix64::normal);
    for (k, row) in data.chunks_exact_mut(2 * SIZE + 1).enumerate() {
        row[2 * SIZE] = if fails(k) { -1e6 } else { 1.0 };
    }
    let rows = || data.chunks_exact(2 * SIZE + 1).map(<[f64]>::to_vec);
    let of = |chosen: bool| rows().enumerate().filter(|(k, _)| fails(*k) == chosen).map(|(_, row)| row).collect();
    let (all, failing, others): (Vec<_>, Vec<_>, Vec<_>) = (rows().collect(), of(true), of(false));
    let f = |p: &[Real<Instructions>], d: &[Real<Instructions>]| {
        let weighted = [&p[..SIZE], &[(p[SIZE] * d[2 * SIZE]).eval()]].concat();
        Likelihood::of(&weighted, &d[..2 * SIZE]).unwrap_or_else(|| (p[0] * d[0]).eval())
    };
    let program = Program::new(|p, d| [f(p, d)]);
    let (mut tape, mut slopes) = (Tape::<Instructions>::new(), vec![0.0; x.len()]);
    let mut least = [f64::INFINITY; 3];
    for round in 0..options.rounds.max(1) {
        let x: Vec<f64> = x.iter().map(|x| x + round as f64 / 1024.0).collect();
        let run = |data: &[Vec<f64>]| program.gradient(&x, data).expect("it is a program");
        let mut alone = || {
            for row in &failing {
                let constants: Vec<_> = row.iter().map(|z| Real::constant(*z)).collect();
                tape.gradient(|p| f(p, &constants), &x, &mut slopes).expect("the output belongs to the recording");
            }
        };
        let found = [seconds(|| run(&others)), seconds(|| run(&all)), seconds(&mut alone)];
        least.iter_mut().zip(found).for_each(|(least, found)| *least = least.min(found));
        if round == 0 {
            println!("{}", run(&all).branches());
        }
    }
    let [without, with, alone] = least.map(|seconds| 1e6 * seconds / failing.len() as f64);
    println!(
        "A scenario that fails takes {:.2} µs, a recording of it {alone:.2}: {:.2} times as long.\n",
        with - without,
        (with - without) / alone
    );
}

pub(super) fn compare(options: &Options) {
    let count = options.scenarios;
    super::compare(&Dates::new(count), options, ("", Vec::new()));
    let basket = Basket::new(count);
    let by_hand =
        vec![basket.by_hand::<Jacobian>("Jacobian", count), basket.by_hand::<PrimalValue>("PrimalValue", count)];
    super::compare(&basket, options, ("one factor", by_hand));
    super::compare(&Likelihood::new(count), options, ("", Vec::new()));
    super::compare(&Smile::new(count), options, ("", Vec::new()));
    super::compare(&Curve::new(count), options, ("", Vec::new()));
    compare_failing(options);
}
