//! Numbers that are made of other numbers: duals (a value with tangents) and packs (several values).
//!
//! Their functions come from the derivative rules, so this room lies above `rules`, and `number` lies below both.
//!
//! * `dual`: implements [`Number`](crate::Number) and [`Float`](crate::Float) for [`Dual`](crate::Dual).
//! * `pack` and `registered` (feature `packs`): [`Pack`], with SIMD versions of functions from the crate `wide`.
//! * `pack_registers`: array kernels over packs.
//! * `register`: registers as numbers, for programs.

mod dual;
#[cfg(feature = "packs")]
mod pack;
#[cfg(feature = "packs")]
mod pack_registers;
mod register;
#[cfg(feature = "packs")]
pub(crate) mod registered;

#[cfg(feature = "packs")]
pub use pack::Pack;
pub use register::InRegisters;
pub(crate) use register::SideBySide;
#[cfg(feature = "packs")]
pub use registered::Registered;
