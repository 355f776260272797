//! The views of a launch are in one space.

use tapewright::kernels::{Registers, Space, View, parallel_for, targets::Target};
use tapewright::prelude::*;

struct Device;
impl Space<f64> for Device {
    fn target() -> &'static dyn Target<f64> {
        &Registers
    }
}

fn main() {
    let (x, mut y) = (View::<Passive, 1>::zeros([3]), View::<Passive, 1>::zeros([3]).in_space::<Device>());
    parallel_for(y.all(), (&x, &mut y), |(x, _)| (x.at::<0>(),));
}
