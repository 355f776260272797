//! Devices: targets that run the source code of kernels in a memory of their own.
//!
//! * `space`: spaces of devices, and which device they use.
//! * `driver`: what an interface to devices must be able to do, and its errors.
//! * `device`: a device as a target and as memory. `residence`: which arrays are on the device.
//!   `scratch`: arrays of one job.
//! * `programs`: kernels that have been compiled. `folder`: files that keep them. `changes`: elementwise changes of
//!   arrays.
//! * `opencl`, `cuda`: the drivers, each behind the feature of that name. `nvrtc`: the compiler of CUDA.
//!
//! Called by the engine's users, who name a space. Nothing here knows of recordings.

mod changes;
#[cfg(feature = "cuda")]
mod cuda;
mod device;
mod driver;
mod folder;
#[cfg(feature = "cuda")]
mod nvrtc;
#[cfg(feature = "opencl")]
mod opencl;
mod programs;
mod residence;
mod scratch;
mod space;

#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use driver::DeviceError;
#[cfg(feature = "opencl")]
pub use opencl::OpenCl;
pub use space::{DeviceInfo, DeviceKind, DeviceSpace, MemoryUse};
