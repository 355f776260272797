//! Jobs whose arrays are on a device as jobs on the host, for targets of the host.

use crate::Number;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::targets::bindings::{Bindings, Seeds};
use crate::kernel::targets::jobs::{Accumulation, Evaluation, Propagation};
use crate::kernel::targets::kernel::Gather;
use crate::number::simd::planes::Place;

/// The buffer of a place on a device.
fn buffer<V: Number>(place: Place<V>) -> *mut Buffer<V> {
    place.part(0).cast()
}

/// The place on the host of an array that is read.
///
/// # Safety
///
/// This is the place of a buffer on a device that is still alive, which nobody has an exclusive reference to.
unsafe fn to_read<V: Number>(place: Place<V>) -> Place<V> {
    // SAFETY: promised by the caller.
    if place.is_null() { place } else { unsafe { (*buffer(place)).start() } }
}

/// The place on the host of an array that is written.
///
/// # Safety
///
/// This is the place of a buffer on a device that is still alive, which nobody else uses.
unsafe fn to_write<V: Number>(place: Place<V>) -> Place<V> {
    // SAFETY: promised by the caller.
    if place.is_null() { place } else { unsafe { (*buffer(place)).start_mut() } }
}

impl<V: Number> Bindings<V> {
    /// The same operands on the host.
    ///
    /// # Safety
    ///
    /// The buffers are alive and not borrowed by others; those that are `written` are not even read by others.
    unsafe fn on_host(&self, is_written: bool) -> Self {
        // SAFETY: promised by the caller. Values that are also written are fetched first.
        unsafe {
            let values = self.values.map(|place| to_read(place));
            let new = self.new.map(|place| if is_written { to_write(place) } else { to_read(place) });
            Self { values, new, device: None, ..*self }
        }
    }
}

impl<V: Number> Evaluation<'_, V> {
    /// Passes this job to `work` with its arrays on the host.
    #[cold]
    pub(crate) fn on_host<R>(self, work: impl FnOnce(Evaluation<'_, V>) -> R) -> R {
        // SAFETY: a job borrows its operands, those that are written exclusively.
        let memory = unsafe { self.memory.on_host(true) };
        work(Evaluation::of(self.kernel, self.grid, &memory, self.in_place))
    }
}

impl<'a, V: Number> Gather<'a, V> {
    /// The same gather on the host.
    ///
    /// # Safety
    ///
    /// The gather has been checked; its arrays are still alive, and nobody else uses those that receive contributions.
    unsafe fn on_host(&self, writes: bool) -> Gather<'a, V> {
        // SAFETY: promised by the caller. Seeds that are replaced are fetched first.
        unsafe {
            let dense = self.seeds.dense.map(|place| to_read(place));
            let rows = to_read(self.seeds.rows);
            let to = if writes { self.to.map(|place| to_write(place)) } else { self.to };
            Gather { memory: self.memory.on_host(false), seeds: Seeds { dense, rows, ..self.seeds }, to, ..*self }
        }
    }

    /// Passes this gather, of which only values and seeds are read, to `work` with these on the host.
    #[cold]
    pub(crate) fn read_on_host<R>(&self, work: impl FnOnce(&Gather<'_, V>) -> R) -> R {
        // SAFETY: a gather that has been checked is passed on while its arrays are alive; nothing is written.
        work(&unsafe { self.on_host(false) })
    }
}

impl<V: Number> Accumulation<'_, V> {
    /// Passes this job to `work` with its arrays on the host.
    #[cold]
    pub(crate) fn on_host<R>(self, work: impl FnOnce(Accumulation<'_, V>) -> R) -> R {
        // SAFETY: the promise made to the maker of this job.
        unsafe {
            let gather = self.gather.on_host(true);
            work(Accumulation::of(&gather, self.reached))
        }
    }
}

impl<V: Number> Propagation<'_, V> {
    /// Passes this job to `work` with its arrays on the host.
    #[cold]
    pub(crate) fn on_host<R>(self, work: impl FnOnce(Propagation<'_, V>) -> R) -> R {
        // SAFETY: a job borrows its operands, and the tangents that are written exclusively.
        unsafe {
            let (memory, tangents) = (self.memory.on_host(false), self.tangents.on_host(true));
            work(Propagation::new((self.kernel, self.grid), (&memory, &tangents), self.to))
        }
    }
}
