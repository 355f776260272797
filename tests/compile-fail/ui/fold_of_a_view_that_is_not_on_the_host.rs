//! Folds and scans run on the host, so its memory must have the elements.

use tapewright::kernels::{Interpreter, Space, View, parallel_fold, targets::Target};
use tapewright::prelude::*;

struct Device;
impl Space<f64> for Device {
    const ON_HOST: bool = false;
    fn target() -> &'static dyn Target<f64> {
        &Interpreter
    }
}

fn product(x: &View<Passive, 1, Device>) -> Real<Passive> {
    parallel_fold(x, |a, b| a * b)
}

fn main() {
    let _: fn(&View<Passive, 1, Device>) -> Real<Passive> = product;
}
