//! Spaces of devices: which device is used.

use super::driver::DeviceError;
use super::folder::Folder;
use crate::kernel::targets::{Space, Target};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The processor of the host.
    Processor,
    /// A graphics processor.
    Graphics,
    /// Another accelerator.
    Accelerator,
    /// Something else.
    Other,
}

/// Facts about a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Name of the platform, which is a driver.
    pub platform: String,
    /// Name of the device.
    pub name: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Bytes of its memory.
    pub memory: u64,
    /// Bytes of the largest array that it can allocate.
    pub largest_array: u64,
    /// True if it has double precision.
    pub has_double: bool,
    /// True if divisions and square roots of `f32` are rounded correctly and subnormal numbers are kept, so that
    /// results have the bits of the host.
    pub rounds_single: bool,
    /// Version of the driver.
    pub driver: String,
}

/// Bytes of the arrays that a device uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Bytes on the device now.
    pub used: usize,
    /// Most bytes on the device since the last call of [`DeviceSpace::memory_use`].
    pub peak: usize,
    /// Bytes that have moved to the host since the device's budget was spent, and come back when they are used.
    pub moved: usize,
    /// Bytes that may be on the device.
    pub budget: usize,
}

/// A space of views on a device. All views of a space are on one device: the one that was [selected](Self::select), or
/// else the one that the space's environment variable names, or else the first graphics processor, or else the first
/// device.
pub trait DeviceSpace: Interface + Space<f64> + Space<f32> {
    /// Lists the devices.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`] if the interface is not installed, or has no device.
    fn devices() -> Result<Vec<DeviceInfo>, DeviceError> {
        Self::list()
    }

    /// Selects a device, before the first use of the space: by a kind (`cpu`, `gpu`, `accelerator`), by a part of the
    /// name of the device or its platform, or by its number in the list of [`devices`](Self::devices).
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`] and [`DeviceError::NotFound`] if it is not there; [`DeviceError::Selected`] if another
    /// one has been selected or used before; [`DeviceError::Failed`] if it does not work; [`DeviceError::Folder`] if
    /// the folder of `TAPEWRIGHT_PROGRAMS` cannot be written.
    fn select(wanted: &str) -> Result<DeviceInfo, DeviceError> {
        let (index, info) = choose::<Self>(wanted)?;
        let selected = use_device::<Self>(index)?;
        if selected.index == index {
            Ok(info)
        } else {
            Err(DeviceError::Selected { device: selected.info.name.clone() })
        }
    }

    /// Returns the device of the space; if none has been selected or used before, selects one now.
    ///
    /// # Errors
    ///
    /// In the cases of [`select`](Self::select).
    fn selected() -> Result<DeviceInfo, DeviceError> {
        Ok(in_use::<Self>()?.info.clone())
    }

    /// Returns the memory that arrays take on the device, and begins to look for the peak anew.
    ///
    /// # Errors
    ///
    /// In the cases of [`selected`](Self::selected).
    fn memory_use() -> Result<MemoryUse, DeviceError> {
        Ok(in_use::<Self>()?.device.memory_use())
    }

    /// Sets the number of bytes that arrays may take on the device; half of its memory if this is never called. Beyond
    /// it, arrays that were not used for the longest time move to the host, and come back when they are used: a sweep
    /// finds the last versions of a recording on the device, and fetches the first ones.
    ///
    /// # Errors
    ///
    /// In the cases of [`selected`](Self::selected), and [`DeviceError::Failed`] if an array cannot move. A launch
    /// whose own arrays exceed the budget fails with [`DeviceError::OverBudget`].
    fn set_memory_budget(bytes: usize) -> Result<(), DeviceError> {
        in_use::<Self>()?.device.set_budget(bytes)
    }

    /// Returns the number of programs that this process has compiled for the device.
    ///
    /// # Errors
    ///
    /// In the cases of [`selected`](Self::selected).
    fn compiled_programs() -> Result<usize, DeviceError> {
        Ok(in_use::<Self>()?.device.programs()[0])
    }

    /// Returns the number of programs that were found in the [folder](Self::keep_programs_in), and not compiled.
    ///
    /// # Errors
    ///
    /// In the cases of [`selected`](Self::selected).
    fn loaded_programs() -> Result<usize, DeviceError> {
        Ok(in_use::<Self>()?.device.programs()[1])
    }

    /// Keeps the programs that are compiled from now on in a folder, which is made if it is not there, and looks for
    /// them there. The environment variable `TAPEWRIGHT_PROGRAMS` names a folder for the devices of all spaces.
    ///
    /// Several processes may use a folder at once. A program is found by its source, the device, the versions of driver
    /// and compiler, and the options; a file that is damaged is replaced. A program that cannot be written later,
    /// because the disk is full, say, is not kept. Nothing is ever removed from the folder. It holds code that is run:
    /// it must belong to someone whom you trust.
    ///
    /// ```no_run
    /// use tapewright_strategies::kernel::devices::{DeviceError, DeviceSpace};
    ///
    /// fn prepare<M: DeviceSpace>() -> Result<(), DeviceError> {
    ///     M::select("gpu")?;
    ///     M::keep_programs_in("programs")
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`DeviceError::Folder`] if the folder cannot be made or written, and in the cases of
    /// [`selected`](Self::selected).
    fn keep_programs_in(folder: impl AsRef<Path>) -> Result<(), DeviceError> {
        let folder = Folder::new(folder.as_ref())?;
        in_use::<Self>()?.device.keep_programs_in(folder);
        Ok(())
    }
}

