//! Time loops whose steps exchange borders.

use crate::checks::{assert_near, dot, scattered, sent};
use tapewright::checkpoint::TimeLoop;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Online, Revolve, Schedule};
use tapewright::variables::Variables;
use tapewright_mpi::{Communicator, Reduction};

const STEPS: usize = 13;
const CELLS: usize = 8;

pub(crate) fn check(all: Communicator) {
    let at = scattered(all, CELLS, 4);
    let (energy, gradient) = all_at_once(all, &at);
    schedules(all, &at, (energy, &gradient), Revolve::new(STEPS, 3));
    schedules(all, &at, (energy, &gradient), FullTape::new(STEPS));
    schedules(all, &at, (energy, &gradient), Equidistant::new(STEPS, 4));
    schedules(all, &at, (energy, &gradient), Mixed::new(STEPS, 3));
    schedules(all, &at, (energy, &gradient), Online::new(3));
    difference(all, &at, &gradient);
    variables_in_a_loop(all);
    a_loop_that_is_active_on_one_rank(all);
}

/// Heat flows through a ring of rods, one on each rank.
fn step<S: Taping<Value = f64>>(all: Communicator, u: &View<S, 1>) -> View<S, 1> {
    let (behind, ahead) = ((all.rank() + all.size() - 1) % all.size(), (all.rank() + 1) % all.size());
    let left = all.tagged(1).sendrecv(&[u.slice(CELLS - 1..CELLS)], ahead, behind);
    let right = all.tagged(2).sendrecv(&[u.slice(0..1)], behind, ahead);
    let mut wide = View::zeros([CELLS + 2]);
    wide.set(1..CELLS + 1, u);
    wide.set(0..1, &left[0]);
    wide.set(CELLS + 1..CELLS + 2, &right[0]);
    parallel_for(1..CELLS + 1, &mut wide, |u| {
        (u.at::<0>() + 0.2 * (u.at::<-1>() - 2.0 * u.at::<0>() + u.at::<1>()) * (1.0 + 0.3 * u.at::<0>()),)
    });
    wide.slice(1..CELLS + 1)
}

fn energy<S: Taping<Value = f64>>(all: Communicator, u: &View<S, 1>) -> Real<S> {
    all.all_reduce(&[parallel_sum(u.all(), u, |u| u.at::<0>().square())], Reduction::Sum).pop().expect("one number")
}

/// Rank 0 seeds the energy that all have.
fn seed(all: Communicator) -> f64 {
    if all.rank() == 0 { 1.0 } else { 0.0 }
}

fn all_at_once(all: Communicator, at: &[f64]) -> (f64, Vec<f64>) {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([CELLS], at);
        let mut u = x.clone();
        (0..STEPS).for_each(|_| u = step(all, &u));
        let y = energy(all, &u);
        (x, y)
    });
    let gradient = tape.sweep(&[(&y, seed(all))]).and_then(|adjoints| adjoints.of_view(&x).map(|g| g.to_vec()));
    (y.value(), gradient.expect("a sweep"))
}

fn schedules(
    all: Communicator,
    at: &[f64],
    (value, gradient): (f64, &[f64]),
    schedule: impl Schedule + Clone + Send + Sync + 'static,
) {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([CELLS], at);
        let end = TimeLoop::<Jacobian>::new(schedule)
            .run_while(&(), &x, |t, _| t < STEPS, move |_, (), u| step(all, u), move |_, (), u| step(all, u))
            .expect("a loop without files");
        let y = energy(all, &end);
        (x, y)
    });
    assert_eq!(y.value(), value);
    // The second sweep runs the loop again.
    for _ in 0..2 {
        let (found, counts) = sent(all, || {
            let adjoints = tape.sweep(&[(&y, seed(all))]).expect("a sweep");
            adjoints.of_view(&x).expect("an input").to_vec()
        });
        assert_eq!(found, gradient);
        // Two messages of one number for each step, and the energy.
        let others = all.size() as u64 - 1;
        let expected = if others == 0 { 0 } else { 2 * STEPS as u64 + others };
        assert_eq!((counts.adjoints.messages, counts.adjoints.bytes), (expected, 8 * expected));
    }
    let lanes = tape.sweep_lanes(&[(&y, [seed(all), 2.0 * seed(all)])]).expect("a sweep");
    assert_eq!(*lanes.of_view(&x, 0).expect("an input"), *gradient);
}

