//! States of time loops that are more than numbers, and stages in generic code.

use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Revolve};
use tapewright::variables::Variables;
use tapewright::{Closed, Complex, Error, Rules, SweepError, checkpoint, external};

/// A state with a field that is no variable, on which the next step depends.
struct Counted<S: Taping> {
    x: Real<S>,
    n: usize,
}
tapewright::variables!(Counted { x; n });

/// The same, one struct deeper.
struct Enclosed<S: Taping> {
    inner: Vec<Counted<S>>,
}
tapewright::variables!(Enclosed { inner });

fn counted_step<S: Strategy<Value = f64>>(state: &Counted<S>) -> Counted<S> {
    let x = if state.n.is_multiple_of(2) { (state.x * 1.1).sin().eval() } else { (state.x * state.x).eval() };
    Counted { x, n: state.n + 1 }
}

fn counted(looped: TimeLoop<Jacobian>) -> Result<(f64, f64, usize), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, end) = tape.record(|scope| {
        let x = scope.input(0.99);
        (x, looped.run(&(), &Counted { x, n: 0 }, |_, (), s| counted_step(s), |_, (), s| counted_step(s)))
    });
    let end = end?;
    let slope = tape.sweep(&[(&end.x, 1.0)])?.of(&x)?;
    Ok((end.x.value(), slope, end.n))
}

#[test]
fn fields_that_are_no_variables_go_along() {
    let expected = counted(TimeLoop::new(FullTape::new(20))).expect("in memory");
    assert_eq!(expected.2, 20);
    let direct = gradient::<Jacobian>(|x| (0..20).fold(Counted { x: x[0], n: 0 }, |s, _| counted_step(&s)).x, &[0.99]);
    assert_eq!(expected.1, direct[0]);
    assert_eq!(counted(TimeLoop::new(Equidistant::new(20, 6))), Ok(expected));
    assert_eq!(counted(TimeLoop::new(Revolve::new(20, 3))), Ok(expected));
    assert_eq!(counted(TimeLoop::new(Mixed::new(20, 3))), Ok(expected));
    assert_eq!(counted(TimeLoop::new(Multistage::new(20, 3, 0))), Ok(expected));
    // On disk there are only numbers.
    let found = counted(TimeLoop::new(Multistage::new(20, 1, 2)));
    assert!(matches!(found, Err(Error::Sweep(SweepError::NotReproducible { .. }))), "{found:?}");
    let refused = counted(TimeLoop::new(Multistage::new(20, 1, 2)).checked(false));
    assert!(
        matches!(&refused, Err(Error::Sweep(SweepError::Unsupported { what })) if what.contains("no variables")),
        "{refused:?}"
    );
}

#[test]
fn fields_of_a_struct_inside_are_no_variables_either() {
    fn step<S: Strategy<Value = f64>>(all: &Enclosed<S>) -> Enclosed<S> {
        Enclosed { inner: all.inner.iter().map(counted_step).collect() }
    }
    let slope = |looped: TimeLoop<Jacobian>| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, end) = tape.record(|scope| {
            let x = scope.input(0.99);
            let start = Enclosed { inner: vec![Counted { x, n: 0 }] };
            (x, looped.run(&(), &start, |_, (), all| step(all), |_, (), all| step(all)))
        });
        tape.sweep(&[(&end?.inner[0].x, 1.0)])?.of(&x)
    };
    let expected = counted(TimeLoop::new(FullTape::new(20))).expect("in memory").1;
    assert_eq!(slope(TimeLoop::new(Revolve::new(20, 3))), Ok(expected));
    let refused = slope(TimeLoop::new(Multistage::new(20, 1, 2)).checked(false));
    assert!(
        matches!(&refused, Err(Error::Sweep(SweepError::Unsupported { what })) if what.contains("no variables")),
        "{refused:?}"
    );
}

/// A struct that is generic over its number.
#[derive(Clone, Copy)]
struct Planet<T> {
    at: [T; 2],
    mass: T,
    moons: usize,
}
tapewright::variables!(Planet<T> { at, mass; moons });

type System<S> = (Planet<Real<S>>, Planet<Closed<S>>, Complex<S>);

fn turn<S: Strategy<Value = f64>>(_: usize, rate: &Closed<S>, (a, b, z): &System<S>) -> System<S> {
    assert_eq!(a.moons + b.moons, 3, "what is no variable comes along");
    let [x, y] = a.at;
    let at = [(x - rate.open() * y * a.mass).eval(), (y + rate.open() * x).eval()];
    let near = Planet { at, mass: (a.mass * x.cos()).eval(), ..*a };
    let far = Planet { at: b.at.map(|u| (u * *rate).sin()), mass: b.mass + b.at[0] * Closed::from(at[1]), ..*b };
    (near, far, *z * Complex::new(*rate, b.mass) + z.sqrt())
}

