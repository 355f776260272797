//! Coupled 2-D Burgers equations, explicit upwind scheme.

use crate::{Checksums, Error, Problem, kernels};
use tapewright::checkpoint::TimeLoop;
use tapewright::kernels::{Space, View};
use tapewright::policy::AllowedIn;
use tapewright::schedule::Revolve;
use tapewright::{Error as TapeError, Jacobian, Real, Reverse, Taping, statement};

/// Coupled 2-D Burgers equations on an n×n grid; the inputs are the initial u, then v, and the output is Σ u² + v²
/// after the last step.
#[derive(Clone, Copy, Debug)]
pub struct Burgers {
    pub(crate) n: usize,
    pub(crate) steps: usize,
}

impl Default for Burgers {
    fn default() -> Self {
        Self { n: 128, steps: 32 }
    }
}

impl Burgers {
    /// `steps` time steps on an `n`×`n` grid.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] when `n` is less than 3, when `steps` is 0, and when the history would be too long.
    pub fn new(n: usize, steps: usize) -> Result<Self, Error> {
        Error::unless_at_least("burgers2d", "the number of grid points along a side", n, 3)?;
        Error::unless_at_least("burgers2d", "the number of steps", steps, 1)?;
        Error::product("burgers2d", &[2, n, n, steps])?;
        Ok(Self { n, steps })
    }

    /// α = dt/dx and ν = dt/(R·dx²).
    pub(crate) fn coefficients(self) -> (f64, f64) {
        let (dx, dt, r) = (1.0 / (self.n as f64 - 1.0), 1e-3, 1000.0);
        (dt / dx, dt / (r * dx * dx))
    }

    /// The number of grid points along a side.
    #[must_use]
    pub const fn grid(&self) -> usize {
        self.n
    }

    /// One time step.
    #[must_use]
    pub fn step<S: Taping>(&self, fields: &Fields<S>) -> Fields<S> {
        let mut new = fields.copy();
        self.step_into(fields, &mut new);
        new
    }

    /// The function as a time loop, which has been given a schedule for as many steps, and an entry for each point.
    ///
    /// # Errors
    ///
    /// As [`TimeLoop::run`].
    pub fn reversed_by<S: Reverse<Value = f64>>(
        self,
        time_loop: TimeLoop<Jacobian>,
        x: &[Real<S>],
    ) -> Result<Real<S>, TapeError> {
        let end =
            time_loop.run(&(), &Fields::new(x), move |_, (), at| self.step(at), move |_, (), at| self.step(at))?;
        Ok(end.energy())
    }

    /// One time step, into fields with the same boundaries.
    fn step_into<S: Taping>(&self, Fields { u, v }: &Fields<S>, new: &mut Fields<S>) {
        advance(self.n, self.coefficients(), (u, v), u, &mut new.u);
        advance(self.n, self.coefficients(), (u, v), v, &mut new.v);
    }

    /// u and v, one after the other, at every time from the initial to the last, one after the other.
    fn history(self, x: &[f64]) -> Vec<f64> {
        let cells = self.n * self.n;
        let mut history = Vec::with_capacity((self.steps + 1) * x.len());
        history.extend_from_slice(x);
        for step in 0..self.steps {
            history.extend_from_within(step * x.len()..); // so that boundaries keep their value
            let (old, new) = history.split_at_mut((step + 1) * x.len());
            let (u, v) = old[step * x.len()..].split_at(cells);
            for (w, new) in [u, v].into_iter().zip(new.chunks_exact_mut(cells)) {
                advance_plain(self.n, self.coefficients(), (u, v), w, new);
            }
        }
        history
    }
}

/// The state of the equations at one time: both velocities at every grid point, row by row.
#[derive(Debug)]
pub struct Fields<S: Taping> {
    /// Velocities along x.
    pub u: Vec<Real<S>>,
    /// Velocities along y.
    pub v: Vec<Real<S>>,
}
tapewright::variables!(Fields { u, v });

impl<S: Taping> Fields<S> {
    /// The state of these variables, u, then v.
    #[must_use]
    pub fn new(x: &[Real<S>]) -> Self {
        let (u, v) = x.split_at(x.len() / 2);
        Self { u: copy(u), v: copy(v) }
    }

    fn copy(&self) -> Self {
        Self { u: copy(&self.u), v: copy(&self.v) }
    }

