//! Smooth functions as entries.

use crate::closed::Closed;
use crate::linalg::backend::{Backend, Block};
use crate::linalg::element::{At, Element, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::matrix::{Matrix, Number, Operand, entry};
use crate::linalg::multiply::times;
use core::marker::PhantomData;
use tapewright_strategies::{External, Float, Number as _, SweepError};

/// The rule of a smooth function, which keeps the matrix and what was found.
struct Rule<F, V, B> {
    function: F,
    matrix: Vec<V>,
    found: Vec<V>,
    backend: PhantomData<fn() -> B>,
}

impl<F, V, B> Rule<F, V, B> {
    fn at(&self) -> At<'_, V> {
        At { matrix: &self.matrix, found: &self.found }
    }
}

impl<F: Smooth, V: Element, B: Backend<V::Scalar>> External<V> for Rule<F, V, B> {
    fn name(&self) -> String {
        String::from(F::NAME)
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let refused = |error| SweepError::rule(F::NAME, error);
        let adjoints = self.function.adjoints::<V, B>(self.at(), outputs).map_err(refused)?;
        inputs.iter_mut().zip(adjoints).for_each(|(input, adjoint)| *input += adjoint);
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let refused = |error| SweepError::rule(F::NAME, error);
        let moved = self.function.moved::<V, B>(self.at(), inputs, false).map_err(refused)?;
        outputs.copy_from_slice(&moved[..self.function.results()]);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let refused = |error| SweepError::rule(F::NAME, error);
        let found = V::through::<F, B>(&self.function, inputs).map_err(refused)?;
        self.function.differentiable(&found).map_err(refused)?;
        outputs.copy_from_slice(&found[..self.function.results()]);
        (self.matrix, self.found) = (inputs.to_vec(), found);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        (self.matrix.capacity() + self.found.capacity()) * size_of::<V>()
    }
}

/// Records a function of a matrix; the results one after another.
#[track_caller]
pub(super) fn record<F: Smooth, M: Matrix>(
    function: F,
    operand: &Operand<'_, M::Strategy>,
) -> Result<Vec<Closed<M::Strategy>>, LinalgError> {
    let matrix = operand.values();
    let found = operand.deciding(Number::<M>::through::<F, M::Backend>(&function, &matrix))?;
    if operand.moves {
        operand.deciding(function.differentiable(&found))?;
    }
    let results = found[..function.results()].to_vec();
    let rule = || Rule::<_, _, M::Backend> { function, matrix, found, backend: PhantomData };
    Ok(entry(&[operand], &results, rule))
}

/// Rows and columns of a matrix that has entries.
pub(super) fn filled<M: Matrix>(matrix: &M) -> Result<(usize, usize), LinalgError> {
    let (rows, columns) = matrix.shape();
    if rows == 0 || columns == 0 { Err(LinalgError::Empty { rows, columns }) } else { Ok((rows, columns)) }
}

/// A tolerance, a part of the largest singular value, as far as rounding lets it be small.
pub(super) fn tolerance(given: f64) -> Result<f64, LinalgError> {
    let right = (0.0..1.0).contains(&given);
    if right { Ok(given) } else { Err(LinalgError::Tolerance { given: given.to_string() }) }
}

/// The transpose of a matrix, whose entries are copies of the same variables.
pub(super) fn transpose<M: Matrix>(matrix: &M) -> M {
    let (rows, columns) = matrix.shape();
    let entries: Vec<_> = matrix.entries().cloned().collect();
    let turned = (0..rows * columns).map(|k| entries[k / columns + k % columns * rows].clone()).collect();
    M::from_entries(columns, rows, turned)
}

/// a·b·c.
pub(super) fn three<V: Element, B: Backend<V::Scalar>>(a: Block<'_, V>, b: Block<'_, V>, c: Block<'_, V>) -> Vec<V> {
    let left = times::<V, B>(a, b);
    times::<V, B>(Block::new(&left, a.shape().0), c)
}

/// (1 − U·Uᵀ)·C, for as many rows as U has.
pub(super) fn outside<V: Element, B: Backend<V::Scalar>>(u: Block<'_, V>, c: &[V]) -> Vec<V> {
    let inner = times::<V, B>(u.t(), Block::new(c, u.rows));
    let mut outside = c.to_vec();
    V::multiply::<B>(-1.0, u, Block::new(&inner, u.columns), &mut outside);
    outside
}

/// Adds `scale` times some numbers to others.
pub(super) fn add<V: Element>(sum: &mut [V], scale: f64, numbers: &[V]) {
    let scale = V::from_f64(scale);
    sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += scale * *number);
}

/// The transpose of n rows.
pub(super) fn turned<V: Copy>(rows: usize, numbers: &[V]) -> Vec<V> {
    let columns = numbers.len() / rows;
    (0..numbers.len()).map(|k| numbers[k / columns + k % columns * rows]).collect()
}

/// Numbers without their values: what is left is nilpotent.
pub(super) fn tangents_alone<V: Element>(numbers: &[V]) -> Vec<V> {
    numbers.iter().map(|number| V::from_lanes(|lane| number.lane(lane).with_value(0.0))).collect()
}

/// The values of a lane.
pub(super) fn values<V: Element>(numbers: &[V], lane: usize) -> Vec<f64> {
    numbers.iter().map(|number| number.lane(lane).as_f64()).collect()
}

/// ε of the floats that numbers consist of.
pub(super) fn epsilon<V: Element>() -> f64 {
    <V::Scalar as Float>::epsilon().as_f64()
}
