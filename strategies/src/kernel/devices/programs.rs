//! Programs that have been compiled for a device.

use super::driver::{DeviceError, Driver};
use crate::Number;
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::BoundKernel;
#[cfg(all(tapewright_on_device, feature = "cuda"))]
use crate::kernel::text::Dialect;
use crate::kernel::text::Purpose;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Key of the source of a kernel, its purpose and its precision.
type Key = ((usize, bool), Purpose, Precision);

/// The compiled programs of a device.
pub(super) struct Programs<D: Driver> {
    /// By kernel, so that the source need not be written to find one.
    kernels: Mutex<HashMap<Key, Arc<D::Program>>>,
    /// By source.
    sources: Mutex<HashMap<String, Arc<D::Program>>>,
}

impl<D: Driver> Programs<D> {
    pub(super) fn new() -> Self {
        Self { kernels: Mutex::default(), sources: Mutex::default() }
    }

    /// Number of programs.
    pub(super) fn count(&self) -> usize {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the program of a kernel, compiled at its first use.
    pub(super) fn kernel<V: Number>(
        &self,
        driver: &D,
        kernel: &BoundKernel<V>,
        purpose: Purpose,
    ) -> Result<Arc<D::Program>, DeviceError> {
        let key = (kernel.source_key(), purpose, Precision::of::<V>());
        let found = self.kernels.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(found) = found {
            return Ok(found);
        }
        let source = kernel.source(D::DIALECT, purpose).map_err(|error| DeviceError::NoText {
            device: driver.name().to_owned(),
            function: error.rule().to_owned(),
        })?;
        #[cfg(all(tapewright_on_device, feature = "cuda"))]
        if D::DIALECT != Dialect::Cuda {
            super::nvrtc::check(&kernel.source(Dialect::Cuda, purpose).expect("it has a source"));
        }
        let program = self.source(driver, source)?;
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&program));
        Ok(program)
    }

    /// Returns the program of a source, compiled at its first use.
    pub(super) fn source(&self, driver: &D, source: String) -> Result<Arc<D::Program>, DeviceError> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = sources.get(&source) {
            return Ok(Arc::clone(found));
        }
        let program = Arc::new(driver.build(&source)?);
        sources.insert(source, Arc::clone(&program));
        Ok(program)
    }
}
