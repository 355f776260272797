//! Zero times anything is zero between statements: in records of every kind, in lanes, blocks, stages and external
//! functions, and on the way forward. Other index managers and layers have it in `conformance` and in the fuzzer.

use tapewright::checkpoint::closure_stage;
use tapewright::{
    External, Number, Rules, SweepError, external, preaccumulate, preaccumulate_by_reverse, prelude::*, sum,
    with_partials,
};

/// A test of these functions for each kind of record, among them records of reused identifiers.
macro_rules! under {
    ($($strategy:ident: $type:ty;)*) => { $(
        #[test]
        fn $strategy() {
            zero_partials_below_infinite_adjoints::<$type>();
            seeds_that_are_not_finite::<$type>();
            chains_that_overflow_with_the_seed::<$type>();
            lanes_are_sweeps_of_their_own::<$type>();
            forward_sweeps_agree::<$type>();
            blocks_and_stages::<$type>();
            external_functions::<$type>();
        }
    )* };
}

mod zero_takes_nothing_from_infinity_under {
    use super::*;

    under! {
        jacobian: Jacobian;
        primal_value_reuse: PrimalValue<f64, Reuse>;
        hybrid: Hybrid;
        continuation_reuse: Continuation<f64, Reuse>;
    }
}

/// A function of some inputs, in several statements.
type Program<S> = fn(&[Real<S>]) -> Real<S>;

/// √p where p = max(x, 0): the partial of the first statement is exactly 0 for x < 0, and the slope of the second
/// infinite.
fn clipped<S: Taping>(x: &[Real<S>]) -> Real<S> {
    x[0].max(0.0).eval().sqrt().into()
}

/// The same with a variable that is 0.
fn clipped_by_a_variable<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let zero = (&x[1] * 0.0).eval();
    x[0].max(&zero).eval().sqrt().into()
}

/// √t where t = x·x: both partials of the first statement are 0 at 0.
fn root_of_square<S: Taping>(x: &[Real<S>]) -> Real<S> {
    (&x[0] * &x[0]).eval().sqrt().into()
}

/// Partials that are 0 in records of every kind, below a slope that is infinite, beside inputs that do count.
fn every_kind<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let (zero, passive) = (x[1].clone(), Real::<S>::constant(S::Value::from_f64(0.0)));
    let wide: Vec<Real<S>> = (0..40).map(|k| x[k % 2].clone()).collect();
    let given: Vec<S::Value> = (0..40).map(|_| S::Value::from_f64(0.0)).collect();
    let product = (&x[0] * &zero * &zero).eval(); // two zero partials, and one of a passive literal below
    let mixed = (&passive * &x[0] + &zero * &x[0] * &passive).eval();
    let listed = with_partials(&wide, S::Value::from_f64(0.0), &given);
    let flat = (&product + &mixed + &listed).eval();
    let sign = (&flat - &flat * 0.0).eval();
    // Its slope is infinite at 0, and its only argument has zero partials everywhere.
    (sign.abs() + flat.sqrt()).eval().sqrt().into()
}

/// A program with its name, a point, and the gradient there.
type Case<S> = (&'static str, Program<S>, Vec<f64>, Vec<f64>);

fn gradients<S: Reverse<Value = f64>>() -> Vec<Case<S>> {
    vec![
        ("clipped", clipped, vec![-1.0], vec![0.0]),
        ("clipped_by_a_variable", clipped_by_a_variable, vec![-1.0, 2.0], vec![0.0, 0.0]),
        ("root_of_square", root_of_square, vec![0.0], vec![0.0]),
        ("every_kind", every_kind, vec![3.0, 0.0], vec![0.0, 0.0]),
    ]
}

fn zero_partials_below_infinite_adjoints<S: Reverse<Value = f64>>() {
    for (name, f, x, expected) in gradients::<S>() {
        assert_eq!(gradient::<S>(f, &x), expected, "{name}");
    }
    // Under forward mode, too.
    assert_eq!(jacobian_forward::<Tangent<2>>(|x| vec![clipped(x)], &[-1.0]).1, [[0.0]]);
    assert_eq!(jacobian_forward::<Tangent<2>>(|x| vec![clipped_by_a_variable(x)], &[-1.0, 2.0]).1, [[0.0, 0.0]]);
    assert_eq!(jacobian_forward::<Tangent<2>>(|x| vec![root_of_square(x)], &[0.0]).1, [[0.0]]);
    assert_eq!(jacobian_forward::<Tangent<2>>(|x| vec![every_kind(x)], &[3.0, 0.0]).1, [[0.0, 0.0]]);
}

/// A recording with its inputs and its output.
fn recorded<S: Reverse<Value = f64>>(f: Program<S>, x: &[f64]) -> (Tape<S>, Vec<Real<S>>, Real<S>) {
    let mut tape = Tape::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(x);
        let y = f(&x);
        (x, y)
    });
    (tape, x, y)
}

