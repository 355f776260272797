//! The rule of a solution.

use super::equations::{Equations, constants};
use super::error::ImplicitError;
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
    /// Solves the equations at other parameters, if that is known.
    pub(super) again: Option<Again<E, V, K>>,
}

/// How equations are solved again.
pub(super) struct Again<E, V, K> {
    /// Where the solver begins.
    pub(super) start: Vec<V>,
    pub(super) solve: Solve<E, V>,
    pub(super) at: AtSolution<E, V, K>,
}

/// Solves equations from a start, for parameters.
type Solve<E, V> = fn(&E, &[V], &[V]) -> Option<Vec<V>>;

/// Finds the tangents of a solution, and (∂F/∂x)⁻¹ there, given equations, solution and parameters.
pub(super) type AtSolution<E, V, K> = fn(&E, &[V], &[V]) -> Result<(Vec<V>, K), ImplicitError>;

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

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let name = core::any::type_name::<E>;
        let Some(Again { start, solve, at }) = &self.again else {
            return Err(SweepError::NoRule { function: name().to_owned(), rule: "replay" });
        };
        let x = solve(&self.equations, start, inputs).ok_or(ImplicitError::NotFound);
        let found = x.and_then(|x| at(&self.equations, &x, inputs));
        let (x, inverse) = found.map_err(|error| SweepError::rule(name(), error))?;
        outputs.copy_from_slice(&x);
        self.p.copy_from_slice(inputs);
        (self.x, self.inverse) = (x, inverse);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        self.again.is_some()
    }

    fn owned_bytes(&self) -> usize {
        let start = self.again.as_ref().map_or(0, |again| again.start.capacity());
        (self.x.capacity() + self.p.capacity() + start) * size_of::<V>() + self.inverse.owned_bytes()
    }
}
