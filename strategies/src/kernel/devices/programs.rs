//! Programs that have been compiled for a device.

use super::driver::{DeviceError, Driver, Keep};
use super::folder::Folder;
use crate::Number;
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::BoundKernel;
#[cfg(all(tapewright_on_device, feature = "cuda"))]
use crate::kernel::text::Dialect;
use crate::kernel::text::Purpose;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Key of the source of a kernel, its purpose and its precision.
type Key = ((usize, bool), Purpose, Precision);

/// Place of a program, locked while it is compiled.
type Place<P> = Arc<Mutex<Option<Arc<P>>>>;

/// The compiled programs of a device.
pub(super) struct Programs<D: Driver> {
    /// By kernel, so that the source need not be written to find one.
    kernels: Mutex<HashMap<Key, Arc<D::Program>>>,
    /// By source.
    sources: Mutex<HashMap<String, Place<D::Program>>>,
    folder: Mutex<Option<Arc<Folder>>>,
    compiled: AtomicUsize,
    loaded: AtomicUsize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Driver> Programs<D> {
    pub(super) fn new() -> Self {
        let (compiled, loaded) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { kernels: Mutex::default(), sources: Mutex::default(), folder: Mutex::default(), compiled, loaded }
    }

    /// Numbers of programs that were compiled, and that were found in the folder.
    pub(super) fn count(&self) -> [usize; 2] {
        [&self.compiled, &self.loaded].map(|count| count.load(Ordering::Relaxed))
    }

    /// Keeps the programs that are compiled from now on in a folder, and looks for them there.
    pub(super) fn keep_in(&self, folder: Folder) {
        *locked(&self.folder) = Some(Arc::new(folder));
    }

    /// Returns the program of a kernel, compiled at its first use.
    pub(super) fn kernel<V: Number>(
        &self,
        driver: &D,
        kernel: &BoundKernel<V>,
        purpose: Purpose,
    ) -> Result<Arc<D::Program>, DeviceError> {
        let key = (kernel.source_key(), purpose, Precision::of::<V>());
        let found = locked(&self.kernels).get(&key).cloned();
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
        locked(&self.kernels).insert(key, Arc::clone(&program));
        Ok(program)
    }

    /// Returns the program of a source, compiled at its first use. Other threads may compile other sources meanwhile.
    pub(super) fn source(&self, driver: &D, source: String) -> Result<Arc<D::Program>, DeviceError> {
        let place = Arc::clone(locked(&self.sources).entry(source.clone()).or_default());
        let mut place = locked(&place);
        if let Some(found) = &*place {
            return Ok(Arc::clone(found));
        }
        let program = Arc::new(self.made(driver, &source)?);
        *place = Some(Arc::clone(&program));
        Ok(program)
    }

    /// Loads a program from the folder, or compiles it and keeps it there. A file that the driver does not accept is
    /// replaced, and a program that cannot be written now is one that the next process has to compile.
    fn made(&self, driver: &D, source: &str) -> Result<D::Program, DeviceError> {
        let folder = locked(&self.folder).clone();
        let Some(folder) = folder else {
            return self.compiled(driver, source, None);
        };
        let identity = driver.identity();
        if let Some(program) = folder.read(&identity, source).and_then(|code| driver.load(&code).ok()) {
            self.loaded.fetch_add(1, Ordering::Relaxed);
            return Ok(program);
        }
        self.compiled(driver, source, Some(&|code| _ = folder.write(&identity, source, code)))
    }

    fn compiled(&self, driver: &D, source: &str, keep: Keep<'_>) -> Result<D::Program, DeviceError> {
        let program = driver.build(source, keep)?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        Ok(program)
    }
}
