//! OpenCL devices.

use super::device::Device;
use super::driver::{Argument, DeviceError, Driver, Keep, LargestGroup};
use super::space::{DeviceInfo, DeviceKind, InUse, Interface, Slot};
use crate::kernel::memory::device::Precision;
use crate::kernel::text::Dialect;
use core::ffi::c_void;
use core::ptr;
use opencl3::command_queue::{
    CommandQueue, enqueue_copy_buffer, enqueue_fill_buffer, enqueue_nd_range_kernel, enqueue_read_buffer,
    enqueue_write_buffer,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU};
use opencl3::error_codes::{CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, ClError};
use opencl3::event::release_event;
use opencl3::kernel::Kernel;
use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use opencl3::platform::{Platform, get_platforms};
use opencl3::program::Program;
use opencl3::types::{CL_TRUE, cl_device_id, cl_event, cl_mem};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The space of views on an OpenCL device. Its environment variable is `TAPEWRIGHT_OPENCL`.
///
/// ```no_run
/// use tapewright_strategies::kernel::devices::{DeviceSpace, OpenCl};
///
/// let device = OpenCl::select("gpu")?;
/// println!("{}, {} bytes", device.name, device.memory);
/// # Ok::<(), tapewright_strategies::kernel::devices::DeviceError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OpenCl;

impl Interface for OpenCl {
    const VARIABLE: &'static str = "TAPEWRIGHT_OPENCL";

    fn list() -> Result<Vec<DeviceInfo>, DeviceError> {
        Ok(known_devices()?.into_iter().map(|(_, info)| info).collect())
    }

    fn open(index: usize) -> Result<InUse, DeviceError> {
        let (id, info) = known_devices()?.into_iter().nth(index).ok_or_else(|| no_device("a device has gone"))?;
        let device = Device::resident(ClDriver::new(id, &info)?, info.memory);
        Ok(InUse { index, info, device })
    }

    fn slot() -> &'static Slot {
        static SLOT: Slot = Slot::new();
        &SLOT
    }
}

/// Identity of a device.
#[derive(Clone, Copy)]
struct Id(cl_device_id);

// SAFETY: devices may be used by any thread.
unsafe impl Send for Id {}

fn no_device(reason: &str) -> DeviceError {
    DeviceError::NoDevice {
        interface: "OpenCL",
        reason: format!(
            "{reason}; install the OpenCL driver of your device, such as those of NVIDIA, AMD or Intel, or \
             `pocl-opencl-icd` for the processor itself, and the loader `ocl-icd-libopencl1`"
        ),
    }
}

