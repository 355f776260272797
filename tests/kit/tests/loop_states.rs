//! States of time loops that are more than numbers, and stages in generic code.

use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Revolve, Schedule};
use tapewright::{Error, Rules, SweepError, check_gradient, checkpoint, external};

#[path = "loop_states/contradictions.rs"]
mod contradictions;

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

fn counted(schedule: impl Schedule + Clone + Send + Sync + 'static) -> Result<(f64, f64, usize), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, end) = tape.record(|scope| {
        let x = scope.input(0.99);
        let start = Counted { x, n: 0 };
        let end = TimeLoop::<Jacobian>::new(schedule).run(
            &(),
            &start,
            |_, (), s| counted_step(s),
            |_, (), s| counted_step(s),
        );
        (x, end)
    });
    let end = end?;
    let slope = tape.sweep(&[(&end.x, 1.0)])?.of(&x)?;
    Ok((end.x.value(), slope, end.n))
}

#[test]
fn fields_that_are_no_variables_go_along() {
    let expected = counted(FullTape::new(20)).expect("in memory");
    assert_eq!(expected.2, 20);
    let direct = gradient::<Jacobian>(|x| (0..20).fold(Counted { x: x[0], n: 0 }, |s, _| counted_step(&s)).x, &[0.99]);
    assert_eq!(expected.1, direct[0]);
    assert_eq!(counted(Equidistant::new(20, 6)), Ok(expected));
    assert_eq!(counted(Revolve::new(20, 3)), Ok(expected));
    assert_eq!(counted(Mixed::new(20, 3)), Ok(expected));
    assert_eq!(counted(Multistage::new(20, 3, 0)), Ok(expected));
    // On disk there are only numbers.
    let found = counted(Multistage::new(20, 1, 2));
    assert!(matches!(found, Err(Error::Sweep(SweepError::NotReproducible { .. }))), "{found:?}");
    let mut tape = Tape::<Jacobian>::new();
    let refused = tape.record(|scope| {
        let start = Counted { x: scope.input(0.99), n: 0 };
        let unchecked = TimeLoop::<Jacobian>::new(Multistage::new(20, 1, 2)).checked(false);
        unchecked.run(&(), &start, |_, (), s| counted_step(s), |_, (), s| counted_step(s)).map(|_| ())
    });
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

fn shifting(schedule: impl Schedule + Clone + Send + Sync + 'static) -> Result<(usize, Vec<f64>), Error> {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, end) = tape.record(|scope| {
        let x = scope.inputs(&[0.3, 0.5, 0.7]);
        let start: Pair<PrimalValue> = (x[..1].to_vec(), x[1..].to_vec());
        let end = TimeLoop::<Jacobian>::new(schedule).run(
            &(),
            &start,
            |_, (), s| shifting_step(s),
            |_, (), s| shifting_step(s),
        );
        (x, end)
    });
    let (a, b) = end?;
    let seeds: Vec<_> = a.iter().chain(&b).map(|y| (y, 1.0)).collect();
    Ok((a.len(), tape.sweep(&seeds)?.of_all(&x)?))
}

#[test]
fn states_may_change_their_shape() {
    let expected = shifting(FullTape::new(21)).expect("in memory");
    assert_eq!(expected.0, 2);
    let direct = gradient::<Jacobian>(
        |x| {
            let (a, b) = (0..21).fold((x[..1].to_vec(), x[1..].to_vec()), |s, _| shifting_step(&s));
            tapewright::sum(&[a, b].concat())
        },
        &[0.3, 0.5, 0.7],
    );
    expected.1.iter().zip(&direct).for_each(|(a, b)| assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} {b}"));
    assert_eq!(shifting(Revolve::new(21, 3)), Ok(expected.clone()));
    assert_eq!(shifting(Equidistant::new(21, 4)), Ok(expected));
    let refused = shifting(Multistage::new(21, 1, 3));
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
    let y = (0..4).fold(x[0], |x, _| checkpoint!(Jacobian, &x, middle));
    let looped = TimeLoop::<Jacobian>::new(Revolve::new(6, 2));
    let z = looped.run(&x[1], &y, |_, k, y| (inner(y) * k).eval(), |_, k, y| (inner(y) * k).eval());
    vec![y, z.expect("in memory")]
}

#[test]
fn generic_functions_with_stages_run_under_every_strategy() {
    fn plain<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let y = (0..12).fold(x[0], |x, _| x.sin().eval());
        vec![y, (0..6).fold(y, |y, _| (y.sin() * x[1]).eval())]
    }
    let x = [0.7, 1.2];
    let values = |y: Vec<Real<Passive>>| y.iter().map(Real::value).collect::<Vec<f64>>();
    assert_eq!(values(nested(Real::wrap_slice(&x))), values(plain(Real::wrap_slice(&x))));
    let (_, expected) = jacobian::<Jacobian>(plain, &x);
    let close = |found: Vec<Vec<f64>>| {
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} {expected}");
        }
    };
    close(jacobian::<Jacobian>(nested, &x).1);
    close(jacobian::<PrimalValue>(nested, &x).1);
    close(jacobian::<Hybrid>(nested, &x).1);
    close(jacobian::<Continuation>(nested, &x).1);
    close(jacobian_forward::<Tangent<2>>(nested, &x).1);
    close(jacobian_forward::<Tangent<1>>(nested, &x).1);
    let report = check_gradient!(Jacobian, nested, &x).expect("it is right");
    assert!((report.order - 2.0).abs() < 0.3, "{report:?}");
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
