//! Statements some of whose arguments are passive.

use crate::conformance::Outcome;
use crate::conformance::check::{all_close, close, constant, ensure, floats, is_passive, recorded};
use crate::{Real, Reverse, dot, linear_combination, sum};

/// Runs `f` for all activity patterns of its three arguments; `gradient` is the gradient for the pattern in which all
/// are active.
fn every_pattern<S: Reverse>(at: [f64; 3], f: fn(&[Real<S>; 3]) -> Real<S>, value: f64, gradient: [f64; 3]) -> Outcome {
    for pattern in 0..8 {
        let active = |i: usize| pattern >> i & 1 == 1;
        let mut recorded = recorded::<S>(&at, |x| {
            vec![f(&core::array::from_fn(|i| if active(i) { x[i].clone() } else { constant(at[i]) }))]
        });
        let what = format!("activity pattern {pattern:03b}");
        close(&format!("the value for {what}"), recorded.y[0].value(), value)?;
        ensure(is_passive(&recorded.y[0]) == (pattern == 0), format_args!("wrong activity of the result for {what}"))?;
        let expected: [f64; 3] = core::array::from_fn(|i| if active(i) { gradient[i] } else { 0.0 });
        recorded.sweep_gives(&format!("the gradient for {what}"), &[1.0], &expected)?;
        let statements = recorded.tape.memory().statements;
        ensure(statements == usize::from(pattern != 0), format_args!("{statements} statements for {what}"))?;
    }
    Ok(())
}

/// x·y + sin(z)·x, a literal among them, with every subset of its variables active.
pub fn every_activity_pattern<S: Reverse>() -> Outcome {
    let [x, y, z]: [f64; 3] = [1.5, -2.0, 0.25];
    let f = |v: &[Real<S>; 3]| (&v[0] * &v[1] + v[2].sin() * &v[0] * 2.0).into();
    every_pattern([x, y, z], f, x * y + 2.0 * z.sin() * x, [y + 2.0 * z.sin(), x, 2.0 * x * z.cos()])?;
    every_pattern([x, y, z], |v: &[Real<S>; 3]| (&v[0] - (&v[1] - &v[2])).into(), x - y + z, [1.0, -1.0, 1.0])
}

/// Functions of slices, with every subset of their variables active.
pub fn every_activity_pattern_of_slices<S: Reverse>() -> Outcome {
    const COEFFICIENTS: [f64; 3] = [4.0, 0.5, -1.0];
    let at @ [x, y, z] = [1.5, -2.0, 0.25];
    every_pattern(at, |v: &[Real<S>; 3]| sum(v), x + y + z, [1.0; 3])?;
    every_pattern(at, |v: &[Real<S>; 3]| dot(v, v), x * x + y * y + z * z, [2.0 * x, 2.0 * y, 2.0 * z])?;
    let value = 4.0 * x + 0.5 * y - z;
    every_pattern(at, |v: &[Real<S>; 3]| linear_combination(&COEFFICIENTS, v), value, COEFFICIENTS)
}

/// A loop over passive data inside a recording leaves nothing on the tape.
pub fn passive_statements_record_nothing<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0], |x| {
        let mut passive: Real<S> = constant(1.0);
        for _ in 0..100 {
            passive = (&passive * 0.25 + &passive * 0.125).into();
            passive += sum(&[passive.clone(), passive.clone()]);
        }
        let _ = passive;
        vec![(&x[0] * 3.0).eval()]
    });
    let statements = recorded.tape.memory().statements;
    ensure(
        statements == 1,
        format_args!("{statements} statements were recorded, only one of which has active arguments"),
    )?;
    recorded.sweep_gives("the gradient", &[1.0], &[3.0])
}

/// Literals, constants and what is computed from them carry no identifier, and their adjoint is 0.
pub fn passive_results_stay_passive<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0], |x| {
        let passive: [Real<S>; 4] =
            [Real::from(2.0), Real::default(), (&constant::<S>(2.0) * 2.0).eval(), x[0].floor()];
        passive.into_iter().chain([(&x[0] * 2.0).eval()]).collect()
    });
    for variable in &recorded.y[..4] {
        ensure(is_passive(variable), format_args!("the passive variable {variable} is active"))?;
    }
    ensure(!is_passive(&recorded.y[4]), "a variable that depends on an input is passive")?;
    let adjoints = recorded.tape.sweep_all(&recorded.y, &floats(&[1.0; 5]))?.of_all(&recorded.y[..4])?;
    all_close("the adjoints of passive variables", &adjoints, &[0.0; 4])
}

/// One statement in a loop, its arguments active in one round and passive in the next.
pub fn activity_changes_between_identical_statements<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0, 3.0], |x| {
        let mut total = Real::default();
        for round in 0..8 {
            let a = if round % 2 == 0 { x[0].clone() } else { constant(2.0) };
            let b = if round % 4 < 2 { x[1].clone() } else { constant(3.0) };
            let term = (&a * &b * &a).eval();
            total += &term;
        }
        vec![total]
    });
    // a is active in rounds 0, 2, 4, 6; b in rounds 0, 1, 4, 5.
    recorded.sweep_gives("the gradient", &[1.0], &[4.0 * 12.0, 4.0 * 4.0])
}
