//! A Gaussian mixture model: `ADBench`'s objective (Srajer, Kukelova and Fitzgibbon 2018).

mod terms;

use crate::random::{SplitMix64, fingerprint};
use crate::text::{Numbers, read};
use crate::{Checksums, Error, Problem};
use std::path::Path;
use tapewright::{Number, Real, Taping};
use terms::{
    component_adjoint, diagonals, diagonals_plain, distance, distance_plain, logsumexp, logsumexp_plain, softmax,
    wishart, wishart_adjoint, wishart_plain,
};

/// The fingerprint of `ADBench`'s file `gmm_d10_K25.txt` for 1000 points.
const D10_K25_N1000: u64 = 0xF9F4_2C1B_9D93_910E;
/// π to the digits that `ADBench` uses.
#[allow(clippy::approx_constant, reason = "with more digits, values would differ from ADBench's")]
const PI: f64 = 3.141_592_653_59;
/// Fisher's table; see the comment in it.
const IRIS: &str = include_str!("../data/iris.txt");

/// The Wishart prior on the inverse covariances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// γ > 0.
    pub gamma: f64,
    /// m, the degrees of freedom in excess of the dimension.
    pub m: u32,
}

/// Log posterior of a mixture of `k` Gaussians in `d` dimensions, given `n` points.
///
/// The inputs are the weights' logarithms α (k, not normalized), the means (k·d) and the factors of the inverse
/// covariances (k·d(d + 1)/2: first the logarithms of the diagonal, then the strictly lower triangle by columns).
#[derive(Clone, Debug)]
pub struct Gmm {
    d: usize,
    k: usize,
    inputs: Vec<f64>,
    points: Vec<f64>,
    prior: Prior,
}

impl Default for Gmm {
    /// The synthetic problem with d = 10, k = 25, n = 1000.
    fn default() -> Self {
        Self::draw(10, 25, 1000)
    }
}

/// The number of entries in a factor: d(d + 1)/2.
const fn factor_length(d: usize) -> usize {
    d.saturating_add(1).saturating_mul(d) / 2
}

impl Gmm {
    /// A random problem in `d` dimensions with `k` components and `n` points.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when one of the three is 0 or the problem is too large.
    pub fn synthetic(d: usize, k: usize, n: usize) -> Result<Self, Error> {
        Error::unless_at_least("gmm", "the dimension d", d, 1)?;
        Error::unless_at_least("gmm", "the number of components k", k, 1)?;
        Error::unless_at_least("gmm", "the number of points n", n, 1)?;
        Error::product("gmm", &[k, d, d.saturating_add(3)])?;
        Error::product("gmm", &[n, d])?;
        Ok(Self::draw(d, k, n))
    }

    fn draw(d: usize, k: usize, n: usize) -> Self {
        let mut random = SplitMix64::new(2016);
        let inputs = (0..k * (1 + d + factor_length(d))).map(|_| random.symmetric()).collect();
        let points = (0..n * d).map(|_| random.normal()).collect();
        Self { d, k, inputs, points, prior: Prior { gamma: 1.0, m: 0 } }
    }

    /// Fisher's iris measurements (150 × 4), for 3 components.
    ///
    /// The initial guess: equal weights (α = 0), as means the 25th, 75th and 125th flower (one of each species), and
    /// for each component the inverse of the whole table's standard deviations as diagonal factor. The prior has γ
    /// = 1 and m = 0.
    ///
    /// # Panics
    ///
    /// When the table that is compiled in is damaged.
    #[must_use]
    pub fn iris() -> Self {
        let (d, k, n) = (4, 3, 150);
        let mut table = Numbers::new(IRIS);
        let points = table.numbers(n * d, "a measurement").expect("the table has 600 numbers");
        table.finish().expect("the table has no more numbers");
        let moment = |i: usize, p: i32| points.iter().skip(i).step_by(d).map(|x| x.powi(p)).sum::<f64>() / n as f64;
        let log_deviation = |i: usize| 0.5 * (moment(i, 2) - moment(i, 1).powi(2)).ln();
        let mut factor: Vec<f64> = (0..d).map(|i| -log_deviation(i)).collect();
        factor.resize(factor_length(d), 0.0);
        let means = [24, 74, 124].map(|flower| &points[flower * d..][..d]).concat();
        let inputs = [vec![0.0; k], means, factor.repeat(k)].concat();
        Self { d, k, inputs, points, prior: Prior { gamma: 1.0, m: 0 } }
    }

