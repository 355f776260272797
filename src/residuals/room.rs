//! Evaluation of a single observation, by a tape: what programs refuse.

use super::kind::Kind;
use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use tapewright_strategies::{Jacobian, Passive};

/// A tape, and memory for one observation. All that one thread needs.
pub(super) struct Room {
    tape: Tape<Jacobian>,
    numbers: Vec<Real<Jacobian>>,
    outputs: Vec<Real<Jacobian>>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { tape: Tape::new(), numbers: Vec::new(), outputs: Vec::new() }
    }

    /// Computes residuals and their derivatives by parameters, row by row.
    pub(super) fn rows(
        &mut self,
        kind: &dyn Kind,
        (parameters, data): (&[f64], &[f64]),
        residuals: &mut [f64],
        rows: &mut [f64],
    ) -> Result<(), Error> {
        let Self { tape, numbers, outputs } = self;
        outputs.clear();
        tape.record_at(parameters, |x| {
            numbers.clear();
            numbers.extend_from_slice(x);
            numbers.extend(data.iter().map(|number| Real::<Jacobian>::constant(*number)));
            kind.run(numbers, outputs);
        });
        for (k, output) in outputs.iter().enumerate() {
            residuals[k] = output.peek();
            tape.sweep_out(output, &mut rows[k * parameters.len()..][..parameters.len()])?;
        }
        Ok(())
    }
}

/// Computes residuals, from parameters and data.
pub(super) fn values(kind: &dyn Kind, numbers: &[f64]) -> Vec<f64> {
    let numbers: Vec<_> = numbers.iter().map(|number| Real::<Passive>::constant(*number)).collect();
    let mut residuals = Vec::new();
    kind.run(&numbers, &mut residuals);
    residuals.iter().map(Real::peek).collect()
}
