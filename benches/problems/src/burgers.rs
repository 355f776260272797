//! Coupled 2-D Burgers equations, explicit upwind scheme.

use crate::{Checksums, Problem};
use tapewright::{Real, Taping};

/// `steps` steps on an N×N grid; inputs are the initial u, then v.
#[derive(Clone, Copy, Debug)]
pub struct Burgers {
    /// Grid points along each side, at least 3.
    pub n: usize,
    /// Time steps.
    pub steps: usize,
}

impl Default for Burgers {
    fn default() -> Self {
        Self { n: 128, steps: 32 }
    }
}

impl Burgers {
    /// α = dt/dx and ν = dt/(R·dx²).
    fn coefficients(self) -> (f64, f64) {
        let (dx, dt, r) = (1.0 / (self.n as f64 - 1.0), 1e-3, 1000.0);
        (dt / dx, dt / (r * dx * dx))
    }
}

/// The five slices of `w` that an interior row's stencil reads, each as long as the interior: centre, x−, x+, y−, y+.
#[inline(always)]
fn stencil<T>(w: &[T], n: usize, j: usize) -> [&[T]; 5] {
    let at = |offset: usize| &w[offset..offset + n - 2];
    [at(j * n + 1), at(j * n), at(j * n + 2), at((j - 1) * n + 1), at((j + 1) * n + 1)]
}

/// One field's step: `new` from `w`, moved by (u, v).
#[inline(always)]
fn advance<S: Taping>(
    (n, alpha, nu): (usize, f64, f64),
    (u, v): (&[Real<S>], &[Real<S>]),
    w: &[Real<S>],
    new: &mut [Real<S>],
) {
    for j in 1..n - 1 {
        let [uc, ..] = stencil(u, n, j);
        let [vc, ..] = stencil(v, n, j);
        let [wc, xm, xp, ym, yp] = stencil(w, n, j);
        let out = &mut new[j * n + 1..j * n + n - 1];
        for i in 0..n - 2 {
            let ax: Real<S> =
                if uc[i] >= 0.0 { (&uc[i] * (&wc[i] - &xm[i])).into() } else { (&uc[i] * (&xp[i] - &wc[i])).into() };
            let ay: Real<S> =
                if vc[i] >= 0.0 { (&vc[i] * (&wc[i] - &ym[i])).into() } else { (&vc[i] * (&yp[i] - &wc[i])).into() };
            out[i] = (&wc[i] - alpha * (&ax + &ay) + nu * (&xp[i] + &xm[i] + &yp[i] + &ym[i] - 4.0 * &wc[i])).into();
        }
    }
}

impl Problem for Burgers {
    fn name(&self) -> &'static str {
        "burgers2d"
    }

    fn inputs(&self) -> Vec<f64> {
        let n = self.n;
        let dx = 1.0 / (n as f64 - 1.0);
        let point = |k: usize| ((k % n) as f64 * dx, (k / n) as f64 * dx);
        let u = (0..n * n).map(point).map(|(x, y)| x + y);
        let v = (0..n * n).map(point).map(|(x, y)| x - y);
        u.chain(v).collect()
    }

    fn eval<S: Taping>(&self, x: &[Real<S>]) -> Real<S> {
        let cells = self.n * self.n;
        let (alpha, nu) = self.coefficients();
        let (mut u, mut v) = (x[..cells].to_vec(), x[cells..].to_vec());
        let (mut nu_field, mut nv_field) = (u.clone(), v.clone());
        for _ in 0..self.steps {
            advance((self.n, alpha, nu), (&u, &v), &u, &mut nu_field);
            advance((self.n, alpha, nu), (&u, &v), &v, &mut nv_field);
            core::mem::swap(&mut u, &mut nu_field);
            core::mem::swap(&mut v, &mut nv_field);
        }
        let mut total = Real::from(0.0);
        for (u, v) in u.iter().zip(&v) {
            total += u * u + v * v;
        }
        total
    }

    fn plain(&self, x: &[f64]) -> f64 {
        let (n, cells) = (self.n, self.n * self.n);
        let (alpha, nu) = self.coefficients();
        let (mut u, mut v) = (x[..cells].to_vec(), x[cells..].to_vec());
        let (mut new_u, mut new_v) = (u.clone(), v.clone());
        let advance = |u: &[f64], v: &[f64], w: &[f64], new: &mut [f64]| {
            for j in 1..n - 1 {
                let [uc, ..] = stencil(u, n, j);
                let [vc, ..] = stencil(v, n, j);
                let [wc, xm, xp, ym, yp] = stencil(w, n, j);
                let out = &mut new[j * n + 1..j * n + n - 1];
                for i in 0..n - 2 {
                    let ax = if uc[i] >= 0.0 { uc[i] * (wc[i] - xm[i]) } else { uc[i] * (xp[i] - wc[i]) };
                    let ay = if vc[i] >= 0.0 { vc[i] * (wc[i] - ym[i]) } else { vc[i] * (yp[i] - wc[i]) };
                    out[i] = wc[i] - alpha * (ax + ay) + nu * (xp[i] + xm[i] + yp[i] + ym[i] - 4.0 * wc[i]);
                }
            }
        };
        for _ in 0..self.steps {
            advance(&u, &v, &u, &mut new_u);
            advance(&u, &v, &v, &mut new_v);
            core::mem::swap(&mut u, &mut new_u);
            core::mem::swap(&mut v, &mut new_v);
        }
        let mut total = 0.0;
        for (u, v) in u.iter().zip(&v) {
            total += u * u + v * v;
        }
        total
    }

    fn adjoint(&self, _x: &[f64], _gradient: &mut [f64]) -> f64 {
        todo!()
    }

    fn checksums(&self) -> Option<Checksums> {
        ((self.n, self.steps) == (128, 32)).then_some(Checksums {
            value: 21035.428975935156,
            sum: 28968.854308502818,
            norm: 313.572_136_589_831_87,
        })
    }
}