/// x₀ + 0·x₁ + passive·x₂ as records of several kinds: the zeros are partials, and not types.
fn with_zeros<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let zero = Real::<S>::constant(S::Value::from_f64(0.0));
    let a = (&x[0] + &x[1] * 0.0).eval();
    let b = (&a + &x[2] * &zero).eval();
    let wide: Vec<Real<S>> = (0..33).map(|k| if k == 0 { b.clone() } else { zero.clone() }).collect();
    sum(&wide)
}

fn seeds_that_are_not_finite<S: Reverse<Value = f64>>() {
    let (mut tape, x, y) = recorded::<S>(with_zeros, &[1.0, 2.0, 3.0]);
    for seed in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let found = tape.sweep(&[(&y, seed)]).unwrap().of_all(&x).unwrap();
        assert!(found[0] == seed || seed.is_nan() && found[0].is_nan(), "{found:?} for {seed}");
        assert_eq!(found[1..], [0.0, 0.0], "for {seed}");
    }
}

/// 10²⁰⁰·(0·x): a seed of 10²⁰⁰ times the outer factor overflows, the partial is 0.
fn chains_that_overflow_with_the_seed<S: Reverse<Value = f64>>() {
    let (mut tape, x, y) = recorded::<S>(|x| ((&x[0] * &x[1]) * 1e200).into(), &[3.0, 0.0]);
    let found = tape.sweep(&[(&y, 1e200)]).unwrap().of_all(&x).unwrap();
    assert_eq!(found, [0.0, f64::INFINITY]);
    let lanes = tape.sweep_lanes(&[(&y, [1e200, 1.0, 0.0])]).unwrap();
    assert_eq!(lanes.of(&x[0]).unwrap(), [0.0, 0.0, 0.0]);
    assert_eq!(lanes.of(&x[1]).unwrap(), [f64::INFINITY, 3e200, 0.0]);
}

fn lanes_are_sweeps_of_their_own<S: Reverse<Value = f64>>() {
    for (name, f, x, expected) in gradients::<S>() {
        let (mut tape, x, y) = recorded::<S>(f, &x);
        let mixed = [1.0, 0.0, f64::INFINITY, -2.0, f64::NAN];
        let lanes = tape.sweep_lanes(&[(&y, mixed)]).unwrap();
        for (x, expected) in x.iter().zip(expected) {
            assert_eq!(lanes.of(x).unwrap(), [expected; 5], "{name}");
        }
    }
    let (mut tape, x, y) = recorded::<S>(with_zeros, &[1.0, 2.0, 3.0]);
    let lanes = tape.sweep_lanes(&[(&y, [f64::INFINITY, 0.0, 1.0])]).unwrap();
    assert_eq!(lanes.of(&x[0]).unwrap(), [f64::INFINITY, 0.0, 1.0]);
    assert_eq!(lanes.of(&x[1]).unwrap(), [0.0; 3]);
    assert_eq!(lanes.of(&x[2]).unwrap(), [0.0; 3]);
}

fn forward_sweeps_agree<S: Reverse<Value = f64>>() {
    for (name, f, x, expected) in gradients::<S>() {
        let (mut tape, x, y) = recorded::<S>(f, &x);
        for (x, expected) in x.iter().zip(expected) {
            assert_eq!(tape.jvp(&[(x, 1.0)], &[&y]).unwrap(), [expected], "{name}");
        }
    }
    let (mut tape, x, y) = recorded::<S>(with_zeros, &[1.0, 2.0, 3.0]);
    let infinite = [(&x[1], f64::INFINITY), (&x[2], f64::NAN), (&x[0], 2.0)];
    assert_eq!(tape.jvp(&infinite, &[&y]).unwrap(), [2.0]);
}

fn blocks_and_stages<S: Reverse<Value = f64>>() {
    let clipped_above: [Program<S>; 6] = [
        |x| preaccumulate(&[x[0].clone()], |x| x[0].max(0.0).eval()).sqrt().into(),
        |x| preaccumulate(&[x[0].clone()], |x| clipped(x)),
        |x| preaccumulate_by_reverse::<S, _, _, _>(&x.to_vec(), |x: &Vec<Real<S>>| clipped(x)),
        |x| preaccumulate_by_reverse::<PrimalValue, _, _, _>(&x.to_vec(), |x: &Vec<Real<PrimalValue>>| clipped(x)),
        // The infinite adjoint arrives at a stage, and at a stage in a stage.
        |x| closure_stage(|x: &Real<S>| x.max(0.0).eval(), &x[0]).sqrt().eval(),
        |x| {
            let inner = |x: &Real<S>| closure_stage(|x: &Real<S>| (x.max(0.0) * 2.0).eval(), x);
            closure_stage(inner, &x[0]).sqrt().eval()
        },
    ];
    for (k, f) in clipped_above.into_iter().enumerate() {
        assert_eq!(gradient::<S>(f, &[-1.0]), [0.0], "block or stage {k}");
    }
}

