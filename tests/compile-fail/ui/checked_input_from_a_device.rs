//! A view of a device is no input of recordings that look for singular partials.

use tapewright::kernels::{Registers, Space, View, targets::Target};
use tapewright::{Checked, prelude::*};

struct Device;
impl Space<f64> for Device {
    fn target() -> &'static dyn Target<f64> {
        &Registers
    }
}

fn main() {
    let x = View::<Passive, 1>::zeros([3]).in_space::<Device>();
    let mut tape = Tape::<Checked<Jacobian>>::new();
    tape.record(|scope| {
        let _ = scope.view_from(&x);
    });
}