#[test]
fn numbers_of_a_struct_are_variables_of_any_kind() {
    fn start<S: Strategy<Value = f64>>(x: &[Real<S>]) -> (Closed<S>, System<S>) {
        let c = Closed::wrap_slice(x);
        let near = Planet { at: [x[1], x[2]], mass: x[3], moons: 1 };
        let far = Planet { at: [c[4], c[5]], mass: c[6], moons: 2 };
        (c[0], (near, far, Complex::new(c[7], c[1])))
    }
    fn weigh<S: Strategy<Value = f64>>(system: &System<S>) -> Real<S> {
        assert_eq!(system.count(), 8);
        (1..).zip(system.list()).fold(Real::constant(0.0), |sum, (k, x)| (sum + x * f64::from(k)).eval())
    }
    let x = [0.3, 0.7, 0.2, 1.1, 0.5, -0.4, 0.9, 0.1];
    let whole = |x: &[Real<Jacobian>]| {
        let (rate, system) = start(x);
        weigh(&(0..12).fold(system, |system, time| turn(time, &rate, &system)))
    };
    let expected = value_and_gradient::<Jacobian>(whole, &x);
    assert!(expected.1.iter().all(|slope| *slope != 0.0), "{expected:?}");
    let looped = |x: &[Real<Jacobian>]| {
        let (rate, system) = start(x);
        weigh(&TimeLoop::<Jacobian>::new(Revolve::new(12, 2)).run(&rate, &system, turn, turn).expect("in memory"))
    };
    let found = value_and_gradient::<Jacobian>(looped, &x);
    assert_eq!(found.0, expected.0);
    for (found, expected) in found.1.iter().zip(&expected.1) {
        assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} {expected}");
    }
}

type Pair<S> = (Vec<Real<S>>, Vec<Real<S>>);

/// One variable moves from one list to the other.
fn shifting_step<S: Strategy<Value = f64>>((a, b): &Pair<S>) -> Pair<S> {
    let all: Vec<Real<S>> = a.iter().chain(b).map(|x| (x.sin() * 1.3).into()).collect();
    let cut = if a.len() == 1 { 2 } else { 1 };
    let sum: Real<S> = all[..cut].iter().fold(Real::constant(0.0), |sum, x| (sum + x).into());
    let mut all = all;
    all[2] = (all[2] * sum).into();
    let rest = all.split_off(cut);
    (all, rest)
}

fn shifting(looped: TimeLoop<Jacobian>) -> Result<(usize, Vec<f64>), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, end) = tape.record(|scope| {
        let x = scope.inputs(&[0.3, 0.5, 0.7]);
        let start: Pair<Jacobian> = (x[..1].to_vec(), x[1..].to_vec());
        (x, looped.run(&(), &start, |_, (), s| shifting_step(s), |_, (), s| shifting_step(s)))
    });
    let (a, b) = end?;
    let seeds: Vec<_> = a.iter().chain(&b).map(|y| (y, 1.0)).collect();
    Ok((a.len(), tape.sweep(&seeds)?.of_all(&x)?))
}

#[test]
fn states_may_change_their_shape() {
    let expected = shifting(TimeLoop::new(FullTape::new(21))).expect("in memory");
    assert_eq!(expected.0, 2);
    let direct = gradient::<Jacobian>(
        |x| {
            let (a, b) = (0..21).fold((x[..1].to_vec(), x[1..].to_vec()), |s, _| shifting_step(&s));
            tapewright::sum(&[a, b].concat())
        },
        &[0.3, 0.5, 0.7],
    );
    expected.1.iter().zip(&direct).for_each(|(a, b)| assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} {b}"));
    assert_eq!(shifting(TimeLoop::new(Revolve::new(21, 3))), Ok(expected.clone()));
    assert_eq!(shifting(TimeLoop::new(Equidistant::new(21, 4))), Ok(expected));
    let refused = shifting(TimeLoop::new(Multistage::new(21, 1, 3)));
    assert!(
        matches!(&refused, Err(Error::Sweep(SweepError::Unsupported { what })) if what.contains("shape")),
        "{refused:?}"
    );
}

/// A generic function with stages in stages and an external function in the innermost.
fn nested<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    fn inner<S: Taping<Value = f64>>(x: &Real<S>) -> Real<S> {
        let at = x.value();
        let slope = move |from: &[f64], to: &mut [f64]| {
            to[0] += from[0] * at.cos();
            Ok(())
        };
        external(std::slice::from_ref(x), &[at.sin()], Rules::new("sine", slope).forward(slope)).remove(0)
    }
    fn middle<S: Strategy<Value = f64>>(x: &Real<S>) -> Real<S> {
        (0..3).fold(*x, |x, _| checkpoint!(PrimalValue, &x, inner))
    }
    vec![(0..4).fold(x[0], |x, _| checkpoint!(Jacobian, &x, middle))]
}

#[test]
fn generic_functions_with_stages_run_under_every_strategy() {
    // Twelve sines.
    let (value, slope) = (0..12).fold((0.7_f64, 1.0), |(x, slope), _| (x.sin(), slope * x.cos()));
    assert_eq!(nested(Real::<Passive>::wrap_slice(&[0.7]))[0].value(), value);
    for found in [jacobian::<Jacobian>(nested, &[0.7]).1, jacobian_forward::<Tangent<2>>(nested, &[0.7]).1] {
        assert!((found[0][0] - slope).abs() <= 1e-13 * slope.abs(), "{found:?} {slope}");
    }
}

#[test]
#[should_panic(expected = "has no forward rule")]
fn forward_mode_needs_a_forward_rule() {
    let x = Real::<Tangent>::with_tangent(1.0, [1.0]);
    external(
        &[x],
        &[1.0],
        Rules::new("identity", |outputs, inputs| {
            inputs[0] += outputs[0];
            Ok(())
        }),
    );
}
