//! Programs as data, and the one generic function that runs them.

use crate::functions::{FUNCTIONS, Operands, apply};
use proptest::prelude::{Strategy, prop};
use tapewright::prelude::{Real, Taping};
use tapewright::{Number, logsumexp};

/// The number of variables that a program works on. The last is passive at first.
pub(crate) const VARIABLES: usize = 6;
pub(crate) const INPUTS: usize = VARIABLES - 1;

/// One step: which function, of which variables or inputs, with which literal, assigned to which variable. It makes one
/// to four statements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    function: usize,
    x: usize,
    y: usize,
    z: usize,
    literal: f64,
    target: usize,
}

/// Programs of up to 200 steps.
pub(crate) fn programs() -> impl Strategy<Value = Vec<Step>> {
    let operand = || 0..VARIABLES + INPUTS;
    let step = (0..FUNCTIONS, operand(), operand(), operand(), 0.1..2.0_f64, 0..VARIABLES)
        .prop_map(|(function, x, y, z, literal, target)| Step { function, x, y, z, literal, target });
    prop::collection::vec(step, 1..=200)
}

pub(crate) fn inputs() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-2.0..2.0_f64, INPUTS)
}

/// Runs a program of which one variable is passive at first.
///
/// # Panics
///
/// When a variable leaves [−2, 2]: then functions might leave their domains.
pub(crate) fn run<S: Taping>(steps: &[Step], inputs: &[Real<S>]) -> Real<S> {
    run_from(steps, inputs, Real::from(0.75))
}

/// Runs a program in which no variable is passive at first.
///
/// # Panics
///
/// As [`run`].
#[allow(dead_code, reason = "shared with other tests")]
pub(crate) fn run_active<S: Taping>(steps: &[Step], inputs: &[Real<S>]) -> Real<S> {
    run_from(steps, inputs, (&inputs[0] * 0.5).into())
}

fn run_from<S: Taping>(steps: &[Step], inputs: &[Real<S>], last: Real<S>) -> Real<S> {
    let mut variables = inputs.to_vec();
    variables.push(last);
    for step in steps {
        let operand = |k: usize| variables.get(k).unwrap_or_else(|| &inputs[k - VARIABLES]);
        let operands = Operands {
            x: operand(step.x),
            y: operand(step.y),
            z: operand(step.z),
            old: &variables[step.target],
            all: &variables,
            c: step.literal,
        };
        let result = apply(step.function, &operands);
        assert!(result.value().as_f64().abs() <= 2.0 + 1e-5, "{step:?} gave {result}");
        variables[step.target] = result;
    }
    logsumexp(&variables)
}
