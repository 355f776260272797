//! Expressions that become statements: kept, folded twice, wide, or of many types.

use crate::conformance::Outcome;
use crate::conformance::check::{close, ensure, gradient_is, recorded};
use crate::{Real, Reverse, dot, linear_combination, logsumexp, sum};

/// An expression that is folded twice is recorded twice, with the same values.
pub fn expression_folded_twice<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0, 3.0], |x| {
        let product = x[0].clone() * x[1].clone();
        let (first, second) = (product.clone().eval(), product.eval());
        vec![(&first * &second).eval(), first]
    });
    close("the value", recorded.y[0].value(), 36.0)?;
    recorded.sweep_gives("the gradient of (x·y)²", &[1.0, 0.0], &[36.0, 24.0])?;
    let statements = recorded.tape.memory().statements;
    ensure(statements == 3, format_args!("{statements} statements for three assignments"))
}

/// Right-hand sides that read the variable that is assigned: `x = x·x` and `t = x·t + t`.
pub fn variable_assigned_over<S: Reverse>() -> Outcome {
    let f = |v: &[Real<S>]| {
        let mut x = v[0].clone();
        for _ in 0..3 {
            x = (&x * &x).into();
        }
        x
    };
    gradient_is::<S>("x⁸", f, &[1.5], 1.5_f64.powi(8), &[8.0 * 1.5_f64.powi(7)])?;
    let f = |v: &[Real<S>]| {
        let mut t = v[0].clone();
        for _ in 0..3 {
            t = (&v[1] * &t + &t).into();
        }
        t -= &t.clone() * &Real::from(0.5);
        t
    };
    gradient_is::<S>("x·(1 + y)³/2", f, &[2.0, 0.5], 3.375, &[1.6875, 6.75])
}

/// Twenty products of two variables in one expression.
pub fn statement_of_forty_arguments<S: Reverse>() -> Outcome {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) / 8.0 - 2.0).collect();
    // Groups of one type, so that there are few types to compile.
    let f = |v: &[Real<S>]| {
        let p = |i: usize| &v[2 * i] * &v[2 * i + 1];
        let four = |i: usize| (p(i) + p(i + 1)) - (p(i + 2) - p(i + 3));
        (four(0) + four(4) - four(8) + four(12) + four(16)).into()
    };
    let sign = |i: usize| if (i % 4 == 2) == (i / 4 == 2) { 1.0 } else { -1.0 };
    let value = (0..20).map(|i| sign(i) * x[2 * i] * x[2 * i + 1]).sum();
    let gradient: Vec<f64> = (0..40).map(|k| sign(k / 2) * x[k ^ 1]).collect();
    gradient_is::<S>("twenty products", f, &x, value, &gradient)
}

/// 300 values, exact in `f32`, of both signs.
fn many() -> Vec<f64> {
    (0..300).map(|i| f64::from(i % 17) / 4.0 - 2.0).collect()
}

/// The variables, every seventh replaced by a constant of the same value.
fn some_passive<S: Reverse>(x: &[Real<S>]) -> Vec<Real<S>> {
    let or_constant = |(i, x): (usize, &Real<S>)| if i % 7 == 0 { Real::constant(x.value()) } else { x.clone() };
    x.iter().enumerate().map(or_constant).collect()
}

/// A gradient with 0 at every seventh entry.
fn without_passive(gradient: &[f64]) -> Vec<f64> {
    gradient.iter().enumerate().map(|(i, g)| if i % 7 == 0 { 0.0 } else { *g }).collect()
}

/// 300 terms, all active and with passive ones among them.
pub fn wide_sum<S: Reverse>() -> Outcome {
    let x = many();
    let total = x.iter().sum();
    gradient_is::<S>("a sum of 300", |x| sum(x), &x, total, &[1.0; 300])?;
    gradient_is::<S>("a sum with passive terms", |x| sum(&some_passive(x)), &x, total, &without_passive(&[1.0; 300]))
}

/// An inner product of 600 arguments: different slices, the same slice twice, with passive entries.
pub fn wide_dot<S: Reverse>() -> Outcome {
    let x: Vec<f64> = many().into_iter().chain(many().into_iter().rev()).collect();
    let (front, back) = x.split_at(300);
    let product = front.iter().zip(back).map(|(x, y)| x * y).sum();
    let gradient = [back, front].concat();
    gradient_is::<S>("an inner product", |v| dot(&v[..300], &v[300..]), &x, product, &gradient)?;
    let f = |v: &[Real<S>]| {
        let v = some_passive(v);
        dot(&v[..300], &v[300..])
    };
    gradient_is::<S>("an inner product with passive entries", f, &x, product, &without_passive(&gradient))?;
    let square = front.iter().map(|x| x * x).sum();
    let gradient: Vec<f64> = front.iter().map(|x| 2.0 * x).collect();
    gradient_is::<S>("a square", |v| dot(v, v), front, square, &gradient)
}

/// 300 coefficients, all arguments active and with passive ones among them.
pub fn wide_linear_combination<S: Reverse>() -> Outcome {
    let x = many();
    let coefficients: Vec<f64> = (0..300).map(|i| f64::from(i % 5) - 1.5).collect();
    let value = x.iter().zip(&coefficients).map(|(x, c)| c * x).sum();
    let f = |v: &[Real<S>]| linear_combination(&coefficients, v);
    gradient_is::<S>("a linear combination", f, &x, value, &coefficients)?;
    let f = |v: &[Real<S>]| linear_combination(&coefficients, &some_passive(v));
    gradient_is::<S>("one with passive arguments", f, &x, value, &without_passive(&coefficients))
}

/// Functions of no arguments are passive; functions of one are right.
pub fn empty_slices<S: Reverse>() -> Outcome {
    let none: [Real<S>; 0] = [];
    gradient_is::<S>("an empty sum", |_| sum(&none), &[1.0], 0.0, &[0.0])?;
    gradient_is::<S>("an empty inner product", |_| dot(&none, &none), &[1.0], 0.0, &[0.0])?;
    gradient_is::<S>("an empty linear combination", |_| linear_combination(&[], &none), &[1.0], 0.0, &[0.0])?;
    gradient_is::<S>("a sum of one", |x| sum(x), &[1.5], 1.5, &[1.0])?;
    gradient_is::<S>("ln Σ exp of one", |x| logsumexp(x), &[1.5], 1.5, &[1.0])
}
