//! Jobs over packs as jobs over their lanes: a kernel over packs of `N` numbers is `N` kernels over numbers, which read
//! and write the planes of their lane.

use crate::Number;
use crate::kernel::targets::bindings::{Bindings, Seeds};
use crate::kernel::targets::jobs::{Accumulation, Evaluation};
use crate::kernel::targets::kernel::{BoundKernel, Found, Gather};
use crate::number::agreed;

/// The type of the lanes of a number.
pub(crate) type Lane<V> = <V as Number>::Lane;

impl<V: Number> BoundKernel<V> {
    /// Binds lane `k` of the constants to the loops over lanes.
    pub(in crate::kernel::targets) fn lane(&self, k: usize) -> BoundKernel<Lane<V>> {
        let mut kernel = BoundKernel::default();
        kernel.bind(self.table().over_lanes());
        kernel.constants.extend(self.constants.iter().map(|number| number.lane(k)));
        kernel
    }
}

impl<V: Number> Bindings<V> {
    fn lane(&self, k: usize) -> Bindings<Lane<V>> {
        Bindings {
            values: self.values.map(|place| place.narrowed(k, V::LANES)),
            new: self.new.map(|place| place.narrowed(k, V::LANES)),
            numbers: self.numbers.map(|number| number.lane(k)),
            shape: self.shape,
            strides: self.strides,
            device: self.device,
        }
    }
}

impl<V: Number> Seeds<V> {
    fn lane(&self, k: usize) -> Seeds<Lane<V>> {
        let dense = self.dense.map(|place| place.narrowed(k, V::LANES));
        Seeds::of(dense, self.uniform.map(|seed| seed.lane(k)))
    }
}

impl<V: Number> Gather<'_, V> {
    fn lane<'a>(&'a self, k: usize, kernel: &'a BoundKernel<Lane<V>>) -> Gather<'a, Lane<V>> {
        Gather {
            kernel,
            is_delicate: self.is_delicate,
            memory: self.memory.lane(k),
            grid: self.grid,
            range: self.range,
            is_clean: self.is_clean,
            length: self.length,
            seeds: self.seeds.lane(k),
            to: self.to.map(|place| place.narrowed(k, V::LANES)),
            how: self.how,
            views: self.views,
            scalars: self.scalars,
        }
    }

    /// Passes this gather to `work`, lane by lane.
    pub(crate) fn each_lane(&self, mut work: impl FnMut(usize, &Gather<'_, Lane<V>>)) {
        for k in 0..V::LANES {
            work(k, &self.lane(k, &self.kernel.lane(k)));
        }
    }
}

impl<V: Number> Evaluation<'_, V> {
    /// Passes this job to `work`, lane by lane.
    pub(crate) fn each_lane(self, mut work: impl FnMut(usize, Evaluation<'_, Lane<V>>)) {
        for k in 0..V::LANES {
            work(k, Evaluation::of(&self.kernel.lane(k), self.grid, &self.memory.lane(k), self.in_place));
        }
    }
}

impl<V: Number> Accumulation<'_, V> {
    /// Passes this job to `work`, lane by lane.
    pub(crate) fn each_lane(self, mut work: impl FnMut(Accumulation<'_, Lane<V>>)) {
        let reached = self.reached;
        self.gather.each_lane(|_, gather| {
            // SAFETY: these are parts of the arrays of this job, which are used lane after lane.
            work(unsafe { Accumulation::of(gather, reached) });
        });
    }
}

/// Joins the extreme values of the lanes.
///
/// # Panics
///
/// When lanes have found them at different elements.
pub(crate) fn joined<V: Number>(found: &[Option<Found<Lane<V>>>]) -> Option<Found<V>> {
    let at = agreed::<V, _>(|k| found[k].map(|found| found.element));
    at.map(|element| Found { value: V::from_lanes(|k| found[k].expect("each lane has found it").value), element })
}
