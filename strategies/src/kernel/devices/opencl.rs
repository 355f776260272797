//! OpenCL devices.

use super::device::Device;
use super::driver::{Argument, DeviceError, Driver};
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::{Space, Target};
use crate::kernel::text::Dialect;
use core::ffi::c_void;
use core::ptr;
use opencl3::command_queue::{CommandQueue, enqueue_read_buffer, enqueue_write_buffer};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU};
use opencl3::error_codes::{CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, ClError};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::{Platform, get_platforms};
use opencl3::program::Program;
use opencl3::types::{CL_TRUE, cl_device_id, cl_mem};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Name of the environment variable that selects a device.
pub const VARIABLE: &str = "TAPEWRIGHT_OPENCL";

/// The space of views on an OpenCL device: the one that was [selected](select), or else what the environment variable
/// `TAPEWRIGHT_OPENCL` says, or else the first graphics processor, or else the first device.
#[derive(Clone, Copy, Debug)]
pub struct OpenCl;

impl Space<f64> for OpenCl {
    fn target() -> &'static dyn Target<f64> {
        resident()
    }
}

impl Space<f32> for OpenCl {
    fn target() -> &'static dyn Target<f32> {
        resident()
    }
}

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
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
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Name of the platform, which is a driver of OpenCL.
    pub platform: String,
    /// Name of the device.
    pub name: String,
    /// Kind of the device.
    pub kind: Kind,
    /// Bytes of its memory.
    pub memory: u64,
    /// Bytes of its largest array.
    pub largest_array: u64,
    /// True if it has double precision.
    pub has_double: bool,
    /// True if divisions and square roots of `f32` are rounded correctly, so that they have the bits of the host.
    pub rounds_single: bool,
    /// Version of the driver.
    pub driver: String,
}

/// Lists the devices of all platforms.
///
/// # Errors
///
/// [`DeviceError::NoDevice`] if OpenCL is not installed, or has no platform or no device.
pub fn devices() -> Result<Vec<DeviceInfo>, DeviceError> {
    Ok(found()?.into_iter().map(|(_, info)| info).collect())
}

/// Selects the device of the space [`OpenCl`], before its first use: by a kind (`cpu`, `gpu`, `accelerator`), by a part of
/// the name of the device or its platform, or by its number in the list of [`devices`].
///
/// # Errors
///
/// [`DeviceError::NoDevice`] and [`DeviceError::NotFound`] if it is not there; [`DeviceError::Selected`] if another one has
/// been selected or used before; [`DeviceError::Failed`] if it does not work.
pub fn select(wanted: &str) -> Result<DeviceInfo, DeviceError> {
    let (index, (id, info)) = choose(wanted)?;
    let device = use_device(index, id, &info)?;
    let selected = &device.driver;
    if selected.index == index { Ok(info) } else { Err(DeviceError::Selected { device: selected.name.clone() }) }
}

/// Returns the device of the space [`OpenCl`]; if none has been selected or used before, that is selected now.
///
/// # Errors
///
/// In the cases of [`select`].
pub fn selected() -> Result<DeviceInfo, DeviceError> {
    Ok(resident_or_error()?.driver.info.clone())
}

/// Returns the number of programs that have been compiled for the device.
///
/// # Errors
///
/// In the cases of [`selected`].
pub fn compiled_programs() -> Result<usize, DeviceError> {
    Ok(resident_or_error()?.programs())
}

/// Bytes of the arrays on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes now.
    pub used: usize,
    /// Most bytes since the last call of [`memory`].
    pub most: usize,
}

/// Returns the memory that arrays take on the device.
///
/// # Errors
///
/// In the cases of [`selected`].
pub fn memory() -> Result<MemoryUse, DeviceError> {
    let (used, most) = resident_or_error()?.memory();
    Ok(MemoryUse { used, most })
}

static DEVICE: OnceLock<&'static Device<ClDriver>> = OnceLock::new();
static SELECTION: Mutex<()> = Mutex::new(());

/// The device in use.
///
/// # Panics
///
/// When there is none.
fn resident() -> &'static Device<ClDriver> {
    match resident_or_error() {
        Ok(device) => device,
        Err(error) => panic!("{error}"),
    }
}

fn resident_or_error() -> Result<&'static Device<ClDriver>, DeviceError> {
    if let Some(device) = DEVICE.get() {
        return Ok(device);
    }
    let (index, (id, info)) = match std::env::var(VARIABLE) {
        Ok(wanted) if !wanted.is_empty() => choose(&wanted)?,
        _ => choose("gpu").or_else(|_| choose("0"))?,
    };
    use_device(index, id, &info)
}

