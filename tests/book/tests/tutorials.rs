//! The tutorials of `CoDiPack` and the samples of XAD, as their users would write them here: the same functions, the
//! same inputs, and what their programs print. The chapter "From `CoDiPack`, XAD, Stan and Adept" lists them.

#![allow(clippy::cast_precision_loss, reason = "small numbers")]

use tapewright::external::CallbackAdjoints;
use tapewright::{
    Dual, Error, External, PrimalValue, Reuse, SweepError, checkpoint, external, hessian, hvp, prelude::*,
};

fn cube<S: Strategy>(x: &Real<S>) -> Real<S> {
    (x * x * x).into()
}

#[test]
fn codipack_1_forward_mode() {
    let x = Real::<Tangent>::with_tangent(4.0, [1.0]);
    let y = cube(&x);
    assert_eq!((y.value(), y.tangent()), (64.0, [48.0]));
}

#[test]
fn codipack_2_reverse_mode() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(4.0);
        let y = cube(&x);
        (x, y)
    });
    let adjoints = tape.sweep(&[(&y, 1.0)])?;
    assert_eq!((y.value(), adjoints.of(&x)?), (64.0, 48.0));
    Ok(())
}

/// The sum and the product of the inputs.
fn sum_and_product<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    let mut y = vec![Real::from(0.0), Real::from(1.0)];
    for x in x {
        y[0] += x;
        y[1] *= x;
    }
    y
}

const AT: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const ROWS: [[f64; 5]; 2] = [[1.0; 5], [120.0, 60.0, 40.0, 30.0, 24.0]];

#[test]
fn codipack_3_full_jacobian() -> Result<(), Error> {
    // One input after the other, forward.
    for j in 0..5 {
        let mut x = AT.map(Real::<Tangent>::from);
        x[j] = Real::with_tangent(AT[j], [1.0]);
        let y = sum_and_product(&x);
        assert_eq!([y[0].tangent(), y[1].tangent()], [[ROWS[0][j]], [ROWS[1][j]]]);
    }
    // One output after the other, in reverse.
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&AT);
        let y = sum_and_product(&x);
        (x, y)
    });
    for (y, row) in y.iter().zip(ROWS) {
        assert_eq!(tape.sweep(&[(y, 1.0)])?.of_all(&x)?, row);
    }
    // Or by a call.
    assert_eq!(jacobian::<Jacobian>(sum_and_product, &AT), (vec![15.0, 120.0], ROWS.map(Vec::from).to_vec()));
    Ok(())
}

#[test]
fn codipack_4_vector_mode() -> Result<(), Error> {
    let x: [_; 5] = core::array::from_fn(|j| {
        let mut direction = [0.0; 5];
        direction[j] = 1.0;
        Real::<Tangent<5>>::with_tangent(AT[j], direction)
    });
    let y = sum_and_product(&x);
    assert_eq!([y[0].tangent(), y[1].tangent()], ROWS);

    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&AT);
        let y = sum_and_product(&x);
        (x, y)
    });
    let adjoints = tape.sweep_lanes(&[(&y[0], [1.0, 0.0]), (&y[1], [0.0, 1.0])])?;
    for (j, x) in x.iter().enumerate() {
        assert_eq!(adjoints.of(x)?, [ROWS[0][j], ROWS[1][j]]);
    }
    Ok(())
}

/// Over `Taping`, as it is called with reused indices, too.
fn with_global<S: Taping<Value = f64>>(x: &Real<S>, updates: bool, global: &mut Real<S>) -> Real<S> {
    let t = (x * x).eval();
    if updates {
        *global = (&t * x).into();
    }
    let t2 = (x + &t).eval();
    (&*global * &t2).into()
}

/// A variable of the last recording is a panic, where the original computes a wrong derivative; made a constant, it is
/// one.
#[test]
fn codipack_5_repeated_recordings() -> Result<(), Error> {
    fn run<S: Reverse<Value = f64>>() -> Result<(), Error> {
        let (mut tape, mut global) = (Tape::<S>::new(), Real::from(0.0));
        let mut once = |updates: bool, global: &mut Real<S>| {
            let (x, y) = tape.record(|scope| {
                let x = scope.input(4.0);
                let y = with_global(&x, updates, global);
                (x, y)
            });
            Ok::<_, Error>((y.value(), tape.sweep(&[(&y, 1.0)])?.of(&x)?))
        };
        assert_eq!(once(true, &mut global)?, (1280.0, 1536.0));
        let stale = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| once(false, &mut global.clone())));
        assert!(stale.is_err());
        global = global.value().into();
        assert_eq!(once(false, &mut global)?, (1280.0, 576.0));
        Ok(())
    }
    run::<Jacobian>()?;
    run::<Jacobian<f64, Reuse>>()
}

