//! Devices: targets that run the source code of kernels in a memory of their own.
//!
//! * `driver`: what an interface to devices must be able to do, and its errors.
//! * `device`: a device as a target and as memory. `arguments`: arguments of kernels, by the parameters of their source.
//!   `programs`: kernels that have been compiled. `changes`: elementwise changes of arrays.
//! * `opencl`: the driver for OpenCL, behind the feature of that name.
//!
//! Called by the engine's users, who name a space. Nothing here knows of recordings.

mod arguments;
mod changes;
mod device;
mod driver;
pub mod opencl;
mod programs;

pub use driver::DeviceError;