/// Returns the device in use, which becomes this one if there is none yet.
fn use_device(index: usize, id: Id, info: &DeviceInfo) -> Result<&'static Device<ClDriver>, DeviceError> {
    let _selecting = SELECTION.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = DEVICE.get() {
        return Ok(device);
    }
    let device = Device::resident(ClDriver::new(index, id, info)?);
    Ok(DEVICE.get_or_init(|| device))
}

/// Returns the first device that fits, with its number.
fn choose(wanted: &str) -> Result<(usize, (Id, DeviceInfo)), DeviceError> {
    let all = found()?;
    let fits = |(k, info): (usize, &DeviceInfo)| match wanted {
        "cpu" => info.kind == Kind::Processor,
        "gpu" => info.kind == Kind::Graphics,
        "accelerator" => info.kind == Kind::Accelerator,
        _ => wanted.parse() == Ok(k) || [&info.name, &info.platform].into_iter().any(|name| name.contains(wanted)),
    };
    let position = all.iter().enumerate().position(|(k, (_, info))| fits((k, info)));
    match position {
        Some(k) => Ok((k, all.into_iter().nth(k).expect("it has just been found"))),
        None => Err(DeviceError::NotFound {
            wanted: wanted.to_owned(),
            found: all.into_iter().map(|(_, info)| info.name).collect(),
        }),
    }
}

/// Identity of a device.
#[derive(Clone, Copy)]
struct Id(cl_device_id);

fn no_device(reason: &str) -> DeviceError {
    DeviceError::NoDevice {
        interface: "OpenCL",
        reason: format!(
            "{reason}; install the OpenCL driver of your device, such as those of NVIDIA, AMD or Intel, or \
             `pocl-opencl-icd` for the processor itself, and the loader `ocl-icd-libopencl1`"
        ),
    }
}

fn found() -> Result<Vec<(Id, DeviceInfo)>, DeviceError> {
    let platforms = get_platforms().map_err(|error| no_device(&format!("no platform was found ({error})")))?;
    let mut all = Vec::new();
    for platform in &platforms {
        // A platform without devices reports that as an error.
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            all.push((Id(id), info(platform, id)));
        }
    }
    if all.is_empty() { Err(no_device("no platform has a device")) } else { Ok(all) }
}

/// Asks a device for the facts; what it does not say is empty or 0.
fn info(platform: &Platform, id: cl_device_id) -> DeviceInfo {
    const CORRECTLY_ROUNDED: u64 = 1 << 7;
    let device = opencl3::device::Device::new(id);
    let kind = match device.dev_type().unwrap_or_default() {
        kind if kind & CL_DEVICE_TYPE_GPU != 0 => Kind::Graphics,
        kind if kind & CL_DEVICE_TYPE_CPU != 0 => Kind::Processor,
        kind if kind & CL_DEVICE_TYPE_ACCELERATOR != 0 => Kind::Accelerator,
        _ => Kind::Other,
    };
    DeviceInfo {
        platform: platform.name().unwrap_or_default(),
        name: device.name().unwrap_or_default(),
        kind,
        memory: device.global_mem_size().unwrap_or_default(),
        largest_array: device.max_mem_alloc_size().unwrap_or_default(),
        has_double: device.double_fp_config().unwrap_or_default() != 0,
        rounds_single: device.single_fp_config().unwrap_or_default() & CORRECTLY_ROUNDED != 0,
        driver: device.driver_version().unwrap_or_default(),
    }
}

/// A device with a queue.
#[derive(Debug)]
struct ClDriver {
    index: usize,
    name: String,
    info: DeviceInfo,
    context: Context,
    queue: CommandQueue,
}

/// Kernels of a program.
struct ClProgram {
    program: Program,
    /// By name, with their arguments, which are set and used under the lock.
    kernels: Mutex<HashMap<String, Kernel>>,
}

/// Array on a device.
#[derive(Debug)]
struct ClArray(Buffer<u8>);

// SAFETY: memory objects, programs and queues of OpenCL may be used by any thread; kernels are used under a lock.
unsafe impl Send for ClArray {}
// SAFETY: as above.
unsafe impl Sync for ClArray {}
// SAFETY: as above.
unsafe impl Send for ClProgram {}
// SAFETY: as above.
unsafe impl Sync for ClProgram {}

impl ClDriver {
    fn new(index: usize, Id(id): Id, info: &DeviceInfo) -> Result<Self, DeviceError> {
        let failed = |what: &str, error: ClError| DeviceError::Failed {
            device: info.name.clone(),
            reason: format!("{what}: {error}"),
        };
        let device = opencl3::device::Device::new(id);
        let context = Context::from_device(&device).map_err(|error| failed("a context cannot be made", error))?;
        #[allow(deprecated, reason = "the function that replaces it is not in OpenCL 1.2")]
        let queue =
            CommandQueue::create_default(&context, 0).map_err(|error| failed("a queue cannot be made", error))?;
        Ok(Self { index, name: info.name.clone(), info: info.clone(), context, queue })
    }

