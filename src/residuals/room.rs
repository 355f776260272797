//! Evaluation of a few observations of one batch: as many as a number has lanes.

use super::batch::{Batch, Block};
use super::error::ResidualError;
use super::kind::{Run, Several};
use crate::expr::Real;
use crate::tape::Tape;
use tapewright_strategies::{Jacobian, Number, Passive, Reverse, Strategy, led_by_first_lane};

/// Largest number of lanes.
const LANES: usize = 8;
const _: () = assert!(Several::LANES <= LANES);

/// The point at which a problem is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) x: &'a [f64],
}

/// Observations of a batch that are computed together, one in each lane.
#[derive(Clone, Copy)]
pub(super) struct Picked<'a> {
    pub(super) batch: &'a Batch,
    pub(super) first: usize,
    pub(super) count: usize,
}

impl Picked<'_> {
    /// Observation in a lane; lanes that are left over repeat the last one.
    fn observation(self, lane: usize) -> usize {
        self.first + lane.min(self.count - 1)
    }

    /// Writes parameters and data, in lanes.
    fn gather<V: Number<Lane = f64>>(self, point: Point<'_>, inputs: &mut Vec<V>, data: &mut Vec<V>) {
        let batch = self.batch;
        let mut starts = [0; LANES];
        inputs.clear();
        for (argument, size) in batch.sizes.iter().enumerate() {
            for (lane, start) in starts[..V::LANES].iter_mut().enumerate() {
                *start = point.blocks[batch.arguments_of(self.observation(lane))[argument]].start;
            }
            inputs.extend((0..*size).map(|k| V::from_lanes(|lane| point.x[starts[lane] + k])));
        }
        for (lane, start) in starts[..V::LANES].iter_mut().enumerate() {
            *start = self.observation(lane) * batch.width;
        }
        data.clear();
        data.extend((0..batch.width).map(|k| V::from_lanes(|lane| batch.data[starts[lane] + k])));
    }
}

/// Values of residuals in lanes, and memory for their computation.
pub(super) struct Values<P: Strategy> {
    inputs: Vec<P::Value>,
    data: Vec<P::Value>,
    variables: Vec<Real<P>>,
    pub(super) residuals: Vec<Real<P>>,
}

impl<P: Strategy<Value: Number<Lane = f64>>> Values<P> {
    const fn new() -> Self {
        Self { inputs: Vec::new(), data: Vec::new(), variables: Vec::new(), residuals: Vec::new() }
    }

    /// Computes residuals. Returns a bit for each lane without a result, because it takes other branches than the
    /// first.
    pub(super) fn evaluate(&mut self, kind: &dyn Run<P>, picked: Picked<'_>, point: Point<'_>) -> u64 {
        picked.gather(point, &mut self.inputs, &mut self.data);
        self.variables.clear();
        self.variables.extend(self.inputs.iter().map(|value| Real::constant(*value)));
        self.residuals.clear();
        let Self { data, variables, residuals, .. } = self;
        led_by_first_lane(|| kind.run(variables, data, residuals)).1
    }
}

/// Residuals and their Jacobian matrices in lanes, and a tape by which they are found.
pub(super) struct Derivatives<S: Reverse> {
    tape: Tape<S>,
    inputs: Vec<S::Value>,
    data: Vec<S::Value>,
    outputs: Vec<Real<S>>,
    /// A row of a Jacobian matrix, with a column for each parameter.
    row: Vec<S::Value>,
    /// Residuals, lane by lane.
    residuals: Vec<f64>,
    /// Jacobian matrices, lane by lane and row by row.
    rows: Vec<f64>,
    /// 0 in lanes in which all derivatives are finite, else NaN.
    flaw: S::Value,
}

/// Results of one lane.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) residuals: &'a [f64],
    /// Jacobian matrix, row by row, with a column for each parameter.
    pub(super) rows: &'a [f64],
    /// True if all derivatives are finite.
    pub(super) is_finite: bool,
}

