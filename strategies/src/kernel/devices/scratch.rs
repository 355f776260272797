//! Arrays that exist for one job. Small ones are kept for the jobs that follow, since some drivers wait for what is
//! queued whenever an array is freed.

use super::driver::{DeviceError, Driver};
use core::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Largest number of bytes of an array that is kept.
const LARGEST: usize = 1 << 20;
/// Most arrays that are kept.
const MOST: usize = 16;

/// Arrays that no job uses now, with their lengths in bytes.
pub(super) struct Spares<D: Driver>(Mutex<Vec<(usize, D::Array)>>);

impl<D: Driver> Spares<D> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns an array of at least this many bytes with unspecified contents: one that is kept, or else one from
    /// `allocate`.
    pub(super) fn array(
        &self,
        bytes: usize,
        allocate: impl FnOnce(usize) -> Result<D::Array, DeviceError>,
    ) -> Result<ScratchArray<'_, D>, DeviceError> {
        let bytes = if bytes <= LARGEST { bytes.next_power_of_two() } else { bytes };
        let found = {
            let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = spares.iter().position(|(length, _)| *length == bytes);
            place.map(|place| spares.swap_remove(place).1)
        };
        let array = found.map_or_else(|| allocate(bytes), Ok)?;
        Ok(ScratchArray { spares: self, bytes, array: Some(array) })
    }

    fn keep(&self, bytes: usize, array: D::Array) {
        if bytes <= LARGEST {
            let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            spares.push((bytes, array));
            let oldest = (spares.len() > MOST).then(|| spares.remove(0));
            // Freed without the lock.
            drop(spares);
            drop(oldest);
        }
    }
}

/// Array of a job, which is kept when the job has been queued: operations are carried out in order.
pub(super) struct ScratchArray<'a, D: Driver> {
    spares: &'a Spares<D>,
    bytes: usize,
    /// `None` only while it is dropped.
    array: Option<D::Array>,
}

impl<D: Driver> Deref for ScratchArray<'_, D> {
    type Target = D::Array;

    fn deref(&self) -> &D::Array {
        self.array.as_ref().expect("it is not being dropped")
    }
}

impl<D: Driver> Drop for ScratchArray<'_, D> {
    fn drop(&mut self) {
        if let Some(array) = self.array.take() {
            self.spares.keep(self.bytes, array);
        }
    }
}
