//! Drivers: interfaces to devices.

use crate::kernel::memory::device::Precision;
use crate::kernel::text::Dialect;
use core::fmt;

/// Receives compiled code, if that is asked for.
pub(super) type Keep<'a> = Option<&'a dyn Fn(&[u8])>;

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

    /// Copies the first bytes of an array to another one.
    fn copy(&self, from: &Self::Array, to: &Self::Array, bytes: usize) -> Result<(), DeviceError>;

    /// Sets the first bytes of an array to 0.
    fn clear(&self, array: &Self::Array, bytes: usize) -> Result<(), DeviceError>;

    /// Compiles source code, and passes the code that comes out to `keep` if that is asked for and the driver says it.
    fn build(&self, source: &str, keep: Keep<'_>) -> Result<Self::Program, DeviceError>;

    /// Everything that compiled code depends on beside its source: device, driver, compiler, and options.
    fn identity(&self) -> String;

    /// Loads the code of a program that a driver of the same identity has compiled.
    fn load(&self, code: &[u8]) -> Result<Self::Program, DeviceError>;

    /// Runs a kernel with this number of work items along each dimension, or more, of which those beyond do nothing, in
    /// groups of this size, or of a smaller one if the device has no groups so large.
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

/// The largest groups of work items that a device can run a kernel in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LargestGroup {
    /// Work items of a group.
    pub(super) items: usize,
    /// Work items along each dimension.
    pub(super) along: [usize; 3],
}

impl LargestGroup {
    /// Returns a group, whose extents are powers of two, halved along the last dimension that can be until it fits.
    pub(super) fn fitting(self, group: [usize; 3]) -> [usize; 3] {
        let mut group: [usize; 3] = core::array::from_fn(|d| {
            let most = self.along[d].max(1);
            if group[d] > most { (most + 1).next_power_of_two() / 2 } else { group[d] }
        });
        while group.iter().product::<usize>() > self.items {
            let Some(d) = (0..3).rev().find(|d| group[*d] > 1) else { break };
            group[d] /= 2;
        }
        group
    }
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
        /// Bytes of the array; 0 if the driver does not say which one it is.
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
                let what = if *bytes > 0 { format!("an array of {bytes} bytes") } else { String::from("a launch") };
                write!(
                    f,
                    "{device} has no memory for {what}: drop tapes, use stages, or have old versions written to disk \
                     (`SpillOptions::memory`)"
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
                write!(f, "the compiler of {device} refuses a kernel:\n{log}\nThe kernel, with numbers of its lines:")?;
                source.lines().zip(1..).try_for_each(|(line, number)| write!(f, "\n{number:4} {line}"))
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

#[cfg(test)]
mod tests {
    use super::LargestGroup;

    #[test]
    fn groups_are_halved_until_they_fit() {
        let fitting = |items, along| LargestGroup { items, along }.fitting([64, 2, 1]);
        assert_eq!(fitting(1024, [1024, 1024, 64]), [64, 2, 1]);
        assert_eq!(fitting(128, [64, 2, 1]), [64, 2, 1]);
        assert_eq!(fitting(127, [64; 3]), [64, 1, 1]);
        assert_eq!(fitting(32, [64; 3]), [32, 1, 1]);
        assert_eq!(fitting(100, [48, 1, 1]), [32, 1, 1]);
        assert_eq!(fitting(1, [1; 3]), [1; 3]);
        assert_eq!(fitting(0, [0; 3]), [1; 3]);
        let along = [1024, 1024, 64];
        assert_eq!(LargestGroup { items: 1024, along }.fitting([1, 1, 128]), [1, 1, 64]);
    }
}
