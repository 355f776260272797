//! Every strategy as the recording and as its base, several adjoint vectors, forward sweeps, and third derivatives.

use super::{assert_close, second};
use tapewright::prelude::*;
use tapewright::{
    Closed, Dual, Nested, Number, Rules, dot, external, hessian, hvp, linear_combination, logsumexp, preaccumulate,
    value_and_gradient,
};

/// Smooth, with every kind of statement: products, functions, literals, passive variables, sums over slices, a block,
/// an external function.
pub(super) fn energy<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut y = (&x[0] * &x[1] + x[2].sin()).eval();
    let passive = Real::<S>::from(0.3);
    for k in 0..5 {
        let (a, b) = (&x[k % 3], &x[(k + 1) % 3]);
        y = (&y * 0.9 + (a * b).exp() * &passive - (a / (b * b + 1.0)).tanh()).eval();
    }
    let inner = dot(x, &[y.clone(), x[0].clone(), passive]);
    let weighed = linear_combination(&[0.5, -0.25, 2.0].map(Number::from_f64), x);
    let block = preaccumulate(&[x[0].clone(), x[2].clone()], |[a, b]| ((a * b).sin() + a * a).eval());
    let cube = external(core::slice::from_ref(&y), &[y.value() * y.value() * y.value()], cube(y.value()));
    (inner * logsumexp(x) + &block * &y + &cube[0] * weighed).into()
}

/// The rule of x³.
fn cube<V: Number>(x: V) -> Rules<V> {
    Rules::new("a cube", move |outputs: &[V], inputs: &mut [V]| {
        inputs[0] += outputs[0] * V::from_f64(3.0) * x * x;
        Ok(())
    })
}

pub(super) const AT: [f64; 3] = [0.4, -0.7, 1.1];

pub(super) fn expected() -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    hessian::<Jacobian<Dual<f64, 3>>>(energy, &AT)
}

/// The test `name` for each pair of base and strategy.
macro_rules! under {
    ($($name:ident $base:ty, $strategy:ident $($parameters:ty),*;)*) => { $(
        #[test]
        fn $name() {
            let (value, gradient, rows) = second::<$base, $strategy<Nested<$base> $(, $parameters)*>>(energy, &AT);
            let (expected, slopes, hessian) = expected();
            assert_eq!(value, expected);
            assert_close(&gradient, &slopes);
            rows.iter().zip(&hessian).for_each(|(row, expected)| assert_close(row, expected));
        }
    )* };
}
under! {
    jacobian_of_primal_value PrimalValue, Jacobian;
    primal_value_reuse Jacobian, PrimalValue Reuse;
    continuation Jacobian, Continuation;
}
#[cfg(feature = "wide")]
under! {
    jacobian_shared Jacobian, Jacobian Linear, Shared;
    jacobian_of_hybrid Hybrid, Jacobian;
    hybrid_of_continuation Continuation, Hybrid;
    continuation_reuse Jacobian, Continuation Reuse;
}

type Base = Jacobian;
type Twice = Jacobian<Nested<Base>>;

/// The gradient of a function of the whole gradient, |∇f|²: 2·H·∇f.
#[test]
fn a_function_of_a_gradient() {
    let square = |x: &[Real<Base>]| -> Real<Base> {
        let slopes = gradient::<PrimalValue<Nested<Base>>>(energy, Real::numbers(x));
        slopes.iter().map(|slope| Real::from(*slope) * Real::from(*slope)).sum()
    };
    let (found, slope) = value_and_gradient::<Base>(square, &AT);
    let (_, gradient, _) = expected();
    let (_, _, product) = hvp::<Jacobian<Dual<f64, 1>>>(energy, &AT, &gradient);
    assert_close(&[found], &[gradient.iter().map(|g| g * g).sum()]);
    assert_close(&slope, &product.iter().map(|p| 2.0 * p).collect::<Vec<f64>>());
}

/// d/dx [x · d/dy (x·y²) at y = 3·x] = d/dx [6·x³] = 18·x².
#[test]
fn a_derivative_inside_a_function_that_captures_its_variables() {
    let f = |x: &[Real<Base>]| -> Real<Base> {
        let captured = Real::<Twice>::constant(x[0].into());
        let y = (x[0] * 3.0).eval();
        let slope = gradient::<Twice>(|y| (captured * y[0] * y[0]).into(), &[y.into()]);
        (x[0] * Real::from(slope[0])).into()
    };
    let (value, slope) = value_and_gradient::<Base>(f, &[2.0]);
    assert_eq!((value, slope), (48.0, vec![72.0]));
}