fn seventh<S: Strategy>(x: &Real<S>) -> Real<S> {
    let t = (x * x * x * x * x * x * x).eval();
    (t * 3.0).into()
}

type Second = Dual<f64, 1>;
type Third = Dual<Second, 1>;

/// Second derivatives by duals; higher ones by duals of duals.
#[test]
fn codipack_6_higher_orders() {
    let one = Second::constant(1.0);
    let x = Real::<Tangent<1, Second>>::with_tangent(Second { value: 2.0, tangents: [1.0] }, [one]);
    let [slope] = seventh(&x).tangent();
    assert_eq!((slope.value, slope.tangents), (21.0 * 64.0, [126.0 * 32.0]));

    let at = Third { value: Second { value: 2.0, tangents: [1.0] }, tangents: [one] };
    let mut tape = Tape::<Jacobian<Third>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(at);
        let y = seventh(&x);
        (x, y)
    });
    let seed = Third::constant(one);
    let slope = tape.sweep(&[(&y, seed)]).and_then(|adjoints| adjoints.of(&x)).expect("its own variables");
    assert_eq!(slope.tangents[0].tangents, [630.0 * 16.0]);
}

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    f2(x)[0]
}

fn f2<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    let a = (x[0].sin() * x[1].cos()).eval();
    let b = (x[2] * x[3] - (x[1] - x[2]).tan()).eval();
    let c = (a + 2.0 * b).eval();
    vec![(c * c).into(), (4.0 * c + b).into()]
}

const X: [f64; 4] = [1.0, 1.5, 1.3, 1.2];

/// The gradients of both outputs of `f2`, written by hand.
fn slopes() -> [[f64; 4]; 2] {
    let [x0, x1, x2, x3] = X;
    let tan = 1.0 + (x1 - x2).tan().powi(2);
    let a = [x0.cos() * x1.cos(), -x0.sin() * x1.sin(), 0.0, 0.0];
    let b = [0.0, -tan, x3 + tan, x2];
    let c = x0.sin() * x1.cos() + 2.0 * (x2 * x3 - (x1 - x2).tan());
    let of = |k: usize| a[k] + 2.0 * b[k];
    [core::array::from_fn(|k| 2.0 * c * of(k)), core::array::from_fn(|k| 4.0 * of(k) + b[k])]
}

fn assert_close(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * (1.0 + b.abs());
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?}, not {expected:?}");
}

#[test]
fn xad_first_order_in_both_modes() -> Result<(), Error> {
    let (value, gradient) = value_and_gradient::<Jacobian>(f, &X); // adj_1st
    let mut x = X.map(Real::<Tangent>::from); // fwd_1st
    x[0] = Real::with_tangent(X[0], [1.0]);
    let y = f(&x);
    assert_close(&gradient, &slopes()[0]);
    assert_close(&y.tangent(), &slopes()[0][..1]);
    assert_close(&[y.value()], &[value]);

    let (_, rows) = jacobian_forward::<Tangent<4>>(f2, &X); // fwdvec_1st
    let mut tape = Tape::<Jacobian>::new(); // adjvec_1st
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&X);
        let y = f2(&x);
        (x, y)
    });
    let adjoints = tape.sweep_lanes(&[(&y[0], [1.0, 0.0]), (&y[1], [0.0, 1.0])])?;
    for (k, (row, expected)) in rows.iter().zip(slopes()).enumerate() {
        let swept = x.iter().map(|x| Ok(adjoints.of(x)?[k])).collect::<Result<Vec<f64>, Error>>()?;
        assert_close(&swept, &expected);
        assert_close(row, &expected);
    }
    Ok(())
}

fn waves<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    ((x[0] * x[1]).sin() - (x[1] * x[2]).cos() - (x[2] * x[3]).sin() - (x[3] * x[0]).cos()).into()
}

#[test]
fn xad_second_order() {
    // fwd_adj_2nd: the gradient and the first row of the Hessian matrix.
    let (_, gradient, row) = hvp::<Jacobian<Dual<f64, 1>>>(f, &X, &[1.0, 0.0, 0.0, 0.0]);
    let (_, _, all) = hessian::<PrimalValue<Dual<f64, 4>>>(f, &X);
    assert_close(&gradient, &slopes()[0]);
    assert_close(&row, &all[0]);
    // Hessian: of a closure.
    let (_, _, matrix) = hessian::<PrimalValue<Dual<f64, 4>>>(waves, &X);
    let [x0, x1, _, x3] = X;
    let corner = -x1 * x1 * (x0 * x1).sin() + x3 * x3 * (x3 * x0).cos();
    assert_close(&[matrix[0][0], matrix[0][2]], &[corner, 0.0]);
}