    fn failed(&self, what: &str, error: ClError) -> DeviceError {
        DeviceError::Failed { device: self.name.clone(), reason: format!("{what}: {error}") }
    }
}

impl Driver for ClDriver {
    type Array = ClArray;
    type Program = ClProgram;
    const DIALECT: Dialect = Dialect::OpenCl;

    fn name(&self) -> &str {
        &self.name
    }

    fn has(&self, precision: Precision) -> bool {
        precision == Precision::Single || self.info.has_double
    }

    fn allocate(&self, bytes: usize) -> Result<ClArray, DeviceError> {
        // SAFETY: memory of its own is asked for.
        let buffer = unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        buffer.map(ClArray).map_err(|error| match error.0 {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES | CL_OUT_OF_HOST_MEMORY => {
                DeviceError::OutOfMemory { device: self.name.clone(), bytes }
            }
            _ if u64::try_from(bytes).unwrap_or(u64::MAX) > self.info.largest_array => {
                DeviceError::OutOfMemory { device: self.name.clone(), bytes }
            }
            _ => self.failed("an array cannot be allocated", error),
        })
    }

    fn read(&self, from: &ClArray, to: &mut [u8]) -> Result<(), DeviceError> {
        if to.is_empty() {
            return Ok(());
        }
        let (queue, start) = (self.queue.get(), to.as_mut_ptr().cast::<c_void>());
        // SAFETY: the call returns when the bytes have been copied; there are as many in the array.
        let event = unsafe { enqueue_read_buffer(queue, from.0.get(), CL_TRUE, 0, to.len(), start, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed("an array cannot be read", ClError(error)))
    }

    fn write(&self, from: &[u8], to: &ClArray) -> Result<(), DeviceError> {
        if from.is_empty() {
            return Ok(());
        }
        let (queue, start) = (self.queue.get(), from.as_ptr().cast::<c_void>());
        // SAFETY: the call returns when the bytes have been copied; there is place for as many in the array.
        let event = unsafe { enqueue_write_buffer(queue, to.0.get(), CL_TRUE, 0, from.len(), start, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed("an array cannot be written", ClError(error)))
    }

    fn build(&self, source: &str) -> Result<ClProgram, DeviceError> {
        let program = Program::create_and_build_from_source(&self.context, source, "-cl-std=CL1.2");
        let program = program.map_err(|log| DeviceError::Refused {
            device: self.name.clone(),
            log,
            source: source.to_owned(),
        })?;
        Ok(ClProgram { program, kernels: Mutex::default() })
    }

    unsafe fn run(
        &self,
        program: &ClProgram,
        kernel: &str,
        arguments: &[Argument<'_, Self>],
        work: [usize; 3],
    ) -> Result<(), DeviceError> {
        let mut kernels = program.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if !kernels.contains_key(kernel) {
            let made = Kernel::create(&program.program, kernel);
            kernels.insert(kernel.to_owned(), made.map_err(|error| self.failed("a kernel cannot be made", error))?);
        }
        let function = &kernels[kernel];
        for (k, argument) in (0..).zip(arguments) {
            let (address, size);
            let memory: cl_mem;
            match argument {
                Argument::Array(array) => {
                    memory = array.map_or(ptr::null_mut(), |array| array.0.get());
                    (address, size) = ((&raw const memory).cast::<c_void>(), size_of::<cl_mem>());
                }
                Argument::Value(bytes) => (address, size) = (bytes.as_ptr().cast(), bytes.len()),
            }
            // SAFETY: the address is that of so many bytes.
            let set = unsafe { opencl3::kernel::set_kernel_arg(function.get(), k, size, address) };
            set.map_err(|error| self.failed("an argument cannot be set", ClError(error)))?;
        }
        // Always groups of this size, because some compilers make code for each size.
        let group = [GROUP, 1, 1];
        let work = [work[0].next_multiple_of(GROUP), work[1], work[2]];
        // SAFETY: promised by the caller; the arguments have been set.
        let event = unsafe {
            self.queue.enqueue_nd_range_kernel(function.get(), 3, ptr::null(), work.as_ptr(), group.as_ptr(), &[])
        };
        event.map(drop).map_err(|error| self.failed(&format!("{kernel} cannot be run"), error))
    }
}

/// Number of work items in a group.
const GROUP: usize = 64;

/// Lets go of the event of an operation that has ended.
fn release(event: opencl3::types::cl_event) {
    drop(opencl3::event::Event::new(event));
}