/// Closed variables are numbers, too, and are computed with inside the base.
#[test]
fn closed_variables_of_the_base() {
    let f = |x: &[Real<Base>]| -> Real<Base> {
        let y = Closed::from(x[0]) * 3.0;
        let slope = gradient::<Twice>(|y| (y[0] * y[0] * y[0]).into(), &[y.into()]);
        (Closed::from(slope[0]) * Closed::from(x[0])).open()
    };
    // 3·(3x)²·x = 27x³.
    assert_eq!(value_and_gradient::<Base>(f, &[2.0]), (216.0, vec![324.0]));
}

/// x³·y: all third derivatives that are not 0, by a base of a base and by a base over duals.
#[test]
fn third_derivatives() {
    type Middle = Jacobian<Nested<Base>>;
    type Third = PrimalValue<Nested<Middle>>;
    type OverDuals = Jacobian<Dual<f64, 1>>;
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        (x[0] * x[0] * x[0] * x[1]).into()
    }
    let at = [2.0, 5.0];
    let second = |x: &[Real<Base>]| -> Real<Base> {
        let first = |x: &[Real<Middle>]| -> Real<Middle> {
            gradient::<Third>(f, Real::numbers(x))[0].into() // 3x²y
        };
        gradient::<Middle>(first, Real::numbers(x))[0].into() // 6xy
    };
    assert_eq!(value_and_gradient::<Base>(second, &at), (60.0, vec![30.0, 12.0]));

    let slope = |x: &[Real<OverDuals>]| -> Real<OverDuals> {
        gradient::<Hybrid<Nested<OverDuals>>>(f, Real::numbers(x))[0].into()
    };
    let (value, gradient, product) = hvp::<OverDuals>(slope, &at, &[1.0, 0.0]);
    assert_eq!((value, gradient, product), (60.0, vec![60.0, 12.0], vec![30.0, 12.0]));
}

/// Without external functions, which have no rule for forward sweeps here.
fn smooth<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let y = ((&x[0] * &x[1]).exp() + x[2].sin()).eval();
    (logsumexp(x) * &y - &x[0] * 0.5).into()
}

#[test]
fn several_adjoint_vectors_and_a_forward_sweep() {
    let (_, gradient, rows) = hessian::<Jacobian<Dual<f64, 3>>>(smooth, &AT);
    let mut base = Tape::<Base>::new();
    let (inputs, found) = base.record(|scope| {
        let inputs = scope.inputs(&AT);
        let mut tape = Tape::<PrimalValue<Nested<Base>>>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(Real::numbers(&inputs));
            let y = smooth(&x);
            (x, y)
        });
        let [one, two] = [1.0, 2.0].map(Nested::from_f64);
        let lanes = tape.sweep_lanes(&[(&y, [one, two, Nested::ZERO])]).expect("its own").of(&x[0]).expect("its own");
        let forward = tape.jvp(&[(&x[0], one)], &[&y]).expect("its own");
        (inputs, [lanes[0], lanes[1], lanes[2], forward[0]])
    });
    for (number, factor) in found.iter().zip([1.0, 2.0, 0.0, 1.0]) {
        assert_close(&[number.value()], &[factor * gradient[0]]);
        let row = base.sweep(&[(&Real::from(*number), 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs));
        let expected: Vec<f64> = rows[0].iter().map(|entry| factor * entry).collect();
        assert_close(&row.expect("its own"), &expected);
    }
}

