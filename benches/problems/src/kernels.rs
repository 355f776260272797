//! Workloads as kernels over arrays.
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use tapewright::kernels::{Field2, Space, Term, View, parallel_for, parallel_sum};
use tapewright::strategies::kernel::ir::Node;
use tapewright::{Real, Taping};

/// The residual of a Laplacian, in three kernels: x ← 3x; y = A·x − b and y2 = y²; Σ y2.
pub fn norm_res<S: Taping, M: Space<S::Value>>(
    x: &mut View<S, 1, M>,
    b: &View<S, 1, M>,
    y: &mut View<S, 1, M>,
    y2: &mut View<S, 1, M>,
) -> Real<S> {
    parallel_for(x.all(), &mut *x, |x| (3.0 * x.at::<0>(),));
    parallel_for(x.all(), (&*x, b, y, &mut *y2), |(x, b, y, _)| {
        (2.0 * x.at::<0>() - b.at::<0>() - x.or_zero::<-1>() - x.or_zero::<1>(), y.new().square())
    });
    parallel_sum(y2.all(), &*y2, |y2| y2.at::<0>())
}

/// One component of the two-dimensional Burgers equation, explicit and upwind.
fn moved<W: Field2, U: Field2, V: Field2>(w: W, u: U, v: V, a: f64, nu: f64) -> Term<impl Node> {
    let (u, v, c) = (u.at::<0, 0>(), v.at::<0, 0>(), w.at::<0, 0>());
    let (east, west, north, south) = (w.at::<0, 1>(), w.at::<0, -1>(), w.at::<1, 0>(), w.at::<-1, 0>());
    let ax = u.ge(0.0).select(u * (c - west), u * (east - c));
    let ay = v.ge(0.0).select(v * (c - south), v * (north - c));
    c - a * (ax + ay) + nu * (east + west + north + south - 4.0 * c)
}

/// One step of α = Δt/Δx and ν = Δt/(R·Δx²) of the two-dimensional Burgers equation, in place.
pub fn burgers_step<S: Taping, M: Space<S::Value>>(u: &mut View<S, 2, M>, v: &mut View<S, 2, M>, (a, nu): (f64, f64)) {
    let range = u.interior(1);
    parallel_for(range, (u, v), |(u, v)| (moved(u, u, v, a, nu), moved(v, u, v, a, nu)));
}

/// Steps of α = Δt/Δx and ν = Δt/(R·Δx²) of the two-dimensional Burgers equation, in place; then Σ u² + v².
pub fn burgers<S: Taping, M: Space<S::Value>>(
    u: &mut View<S, 2, M>,
    v: &mut View<S, 2, M>,
    steps: usize,
    (a, nu): (f64, f64),
) -> Real<S> {
    (0..steps).for_each(|_| burgers_step(u, v, (a, nu)));
    parallel_sum(u.all(), (&*u, &*v), |(u, v)| u.at::<0, 0>().square() + v.at::<0, 0>().square())
}
