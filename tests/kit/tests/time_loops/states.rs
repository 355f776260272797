//! States of time loops that are more than numbers, and stages in generic code.

use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Revolve};
use tapewright::{Error, Rules, SweepError, checkpoint, external};

/// A state with a field that is no variable, on which the next step depends.
struct Counted<S: Taping> {
    x: Real<S>,
    n: usize,
}
tapewright::variables!(Counted { x; n });

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
