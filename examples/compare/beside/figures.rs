//! Figures that a program prints for one workload.

use crate::workloads::Expected;
use serde::{Deserialize, Serialize};
use tapewright_problems::Checksums;

/// Checksums may differ by this much, relative.
const SAME: f64 = 1e-10;

/// Figures of one program and one workload: a line of JSON. Other keys are ignored.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Gradients that make the workload.
    #[serde(rename = "iters")]
    pub(crate) evaluations: usize,
    /// Seconds of the function over plain numbers, of all evaluations together.
    #[serde(rename = "t_primal_min")]
    pub(crate) primal: f64,
    /// Seconds of recording and sweep, of all evaluations together.
    #[serde(rename = "t_total_min")]
    pub(crate) total: f64,
    /// Bytes of records, primal values and adjoints of one evaluation.
    #[serde(rename = "tape_bytes")]
    pub(crate) bytes: usize,
    /// The value and the gradient's sum and norm, added up over all evaluations.
    #[serde(rename = "f")]
    pub(crate) value: f64,
    #[serde(rename = "gsum")]
    pub(crate) sum: f64,
    #[serde(rename = "gl2")]
    pub(crate) norm: f64,
}

impl Figures {
    /// Fails if these are not figures of the workload.
    pub(crate) fn check(&self, expected: &Expected) -> Result<(), String> {
        if self.evaluations != expected.evaluations {
            return Err(format!("WRONG: {} gradients, not {}", self.evaluations, expected.evaluations));
        }
        let found = Checksums { value: self.value, sum: self.sum, norm: self.norm };
        let off = found.difference(&expected.checksums);
        if off <= SAME { Ok(()) } else { Err(format!("WRONG: checksums off by a relative {off:.1e}")) }
    }

    /// The least time of each kind.
    pub(crate) fn least(self, other: &Self) -> Self {
        Self { primal: self.primal.min(other.primal), total: self.total.min(other.total), ..self }
    }

    /// Seconds of one gradient: recording and sweep.
    pub(crate) fn seconds(&self) -> f64 {
        self.total / self.evaluations as f64
    }

    /// Seconds of one evaluation over plain numbers.
    pub(crate) fn primal(&self) -> f64 {
        self.primal / self.evaluations as f64
    }
}
