//! The answers of the chapter on messages of the compiler, in full.

use tapewright::checkpoint;
use tapewright::checkpoint::TimeLoop;
use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;
use tapewright::residuals::Residual;
use tapewright::schedule::Revolve;
use tapewright::strategies::num_traits::Float;
use tapewright::{Closed, Dual, Error, tape::LaneVector};

fn arrays<S: Strategy>(x: [Real<S>; 2]) -> [Real<S>; 2] {
    x.map(|x| (x.sin() * 2.0).eval())
}

fn lists<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    x.iter().map(|x| (x * 2.0).eval()).collect()
}

fn functions<S: Strategy>(x: Real<S>, y: Real<S>, n: usize) -> Real<S> {
    let powers = (x.max(0.0) + Real::from(2.0).powf(x) + (x * 2.0_f64.ln()).exp()).eval();
    (powers / n as f64 + x.powi(n as i32) + x.max(y) + x.sin()).into()
}

fn sorted<S: Strategy>(x: &mut [Real<S>]) {
    x.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
}

fn tables<S: Strategy>(x: Real<S>) -> Vec<Real<S>> {
    let mut y = [Real::from(0.0); 2];
    y[0] = (x * x).into();
    let mut z = vec![Real::from(0.0); 2];
    z[0] = y[0];
    z
}

fn values<S: Strategy<Value = f64>>(nodes: &[f64], x: Real<S>) -> f64 {
    let place = nodes.partition_point(|node| *node < x.value());
    2.0 * x.value().floor() + place as f64
}

struct Pricer {
    tape: Tape<Jacobian>,
}

/// A number, a vector, or a struct with one more parameter: `derive` then asks `T: Clone`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point<T> {
    x: T,
    y: T,
}

fn points<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let p = Point { x: x[0], y: x[1] };
    let q = p;
    (p.x * q.y).into()
}

struct State<S: Strategy> {
    x: Real<S>,
}

impl<S: Strategy> Clone for State<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Strategy> Copy for State<S> {}

fn product<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[1]).into()
}

fn of_floats<T: Float>(x: &[T]) -> T {
    x[0].sin() * x[1]
}

trait Instrument<S: Strategy> {
    fn price(&self, x: &[Real<S>]) -> Real<S>;
}

struct Bond;

impl<S: Strategy> Instrument<S> for Bond {
    fn price(&self, x: &[Real<S>]) -> Real<S> {
        x[0]
    }
}

fn heat<S: Strategy<Value = f64>>(t: &mut View<S, 1>, k: Real<S>) {
    parallel_for(t.interior(1), (&mut *t, &k), |(t, k)| (k * t.at::<1>(),));
    parallel_for(t.all(), t, |t| (t.at::<0>().gt(0.0).select(t.at::<0>(), 0.0),));
}

struct Level;

impl Residual<1, 1, 1> for Level {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [p]: [&[Real<S>]; 1], [y]: [Real<S>; 1]) -> [Real<S>; 1] {
        let y: Real<S> = y.into();
        [(p[0] - y).eval()]
    }
}

fn third_derivative() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(Dual { value: 2.0, tangents: [1.0] });
        (x, (x * x).eval())
    });
    let slope = tape.sweep(&[(&y, Dual::constant(1.0))])?.of(&x)?;
    assert_eq!((slope.value, slope.tangents), (4.0, [2.0]));
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut pricer = Pricer { tape: Tape::new() };
    let (x, y) = pricer.tape.record(|scope| {
        let x = scope.input(2.0);
        (x, functions(arrays([x, x])[0], lists(&[x])[0], 3))
    });
    let adjoints = pricer.tape.sweep(&[(&y, 1.0)])?;
    let mut slopes = [0.0];
    slopes[0] = adjoints.of(&x)?;
    pricer.tape.reset();

    let (x, y) = pricer.tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let y = [product(&x), points(&x)];
        (x, y)
    });
    let found = pricer.tape.sweep_lanes(&[(&y[0], [1.0, 0.0]), (&y[1], [0.0, 1.0])])?;
    assert_eq!(found.of(&x[0])?, [3.0, 3.0]);
    let mut lanes = LaneVector::new(2);
    let seeds: Vec<(&Real<Jacobian>, &[f64])> = vec![(&y[0], &[1.0, 0.0]), (&y[1], &[0.0, 1.0])];
    let _ = pricer.tape.sweep_lanes_with(&mut lanes, &seeds)?;

    assert_eq!(gradient::<Jacobian>(product, &[2.0, 3.0]), [3.0, 2.0]);
    assert_eq!(product(Real::<Passive>::wrap_slice(&[2.0, 3.0])).value(), 6.0);
    let closed = |x: &[Real<Jacobian>]| of_floats(Closed::wrap_slice(x)).open();
    let _ = gradient::<Jacobian>(closed, &[1.0, 2.0]);
    let book: Vec<Box<dyn Instrument<Jacobian>>> = vec![Box::new(Bond)];
    let _ = gradient::<Jacobian>(|x| book[0].price(x), &[1.0]);
    let (_, slopes) = jacobian::<Jacobian>(|x| vec![product(x)], &[2.0, 3.0]);
    assert_eq!(slopes, [[3.0, 2.0]]);

    let mut tape = Tape::<Jacobian>::new();
    tape.try_record(|scope| {
        let k = scope.input(0.9);
        let x = scope.input(1.0);
        let state = State { x };
        let stage = checkpoint!(Jacobian, &(x, k), |(x, k)| (*x * *k).eval());
        let steps = TimeLoop::<Jacobian>::new(Revolve::new(100, 5));
        let end = steps.run(&k, &state.x, |_, k, x| (*x * *k).eval(), |_, k, x| (*x * *k).eval())?;
        let mut t = View::zeros([5]);
        heat(&mut t, k);
        let mut all = vec![stage, end];
        sorted(&mut all);
        let _ = (tables(all[0]), values(&[0.0, 1.0], all[1]), t, state.clone());
        Ok::<_, Error>(())
    })??;
    let data = [Real::from(2.0)];
    assert_eq!(gradient::<Jacobian>(|x| Level.residuals([x], data)[0], &[1.0]), [1.0]);
    third_derivative()
}