/// (x, y) ↦ (max(x, 0), x·y) with rules that multiply as anybody would write it.
struct Plainly {
    x: f64,
    y: f64,
}

impl External<f64> for Plainly {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        let step = f64::from(u8::from(self.x > 0.0));
        inputs[0] += outputs[0] * step + outputs[1] * self.y;
        inputs[1] += outputs[0] * 0.0 + outputs[1] * self.x;
        Ok(())
    }
    fn forward(&self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        let step = f64::from(u8::from(self.x > 0.0));
        outputs[0] = inputs[0] * step + inputs[1] * 0.0;
        outputs[1] = inputs[0] * self.y + inputs[1] * self.x;
        Ok(())
    }
}

fn external_functions<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[-1.0, 3.0]);
        let out = external(&x, &[0.0, -3.0], Plainly { x: -1.0, y: 3.0 });
        (x, vec![(out[0].sqrt() + &out[1]).eval(), out[1].clone()])
    });
    // The first output has an infinite adjoint, the second a finite one.
    assert_eq!(tape.sweep(&[(&y[0], 1.0)]).unwrap().of_all(&x).unwrap(), [3.0, -1.0]);
    let lanes = tape.sweep_lanes(&[(&y[0], [1.0, 0.0, 2.0]), (&y[1], [0.0, f64::INFINITY, 0.0])]).unwrap();
    assert_eq!(lanes.of(&x[0]).unwrap(), [3.0, f64::INFINITY, 6.0]);
    assert_eq!(lanes.of(&x[1]).unwrap(), [-1.0, f64::NEG_INFINITY, -2.0]);
    let infinite = tape.jvp(&[(&x[0], f64::INFINITY), (&x[1], 1.0)], &[&y[0], &y[1]]).unwrap();
    assert_eq!(infinite, [f64::INFINITY, f64::INFINITY]);
}

#[test]
fn a_rule_is_called_once_for_finite_adjoints_and_once_for_each_that_is_not() {
    use std::sync::{Arc, Mutex};
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&calls);
    let rules = Rules::new("three outputs", move |outputs: &[f64], inputs: &mut [f64]| {
        seen.lock().unwrap().push(outputs.to_vec());
        inputs[0] += outputs[0] * 0.0 + outputs[1] * 5.0 + outputs[2] * 7.0;
        Ok(())
    });
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(1.0);
        (x, external(&[x], &[1.0, 2.0, 3.0], rules))
    });
    let found = tape.sweep(&[(&y[0], f64::INFINITY), (&y[1], 1.0), (&y[2], 0.5)]).unwrap().of(&x).unwrap();
    assert_eq!(found, 5.0 + 3.5);
    assert_eq!(*calls.lock().unwrap(), [[0.0, 1.0, 0.5], [1.0, 0.0, 0.0]]);
}

#[test]
fn closures_of_users_too() {
    for (slope, expected) in [(0.0, 0.0), (2.0, f64::INFINITY)] {
        let f = |x: &[Real<Continuation>]| {
            let p = tapewright::continuation(&[&x[0]], 0.0, move |adjoint, x: &mut [f64]| x[0] = adjoint * slope);
            p.sqrt().into()
        };
        assert_eq!(gradient::<Continuation>(f, &[-1.0]), [expected]);
        let mut tape = Tape::<Continuation>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[-1.0]);
            let y = f(&x);
            (x, y)
        });
        assert_eq!(tape.sweep_lanes(&[(&y, [1.0, 0.0])]).unwrap().of(&x[0]).unwrap(), [expected, 0.0]);
        assert_eq!(tape.jvp(&[(&x[0], 1.0)], &[&y]).unwrap(), [expected]);
    }
}

#[test]
fn external_functions_in_forward_mode() {
    let f = |x: &[Real<Tangent<2>>]| {
        let steep = [x[0].sqrt().eval(), x[1]];
        external(&steep, &[0.0, 0.0], Plainly { x: 0.0, y: 3.0 })
    };
    // ∂out₀/∂x₀ = 0·∞, ∂out₁/∂x₀ = 3·∞.
    assert_eq!(jacobian_forward::<Tangent<2>>(f, &[0.0, 3.0]).1, [[0.0, 0.0], [f64::INFINITY, 0.0]]);
}
