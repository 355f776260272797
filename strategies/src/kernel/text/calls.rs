//! Calls of the functions of a source: which of them carry out a job, with which arguments, for how many work items.

use super::array::Array;
use super::parameters::Function;
use crate::Number;
use crate::kernel::ir::access::{AccessSummary, LAST, OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::IndexRange;
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::bindings::{inner, inner_elements};
use crate::kernel::targets::jobs::{Accumulation, Destination, Evaluation, Propagation};
use crate::kernel::targets::kernel::{Found, Gather, How, Inputs, Seed};

/// Name of a kernel in the source for a target.
pub(super) const KERNEL: &str = "kernel";
/// Number of partial sums of a chunk.
const LANES: usize = 16;
/// Number of work items of a group.
const GROUP: usize = 128;

/// Purpose of a source of a kernel. Few programs sweep forward, so what these sweeps need is compiled apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Launches, reverse sweeps and replays.
    #[default]
    Launches,
    /// Forward sweeps.
    ForwardSweeps,
    /// Scans by a rule of two values, and their sweeps.
    Scans,
}

/// A call of a function of a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// Name of the function.
    pub function: String,
    /// First argument: a structure that is passed by value, in words of eight bytes.
    pub launch: Vec<u64>,
    /// Further arguments: arrays, in order; `None` is a null pointer.
    pub arrays: Vec<Option<Array>>,
    /// Number of work items along each dimension of the device. There may be more, such as multiples of the size of a
    /// group; what is beyond does nothing. In CUDA there may be fewer, too: a thread goes on where the groups end. If
    /// one of the numbers is 0, there is nothing to do.
    pub items: [usize; 3],
    /// Size of a group of work items that fits the shape of the work. Results are the same for any other size.
    pub group: [usize; 3],
}

/// Calls of functions of a source that carry out a job, one after the other, and the lengths of arrays that exist only
/// for them. All other arrays are operands of the job, with the addresses that it says.
///
/// Made of a job, whose kernel has a [source](crate::kernel::targets::BoundKernel::source) over numbers of one part.
/// The first argument takes up to 1008 bytes, and 496 without captured constants: devices have room for at least 1024
/// bytes of arguments.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Calls {
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// Source that has the functions.
    pub purpose: Purpose,
    /// Length of [`Array::Parts`].
    pub parts: usize,
    /// Length of [`Array::Places`].
    pub places: usize,
    /// Length of [`Array::Sums`].
    pub sums: usize,
    /// Length of [`Array::Found`].
    pub found: usize,
    /// Length of [`Array::Totals`].
    pub totals: usize,
}

/// First argument of a function: the structure `TW_LAUNCH` of a source.
#[derive(Clone)]
struct Launch {
    lengths: [isize; 4],
    range: IndexRange,
    items_in: IndexRange,
    inner: IndexRange,
    block: [isize; 4],
    items: [usize; 3],
    seeds: [u8; OUTPUTS],
    how: [u8; OPERANDS],
    is_largest: bool,
    /// Operands whose adjoints are asked for, a bit for each.
    asked: u32,
    uniform: [f64; OPERANDS],
    scalars: [f64; OPERANDS],
    constants: Vec<f64>,
}

impl Launch {
    fn new<V: Number>(inputs: &Inputs<'_, V>) -> Self {
        let (grid, kernel) = (inputs.grid(), inputs.kernel());
        Self {
            lengths: grid.shape(),
            range: grid.range,
            items_in: grid.range,
            inner: inner(&kernel.plan().leaves, grid.shape(), &grid.range),
            block: [1; 4],
            items: [0; 3],
            seeds: [0; OUTPUTS],
            how: [0; OPERANDS],
            is_largest: false,
            asked: 0,
            uniform: [0.0; OPERANDS],
            scalars: core::array::from_fn(|k| inputs.scalar(k).as_f64()),
            constants: kernel.constants.iter().map(|constant| constant.as_f64()).collect(),
        }
    }