    /// Σ u² + v².
    #[must_use]
    pub fn energy(&self) -> Real<S> {
        let mut total = Real::from(0.0);
        for (u, v) in self.u.iter().zip(&self.v) {
            total += u * u + v * v;
        }
        total
    }
}

/// A copy made in the same way for every type, so that the plain and the passive version cost the same: `to_vec` calls
/// `memcpy` for `f64` and clones one by one for variables.
fn copy<T: Clone>(x: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity(x.len());
    copy.extend(x.iter().cloned());
    copy
}

/// The five slices of `w` that an interior row's stencil reads, each as long as the interior: center, x−, x+, y−, y+.
#[inline(always)]
fn stencil<T>(w: &[T], n: usize, j: usize) -> [&[T]; 5] {
    let at = |offset: usize| &w[offset..offset + n - 2];
    [at(j * n + 1), at(j * n), at(j * n + 2), at((j - 1) * n + 1), at((j + 1) * n + 1)]
}

/// One field's step: `new` from `w`, moved by (u, v).
///
/// The expression over the neighbors is built before the branches, though it is part of the last statement: then the
/// branches load nothing, and without a tape the loop vectorizes on every processor.
#[inline(never)]
fn advance<S: Taping>(
    n: usize,
    (alpha, nu): (f64, f64),
    (u, v): (&[Real<S>], &[Real<S>]),
    w: &[Real<S>],
    new: &mut [Real<S>],
) {
    let (mut ax, mut ay) = (Real::undefined(), Real::undefined());
    for j in 1..n - 1 {
        let [uc, ..] = stencil(u, n, j);
        let [vc, ..] = stencil(v, n, j);
        let [wc, xm, xp, ym, yp] = stencil(w, n, j);
        let out = &mut new[j * n + 1..j * n + n - 1];
        for i in 0..n - 2 {
            let neighbors = &xp[i] + &xm[i] + &yp[i] + &ym[i] - 4.0 * &wc[i];
            if uc[i] >= 0.0 {
                ax.assign(&uc[i] * (&wc[i] - &xm[i]));
            } else {
                ax.assign(&uc[i] * (&xp[i] - &wc[i]));
            }
            if vc[i] >= 0.0 {
                ay.assign(&vc[i] * (&wc[i] - &ym[i]));
            } else {
                ay.assign(&vc[i] * (&yp[i] - &wc[i]));
            }
            out[i].assign(&wc[i] - alpha * (&ax + &ay) + nu * neighbors);
        }
    }
}

/// [`advance`] with one statement for a point, which names its six arguments. `w` is u if `ALONG` is 0, and v if it is
/// 1; `other` is the velocity that is not `w`.
#[inline(never)]
fn advance_in_blocks<S: Taping<Value = f64>, const ALONG: usize>(
    n: usize,
    coefficients: (f64, f64),
    (w, other): (&[Real<S>], &[Real<S>]),
    new: &mut [Real<S>],
) {
    for j in 1..n - 1 {
        let [across, ..] = stencil(other, n, j);
        let [center, xm, xp, ym, yp] = stencil(w, n, j);
        let out = &mut new[j * n + 1..j * n + n - 1];
        for i in 0..n - 2 {
            let arguments = [&center[i], &across[i], &xm[i], &xp[i], &ym[i], &yp[i]];
            let (u, v) = if ALONG == 0 { (arguments[0], arguments[1]) } else { (arguments[1], arguments[0]) };
            // In each of four expressions the compiler knows what every partial is made of.
            out[i] = match (*u >= 0.0, *v >= 0.0) {
                (true, true) => cell::<S, ALONG, true, true>(arguments, coefficients),
                (true, false) => cell::<S, ALONG, true, false>(arguments, coefficients),
                (false, true) => cell::<S, ALONG, false, true>(arguments, coefficients),
                (false, false) => cell::<S, ALONG, false, false>(arguments, coefficients),
            };
        }
    }
}

/// One point's step, for velocities that are positive or not.
#[inline(always)]
fn cell<S: Taping<Value = f64>, const ALONG: usize, const RIGHT: bool, const UP: bool>(
    arguments: [&Real<S>; 6],
    (alpha, nu): (f64, f64),
) -> Real<S> {
    statement(arguments, |[c, other, xm, xp, ym, yp]| {
        let (u, v) = if ALONG == 0 { (c, other) } else { (other, c) };
        let dx = if RIGHT { c - xm } else { xp - c };
        let dy = if UP { c - ym } else { yp - c };
        c - alpha * (u * dx + v * dy) + nu * (xp + xm + yp + ym - 4.0 * c)
    })
}

