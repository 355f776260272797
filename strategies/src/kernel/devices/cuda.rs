//! CUDA devices: the driver of NVIDIA, and its compiler NVRTC.

use super::device::Device;
use super::driver::{Argument, DeviceError, Driver, Keep, LargestGroup};
use super::nvrtc;
use super::space::{DeviceInfo, DeviceKind, InUse, Interface, Slot};
use crate::kernel::memory::device::Precision;
use crate::kernel::text::Dialect;
use core::ffi::c_void;
use core::ptr;
use cudarc::driver::{result, sys};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// The space of views on a CUDA device. Its environment variable is `TAPEWRIGHT_CUDA`.
///
/// ```no_run
/// use tapewright_strategies::kernel::devices::{Cuda, DeviceSpace};
///
/// let device = Cuda::select("0")?;
/// println!("{}, {} bytes", device.name, device.memory);
/// # Ok::<(), tapewright_strategies::kernel::devices::DeviceError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cuda;

impl Interface for Cuda {
    const VARIABLE: &'static str = "TAPEWRIGHT_CUDA";

    fn list() -> Result<Vec<DeviceInfo>, DeviceError> {
        (0..count()?).map(|ordinal| facts(ordinal).map(|(_, info)| info)).collect()
    }

    fn open(index: usize) -> Result<InUse, DeviceError> {
        let ordinal = i32::try_from(index).unwrap_or(i32::MAX);
        let (device, info) = facts(ordinal)?;
        let device = Device::resident(CudaDriver::new(device, &info)?, info.memory);
        Ok(InUse { index, info, device })
    }

    fn slot() -> &'static Slot {
        static SLOT: Slot = Slot::new();
        &SLOT
    }
}

fn no_device(reason: &str) -> DeviceError {
    DeviceError::NoDevice {
        interface: "CUDA",
        reason: format!(
            "{reason}; install NVIDIA's driver for the card, and the library `nvrtc` of the CUDA toolkit (the Python package \
             `nvidia-cuda-nvrtc-cu12` has it, too)"
        ),
    }
}

/// Number of devices.
fn count() -> Result<i32, DeviceError> {
    // SAFETY: a library is looked for, whose loading does what the loading of a driver does.
    let (has_driver, has_compiler) = (unsafe { sys::is_culib_present() }, nvrtc::is_there());
    if !has_driver {
        return Err(no_device("the driver's library `cuda` was not found"));
    }
    if !has_compiler {
        return Err(no_device("the compiler's library `nvrtc` was not found"));
    }
    result::init().map_err(|error| no_device(&format!("the driver does not start ({error})")))?;
    match result::device::get_count() {
        Ok(count) if count > 0 => Ok(count),
        Ok(_) => Err(no_device("the driver has no device")),
        Err(error) => Err(no_device(&format!("the driver lists no devices ({error})"))),
    }
}

fn facts(ordinal: i32) -> Result<(sys::CUdevice, DeviceInfo), DeviceError> {
    let gone = |error: result::DriverError| no_device(&format!("device {ordinal} does not answer ({error})"));
    let device = result::device::get(ordinal).map_err(gone)?;
    let name = result::device::get_name(device).map_err(gone)?;
    // SAFETY: the device has just been listed.
    let memory = unsafe { result::device::total_mem(device) }.map_err(gone)?;
    let memory = u64::try_from(memory).unwrap_or(u64::MAX);
    let mut version = 0;
    // SAFETY: the version is written to a number.
    let driver = match unsafe { sys::cuDriverGetVersion(&raw mut version) }.result() {
        Ok(()) => format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        Err(_) => String::new(),
    };
    let info = DeviceInfo {
        platform: String::from("NVIDIA CUDA"),
        name,
        kind: DeviceKind::Graphics,
        memory,
        largest_array: memory,
        has_double: true,
        rounds_single: true,
        driver,
    };
    Ok((device, info))
}

/// A device with its primary context, whose default stream is the queue.
#[derive(Debug)]
struct CudaDriver {
    info: DeviceInfo,
    context: sys::CUcontext,
    largest_group: LargestGroup,
    /// Option of the compiler that names the architecture.
    architecture: String,
}

