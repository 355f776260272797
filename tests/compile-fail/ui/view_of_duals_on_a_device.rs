//! A device computes with plain numbers only.

use tapewright::kernels::{Registers, Space, View, targets::Target};
use tapewright::prelude::*;
use tapewright::Dual;

struct Device;
impl Space<f64> for Device {
    fn target() -> &'static dyn Target<f64> {
        &Registers
    }
}

fn main() {
    let x = View::<Passive<Dual<f64, 1>>, 1>::zeros([3]);
    let _ = x.in_space::<Device>();
}