    fn of_gather<V: Number>(gather: &Gather<'_, V>) -> Self {
        let mut launch = Self::new(&gather.inputs());
        for k in 0..gather.inputs().kernel().expressions() {
            match gather.seed_of(k) {
                Seed::Uniform(seed) => launch.uniform[k] = seed.as_f64(),
                Seed::Dense { .. } | Seed::Array(_) => launch.seeds[k] = 1,
                Seed::Rows(_) | Seed::RowArray(_) => launch.seeds[k] = 2,
            }
        }
        launch
    }

    fn words(&self, precision: Precision) -> Vec<u64> {
        let mut bytes = Vec::<u8>::new();
        let boxes = [&self.range, &self.items_in, &self.inner].into_iter().flat_map(|b| [b.lo, b.hi]);
        let long = |i: isize| i64::try_from(i).expect("a length of an array").to_ne_bytes();
        let mut all = vec![self.lengths];
        all.extend(boxes.chain([self.block]));
        all.iter().flatten().for_each(|i| bytes.extend(long(*i)));
        self.items.iter().for_each(|n| bytes.extend(long(n.cast_signed())));
        bytes.extend(self.seeds);
        bytes.extend(self.how);
        bytes.extend([u8::from(self.is_largest), 1]);
        bytes.extend(self.asked.to_ne_bytes());
        precision.words(bytes, self.uniform.iter().chain(&self.scalars).chain(&self.constants).copied())
    }
}

fn extents(range: &IndexRange) -> [usize; 4] {
    [0, 1, 2, 3].map(|d| (range.hi[d] - range.lo[d]).max(0).unsigned_abs())
}

/// Size of a group of up to 128 work items, in whole rows of them if they are short.
fn group([a, b, c]: [usize; 3]) -> [usize; 3] {
    let part = |items: usize, most: usize| items.next_power_of_two().min(most);
    let first = part(a, if b * c == 1 { GROUP } else { GROUP / 2 });
    let second = part(b, GROUP / first);
    [first, second, part(c, GROUP / first / second)]
}

impl Calls {
    fn add<V: Number>(&mut self, function: Function, inputs: &Inputs<'_, V>, launch: &Launch, items: [usize; 3]) {
        let arrays = function.arrays(inputs.kernel().plan()).into_iter().map(Some).collect();
        let launch = Launch { items, ..launch.clone() }.words(Precision::of::<V>());
        self.calls.push(Call { function: function.name(KERNEL), launch, arrays, items, group: group(items) });
    }

    /// Appends a call for each point or element of a box.
    fn add_points<V: Number>(&mut self, function: Function, inputs: &Inputs<'_, V>, launch: &Launch) {
        let [a, b, c, d] = extents(&launch.items_in);
        self.add(function, inputs, launch, [d, c, a * b]);
    }

    /// Appends a call for the 16 parts of each chunk.
    fn add_lanes<V: Number>(&mut self, function: Function, inputs: &Inputs<'_, V>, launch: &Launch) {
        let [a, b, c, d] = extents(&launch.range);
        self.add(function, inputs, launch, [LANES * d.div_ceil(4096), c, a * b]);
    }

    /// Appends calls for the sums of chunks of this many terms.
    fn add_sums<V: Number>(&mut self, function: Function, inputs: &Inputs<'_, V>, launch: &Launch, terms: usize) {
        let sums = terms * inputs.chunks();
        self.add_lanes(function, inputs, launch);
        self.add(Function::AddPairs, inputs, launch, [sums, 1, 1]);
        self.sums = self.sums.max(sums);
        self.parts = self.parts.max(LANES * sums);
    }

    /// Appends the call that sums the chunks of each row to this array, and returns the number of rows.
    fn add_rows<V: Number>(&mut self, inputs: &Inputs<'_, V>, launch: &Launch, to: Array) -> usize {
        let [a, b, c, _] = extents(&launch.range);
        self.add(Function::AddRows, inputs, launch, [a * b * c, 1, 1]);
        let arrays = self.calls.iter_mut().flat_map(|call| &mut call.arrays);
        arrays.filter(|array| **array == Some(Array::Totals)).for_each(|array| *array = Some(to));
        a * b * c
    }