/// A recording that is replayed at other inputs is recorded on the base then, and needs nothing of the base that it was
/// recorded on. The base itself cannot be replayed: its statements hold partials.
#[test]
fn a_replay_in_another_recording_of_the_base() {
    type Base = PrimalValue;
    let (mut base, mut tape) = (Tape::<Base>::new(), Tape::<PrimalValue<Nested<Base>>>::new());
    let (x, y) = base.record(|scope| {
        let inputs = scope.inputs(&[0.1, 0.2, 0.3]);
        tape.record(|scope| {
            let x = scope.inputs(Real::numbers(&inputs));
            let y = smooth(&x);
            (x, y)
        })
    });
    let (inputs, slope) = base.record(|scope| {
        let inputs = scope.inputs(&AT);
        let new: Vec<_> = x.iter().zip(Real::numbers(&inputs).iter().copied()).collect();
        tape.replay(&new).expect("it can be replayed");
        let slope = tape.sweep(&[(&y, Nested::ONE)]).and_then(|adjoints| adjoints.of(&x[0])).expect("its own");
        (inputs, slope)
    });
    let (_, gradient, rows) = hessian::<Jacobian<Dual<f64, 3>>>(smooth, &AT);
    assert_close(&[slope.value()], &gradient[..1]);
    let row = base.sweep(&[(&slope.into(), 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs)).expect("its own");
    assert_close(&row, &rows[0]);
    assert!(base.replay(&[(&inputs[0], 0.5)]).is_err());
}

/// Forward mode over a base: the slope is a variable.
#[test]
fn forward_mode_over_reverse_mode() {
    let f = |x: &[Real<Base>]| -> Real<Base> {
        let x = Nested::from(x[0]);
        let (_, slope) = tapewright::value_and_derivative(|x: Real<Tangent<1, Nested<Base>>>| (x.sin() * x).into(), x);
        slope.into()
    };
    let (sin, cos) = 0.7_f64.sin_cos();
    let (value, slope) = value_and_gradient::<Base>(f, &[0.7]);
    assert_close(&[value, slope[0]], &[sin + 0.7 * cos, 2.0 * cos - 0.7 * sin]);
}

/// A seed whose value is 0 and which depends on an input counts: y = (x − 1)², swept from an adjoint that is 0 at x = 1.
#[test]
fn an_active_zero_is_propagated() {
    let f = |x: &[Real<Base>]| -> Real<Base> {
        let mut tape = Tape::<Twice>::new();
        let at = Nested::from(x[0]);
        let (x, y) = tape.record(|scope| {
            let x = scope.input(at);
            let u = (x - 1.0).eval();
            (x, (u * u * 0.5).eval())
        });
        let zero = at - Nested::ONE;
        tape.sweep(&[(&y, zero + Nested::ONE)]).and_then(|adjoints| adjoints.of(&x)).expect("its own").into()
    };
    // x·(x − 1), whose derivative at 1 is 1.
    assert_eq!(value_and_gradient::<Base>(f, &[1.0]), (0.0, vec![1.0]));
}

/// What goes to a file by parts comes back as the same variable.
#[test]
fn parts_are_exact() {
    let mut base = Tape::<Base>::new();
    base.record(|scope| {
        let x = Nested::from(scope.inputs(&[0.1, -0.3])[1]);
        let back = <Nested<Base> as Number>::from_parts(|k| x.part(k));
        assert_eq!((back, back.id().index()), (x, 2));
        let dual = Dual { value: x, tangents: [Nested::ONE] };
        assert_eq!(Dual::from_parts(|k| dual.part(k)), dual);
        assert_ne!(Nested::<Base>::constant(-0.3), x, "every part is compared");
    });
}

/// Arithmetic with what is exactly 0 or 1 records nothing, and what has no derivative is passive.
#[test]
fn what_is_not_recorded() {
    let mut base = Tape::<Base>::new();
    let statements = |base: &mut Tape<Base>, f: fn(Nested<Base>) -> Nested<Base>| {
        let y = base.record(|scope| f(scope.input(3.0).into()));
        (base.memory().statements, y.value(), y.id().is_active())
    };
    let zero = Nested::<Base>::ZERO;
    assert_eq!(statements(&mut base, |x| x + Nested::ZERO), (0, 3.0, true));
    assert_eq!(statements(&mut base, |x| Nested::ONE * x * Nested::ONE), (0, 3.0, true));
    assert_eq!(statements(&mut base, |x| x * Nested::ZERO), (0, 0.0, false));
    assert_eq!(statements(&mut base, |x| Nested::ZERO.contribution(x)), (0, 0.0, false));
    assert_eq!(statements(&mut base, Number::floor), (0, 3.0, false));
    assert_eq!(statements(&mut base, |x| x - x), (1, 0.0, true));
    assert_eq!(statements(&mut base, |x| -x + Nested::ONE - (x * x).exp()), (5, -2.0 - 9.0_f64.exp(), true));
    assert!(zero.is_nought() && !zero.is_ordinary());
    // −0 + 0 is 0, and the sum is another variable then.
    let y = base.record(|scope| Nested::from(scope.input(-0.0)) + Nested::ZERO);
    assert_eq!((y.value().to_bits(), y.id().index()), (0.0_f64.to_bits(), 2));
}
