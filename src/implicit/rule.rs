//! The rule of a solution.

use super::equations::{Equations, constants};
use crate::drivers::vjp;
#[cfg(any(feature = "nalgebra", feature = "faer"))]
use crate::linalg::System;
use crate::tape::Tape;
use tapewright_strategies::{External, Jacobian, Number, SweepError};

/// The inverse (∂F/∂x)⁻¹ for the rules of a solution.
pub(super) trait Inverse<V>: Send + Sync + 'static {
    /// Replaces `right` by (∂F/∂x)⁻¹·right, or by (∂F/∂x)⁻ᵀ·right.
    fn solve(&self, transposed: bool, right: &mut [V]);
    /// Bytes that the inverse owns.
    fn owned_bytes(&self) -> usize;
}

/// The inverse of ∂F/∂x of one equation, which is kept as ∂F/∂x.
pub(super) struct Slope<V>(pub(super) V);

impl<V: Number> Inverse<V> for Slope<V> {
    fn solve(&self, _: bool, right: &mut [V]) {
        right.iter_mut().for_each(|number| *number = *number / self.0);
    }
    fn owned_bytes(&self) -> usize {
        0
    }
}

/// The inverse of ∂F/∂x as factors.
#[cfg(any(feature = "nalgebra", feature = "faer"))]
pub(super) struct Factors<K>(pub(super) K);

#[cfg(any(feature = "nalgebra", feature = "faer"))]
impl<V: Number, K: System<V>> Inverse<V> for Factors<K> {
    fn solve(&self, transposed: bool, right: &mut [V]) {
        self.0.solve(transposed, right);
    }
    fn owned_bytes(&self) -> usize {
        self.0.owned_bytes()
    }
}

/// Rule of x(p) with F(x, p) = 0.
pub(super) struct Solution<E, V, K> {
    pub(super) equations: E,
    pub(super) x: Vec<V>,
    pub(super) p: Vec<V>,
    pub(super) inverse: K,
}

/// Error of a sweep for an error in one of the rules.
fn failed<E>(error: &crate::Error) -> SweepError {
    SweepError::rule(core::any::type_name::<E>(), error)
}

impl<V: Number, E: Equations<V>, K: Inverse<V>> External<V> for Solution<E, V, K> {
    fn name(&self) -> String {
        core::any::type_name::<E>().to_owned()
    }

    /// p̄ −= (∂F/∂p)ᵀ·λ with (∂F/∂x)ᵀ·λ = x̄: one solution, and one reverse sweep over the equations.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let mut lambda = outputs.to_vec();
        self.inverse.solve(true, &mut lambda);
        let f = |p: &[_]| self.equations.evaluate(&constants::<Jacobian<V>>(&self.x), p);
        let (_, adjoints) = vjp(f, &self.p, &lambda).map_err(|error| failed::<E>(&error))?;
        inputs.iter_mut().zip(adjoints).for_each(|(input, adjoint)| *input += -adjoint);
        Ok(())
    }

    /// ẋ = −(∂F/∂x)⁻¹·(∂F/∂p)·ṗ.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        // A recording and not forward mode, in which an external function without a forward rule panics.
        let mut tape = Tape::<Jacobian<V>>::new();
        let (p, residuals) = tape.record(|scope| {
            let p = scope.inputs(&self.p);
            let residuals = self.equations.evaluate(&constants::<Jacobian<V>>(&self.x), &p);
            (p, residuals)
        });
        let (direction, residuals): (Vec<_>, Vec<_>) =
            (p.iter().zip(inputs.iter().copied()).collect(), residuals.iter().collect());
        let mut slopes = tape.jvp(&direction, &residuals).map_err(|error| failed::<E>(&error))?;
        self.inverse.solve(false, &mut slopes);
        outputs.iter_mut().zip(slopes).for_each(|(output, slope)| *output = -slope);
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        (self.x.capacity() + self.p.capacity()) * size_of::<V>() + self.inverse.owned_bytes()
    }
}
