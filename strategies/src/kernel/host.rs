//! The space of views on the host.

use super::registers::Registers;
use super::targets::{Space, Target};
use crate::Number;

/// The memory of the host, and [`Registers`].
#[derive(Clone, Copy, Debug)]
pub struct Host;

#[cfg(not(tapewright_on_device))]
impl<V: Number> Space<V> for Host {
    #[inline(always)]
    fn target() -> &'static dyn Target<V> {
        &Registers
    }
}

/// For tests: views on the host are on an OpenCL device, so that every test of kernels is one of devices.
#[cfg(tapewright_on_device)]
impl<V: Number> Space<V> for Host {
    fn target() -> &'static dyn Target<V> {
        use super::devices::OpenCl;
        use core::any::Any;
        let targets: [&dyn Any; 2] = [&<OpenCl as Space<f64>>::target(), &<OpenCl as Space<f32>>::target()];
        targets.into_iter().find_map(|target| target.downcast_ref()).copied().unwrap_or(&Registers)
    }
}
