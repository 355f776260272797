//! Kepler's equation as an implicit function: the orbit of a planet from what a telescope has seen, with the equation
//! solved by Brent's method of argmin, which knows nothing of derivatives.

use argmin::core::{CostFunction, Executor};
use argmin::solver::brent::BrentRoot;
use nalgebra::{DMatrix, DVector};
use std::error::Error;
use std::f64::consts::PI;
use tapewright::implicit::{self, Equations};
use tapewright::prelude::*;

/// E − e·sin E = M, of the eccentricity e and the mean anomaly M.
struct Kepler;

impl Equations for Kepler {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] - p[0] * x[0].sin() - p[1]).into()]
    }
}

/// The same on plain numbers, for the solver.
struct Residual(f64, f64);

impl CostFunction for Residual {
    type Param = f64;
    type Output = f64;
    fn cost(&self, x: &f64) -> Result<f64, argmin::core::Error> {
        Ok(x - self.0 * x.sin() - self.1)
    }
}

/// E by Brent's method.
fn solved(e: f64, m: f64) -> f64 {
    let solver = BrentRoot::new(m - 1.0, m + 1.0, 1e-15);
    let found = Executor::new(Residual(e, m), solver).configure(|state| state.max_iters(100)).run();
    *found.expect("e < 1 has a root between M − 1 and M + 1").state().best_param.as_ref().expect("a best one")
}

/// E as a function of e and M: one entry.
fn anomaly<S: Taping<Value = f64>>(p: &[Real<S>]) -> Real<S> {
    implicit::root(Kepler, solved(p[0].value(), p[1].value()), p).expect("the solver has found a root")
}

/// E by ten steps of Newton's method, all recorded.
fn iterated<S: Strategy<Value = f64>>(p: &[Real<S>]) -> Real<S> {
    let step = |x: Real<S>, _| (x - (x - p[0] * x.sin() - p[1]) / (1.0 - p[0] * x.cos())).into();
    (0..10).fold(p[1], step)
}

/// Where the planet is at time t: half axis, eccentricity, frequency and phase are the parameters.
fn position<S: Strategy<Value = f64>>(p: &[Real<S>], t: f64) -> [Real<S>; 2] {
    let x = anomaly(&[p[1], (p[2] * t + p[3]).into()]);
    let narrow: Real<S> = (p[0] * (1.0 - p[1] * p[1]).sqrt()).into();
    [(p[0] * (x.cos() - p[1])).into(), (narrow * x.sin()).into()]
}

/// How far the orbit is from what was seen, for each time and coordinate.
fn distances<S: Strategy<Value = f64>>(p: &[Real<S>], seen: &[(f64, [f64; 2])]) -> Vec<Real<S>> {
    let each = |(t, at): &(f64, [f64; 2])| {
        let [x, y] = position(p, *t);
        [(x - at[0]).into(), (y - at[1]).into()]
    };
    seen.iter().flat_map(each).collect()
}

/// Parameters by the method of Gauss and Newton, from a guess; how many steps it took.
fn fitted(seen: &[(f64, [f64; 2])], guess: [f64; 4]) -> Option<([f64; 4], usize)> {
    let mut p = guess;
    for step in 1..=30 {
        let (r, rows) = jacobian_forward::<Tangent<4>>(|p| distances(p, seen), &p);
        let j = DMatrix::from_row_iterator(rows.len(), 4, rows.into_iter().flatten());
        let change = (j.tr_mul(&j)).lu().solve(&j.tr_mul(&DVector::from_vec(r)))?;
        (0..4).for_each(|k| p[k] -= change[k]);
        if change.norm() < 1e-12 {
            return Some((p, step));
        }
    }
    None
}

fn main() -> Result<(), Box<dyn Error>> {
    for (e, m) in [(0.1, 0.5), (0.6, 1.4), (0.9, 0.3)] {
        let x = solved(e, m);
        let slope = 1.0 / (1.0 - e * x.cos());
        let by_hand = [x.sin() * slope, slope];
        let mut tape = Tape::<Jacobian>::new();
        let mut implicitly = [0.0; 2];
        tape.gradient(anomaly, &[e, m], &mut implicitly)?;
        let statements = tape.memory().statements;
        let mut by_steps = [0.0; 2];
        tape.gradient(iterated, &[e, m], &mut by_steps)?;
        println!("e = {e}, M = {m}: E = {x:.12}");
        println!("  implicitly  ∂E/∂e = {:.12}, ∂E/∂M = {:.12}, {statements} statements", implicitly[0], implicitly[1]);
        println!("  by hand     ∂E/∂e = {:.12}, ∂E/∂M = {:.12}", by_hand[0], by_hand[1]);
        println!("  by Newton's steps, recorded in {} statements", tape.memory().statements);
        let near = |found: &[f64; 2]| found.iter().zip(by_hand).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs());
        assert!(near(&implicitly) && near(&by_steps), "all agree");
    }

    let truth = [1.52, 0.35, 0.9, 0.4];
    let seen: Vec<(f64, [f64; 2])> = (0..12)
        .map(|k| {
            let t = PI * f64::from(k) / 6.0;
            (t, position::<Passive>(Real::wrap_slice(&truth), t).map(|x| x.value()))
        })
        .collect();
    let (p, steps) = fitted(&seen, [1.4, 0.25, 0.95, 0.3]).ok_or("the fit does not converge")?;
    println!("an orbit from twelve places, after {steps} steps of Gauss and Newton:");
    println!("  half axis {:.9}, eccentricity {:.9}, frequency {:.9}, phase {:.9}", p[0], p[1], p[2], p[3]);
    assert!(p.iter().zip(truth).all(|(found, true_one)| (found - true_one).abs() < 1e-9), "it is the orbit");
    Ok(())
}
