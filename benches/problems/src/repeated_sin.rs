//! One long chain of one function.

use crate::{Checksums, Error, Problem};
use tapewright::{Jacobian, Real, Reverse, Taping};

/// x = sin x, many times, from 0.7.
#[derive(Clone, Copy, Debug)]
pub struct RepeatedSin {
    n: usize,
}

impl Default for RepeatedSin {
    fn default() -> Self {
        Self { n: 10_000_000 }
    }
}

impl RepeatedSin {
    /// `n` times.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when `n` is 0.
    pub fn new(n: usize) -> Result<Self, Error> {
        Error::unless_at_least("repeated_sin", "the number of sines", n, 1)?;
        Ok(Self { n })
    }

    /// The chain in stages of `distance` sines, the last of which may be shorter.
    pub fn in_stages<S: Reverse<Value = f64>>(&self, distance: usize, x: &Real<S>) -> Real<S> {
        (0..self.n).step_by(distance).fold(x.clone(), |x, at| {
            let sines = distance.min(self.n - at);
            tapewright::checkpoint!(Jacobian, &x, move |x| Self::stage(sines, x))
        })
    }

    /// A part of the chain, of `n` sines.
    pub fn stage<S: Taping>(n: usize, x: &Real<S>) -> Real<S> {
        let mut y = x.clone();
        for _ in 0..n {
            y = y.sin().into();
        }
        y
    }
}

impl Problem for RepeatedSin {
    fn name(&self) -> &'static str {
        "repeated_sin"
    }

    fn size(&self) -> String {
        format!("{} sines", self.n)
    }

    fn inputs_into(&self, _: usize, x: &mut Vec<f64>) {
        x.clear();
        x.push(0.7);
    }

    fn eval<S: Taping>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        Self::stage(self.n, &x[0])
    }

    /// √n stages of √n sines each.
    fn eval_in_stages<S: Reverse<Value = f64>>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        self.in_stages(self.n.isqrt().max(1), &x[0])
    }

    fn plain(&self, _: usize, x: &[f64]) -> f64 {
        let mut y = x[0];
        for _ in 0..self.n {
            y = y.sin();
        }
        y
    }

    /// The derivative is a plain product of cosines, so nothing has to be kept for a sweep.
    fn adjoint(&self, _: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (mut y, mut slope) = (x[0], 1.0);
        for _ in 0..self.n {
            let (sin, cos) = y.sin_cos();
            slope *= cos;
            y = sin;
        }
        gradient[0] = slope;
        y
    }

    fn checksums(&self) -> Option<Checksums> {
        let slope = 4.287_263_341_646_983e-10;
        let value = 5.477_221_536_701_657e-4;
        (self.n == 10_000_000).then_some(Checksums { value, sum: slope, norm: slope })
    }
}
