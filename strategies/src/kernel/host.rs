//! The space of views on the host.

use super::registers::Registers;
use super::targets::{Space, Target};
use crate::Number;
pub use crate::policy::Host;

#[cfg(not(tapewright_on_device))]
impl<V: Number> Space<V> for Host {
    #[inline(always)]
    fn target() -> &'static dyn Target<V> {
        &Registers
    }
}

/// For tests: views on the host are on a device, so that every test of kernels is one of devices.
#[cfg(tapewright_on_device)]
impl<V: Number> Space<V> for Host {
    fn target() -> &'static dyn Target<V> {
        use core::any::Any;
        let [double, single] = device_of_tests();
        let targets: [&dyn Any; 2] = [double, single];
        targets.into_iter().find_map(|target| target.downcast_ref()).copied().unwrap_or(&Registers)
    }
}

/// For tests: the target of each precision, a CUDA device if the environment variable `TAPEWRIGHT_TESTS` says `cuda`.
#[cfg(tapewright_on_device)]
fn device_of_tests() -> [&'static dyn core::any::Any; 2] {
    use super::devices::OpenCl;
    use std::sync::LazyLock;
    /// Targets by precision.
    struct Targets(&'static dyn Target<f64>, &'static dyn Target<f32>);
    static TARGETS: LazyLock<Targets> = LazyLock::new(|| match std::env::var("TAPEWRIGHT_TESTS") {
        #[cfg(feature = "cuda")]
        Ok(name) if name == "cuda" => Targets(super::devices::Cuda::target(), super::devices::Cuda::target()),
        _ => Targets(OpenCl::target(), OpenCl::target()),
    });
    [&TARGETS.0, &TARGETS.1]
}
