//! Arrays of kernels: values, snapshots for later sweeps, adjoints and tangents.
//!
//! * `buffer`: aligned arrays with margins, so that registers may read beyond either end.
//! * `shared`: arrays with owners, counted by reference.
//! * `device`: copies of arrays in the memory of a device.
//! * `span`: consecutive elements of an array, which can be divided among threads.
//! * `pool`: freed arrays, reused for later ones of at most the same length.
//! * `version`: an array kept by a recording, which never changes and may be spilled to disk.
//! * `cache`: spilled versions that a sweep has read back.
//! * `adjoint`: the shadow of each view in a sweep: zero, uniform, or an array. `tangent`: derivatives along
//!   directions.
//!
//! Called by launches, recordings and the engine. Nothing here knows of kernels.

pub(crate) mod adjoint;
pub(crate) mod buffer;
pub(crate) mod cache;
pub(crate) mod device;
pub(crate) mod pool;
pub(crate) mod shared;
pub(crate) mod span;
pub(crate) mod tangent;
pub(crate) mod version;

pub use adjoint::{Shadow, Shadows};
pub use buffer::{Buffer, Elements};
pub use cache::ReadCache;
pub use device::{Change, DeviceArray, DeviceMemory, Region, device_failed};
pub use shared::{NewArray, SharedArray};
pub use tangent::Tangents;
pub use version::{Held, Version};
