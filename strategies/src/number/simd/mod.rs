//! TODO

#[cfg(all(target_arch = "aarch64", not(miri)))]
pub(crate) mod aarch64;
pub(crate) mod dispatch;
pub(crate) mod dual;
#[cfg(miri)]
pub(crate) mod emulated;
pub(crate) mod rule;
pub(crate) mod scalar;
pub(crate) mod vector;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) mod x86_64;

/// The bound that keeps others from implementing the traits of registers and of kernels.
mod sealed {
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;
