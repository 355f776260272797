//! Arguments of the functions of a kernel's source.

use super::device::DeviceVector;
use super::driver::{Argument, Driver};
use super::programs::Parameter;
use crate::Number;
use crate::kernel::ir::access::OPERANDS;
use crate::kernel::ir::grid::Grid;
use crate::kernel::memory::device::DeviceArray;
use crate::kernel::targets::{Accumulation, Evaluation, Gather, How, Inputs, Seed};
use core::any::Any;
use core::array::from_fn;
use std::sync::Arc;

type Array = Option<Arc<dyn DeviceArray>>;

/// What a job gives to the functions of a source.
pub(super) struct Arguments<D: Driver, V> {
    grid: [i64; 12],
    pub(super) block: [i64; 4],
    values: [Array; OPERANDS],
    new_values: [Array; OPERANDS],
    seeds: [Option<SeedArray<D>>; OPERANDS],
    weights: [i64; OPERANDS],
    outputs: [Array; OPERANDS],
    adjoints: [Array; OPERANDS],
    how: [i32; OPERANDS],
    scalars: [V; OPERANDS],
    pub(super) sums: Option<D::Array>,
    /// Operand whose adjoints a function adds to.
    pub(super) to: usize,
}

/// Adjoints of an output: an array of the sweep, or one made for a launch.
enum SeedArray<D: Driver> {
    Shared(Arc<dyn DeviceArray>),
    Own(D::Array),
}

/// The raw array of an array on a device of this driver.
///
/// # Panics
///
/// When the array is on a device of another driver.
pub(super) fn raw<D: Driver>(array: &Arc<dyn DeviceArray>) -> &D::Array {
    let array: &dyn Any = &**array;
    &array.downcast_ref::<DeviceVector<D>>().expect("arrays of a job are in the memory of its target").raw
}

/// Shape and range of a grid, as sources declare them.
pub(super) fn bounds(grid: &Grid) -> [i64; 12] {
    let (ranges, lengths) = (grid.ranges(), grid.lengths());
    let wide = |i: isize| i64::try_from(i).expect("lengths have at most 64 bits");
    from_fn(|k| match k / 4 {
        0 => wide(lengths[k]),
        1 => wide(ranges[k - 4].start),
        _ => wide(ranges[k - 8].end),
    })
}

impl<D: Driver, V: Number> Arguments<D, V> {
    pub(super) fn of_inputs(inputs: Inputs<'_, V>) -> Self {
        Self {
            grid: bounds(inputs.grid()),
            block: [1; 4],
            values: from_fn(|k| inputs.array(k)),
            new_values: [const { None }; OPERANDS],
            seeds: [const { None }; OPERANDS],
            weights: [1; OPERANDS],
            outputs: [const { None }; OPERANDS],
            adjoints: [const { None }; OPERANDS],
            how: [0; OPERANDS],
            scalars: from_fn(|k| inputs.scalar(k)),
            sums: None,
            to: 0,
        }
    }

    pub(super) fn of_evaluation(job: &Evaluation<'_, V>) -> Self {
        Self { outputs: from_fn(|k| job.output_array(k)), ..Self::of_inputs(job.inputs()) }
    }

    /// `upload` makes an array of these numbers.
    pub(super) fn of_gather(gather: &Gather<'_, V>, mut upload: impl FnMut(&[V]) -> D::Array) -> Self {
        let mut arguments = Self::of_inputs(gather.inputs());
        arguments.new_values = from_fn(|k| gather.new_array(k));
        for output in 0..gather.inputs().kernel().expressions() {
            let operand = gather.written(output).unwrap_or(0);
            let (seed, weight) = match gather.seed_of(output) {
                Seed::Array(array) => (SeedArray::Shared(array), 1),
                Seed::Uniform(seed) => (SeedArray::Own(upload(&[seed])), 0),
                Seed::Rows(_) => (SeedArray::Own(upload(gather.seeds_of_rows())), 2),
                Seed::Dense { .. } => unreachable!("the seeds of a job are in the memory of its target"),
            };
            (arguments.seeds[operand], arguments.weights[operand]) = (Some(seed), weight);
        }
        arguments
    }

    pub(super) fn of_accumulation(job: &Accumulation<'_, V>, upload: impl FnMut(&[V]) -> D::Array) -> Self {
        let mut arguments = Self::of_gather(job.gather(), upload);
        for k in 0..OPERANDS {
            if let Some(adjoints) = job.adjoints(k) {
                arguments.how[k] = match adjoints.how {
                    How::Add => 0,
                    How::Store => 1,
                    How::Replace | How::InPlace => 2,
                };
                arguments.adjoints[k] = adjoints.array;
            }
        }
        arguments
    }

    /// Arguments of a function with these parameters.
    pub(super) fn list(&self, parameters: &[Parameter]) -> Vec<Argument<'_, D>> {
        let value = |parameter: &Parameter| match *parameter {
            Parameter::Grid => Argument::Value(bytemuck::bytes_of(&self.grid)),
            Parameter::Block => Argument::Value(bytemuck::bytes_of(&self.block)),
            Parameter::Values(k) => Argument::Array(self.values[k].as_ref().map(raw::<D>)),
            Parameter::Scalar(k) => Argument::Value(bytemuck::bytes_of(&self.scalars[k])),
            Parameter::Output(k) => Argument::Array(self.outputs[k].as_ref().map(raw::<D>)),
            Parameter::NewValues(k) => Argument::Array(self.new_values[k].as_ref().map(raw::<D>)),
            Parameter::Seed(k) => Argument::Array(self.seeds[k].as_ref().map(|seed| match seed {
                SeedArray::Shared(array) => raw::<D>(array),
                SeedArray::Own(array) => array,
            })),
            Parameter::Weight(k) => Argument::Value(bytemuck::bytes_of(&self.weights[k])),
            Parameter::Adjoint(k) => Argument::Array(self.adjoints[k].as_ref().map(raw::<D>)),
            Parameter::TheAdjoint => Argument::Array(self.adjoints[self.to].as_ref().map(raw::<D>)),
            Parameter::How(k) => Argument::Value(bytemuck::bytes_of(&self.how[k])),
            Parameter::Sums => Argument::Array(self.sums.as_ref()),
        };
        parameters.iter().map(value).collect()
    }
}