/// Interface to devices, such as OpenCL. Implemented in this library only.
pub trait Interface: Sized + 'static {
    #[doc(hidden)]
    const VARIABLE: &'static str;
    #[doc(hidden)]
    fn list() -> Result<Vec<DeviceInfo>, DeviceError>;
    #[doc(hidden)]
    fn open(index: usize) -> Result<InUse, DeviceError>;
    #[doc(hidden)]
    fn slot() -> &'static Slot;
}

impl<M: Interface> DeviceSpace for M {}

impl<M: Interface> Space<f64> for M {
    fn target() -> &'static dyn Target<f64> {
        device_of::<M>()
    }
}

impl<M: Interface> Space<f32> for M {
    fn target() -> &'static dyn Target<f32> {
        device_of::<M>()
    }
}

/// A device that is used as a target.
pub(super) trait OpenDevice: Target<f64> + Target<f32> {
    fn memory_use(&self) -> MemoryUse;
    fn set_budget(&self, bytes: usize) -> Result<(), DeviceError>;
    fn programs(&self) -> [usize; 2];
    fn keep_programs_in(&self, folder: Folder);
}

/// The device of a space.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct InUse {
    pub(super) index: usize,
    pub(super) info: DeviceInfo,
    pub(super) device: &'static dyn OpenDevice,
}

/// Place of the device of a space, once it is used.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Slot {
    device: OnceLock<InUse>,
    /// Held while a device is opened.
    opening: Mutex<()>,
}

impl Slot {
    pub(super) const fn new() -> Self {
        Self { device: OnceLock::new(), opening: Mutex::new(()) }
    }
}

/// Returns true if the name contains a part, whatever the case of its letters.
fn contains(name: &str, part: &str) -> bool {
    !part.is_empty() && name.to_lowercase().contains(&part.to_lowercase())
}

/// Returns the first device that fits, with its number.
fn choose<M: Interface>(wanted: &str) -> Result<(usize, DeviceInfo), DeviceError> {
    let all = M::list()?;
    let fits = |(k, info): (usize, &DeviceInfo)| match wanted {
        "cpu" => info.kind == DeviceKind::Processor,
        "gpu" => info.kind == DeviceKind::Graphics,
        "accelerator" => info.kind == DeviceKind::Accelerator,
        _ => match wanted.parse::<usize>() {
            Ok(number) => number == k,
            Err(_) => [&info.name, &info.platform].into_iter().any(|name| contains(name, wanted)),
        },
    };
    let position = all.iter().enumerate().position(fits);
    position.map(|k| (k, all[k].clone())).ok_or_else(|| DeviceError::NotFound {
        wanted: wanted.to_owned(),
        found: all.into_iter().map(|info| info.name).collect(),
    })
}

/// Returns the device in use, which becomes this one if there is none yet.
fn use_device<M: Interface>(index: usize) -> Result<&'static InUse, DeviceError> {
    let slot = M::slot();
    let _opening = slot.opening.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = slot.device.get() {
        return Ok(device);
    }
    let (folder, opened) = (Folder::of_environment()?, M::open(index)?);
    if let Some(folder) = folder {
        opened.device.keep_programs_in(folder);
    }
    Ok(slot.device.get_or_init(|| opened))
}

/// Returns the device in use, which is selected if there is none yet.
fn in_use<M: Interface>() -> Result<&'static InUse, DeviceError> {
    if let Some(device) = M::slot().device.get() {
        return Ok(device);
    }
    let (index, _) = match std::env::var_os(M::VARIABLE) {
        Some(wanted) if !wanted.is_empty() => {
            let wanted = wanted.to_string_lossy();
            choose::<M>(&wanted).map_err(|error| match error {
                DeviceError::NotFound { found, .. } => {
                    DeviceError::NotFound { wanted: format!("{}={wanted}", M::VARIABLE), found }
                }
                other => other,
            })?
        }
        _ => choose::<M>("gpu").or_else(|_| choose::<M>("0"))?,
    };
    use_device::<M>(index)
}

/// The device in use.
///
/// # Panics
///
/// When there is none.
#[track_caller]
fn device_of<M: Interface>() -> &'static dyn OpenDevice {
    match in_use::<M>() {
        Ok(found) => found.device,
        Err(error) => panic!("{error}"),
    }
}
