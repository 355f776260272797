//! SIMD registers: consecutive elements, computed by one instruction.
//!
//! ```text
//! Number ──Registers──▶ dispatch(task) ──▶ which instruction set has this machine? (dispatch)
//!                                            │
//! task.run::<L: SimdVector>()  ◀─────┘   L = x86_64::…, aarch64::…, scalar::ScalarValue, dual::DualVector
//! ```
//!
//! * `vector`: the traits of register values, which hold one element or several.
//! * `x86_64`, `aarch64`, `emulated` (under miri): the registers of each target.
//! * `planes`: addresses of numbers in arrays, which keep the parts of numbers apart.
//! * `scalar`: the fallback for numbers without registers. `dual`: a register for the values and one for each tangent.
//! * `dispatch`: detects the instruction set at run time, and runs a task compiled for it.
//! * `groups`: arrays of few numbers, in the registers that the program is compiled for: tangents of variables.
//! * `elementary`: the exponential function, the logarithm and the like, of complete registers; a `Formula` is one that
//!   is called and not inlined.
//! * `rule`: function pointers for the functions that have no SIMD formula.
//! * `turn`: columns of numbers turned into rows, and rows into columns.
//!
//! Kernels and checksums call `dispatch`, floats call `groups`; nothing here knows of either.
#![allow(clippy::needless_range_loop, reason = "loops over elements index several arrays")]

#[cfg(all(target_arch = "aarch64", not(miri)))]
pub(crate) mod aarch64;
pub(crate) mod dispatch;
pub(crate) mod dual;
pub(crate) mod elementary;
#[cfg(miri)]
pub(crate) mod emulated;
pub(crate) mod groups;
pub(crate) mod planes;
pub(crate) mod rule;
pub(crate) mod scalar;
pub(crate) mod turn;
pub(crate) mod vector;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) mod x86_64;

/// Bound that keeps other crates from implementing the traits of registers and of kernels.
mod sealed {
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;