    /// Computes the expressions at all points of the range.
    #[must_use]
    pub fn of_values<V: Number>(job: &Evaluation<'_, V>) -> Self {
        let (mut calls, inputs) = (Self::default(), job.inputs());
        calls.add_points(Function::Values, &inputs, &Launch::new(&inputs));
        calls
    }

    /// Sums each expression: [`Array::Sums`] has the sums of all [chunks](Inputs::chunks) of the first expression, then
    /// those of the next one. [`Inputs::total`] adds them up.
    #[must_use]
    pub fn of_sums<V: Number>(job: &Evaluation<'_, V>) -> Self {
        let (mut calls, inputs) = (Self::default(), job.inputs());
        calls.add_sums(Function::Sums, &inputs, &Launch::new(&inputs), inputs.kernel().expressions());
        calls
    }

    /// Sums the expression over each row of the range: [`Array::Totals`] has the sums.
    #[must_use]
    pub fn of_row_sums<V: Number>(job: &Evaluation<'_, V>) -> Self {
        let (mut calls, inputs) = (Self::of_sums(job), job.inputs());
        calls.totals = calls.add_rows(&inputs, &Launch::new(&inputs), Array::Totals);
        calls
    }

    /// Searches for the largest or smallest value: [`Array::Sums`] has that of each chunk, and [`Array::Found`] its
    /// place. [`best`](Self::best) chooses among them.
    #[must_use]
    pub fn of_extremum<V: Number>(job: &Evaluation<'_, V>, largest: bool) -> Self {
        let (mut calls, inputs) = (Self::default(), job.inputs());
        let launch = Launch { is_largest: largest, ..Launch::new(&inputs) };
        let chunks = inputs.chunks();
        calls.add_lanes(Function::Extremum, &inputs, &launch);
        calls.add(Function::Best, &inputs, &launch, [chunks, 1, 1]);
        (calls.parts, calls.places, calls.sums, calls.found) = (LANES * chunks, LANES * chunks, chunks, chunks);
        calls
    }

    /// Returns the best of the values of chunks, in order, and its place; `None` if there are none.
    ///
    /// # Panics
    ///
    /// When a place is negative, which is none among the elements.
    #[must_use]
    pub fn best<V: Number>(values: &[V], places: &[i64], largest: bool) -> Option<Found<V>> {
        let all = values.iter().zip(places).map(|(value, place)| Found {
            value: *value,
            element: usize::try_from(*place).expect("a place among the elements"),
        });
        let better = |x: f64, y: f64| y.is_nan() && !x.is_nan() || if largest { x > y } else { x < y };
        all.reduce(|best, found| if better(found.value.as_f64(), best.value.as_f64()) { found } else { best })
    }

    /// Accumulates the adjoints of the elements of all operands that are asked for.
    #[must_use]
    pub fn of_gather<V: Number>(job: &Accumulation<'_, V>) -> Self {
        let (mut calls, gather) = (Self::default(), job.gather());
        let (inputs, mut launch) = (gather.inputs(), Launch::of_gather(gather));
        let plan = inputs.kernel().plan();
        for k in inputs.kernel().along().filter(|k| job.adjoints(*k).is_some()) {
            calls.add_along(k, job, &launch);
        }
        launch.items_in = job.reached;
        launch.inner = inner_elements(plan, &gather.range, inputs.grid().shape(), &job.reached);
        for k in (0..OPERANDS).filter(|k| AccessSummary::has(plan.partials.views, *k)) {
            launch.how[k] = match job.adjoints(k).map(|adjoints| adjoints.how) {
                None | Some(How::Add) => 0,
                Some(How::Store) => 1,
                Some(How::Replace | How::InPlace) => 2,
            };
        }
        launch.asked = (0..OPERANDS).filter(|k| job.adjoints(*k).is_some()).map(|k| 1 << k).sum();
        if gather.views & plan.partials.views != 0 {
            calls.add_points(Function::Gather, &inputs, &launch);
        }
        calls.ask(|array| match array {
            Array::Adjoints(k) => job.adjoints(k).is_some(),
            Array::Seeds(k) => !matches!(gather.seed_of(k), Seed::Uniform(_)),
            _ => true,
        });
        calls.lend();
        calls
    }

