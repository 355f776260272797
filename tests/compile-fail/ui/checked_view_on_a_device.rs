//! A device does not look for singular partials.

use tapewright::kernels::{Registers, Space, targets::Target};
use tapewright::{Checked, prelude::*};

struct Device;
impl Space<f64> for Device {
    fn target() -> &'static dyn Target<f64> {
        &Registers
    }
}

fn main() {
    let mut tape = Tape::<Checked<Jacobian>>::new();
    tape.record(|scope| {
        let _ = scope.view([3], &[0.0, 1.0, 4.0]).in_space::<Device>();
    });
}
