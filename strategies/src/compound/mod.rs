//! TODO

mod dual;
#[cfg(feature = "packs")]
mod pack;
#[cfg(feature = "packs")]
mod pack_registers;
#[cfg(feature = "packs")]
pub(crate) mod registered;

#[cfg(feature = "packs")]
pub use pack::Pack;
#[cfg(feature = "packs")]
pub use registered::Registered;
