//! Drivers: interfaces to devices.

use crate::kernel::memory::device::Precision;
use crate::kernel::text::Dialect;
use core::fmt;

/// Interface to one device. Operations are queued and carried out in order; reading waits.
pub(super) trait Driver: fmt::Debug + Send + Sync + Sized + 'static {
    /// Array in the memory of the device.
    type Array: fmt::Debug + Send + Sync + 'static;
    /// Compiled source code.
    type Program: Send + Sync + 'static;
    /// Language of the source code.
    const DIALECT: Dialect;

    /// Name of the device.
    fn name(&self) -> &str;

    /// Returns true if the device has numbers of this precision.
    fn has(&self, precision: Precision) -> bool;

    /// Allocates an array of this many bytes, at least one, with unspecified contents.
    fn allocate(&self, bytes: usize) -> Result<Self::Array, DeviceError>;

    /// Copies an array to the host, and waits for that.
    fn read(&self, from: &Self::Array, to: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies bytes from the host, which may change afterwards.
    fn write(&self, from: &[u8], to: &Self::Array) -> Result<(), DeviceError>;

    /// Compiles source code.
    fn build(&self, source: &str) -> Result<Self::Program, DeviceError>;

    /// Everything that compiled code depends on beside its source: device, driver, compiler, and options.
    fn identity(&self) -> String;

    /// Code of a program, for a later process; `None` if the driver does not say it.
    fn code(&self, program: &Self::Program) -> Option<Vec<u8>>;

    /// Loads the code of a program that a driver of the same identity has compiled.
    fn load(&self, code: &[u8]) -> Result<Self::Program, DeviceError>;

    /// Runs a kernel with this number of work items along each dimension, or more, of which those beyond do nothing, in
    /// groups of this size.
    ///
    /// # Safety
    ///
    /// The kernel is in the program, takes these arguments, and keeps within its arrays.
    unsafe fn run(
        &self,
        program: &Self::Program,
        kernel: &str,
        arguments: &[Argument<'_, Self>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<(), DeviceError>;
}

/// Argument of a kernel.
pub(super) enum Argument<'a, D: Driver> {
    /// Address of an array; null without one.
    Array(Option<&'a D::Array>),
    /// Bytes of a number or of a structure.
    Value(&'a [u8]),
}

/// Error of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// The library of the interface cannot be loaded, or knows no device.
    NoDevice {
        /// Name of the interface.
        interface: &'static str,
        /// What was found, and what to install.
        reason: String,
    },
    /// No device fits what was asked for.
    NotFound {
        /// What was asked for.
        wanted: String,
        /// Names of the devices that are there.
        found: Vec<String>,
    },
    /// Another device has been selected before.
    Selected {
        /// Name of that device.
        device: String,
    },
    /// The device has no memory for an array.
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes of the array.
        bytes: usize,
    },
    /// The arrays of one launch, or of one change of an array, exceed the budget of the device.
    OverBudget {
        /// Name of the device.
        device: String,
        /// Bytes of the array that has no place.
        bytes: usize,
        /// Bytes of the other arrays that are needed with it.
        used: usize,
        /// Bytes of the budget.
        budget: usize,
    },
    /// The device has no double precision.
    NoDouble {
        /// Name of the device.
        device: String,
    },
    /// A kernel has a function that has no formula in the language of the device.
    NoText {
        /// Name of the device.
        device: String,
        /// Name of the function's rule.
        function: String,
    },
    /// The compiler of the device refuses a kernel.
    Refused {
        /// Name of the device.
        device: String,
        /// Output of the compiler.
        log: String,
        /// Source code of the kernel.
        source: String,
    },
    /// Compiled programs cannot be kept in the folder that was named.
    Folder {
        /// Name of the folder.
        folder: String,
        /// Error of the operating system.
        reason: String,
    },
    /// An operation has failed.
    Failed {
        /// Name of the device.
        device: String,
        /// The operation, and the error of the driver.
        reason: String,
    },
}

impl DeviceError {
    /// The error of an operation, with that of the driver.
    pub(super) fn failed(device: &str, operation: &str, error: impl fmt::Display) -> Self {
        Self::Failed { device: device.to_owned(), reason: format!("{operation}: {error}") }
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice { interface, reason } => write!(f, "there is no device for {interface}: {reason}"),
            Self::NotFound { wanted, found } => write!(
                f,
                "there is no device {wanted:?}; found: {}. Ask for a kind (cpu, gpu, accelerator), a part of a name, or a \
                 number counted from 0",
                found.join(", ")
            ),
            Self::Selected { device } => {
                write!(f, "{device} has been selected already: select a device before the first use of its space")
            }
            Self::OutOfMemory { device, bytes } => {
                write!(
                    f,
                    "{device} has no memory for an array of {bytes} bytes: drop tapes, use stages, or have old versions written to disk (`SpillOptions::memory`)"
                )
            }
            Self::OverBudget { device, bytes, used, budget } => write!(
                f,
                "an array of {bytes} bytes has no place on {device} beside {used} bytes that are needed with it, since the \
                 budget is {budget} bytes: set a larger one with `set_memory_budget`, or launch over smaller views"
            ),
            Self::NoDouble { device } => write!(
                f,
                "{device} has no double precision: use `f32`, or bring the views to the host with `in_space::<Host>()`"
            ),
            Self::NoText { device, function } => write!(
                f,
                "a kernel with the function {function}, which has no formula, cannot run on {device}: bring its views to \
                 the host with `in_space::<Host>()`"
            ),
            Self::Refused { device, log, source } => {
                write!(f, "the compiler of {device} refuses a kernel:\n{log}\nThe kernel:\n{source}")
            }
            Self::Folder { folder, reason } => write!(
                f,
                "compiled programs cannot be kept in {folder}: {reason}; name a folder in which this user may write \
                 (`keep_programs_in`, or the environment variable `TAPEWRIGHT_PROGRAMS`), or none"
            ),
            Self::Failed { device, reason } => write!(
                f,
                "{device} has failed: {reason}; check the device (`clinfo` or `nvidia-smi` list it), and start the program \
                 again, or use the space `Host`"
            ),
        }
    }
}

impl core::error::Error for DeviceError {}
