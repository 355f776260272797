//! Sweeps with several adjoint vectors, forward sweeps and replays, on recordings small enough for an interpreter that
//! checks memory accesses.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::{Linear, Lit, Plus, Times, Var, eval, input};
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::{Continuation, Hybrid, Jacobian, Nary, PrimalValue, Reverse, SweepError, Taping};

/// Σ cᵢ·xᵢ².
struct Squares;
impl Nary<f64> for Squares {
    const CONSTANTS: usize = 1;
    fn value(x: &[f64], c: &[f64]) -> f64 {
        x.iter().zip(c).map(|(x, c)| c * x * x).sum()
    }
    fn partials(x: &[f64], c: &[f64], partials: &mut [f64]) {
        partials.iter_mut().zip(x).zip(c).for_each(|((p, x), c)| *p = 2.0 * c * x);
    }
}

fn squares<S: Linear>(x: &[Var]) -> Var {
    let variables: Vec<_> = x.iter().map(|x| x.0).collect();
    let values: Vec<f64> = x.iter().map(|x| x.0.value).collect();
    let value = Squares::value(&values, &[0.5; 3]);
    Var::new(value, S::record_nary::<Squares>(&[&variables[..1], &variables[1..]], &[0.5; 3], value))
}

fn slot<S: Linear>(x: Var) -> usize {
    S::locate(&x.0.id).map_or(0, |(_, slot)| slot)
}

/// Statements of several kinds; two inputs, and the result.
fn record<S: Linear>(number: RecordingId, passive: bool) -> ([Var; 2], Var) {
    let x = [input::<S>(number, 0.5), input::<S>(number, -2.0)];
    let a = eval::<S, _>(&Plus(Times(x[0], x[1]), Times(Lit(3.0), x[1])));
    let b = eval::<S, _>(&Times(Plus(a, x[0]), Plus(Var::passive(0.25), a)));
    let third = if passive { Var::passive(1.5) } else { a };
    let c = squares::<S>(&[a, b, third]);
    let d = (0..30).fold(c, |y, _| eval::<S, _>(&Plus(Times(y, Lit(0.5)), x[1])));
    (x, eval::<S, _>(&Plus(d, Times(b, b))))
}

fn lanes_are_sweeps_of_their_own<S: Linear>() {
    let mut tape = OwnedTape::<S>::new(S::Tape::default());
    for passive in [false, true] {
        let (_, y) = tape.record(|number| record::<S>(number, passive));
        let length = S::identifiers(tape.tape());
        for lanes in [1, 2, 3, 4, 8, 16] {
            let seed = |lane: usize| [1.0, 0.0, -0.5][lane % 3];
            let mut together = vec![0.0; length * lanes];
            (0..lanes).for_each(|lane| together[slot::<S>(y) * lanes + lane] = seed(lane));
            tape.reverse_lanes_between(lanes, None, None, &mut together, &mut []).expect("records in memory");
            for lane in 0..lanes {
                let mut alone = vec![0.0; length];
                alone[slot::<S>(y)] = seed(lane);
                tape.reverse(&mut alone, &mut Shadows::new()).expect("records in memory");
                let found = together.iter().skip(lane).step_by(lanes).skip(1);
                assert!(found.zip(&alone[1..]).all(|(a, b)| a.to_bits() == b.to_bits()), "lane {lane} of {lanes}");
            }
        }
    }
}

fn forward_sweeps_are_transposed_reverse_ones<S: Linear>() {
    let mut tape = OwnedTape::<S>::new(S::Tape::default());
    for passive in [false, true] {
        let (x, y) = tape.record(|number| record::<S>(number, passive));
        let length = S::identifiers(tape.tape());
        let mut adjoints = vec![0.0; length];
        adjoints[slot::<S>(y)] = 1.0;
        tape.reverse(&mut adjoints, &mut Shadows::new()).expect("records in memory");
        for x in x {
            let mut tangents = vec![0.0; length];
            tangents[slot::<S>(x)] = 1.0;
            tape.forward(&mut tangents, &mut Shadows::new()).expect("records in memory");
            let (found, expected) = (tangents[slot::<S>(y)], adjoints[slot::<S>(x)]);
            assert!((found / expected - 1.0).abs() < 1e-13, "{found}, {expected}");
        }
    }
}

macro_rules! scenarios {
    ($($module:ident: $strategy:ty;)*) => { $(
        mod $module {
            #[allow(unused_imports, reason = "each names one of them")]
            use super::*;
            #[test] fn lanes_are_sweeps_of_their_own() { super::lanes_are_sweeps_of_their_own::<$strategy>() }
            #[test] fn forward_sweeps_are_transposed_reverse_ones() {
                super::forward_sweeps_are_transposed_reverse_ones::<$strategy>()
            }
        }
    )* };
}
scenarios! {
    jacobian: Jacobian;
    primal_value: PrimalValue;
    hybrid: Hybrid;
    continuation: Continuation;
}

#[test]
fn replays_compute_what_a_recording_would() {
    type S = PrimalValue;
    let mut tape = OwnedTape::<S>::new(<S as Reverse>::Tape::default());
    tape.set_guards(true);
    let (x, y) = tape.record(|number| {
        let (x, y) = record::<S>(number, false);
        // x₁·x₂ < 0.25, which is passive to it.
        <S as Taping>::compare(&Times(x[0], x[1]), &Plus(Lit(0.125), Var::passive(0.125)), Comparison::Less);
        (x, y)
    });
    tape.replay(&[(slot::<S>(x[0]), 0.75)], Vec::new()).expect("it can be replayed");
    let value = |tape: &OwnedTape<S>| <S as tapewright_strategies::Replay>::values(tape.tape())[slot::<S>(y)];
    let (a, b) = (0.75 * -2.0 + 3.0 * -2.0, (-7.5 + 0.75) * (0.25 - 7.5));
    let c = 0.5 * a * a + 0.5 * b * b + 0.5 * a * a;
    let expected = (0..30).fold(c, |y, _| y * 0.5 - 2.0) + b * b;
    let found = value(&tape);
    assert!((found - expected).abs() < 1e-13 * expected.abs(), "{found}, {expected}");
    let failed = tape.replay(&[(slot::<S>(x[0]), -1.0)], Vec::new());
    assert!(matches!(failed, Err(SweepError::BranchChanged { .. })), "{failed:?}");
    assert_eq!(value(&tape).to_bits(), found.to_bits());
}
