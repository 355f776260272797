//! differential-equations: the rates at which hares breed and lynxes hunt, from 21 years of pelts.
//!
//! The crate's Runge-Kutta solver is generic over its numbers, so it runs on variables of a tape, `Closed<S>`. Each
//! week is a step of a time loop: a few populations are kept, and a week is recorded when the sweep gets there. argmin
//! finds the rates. The numbers of pelts, in thousands, are the ones of the Hudson's Bay Company from 1900 to 1920, as
//! printed by P. Howard, "Modeling Basics", Texas A&M University, 2009.
//!
//! `cargo run --release -p tapewright-ecosystem --example hares`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use argmin::core::{CostFunction, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use differential_equations::methods::ExplicitRungeKutta;
use differential_equations::prelude::{IVP, ODE};
use differential_equations::traits::Real as Scalar;
use std::error::Error;
use tapewright::Closed;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;

const YEARS: usize = 21;
const HARES: [f64; YEARS] = [
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6,
    16.2, 24.7,
];
const LYNXES: [f64; YEARS] = [
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
];
/// Time is in years.
const WEEKS: usize = 52;
const WEEK: f64 = 1.0 / 52.0;
/// Time steps of a week.
const STEPS: f64 = 4.0;
/// Weeks whose populations are kept at a time.
const SNAPSHOTS: usize = 20;

/// Births and captures of hares, deaths and births of lynxes: the Lotka-Volterra equations.
struct Animals<T> {
    rates: [T; 4],
}

impl<T: Scalar> ODE<T, [T; 2]> for Animals<T> {
    fn diff(&self, _: T, &[hares, lynxes]: &[T; 2], slopes: &mut [T; 2]) {
        let [births, captured, deaths, fed] = self.rates;
        *slopes = [(births - captured * lynxes) * hares, (fed * hares - deaths) * lynxes];
    }
}

/// What hares and lynxes become in a week, by the solver: over `f64` or over variables.
fn week<T: Scalar>(rates: [T; 4], animals: [T; 2]) -> [T; 2] {
    let number = |x: f64| T::from_subset(&x);
    let method = ExplicitRungeKutta::rk4(number(WEEK / STEPS));
    let solved = IVP::ode(&Animals { rates }, number(0.0), number(WEEK), animals).method(method).solve();
    *solved.ok().and_then(|solution| solution.y.last().copied()).as_ref().expect("a fixed step does not fail")
}

/// Hares and lynxes, and how far they were off so far: squares of the differences of logarithms, divided by the number
/// of all measurements. The first step of the search is as long as the gradient: that of a sum would lead far away.
type Record<S> = ([Real<S>; 2], Real<S>);

fn off<S: Strategy>(year: usize, [hares, lynxes]: &[Real<S>; 2]) -> Real<S> {
    (((*hares / HARES[year]).ln().powi(2) + (*lynxes / LYNXES[year]).ln().powi(2)) / (2 * YEARS) as f64).eval()
}

fn step<S: Strategy<Value = f64>>(time: usize, rates: &[Real<S>; 4], (animals, misfit): &Record<S>) -> Record<S> {
    let next = week(rates.map(Closed::from), animals.map(Closed::from)).map(Closed::open);
    let counted = (time + 1).is_multiple_of(WEEKS);
    let misfit = if counted { (*misfit + off((time + 1) / WEEKS, &next)).eval() } else { *misfit };
    (next, misfit)
}

/// The misfit by the solver over `f64`. The unknowns are logarithms: of the four rates, and of the hares and lynxes in
/// 1900.
fn plain_misfit(unknowns: &[f64]) -> f64 {
    let [births, captured, deaths, fed, hares, lynxes] = core::array::from_fn(|k| unknowns[k].exp());
    let mut animals = [hares, lynxes];
    let mut sum = 0.0;
    for time in 0..YEARS {
        sum += (animals[0] / HARES[time]).ln().powi(2) + (animals[1] / LYNXES[time]).ln().powi(2);
        animals = (0..WEEKS).fold(animals, |animals, _| week([births, captured, deaths, fed], animals));
    }
    sum / (2 * YEARS) as f64
}

/// The rates, and the animals in 1900, from the unknowns.
fn start<S: Strategy>(unknowns: &[Real<S>]) -> ([Real<S>; 4], Record<S>) {
    let [births, captured, deaths, fed, hares, lynxes] = core::array::from_fn(|k| unknowns[k].exp().eval());
    let animals = [hares, lynxes];
    ([births, captured, deaths, fed], (animals, off(0, &animals)))
}

/// A gradient, and the bytes of tape that it took at the most.
struct Slopes {
    gradient: Vec<f64>,
    bytes: usize,
}