/// [`advance`] over `f64`.
#[inline(never)]
fn advance_plain(n: usize, (alpha, nu): (f64, f64), (u, v): (&[f64], &[f64]), w: &[f64], new: &mut [f64]) {
    for j in 1..n - 1 {
        let [uc, ..] = stencil(u, n, j);
        let [vc, ..] = stencil(v, n, j);
        let [wc, xm, xp, ym, yp] = stencil(w, n, j);
        let out = &mut new[j * n + 1..j * n + n - 1];
        for i in 0..n - 2 {
            let neighbors = xp[i] + xm[i] + yp[i] + ym[i] - 4.0 * wc[i];
            let ax = if uc[i] >= 0.0 { uc[i] * (wc[i] - xm[i]) } else { uc[i] * (xp[i] - wc[i]) };
            let ay = if vc[i] >= 0.0 { vc[i] * (wc[i] - ym[i]) } else { vc[i] * (yp[i] - wc[i]) };
            out[i] = wc[i] - alpha * (ax + ay) + nu * neighbors;
        }
    }
}

/// What one row of new values passes on to the old ones: to u and v at the same points as the velocity, and to w at the
/// five points of the stencil. Kept apart so that the loop over the row has no overlapping writes.
struct RowAdjoints {
    velocity: [Vec<f64>; 2],
    stencil: [Vec<f64>; 5],
}

impl RowAdjoints {
    fn new(length: usize) -> Self {
        Self { velocity: [(); 2].map(|()| vec![0.0; length]), stencil: [(); 5].map(|()| vec![0.0; length]) }
    }

    /// Fills in row `j`, given the adjoints of the new w there.
    fn fill(&mut self, n: usize, j: usize, (alpha, nu): (f64, f64), (u, v): (&[f64], &[f64]), w: &[f64], new: &[f64]) {
        let [uc, ..] = stencil(u, n, j);
        let [vc, ..] = stencil(v, n, j);
        let [wc, xm, xp, ym, yp] = stencil(w, n, j);
        let [new, ..] = stencil(new, n, j);
        let [to_u, to_v] = self.velocity.each_mut().map(|to| &mut to[..n - 2]);
        let [to_c, to_xm, to_xp, to_ym, to_yp] = self.stencil.each_mut().map(|to| &mut to[..n - 2]);
        for i in 0..n - 2 {
            let (advection, diffusion) = (-alpha * new[i], nu * new[i]);
            let (left, right) = (wc[i] - xm[i], xp[i] - wc[i]);
            let (lower, upper) = (wc[i] - ym[i], yp[i] - wc[i]);
            to_u[i] = advection * if uc[i] >= 0.0 { left } else { right };
            to_v[i] = advection * if vc[i] >= 0.0 { lower } else { upper };
            let (from_xm, to_x) = upwind(advection * uc[i], uc[i]);
            let (from_ym, to_y) = upwind(advection * vc[i], vc[i]);
            to_xm[i] = diffusion - from_xm;
            to_xp[i] = diffusion + to_x;
            to_ym[i] = diffusion - from_ym;
            to_yp[i] = diffusion + to_y;
            to_c[i] = new[i] - 4.0 * diffusion + (from_xm - to_x) + (from_ym - to_y);
        }
    }

    /// Adds the row to the adjoints of the old u and v, in which w starts at `w`.
    fn add_to(&self, old: &mut [f64], n: usize, j: usize, w: usize) {
        let center = j * n + 1;
        let starts = [center, n * n + center];
        let points = [center, center - 1, center + 1, center - n, center + n].map(|point| w + point);
        let parts = self.velocity.iter().zip(starts).chain(self.stencil.iter().zip(points));
        for (part, start) in parts {
            for (old, term) in old[start..start + n - 2].iter_mut().zip(part) {
                *old += term;
            }
        }
    }
}

/// `coefficient` as that of the difference to the lower and to the upper neighbor: upwind is the one, the other is 0.
#[inline(always)]
fn upwind(coefficient: f64, velocity: f64) -> (f64, f64) {
    if velocity >= 0.0 { (coefficient, 0.0) } else { (0.0, coefficient) }
}