fn difference(all: Communicator, at: &[f64], gradient: &[f64]) {
    let direction = scattered(all, CELLS, 9);
    let plain = |t: f64| {
        let at: Vec<f64> = at.iter().zip(&direction).map(|(x, d)| x + t * d).collect();
        let u = (0..STEPS).fold(View::<Passive, 1>::new([CELLS], &at), |u, _| step(all, &u));
        energy(all, &u).value()
    };
    let quotient = (plain(1e-6) - plain(-1e-6)) / 2e-6;
    assert_near(dot(gradient, &direction), quotient, 1e-7, "a difference of a time loop");
}

/// A loop from a parameter and a state.
type Loop<'f> = &'f dyn Fn(&Real<Jacobian>, &Vec<Real<Jacobian>>) -> Vec<Real<Jacobian>>;

/// A step of variables, whose parameter is active, too.
fn mix<S: Taping<Value = f64>>(all: Communicator, k: &Real<S>, u: &[Real<S>]) -> Vec<Real<S>> {
    let total = all.all_reduce(u, Reduction::Sum);
    u.iter().zip(&total).map(|(u, total)| (u + k * (total * 0.3 - u).sin()).eval()).collect()
}

fn looped<S: Taping<Value = f64>, T: Reverse<Value = f64>>(
    all: Communicator,
    k: &Real<S>,
    u: &Vec<Real<S>>,
) -> Vec<Real<S>> {
    TimeLoop::<T>::new(Revolve::new(STEPS, 2))
        .run(k, u, move |_, k, u| mix(all, k, u), move |_, k, u| mix(all, k, u))
        .expect("a loop without files")
}

fn variables_in_a_loop(all: Communicator) {
    let at = scattered(all, 3, 6);
    let f = |x: &[Real<Jacobian>], u: Loop<'_>| tapewright::sum(&u(&x[0], &x[1..].to_vec()));
    let expected = gradient::<Jacobian>(|x| f(x, &|k, u| (0..STEPS).fold(u.clone(), |u, _| mix(all, k, &u))), &at);
    let found = gradient::<Jacobian>(|x| f(x, &|k, u| looped::<_, PrimalValue>(all, k, u)), &at);
    found.iter().zip(&expected).for_each(|(a, b)| assert_near(*a, *b, 1e-13, "a loop of variables"));
    let direction = scattered(all, 3, 8);
    let (_, tangents) =
        jvp::<Tangent>(|x| looped::<_, Jacobian>(all, &x[0], &x[1..].to_vec()), &at, &direction).expect("one");
    assert_near(dot(&tangents, &[1.0; 2]), dot(&expected, &direction), 1e-12, "tangents through a loop");
}

/// Nothing that goes into the loop is active on the other ranks; they take part all the same.
fn a_loop_that_is_active_on_one_rank(all: Communicator) {
    let at = scattered(all, 3, 6);
    let f = |x: &[Real<Jacobian>], looped: bool| {
        let x: Vec<Real<Jacobian>> =
            if all.rank() == 0 { x.to_vec() } else { x.iter().map(|x| Real::constant(x.value())).collect() };
        let (k, u) = (x[0], x[1..].to_vec());
        let end =
            if looped { self::looped::<_, Jacobian>(all, &k, &u) } else { (0..STEPS).fold(u, |u, _| mix(all, &k, &u)) };
        assert_eq!(end.count(), 2);
        tapewright::sum(&end)
    };
    let (expected, found) = (gradient::<Jacobian>(|x| f(x, false), &at), gradient::<Jacobian>(|x| f(x, true), &at));
    found.iter().zip(&expected).for_each(|(a, b)| assert_near(*a, *b, 1e-13, "a loop that is active on one rank"));
    assert!(all.rank() > 0 || expected.iter().all(|slope| *slope != 0.0));
}