fn slopes(unknowns: &[f64]) -> Result<Slopes, tapewright::Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (unknowns, misfit) = tape.record(|scope| {
        let unknowns = scope.inputs(unknowns);
        let (rates, first) = start(&unknowns);
        let schedule = Revolve::new(WEEKS * (YEARS - 1), SNAPSHOTS);
        let (_, misfit) = TimeLoop::<Jacobian>::new(schedule).named("the weeks").run(&rates, &first, step, step)?;
        Ok::<_, tapewright::Error>((unknowns, misfit))
    })?;
    let recorded = tape.memory();
    let gradient = tape.sweep(&[(&misfit, 1.0)])?.of_all(&unknowns)?;
    let bytes = recorded.total().used.max(tape.memory().total().used) + tape.memory().usage("nested").reserved;
    Ok(Slopes { gradient, bytes: bytes - recorded.usage("tables").used })
}

fn slopes_on_one_tape(unknowns: &[f64]) -> Result<Slopes, tapewright::Error> {
    let mut tape = Tape::<Jacobian>::new();
    let mut gradient = vec![0.0; unknowns.len()];
    let misfit = |unknowns: &[Real<Jacobian>]| {
        let (rates, first) = start(unknowns);
        (0..WEEKS * (YEARS - 1)).fold(first, |record, time| step(time, &rates, &record)).1
    };
    tape.gradient(misfit, unknowns, &mut gradient)?;
    Ok(Slopes { gradient, bytes: tape.memory().total().used - tape.memory().usage("tables").used })
}

/// The search for the unknowns.
struct Search;

impl CostFunction for Search {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, unknowns: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(plain_misfit(unknowns))
    }
}

impl Gradient for Search {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, unknowns: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        Ok(slopes(unknowns)?.gradient)
    }
}

/// Compares the gradient with differences of the solver over `f64`, and with the gradient on one tape.
fn check(unknowns: &[f64]) -> Result<(), Box<dyn Error>> {
    let (in_weeks, on_one_tape) = (slopes(unknowns)?, slopes_on_one_tape(unknowns)?);
    let norm = in_weeks.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    for k in 0..unknowns.len() {
        let central = |h: f64| {
            let at = |by: f64| {
                plain_misfit(&core::array::from_fn::<_, 6, _>(|i| unknowns[i] + if i == k { by } else { 0.0 }))
            };
            (at(h) - at(-h)) / (2.0 * h)
        };
        let expected = (4.0 * central(1e-4) - central(2e-4)) / 3.0;
        assert!((in_weeks.gradient[k] - expected).abs() < 1e-7 * norm, "{} and {expected}", in_weeks.gradient[k]);
        assert!(
            (in_weeks.gradient[k] - on_one_tape.gradient[k]).abs() < 1e-12 * norm,
            "checkpoints change the gradient"
        );
    }
    let kilobytes = |slopes: &Slopes| slopes.bytes as f64 / 1e3;
    println!("the gradient takes {:.1} kB, on one tape {:.1} kB", kilobytes(&in_weeks), kilobytes(&on_one_tape));
    assert!(20 * in_weeks.bytes < on_one_tape.bytes, "checkpoints do not save much");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let guess = [0.5, 0.03, 0.7, 0.03, 30.0, 4.0_f64].map(f64::ln);
    check(&guess)?;
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 6).with_tolerance_grad(1e-6)?;
    let found = Executor::new(Search, solver).configure(|state| state.param(guess.to_vec()).max_iters(100)).run()?;
    let best = found.state().get_best_param().ok_or("the search found nothing")?;
    let slope = slopes(best)?.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    println!(
        "after {} iterations the misfit is {:.4}, its gradient {slope:.1e}",
        found.state().get_iter(),
        plain_misfit(best)
    );
    assert!(slope < 1e-5, "the search has not converged");
    // Means of the posterior distribution in B. Carpenter, "Predator-Prey Population Dynamics: the Lotka-Volterra model
    // in Stan", 2018, where the standard deviations are above 10 %.
    let rates =
        [("births of hares", 0.55), ("captures", 0.028), ("deaths of lynxes", 0.80), ("births of lynxes", 0.024)];
    for ((name, published), found) in rates.iter().zip(best) {
        println!("{name:<16} {:.4}, published {published}", found.exp());
        assert!((found.exp() / published - 1.0).abs() < 0.1, "others have found another rate of {name}");
    }
    println!("pelts in 1900, in thousands: {:.1} of hares, {:.1} of lynxes", best[4].exp(), best[5].exp());
    Ok(())
}
