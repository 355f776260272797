//! Copies of arrays in the memory of a device.

use crate::Number;
use crate::error::refusal;
use crate::kernel::ir::grid::Grid;
use core::any::Any;
use core::fmt;
use std::sync::Arc;

/// Memory of a device, in which arrays get a copy when a target of the device uses them.
///
/// Memories are told apart by their addresses, so that a type of memory must not be of size 0, nor be the first field
/// of another one.
pub trait DeviceMemory: fmt::Debug + Send + Sync + 'static {
    /// Allocates an array of this many numbers, with unspecified contents.
    ///
    /// # Panics
    ///
    /// When the device has no memory for the array, or no numbers of this precision.
    fn allocate(&self, length: usize, precision: Precision) -> Arc<dyn DeviceArray>;
}

/// Array in the memory of a device. Operations may be queued, in order; only [`read`](Self::read) waits.
pub trait DeviceArray: Any + fmt::Debug + Send + Sync {
    /// Copies the bytes of the elements to the host, after everything that is queued.
    fn read(&self, to: &mut [u8]);

    /// Copies the bytes of the elements from the host.
    fn write(&self, from: &[u8]);

    /// Changes the elements in a region, and returns true; or false if the device cannot do that: then the host does.
    fn update(&self, change: Change<'_>, region: Region<'_>) -> bool {
        _ = (change, region);
        false
    }
}

/// Type of the numbers in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Numbers `f64`.
    Double,
    /// Numbers `f32`.
    Single,
}

impl Precision {
    /// The type of these numbers; of their parts if they have several.
    pub(crate) const fn of<V: Number>() -> Self {
        if size_of::<V::Part>() == 4 { Self::Single } else { Self::Double }
    }

    /// Bytes of a number.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Double => 8,
            Self::Single => 4,
        }
    }
}

/// Elementwise change of an array. Numbers are exact in the precision of the array.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Elements become this number.
    Fill(f64),
    /// Elements become those of another array of the same length, in the same memory.
    Copy(&'a dyn DeviceArray),
    /// The elements of another array of the same length, in the same memory, are added.
    Add(&'a dyn DeviceArray),
    /// This number is added.
    AddNumber(f64),
    /// Elements become the one for their row, the points along the last dimension, of another array in the same memory:
    /// it has one for each row of the region, a grid's range, in order.
    Rows(&'a dyn DeviceArray),
}

/// Elements of an array that a change concerns.
#[derive(Clone, Copy, Debug)]
pub enum Region<'g> {
    /// All elements.
    All,
    /// The points of a grid's range.
    Inside(&'g Grid),
    /// All elements but the points of a grid's range.
    Outside(&'g Grid),
}

/// Panics because a device has failed: its name, what happened, and what to do. Recordings by `try_record` and sweeps
/// return that as [`StorageError::Device`](crate::error::StorageError::Device), and nothing is lost but arrays whose
/// latest elements are on a device that has gone.
#[cold]
#[track_caller]
pub fn device_failed(reason: impl Into<String>) -> ! {
    refusal::device_failed(reason.into())
}

/// The memory that a target uses: that of a device, or of the host, which is `None`.
pub(crate) type Device = Option<&'static dyn DeviceMemory>;

/// Copy of an array on a device.
#[derive(Clone, Debug)]
pub(crate) struct DeviceCopy {
    pub(crate) memory: &'static dyn DeviceMemory,
    pub(crate) array: Arc<dyn DeviceArray>,
    /// True if it is up to date, provided that some copy is.
    pub(crate) is_fresh: bool,
}

impl DeviceCopy {
    /// Allocates a copy with unspecified contents.
    pub(crate) fn new(memory: &'static dyn DeviceMemory, length: usize, precision: Precision) -> Self {
        refusal::device_is_used();
        assert!(size_of_val(memory) > 0, "{memory:?} is of size 0, and memories are told apart by their addresses");
        Self { memory, array: memory.allocate(length, precision), is_fresh: false }
    }

    /// Returns true if the copy is in this memory.
    pub(crate) fn is_in(&self, memory: &'static dyn DeviceMemory) -> bool {
        core::ptr::addr_eq(self.memory, memory)
    }
}