// SAFETY: a context may be current to several threads.
unsafe impl Send for CudaDriver {}
// SAFETY: as above.
unsafe impl Sync for CudaDriver {}

/// Array on a device.
#[derive(Debug)]
struct CudaArray {
    address: sys::CUdeviceptr,
    context: sys::CUcontext,
}

// SAFETY: addresses and contexts may be used by any thread.
unsafe impl Send for CudaArray {}
// SAFETY: as above.
unsafe impl Sync for CudaArray {}

impl Drop for CudaArray {
    fn drop(&mut self) {
        // SAFETY: the array was allocated in this context, and freeing it waits for what is queued. An error means that
        // the context has gone, and the memory with it.
        unsafe {
            if result::ctx::set_current(self.context).is_ok() {
                _ = result::free_sync(self.address);
            }
        }
    }
}

/// A loaded module, which stays for the rest of the program, as devices do.
struct CudaProgram {
    module: sys::CUmodule,
    kernels: Mutex<HashMap<String, CudaKernel>>,
}

#[derive(Clone, Copy)]
struct CudaKernel {
    function: sys::CUfunction,
    largest_group: LargestGroup,
}

// SAFETY: modules and functions may be used by any thread.
unsafe impl Send for CudaProgram {}
// SAFETY: as above.
unsafe impl Sync for CudaProgram {}

