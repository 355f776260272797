//! argmin: the soap film in a bent wire frame, found by L-BFGS and by a trust region method.
//!
//! The film is the surface of least area. argmin asks for the area and its gradient, and its trust region method for
//! products of the Hessian matrix with vectors: the "matrix" that it gets is a place on the surface, and a product is
//! one recording over numbers with a tangent. No matrix is formed.
//!
//! `cargo run --release -p tapewright-ecosystem --example soap_film`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use argmin::core::{CostFunction, Executor, Gradient, Hessian, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use argmin::solver::trustregion::{Steihaug, TrustRegion};
use argmin_math::ArgminDot;
use std::cell::{Cell, RefCell};
use std::error::Error;
use tapewright::Dual;
use tapewright::prelude::*;

/// Cells of the grid along each side of the frame, which is 2 wide.
const CELLS: usize = 24;
/// Points inside the frame, along each side.
const INSIDE: usize = CELLS - 1;
const UNKNOWNS: usize = INSIDE * INSIDE;

/// Scherk's surface: the frame is bent along it, and it is the film.
fn scherk(i: usize, j: usize) -> f64 {
    let [x, y] = [i, j].map(|k| 2.0 * k as f64 / CELLS as f64 - 1.0);
    (y.cos() / x.cos()).ln()
}

/// The area of the surface with these heights inside the frame. The slopes in a cell are differences along its
/// diagonals.
fn area<S: Strategy>(heights: &[Real<S>]) -> Real<S> {
    let height = |i: usize, j: usize| {
        let inside = (1..CELLS).contains(&i) && (1..CELLS).contains(&j);
        if inside { heights[(i - 1) * INSIDE + j - 1] } else { scherk(i, j).into() }
    };
    let square = (2.0 / CELLS as f64).powi(2);
    let mut sum = Real::from(0.0);
    for (i, j) in (0..CELLS).flat_map(|i| (0..CELLS).map(move |j| (i, j))) {
        let (one, other) = (height(i, j) - height(i + 1, j + 1), height(i, j + 1) - height(i + 1, j));
        sum += square * (1.0 + (one.powi(2) + other.powi(2)) / (2.0 * square)).sqrt();
    }
    sum
}

/// The kept tapes, and how often they were used.
#[derive(Default)]
struct Film {
    first: RefCell<Tape<Jacobian>>,
    second: RefCell<Tape<Jacobian<Dual<f64, 1>>>>,
    gradients: Cell<usize>,
    products: Cell<usize>,
}

/// The Hessian matrix at a place, for argmin: something that can be multiplied by vectors.
#[derive(Clone)]
struct Curvature<'f> {
    film: &'f Film,
    at: Vec<f64>,
}

impl ArgminDot<Vec<f64>, Vec<f64>> for Curvature<'_> {
    fn dot(&self, direction: &Vec<f64>) -> Vec<f64> {
        self.film.products.update(|count| count + 1);
        let (mut gradient, mut product) = (vec![0.0; UNKNOWNS], vec![[0.0]; UNKNOWNS]);
        let direction: Vec<[f64; 1]> = direction.iter().map(|v| [*v]).collect();
        let mut tape = self.film.second.borrow_mut();
        tape.hessian_times(area, &self.at, &direction, &mut gradient, &mut product).expect("memory does not fail");
        product.into_flattened()
    }
}

impl CostFunction for &Film {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, heights: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(area::<Passive>(Real::wrap_slice(heights)).value())
    }
}

impl Gradient for &Film {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, heights: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        self.gradients.update(|count| count + 1);
        let mut gradient = vec![0.0; UNKNOWNS];
        self.first.borrow_mut().gradient(area, heights, &mut gradient)?;
        Ok(gradient)
    }
}

impl<'f> Hessian for &'f Film {
    type Param = Vec<f64>;
    type Hessian = Curvature<'f>;
    fn hessian(&self, heights: &Vec<f64>) -> Result<Curvature<'f>, argmin::core::Error> {
        Ok(Curvature { film: self, at: heights.clone() })
    }
}

/// A flat surface in the frame.
fn start() -> Vec<f64> {
    vec![0.0; UNKNOWNS]
}

fn by_lbfgs(film: &Film) -> Result<(Vec<f64>, u64), Box<dyn Error>> {
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 10).with_tolerance_grad(1e-7)?;
    let found = Executor::new(film, solver).configure(|state| state.param(start()).max_iters(400)).run()?;
    let best = found.state().get_best_param().ok_or("nothing was found")?.clone();
    Ok((best, found.state().get_iter()))
}

/// This method of argmin ends after as many iterations as it is given.
fn by_trust_region(film: &Film) -> Result<(Vec<f64>, u64), Box<dyn Error>> {
    let solver = TrustRegion::new(Steihaug::new()).with_radius(10.0)?;
    let found = Executor::new(film, solver).configure(|state| state.param(start()).max_iters(6)).run()?;
    let best = found.state().get_best_param().ok_or("nothing was found")?.clone();
    Ok((best, found.state().get_iter()))
}

/// Prints what a search has found, and checks that it is the film: there is only one surface at which the gradient is
/// 0.
fn check(name: &str, (found, iterations): &(Vec<f64>, u64), film: &Film) -> Result<(), Box<dyn Error>> {
    let (gradients, products) = (film.gradients.get(), film.products.get());
    let slope = (&film).gradient(found)?.iter().map(|g| g * g).sum::<f64>().sqrt();
    let exact = |k: usize| scherk(k / INSIDE + 1, k % INSIDE + 1);
    let error = (0..UNKNOWNS).map(|k| (found[k] - exact(k)).abs()).fold(0.0, f64::max);
    let area = (&film).cost(found)?;
    println!("{name:<13} {area:.12} {slope:>10.1e} {error:>10.1e} {iterations:>10} {gradients:>9} {products:>9}");
    assert!(slope < 2e-7, "the gradient is not 0");
    assert!(error < 3e-4, "this is not Scherk's surface");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{UNKNOWNS} heights; flat the surface has the area {:.6}", (&&Film::default()).cost(&start())?);
    println!("{:<13} {:>14} {:>10} {:>10} iterations gradients  products", "", "area", "|gradient|", "off Scherk");
    let (first, second) = (Film::default(), Film::default());
    let lbfgs = by_lbfgs(&first)?;
    check("L-BFGS", &lbfgs, &first)?;
    let trust_region = by_trust_region(&second)?;
    check("trust region", &trust_region, &second)?;
    let apart = lbfgs.0.iter().zip(&trust_region.0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("the two surfaces are {apart:.1e} apart");
    assert!(apart < 1e-5, "there is only one surface of least area");
    Ok(())
}
