//! A quadratic form with a band matrix.

use crate::random::SplitMix64;
use crate::{Checksums, Error, Problem, kernels};
use tapewright::kernels::{Space, View};
use tapewright::policy::AllowedIn;
use tapewright::{Real, Taping};

/// ‖3·T·x − b‖² with the tridiagonal matrix T = (−1, 2, −1); the inputs are x, then b.
#[derive(Clone, Copy, Debug)]
pub struct Laplacian {
    n: usize,
}

impl Default for Laplacian {
    fn default() -> Self {
        Self { n: 100_000 }
    }
}

impl Laplacian {
    /// `n` unknowns.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when `n` is 0 or too large.
    pub fn new(n: usize) -> Result<Self, Error> {
        Error::unless_at_least("laplacian1d", "the number of unknowns", n, 1)?;
        Error::product("laplacian1d", &[2, n])?;
        Ok(Self { n })
    }
}

/// A residual and its square.
struct Square<S: Taping>(Real<S>, Real<S>);

impl<S: Taping> Square<S> {
    /// One squared residual, three to five statements with its sum: (2·`center` − `b` − `left` − `right`)².
    #[inline(always)]
    fn of(&mut self, center: &Real<S>, b: &Real<S>, left: Option<&Real<S>>, right: Option<&Real<S>>) -> &Real<S> {
        let Self(y, square) = self;
        y.assign(2.0 * center - b);
        if let Some(left) = left {
            *y -= left;
        }
        if let Some(right) = right {
            *y -= right;
        }
        square.assign(&*y * &*y);
        square
    }
}

/// [`Square::of`] over `f64`, before squaring.
#[inline(always)]
fn residual(center: f64, b: f64, left: Option<&f64>, right: Option<&f64>) -> f64 {
    let mut y = 2.0 * center - b;
    if let Some(left) = left {
        y -= left;
    }
    if let Some(right) = right {
        y -= right;
    }
    y
}

impl Problem for Laplacian {
    fn name(&self) -> &'static str {
        "laplacian1d"
    }

    fn size(&self) -> String {
        format!("{} unknowns", self.n)
    }

    fn inputs_into(&self, _: usize, x: &mut Vec<f64>) {
        let mut random = SplitMix64::new(12345);
        x.clear();
        x.extend((0..2 * self.n).map(|_| random.symmetric()));
    }

    fn eval<S: Taping>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        let (x, b) = x.split_at(self.n);
        let q: Vec<Real<S>> = x.iter().map(|x| (3.0 * x).into()).collect();
        let (mut sum, mut square) = (Real::from(0.0), Square(Real::undefined(), Real::undefined()));
        sum += square.of(&q[0], &b[0], None, q.get(1));
        for (q, b) in q.windows(3).zip(&b[1..]) {
            sum += square.of(&q[1], b, Some(&q[0]), Some(&q[2]));
        }
        if let [.., left, last] = &q[..] {
            sum += square.of(last, &b[b.len() - 1], Some(left), None);
        }
        sum
    }

    fn eval_by_kernels<S: Taping<Policy: AllowedIn<M>>, M: Space<S::Value>>(&self, x: &View<S, 1, M>) -> Real<S> {
        let (mut q, b) = (x.slice(0..self.n), x.slice(self.n..2 * self.n));
        let [mut y, mut y2] = [(); 2].map(|()| View::zeros([self.n]).in_space());
        kernels::norm_res(&mut q, &b, &mut y, &mut y2)
    }

    fn plain(&self, _: usize, x: &[f64]) -> f64 {
        let (x, b) = x.split_at(self.n);
        let q: Vec<f64> = x.iter().map(|x| 3.0 * x).collect();
        let mut sum = 0.0;
        sum += residual(q[0], b[0], None, q.get(1)).powi(2);
        for (q, b) in q.windows(3).zip(&b[1..]) {
            sum += residual(q[1], *b, Some(&q[0]), Some(&q[2])).powi(2);
        }
        if let [.., left, last] = &q[..] {
            sum += residual(*last, b[b.len() - 1], Some(left), None).powi(2);
        }
        sum
    }

    fn adjoint(&self, _: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (x, b) = x.split_at(self.n);
        let (to_x, to_b) = gradient.split_at_mut(self.n);
        let mut q = vec![0.0; self.n + 2]; // with a 0 at either end
        let mut to_y = q.clone();
        for (q, x) in q[1..].iter_mut().zip(x) {
            *q = 3.0 * x;
        }
        let mut value = 0.0;
        for ((to_y, q), b) in to_y[1..].iter_mut().zip(q.windows(3)).zip(b) {
            let y = 2.0 * q[1] - b - q[0] - q[2];
            value += y * y;
            *to_y = 2.0 * y;
        }
        // T is symmetric: the adjoint of q is T·(the adjoint of y).
        for ((to_x, to_b), to_y) in to_x.iter_mut().zip(to_b).zip(to_y.windows(3)) {
            *to_b = -to_y[1];
            *to_x = 3.0 * (2.0 * to_y[1] - to_y[0] - to_y[2]);
        }
        value
    }

    fn checksums(&self) -> Option<Checksums> {
        (self.n == 100_000).then_some(Checksums {
            value: 1_836_786.684_910_573,
            sum: -343.387_825_309_482_2,
            norm: 27_800.817_617_476_07,
        })
    }
}