    /// Replaces arrays that are not there by null pointers.
    fn ask(&mut self, has: impl Fn(Array) -> bool) {
        for array in self.calls.iter_mut().flat_map(|call| &mut call.arrays) {
            *array = array.filter(|array| has(*array));
        }
    }

    /// Replaces null pointers by other arrays, which are not accessed: some processors take hundreds of cycles for a
    /// load under a mask from an address that is not there, even if the mask leaves out everything.
    fn lend(&mut self) {
        for call in &mut self.calls {
            let there = call.arrays.iter().copied().flatten().next();
            call.arrays.iter_mut().for_each(|array| *array = array.or(there));
        }
    }

    fn add_along<V: Number>(&mut self, k: usize, job: &Accumulation<'_, V>, launch: &Launch) {
        let (inputs, division) = (job.gather().inputs(), job.division(k));
        let launch = &Launch { block: division.block, ..launch.clone() };
        if inputs.kernel().plan().leaves.dimensions[k] & LAST == 0 {
            self.add_sums(Function::Along(k), &inputs, launch, 1);
        } else {
            self.add(Function::Along(k), &inputs, launch, [division.elements, division.blocks, 1]);
            self.sums = self.sums.max(division.elements * division.blocks);
        }
        self.add(Function::AddAlong(k), &inputs, launch, [division.elements, 1, 1]);
    }

    /// Computes the tangents of the expressions. For sums, [`Array::Sums`] has those of all chunks, as
    /// [`of_sums`](Self::of_sums) says.
    #[must_use]
    pub fn of_tangents<V: Number>(job: &Propagation<'_, V>) -> Self {
        let (mut calls, inputs) = (Self { purpose: Purpose::ForwardSweeps, ..Self::default() }, job.inputs());
        let uniform = core::array::from_fn(|k| job.tangent_of_scalar(k).as_f64());
        let launch = Launch { uniform, ..Launch::new(&inputs) };
        match job.destination() {
            Destination::Views => calls.add_points(Function::Tangents, &inputs, &launch),
            Destination::Sums(sums) => calls.add_sums(Function::TangentSums, &inputs, &launch, sums.len()),
            Destination::Rows => {
                calls.add_sums(Function::TangentSums, &inputs, &launch, 1);
                calls.add_rows(&inputs, &launch, Array::NewTangents(0));
            }
        }
        calls.ask(|array| !matches!(array, Array::Tangents(k) if !job.moves(k)));
        calls
    }

    /// Sums the adjoints of uniform scalars: [`Array::Sums`] has the sums of all chunks for the first of
    /// [`scalars`](crate::kernel::targets::BoundKernel::scalars), then those for the next one. [`Inputs::total`] adds
    /// them up. If a total that is asked for is not finite, [`of_scalars_in_order`](Self::of_scalars_in_order) computes
    /// it.
    #[must_use]
    pub fn of_scalars<V: Number>(gather: &Gather<'_, V>) -> Self {
        let (mut calls, inputs) = (Self::default(), gather.inputs());
        let terms = inputs.kernel().scalars().count();
        calls.add_sums(Function::Scalars, &inputs, &Launch::of_gather(gather), terms);
        calls.ask(|array| !matches!(array, Array::Seeds(k) if matches!(gather.seed_of(k), Seed::Uniform(_))));
        calls.lend();
        calls
    }

    /// Sums the adjoints of uniform scalars point by point, on one work item for each of them, in [`Array::Sums`]. A
    /// product with zero is zero.
    #[must_use]
    pub fn of_scalars_in_order<V: Number>(gather: &Gather<'_, V>) -> Self {
        let (mut calls, inputs) = (Self::default(), gather.inputs());
        calls.sums = inputs.kernel().scalars().count();
        calls.add(Function::ScalarsInOrder, &inputs, &Launch::of_gather(gather), [calls.sums, 1, 1]);
        calls.ask(|array| !matches!(array, Array::Seeds(k) if matches!(gather.seed_of(k), Seed::Uniform(_))));
        calls.lend();
        calls
    }
}
