//! More types of statements than a tape has codes for.

use super::{Keeps, Layout, recorded};
use tapewright::prelude::*;
use tapewright::{Number, linear_combination};

/// Four choices at each of four levels make 256 types, more than a tape has codes for.
const LEVELS: usize = 4;
const CODES: usize = 208;

/// Records one statement; a function of its own for each type, so that none becomes too large to compile quickly.
#[inline(never)]
fn record<S: Taping, E: Into<Real<S>>>(expression: E) -> Real<S> {
    expression.into()
}

/// Pushes −x₀ with x₁ … x₄ added, subtracted, or subtracted from, in all ways: one statement of each type.
macro_rules! all_signs {
    ($x:ident $out:ident $e:expr;) => { $out.push(record::<S, _>($e)) };
    ($x:ident $out:ident $e:expr; $level:literal $($rest:literal)*) => {
        all_signs!($x $out $e + &$x[$level]; $($rest)*);
        all_signs!($x $out $e - &$x[$level]; $($rest)*);
        all_signs!($x $out &$x[$level] + ($e); $($rest)*);
        all_signs!($x $out &$x[$level] - ($e); $($rest)*);
    };
}

fn statements_of_all_signs<S: Taping>(x: &[Real<S>], out: &mut Vec<Real<S>>) {
    all_signs!(x out -&x[0]; 1 2 3 4);
}

/// The sign with which each argument occurs in statement `k`.
fn signs(k: usize) -> [f64; LEVELS + 1] {
    let mut signs = [-1.0, 0.0, 0.0, 0.0, 0.0];
    for level in 1..=LEVELS {
        let choice = k >> (2 * (LEVELS - level)) & 3;
        signs[level] = if choice == 1 { -1.0 } else { 1.0 };
        if choice == 3 {
            signs[..level].iter_mut().for_each(|sign| *sign = -*sign);
        }
    }
    signs
}

fn assert_more_types_than_codes<S: Layout>(extra: usize) {
    let mut tape = Tape::<S>::new();
    let values = [0.0, 1.5, 3.0, 4.5, 6.0].map(S::Value::from_f64);
    let all = 1 << (2 * LEVELS);
    let weights: Vec<f64> = (-100..).take(all).map(f64::from).collect();
    for _ in 0..3 {
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&values);
            let mut terms = Vec::new();
            statements_of_all_signs(&x, &mut terms);
            assert_eq!(terms.len(), all);
            let y = linear_combination(&weights, &terms);
            (x, y)
        });
        let bytes = recorded(&tape.memory());
        // The values of the inputs and of slot 0, if they are kept; the combination; the statements.
        let inputs = if S::KEEPS == Keeps::Values { (LEVELS + 2) * S::V } else { 0 };
        let typed = S::documented([LEVELS + 1, 0, 0], 0);
        assert_eq!(bytes, inputs + (S::FIXED + S::PAIR * all + 4) + all * typed + (all - CODES) * extra);
        let adjoints = tape.sweep(&[(&y, S::Value::ONE)]).expect("the variables are the tape's");
        for (level, x) in x.iter().enumerate() {
            let expected: f64 = weights.iter().enumerate().map(|(k, w)| w * signs(k)[level]).sum();
            let found = adjoints.of(x).map(Number::as_f64);
            assert_eq!(found, Ok(expected), "argument {level}");
        }
    }
}

#[test]
fn jacobian_statements_beyond_208_shapes_keep_one_partial_for_each_argument() {
    assert_more_types_than_codes::<Jacobian>(8 * (LEVELS + 1));
}

#[test]
fn primal_value_statements_beyond_208_types_take_8_bytes_more() {
    assert_more_types_than_codes::<PrimalValue>(8);
}

#[test]
fn beyond_208_types_passive_arguments_cost_as_before() {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.inputs(&[1.0; LEVELS + 1]);
        statements_of_all_signs(&x, &mut Vec::new());
        x[3] = Real::from(2.0);
        let mut terms = Vec::new();
        statements_of_all_signs(&x, &mut terms);
        (x, terms.pop().expect("256 terms"))
    });
    let inputs = 8 + 8 * (LEVELS + 1);
    let typed = 9 + 4 * (LEVELS + 1);
    assert_eq!(recorded(&tape.memory()), inputs + 512 * typed + (512 - CODES) * 8 + 256 * 8);
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
    let expected = signs(255);
    assert_eq!(adjoints.of_all(&x), Ok(vec![expected[0], expected[1], expected[2], 0.0, expected[4]]));
}

/// Under a strategy whose bytes beyond 208 types no test counts.
#[test]
#[cfg(feature = "wide")]
fn beyond_208_types_derivatives_are_right_whatever_the_record() {
    type S = Hybrid<f64, Reuse>;
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.inputs(&[0.5, 1.5, 3.0, 4.5, 6.0]);
        let (mut first, mut terms) = (Vec::new(), Vec::new());
        statements_of_all_signs(&x, &mut first);
        // Identifiers that come back are used by statements that have no code.
        drop(first);
        x[3] = Real::from(2.0);
        statements_of_all_signs(&x, &mut terms);
        let y =
            terms.iter().zip(1_i32..).fold(Real::from(0.0), |sum, (term, k)| (sum + term * term * f64::from(k)).into());
        // Under `Hybrid`, a list of partials that takes no more bytes than a typed record with an address.
        let listed: Real<S> = (x[0].sin() - &x[1]).into();
        (x, [y, listed])
    });
    let slopes = tape.sweep(&[(&y[1], 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("they are the tape's");
    assert_eq!(slopes, [0.5_f64.cos(), -1.0, 0.0, 0.0, 0.0]);
    let value = |k: usize| signs(k).iter().zip([0.5, 1.5, 3.0, 2.0, 6.0]).map(|(sign, x)| sign * x).sum::<f64>();
    let adjoints = tape.sweep(&[(&y[0], 1.0)]).expect("the variables are the tape's");
    for level in [0, 1, 2, 4] {
        let sum: f64 = (1_i32..).zip(0..256).map(|(k, at)| 2.0 * f64::from(k) * value(at) * signs(at)[level]).sum();
        assert_eq!(adjoints.of(&x[level]), Ok(sum), "argument {level}");
    }
    assert_eq!(adjoints.of(&x[3]), Ok(0.0));
}