impl Problem for Burgers {
    fn name(&self) -> &'static str {
        "burgers2d"
    }

    fn size(&self) -> String {
        format!("{0} × {0} points, {1} steps", self.n, self.steps)
    }

    fn inputs_into(&self, _: usize, x: &mut Vec<f64>) {
        let n = self.n;
        let dx = 1.0 / (n as f64 - 1.0);
        let point = |k: usize| ((k % n) as f64 * dx, (k / n) as f64 * dx);
        x.clear();
        x.extend((0..n * n).map(point).map(|(x, y)| x + y));
        x.extend((0..n * n).map(point).map(|(x, y)| x - y));
    }

    fn eval<S: Taping>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        let mut fields = Fields::new(x);
        let mut new = fields.copy();
        for _ in 0..self.steps {
            self.step_into(&fields, &mut new);
            core::mem::swap(&mut fields, &mut new);
        }
        fields.energy()
    }

    /// A time loop with a snapshot for every fourth step.
    fn eval_in_stages<S: Reverse<Value = f64>>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        let schedule = Revolve::new(self.steps, self.steps.div_ceil(4));
        let end = self.reversed_by(TimeLoop::new(schedule), x);
        end.unwrap_or_else(|error| panic!("a loop without snapshots on disk: {error}"))
    }

    fn eval_in_blocks<S: Taping<Value = f64>>(&self, _: usize, x: &[Real<S>]) -> Real<S> {
        let mut fields = Fields::new(x);
        let mut new = fields.copy();
        for _ in 0..self.steps {
            advance_in_blocks::<S, 0>(self.n, self.coefficients(), (&fields.u, &fields.v), &mut new.u);
            advance_in_blocks::<S, 1>(self.n, self.coefficients(), (&fields.v, &fields.u), &mut new.v);
            core::mem::swap(&mut fields, &mut new);
        }
        fields.energy()
    }

    fn eval_by_kernels<S: Taping<Policy: AllowedIn<M>>, M: Space<S::Value>>(&self, x: &View<S, 1, M>) -> Real<S> {
        let (n, cells) = (self.n, self.n * self.n);
        let [mut u, mut v] = [0, cells].map(|start| x.slice(start..start + cells).reshape([n, n]));
        kernels::burgers(&mut u, &mut v, self.steps, self.coefficients())
    }

    fn plain(&self, _: usize, x: &[f64]) -> f64 {
        let (u, v) = x.split_at(x.len() / 2);
        let [mut u, mut v, mut new_u, mut new_v] = [u, v, u, v].map(copy);
        for _ in 0..self.steps {
            advance_plain(self.n, self.coefficients(), (&u, &v), &u, &mut new_u);
            advance_plain(self.n, self.coefficients(), (&u, &v), &v, &mut new_v);
            core::mem::swap(&mut u, &mut new_u);
            core::mem::swap(&mut v, &mut new_v);
        }
        let mut total = 0.0;
        for (u, v) in u.iter().zip(&v) {
            total += u * u + v * v;
        }
        total
    }

    fn adjoint(&self, _: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (n, cells) = (self.n, self.n * self.n);
        let history = self.history(x);
        let (before, last) = history.split_at(self.steps * x.len());
        let mut new: Vec<f64> = last.iter().map(|w| 2.0 * w).collect();
        let mut row = RowAdjoints::new(n - 2);
        for fields in before.chunks_exact(x.len()).rev() {
            let (u, v) = fields.split_at(cells);
            gradient.copy_from_slice(&new);
            for interior in (0..2 * n).filter(|j| (1..n - 1).contains(&(j % n))) {
                gradient[interior * n + 1..interior * n + n - 1].fill(0.0);
            }
            for (w, start) in [(u, 0), (v, cells)] {
                for j in 1..n - 1 {
                    row.fill(n, j, self.coefficients(), (u, v), w, &new[start..start + cells]);
                    row.add_to(gradient, n, j, start);
                }
            }
            new.copy_from_slice(gradient);
        }
        last[..cells].iter().zip(&last[cells..]).fold(0.0, |total, (u, v)| total + (u * u + v * v))
    }

    fn checksums(&self) -> Option<Checksums> {
        ((self.n, self.steps) == (128, 32)).then_some(Checksums {
            value: 21_035.428_975_935_156,
            sum: 28_968.854_308_502_818,
            norm: 313.572_136_589_831_87,
        })
    }
}