impl<S: Reverse + Strategy> Derivatives<S>
where
    S::Value: Number<Lane = f64>,
{
    fn new() -> Self {
        Self {
            tape: Tape::new(),
            inputs: Vec::new(),
            data: Vec::new(),
            outputs: Vec::new(),
            row: Vec::new(),
            residuals: Vec::new(),
            rows: Vec::new(),
            flaw: S::Value::ZERO,
        }
    }

    /// Records residuals, and sweeps from each. Returns a bit for each lane without a result, because it takes other
    /// branches than the first.
    pub(super) fn evaluate(
        &mut self,
        kind: &dyn Run<S>,
        picked: Picked<'_>,
        point: Point<'_>,
    ) -> Result<u64, ResidualError> {
        picked.gather(point, &mut self.inputs, &mut self.data);
        self.outputs.clear();
        let Self { tape, inputs, data, outputs, row, residuals, rows, flaw } = self;
        let ((), apart) = led_by_first_lane(|| tape.record_at(inputs, |x| kind.run(x, data, outputs)));
        let (height, width) = (outputs.len(), inputs.len());
        row.resize(width, S::Value::ZERO);
        residuals.resize(height * S::Value::LANES, 0.0);
        rows.resize(height * width * S::Value::LANES, 0.0);
        *flaw = S::Value::ZERO;
        for (k, output) in outputs.iter().enumerate() {
            tape.sweep_out(output, row).map_err(|error| {
                let residual = picked.batch.first + picked.first;
                ResidualError::Derivative { residual, error }
            })?;
            row.iter().for_each(|slope| *flaw += *slope * S::Value::ZERO);
            scatter(&[output.value()], &mut residuals[k..], height);
            scatter(row, &mut rows[k * width..], height * width);
        }
        Ok(apart)
    }

    /// The results of a lane.
    pub(super) fn lane(&self, lane: usize) -> Found<'_> {
        let [height, entries] = [self.residuals.len(), self.rows.len()].map(|all| all / S::Value::LANES);
        Found {
            residuals: &self.residuals[lane * height..][..height],
            rows: &self.rows[lane * entries..][..entries],
            is_finite: self.is_finite(lane),
        }
    }

    /// Returns true if all derivatives of a lane are finite.
    #[inline]
    pub(super) fn is_finite(&self, lane: usize) -> bool {
        self.flaw.lane(lane) == 0.0
    }

    /// Copies the results of the first lanes, one after the other.
    pub(super) fn copy(&self, lanes: usize, residuals: &mut [f64], jacobian: &mut [f64]) {
        let [height, entries] = [self.residuals.len(), self.rows.len()].map(|all| all / S::Value::LANES);
        residuals[..lanes * height].copy_from_slice(&self.residuals[..lanes * height]);
        jacobian[..lanes * entries].copy_from_slice(&self.rows[..lanes * entries]);
    }
}

/// Writes numbers lane by lane, `stride` apart.
fn scatter<V: Number<Lane = f64>>(numbers: &[V], to: &mut [f64], stride: usize) {
    // As slices: a number of which one lane is asked for is copied as a whole.
    let lanes: &[f64] = bytemuck::cast_slice(numbers);
    for (k, number) in lanes.chunks_exact(V::LANES).enumerate() {
        number.iter().enumerate().for_each(|(lane, value)| to[lane * stride + k] = *value);
    }
}

/// All that one thread needs.
pub(super) struct Room {
    pub(super) value: Values<Passive>,
    pub(super) values: Values<Passive<Several>>,
    pub(super) derivative: Derivatives<Jacobian>,
    pub(super) derivatives: Derivatives<Jacobian<Several>>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self {
            value: Values::new(),
            values: Values::new(),
            derivative: Derivatives::new(),
            derivatives: Derivatives::new(),
        }
    }
}