/// Lists the devices. One thread at a time asks for them, because some drivers start when they are asked for the first
/// time, and are not ready for a second thread then.
fn known_devices() -> Result<Vec<(Id, DeviceInfo)>, DeviceError> {
    static FOUND: Mutex<Vec<(Id, DeviceInfo)>> = Mutex::new(Vec::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if found.is_empty() {
        *found = queried()?;
    }
    Ok(found.clone())
}

fn queried() -> Result<Vec<(Id, DeviceInfo)>, DeviceError> {
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
    // Subnormal numbers, and correctly rounded divisions and square roots.
    const EXACT: u64 = 1 | 1 << 7;
    let device = opencl3::device::Device::new(id);
    let kind = match device.dev_type().unwrap_or_default() {
        kind if kind & CL_DEVICE_TYPE_GPU != 0 => DeviceKind::Graphics,
        kind if kind & CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Processor,
        kind if kind & CL_DEVICE_TYPE_ACCELERATOR != 0 => DeviceKind::Accelerator,
        _ => DeviceKind::Other,
    };
    DeviceInfo {
        platform: platform.name().unwrap_or_default(),
        name: device.name().unwrap_or_default(),
        kind,
        memory: device.global_mem_size().unwrap_or_default(),
        largest_array: device.max_mem_alloc_size().unwrap_or_default(),
        has_double: device.double_fp_config().unwrap_or_default() != 0,
        rounds_single: device.single_fp_config().unwrap_or_default() & EXACT == EXACT,
        driver: device.driver_version().unwrap_or_default(),
    }
}

/// A device with a queue.
#[derive(Debug)]
struct ClDriver {
    info: DeviceInfo,
    largest_group: LargestGroup,
    context: Context,
    queue: CommandQueue,
}

/// Kernels of a program.
struct ClProgram {
    program: Program,
    /// By name, with their arguments, which are set and used under the lock.
    kernels: Mutex<HashMap<String, ClKernel>>,
}

struct ClKernel {
    kernel: Kernel,
    largest_group: LargestGroup,
}

/// Array on a device.
#[derive(Debug)]
struct ClArray(cl_mem);

impl Drop for ClArray {
    fn drop(&mut self) {
        // SAFETY: the array is released once; it lives until the operations that use it have ended. An error means that
        // the device has gone, and the memory with it.
        _ = unsafe { release_mem_object(self.0) };
    }
}

// SAFETY: memory objects, programs and queues of OpenCL may be used by any thread; kernels are used under a lock.
unsafe impl Send for ClArray {}
// SAFETY: as above.
unsafe impl Sync for ClArray {}
// SAFETY: as above.
unsafe impl Send for ClProgram {}
// SAFETY: as above.
unsafe impl Sync for ClProgram {}

impl ClDriver {
    fn new(Id(id): Id, info: &DeviceInfo) -> Result<Self, DeviceError> {
        let failed = |what: &str, error: ClError| DeviceError::failed(&info.name, what, error);
        let device = opencl3::device::Device::new(id);
        let context = Context::from_device(&device).map_err(|error| failed("a context cannot be made", error))?;
        #[allow(deprecated, reason = "the function that replaces it is not in OpenCL 1.2")]
        let queue =
            CommandQueue::create_default(&context, 0).map_err(|error| failed("a queue cannot be made", error))?;
        let largest_group = LargestGroup {
            items: device.max_work_group_size().unwrap_or(usize::MAX),
            along: device.max_work_item_sizes().ok().and_then(|sizes| sizes.try_into().ok()).unwrap_or([usize::MAX; 3]),
        };
        Ok(Self { info: info.clone(), largest_group, context, queue })
    }

    /// Makes a kernel of a program.
    fn kernel(&self, program: &Program, name: &str) -> Result<ClKernel, DeviceError> {
        let kernel = Kernel::create(program, name);
        let kernel = kernel.map_err(|error| self.failed("a kernel cannot be made", error))?;
        // Fewer than the device has if the kernel needs many registers.
        let items = kernel.get_work_group_size(self.context.default_device()).unwrap_or(usize::MAX);
        let largest_group = LargestGroup { items: items.min(self.largest_group.items), ..self.largest_group };
        Ok(ClKernel { kernel, largest_group })
    }

    /// The error of an operation that uses or makes an array of so many bytes; 0 if that is not known. Many drivers
    /// allocate an array when it is used for the first time.
    fn failed_with(&self, what: &str, error: i32, bytes: usize) -> DeviceError {
        match error {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES | CL_OUT_OF_HOST_MEMORY => {
                DeviceError::OutOfMemory { device: self.info.name.clone(), bytes }
            }
            _ => self.failed(what, ClError(error)),
        }
    }

    fn failed(&self, what: &str, error: ClError) -> DeviceError {
        DeviceError::failed(&self.info.name, what, error)
    }

    /// Options of the compiler.
    fn options(&self) -> String {
        let rounded = if self.info.rounds_single { " -cl-fp32-correctly-rounded-divide-sqrt" } else { "" };
        format!("-cl-std=CL1.2{rounded}")
    }
}

impl Driver for ClDriver {
    type Array = ClArray;
    type Program = ClProgram;
    const DIALECT: Dialect = Dialect::OpenCl;

    fn name(&self) -> &str {
        &self.info.name
    }

    fn has(&self, precision: Precision) -> bool {
        precision == Precision::Single || self.info.has_double
    }

    fn allocate(&self, bytes: usize) -> Result<ClArray, DeviceError> {
        // SAFETY: memory of its own is asked for.
        let array = unsafe { create_buffer(self.context.get(), CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        array.map(ClArray).map_err(|error| match u64::try_from(bytes) {
            Ok(wide) if wide <= self.info.largest_array => {
                self.failed_with("an array cannot be allocated", error, bytes)
            }
            _ => DeviceError::OutOfMemory { device: self.info.name.clone(), bytes },
        })
    }

    fn read(&self, from: &ClArray, to: &mut [u8]) -> Result<(), DeviceError> {
        if to.is_empty() {
            return Ok(());
        }
        let (queue, start) = (self.queue.get(), to.as_mut_ptr().cast::<c_void>());
        // SAFETY: the call returns when the bytes have been copied; there are as many in the array.
        let event = unsafe { enqueue_read_buffer(queue, from.0, CL_TRUE, 0, to.len(), start, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed_with("an array cannot be read", error, to.len()))
    }

    fn write(&self, from: &[u8], to: &ClArray) -> Result<(), DeviceError> {
        if from.is_empty() {
            return Ok(());
        }
        let (queue, start) = (self.queue.get(), from.as_ptr().cast::<c_void>());
        // SAFETY: the call returns when the bytes have been copied; there is place for as many in the array.
        let event = unsafe { enqueue_write_buffer(queue, to.0, CL_TRUE, 0, from.len(), start, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed_with("an array cannot be written", error, from.len()))
    }

    fn copy(&self, from: &ClArray, to: &ClArray, bytes: usize) -> Result<(), DeviceError> {
        let queue = self.queue.get();
        // SAFETY: both arrays have so many bytes, and live until the operation has ended.
        let event = unsafe { enqueue_copy_buffer(queue, from.0, to.0, 0, 0, bytes, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed_with("an array cannot be copied", error, bytes))
    }

    fn clear(&self, array: &ClArray, bytes: usize) -> Result<(), DeviceError> {
        let (queue, zero) = (self.queue.get(), [0_u8; 4]);
        let pattern = zero.as_ptr().cast::<c_void>();
        // SAFETY: the pattern is copied by the call; the array has so many bytes, and lives until the operation has
        // ended.
        let event = unsafe { enqueue_fill_buffer(queue, array.0, pattern, zero.len(), 0, bytes, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed_with("an array cannot be filled", error, bytes))
    }

    fn build(&self, source: &str, keep: Keep<'_>) -> Result<ClProgram, DeviceError> {
        let program = Program::create_and_build_from_source(&self.context, source, &self.options());
        let program = program.map_err(|log| DeviceError::Refused {
            device: self.info.name.clone(),
            log,
            source: source.to_owned(),
        })?;
        // Asked for only where they are kept: some drivers compile all functions for that.
        if let Some(keep) = keep
            && let Ok(codes) = program.get_binaries()
        {
            codes.iter().filter(|code| !code.is_empty()).for_each(|code| keep(code));
        }
        Ok(ClProgram { program, kernels: Mutex::default() })
    }

    fn identity(&self) -> String {
        let DeviceInfo { platform, name, driver, .. } = &self.info;
        format!("OpenCL, {platform}, {name}, {driver}, {}", self.options())
    }

    fn load(&self, code: &[u8]) -> Result<ClProgram, DeviceError> {
        let program = Program::create_and_build_from_binary(&self.context, &[code], &self.options());
        let program = program.map_err(|error| self.failed("a program cannot be loaded", error))?;
        Ok(ClProgram { program, kernels: Mutex::default() })
    }

    unsafe fn run(
        &self,
        program: &ClProgram,
        kernel: &str,
        arguments: &[Argument<'_, Self>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<(), DeviceError> {
        let mut kernels = program.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if !kernels.contains_key(kernel) {
            kernels.insert(kernel.to_owned(), self.kernel(&program.program, kernel)?);
        }
        let ClKernel { kernel: function, largest_group } = &kernels[kernel];
        for (k, argument) in (0..).zip(arguments) {
            let (address, size);
            let memory: cl_mem;
            match argument {
                Argument::Array(array) => {
                    memory = array.map_or(ptr::null_mut(), |array| array.0);
                    (address, size) = ((&raw const memory).cast::<c_void>(), size_of::<cl_mem>());
                }
                Argument::Value(bytes) => (address, size) = (bytes.as_ptr().cast(), bytes.len()),
            }
            // SAFETY: the address is that of so many bytes.
            let set = unsafe { opencl3::kernel::set_kernel_arg(function.get(), k, size, address) };
            set.map_err(|error| self.failed("an argument cannot be set", ClError(error)))?;
        }
        // Groups of the size that was asked for, because some compilers make code for each size.
        let group = if self.info.kind == DeviceKind::Processor { part_of_rows(items) } else { group };
        let group = largest_group.fitting(group);
        let work: [usize; 3] = core::array::from_fn(|d| items[d].next_multiple_of(group[d]));
        let (queue, kernel_of) = (self.queue.get(), function.get());
        let (work, group) = (work.as_ptr(), group.as_ptr());
        // SAFETY: promised by the caller; the arguments have been set.
        let event = unsafe { enqueue_nd_range_kernel(queue, kernel_of, 3, ptr::null(), work, group, 0, ptr::null()) };
        event.map(release).map_err(|error| self.failed_with(&format!("{kernel} cannot be run"), error, 0))
    }
}

/// Size of a group of a processor, which makes a loop of it: a part of a row, or of several rows if they are short.
/// There are few sizes, powers of four, because `pocl` makes code for each.
fn part_of_rows([a, b, c]: [usize; 3]) -> [usize; 3] {
    const SHORT: usize = 64;
    const LONG: usize = 512;
    let part = |items: usize, most: usize| {
        let power = items.next_power_of_two();
        (power << (power.trailing_zeros() % 2)).min(most)
    };
    let first = if 2 * a > LONG { LONG } else { part(a, SHORT) };
    let second = part(b, (SHORT / first).max(1));
    [first, second, part(c, (SHORT / first / second).max(1))]
}

/// Releases the event of an operation, which nobody waits for.
fn release(event: cl_event) {
    // SAFETY: the event has just been made, and is released once.
    _ = unsafe { release_event(event) };
}

#[cfg(test)]
mod tests {
    use super::{Argument, ClDriver, DeviceError, Driver, known_devices};

    /// The first device, if there is one.
    fn driver() -> Option<ClDriver> {
        let (id, info) = known_devices().ok()?.into_iter().next()?;
        ClDriver::new(id, &info).ok()
    }

    /// If this fails, it is not tapewright that does not work.
    #[test]
    fn the_driver_runs_a_kernel() {
        let Some(driver) = driver() else { return };
        let source = "__kernel void add(__global float *x, float y) { x[get_global_id(0)] += y; }";
        let (program, array) = (driver.build(source, None).expect("built"), driver.allocate(256).expect("allocated"));
        driver.write(bytemuck::bytes_of(&[1.5_f32; 64]), &array).expect("written");
        let number = 2.25_f32;
        let arguments = [Argument::Array(Some(&array)), Argument::Value(bytemuck::bytes_of(&number))];
        // SAFETY: the kernel takes these arguments, and the array has 64 numbers.
        unsafe { driver.run(&program, "add", &arguments, [64, 1, 1], [64, 1, 1]) }.expect("run");
        let mut found = [0.0_f32; 64];
        driver.read(&array, bytemuck::bytes_of_mut(&mut found)).expect("read");
        assert_eq!(found, [3.75; 64]);
    }

    #[test]
    fn a_source_that_is_refused_comes_back_with_the_log() {
        let Some(driver) = driver() else { return };
        let Err(DeviceError::Refused { log, source, .. }) =
            driver.build("__kernel void wrong(int k) { return k }", None)
        else {
            panic!("it is no program")
        };
        assert!(log.contains("error") && source.contains("wrong"), "{log}");
    }
}