    /// A problem in `ADBench`'s text format: d, k and n; α; means; factors; points; γ and m. All are separated by white
    /// space.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], [`Error::Missing`] or [`Error::Trailing`], with the line.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let mut text = Numbers::new(text);
        let positive = |size: &usize| *size > 0;
        let d = text.parse("the dimension d (a whole number from 1)", positive)?;
        let k = text.parse("the number of components k (a whole number from 1)", positive)?;
        let n = text.parse("the number of points n (a whole number from 1)", positive)?;
        let mut inputs = text.numbers(k, "an α")?;
        inputs.extend(text.numbers(k.saturating_mul(d), "a coordinate of a mean")?);
        inputs.extend(text.numbers(k.saturating_mul(factor_length(d)), "an entry of a covariance factor")?);
        let points = text.numbers(n.saturating_mul(d), "a coordinate of a point")?;
        let gamma = text.parse("the prior's γ (a number above 0)", |gamma: &f64| *gamma > 0.0 && gamma.is_finite())?;
        let m = text.parse("the prior's m (a whole number)", |_| true)?;
        text.finish()?;
        Ok(Self { d, k, inputs, points, prior: Prior { gamma, m } })
    }

    /// A file in the format of [`from_text`](Self::from_text).
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`], else as `from_text`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_text(&read(path.as_ref())?)
    }

    /// The prior.
    #[must_use]
    pub const fn prior(&self) -> Prior {
        self.prior
    }

    /// The number of points.
    fn n(&self) -> usize {
        self.points.len() / self.d
    }

    /// α, means and factors.
    fn split<'x, T>(&self, x: &'x [T]) -> (&'x [T], &'x [T], &'x [T]) {
        let (alphas, rest) = x.split_at(self.k);
        let (means, factors) = rest.split_at(self.k * self.d);
        (alphas, means, factors)
    }

    /// The terms that depend on no input.
    fn constant(&self) -> f64 {
        let (d, k, Prior { gamma, m }) = (self.d as f64, self.k as f64, self.prior);
        let freedom = d + f64::from(m) + 1.0;
        let ln_gammas = (1..=self.d).map(|j| Number::ln_gamma(0.5 * freedom + 0.5 * (1.0 - j as f64)));
        let ln_gamma_d = 0.25 * d * (d - 1.0) * PI.ln() + ln_gammas.sum::<f64>();
        let prior = freedom * d * (gamma.ln() - 0.5 * 2.0_f64.ln()) - ln_gamma_d;
        -(self.n() as f64) * d * 0.5 * (2.0 * PI).ln() - k * prior
    }
}

impl Problem for Gmm {
    fn name(&self) -> &'static str {
        "gmm"
    }

    fn size(&self) -> String {
        format!("d = {}, k = {}, n = {}", self.d, self.k, self.n())
    }

    fn inputs_into(&self, _: usize, x: &mut Vec<f64>) {
        x.clone_from(&self.inputs);
    }

    fn eval<S: Taping>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        let (d, length) = (self.d, factor_length(self.d));
        let (alphas, means, factors) = self.split(x);
        let (q, sums) = diagonals(d, factors);
        let zeros = |n| vec![Real::<S>::from(0.0); n];
        let (mut main, mut centered, mut scaled) = (zeros(self.k), zeros(d), zeros(d));
        let mut total = Real::from(0.0);
        for point in self.points.chunks_exact(d) {
            for (c, main) in main.iter_mut().enumerate() {
                let mean = &means[c * d..][..d];
                let (q, lower) = (&q[c * d..][..d], &factors[c * length..][d..length]);
                let square = distance(point, mean, q, lower, &mut centered, &mut scaled);
                main.assign(&alphas[c] + &sums[c] - 0.5 * &square);
            }
            total += &logsumexp(&main);
        }
        let weights = logsumexp(alphas);
        let wishart = wishart(self.prior, factors, &q, &sums);
        (&total - self.n() as f64 * &weights + &wishart + self.constant()).into()
    }

    fn plain(&self, _: usize, x: &[f64]) -> f64 {
        let (d, length) = (self.d, factor_length(self.d));
        let (alphas, means, factors) = self.split(x);
        let (q, sums) = diagonals_plain(d, factors);
        let zeros = |n| vec![0.0; n];
        let (mut main, mut centered, mut scaled) = (zeros(self.k), zeros(d), zeros(d));
        let mut total = 0.0;
        for point in self.points.chunks_exact(d) {
            for (c, main) in main.iter_mut().enumerate() {
                let mean = &means[c * d..][..d];
                let (q, lower) = (&q[c * d..][..d], &factors[c * length..][d..length]);
                let square = distance_plain(point, mean, q, lower, &mut centered, &mut scaled);
                *main = alphas[c] + sums[c] - 0.5 * square;
            }
            total += logsumexp_plain(&main);
        }
        let weights = logsumexp_plain(alphas);
        let wishart = wishart_plain(self.prior, factors, &q, &sums);
        total - self.n() as f64 * weights + wishart + self.constant()
    }

    fn adjoint(&self, _: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (d, k, length, n) = (self.d, self.k, factor_length(self.d), self.n() as f64);
        let (alphas, means, factors) = self.split(x);
        let (q, sums) = diagonals_plain(d, factors);
        gradient.fill(0.0);
        let (to_alphas, rest) = gradient.split_at_mut(k);
        let (to_means, to_factors) = rest.split_at_mut(k * d);
        let (mut main, mut centered, mut scaled) = (vec![0.0; k], vec![0.0; k * d], vec![0.0; k * d]);
        let mut total = 0.0;
        for point in self.points.chunks_exact(d) {
            for (c, main) in main.iter_mut().enumerate() {
                let (here, lower) = (c * d..(c + 1) * d, &factors[c * length..][d..length]);
                let (centered, scaled) = (&mut centered[here.clone()], &mut scaled[here.clone()]);
                let square = distance_plain(point, &means[here.clone()], &q[here], lower, centered, scaled);
                *main = alphas[c] + sums[c] - 0.5 * square;
            }
            total += softmax(&mut main);
            for (c, to_main) in main.iter().enumerate() {
                let (here, lower) = (c * d..(c + 1) * d, &factors[c * length..][d..length]);
                let (to_mean, to_factor) = (&mut to_means[here.clone()], &mut to_factors[c * length..][..length]);
                let work = (&centered[here.clone()], &scaled[here.clone()]);
                component_adjoint((&q[here], lower), work, *to_main, to_mean, to_factor);
                to_alphas[c] += to_main;
            }
        }
        let mut shares = alphas.to_vec();
        total -= n * softmax(&mut shares);
        total += wishart_adjoint(self.prior, (factors, &q, &sums), to_alphas, to_factors);
        for (to_alpha, share) in to_alphas.iter_mut().zip(&shares) {
            *to_alpha -= n * share;
        }
        total + self.constant()
    }

    fn checksums(&self) -> Option<Checksums> {
        (fingerprint(&[&self.inputs, &self.points]) == D10_K25_N1000).then_some(Checksums {
            value: -25_649.652_621_197_62,
            sum: -17_695.995_235_195_725,
            norm: 2_662.398_601_312_417,
        })
    }
}
