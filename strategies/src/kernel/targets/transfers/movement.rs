//! Movements: transfers of elements as jobs for targets.

use super::indexing::{Base, Indexing, Values};
use crate::Number;
use crate::kernel::memory::buffer::Buffer;
#[cfg(any(feature = "opencl", feature = "cuda"))]
use crate::kernel::memory::device::{DeviceArray, DeviceMemory};
#[cfg(any(feature = "opencl", feature = "cuda"))]
use std::sync::Arc;

/// Elements to be moved from one array to another, which is borrowed exclusively: selected elements of the first one
/// are [taken](Self::take), or its elements are [put](Self::put) at selected places of the second one.
#[derive(Debug)]
pub struct Movement<'a, V: Number> {
    selects: Side,
    adds: bool,
    places: &'a Indexing,
    values: Values<'a, V>,
    base: Base<'a, V>,
    to: &'a mut Buffer<V>,
}

/// The array whose elements are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The array that is read: element k that is written is that at place k of the list, `to[k] = from[places[k]]`.
    Source,
    /// The array that is written: element k that is read goes to place k of the list, `to[places[k]] = from[k]`. If
    /// elements are added, a place may be in the list several times, and terms are added in the order of the list.
    Target,
}

/// Values that are read on a device.
#[cfg(any(feature = "opencl", feature = "cuda"))]
pub(crate) enum DeviceValues<V> {
    /// A value for each element, in order.
    Each(Arc<dyn DeviceArray>),
    /// One value for all elements.
    All(V),
}

/// Values that are read, as a target sees them.
#[derive(Clone, Copy, Debug)]
pub enum Moved<V: Number> {
    /// A value for each element, in order.
    Each {
        /// Address of the first part of the first one.
        start: *const V::Part,
        /// Distance between their planes, as a number of parts.
        stride: isize,
    },
    /// One value for all elements.
    All(V),
}

impl<V: Number> Moved<V> {
    fn of(buffer: &Buffer<V>) -> Self {
        let start = buffer.start();
        Self::Each { start: start.part(0), stride: start.stride() }
    }
}

/// Checks that there are as many elements of this kind as places.
#[track_caller]
fn assert_as_many(kind: &str, found: usize, places: &Indexing) {
    let expected = places.count();
    assert!(found == expected, "there are {found} {kind} for {expected} selected places: give one for each place");
}

impl<'a, V: Number> Movement<'a, V> {
    /// Elements of an array at these places, which become those of another one, in order, or are added to them.
    ///
    /// # Panics
    ///
    /// When a place is outside the array, or there are not as many places as elements to be written.
    #[track_caller]
    pub fn take(places: &'a Indexing, from: &'a Buffer<V>, adds: bool, to: &'a mut Buffer<V>) -> Self {
        assert_as_many("elements to be written", to.len(), places);
        places.assert_inside(from.len());
        Self { selects: Side::Source, adds, places, values: Values::Each(from), base: Base::Kept, to }
    }

    /// Values that are written to these places of an array, or added to what is there, after the base has been laid in
    /// the complete array.
    ///
    /// # Panics
    ///
    /// When a place is outside the array, there are not as many values as places, or the base has another length than
    /// the array.
    #[track_caller]
    pub fn put(
        places: &'a Indexing,
        values: Values<'a, V>,
        (adds, base): (bool, Base<'a, V>),
        to: &'a mut Buffer<V>,
    ) -> Self {
        if let Values::Each(values) = values {
            assert_as_many("values", values.len(), places);
        }
        if let Base::CopyOf(base) = base {
            let (found, expected) = (base.len(), to.len());
            assert!(found == expected, "a base of {found} elements is laid in an array of {expected}: give as many");
        }
        places.assert_inside(to.len());
        Self { selects: Side::Target, adds, places, values, base, to }
    }

    /// The array whose elements are selected.
    #[must_use]
    pub const fn selects(&self) -> Side {
        self.selects
    }

    /// Returns true if values are added to what is there, false if they replace it.
    #[must_use]
    pub const fn adds(&self) -> bool {
        self.adds
    }

    /// The places of the selected elements, which are in their array.
    #[must_use]
    pub const fn places(&self) -> &'a Indexing {
        self.places
    }

    /// The values that are read: as many as the array has elements from which they are selected, else one for each
    /// place.
    #[must_use]
    pub fn values(&self) -> Moved<V> {
        match self.values {
            Values::Each(values) => Moved::of(values),
            Values::All(value) => Moved::All(value),
        }
    }

    /// Contents of the written array before values are written to it; `None` if its elements stay.
    #[must_use]
    pub fn base(&self) -> Option<Moved<V>> {
        match self.base {
            Base::Kept => None,
            Base::Zero => Some(Moved::All(V::ZERO)),
            Base::CopyOf(base) => Some(Moved::of(base)),
        }
    }

    /// Number of elements of the array that is written.
    #[must_use]
    pub fn length(&self) -> usize {
        self.to.len()
    }

    /// Address of the array that is written; the distance between its planes is [`stride`](Self::stride).
    #[must_use]
    pub fn output(&mut self) -> *mut V::Part {
        self.to.start_mut().part(0)
    }

    /// Distance between the planes of the array that is written, as a number of parts.
    #[must_use]
    pub fn stride(&self) -> isize {
        self.to.start().stride()
    }

    #[cfg(any(feature = "opencl", feature = "cuda"))]
    /// Lays the base in the array that is written, on a device, and returns the values that are read there and this
    /// array.
    ///
    /// # Panics
    ///
    /// When the device has no memory for an array.
    pub(crate) fn sent_to(&mut self, memory: &'static dyn DeviceMemory) -> (DeviceValues<V>, Arc<dyn DeviceArray>) {
        let device = Some(memory);
        match self.base {
            Base::Kept if self.selects == Side::Source && !self.adds => _ = self.to.place_new(device),
            Base::Kept => {}
            Base::Zero => {
                self.to.place_new(device);
                self.to.fill(V::ZERO);
            }
            Base::CopyOf(base) => {
                base.place(device);
                self.to.copy_from(base);
            }
        }
        let values = match self.values {
            Values::Each(values) => {
                values.place(device);
                DeviceValues::Each(values.on_device(memory))
            }
            Values::All(value) => DeviceValues::All(value),
        };
        self.to.place_mut(device);
        (values, self.to.on_device(memory))
    }

    /// Moves the elements by the loops of the host.
    pub fn carry_out(self) {
        let Self { selects, adds, places, values, base, to } = self;
        match (selects, values) {
            (Side::Source, Values::Each(from)) if adds => places.take_sum(from, to),
            (Side::Source, Values::Each(from)) => places.take(from, to),
            (Side::Source, Values::All(_)) => unreachable!("elements are selected from an array"),
            (Side::Target, values) if adds => places.add(values, base, to),
            (Side::Target, values) => places.put(values, base, to),
        }
    }
}
