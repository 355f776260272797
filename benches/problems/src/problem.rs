//! What a workload offers.

use tapewright::{Real, Taping};

/// A scalar function of many inputs, in three forms.
pub trait Problem {
    /// The name on the command line and in tables.
    fn name(&self) -> &'static str;

    /// The point of evaluation.
    fn inputs(&self) -> Vec<f64>;

    /// The function over any strategy.
    fn eval<S: Taping>(&self, x: &[Real<S>]) -> Real<S>;

    /// The same arithmetic over `f64`.
    fn plain(&self, x: &[f64]) -> f64;

    /// Value and gradient by a hand-written adjoint.
    fn adjoint(&self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// Value, gradient sum and gradient norm, where other tools have computed them.
    fn checksums(&self) -> Option<Checksums> {
        None
    }
}

/// Numbers that other tools have computed for the same arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct Checksums {
    /// The value of the function.
    pub value: f64,
    /// The sum of the gradient's entries.
    pub sum: f64,
    /// The Euclidean norm of the gradient.
    pub norm: f64,
}