#[test]
fn xad_jacobian() {
    let waves = |x: &[Real<Jacobian>]| {
        vec![
            (x[0] + x[1]).sin().eval(),
            (x[1] + x[2]).sin().eval(),
            (x[2] + x[3]).cos().eval(),
            (x[3] + x[0]).cos().eval(),
        ]
    };
    let (_, rows) = jacobian::<Jacobian>(waves, &X);
    assert_close(&rows[0], &[2.5_f64.cos(), 2.5_f64.cos(), 0.0, 0.0]);
    assert_close(&rows[3], &[-2.2_f64.sin(), 0.0, 0.0, -2.2_f64.sin()]);
}

#[test]
fn xad_checkpointing() -> Result<(), Error> {
    fn repeated_sin<S: Strategy>(n: usize, x: &Real<S>) -> Real<S> {
        (0..n).fold(*x, |x, _| x.sin().into())
    }
    let (n, distance) = (20, 4);
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.1);
        let y = (0..n).step_by(distance).fold(x, |y, i| {
            let m = distance.min(n - i);
            checkpoint!(Jacobian, &y, move |y| repeated_sin(m, y))
        });
        (x, y)
    });
    let (value, slope) = value_and_gradient::<Jacobian>(|x| repeated_sin(n, &x[0]), &[2.1]);
    assert_eq!((y.value(), vec![tape.sweep(&[(&y, 1.0)])?.of(&x)?]), (value, slope));
    Ok(())
}

/// A library's function, for plain numbers only.
fn sum_elements(x: &[f64]) -> f64 {
    x.iter().sum()
}

#[test]
fn xad_external_function() -> Result<(), Error> {
    // A callback, as there.
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&X);
        let y = sum_elements(&X);
        let y = scope.insert_callback(&x, &[y], |adjoints: &mut CallbackAdjoints<f64>| {
            let seed = adjoints.get_and_reset_output(0);
            (0..4).for_each(|k| adjoints.increment_input(k, seed));
            Ok(())
        });
        (x, y)
    });
    assert_eq!(tape.sweep(&[(&y[0], 2.0)])?.of_all(&x)?, [2.0; 4]);
    // A rule, for both modes.
    let of_rule = |x: &[Real<Jacobian>]| external_sum(x);
    assert_eq!(value_and_gradient::<Jacobian>(of_rule, &X), (5.0, vec![1.0; 4]));
    let x = X.map(|x| Real::<Tangent>::with_tangent(x, [0.5]));
    assert_eq!(external_sum(&x).tangent(), [2.0]);
    Ok(())
}

/// The rule of [`sum_elements`].
struct Sum;

impl External<f64> for Sum {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs.iter_mut().for_each(|x| *x += outputs[0]);
        Ok(())
    }
    fn forward(&self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        outputs[0] = sum_elements(inputs);
        Ok(())
    }
}

fn external_sum<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let values: Vec<f64> = x.iter().map(Real::peek).collect();
    external(x, &[sum_elements(&values)], Sum)[0]
}

fn price_swap<S: Strategy>(
    discount: &[Real<S>],
    pays_fixed: bool,
    maturities: &[f64],
    floating: &[f64],
    fixed: f64,
    face: f64,
) -> Real<S> {
    let n = discount.len();
    let (mut fix, mut flt) = (Real::from(0.0), Real::from(0.0));
    for t in 0..n {
        fix += face * fixed / (1.0 + discount[t]).powf(maturities[t]);
        flt += face * floating[t] / (1.0 + discount[t]).powf(maturities[t]);
    }
    fix += face / (1.0 + discount[n - 1]).powf(maturities[n - 1]);
    flt += face / (1.0 + discount[n - 1]).powf(maturities[n - 1]);
    if pays_fixed { (flt - fix).into() } else { (fix - flt).into() }
}

#[test]
fn xad_swap_pricer() {
    let n: usize = 30;
    let rates: Vec<f64> = (0..n).map(|k| 0.01 + 0.002 * k as f64).collect();
    let maturities: Vec<f64> = (1..=n).map(|k| k as f64).collect();
    let floating: Vec<f64> = (0..n).map(|k| 0.05 - 0.001 * k as f64).collect();
    let swap = |x: &[Real<Jacobian>]| price_swap(x, true, &maturities, &floating, 0.03, 1e7);
    let (_, slopes) = value_and_gradient::<Jacobian>(swap, &rates);
    let expected: Vec<f64> = (0..n)
        .map(|k| -maturities[k] * 1e7 * (floating[k] - 0.03) * (1.0 + rates[k]).powf(-maturities[k] - 1.0))
        .collect();
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1e5);
    assert!(slopes.iter().zip(&expected).all(close), "{slopes:?}, not {expected:?}");
}