impl CudaDriver {
    fn new(device: sys::CUdevice, info: &DeviceInfo) -> Result<Self, DeviceError> {
        let failed = |error: result::DriverError| DeviceError::failed(&info.name, "a context cannot be made", error);
        let attribute = |attribute| {
            // SAFETY: the device has just been listed.
            unsafe { result::device::get_attribute(device, attribute) }.map_err(failed)
        };
        let major = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let most = |what| attribute(what).map(|most| usize::try_from(most).unwrap_or(1));
        let largest_group = LargestGroup {
            items: most(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            along: [
                most(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                most(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                most(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
        };
        // SAFETY: the device has just been listed. Its context is never released.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed)?;
        let architecture = format!("--gpu-architecture=compute_{major}{minor}");
        Ok(Self { info: info.clone(), context, largest_group, architecture })
    }

    fn failed(&self, what: &str, error: result::DriverError) -> DeviceError {
        DeviceError::failed(&self.info.name, what, error)
    }

    /// Returns a kernel of a program, whose context is current.
    fn kernel(&self, program: &CudaProgram, kernel: &str) -> Result<CudaKernel, DeviceError> {
        let mut kernels = program.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kernels.get(kernel) {
            return Ok(*found);
        }
        let name = CString::new(kernel).expect("a name has no zero byte");
        // SAFETY: the module is loaded.
        let found = unsafe { result::module::get_function(program.module, name) };
        let function = found.map_err(|error| self.failed(&format!("{kernel} was not found"), error))?;
        // Fewer than the device has if the kernel needs many registers.
        let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function has just been found.
        let most = unsafe { result::function::get_function_attribute(function, most) };
        let items = most.ok().and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let largest_group = LargestGroup { items: items.min(self.largest_group.items), ..self.largest_group };
        Ok(*kernels.entry(kernel.to_owned()).or_insert(CudaKernel { function, largest_group }))
    }

    /// Makes the context current to this thread.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is never released.
        unsafe { result::ctx::set_current(self.context) }.map_err(|error| self.failed("its context has gone", error))
    }
}

impl Driver for CudaDriver {
    type Array = CudaArray;
    type Program = CudaProgram;
    const DIALECT: Dialect = Dialect::Cuda;

    fn name(&self) -> &str {
        &self.info.name
    }

    fn has(&self, _: Precision) -> bool {
        true
    }

    fn allocate(&self, bytes: usize) -> Result<CudaArray, DeviceError> {
        self.enter()?;
        // SAFETY: the context is current.
        match unsafe { result::malloc_sync(bytes) } {
            Ok(address) => Ok(CudaArray { address, context: self.context }),
            Err(result::DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                Err(DeviceError::OutOfMemory { device: self.info.name.clone(), bytes })
            }
            Err(error) => Err(self.failed("an array cannot be allocated", error)),
        }
    }

    fn read(&self, from: &CudaArray, to: &mut [u8]) -> Result<(), DeviceError> {
        self.enter()?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: there are as many bytes in the array; the call returns when they have been copied.
        unsafe { result::memcpy_dtoh_sync(to, from.address) }
            .map_err(|error| self.failed("an array cannot be read", error))
    }

    fn write(&self, from: &[u8], to: &CudaArray) -> Result<(), DeviceError> {
        self.enter()?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: there is place for as many bytes in the array; the call returns when they may change.
        unsafe { result::memcpy_htod_sync(to.address, from) }
            .map_err(|error| self.failed("an array cannot be written", error))
    }

    fn copy(&self, from: &CudaArray, to: &CudaArray, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: both arrays have so many bytes, and freeing them waits for what is queued.
        unsafe { result::memcpy_dtod_async(to.address, from.address, bytes, ptr::null_mut()) }
            .map_err(|error| self.failed("an array cannot be copied", error))
    }

    fn clear(&self, array: &CudaArray, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: the array has so many bytes, and freeing it waits for what is queued.
        unsafe { result::memset_d8_async(array.address, 0, bytes, ptr::null_mut()) }
            .map_err(|error| self.failed("an array cannot be filled", error))
    }

    fn build(&self, source: &str, keep: Keep<'_>) -> Result<CudaProgram, DeviceError> {
        self.enter()?;
        let code = nvrtc::compile(source, &self.architecture).map_err(|log| DeviceError::Refused {
            device: self.info.name.clone(),
            log,
            source: source.to_owned(),
        })?;
        let code = bytemuck::cast_slice(&code);
        let program = self.load(code)?;
        keep.into_iter().for_each(|keep| keep(code));
        Ok(program)
    }

    fn identity(&self) -> String {
        let DeviceInfo { name, driver, .. } = &self.info;
        let options = [&*self.architecture, nvrtc::NOT_FUSED].join(" ");
        format!("CUDA, {name}, {driver}, NVRTC {}, {options}", nvrtc::version())
    }

    fn load(&self, code: &[u8]) -> Result<CudaProgram, DeviceError> {
        self.enter()?;
        if code.last() != Some(&0) {
            return Err(DeviceError::failed(&self.info.name, "a program cannot be loaded", "its end is missing"));
        }
        // SAFETY: the code ends with a zero byte.
        let module = unsafe { result::module::load_data(code.as_ptr().cast()) };
        let module = module.map_err(|error| self.failed("a program cannot be loaded", error))?;
        Ok(CudaProgram { module, kernels: Mutex::default() })
    }

    unsafe fn run(
        &self,
        program: &CudaProgram,
        kernel: &str,
        arguments: &[Argument<'_, Self>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<(), DeviceError> {
        self.enter()?;
        let CudaKernel { function, largest_group } = self.kernel(program, kernel)?;
        let group = largest_group.fitting(group);
        let addresses: Vec<sys::CUdeviceptr> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Array(Some(array)) => array.address,
                _ => 0,
            })
            .collect();
        let pointer = |(argument, address): (&Argument<'_, Self>, &sys::CUdeviceptr)| match argument {
            Argument::Array(_) => (&raw const *address).cast_mut().cast::<c_void>(),
            Argument::Value(bytes) => bytes.as_ptr().cast_mut().cast(),
        };
        let mut parameters: Vec<*mut c_void> = arguments.iter().zip(&addresses).map(pointer).collect();
        let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        // Fewer groups are right, too: threads go on to the items of the others.
        let groups = |d: usize| items[d].div_ceil(group[d]).min(if d == 0 { usize::MAX } else { 65_535 });
        let [x, y, z] = core::array::from_fn(|d| narrow(groups(d)));
        let [a, b, c] = group.map(narrow);
        // SAFETY: promised by the caller. Parameters are copied by the call, and only read.
        unsafe { result::launch_kernel(function, (x, y, z), (a, b, c), 0, ptr::null_mut(), &mut parameters) }
            .map_err(|error| self.failed(&format!("{kernel} cannot be run"), error))
    }
}
