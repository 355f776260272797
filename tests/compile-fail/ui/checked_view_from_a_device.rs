//! A view of a device is no constant of recordings that look for singular partials.

use tapewright::kernels::{Registers, Space, View, targets::Target};
use tapewright::{Subgradient, prelude::*};

struct Device;
impl Space<f64> for Device {
    fn target() -> &'static dyn Target<f64> {
        &Registers
    }
}

fn main() {
    let x = View::<Passive, 1>::zeros([3]).in_space::<Device>();
    let _ = x.constant::<Subgradient<Jacobian>>();
}
